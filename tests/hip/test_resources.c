/* What the code objects say of themselves: entry points of both presets for every architecture, no spill, no scratch,
 * LDS within 64 KiB, and the names that the launcher asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "hip_kernels/code_object.h"
#include "hip_kernels/net_desc.h"
#include "tools/hipemu/core.h"

static const char *const archs[] = {
#define D4R_ARCHITECTURE(name, mach, tile) #name,
#include "hip_kernels/architectures.def"
#undef D4R_ARCHITECTURE
};

static void check_kernel(const emu_kernel *k)
{
    printf("%s %-20s %3u VGPRs %3u SGPRs %5u LDS %u scratch %u+%u spills\n", k->arch->name, k->name, k->vgprs,
           k->sgprs, k->lds_bytes, k->scratch_bytes, k->vgpr_spills, k->sgpr_spills);
    assert_int_equal(k->vgpr_spills, 0);
    assert_int_equal(k->sgpr_spills, 0);
    assert_int_equal(k->scratch_bytes, 0);
    assert_false(k->dynamic_stack);
    assert_true(k->lds_bytes <= 65536);
    assert_true(k->vgprs <= 256);
}

static void check_code_object(const char *arch, const d4r_net_desc *net)
{
    d4r_code_object object;
    emu_module *module;
    emu_error error = {0};
    const bool gfx12 = strncmp(arch, "gfx12", 5) == 0;
    assert_int_equal(d4r_code_object_load(KERNELS_FOLDER, arch, net->kernels, NULL, &object), D4R_OK);
    emu_status loaded = emu_module_load(object.image, object.size, emu_arch_find(arch), &module, &error);
    if (loaded != EMU_OK) print_message("%s\n", error.text);
    assert_int_equal(loaded, EMU_OK);
    assert_true(emu_module_kernel_count(module) > 0);
    for (size_t k = 0; k < emu_module_kernel_count(module); k++)
        check_kernel(emu_module_kernel_at(module, k));
    for (unsigned layer = 0; layer < net->layer_count; layer++) {
        const d4r_m_kernel *wanted = net->kernel(gfx12 ? D4R_M_MACHINE_GFX12 : D4R_M_MACHINE_GFX11, layer);
        const emu_kernel *kernel = emu_module_kernel(module, wanted->function);
        assert_non_null(kernel);
        assert_true(kernel->max_workgroup >= wanted->threads);
    }
    emu_module_destroy(&module);
    d4r_code_object_destroy(&object);
}

static void every_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        for (size_t net = 0; net < D4R_NET_COUNT; net++) check_code_object(archs[i], d4r_nets[net]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel)};
    if (access(KERNELS_FOLDER "/gfx1201/m.hsaco", R_OK) != 0) {
        fprintf(stderr, "skipped: no code objects in %s (target kernels)\n", KERNELS_FOLDER);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
