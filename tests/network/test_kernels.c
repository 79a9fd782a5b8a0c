/* The GPU kernels on the emulated device, layer by layer on the CPU network's own inputs:
 *   test_network_kernels KERNELS_FOLDER ARCHITECTURE...
 * for each architecture: no spills, no scratch, no fault of the memory, LDS race and initialisation checkers, and the
 * CPU's codes. Exit status 77 when a code object is missing (target `kernels`). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/m_args.h"
#include "hip_kernels/m_launch.h"
#include "tests/network/compare.h"
#include "tests/network/network_tensors.h"
#include "tools/hipemu/core.h"

/* The emulator adds in the CPU's order, so only the last bit of exp2 (and on gfx11 of the softmax's sum) differs. A
 * small layer may have one window with a code moved by it: some dozens of codes. */
#define LEAST_SAME_PERCENT 99.99
#define SMALL_COUNT 1000000
#define SMALL_SLACK 64

#define COLUMNS 48
#define ROWS 32

typedef struct field {
    uint8_t *codes;
    size_t bytes;
} field;

typedef struct fixture {
    uint8_t *network;
    field tokens, layers[D4R_M_LAYER_COUNT];
} fixture;

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

static void keep_layer(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    field *f = &((fixture *)user)->layers[layer];
    f->bytes = (size_t)columns * rows * channels;
    f->codes = allocate(f->bytes);
    memcpy(f->codes, codes, f->bytes);
}

static bool make_fixture(fixture *f)
{
    network_tensors *tensors = network_tensors_random(21, 1.0);
    memset(f, 0, sizeof(*f));
    f->network = allocate(D4R_M_NET_BYTES);
    network_tensors_pack(tensors, f->network);
    network_tensors_free(tensors);
    f->tokens.bytes = (size_t)COLUMNS * ROWS * D4R_M_TOKEN_CHANNELS;
    f->tokens.codes = allocate(f->tokens.bytes);
    network_random_tokens(21, 1.5, f->tokens.codes, f->tokens.bytes);
    d4r_cpu_net *net = NULL;
    uint8_t *head = allocate(f->tokens.bytes);
    d4r_cpu_net_params params = {.net = &d4r_m_net,
                                 .network = f->network,
                                 .network_bytes = D4R_M_NET_BYTES,
                                 .max_grid = {COLUMNS, ROWS}};
    d4r_cpu_net_run_params run = {
        .grid = {COLUMNS, ROWS}, .tokens = f->tokens.codes, .head = head, .layer = keep_layer, .user = f};
    bool ok = d4r_cpu_net_create(&params, &net) == D4R_OK && d4r_cpu_net_run(net, &run) == D4R_OK;
    d4r_cpu_net_destroy(&net);
    free(head);
    return ok;
}

static void free_fixture(fixture *f)
{
    free(f->network);
    free(f->tokens.codes);
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(f->layers[i].codes);
}

/* ---- the emulated device -------------------------------------------------------------------------------------- */

typedef struct device {
    d4r_m_machine machine;
    emu_module *module;
    emu_memory *memory;
    emu_pool *pool;
    uint8_t *panels;
} device;

static emu_module *load_module(const char *folder, const char *arch, bool *missing)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/m.hsaco", folder, arch);
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

static d4r_m_args layer_args(const device *d, const fixture *f, int index, uint8_t *output)
{
    const d4r_m_layer_info *l = &d4r_m_layers[index];
    uint32_t columns = COLUMNS >> l->level, rows = ROWS >> l->level;
    uint32_t windows_x = d4r_m_windows(columns, l->shift), windows_y = d4r_m_windows(rows, l->shift);
    return (d4r_m_args){
        .input = l->input == D4R_M_NO_LAYER ? f->tokens.codes : f->layers[l->input].codes,
        .skip = l->skip == D4R_M_NO_LAYER ? NULL : f->layers[l->skip].codes,
        .output = output,
        .weights = f->network + l->weights,
        .panels = d->panels + l->weights * d4r_m_panel_scale(d->machine),
        .columns = (int)columns,
        .rows = (int)rows,
        .shift = (int)l->shift,
        .windows_x = (int)windows_x,
        .windows = (int)(windows_x * windows_y),
    };
}

static bool run_layer(device *d, const fixture *f, const char *arch, int index)
{
    const d4r_m_layer_info *l = &d4r_m_layers[index];
    const d4r_m_kernel *k = d4r_m_kernel_of(d->machine, (d4r_m_layer)index);
    const emu_kernel *kernel = emu_module_kernel(d->module, k->function);
    if (!kernel) {
        fprintf(stderr, "%s: no kernel %s\n", arch, k->function);
        return false;
    }
    if (kernel->vgpr_spills || kernel->sgpr_spills || kernel->scratch_bytes || kernel->dynamic_stack) {
        fprintf(stderr, "%s %s: %u + %u spills, %u bytes of scratch\n", arch, kernel->name,
                kernel->vgpr_spills, kernel->sgpr_spills, kernel->scratch_bytes);
        return false;
    }
    const field *expected = &f->layers[index];
    uint8_t *output = allocate(expected->bytes);
    memset(output, 0x7f, expected->bytes);
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
    bool ok = add_range(d, output, expected->bytes, EMU_MEMORY_DEFAULT);
    if (ok && emu_launch(&params, NULL, NULL, &fault) != EMU_OK) {
        fprintf(stderr, "%s %s: %s\n", arch, l->name, fault.text);
        ok = false;
    }
    emu_memory_remove(d->memory, output);
    code_comparison c = compare_codes(expected->codes, output, expected->bytes);
    double allowed =
        (100 - LEAST_SAME_PERCENT) / 100 * (double)c.count + (c.count < SMALL_COUNT ? SMALL_SLACK : 0);
    printf("%s %s: %.4f %% of the CPU's codes (%zu of %zu differ)\n", arch, l->name, compare_same_percent(&c),
           c.different, c.count);
    free(output);
    return ok && (double)c.different <= allowed;
}

static bool prepare(device *d, const fixture *f)
{
    size_t panel_bytes = (size_t)D4R_M_NET_BYTES * d4r_m_panel_scale(d->machine);
    d->panels = allocate(panel_bytes);
    d4r_m_prepare_panels(d->machine, f->network, d->panels);
    d->memory = emu_memory_create(true);
    d->pool = emu_pool_create(0);
    const uint32_t flags = EMU_MEMORY_WRITTEN | EMU_MEMORY_READ_ONLY;
    bool ok = d->memory && d->pool && add_range(d, f->network, D4R_M_NET_BYTES, flags) &&
              add_range(d, d->panels, panel_bytes, flags) &&
              add_range(d, f->tokens.codes, f->tokens.bytes, flags);
    for (int i = 0; ok && i < D4R_M_LAYER_COUNT; i++)
        ok = add_range(d, f->layers[i].codes, f->layers[i].bytes, flags);
    return ok;
}

/* 1 good, 0 failed, -1 no code object. */
static int run_architecture(const char *folder, const fixture *f, const char *arch)
{
    bool missing;
    device d = {.machine = strncmp(arch, "gfx12", 5) == 0 ? D4R_M_MACHINE_GFX12 : D4R_M_MACHINE_GFX11};
    d.module = load_module(folder, arch, &missing);
    if (missing) return -1;
    bool ok = d.module && prepare(&d, f);
    for (int i = 0; ok && i < D4R_M_LAYER_COUNT; i++) ok = run_layer(&d, f, arch, i);
    emu_pool_destroy(&d.pool);
    emu_memory_destroy(&d.memory);
    emu_module_destroy(&d.module);
    free(d.panels);
    return ok;
}

int main(int argc, char **argv)
{
    fixture f;
    bool ok = make_fixture(&f), missing = false;
    for (int i = 2; ok && i < argc; i++) {
        int result = run_architecture(argv[1], &f, argv[i]);
        missing = missing || result < 0;
        ok = result != 0;
    }
    free_fixture(&f);
    return !ok ? 1 : missing || argc < 3 ? 77 : 0;
}
