/* f32 and f16 arithmetic and conversions under every rounding and denormal mode, against exact sums and products
 * rounded once. Every comparison is for equality. */
#include "core_run.h"
#include "numbers.h"

#include <stdlib.h>

/* In the default mode every value is compared, in the others one in STEP. */
enum { VALUES = 4096, GROUPS = VALUES / 32, STEP = 61 };

static const char *arch;

/* Dense where roundings, denormals and overflows happen; finite. The exponents stay close enough to one another for
 * __float128 to hold sums exactly. */
static uint32_t some_f32(void)
{
    uint32_t r = core_random();
    switch (r % 4) {
    case 0:
        return (r & 0x80000000) | (core_random() & 0xffffff); /* denormal or tiny */
    case 1:
        return (r & 0x80000000) | (core_random() & 0x7fffff) | (100 + r / 64 % 56) << 23;
    case 2:
        return (r & 0x80000000) | (core_random() & 0x7ff000) | (r / 64 % 40) << 23;
    default:
        return (r & 0x80000000) | (core_random() & 0x7fffff) | (127 + r / 64 % 18 - 9) << 23;
    }
}

/* Fits both 0 and -0 sums: x + y is -0 only when both are, or when the mode rounds down. */
static bool zero_sign(bool x_negative, bool y_negative, unsigned mode)
{
    return x_negative == y_negative ? x_negative : mode == 2;
}

static uint32_t sum(exact p, bool p_negative, exact q, bool q_negative, format f, unsigned mode)
{
    /* A term that vanishes beside the other in __float128 still decides which way a directed mode rounds: lean. */
    exact s = p + q, gone = s == p ? q : s == q ? p : 0, lean = (s < 0 ? -s : s) * power(-112);
    if (gone > 0) s += lean;
    if (gone < 0) s -= lean;
    return round_to(s, f, mode, zero_sign(p_negative, q_negative, mode));
}

static uint32_t input(uint32_t code, format f, unsigned denormals)
{
    return denormals & 1 ? code : flush_code(code, f);
}

static uint32_t output(uint32_t code, format f, unsigned denormals)
{
    return denormals & 2 ? code : flush_code(code, f);
}

static bool negative(uint32_t code, format f)
{
    return code >> (f.mantissa + f.exponent_bits) & 1;
}

/* add, mul, fma of three codes. */
static void expect_three(const uint32_t in[3], format f, unsigned round, unsigned denormals, uint32_t out[3])
{
    uint32_t c[3];
    exact v[3];
    bool s[3];
    for (int i = 0; i < 3; i++) {
        c[i] = input(in[i], f, denormals);
        v[i] = value_of(c[i], f);
        s[i] = negative(c[i], f);
    }
    bool product_negative = s[0] != s[1];
    out[0] = output(sum(v[0], s[0], v[1], s[1], f, round), f, denormals);
    out[1] = output(round_to(v[0] * v[1], f, round, product_negative), f, denormals);
    out[2] = output(sum(v[0] * v[1], product_negative, v[2], s[2], f, round), f, denormals);
}

static void check(const char *what, uint32_t got, uint32_t want, unsigned mode, const uint32_t in[3])
{
    if (got != want) {
        fail_msg("%s %s mode %02x: %08x %08x %08x gives %08x, not %08x", arch, what, mode, in[0], in[1],
                 in[2], got, want);
    }
}

typedef struct arguments {
    uint32_t *a, *b, *c, *out;
    uint32_t mode;
} arguments;

static void fill(arguments *args, core_machine *m, uint32_t (*some)(void), int words)
{
    args->a = core_buffer(m, 4 * VALUES, 0);
    args->b = core_buffer(m, 4 * VALUES, 0);
    args->c = core_buffer(m, 4 * VALUES, 0);
    args->out = core_buffer(m, 4 * VALUES * (size_t)words, 0);
    for (int i = 0; i < VALUES; i++) {
        args->a[i] = some();
        args->b[i] = some();
        args->c[i] = some();
    }
}

static void release(arguments *args, core_machine *m)
{
    core_free(m, args->a);
    core_free(m, args->b);
    core_free(m, args->c);
    core_free(m, args->out);
}

static void test_f32(void **state)
{
    (void)state;
    core_machine m;
    arguments args;
    core_open(&m, "modes", arch, false);
    fill(&args, &m, some_f32, 6);
    for (uint32_t mode = 0; mode < 256; mode += mode == 0xf0 ? 1 : 5) {
        unsigned round = mode & 3, denormals = mode >> 4 & 3;
        args.mode = mode;
        core_run(&m, "f32_modes", GROUPS, 32, &args, sizeof(args));
        for (int i = 0; i < VALUES; i += mode == 0xf0 ? 1 : STEP) {
            uint32_t in[3] = {args.a[i], args.b[i], args.c[i]}, want[3];
            const uint32_t *got = args.out + 6 * i;
            expect_three(in, format_f32, round, denormals, want);
            check("v_add_f32", got[0], want[0], mode, in);
            check("v_mul_f32", got[1], want[1], mode, in);
            check("v_fma_f32", got[2], want[2], mode, in);
            exact x = value_of(in[0], format_f32);
            uint32_t half = round_to(x, format_f16, mode >> 2 & 3, negative(in[0], format_f32));
            check("v_cvt_f16_f32", got[3], output(half, format_f16, mode >> 6 & 3), mode, in);
            check("v_cvt_f32_i32", got[4], round_to((exact)(int32_t)in[0], format_f32, round, false), mode,
                  in);
            check("v_cvt_f32_u32", got[5], round_to((exact)in[0], format_f32, round, false), mode, in);
        }
    }
    release(&args, &m);
    core_close(&m);
}

static uint32_t some_f16(void)
{
    uint32_t r = core_random();
    uint32_t code = r & 0xffff;
    if (r >> 16 & 1) code = (code & 0x8000) | (code & 0x7ff); /* denormals and their neighbours */
    return (code & 0x7c00) == 0x7c00 ? code & 0xbfff : code;
}

static void test_f16(void **state)
{
    (void)state;
    core_machine m;
    arguments args;
    core_open(&m, "modes", arch, false);
    fill(&args, &m, some_f16, 4);
    for (uint32_t mode = 0; mode < 256; mode += mode == 0xf0 ? 1 : 5) {
        args.mode = mode;
        core_run(&m, "f16_modes", GROUPS, 32, &args, sizeof(args));
        for (int i = 0; i < VALUES; i += mode == 0xf0 ? 1 : STEP) {
            uint32_t in[3] = {args.a[i], args.b[i], args.c[i]}, want[3];
            const uint32_t *got = args.out + 4 * i;
            expect_three(in, format_f16, mode >> 2 & 3, mode >> 6 & 3, want);
            check("v_add_f16", got[0], want[0], mode, in);
            check("v_mul_f16", got[1], want[1], mode, in);
            check("v_fma_f16", got[2], want[2], mode, in);
            check("v_pk_fma_f16", got[3], want[2], mode, in);
        }
    }
    release(&args, &m);
    core_close(&m);
}

static void test_overflow(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "modes", arch, false);
    struct {
        float *a;
        uint32_t *out;
    } args = {core_buffer(&m, 128, 0), core_buffer(&m, 128, 0)};
    static const struct {
        float x;
        uint32_t code;
    } cases[] = {{65504, 0x7bff},    {65519, 0x7bff},    {65520, 0x7bff},     {1e30f, 0x7bff},
                 {-65520, 0xfbff},   {INFINITY, 0x7c00}, {-INFINITY, 0xfc00}, {1.0f, 0x3c00},
                 {0x1p-24f, 0x0001}, {0x1p-26f, 0x0000}, {-0x1p-24f, 0x8001}, {0.0f, 0x0000}};
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    for (int i = 0; i < COUNT; i++) args.a[i] = cases[i].x;
    core_run(&m, "f16_overflow", 1, 32, &args, sizeof(args));
    for (int i = 0; i < COUNT; i++) assert_int_equal(args.out[i], cases[i].code);
    core_free(&m, args.a);
    core_free(&m, args.out);
    core_close(&m);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_f16),
                                       cmocka_unit_test(test_overflow)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
