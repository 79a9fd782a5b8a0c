/* The validation mode on arguments that are accepted, but probably not meant; and through the upscaler. */
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

typedef enum mistake {
    RIGHT,
    JITTER_LARGE,
    JITTER_STILL,
    RESET_ALWAYS,
    SIZE_CHANGES,
    EXPOSURE_ZERO,
    PRE_EXPOSURE_HUGE,
    MOTION_OF_OUTPUT,
    SAME_VIEW
} mistake;

static d4r_frame_settings settings_of(const rig *r, uint32_t n, mistake m)
{
    d4r_frame_settings s = rig_settings(r, n);
    if (m == JITTER_LARGE) s.jitter.x = 1.5f;
    if (m == JITTER_STILL) s.jitter = (d4r_vec2){0.25f, -0.25f};
    if (m == RESET_ALWAYS) s.reset = true;
    if (m == SIZE_CHANGES) s.render.width -= n % 2;
    if (m == EXPOSURE_ZERO) s.exposure = 0;
    if (m == PRE_EXPOSURE_HUGE) s.pre_exposure = 1e6f;
    return s;
}

static void run_frame(rig *r, uint32_t n, mistake m)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const struct VolkDeviceTable *fn = &r->t->vk.fn;
    VkCommandBuffer front = r->front[n % RIG_SLOTS], back = r->back[n % RIG_SLOTS];
    d4r_frame_images images = rig_images(r);
    d4r_frame_settings settings = settings_of(r, n, m);
    d4r_frame frame;
    /* The image's own size is not what the library can see: the caller's word counts. */
    if (m == MOTION_OF_OUTPUT) images.motion.extent = r->output;
    if (m == SAME_VIEW) images.motion = images.color;
    fn->vkBeginCommandBuffer(front, &begin);
    assert_int_equal(d4r_engine_record_front(r->engine, front, &images, &settings, &frame), D4R_OK);
    fn->vkEndCommandBuffer(front);
    fn->vkBeginCommandBuffer(back, &begin);
    assert_int_equal(d4r_engine_record_back(r->engine, back, &frame), D4R_OK);
    fn->vkEndCommandBuffer(back);
    rig_queue(r, n, &frame);
    assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    assert_true(rig_wait(r, RIG_PATIENCE_MS));
}

static void expect(mistake m, d4r_finding_code code, uint32_t frames)
{
    script s;
    rig r;
    d4r_finding findings[4];
    uint32_t count = 0;
    d4r_conventions conventions = {.exposure_mode =
                                       m == EXPOSURE_ZERO ? D4R_EXPOSURE_SCALAR : D4R_EXPOSURE_AUTO};
    rig_params params = {.model = model,
                         .render = {64, 64},
                         .output = {128, 96},
                         .conventions = &conventions,
                         .validate = true};
    script_init(&s);
    params.network = script_network(&s, 60000);
    if (m == SIZE_CHANGES) params.render.width++;
    rig_create(&r, &device, &params);
    assert_int_equal(r.status, D4R_OK);
    for (uint32_t n = 0; n < frames; n++) {
        assert_int_equal(d4r_engine_validation_report(r.engine, findings, 4, &count), D4R_OK);
        bool found = false;
        for (uint32_t i = 0; i < count; i++)
            found = found || (findings[i].code >= 32 && findings[i].code == code);
        assert_false(found); /* not too early */
        run_frame(&r, n, m);
    }
    assert_int_equal(d4r_engine_validation_report(r.engine, findings, 4, &count), D4R_OK);
    unsigned right = 0, others = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* The frames are noise without motion: only what is said of arguments counts here. */
        if (findings[i].code < 32) continue;
        right += findings[i].code == code;
        others += findings[i].code != code;
        if (findings[i].code != code) print_message("    %s\n", findings[i].sentence);
    }
    assert_int_equal(right, code != D4R_FINDING_NONE);
    assert_int_equal(others, 0);
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
}

static void arguments(void **state)
{
    (void)state;
    expect(RIGHT, D4R_FINDING_NONE, 20);
    expect(JITTER_LARGE, D4R_FINDING_JITTER_RANGE, 1);
    expect(JITTER_STILL, D4R_FINDING_JITTER_CONSTANT, 16);
    expect(RESET_ALWAYS, D4R_FINDING_RESET_ALWAYS, 8);
    expect(SIZE_CHANGES, D4R_FINDING_RENDER_SIZE, 10);
    expect(EXPOSURE_ZERO, D4R_FINDING_EXPOSURE_VALUE, 1);
    expect(PRE_EXPOSURE_HUGE, D4R_FINDING_EXPOSURE_VALUE, 1);
    expect(MOTION_OF_OUTPUT, D4R_FINDING_MOTION_SIZE, 1);
    expect(SAME_VIEW, D4R_FINDING_SAME_IMAGE, 1);
}

static void report_needs_the_mode(void **state)
{
    script s;
    rig r;
    d4r_finding finding;
    uint32_t count = 7;
    rig_params params = {.model = model, .render = {64, 64}, .output = {128, 96}};
    (void)state;
    script_init(&s);
    params.network = script_network(&s, 60000);
    rig_create(&r, &device, &params);
    assert_int_equal(d4r_engine_validation_report(r.engine, &finding, 1, &count), D4R_ERROR_STATE);
    assert_int_equal(count, 0);
    assert_int_equal(d4r_engine_validation_report(r.engine, NULL, 1, &count), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_engine_validation_report(NULL, &finding, 1, &count), D4R_ERROR_ARGUMENT);
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
}

static void codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(d4r_finding_name(D4R_FINDING_MOTION_SIGN), "motion_sign");
    assert_string_equal(d4r_finding_name(D4R_FINDING_SAME_IMAGE), "same_image");
    assert_string_equal(d4r_finding_name((d4r_finding_code)999), "unknown");
}

/* ---- the upscaler ---- */

static unsigned warnings;
static char last_warning[1024];

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (level != D4R_LOG_WARNING || strncmp(line, "validation: ", 12) != 0) return;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", line);
}

static d4r_plane plane(const void *data, d4r_size size, size_t bytes, d4r_pixel_format format)
{
    return (d4r_plane){
        .data = data, .size = (size_t)size.width * size.height * bytes, .extent = size, .format = format};
}

static void through_the_upscaler(void **state)
{
    char path[1024];
    play_list list;
    d4r_upscaler *u = NULL;
    d4r_finding findings[4];
    uint32_t count;
    d4r_upscaler_params params = d4r_upscaler_params_default();
    (void)state;
    snprintf(path, sizeof path, "%s/static", data_folder);
    assert_true(play_load(path, 7, &list));
    play_crop(&list, 192, 112);
    plant_apply(PLANT_JITTER_SIGN, &list);
    params.model = model;
    params.output = list.output;
    params.max_render = list.frames[0].image;
    params.network = D4R_NETWORK_CPU;
    params.validate = true;
    params.readback = false;
    params.log = (d4r_log){on_log, NULL, D4R_LOG_WARNING};
    assert_int_equal(d4r_upscaler_create(&params, &u), D4R_OK);
    for (size_t i = 0; i < list.count; i++) {
        const play_frame *f = &list.frames[i];
        d4r_upscaler_frame frame = {.settings = f->settings,
                                    .color = plane(f->color, f->image, 16, D4R_FORMAT_RGBA32F),
                                    .motion = plane(f->motion, f->image, 8, D4R_FORMAT_RG32F),
                                    .depth = plane(f->depth, f->image, 4, D4R_FORMAT_R32F)};
        uint64_t ticket;
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 0), D4R_OK);
    }
    assert_int_equal(d4r_upscaler_validation_report(u, findings, 4, &count), D4R_OK);
    assert_int_equal(count, 1);
    assert_int_equal(findings[0].code, D4R_FINDING_JITTER_SIGN);
    /* Said once, in the same words. */
    assert_int_equal(warnings, 1);
    assert_string_equal(last_warning + 12, findings[0].sentence);
    d4r_upscaler_destroy(&u);
    play_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),
        cmocka_unit_test(report_needs_the_mode),
        cmocka_unit_test(codes_have_names),
        cmocka_unit_test(through_the_upscaler),
    };
    data_folder = getenv("D4R_TEST_DATA");
    if (!data_folder) {
        fprintf(stderr, "skipped: D4R_TEST_DATA is not set\n");
        return 77;
    }
    if (!vk_test_create(&device)) return 77;
    model = test_model_create(1);
    if (!model) return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    if (device.messages) failures++;
    vk_test_destroy(&device);
    test_model_destroy(model);
    return failures != 0;
}
