#include "hip_kernels/cpu_net.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_pool.h"
#include "runtime/base/log.h"

#define ITEMS_A_CHUNK 4
#define ALIGNMENT 256

struct d4r_cpu_net {
    const d4r_net_desc *desc;
    const d4r_cpu_machine *machine;
    d4r_cpu_level level;
    d4r_cpu_pool *pool;
    pthread_mutex_t run; /* one run at a time */
    size_t max_tokens;
    uint8_t *network;                     /* copy of the packed image: vectors are read from it */
    unsigned char *panels;                /* the image in the level's form */
    uint8_t *outputs[D4R_NET_MAX_LAYERS]; /* the last layer writes the caller's head: NULL */
    uint64_t bytes;
};

/* ---- levels
 * --------------------------------------------------------------------------------------------------- */

static const char *const level_names[D4R_CPU_LEVEL_COUNT] = {"auto", "baseline", "v3", "v4", "v4bf16"};

const char *d4r_cpu_level_name(d4r_cpu_level level)
{
    return (unsigned)level < D4R_CPU_LEVEL_COUNT ? level_names[level] : NULL;
}

/* By the CPU alone; what is not built has no kernels either. */
static bool cpu_has(d4r_cpu_level level)
{
    if (level == D4R_CPU_BASELINE) return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    if (level == D4R_CPU_V3) return v3;
    if (level == D4R_CPU_V4) return v4;
    if (level == D4R_CPU_V4_BF16) return v4 && __builtin_cpu_supports("avx512bf16");
#endif
    return false;
}

/* Every preset's kernels are built for the same levels. */
static bool level_runs(d4r_cpu_level level)
{
    return (unsigned)level < D4R_CPU_LEVEL_COUNT && d4r_m_net.cpu[level] && cpu_has(level);
}

bool d4r_cpu_level_available(d4r_cpu_level level)
{
    return level == D4R_CPU_AUTO || level_runs(level);
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
    if (!level_runs(level))
        return d4r_fail(log, D4R_ERROR_FEATURE,
                        "CPU network: this CPU or build lacks instruction set level %s", name);
    *chosen = level;
    return D4R_OK;
}

static d4r_status choose_level(d4r_cpu_net *net, d4r_cpu_level level, const d4r_log *log)
{
    d4r_status status = d4r_cpu_level_resolve(&level, log);
    if (status != D4R_OK) return status;
    while (net->desc->cpu[level - 1] == net->desc->cpu[level]) level--;
    net->machine = net->desc->cpu[level];
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
    const d4r_net_desc *desc = net->desc;
    const size_t panel_bytes = desc->image_bytes * (size_t)net->machine->panel_scale;
    net->network = allocate(net, desc->image_bytes);
    net->panels = allocate(net, panel_bytes);
    bool missing = !net->network || !net->panels;
    for (unsigned i = 0; i + 1 < desc->layer_count; i++) {
        /* Grids are multiples of the step, so the levels divide exactly, whatever the sides. */
        const d4r_net_layer layer = desc->layer(i);
        const size_t tokens = net->max_tokens >> (2 * layer.out_level);
        net->outputs[i] = allocate(net, tokens * layer.out_channels * desc->value_bytes);
        missing = missing || !net->outputs[i];
    }
    if (missing)
        return d4r_fail(&params->log, D4R_ERROR_MEMORY,
                        "CPU network: cannot allocate %llu bytes for a %ux%u grid",
                        (unsigned long long)net->bytes, params->max_grid.width, params->max_grid.height);
    memcpy(net->network, params->network, desc->image_bytes);
    memset(net->panels, 0, panel_bytes);
    net->machine->prepare(net->network, net->panels);
    return D4R_OK;
}

d4r_status d4r_cpu_net_create(const d4r_cpu_net_params *params, d4r_cpu_net **net)
{
    *net = NULL;
    const d4r_net_desc *desc = params->net;
    if (!params->network || params->network_bytes != desc->image_bytes)
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT,
                        "CPU network: the packed network has %zu bytes, not %zu",
                        params->network ? params->network_bytes : 0, desc->image_bytes);
    if (!d4r_net_grid_valid(desc, params->max_grid))
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT,
                        "CPU network: max_grid %ux%u is not a token grid of preset %s",
                        params->max_grid.width, params->max_grid.height, desc->preset);
    d4r_cpu_net *n = calloc(1, sizeof(*n));
    if (!n) return d4r_fail(&params->log, D4R_ERROR_MEMORY, "CPU network: out of memory");
    pthread_mutex_init(&n->run, NULL);
    n->desc = desc;
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
    d4r_log_print(&params->log, D4R_LOG_DEBUG, "CPU network: preset %s, level %s, %u threads, %llu bytes",
                  desc->preset, d4r_cpu_level_name(n->level), d4r_cpu_pool_threads(n->pool),
                  (unsigned long long)n->bytes);
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
    for (int i = 0; i < D4R_NET_MAX_LAYERS; i++) free(n->outputs[i]);
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

static void run_items(void *user, int first, int last)
{
    const layer_job *job = user;
    job->kernel(&job->args, first, last);
}

static uint8_t *layer_output(const d4r_cpu_net *net, const d4r_cpu_net_run_params *params, unsigned layer)
{
    return layer + 1 == net->desc->layer_count ? params->head : net->outputs[layer];
}

static bool run_layer(d4r_cpu_net *net, const d4r_cpu_net_run_params *params, unsigned index)
{
    const d4r_net_layer layer = net->desc->layer(index);
    layer_job job = {net->machine->layers[index], net->desc->shape(index, params->grid, params->phase)};
    job.args.input = layer.input == D4R_NET_NO_LAYER ? params->tokens : net->outputs[layer.input];
    job.args.skip = layer.skip == D4R_NET_NO_LAYER ? NULL : net->outputs[layer.skip];
    job.args.output = layer_output(net, params, index);
    job.args.weights = net->network + layer.weights;
    job.args.panels = net->panels + layer.weights * (size_t)net->machine->panel_scale;
    const int a_item = net->machine->windows_an_item, items = (job.args.windows + a_item - 1) / a_item;
    return d4r_cpu_pool_run(net->pool, run_items, &job, items, ITEMS_A_CHUNK, params->cancel);
}

static bool run_is_valid(const d4r_cpu_net *net, const d4r_cpu_net_run_params *params)
{
    const bool in_place = net->desc->token_bytes == net->desc->head_bytes;
    return params->tokens && params->head && (in_place || params->tokens != params->head) &&
           params->phase < net->desc->phases && d4r_net_grid_valid(net->desc, params->grid) &&
           (size_t)params->grid.width * params->grid.height <= net->max_tokens;
}

d4r_status d4r_cpu_net_run(d4r_cpu_net *net, const d4r_cpu_net_run_params *params)
{
    if (!run_is_valid(net, params)) return D4R_ERROR_ARGUMENT;
    pthread_mutex_lock(&net->run);
    d4r_status status = D4R_OK;
    for (unsigned i = 0; i < net->desc->layer_count && status == D4R_OK; i++) {
        const d4r_net_layer layer = net->desc->layer(i);
        if (!run_layer(net, params, i))
            status = D4R_ERROR_TIMEOUT;
        else if (params->layer)
            params->layer(params->user, i, layer_output(net, params, i),
                          params->grid.width >> layer.out_level, params->grid.height >> layer.out_level,
                          layer.out_channels);
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
