/* Vulkan and the emulated device together: both hand-off strategies, both kinds of completion, plain launches and
 * graphs give the same bytes; leaving out any one wait, event, edge or barrier is noticed; shutdown in every state. */
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/engine.h"
#include "tests/engine/test_model.h"
#include "tests/hip/hip_rig.h"
#include "vk_stages/stages_internal.h"

static vk_test device;
static d4r_model *model;

/* ---- the same bytes ---- */

enum { FRAMES = 6 };

/* One by one, then three in flight; the outputs one after the other. */
static uint8_t *sequence(rig *r, size_t *bytes)
{
    uint8_t *out = NULL;
    for (uint32_t n = 0; n < FRAMES; n++) {
        size_t size;
        if (n < 3) {
            assert_int_equal(rig_run(r, n), D4R_OK);
        } else {
            d4r_frame frame = rig_frame(r, n);
            if (n + 1 < FRAMES) continue;
            assert_true(rig_wait(r, 30000));
            assert_int_equal(d4r_frame_status(&frame), D4R_OK);
        }
        uint8_t *picture = rig_read(r, &size);
        out = realloc(out, *bytes + size);
        assert_non_null(out);
        memcpy(out + *bytes, picture, size);
        *bytes += size;
        free(picture);
    }
    return out;
}

static uint8_t *cpu_sequence(size_t *bytes)
{
    const d4r_cpu_network_params cpu = {.threads = 2};
    rig_params params = {.model = model, .render = {64, 64}, .output = {96, 64}};
    rig r;
    assert_int_equal(d4r_network_create_cpu(model, &cpu, NULL, &params.network), D4R_OK);
    rig_create(&r, &device, &params);
    assert_int_equal(r.status, D4R_OK);
    uint8_t *out = sequence(&r, bytes);
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    return out;
}

/* Share of bytes that differ; the network's codes may differ from the CPU's in one of 10,000 (test_layers.c). */
static double different(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += a[i] != b[i];
    return (double)count / (double)bytes;
}

static void check_variants(const char *arch, const uint8_t *cpu, size_t cpu_bytes)
{
    uint8_t *first = NULL;
    /* Preset K's frames take the emulator a second each: the first and the last variant, all in the long runs. */
    const unsigned step = test_preset() == D4R_PRESET_K && !env_long() ? HIP_VARIANTS - 1 : 1;
    for (unsigned i = 0; i < HIP_VARIANTS; i += step) {
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        size_t bytes = 0;
        env_reset(arch);
        env_set("DELAY_US", "300");
        env_set("SEED", "%u", i + 1);
        env_apply();
        assert_int_equal(hip_rig_open(&h, &device, model, &variant, 60000), D4R_OK);
        uint8_t *out = sequence(&h.r, &bytes);
        hip_rig_close(&h);
        assert_int_equal(env_live(), 0);
        assert_int_equal(bytes, cpu_bytes);
        if (!first)
            printf("%s: %.5f %% of the bytes differ from the CPU network's\n", arch,
                   100 * different(out, cpu, bytes));
        if (!first) assert_true(different(out, cpu, bytes) < (test_preset() == D4R_PRESET_K ? 1e-9 : 0.05));
        if (first) assert_memory_equal(out, first, bytes);
        printf("%s, %s: same bytes\n", arch, hip_variant_name(&variant));
        if (first)
            free(out);
        else
            first = out;
    }
    free(first);
}

static void variants(void **state)
{
    size_t bytes = 0;
    uint8_t *cpu = cpu_sequence(&bytes);
    (void)state;
    check_variants("gfx1201", cpu, bytes);
    check_variants("gfx1100", cpu, bytes);
    free(cpu);
    assert_int_equal(device.messages, 0);
}

/* Two engines with networks of their own on one device, their frames interleaved. */
static void two_networks(void **state)
{
    size_t bytes = 0, size;
    uint8_t *alone = cpu_sequence(&bytes);
    hip_variant a = hip_variant_at(0), b = hip_variant_at(7);
    hip_rig first, second;
    (void)state;
    env_reset("gfx1201");
    assert_int_equal(hip_rig_open(&first, &device, model, &a, 60000), D4R_OK);
    assert_int_equal(hip_rig_open(&second, &device, model, &b, 60000), D4R_OK);
    for (uint32_t n = 0; n < FRAMES; n++) {
        rig_frame(&first.r, n);
        rig_frame(&second.r, n);
        if (n >= 3) continue; /* then three in flight in each */
        assert_true(rig_wait(&first.r, 30000) && rig_wait(&second.r, 30000));
    }
    assert_true(rig_wait(&first.r, 30000) && rig_wait(&second.r, 30000));
    uint8_t *one = rig_read(&first.r, &size), *two = rig_read(&second.r, &size);
    assert_memory_equal(one, two, size);
    assert_memory_equal(one, alone + bytes - size, size);
    hip_rig_close(&first);
    hip_rig_close(&second);
    assert_int_equal(env_live(), 0);
    assert_int_equal(device.messages, 0);
    free(one);
    free(two);
    free(alone);
}

/* ---- mutants ---- */

typedef struct mutant {
    const char *name;
    hip_variant variant;
    const char *shim;      /* what the shim leaves out */
    watch_without without; /* what the device's commands lack */
    const char *seen;      /* how it is noticed */
} mutant;

#define HOST D4R_HANDOFF_HOST
#define MARKER D4R_HANDOFF_MARKER
#define EVENT D4R_HIP_COMPLETION_EVENT
#define CALLBACK D4R_HIP_COMPLETION_CALLBACK
#define PLAIN D4R_HIP_GRAPHS_OFF
#define GRAPHS D4R_HIP_GRAPHS_ON

static const mutant mutants[] = {
    {"nothing left out (host)", {HOST, EVENT, PLAIN}, NULL, WATCH_ALL, "ok"},
    {"nothing left out (marker)", {MARKER, CALLBACK, GRAPHS}, NULL, WATCH_ALL, "ok"},
    {"host: wait for A", {HOST, EVENT, PLAIN}, NULL, WATCH_WITHOUT_WAIT, "picture"},
    {"marker: the stream's wait for the word", {MARKER, EVENT, PLAIN}, "wait-value", WATCH_ALL, "picture"},
    {"marker: the word is written", {MARKER, EVENT, PLAIN}, NULL, WATCH_WITHOUT_FILL, "status"},
    {"event: the event's record", {HOST, EVENT, PLAIN}, "event-record", WATCH_ALL, "picture"},
    {"event: the wait for it", {HOST, EVENT, PLAIN}, "event-synchronize", WATCH_ALL, "picture"},
    {"event, marker: the wait for it", {MARKER, EVENT, GRAPHS}, "event-synchronize", WATCH_ALL, "picture"},
    {"callback: it is called early", {HOST, CALLBACK, PLAIN}, "callback-early", WATCH_ALL, "picture"},
    {"callback: it is never called", {HOST, CALLBACK, PLAIN}, "callback-never", WATCH_ALL, "status"},
    {"graphs: the edges", {HOST, EVENT, GRAPHS}, "graph-edges", WATCH_ALL, "picture"},
    {"B is signalled", {HOST, EVENT, PLAIN}, NULL, WATCH_WITHOUT_SIGNAL, "hang"},
};

typedef struct outcome {
    uint8_t *picture;
    size_t bytes;
    bool hang;
    d4r_status status;
} outcome;

/* How many times as long as on an idle machine a frame takes here, at least 1: for bounds that a healthy frame must
 * keep. Measured once, on the slowest path. */
static uint32_t patience(void)
{
    static uint32_t factor;
    if (factor) return factor;
    hip_variant variant = hip_variant_at(3);
    hip_rig h;
    uint64_t longest = 0;
    env_reset("gfx1201");
    assert_int_equal(hip_rig_open(&h, &device, model, &variant, 600000), D4R_OK);
    for (uint32_t n = 0; n < 3; n++) {
        uint64_t begin = test_now_ms();
        assert_int_equal(rig_run(&h.r, n), D4R_OK);
        if (test_now_ms() - begin > longest) longest = test_now_ms() - begin;
    }
    hip_rig_close(&h);
    factor = (uint32_t)(longest / 100) + SLOWNESS;
    return factor;
}

/* Two frames whose tokens come late and whose kernels are slow, so that a missing wait is seen for certain: the
 * network is told 40 ms before the front runs, and each of ten launches starts 10 ms after the one before. */
static outcome late_frames(const mutant *m)
{
    const uint32_t k = patience(); /* before anything is set */
    outcome o = {.status = D4R_OK};
    hip_rig h;
    env_reset("gfx1201");
    env_set("SLOW_MS", "10");
    env_apply();
    env_mutate(m->shim);
    watch_leave_out(m->without);
    assert_int_equal(hip_rig_open(&h, &device, model, &m->variant, 1500 * k), D4R_OK);
    for (uint32_t n = 0; n < 2 && !o.hang && o.status == D4R_OK; n++) {
        d4r_frame frame = rig_record(&h.r, n);
        assert_int_equal(d4r_network_submit(&frame), D4R_OK);
        test_sleep_ms(40);
        rig_queue(&h.r, n, &frame);
        o.hang = !rig_wait(&h.r, 4000 * k);
        o.status = d4r_frame_status(&frame);
        if (!o.hang) continue;
        /* Let the queue go, or nothing can be destroyed. */
        VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                      .semaphore = frame.timeline,
                                      .value = frame.head_ready};
        device.vk.fn.vkSignalSemaphore(device.device, &info);
    }
    assert_true(rig_wait(&h.r, 10000 * k));
    o.picture = rig_read(&h.r, &o.bytes);
    hip_rig_close(&h);
    watch_leave_out(WATCH_ALL);
    env_mutate(NULL);
    return o;
}

/* What the CPU network makes of the same two frames. */
static uint8_t *cpu_late_frames(size_t bytes)
{
    const d4r_cpu_network_params cpu = {.threads = 2};
    rig_params params = {.model = model, .render = {64, 64}, .output = {96, 64}};
    rig r;
    size_t size;
    assert_int_equal(d4r_network_create_cpu(model, &cpu, NULL, &params.network), D4R_OK);
    rig_create(&r, &device, &params);
    assert_int_equal(r.status, D4R_OK);
    for (uint32_t n = 0; n < 2; n++) assert_int_equal(rig_run(&r, n), D4R_OK);
    uint8_t *picture = rig_read(&r, &size);
    assert_int_equal(size, bytes);
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    return picture;
}

static const char *compare(const outcome *o, const outcome *good)
{
    if (o->hang) return "hang";
    if (o->status != D4R_OK) return "status";
    return memcmp(o->picture, good->picture, good->bytes) == 0 ? "ok" : "picture";
}

static void each_wait_is_needed(void **state)
{
    unsigned messages = device.messages;
    (void)state;
    device.quiet = true; /* the layer may notice a mutant too */
    outcome good = late_frames(&mutants[0]);
    assert_int_equal(good.status, D4R_OK);
    for (size_t i = 1; i < sizeof mutants / sizeof *mutants; i++) {
        outcome o = late_frames(&mutants[i]);
        const char *seen = compare(&o, &good);
        printf("%-40s %s\n", mutants[i].name, seen);
        /* How a mutant is noticed may depend on the machine's load; that it is may not. */
        assert_true((strcmp(seen, "ok") == 0) == (strcmp(mutants[i].seen, "ok") == 0));
        free(o.picture);
        assert_int_equal(env_live(), 0);
        if (i == 1) assert_int_equal(device.messages, messages);
    }
    device.quiet = false;
    device.messages = messages;
    free(good.picture);
}

/* The variants between them have every wait of the path; tests/hip/mutants.sh removes each from the sources. */
static void late_frames_are_right(void **state)
{
    static const unsigned indices[] = {0, 1, 3, 6};
    uint8_t *good = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        const mutant none = {.variant = hip_variant_at(indices[i])};
        outcome o = late_frames(&none);
        assert_false(o.hang);
        assert_int_equal(o.status, D4R_OK);
        assert_int_equal(env_live(), 0);
        if (!good) good = cpu_late_frames(o.bytes);
        assert_true(different(o.picture, good, o.bytes) < 0.05);
        free(o.picture);
    }
    free(good);
    assert_int_equal(device.messages, 0);
}

/* Kernels of which the emulator's trace says `what`. */
static int kernels(const char *trace, const char *what)
{
    char line[1024];
    int count = 0;
    FILE *file = fopen(trace, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) count += strstr(line, what) != NULL;
    fclose(file);
    return count;
}

/* A launch in the middle of the second frame fails. Its layers before the failed one have ended when the frame has,
 * and a stream that waits for the marker of a front which is not even queued holds nobody up. */
static void failed_launch_leaves_nothing(void **state)
{
    char trace[] = "/tmp/d4r-trace-XXXXXX";
    int fd = mkstemp(trace);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (unsigned i = 0; i < 4; i += 3) {
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        env_reset("gfx1201");
        env_set("SLOW_MS", "40");
        env_set("TRACE", "%s", trace);
        env_set("FAIL", "hipModuleLaunchKernel:15");
        env_apply();
        assert_int_equal(hip_rig_open(&h, &device, model, &variant, 20000), D4R_OK);
        assert_int_equal(rig_run(&h.r, 0), D4R_OK);
        d4r_frame frame = rig_record(&h.r, 1);
        assert_int_equal(d4r_network_submit(&frame), D4R_OK);
        /* The stream that waits for the word is let go although nobody has written it. */
        for (int waited = 0; i && kernels(trace, " ends d4r_") < 14; waited += 10) {
            assert_true(waited < 3000 * SLOWNESS);
            test_sleep_ms(10);
        }
        rig_queue(&h.r, 1, &frame);
        assert_true(rig_wait(&h.r, 20000));
        assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_NETWORK);
        assert_int_equal(kernels(trace, " ends d4r_"), 14);
        assert_int_equal(kernels(trace, " begins d4r_"), 14);
        env_set("TRACE", "%s", "/dev/null");
        assert_int_equal(rig_run(&h.r, 2), D4R_OK);
        hip_rig_close(&h);
        assert_int_equal(env_live(), 0);
    }
    unlink(trace);
    assert_int_equal(device.messages, 0);
}

/* The watchdog's own: without it a hung kernel holds the frame for as long as it hangs. */
static void watchdog_is_needed(void **state)
{
    const uint32_t k = patience();
    (void)state;
    for (unsigned i = 0; i < 4; i += env_long() ? 1 : 3) {
        hip_variant variant = hip_variant_at(i);
        for (int with = 1; with >= 0; with--) {
            hip_rig h;
            env_reset("gfx1201");
            env_set("HANG", "13");
            env_set("HANG_MS", "%d", (with ? 1000 : 2500) * (int)k);
            env_apply();
            assert_int_equal(hip_rig_open(&h, &device, model, &variant, with ? 400 * k : 600000), D4R_OK);
            assert_int_equal(rig_run(&h.r, 0), D4R_OK);
            uint64_t begin = test_now_ms();
            d4r_frame frame = rig_frame(&h.r, 1);
            assert_int_equal(rig_wait(&h.r, 1500 * k), with);
            if (with) {
                assert_true(test_now_ms() - begin >= 400 * k);
                assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_TIMEOUT);
            } else {
                assert_int_equal(d4r_frame_status(&frame), D4R_PENDING);
                assert_true(rig_wait(&h.r, 10000 * k)); /* the device is lost, which ends the frame */
                assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_NETWORK);
            }
            /* Behind it: not a hang, but an error each, because the device is gone. */
            assert_int_not_equal(rig_run(&h.r, 2), D4R_OK);
            hip_rig_close(&h);
            assert_int_equal(env_live(), 0);
        }
        printf("%s: bounded by the watchdog alone\n", hip_variant_name(&variant));
    }
}

/* A network whose first job lasts until it is cancelled, and whose cancel takes longer than that. */
typedef struct slow_cancel {
    atomic_bool cancelled, cancelling, overlapped;
    atomic_uint runs;
} slow_cancel;

static d4r_status slow_attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    (void)user, (void)buffers, (void)log;
    return D4R_OK;
}

static d4r_status slow_run(void *user, const d4r_network_job *job)
{
    slow_cancel *s = user;
    if (atomic_load(&s->cancelling)) atomic_store(&s->overlapped, true);
    atomic_fetch_add(&s->runs, 1);
    while (job->frame == 0 && !atomic_load(&s->cancelled)) test_sleep_ms(1);
    return D4R_OK;
}

static void slow_end(void *user, uint64_t frame)
{
    slow_cancel *s = user;
    (void)frame;
    atomic_store(&s->cancelling, true);
    atomic_store(&s->cancelled, true);
    test_sleep_ms(200);
    atomic_store(&s->cancelling, false);
}

/* The HIP network's cancel lets the stream go on past the marker of the frame that it finds current: the next frame must
 * not become that while a cancel is under way. */
static void cancel_keeps_the_next_job_back(void **state)
{
    slow_cancel s = {0};
    const d4r_network_callbacks callbacks = {.user = &s,
                                             .name = "slow",
                                             .needs_host_map = true,
                                             .watchdog_ms = 300,
                                             .attach = slow_attach,
                                             .run = slow_run,
                                             .cancel = slow_end};
    rig_params params = {.model = model, .render = {64, 64}, .output = {96, 64}};
    rig r;
    (void)state;
    assert_int_equal(d4r_network_create(&callbacks, NULL, &params.network), D4R_OK);
    rig_create(&r, &device, &params);
    assert_int_equal(r.status, D4R_OK);
    d4r_frame frame = rig_frame(&r, 0);
    while (!atomic_load(&s.cancelled)) test_sleep_ms(1);
    d4r_frame next = rig_frame(&r, 1);
    assert_true(rig_wait(&r, 20000));
    assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_TIMEOUT);
    /* Whoever is first, the watchdog or the job's thread: failed at once, or run. */
    assert_true(d4r_frame_status(&next) == D4R_OK || d4r_frame_status(&next) == D4R_ERROR_NETWORK);
    assert_int_equal(rig_run(&r, 2), D4R_OK);
    assert_false(atomic_load(&s.overlapped));
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    assert_int_equal(device.messages, 0);
}

/* The bound counts from A in both strategies: a front that is queued late is no hang. In the marker strategy this is
 * what the wait for A is there for. */
static d4r_status queued_late(const hip_variant *variant, watch_without without)
{
    hip_rig h;
    env_reset("gfx1201");
    watch_leave_out(without);
    assert_int_equal(hip_rig_open(&h, &device, model, variant, 1000), D4R_OK);
    d4r_frame frame = rig_record(&h.r, 0);
    assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    test_sleep_ms(1300);
    d4r_status status = d4r_frame_status(&frame);
    if (status == D4R_PENDING) {
        rig_queue(&h.r, 0, &frame);
        assert_true(rig_wait(&h.r, 10000));
        status = d4r_frame_status(&frame);
    }
    hip_rig_close(&h);
    watch_leave_out(WATCH_ALL);
    return status;
}

static void watchdog_starts_at_a(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        hip_variant variant = hip_variant_at(i);
        assert_int_equal(queued_late(&variant, WATCH_ALL), D4R_OK);
    }
    /* Without its wait for A the marker strategy takes the late front for a hang. The timeline of this engine would be
     * signalled out of order if the front ran now, so it is not queued. */
    hip_variant marker = hip_variant_at(1);
    assert_int_equal(queued_late(&marker, WATCH_WITHOUT_WAIT), D4R_ERROR_TIMEOUT);
}

/* ---- barriers ---- */

static bool is_transfer(const watch_command *c, bool release)
{
    uint32_t external = release ? c->buffers[0].dstQueueFamilyIndex : c->buffers[0].srcQueueFamilyIndex;
    return c->kind == WATCH_BARRIER && c->buffer_count == 2 && external == VK_QUEUE_FAMILY_EXTERNAL;
}

static void check_transfer(const watch_command *c, bool release, const d4r_engine *engine)
{
    const VkBuffer wanted[2] = {engine->shared.tokens.buffer, engine->shared.head.buffer};
    for (int i = 0; i < 2; i++) {
        const VkBufferMemoryBarrier *b = &c->buffers[i];
        assert_true(b->buffer == wanted[i]);
        assert_int_equal(b->offset, 0);
        assert_true(b->size == VK_WHOLE_SIZE);
        assert_int_equal(release ? b->srcQueueFamilyIndex : b->dstQueueFamilyIndex, device.family);
        assert_int_equal(release ? b->dstQueueFamilyIndex : b->srcQueueFamilyIndex, VK_QUEUE_FAMILY_EXTERNAL);
        if (release)
            assert_true(b->srcAccessMask & VK_ACCESS_SHADER_WRITE_BIT);
        else
            assert_true(b->dstAccessMask & VK_ACCESS_SHADER_READ_BIT);
    }
    assert_true((release ? c->from : c->to) & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    /* What the submission's wait for B delays: only so does the barrier come after the wait. */
    if (!release) assert_true(c->from & VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
}

/* Index of the first command from `at` on that fits; count when none does. */
static uint32_t find_transfer(const watch_command *c, uint32_t count, uint32_t at, bool release)
{
    while (at < count && !is_transfer(&c[at], release)) at++;
    return at;
}

/* front: ... dispatch, release [, barrier, word, barrier]; back: acquire, dispatch ... Returns whether it is so. */
static bool commands_are_right(hip_rig *h, uint32_t n, bool marker, bool check)
{
    uint32_t count;
    watch_record();
    d4r_frame frame = rig_record(&h->r, n);
    const watch_command *c = watch_commands(&count);
    uint32_t release = find_transfer(c, count, 0, true), acquire = find_transfer(c, count, release, false);
    bool right = release < count && acquire < count;
    if (right && check) {
        check_transfer(&c[release], true, h->r.engine);
        check_transfer(&c[acquire], false, h->r.engine);
        assert_int_equal(find_transfer(c, count, release + 1, true), count);
        assert_int_equal(find_transfer(c, count, acquire + 1, false), count);
        for (uint32_t i = release; i < acquire; i++) assert_true(c[i].kind != WATCH_DISPATCH);
        bool before = false, after = false;
        for (uint32_t i = 0; i < release; i++) before = before || c[i].kind == WATCH_DISPATCH;
        for (uint32_t i = acquire; i < count; i++) after = after || c[i].kind == WATCH_DISPATCH;
        assert_true(before && after);
    }
    uint32_t fill = release;
    while (fill < acquire && !(c[fill].kind == WATCH_FILL && c[fill].fill_size == 4)) fill++;
    if (right) assert_int_equal(fill < acquire, marker);
    if (marker && check) {
        assert_int_equal(c[fill].value, frame.tokens_ready);
        assert_true(c[fill].filled == h->r.engine->marker.buffer);
        assert_true(c[fill - 1].kind == WATCH_BARRIER && c[fill - 1].to & VK_PIPELINE_STAGE_TRANSFER_BIT);
        assert_true(c[fill - 1].memory.srcAccessMask & VK_ACCESS_MEMORY_WRITE_BIT);
        assert_true(c[fill + 1].kind == WATCH_BARRIER && c[fill + 1].to & VK_PIPELINE_STAGE_HOST_BIT);
        assert_true(c[fill + 1].memory.dstAccessMask & VK_ACCESS_HOST_READ_BIT);
    }
    assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    return right;
}

static void external_barriers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        env_reset("gfx1201");
        assert_int_equal(hip_rig_open(&h, &device, model, &variant, 5000), D4R_OK);
        for (uint32_t n = 0; n < 2; n++) assert_true(commands_are_right(&h, n, i == 1, true));
        /* The mutants: without either of the two the check above fails. */
        watch_leave_out(WATCH_WITHOUT_RELEASE);
        assert_false(commands_are_right(&h, 2, false, false));
        watch_leave_out(WATCH_WITHOUT_ACQUIRE);
        assert_false(commands_are_right(&h, 3, false, false));
        watch_leave_out(WATCH_ALL);
        hip_rig_close(&h);
    }
    assert_int_equal(device.messages, 0);
}

/* ---- shutdown ---- */

typedef enum end_state {
    END_IDLE,
    END_RECORDED,  /* recorded, never submitted anywhere */
    END_PROMISED,  /* the network was told, the front never comes */
    END_RUNNING,   /* in the middle of the network, two more behind it */
    END_LAUNCH,    /* a launch failed */
    END_LOST,      /* the device was lost in the middle */
    END_HUNG,      /* a kernel hangs until the device is lost */
    END_DISCARDED, /* one frame ran, one was discarded */
    END_STATES
} end_state;

static const char *const end_names[END_STATES] = {"idle",          "recorded", "promised", "running",
                                                  "failed launch", "lost",     "hung",     "discarded"};

static void settings_for(end_state end)
{
    env_reset("gfx1201");
    if (end == END_RUNNING) env_set("SLOW_MS", "10");
    if (end == END_LAUNCH) env_set("FAIL", "hipModuleLaunchKernel:14,hipGraphLaunch:2");
    if (end == END_LOST) env_set("LOST", "14");
    if (end == END_HUNG) env_set("HANG", "14");
    if (end == END_HUNG) env_set("HANG_MS", "1000");
    env_apply();
}

static void shut_down(const hip_variant *variant, end_state end)
{
    hip_rig h;
    settings_for(end);
    assert_int_equal(hip_rig_open(&h, &device, model, variant, end == END_PROMISED ? 300 : 3000), D4R_OK);
    if (end != END_RUNNING && end != END_PROMISED && end != END_RECORDED)
        assert_int_equal(rig_run(&h.r, 0), D4R_OK);
    d4r_frame frame = {0};
    if (end != END_IDLE) frame = rig_record(&h.r, 1);
    if (end == END_DISCARDED) assert_int_equal(d4r_frame_discard(&frame), D4R_OK);
    if (end == END_PROMISED) assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    if (end >= END_RUNNING && end <= END_HUNG) {
        rig_queue(&h.r, 1, &frame);
        assert_int_equal(d4r_network_submit(&frame), D4R_OK);
        if (end == END_RUNNING) {
            rig_frame(&h.r, 2);
            rig_frame(&h.r, 3);
        }
        /* A failed frame's back may be running: that is the caller's to wait for. */
        if (end == END_LAUNCH || end == END_LOST) assert_true(rig_wait(&h.r, 10000));
        test_sleep_ms(end == END_HUNG ? 100 : 30);
    }
    uint64_t begin = test_now_ms();
    d4r_engine_destroy(&h.r.engine);
    uint64_t took = test_now_ms() - begin;
    hip_rig_close(&h);
    printf("%s, %s: %u ms, %u HIP objects left\n", hip_variant_name(variant), end_names[end], (unsigned)took,
           (unsigned)env_live());
    assert_true(took < 6000);
    assert_int_equal(env_live(), 0);
    assert_int_equal(device.messages, 0);
}

static void every_shutdown(void **state)
{
    (void)state;
    unsigned fds = env_fds();
    /* host, event, plain; marker, callback, plain; marker, callback, graphs */
    static const unsigned indices[] = {0, 3, 7};
    for (unsigned i = 0; i < 3; i++)
        for (int end = 0; end < END_STATES; end++) {
            hip_variant variant = hip_variant_at(indices[i]);
            if (i > 1 && end == END_RECORDED) continue; /* takes two seconds, and HIP has no part in it */
            shut_down(&variant, (end_state)end);
        }
    assert_int_equal(env_fds(), fds);
}

/* A kernel that hangs for longer than anyone waits: destroy comes back, leaves the memory alone, and when the kernel
 * ends at last, the job's own thread cleans up. A device of its own, because its buffers are lost. */
static void hung_for_long(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i += 3) {
        hip_variant variant = hip_variant_at(i);
        vk_test lost;
        hip_rig h;
        assert_true(vk_test_create(&lost));
        watch_init(&lost);
        env_reset("gfx1201");
        env_set("HANG", "2");
        env_set("HANG_MS", "5000");
        env_apply();
        assert_int_equal(hip_rig_open(&h, &lost, model, &variant, 300), D4R_OK);
        d4r_frame frame = rig_frame(&h.r, 0);
        assert_true(rig_wait(&h.r, 4000));
        assert_int_equal(d4r_frame_status(&frame), D4R_ERROR_TIMEOUT);
        uint64_t begin = test_now_ms();
        d4r_engine_destroy(&h.r.engine);
        assert_true(test_now_ms() - begin < 4500);
        assert_true(hip_rig_said("has not come back"));
        hip_rig_error();
        hip_rig_close(&h);
        assert_true(env_live() > 0);
        for (int waited = 0; env_live() && waited < 15000; waited += 50) test_sleep_ms(50);
        assert_int_equal(env_live(), 0);
        test_sleep_ms(100); /* the thread's last steps */
        watch_init(&device);
        /* The shared buffers stay allocated for ever on this device; the layer says so when it goes. */
        lost.quiet = true;
        vk_test_destroy(&lost);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variants),
        cmocka_unit_test(two_networks),
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(late_frames_are_right),
        cmocka_unit_test(failed_launch_leaves_nothing),
        cmocka_unit_test(watchdog_is_needed),
        cmocka_unit_test(cancel_keeps_the_next_job_back),
        cmocka_unit_test(watchdog_starts_at_a),
        cmocka_unit_test(external_barriers),
        cmocka_unit_test(every_shutdown),
        cmocka_unit_test(hung_for_long),
    };
    if (!vk_test_create(&device)) return 77;
    env_start();
    watch_init(&device);
    model = env_model(7);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    env_model_free(model);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
