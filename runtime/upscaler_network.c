/* Which network an upscaler uses: the one asked for, or for AUTO the first of hip and cpu that works here. */
#include <stdio.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/upscaler.h"

static d4r_status create_engine(d4r_upscaler *u, const d4r_log *log)
{
    d4r_engine_params params = d4r_engine_params_default();
    params.device = (d4r_vulkan_device){.get_instance_proc_addr = u->own.get_instance_proc_addr,
                                        .instance = u->own.instance,
                                        .physical_device = u->own.physical_device,
                                        .device = u->own.device,
                                        .queue_family = u->own.queue_family};
    params.model = u->params.model;
    params.network = u->network;
    params.output = u->params.output;
    params.max_render = u->params.max_render;
    params.conventions = u->params.conventions;
    params.output_format = u->params.output_format == D4R_FORMAT_RGB10A2 ? VK_FORMAT_A2B10G10R10_UNORM_PACK32
                                                                         : VK_FORMAT_R16G16B16A16_SFLOAT;
    params.exact_filter = u->params.exact_filter;
    params.validate = u->params.validate;
    params.watchdog_ms = u->params.watchdog_ms;
    params.log = *log;
    u->watchdog_ms = params.watchdog_ms ? params.watchdog_ms : u->network->callbacks.watchdog_ms;
    return d4r_engine_create(&params, &u->engine);
}

static d4r_status create_with_hip(d4r_upscaler *u, const d4r_log *log)
{
    d4r_status status = d4r_network_create_hip(u->params.model, &u->params.hip, log, &u->network);
    if (status == D4R_OK) status = create_engine(u, log);
    if (status != D4R_OK) d4r_network_destroy(&u->network);
    return status;
}

static d4r_status create_with_cpu(d4r_upscaler *u)
{
    const d4r_cpu_network_params cpu = {.threads = u->params.cpu_threads,
                                        .watchdog_ms = u->params.watchdog_ms};
    d4r_status status = d4r_network_create_cpu(u->params.model, &cpu, &u->params.log, &u->network);
    return status == D4R_OK ? create_engine(u, &u->params.log) : status;
}

/* Keeps the first error line, which becomes the reason in one info line. */
typedef struct reason {
    d4r_log log;
    char text[512];
} reason;

static void keep_reason(void *user, d4r_log_level level, const char *line)
{
    reason *r = user;
    if (level == D4R_LOG_ERROR && !r->text[0]) snprintf(r->text, sizeof r->text, "%s", line);
    if (level != D4R_LOG_ERROR && r->log.fn && level <= r->log.level) r->log.fn(r->log.user, level, line);
}

static d4r_status create_auto(d4r_upscaler *u)
{
    const d4r_log *log = &u->params.log;
    reason why = {.log = *log};
    const d4r_log quiet = {.fn = keep_reason, .user = &why, .level = log->level};
    d4r_status status = create_with_hip(u, &quiet);
    if (status == D4R_OK) {
        /* The network and the engine keep the log they were created with, which lives on this stack. */
        d4r_engine_destroy(&u->engine);
        d4r_network_destroy(&u->network);
        d4r_log_print(log, D4R_LOG_INFO, "network auto: hip");
        return create_with_hip(u, log);
    }
    if (status == D4R_ERROR_MEMORY || status == D4R_ERROR_DEVICE || status == D4R_ERROR_ARGUMENT)
        d4r_log_print(log, D4R_LOG_WARNING, "network auto: hip failed: %s", why.text);
    d4r_log_print(log, D4R_LOG_INFO, "network auto: cpu, because: %s", why.text);
    return create_with_cpu(u);
}

d4r_status d4r_upscaler_create_network(d4r_upscaler *u)
{
    const d4r_log *log = &u->params.log;
    d4r_status status;
    switch (u->params.network) {
    case D4R_NETWORK_AUTO:
        status = create_auto(u);
        break;
    case D4R_NETWORK_CPU:
        status = create_with_cpu(u);
        break;
    case D4R_NETWORK_HIP:
        status = create_with_hip(u, log);
        break;
    case D4R_NETWORK_VULKAN:
        return d4r_fail(log, D4R_ERROR_FEATURE,
                        "params.network: the vulkan network does not exist yet; use hip or cpu");
    default:
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "params.network is %d, which is unknown",
                        (int)u->params.network);
    }
    if (status == D4R_OK && u->params.profile) d4r_engine_set_marker(u->engine, d4r_upscaler_marker, u);
    /* The network has copied the caller's strings. */
    u->params.hip.library = u->params.hip.device = u->params.hip.kernels = NULL;
    return status;
}
