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
#include "tests/stages/cases.h"

vk_test device;
const char *const case_histories[] = {"mv_a", "history", "half", NULL};

rig_params hdr(uint32_t width, uint32_t height)
{
    return (rig_params){.output = {width, height},
                        .max_render = {width, height},
                        .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
}

rig *create_rig(const rig_params *params)
{
    static uint8_t weights[D4R_M_STAGE_BYTES];
    rig_random_weights(5, weights);
    return rig_create(&device, params, weights);
}

/* With the sampler a feature moves by up to a good part of an FP8 step, and codes with it (one in ten on an NVIDIA H200): there,
 * as everywhere, each token must be one of the codes that its features' slack allows. */
void assert_good(const char *name, const rig_result *s, bool hardware)
{
    rig_result_print(name, s);
    assert_true(s->finite);
    assert_true(s->motion == 1.0);
    assert_true(s->exposure_error < 1e-5); /* f32 sums in a tree of 10^4 values */
    assert_true(hardware || s->tokens >= 0.999);
    assert_true(s->outside <= (hardware ? 0 : 0.0001)); /* exact: also content with NaN and infinities */
    assert_true(s->recurrent >= 0.999 && s->gates >= 0.999 && s->mix >= 0.999 && s->covariance >= 0.999);
    assert_true(s->history >= 0.999 && s->half >= 0.999 && s->display >= 0.999 && s->output >= 0.999);
    assert_int_equal(device.messages, 0);
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
    check_render_sizes(sizes, 6);
}

static void test_bad_head(void **state)
{
    (void)state;
    static uint8_t head[64 * 1024];
    uint64_t s = 3;
    rig_params p = hdr(128, 128);
    rig *r = create_rig(&p);
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
    assert_good("any head code", &result, false);
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
        cmocka_unit_test(test_coarse_filter),
    };
    if (set_up(NULL) != 0) return 77;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&device);
    return failed;
}
