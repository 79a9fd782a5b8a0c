/* The CPU network against the double-precision truth, layer by layer on the same inputs, and its promises:
 * the same bytes for every thread count and instruction set level, local NaN, clean errors, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hip_kernels/cpu_net.h"
#include "tests/network/compare.h"
#include "tests/network/fp8_ref.h"
#include "tests/network/network_ref.h"

/* Single precision moves a value across a rounding boundary when it lies within about 5e-7 of one, relative;
 * the boundaries are 1/11 apart on average, so some 5e-6 of all rounded values differ, which is about one in
 * a tenth of the windows of a C 128 block, and each reaches a few dozen of the window's 2048 results: 99.95 %
 * identical on average. Small grids have too few windows for an average and are allowed one such value more.
 */
#define LEAST_SAME_PERCENT 99.9
#define SMALL_COUNT 100000
#define SMALL_SLACK 64

/* Sanitizer builds run the same tests on fewer tokens. */
#if defined(D4R_SANITIZED)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static uint8_t *allocate(size_t bytes)
{
    uint8_t *p = malloc(bytes);
    assert_non_null(p);
    return p;
}

static d4r_status create(const network_tensors *tensors, d4r_size grid, uint32_t threads, d4r_cpu_level level,
                         d4r_cpu_net **net)
{
    uint8_t *packed = allocate(D4R_M_NET_BYTES);
    network_tensors_pack(tensors, packed);
    d4r_cpu_net_params params = {.net = &d4r_m_net,
                                 .network = packed,
                                 .network_bytes = D4R_M_NET_BYTES,
                                 .max_grid = grid,
                                 .threads = threads,
                                 .level = level};
    d4r_status status = d4r_cpu_net_create(&params, net);
    free(packed);
    return status;
}

/* Keeps a copy of every layer's output. */
typedef struct capture {
    uint8_t *codes[D4R_M_LAYER_COUNT];
    size_t bytes[D4R_M_LAYER_COUNT];
    int calls;
} capture;

static void keep_layer(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    capture *c = user;
    assert_int_equal(layer, c->calls++);
    c->bytes[layer] = (size_t)columns * rows * channels;
    c->codes[layer] = allocate(c->bytes[layer]);
    memcpy(c->codes[layer], codes, c->bytes[layer]);
}
static void free_capture(capture *c)
{
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(c->codes[i]);
}

static void run(d4r_cpu_net *net, d4r_size grid, const uint8_t *tokens, capture *c, uint8_t *head)
{
    d4r_cpu_net_run_params params = {
        .grid = grid, .tokens = tokens, .head = head, .layer = c ? keep_layer : NULL, .user = c};
    assert_int_equal(d4r_cpu_net_run(net, &params), D4R_OK);
}

static size_t token_bytes(d4r_size grid)
{
    return (size_t)grid.width * grid.height * D4R_M_TOKEN_CHANNELS;
}

static void against_truth(uint64_t seed, double gain, double spread, d4r_size grid)
{
    network_tensors *tensors = network_tensors_random(seed, gain);
    uint8_t *tokens = allocate(token_bytes(grid)), *head = allocate(token_bytes(grid));
    network_random_tokens(seed, spread, tokens, token_bytes(grid));
    d4r_cpu_net *net = NULL;
    capture c = {0};
    assert_int_equal(create(tensors, grid, 0, D4R_CPU_AUTO, &net), D4R_OK);
    run(net, grid, tokens, &c, head);
    assert_int_equal(c.calls, D4R_M_LAYER_COUNT);
    assert_memory_equal(head, c.codes[D4R_M_LAYER_DEC1], token_bytes(grid));
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) {
        const d4r_m_layer_info *l = &d4r_m_layers[i];
        assert_int_equal(c.bytes[i],
                         d4r_m_level_tokens(grid.width, grid.height, l->out_level) * l->out_channels);
        uint8_t *truth = allocate(c.bytes[i]);
        network_ref_layer(tensors, (d4r_m_layer)i, grid.width, grid.height,
                          l->input == D4R_M_NO_LAYER ? tokens : c.codes[l->input],
                          l->skip == D4R_M_NO_LAYER ? NULL : c.codes[l->skip], truth);
        code_comparison r = compare_codes(truth, c.codes[i], c.bytes[i]);
        printf("%s: %.4f %% identical (%zu of %zu differ, %zu by more than one step), rms %.3f\n", l->name,
               compare_same_percent(&r), r.different, r.count, r.far, r.rms);
        if (r.count < SMALL_COUNT)
            assert_true((double)r.different <=
                        (100 - LEAST_SAME_PERCENT) / 100 * (double)r.count + SMALL_SLACK);
        else
            assert_true(compare_same_percent(&r) >= LEAST_SAME_PERCENT);
        assert_true(r.rms > 0.05 && r.rms < 100);
        assert_int_equal(r.nan, 0);
        free(truth);
    }
    free_capture(&c);
    d4r_cpu_net_destroy(&net);
    free(tokens);
    free(head);
    network_tensors_free(tensors);
}

static void test_layers_against_truth(void **state)
{
    (void)state;
    against_truth(1, 1.0, 1.5, SANITIZED ? (d4r_size){48, 48} : (d4r_size){192, 144});
    against_truth(2, 1.0, 1.5, (d4r_size){16, 16});
    against_truth(8, 1.0, 1.5, (d4r_size){16, 64});
}
/* Large weights: sharp softmax, saturation at 448. */
static void test_layers_large_weights(void **state)
{
    (void)state;
    against_truth(3, 2.0, 3.0, (d4r_size){32, 16});
}
/* Small inputs: subnormal codes everywhere, eps matters. */
static void test_layers_small_tokens(void **state)
{
    (void)state;
    against_truth(4, 1.0, 0.004, (d4r_size){16, 32});
}

static void test_same_bytes_any_threads_any_level(void **state)
{
    (void)state;
    d4r_size grid = SANITIZED ? (d4r_size){32, 48} : (d4r_size){48, 80};
    network_tensors *tensors = network_tensors_random(5, 1.0);
    uint8_t *tokens = allocate(token_bytes(grid)), *first = allocate(token_bytes(grid)),
            *other = allocate(token_bytes(grid));
    network_random_tokens(5, 1.5, tokens, token_bytes(grid));
    for (int pass = SANITIZED ? 2 : 0; pass < 4; pass++) /* three ordinary ones, then all codes */
        for (int level = D4R_CPU_BASELINE; level < D4R_CPU_LEVEL_COUNT; level++) {
            if (!d4r_cpu_level_available((d4r_cpu_level)level)) {
                printf("level %s: not on this CPU\n", d4r_cpu_level_name((d4r_cpu_level)level));
                continue;
            }
            static const uint32_t threads[] = {1, 2, 7, 3};
            if (pass == 3)
                for (size_t i = 0; i < token_bytes(grid); i++) tokens[i] = (uint8_t)(i * 2654435761u >> 13);
            if (pass == 3)
                for (size_t i = 0; i < token_bytes(grid); i++)
                    if ((tokens[i] & 0x7f) == 0x7f) tokens[i] ^= 1;
            d4r_cpu_net *net = NULL;
            assert_int_equal(create(tensors, grid, threads[pass], (d4r_cpu_level)level, &net), D4R_OK);
            assert_int_equal(d4r_cpu_net_threads(net), threads[pass]);
            assert_int_equal(d4r_cpu_net_get_level(net), level);
            assert_true(d4r_cpu_net_memory(net) > D4R_M_NET_BYTES);
            bool is_first = (pass == (SANITIZED ? 2 : 0) || pass == 3) && level == D4R_CPU_BASELINE;
            run(net, grid, tokens, NULL, is_first ? first : other);
            if (!is_first) assert_memory_equal(first, other, token_bytes(grid));
            d4r_cpu_net_destroy(&net);
        }
    free(tokens);
    free(first);
    free(other);
    network_tensors_free(tensors);
}

/* A net made for a larger grid gives the same result on a smaller one, in place too, again and again. */
static void test_smaller_grid_and_in_place(void **state)
{
    (void)state;
    d4r_size grid = {48, 16}, large = {64, 64};
    network_tensors *tensors = network_tensors_random(6, 1.0);
    uint8_t *tokens = allocate(token_bytes(large)), *a = allocate(token_bytes(large)),
            *b = allocate(token_bytes(large));
    network_random_tokens(6, 1.5, tokens, token_bytes(large));
    d4r_cpu_net *exact = NULL, *roomy = NULL;
    assert_int_equal(create(tensors, grid, 2, D4R_CPU_AUTO, &exact), D4R_OK);
    assert_int_equal(create(tensors, large, 2, D4R_CPU_AUTO, &roomy), D4R_OK);
    run(exact, grid, tokens, NULL, a);
    run(roomy, large, tokens, NULL, b);
    for (int i = 0; i < 3; i++) {
        memcpy(b, tokens, token_bytes(grid));
        run(roomy, grid, b, NULL, b);
        assert_memory_equal(a, b, token_bytes(grid));
    }
    d4r_cpu_net_destroy(&exact);
    d4r_cpu_net_destroy(&roomy);
    free(tokens);
    free(a);
    free(b);
    network_tensors_free(tensors);
}

/* A NaN token reaches the windows that it shares through the layers, and nothing else: with the blocks'
 * windows the reach of one token is bounded, and everything outside is byte for byte what it was. */
static void test_nan_stays_local(void **state)
{
    (void)state;
    d4r_size grid = {128, 128};
    network_tensors *tensors = network_tensors_random(7, 1.0);
    uint8_t *tokens = allocate(token_bytes(grid)), *clean = allocate(token_bytes(grid)),
            *spoilt = allocate(token_bytes(grid));
    network_random_tokens(7, 1.5, tokens, token_bytes(grid));
    d4r_cpu_net *net = NULL;
    assert_int_equal(create(tensors, grid, 2, D4R_CPU_AUTO, &net), D4R_OK);
    run(net, grid, tokens, NULL, clean);
    const int row = 9, column = 11; /* near a corner */
    tokens[(row * (int)grid.width + column) * D4R_M_TOKEN_CHANNELS + 5] = 0x7f;
    tokens[(row * (int)grid.width + column) * D4R_M_TOKEN_CHANNELS + 6] = 0xff;
    run(net, grid, tokens, NULL, spoilt);
    size_t nan = 0, outside = 0;
    /* Level 2 tokens are 4x4: each of the six middle blocks moves the edge by at most 3 of them, enc1 by 3
     * tokens, enc2 by 3 pairs, dec2 and dec1 by what their window adds: below 100 tokens. */
    const int reach = 100;
    for (int y = 0; y < (int)grid.height; y++)
        for (int x = 0; x < (int)grid.width; x++)
            for (int c = 0; c < D4R_M_TOKEN_CHANNELS; c++) {
                size_t at = (size_t)(y * (int)grid.width + x) * D4R_M_TOKEN_CHANNELS + c;
                nan += (spoilt[at] & 0x7f) == 0x7f;
                if (x > column + reach || y > row + reach) {
                    assert_int_equal(spoilt[at], clean[at]);
                    outside++;
                }
            }
    assert_true(nan >= 16 * D4R_M_TOKEN_CHANNELS);
    assert_true(outside > 0);
    /* The next frame is clean again: the network keeps no state. */
    network_random_tokens(7, 1.5, tokens, token_bytes(grid));
    run(net, grid, tokens, NULL, spoilt);
    assert_memory_equal(clean, spoilt, token_bytes(grid));
    /* Nothing but NaN, and random bytes, must not crash either. */
    memset(tokens, 0x7f, token_bytes(grid));
    run(net, grid, tokens, NULL, spoilt);
    for (size_t i = 0; i < token_bytes(grid); i++) assert_int_equal(spoilt[i] & 0x7f, 0x7f);
    d4r_cpu_net_destroy(&net);
    free(tokens);
    free(clean);
    free(spoilt);
    network_tensors_free(tensors);
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
    uint8_t *packed = allocate(D4R_M_NET_BYTES);
    memset(packed, 0, D4R_M_NET_BYTES);
    const d4r_cpu_net_params good = {.net = &d4r_m_net,
                                     .network = packed,
                                     .network_bytes = D4R_M_NET_BYTES,
                                     .max_grid = {32, 32},
                                     .threads = 1,
                                     .log = {note_error, line, D4R_LOG_ERROR}};
    d4r_cpu_net *net = NULL;
    d4r_cpu_net_params bad = good;
    bad.network_bytes--;
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_null(net);
    assert_non_null(strstr(line, "bytes"));
    bad = good;
    bad.max_grid = (d4r_size){32, 24};
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(line, "32x24"));
    bad = good;
    bad.level = D4R_CPU_LEVEL_COUNT;
    assert_int_equal(d4r_cpu_net_create(&bad, &net), D4R_ERROR_ARGUMENT);
    assert_int_equal(setenv("D4R_CPU_LEVEL", "v9", 1), 0);
    assert_int_equal(d4r_cpu_net_create(&good, &net), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(line, "v9"));
    assert_int_equal(setenv("D4R_CPU_LEVEL", "baseline", 1), 0);
    assert_int_equal(d4r_cpu_net_create(&good, &net), D4R_OK);
    assert_int_equal(d4r_cpu_net_get_level(net), D4R_CPU_BASELINE);
    unsetenv("D4R_CPU_LEVEL");

    uint8_t *tokens = allocate(64 * 64 * 64);
    memset(tokens, 0, 64 * 64 * 64);
    d4r_cpu_net_run_params run_params = {.grid = {64, 64}, .tokens = tokens, .head = tokens};
    assert_int_equal(d4r_cpu_net_run(net, &run_params), D4R_ERROR_ARGUMENT); /* larger than max_grid */
    run_params.grid = (d4r_size){0, 16};
    assert_int_equal(d4r_cpu_net_run(net, &run_params), D4R_ERROR_ARGUMENT);
    run_params.grid = (d4r_size){32, 32};
    run_params.head = NULL;
    assert_int_equal(d4r_cpu_net_run(net, &run_params), D4R_ERROR_ARGUMENT);
    run_params.head = tokens;
    atomic_bool cancel = true;
    run_params.cancel = &cancel;
    assert_int_equal(d4r_cpu_net_run(net, &run_params), D4R_ERROR_TIMEOUT);
    atomic_store(&cancel, false);
    assert_int_equal(d4r_cpu_net_run(net, &run_params), D4R_OK);
    d4r_cpu_net_destroy(&net);
    assert_null(net);
    d4r_cpu_net_destroy(&net);
    d4r_cpu_net_destroy(NULL);
    free(tokens);
    free(packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_against_truth),
        cmocka_unit_test(test_layers_large_weights),
        cmocka_unit_test(test_layers_small_tokens),
        cmocka_unit_test(test_same_bytes_any_threads_any_level),
        cmocka_unit_test(test_smaller_grid_and_in_place),
        cmocka_unit_test(test_nan_stays_local),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
