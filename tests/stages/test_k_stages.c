/* Preset K's stages against their double-precision references on random input: ratios, tiers, sizes, conventions, formats, filters,
 * bad values, damaged histories. Thresholds: the motion surface exact; f16 values within 2 ulp or 2e-6 and RGB10A2 within one
 * code on 99.99 % (the rest: a decision at a border, such as a share of 1/255, taken otherwise in f32), with the sampler plus
 * what its fraction bits may change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/stages/cases.h"
#include "tests/stages/k_ref.h"

enum { HEAD_BYTES = 256 * 256 * 2 * K_REF_HEAD };

vk_test device;
const char *const case_histories[] = {"recurrent_low", "recurrent_high", "history", NULL};
static uint8_t tables[2 * K_REF_TABLES * K_REF_TABLE_VALUES];

rig_params hdr(uint32_t width, uint32_t height)
{
    return (rig_params){.preset = &rig_k,
                        .output = {width, height},
                        .max_render = {width, height},
                        .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
}

void assert_good(const char *name, const rig_result *s, bool hardware)
{
    const double least = 0.9999;
    (void)hardware;
    rig_result_print(name, s);
    assert_true(s->finite);
    assert_true(s->motion == 1.0);
    assert_true(s->exposure_error < 1e-5); /* f32 sums in a tree of 10^4 values */
    assert_true(s->tokens >= least && s->recurrent >= least);
    assert_true(s->history >= least && s->output >= least);
    assert_int_equal(device.messages, 0);
}

/* Pipelines are made once a range (HDR, LDR) and shared by all rigs with the exact filter, whatever their sizes and formats. */
static rig *keepers[2];

rig *create_rig(const rig_params *params)
{
    const bool ldr = params->conventions.ldr;
    rig_params p = hdr(8, 8);
    if (!keepers[ldr]) {
        p.conventions.ldr = ldr;
        keepers[ldr] = rig_create(&device, &p, tables);
    }
    p = *params;
    if (!p.filter_bits) p.share = rig_stages(keepers[ldr]);
    return rig_create(&device, &p, tables);
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
    check_render_sizes(sizes, 8);
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
    assert_good("any head bits", &result, false);
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
    assert_good(name, &result, false);
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
        cmocka_unit_test(test_ratios),          cmocka_unit_test(test_tables),
        cmocka_unit_test(test_jitter),          cmocka_unit_test(test_ldr_and_formats),
        cmocka_unit_test(test_black),           cmocka_unit_test(test_conventions),
        cmocka_unit_test(test_reset),           cmocka_unit_test(test_render_size_changes),
        cmocka_unit_test(test_bad_input),       cmocka_unit_test(test_one_nan_does_not_spread),
        cmocka_unit_test(test_bad_head),        cmocka_unit_test(test_bad_history),
        cmocka_unit_test(test_hardware_filter), cmocka_unit_test(test_coarse_filter),
        cmocka_unit_test(test_output_formats),  cmocka_unit_test(test_still_image_is_a_mean),
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
