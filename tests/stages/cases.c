#include "tests/stages/cases.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rig_result run_frames(const rig_params *params, d4r_size render, int frames, edit_fn edit)
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

void check(const char *name, const rig_params *params, d4r_size render, int frames, edit_fn edit)
{
    const rig_result result = run_frames(params, render, frames, edit);
    assert_good(name, &result, params->hardware_filter);
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

void test_jitter(void **state)
{
    (void)state;
    rig_params p = hdr(128, 128);
    check("any jitter, 2x", &p, (d4r_size){64, 64}, 4, large_jitter);
    p = hdr(96, 97);
    check("any jitter, 1x", &p, (d4r_size){96, 97}, 4, large_jitter);
    check("no jitter, 1x", &p, (d4r_size){96, 97}, 2, no_jitter); /* positions on texel borders */
}

void test_ldr_and_formats(void **state)
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

void test_conventions(void **state)
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

void check_render_sizes(const d4r_size *sizes, int count)
{
    for (int jittered = 0; jittered < 2; jittered++) {
        rig_params p = hdr(160, 150);
        p.origin = 1;
        p.conventions.motion_jittered = jittered;
        rig *r = create_rig(&p);
        rig_result result = rig_result_start();
        for (int i = 0; i < count; i++) {
            content c = content_random(&p, sizes[i], i);
            c.input.reset = i == 4 && jittered;
            rig_run(r, &c.input, &result);
            content_free(&c);
        }
        rig_destroy(r);
        assert_good(jittered ? "render size, jittered" : "render size changes", &result, false);
    }
}

static void damage(content *c, const rig_params *params, int frame)
{
    content_damage(c, params, 9 + (uint64_t)frame);
}

void test_bad_input(void **state)
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
void test_one_nan_does_not_spread(void **state)
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
void test_bad_history(void **state)
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
            for (const char *const *name = case_histories; *name; name++) poison(r, *name);
            rig_reload_histories(r);
        }
        rig_destroy(r);
        if (!hardware) assert_good("damaged histories", &result, false);
    }
}

/* The hardware filter: what its fraction bits may change is allowed on top. */
void test_hardware_filter(void **state)
{
    (void)state;
    rig_params p = hdr(145, 131);
    p.hardware_filter = true;
    const rig_result result = run_frames(&p, (d4r_size){73, 70}, 4, NULL);
    printf("sampler: %u fraction bits\n", device.vk.properties.limits.subTexelPrecisionBits);
    assert_good("hardware filter", &result, true);
    /* A CPU's sampler filters in f32: what it reads differs by its positions' rounding alone. */
    if (device.vk.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) assert_true(result.tokens >= 0.97);
}

/* Frames on a device whose sampler cuts positions to so many bits; with 8 of them they must be good. */
static rig_result coarse(const char *name, uint32_t bits)
{
    rig_params p = hdr(97, 91);
    p.filter_bits = bits;
    const rig_result result = run_frames(&p, (d4r_size){49, 47}, 2, NULL);
    if (bits < 8) rig_result_print(name, &result);
    if (bits == 8) assert_good(name, &result, true);
    return result;
}

/* That check on a device whose sampler cuts positions to 8 bits, and on one that has 5 where it says 8. */
void test_coarse_filter(void **state)
{
    (void)state;
    coarse("positions of 8 bits", 8);
    const rig_result bad = coarse("positions of 5 bits", 5);
    /* M: codes that cannot be, where the share of equal ones says little. K: values beyond their slack. */
    assert_true(bad.ambiguous > 0 ? bad.outside > 0.01 : bad.tokens < 0.9);
    assert_true(bad.history < 0.9995);
}
