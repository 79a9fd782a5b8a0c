/* FP8 conversion of every built level of the CPU machine: all codes, and a dense set of f32 values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "hip_kernels/cpu_kernels.h"
#include "hip_kernels/cpu_net.h"
#include "tests/network/fp8_ref.h"

static const d4r_cpu_kernels *level_table(d4r_cpu_level level)
{
    if (!d4r_cpu_level_available(level)) return NULL;
    if (level == D4R_CPU_BASELINE) return &d4r_cpu_kernels_baseline;
#if defined(__x86_64__)
    if (level == D4R_CPU_V3) return &d4r_cpu_kernels_v3;
#ifdef D4R_CPU_ALL_LEVELS
    if (level == D4R_CPU_V4) return &d4r_cpu_kernels_v4;
    if (level == D4R_CPU_V4_BF16) return &d4r_cpu_kernels_v4bf16;
#endif
#endif
    return NULL;
}

/* The definition itself, apart from fp8_ref.c: of all 126 finite sizes the nearest, of two the one with the
 * even code; beyond 448 the largest. */
static void test_reference_is_nearest_even(void **state)
{
    (void)state;
    for (int code = 0; code < 0x7e; code++) {
        double low = fp8_ref_decode((uint8_t)code), high = fp8_ref_decode((uint8_t)(code + 1));
        assert_true(low < high);
        double middle = (low + high) / 2;
        assert_int_equal(fp8_ref_encode(low), code);
        assert_int_equal(fp8_ref_encode(nextafter(middle, low)), code);
        assert_int_equal(fp8_ref_encode(nextafter(middle, high)), code + 1);
        assert_int_equal(fp8_ref_encode(middle), code & 1 ? code + 1 : code);
        assert_int_equal(fp8_ref_encode(-middle), 0x80 | (code & 1 ? code + 1 : code));
    }
    assert_int_equal(fp8_ref_encode(464.0), 0x7e);
    assert_int_equal(fp8_ref_encode(INFINITY), 0x7e);
    assert_int_equal(fp8_ref_encode(-INFINITY), 0xfe);
    assert_int_equal(fp8_ref_encode(NAN) & 0x7f, 0x7f);
    assert_true(fp8_ref_decode(1) == 0x1p-9 && fp8_ref_decode(8) == 0x1p-6 && fp8_ref_decode(0x7e) == 448);
}

static void test_decode_all_codes(void **state)
{
    (void)state;
    for (int level = D4R_CPU_BASELINE; level < D4R_CPU_LEVEL_COUNT; level++) {
        const d4r_cpu_kernels *k = level_table((d4r_cpu_level)level);
        if (!k) continue;
        uint8_t codes[256];
        float values[256];
        for (int i = 0; i < 256; i++) codes[i] = (uint8_t)i;
        k->decode(codes, values, 256);
        for (int i = 0; i < 256; i++) {
            double truth = fp8_ref_decode((uint8_t)i);
            if (isnan(truth))
                assert_true(isnan(values[i]));
            else
                assert_true((double)values[i] == truth && !signbit(values[i]) == (i < 0x80));
        }
        uint8_t back[256];
        k->encode(values, back, 256);
        for (int i = 0; i < 256; i++) assert_true(fp8_ref_same(back[i], (uint8_t)i));
    }
}

static void check_values(const d4r_cpu_kernels *k, const float *values)
{
    uint8_t codes[256];
    float rounded[256];
    k->encode(values, codes, 256);
    k->round(values, rounded, 256);
    for (int i = 0; i < 256; i++) {
        uint8_t truth = fp8_ref_encode(values[i]);
        if (!fp8_ref_same(codes[i], truth))
            print_error("%a: code %02x, not %02x\n", values[i], codes[i], truth);
        assert_true(fp8_ref_same(codes[i], truth));
        if (isnan(values[i]))
            assert_true(isnan(rounded[i]));
        else
            assert_true((double)rounded[i] == fp8_ref_decode(truth));
    }
}

/* Every f32 whose low 11 bits are 0, 1, 0x400 or 0x7ff: every sign, exponent and leading fraction, around
 * every rounding boundary (which lie at bit 19); infinities and NaN are among them. */
static void test_encode_dense(void **state)
{
    (void)state;
    static const uint32_t low[4] = {0, 1, 0x400, 0x7ff};
    for (int level = D4R_CPU_BASELINE; level < D4R_CPU_LEVEL_COUNT; level++) {
        const d4r_cpu_kernels *k = level_table((d4r_cpu_level)level);
        if (!k) continue;
        for (uint32_t high = 0; high < 1u << 21; high += 64) {
            float values[256];
            for (uint32_t i = 0; i < 256; i++) {
                uint32_t bits = (high + i / 4) << 11 | low[i % 4];
                memcpy(&values[i], &bits, 4);
            }
            check_values(k, values);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_is_nearest_even),
        cmocka_unit_test(test_decode_all_codes),
        cmocka_unit_test(test_encode_dense),
    };
    return cmocka_run_group_tests_name("fp8", tests, NULL, NULL);
}
