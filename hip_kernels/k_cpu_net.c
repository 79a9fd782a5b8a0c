#include "hip_kernels/k_cpu_net.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_pool.h"
#include "hip_kernels/k_cpu_kernels.h"
#include "runtime/base/log.h"

#define WINDOWS_A_CHUNK 4
#define ALIGNMENT 256

struct d4r_k_cpu_net {
    const d4r_k_cpu_kernels *kernels;
    d4r_cpu_level level;
    d4r_cpu_pool *pool;
    pthread_mutex_t run; /* one run at a time */
    size_t max_tokens;
    uint8_t *network;                    /* copy of the image: vectors are read from it */
    unsigned char *panels;               /* the image in the machine's form */
    uint8_t *outputs[D4R_K_LAYER_COUNT]; /* dec0 writes the caller's head: NULL */
    uint64_t bytes;
};

static d4r_status choose_level(d4r_k_cpu_net *net, d4r_cpu_level level, const d4r_log *log)
{
    d4r_status status = d4r_cpu_level_resolve(&level, log);
    if (status != D4R_OK) return status;
    net->kernels = &d4r_k_cpu_kernels_baseline;
#if defined(__x86_64__)
    if (level >= D4R_CPU_V3) net->kernels = &d4r_k_cpu_kernels_v3;
#ifdef D4R_CPU_ALL_LEVELS
    if (level >= D4R_CPU_V4) net->kernels = &d4r_k_cpu_kernels_v4;
#endif
#endif
    net->level = level == D4R_CPU_V4_BF16 ? D4R_CPU_V4 : level;
    return D4R_OK;
}

static void *allocate(d4r_k_cpu_net *net, size_t bytes)
{
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    net->bytes += bytes;
    return aligned_alloc(ALIGNMENT, bytes);
}

static d4r_status allocate_all(d4r_k_cpu_net *net, const d4r_k_cpu_net_params *params)
{
    const size_t panel_bytes = (size_t)D4R_K_NET_BYTES * (size_t)net->kernels->panel_scale;
    net->network = allocate(net, D4R_K_NET_BYTES);
    net->panels = allocate(net, panel_bytes);
    bool missing = !net->network || !net->panels;
    for (int i = 0; i < D4R_K_LAYER_DEC0; i++) {
        const d4r_k_layer_info *layer = &d4r_k_layers[i];
        /* Grids are multiples of 32 x 32 tokens, so the levels divide exactly. */
        net->outputs[i] = allocate(net, (net->max_tokens >> (2 * layer->level)) * layer->out_channels * 2);
        missing = missing || !net->outputs[i];
    }
    if (missing)
        return d4r_fail(&params->log, D4R_ERROR_MEMORY,
                        "CPU network: cannot allocate %llu bytes for a %ux%u grid",
                        (unsigned long long)net->bytes, params->max_grid.width, params->max_grid.height);
    memcpy(net->network, params->network, D4R_K_NET_BYTES);
    memset(net->panels, 0, panel_bytes);
    net->kernels->prepare(net->network, net->panels);
    return D4R_OK;
}

static bool grid_is_valid(d4r_size grid)
{
    const uint32_t step = D4R_K_GRID_STEP, most = (D4R_MAX_DIMENSION / 4 + step - 1) / step * step;
    return grid.width >= step && grid.height >= step && grid.width % step == 0 && grid.height % step == 0 &&
           grid.width <= most && grid.height <= most;
}

d4r_status d4r_k_cpu_net_create(const d4r_k_cpu_net_params *params, d4r_k_cpu_net **net)
{
    *net = NULL;
    if (!params->network || params->network_bytes != D4R_K_NET_BYTES)
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT,
                        "CPU network: the packed network has %zu bytes, not %zu",
                        params->network ? params->network_bytes : 0, (size_t)D4R_K_NET_BYTES);
    if (!grid_is_valid(params->max_grid))
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT,
                        "CPU network: max_grid %ux%u is not a token grid of preset K", params->max_grid.width,
                        params->max_grid.height);
    d4r_k_cpu_net *n = calloc(1, sizeof(*n));
    if (!n) return d4r_fail(&params->log, D4R_ERROR_MEMORY, "CPU network: out of memory");
    pthread_mutex_init(&n->run, NULL);
    n->max_tokens = (size_t)params->max_grid.width * params->max_grid.height;
    d4r_status status = choose_level(n, params->level, &params->log);
    if (status == D4R_OK) status = allocate_all(n, params);
    if (status == D4R_OK) {
        status = d4r_cpu_pool_create(params->threads, &n->pool);
        if (status != D4R_OK)
            d4r_fail(&params->log, status, "CPU network: cannot start %u threads", params->threads);
    }
    if (status != D4R_OK) {
        d4r_k_cpu_net_destroy(&n);
        return status;
    }
    *net = n;
    return D4R_OK;
}

void d4r_k_cpu_net_destroy(d4r_k_cpu_net **net)
{
    d4r_k_cpu_net *n = net ? *net : NULL;
    if (!n) return;
    pthread_mutex_lock(&n->run);
    pthread_mutex_unlock(&n->run);
    d4r_cpu_pool_destroy(&n->pool);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) free(n->outputs[i]);
    free(n->panels);
    free(n->network);
    pthread_mutex_destroy(&n->run);
    free(n);
    *net = NULL;
}

/* ---- run ------------------------------------------------------------------------------------------------------ */

typedef struct layer_job {
    d4r_cpu_kernel_fn kernel;
    d4r_m_args args;
} layer_job;

static void run_windows(void *user, int first, int last)
{
    const layer_job *job = user;
    job->kernel(&job->args, first, last);
}

static uint8_t *layer_output(const d4r_k_cpu_net *net, const d4r_k_cpu_net_run_params *params, int layer)
{
    return layer == D4R_K_LAYER_DEC0 ? (uint8_t *)params->head : net->outputs[layer];
}

static bool run_layer(d4r_k_cpu_net *net, const d4r_k_cpu_net_run_params *params, int index)
{
    const d4r_k_layer_info *layer = &d4r_k_layers[index];
    layer_job job = {net->kernels->layers[index], d4r_k_layer_shape((d4r_k_layer)index, params->grid.width,
                                                                    params->grid.height, params->phase)};
    job.args.input =
        layer->input == D4R_K_NO_LAYER ? (const uint8_t *)params->tokens : net->outputs[layer->input];
    job.args.skip = layer->skip == D4R_K_NO_LAYER ? NULL : net->outputs[layer->skip];
    job.args.output = layer_output(net, params, index);
    job.args.weights = net->network + layer->weights;
    job.args.panels = net->panels + layer->weights * (size_t)net->kernels->panel_scale;
    return d4r_cpu_pool_run(net->pool, run_windows, &job, job.args.windows, WINDOWS_A_CHUNK, params->cancel);
}

d4r_status d4r_k_cpu_net_run(d4r_k_cpu_net *net, const d4r_k_cpu_net_run_params *params)
{
    if (!params->tokens || !params->head || params->tokens == params->head || params->phase >= D4R_K_PHASES ||
        !grid_is_valid(params->grid) || (size_t)params->grid.width * params->grid.height > net->max_tokens)
        return D4R_ERROR_ARGUMENT;
    pthread_mutex_lock(&net->run);
    d4r_status status = D4R_OK;
    for (int i = 0; i < D4R_K_LAYER_COUNT && status == D4R_OK; i++) {
        const d4r_k_layer_info *layer = &d4r_k_layers[i];
        if (!run_layer(net, params, i))
            status = D4R_ERROR_TIMEOUT;
        else if (params->layer)
            params->layer(params->user, (d4r_k_layer)i, (const uint16_t *)layer_output(net, params, i),
                          params->grid.width >> layer->level, params->grid.height >> layer->level,
                          layer->out_channels);
    }
    pthread_mutex_unlock(&net->run);
    return status;
}

uint64_t d4r_k_cpu_net_memory(const d4r_k_cpu_net *net)
{
    return net->bytes;
}
uint32_t d4r_k_cpu_net_threads(const d4r_k_cpu_net *net)
{
    return d4r_cpu_pool_threads(net->pool);
}
d4r_cpu_level d4r_k_cpu_net_level(const d4r_k_cpu_net *net)
{
    return net->level;
}
