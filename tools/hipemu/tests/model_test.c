/* The throughput model: its arithmetic on hand-made counters, and the figures that the design states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "api/model.h"

static void near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= fabs(want) * relative)) fail_msg("got %g, expected %g", got, want);
}

static void test_cards(void **state)
{
    (void)state;
    const hipemu_card *xt = hipemu_card_find("9070xt"), *xtx = hipemu_card_find("7900xtx");
    assert_non_null(xt);
    assert_non_null(xtx);
    assert_null(hipemu_card_find("5090"));
    assert_ptr_equal(hipemu_card_for(emu_arch_find("gfx1201")), xt);
    assert_ptr_equal(hipemu_card_for(emu_arch_find("gfx1100")), xtx);
    assert_ptr_equal(hipemu_card_for(emu_arch_find("gfx1151")), xtx);
    near(xt->wave_rate, 64 * 2 * 2.97e9, 0.001);
    /* FP8 products: 8 cycles for 16^3 products on 128 SIMDs is the published peak of 195 T MAC/s. */
    near(4096.0 / (1 + xt->wmma_fp8_extra) * xt->wave_rate, 195e12, 0.01);
    near(4096.0 / (1 + xt->wmma_extra) * xt->wave_rate, 97e12, 0.01);
    near(4096.0 / (1 + xtx->wmma_extra) * xtx->wave_rate, 61e12, 0.01);
}

/* One window of the C 64 block, 1,544 instructions with 136 FP8 products: 2,496 issue slots. */
static void test_issue_bound(void **state)
{
    (void)state;
    const hipemu_card *xt = hipemu_card_find("9070xt");
    emu_counters c = {.launches = 1, .instructions = 1544000, .wmma[EMU_WMMA_FP8] = 136000};
    hipemu_estimate e = hipemu_model_estimate(xt, &c, 0);
    assert_int_equal(e.bound, HIPEMU_BOUND_ISSUE);
    near(e.part[HIPEMU_BOUND_ISSUE], 2496000 / 3.8e11, 1e-9);
    near(e.wmma, 136000 * 8 / 3.8e11, 1e-9);
    near(e.seconds, 5e-6 + 2496000 / 3.8e11, 1e-9);
    /* The same products as f16 on gfx11: 31 more slots each. */
    emu_counters d = {.launches = 2, .instructions = 1544000, .wmma[EMU_WMMA_F16] = 136000};
    e = hipemu_model_estimate(hipemu_card_find("7900xtx"), &d, 0);
    near(e.part[HIPEMU_BOUND_ISSUE], (1544000 + 31 * 136000) / 4.8e11, 1e-9);
    near(e.launch, 10e-6, 1e-9);
}

static void test_other_bounds(void **state)
{
    (void)state;
    const hipemu_card *xt = hipemu_card_find("9070xt");
    emu_counters c = {
        .launches = 1, .instructions = 1000, .lds_accesses = 30000000, .lds_conflict_cycles = 8016000};
    hipemu_estimate e = hipemu_model_estimate(xt, &c, 0);
    assert_int_equal(e.bound, HIPEMU_BOUND_LDS);
    near(e.part[HIPEMU_BOUND_LDS], 38016000 / (64 * 2.97e9), 1e-9);
    /* What lanes ask for twice costs nothing: pieces count, not bytes. */
    c = (emu_counters){.launches = 1,
                       .bytes_read[EMU_SPACE_GLOBAL] = 8000000000,
                       .cache_pieces = 31250000,
                       .bytes_written[EMU_SPACE_SCRATCH] = 1};
    e = hipemu_model_estimate(xt, &c, 1e6);
    assert_int_equal(e.bound, HIPEMU_BOUND_L2);
    near(e.part[HIPEMU_BOUND_L2], 2000000001 / xt->l2_rate, 1e-9);
    e = hipemu_model_estimate(xt, &c, 6.4e9);
    assert_int_equal(e.bound, HIPEMU_BOUND_MEMORY);
    near(e.seconds, 5e-6 + 0.01, 1e-9);
    assert_string_equal(hipemu_bound_name(e.bound), "memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cards),
        cmocka_unit_test(test_issue_bound),
        cmocka_unit_test(test_other_bounds),
    };
    return cmocka_run_group_tests_name("hipemu_model", tests, NULL, NULL);
}
