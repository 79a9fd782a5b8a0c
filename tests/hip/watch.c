#include "tests/hip/watch.h"

#include <stdatomic.h>
#include <string.h>

enum { CAPACITY = 256 };

static struct {
    const vk_test *t;
    PFN_vkGetDeviceProcAddr get;
    atomic_int without;
    uint32_t count;
    watch_command commands[CAPACITY];
} watch;

void watch_init(const vk_test *t)
{
    watch.t = t;
    watch.get = (PFN_vkGetDeviceProcAddr)t->get_instance_proc_addr(t->instance, "vkGetDeviceProcAddr");
    watch.count = 0;
    watch_leave_out(WATCH_ALL);
}

void watch_leave_out(watch_without what)
{
    atomic_store(&watch.without, (int)what);
}

void watch_record(void)
{
    watch.count = 0;
}

const watch_command *watch_commands(uint32_t *count)
{
    *count = watch.count;
    return watch.commands;
}

static bool without(watch_without what)
{
    return atomic_load(&watch.without) == (int)what;
}

static watch_command *add(watch_kind kind)
{
    static watch_command overflow;
    watch_command *c = watch.count < CAPACITY ? &watch.commands[watch.count++] : &overflow;
    memset(c, 0, sizeof *c);
    c->kind = kind;
    return c;
}

#define REAL(name) ((PFN_##name)watch.get(watch.t->device, #name))

static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                            uint64_t timeout)
{
    return without(WATCH_WITHOUT_WAIT) ? VK_SUCCESS : REAL(vkWaitSemaphores)(device, info, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkSignalSemaphore(VkDevice device,
                                                             const VkSemaphoreSignalInfo *info)
{
    return without(WATCH_WITHOUT_SIGNAL) ? VK_SUCCESS : REAL(vkSignalSemaphore)(device, info);
}

static VKAPI_ATTR void VKAPI_CALL wrap_vkCmdFillBuffer(VkCommandBuffer commands, VkBuffer buffer,
                                                       VkDeviceSize offset, VkDeviceSize size, uint32_t data)
{
    watch_command *c = add(WATCH_FILL);
    c->filled = buffer;
    c->fill_size = size;
    c->value = data;
    if (size == 4 && without(WATCH_WITHOUT_FILL)) return;
    REAL(vkCmdFillBuffer)(commands, buffer, offset, size, data);
}

static VKAPI_ATTR void VKAPI_CALL wrap_vkCmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                                     uint32_t z)
{
    add(WATCH_DISPATCH);
    REAL(vkCmdDispatch)(commands, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL wrap_vkCmdPipelineBarrier(
    VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags flags,
    uint32_t memory_count, const VkMemoryBarrier *memory, uint32_t buffer_count,
    const VkBufferMemoryBarrier *buffers, uint32_t image_count, const VkImageMemoryBarrier *images)
{
    bool release = buffer_count && buffers[0].dstQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL;
    bool acquire = buffer_count && buffers[0].srcQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL;
    if ((release && without(WATCH_WITHOUT_RELEASE)) || (acquire && without(WATCH_WITHOUT_ACQUIRE))) return;
    watch_command *c = add(WATCH_BARRIER);
    c->from = from;
    c->to = to;
    c->memory_count = memory_count;
    c->buffer_count = buffer_count;
    if (memory_count) c->memory = memory[0];
    for (uint32_t i = 0; i < buffer_count && i < 2; i++) c->buffers[i] = buffers[i];
    REAL(vkCmdPipelineBarrier)
    (commands, from, to, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

static PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice device, const char *name)
{
#define MATCH(command) \
    if (strcmp(name, #command) == 0) return (PFN_vkVoidFunction)wrap_##command;
    MATCH(vkWaitSemaphores)
    MATCH(vkSignalSemaphore)
    MATCH(vkCmdFillBuffer)
    MATCH(vkCmdDispatch)
    MATCH(vkCmdPipelineBarrier)
    return watch.get(device, name);
}

PFN_vkVoidFunction VKAPI_CALL watch_get_instance_proc_addr(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)get_device_proc_addr;
    return watch.t->get_instance_proc_addr(instance, name);
}
