/* Preset K's stages against their double-precision references on random input: ratios, tiers, sizes, conventions, formats, filters,
 * bad values, damaged histories. Thresholds: the motion surface exact; f16 values within 2 ulp or 2e-6 and RGB10A2 within one
 * code on 99.99 % (the rest: a decision at a border, such as a share of 1/255, taken otherwise in f32), with the sampler on
 * 99.9 % (positions in 1/256: what the bound of `slack` leaves out). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/stages/content.h"
#include "tests/stages/k_ref.h"

enum { HEAD_BYTES = 256 * 256 * 2 * K_REF_HEAD };

static vk_test device;
static uint8_t tables[2 * K_REF_TABLES * K_REF_TABLE_VALUES];

static rig_params hdr(uint32_t width, uint32_t height)
{
    return (rig_params){.preset = &rig_k,
                        .output = {width, height},
                        .max_render = {width, height},
                        .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
}

static void assert_share(const char *name, const rig_result *s, double least)
{
    rig_result_print(name, s);
    assert_true(s->finite);
    assert_true(s->motion == 1.0);
    assert_true(s->exposure_error < 1e-5); /* f32 sums in a tree of 10^4 values */
    assert_true(s->tokens >= least && s->recurrent >= least);
    assert_true(s->history >= least && s->output >= least);
    assert_int_equal(device.messages, 0);
}

static void assert_good(const char *name, const rig_result *s)
{
    assert_share(name, s, 0.9999);
}

/* Pipelines are made once a range (HDR, LDR) and shared by all rigs with the exact filter, whatever their sizes and formats. */
static rig *keepers[2];

static rig *create_rig(const rig_params *params)
{
    const bool ldr = params->conventions.ldr;
    rig_params p = hdr(8, 8);
    if (!keepers[ldr]) {
        p.conventions.ldr = ldr;
        keepers[ldr] = rig_create(&device, &p, tables);
    }
    p = *params;
    p.share = rig_stages(keepers[ldr]);
    return rig_create(&device, &p, tables);
}

typedef void (*edit_fn)(content *c, const rig_params *params, int frame);

static rig_result run_frames(const rig_params *params, d4r_size render, int frames, edit_fn edit)
{
    rig *r = create_rig(params);
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
    assert_share(name, &result, params->hardware_filter ? 0.999 : 0.9999);
}

static void test_ratios(void **state)
{
    (void)state;
    rig_params p = hdr(192, 134);
    check("3x: tile 12", &p, (d4r_size){64, 45}, 3, NULL);
    p = hdr(128, 130);
    check("2x: tile 12", &p, (d4r_size){64, 65}, 4, NULL);
    p = hdr(145, 113);
    check("1.5x odd: tile 15", &p, (d4r_size){97, 75}, 3, NULL);
    p = hdr(101, 97);
    check("1.3x odd: tile 20", &p, (d4r_size){78, 74}, 3, NULL);
    p = hdr(64, 67);
    check("1x: tile 20", &p, (d4r_size){64, 67}, 3, NULL);
    p = hdr(130, 171);
    p.origin = 5;
    p.f32_inputs = true;
    check("unequal axes, origin", &p, (d4r_size){65, 101}, 3, NULL);
    p = hdr(7, 5);
    check("smaller than a tile", &p, (d4r_size){5, 3}, 3, NULL);
}

/* Every table that a ratio can ask for: the reference finds the nearest by search. */
static void test_tables(void **state)
{
    (void)state;
    rig_params p = hdr(61, 59);
    static const d4r_size renders[] = {{59, 57}, {52, 50}, {45, 44}, {38, 40}, {36, 34}, {31, 30}, {24, 29}};
    for (size_t i = 0; i < sizeof renders / sizeof *renders; i++) {
        ref_frame f;
        char name[32];
        k_ref_sizes(&f, renders[i], p.output);
        snprintf(name, sizeof name, "table %d", k_ref_table(&f));
        check(name, &p, renders[i], 1, NULL);
    }
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

static void black(content *c, const rig_params *params, int frame)
{
    (void)params;
    (void)frame;
    for (size_t i = 0; i < (size_t)c->input.settings.render.width * c->input.settings.render.height * 4; i++)
        c->color[i] = 0;
}

/* Black stays black, to the bit, in LDR and HDR. */
static void test_black(void **state)
{
    (void)state;
    for (int ldr = 0; ldr < 2; ldr++) {
        rig_params p = hdr(40, 40);
        p.conventions.ldr = ldr;
        rig *r = create_rig(&p);
        rig_result result = rig_result_start();
        for (int i = 0; i < 3; i++) {
            content c = content_random(&p, (d4r_size){20, 20}, i);
            black(&c, &p, i);
            rig_run(r, &c.input, &result);
            content_free(&c);
        }
        const uint16_t *out = rig_read_output(r);
        for (int i = 0; i < 40 * 40 * 4; i++)
            if (i % 4 != 3) assert_int_equal(out[i], 0);
        rig_destroy(r);
    }
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

static void reset_odd(content *c, const rig_params *params, int frame)
{
    (void)params;
    c->input.reset = frame == 3;
}

/* A reset on an odd frame: the exposure is measured there. */
static void test_reset(void **state)
{
    (void)state;
    rig_params p = hdr(128, 128);
    check("reset", &p, (d4r_size){64, 64}, 6, reset_odd);
}

/* The render size changes every frame, across all tiers and tables: histories go on. */
static void test_render_size_changes(void **state)
{
    (void)state;
    static const d4r_size sizes[8] = {{96, 90},   {64, 70}, {110, 101}, {109, 64},
                                      {160, 150}, {54, 50}, {81, 76},   {130, 149}};
    for (int jittered = 0; jittered < 2; jittered++) {
        rig_params p = hdr(160, 150);
        p.origin = 1;
        p.conventions.motion_jittered = jittered;
        rig *r = create_rig(&p);
        rig_result result = rig_result_start();
        for (int i = 0; i < 8; i++) {
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
    rig_params p = hdr(192, 192);
    p.conventions.exposure_mode = D4R_EXPOSURE_SCALAR;
    const size_t bytes = 192 * 192 * 8;
    uint16_t *plain = malloc(3 * bytes);
    int near = 0, far = 0;
    for (int bad = 0; bad < 2; bad++) {
        rig *r = create_rig(&p);
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

/* Any bits in the head: infinities, NaN, denormals, the largest values. */
static void test_bad_head(void **state)
{
    (void)state;
    static uint16_t head[HEAD_BYTES / 2];
    uint64_t s = 3;
    rig_params p = hdr(128, 128);
    rig *r = create_rig(&p);
    rig_result result = rig_result_start();
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < HEAD_BYTES / 2; k++)
            head[k] = (uint16_t)(rig_random(&s) % 8 == 0 ? 0x7c00 | rig_random(&s) : rig_random(&s));
        content c = content_random(&p, (d4r_size){64, 64}, i);
        c.input.head = head;
        rig_run(r, &c.input, &result);
        content_free(&c);
    }
    rig_destroy(r);
    assert_good("any head bits", &result);
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
    for (int hardware = 0; hardware < 2; hardware++) {
        rig_params p = hdr(128, 128);
        p.hardware_filter = hardware;
        rig *r = create_rig(&p);
        rig_result result = rig_result_start();
        for (int i = 0; i < 3; i++) {
            content c = content_random(&p, (d4r_size){64, 64}, i);
            rig_run(r, &c.input, &result);
            content_free(&c);
            assert_true(result.finite);
            if (i > 0) continue;
            poison(r, "recurrent_low");
            poison(r, "recurrent_high");
            poison(r, "history");
            rig_reload_histories(r);
        }
        rig_destroy(r);
        if (!hardware) assert_good("damaged histories", &result);
    }
}

/* The hardware filter: the neighbours' difference / 256 is allowed on top. */
static void test_hardware_filter(void **state)
{
    (void)state;
    rig_params p = hdr(145, 131);
    p.hardware_filter = true;
    check("hardware filter", &p, (d4r_size){73, 70}, 4, NULL);
}

/* A constant head for all tokens: logits of the eight values of a sub-block. */
static void fill_head(uint16_t *head, const float v[8])
{
    for (size_t i = 0; i < HEAD_BYTES / 2; i++) {
        const size_t k = i % K_REF_HEAD;
        head[i] = k < 32 ? ref_half_bits(v[k % 8]) : 0;
    }
}

/* ---- output formats */

/* A pixel as red, green, blue of the stored range: channels in their places. */
static double stored_value(VkFormat format, uint32_t bits, int channel)
{
    const bool swapped = format == VK_FORMAT_A2R10G10B10_UNORM_PACK32 || format == VK_FORMAT_B8G8R8A8_SRGB;
    const int at = swapped ? 2 - channel : channel;
    if (format == VK_FORMAT_B10G11R11_UFLOAT_PACK32)
        return ref_half_value(
            (uint16_t)(channel == 2 ? (bits >> 22) << 5 : (bits >> 11 * channel & 2047) << 4));
    if (format == VK_FORMAT_A2R10G10B10_UNORM_PACK32) return (bits >> 10 * at & 1023) / 1023.0;
    return (bits >> 8 * at & 255) / 255.0;
}

static double expected_value(VkFormat format, double v)
{
    if (format == VK_FORMAT_B10G11R11_UFLOAT_PACK32) return v;
    v = fmin(fmax(v, 0), 1);
    if (format != VK_FORMAT_B8G8R8A8_SRGB) return v;
    return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* Two frames into a format, content and size as always here. */
static void output_of(VkFormat format, void *pixels, size_t bytes)
{
    rig_params p = hdr(61, 59);
    p.output_format = format;
    rig *r = create_rig(&p);
    rig_result result = rig_result_start();
    for (int i = 0; i < 2; i++) {
        content c = content_random(&p, (d4r_size){31, 30}, i);
        rig_run(r, &c.input, &result);
        content_free(&c);
    }
    memcpy(pixels, rig_read_output(r), bytes);
    rig_destroy(r);
}

/* The other kinds of format hold what RGBA16F holds: one code of 8 or 10 bits, 2^-6 (blue 2^-5) of a small float. */
static void test_output_formats(void **state)
{
    (void)state;
    static const VkFormat formats[] = {VK_FORMAT_B10G11R11_UFLOAT_PACK32, VK_FORMAT_A2R10G10B10_UNORM_PACK32,
                                       VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_B8G8R8A8_SRGB};
    static uint16_t plain[61 * 59 * 4];
    static uint32_t packed[61 * 59];
    output_of(VK_FORMAT_R16G16B16A16_SFLOAT, plain, sizeof plain);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const VkFormat format = formats[f];
        const bool small = format == VK_FORMAT_B10G11R11_UFLOAT_PACK32;
        output_of(format, packed, sizeof packed);
        for (int i = 0; i < 61 * 59 * 3; i++) {
            const double v = expected_value(format, ref_half_value(plain[i / 3 * 4 + i % 3]));
            const double code = format == VK_FORMAT_A2R10G10B10_UNORM_PACK32 ? 1 / 1023.0 : 1 / 255.0;
            const double step = small ? fmax(v * (i % 3 == 2 ? 0x1p-5 : 0x1p-6), 0x1p-19) : code;
            assert_true(fabs(stored_value(format, packed[i / 3], i % 3) - v) <= step);
        }
    }
    assert_int_equal(device.messages, 0);
}

/* Flat frames of a constant head: what is shown after the last one. */
static void run_flat(const char *name, const float logits[8], const float *levels, int frames, double wanted,
                     double tolerance)
{
    static uint16_t head[HEAD_BYTES / 2];
    fill_head(head, logits);
    rig_params p = hdr(64, 64);
    p.conventions.exposure_mode = D4R_EXPOSURE_SCALAR;
    rig *r = create_rig(&p);
    rig_result result = rig_result_start();
    for (int i = 0; i < frames; i++) {
        content c = content_random(&p, (d4r_size){32, 32}, 0);
        for (size_t k = 0; k < 32 * 32 * 2; k++) c.motion[k] = 0;
        for (size_t k = 0; k < 32 * 32 * 4; k++) c.color[k] = levels[i];
        c.input.settings.exposure = 1;
        c.input.head = head;
        rig_run(r, &c.input, &result);
        content_free(&c);
    }
    const uint16_t *out = rig_read_output(r);
    for (int i = 0; i < 64 * 64 * 4; i++)
        assert_true(i % 4 == 3 || fabs(ref_half_value(out[i]) - wanted) <= tolerance);
    assert_good(name, &result);
    rig_destroy(r);
}

/* Nothing moves, the jitter stays, nothing is forgotten: what is shown is the mean of all frames, in linear light. f16 keeps the
 * history to 2.4e-4 of compressed range a frame, 6e-4 of linear light at 0.35. */
static void test_still_image_is_a_mean(void **state)
{
    (void)state;
    static const float logits[8] = {0.3f, -0.2f, -4, 20, -20, -20, -20, 20}; /* keep 1; show, own, clip 0 */
    static const float levels[6] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
    run_flat("still image", logits, levels, 6, 0.35, 0.002);
}

/* A flat neighbourhood's box is a point, however bright: a clipped history is the current colour. */
static void test_flat_box(void **state)
{
    (void)state;
    static const float logits[8] = {0.3f, -0.2f, -8, 20,
                                    -20,  -20,   20, 20}; /* gain 0.001, clip 1, box 4 deviations */
    static const float levels[2] = {0.01f, 20};
    run_flat("flat box", logits, levels, 2, 20, 0.02);
}

static int set_up(void)
{
    return vk_test_create(&device) ? 0 : 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_ldr_and_formats),
        cmocka_unit_test(test_black),
        cmocka_unit_test(test_conventions),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_render_size_changes),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_one_nan_does_not_spread),
        cmocka_unit_test(test_bad_head),
        cmocka_unit_test(test_bad_history),
        cmocka_unit_test(test_hardware_filter),
        cmocka_unit_test(test_output_formats),
        cmocka_unit_test(test_still_image_is_a_mean),
        cmocka_unit_test(test_flat_box),
    };
    if (set_up() != 0) return 77;
    rig_random_tables(5, tables);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 2; i++)
        if (keepers[i]) rig_destroy(keepers[i]);
    vk_test_destroy(&device);
    return failed;
}
