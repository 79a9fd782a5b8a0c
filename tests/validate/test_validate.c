/* The validation mode names planted integration mistakes, and says nothing of what is right. */
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

static vk_test device;
static d4r_model *model;
static const char *data_folder;

/* The whole frames take minutes on a CPU device: the middle of their top. */
static play_list load(const char *name)
{
    char path[1024];
    play_list list;
    snprintf(path, sizeof path, "%s/%s", data_folder, name);
    if (!play_load(path, 8, &list)) fail_msg("%s cannot be read", path);
    play_crop(&list, 224, 128);
    return list;
}

static void print_all(const play_result *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        print_message("    %s: %s\n", d4r_finding_name(r->findings[i].code), r->findings[i].sentence);
}

static void expect(const char *sequence, plant p)
{
    play_list list = load(sequence);
    play_result r;
    plant_apply(p, &list);
    play(&device, model, &list, &r);
    play_free(&list);
    const d4r_finding *found = play_found(&r, plant_code(p));
    /* Twice as long vectors are what output pixels look like at 2x. */
    if (!found && p == PLANT_MOTION_DOUBLE) found = play_found(&r, D4R_FINDING_MOTION_UNIT);
    if (!found || r.count != 1) {
        print_all(&r);
        fail_msg("%s, %s: %u findings, %s", sequence, plant_name(p), r.count,
                 found ? "more than the one that is right" : "not the right one");
    }
    assert_true(found->confidence >= 0.5f && found->confidence <= 1);
    assert_true(found->frames > 0 && strlen(found->sentence) > 40);
}

static void names_jitter(void **state)
{
    (void)state;
    expect("static", PLANT_JITTER_SIGN);
    expect("static", PLANT_JITTER_DOUBLE);
    expect("static", PLANT_JITTER_HALF);
    expect("static", PLANT_JITTER_ABSENT);
    expect("static", PLANT_JITTERED);
}

static void names_motion(void **state)
{
    (void)state;
    expect("brick_pan", PLANT_MOTION_SIGN);
    expect("brick_pan", PLANT_MOTION_FLIP_Y);
    expect("brick_pan", PLANT_MOTION_DOUBLE);
    expect("brick_pan", PLANT_MOTION_HALF);
    expect("brick_pan", PLANT_MOTION_NDC);
    expect("static", PLANT_MOTION_STALE);
}

static void names_depth_and_rectangle(void **state)
{
    (void)state;
    expect("brick_pan", PLANT_DEPTH);
    expect("static", PLANT_DEPTH_REGULAR);
    expect("brick_pan", PLANT_RECTANGLE_ORIGIN);
    expect("brick_pan", PLANT_RECTANGLE_SIZE);
}

static void names_colour(void **state)
{
    (void)state;
    expect("static", PLANT_EXPOSURE_HIGH);
    expect("static", PLANT_EXPOSURE_LOW);
    expect("static", PLANT_SRGB);
    expect("static", PLANT_LDR);
    expect("brick_pan", PLANT_NAN);
}

static void names_a_cut(void **state)
{
    (void)state;
    play_list list = load("brick_pan"), other = load("static");
    play_result r;
    play_append(&list, &other);
    play_free(&other);
    play(&device, model, &list, &r);
    const d4r_finding *found = play_found(&r, D4R_FINDING_MISSING_RESET);
    if (!found || r.count != 1) print_all(&r);
    assert_non_null(found);
    assert_int_equal(found->frame, 4);
    assert_int_equal(found->frames, 1);
    assert_int_equal(r.count, 1);
    /* With the reset there is nothing to say. */
    list.frames[4].settings.reset = true;
    play(&device, model, &list, &r);
    print_all(&r);
    assert_int_equal(r.count, 0);
    play_free(&list);
}

static void says_nothing_of_what_is_right(void **state)
{
    (void)state;
    const char *const names[] = {"static", "brick_pan"};
    for (int i = 0; i < 2; i++) {
        play_list list = load(names[i]);
        play_result r;
        play(&device, model, &list, &r);
        print_all(&r);
        assert_int_equal(r.count, 0);
        play_free(&list);
    }
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
        cmocka_unit_test(says_nothing_of_what_is_right),
        cmocka_unit_test(names_jitter),
        cmocka_unit_test(names_motion),
        cmocka_unit_test(names_depth_and_rectangle),
        cmocka_unit_test(names_colour),
        cmocka_unit_test(names_a_cut),
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
