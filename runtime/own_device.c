#include "runtime/own_device.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/requirements.h"

#define LOADER "libvulkan.so.1"
#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"
#define MAX_DEVICES 16u
#define MAX_FAMILIES 32u

#define INSTANCE_FUNCTION(device, name) \
    ((PFN_##name)(device)->get_instance_proc_addr((device)->instance, #name))

/* ---- loader and instance ---- */

static d4r_status open_loader(d4r_own_device *d)
{
    /* NODELETE: drivers leave thread-local destructors behind that outlive an unloading. */
    d->loader = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!d->loader)
        return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "no Vulkan loader: %s (install libvulkan1)", dlerror());
    d->get_instance_proc_addr = (PFN_vkGetInstanceProcAddr)dlsym(d->loader, "vkGetInstanceProcAddr");
    if (d->get_instance_proc_addr) return D4R_OK;
    return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "%s has no vkGetInstanceProcAddr", LOADER);
}

static d4r_status check_version(d4r_own_device *d)
{
    PFN_vkEnumerateInstanceVersion enumerate = INSTANCE_FUNCTION(d, vkEnumerateInstanceVersion);
    uint32_t version = VK_API_VERSION_1_0;
    if (enumerate) enumerate(&version);
    if (version >= VK_API_VERSION_1_2) return D4R_OK;
    return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "the Vulkan loader has version %u.%u; 1.2 is needed",
                    VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
}

static d4r_status check_layer(d4r_own_device *d)
{
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        INSTANCE_FUNCTION(d, vkEnumerateInstanceLayerProperties);
    VkLayerProperties *layers = NULL;
    uint32_t count = 0;
    bool found = false;
    if (enumerate && enumerate(&count, NULL) == VK_SUCCESS && count > 0)
        layers = calloc(count, sizeof *layers);
    if (layers && enumerate(&count, layers) >= 0)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(layers[i].layerName, VALIDATION_LAYER) == 0;
    free(layers);
    if (found) return D4R_OK;
    return d4r_fail(&d->log, D4R_ERROR_FEATURE,
                    "params.validation: " VALIDATION_LAYER
                    " is not installed (install vulkan-validationlayers)");
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    d4r_own_device *d = user;
    (void)severity;
    (void)type;
    if (d4r_vk_layer_gave_up(data)) return VK_FALSE;
    atomic_fetch_add(&d->validation_messages, 1);
    d4r_log_print(&d->log, D4R_LOG_ERROR, "validation: %s", data->pMessage);
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(d4r_own_device *d)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = d};
}

static d4r_status create_messenger(d4r_own_device *d)
{
    PFN_vkCreateDebugUtilsMessengerEXT create = INSTANCE_FUNCTION(d, vkCreateDebugUtilsMessengerEXT);
    VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(d);
    VkResult result =
        create ? create(d->instance, &info, NULL, &d->messenger) : VK_ERROR_EXTENSION_NOT_PRESENT;
    if (result == VK_SUCCESS) return D4R_OK;
    return d4r_fail(&d->log, D4R_ERROR_FEATURE, "vkCreateDebugUtilsMessengerEXT: %s",
                    d4r_vk_result_name(result));
}

static d4r_status create_instance(d4r_own_device *d, bool validation)
{
    static const char *const layers[] = {VALIDATION_LAYER};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    static const VkValidationFeatureEnableEXT enables[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    PFN_vkCreateInstance create = INSTANCE_FUNCTION(d, vkCreateInstance);
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(d);
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .pNext = &messenger,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = enables};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "d4r",
                                     .pEngineName = "d4r",
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application};
    VkResult result;
    if (validation) {
        info.pNext = &features;
        info.enabledLayerCount = info.enabledExtensionCount = 1;
        info.ppEnabledLayerNames = layers;
        info.ppEnabledExtensionNames = extensions;
    }
    result = create ? create(&info, NULL, &d->instance) : VK_ERROR_INITIALIZATION_FAILED;
    if (result == VK_SUCCESS) return validation ? create_messenger(d) : D4R_OK;
    d->instance = VK_NULL_HANDLE;
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE,
                        "no Vulkan driver is installed (for example mesa-vulkan-drivers)");
    return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "vkCreateInstance: %s", d4r_vk_result_name(result));
}

/* ---- choice of the device ---- */

typedef struct candidate {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    uint32_t queue_family;
    bool timestamps;
    bool suitable;
    char refusal[256];
} candidate;

static bool find_queue_family(const d4r_own_device *d, candidate *c)
{
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties get =
        INSTANCE_FUNCTION(d, vkGetPhysicalDeviceQueueFamilyProperties);
    get(c->handle, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0) continue;
        c->queue_family = i;
        c->timestamps = families[i].timestampValidBits > 0;
        return true;
    }
    return false;
}

static void examine(const d4r_own_device *d, candidate *c)
{
    char missing[200];
    d4r_vulkan_requirements requirements;
    INSTANCE_FUNCTION(d, vkGetPhysicalDeviceProperties)(c->handle, &c->properties);
    if (!d4r_requirements_check(d->get_instance_proc_addr, d->instance, c->handle, &requirements, missing,
                                sizeof missing))
        snprintf(c->refusal, sizeof c->refusal, "lacks %s", missing);
    else if (!find_queue_family(d, c))
        snprintf(c->refusal, sizeof c->refusal, "lacks a compute queue");
    else
        c->suitable = true;
}

static bool parse_index(const char *text, unsigned long *index)
{
    char *end;
    if (!isdigit((unsigned char)text[0])) return false;
    *index = strtoul(text, &end, 10);
    return *end == 0;
}

static bool contains(const char *name, const char *part)
{
    size_t length = strlen(part);
    for (; *name; name++)
        if (strncasecmp(name, part, length) == 0) return true;
    return false;
}

/* Marks as refused whatever was not asked for. */
static void apply_choice(candidate *candidates, uint32_t count, const char *choice)
{
    unsigned long index;
    bool by_index;
    if (!choice) return;
    by_index = parse_index(choice, &index);
    for (uint32_t i = 0; i < count; i++) {
        candidate *c = &candidates[i];
        if (by_index ? index == i : contains(c->properties.deviceName, choice)) continue;
        c->suitable = false;
        snprintf(c->refusal, sizeof c->refusal, "not the one asked for");
    }
}

static d4r_status refuse_all(const d4r_own_device *d, const candidate *candidates, uint32_t count,
                             const char *choice)
{
    char line[900];
    size_t used = 0;
    int length = choice
                     ? snprintf(line, sizeof line, "params.device \"%s\": no suitable Vulkan device", choice)
                     : snprintf(line, sizeof line, "no suitable Vulkan device");
    if (length > 0) used = (size_t)length;
    for (uint32_t i = 0; i < count && used < sizeof line; i++) {
        length = snprintf(line + used, sizeof line - used, "%s %u \"%s\" %s", i ? ";" : ":", i,
                          candidates[i].properties.deviceName, candidates[i].refusal);
        if (length > 0) used += (size_t)length;
    }
    return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "%s", line);
}

static d4r_status choose_device(d4r_own_device *d, const char *choice)
{
    PFN_vkEnumeratePhysicalDevices enumerate = INSTANCE_FUNCTION(d, vkEnumeratePhysicalDevices);
    VkPhysicalDevice handles[MAX_DEVICES];
    candidate *candidates, *chosen = NULL;
    uint32_t count = MAX_DEVICES;
    d4r_status status = D4R_OK;
    VkResult result = enumerate(d->instance, &count, handles);
    if (result < 0) count = 0;
    if (count == 0)
        return d4r_fail(&d->log, D4R_ERROR_NO_DEVICE, "the Vulkan drivers report no device (%s)",
                        d4r_vk_result_name(result));
    candidates = calloc(count, sizeof *candidates);
    if (!candidates) return d4r_fail(&d->log, D4R_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].handle = handles[i];
        examine(d, &candidates[i]);
    }
    apply_choice(candidates, count, choice);
    for (uint32_t i = 0; i < count; i++) {
        candidate *c = &candidates[i];
        bool cpu = c->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
        if (c->suitable &&
            (!chosen || (!cpu && chosen->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)))
            chosen = c;
    }
    if (chosen) {
        d->physical_device = chosen->handle;
        d->queue_family = chosen->queue_family;
        d->timestamps = chosen->timestamps;
        memcpy(d->name, chosen->properties.deviceName, sizeof d->name);
    } else {
        status = refuse_all(d, candidates, count, choice);
    }
    free(candidates);
    return status;
}

/* ---- device ---- */

static d4r_status create_device(d4r_own_device *d)
{
    static const float priority = 1.0f;
    PFN_vkCreateDevice create = INSTANCE_FUNCTION(d, vkCreateDevice);
    PFN_vkGetDeviceProcAddr get = INSTANCE_FUNCTION(d, vkGetDeviceProcAddr);
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = d->queue_family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    d4r_vulkan_requirements requirements;
    VkResult result;
    d4r_status status = d4r_vulkan_get_requirements(d->get_instance_proc_addr, d->instance,
                                                    d->physical_device, &d->log, &requirements);
    if (status != D4R_OK) return status;
    info.pNext = &requirements.features;
    info.enabledExtensionCount = requirements.extension_count;
    info.ppEnabledExtensionNames = requirements.extensions;
    result = create(d->physical_device, &info, NULL, &d->device);
    if (result != VK_SUCCESS) {
        d->device = VK_NULL_HANDLE;
        return d4r_fail(&d->log, D4R_ERROR_DEVICE, "vkCreateDevice on %s: %s", d->name,
                        d4r_vk_result_name(result));
    }
    ((PFN_vkGetDeviceQueue)get(d->device, "vkGetDeviceQueue"))(d->device, d->queue_family, 0, &d->queue);
    return D4R_OK;
}

d4r_status d4r_own_device_create(const char *choice, bool validation, const d4r_log *log, d4r_own_device *d)
{
    d4r_status status;
    memset(d, 0, sizeof *d);
    if (log) d->log = *log;
    status = open_loader(d);
    if (status == D4R_OK) status = check_version(d);
    if (status == D4R_OK && validation) status = check_layer(d);
    if (status == D4R_OK) status = create_instance(d, validation);
    if (status == D4R_OK) status = choose_device(d, choice);
    if (status == D4R_OK) status = create_device(d);
    if (status != D4R_OK) d4r_own_device_destroy(d);
    return status;
}

void d4r_own_device_destroy(d4r_own_device *d)
{
    if (d->device) {
        PFN_vkGetDeviceProcAddr get = INSTANCE_FUNCTION(d, vkGetDeviceProcAddr);
        ((PFN_vkDestroyDevice)get(d->device, "vkDestroyDevice"))(d->device, NULL);
    }
    if (d->messenger) INSTANCE_FUNCTION(d, vkDestroyDebugUtilsMessengerEXT)(d->instance, d->messenger, NULL);
    if (d->instance) INSTANCE_FUNCTION(d, vkDestroyInstance)(d->instance, NULL);
    if (d->loader) dlclose(d->loader);
    d->loader = NULL;
    d->instance = VK_NULL_HANDLE;
    d->messenger = VK_NULL_HANDLE;
    d->device = VK_NULL_HANDLE;
}
