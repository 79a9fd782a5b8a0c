/* The HIP network as an external network: hip_kernels/hip_net.h on the engine's shared buffers, imported by fd. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/hip_net.h"
#include "interop/hip.h"
#include "interop/marker.h"
#include "interop/network.h"
#include "models/format/model.h"
#include "runtime/base/log.h"
#include "runtime/preset.h"

#define HIP_WATCHDOG_MS 2000u
/* Detaching waits this long for the stream; the hand-off has waited already. */
#define DRAIN_MS 2000u

typedef struct hip_network {
    const d4r_model *model;
    const d4r_net_desc *desc;
    uint32_t evaluations;          /* modulo the preset's phases */
    d4r_hip_network_params params; /* strings are owned */
    d4r_log log;
    d4r_hip *hip;
    /* Valid while attached. */
    d4r_hip_device device;
    d4r_hip_net *net;
    d4r_hip_import tokens, head;
    d4r_hip_marker marker;
    void *completion;              /* of the frame in flight */
    _Atomic uint32_t marker_value; /* that it waits for */
    bool keep_hip;
} hip_network;

/* ---- attach and detach ---- */

static d4r_status import_buffers(hip_network *n, const d4r_network_buffers *b)
{
    int previous;
    d4r_status status = d4r_hip_enter(n->hip, n->device.index, &previous);
    if (status != D4R_OK) return status;
    status =
        d4r_hip_import_fd(n->hip, "tokens", b->tokens_fd, b->tokens_allocation, b->tokens_bytes, &n->tokens);
    if (status == D4R_OK)
        status = d4r_hip_import_fd(n->hip, "head", b->head_fd, b->head_allocation, b->head_bytes, &n->head);
    if (status == D4R_OK && n->params.strategy == D4R_HANDOFF_MARKER)
        status = d4r_hip_marker_register(n->hip, b->marker, b->marker_bytes, &n->marker);
    d4r_hip_leave(n->hip, previous);
    return status;
}

/* False: the stream does not become idle, so nothing that it may use is freed. */
static bool release(hip_network *n)
{
    int previous;
    d4r_hip_marker_release(&n->marker, atomic_load(&n->marker_value));
    if (!d4r_hip_net_destroy(&n->net, DRAIN_MS)) return false;
    if (d4r_hip_enter(n->hip, n->device.index, &previous) != D4R_OK) previous = n->device.index;
    d4r_hip_marker_unregister(n->hip, &n->marker);
    d4r_hip_import_destroy(n->hip, &n->head);
    d4r_hip_import_destroy(n->hip, &n->tokens);
    d4r_hip_leave(n->hip, previous);
    return true;
}

static d4r_status hip_attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    hip_network *n = user;
    const d4r_hip_match match = {.has_pci = buffers->has_pci,
                                 .pci_domain = buffers->pci_domain,
                                 .pci_bus = buffers->pci_bus,
                                 .pci_device = buffers->pci_device,
                                 .select = n->params.device};
    d4r_status status = d4r_hip_find(n->hip, &match, &n->device);
    if (status != D4R_OK) return status;
    d4r_hip_net_params params = {.net = n->desc,
                                 .hip = n->hip,
                                 .device = n->device,
                                 .network = n->model->network,
                                 .max_grid = buffers->max_token_grid,
                                 .kernels = n->params.kernels,
                                 .stream = n->params.stream,
                                 .completion = n->params.completion,
                                 .graphs = n->params.graphs,
                                 .timing = n->params.layer_times};
    if (log) params.log = *log;
    status = d4r_hip_net_create(&params, &n->net);
    if (status == D4R_OK) status = import_buffers(n, buffers);
    if (status != D4R_OK) release(n);
    return status;
}

static void hip_detach(void *user)
{
    hip_network *n = user;
    if (release(n)) return;
    d4r_fail(&n->log, D4R_ERROR_TIMEOUT,
             "hip network: the device is still busy: shared buffers stay imported");
    memset(&n->tokens, 0, sizeof n->tokens);
    memset(&n->head, 0, sizeof n->head);
    memset(&n->marker, 0, sizeof n->marker);
    n->keep_hip = true; /* the net's thread may use it */
}

/* ---- running ---- */

/* On a thread of the net or of the runtime: no HIP call. */
static void frame_done(void *user, d4r_status status)
{
    hip_network *n = user;
    d4r_network_complete(n->completion, status);
}

static d4r_status hip_run(void *user, const d4r_network_job *job)
{
    hip_network *n = user;
    n->completion = job->completion;
    atomic_store(&n->marker_value, job->marker_value);
    const d4r_hip_net_job launch = {.grid = job->token_grid,
                                    .phase = n->evaluations,
                                    .tokens = n->tokens.pointer,
                                    .head = n->head.pointer,
                                    .marker = job->marker_value ? n->marker.device : NULL,
                                    .marker_value = job->marker_value,
                                    .marker_host = job->marker_value ? n->marker.page : NULL,
                                    .done = frame_done,
                                    .user = n};
    n->evaluations = (n->evaluations + 1) % n->desc->phases;
    return d4r_hip_net_launch(n->net, &launch);
}

/* Running kernels cannot be stopped; a stream that waits for a marker can, and a lost device can be noticed. */
static void hip_cancel(void *user, uint64_t frame)
{
    hip_network *n = user;
    (void)frame;
    d4r_hip_marker_release(&n->marker, atomic_load(&n->marker_value));
    d4r_hip_net_cancel(n->net);
}

static void hip_destroy(void *user)
{
    hip_network *n = user;
    if (!n->keep_hip) d4r_hip_unload(&n->hip);
    free((char *)n->params.library);
    free((char *)n->params.device);
    free((char *)n->params.kernels);
    free(n);
}

static uint64_t hip_memory(void *user)
{
    hip_network *n = user;
    return n->net ? d4r_hip_net_memory(n->net) : 0;
}

static void hip_describe(void *user, char *text, size_t size)
{
    hip_network *n = user;
    snprintf(text, size, "hip network: %s, %s hand-off",
             n->net ? d4r_hip_net_description(n->net) : n->hip->path,
             n->params.strategy == D4R_HANDOFF_MARKER ? "marker" : "host");
}

/* ---- creation ---- */

static bool copy_string(const char *from, const char **to)
{
    *to = from ? strdup(from) : NULL;
    return !from || *to;
}

static d4r_status check_params(const d4r_model *model, const d4r_hip_network_params *p, const d4r_log *log)
{
    if (!model) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create_hip: model is NULL");
    if ((unsigned)p->platform > D4R_HIP_NVIDIA || (unsigned)p->strategy > D4R_HANDOFF_MARKER ||
        (unsigned)p->completion > D4R_HIP_COMPLETION_CALLBACK || (unsigned)p->graphs > D4R_HIP_GRAPHS_ON)
        return d4r_fail(
            log, D4R_ERROR_ARGUMENT,
            "d4r_network_create_hip: platform %d, strategy %d, completion %d or graphs %d is unknown",
            (int)p->platform, (int)p->strategy, (int)p->completion, (int)p->graphs);
    return D4R_OK;
}

static d4r_status open_runtime(hip_network *n, const d4r_log *log)
{
    uint32_t count;
    d4r_status status = n->params.platform == D4R_HIP_NVIDIA
                            ? d4r_hip_load_nvidia(n->params.library, log, &n->hip)
                            : d4r_hip_load(n->params.library, log, &n->hip);
    if (status == D4R_OK) status = d4r_hip_devices(n->hip, &count);
    if (status == D4R_OK && n->params.strategy == D4R_HANDOFF_MARKER && !n->hip->can_marker)
        status =
            d4r_fail(log, D4R_ERROR_FEATURE,
                     "%s lacks hipHostRegister or hipStreamWaitValue32: use the host hand-off", n->hip->path);
    return status;
}

d4r_status d4r_network_create_hip(const d4r_model *model, const d4r_hip_network_params *params,
                                  const d4r_log *log, d4r_network **network)
{
    static const d4r_hip_network_params defaults = {0};
    const d4r_hip_network_params *p = params ? params : &defaults;
    if (!network) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create_hip: network is NULL");
    *network = NULL;
    d4r_status status = check_params(model, p, log);
    if (status != D4R_OK) return status;
    hip_network *n = calloc(1, sizeof *n);
    if (!n) return d4r_fail(log, D4R_ERROR_MEMORY, "d4r_network_create_hip: out of memory");
    n->model = model;
    n->desc = d4r_preset_find(model->info.preset)->network;
    if (log) n->log = *log;
    n->params = *p;
    bool copied = copy_string(p->library, &n->params.library);
    copied = copy_string(p->device, &n->params.device) && copied;
    copied = copy_string(p->kernels, &n->params.kernels) && copied;
    status = copied ? open_runtime(n, log)
                    : d4r_fail(log, D4R_ERROR_MEMORY, "d4r_network_create_hip: out of memory");
    const d4r_network_callbacks callbacks = {.user = n,
                                             .name = "hip",
                                             .needs_fd = true,
                                             .wants_marker = p->strategy == D4R_HANDOFF_MARKER,
                                             .watchdog_ms = p->watchdog_ms ? p->watchdog_ms : HIP_WATCHDOG_MS,
                                             .attach = hip_attach,
                                             .run = hip_run,
                                             .cancel = hip_cancel,
                                             .detach = hip_detach,
                                             .destroy = hip_destroy,
                                             .memory = hip_memory};
    if (status == D4R_OK) status = d4r_network_create(&callbacks, log, network);
    if (status != D4R_OK)
        hip_destroy(n);
    else
        (*network)->describe = hip_describe;
    return status;
}

uint32_t d4r_network_layer_times(d4r_network *network, float *microseconds, uint32_t capacity)
{
    float times[D4R_NET_MAX_LAYERS];
    if (!network || !microseconds || network->callbacks.run != hip_run) return 0;
    hip_network *n = network->callbacks.user;
    if (!n->net || d4r_hip_net_times(n->net, times) != D4R_OK) return 0;
    const uint32_t layers = n->desc->layer_count, count = capacity < layers ? capacity : layers;
    memcpy(microseconds, times, count * sizeof *times);
    return count;
}
