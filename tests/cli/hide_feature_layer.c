/* A Vulkan layer for tests: devices seem to lack timeline semaphores. It shows what a tool says on a device
 * that it cannot use. */
#include <string.h>
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

#define EXPORTED __attribute__((visibility("default")))

static PFN_vkGetInstanceProcAddr next_get;
static PFN_vkGetPhysicalDeviceFeatures2 next_features2;

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)
{
    next_features2(device, features);
    for (VkBaseOutStructure *item = features->pNext; item; item = item->pNext) {
        if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            ((VkPhysicalDeviceVulkan12Features *)item)->timelineSemaphore = VK_FALSE;
        if (item->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
            ((VkPhysicalDeviceTimelineSemaphoreFeatures *)item)->timelineSemaphore = VK_FALSE;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *instance)
{
    /* The loader's own structure is meant to be changed by the layers it passes. */
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                    link->function != VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_get(NULL, "vkCreateInstance");
    VkResult result = create ? create(info, allocator, instance) : VK_ERROR_INITIALIZATION_FAILED;
    /* Looked up now: later the loader answers with this layer's own function. */
    if (result == VK_SUCCESS)
        next_features2 =
            (PFN_vkGetPhysicalDeviceFeatures2)next_get(*instance, "vkGetPhysicalDeviceFeatures2");
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_proc(VkInstance instance, const char *name)
{
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)get_proc;
    if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
    if (!strcmp(name, "vkGetPhysicalDeviceFeatures2") || !strcmp(name, "vkGetPhysicalDeviceFeatures2KHR"))
        return (PFN_vkVoidFunction)get_features2;
    return next_get ? next_get(instance, name) : NULL;
}

EXPORTED VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *request);

EXPORTED VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *request)
{
    if (request->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
    request->loaderLayerInterfaceVersion = 2;
    request->pfnGetInstanceProcAddr = get_proc;
    request->pfnGetDeviceProcAddr = NULL;
    request->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
