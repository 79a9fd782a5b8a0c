#include "interop/timeline.h"

d4r_status d4r_timeline_create(const d4r_vk *vk, const char *name, VkSemaphore *timeline)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult result = vk->fn.vkCreateSemaphore(vk->device, &info, vk->allocator, timeline);
    if (result != VK_SUCCESS) {
        *timeline = VK_NULL_HANDLE;
        return d4r_vk_fail(vk, result, "vkCreateSemaphore (timeline)");
    }
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)*timeline, name);
    return D4R_OK;
}

VkResult d4r_timeline_wait(const d4r_vk *vk, VkSemaphore timeline, uint64_t value, uint64_t timeout_ns)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &timeline,
                                .pValues = &value};
    return vk->fn.vkWaitSemaphores(vk->device, &info, timeout_ns);
}

VkResult d4r_timeline_signal(const d4r_vk *vk, VkSemaphore timeline, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
    return vk->fn.vkSignalSemaphore(vk->device, &info);
}
