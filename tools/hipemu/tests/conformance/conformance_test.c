/* Conformance: kernels compiled for one architecture at several optimisation levels, executed through libhipemu, and
 * compared with the same source compiled for the host; a matrix product and a softmax against double precision.
 * usage: conformance_test gfxNNNN */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hip_table.h"
#include "cases.h"
#include "host_run.h"

typedef enum input_kind { RANDOM, COUNT, FLOATS, MODERATE, HALVES, HALF_EDGES, FP8_EDGES } input_kind;
typedef enum comparison { EXACT, F32, F64, F16, HALF_ALL, MIXED, RELATIVE, ABSOLUTE } comparison;

typedef struct conformance_case {
    const char *name, *file;
    host_kernel host;
    input_kind a, b;
    uint32_t words, items, group;
    comparison compare;
    double tolerance;
} conformance_case;

enum { DENSE = 0 }; /* as many as the run's length allows */

#define DECLARE(name, ...) extern void name(const uint32_t *, const uint32_t *, uint32_t *, uint32_t);
#define ENTRY(kernel, file, a, b, words, items, group, compare, tolerance, first) \
    {#kernel, #file, first <= HIPEMU_CLASS ? kernel : NULL, a, b, words, items, group, compare, tolerance},
CONFORMANCE_CASES(DECLARE)
static const conformance_case cases[] = {CONFORMANCE_CASES(ENTRY)};

static const char *arch;
static bool long_run;

/* ---- inputs ---- */

static uint64_t random_state = 88172645463325252u;

static uint32_t random32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16);
}

static uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

/* Every kind of f32: special values, whole numbers, halves, near powers of two, any bits. */
static uint32_t any_float(uint32_t i)
{
    static const uint32_t special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0xffc12345, 0x00000001, 0x80000001,
                                       0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4b000000,
                                       0x4f000000, 0xcf000000, 0x5f000000};
    const uint32_t specials = sizeof special / sizeof special[0];
    uint32_t r = random32();
    if (i < specials * specials) return special[i % specials];
    switch (r & 7) {
    case 0:
        return special[(r >> 3) % specials];
    case 1:
        return float_bits((float)(int32_t)(r >> 3 & 0xfff) - 2048.0f);
    case 2:
        return float_bits(((float)(int32_t)(r >> 3 & 0xfff) - 2048.0f) * 0.5f);
    case 3:
        return (r & 0xff800000) + (r >> 3 & 3) - 1; /* beside a power of two */
    case 4:
        return (r & 0x81ffffff) | 0x3e000000;
    default:
        return random32();
    }
}

/* Around the values where rounding to a narrow format changes: midpoints of its steps, and beside them. */
static uint32_t edge_float(uint32_t i, int mantissa_bits, int lowest, int highest)
{
    uint32_t r = random32();
    int exponent = lowest - mantissa_bits - 3 + (int)(r % (uint32_t)(highest - lowest + mantissa_bits + 6));
    uint32_t drop = 23u - (uint32_t)mantissa_bits;
    uint32_t mantissa = (random32() & 0x7fffff) >> (drop - 1) << (drop - 1); /* a step or a midpoint */
    uint32_t u = (uint32_t)(exponent + 127) << 23 | mantissa;
    if (i & 1) u += (r >> 20 & 7) - 3;
    return (u & 0x7fffffff) | (r & 0x80000000);
}

static uint32_t input_word(input_kind kind, uint32_t i, bool second)
{
    static const uint32_t odd_halves[] = {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00,
                                          1, 0x3ff,  0x400,  0x7bff, 0xfbff};
    uint32_t r = random32();
    switch (kind) {
    case COUNT:
        return i;
    /* Pairs of special values first: b turns slower than a. */
    case FLOATS:
        return any_float(second && i < 324 ? i / 18 : i);
    case MODERATE:
        return (r & 0x807fffff) | (127u - 60u + random32() % 120u) << 23;
    case HALVES:
        return i % 3 ? r : odd_halves[r % 11] | odd_halves[(r >> 8) % 11] << 16;
    case HALF_EDGES:
        return edge_float(i, 10, -14, 15);
    case FP8_EDGES:
        return i % 16 == 15 ? any_float(i) : edge_float(i, i & 2 ? 3 : 2, i & 2 ? -6 : -14, i & 2 ? 8 : 15);
    default:
        return i < 4096 && i % 16 == 0 ? (r & 3) - 1 : i % 16 == 1 ? r & 0x800000ffu : r;
    }
}

/* ---- comparison ---- */

static bool same_f32(uint32_t x, uint32_t y)
{
    return x == y || ((x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000);
}

static bool same_f16(uint32_t x, uint32_t y)
{
    return x == y || ((x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00);
}

static bool same_f64(const uint32_t *x, const uint32_t *y)
{
    uint64_t p, q;
    memcpy(&p, x, 8);
    memcpy(&q, y, 8);
    const uint64_t infinity = 0x7ff0000000000000u;
    return p == q || ((p << 1 >> 1) > infinity && (q << 1 >> 1) > infinity);
}

static bool near(uint32_t x, uint32_t y, double tolerance, bool relative)
{
    float p, q;
    memcpy(&p, &x, 4);
    memcpy(&q, &y, 4);
    if (same_f32(x, y)) return true;
    /* A logarithm near 0 has an absolute error. */
    double scale = relative ? fmax(fabs((double)q), tolerance) : 1.0;
    return fabs((double)p - (double)q) <= tolerance * scale;
}

static bool same(const conformance_case *c, const uint32_t *got, const uint32_t *want, uint32_t word)
{
    uint32_t x = got[word], y = want[word];
    switch (c->compare) {
    case F32:
        return same_f32(x, y);
    case F64:
        return same_f64(got + (word & ~1u), want + (word & ~1u));
    case F16:
        return same_f16(x & 0xffff, y & 0xffff) && same_f16(x >> 16, y >> 16);
    case MIXED: return word % 4 < 3 ? same_f32(x, y) : same_f16(x, y);
    case HALF_ALL:
        return word % 6 < 2    ? same_f32(x, y)
               : word % 6 == 5 ? same_f16(x & 0xffff, y & 0xffff) && same_f16(x >> 16, y >> 16)
                               : x == y;
    case RELATIVE:
        return near(x, y, c->tolerance, true);
    case ABSOLUTE:
        return near(x, y, c->tolerance, false);
    default:
        return x == y;
    }
}

/* ---- running ---- */

static void *read_code(const char *level, const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s-%s-%s.hsaco", CONFORMANCE_DIR, file, arch, level);
    FILE *f = fopen(path, "rbe");
    if (!f) fail_msg("%s: cannot be read", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    void *data = malloc((size_t)size);
    assert_int_equal(fread(data, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return data;
}

static void upload(void **device, const void *host, size_t size)
{
    HIP_OK(hip.hipMalloc(device, size));
    HIP_OK(hip.hipMemcpy(*device, host, size, hipMemcpyHostToDevice));
}

static uint32_t run_case(const conformance_case *c, hipModule_t module, const char *level)
{
    uint32_t items = c->items ? c->items : long_run ? 4u << 20 : 32768;
    uint32_t input = items * 2 < 4096 ? 4096 : items + 64; /* some kernels read a little more */
    size_t words = c->words ? (size_t)items * c->words : 64;
    uint32_t *a = malloc(input * 4u), *b = malloc(input * 4u), *got = calloc(words, 4),
             *want = calloc(words, 4);
    random_state = 88172645463325252u + items;
    for (uint32_t i = 0; i < input; i++) a[i] = input_word(c->a, i, false);
    for (uint32_t i = 0; i < input; i++) b[i] = input_word(c->b, i, true);
    void *da, *db, *dout;
    upload(&da, a, input * 4u);
    upload(&db, b, input * 4u);
    upload(&dout, got, words * 4);
    hipFunction_t function;
    HIP_OK(hip.hipModuleGetFunction(&function, module, c->name));
    uint32_t n = items, groups = items / c->group;
    HIP_OK(hip.hipModuleLaunchKernel(function, groups, 1, 1, c->group, 1, 1, 0, NULL,
                                     (void *[]){&da, &db, &dout, &n}, NULL));
    HIP_OK(hip.hipMemcpy(got, dout, words * 4, hipMemcpyDeviceToHost));
    host_run(c->host, a, b, want, n, groups, c->group);
    uint32_t wrong = 0;
    for (size_t i = 0; i < words; i++) {
        if (same(c, got, want, (uint32_t)i)) continue;
        if (wrong++ < 6) {
            size_t item = c->words ? i / c->words : 0;
            fprintf(stderr, "%s %s %s: word %zu of item %zu: got %08x, want %08x (a %08x, b %08x)\n", arch,
                    level, c->name, c->words ? i % c->words : i, item, got[i], want[i], a[item], b[item]);
        }
    }
    if (wrong) fprintf(stderr, "%s %s %s: %u of %zu words wrong\n", arch, level, c->name, wrong, words);
    HIP_OK(hip.hipFree(da));
    HIP_OK(hip.hipFree(db));
    HIP_OK(hip.hipFree(dout));
    free(a), free(b), free(got), free(want);
    return wrong != 0;
}

static void run_level(const char *level)
{
    uint32_t failed = 0, ran = 0;
    const char *only = getenv("CONFORMANCE_ONLY");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const conformance_case *c = &cases[i];
        if (!c->host || (only && !strstr(c->name, only))) continue;
        void *code = read_code(level, c->file);
        hipModule_t module;
        HIP_OK(hip.hipModuleLoadData(&module, code));
        failed += run_case(c, module, level);
        ran++;
        HIP_OK(hip.hipModuleUnload(module));
        free(code);
    }
    if (failed) fail_msg("%s %s: %u of %u kernels differ from the host", arch, level, failed, ran);
}

static void restart(void)
{
    static char arch_setting[64], counts_setting[512];
    snprintf(arch_setting, sizeof arch_setting, "D4R_HIPEMU_ARCH=%s", arch);
    const char *counts = getenv("CONFORMANCE_COUNTS");
    if (counts) snprintf(counts_setting, sizeof counts_setting, "D4R_HIPEMU_COUNTS=%s", counts);
    hip_restart((const char *const[]){arch_setting, counts ? counts_setting : NULL, NULL});
}

static void test_level(void **state)
{
    run_level(*state);
}

/* ---- matrix product and softmax ---- */

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) values[i] = (float)(int32_t)random32() * 0x1p-31f;
}

static void run_dense(hipFunction_t function, const float *a, size_t a_count, const float *b, size_t b_count,
                      float *c, size_t c_count, uint32_t groups, uint32_t group, uint32_t p, uint32_t q,
                      uint32_t r)
{
    void *da, *db, *dc;
    upload(&da, a, a_count * 4);
    upload(&db, b, b_count * 4);
    HIP_OK(hip.hipMalloc(&dc, c_count * 4));
    HIP_OK(hip.hipModuleLaunchKernel(function, groups, 1, 1, group, 1, 1, 0, NULL,
                                     (void *[]){&da, &db, &dc, &p, &q, &r}, NULL));
    HIP_OK(hip.hipMemcpy(c, dc, c_count * 4, hipMemcpyDeviceToHost));
    HIP_OK(hip.hipFree(da));
    HIP_OK(hip.hipFree(db));
    HIP_OK(hip.hipFree(dc));
}

static void check_product(hipFunction_t function, uint32_t m, uint32_t n, uint32_t k)
{
    float *a = malloc(4u * m * k), *b = malloc(4u * k * n), *c = malloc(4u * m * n);
    fill(a, (size_t)m * k);
    fill(b, (size_t)k * n);
    run_dense(function, a, (size_t)m * k, b, (size_t)k * n, c, (size_t)m * n, (m + 15) / 16 * ((n + 15) / 16),
              256, m, n, k);
    for (uint32_t y = 0; y < m; y++)
        for (uint32_t x = 0; x < n; x++) {
            double sum = 0, size = 0;
            for (uint32_t j = 0; j < k; j++) {
                double product = (double)a[y * k + j] * (double)b[j * n + x];
                sum += product;
                size += fabs(product);
            }
            /* k fused steps, each rounded once: k/2 ulp of at most the sum of magnitudes. */
            double got = (double)c[y * n + x];
            if (!(fabs(got - sum) <= size * k * 0x1p-24 + 1e-30))
                fail_msg("%s: product %ux%ux%u at %u,%u: %g, expected %g", arch, m, n, k, y, x, got, sum);
        }
    free(a), free(b), free(c);
}

static void check_softmax(hipFunction_t function, uint32_t rows, uint32_t columns)
{
    uint32_t stride = columns + 3;
    size_t count = (size_t)rows * stride;
    float *x = malloc(4 * count), *y = malloc(4 * count), scale = 8.0f;
    fill(x, count);
    run_dense(function, x, count, &scale, 1, y, count, rows, 128, rows, columns, stride);
    for (uint32_t r = 0; r < rows; r++) {
        const float *in = x + (size_t)r * stride, *out = y + (size_t)r * stride;
        double highest = -1e300, sum = 0;
        for (uint32_t j = 0; j < columns; j++) highest = fmax(highest, (double)in[j]);
        for (uint32_t j = 0; j < columns; j++) sum += exp(((double)in[j] - highest) * 8.0);
        for (uint32_t j = 0; j < columns; j++) {
            double want = exp(((double)in[j] - highest) * 8.0) / sum;
            /* The exponent is at most 23.1 in f32 (1.4e-6 absolute), exp2 1 ulp, sums of at most 300 terms. */
            if (!(fabs((double)out[j] - want) <= want * 1e-5 + 1e-9))
                fail_msg("%s: softmax %ux%u at %u,%u: %g, expected %g", arch, rows, columns, r, j,
                         (double)out[j], want);
        }
        /* Padding is not touched: still as allocated. */
        for (uint32_t j = columns; j < stride; j++) assert_true(isnan(out[j]));
    }
    free(x), free(y);
}

static void test_dense(void **state)
{
    (void)state;
    uint32_t shapes = long_run ? 1000 : 100;
    const char *levels[] = {"O1", "O3"};
    for (int level = 0; level < 2; level++) {
        void *code = read_code(levels[level], "dense");
        hipModule_t module;
        hipFunction_t product, softmax;
        HIP_OK(hip.hipModuleLoadData(&module, code));
        HIP_OK(hip.hipModuleGetFunction(&product, module, "matrix_product"));
        HIP_OK(hip.hipModuleGetFunction(&softmax, module, "row_softmax"));
        random_state = 12345 + (uint64_t)level;
        check_product(product, 1, 1, 1);
        check_softmax(softmax, 1, 1);
        for (uint32_t i = 0; i < shapes / 2; i++) {
            uint32_t m = random32() % 70 + 1, n = random32() % 70 + 1, k = random32() % 90 + 1;
            check_product(product, m, n, k);
            m = random32() % 20 + 1, n = random32() % 300 + 1;
            check_softmax(softmax, m, n);
        }
        HIP_OK(hip.hipModuleUnload(module));
        free(code);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: conformance_test gfxNNNN [TEST]\n");
        return 2;
    }
    if (argc == 3) cmocka_set_test_filter(argv[2]);
    arch = argv[1];
    long_run = getenv("D4R_LONG_TESTS") != NULL;
    hip_table_load();
    restart();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_level, "O0"),
        cmocka_unit_test_prestate(test_level, "O1"),
        cmocka_unit_test_prestate(test_level, "O3"),
        cmocka_unit_test(test_dense),
    };
    int failed = cmocka_run_group_tests_name("hipemu_conformance", tests, NULL, NULL);
    hip.hipemu_reset();
    return failed;
}
