/* FP8 conversions, gfx12: all 256 codes outwards, a dense set of f32 inwards against a search for the nearest code,
 * with and without saturation, and the bounds of stochastic rounding. */
#include "core_run.h"
#include "numbers.h"

#include <stdlib.h>

enum { GROUPS = 2048, VALUES = GROUPS * 32 };

static const char *arch;
static const format e4m3 = {3, 7, 4}, e5m2 = {2, 15, 5};

/* Code to value; e4m3 has no infinity and one NaN a sign. */
static double code_value(uint32_t code, bool bf8)
{
    uint32_t body = code & 0x7f;
    double sign = code & 0x80 ? -1 : 1;
    if (!bf8 && body == 0x7f) return NAN;
    if (bf8 && body > 0x7c) return NAN;
    if (bf8 && body == 0x7c) return sign * INFINITY;
    return (double)value_of(code, bf8 ? e5m2 : e4m3);
}

static void check_value(const char *what, uint32_t code, uint32_t got, double want)
{
    double value = bits_float(got);
    bool same = isnan(want) ? isnan(value) : value == want && signbit(value) == signbit(want);
    if (!same) fail_msg("%s of code %02x: %g, not %g", what, code, value, want);
}

static void test_expand(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "fp8", arch, false);
    struct {
        uint32_t *out;
    } args = {core_buffer(&m, 256 * 32, 0)};
    core_run(&m, "fp8_expand", 8, 32, &args, sizeof(args));
    for (uint32_t c = 0; c < 256; c++) {
        const uint32_t *r = args.out + 8 * c;
        check_value("v_cvt_f32_fp8", c, r[0], code_value(c, false));
        check_value("v_cvt_f32_bf8", c, r[1], code_value(c, true));
        check_value("v_cvt_f32_fp8 byte 1", c, r[2], code_value(c ^ 0x5a, false));
        check_value("v_cvt_f32_fp8 byte 2", c, r[3], code_value(c ^ 0xa5, false));
        check_value("v_cvt_f32_bf8 byte 3", c, r[4], code_value(c ^ 0xff, true));
        check_value("v_cvt_pk_f32_fp8 low", c, r[5], code_value(c ^ 0xa5, false));
        check_value("v_cvt_pk_f32_fp8 high", c, r[6], code_value(c ^ 0xff, false));
        check_value("v_cvt_pk_f32_bf8 high", c, r[7], code_value(c ^ 0x5a, true));
    }
    core_free(&m, args.out);
    core_close(&m);
}

/* Every boundary (codes' values and the middles between them, one f32 step around each), then f32 at large. */
static float input(int i)
{
    if (i < 256 * 12) {
        bool bf8 = i / 6 % 2;
        uint32_t code = (uint32_t)(i / 12) & 0x7f;
        double at = code_value(code, bf8), next = code_value(code + 1, bf8);
        if (!isfinite(at)) return (float)at;
        if (!isfinite(next)) next = at + (at - code_value(code - 1, bf8));
        float middle = (float)((at + next) / 2), edge = (float)at;
        switch (i % 6) {
        case 0:
            return edge;
        case 1:
            return nextafterf(edge, INFINITY);
        case 2:
            return nextafterf(edge, -INFINITY);
        case 3:
            return middle;
        case 4:
            return nextafterf(middle, INFINITY);
        default:
            return nextafterf(middle, -INFINITY);
        }
    }
    return bits_float(core_random());
}

static double values[2][128]; /* of the codes without sign */

/* Nearest code, ties to the even one; overflow as stated. */
static uint32_t expect(float x, bool bf8, bool saturate)
{
    uint32_t sign = signbit(x) ? 0x80 : 0, largest = bf8 ? 0x7b : 0x7e;
    const double *value = values[bf8];
    double m = fabs((double)x), top = value[largest], step = top - value[largest - 1];
    if (isnan(x)) return sign | 0x7f;
    if (isinf(x)) return sign | (bf8 ? 0x7c : 0x7f);
    /* What would follow the largest code ties towards the even one of the two. */
    bool over = m > top + step / 2 || (m == top + step / 2 && (largest & 1));
    if (over) return sign | (saturate ? largest : bf8 ? 0x7c : 0x7f);
    uint32_t best = 0;
    for (uint32_t c = 0; c <= largest; c++) {
        double d = fabs(value[c] - m), e = fabs(value[best] - m);
        if (d < e || (d == e && !(c & 1))) best = c;
    }
    return sign | best;
}

static void check_pair(float x, const uint32_t *got, bool saturate)
{
    for (int bf8 = 0; bf8 < 2; bf8++) {
        uint32_t pair = expect(x, bf8, saturate) | expect(-x, bf8, saturate) << 8;
        uint32_t low = got[2 * bf8], high = got[2 * bf8 + 1];
        if (isnan(x)) { /* the sign of a NaN is not compared */
            assert_int_equal(low & 0x7f7f, 0x7f7f);
            continue;
        }
        if (low != (0x12340000 | pair) || high != (0x5678 | pair << 16)) {
            fail_msg("%s of %a (saturate %d): %08x and %08x, not %04x", bf8 ? "bf8" : "fp8", (double)x,
                     saturate, low, high, pair);
        }
    }
}

static void test_narrow(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "fp8", arch, false);
    struct {
        float *a;
        uint32_t *out, saturate;
    } args = {core_buffer(&m, 4 * VALUES, 0), core_buffer(&m, 16 * VALUES, 0), 0};
    for (int i = 0; i < VALUES; i++) args.a[i] = input(i);
    for (int i = 0; i < 256; i++) values[i / 128][i % 128] = code_value((uint32_t)i % 128, i / 128);
    for (args.saturate = 0; args.saturate < 2; args.saturate++) {
        core_run(&m, "fp8_narrow", GROUPS, 32, &args, sizeof(args));
        for (int i = 0; i < VALUES; i++) check_pair(args.a[i], args.out + 4 * i, args.saturate);
    }
    core_free(&m, args.a);
    core_free(&m, args.out);
    core_close(&m);
}

/* The result is one of the two neighbours; seed 0 truncates; over many seeds the mean is the value. */
static void test_stochastic(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "fp8", arch, false);
    struct {
        float *a;
        uint32_t *seed, *out;
    } args = {core_buffer(&m, 4 * VALUES, 0), core_buffer(&m, 4 * VALUES, 0), core_buffer(&m, 8 * VALUES, 0)};
    for (int i = 0; i < VALUES; i++) {
        args.a[i] = 1.0f + (float)(i % 64) / 64;
        args.seed[i] = i < 64 ? 0 : core_random();
    }
    core_run(&m, "fp8_stochastic", GROUPS, 32, &args, sizeof(args));
    double mean[2][64] = {{0}};
    for (int i = 0; i < VALUES; i++) {
        uint32_t fp8 = args.out[2 * i], bf8 = args.out[2 * i + 1];
        assert_int_equal(fp8 & 0xff00ffff, 0x12005678);
        assert_int_equal(bf8 & 0xffff00ff, 0x12340078);
        double v[2] = {code_value(fp8 >> 16 & 0xff, false), code_value(bf8 >> 8 & 0xff, true)};
        double step[2] = {0.125, 0.25};
        for (int k = 0; k < 2; k++) {
            double low = floor((double)args.a[i] / step[k]) * step[k];
            if (v[k] != low && v[k] != low + step[k]) fail_msg("%g rounds to %g", (double)args.a[i], v[k]);
            if (i < 64) assert_true(v[k] == low);
            if (i >= 64) mean[k][i % 64] += v[k] / (VALUES / 64 - 1);
        }
    }
    for (int i = 0; i < 64; i++) { /* 1023 draws: three standard deviations of at most step / 2 */
        assert_true(fabs(mean[0][i] - (1 + i / 64.0)) < 3 * 0.0625 / sqrt(1023) + 1e-9);
        assert_true(fabs(mean[1][i] - (1 + i / 64.0)) < 3 * 0.125 / sqrt(1023) + 1e-9);
    }
    core_free(&m, args.a);
    core_free(&m, args.seed);
    core_free(&m, args.out);
    core_close(&m);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expand), cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_stochastic)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
