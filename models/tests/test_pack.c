/* Packing: conversion to FP8 with its report, and the layouts of both images, from m_layout.h's words. */
#include "models/tests/capture.h"

#include <math.h>

#include "models/format/fp8.h"
#include "models/format/m_pack.h"
#include "models/format/neutral.h"

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void randomise(d4r_m_weights *weights)
{
    assert_int_equal(d4r_m_weights_create(weights), D4R_OK);
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        uint8_t *to = weights->data + weights->offset[i];
        for (size_t k = 0; k < d4r_m_tensor_elements(&d4r_m_tensors[i]); k++) {
            float bias = (float)(next_random() % 2001) * 0.01f - 10;
            if (d4r_m_tensors[i].kind == D4R_M_WEIGHT)
                to[k] = (uint8_t)(next_random() % 127 + (next_random() & 1) * 128);
            else
                memcpy(to + 4 * k, &bias, 4);
        }
    }
}

static float f32_at(const uint8_t *at)
{
    float value;
    memcpy(&value, at, 4);
    return value;
}

/* Every byte of both images belongs to exactly one tensor. */
static void test_table(void **state)
{
    (void)state;
    static uint8_t owners[2][D4R_M_NET_BYTES];
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *t = &d4r_m_tensors[i];
        size_t bytes = t->kind == D4R_M_REL_BIAS ? t->rows * 1024u : d4r_m_tensor_bytes(t);
        for (size_t k = 0; k < bytes; k++) owners[t->image][t->packed_offset + k]++;
        assert_int_equal(d4r_m_tensor_index(t->name), i);
    }
    for (size_t k = 0; k < D4R_M_STAGE_BYTES; k++) assert_int_equal(owners[D4R_M_STAGE_IMAGE][k], 1);
    for (size_t k = 0; k < D4R_M_NET_BYTES; k++) assert_int_equal(owners[D4R_M_NETWORK_IMAGE][k], 1);
    assert_int_equal(d4r_m_tensor_index("mid6.qkv.weight"), -1);
}

static void check_tiles(const uint8_t *weights, const uint8_t *packed, uint32_t rows, uint32_t cols)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++) {
            uint32_t tile = (r / 16) * (cols / 16) + c / 16, lane = r % 16 + 16 * (c % 16 / 8);
            assert_int_equal(packed[tile * 256 + lane * 8 + c % 8], weights[r * cols + c]);
        }
}

static void check_rel_bias(const uint8_t *from, const uint8_t *packed, uint32_t heads)
{
    for (uint32_t h = 0; h < heads; h++)
        for (int ky = 0; ky < 4; ky++)
            for (int kx = 0; kx < 4; kx++)
                for (int qy = 0; qy < 4; qy++)
                    for (int qx = 0; qx < 4; qx++) {
                        uint32_t entry = h * 49 + (uint32_t)(7 * (ky - qy + 3) + kx - qx + 3);
                        uint32_t place = h * 256 + (uint32_t)((4 * ky + kx) * 16 + 4 * qy + qx);
                        double want = f32_at(from + 4 * entry) * 1.4426950408889634;
                        assert_true(f32_at(packed + 4 * place) == (float)want);
                    }
}

static void test_layout(void **state)
{
    (void)state;
    d4r_m_weights weights;
    static uint8_t stage[D4R_M_STAGE_BYTES], network[D4R_M_NET_BYTES];
    randomise(&weights);
    d4r_m_pack(&weights, stage, network);
    const uint8_t *embed = weights.data + weights.offset[d4r_m_tensor_index("input.embed.weight")];
    const uint8_t *bias = weights.data + weights.offset[d4r_m_tensor_index("expansion.bias")];
    assert_memory_equal(stage + D4R_M_STAGE_EMBED_WEIGHT, embed, 64 * 128);
    assert_memory_equal(stage + D4R_M_STAGE_EXPANSION_BIAS, bias, 68 * 4);
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *t = &d4r_m_tensors[i];
        const uint8_t *from = weights.data + weights.offset[i], *to = network + t->packed_offset;
        if (t->image == D4R_M_STAGE_IMAGE) continue;
        if (t->kind == D4R_M_WEIGHT) check_tiles(from, to, t->rows, t->cols);
        if (t->kind == D4R_M_BIAS) assert_memory_equal(from, to, 4 * t->rows);
        if (t->kind == D4R_M_REL_BIAS) check_rel_bias(from, to, t->rows);
    }
    const d4r_m_tensor *proj = &d4r_m_tensors[d4r_m_tensor_index("mid3.proj.weight")];
    assert_int_equal(proj->packed_offset, D4R_M_NET_MID(3) + 3 * 128 * 128);
    d4r_m_weights_free(&weights);
}

static void test_round_trip(void **state)
{
    (void)state;
    d4r_m_weights weights, again;
    d4r_m_rounding rounding[D4R_M_TENSOR_COUNT];
    struct capture capture;
    d4r_log log = capture_log(&capture);
    uint8_t *file;
    size_t size;
    randomise(&weights);
    assert_int_equal(d4r_m_weights_encode(&weights, &file, &size), D4R_OK);
    assert_int_equal(d4r_m_weights_read("w", file, size, &log, &again, rounding), D4R_OK);
    assert_int_equal(again.bytes, weights.bytes);
    assert_memory_equal(again.data, weights.data, weights.bytes);
    assert_int_equal(capture.errors + capture.warnings, 0);
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) assert_true(rounding[i].noise == 0 && !rounding[i].flushed);
    d4r_m_weights_free(&weights);
    d4r_m_weights_free(&again);
    free(file);
}

/* A whole preset as floats of one dtype, every value `value(k)`; freed by the caller. */
static uint8_t *float_file(d4r_dtype dtype, float (*value)(size_t), size_t *size)
{
    static d4r_tensor tensors[D4R_M_TENSOR_COUNT];
    static const uint8_t *data[D4R_M_TENSOR_COUNT];
    uint8_t *file, *bytes = malloc(4 * 100000);
    assert_non_null(bytes);
    for (size_t k = 0; k < 100000; k++) {
        float f = value(k);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (dtype == D4R_DTYPE_BF16) {
            bits >>= 16;
            memcpy(bytes + 2 * k, &bits, 2);
        } else
            memcpy(bytes + 4 * k, &bits, 4);
    }
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *t = &d4r_m_tensors[i];
        tensors[i] = (d4r_tensor){.dtype = dtype,
                                  .dimensions = t->kind == D4R_M_BIAS ? 1 : 2,
                                  .shape = {t->rows, t->cols},
                                  .elements = d4r_m_tensor_elements(t),
                                  .bytes = d4r_m_tensor_elements(t) * d4r_dtype_bytes(dtype)};
        snprintf(tensors[i].name, sizeof tensors[i].name, "%s", t->name);
        data[i] = bytes;
    }
    assert_int_equal(d4r_safetensors_encode(tensors, data, D4R_M_TENSOR_COUNT, NULL, &file, size), D4R_OK);
    free(bytes);
    return file;
}

static float spread(size_t k)
{
    /* 0.001 is below half of the smallest FP8 step (2^-10), 600 above 448. */
    return k % 64 == 7 ? 0.0009f : k % 128 == 9 ? -600.0f : (float)(k % 97) * 0.25f - 12;
}

static void test_floats(void **state)
{
    (void)state;
    static d4r_m_rounding rounding[D4R_M_TENSOR_COUNT];
    for (int pass = 0; pass < 2; pass++) {
        d4r_dtype dtype = pass ? D4R_DTYPE_BF16 : D4R_DTYPE_F32;
        struct capture capture;
        d4r_log log = capture_log(&capture);
        d4r_m_weights weights;
        size_t size;
        uint8_t *file = float_file(dtype, spread, &size);
        assert_int_equal(d4r_m_weights_read("w", file, size, &log, &weights, rounding), D4R_OK);
        int index = d4r_m_tensor_index("enc1.proj.weight"); /* 64 x 64 */
        const uint8_t *codes = weights.data + weights.offset[index];
        double signal = 0, noise = 0;
        for (size_t k = 0; k < 4096; k++) {
            float value = spread(k);
            if (pass) {
                uint32_t bits;
                memcpy(&bits, &value, 4);
                bits &= 0xffff0000u;
                memcpy(&value, &bits, 4);
            }
            assert_int_equal(codes[k], d4r_float_to_e4m3(value));
            signal += (double)value * value;
            noise += pow((double)d4r_e4m3_to_float(codes[k]) - value, 2);
        }
        assert_int_equal(rounding[index].flushed, 64);
        assert_int_equal(rounding[index].saturated, 32);
        assert_true(rounding[index].largest == 600.0f);
        assert_true(fabs(rounding[index].signal / signal - 1) < 1e-12);
        assert_true(fabs(rounding[index].noise / noise - 1) < 1e-12);
        assert_int_equal(capture.warnings, 46); /* one for every weight tensor */
        assert_non_null(strstr(capture.warning, "beyond +-448 saturated"));
        d4r_m_weights_free(&weights);
        free(file);
    }
}

static float with_nan(size_t k)
{
    return k == 5 ? NAN : 1;
}
static float with_infinity(size_t k)
{
    return k == 6 ? -INFINITY : 1;
}
static float with_large(size_t k)
{
    return k == 63 ? 70000 : 1;
}

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        float (*value)(size_t);
        const char *message;
    } cases[] = {{with_nan, "\"input.embed.weight\": element 5 is not a finite number"},
                 {with_infinity, "element 6 is not a finite number"},
                 {with_large, "\"input.embed.bias\": element 63 is beyond +-65504"}};
    for (size_t i = 0; i < 3; i++) {
        struct capture capture;
        d4r_log log = capture_log(&capture);
        d4r_m_weights weights;
        size_t size;
        uint8_t *file = float_file(D4R_DTYPE_F32, cases[i].value, &size);
        assert_int_equal(d4r_m_weights_read("w", file, size, &log, &weights, NULL), D4R_ERROR_MODEL);
        assert_one_error(&capture, cases[i].message);
        assert_null(weights.data);
        free(file);
    }
}

/* Only the expansion's bias differs from zero, the same for all four pixels, with values that FP8 holds
 * exactly, and the gates come out as the stages will compute them. */
static void test_neutral(void **state)
{
    (void)state;
    d4r_m_neutral params = d4r_m_neutral_default();
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_m_weights weights;
    float bias[68];
    assert_int_equal(d4r_m_weights_create(&weights), D4R_OK);
    assert_int_equal(d4r_m_neutral_fill(&params, &log, &weights), D4R_OK);
    uint8_t *at = weights.data + weights.offset[d4r_m_tensor_index("expansion.bias")];
    memcpy(bias, at, sizeof bias);
    memset(at, 0, sizeof bias);
    for (size_t i = 0; i < weights.bytes; i++) assert_int_equal(weights.data[i], 0);
    for (int i = 0; i < 68; i++) {
        assert_true(bias[i] == bias[i % 17]);
        assert_true(d4r_e4m3_to_float(d4r_float_to_e4m3(bias[i])) == bias[i]);
    }
    assert_true(fabs(1 / (1 + exp(-bias[0])) - 0.2) < 0.005);
    assert_true(fabs(1 / (8 / (1 + exp(-bias[14]))) - 0.3) < 0.005);
    assert_true(bias[14] == bias[15] && bias[16] == 0);
    for (int i = 1; i < 11; i++) /* floors and recurrent gates round to 0 of 255, candidates are 0 */
        assert_true(i >= 2 && i < 6 ? bias[i] == 0 : 255 / (1 + exp(-bias[i])) < 0.5);
    assert_true(255 / (1 + 2 * exp(bias[12] - bias[11])) > 254.5 && bias[12] == bias[13]);
    params.sigma = 0.1f;
    assert_int_equal(d4r_m_neutral_fill(&params, &log, &weights), D4R_ERROR_ARGUMENT);
    assert_one_error(&capture, "sigma: 0.1 is outside");
    params = d4r_m_neutral_default();
    params.weight = NAN;
    log = capture_log(&capture);
    assert_int_equal(d4r_m_neutral_fill(&params, &log, &weights), D4R_ERROR_ARGUMENT);
    assert_one_error(&capture, "weight: nan is outside");
    d4r_m_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table),      cmocka_unit_test(test_layout),
                                       cmocka_unit_test(test_round_trip), cmocka_unit_test(test_floats),
                                       cmocka_unit_test(test_bad_values), cmocka_unit_test(test_neutral)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
