/* Preset K's CPU network against the double-precision truth, layer by layer on the same inputs, and its promises: the same
 * bytes for every thread count and instruction set level, eight phases, local NaN, clean errors, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hip_kernels/k_cpu_kernels.h"
#include "hip_kernels/cpu_net.h"
#include "tests/network/half_ref.h"
#include "tests/network/k_truth.h"

/* Single precision moves a value across an f16 rounding boundary when it lies within about 5e-7 of one, relative, and a
 * moved operand is 2^-11 of itself off; of the tens of operands that a result depends on a few per cent have one, and the
 * result then moves by less than the rounding of its own f16, 2^-11: one unit in the last place (2^-10 of the value at
 * most) covers both. Values far below the typical size move with the typical one, hence the second term. */
#define TOLERANCE 0x1p-10
#define LEAST_WITHIN_PERCENT 99.9

#if defined(D4R_SANITIZED)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    assert_non_null(p);
    return p;
}
static size_t token_count(d4r_size grid)
{
    return (size_t)grid.width * grid.height;
}

static d4r_status create(const k_tensors *tensors, d4r_size grid, uint32_t threads, d4r_cpu_level level,
                         d4r_cpu_net **net)
{
    uint8_t *packed = allocate(D4R_K_NET_BYTES);
    k_tensors_pack(tensors, packed);
    d4r_cpu_net_params params = {.net = &d4r_k_net,
                                 .network = packed,
                                 .network_bytes = D4R_K_NET_BYTES,
                                 .max_grid = grid,
                                 .threads = threads,
                                 .level = level};
    d4r_status status = d4r_cpu_net_create(&params, net);
    free(packed);
    return status;
}

/* Keeps a copy of every layer's output. */
typedef struct capture {
    uint16_t *values[D4R_K_LAYER_COUNT];
    size_t count[D4R_K_LAYER_COUNT];
    int calls;
} capture;

static void keep_layer(void *user, unsigned layer, const void *values, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    capture *c = user;
    assert_int_equal(layer, c->calls++);
    c->count[layer] = (size_t)columns * rows * channels;
    c->values[layer] = allocate(c->count[layer] * 2);
    memcpy(c->values[layer], values, c->count[layer] * 2);
}
static void free_capture(capture *c)
{
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) free(c->values[i]);
}

static void run(d4r_cpu_net *net, d4r_size grid, uint32_t phase, const uint16_t *tokens, capture *c,
                uint16_t *head)
{
    d4r_cpu_net_run_params params = {.grid = grid,
                                     .phase = phase,
                                     .tokens = tokens,
                                     .head = head,
                                     .layer = c ? keep_layer : NULL,
                                     .user = c};
    assert_int_equal(d4r_cpu_net_run(net, &params), D4R_OK);
}

static void compare_layer(const k_tensors *tensors, int index, d4r_size grid, uint32_t phase,
                          const uint16_t *tokens, const capture *c)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    uint16_t *truth = allocate(c->count[index] * 2);
    assert_int_equal(c->count[index],
                     d4r_k_level_tokens(grid.width, grid.height, l->level) * l->out_channels);
    k_truth_layer(tensors, (d4r_k_layer)index, grid.width, grid.height, phase,
                  l->input == D4R_K_NO_LAYER ? tokens : c->values[l->input],
                  l->skip == D4R_K_NO_LAYER ? NULL : c->values[l->skip], truth);
    half_comparison r = half_compare(truth, c->values[index], c->count[index], TOLERANCE);
    printf("%ux%u phase %u %s: %zu values, %.3f %% differ, %zu beyond the tolerance, rms %.3f, error %.1e\n",
           grid.width, grid.height, phase, l->name, r.count, 100.0 * (double)r.different / (double)r.count,
           r.far, r.rms, r.error_rms);
    assert_int_equal(r.nan, 0);
    assert_true((double)r.far <= (100 - LEAST_WITHIN_PERCENT) / 100 * (double)r.count);
    assert_true(r.error_rms < TOLERANCE / 2 * r.rms);
    assert_true(r.rms > 0.0001 && r.rms < 1000);
    free(truth);
}

/* `least`: only layers of this level and below, which are cheap. */
static void against_truth(uint64_t seed, double gain, double spread, d4r_size grid, uint32_t phase,
                          uint32_t least)
{
    k_tensors *tensors = k_tensors_random(seed, gain);
    const size_t tokens_size = token_count(grid) * D4R_K_FEATURES;
    uint16_t *tokens = allocate(tokens_size * 2), *head = allocate(token_count(grid) * D4R_K_HEAD * 2);
    k_random_tokens(seed, spread, tokens, tokens_size);
    d4r_cpu_net *net = NULL;
    capture c = {0};
    assert_int_equal(create(tensors, grid, 0, D4R_CPU_AUTO, &net), D4R_OK);
    run(net, grid, phase, tokens, &c, head);
    assert_int_equal(c.calls, D4R_K_LAYER_COUNT);
    assert_memory_equal(head, c.values[D4R_K_LAYER_DEC0], token_count(grid) * D4R_K_HEAD * 2);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++)
        if (d4r_k_layers[i].level >= least) compare_layer(tensors, i, grid, phase, tokens, &c);
    free_capture(&c);
    d4r_cpu_net_destroy(&net);
    free(tokens);
    free(head);
    k_tensors_free(tensors);
}

/* Level 5 of 96x160 has 3x5 tokens: windows mostly outside; every phase's shifts on the changing levels. */
static void test_layers_against_truth(void **state)
{
    (void)state;
    against_truth(1, 1.0, 1.0, SANITIZED ? (d4r_size){32, 32} : (d4r_size){96, 160}, 0, 0);
    for (uint32_t phase = 1; phase < D4R_K_PHASES; phase += SANITIZED ? 3 : 1)
        against_truth(2, 1.0, 1.0, (d4r_size){160, 96}, phase, 3);
}
static void test_smallest_grid(void **state)
{
    (void)state;
    against_truth(8, 1.0, 1.0, (d4r_size){32, 32}, 3, 0);
}
/* Large weights: sharp softmax, large activations. Small inputs: eps matters, subnormal values. */
static void test_extreme_sizes(void **state)
{
    (void)state;
    against_truth(3, 2.0, 3.0, (d4r_size){32, 64}, 5, 0);
    against_truth(4, 1.0, 0.0002, (d4r_size){64, 32}, 6, 0);
}

static void test_cycle(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint32_t phase = 0; phase < D4R_K_PHASES; phase++) {
        seen |= 1u << d4r_k_shift(5, phase);
        for (uint32_t level = 0; level < 5; level++) {
            assert_int_equal(d4r_k_shift(level, phase), (2 * d4r_k_shift(level + 1, phase) + 4) % 8);
            assert_int_equal(d4r_k_shift(level, phase) % 2, 0); /* the expand relies on it */
        }
        for (uint32_t level = 0; level < 3; level++) assert_int_equal(d4r_k_shift(level, phase), 4);
        /* Consecutive evaluations never cut the same way. */
        for (uint32_t level = 3; level < 6; level++)
            assert_int_not_equal(d4r_k_shift(level, phase), d4r_k_shift(level, (phase + 1) % 8));
    }
    assert_int_equal(seen, 0xff);
}

static void test_same_bytes_any_threads_any_level(void **state)
{
    (void)state;
    d4r_size grid = SANITIZED ? (d4r_size){32, 64} : (d4r_size){96, 64};
    k_tensors *tensors = k_tensors_random(5, 1.0);
    const size_t size = token_count(grid) * D4R_K_FEATURES, head_bytes = token_count(grid) * D4R_K_HEAD * 2;
    uint16_t *tokens = allocate(size * 2), *first = allocate(head_bytes), *other = allocate(head_bytes);
    static const uint32_t threads[] = {1, 2, 7};
    bool is_first = true;
    k_random_tokens(5, 1.0, tokens, size);
    for (int pass = SANITIZED ? 2 : 0; pass < 3; pass++)
        for (int level = D4R_CPU_BASELINE; level < D4R_CPU_LEVEL_COUNT; level++) {
            if (!d4r_cpu_level_available((d4r_cpu_level)level)) continue;
            d4r_cpu_net *net = NULL;
            assert_int_equal(create(tensors, grid, threads[pass], (d4r_cpu_level)level, &net), D4R_OK);
            assert_int_equal(d4r_cpu_net_threads(net), threads[pass]);
            assert_int_equal(d4r_cpu_net_get_level(net), level == D4R_CPU_V4_BF16 ? D4R_CPU_V4 : level);
            assert_true(d4r_cpu_net_memory(net) > D4R_K_NET_BYTES);
            run(net, grid, 1, tokens, NULL, is_first ? first : other);
            if (!is_first) assert_memory_equal(first, other, head_bytes);
            is_first = false;
            d4r_cpu_net_destroy(&net);
        }
    free(tokens);
    free(first);
    free(other);
    k_tensors_free(tensors);
}

/* Every f16 value survives; f32 values round to nearest even and saturate; NaN stays NaN. */
static void check_conversions(const d4r_k_cpu_kernels *kernels)
{
    static uint16_t bits[65536], back[65536];
    static float values[65536];
    for (int i = 0; i < 65536; i++) bits[i] = (uint16_t)i;
    kernels->decode(bits, values, 65536);
    kernels->encode(values, back, 65536);
    for (int i = 0; i < 65536; i++) {
        const double truth = half_ref_decode((uint16_t)i);
        if (isnan(truth)) {
            assert_true(isnan(values[i]));
            assert_int_equal(back[i] & 0x7fff, 0x7e00);
        } else {
            assert_true((double)values[i] == truth);
            if (!isinf(truth)) assert_int_equal(back[i], i);
        }
    }
    for (int i = 0; i < 65536; i++) /* midpoints, and their neighbours */
        values[i] =
            isfinite(values[i])
                ? nextafterf((float)((half_ref_decode((uint16_t)i) + half_ref_decode((uint16_t)(i ^ 1))) / 2),
                             i % 3 == 0   ? INFINITY
                             : i % 3 == 1 ? -INFINITY
                                          : 0)
                : 1e30f;
    for (int i = 2; i < 65536; i += 3)
        if (fabsf(values[i]) < 1e30f) values[i] = nextafterf(values[i], values[i] < 0 ? -INFINITY : INFINITY);
    kernels->encode(values, back, 65536);
    for (int i = 0; i < 65536; i++) assert_int_equal(back[i], half_ref_encode(values[i]));
}
static void test_conversions(void **state)
{
    (void)state;
    check_conversions(&d4r_k_cpu_kernels_baseline);
#if defined(__x86_64__)
    if (d4r_cpu_level_available(D4R_CPU_V3)) check_conversions(&d4r_k_cpu_kernels_v3);
#ifdef D4R_CPU_ALL_LEVELS
    if (d4r_cpu_level_available(D4R_CPU_V4)) check_conversions(&d4r_k_cpu_kernels_v4);
#endif
#endif
}

/* A net made for a larger grid gives the same result on a smaller one. */
static void test_smaller_grid(void **state)
{
    (void)state;
    d4r_size grid = {64, 32}, large = {96, 96};
    k_tensors *tensors = k_tensors_random(6, 1.0);
    const size_t size = token_count(grid) * D4R_K_FEATURES, head_bytes = token_count(grid) * D4R_K_HEAD * 2;
    uint16_t *tokens = allocate(size * 2), *a = allocate(head_bytes), *b = allocate(head_bytes);
    d4r_cpu_net *exact = NULL, *roomy = NULL;
    k_random_tokens(6, 1.0, tokens, size);
    assert_int_equal(create(tensors, grid, 2, D4R_CPU_AUTO, &exact), D4R_OK);
    assert_int_equal(create(tensors, large, 2, D4R_CPU_AUTO, &roomy), D4R_OK);
    for (uint32_t phase = 0; phase < D4R_K_PHASES; phase++) {
        run(exact, grid, phase, tokens, NULL, a);
        run(roomy, grid, phase, tokens, NULL, b);
        assert_memory_equal(a, b, head_bytes);
    }
    d4r_cpu_net_destroy(&exact);
    d4r_cpu_net_destroy(&roomy);
    free(tokens);
    free(a);
    free(b);
    k_tensors_free(tensors);
}

/* One layer: a NaN token spoils its own window, every value of it, and nothing else: within the layer, attention reaches no
 * further. Then the whole network: no crash, and the next evaluation is clean, for the network keeps no state. */
static void test_nan_stays_local(void **state)
{
    (void)state;
    d4r_size grid = {96, 64};
    k_tensors *tensors = k_tensors_random(7, 1.0);
    const size_t size = token_count(grid) * D4R_K_FEATURES, head_bytes = token_count(grid) * D4R_K_HEAD * 2;
    uint16_t *tokens = allocate(size * 2), *head = allocate(head_bytes), *again = allocate(head_bytes);
    d4r_cpu_net *net = NULL;
    capture clean = {0}, spoilt = {0};
    k_random_tokens(7, 1.0, tokens, size);
    assert_int_equal(create(tensors, grid, 2, D4R_CPU_AUTO, &net), D4R_OK);
    run(net, grid, 2, tokens, &clean, head);
    const int row = 9, column = 22; /* windows start at -4: rows 4 .. 11, columns 20 .. 27 */
    const size_t at = ((size_t)row * grid.width + column) * D4R_K_FEATURES + 5;
    const uint16_t was = tokens[at];
    tokens[at] = 0x7e01;
    run(net, grid, 2, tokens, &spoilt, again);
    for (int y = 0; y < (int)grid.height; y++)
        for (int x = 0; x < (int)grid.width; x++)
            for (int c = 0; c < D4R_K_C0; c++) {
                const size_t i = ((size_t)y * grid.width + x) * D4R_K_C0 + c;
                const uint16_t value = spoilt.values[D4R_K_LAYER_ENC0][i];
                if (y >= 4 && y < 12 && x >= 20 && x < 28)
                    assert_int_equal(value & 0x7fff, 0x7e00);
                else
                    assert_int_equal(value, clean.values[D4R_K_LAYER_ENC0][i]);
            }
    tokens[at] = was;
    run(net, grid, 2, tokens, NULL, again);
    assert_memory_equal(head, again, head_bytes);
    for (size_t i = 0; i < size; i++) tokens[i] = (uint16_t)(i * 2654435761u >> 13); /* any bits */
    run(net, grid, 4, tokens, NULL, again);
    free_capture(&clean);
    free_capture(&spoilt);
    d4r_cpu_net_destroy(&net);
    free(tokens);
    free(head);
    free(again);
    k_tensors_free(tensors);
}

static void note_error(void *user, d4r_log_level level, const char *line)
{
    (void)level;
    snprintf(user, 256, "%s", line);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    char line[256] = "";
    uint8_t *packed = allocate(D4R_K_NET_BYTES);
    memset(packed, 0, D4R_K_NET_BYTES);
    const d4r_cpu_net_params good = {.net = &d4r_k_net,
                                     .network = packed,
                                     .network_bytes = D4R_K_NET_BYTES,
                                     .max_grid = {64, 64},
                                     .threads = 1,
                                     .log = {note_error, line, D4R_LOG_ERROR}};
    d4r_cpu_net *net = NULL;
    d4r_cpu_net_params bad = good;
    bad.network_bytes++;
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(line, "bytes"));
    bad = good;
    bad.max_grid = (d4r_size){64, 48};
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(line, "64x48"));
    bad = good;
    bad.level = D4R_CPU_LEVEL_COUNT;
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_null(net);
    assert_int_equal(d4r_cpu_net_create(&good, &net), D4R_OK);

    uint16_t *tokens = calloc(96 * 96 * D4R_K_FEATURES, 2), *head = calloc(96 * 96 * D4R_K_HEAD, 2);
    assert_true(tokens && head);
    const d4r_cpu_net_run_params fine = {.grid = {32, 64}, .tokens = tokens, .head = head};
    d4r_cpu_net_run_params p = fine;
    p.grid = (d4r_size){96, 96}; /* larger than max_grid */
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_ARGUMENT);
    p.grid = (d4r_size){0, 32};
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_ARGUMENT);
    p = fine;
    p.head = NULL;
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_ARGUMENT);
    p.head = tokens;
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_ARGUMENT);
    p = fine;
    p.phase = 8;
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_ARGUMENT);
    p = fine;
    atomic_bool cancel = true;
    p.cancel = &cancel;
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_ERROR_TIMEOUT);
    atomic_store(&cancel, false);
    assert_int_equal(d4r_cpu_net_run(net, &p), D4R_OK);
    d4r_cpu_net_destroy(&net);
    assert_null(net);
    d4r_cpu_net_destroy(&net);
    d4r_cpu_net_destroy(NULL);
    free(tokens);
    free(head);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversions),          cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_layers_against_truth), cmocka_unit_test(test_smallest_grid),
        cmocka_unit_test(test_extreme_sizes),        cmocka_unit_test(test_same_bytes_any_threads_any_level),
        cmocka_unit_test(test_smaller_grid),         cmocka_unit_test(test_nan_stays_local),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("k_network", tests, NULL, NULL);
}
