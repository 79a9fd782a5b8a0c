#include "hip_kernels/cpu_net.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_kernels.h"
#include "hip_kernels/cpu_pool.h"
#include "models/format/m_layout.h"
#include "runtime/base/log.h"

#define GROUPS_A_CHUNK 4
#define ALIGNMENT 256

struct d4r_cpu_net {
    const d4r_cpu_kernels *kernels;
    d4r_cpu_level level;
    d4r_cpu_pool *pool;
    pthread_mutex_t run; /* one run at a time */
    size_t max_tokens;
    uint8_t *network;                    /* copy of hipnet.bin: biases are read from it */
    unsigned char *panels;               /* matrices in the level's form */
    uint8_t *outputs[D4R_M_LAYER_COUNT]; /* DEC1 writes the caller's head: NULL */
    uint64_t bytes;
};

/* ---- levels
 * --------------------------------------------------------------------------------------------------- */

static const char *const level_names[D4R_CPU_LEVEL_COUNT] = {"auto", "baseline", "v3", "v4", "v4bf16"};

const char *d4r_cpu_level_name(d4r_cpu_level level)
{
    return (unsigned)level < D4R_CPU_LEVEL_COUNT ? level_names[level] : NULL;
}

static const d4r_cpu_kernels *level_kernels(d4r_cpu_level level)
{
    if (level == D4R_CPU_BASELINE) return &d4r_cpu_kernels_baseline;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    if (level == D4R_CPU_V3 && v3) return &d4r_cpu_kernels_v3;
#ifdef D4R_CPU_ALL_LEVELS
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    if (level == D4R_CPU_V4 && v4) return &d4r_cpu_kernels_v4;
    if (level == D4R_CPU_V4_BF16 && v4 && __builtin_cpu_supports("avx512bf16"))
        return &d4r_cpu_kernels_v4bf16;
#endif
#endif
    return NULL;
}

bool d4r_cpu_level_available(d4r_cpu_level level)
{
    return level == D4R_CPU_AUTO || level_kernels(level) != NULL;
}

d4r_status d4r_cpu_level_resolve(d4r_cpu_level *chosen, const d4r_log *log)
{
    d4r_cpu_level level = *chosen;
    const char *forced = getenv("D4R_CPU_LEVEL");
    if (level == D4R_CPU_AUTO && forced && forced[0]) {
        for (int i = 0; i < D4R_CPU_LEVEL_COUNT; i++)
            if (strcmp(forced, level_names[i]) == 0) level = (d4r_cpu_level)i;
        if (level == D4R_CPU_AUTO && strcmp(forced, "auto") != 0)
            return d4r_fail(log, D4R_ERROR_ARGUMENT,
                            "D4R_CPU_LEVEL=%s: unknown; use auto, baseline, v3, v4 or v4bf16", forced);
    }
    if (level == D4R_CPU_AUTO) {
        level = D4R_CPU_LEVEL_COUNT - 1;
        while (!d4r_cpu_level_available(level)) level--;
    }
    const char *name = d4r_cpu_level_name(level);
    if (!name)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "CPU network: instruction set level %d is unknown",
                        (int)level);
    if (!level_kernels(level))
        return d4r_fail(log, D4R_ERROR_FEATURE,
                        "CPU network: this CPU or build lacks instruction set level %s", name);
    *chosen = level;
    return D4R_OK;
}

static d4r_status choose_level(d4r_cpu_net *net, d4r_cpu_level level, const d4r_log *log)
{
    d4r_status status = d4r_cpu_level_resolve(&level, log);
    if (status != D4R_OK) return status;
    net->kernels = level_kernels(level);
    net->level = level;
    return D4R_OK;
}

/* ---- create and destroy
 * --------------------------------------------------------------------------------------- */

static void *allocate(d4r_cpu_net *net, size_t bytes)
{
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    net->bytes += bytes;
    return aligned_alloc(ALIGNMENT, bytes);
}

static d4r_status allocate_all(d4r_cpu_net *net, const d4r_cpu_net_params *params)
{
    net->network = allocate(net, D4R_M_NET_BYTES);
    net->panels = allocate(net, (size_t)D4R_M_NET_BYTES * (size_t)net->kernels->panel_scale);
    bool missing = !net->network || !net->panels;
    for (int i = 0; i < D4R_M_LAYER_DEC1; i++) {
        const d4r_m_layer_info *layer = &d4r_m_layers[i];
        /* Token counts are multiples of 16 * 16, so the levels divide exactly. */
        size_t tokens = net->max_tokens >> (2 * layer->out_level);
        net->outputs[i] = allocate(net, tokens * layer->out_channels);
        missing = missing || !net->outputs[i];
    }
    if (missing)
        return d4r_fail(&params->log, D4R_ERROR_MEMORY,
                        "CPU network: cannot allocate %llu bytes for a %ux%u grid",
                        (unsigned long long)net->bytes, params->max_grid.width, params->max_grid.height);
    memcpy(net->network, params->network, D4R_M_NET_BYTES);
    memset(net->panels, 0, (size_t)D4R_M_NET_BYTES * (size_t)net->kernels->panel_scale);
    net->kernels->prepare(net->network, net->panels);
    return D4R_OK;
}

/* A grid has multiples of 16 tokens, and its pixels fit the library's largest render size rounded up. */
static bool grid_is_valid(d4r_size grid)
{
    const uint32_t most = D4R_MAX_DIMENSION / 2;
    return grid.width >= 16 && grid.height >= 16 && grid.width % 16 == 0 && grid.height % 16 == 0 &&
           grid.width <= most && grid.height <= most;
}

d4r_status d4r_cpu_net_create(const d4r_cpu_net_params *params, d4r_cpu_net **net)
{
    *net = NULL;
    if (!params->network || params->network_bytes != D4R_M_NET_BYTES)
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT,
                        "CPU network: the packed network has %zu bytes, not %zu",
                        params->network ? params->network_bytes : 0, (size_t)D4R_M_NET_BYTES);
    if (!grid_is_valid(params->max_grid))
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT, "CPU network: max_grid %ux%u is not a token grid",
                        params->max_grid.width, params->max_grid.height);
    d4r_cpu_net *n = calloc(1, sizeof(*n));
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
        d4r_cpu_net_destroy(&n);
        return status;
    }
    d4r_log_print(&params->log, D4R_LOG_DEBUG, "CPU network: level %s, %u threads, %llu bytes",
                  d4r_cpu_level_name(n->level), d4r_cpu_pool_threads(n->pool), (unsigned long long)n->bytes);
    *net = n;
    return D4R_OK;
}

void d4r_cpu_net_destroy(d4r_cpu_net **net)
{
    d4r_cpu_net *n = net ? *net : NULL;
    if (!n) return;
    pthread_mutex_lock(&n->run);
    pthread_mutex_unlock(&n->run);
    d4r_cpu_pool_destroy(&n->pool);
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(n->outputs[i]);
    free(n->panels);
    free(n->network);
    pthread_mutex_destroy(&n->run);
    free(n);
    *net = NULL;
}

/* ---- run
 * ------------------------------------------------------------------------------------------------------ */

typedef struct layer_job {
    d4r_cpu_kernel_fn kernel;
    d4r_m_args args;
} layer_job;

static void run_groups(void *user, int first, int last)
{
    const layer_job *job = user;
    job->kernel(&job->args, first, last);
}

static uint8_t *layer_output(const d4r_cpu_net *net, const d4r_cpu_net_run_params *params, int layer)
{
    return layer == D4R_M_LAYER_DEC1 ? params->head : net->outputs[layer];
}

static bool run_layer(d4r_cpu_net *net, const d4r_cpu_net_run_params *params, int index)
{
    const d4r_m_layer_info *layer = &d4r_m_layers[index];
    uint32_t columns = params->grid.width >> layer->level, rows = params->grid.height >> layer->level;
    uint32_t windows_x = d4r_m_windows(columns, layer->shift), windows_y = d4r_m_windows(rows, layer->shift);
    layer_job job = {
        .kernel = net->kernels->layers[index],
        .args =
            {
                .input = layer->input == D4R_M_NO_LAYER ? params->tokens : net->outputs[layer->input],
                .skip = layer->skip == D4R_M_NO_LAYER ? NULL : net->outputs[layer->skip],
                .output = layer_output(net, params, index),
                .weights = net->network + layer->weights,
                .panels = net->panels + layer->weights * (size_t)net->kernels->panel_scale,
                .columns = (int)columns,
                .rows = (int)rows,
                .shift = (int)layer->shift,
                .windows_x = (int)windows_x,
                .windows = (int)(windows_x * windows_y),
            },
    };
    int groups = (job.args.windows + net->kernels->windows_a_group - 1) / net->kernels->windows_a_group;
    return d4r_cpu_pool_run(net->pool, run_groups, &job, groups, GROUPS_A_CHUNK, params->cancel);
}

d4r_status d4r_cpu_net_run(d4r_cpu_net *net, const d4r_cpu_net_run_params *params)
{
    if (!params->tokens || !params->head || !grid_is_valid(params->grid) ||
        (size_t)params->grid.width * params->grid.height > net->max_tokens)
        return D4R_ERROR_ARGUMENT;
    pthread_mutex_lock(&net->run);
    d4r_status status = D4R_OK;
    for (int i = 0; i < D4R_M_LAYER_COUNT && status == D4R_OK; i++) {
        const d4r_m_layer_info *layer = &d4r_m_layers[i];
        if (!run_layer(net, params, i))
            status = D4R_ERROR_TIMEOUT;
        else if (params->layer)
            params->layer(params->user, (d4r_m_layer)i, layer_output(net, params, i),
                          params->grid.width >> layer->out_level, params->grid.height >> layer->out_level,
                          layer->out_channels);
    }
    pthread_mutex_unlock(&net->run);
    return status;
}

uint64_t d4r_cpu_net_memory(const d4r_cpu_net *net)
{
    return net->bytes;
}
uint32_t d4r_cpu_net_threads(const d4r_cpu_net *net)
{
    return d4r_cpu_pool_threads(net->pool);
}
d4r_cpu_level d4r_cpu_net_get_level(const d4r_cpu_net *net)
{
    return net->level;
}
