/* The whole Swin block, compiled at -O1 to -O3, against float64 with FP8 rounding at the same places.
 *
 * Tolerance: f32 sums differ from float64 ones by some 1e-6 of their terms, so now and then a value lies on the other
 * side of a rounding boundary: one FP8 step (1/16 to 1/8 of the value) in an intermediate, which reaches an output
 * through sums over 64 or 128 channels. Hence: at least 97 % of the outputs equal, none off by more than two steps. */
#include "core_run.h"
#include "swin_block.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 24, BYTES = WINDOWS * SWIN_TOKENS * SWIN_C };

static const char *arch;

/* Place of a code among the values, for distances in steps. */
static int rank(uint8_t code)
{
    return code & 0x80 ? -(code & 0x7f) : code & 0x7f;
}

/* Every mnemonic that the kernel contains has been executed. */
static void check_coverage(const core_machine *m)
{
    emu_counters c = {0};
    uint64_t *present = calloc(emu_mnemonic_count(), sizeof(*present));
    assert_non_null(present);
    emu_kernel_mix(emu_module_kernel(m->module, "swin"), &c, present);
    for (size_t i = 0; i < emu_mnemonic_count(); i++) {
        if (present[i] && !m->mnemonics[i])
            fail_msg("%s is in the block but never executed", emu_mnemonic_name(i));
    }
    assert_true(c.by_class[EMU_COUNT_WMMA] > 0);
    free(present);
}

static void run_level(const char *level, const swin_weights *w, const uint8_t *tokens, const uint8_t *truth)
{
    core_machine m;
    char name[32];
    bool gfx12 = emu_arch_find(arch)->cls == EMU_GFX12;
    snprintf(name, sizeof(name), "swin_%s", level);
    core_open(&m, name, arch, false);
    uint8_t *x = core_buffer(&m, BYTES, 0), *y = core_buffer(&m, BYTES, 0);
    uint8_t *tiles = core_buffer(&m, SWIN_TILES * swin_tile_bytes(gfx12), 0);
    float *bias = core_buffer(&m, sizeof(w->bias), 0);
    memcpy(x, tokens, BYTES);
    memcpy(bias, w->bias, sizeof(w->bias));
    swin_pack(w, gfx12, tiles);
    swin_arguments args = {x, y, tiles, bias};
    m.mnemonics = calloc(emu_mnemonic_count(), sizeof(*m.mnemonics));
    assert_non_null(m.mnemonics);
    core_run(&m, "swin", WINDOWS, 32, &args, sizeof(args));
    int equal = 0, worst = 0, saturated = 0, changed = 0;
    for (int i = 0; i < BYTES; i++) {
        int distance = abs(rank(y[i]) - rank(truth[i]));
        equal += distance == 0;
        saturated += (truth[i] & 0x7f) == 0x7e;
        changed += truth[i] != tokens[i];
        if (distance > worst) worst = distance;
    }
    print_message("%s %s: %.2f %% of the codes equal, largest distance %d, %llu instructions a window\n",
                  arch, level, 100.0 * equal / BYTES, worst,
                  (unsigned long long)(m.counters.instructions / WINDOWS));
    assert_true(equal >= BYTES * 0.97);
    assert_true(worst <= 2);
    /* The inputs are such that the block does something and does not only saturate. */
    assert_true(saturated < BYTES / 100 && changed > BYTES / 2);
    assert_int_equal(m.counters.wmma[gfx12 ? EMU_WMMA_FP8 : EMU_WMMA_F16], 136 * WINDOWS);
    check_coverage(&m);
    free(m.mnemonics);
    core_free(&m, x);
    core_free(&m, y);
    core_free(&m, tiles);
    core_free(&m, bias);
    core_close(&m);
}

static void test_block(void **state)
{
    (void)state;
    static swin_weights w;
    static uint8_t tokens[BYTES], truth[BYTES];
    swin_random(&w, tokens, WINDOWS, core_random);
    for (int i = 0; i < WINDOWS; i++) {
        swin_reference(&w, tokens + i * SWIN_TOKENS * SWIN_C, truth + i * SWIN_TOKENS * SWIN_C);
    }
    run_level("O1", &w, tokens, truth);
    run_level("O2", &w, tokens, truth);
    run_level("O3", &w, tokens, truth);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_block)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
