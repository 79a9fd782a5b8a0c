#include "interop/marker.h"

#include <string.h>
#include <sys/mman.h>
#include "runtime/base/log.h"

/* Both runtimes work in pages; the largest import alignment seen is 64 KiB. */
#define MARKER_BYTES 65536u

/* ---- Vulkan's side ---- */

static d4r_status create_buffer(const d4r_vk *vk, d4r_marker *marker)
{
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = marker->bytes,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkResult result = vk->fn.vkCreateBuffer(vk->device, &info, vk->allocator, &marker->buffer);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateBuffer (marker)");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_BUFFER, (uint64_t)marker->buffer, "d4r marker");
    return D4R_OK;
}

static d4r_status import_page(const d4r_vk *vk, d4r_marker *marker)
{
    VkMemoryHostPointerPropertiesEXT properties = {.sType =
                                                       VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                               .handleType =
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
                                               .pHostPointer = marker->page};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &import, .allocationSize = marker->bytes};
    VkMemoryRequirements requirements;
    VkResult result =
        vk->fn.vkGetMemoryHostPointerPropertiesEXT(vk->device, import.handleType, marker->page, &properties);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkGetMemoryHostPointerPropertiesEXT (marker)");
    vk->fn.vkGetBufferMemoryRequirements(vk->device, marker->buffer, &requirements);
    info.memoryTypeIndex =
        d4r_vk_memory_type(vk, requirements.memoryTypeBits & properties.memoryTypeBits,
                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0);
    if (info.memoryTypeIndex == UINT32_MAX)
        return d4r_fail(&vk->log, D4R_ERROR_FEATURE,
                        "%s: no coherent memory type imports host pages: use the host "
                        "hand-off",
                        vk->properties.deviceName);
    result = vk->fn.vkAllocateMemory(vk->device, &info, vk->allocator, &marker->memory);
    if (result == VK_SUCCESS) {
        d4r_vk_set_name(vk, VK_OBJECT_TYPE_DEVICE_MEMORY, (uint64_t)marker->memory, "d4r marker");
        result = vk->fn.vkBindBufferMemory(vk->device, marker->buffer, marker->memory, 0);
    }
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "import of the marker's page");
}

d4r_status d4r_marker_create(const d4r_vk *vk, d4r_marker *marker)
{
    memset(marker, 0, sizeof *marker);
    if (!vk->fn.vkGetMemoryHostPointerPropertiesEXT)
        return d4r_fail(
            &vk->log, D4R_ERROR_FEATURE,
            "%s: VK_EXT_external_memory_host is not enabled, which the marker hand-off needs: use the host "
            "hand-off",
            vk->properties.deviceName);
    /* Twice as much as needed, so that an aligned part exists; the rest is given back with it. */
    void *page = mmap(NULL, MARKER_BYTES * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return d4r_fail(&vk->log, D4R_ERROR_MEMORY, "marker: cannot map a page");
    uintptr_t start = (uintptr_t)page, aligned = (start + MARKER_BYTES - 1) / MARKER_BYTES * MARKER_BYTES;
    if (aligned > start) munmap(page, aligned - start);
    if (aligned - start < MARKER_BYTES)
        munmap((void *)(aligned + MARKER_BYTES), MARKER_BYTES - (aligned - start));
    marker->page = (void *)aligned;
    marker->bytes = MARKER_BYTES;
    marker->word = marker->page;
    d4r_status status = create_buffer(vk, marker);
    if (status == D4R_OK) status = import_page(vk, marker);
    if (status != D4R_OK) d4r_marker_destroy(vk, marker);
    return status;
}

void d4r_marker_destroy(const d4r_vk *vk, d4r_marker *marker)
{
    if (marker->buffer) vk->fn.vkDestroyBuffer(vk->device, marker->buffer, vk->allocator);
    if (marker->memory) vk->fn.vkFreeMemory(vk->device, marker->memory, vk->allocator);
    if (marker->page) munmap(marker->page, marker->bytes);
    memset(marker, 0, sizeof *marker);
}

void d4r_marker_record(const d4r_vk *vk, const d4r_marker *marker, VkCommandBuffer commands, uint32_t value)
{
    /* Everything before, host-visible included, then the word, then the host domain: who sees the word sees the
     * tokens. vkCmdWriteBufferMarker2AMD would need the same barrier, so the plain fill is used everywhere. */
    const VkMemoryBarrier before = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    const VkMemoryBarrier after = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vk->fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                0, 1, &before, 0, NULL, 0, NULL);
    vk->fn.vkCmdFillBuffer(commands, marker->buffer, 0, sizeof value, value);
    vk->fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                &after, 0, NULL, 0, NULL);
}

/* ---- HIP's side ---- */

d4r_status d4r_hip_marker_register(const d4r_hip *hip, void *page, size_t bytes, d4r_hip_marker *marker)
{
    memset(marker, 0, sizeof *marker);
    d4r_hip_error error = hip->host_register(page, bytes, D4R_HIP_HOST_REGISTER_MAPPED);
    if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(hip, error, "hipHostRegister (marker)");
    marker->page = page;
    error = hip->host_device_pointer(&marker->device, page, 0);
    if (error == D4R_HIP_SUCCESS) return D4R_OK;
    d4r_hip_marker_unregister(hip, marker);
    return d4r_hip_fail(hip, error, "hipHostGetDevicePointer (marker)");
}

void d4r_hip_marker_unregister(const d4r_hip *hip, d4r_hip_marker *marker)
{
    if (marker->page) hip->host_unregister(marker->page);
    memset(marker, 0, sizeof *marker);
}

void d4r_hip_marker_release(const d4r_hip_marker *marker, uint32_t value)
{
    if (marker->page && value) atomic_store((_Atomic uint32_t *)marker->page, value);
}
