#include "bench/kernel_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/m_args.h"
#include "models/format/m_layout.h"
#include "tests/network/network_tensors.h"

static void print_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (level == D4R_LOG_ERROR) fprintf(stderr, "bench_kernels: %s\n", line);
}

static uint8_t *buffer(kernel_counter *k, size_t bytes)
{
    /* Aligned as a device's allocations are, so that lines are counted as there. */
    uint8_t *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p || emu_memory_add(k->memory, p, bytes, EMU_MEMORY_WRITTEN, NULL) != EMU_OK) {
        fprintf(stderr, "bench_kernels: cannot allocate %zu bytes\n", bytes);
        free(p);
        return NULL;
    }
    memset(p, 0, bytes);
    return p;
}

static void release(kernel_counter *k, uint8_t *p)
{
    if (p) emu_memory_remove(k->memory, p);
    free(p);
}

bool kernel_counter_open(kernel_counter *k, const char *arch, const char *kernels, const uint8_t *network,
                         unsigned threads)
{
    const d4r_log log = {print_log, NULL, D4R_LOG_ERROR};
    emu_error error = {0};
    memset(k, 0, sizeof *k);
    if (d4r_code_object_load(kernels, arch, "m", &log, &k->object) != D4R_OK) return false;
    k->arch = emu_arch_find(arch);
    k->machine = k->arch->cls == EMU_GFX12 ? D4R_M_MACHINE_GFX12 : D4R_M_MACHINE_GFX11;
    if (emu_module_load(k->object.image, k->object.size, k->arch, &k->module, &error) != EMU_OK) {
        fprintf(stderr, "bench_kernels: %s: %s\n", k->object.path, error.text);
        kernel_counter_close(k);
        return false;
    }
    const size_t scale = d4r_m_panel_scale(k->machine);
    k->memory = emu_memory_create(false);
    k->pool = emu_pool_create(threads);
    if (k->memory && k->pool) {
        k->weights = buffer(k, D4R_M_NET_BYTES);
        k->panels = scale == 1 ? k->weights : buffer(k, D4R_M_NET_BYTES * scale);
    }
    if (!k->weights || !k->panels) {
        kernel_counter_close(k);
        return false;
    }
    memcpy(k->weights, network, D4R_M_NET_BYTES);
    if (k->panels != k->weights) d4r_m_prepare_panels(k->machine, network, k->panels);
    return true;
}

void kernel_counter_close(kernel_counter *k)
{
    if (k->panels != k->weights) release(k, k->panels);
    release(k, k->weights);
    emu_pool_destroy(&k->pool);
    emu_memory_destroy(&k->memory);
    emu_module_destroy(&k->module);
    d4r_code_object_destroy(&k->object);
    memset(k, 0, sizeof *k);
}

const emu_kernel *kernel_counter_kernel(const kernel_counter *k, d4r_m_layer layer)
{
    return emu_module_kernel(k->module, d4r_m_kernel_of(k->machine, layer)->function);
}

static size_t output_bytes(d4r_size grid, int layer)
{
    const d4r_m_layer_info *info = &d4r_m_layers[layer];
    return d4r_m_level_tokens(grid.width, grid.height, info->out_level) * info->out_channels;
}

static size_t weight_bytes(int layer)
{
    size_t end = layer + 1 < D4R_M_LAYER_COUNT ? d4r_m_layers[layer + 1].weights : D4R_M_NET_BYTES;
    return end - d4r_m_layers[layer].weights;
}

/* buffers[0]: the tokens; buffers[1 + i]: what layer i writes. */
static bool run_layer(kernel_counter *k, d4r_size grid, int index, uint8_t *const *buffers, layer_counts *c)
{
    const d4r_m_layer_info *layer = &d4r_m_layers[index];
    const d4r_m_kernel *kernel = d4r_m_kernel_of(k->machine, (d4r_m_layer)index);
    const unsigned scale = d4r_m_panel_scale(k->machine);
    const uint32_t columns = grid.width >> layer->level, rows = grid.height >> layer->level;
    const uint32_t windows_x = d4r_m_windows(columns, layer->shift);
    const uint32_t windows = windows_x * d4r_m_windows(rows, layer->shift);
    const d4r_m_args args = {.input = buffers[1 + layer->input],
                             .skip = layer->skip == D4R_M_NO_LAYER ? NULL : buffers[1 + layer->skip],
                             .output = buffers[1 + index],
                             .weights = k->weights + layer->weights,
                             .panels = k->panels + scale * layer->weights,
                             .columns = (int)columns,
                             .rows = (int)rows,
                             .shift = (int)layer->shift,
                             .windows_x = (int)windows_x,
                             .windows = (int)windows};
    const emu_launch_params launch = {.kernel = kernel_counter_kernel(k, (d4r_m_layer)index),
                                      .memory = k->memory,
                                      .pool = k->pool,
                                      .grid = {(windows + kernel->windows - 1) / kernel->windows, 1, 1},
                                      .block = {kernel->threads, 1, 1},
                                      .kernarg = &args,
                                      .kernarg_size = sizeof args};
    emu_fault fault = {0};
    const size_t in_tokens = d4r_m_level_tokens(grid.width, grid.height, layer->in_level);
    memset(c, 0, sizeof *c);
    c->windows = windows;
    c->memory_bytes =
        (double)(in_tokens * layer->in_channels + output_bytes(grid, index) +
                 (args.skip ? output_bytes(grid, layer->skip) : 0) + scale * weight_bytes(index));
    if (emu_launch(&launch, &c->counters, NULL, &fault) == EMU_OK) return true;
    fprintf(stderr, "bench_kernels: %s, %s: %s\n", k->arch->name, layer->name, fault.text);
    return false;
}

bool kernel_counter_run(kernel_counter *k, d4r_size grid, layer_counts counts[D4R_M_LAYER_COUNT])
{
    uint8_t *buffers[1 + D4R_M_LAYER_COUNT] = {NULL};
    const size_t token_bytes = (size_t)grid.width * grid.height * D4R_M_TOKEN_CHANNELS;
    bool ok = (buffers[0] = buffer(k, token_bytes)) != NULL;
    if (ok) network_random_tokens(1, 1.5, buffers[0], token_bytes);
    for (int i = 0; i < D4R_M_LAYER_COUNT && ok; i++) {
        buffers[1 + i] = buffer(k, output_bytes(grid, i));
        ok = buffers[1 + i] && run_layer(k, grid, i, buffers, &counts[i]);
    }
    for (int i = 0; i <= D4R_M_LAYER_COUNT; i++) release(k, buffers[i]);
    return ok;
}
