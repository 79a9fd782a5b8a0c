/* The game adapter: changes between frames, several instances, pauses, failures. What docs/game_adapter.md says that they
 * cost and reset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/game.h"
#include "tests/engine/hook.h"
#include "tests/engine/test_model.h"
#include "tests/game/game_rig.h"
#include "vk_stages/k_stages_internal.h"
#include "vk_stages/stages_internal.h"

static vk_test device;
static d4r_model *model;

static const d4r_size small_render = {68, 66}, small_output = {132, 130};

static game_rig_params plain_params(void)
{
    return (game_rig_params){.model = model, .render = small_render, .output = small_output};
}

/* The plain case's eight outputs, which many tests must reproduce. */
static const uint8_t *plain_outputs(size_t *bytes)
{
    static uint8_t *outputs;
    static size_t size;
    if (!outputs) {
        const game_rig_params params = plain_params();
        const game_case c = game_case_plain();
        game_rig r;
        game_rig_create(&r, &device, &params);
        outputs = game_rig_run_case(&r, &c, &size);
        game_rig_destroy(&r);
    }
    *bytes = size;
    return outputs;
}

static void expect_plain(game_rig *r, const game_case *c)
{
    size_t bytes, got_bytes;
    const uint8_t *want = plain_outputs(&bytes);
    uint8_t *got = game_rig_run_case(r, c, &got_bytes);
    assert_int_equal(bytes, got_bytes);
    assert_memory_equal(got, want, bytes * GAME_FRAMES);
    assert_int_equal(device.messages, 0);
    free(got);
}

/* ---- changes between frames ---- */

static void dynamic_resolution(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    static const d4r_size sizes[GAME_FRAMES] = {{68, 66}, {64, 64}, {67, 65}, {64, 66},
                                                {68, 64}, {65, 65}, {66, 64}, {68, 66}};
    uint8_t *direct, *copied;
    d4r_game_info info;
    size_t bytes;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    memcpy(c.render, sizes, sizeof sizes);
    direct = game_rig_run_case(&r, &c, &bytes);
    assert_false(r.game->engine->stages->frame.reset);
    c.color_access.copied = c.motion_access.copied = c.depth_access.copied = true;
    c.color_access.layout = c.motion_access.layout = c.depth_access.layout = VK_IMAGE_LAYOUT_GENERAL;
    c.rotating = c.queued = true;
    c.color_access.origin_x = c.motion_access.origin_y = c.depth_access.origin_x = 5;
    copied = game_rig_run_case(&r, &c, &bytes);
    assert_memory_equal(direct, copied, bytes * GAME_FRAMES);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.retired, 0); /* nothing was made anew for a smaller frame */
    free(direct);
    free(copied);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

static uint8_t *fresh_outputs(const game_rig_params *params, const game_case *c, size_t *bytes)
{
    game_rig r;
    game_rig_create(&r, &device, params);
    uint8_t *outputs = game_rig_run_case(&r, c, bytes);
    game_rig_destroy(&r);
    return outputs;
}

/* Reconfigured while eight frames are queued: those come out as they should, the next ones as from a new adapter. */
static void configure_to(game_rig *r, const game_rig_params *params, const game_case *c)
{
    game_case queued = *c;
    d4r_game_config config;
    d4r_game_info info;
    game_images_set set;
    size_t bytes, old_bytes;
    uint8_t *want = fresh_outputs(params, c, &bytes), *got;
    uint8_t *before = game_rig_run_case(r, &queued, &old_bytes);
    queued.queued = true;
    game_rig_create_set(r, &queued, &set);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) game_rig_fill(r, &queued, n);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) game_rig_frame(r, &queued, &set, n);
    d4r_game_get_config(r->game, &config);
    config.output = params->output;
    config.max_render = params->render;
    config.conventions = params->conventions;
    assert_int_equal(d4r_game_configure(r->game, &config), D4R_OK);
    d4r_game_get_info(r->game, &info);
    assert_true(info.retired >= 1 && info.retired_bytes > 0);
    game_rig_wait(r);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) {
        size_t size;
        assert_memory_equal(game_rig_output(r, &queued, n, &size), before + n * old_bytes, old_bytes);
    }
    game_rig_destroy_set(r, &set);
    r->render = params->render;
    r->output = params->output;
    queued = *c;
    queued.skip_reset = true; /* it resets by itself */
    got = game_rig_run_case(r, &queued, &old_bytes);
    assert_int_equal(old_bytes, bytes);
    assert_memory_equal(got, want, bytes * GAME_FRAMES);
    d4r_game_get_info(r->game, &info);
    assert_int_equal(info.retired, 0);
    assert_int_equal(info.retired_bytes, 0);
    assert_int_equal(device.messages, 0);
    free(want);
    free(before);
    free(got);
}

static const void *programs_of(const game_rig *r)
{
    d4r_stages *stages = r->game->engine->stages;
    return test_preset() == D4R_PRESET_M ? (const void *)d4r_m_stages_of(stages)->programs
                                         : (const void *)d4r_k_stages_of(stages)->programs;
}

static void output_resize(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    d4r_memory_info before, after;
    d4r_game_config config;
    game_rig r;
    (void)state;
    params.reserve_render = (d4r_size){80, 80};
    game_rig_create(&r, &device, &params);
    const void *programs = programs_of(&r);
    d4r_engine_memory(d4r_game_engine(r.game), &before);
    params.output = (d4r_size){150, 140};
    params.render = (d4r_size){75, 70};
    configure_to(&r, &params, &c); /* larger, within what was reserved */
    params.output = (d4r_size){170, 160};
    params.render = (d4r_size){100, 98};
    configure_to(&r, &params, &c); /* larger than that: other token buffers */
    assert_true(r.game->engine->shared.info.max_token_grid.width >= 64);
    c.color_access.copied = c.output_access.copied = true;
    c.color_access.layout = VK_IMAGE_LAYOUT_GENERAL;
    params = plain_params();
    configure_to(&r, &params, &c);               /* back, with copies in use */
    assert_ptr_equal(programs_of(&r), programs); /* no pipeline was built for a size */
    d4r_engine_memory(d4r_game_engine(r.game), &after);
    assert_int_equal(after.device_bytes - after.shared_bytes, before.device_bytes - before.shared_bytes);
    /* What cannot be leaves everything as it is; no change costs nothing. */
    d4r_game_get_config(r.game, &config);
    config.output = (d4r_size){63, 63};
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_ERROR_ARGUMENT);
    config.output = small_output;
    config.output_format = VK_FORMAT_D32_SFLOAT;
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_ERROR_ARGUMENT);
    d4r_game_get_config(r.game, &config);
    const d4r_stages *stages = r.game->engine->stages;
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_OK);
    assert_ptr_equal(r.game->engine->stages, stages);
    expect_plain(&r, &c);
    game_rig_destroy(&r);
}

static void hdr_ldr_switch(void **state)
{
    game_rig_params params = plain_params();
    const game_case c = game_case_plain();
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    params.conventions.ldr = true;
    configure_to(&r, &params, &c);
    params.conventions.ldr = false;
    configure_to(&r, &params, &c);
    game_rig_destroy(&r);
}

/* A frame between its two parts, and one that nobody submitted. */
static void configure_at_a_bad_time(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_images_set set;
    d4r_game_config config;
    d4r_frame frame;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    game_rig_create_set(&r, &c, &set);
    d4r_frame_settings settings = d4r_frame_settings_default(small_render);
    set.color[0].now = set.depth[0].now = set.motion[0].now = VK_IMAGE_LAYOUT_GENERAL;
    const d4r_game_images images = {.color = game_image_describe(&set.color[0], &c.color_access),
                                    .depth = game_image_describe(&set.depth[0], &c.depth_access),
                                    .motion = game_image_describe(&set.motion[0], &c.motion_access),
                                    .output = game_image_describe(&set.output[0], &c.output_access)};
    VkCommandBuffer commands = vk_test_begin(&device);
    assert_int_equal(d4r_game_record_front(r.game, commands, &images, &settings, &frame), D4R_OK);
    d4r_game_get_config(r.game, &config);
    config.output.width++;
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_ERROR_STATE);
    assert_int_equal(d4r_game_record_back(r.game, commands, &frame), D4R_OK);
    /* These need other token buffers, but the frame is neither here nor there. */
    config.output = test_preset() == D4R_PRESET_M ? (d4r_size){176, 176} : (d4r_size){1040, 180};
    config.max_render = (d4r_size){170, 170};
    rig_last_error();
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_ERROR_STATE);
    assert_non_null(strstr(rig_last_error(), "neither submitted nor discarded"));
    assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_OK);
    device.vk.fn.vkEndCommandBuffer(commands);
    device.vk.fn.vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
    game_rig_destroy_set(&r, &set);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* What reads the stages' surfaces follows a change. */
static void configure_with_validation_and_debug_view(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    d4r_game_params game_params;
    d4r_game_config config;
    d4r_finding findings[4];
    game_images_set set;
    uint32_t count = 0;
    size_t bytes;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    d4r_game_destroy(&r.game);
    game_params = game_rig_game_params(&r, &device, &params);
    game_params.engine.validate = true;
    game_params.engine.debug_view = true;
    assert_int_equal(d4r_game_create(&game_params, &r.game), D4R_OK);
    r.debug_view = vk_test_image(&device, "debug view", VK_FORMAT_R8G8B8A8_UNORM, 640, 360,
                                 VK_IMAGE_USAGE_STORAGE_BIT, NULL, 4);
    game_rig_create_set(&r, &c, &set);
    for (uint32_t n = 0; n < 4; n++) game_rig_fill(&r, &c, n), game_rig_frame(&r, &c, &set, n);
    d4r_game_get_config(r.game, &config);
    config.output = r.output = (d4r_size){140, 136};
    assert_int_equal(d4r_game_configure(r.game, &config), D4R_OK);
    game_rig_wait(&r);
    game_rig_destroy_set(&r, &set);
    c.frames = 4;
    free(game_rig_run_case(&r, &c, &bytes));
    assert_int_equal(d4r_engine_validation_report(d4r_game_engine(r.game), findings, 4, &count), D4R_OK);
    uint32_t *picture = malloc(640 * 360 * 4), different = 0;
    vk_test_read_image(&device, r.debug_view.image, 640, 360, 4, picture);
    for (uint32_t i = 1; i < 640 * 360; i++) different += picture[i] != picture[i - 1];
    assert_true(different > 1000); /* a picture, and not one colour */
    free(picture);
    const d4r_vk_image view = r.debug_view;
    game_rig_destroy(&r);
    d4r_vk_image_destroy(&device.vk, (d4r_vk_image[]){view});
    assert_int_equal(device.messages, 0);
}

static void many_instances(void **state)
{
    enum { COUNT = 3 };
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_images_set sets[COUNT];
    game_rig rigs[COUNT];
    uint8_t *alone[COUNT];
    size_t bytes = 0;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        game_rig_create(&rigs[i], &device, &params);
        rigs[i].seed = (uint32_t)i;
        alone[i] = game_rig_run_case(&rigs[i], &c, &bytes);
        game_rig_create_set(&rigs[i], &c, &sets[i]);
        for (uint32_t n = 0; n < GAME_FRAMES; n++) game_rig_fill(&rigs[i], &c, n);
    }
    for (uint32_t n = 0; n < GAME_FRAMES; n++)
        for (int i = 0; i < COUNT; i++) game_rig_frame(&rigs[i], &c, &sets[i], n);
    for (int i = 0; i < COUNT; i++) {
        game_rig_wait(&rigs[i]);
        for (uint32_t n = 0; n < GAME_FRAMES; n++) {
            size_t size;
            assert_memory_equal(game_rig_output(&rigs[i], &c, n, &size), alone[i] + n * bytes, bytes);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        assert_true(i == 0 || memcmp(alone[i], alone[0], bytes) != 0);
        game_rig_destroy_set(&rigs[i], &sets[i]);
        game_rig_destroy(&rigs[i]);
    }
    for (int i = 0; i < COUNT; i++) free(alone[i]);
    assert_int_equal(device.messages, 0);
}

/* Frames 0..3, a pause in which everything that can go goes, frames 4..7: as without the pause. */
static void pause_and_resume(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_images_set set;
    d4r_game_info info;
    size_t bytes;
    const uint8_t *want = plain_outputs(&bytes);
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    c.color_access.copied = c.output_access.copied = true;
    c.color_access.layout = VK_IMAGE_LAYOUT_GENERAL;
    game_rig_create_set(&r, &c, &set);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) {
        size_t size;
        if (n == 4) {
            d4r_game_get_info(r.game, &info);
            assert_true(info.views > 0 && info.conversion_bytes > 0);
            d4r_game_trim(r.game);
            d4r_game_get_info(r.game, &info);
            assert_int_equal(info.views, 0);
            assert_int_equal(info.descriptor_sets, 0);
            assert_int_equal(info.conversion_bytes, 0);
            game_rig_destroy_set(&r, &set);
            game_rig_create_set(&r, &c, &set);
        }
        game_rig_fill(&r, &c, n);
        game_rig_frame(&r, &c, &set, n);
        game_rig_wait(&r);
        assert_memory_equal(game_rig_output(&r, &c, n, &size), want + n * bytes, bytes);
    }
    game_rig_destroy_set(&r, &set);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* ---- failures ---- */

static uint32_t count_creations(const d4r_game_params *params)
{
    uint32_t low = 0, high = 1024; /* the call that fails no more, by bisection */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        d4r_game *game = NULL;
        hook_fail_at(middle);
        const d4r_status status = d4r_game_create(params, &game);
        assert_int_equal(status, hook_failed() ? D4R_ERROR_MEMORY : D4R_OK);
        d4r_game_destroy(&game);
        if (status == D4R_OK)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The adapter's own creations fail once each (test_engine does the engine's), then those of a change that needs everything
 * anew. */
static void creation_failures(void **state)
{
    game_rig_params params = plain_params();
    d4r_game_params game_params;
    d4r_game *game = NULL;
    d4r_game_config before, config;
    uint32_t calls;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    d4r_game_destroy(&r.game);
    hook_init(&device);
    params.get_instance_proc_addr = hook_get_instance_proc_addr;
    params.view_budget = D4R_GAME_MIN_VIEW_BUDGET;
    game_params = game_rig_game_params(&r, &device, &params);
    calls = count_creations(&game_params);
    for (uint32_t n = calls - 5; n < calls; n++) {
        hook_fail_at(n);
        assert_int_equal(d4r_game_create(&game_params, &game), D4R_ERROR_MEMORY);
        assert_null(game);
    }
    hook_fail_at(UINT32_MAX);
    assert_int_equal(d4r_game_create(&game_params, &game), D4R_OK);
    for (calls = 0;; calls++) {
        d4r_game_get_config(game, &before);
        config = before;
        config.output = (d4r_size){140, 138};
        config.max_render = (d4r_size){110, 100};
        config.output_format = VK_FORMAT_R8G8B8A8_UNORM;
        hook_fail_at(calls);
        const d4r_status status = d4r_game_configure(game, &config);
        if (!hook_failed()) {
            assert_int_equal(status, D4R_OK);
            break;
        }
        assert_int_equal(status, D4R_ERROR_MEMORY);
        d4r_game_get_config(game, &config);
        assert_memory_equal(&config.output, &before.output, sizeof before.output);
        assert_int_equal(config.output_format, before.output_format);
    }
    hook_fail_at(UINT32_MAX);
    assert_true(
        calls >
        (test_preset() == D4R_PRESET_M ? 40 : 20)); /* token buffers, images, buffers, sets, a pipeline */
    r.game = game;
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0); /* and the device's end finds nothing left */
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(5);
    return model ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    test_model_destroy(model);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dynamic_resolution),
        cmocka_unit_test(output_resize),
        cmocka_unit_test(hdr_ldr_switch),
        cmocka_unit_test(configure_at_a_bad_time),
        cmocka_unit_test(configure_with_validation_and_debug_view),
        cmocka_unit_test(many_instances),
        cmocka_unit_test(pause_and_resume),
        cmocka_unit_test(creation_failures),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
