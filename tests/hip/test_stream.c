/* A network on a stream that the embedder has created: the same frames as on a stream of its own, in order with the
 * embedder's work there, and the stream stays the embedder's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "interop/hip_api.h"
#include "tests/hip/hip_rig.h"

static vk_test device;
static d4r_model *model;

/* ---- what an embedder calls ---- */

static struct {
    d4r_hip_error (*set_device)(int device);
    d4r_hip_error (*create)(d4r_hip_stream *stream);
    d4r_hip_error (*create_plain)(d4r_hip_stream *stream, unsigned flags, int priority);
    d4r_hip_error (*destroy)(d4r_hip_stream stream);
    d4r_hip_error (*synchronize)(d4r_hip_stream stream);
    d4r_hip_error (*query)(d4r_hip_stream stream);
    d4r_hip_error (*host_function)(d4r_hip_stream stream, d4r_hip_host_fn function, void *user);
} hip;

static void find_symbols(void)
{
    *(void **)&hip.set_device = env_hip("hipSetDevice");
    *(void **)&hip.create = env_hip("hipStreamCreate");
    *(void **)&hip.create_plain = env_hip("hipStreamCreateWithPriority");
    *(void **)&hip.destroy = env_hip("hipStreamDestroy");
    *(void **)&hip.synchronize = env_hip("hipStreamSynchronize");
    *(void **)&hip.query = env_hip("hipStreamQuery");
    *(void **)&hip.host_function = env_hip("hipLaunchHostFunc");
}

static d4r_hip_stream create_stream(unsigned index)
{
    d4r_hip_stream stream = NULL;
    assert_int_equal(
        index & 1 ? hip.create(&stream) : hip.create_plain(&stream, D4R_HIP_STREAM_NON_BLOCKING, 0), 0);
    return stream;
}

/* ---- the same frames ---- */

enum { FRAMES = 4 };

/* The frames' pictures, one after the other; the last two in flight together. */
static uint8_t *pictures(const hip_variant *variant, void *stream, size_t *bytes)
{
    hip_rig h;
    uint8_t *all = NULL;
    *bytes = 0;
    assert_int_equal(hip_rig_open_on(&h, &device, model, variant, 60000, stream), D4R_OK);
    for (uint32_t n = 0; n < FRAMES; n++) {
        size_t size;
        rig_frame(&h.r, n);
        if (n == FRAMES - 2) continue;
        assert_true(rig_wait(&h.r, 60000));
        uint8_t *picture = rig_read(&h.r, &size);
        all = realloc(all, *bytes + size);
        assert_non_null(all);
        memcpy(all + *bytes, picture, size);
        *bytes += size;
        free(picture);
    }
    hip_rig_close(&h);
    return all;
}

static void same_frames(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HIP_VARIANTS; i += env_long() ? 1 : 7) {
        hip_variant variant = hip_variant_at(i);
        size_t bytes, own_bytes;
        env_reset("gfx1201");
        env_set("DELAY_US", "300");
        env_apply();
        d4r_hip_stream stream = create_stream(i);
        uint8_t *own = pictures(&variant, NULL, &own_bytes), *given = pictures(&variant, stream, &bytes);
        assert_int_equal(bytes, own_bytes);
        assert_memory_equal(own, given, bytes);
        /* The stream is all that is left, idle and alive. */
        assert_int_equal(env_live(), 1);
        assert_int_equal(hip.query(stream), 0);
        assert_int_equal(hip.destroy(stream), 0);
        printf("%s: as on a stream of its own\n", hip_variant_name(&variant));
        free(own);
        free(given);
    }
    assert_int_equal(device.messages, 0);
}

/* ---- order ---- */

typedef struct work {
    const d4r_frame *frame; /* NULL: one that outlives the engine */
    bool wait_for_frame;    /* ends when the frame has, or after ten seconds */
    atomic_int status;      /* the frame's at the end of this work */
} work;

static void do_work(void *user)
{
    work *w = user;
    for (int i = 0; w->wait_for_frame && i < 1000 && d4r_frame_status(w->frame) == D4R_PENDING; i++)
        test_sleep_ms(10);
    if (!w->wait_for_frame) test_sleep_ms(60);
    atomic_store(&w->status, w->frame ? d4r_frame_status(w->frame) : D4R_OK);
}

/* What ran on the stream, from the emulator's trace: 'h' a host function of the embedder's, 'k' a kernel. */
static void read_order(const char *path, d4r_hip_stream stream, char *order, size_t size)
{
    char line[1024], wanted[64];
    FILE *file = fopen(path, "r");
    size_t count = 0;
    assert_non_null(file);
    snprintf(wanted, sizeof wanted, "stream %p begins ", (void *)stream);
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, wanted);
        if (!at || count + 1 == size) continue;
        at += strlen(wanted);
        if (strncmp(at, "host function", 13) == 0) order[count++] = 'h';
        if (strncmp(at, "d4r_", 4) == 0) order[count++] = 'k';
    }
    order[count] = 0;
    fclose(file);
}

/* Until the network has enqueued its frame: `calls` HIP calls more than before, then quiet. */
static void wait_until_enqueued(uint64_t before, unsigned calls)
{
    for (int waited = 0; env_calls() < before + calls && waited < 20000; waited += 5) test_sleep_ms(5);
    for (uint64_t seen = 0; seen != env_calls();) {
        seen = env_calls();
        test_sleep_ms(20);
    }
}

static void in_order(void **state)
{
    char trace[] = "/tmp/d4r-trace-XXXXXX", order[256];
    int fd = mkstemp(trace);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (unsigned i = 0; i < HIP_VARIANTS; i += env_long() ? 1 : 5) {
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        env_reset("gfx1201");
        env_set("SLOW_MS", "%d", 40 * SLOWNESS);
        env_set("TRACE", "%s", trace);
        env_apply();
        d4r_hip_stream stream = create_stream(i);
        assert_int_equal(hip_rig_open_on(&h, &device, model, &variant, 60000, stream), D4R_OK);
        d4r_frame frame = rig_record(&h.r, 0);
        work before = {.frame = &frame}, after = {.frame = &frame, .wait_for_frame = true};
        assert_int_equal(hip.host_function(stream, do_work, &before), 0);
        uint64_t calls = env_calls();
        rig_queue(&h.r, 0, &frame);
        assert_int_equal(d4r_network_submit(&frame), D4R_OK);
        /* Ten launches and the event, or a graph of ten nodes. */
        wait_until_enqueued(calls, 11);
        assert_int_equal(d4r_frame_status(&frame), D4R_PENDING);
        /* It blocks the stream until the frame has ended: the frame must not wait for what is queued behind it. */
        assert_int_equal(hip.host_function(stream, do_work, &after), 0);
        assert_true(rig_wait(&h.r, 10000 * SLOWNESS));
        assert_int_equal(hip.synchronize(stream), 0);
        assert_int_equal(atomic_load(&before.status), D4R_PENDING);
        assert_int_equal(atomic_load(&after.status), D4R_OK);
        /* Work of 60 ms that nobody waits for does not stop the engine from going, nor does it get lost. */
        work last = {0};
        atomic_store(&last.status, D4R_PENDING);
        assert_int_equal(hip.host_function(stream, do_work, &last), 0);
        hip_rig_close(&h);
        assert_int_equal(hip.synchronize(stream), 0);
        assert_int_not_equal(atomic_load(&last.status), D4R_PENDING);
        assert_int_equal(hip.destroy(stream), 0);
        assert_int_equal(env_live(), 0);
        env_reset("gfx1201"); /* closes the trace */
        read_order(trace, stream, order, sizeof order);
        printf("%s: %s\n", hip_variant_name(&variant), order);
        assert_string_equal(order, "hkkkkkkkkkkhh");
    }
    unlink(trace);
    assert_int_equal(device.messages, 0);
}

/* ---- refusals and faults ---- */

static void other_devices(void **state)
{
    hip_variant variant = hip_variant_at(0);
    d4r_hip_stream stream;
    hip_rig h;
    (void)state;
    env_reset("gfx1201,gfx1100");
    assert_int_equal(hip.set_device(1), 0);
    stream = create_stream(0);
    assert_int_equal(hip.set_device(0), 0);
    hip_rig_error();
    assert_int_equal(hip_rig_open_on(&h, &device, model, &variant, 5000, stream), D4R_ERROR_ARGUMENT);
    assert_true(
        hip_rig_said("the given stream is of HIP device 1, the engine's Vulkan device is HIP device 0"));
    assert_int_equal(env_live(), 1);
    for (uintptr_t name = 1; name <= 2; name++) { /* hipStreamLegacy, hipStreamPerThread */
        hip_rig_error();
        assert_int_equal(hip_rig_open_on(&h, &device, model, &variant, 5000, (void *)name),
                         D4R_ERROR_ARGUMENT);
        assert_true(hip_rig_said("is a default stream"));
    }
    assert_int_equal(env_live(), 1);
    assert_int_equal(hip.destroy(stream), 0);
    assert_int_equal(device.messages, 0);
}

/* A launch, a record or the callback fails in the second frame: that frame is lost, the others and the stream are not. */
static void failures(void **state)
{
    static const struct {
        unsigned variant;
        const char *fail;
        d4r_status status; /* of the second frame */
    } cases[] = {{0, "hipModuleLaunchKernel:15", D4R_ERROR_NETWORK},
                 {2, "hipModuleLaunchKernel:15,hipEventRecord:2", D4R_ERROR_NETWORK},
                 {1, "hipEventRecord:2", D4R_ERROR_NETWORK},
                 {2, "hipEventRecord:2", D4R_OK},
                 {2, "hipStreamAddCallback:2", D4R_ERROR_NETWORK}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hip_variant variant = hip_variant_at(cases[i].variant);
        hip_rig h;
        env_reset("gfx1201");
        env_set("FAIL", "%s", cases[i].fail);
        env_set("SLOW_MS", "10");
        env_apply();
        d4r_hip_stream stream = create_stream(0);
        assert_int_equal(hip_rig_open_on(&h, &device, model, &variant, 20000, stream), D4R_OK);
        for (uint32_t n = 0; n < 3; n++) {
            assert_int_equal(rig_run(&h.r, n), n == 1 ? cases[i].status : D4R_OK);
            if (n == 1 && cases[i].status != D4R_OK)
                assert_int_equal(hip.query(stream), 0); /* nothing is left there */
        }
        hip_rig_close(&h);
        assert_int_equal(hip.synchronize(stream), 0);
        assert_int_equal(hip.destroy(stream), 0);
        assert_int_equal(env_live(), 0);
    }
    assert_int_equal(device.messages, 0);
}

/* The word of the first frame is lost (its fill left out), the stream waits for it: once the watchdog has given the frame
 * up, the embedder's stream goes on, long before another frame or the end of the engine. */
static void given_up_frame_frees_the_stream(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 4; i += 2) { /* marker, with the event and with the callback */
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        assert_int_equal(variant.strategy, D4R_HANDOFF_MARKER);
        env_reset("gfx1201");
        env_apply();
        d4r_hip_stream stream = create_stream(0);
        assert_int_equal(hip_rig_open_on(&h, &device, model, &variant, 500 * SLOWNESS, stream), D4R_OK);
        watch_leave_out(WATCH_WITHOUT_FILL);
        d4r_frame frame = rig_frame(&h.r, 0);
        /* Launched by the hand-off's thread, it waits there. */
        for (int n = 0; n < 400 * SLOWNESS && hip.query(stream) == 0; n++) test_sleep_ms(1);
        assert_int_not_equal(hip.query(stream), 0);
        assert_true(rig_wait(&h.r, 10000 * SLOWNESS));
        assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_TIMEOUT);
        const uint64_t begin = test_now_ms();
        while (hip.query(stream) != 0 && test_now_ms() - begin < (uint64_t)5000 * SLOWNESS) test_sleep_ms(5);
        assert_int_equal(hip.query(stream), 0);
        watch_leave_out(WATCH_ALL);
        hip_rig_close(&h);
        assert_int_equal(hip.destroy(stream), 0);
        assert_int_equal(env_live(), 0);
    }
    assert_int_equal(device.messages, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_frames),
        cmocka_unit_test(in_order),
        cmocka_unit_test(other_devices),
        cmocka_unit_test(failures),
        cmocka_unit_test(given_up_frame_frees_the_stream),
    };
    if (!vk_test_create(&device)) return 77;
    env_start();
    find_symbols();
    watch_init(&device);
    model = env_model(7);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    env_model_free(model);
    vk_test_destroy(&device);
    return failed;
}
