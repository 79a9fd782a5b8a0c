/* The comparison of test_stages on rendered frames: crops of the test sequences, with random gates and with constant
 * ones as a neutral model has them. Needs the unpacked sequences (D4R_TEST_DATA); skipped without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/format/m_layout.h"
#include "tests/stages/content.h"
#include "tests/stages/k_ref.h"

static vk_test device;
static const char *data_folder;

enum { WIDTH = 320, HEIGHT = 180 };

typedef struct crop {
    uint32_t x, y, width, height;
} crop;

static void *read_plane(const char *sequence, const char *name, int frame, size_t bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s-%04d.bin", data_folder, sequence, name, frame);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    void *data = malloc(bytes);
    const bool whole = fread(data, 1, bytes, file) == bytes && fgetc(file) == EOF;
    fclose(file);
    if (!whole) fail_msg("%s is not %zu bytes", path, bytes);
    return data;
}

static double halton(unsigned index, unsigned base)
{
    double v = 0, scale = 1;
    for (; index; index /= base) v += (index % base) * (scale /= base);
    return v;
}

static content load(const char *sequence, int frame, crop k)
{
    content c = {0};
    uint16_t *color = read_plane(sequence, "color", frame, WIDTH * HEIGHT * 8);
    uint16_t *motion = read_plane(sequence, "motion", frame, WIDTH * HEIGHT * 4);
    float *depth = read_plane(sequence, "depth", frame, WIDTH * HEIGHT * 4);
    assert_true(color && motion && depth);
    const size_t pixels = (size_t)k.width * k.height;
    c.color = malloc(pixels * 16);
    c.motion = malloc(pixels * 8);
    c.depth = malloc(pixels * 4);
    for (size_t i = 0; i < pixels; i++) {
        const size_t at = (k.y + i / k.width) * WIDTH + k.x + i % k.width;
        for (size_t n = 0; n < 4; n++) c.color[4 * i + n] = (float)ref_half_value(color[4 * at + n]);
        for (size_t n = 0; n < 2; n++) c.motion[2 * i + n] = (float)ref_half_value(motion[2 * at + n]);
        c.depth[i] = depth[at];
    }
    free(color);
    free(motion);
    free(depth);
    const unsigned phase = (unsigned)frame % 16 + 1;
    c.input.settings =
        (d4r_frame_settings){.render = {k.width, k.height},
                             .jitter = {(float)(halton(phase, 2) - 0.5), (float)(halton(phase, 3) - 0.5)},
                             .motion_scale = {1, 1},
                             .exposure = 1,
                             .pre_exposure = 1};
    c.input.color = c.color;
    c.input.motion = c.motion;
    c.input.depth = c.depth;
    return c;
}

/* Constant outputs: no expansion weights, biases of a plain temporal accumulation. */
static void neutral_weights(uint8_t *weights)
{
    static const float bias[17] = {-1.386f, -6, 0, 0,  0,  0,       -8,      -8, -8,
                                   -8,      -6, 6, -6, -6, -0.336f, -0.336f, 0};
    float all[64 + 68];
    rig_random_weights(5, weights);
    memset(weights + 64 * 128, 0, 68 * 64);
    memcpy(all, weights + 64 * 128 + 68 * 64, sizeof all);
    for (int i = 0; i < 68; i++) all[64 + i] = bias[i % 17];
    memcpy(weights + 64 * 128 + 68 * 64, all, sizeof all);
}

/* Preset K's counterpart: the biases of its neutral model for every sub-block. */
static const uint16_t *neutral_head(void)
{
    static uint16_t head[256 * 256 * K_REF_HEAD];
    static const float logits[8] = {1.609f, -0.693f, -1.099f, 2.944f, -6.907f, -6.907f, 0, 0.511f};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        const size_t k = i % K_REF_HEAD;
        head[i] = k < 32 ? ref_half_bits(logits[k % 8]) : 0;
    }
    return head;
}

static void run(const rig_preset *preset, const char *label, const char *sequence, crop k,
                uint32_t output_width, uint32_t output_height, bool neutral, d4r_conventions conventions)
{
    static uint8_t model[2 * K_REF_TABLES * K_REF_TABLE_VALUES]; /* or the weights of M, which are fewer */
    if (preset == &rig_k)
        rig_random_tables(21, model);
    else if (neutral)
        neutral_weights(model);
    else
        rig_random_weights(21, model);
    const rig_params p = {.preset = preset,
                          .output = {output_width, output_height},
                          .max_render = {k.width, k.height},
                          .conventions = conventions,
                          .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
    rig *r = rig_create(&device, &p, model);
    rig_result s = rig_result_start();
    for (int i = 0; i < 3; i++) {
        content c = load(sequence, i, k);
        if (preset == &rig_k && neutral) c.input.head = neutral_head();
        rig_run(r, &c.input, &s);
        content_free(&c);
    }
    rig_destroy(r);
    rig_result_print(label, &s);
    assert_true(s.finite && s.motion == 1.0 && s.exposure_error < 1e-5);
    assert_true(s.tokens >= 0.999);
    assert_true(s.recurrent >= 0.999 && s.gates >= 0.999 && s.mix >= 0.999 && s.covariance >= 0.999);
    assert_true(s.history >= 0.999 && s.half >= 0.999 && s.display >= 0.999 && s.output >= 0.999);
    assert_int_equal(device.messages, 0);
}

static void test_brick_pan(void **state)
{
    (void)state;
    const crop fence = {40, 60, 112, 96}, wires = {180, 10, 97, 75};
    run(&rig_m, "brick_pan, random", "brick_pan", fence, 224, 192, false, (d4r_conventions){0});
    run(&rig_m, "brick_pan, neutral", "brick_pan", fence, 224, 192, true, (d4r_conventions){0});
    run(&rig_m, "brick_pan, 1.5x odd", "brick_pan", wires, 145, 113, false, (d4r_conventions){0});
}

static void test_static(void **state)
{
    (void)state;
    const crop dots = {100, 50, 96, 96};
    run(&rig_m, "static, neutral", "static", dots, 192, 192, true, (d4r_conventions){0});
    run(&rig_m, "static, random, LDR", "static", dots, 192, 192, false, (d4r_conventions){.ldr = true});
}

static void test_preset_k(void **state)
{
    (void)state;
    const crop fence = {40, 60, 112, 96}, dots = {100, 50, 96, 96};
    run(&rig_k, "K, brick_pan, random", "brick_pan", fence, 224, 192, false, (d4r_conventions){0});
    run(&rig_k, "K, brick_pan, neutral", "brick_pan", fence, 224, 192, true, (d4r_conventions){0});
    run(&rig_k, "K, static, 1.5x, LDR", "static", dots, 144, 144, false, (d4r_conventions){.ldr = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_brick_pan), cmocka_unit_test(test_static),
                                       cmocka_unit_test(test_preset_k)};
    data_folder = getenv("D4R_TEST_DATA");
    if (!data_folder) {
        fprintf(stderr, "skipped: D4R_TEST_DATA is not set\n");
        return 77;
    }
    void *probe = read_plane("brick_pan", "depth", 0, WIDTH * HEIGHT * 4);
    if (!probe) {
        fprintf(stderr, "skipped: no brick_pan in %s\n", data_folder);
        return 77;
    }
    free(probe);
    if (!vk_test_create(&device)) return 77;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&device);
    return failed;
}
