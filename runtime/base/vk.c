#include "runtime/base/vk.h"

#include <string.h>
#include "runtime/base/log.h"
#include "runtime/base/vk_functions.h"

const char *d4r_vk_result_name(VkResult result)
{
    switch (result) {
#define NAME(r) \
    case r:     \
        return #r
        NAME(VK_SUCCESS);
        NAME(VK_NOT_READY);
        NAME(VK_TIMEOUT);
        NAME(VK_INCOMPLETE);
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        NAME(VK_ERROR_INITIALIZATION_FAILED);
        NAME(VK_ERROR_DEVICE_LOST);
        NAME(VK_ERROR_MEMORY_MAP_FAILED);
        NAME(VK_ERROR_LAYER_NOT_PRESENT);
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
        NAME(VK_ERROR_FEATURE_NOT_PRESENT);
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
        NAME(VK_ERROR_TOO_MANY_OBJECTS);
        NAME(VK_ERROR_FORMAT_NOT_SUPPORTED);
        NAME(VK_ERROR_FRAGMENTED_POOL);
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
        NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
        NAME(VK_ERROR_FRAGMENTATION);
#undef NAME
    default:
        return "VkResult of an unknown value";
    }
}

d4r_status d4r_vk_fail(const d4r_vk *vk, VkResult result, const char *what)
{
    bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return d4r_fail(&vk->log, memory ? D4R_ERROR_MEMORY : D4R_ERROR_DEVICE, "%s: %s (%d)", what,
                    d4r_vk_result_name(result), (int)result);
}

/* ---- device ---- */

static d4r_status load_table(d4r_vk *vk)
{
    PFN_vkGetDeviceProcAddr load =
        (PFN_vkGetDeviceProcAddr)vk->get_instance_proc_addr(vk->instance, "vkGetDeviceProcAddr");
    const char *missing = NULL;
    if (!load) return d4r_fail(&vk->log, D4R_ERROR_ARGUMENT, "the instance has no vkGetDeviceProcAddr");
#define LOAD(name) vk->fn.name = (PFN_##name)load(vk->device, #name);
#define LOAD_REQUIRED(name) \
    LOAD(name)              \
    if (!vk->fn.name) missing = #name;
    D4R_VK_REQUIRED_FUNCTIONS(LOAD_REQUIRED)
    D4R_VK_OPTIONAL_FUNCTIONS(LOAD)
#undef LOAD_REQUIRED
#undef LOAD
    if (missing)
        return d4r_fail(&vk->log, D4R_ERROR_FEATURE, "the device has no %s; Vulkan 1.2 is needed", missing);
    /* Commands of an extension that is not enabled are NULL, so the pointers say what the caller enabled. */
    vk->external_memory_fd = vk->fn.vkGetMemoryFdKHR != NULL;
    vk->set_object_name = (PFN_vkSetDebugUtilsObjectNameEXT)vk->get_instance_proc_addr(
        vk->instance, "vkSetDebugUtilsObjectNameEXT");
    vk->begin_label = (PFN_vkCmdBeginDebugUtilsLabelEXT)vk->get_instance_proc_addr(
        vk->instance, "vkCmdBeginDebugUtilsLabelEXT");
    vk->end_label = (PFN_vkCmdEndDebugUtilsLabelEXT)vk->get_instance_proc_addr(vk->instance,
                                                                               "vkCmdEndDebugUtilsLabelEXT");
    if (!vk->begin_label || !vk->end_label) vk->begin_label = NULL;
    return D4R_OK;
}

static d4r_status read_properties(d4r_vk *vk)
{
    PFN_vkGetPhysicalDeviceProperties2 properties2 =
        (PFN_vkGetPhysicalDeviceProperties2)vk->get_instance_proc_addr(vk->instance,
                                                                       "vkGetPhysicalDeviceProperties2");
    PFN_vkGetPhysicalDeviceMemoryProperties memory =
        (PFN_vkGetPhysicalDeviceMemoryProperties)vk->get_instance_proc_addr(
            vk->instance, "vkGetPhysicalDeviceMemoryProperties");
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &subgroup};
    if (!properties2 || !memory)
        return d4r_fail(
            &vk->log, D4R_ERROR_FEATURE,
            "the instance has no vkGetPhysicalDeviceProperties2; a Vulkan 1.2 instance is needed");
    properties2(vk->physical_device, &properties);
    memory(vk->physical_device, &vk->memory);
    vk->properties = properties.properties;
    vk->subgroup_size = subgroup.subgroupSize;
    if (vk->properties.apiVersion < VK_API_VERSION_1_2)
        return d4r_fail(&vk->log, D4R_ERROR_FEATURE, "%s has Vulkan %u.%u; 1.2 is needed",
                        vk->properties.deviceName, VK_API_VERSION_MAJOR(vk->properties.apiVersion),
                        VK_API_VERSION_MINOR(vk->properties.apiVersion));
    return D4R_OK;
}

d4r_status d4r_vk_init(d4r_vk *vk, PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                       VkPhysicalDevice physical_device, VkDevice device, uint32_t queue_family,
                       const VkAllocationCallbacks *allocator, const d4r_log *log)
{
    d4r_status status;
    memset(vk, 0, sizeof *vk);
    if (log) vk->log = *log;
    if (!get_instance_proc_addr || !instance || !physical_device || !device)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "device.%s is NULL",
                        !get_instance_proc_addr ? "get_instance_proc_addr"
                        : !instance             ? "instance"
                        : !physical_device      ? "physical_device"
                                                : "device");
    vk->get_instance_proc_addr = get_instance_proc_addr;
    vk->instance = instance;
    vk->physical_device = physical_device;
    vk->device = device;
    vk->queue_family = queue_family;
    vk->allocator = allocator;
    status = read_properties(vk);
    return status == D4R_OK ? load_table(vk) : status;
}

void d4r_vk_set_name(const d4r_vk *vk, VkObjectType type, uint64_t handle, const char *name)
{
    VkDebugUtilsObjectNameInfoEXT info = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                          .objectType = type,
                                          .objectHandle = handle,
                                          .pObjectName = name};
    if (vk->set_object_name && name) vk->set_object_name(vk->device, &info);
}

void d4r_vk_begin_label(const d4r_vk *vk, VkCommandBuffer commands, const char *name)
{
    const VkDebugUtilsLabelEXT label = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                        .pLabelName = name,
                                        .color = {0.2f, 0.6f, 0.9f, 1.0f}};
    if (vk->begin_label) vk->begin_label(commands, &label);
}

void d4r_vk_end_label(const d4r_vk *vk, VkCommandBuffer commands)
{
    if (vk->begin_label) vk->end_label(commands);
}

/* ---- memory ---- */

uint32_t d4r_vk_memory_type(const d4r_vk *vk, uint32_t type_bits, VkMemoryPropertyFlags required,
                            VkMemoryPropertyFlags preferred)
{
    uint32_t best = UINT32_MAX;
    int best_score = -1;
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = vk->memory.memoryTypes[i].propertyFlags;
        int score = __builtin_popcount(flags & preferred);
        if (!(type_bits & (1u << i)) || (flags & required) != required || score <= best_score) continue;
        best = i;
        best_score = score;
    }
    return best;
}

static d4r_status allocate(const d4r_vk *vk, const char *name, const VkMemoryRequirements *needs,
                           VkMemoryPropertyFlags required, VkMemoryPropertyFlags preferred, const void *next,
                           VkDeviceMemory *memory)
{
    uint32_t type = d4r_vk_memory_type(vk, needs->memoryTypeBits, required, preferred);
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = next,
                                 .allocationSize = needs->size,
                                 .memoryTypeIndex = type};
    VkResult result;
    if (type == UINT32_MAX)
        return d4r_fail(&vk->log, D4R_ERROR_FEATURE, "%s: no memory type with properties 0x%x", name,
                        required);
    result = vk->fn.vkAllocateMemory(vk->device, &info, vk->allocator, memory);
    if (result != VK_SUCCESS) {
        bool full = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
        return d4r_fail(&vk->log, full ? D4R_ERROR_MEMORY : D4R_ERROR_DEVICE,
                        "%s: vkAllocateMemory of %llu bytes: %s", name, (unsigned long long)needs->size,
                        d4r_vk_result_name(result));
    }
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DEVICE_MEMORY, (uint64_t)*memory, name);
    return D4R_OK;
}

/* ---- buffers ---- */

static d4r_status buffer_memory(const d4r_vk *vk, const char *name, VkMemoryPropertyFlags required,
                                VkMemoryPropertyFlags preferred, bool export_fd, d4r_vk_buffer *buffer)
{
    VkMemoryDedicatedRequirements dedicated_needs = {.sType =
                                                         VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                   .pNext = &dedicated_needs};
    VkBufferMemoryRequirementsInfo2 query = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
                                             .buffer = buffer->buffer};
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = buffer->buffer};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const void *next = NULL;
    d4r_status status;
    VkResult result;
    vk->fn.vkGetBufferMemoryRequirements2(vk->device, &query, &needs);
    if (export_fd) {
        next = &export;
        if (dedicated_needs.requiresDedicatedAllocation) export.pNext = &dedicated;
    }
    status = allocate(vk, name, &needs.memoryRequirements, required, preferred, next, &buffer->memory);
    if (status != D4R_OK) return status;
    buffer->allocation = needs.memoryRequirements.size;
    result = vk->fn.vkBindBufferMemory(vk->device, buffer->buffer, buffer->memory, 0);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkBindBufferMemory");
    if (!(required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) return D4R_OK;
    result = vk->fn.vkMapMemory(vk->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->map);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "vkMapMemory");
}

d4r_status d4r_vk_buffer_create(const d4r_vk *vk, const char *name, VkDeviceSize size,
                                VkBufferUsageFlags usage, VkMemoryPropertyFlags required,
                                VkMemoryPropertyFlags preferred, bool export_fd, d4r_vk_buffer *buffer)
{
    VkExternalMemoryBufferCreateInfo external = {.sType =
                                                     VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = export_fd ? &external : NULL,
                               .size = size,
                               .usage = usage,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    d4r_status status;
    VkResult result;
    memset(buffer, 0, sizeof *buffer);
    result = vk->fn.vkCreateBuffer(vk->device, &info, vk->allocator, &buffer->buffer);
    if (result != VK_SUCCESS) {
        buffer->buffer = VK_NULL_HANDLE;
        return d4r_vk_fail(vk, result, "vkCreateBuffer");
    }
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_BUFFER, (uint64_t)buffer->buffer, name);
    buffer->size = size;
    status = buffer_memory(vk, name, required, preferred, export_fd, buffer);
    if (status != D4R_OK) d4r_vk_buffer_destroy(vk, buffer);
    return status;
}

void d4r_vk_buffer_destroy(const d4r_vk *vk, d4r_vk_buffer *buffer)
{
    if (buffer->buffer) vk->fn.vkDestroyBuffer(vk->device, buffer->buffer, vk->allocator);
    if (buffer->memory) vk->fn.vkFreeMemory(vk->device, buffer->memory, vk->allocator);
    memset(buffer, 0, sizeof *buffer);
}

/* ---- images ---- */

VkImageAspectFlags d4r_vk_aspects(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT:
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_D16_UNORM_S8_UINT:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

static d4r_status image_memory(const d4r_vk *vk, const char *name, d4r_vk_image *image)
{
    VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = image->format,
        .subresourceRange = {.aspectMask = d4r_vk_aspects(image->format) & ~VK_IMAGE_ASPECT_STENCIL_BIT,
                             .levelCount = 1,
                             .layerCount = 1}};
    VkMemoryRequirements needs;
    d4r_status status;
    VkResult result;
    vk->fn.vkGetImageMemoryRequirements(vk->device, image->image, &needs);
    status = allocate(vk, name, &needs, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, NULL, &image->memory);
    if (status != D4R_OK) return status;
    image->allocation = needs.size;
    result = vk->fn.vkBindImageMemory(vk->device, image->image, image->memory, 0);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkBindImageMemory");
    result = vk->fn.vkCreateImageView(vk->device, &view, vk->allocator, &image->view);
    if (result != VK_SUCCESS) {
        image->view = VK_NULL_HANDLE;
        return d4r_vk_fail(vk, result, "vkCreateImageView");
    }
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_IMAGE_VIEW, (uint64_t)image->view, name);
    return D4R_OK;
}

d4r_status d4r_vk_image_create(const d4r_vk *vk, const char *name, VkFormat format, VkExtent2D extent,
                               VkImageUsageFlags usage, d4r_vk_image *image)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {extent.width, extent.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = usage,
                              .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                              .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    d4r_status status;
    VkResult result;
    memset(image, 0, sizeof *image);
    image->format = format;
    image->extent = extent;
    result = vk->fn.vkCreateImage(vk->device, &info, vk->allocator, &image->image);
    if (result != VK_SUCCESS) {
        memset(image, 0, sizeof *image);
        return d4r_vk_fail(vk, result, "vkCreateImage");
    }
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_IMAGE, (uint64_t)image->image, name);
    status = image_memory(vk, name, image);
    if (status != D4R_OK) d4r_vk_image_destroy(vk, image);
    return status;
}

void d4r_vk_image_destroy(const d4r_vk *vk, d4r_vk_image *image)
{
    if (image->view) vk->fn.vkDestroyImageView(vk->device, image->view, vk->allocator);
    if (image->image) vk->fn.vkDestroyImage(vk->device, image->image, vk->allocator);
    if (image->memory) vk->fn.vkFreeMemory(vk->device, image->memory, vk->allocator);
    memset(image, 0, sizeof *image);
}

bool d4r_vk_layer_gave_up(const VkDebugUtilsMessengerCallbackDataEXT *data)
{
    return data->pMessageIdName && strcmp(data->pMessageIdName, "UNASSIGNED-VkSemaphore-state-timeout") == 0;
}
