/* Preset K's kernel text through tile_half_nv.h, the four warps of a window in lockstep, against the CPU network: layer by
 * layer on the CPU's own inputs. What this cannot show is the tensor core's own order of sums. */
#include "tests/tile_nv/lockstep.h"

#include <stdio.h>
#include <stdlib.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/k_kernel_config.h"
#include "hip_kernels/k_launch.h"
#define TILE_WINDOWS 1
#define TILE_HALF
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/tile_half_nv.h"
#include "hip_kernels/k_block.h"
#include "tests/network/half_ref.h"
#include "tests/network/k_tensors.h"

/* As the CPU against the truth (tests/network/test_k_network.c): sums run in another order. */
#define TOLERANCE 0x1p-10
#define LEAST_WITHIN_PERCENT 99.9
#define COLUMNS 64
#define ROWS 32
#define PHASE 1

static uint16_t *layers[D4R_K_LAYER_COUNT];
static size_t counts[D4R_K_LAYER_COUNT];

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

static void keep_layer(void *user, unsigned layer, const void *values, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    (void)user;
    counts[layer] = (size_t)columns * rows * channels;
    layers[layer] = allocate(counts[layer] * 2);
    memcpy(layers[layer], values, counts[layer] * 2);
}

typedef struct warp_job {
    const d4r_m_args *args;
    int layer, window;
    unsigned char *keys;
} warp_job;

static void run_lane(void *user)
{
    static void (*const kernels[D4R_K_LAYER_COUNT])(const tile_group *, const d4r_m_args *) = {
        k_enc0, k_enc1, k_enc2, k_enc3, k_enc4, k_dec5, k_dec4, k_dec3, k_dec2, k_dec1, k_dec0};
    const warp_job *job = user;
    tile_group group;
    tile_open_half(&group, job->args, job->window, (int)threadIdx.x >> 5, job->keys);
    kernels[job->layer](&group, job->args);
}

static int run_layer(int index, const uint16_t *tokens, const uint8_t *panels, unsigned char *keys)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    uint16_t *output = allocate(counts[index] * 2);
    memset(output, 0xff, counts[index] * 2);
    d4r_m_args args = d4r_k_layer_shape((d4r_k_layer)index, COLUMNS, ROWS, PHASE);
    args.input = (const unsigned char *)(l->input == D4R_K_NO_LAYER ? tokens : layers[l->input]);
    args.skip = l->skip == D4R_K_NO_LAYER ? NULL : (const unsigned char *)layers[l->skip];
    args.output = (unsigned char *)output;
    args.weights = args.panels = panels + l->weights;
    /* One more than needed: warps without a window must store nothing. */
    for (int window = 0; window <= args.windows; window++) {
        warp_job job = {.args = &args, .layer = index, .window = window, .keys = keys};
        memset(keys, 0xff, K_KEYS_BYTES);
        warps_run(4, run_lane, &job);
    }
    half_comparison c = half_compare(layers[index], output, counts[index], TOLERANCE);
    printf("%s: %zu of %zu values differ, %zu beyond the tolerance, error %.1e of %.2f\n", l->name,
           c.different, c.count, c.far, c.error_rms, c.rms);
    free(output);
    return c.nan == 0 && (double)c.far <= (100 - LEAST_WITHIN_PERCENT) / 100 * (double)c.count;
}

int main(void)
{
    k_tensors *tensors = k_tensors_random(33, 1.0);
    uint8_t *network = allocate(D4R_K_NET_BYTES);
    uint8_t *panels = aligned_alloc(64, (D4R_K_NET_BYTES + 63) / 64 * 64);
    unsigned char *keys = aligned_alloc(64, K_KEYS_BYTES);
    const size_t count = (size_t)COLUMNS * ROWS * D4R_K_FEATURES;
    uint16_t *tokens = allocate(count * 2), *head = allocate((size_t)COLUMNS * ROWS * D4R_K_HEAD * 2);
    d4r_cpu_net *net = NULL;
    if (!panels || !keys) abort();
    k_tensors_pack(tensors, network);
    k_tensors_free(tensors);
    d4r_k_prepare_panels(D4R_M_MACHINE_NV, network, panels);
    k_random_tokens(33, 1.0, tokens, count);
    const d4r_cpu_net_params params = {
        .net = &d4r_k_net, .network = network, .network_bytes = D4R_K_NET_BYTES, .max_grid = {COLUMNS, ROWS}};
    const d4r_cpu_net_run_params run = {
        .grid = {COLUMNS, ROWS}, .phase = PHASE, .tokens = tokens, .head = head, .layer = keep_layer};
    int good = d4r_cpu_net_create(&params, &net) == D4R_OK && d4r_cpu_net_run(net, &run) == D4R_OK;
    d4r_cpu_net_destroy(&net);
    for (int i = 0; good && i < D4R_K_LAYER_COUNT; i++) good = run_layer(i, tokens, panels, keys);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) free(layers[i]);
    free(tokens);
    free(head);
    free(keys);
    free(panels);
    free(network);
    return good ? 0 : 1;
}
