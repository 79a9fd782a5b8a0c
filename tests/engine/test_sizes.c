/* Sizes, quality modes, jitter, settings: pure functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "d4r/d4r.h"

static void version(void **state)
{
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", D4R_VERSION_MAJOR, D4R_VERSION_MINOR, D4R_VERSION_PATCH);
    assert_string_equal(d4r_version_string(), text);
    assert_string_equal(d4r_status_name(D4R_OK), "ok");
    assert_non_null(d4r_status_name((d4r_status)-99));
}

static void sizes(void **state)
{
    d4r_sizes s;
    (void)state;
    assert_int_equal(d4r_sizes_compute((d4r_size){1281, 721}, (d4r_size){1921, 1081}, &s), D4R_OK);
    assert_int_equal(s.reconstruction.width, 2882); /* ceil(2881.5) */
    assert_int_equal(s.reconstruction.height, 1622);
    assert_int_equal(s.half.width, 1441);
    assert_int_equal(s.half.height, 811);
    assert_int_equal(s.token_grid.width, 656);  /* 1281 -> 1312 */
    assert_int_equal(s.token_grid.height, 368); /* 721 -> 736 */
    assert_int_equal(s.token_bytes, 656ull * 368 * 64);
    assert_float_equal(s.render_scale_x, 1281 / (1.5 * 1921), 1e-7);
    assert_float_equal(s.render_scale_y, 721 / (1.5 * 1081), 1e-7);
    assert_int_equal(d4r_sizes_compute((d4r_size){64, 64}, (d4r_size){64, 64}, &s), D4R_OK);
    assert_int_equal(s.token_grid.width, 32);
    assert_int_equal(d4r_sizes_compute((d4r_size){16384, 16384}, (d4r_size){16384, 16384}, &s), D4R_OK);
    assert_int_equal(s.token_bytes, 8192ull * 8192 * 64);
}

/* Preset K's tokens follow from the output alone. */
static void sizes_of_k(void **state)
{
    static const struct {
        d4r_size render, output, grid;
    } cases[] = {{{1280, 720}, {3840, 2160}, {960, 544}}, {{3840, 2160}, {3840, 2160}, {960, 544}},
                 {{640, 360}, {1280, 720}, {320, 256}},   {{64, 64}, {64, 64}, {256, 256}},
                 {{64, 64}, {1024, 1025}, {256, 288}},    {{100, 80}, {1153, 1152}, {320, 288}},
                 {{64, 64}, {16384, 16384}, {4096, 4096}}};
    d4r_sizes s;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const d4r_size grid = cases[i].grid, output = cases[i].output;
        assert_int_equal(d4r_preset_sizes(D4R_PRESET_K, cases[i].render, output, &s), D4R_OK);
        assert_memory_equal(&s.token_grid, &grid, sizeof grid);
        assert_memory_equal(&s.reconstruction, &output, sizeof output);
        assert_memory_equal(&s.output, &output, sizeof output);
        assert_int_equal(s.half.width, (output.width + 1) / 2);
        assert_int_equal(s.token_bytes, 64ull * grid.width * grid.height);
        assert_int_equal(s.head_bytes, 80ull * grid.width * grid.height);
        assert_float_equal(s.render_scale_x, (double)cases[i].render.width / output.width, 1e-7);
    }
    assert_int_equal(d4r_preset_sizes(D4R_PRESET_K, (d4r_size){65, 64}, (d4r_size){64, 64}, &s),
                     D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_preset_sizes((d4r_preset)7, (d4r_size){64, 64}, (d4r_size){64, 64}, &s),
                     D4R_ERROR_ARGUMENT);
    assert_string_equal(d4r_preset_name(D4R_PRESET_K), "K");
    assert_null(d4r_preset_name((d4r_preset)7));
}

static void bad_sizes(void **state)
{
    const d4r_size ok = {128, 128};
    const d4r_size bad[] = {{63, 128}, {128, 63}, {0, 0}, {129, 128}, {128, 129}, {UINT32_MAX, 128}};
    d4r_sizes s;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(d4r_sizes_compute(bad[i], ok, &s), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_sizes_compute((d4r_size){64, 64}, (d4r_size){16385, 64}, &s), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_sizes_compute((d4r_size){64, 64}, (d4r_size){63, 64}, &s), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_sizes_compute(ok, ok, NULL), D4R_ERROR_ARGUMENT);
}

static void expect_render(uint32_t width, uint32_t height, d4r_quality quality, uint32_t w, uint32_t h)
{
    d4r_size size = d4r_render_size((d4r_size){width, height}, quality);
    assert_int_equal(size.width, w);
    assert_int_equal(size.height, h);
}

static void quality(void **state)
{
    (void)state;
    assert_float_equal(d4r_quality_ratio(D4R_QUALITY_NATIVE), 1.0f, 0);
    assert_float_equal(d4r_quality_ratio(D4R_QUALITY_ULTRA_PERFORMANCE), 3.0f, 0);
    assert_float_equal(d4r_quality_ratio((d4r_quality)17), 0.0f, 0);
    expect_render(3840, 2160, D4R_QUALITY_PERFORMANCE, 1920, 1080);
    expect_render(3840, 2160, D4R_QUALITY_QUALITY, 2560, 1440);
    expect_render(3840, 2160, D4R_QUALITY_BALANCED, 2259, 1271);
    expect_render(3840, 2160, D4R_QUALITY_ULTRA_PERFORMANCE, 1280, 720);
    expect_render(1365, 65, D4R_QUALITY_ULTRA_QUALITY, 1050, 64); /* 65 / 1.3 = 50 is too small */
    expect_render(64, 64, D4R_QUALITY_ULTRA_PERFORMANCE, 64, 64);
    expect_render(200, 200, (d4r_quality)17, 200, 200);
    assert_float_equal(d4r_mip_bias((d4r_size){960, 540}, (d4r_size){1920, 1080}), -1.0f, 1e-6);
    assert_float_equal(d4r_mip_bias((d4r_size){0, 0}, (d4r_size){1920, 1080}), 0.0f, 0);
}

static void jitter(void **state)
{
    double sum_x = 0, sum_y = 0;
    (void)state;
    assert_int_equal(d4r_jitter_phase_count((d4r_size){960, 540}, (d4r_size){1920, 1080}), 32);
    assert_int_equal(d4r_jitter_phase_count((d4r_size){1280, 720}, (d4r_size){1920, 1080}), 18);
    assert_int_equal(d4r_jitter_phase_count((d4r_size){1920, 1080}, (d4r_size){1920, 1080}), 8);
    assert_int_equal(d4r_jitter_phase_count((d4r_size){0, 0}, (d4r_size){1920, 1080}), 8);
    assert_float_equal(d4r_jitter(5, 0).x, 0, 0);
    assert_float_equal(d4r_jitter(0, 8).x, 0.0f, 1e-7);             /* 1/2 - 1/2 */
    assert_float_equal(d4r_jitter(0, 8).y, 1.0f / 3 - 0.5f, 1e-7);  /* 1/3 */
    assert_float_equal(d4r_jitter(2, 8).x, 0.75f - 0.5f, 1e-7);     /* index 3: 0.11b */
    assert_float_equal(d4r_jitter(3, 8).y, 4.0f / 9 - 0.5f, 1e-7);  /* index 4: 0.11 in base 3 */
    assert_float_equal(d4r_jitter(11, 8).x, d4r_jitter(3, 8).x, 0); /* periodic */
    for (uint64_t frame = 0; frame < 4096; frame++) {
        d4r_vec2 j = d4r_jitter(frame, 4096);
        assert_true(j.x > -0.5f && j.x < 0.5f && j.y > -0.5f && j.y < 0.5f);
        sum_x += j.x;
        sum_y += j.y;
    }
    assert_true(fabs(sum_x / 4096) < 1e-3 && fabs(sum_y / 4096) < 1e-3);
    assert_true(d4r_jitter(0x7fffffff, UINT32_MAX).x > -0.5f);
    assert_true(d4r_jitter(UINT64_MAX, UINT32_MAX).y < 0.5f);
}

static void formats(void **state)
{
    (void)state;
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_NONE), 0);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_RGBA16F), 8);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_RGBA32F), 16);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_RG16F), 4);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_RG32F), 8);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_R32F), 4);
    assert_int_equal(d4r_pixel_format_bytes(D4R_FORMAT_RGB10A2), 4);
    assert_int_equal(d4r_pixel_format_bytes((d4r_pixel_format)99), 0);
}

typedef struct lines {
    unsigned errors, warnings;
    char last[1024];
} lines;

static void on_log(void *user, d4r_log_level level, const char *line)
{
    lines *l = user;
    if (level == D4R_LOG_ERROR) l->errors++;
    if (level == D4R_LOG_WARNING) l->warnings++;
    snprintf(l->last, sizeof l->last, "%s", line);
}

static void settings(void **state)
{
    const d4r_size output = {256, 128};
    lines l = {0};
    d4r_log log = {on_log, &l, D4R_LOG_DEBUG};
    d4r_frame_settings s;
    (void)state;
    s = d4r_frame_settings_default((d4r_size){128, 64});
    assert_int_equal(d4r_frame_settings_check(&s, output, &log), D4R_OK);
    assert_int_equal(l.errors + l.warnings, 0);
    assert_float_equal(s.motion_scale.x, 1, 0);
    assert_float_equal(s.pre_exposure, 1, 0);
#define EXPECT(change, status, kind, text)                                \
    s = d4r_frame_settings_default((d4r_size){128, 64});                  \
    l = (lines){0};                                                       \
    change;                                                               \
    assert_int_equal(d4r_frame_settings_check(&s, output, &log), status); \
    assert_int_equal(l.kind, 1);                                          \
    assert_int_equal(l.errors + l.warnings, 1);                           \
    assert_non_null(strstr(l.last, text))
    EXPECT(s.render.height = 63, D4R_ERROR_ARGUMENT, errors, "settings.render is 128x63");
    EXPECT(s.render.width = 257, D4R_ERROR_ARGUMENT, errors, "output of 256x128");
    EXPECT(s.jitter.y = NAN, D4R_ERROR_ARGUMENT, errors, "settings.jitter");
    EXPECT(s.motion_scale.x = 0, D4R_ERROR_ARGUMENT, errors, "settings.motion_scale is (0, 1)");
    EXPECT(s.motion_scale.y = NAN, D4R_ERROR_ARGUMENT, errors, "settings.motion_scale");
    EXPECT(s.pre_exposure = -1, D4R_ERROR_ARGUMENT, errors, "settings.pre_exposure is -1");
    EXPECT(s.pre_exposure = INFINITY, D4R_ERROR_ARGUMENT, errors, "settings.pre_exposure");
    EXPECT(s.jitter.x = 1.5f, D4R_OK, warnings, "settings.jitter");
    EXPECT(s.pre_exposure = 1e5f, D4R_OK, warnings, "settings.pre_exposure");
    s = d4r_frame_settings_default((d4r_size){128, 64});
    s.exposure = NAN; /* counts as 1 */
    s.motion_scale = (d4r_vec2){-1, -2};
    assert_int_equal(d4r_frame_settings_check(&s, output, NULL), D4R_OK);
    assert_int_equal(d4r_frame_settings_check(NULL, output, NULL), D4R_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),   cmocka_unit_test(sizes),    cmocka_unit_test(sizes_of_k),
        cmocka_unit_test(bad_sizes), cmocka_unit_test(quality),  cmocka_unit_test(jitter),
        cmocka_unit_test(formats),   cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
