#include "runtime/requirements.h"

#include <stdio.h>
#include <string.h>
#include "runtime/base/log.h"

/* Descriptors of the largest pipeline layout of vk_stages (D4R_BIND_*): storage images, sampled images,
 * storage buffers, all of them together; invocations of a work group. */
#define STORAGE_IMAGES 10u
#define SAMPLED_IMAGES 14u
#define STORAGE_BUFFERS 6u
#define RESOURCES 31u
#define INVOCATIONS 256u

static const char *const optional_extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                                  VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};

typedef struct text {
    char *data;
    size_t size, used;
} text;

static void add(text *t, const char *what)
{
    int length;
    if (t->used >= t->size) return;
    length = snprintf(t->data + t->used, t->size - t->used, "%s%s", t->used ? ", " : "", what);
    t->used += length > 0 ? (size_t)length : 0;
}

static void check_limit(text *missing, const char *name, uint32_t value, uint32_t needed)
{
    char line[128];
    if (value >= needed) return;
    snprintf(line, sizeof line, "limit %s is %u (%u needed)", name, value, needed);
    add(missing, line);
}

static void check_limits(text *missing, const VkPhysicalDeviceLimits *limits)
{
    check_limit(missing, "maxPerStageDescriptorStorageImages", limits->maxPerStageDescriptorStorageImages,
                STORAGE_IMAGES);
    check_limit(missing, "maxPerStageDescriptorSampledImages", limits->maxPerStageDescriptorSampledImages,
                SAMPLED_IMAGES);
    check_limit(missing, "maxPerStageDescriptorStorageBuffers", limits->maxPerStageDescriptorStorageBuffers,
                STORAGE_BUFFERS);
    check_limit(missing, "maxPerStageResources", limits->maxPerStageResources, RESOURCES);
    check_limit(missing, "maxComputeWorkGroupInvocations", limits->maxComputeWorkGroupInvocations,
                INVOCATIONS);
}

static void check_features(text *missing, PFN_vkGetPhysicalDeviceFeatures2 get, VkPhysicalDevice device)
{
    VkPhysicalDeviceVulkan12Features features12 = {.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &features12};
    get(device, &features);
    if (!features12.timelineSemaphore) add(missing, "feature timelineSemaphore");
    if (!features.features.shaderStorageImageExtendedFormats)
        add(missing, "feature shaderStorageImageExtendedFormats");
}

static bool has_extension(PFN_vkEnumerateDeviceExtensionProperties enumerate, VkPhysicalDevice device,
                          const char *name)
{
    VkExtensionProperties properties[512];
    uint32_t count = sizeof properties / sizeof properties[0];
    VkResult result = enumerate(device, NULL, &count, properties);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(properties[i].extensionName, name) == 0) return true;
    return false;
}

static void fill(d4r_vulkan_requirements *r)
{
    memset(r, 0, sizeof *r);
    r->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    r->features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    r->features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    r->features.pNext = &r->features11;
    r->features11.pNext = &r->features12;
    r->features.features.shaderStorageImageExtendedFormats = VK_TRUE;
    r->features12.timelineSemaphore = VK_TRUE;
}

bool d4r_requirements_check(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                            VkPhysicalDevice physical_device, d4r_vulkan_requirements *requirements,
                            char *missing, size_t missing_size)
{
    PFN_vkGetPhysicalDeviceProperties get_properties =
        (PFN_vkGetPhysicalDeviceProperties)get_instance_proc_addr(instance, "vkGetPhysicalDeviceProperties");
    PFN_vkGetPhysicalDeviceFeatures2 get_features =
        (PFN_vkGetPhysicalDeviceFeatures2)get_instance_proc_addr(instance, "vkGetPhysicalDeviceFeatures2");
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        (PFN_vkEnumerateDeviceExtensionProperties)get_instance_proc_addr(
            instance, "vkEnumerateDeviceExtensionProperties");
    text lacking = {missing, missing_size, 0};
    VkPhysicalDeviceProperties properties;
    if (missing_size) missing[0] = 0;
    if (!get_properties || !get_features || !enumerate) {
        add(&lacking, "Vulkan 1.2 instance");
        return false;
    }
    get_properties(physical_device, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2) {
        char line[64];
        snprintf(line, sizeof line, "Vulkan 1.2 (it has %u.%u)", VK_API_VERSION_MAJOR(properties.apiVersion),
                 VK_API_VERSION_MINOR(properties.apiVersion));
        add(&lacking, line);
        return false; /* the 1.2 feature structure may not be asked for */
    }
    check_features(&lacking, get_features, physical_device);
    check_limits(&lacking, &properties.limits);
    if (lacking.used) return false;
    fill(requirements);
    /* Two extensions: any subset is a part of the array. */
    bool fd = has_extension(enumerate, physical_device, optional_extensions[0]);
    bool host = has_extension(enumerate, physical_device, optional_extensions[1]);
    requirements->extensions = fd ? optional_extensions : optional_extensions + 1;
    requirements->extension_count = (uint32_t)fd + (uint32_t)host;
    return true;
}

d4r_status d4r_vulkan_get_requirements(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                       VkPhysicalDevice physical_device, const d4r_log *log,
                                       d4r_vulkan_requirements *requirements)
{
    char missing[512];
    if (!get_instance_proc_addr || !instance || !physical_device || !requirements)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_vulkan_get_requirements: an argument is NULL");
    if (d4r_requirements_check(get_instance_proc_addr, instance, physical_device, requirements, missing,
                               sizeof missing))
        return D4R_OK;
    return d4r_fail(log, D4R_ERROR_FEATURE, "the device lacks: %s", missing);
}
