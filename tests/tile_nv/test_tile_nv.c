/* The kernel text through tile_nv.h, one warp after the other in lockstep, against the CPU network: layer by layer on the
 * CPU's own inputs. What this cannot show is the tensor core's own order of sums. */
#include "tests/tile_nv/lockstep.h"

#include <stdio.h>
#include <stdlib.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/m_launch.h"
#include "hip_kernels/m_kernel_config.h"
#ifndef TILE_WINDOWS
#define TILE_WINDOWS 1
#endif
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/m_block.h"
#include "tests/network/compare.h"
#include "tests/network/network_tensors.h"

/* Sums run in another order than the CPU's, so codes near a rounding border may flip: the share that the issue of the
 * GPU path allows, and a window's worth in a small layer. */
#define LEAST_SAME_PERCENT 99.99
#define SMALL_SLACK 64
#define COLUMNS 32
#define ROWS 32

static uint8_t *layers[D4R_M_LAYER_COUNT];
static size_t layer_bytes[D4R_M_LAYER_COUNT];

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

static void keep_layer(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    (void)user;
    layer_bytes[layer] = (size_t)columns * rows * channels;
    layers[layer] = allocate(layer_bytes[layer]);
    memcpy(layers[layer], codes, layer_bytes[layer]);
}

typedef struct warp_job {
    const d4r_m_args *args;
    int layer, index;
    unsigned char *shared;
} warp_job;

/* What the kernels stage (m_kernels_nv.cu), by layer: first, end, block, C. */
static const int staged[][D4R_M_LAYER_COUNT][4] = {
#define STAGED(machine)                                                              \
    {                                                                                \
        {M_##machine##_STAGED_block64}, {M_##machine##_STAGED_merge_block96},        \
            {M_##machine##_STAGED_merge_block128}, {M_##machine##_STAGED_block128},  \
            {M_##machine##_STAGED_block128}, {M_##machine##_STAGED_block128},        \
            {M_##machine##_STAGED_block128}, {M_##machine##_STAGED_block128_expand}, \
            {M_##machine##_STAGED_block96_expand},                                   \
        {                                                                            \
            M_##machine##_STAGED_block64                                             \
        }                                                                            \
    }
    STAGED(NV),
    STAGED(SM90),
};
static int machine; /* whose shared memory */

static void run_lane(void *user)
{
    static void (*const kernels[D4R_M_LAYER_COUNT])(const tile_group *, const d4r_m_args *) = {
        m_block64,  m_merge_block96, m_merge_block128,  m_block128,       m_block128,
        m_block128, m_block128,      m_block128_expand, m_block96_expand, m_block64};
    const warp_job *job = user;
    const int *part = staged[machine][job->layer];
    tile_group group;
    tile_stage(&group, job->args, job->shared, part[0], part[1], part[2] + D4R_M_BLOCK_QKV_BIAS(part[3]),
               part[2] + D4R_M_BLOCK_BYTES(part[3]), 32);
    if (!machine)
        group.outside_end = D4R_M_NET_BYTES; /* one of them with every sum outside the tensor core */
    if (tile_open(&group, job->args, job->index)) kernels[job->layer](&group, job->args);
}

static int run_layer(int index, const uint8_t *tokens, const uint8_t *network, const uint8_t *panels)
{
    const d4r_m_layer_info *l = &d4r_m_layers[index];
    uint32_t columns = COLUMNS >> l->level, rows = ROWS >> l->level;
    uint32_t windows_x = d4r_m_windows(columns, l->shift), windows_y = d4r_m_windows(rows, l->shift);
    uint8_t *output = allocate(layer_bytes[index]);
    memset(output, 0x7f, layer_bytes[index]);
    const d4r_m_args args = {
        .input = l->input == D4R_M_NO_LAYER ? tokens : layers[l->input],
        .skip = l->skip == D4R_M_NO_LAYER ? NULL : layers[l->skip],
        .output = output,
        .weights = network + l->weights,
        .panels = panels + l->weights * d4r_m_panel_scale(D4R_M_MACHINE_NV),
        .columns = (int)columns,
        .rows = (int)rows,
        .shift = (int)l->shift,
        .windows_x = (int)windows_x,
        .windows = (int)(windows_x * windows_y),
    };
    const unsigned bytes =
        d4r_m_kernel_of(machine ? D4R_M_MACHINE_SM90 : D4R_M_MACHINE_NV, (d4r_m_layer)index)->shared_bytes;
    unsigned char *shared = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
    if (!shared) abort();
    /* One more than needed: a warp without a window must do nothing. */
    for (int i = 0; i <= (args.windows + TILE_WINDOWS - 1) / TILE_WINDOWS; i++) {
        warp_job job = {.args = &args, .layer = index, .index = i, .shared = shared};
        memset(shared, 0xff, bytes);
        warp_run(run_lane, &job);
    }
    code_comparison c = compare_codes(layers[index], output, layer_bytes[index]);
    printf("%s: %.4f %% of the CPU's codes (%zu of %zu differ, %zu by more than a step)\n", l->name,
           compare_same_percent(&c), c.different, c.count, c.far);
    free(shared);
    free(output);
    return (double)c.different <= (100 - LEAST_SAME_PERCENT) / 100 * (double)c.count + SMALL_SLACK;
}

int main(void)
{
    network_tensors *tensors = network_tensors_random(33, 1.0);
    uint8_t *network = allocate(D4R_M_NET_BYTES);
    uint8_t *panels = aligned_alloc(64, (size_t)D4R_M_NET_BYTES * 2 / 64 * 64 + 64);
    size_t bytes = (size_t)COLUMNS * ROWS * D4R_M_TOKEN_CHANNELS;
    uint8_t *tokens = allocate(bytes), *head = allocate(bytes);
    d4r_cpu_net *net = NULL;
    if (!panels) abort();
    network_tensors_pack(tensors, network);
    network_tensors_free(tensors);
    d4r_m_prepare_panels(D4R_M_MACHINE_NV, network, panels);
    network_random_tokens(33, 1.5, tokens, bytes);
    const d4r_cpu_net_params params = {
        .net = &d4r_m_net, .network = network, .network_bytes = D4R_M_NET_BYTES, .max_grid = {COLUMNS, ROWS}};
    const d4r_cpu_net_run_params run = {
        .grid = {COLUMNS, ROWS}, .tokens = tokens, .head = head, .layer = keep_layer};
    int good = d4r_cpu_net_create(&params, &net) == D4R_OK && d4r_cpu_net_run(net, &run) == D4R_OK;
    d4r_cpu_net_destroy(&net);
    for (int i = 0; good && i < D4R_M_LAYER_COUNT; i++) {
        for (machine = 0; good && machine < 2; machine++) good = run_layer(i, tokens, network, panels);
    }
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(layers[i]);
    free(tokens);
    free(head);
    free(panels);
    free(network);
    return good ? 0 : 1;
}
