/* Preset K's GPU kernels: resources from the metadata, instructions and bytes counted while the emulated device executes a
 * whole evaluation at an output size, and what the serial throughput model (tools/hipemu/api/model.c) makes of them.
 * Nothing here is a measurement on AMD hardware.
 *   bench_k_kernels [--arch NAME]... [--output WxH] [--phase N] [--kernels DIR] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/code_object.h"
#include "hip_kernels/k_launch.h"
#include "tests/network/k_tensors.h"
#include "tools/hipemu/api/model.h"

typedef struct options {
    const char *archs[8], *kernels;
    int arch_count;
    unsigned width, height, phase;
} options;

typedef struct bench {
    const char *arch;
    d4r_code_object object;
    emu_module *module;
    emu_memory *memory;
    emu_pool *pool;
    uint8_t *panels,
        *buffers[1 + D4R_K_LAYER_COUNT]; /* buffers[0]: the tokens; [1 + i]: what layer i writes */
    uint32_t columns, rows, phase;
} bench;

static void print_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (level == D4R_LOG_ERROR) fprintf(stderr, "bench_k_kernels: %s\n", line);
}

static bool parse_options(options *o, int argc, char **argv)
{
    *o = (options){.width = 3840, .height = 2160};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = *value != 0;
        if (strcmp(name, "--arch") == 0 && o->arch_count < 8)
            o->archs[o->arch_count++] = value;
        else if (strcmp(name, "--output") == 0)
            good = sscanf(value, "%ux%u", &o->width, &o->height) == 2 && o->width >= 64 && o->height >= 64 &&
                   o->width <= D4R_MAX_DIMENSION && o->height <= D4R_MAX_DIMENSION;
        else if (strcmp(name, "--phase") == 0)
            good = sscanf(value, "%u", &o->phase) == 1 && o->phase < D4R_K_PHASES;
        else if (strcmp(name, "--kernels") == 0)
            o->kernels = value;
        else
            good = false;
        if (good) continue;
        fprintf(stderr,
                "usage: bench_k_kernels [--arch NAME]... [--output WxH] [--phase 0..7] [--kernels DIR]\n"
                "bad option or value: %s %s\n",
                name, value);
        return false;
    }
    if (o->arch_count == 0) {
        o->archs[o->arch_count++] = "gfx1201";
        o->archs[o->arch_count++] = "gfx1100";
    }
    return true;
}

static d4r_m_machine machine_of(const char *arch)
{
    return strncmp(arch, "gfx12", 5) == 0 ? D4R_M_MACHINE_GFX12 : D4R_M_MACHINE_GFX11;
}

/* Aligned as a device's allocations are, so that lines are counted as there. */
static uint8_t *buffer(bench *b, size_t bytes)
{
    uint8_t *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p || emu_memory_add(b->memory, p, bytes, EMU_MEMORY_WRITTEN, NULL) != EMU_OK) exit(1);
    memset(p, 0, bytes);
    return p;
}

static size_t output_bytes(const bench *b, int layer)
{
    const d4r_k_layer_info *l = &d4r_k_layers[layer];
    return d4r_k_level_tokens(b->columns, b->rows, l->level) * l->out_channels * 2;
}

static bool open_bench(bench *b, const options *o, const char *arch)
{
    const d4r_log log = {print_log, NULL, D4R_LOG_ERROR};
    const uint32_t step = D4R_K_GRID_STEP;
    emu_error error = {0};
    memset(b, 0, sizeof *b);
    b->arch = arch;
    b->phase = o->phase;
    b->columns = (o->width + 4 * step - 1) / (4 * step) * step;
    b->rows = (o->height + 4 * step - 1) / (4 * step) * step;
    if (b->columns < D4R_K_GRID_LEAST) b->columns = D4R_K_GRID_LEAST;
    if (b->rows < D4R_K_GRID_LEAST) b->rows = D4R_K_GRID_LEAST;
    if (d4r_code_object_load(o->kernels, arch, "k", &log, &b->object) != D4R_OK) return false;
    if (emu_module_load(b->object.image, b->object.size, emu_arch_find(arch), &b->module, &error) != EMU_OK) {
        fprintf(stderr, "bench_k_kernels: %s\n", error.text);
        return false;
    }
    b->memory = emu_memory_create(false);
    b->pool = emu_pool_create(0);
    const size_t tokens = (size_t)b->columns * b->rows * D4R_K_FEATURES;
    uint8_t *network = malloc(D4R_K_NET_BYTES);
    k_tensors *tensors = k_tensors_random(1, 1.0);
    if (!b->memory || !b->pool || !network) exit(1);
    k_tensors_pack(tensors, network);
    k_tensors_free(tensors);
    b->panels = buffer(b, D4R_K_NET_BYTES);
    d4r_k_prepare_panels(machine_of(arch), network, b->panels);
    free(network);
    b->buffers[0] = buffer(b, tokens * 2);
    k_random_tokens(1, 1.0, (uint16_t *)(void *)b->buffers[0], tokens);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) b->buffers[1 + i] = buffer(b, output_bytes(b, i));
    return true;
}

static void close_bench(bench *b)
{
    free(b->panels);
    for (int i = 0; i <= D4R_K_LAYER_COUNT; i++) free(b->buffers[i]);
    emu_pool_destroy(&b->pool);
    emu_memory_destroy(&b->memory);
    emu_module_destroy(&b->module);
    d4r_code_object_destroy(&b->object);
}

static size_t weight_bytes(int layer)
{
    return (layer + 1 < D4R_K_LAYER_COUNT ? d4r_k_layers[layer + 1].weights : (size_t)D4R_K_NET_BYTES) -
           d4r_k_layers[layer].weights;
}

/* Bytes that a layer reads and writes, each once. */
static double memory_bytes(const bench *b, int index)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    double bytes = (double)(output_bytes(b, index) + weight_bytes(index));
    bytes += 2.0 * (double)d4r_k_level_tokens(b->columns, b->rows, l->in_level) * l->in_channels;
    if (l->skip != D4R_K_NO_LAYER) bytes += (double)output_bytes(b, l->skip);
    return bytes;
}

static bool run_layer(bench *b, int index, const hipemu_card *card, double *seconds)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    const d4r_m_kernel *k = d4r_k_kernel_of(machine_of(b->arch), (d4r_k_layer)index);
    const emu_kernel *kernel = emu_module_kernel(b->module, k->function);
    const emu_occupancy occupancy = emu_kernel_occupancy(kernel, k->threads, 0);
    d4r_m_args args = d4r_k_layer_shape((d4r_k_layer)index, b->columns, b->rows, b->phase);
    args.input = b->buffers[1 + l->input];
    args.skip = l->skip == D4R_K_NO_LAYER ? NULL : b->buffers[1 + l->skip];
    args.output = b->buffers[1 + index];
    args.weights = args.panels = b->panels + l->weights;
    const emu_launch_params launch = {.kernel = kernel,
                                      .memory = b->memory,
                                      .pool = b->pool,
                                      .grid = {((unsigned)args.windows + k->windows - 1) / k->windows, 1, 1},
                                      .block = {k->threads, 1, 1},
                                      .kernarg = &args,
                                      .kernarg_size = sizeof args};
    emu_counters c = {0};
    emu_fault fault = {0};
    if (emu_launch(&launch, &c, NULL, &fault) != EMU_OK) {
        fprintf(stderr, "bench_k_kernels: %s\n", fault.text);
        return false;
    }
    const hipemu_estimate e = hipemu_model_estimate(card, &c, memory_bytes(b, index));
    const double waves = (double)c.waves;
    *seconds += e.seconds;
    printf("%-8s %-5s C%-3u %3u VGPR %5u LDS %2u waves | a wave: %6.0f instr. %4.0f WMMA | us: %6.1f = "
           "max(issue %6.1f "
           "(WMMA %5.1f), LDS %5.1f, L2 %6.1f, memory %5.1f) + %.0f, %s\n",
           b->arch, l->name, l->channels, kernel->vgprs, kernel->lds_bytes, occupancy.waves,
           (double)c.instructions / waves, (double)c.by_class[EMU_COUNT_WMMA] / waves, e.seconds * 1e6,
           e.part[HIPEMU_BOUND_ISSUE] * 1e6, e.wmma * 1e6, e.part[HIPEMU_BOUND_LDS] * 1e6,
           e.part[HIPEMU_BOUND_L2] * 1e6, e.part[HIPEMU_BOUND_MEMORY] * 1e6, e.launch * 1e6,
           hipemu_bound_name(e.bound));
    return true;
}

int main(int argc, char **argv)
{
    options o;
    if (!parse_options(&o, argc, argv)) return 2;
    for (int i = 0; i < o.arch_count; i++) {
        bench b;
        double seconds = 0;
        uint64_t macs = 0;
        if (!open_bench(&b, &o, o.archs[i])) return 4;
        const hipemu_card *card = hipemu_card_for(emu_arch_find(o.archs[i]));
        for (int layer = 0; layer < D4R_K_LAYER_COUNT; layer++) {
            if (!run_layer(&b, layer, card, &seconds)) return 6;
            macs += d4r_k_layer_macs((d4r_k_layer)layer, b.columns, b.rows);
        }
        printf("%s, output %ux%u, %ux%u tokens, %.1f GMAC: %.3f ms estimated for %s\n", o.archs[i], o.width,
               o.height, b.columns, b.rows, (double)macs * 1e-9, seconds * 1e3, card->name);
        close_bench(&b);
    }
    return 0;
}
