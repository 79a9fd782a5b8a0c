/* PSNR, SSIM, tPSNR and the spatial upscalers against numbers that do not come from this code: the constants
 * are printed by quality_reference.py --synthetic (float64 NumPy). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "runtime/cli/metrics.h"
#include "runtime/cli/resample.h"

enum { WIDTH = 31, HEIGHT = 23 };

static cli_image synthetic(uint32_t seed)
{
    cli_image image;
    assert_int_equal(cli_image_create(&image, (d4r_size){WIDTH, HEIGHT}, 4, false, NULL), D4R_OK);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            for (uint32_t c = 0; c < 3; c++) {
                seed = seed * 1664525u + 1013904223u;
                cli_image_set(&image, x, y, c, (float)(seed >> 20) / 1024.0f);
            }
    return image;
}

static cli_display shown(uint32_t seed)
{
    cli_display display;
    cli_image image = synthetic(seed);
    assert_int_equal(cli_display_make(&image, false, NULL, &display), D4R_OK);
    cli_image_free(&image);
    return display;
}

static cli_display mixed(void)
{
    cli_display display;
    cli_image a = synthetic(1), b = synthetic(2);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT * 4; i++)
        ((float *)a.data)[i] = 0.9f * ((float *)a.data)[i] + 0.1f * ((float *)b.data)[i];
    assert_int_equal(cli_display_make(&a, false, NULL, &display), D4R_OK);
    cli_image_free(&a);
    cli_image_free(&b);
    return display;
}

static void test_against_numpy(void **state)
{
    (void)state;
    cli_display a = shown(1), b = shown(2), c = shown(3), d = shown(4), m = mixed();
    /* f32 display values: the error of the numbers is below 1e-4 dB. */
    assert_float_equal(cli_psnr(&a, &b, NULL), 13.019418, 1e-4);
    assert_float_equal(cli_psnr(&a, &m, NULL), 24.430643, 1e-4);
    assert_float_equal(cli_ssim(&a, &b), -0.025194, 2e-6);
    assert_float_equal(cli_ssim(&a, &m), 0.932430, 2e-6);
    assert_float_equal(cli_tpsnr(&a, &c, &b, &d), 10.366125, 1e-4);
    cli_display *all[] = {&a, &b, &c, &d, &m};
    for (int i = 0; i < 5; i++) cli_display_free(all[i]);
}

static void test_identical_and_parts(void **state)
{
    (void)state;
    cli_display a = shown(1), b = shown(1);
    assert_true(cli_psnr(&a, &b, NULL) == CLI_PSNR_CAP);
    assert_float_equal(cli_ssim(&a, &b), 1, 1e-12);
    b.rgb[3 * (5 * WIDTH + 6)] += 0.5f;
    assert_true(cli_psnr(&a, &b, (uint32_t[]){7, 0, 20, 20}) == CLI_PSNR_CAP);
    assert_float_equal(cli_psnr(&a, &b, (uint32_t[]){6, 5, 2, 2}), -10 * log10(0.25 / 12), 1e-4);
    assert_true(cli_psnr(&a, &b, NULL) < CLI_PSNR_CAP);
    a.size.height = 10;
    assert_true(isnan(cli_ssim(&a, &b)));
    cli_display_free(&a);
    cli_display_free(&b);
}

static void test_display_values(void **state)
{
    (void)state;
    assert_true(cli_display_value(-3, false) == 0 && cli_display_value(NAN, false) == 0);
    assert_true(cli_display_value(INFINITY, false) == 1 && cli_display_value(INFINITY, true) == 1);
    assert_float_equal(cli_display_value(1, false), 0.7353569831, 1e-6); /* sRGB of one half */
    assert_float_equal(cli_display_value(0.001f, false), 12.92 * 0.001 / 1.001, 1e-7);
    assert_true(cli_display_value(0.25f, true) == 0.25f && cli_display_value(7, true) == 1);
}

/* A plane a x + b y + c of the unjittered image, sampled with jitter, comes back exactly (away from edges)
 * from the bilinear and the bicubic filter. */
static void test_upscalers_know_the_jitter(void **state)
{
    (void)state;
    const d4r_vec2 jitter = {0.3f, -0.4f};
    cli_image color, up;
    assert_int_equal(cli_image_create(&color, (d4r_size){20, 16}, 4, false, NULL), D4R_OK);
    for (uint32_t y = 0; y < 16; y++)
        for (uint32_t x = 0; x < 20; x++)
            for (uint32_t c = 0; c < 4; c++)
                cli_image_set(&color, x, y, c,
                              2 * (x + 0.5f + jitter.x) + 3 * (y + 0.5f + jitter.y) + (float)c);
    for (int filter = CLI_BILINEAR; filter <= CLI_BICUBIC; filter++) {
        assert_int_equal(cli_upscale(&color, jitter, (cli_filter)filter, (d4r_size){50, 24}, NULL, &up),
                         D4R_OK);
        for (uint32_t y = 4; y < 20; y++)
            for (uint32_t x = 8; x < 42; x++)
                assert_float_equal(cli_image_get(&up, x, y, 1),
                                   2 * (x + 0.5) * 0.4 + 3 * (y + 0.5) * (16.0 / 24) + 1, 2e-4);
        cli_image_free(&up);
    }
    assert_int_equal(cli_upscale(&color, (d4r_vec2){0, 0}, CLI_NEAREST, (d4r_size){40, 32}, NULL, &up),
                     D4R_OK);
    for (uint32_t y = 0; y < 32; y++)
        for (uint32_t x = 0; x < 40; x++)
            assert_true(cli_image_get(&up, x, y, 2) == cli_image_get(&color, x / 2, y / 2, 2));
    cli_image_free(&up);
    cli_image_free(&color);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_numpy), cmocka_unit_test(test_identical_and_parts),
        cmocka_unit_test(test_display_values), cmocka_unit_test(test_upscalers_know_the_jitter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
