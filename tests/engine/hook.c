#include "tests/engine/hook.h"

#include <string.h>

static struct {
    const vk_test *t;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    const char *hidden;
    uint32_t countdown;
    bool failed, spoils;
    VkDeviceSize allocated; /* by the last vkAllocateMemory: a buffer's memory is mapped right after it */
} hook;

void hook_init(const vk_test *t)
{
    hook.t = t;
    hook.get_device_proc_addr =
        (PFN_vkGetDeviceProcAddr)t->get_instance_proc_addr(t->instance, "vkGetDeviceProcAddr");
    hook.hidden = NULL;
    hook.spoils = false;
    hook_fail_at(UINT32_MAX);
}

void hook_hide(const char *name)
{
    hook.hidden = name;
}

void hook_spoil_maps(bool spoil)
{
    hook.spoils = spoil;
}

void hook_fail_at(uint32_t n)
{
    hook.countdown = n;
    hook.failed = false;
}

bool hook_failed(void)
{
    return hook.failed;
}

static bool fails(void)
{
    if (hook.countdown == UINT32_MAX || hook.countdown-- > 0) return false;
    hook.countdown = UINT32_MAX;
    hook.failed = true;
    return true;
}

/* One wrapper a command. */
#define WRAP(name, parameters, arguments)                                       \
    static VKAPI_ATTR VkResult VKAPI_CALL wrap_##name parameters                \
    {                                                                           \
        if (fails()) return VK_ERROR_OUT_OF_DEVICE_MEMORY;                      \
        return ((PFN_##name)hook.get_device_proc_addr(device, #name))arguments; \
    }
#define CREATE(name, info_type, handle_type)                                              \
    WRAP(name,                                                                            \
         (VkDevice device, const info_type *info, const VkAllocationCallbacks *allocator, \
          handle_type *handle),                                                           \
         (device, info, allocator, handle))
#define CREATIONS(X)                                                                       \
    X(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)                                        \
    X(vkCreateImage, VkImageCreateInfo, VkImage)                                           \
    X(vkCreateImageView, VkImageViewCreateInfo, VkImageView)                               \
    X(vkCreateSampler, VkSamplerCreateInfo, VkSampler)                                     \
    X(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)                               \
    X(vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)                      \
    X(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)                \
    X(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout) \
    X(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)

CREATIONS(CREATE)
static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                            const VkAllocationCallbacks *allocator,
                                                            VkDeviceMemory *memory)
{
    if (fails()) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    hook.allocated = info->allocationSize;
    return ((PFN_vkAllocateMemory)hook.get_device_proc_addr(device, "vkAllocateMemory"))(device, info,
                                                                                         allocator, memory);
}
static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkMapMemory(VkDevice device, VkDeviceMemory memory,
                                                       VkDeviceSize offset, VkDeviceSize size,
                                                       VkMemoryMapFlags flags, void **data)
{
    if (fails()) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const VkResult result = ((PFN_vkMapMemory)hook.get_device_proc_addr(device, "vkMapMemory"))(
        device, memory, offset, size, flags, data);
    if (result == VK_SUCCESS && hook.spoils) memset(*data, 0x7f, hook.allocated);
    return result;
}
WRAP(vkCreateComputePipelines,
     (VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo *infos,
      const VkAllocationCallbacks *allocator, VkPipeline *pipelines),
     (device, cache, count, infos, allocator, pipelines))
WRAP(vkAllocateDescriptorSets,
     (VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets), (device, info, sets))
WRAP(vkBindBufferMemory, (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset),
     (device, buffer, memory, offset))
WRAP(vkBindImageMemory, (VkDevice device, VkImage image, VkDeviceMemory memory, VkDeviceSize offset),
     (device, image, memory, offset))
WRAP(vkGetMemoryFdKHR, (VkDevice device, const VkMemoryGetFdInfoKHR *info, int *fd), (device, info, fd))

static PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char *name)
{
    if (hook.hidden && strcmp(name, hook.hidden) == 0) return NULL;
#define MATCH(wrapped, ...) \
    if (strcmp(name, #wrapped) == 0) return (PFN_vkVoidFunction)wrap_##wrapped;
    CREATIONS(MATCH)
    MATCH(vkAllocateMemory)
    MATCH(vkCreateComputePipelines)
    MATCH(vkAllocateDescriptorSets)
    MATCH(vkBindBufferMemory)
    MATCH(vkBindImageMemory)
    MATCH(vkMapMemory)
    MATCH(vkGetMemoryFdKHR)
    return hook.get_device_proc_addr(device, name);
}

PFN_vkVoidFunction VKAPI_CALL hook_get_instance_proc_addr(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)get_device_proc_addr;
    return hook.t->get_instance_proc_addr(instance, name);
}
