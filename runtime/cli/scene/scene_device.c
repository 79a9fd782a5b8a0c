#include "runtime/cli/scene/scene_device.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/log.h"

#define LOADER "libvulkan.so.1"
#define MAX_DEVICES 16
#define MAX_FAMILIES 16
#define STORAGE_BUFFERS 9

#define GET(d, name) ((PFN_##name)(d)->vk.get_instance_proc_addr((d)->vk.instance, #name))

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    scene_device *d = user;
    (void)severity, (void)type;
    d->validation_messages++;
    d4r_log_print(&d->vk.log, D4R_LOG_ERROR, "validation: %s", data->pMessage);
    return VK_FALSE;
}

static d4r_status create_instance(scene_device *d, bool validation)
{
    static const char *const layer = "VK_LAYER_KHRONOS_validation";
    static const char *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkValidationFeatureEnableEXT enable = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = d};
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messenger,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = &enable};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "d4r-scene",
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    if (validation) {
        info.pNext = &features;
        info.enabledLayerCount = info.enabledExtensionCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.ppEnabledExtensionNames = &extension;
    }
    PFN_vkCreateInstance create = GET(d, vkCreateInstance);
    VkResult result = create ? create(&info, NULL, &d->vk.instance) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        d->vk.instance = VK_NULL_HANDLE;
        return d4r_fail(&d->vk.log, D4R_ERROR_NO_DEVICE, "no Vulkan instance: %s; is a driver installed%s?",
                        d4r_vk_result_name(result), validation ? " and the validation layer" : "");
    }
    if (validation) {
        PFN_vkCreateDebugUtilsMessengerEXT add = GET(d, vkCreateDebugUtilsMessengerEXT);
        if (!add || add(d->vk.instance, &messenger, NULL, &d->messenger) != VK_SUCCESS)
            return d4r_fail(&d->vk.log, D4R_ERROR_FEATURE, "VK_EXT_debug_utils is missing");
    }
    return D4R_OK;
}

static bool find_queue(const scene_device *d, VkPhysicalDevice device, uint32_t *family)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    GET(d, vkGetPhysicalDeviceQueueFamilyProperties)(device, &count, families);
    for (uint32_t i = 0; i < count; i++)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            *family = i;
            return true;
        }
    return false;
}

static bool asked_for(const char *choice, uint32_t index, const char *name)
{
    char *end;
    if (!choice) return true;
    if (isdigit((unsigned char)choice[0])) {
        unsigned long number = strtoul(choice, &end, 10);
        if (!*end) return number == index;
    }
    for (size_t length = strlen(choice); *name; name++)
        if (!strncasecmp(name, choice, length)) return true;
    return false;
}

/* NULL when the device can be used. */
static const char *refusal(const scene_device *d, VkPhysicalDevice device,
                           const VkPhysicalDeviceProperties *properties)
{
    uint32_t family;
    if (properties->apiVersion < VK_API_VERSION_1_2) return "has no Vulkan 1.2";
    if (properties->limits.maxPerStageDescriptorStorageBuffers < STORAGE_BUFFERS)
        return "has fewer than 9 storage buffers a stage";
    if (!find_queue(d, device, &family)) return "has no compute queue";
    return NULL;
}

static d4r_status choose(scene_device *d, const char *choice)
{
    VkPhysicalDevice devices[MAX_DEVICES];
    uint32_t count = MAX_DEVICES;
    char reasons[512] = "";
    bool chosen_is_cpu = true;
    VkResult result = GET(d, vkEnumeratePhysicalDevices)(d->vk.instance, &count, devices);
    if (result < 0) count = 0;
    d->vk.physical_device = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        GET(d, vkGetPhysicalDeviceProperties)(devices[i], &properties);
        const char *reason = refusal(d, devices[i], &properties);
        if (!reason && !asked_for(choice, i, properties.deviceName)) reason = "is not the one asked for";
        if (reason) {
            size_t used = strlen(reasons);
            snprintf(reasons + used, sizeof reasons - used, "; %u \"%s\" %s", i, properties.deviceName,
                     reason);
            continue;
        }
        bool cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
        if (d->vk.physical_device && (cpu || !chosen_is_cpu)) continue;
        d->vk.physical_device = devices[i];
        chosen_is_cpu = cpu;
    }
    if (d->vk.physical_device) return D4R_OK;
    return d4r_fail(&d->vk.log, D4R_ERROR_NO_DEVICE, "no suitable Vulkan device%s",
                    count ? reasons
                          : ": the drivers report none (install mesa-vulkan-drivers for a CPU device)");
}

static d4r_status create_device(scene_device *d)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    find_queue(d, d->vk.physical_device, &queue.queueFamilyIndex);
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    VkDevice device = VK_NULL_HANDLE;
    d4r_log log = d->vk.log;
    VkResult result = GET(d, vkCreateDevice)(d->vk.physical_device, &info, NULL, &device);
    if (result != VK_SUCCESS)
        return d4r_fail(&log, D4R_ERROR_NO_DEVICE, "vkCreateDevice: %s", d4r_vk_result_name(result));
    VkInstance instance = d->vk.instance;
    VkPhysicalDevice physical = d->vk.physical_device;
    PFN_vkGetInstanceProcAddr get = d->vk.get_instance_proc_addr;
    d4r_status status =
        d4r_vk_init(&d->vk, get, instance, physical, device, queue.queueFamilyIndex, NULL, &log);
    if (status != D4R_OK) {
        PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)get(instance, "vkDestroyDevice");
        if (destroy) destroy(device, NULL);
        d->vk = (d4r_vk){.get_instance_proc_addr = get, .instance = instance, .log = log};
        return status;
    }
    d->vk.fn.vkGetDeviceQueue(device, queue.queueFamilyIndex, 0, &d->queue);
    return D4R_OK;
}

d4r_status scene_device_create(const char *choice, bool validation, const d4r_log *log, scene_device *device)
{
    *device = (scene_device){0};
    if (log) device->vk.log = *log;
    /* NODELETE: drivers leave thread-local destructors behind that outlive an unloading. */
    device->loader = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (device->loader)
        device->vk.get_instance_proc_addr =
            (PFN_vkGetInstanceProcAddr)dlsym(device->loader, "vkGetInstanceProcAddr");
    if (!device->vk.get_instance_proc_addr)
        return d4r_fail(log, D4R_ERROR_NO_DEVICE, "no Vulkan loader, " LOADER " (install libvulkan1)");
    d4r_status status = create_instance(device, validation);
    if (status == D4R_OK) status = choose(device, choice);
    if (status == D4R_OK) status = create_device(device);
    if (status != D4R_OK) scene_device_destroy(device);
    return status;
}

void scene_device_destroy(scene_device *device)
{
    if (device->vk.device) device->vk.fn.vkDestroyDevice(device->vk.device, NULL);
    if (device->messenger)
        GET(device, vkDestroyDebugUtilsMessengerEXT)(device->vk.instance, device->messenger, NULL);
    if (device->vk.instance) GET(device, vkDestroyInstance)(device->vk.instance, NULL);
    if (device->loader) dlclose(device->loader);
    *device = (scene_device){0};
}
