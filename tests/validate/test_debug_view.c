/* The debug view: every tile is there, named, and shows what it should; no validation messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/format/k_tables.h"
#include "models/format/neutral.h"
#include "runtime/cli/half.h"
#include "tests/engine/test_model.h"
#include "tests/validate/player.h"

/* MIX is CONFIDENCE with preset K, OUTPUT is KEPT. */
enum { COLOR, MOTION, DEPTH, CANDIDATES, MIX, GATES, WEIGHT, KERNEL, AGE, HISTORY, MISFIT, OUTPUT, TILES };

static vk_test device;
static d4r_model *model;
static const char *data_folder;

static play_list load(const char *name, size_t frames)
{
    char path[1024];
    play_list list;
    snprintf(path, sizeof path, "%s/%s", data_folder, name);
    if (!play_load(path, frames, &list)) fail_msg("%s cannot be read", path);
    play_crop(&list, 192, 112);
    return list;
}

/* Preset M's scripted network tells enough; preset K's tests need the neutral model's head. */
static play_view view_of(void)
{
    return (play_view){.size = {640, 360}, .network_model = test_preset() == D4R_PRESET_K ? model : NULL};
}

/* A pixel of a tile, x and y in 0..1. */
static const uint8_t *at(const uint8_t *pixels, d4r_size size, int tile, double x, double y)
{
    uint32_t column = (uint32_t)((tile % 4 + x) * size.width / 4),
             row = (uint32_t)((tile / 4 + y) * size.height / 3);
    return pixels + 4 * ((size_t)row * size.width + column);
}

static bool magenta(const uint8_t *p)
{
    return p[0] >= 177 && p[0] <= 180 && p[1] == 0 && p[2] == p[0];
}

typedef struct seen {
    unsigned missing[8]; /* pixels of the history tile without a history, by frame */
    double age[8];       /* redness of the age tile, which grows with age */
} seen;

static void look(void *user, uint32_t frame, const uint8_t *pixels, d4r_size size)
{
    seen *s = user;
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 20; x++) {
            const uint8_t *h = at(pixels, size, HISTORY, (x + 0.5) / 20, 0.15 + 0.8 * y / 20);
            const uint8_t *a = at(pixels, size, AGE, (x + 0.5) / 20, 0.15 + 0.8 * y / 20);
            s->missing[frame] += magenta(h);
            s->age[frame] += magenta(a) ? 0 : a[1] + a[0];
        }
}

/* White pixels in the corner where the name is. */
static unsigned white(const uint8_t *pixels, d4r_size size, int tile)
{
    unsigned count = 0;
    for (uint32_t y = 0; y < 14; y++)
        for (uint32_t x = 0; x < 64; x++) {
            const uint8_t *p = at(pixels, size, tile, 0, 0) + 4 * ((size_t)y * size.width + x);
            count += p[0] == 255 && p[1] == 255 && p[2] == 255;
        }
    return count;
}

static void tiles_are_named(void **state)
{
    (void)state;
    seen s = {0};
    play_view view = view_of();
    view.look = look;
    view.user = &s;
    play_list list = load("brick_pan", 4);
    play_result r;
    play_with_view(&device, model, &list, &view, &r);
    for (int tile = 0; tile < TILES; tile++) {
        unsigned count = white(view.pixels, view.size, tile);
        if (count < 20 || count > 300)
            fail_msg("tile %d: %u white pixels where its name should be", tile, count);
    }
    /* Input and result have the picture's brightness: neither dark nor burnt out, and nearly the same. */
    double mean[2] = {0};
    for (int i = 0; i < 400; i++)
        for (int k = 0; k < 2; k++)
            mean[k] += at(view.pixels, view.size, k ? OUTPUT : COLOR, (i % 20 + 0.5) / 20,
                          0.15 + 0.8 * (i / 20) / 20)[1] /
                       400.0;
    assert_true(mean[0] > 40 && mean[0] < 200 && fabs(mean[1] - mean[0]) < 15);
    /* Without a history in the first frame, nearly everywhere with one later on: the camera pans by 9 pixels of 192. */
    assert_int_equal(s.missing[0], 400);
    for (int i = 1; i < 4; i++) assert_in_range(s.missing[i], 1, 60);
    /* The camera moves to the left: previous positions lie to the right, which is red. */
    const uint8_t *m = at(view.pixels, view.size, MOTION, 0.5, 0.5);
    assert_true(m[0] > 100 && m[1] < 40 && m[2] < 60);
    free(view.pixels);
    play_free(&list);
}

static void history_ages(void **state)
{
    (void)state;
    seen s = {0};
    play_view view = view_of();
    view.look = look;
    view.user = &s;
    play_list list = load("static", 5);
    play_result r;
    list.frames[3].settings.reset = true;
    play_with_view(&device, model, &list, &view, &r);
    assert_int_equal(s.missing[0], 400);
    assert_int_equal(s.missing[1], 0);
    assert_int_equal(s.missing[3], 400);
    assert_true(s.age[1] > 0 && s.age[2] >= s.age[1]);
    assert_true(s.age[0] == 0 && s.age[3] == 0 && s.age[4] > 0 && s.age[4] < s.age[2]);
    /* Nothing moves: no motion, black below the name; all candidates are alike. */
    const uint8_t *m = at(view.pixels, view.size, MOTION, 0.5, 0.6);
    assert_true(m[0] == 0 && m[1] == 0 && m[2] == 0);
    free(view.pixels);
    play_free(&list);
}

/* ---- preset K in double precision: the neutral model on a still sequence ---- */

enum { SIDE = 6, FRAMES = 5, RESET_AT = 3 };

typedef struct simulated {
    const play_list *list;
    const float *tables;               /* of the ratio 2: [phase][shape] sums of weights */
    double confidence[SIDE * SIDE][4]; /* of the four pixels of each place's sub-block */
    double age[SIDE * SIDE];
    unsigned wrong;
} simulated;

static double sigmoid_share(double share) /* what a head's f16 logit makes of it */
{
    return 1 / (1 + exp(-(double)cli_half_to_float(cli_float_to_half((float)log(share / (1 - share))))));
}

static void heat(double v, double out[3])
{
    const double offsets[3] = {0, 2, 1};
    double c = fmin(fmax(v, 0), 1), turn = (1 - c) * 0.66, light = 0.35 + 0.65 * fmin(c * 4, 1);
    for (int i = 0; i < 3; i++) {
        double t = turn + offsets[i] / 3;
        out[i] = fmin(fmax(fabs((t - floor(t)) * 6 - 3) - 1, 0), 1) * light;
    }
}

static void expect_color(simulated *s, const char *what, const uint8_t *p, const double want[3],
                         double tolerance)
{
    for (int i = 0; i < 3; i++)
        if (fabs(p[i] - 255 * want[i]) > 255 * tolerance + 1) {
            print_message("%s: %d %d %d, not %.1f %.1f %.1f\n", what, p[0], p[1], p[2], 255 * want[0],
                          255 * want[1], 255 * want[2]);
            s->wrong++;
            return;
        }
}

/* The sum of the neutral model's kernel at an output pixel. */
static double kernel_sum(const simulated *s, d4r_vec2 jitter, uint32_t x, uint32_t y)
{
    const d4r_k_neutral n = d4r_k_neutral_default();
    const double column = 3 * sigmoid_share(n.column / 3.0), row = 3 * sigmoid_share(n.row / 3.0);
    const double place[2] = {(x + 0.5) / 2 - (double)jitter.x - 0.5, (y + 0.5) / 2 - (double)jitter.y - 0.5};
    const int phase_x = (int)((place[0] - floor(place[0])) * 8),
              phase_y = (int)((place[1] - floor(place[1])) * 8);
    const int c = (int)fmin(column, 2), r = (int)fmin(row, 2);
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (i & 1 ? column - c : 1 - column + c) * (i & 2 ? row - r : 1 - row + r) *
               (double)s->tables[(phase_y * 8 + phase_x) * 16 + 4 * (r + i / 2) + c + i % 2];
    return sum;
}

/* One frame at one place: what the stages do with the confidence, what the tiles show of it. */
static void step(simulated *s, uint32_t frame, int place, const uint32_t sub_block[2], double shown[3][3])
{
    const d4r_k_neutral n = d4r_k_neutral_default();
    const d4r_frame_settings *settings = &s->list->frames[frame].settings;
    const bool cut = frame == 0 || settings->reset;
    double share = 0, mean = 0;
    for (int i = 0; i < 4; i++) {
        double *c = &s->confidence[place][i], before = cut ? 0 : *c;
        double now =
            kernel_sum(s, settings->jitter, 2 * sub_block[0] + i % 2, 2 * sub_block[1] + (uint32_t)i / 2) *
            4 * sigmoid_share(n.gain / 4.0);
        mean += before / 4;
        before *= sigmoid_share(n.keep);
        share += before / (before + now) / 4;
        *c = fmin(before + now, 64);
    }
    s->age[place] = share * (cut ? 0 : s->age[place] + 1);
    heat(log2(1 + mean) / 6, shown[0]);
    heat(s->age[place] / 8, shown[1]);
    shown[2][0] = share;
    shown[2][1] = share * (1 - sigmoid_share(n.show));
    shown[2][2] = 0;
}

static void compare(void *user, uint32_t frame, const uint8_t *pixels, d4r_size size)
{
    simulated *s = user;
    const d4r_k_neutral n = d4r_k_neutral_default();
    const double gates[3] = {n.keep, n.clip, n.box / 4.0};
    const double kernel[3] = {n.column / 3.0, n.row / 3.0, n.gain / 4.0}, missing[3] = {0.7, 0, 0.7};
    static const int tiles[3] = {MIX, AGE, WEIGHT};
    static const char *const names[3] = {"confidence", "age", "weight"};
    for (int place = 0; place < SIDE * SIDE; place++) {
        double x = (place % SIDE + 0.7) / (SIDE + 1), y = 0.1 + 0.85 * (place / SIDE + 0.7) / (SIDE + 1);
        /* Of the tile's pixel, not of the place asked for. */
        double tile_x = (floor(x * size.width / 4) + 0.5) * 4 / size.width,
               tile_y = (floor(y * size.height / 3) + 0.5) * 3 / size.height;
        uint32_t sub_block[2] = {(uint32_t)(tile_x * s->list->output.width) / 2,
                                 (uint32_t)(tile_y * s->list->output.height) / 2};
        double shown[3][3];
        step(s, frame, place, sub_block, shown);
        expect_color(s, "gates", at(pixels, size, GATES, x, y), gates, 0.001);
        expect_color(s, "kernel", at(pixels, size, KERNEL, x, y), kernel, 0.001);
        const bool cut = frame == 0 || frame == RESET_AT;
        /* f16 roundings of the confidence, and vectors that are a renderer's roundings instead of 0. */
        for (int i = 0; i < 3; i++)
            expect_color(s, names[i], at(pixels, size, tiles[i], x, y), cut ? missing : shown[i], 0.012);
    }
}

static void tiles_of_k_show_the_head(void **state)
{
    static float sums[64 * 16];
    if (test_preset() != D4R_PRESET_K) skip();
    play_list list = load("static", FRAMES);
    simulated s = {.list = &list, .tables = sums};
    play_view view = view_of();
    play_result r;
    (void)state;
    const uint16_t *table = (const uint16_t *)(const void *)(model->tables + (size_t)14 * 64 * 16 * 16 * 2);
    for (int i = 0; i < 64 * 16; i++)
        for (int k = 0; k < 16; k++) sums[i] += cli_half_to_float(table[16 * i + k]);
    list.frames[RESET_AT].settings.reset = true;
    view.look = compare;
    view.user = &s;
    play_with_view(&device, model, &list, &view, &r);
    assert_int_equal(s.wrong, 0);
    free(view.pixels);
    play_free(&list);
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(device.messages, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_named),
        cmocka_unit_test(history_ages),
        cmocka_unit_test(tiles_of_k_show_the_head),
    };
    data_folder = getenv("D4R_TEST_DATA");
    if (!data_folder) {
        fprintf(stderr, "skipped: D4R_TEST_DATA is not set\n");
        return 77;
    }
    if (!vk_test_create(&device)) return 77;
    model = test_model_create(test_preset() == D4R_PRESET_K ? TEST_NEUTRAL : 1);
    if (!model) return 1;
    int failures = cmocka_run_group_tests(tests, NULL, stop);
    vk_test_destroy(&device);
    test_model_destroy(model);
    return failures != 0;
}
