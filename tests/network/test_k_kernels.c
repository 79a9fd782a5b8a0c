/* Preset K's GPU kernels on the emulated device, layer by layer on the CPU network's own inputs:
 *   test_network_k_kernels KERNELS_FOLDER ARCHITECTURE...
 * for each architecture: no spills, no scratch, no fault of the memory, LDS race and initialisation checkers, and the CPU's
 * bits: the emulator adds in the CPU's order and rounds exp2, the reciprocals and roots correctly, as the CPU does.
 * Sizes and phases: 96x64 in phase 1 (odd shifts of the bottleneck, windows over every edge, an odd number of windows);
 * with D4R_LONG_TESTS=1 all eight phases on 160x96 too. Exit status 77 when a code object is missing (target kernels). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/k_launch.h"
#include "tests/network/half_ref.h"
#include "tests/network/k_tensors.h"
#include "tools/hipemu/core.h"

typedef struct field {
    uint16_t *values;
    size_t count;
} field;

typedef struct fixture {
    uint32_t columns, rows, phase;
    uint8_t *network;
    field tokens, layers[D4R_K_LAYER_COUNT];
} fixture;

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

static void keep_layer(void *user, unsigned layer, const void *values, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    field *f = &((fixture *)user)->layers[layer];
    f->count = (size_t)columns * rows * channels;
    f->values = allocate(f->count * 2);
    memcpy(f->values, values, f->count * 2);
}

static bool make_fixture(fixture *f, uint32_t columns, uint32_t rows, uint32_t phase)
{
    k_tensors *tensors = k_tensors_random(21, 1.0);
    memset(f, 0, sizeof(*f));
    f->columns = columns;
    f->rows = rows;
    f->phase = phase;
    f->network = allocate(D4R_K_NET_BYTES);
    k_tensors_pack(tensors, f->network);
    k_tensors_free(tensors);
    f->tokens.count = (size_t)columns * rows * D4R_K_FEATURES;
    f->tokens.values = allocate(f->tokens.count * 2);
    k_random_tokens(21, 1.0, f->tokens.values, f->tokens.count);
    d4r_cpu_net *net = NULL;
    uint16_t *head = allocate((size_t)columns * rows * D4R_K_HEAD * 2);
    d4r_cpu_net_params params = {.net = &d4r_k_net,
                                 .network = f->network,
                                 .network_bytes = D4R_K_NET_BYTES,
                                 .max_grid = {columns, rows}};
    d4r_cpu_net_run_params run = {.grid = {columns, rows},
                                  .phase = phase,
                                  .tokens = f->tokens.values,
                                  .head = head,
                                  .layer = keep_layer,
                                  .user = f};
    bool ok = d4r_cpu_net_create(&params, &net) == D4R_OK && d4r_cpu_net_run(net, &run) == D4R_OK;
    d4r_cpu_net_destroy(&net);
    free(head);
    return ok;
}

static void free_fixture(fixture *f)
{
    free(f->network);
    free(f->tokens.values);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) free(f->layers[i].values);
}

/* ---- the emulated device -------------------------------------------------------------------------------------- */

typedef struct device {
    const char *arch;
    emu_module *module;
    emu_memory *memory;
    emu_pool *pool;
    uint8_t *panels;
} device;

static d4r_m_machine machine_of(const char *arch)
{
    return strncmp(arch, "gfx12", 5) == 0 ? D4R_M_MACHINE_GFX12 : D4R_M_MACHINE_GFX11;
}

static emu_module *load_module(const char *folder, const char *arch, bool *missing)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/k.hsaco", folder, arch);
    FILE *file = fopen(path, "rb");
    *missing = file == NULL;
    if (!file) {
        printf("skipped: %s is not built (target kernels)\n", path);
        return NULL;
    }
    static uint8_t image[1 << 22];
    size_t size = fread(image, 1, sizeof(image), file);
    fclose(file);
    emu_module *module = NULL;
    emu_error error = {0};
    if (emu_module_load(image, size, emu_arch_find(arch), &module, &error) != EMU_OK)
        fprintf(stderr, "%s: %s\n", path, error.text);
    return module;
}

static bool add_range(device *d, void *base, size_t bytes, uint32_t flags)
{
    return emu_memory_add(d->memory, base, bytes, flags, NULL) == EMU_OK;
}

static d4r_m_args layer_args(const device *d, const fixture *f, int index, uint16_t *output)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    const field *input = l->input == D4R_K_NO_LAYER ? &f->tokens : &f->layers[l->input];
    d4r_m_args args = d4r_k_layer_shape((d4r_k_layer)index, f->columns, f->rows, f->phase);
    args.input = (const unsigned char *)input->values;
    args.skip = l->skip == D4R_K_NO_LAYER ? NULL : (const unsigned char *)f->layers[l->skip].values;
    args.output = (unsigned char *)output;
    args.weights = args.panels = d->panels + l->weights;
    return args;
}

static bool resources_are_good(const char *arch, const emu_kernel *kernel)
{
    if (!kernel->vgpr_spills && !kernel->sgpr_spills && !kernel->scratch_bytes && !kernel->dynamic_stack &&
        kernel->vgprs <= 256 && kernel->lds_bytes <= 65536)
        return true;
    fprintf(stderr, "%s %s: %u VGPRs, %u + %u spills, %u bytes of scratch, %u of LDS\n", arch, kernel->name,
            kernel->vgprs, kernel->vgpr_spills, kernel->sgpr_spills, kernel->scratch_bytes,
            kernel->lds_bytes);
    return false;
}

static bool run_layer(device *d, const fixture *f, int index)
{
    const d4r_m_kernel *k = d4r_k_kernel_of(machine_of(d->arch), (d4r_k_layer)index);
    const char *name = d4r_k_layers[index].name;
    const emu_kernel *kernel = emu_module_kernel(d->module, k->function);
    if (!kernel) {
        fprintf(stderr, "%s: no kernel %s\n", d->arch, k->function);
        return false;
    }
    const field *expected = &f->layers[index];
    uint16_t *output = allocate(expected->count * 2);
    memset(output, 0xff, expected->count * 2);
    d4r_m_args args = layer_args(d, f, index, output);
    emu_launch_params params = {
        .kernel = kernel,
        .memory = d->memory,
        .pool = d->pool,
        .grid = {((unsigned)args.windows + k->windows - 1) / k->windows, 1, 1},
        .block = {k->threads, 1, 1},
        .kernarg = &args,
        .kernarg_size = sizeof(args),
        .options = {.check_uninitialised = true, .lds_race_check = true, .max_instructions = 1000000}};
    emu_fault fault = {0};
    bool ok =
        resources_are_good(d->arch, kernel) && add_range(d, output, expected->count * 2, EMU_MEMORY_DEFAULT);
    if (ok && emu_launch(&params, NULL, NULL, &fault) != EMU_OK) {
        fprintf(stderr, "%s %s: %s\n", d->arch, name, fault.text);
        ok = false;
    }
    emu_memory_remove(d->memory, output);
    half_comparison c = half_compare(expected->values, output, expected->count, 0);
    printf("%s %ux%u phase %u %s: %zu of %zu values differ, rms %.3f, error %.1e\n", d->arch, f->columns,
           f->rows, f->phase, name, c.different + c.nan, c.count, c.rms, c.error_rms);
    free(output);
    return ok && c.different == 0 && c.nan == 0 && c.rms > 0.1;
}

static bool prepare(device *d, const fixture *f)
{
    d->panels = allocate(D4R_K_NET_BYTES);
    d4r_k_prepare_panels(machine_of(d->arch), f->network, d->panels);
    d->memory = emu_memory_create(true);
    d->pool = emu_pool_create(0);
    const uint32_t flags = EMU_MEMORY_WRITTEN | EMU_MEMORY_READ_ONLY;
    bool ok = d->memory && d->pool && add_range(d, d->panels, D4R_K_NET_BYTES, flags) &&
              add_range(d, f->tokens.values, f->tokens.count * 2, flags);
    for (int i = 0; ok && i < D4R_K_LAYER_COUNT; i++)
        ok = add_range(d, f->layers[i].values, f->layers[i].count * 2, flags);
    return ok;
}

/* 1 good, 0 failed, -1 no code object. */
static int run_architecture(const char *folder, const fixture *f, const char *arch)
{
    bool missing;
    device d = {.arch = arch};
    d.module = load_module(folder, arch, &missing);
    if (missing) return -1;
    bool ok = d.module && prepare(&d, f);
    for (int i = 0; ok && i < D4R_K_LAYER_COUNT; i++) ok = run_layer(&d, f, i);
    emu_pool_destroy(&d.pool);
    emu_memory_destroy(&d.memory);
    emu_module_destroy(&d.module);
    free(d.panels);
    return ok;
}

static int run_all(int argc, char **argv, uint32_t columns, uint32_t rows, uint32_t phase)
{
    fixture f;
    int result = make_fixture(&f, columns, rows, phase);
    for (int i = 2; result == 1 && i < argc; i++) result = run_architecture(argv[1], &f, argv[i]);
    free_fixture(&f);
    return result;
}

int main(int argc, char **argv)
{
    const char *value = getenv("D4R_LONG_TESTS");
    const bool is_long = value && strcmp(value, "1") == 0;
    int result = argc < 3 ? -1 : run_all(argc, argv, 96, 64, 1);
    for (uint32_t phase = 0; is_long && result == 1 && phase < D4R_K_PHASES; phase++)
        result = run_all(argc, argv, 160, 96, phase);
    return result == 1 ? 0 : result < 0 ? 77 : 1;
}
