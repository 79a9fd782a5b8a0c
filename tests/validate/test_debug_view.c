/* The debug view: every tile is there, named, and shows what it should; no validation messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/engine/test_model.h"
#include "tests/validate/player.h"

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
    play_view view = {.size = {640, 360}, .look = look, .user = &s};
    play_list list = load("brick_pan", 4);
    play_result r;
    play_with_view(&device, model, &list, &view, &r);
    for (int tile = 0; tile < TILES; tile++) {
        unsigned count = white(view.pixels, view.size, tile);
        if (count < 20 || count > 300)
            fail_msg("tile %d: %u white pixels where its name should be", tile, count);
    }
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
    play_view view = {.size = {640, 360}, .look = look, .user = &s};
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
    };
    data_folder = getenv("D4R_TEST_DATA");
    if (!data_folder) {
        fprintf(stderr, "skipped: D4R_TEST_DATA is not set\n");
        return 77;
    }
    if (!vk_test_create(&device)) return 77;
    model = test_model_create(1);
    if (!model) return 1;
    int failures = cmocka_run_group_tests(tests, NULL, stop);
    vk_test_destroy(&device);
    test_model_destroy(model);
    return failures != 0;
}
