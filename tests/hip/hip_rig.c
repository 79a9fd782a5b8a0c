#include "tests/hip/hip_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[1024], lines[16384];

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (getenv("D4R_TEST_VERBOSE")) fprintf(stderr, "[%d] %s\n", (int)level, line);
    pthread_mutex_lock(&log_lock);
    if (level == D4R_LOG_ERROR) snprintf(last_error, sizeof last_error, "%s", line);
    if (level <= D4R_LOG_WARNING && strlen(lines) + strlen(line) + 2 < sizeof lines)
        strcat(strcat(lines, line), "\n");
    pthread_mutex_unlock(&log_lock);
}

const char *hip_rig_error(void)
{
    static char copy[1024];
    pthread_mutex_lock(&log_lock);
    memcpy(copy, last_error, sizeof copy);
    last_error[0] = lines[0] = 0;
    pthread_mutex_unlock(&log_lock);
    return copy;
}

bool hip_rig_said(const char *text)
{
    pthread_mutex_lock(&log_lock);
    bool said = strstr(lines, text) != NULL;
    pthread_mutex_unlock(&log_lock);
    return said;
}

hip_variant hip_variant_at(unsigned index)
{
    return (hip_variant){.strategy = index & 1 ? D4R_HANDOFF_MARKER : D4R_HANDOFF_HOST,
                         .completion = index & 2 ? D4R_HIP_COMPLETION_CALLBACK : D4R_HIP_COMPLETION_EVENT,
                         .graphs = index & 4 ? D4R_HIP_GRAPHS_ON : D4R_HIP_GRAPHS_OFF};
}

const char *hip_variant_name(const hip_variant *v)
{
    static char name[64];
    snprintf(name, sizeof name, "%s, %s, %s", v->strategy == D4R_HANDOFF_MARKER ? "marker" : "host",
             v->completion == D4R_HIP_COMPLETION_CALLBACK ? "callback" : "event",
             v->graphs == D4R_HIP_GRAPHS_ON ? "graphs" : "plain");
    return name;
}

d4r_status hip_rig_open(hip_rig *h, vk_test *t, const d4r_model *model, const hip_variant *variant,
                        uint32_t watchdog_ms)
{
    return hip_rig_open_on(h, t, model, variant, watchdog_ms, NULL);
}

d4r_status hip_rig_open_on(hip_rig *h, vk_test *t, const d4r_model *model, const hip_variant *variant,
                           uint32_t watchdog_ms, void *stream)
{
    const d4r_hip_network_params params = {.strategy = variant->strategy,
                                           .completion = variant->completion,
                                           .graphs = variant->graphs,
                                           .watchdog_ms = watchdog_ms,
                                           .stream = stream};
    const d4r_log log = {on_log, NULL, D4R_LOG_DEBUG};
    memset(h, 0, sizeof *h);
    d4r_status status = d4r_network_create_hip(model, &params, &log, &h->network);
    if (status != D4R_OK) return status;
    const rig_params caller = {.model = model,
                               .network = h->network,
                               .render = {64, 64},
                               .output = {96, 64},
                               .get_instance_proc_addr = watch_get_instance_proc_addr,
                               .log = {on_log, NULL, D4R_LOG_DEBUG}};
    rig_create(&h->r, t, &caller);
    status = h->r.status;
    if (status != D4R_OK) hip_rig_close(h);
    return status;
}

void hip_rig_close(hip_rig *h)
{
    rig_destroy(&h->r);
    d4r_network_destroy(&h->network);
}
