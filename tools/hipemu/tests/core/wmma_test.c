/* Matrix instructions: operands are laid out here from whole matrices by the published layouts, results read back and
 * compared with a float64 product. Small integers must come out exactly; random values within the error of sixteen
 * f32 additions (and one rounding to the accumulator's format). */
#include "core_run.h"
#include "numbers.h"

#include <stdlib.h>

enum { LANES = 32, WORDS = 8, MAX_K = 32 };

static const char *arch;
static bool gfx12;

typedef enum element { F16, BF16, FP8, BF8, S8, U8, S4 } element;
typedef enum accumulator { ACC_F32, ACC_F16, ACC_F16_HIGH, ACC_BF16, ACC_I32 } accumulator;

typedef struct product {
    const char *kernel;
    element a, b;
    accumulator d;
    int k;
    int classes; /* 1: gfx11, 2: gfx12 */
    bool clamp;
} product;

static const product products[] = {
    {"f32_f16", F16, F16, ACC_F32, 16, 3, false},      {"f32_bf16", BF16, BF16, ACC_F32, 16, 3, false},
    {"f16_f16", F16, F16, ACC_F16, 16, 3, false},      {"f16_f16_high", F16, F16, ACC_F16_HIGH, 16, 1, false},
    {"bf16_bf16", BF16, BF16, ACC_BF16, 16, 3, false}, {"i32_iu8", S8, S8, ACC_I32, 16, 3, false},
    {"i32_iu8_mixed", U8, S8, ACC_I32, 16, 3, true},   {"i32_iu4", S4, S4, ACC_I32, 16, 3, false},
    {"i32_iu4_deep", S4, S4, ACC_I32, 32, 2, false},   {"fp8_fp8", FP8, FP8, ACC_F32, 16, 2, false},
    {"fp8_bf8", FP8, BF8, ACC_F32, 16, 2, false},      {"bf8_fp8", BF8, FP8, ACC_F32, 16, 2, false},
    {"bf8_bf8", BF8, BF8, ACC_F32, 16, 2, false},
};

static const format formats[] = {{10, 15, 5}, {7, 127, 8}, {3, 7, 4}, {2, 15, 5}};

static int element_bits(element e)
{
    return e == F16 || e == BF16 ? 16 : e == S4 ? 4 : 8;
}

static double element_value(element e, uint32_t code)
{
    switch (e) {
    case S8:
        return (int8_t)code;
    case U8:
        return (uint8_t)code;
    case S4:
        return (int32_t)(code << 28) >> 28;
    default:
        return (double)value_of(code, formats[e]);
    }
}

/* small: integers of at most 3 in magnitude, exact everywhere; else any finite code of moderate size. */
static uint32_t element_code(element e, bool small)
{
    uint32_t r = core_random();
    if (e >= S8) return e == S4 ? r & 15 : small ? (uint32_t)((int)(r % 7) - 3) & 0xff : r & 0xff;
    if (small) {
        int n = (int)(r % 7) - 3;
        return round_to((exact)n, formats[e], 0, false) & (e == F16 || e == BF16 ? 0xffff : 0xff);
    }
    if (e == FP8) return r % 127 | (r >> 8 & 0x80);
    if (e == BF8) return r % 0x70 | (r >> 8 & 0x80);
    exact v = (exact)((double)(int32_t)core_random() / 4e8);
    return round_to(v, formats[e], 0, false);
}

/* Registers of a lane's k elements of row `row`: [row of A or column of B][k]. */
static void put_operand(uint32_t *regs, const uint32_t codes[16][MAX_K], int k_count, int bits)
{
    int per_word = 32 / bits;
    for (int row = 0; row < 16; row++) {
        for (int k = 0; k < k_count; k++) {
            int half = k_count / 2;
            int lane = gfx12 ? row + 16 * (k / half) : row, index = gfx12 ? k % half : k;
            uint32_t value = codes[row][k] << (bits * (index % per_word));
            regs[lane * WORDS + index / per_word] |= value;
            if (!gfx12) regs[(lane + 16) * WORDS + index / per_word] |= value;
        }
    }
}

/* Where row m, column n of an accumulator lies: word of the lane and bits within it. */
static uint32_t *place(uint32_t *regs, accumulator d, int m, int n, int *shift)
{
    bool wide = d == ACC_F32 || d == ACC_I32;
    int lane = gfx12 ? n + 16 * (m / 8) : n + 16 * (m % 2), reg = gfx12 ? m % 8 : m / 2;
    *shift = 0;
    if (!wide && gfx12) {
        *shift = 16 * (reg % 2);
        reg /= 2;
    }
    if (d == ACC_F16_HIGH) *shift = 16;
    return &regs[lane * WORDS + reg];
}

static double accumulator_value(accumulator d, uint32_t word, int shift)
{
    switch (d) {
    case ACC_F32:
        return (double)bits_float(word);
    case ACC_I32:
        return (int32_t)word;
    case ACC_BF16:
        return (double)value_of(word >> shift & 0xffff, formats[BF16]);
    default:
        return (double)value_of(word >> shift & 0xffff, formats[F16]);
    }
}

static uint32_t accumulator_code(accumulator d, double v)
{
    switch (d) {
    case ACC_F32:
        return float_bits((float)v);
    case ACC_I32:
        return (uint32_t)(int32_t)v;
    case ACC_BF16:
        return round_to((exact)v, formats[BF16], 0, false);
    default:
        return round_to((exact)v, formats[F16], 0, false);
    }
}

typedef struct images {
    uint32_t *a, *b, *c, *d;
} images;

/* C's other halves are marked: they must survive (gfx11, 16-bit). */
static void put_c(uint32_t *regs, accumulator d, double c[16][16], bool small)
{
    for (int i = 0; i < LANES * WORDS; i++) regs[i] = 0x5a5a5a5a;
    for (int m = 0; m < 16; m++) {
        for (int n = 0; n < 16; n++) {
            double v = small ? (double)((int)(core_random() % 9) - 4) : (double)(int32_t)core_random() / 3e8;
            if (d == ACC_I32) v = small ? trunc(v) : (double)(int32_t)core_random();
            int shift;
            uint32_t *word = place(regs, d, m, n, &shift), code = accumulator_code(d, v);
            uint32_t mask = d == ACC_F32 || d == ACC_I32 ? 0xffffffff : 0xffffu << shift;
            *word = (*word & ~mask) | (code << shift & mask);
            c[m][n] = accumulator_value(d, *word, shift);
        }
    }
}

static double tolerance(const product *p, double magnitude, bool small)
{
    if (small || p->d == ACC_I32) return 0;
    double t = 17 * magnitude * 0x1p-24; /* every step rounds a sum no larger than the sum of magnitudes */
    if (p->d == ACC_F16 || p->d == ACC_F16_HIGH) t += magnitude * 0x1p-11;
    if (p->d == ACC_BF16) t += magnitude * 0x1p-8;
    return t;
}

static void check(const product *p, const uint32_t a[16][MAX_K], const uint32_t b[16][MAX_K],
                  double c[16][16], images *r, bool small)
{
    for (int m = 0; m < 16; m++) {
        for (int n = 0; n < 16; n++) {
            double want = c[m][n], magnitude = fabs(want);
            for (int k = 0; k < p->k; k++) {
                double v = element_value(p->a, a[m][k]) * element_value(p->b, b[n][k]);
                want += v;
                magnitude += fabs(v);
            }
            if (p->clamp) want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
            if (p->d == ACC_I32 && !p->clamp) want = (int32_t)(uint32_t)(int64_t)want;
            int shift;
            uint32_t word = *place(r->d, p->d, m, n, &shift);
            double got = accumulator_value(p->d, word, shift);
            if (!(fabs(got - want) <= tolerance(p, magnitude, small))) {
                fail_msg("%s %s: row %d, column %d: %.9g, not %.9g", arch, p->kernel, m, n, got, want);
            }
            if (p->d == ACC_F16_HIGH) assert_int_equal(word & 0xffff, 0x5a5a);
        }
    }
}

static void run_product(core_machine *m, const product *p, images *r, bool small)
{
    uint32_t a[16][MAX_K], b[16][MAX_K];
    double c[16][16];
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < p->k; k++) {
            a[i][k] = element_code(p->a, small);
            b[i][k] = element_code(p->b, small);
        }
    }
    memset(r->a, 0, 4 * LANES * WORDS);
    memset(r->b, 0, 4 * LANES * WORDS);
    put_operand(r->a, (const uint32_t(*)[MAX_K])a, p->k, element_bits(p->a));
    put_operand(r->b, (const uint32_t(*)[MAX_K])b, p->k, element_bits(p->b));
    put_c(r->c, p->d, c, small);
    core_run(m, p->kernel, 1, 32, r, sizeof(*r));
    check(p, (const uint32_t(*)[MAX_K])a, (const uint32_t(*)[MAX_K])b, c, r, small);
}

static void open_images(core_machine *m, images *r)
{
    core_open(m, "wmma", arch, false);
    r->a = core_buffer(m, 4 * LANES * WORDS, 0);
    r->b = core_buffer(m, 4 * LANES * WORDS, 0);
    r->c = core_buffer(m, 4 * LANES * WORDS, 0);
    r->d = core_buffer(m, 4 * LANES * WORDS, 0);
}

static void close_images(core_machine *m, images *r)
{
    core_free(m, r->a);
    core_free(m, r->b);
    core_free(m, r->c);
    core_free(m, r->d);
    core_close(m);
}

static void test_products(void **state)
{
    (void)state;
    core_machine m;
    images r;
    open_images(&m, &r);
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        if (!(products[i].classes & (gfx12 ? 2 : 1))) continue;
        for (int round = 0; round < 20; round++) run_product(&m, &products[i], &r, round % 2);
    }
    assert_true(m.counters.by_class[EMU_COUNT_WMMA] > 0);
    close_images(&m, &r);
}

static void test_modifiers(void **state)
{
    (void)state;
    core_machine m;
    images r;
    uint32_t a[16][MAX_K], b[16][MAX_K];
    double c[16][16];
    open_images(&m, &r);
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 16; k++) {
            a[i][k] = element_code(F16, true);
            b[i][k] = element_code(F16, true);
        }
    }
    put_operand(r.a, (const uint32_t(*)[MAX_K])a, 16, 16);
    put_operand(r.b, (const uint32_t(*)[MAX_K])b, 16, 16);
    put_c(r.c, ACC_F32, c, true);
    core_run(&m, "modifiers", 1, 32, &r, sizeof(r));
    for (int row = 0; row < 16; row++) {
        for (int n = 0; n < 16; n++) {
            double want = -fabs(c[row][n]);
            for (int k = 0; k < 16; k++) {
                double x = element_value(F16, a[row][k]), y = element_value(F16, b[n][k]);
                want += (k % 2 ? x : -x) * (k % 2 ? -y : y);
            }
            int shift;
            assert_true(bits_float(*place(r.d, ACC_F32, row, n, &shift)) == (float)want);
        }
    }
    close_images(&m, &r);
}

/* gfx11 wants lanes 16..31 to repeat lanes 0..15. */
static void test_duplicates(void **state)
{
    (void)state;
    if (gfx12) return;
    core_machine m;
    images r;
    open_images(&m, &r);
    r.a[20 * WORDS + 3] = 1;
    assert_int_equal(core_launch(&m, "f32_f16", 1, 32, &r, sizeof(r)), EMU_FAULT);
    assert_int_equal(m.fault.kind, EMU_FAULT_WMMA);
    close_images(&m, &r);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    gfx12 = emu_arch_find(arch)->cls == EMU_GFX12;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_modifiers),
                                       cmocka_unit_test(test_duplicates)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
