/* The hand-off contract, with scripted networks, under validation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/engine/hook.h"
#include "tests/engine/rig.h"
#include "tests/engine/test_model.h"
#include "vk_stages/stages_internal.h"
#include "runtime/engine.h"

static vk_test device;
static d4r_model *model;

typedef struct fixture {
    script s;
    d4r_network *network;
    rig r;
} fixture;

static void start_through(fixture *f, uint32_t watchdog_ms, PFN_vkGetInstanceProcAddr get_instance_proc_addr)
{
    rig_params params = {.model = model,
                         .render = {64, 64},
                         .output = {128, 96},
                         .get_instance_proc_addr = get_instance_proc_addr};
    memset(f, 0, sizeof *f);
    script_init(&f->s);
    f->network = script_network(&f->s, watchdog_ms);
    assert_non_null(f->network);
    params.network = f->network;
    rig_create(&f->r, &device, &params);
    assert_int_equal(f->r.status, D4R_OK);
    assert_int_equal(f->s.attached, 1);
}

static void start(fixture *f, uint32_t watchdog_ms)
{
    start_through(f, watchdog_ms, NULL);
}

static void end(fixture *f)
{
    rig_destroy(&f->r);
    assert_int_equal(f->s.detached, 1);
    d4r_network_destroy(&f->network);
    assert_null(f->network);
    assert_int_equal(f->s.destroyed, 1);
    script_end(&f->s);
    assert_int_equal(device.messages, 0);
}

static bool last_was_reset(const rig *r)
{
    return r->engine->stages->frame.reset;
}

/* ---- */

static void success(void **state)
{
    fixture f;
    (void)state;
    start(&f, 5000);
    for (uint32_t n = 0; n < 6; n++) {
        d4r_frame frame = rig_frame(&f.r, n);
        assert_int_equal(frame.id, n);
        assert_true(frame.head_ready > frame.tokens_ready);
        assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
        assert_int_equal(d4r_frame_status(&frame), D4R_OK);
        assert_int_equal(rig_counter(&f.r, &frame), frame.head_ready);
        assert_int_equal(last_was_reset(&f.r), n == 0);
    }
    assert_int_equal(f.s.runs, 6);
    assert_int_equal(f.s.cancels, 0);
    end(&f);
}

/* A failing network: B all the same, the frame is failed, the next recorded one resets and is fine. */
static void failure(void **state)
{
    fixture f;
    (void)state;
    start(&f, 5000);
    f.s.actions[1] = SCRIPT_FAIL;
    assert_int_equal(rig_run(&f.r, 0), D4R_OK);
    assert_int_equal(rig_run(&f.r, 1), D4R_ERROR_NETWORK);
    assert_false(last_was_reset(&f.r));
    assert_int_equal(rig_run(&f.r, 2), D4R_OK);
    assert_true(last_was_reset(&f.r));
    assert_int_equal(rig_run(&f.r, 3), D4R_OK);
    assert_false(last_was_reset(&f.r));
    end(&f);
}

/* The very first frame fails: its back runs on a head that nobody wrote. It must not hold NaN codes, whatever the memory
 * held. */
static void first_frame_fails(void **state)
{
    fixture f;
    uint8_t *head;
    (void)state;
    hook_init(&device);
    hook_spoil_maps(true);
    start_through(&f, 5000, hook_get_instance_proc_addr);
    assert_int_equal(((uint8_t *)f.s.buffers.tokens_map)[0], 0x7f);
    f.s.actions[0] = SCRIPT_FAIL;
    assert_int_equal(rig_run(&f.r, 0), D4R_ERROR_NETWORK);
    head = f.s.buffers.head_map;
    for (uint64_t i = 0; i < f.s.buffers.head_bytes; i++) assert_int_equal(head[i], 0);
    assert_int_equal(rig_run(&f.r, 1), D4R_OK);
    end(&f);
}

static void pending(void **state)
{
    fixture f;
    (void)state;
    start(&f, 5000);
    for (int n = 0; n < 4; n++) f.s.actions[n] = SCRIPT_PENDING;
    for (uint32_t n = 0; n < 4; n++) {
        d4r_frame frame = rig_frame(&f.r, n);
        assert_int_equal(d4r_frame_status(&frame), D4R_PENDING);
        assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
        assert_int_equal(d4r_frame_status(&frame), D4R_OK);
    }
    end(&f);
}

/* The network hangs: the watchdog frees the frame in time, cancels, fails the frames behind it at once, and once the
 * network has come back everything works again. */
static void hang(void **state)
{
    fixture f;
    d4r_frame stuck, behind[2];
    uint64_t begin;
    (void)state;
    start(&f, 150);
    assert_int_equal(rig_run(&f.r, 0), D4R_OK);
    f.s.actions[1] = SCRIPT_HANG;
    begin = test_now_ms();
    stuck = rig_frame(&f.r, 1);
    behind[0] = rig_frame(&f.r, 2);
    behind[1] = rig_frame(&f.r, 3);
    assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
    assert_true(test_now_ms() - begin >= 150);
    assert_int_equal(d4r_frame_status(&stuck), D4R_ERROR_TIMEOUT);
    assert_int_equal(d4r_frame_status(&behind[0]), D4R_ERROR_NETWORK);
    assert_int_equal(d4r_frame_status(&behind[1]), D4R_ERROR_NETWORK);
    assert_int_equal(script_count(&f.s, &f.s.cancels), 1);
    assert_int_equal(f.s.cancelled_frame, 1);
    assert_int_equal(script_count(&f.s, &f.s.runs), 2);
    script_release(&f.s);
    while (script_count(&f.s, &f.s.returned) < 2) test_sleep_ms(1);
    test_sleep_ms(20);
    assert_int_equal(d4r_frame_status(&stuck), D4R_ERROR_TIMEOUT);
    assert_int_equal(rig_run(&f.r, 4), D4R_OK);
    assert_true(last_was_reset(&f.r));
    end(&f);
}

/* The bound counts from A, not from d4r_network_submit: a late queue submission is no hang. */
static void watchdog_starts_at_a(void **state)
{
    fixture f;
    d4r_frame frame;
    (void)state;
    start(&f, 1000);
    frame = rig_record(&f.r, 0);
    assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    test_sleep_ms(1300);
    assert_int_equal(d4r_frame_status(&frame), D4R_PENDING);
    rig_queue(&f.r, 0, &frame);
    assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
    assert_int_equal(d4r_frame_status(&frame), D4R_OK);
    end(&f);
}

/* Everything is submitted before the first A is signalled, in either order of the two submits. */
static void wait_before_signal(void **state)
{
    fixture f;
    d4r_frame frames[3];
    (void)state;
    start(&f, 5000);
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t n = 0; n < 3; n++) {
            frames[n] = rig_record(&f.r, n);
            if (n != 1) rig_queue(&f.r, n, &frames[n]);
            assert_int_equal(d4r_network_submit(&frames[n]), D4R_OK);
            if (n == 1) rig_queue(&f.r, n, &frames[n]);
        }
        assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
        for (uint32_t n = 0; n < 3; n++) assert_int_equal(d4r_frame_status(&frames[n]), D4R_OK);
    }
    end(&f);
}

static void discard(void **state)
{
    fixture f;
    d4r_frame frame, later;
    (void)state;
    start(&f, 5000);
    /* The first frame, so that its clearing of the head and its layouts are lost too. */
    frame = rig_record(&f.r, 0);
    assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    assert_int_equal(rig_counter(&f.r, &frame), frame.head_ready); /* the timeline has moved past it */
    assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_STATE);
    assert_int_equal(rig_run(&f.r, 1), D4R_OK);
    assert_true(last_was_reset(&f.r));
    /* While an earlier frame still runs: B values stay in order. */
    f.s.actions[2] = SCRIPT_PENDING;
    frame = rig_frame(&f.r, 2);
    later = rig_record(&f.r, 3);
    assert_int_equal(d4r_frame_discard(&later), D4R_OK);
    assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
    assert_int_equal(d4r_frame_status(&frame), D4R_OK);
    assert_int_equal(rig_counter(&f.r, &frame), later.head_ready);
    /* Two at once, newest first, then on. */
    frame = rig_record(&f.r, 4);
    later = rig_record(&f.r, 5);
    assert_int_equal(d4r_frame_discard(&later), D4R_OK);
    assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    assert_int_equal(rig_run(&f.r, 6), D4R_OK);
    assert_true(last_was_reset(&f.r));
    assert_int_equal(rig_run(&f.r, 7), D4R_OK);
    assert_false(last_was_reset(&f.r));
    assert_int_equal(f.s.runs, 4);
    end(&f);
}

/* Only the front was recorded when the frame is discarded. */
static void discard_front_only(void **state)
{
    fixture f;
    d4r_frame_images images;
    d4r_frame_settings settings;
    VkCommandBuffer commands;
    d4r_frame frame, second;
    (void)state;
    start(&f, 5000);
    images = rig_images(&f.r);
    settings = rig_settings(&f.r, 0);
    commands = vk_test_begin(&device);
    assert_int_equal(d4r_engine_record_front(f.r.engine, commands, &images, &settings, &frame), D4R_OK);
    assert_int_equal(d4r_engine_record_front(f.r.engine, commands, &images, &settings, &second),
                     D4R_ERROR_STATE);
    assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    assert_int_equal(d4r_engine_record_back(f.r.engine, commands, &frame), D4R_ERROR_STATE);
    device.vk.fn.vkEndCommandBuffer(commands);
    device.vk.fn.vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
    assert_int_equal(rig_run(&f.r, 1), D4R_OK);
    end(&f);
}

static void wrong_order(void **state)
{
    fixture f;
    d4r_frame a, b, none = {0};
    (void)state;
    start(&f, 5000);
    a = rig_record(&f.r, 0);
    b = rig_record(&f.r, 1);
    assert_int_equal(d4r_network_submit(&b), D4R_ERROR_STATE);
    rig_queue(&f.r, 0, &a);
    rig_queue(&f.r, 1, &b);
    assert_int_equal(d4r_network_submit(&a), D4R_OK);
    assert_int_equal(d4r_network_submit(&a), D4R_ERROR_STATE);
    assert_int_equal(d4r_frame_discard(&a), D4R_ERROR_STATE);
    assert_int_equal(d4r_network_submit(&b), D4R_OK);
    assert_true(rig_wait(&f.r, RIG_PATIENCE_MS));
    assert_int_equal(d4r_network_submit(&none), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_frame_discard(NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_frame_status(&none), D4R_ERROR_ARGUMENT);
    b.id = 77;
    assert_int_equal(d4r_frame_status(&b), D4R_ERROR_STATE);
    end(&f);
}

/* Frames in every state when the engine goes: running and hanging, queued behind it, recorded and queued but never
 * passed to the network, recorded only. All B values come, the device goes idle, and it does not take long. */
static void destroy_outstanding(void **state)
{
    fixture f;
    d4r_frame frames[4];
    uint64_t begin;
    (void)state;
    start(&f, 30000);
    f.s.heeds_cancel = true;
    f.s.actions[0] = SCRIPT_HANG;
    frames[0] = rig_frame(&f.r, 0);
    frames[1] = rig_frame(&f.r, 1);
    frames[2] = rig_record(&f.r, 2);
    rig_queue(&f.r, 2, &frames[2]);
    frames[3] = rig_record(&f.r, 3);
    assert_true(script_wait_runs(&f.s, 1));
    begin = test_now_ms();
    d4r_engine_destroy(&f.r.engine);
    assert_true(test_now_ms() - begin < 10000);
    assert_int_equal(f.s.cancels, 1);
    assert_int_equal(f.s.runs, 1);
    assert_int_equal(f.s.returned, 1);
    end(&f);
}

/* A run that comes back late: destroy signals B, but frees nothing before. The script writes the head when it
 * returns, so an early free is a crash or an asan report. */
static void destroy_waits_for_a_late_run(void **state)
{
    fixture f;
    uint64_t begin;
    (void)state;
    start(&f, 2000);
    f.s.actions[0] = SCRIPT_HANG;
    f.s.heeds_cancel = true;
    f.s.late_ms = 300;
    rig_frame(&f.r, 0);
    assert_true(script_wait_runs(&f.s, 1));
    begin = test_now_ms();
    d4r_engine_destroy(&f.r.engine);
    assert_true(test_now_ms() - begin >= 300);
    assert_int_equal(f.s.returned, 1);
    end(&f);
}

/* A run that does not come back within any bound: destroy returns all the same, leaves the shared memory alone, and
 * the network is detached and destroyed by its own thread in the end. The device is lost to us, so it is another one. */
static void abandoned(void **state)
{
    rig_params params = {.model = model, .render = {64, 64}, .output = {128, 96}, .watchdog_ms = 200};
    vk_test lost;
    fixture f;
    uint64_t begin;
    (void)state;
    assert_true(vk_test_create(&lost));
    memset(&f, 0, sizeof f);
    script_init(&f.s);
    params.network = f.network = script_network(&f.s, 0);
    rig_create(&f.r, &lost, &params);
    f.s.actions[0] = SCRIPT_HANG;
    rig_frame(&f.r, 0);
    assert_true(script_wait_runs(&f.s, 1));
    begin = test_now_ms();
    d4r_engine_destroy(&f.r.engine);
    d4r_network_destroy(&f.network);
    assert_true(test_now_ms() - begin < 8000);
    assert_int_equal(script_count(&f.s, &f.s.detached), 0);
    script_release(&f.s); /* the run now writes the head */
    while (script_count(&f.s, &f.s.destroyed) == 0) test_sleep_ms(1);
    assert_int_equal(script_count(&f.s, &f.s.detached), 1);
    rig_destroy(&f.r);
    assert_int_equal(lost.messages, 0);
    lost.quiet = true; /* the shared buffers are still there */
    vk_test_destroy(&lost);
    assert_true(lost.messages > 0);
    script_end(&f.s);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(1);
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
        cmocka_unit_test(success),
        cmocka_unit_test(failure),
        cmocka_unit_test(first_frame_fails),
        cmocka_unit_test(pending),
        cmocka_unit_test(hang),
        cmocka_unit_test(watchdog_starts_at_a),
        cmocka_unit_test(wait_before_signal),
        cmocka_unit_test(discard),
        cmocka_unit_test(discard_front_only),
        cmocka_unit_test(wrong_order),
        cmocka_unit_test(destroy_outstanding),
        cmocka_unit_test(destroy_waits_for_a_late_run),
        cmocka_unit_test(abandoned),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
