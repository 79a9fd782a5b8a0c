/* Every stage against its double-precision reference on random input: sizes, tiers, conventions, formats, filters,
 * bad values, damaged histories. Thresholds: motion exact; 8 bits and 11-11-10 within one code, f16 within 2 ulp or
 * 2e-6, on 99.9 %; 99.9 % identical tokens (a code differs where the f32 sum lies on the other side of a rounding
 * border than the exact one). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models/format/m_layout.h"
#include "tests/stages/content.h"

static vk_test device;

static rig_params hdr(uint32_t width, uint32_t height)
{
    return (rig_params){.output = {width, height},
                        .max_render = {width, height},
                        .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
}

static void assert_good(const char *name, const rig_result *s)
{
    rig_result_print(name, s);
    assert_true(s->finite);
    assert_true(s->motion == 1.0);
    assert_true(s->exposure_error < 1e-5); /* f32 sums in a tree of 10^4 values */
    assert_true(s->tokens >= 0.999);
    assert_true(s->recurrent >= 0.999 && s->gates >= 0.999 && s->mix >= 0.999 && s->covariance >= 0.999);
    assert_true(s->history >= 0.999 && s->half >= 0.999 && s->display >= 0.999 && s->output >= 0.999);
    assert_int_equal(device.messages, 0);
}

typedef void (*edit_fn)(content *c, const rig_params *params, int frame);

static rig_result run_frames(const rig_params *params, d4r_size render, int frames, edit_fn edit)
{
    static uint8_t weights[D4R_M_STAGE_BYTES];
    rig_random_weights(5, weights);
    rig *r = rig_create(&device, params, weights);
    rig_result result = rig_result_start();
    for (int i = 0; i < frames; i++) {
        content c = content_random(params, render, i);
        if (edit) edit(&c, params, i);
        rig_run(r, &c.input, &result);
        content_free(&c);
    }
    rig_destroy(r);
    return result;
}

static void check(const char *name, const rig_params *params, d4r_size render, int frames, edit_fn edit)
{
    const rig_result result = run_frames(params, render, frames, edit);
    assert_good(name, &result);
}

static void test_tiers(void **state)
{
    (void)state;
    rig_params p = hdr(192, 134);
    check("3x: tile 10", &p, (d4r_size){64, 66}, 3, NULL);
    p = hdr(128, 130);
    check("2x: tile 10", &p, (d4r_size){64, 65}, 4, NULL);
    p = hdr(145, 113);
    check("1.5x odd: tile 11", &p, (d4r_size){97, 75}, 3, NULL);
    p = hdr(101, 97);
    check("1.3x odd: tile 15", &p, (d4r_size){78, 74}, 3, NULL);
    p = hdr(64, 67);
    check("1x: tile 15", &p, (d4r_size){64, 67}, 3, NULL);
    p = hdr(129, 171);
    p.origin = 5;
    p.f32_inputs = true;
    check("unequal axes, origin", &p, (d4r_size){65, 101}, 3, NULL);
}

static void large_jitter(content *c, const rig_params *params, int frame)
{
    static const float j[4][2] = {{3.7f, -2.9f}, {-1, 1}, {0.99f, -8.25f}, {-0.5f, 0.5f}};
    (void)params;
    c->input.settings.jitter = (d4r_vec2){j[frame & 3][0], j[frame & 3][1]};
}

static void no_jitter(content *c, const rig_params *params, int frame)
{
    (void)params;
    (void)frame;
    c->input.settings.jitter = (d4r_vec2){0, 0};
}

static void test_jitter(void **state)
{
    (void)state;
    rig_params p = hdr(128, 128);
    check("any jitter, 2x", &p, (d4r_size){64, 64}, 4, large_jitter);
    p = hdr(96, 97);
    check("any jitter, 1x", &p, (d4r_size){96, 97}, 4, large_jitter);
    check("no jitter, 1x", &p, (d4r_size){96, 97}, 2, no_jitter); /* positions on texel borders */
}

static void test_ldr_and_formats(void **state)
{
    (void)state;
    rig_params p = hdr(131, 129);
    p.conventions.ldr = true;
    check("LDR, RGBA16F", &p, (d4r_size){65, 64}, 3, NULL);
    p.output_format = VK_FORMAT_A2B10G10R10_UNORM_PACK32;
    p.origin = 3;
    check("LDR, RGB10A2", &p, (d4r_size){65, 64}, 2, NULL);
    p.conventions.ldr = false;
    check("HDR, RGB10A2", &p, (d4r_size){65, 64}, 2, NULL);
}

static void pre_exposed(content *c, const rig_params *params, int frame)
{
    c->input.settings.pre_exposure = frame == 1 ? 4.0f : 0.3f;
    for (size_t i = 0; i < (size_t)c->input.settings.render.width * c->input.settings.render.height * 4; i++)
        if (i % 4 != 3) c->color[i] *= c->input.settings.pre_exposure;
    c->input.settings.motion_scale = (d4r_vec2){1.25f, -0.5f};
    if (frame == 2 && params->conventions.exposure_mode == D4R_EXPOSURE_TEXTURE)
        c->input.exposure_texel = NAN;
    if (frame == 2) c->input.settings.exposure = -1;
}

static void test_conventions(void **state)
{
    (void)state;
    rig_params p = hdr(130, 128);
    p.conventions = (d4r_conventions){.depth_regular = true,
                                      .motion_reversed = true,
                                      .motion_flip_y = true,
                                      .motion_unit = D4R_MOTION_UV,
                                      .exposure_mode = D4R_EXPOSURE_SCALAR};
    p.f32_inputs = true;
    check("regular, reversed, UV", &p, (d4r_size){65, 64}, 3, pre_exposed);
    p.conventions = (d4r_conventions){.motion_at_output = true,
                                      .motion_jittered = true,
                                      .motion_unit = D4R_MOTION_NDC,
                                      .exposure_mode = D4R_EXPOSURE_TEXTURE};
    p.origin = 2;
    check("output NDC, jittered", &p, (d4r_size){77, 65}, 3, pre_exposed);
    p.conventions.motion_unit = D4R_MOTION_OUTPUT_PIXELS;
    check("output pixels", &p, (d4r_size){65, 64}, 2, NULL);
}

static void reset_second(content *c, const rig_params *params, int frame)
{
    (void)params;
    c->input.reset = frame == 2;
}

static void test_reset(void **state)
{
    (void)state;
    rig_params p = hdr(128, 128);
    check("reset", &p, (d4r_size){64, 64}, 4, reset_second);
}

/* A render rectangle smaller than max_render, changing size under one set of images: histories go on. */
static void test_render_size_changes(void **state)
{
    (void)state;
    static const d4r_size sizes[6] = {{96, 90}, {96, 90}, {64, 70}, {110, 101}, {109, 64}, {160, 150}};
    static uint8_t weights[D4R_M_STAGE_BYTES];
    rig_random_weights(6, weights);
    rig_params p = hdr(160, 150);
    p.origin = 1;
    for (int jittered = 0; jittered < 2; jittered++) {
        p.conventions.motion_jittered = jittered;
        rig *r = rig_create(&device, &p, weights);
        rig_result result = rig_result_start();
        for (int i = 0; i < 6; i++) {
            content c = content_random(&p, sizes[i], i);
            c.input.reset = i == 4 && jittered;
            rig_run(r, &c.input, &result);
            content_free(&c);
        }
        rig_destroy(r);
        assert_good(jittered ? "render size, jittered" : "render size changes", &result);
    }
}

static void damage(content *c, const rig_params *params, int frame)
{
    content_damage(c, params, 9 + (uint64_t)frame);
}

static void test_bad_input(void **state)
{
    (void)state;
    rig_params p = hdr(128, 128);
    p.f32_inputs = true;
    check("NaN, infinities", &p, (d4r_size){64, 64}, 4, damage);
    p.conventions.depth_regular = true;
    p.conventions.exposure_mode = D4R_EXPOSURE_TEXTURE;
    check("the same, regular depth", &p, (d4r_size){64, 64}, 2, damage);
    p.conventions.ldr = true;
    check("the same, LDR", &p, (d4r_size){64, 64}, 2, damage);
}

/* Pixels of the output that differ from `plain`, near the damaged pixel and elsewhere. */
static void count_differences(const uint16_t *plain, const uint16_t *out, int *near, int *far)
{
    for (int y = 0; y < 192; y++)
        for (int x = 0; x < 192; x++) {
            const size_t at = ((size_t)y * 192 + (size_t)x) * 4;
            if (memcmp(plain + at, out + at, 8) == 0) continue;
            if (abs(x - 97) < 24 && abs(y - 97) < 24)
                ++*near;
            else
                ++*far;
        }
}

/* One NaN pixel changes only what its neighbourhood reaches: outputs far away stay bit-identical, in later frames too. */
static void test_one_nan_does_not_spread(void **state)
{
    (void)state;
    static uint8_t weights[D4R_M_STAGE_BYTES];
    rig_random_weights(5, weights);
    rig_params p = hdr(192, 192);
    p.conventions.exposure_mode = D4R_EXPOSURE_SCALAR;
    const size_t bytes = 192 * 192 * 8;
    uint16_t *plain = malloc(3 * bytes);
    int near = 0, far = 0;
    for (int bad = 0; bad < 2; bad++) {
        rig *r = rig_create(&device, &p, weights);
        rig_result result = rig_result_start();
        for (int i = 0; i < 3; i++) {
            content c = content_random(&p, (d4r_size){64, 64}, i);
            for (size_t k = 0; k < 64 * 64 * 2; k++) c.motion[k] = 0;
            if (bad && i == 0) c.color[4 * (32 * 64 + 32)] = NAN;
            rig_run(r, &c.input, &result);
            content_free(&c);
            uint16_t *out = plain + (size_t)i * 192 * 192 * 4;
            if (bad)
                count_differences(out, rig_read_output(r), &near, &far);
            else
                memcpy(out, rig_read_output(r), bytes);
        }
        assert_true(result.finite);
        rig_destroy(r);
    }
    free(plain);
    assert_true(near > 0); /* the pixel does count */
    assert_int_equal(far, 0);
}

static void test_bad_head(void **state)
{
    (void)state;
    static uint8_t weights[D4R_M_STAGE_BYTES], head[64 * 1024];
    uint64_t s = 3;
    rig_random_weights(5, weights);
    rig_params p = hdr(128, 128);
    rig *r = rig_create(&device, &p, weights);
    rig_result result = rig_result_start();
    for (int i = 0; i < 3; i++) {
        /* any code: large values saturate, 0x7f and 0xff are NaN */
        for (size_t k = 0; k < sizeof head; k++)
            head[k] = (uint8_t)(rig_random(&s) % 8 == 0 ? 0x7f | (k & 128) : rig_random(&s));
        content c = content_random(&p, (d4r_size){64, 64}, i);
        c.input.head = head;
        rig_run(r, &c.input, &result);
        content_free(&c);
    }
    rig_destroy(r);
    assert_good("any head code", &result);
}

static void poison(rig *r, const char *name)
{
    static const uint16_t bad[] = {0x7e00, 0x7c00, 0xfc00, 0xfe01};
    const d4r_stage_resource s = rig_resource(r, name);
    const size_t count = (size_t)s.extent.width * s.extent.height * s.channels;
    uint16_t *texels = malloc(count * 2);
    vk_test_read_image(&device, s.image, s.extent.width, s.extent.height, s.channels * 2, texels);
    uint64_t state = 11;
    for (size_t i = 0; i < count / 40; i++) texels[rig_random(&state) % count] = bad[i & 3];
    vk_test_write_image(&device, s.image, s.extent.width, s.extent.height, s.channels * 2, texels);
    free(texels);
}

/* NaN and infinities written into the histories are gone after one frame. */
static void test_bad_history(void **state)
{
    (void)state;
    static uint8_t weights[D4R_M_STAGE_BYTES];
    rig_random_weights(5, weights);
    for (int hardware = 0; hardware < 2; hardware++) {
        rig_params p = hdr(128, 128);
        p.hardware_filter = hardware;
        rig *r = rig_create(&device, &p, weights);
        rig_result result = rig_result_start();
        for (int i = 0; i < 3; i++) {
            content c = content_random(&p, (d4r_size){64, 64}, i);
            rig_run(r, &c.input, &result);
            content_free(&c);
            assert_true(result.finite);
            if (i > 0) continue;
            poison(r, "mv_a");
            poison(r, "history");
            poison(r, "half");
            rig_reload_histories(r);
        }
        rig_destroy(r);
        if (!hardware) assert_good("damaged histories", &result);
    }
}

/* The hardware filter: the neighbours' difference / 256 is allowed on top, and more tokens may differ (here features
 * move by up to a tenth of an FP8 step). */
static void test_hardware_filter(void **state)
{
    (void)state;
    rig_params p = hdr(145, 131);
    p.hardware_filter = true;
    rig_result s = run_frames(&p, (d4r_size){73, 70}, 4, NULL);
    rig_result_print("hardware filter", &s);
    assert_true(s.finite && s.motion == 1.0);
    assert_true(s.tokens >= 0.97);
    assert_true(s.recurrent >= 0.999 && s.gates >= 0.999 && s.mix >= 0.999 && s.covariance >= 0.999);
    assert_true(s.history >= 0.999 && s.half >= 0.999 && s.display >= 0.999 && s.output >= 0.999);
    assert_int_equal(device.messages, 0);
}

/* Dither: each of the 128 values 16 times a period, and rounding unbiased over it. */
static void test_dither(void **state)
{
    (void)state;
    int count[128] = {0};
    double error = 0;
    for (unsigned f = 0; f < 8; f++)
        for (unsigned y = 0; y < 16; y++)
            for (unsigned x = 0; x < 16; x++) {
                const unsigned n = ref_dither_bits(x + 32, y + 160, f + 8);
                count[n]++;
                error += ref_fp8_value(ref_fp8_dithered(0.7123, n)) - 0.7123;
            }
    for (int n = 0; n < 128; n++) assert_int_equal(count[n], 16);
    assert_true(fabs(error / 2048) < 0.0625 / 128); /* a step is 1/16 here */
}

static int set_up(void **state)
{
    (void)state;
    return vk_test_create(&device) ? 0 : 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dither),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_ldr_and_formats),
        cmocka_unit_test(test_conventions),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_render_size_changes),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_one_nan_does_not_spread),
        cmocka_unit_test(test_bad_head),
        cmocka_unit_test(test_bad_history),
        cmocka_unit_test(test_hardware_filter),
    };
    if (set_up(NULL) != 0) return 77;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&device);
    return failed;
}
