/* Steady state of the game adapter: after warm-up it neither allocates nor calls anything of the device but what records,
 * whatever rotates, is copied or changes its render size. Linked with --wrap for the allocator, as test_steady is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/game.h"
#include "tests/engine/test_model.h"
#include "tests/game/game_rig.h"

static vk_test device;
static d4r_model *model;
static atomic_uint host_calls, vulkan_calls, forbidden_calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&host_calls, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&host_calls, 1);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    atomic_fetch_add(&host_calls, 1);
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&host_calls, 1);
    return __real_aligned_alloc(alignment, size);
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
    (void)user;
    (void)scope;
    (void)alignment;
    atomic_fetch_add(&vulkan_calls, 1);
    return __real_realloc(old, size);
}

static VKAPI_ATTR void VKAPI_CALL vk_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static const VkAllocationCallbacks allocator = {
    .pfnAllocation = vk_allocate, .pfnReallocation = vk_reallocate, .pfnFree = vk_free};

static VkResult forbidden(void)
{
    atomic_fetch_add(&forbidden_calls, 1);
    return VK_ERROR_UNKNOWN;
}

static void trap(struct VolkDeviceTable *fn)
{
#define TRAP(name) fn->name = (PFN_##name)(void (*)(void))forbidden;
    TRAP(vkAllocateDescriptorSets)
    TRAP(vkAllocateMemory)
    TRAP(vkCreateBuffer)
    TRAP(vkCreateComputePipelines)
    TRAP(vkCreateDescriptorPool)
    TRAP(vkCreateImage)
    TRAP(vkCreateImageView)
    TRAP(vkDestroyImage)
    TRAP(vkDestroyImageView)
    TRAP(vkDeviceWaitIdle)
    TRAP(vkFreeDescriptorSets)
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

/* Three kinds of images, each rotating: six frames to warm up, then 24 without a call. Copies of all, or none. */
static void run(game_rig *r, const game_case *c)
{
    game_images_set set;
    game_rig_create_set(r, c, &set);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) game_rig_fill(r, c, n);
    for (uint32_t n = 0; n < 6; n++) game_rig_frame(r, c, &set, n);
    game_rig_wait(r);
    const struct VolkDeviceTable saved = r->game->engine->vk.fn;
    const unsigned host = atomic_load(&host_calls), vulkan = atomic_load(&vulkan_calls);
    trap(&r->game->engine->vk.fn);
    for (uint32_t n = 6; n < 30; n++) {
        game_rig_frame(r, c, &set, n);
        if (!c->queued || n % 6 == 5) game_rig_wait(r);
    }
    game_rig_wait(r);
    r->game->engine->vk.fn = saved;
    assert_int_equal(atomic_load(&host_calls), host);
    assert_int_equal(atomic_load(&vulkan_calls), vulkan);
    assert_int_equal(atomic_load(&forbidden_calls), 0);
    game_rig_destroy_set(r, &set);
}

static void no_allocation(void **state)
{
    static const d4r_size sizes[GAME_FRAMES] = {{68, 66}, {64, 64}, {67, 65}, {64, 66},
                                                {68, 64}, {65, 65}, {66, 64}, {68, 66}};
    const game_rig_params params = {
        .model = model, .render = {68, 66}, .output = {132, 130}, .allocator = &allocator};
    game_case c = game_case_plain();
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    assert_true(atomic_load(&host_calls) > 0 && atomic_load(&vulkan_calls) > 0); /* the counters do count */
    c.rotating = true;
    memcpy(c.render, sizes, sizeof sizes);
    for (int k = 0; k < 4; k++) {
        c.queued = k & 1;
        c.color_access.copied = c.motion_access.copied = c.depth_access.copied = c.output_access.copied =
            k >> 1;
        c.color_access.layout = c.motion_access.layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
        c.depth_access.layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
        run(&r, &c);
    }
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_allocation)};
    int failed;
    if (!vk_test_create(&device)) return 77;
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
