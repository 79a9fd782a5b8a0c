/* FP8 and 16-bit conversions against exact arithmetic in double. */
#include "models/tests/capture.h"

#include <math.h>

#include "models/format/fp8.h"

static double e4m3_value(int code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    double value = exponent ? ldexp(1 + mantissa / 8.0, exponent - 7) : ldexp(mantissa / 8.0, -6);
    return code & 0x80 ? -value : value;
}

static void test_decode(void **state)
{
    (void)state;
    for (int code = 0; code < 256; code++) {
        float value = d4r_e4m3_to_float((uint8_t)code);
        if ((code & 0x7f) == 0x7f) {
            assert_true(isnan(value) && d4r_e4m3_is_nan((uint8_t)code));
            continue;
        }
        assert_false(d4r_e4m3_is_nan((uint8_t)code));
        assert_true((double)value == e4m3_value(code));
        assert_int_equal(!!signbit(value), code >> 7);
        assert_int_equal(d4r_float_to_e4m3(value), code);
    }
}

/* The nearest of the 127 magnitudes, the even code when two are equally near. */
static int nearest(double magnitude)
{
    int best = 0;
    for (int code = 1; code < 0x7f; code++) {
        double a = fabs(e4m3_value(code) - magnitude), b = fabs(e4m3_value(best) - magnitude);
        if (a < b || (a == b && !(code & 1))) best = code;
    }
    return best;
}

static void check_encode(float value)
{
    int want = nearest(fabs((double)value)) | (signbit(value) ? 0x80 : 0);
    if (d4r_float_to_e4m3(value) != want)
        fail_msg("%a: code 0x%02x, expected 0x%02x", (double)value, d4r_float_to_e4m3(value), want);
}

static void test_encode(void **state)
{
    (void)state;
    for (int code = 0; code < 0x7e; code++) {
        float middle = (float)((e4m3_value(code) + e4m3_value(code + 1)) / 2); /* exact in f32 */
        check_encode(middle);
        check_encode(-middle);
        check_encode(nextafterf(middle, 0));
        check_encode(nextafterf(middle, 1000));
    }
    uint32_t bits = 12345;
    for (int i = 0; i < 20000; i++) {
        bits = bits * 1664525u + 1013904223u;
        /* exponents from deep below the subnormals to beyond 448 */
        float value = ldexpf(1 + (float)(bits >> 9) * 0x1p-23f, (int)(bits % 30) - 18);
        check_encode(bits & 256 ? -value : value);
    }
}

static void test_encode_special(void **state)
{
    (void)state;
    assert_int_equal(d4r_float_to_e4m3(INFINITY), 0x7e);
    assert_int_equal(d4r_float_to_e4m3(-INFINITY), 0xfe);
    assert_int_equal(d4r_float_to_e4m3(3e38f), 0x7e);
    assert_int_equal(d4r_float_to_e4m3(NAN) & 0x7f, 0x7f);
    assert_int_equal(d4r_float_to_e4m3(-0.0f), 0x80);
    assert_int_equal(d4r_float_to_e4m3(1e-40f), 0);
    assert_int_equal(d4r_float_to_e4m3(-1e-40f), 0x80);
}

static void test_half_and_bfloat(void **state)
{
    (void)state;
    for (int bits = 0; bits < 65536; bits++) {
        int exponent = bits >> 10 & 31, mantissa = bits & 1023;
        double want = exponent ? ldexp(1 + mantissa / 1024.0, exponent - 15) : ldexp(mantissa, -24);
        if (exponent == 31) want = mantissa ? NAN : INFINITY;
        if (bits & 0x8000) want = -want;
        float have = d4r_half_to_float((uint16_t)bits);
        assert_true(isnan(want) ? isnan(have) : (double)have == want && !signbit(have) == !signbit(want));
        uint32_t wide = (uint32_t)bits << 16;
        have = d4r_bfloat_to_float((uint16_t)bits);
        assert_memory_equal(&have, &wide, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decode), cmocka_unit_test(test_encode),
                                       cmocka_unit_test(test_encode_special),
                                       cmocka_unit_test(test_half_and_bfloat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
