#include "interop/shared.h"

#include <string.h>
#include <unistd.h>
#include "runtime/base/log.h"

/* Tokens and head are also filled (first frame) and copied from (dumps). */
#define USAGE \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

static bool exportable(const d4r_vk *vk)
{
    PFN_vkGetPhysicalDeviceExternalBufferProperties query =
        (PFN_vkGetPhysicalDeviceExternalBufferProperties)vk->get_instance_proc_addr(
            vk->instance, "vkGetPhysicalDeviceExternalBufferProperties");
    VkPhysicalDeviceExternalBufferInfo info = {.sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
                                               .usage = USAGE,
                                               .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    if (!vk->external_memory_fd || !query) return false;
    query(vk->physical_device, &info, &properties);
    return properties.externalMemoryProperties.externalMemoryFeatures &
           VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
}

static d4r_status export_buffer(const d4r_vk *vk, const d4r_vk_buffer *buffer, int *fd)
{
    VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                 .memory = buffer->memory,
                                 .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkResult result = vk->fn.vkGetMemoryFdKHR(vk->device, &info, fd);
    if (result == VK_SUCCESS) return D4R_OK;
    *fd = -1;
    return d4r_vk_fail(vk, result, "vkGetMemoryFdKHR");
}

static bool has_extension(const d4r_vk *vk, const char *name)
{
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        (PFN_vkEnumerateDeviceExtensionProperties)vk->get_instance_proc_addr(
            vk->instance, "vkEnumerateDeviceExtensionProperties");
    VkExtensionProperties properties[512];
    uint32_t count = sizeof properties / sizeof properties[0];
    VkResult result =
        enumerate ? enumerate(vk->physical_device, NULL, &count, properties) : VK_ERROR_EXTENSION_NOT_PRESENT;
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(properties[i].extensionName, name) == 0) return true;
    return false;
}

/* PCI address and UUID, for networks that must find the same device in another API. */
static void identify(const d4r_vk *vk, d4r_network_buffers *info)
{
    PFN_vkGetPhysicalDeviceProperties2 query = (PFN_vkGetPhysicalDeviceProperties2)vk->get_instance_proc_addr(
        vk->instance, "vkGetPhysicalDeviceProperties2");
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &id};
    if (has_extension(vk, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
        id.pNext = &pci;
        info->has_pci = true;
    }
    if (!query) return;
    query(vk->physical_device, &properties);
    memcpy(info->device_uuid, id.deviceUUID, sizeof info->device_uuid);
    if (!info->has_pci) return;
    info->pci_domain = pci.pciDomain;
    info->pci_bus = pci.pciBus;
    info->pci_device = pci.pciDevice;
    info->pci_function = pci.pciFunction;
}

static d4r_status create_buffers(const d4r_shared_desc *desc, bool export_fd, d4r_shared *shared)
{
    const d4r_vk *vk = desc->vk;
    VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryPropertyFlags required = desc->needs_host_map ? host : 0;
    /* The CPU reads every token: uncached memory would be slower by an order of magnitude. It only writes the head,
     * which is therefore the device's own memory where the host can reach it. */
    VkMemoryPropertyFlags device = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    VkMemoryPropertyFlags preferred = desc->needs_host_map ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : device;
    d4r_status status = d4r_vk_buffer_create(vk, "d4r tokens", desc->token_bytes, USAGE, required, preferred,
                                             export_fd, &shared->tokens);
    if (status == D4R_OK)
        status = d4r_vk_buffer_create(vk, "d4r head", desc->head_bytes, USAGE, required, device, export_fd,
                                      &shared->head);
    if (status == D4R_OK && export_fd) status = export_buffer(vk, &shared->tokens, &shared->info.tokens_fd);
    if (status == D4R_OK && export_fd) status = export_buffer(vk, &shared->head, &shared->info.head_fd);
    return status;
}

d4r_status d4r_shared_create(const d4r_shared_desc *desc, d4r_shared *shared)
{
    const d4r_vk *vk = desc->vk;
    bool export_fd = exportable(vk);
    d4r_status status;
    memset(shared, 0, sizeof *shared);
    shared->info.tokens_fd = shared->info.head_fd = -1;
    if (desc->needs_fd && !export_fd)
        return d4r_fail(&vk->log, D4R_ERROR_FEATURE,
                        "the network needs memory exported by fd: %s on %s cannot (%s)",
                        "VK_KHR_external_memory_fd", vk->properties.deviceName,
                        vk->external_memory_fd ? "buffers are not exportable" : "extension not enabled");
    status = create_buffers(desc, export_fd, shared);
    if (status != D4R_OK) {
        d4r_shared_destroy(vk, shared);
        return status;
    }
    /* A head that the host writes is written by nobody else. */
    if (shared->head.map) memset(shared->head.map, 0, desc->head_bytes);
    shared->info.max_token_grid = desc->max_token_grid;
    shared->info.preset = desc->preset;
    shared->info.tokens_bytes = desc->token_bytes;
    shared->info.head_bytes = desc->head_bytes;
    shared->info.tokens_allocation = shared->tokens.allocation;
    shared->info.head_allocation = shared->head.allocation;
    shared->info.tokens_map = shared->tokens.map;
    shared->info.head_map = shared->head.map;
    identify(vk, &shared->info);
    return D4R_OK;
}

void d4r_shared_destroy(const d4r_vk *vk, d4r_shared *shared)
{
    /* An empty struct has fd 0 or -1: only a live buffer's fd is ours. */
    if (shared->tokens.memory && shared->info.tokens_fd >= 0) close(shared->info.tokens_fd);
    if (shared->head.memory && shared->info.head_fd >= 0) close(shared->info.head_fd);
    d4r_vk_buffer_destroy(vk, &shared->tokens);
    d4r_vk_buffer_destroy(vk, &shared->head);
    memset(shared, 0, sizeof *shared);
    shared->info.tokens_fd = shared->info.head_fd = -1;
}

uint64_t d4r_shared_bytes(const d4r_shared *shared)
{
    return shared->tokens.allocation + shared->head.allocation;
}

static VkBufferMemoryBarrier transfer(const d4r_vk *vk, VkBuffer buffer, bool release)
{
    return (VkBufferMemoryBarrier){
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = release ? VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT : 0,
        .dstAccessMask = release ? 0 : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
        .srcQueueFamilyIndex = release ? vk->queue_family : VK_QUEUE_FAMILY_EXTERNAL,
        .dstQueueFamilyIndex = release ? VK_QUEUE_FAMILY_EXTERNAL : vk->queue_family,
        .buffer = buffer,
        .size = VK_WHOLE_SIZE};
}

void d4r_shared_record_release(const d4r_vk *vk, const d4r_shared *shared, VkCommandBuffer commands)
{
    VkBufferMemoryBarrier buffers[] = {transfer(vk, shared->tokens.buffer, true),
                                       transfer(vk, shared->head.buffer, true)};
    VkMemoryBarrier host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
    bool mapped = shared->tokens.map != NULL;
    vk->fn.vkCmdPipelineBarrier(commands,
                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                mapped ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0,
                                mapped ? 1 : 0, &host, 2, buffers, 0, NULL);
}

void d4r_shared_record_acquire(const d4r_vk *vk, const d4r_shared *shared, VkCommandBuffer commands)
{
    VkBufferMemoryBarrier buffers[] = {transfer(vk, shared->tokens.buffer, false),
                                       transfer(vk, shared->head.buffer, false)};
    VkMemoryBarrier host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_HOST_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    bool mapped = shared->head.map != NULL;
    /* ALL_COMMANDS is what the submission's wait for B delays: only with it does this barrier come after the wait. */
    vk->fn.vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | (mapped ? VK_PIPELINE_STAGE_HOST_BIT : 0u),
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, mapped ? 1 : 0, &host, 2, buffers, 0, NULL);
}
