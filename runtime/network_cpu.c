/* The CPU network as an external network: the kernels of hip_kernels/cpu_net.h on the engine's shared
 * buffers. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_net.h"
#include "interop/fd_map.h"
#include "interop/network.h"
#include "models/format/model.h"
#include "runtime/base/log.h"
#include "runtime/preset.h"

#define CPU_WATCHDOG_MS 60000u

typedef struct cpu_network {
    const d4r_model *model;
    const d4r_net_desc *desc;
    uint32_t threads;
    uint32_t evaluations; /* modulo the preset's phases */
    /* Valid while attached. */
    d4r_cpu_net *net;
    d4r_fd_map tokens_fd, head_fd;
    const uint8_t *tokens;
    uint8_t *head;
    bool by_fd;
    /* A cancel names its frame and may come before run has begun: the flag alone would be lost. */
    pthread_mutex_t lock;
    bool running, cancelled;
    uint64_t running_frame, cancelled_frame;
    atomic_bool stop;
} cpu_network;

static void unmap(cpu_network *n)
{
    d4r_fd_map_close(&n->tokens_fd);
    d4r_fd_map_close(&n->head_fd);
    n->tokens = NULL;
    n->head = NULL;
    n->by_fd = false;
}

/* Prefers the imported fds, which is what a network in another API has to do; else the driver's mapping. */
static void map(cpu_network *n, const d4r_network_buffers *b, const d4r_log *log)
{
    const char *why = NULL;
    n->by_fd =
        d4r_fd_map_open(b->tokens_fd, b->tokens_allocation, b->tokens_map, &n->tokens_fd, &why) == D4R_OK &&
        d4r_fd_map_open(b->head_fd, b->head_allocation, b->head_map, &n->head_fd, &why) == D4R_OK;
    if (!n->by_fd) {
        unmap(n);
        d4r_log_print(log, D4R_LOG_INFO, "cpu network: tokens through the driver's mapping (%s)", why);
    }
    n->tokens = n->by_fd ? n->tokens_fd.data : b->tokens_map;
    n->head = n->by_fd ? n->head_fd.data : b->head_map;
}

static d4r_status cpu_attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    cpu_network *n = user;
    d4r_cpu_net_params params = {.net = n->desc,
                                 .network = n->model->network,
                                 .network_bytes = n->model->network_bytes,
                                 .max_grid = buffers->max_token_grid,
                                 .threads = n->threads};
    d4r_status status;
    if (log) params.log = *log;
    status = d4r_cpu_net_create(&params, &n->net);
    if (status != D4R_OK) return status;
    map(n, buffers, log);
    n->cancelled = false;
    return D4R_OK;
}

static d4r_status cpu_run(void *user, const d4r_network_job *job)
{
    cpu_network *n = user;
    d4r_cpu_net_run_params params = {.grid = job->token_grid,
                                     .phase = n->evaluations,
                                     .tokens = n->tokens,
                                     .head = n->head,
                                     .cancel = &n->stop};
    d4r_status status;
    n->evaluations = (n->evaluations + 1) % n->desc->phases;
    pthread_mutex_lock(&n->lock);
    n->running = true;
    n->running_frame = job->frame;
    atomic_store(&n->stop, n->cancelled && n->cancelled_frame == job->frame);
    pthread_mutex_unlock(&n->lock);
    status = d4r_cpu_net_run(n->net, &params);
    pthread_mutex_lock(&n->lock);
    n->running = false;
    pthread_mutex_unlock(&n->lock);
    return status;
}

static void cpu_cancel(void *user, uint64_t frame)
{
    cpu_network *n = user;
    pthread_mutex_lock(&n->lock);
    n->cancelled = true;
    n->cancelled_frame = frame;
    if (n->running && n->running_frame == frame) atomic_store(&n->stop, true);
    pthread_mutex_unlock(&n->lock);
}

static void cpu_detach(void *user)
{
    cpu_network *n = user;
    d4r_cpu_net_destroy(&n->net);
    unmap(n);
}

static void cpu_destroy(void *user)
{
    cpu_network *n = user;
    d4r_cpu_net_destroy(&n->net);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

static uint64_t cpu_memory(void *user)
{
    cpu_network *n = user;
    return n->net ? d4r_cpu_net_memory(n->net) : 0;
}

static void cpu_describe(void *user, char *text, size_t size)
{
    cpu_network *n = user;
    if (!n->net) {
        snprintf(text, size, "cpu network");
        return;
    }
    snprintf(text, size, "cpu network: %u thread%s, level %s, tokens %s", d4r_cpu_net_threads(n->net),
             d4r_cpu_net_threads(n->net) == 1 ? "" : "s", d4r_cpu_level_name(d4r_cpu_net_get_level(n->net)),
             n->by_fd ? "mapped by fd" : "in mapped memory");
}

d4r_status d4r_network_create_cpu(const d4r_model *model, const d4r_cpu_network_params *params,
                                  const d4r_log *log, d4r_network **network)
{
    d4r_network_callbacks callbacks = {.name = "cpu",
                                       .needs_host_map = true,
                                       .watchdog_ms = CPU_WATCHDOG_MS,
                                       .attach = cpu_attach,
                                       .run = cpu_run,
                                       .cancel = cpu_cancel,
                                       .detach = cpu_detach,
                                       .destroy = cpu_destroy,
                                       .memory = cpu_memory};
    cpu_network *n;
    d4r_status status;
    if (!network) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create_cpu: network is NULL");
    *network = NULL;
    if (!model) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create_cpu: model is NULL");
    n = calloc(1, sizeof *n);
    if (!n) return d4r_fail(log, D4R_ERROR_MEMORY, "d4r_network_create_cpu: out of memory");
    n->model = model;
    n->desc = d4r_preset_find(model->info.preset)->network;
    n->threads = params ? params->threads : 0;
    if (params && params->watchdog_ms) callbacks.watchdog_ms = params->watchdog_ms;
    pthread_mutex_init(&n->lock, NULL);
    callbacks.user = n;
    status = d4r_network_create(&callbacks, log, network);
    if (status != D4R_OK) {
        cpu_destroy(n);
        return status;
    }
    (*network)->describe = cpu_describe;
    return D4R_OK;
}
