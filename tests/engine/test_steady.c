/* Steady state: no allocation, no submission, no wait, no readback by the library; and every barrier is needed.
 *
 * This program is linked with --wrap for the allocator, which catches exactly the calls of the library's own objects:
 * the driver is a shared library and not touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/engine.h"
#include "tests/engine/rig.h"
#include "tests/engine/test_model.h"
#include "vk_stages/stages_internal.h"

static vk_test device;
static d4r_model *model;

/* ---- counting ---- */

static atomic_uint host_calls, vulkan_calls, forbidden_calls;
static atomic_uint fail_at = UINT32_MAX; /* host allocation that returns NULL */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool count_host(void)
{
    return atomic_fetch_add(&host_calls, 1) == atomic_load(&fail_at);
}

void *__wrap_malloc(size_t size)
{
    return count_host() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return count_host() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return count_host() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return count_host() ? NULL : __real_aligned_alloc(alignment, size);
}

static VKAPI_ATTR void *VKAPI_CALL vk_allocate(void *user, size_t size, size_t alignment,
                                               VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    atomic_fetch_add(&vulkan_calls, 1);
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return __real_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static VKAPI_ATTR void *VKAPI_CALL vk_reallocate(void *user, void *old, size_t size, size_t alignment,
                                                 VkSystemAllocationScope scope)
{
    void *memory;
    (void)user;
    (void)scope;
    (void)alignment;
    atomic_fetch_add(&vulkan_calls, 1);
    memory = __real_realloc(old, size);
    return memory;
}

static VKAPI_ATTR void VKAPI_CALL vk_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static const VkAllocationCallbacks allocator = {
    .pfnAllocation = vk_allocate, .pfnReallocation = vk_reallocate, .pfnFree = vk_free};

/* ---- */

static VkResult forbidden(void)
{
    atomic_fetch_add(&forbidden_calls, 1);
    return VK_ERROR_UNKNOWN;
}

/* Every device command but the ones that record: the engine may call none of them while recording. */
static void trap(struct VolkDeviceTable *fn)
{
#define TRAP(name) fn->name = (PFN_##name)(void (*)(void))forbidden;
    TRAP(vkAllocateDescriptorSets)
    TRAP(vkAllocateMemory)
    TRAP(vkCreateBuffer)
    TRAP(vkCreateDescriptorPool)
    TRAP(vkCreateImage)
    TRAP(vkCreateImageView)
    TRAP(vkDeviceWaitIdle)
    TRAP(vkGetFenceStatus)
    TRAP(vkGetQueryPoolResults)
    TRAP(vkGetSemaphoreCounterValue)
    TRAP(vkMapMemory)
    TRAP(vkQueueSubmit)
    TRAP(vkQueueWaitIdle)
    TRAP(vkSignalSemaphore)
    TRAP(vkUpdateDescriptorSets)
    TRAP(vkWaitForFences)
    TRAP(vkWaitSemaphores)
#undef TRAP
}

/* checks: validation mode and debug view, which look at the timeline's value, but do not wait for it. */
static void run_steadily(bool checks)
{
    d4r_network *network = NULL;
    d4r_cpu_network_params cpu = {.threads = 2};
    rig_params params = {.model = model,
                         .render = {64, 64},
                         .output = {128, 96},
                         .allocator = &allocator,
                         .validate = checks,
                         .debug_view = checks};
    struct VolkDeviceTable saved;
    rig r;
    unsigned host, vulkan;
    assert_int_equal(d4r_network_create_cpu(model, &cpu, NULL, &network), D4R_OK);
    params.network = network;
    rig_create(&r, &device, &params);
    assert_int_equal(r.status, D4R_OK);
    assert_true(atomic_load(&host_calls) > 0 && atomic_load(&vulkan_calls) > 0); /* the counters do count */
    for (uint32_t n = 0; n < 3; n++) assert_int_equal(rig_run(&r, n), D4R_OK);
    host = atomic_load(&host_calls);
    vulkan = atomic_load(&vulkan_calls);
    saved = r.engine->vk.fn;
    trap(&r.engine->vk.fn);
    if (checks) r.engine->vk.fn.vkGetSemaphoreCounterValue = saved.vkGetSemaphoreCounterValue;
    for (uint32_t n = 3; n < 23; n++) assert_int_equal(rig_run(&r, n), D4R_OK);
    r.engine->vk.fn = saved;
    assert_int_equal(atomic_load(&host_calls), host);
    assert_int_equal(atomic_load(&vulkan_calls), vulkan);
    assert_int_equal(atomic_load(&forbidden_calls), 0);
    rig_destroy(&r);
    d4r_network_destroy(&network);
    assert_int_equal(device.messages, 0);
}

static void no_allocation(void **state)
{
    (void)state;
    run_steadily(false);
}

static void no_allocation_with_checks(void **state)
{
    (void)state;
    run_steadily(true);
}

/* Every host allocation of a creation fails once: D4R_ERROR_MEMORY, and nothing is left behind (the device's end and
 * the leak checker would see it). */
static void host_memory_exhausted(void **state)
{
    d4r_cpu_network_params cpu = {.threads = 2};
    unsigned n;
    bool failed = true;
    (void)state;
    for (n = 0; failed; n++) {
        d4r_network *network = NULL;
        d4r_engine *engine = NULL;
        rig_params params = {
            .model = model, .render = {64, 64}, .output = {128, 96}, .validate = true, .debug_view = true};
        d4r_engine_params engine_params;
        d4r_status status;
        unsigned start = atomic_load(&host_calls);
        atomic_store(&fail_at, start + n);
        status = d4r_network_create_cpu(model, &cpu, NULL, &network);
        params.network = network;
        engine_params = rig_engine_params(&device, &params);
        if (status == D4R_OK) status = d4r_engine_create(&engine_params, &engine);
        failed = atomic_load(&host_calls) > start + n;
        atomic_store(&fail_at, UINT32_MAX);
        assert_int_equal(status, failed ? D4R_ERROR_MEMORY : D4R_OK);
        d4r_engine_destroy(&engine);
        d4r_network_destroy(&network);
    }
    assert_true(n > 5);
    assert_int_equal(device.messages, 0);
}

/* ---- barriers ---- */

static PFN_vkCmdPipelineBarrier real_barrier;
static unsigned barrier_count;
static uint64_t barriers_skipped; /* bit mask */
static bool weaken_transitions;

/* Leaves out barriers; layout transitions stay, as without them the images could not be used at all, but may lose what
 * orders them after earlier writes. */
static VKAPI_ATTR void VKAPI_CALL skipping_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                                   VkPipelineStageFlags to, VkDependencyFlags flags,
                                                   uint32_t memory_count, const VkMemoryBarrier *memory,
                                                   uint32_t buffer_count,
                                                   const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                                                   const VkImageMemoryBarrier *images)
{
    VkImageMemoryBarrier weak[64];
    if (image_count == 0 && (barriers_skipped >> barrier_count++ & 1)) return;
    if (weaken_transitions && image_count > 0 && image_count <= 64) {
        memcpy(weak, images, image_count * sizeof *images);
        for (uint32_t i = 0; i < image_count; i++) weak[i].srcAccessMask = 0;
        images = weak;
        memory_count = 0;
    }
    real_barrier(commands, from, to, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

static void patch(rig *r, uint64_t skipped)
{
    real_barrier = r->engine->vk.fn.vkCmdPipelineBarrier;
    r->engine->vk.fn.vkCmdPipelineBarrier = skipping_barrier;
    barrier_count = 0;
    barriers_skipped = skipped;
    device.last[0] = 0;
}

static d4r_frame record_both(rig *r, uint32_t n, VkCommandBuffer commands)
{
    d4r_frame_images images = rig_images(r);
    d4r_frame_settings settings = rig_settings(r, n);
    d4r_frame frame;
    assert_int_equal(d4r_engine_record_front(r->engine, commands, &images, &settings, &frame), D4R_OK);
    assert_int_equal(d4r_engine_record_back(r->engine, commands, &frame), D4R_OK);
    return frame;
}

/* Two frames in one command buffer, where validation follows every access; in the second some barriers are left out.
 * It is never submitted. */
static unsigned messages_without(rig *r, uint64_t skipped)
{
    unsigned before = device.messages;
    VkCommandBuffer commands = vk_test_begin(&device);
    d4r_frame frames[2];
    frames[0] = record_both(r, 0, commands);
    patch(r, skipped);
    frames[1] = record_both(r, 1, commands);
    r->engine->vk.fn.vkCmdPipelineBarrier = real_barrier;
    device.vk.fn.vkEndCommandBuffer(commands);
    device.vk.fn.vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
    assert_int_equal(d4r_frame_discard(&frames[1]), D4R_OK);
    assert_int_equal(d4r_frame_discard(&frames[0]), D4R_OK);
    return device.messages - before;
}

/* In the order of recording, preset M; K's second frame keeps the exposure and has one stage behind the network. */
enum {
    FRAME_START,      /* after the stages of the frame before */
    AFTER_PARAMETERS, /* parameters were copied */
    AFTER_SUM,        /* exposure: sums */
    AFTER_EXPOSURE,
    RELEASE, /* to the network */
    ACQUIRE, /* from the network */
    BACK_START,
    AFTER_EXPANSION,
    AFTER_RECONSTRUCTION,
    BARRIERS
};

static bool has_barrier(int barrier)
{
    return test_preset() == D4R_PRESET_M ||
           (barrier != AFTER_SUM && barrier != AFTER_EXPANSION && barrier != AFTER_RECONSTRUCTION);
}

/* How many there are before a barrier. */
static unsigned place_of(int barrier)
{
    unsigned place = 0;
    for (int i = 0; i < barrier; i++) place += has_barrier(i);
    return place;
}

/* 0: there is none. */
static uint64_t without(int barrier)
{
    return has_barrier(barrier) ? 1ull << place_of(barrier) : 0;
}

/* Validation sees a hazard when a barrier is missing. Release and acquire chain through the host's stage, which orders
 * front and back too: one of that chain and of BACK_START is enough. What the host itself reads and writes is outside
 * of what validation tracks. */
static void barriers_are_needed(void **state)
{
    const uint64_t cases[] = {without(FRAME_START),
                              without(AFTER_PARAMETERS),
                              without(AFTER_SUM),
                              without(AFTER_EXPOSURE),
                              without(AFTER_EXPANSION),
                              without(AFTER_RECONSTRUCTION),
                              without(ACQUIRE) | without(BACK_START),
                              without(RELEASE) | without(BACK_START)};
    script s;
    rig r;
    rig_params params = {.model = model, .render = {64, 64}, .output = {128, 96}};
    (void)state;
    script_init(&s);
    params.network = script_network(&s, 5000);
    rig_create(&r, &device, &params);
    assert_int_equal(messages_without(&r, 0), 0);
    assert_int_equal(barrier_count, place_of(BARRIERS));
    device.quiet = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!cases[i]) continue;
        unsigned messages = messages_without(&r, cases[i]);
        if (getenv("D4R_TEST_VERBOSE"))
            printf("without 0x%llx: %u messages\n", (unsigned long long)cases[i], messages);
        assert_true(messages > 0);
        assert_non_null(strstr(device.last, "SYNC-HAZARD"));
    }
    device.quiet = false;
    device.messages = 0;
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
}

/* The same of the validation mode's and the debug view's own barriers, in the order of recording. What the host reads
 * of the ring is outside of what validation tracks. */
static void barriers_of_checks_are_needed(void **state)
{
    enum { PARAMETERS, PREPARED, MEASURED, TO_HOST, CHECKS };
    const unsigned first = place_of(AFTER_EXPOSURE) + 1, aged = place_of(BARRIERS) + CHECKS;
    const uint64_t cases[] = {1ull << (first + PARAMETERS), 1ull << (first + PREPARED),
                              1ull << (first + MEASURED), 1ull << aged};
    script s;
    rig r;
    rig_params params = {
        .model = model, .render = {64, 64}, .output = {128, 96}, .validate = true, .debug_view = true};
    (void)state;
    script_init(&s);
    params.network = script_network(&s, 5000);
    rig_create(&r, &device, &params);
    assert_int_equal(messages_without(&r, 0), 0);
    assert_int_equal(barrier_count, aged + 1);
    device.quiet = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned messages = messages_without(&r, cases[i]);
        if (messages == 0)
            fail_msg("nothing is reported without barrier 0x%llx", (unsigned long long)cases[i]);
        assert_non_null(strstr(device.last, "SYNC-HAZARD"));
    }
    device.quiet = false;
    device.messages = 0;
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
}

/* The same between submissions, which only the queue-submit mode sees: a reset's transitions of images that the frame
 * before wrote. */
static void hazards_between_submissions(void **state)
{
    script s;
    rig r;
    rig_params params = {.model = model, .render = {64, 64}, .output = {128, 96}};
    (void)state;
    script_init(&s);
    params.network = script_network(&s, 5000);
    s.actions[1] = s.actions[3] = SCRIPT_FAIL; /* so that frames 2 and 4 reset */
    rig_create(&r, &device, &params);
    for (uint32_t n = 0; n < 4; n++) rig_run(&r, n);
    assert_int_equal(device.messages, 0);
    device.quiet = true;
    patch(&r, 0);
    weaken_transitions = true;
    rig_run(&r, 4);
    weaken_transitions = false;
    assert_true(device.messages > 0);
    assert_non_null(strstr(device.last, "vkQueueSubmit"));
    device.quiet = false;
    device.messages = 0;
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(3);
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
        cmocka_unit_test(no_allocation),
        cmocka_unit_test(no_allocation_with_checks),
        cmocka_unit_test(host_memory_exhausted),
        cmocka_unit_test(barriers_are_needed),
        cmocka_unit_test(barriers_of_checks_are_needed),
        cmocka_unit_test(hazards_between_submissions),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
