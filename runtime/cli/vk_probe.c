#include "runtime/cli/vk_probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include "d4r/d4r_vulkan.h"

typedef struct loader {
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance;
    PFN_vkGetPhysicalDeviceProperties2 properties;
    PFN_vkGetPhysicalDeviceMemoryProperties memory;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
} loader;

static PFN_vkVoidFunction function(const loader *l, const char *name)
{
    return l->get(l->instance, name);
}

static const char *type_name(VkPhysicalDeviceType type)
{
    static const char *const names[] = {"other", "integrated GPU", "discrete GPU", "virtual GPU", "CPU"};
    return (unsigned)type < 5 ? names[type] : names[0];
}

/* Lines of the requirements check, collected instead of printed. */
static void collect_line(void *user, d4r_log_level level, const char *line)
{
    vk_device_info *info = user;
    if (level != D4R_LOG_ERROR || info->missing_count == VK_MAX_MISSING) return;
    snprintf(info->missing[info->missing_count++], sizeof info->missing[0], "%s", line);
}

static bool has_extension(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].extensionName, name)) return true;
    return false;
}

static void read_extensions(const loader *l, VkPhysicalDevice device, vk_device_info *info)
{
    uint32_t count = 0;
    if (l->extensions(device, NULL, &count, NULL) != VK_SUCCESS || !count) return;
    VkExtensionProperties *list = calloc(count, sizeof *list);
    if (list && l->extensions(device, NULL, &count, list) == VK_SUCCESS) {
        info->external_memory_fd = has_extension(list, count, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
        info->pci_known = has_extension(list, count, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    }
    free(list);
}

static void read_properties(const loader *l, VkPhysicalDevice device, vk_device_info *info)
{
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &driver};
    VkPhysicalDeviceMemoryProperties memory;
    if (info->pci_known) driver.pNext = &pci;
    l->properties(device, &properties);
    l->memory(device, &memory);
    snprintf(info->name, sizeof info->name, "%s", properties.properties.deviceName);
    snprintf(info->driver, sizeof info->driver, "%s", driver.driverName);
    snprintf(info->driver_details, sizeof info->driver_details, "%s", driver.driverInfo);
    info->type = type_name(properties.properties.deviceType);
    info->api_version = properties.properties.apiVersion;
    info->max_image = properties.properties.limits.maxImageDimension2D;
    info->pci_domain = pci.pciDomain;
    info->pci_bus = pci.pciBus;
    info->pci_device = pci.pciDevice;
    info->pci_function = pci.pciFunction;
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            memory.memoryHeaps[i].size > info->local_bytes)
            info->local_bytes = memory.memoryHeaps[i].size;
}

static void read_device(const loader *l, VkPhysicalDevice device, vk_device_info *info)
{
    d4r_log log = {collect_line, info, D4R_LOG_ERROR};
    d4r_vulkan_requirements requirements;
    read_extensions(l, device, info);
    read_properties(l, device, info);
    info->usable = d4r_vulkan_get_requirements(l->get, l->instance, device, &log, &requirements) == D4R_OK;
}

static void read_devices(loader *l, vk_probe_result *result)
{
    VkPhysicalDevice devices[VK_MAX_DEVICES];
    uint32_t count = VK_MAX_DEVICES;
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)function(l, "vkEnumeratePhysicalDevices");
    l->properties = (PFN_vkGetPhysicalDeviceProperties2)function(l, "vkGetPhysicalDeviceProperties2");
    l->memory = (PFN_vkGetPhysicalDeviceMemoryProperties)function(l, "vkGetPhysicalDeviceMemoryProperties");
    l->extensions =
        (PFN_vkEnumerateDeviceExtensionProperties)function(l, "vkEnumerateDeviceExtensionProperties");
    if (!enumerate || !l->properties || !l->memory || !l->extensions) {
        snprintf(result->problem, sizeof result->problem, "the Vulkan loader lacks basic functions");
        return;
    }
    VkResult code = enumerate(l->instance, &count, devices);
    if ((code != VK_SUCCESS && code != VK_INCOMPLETE) || !count) {
        snprintf(result->problem, sizeof result->problem,
                 "no Vulkan device (vkEnumeratePhysicalDevices: %d, %u found)", (int)code,
                 code == VK_SUCCESS ? count : 0);
        return;
    }
    result->device_count = count;
    for (uint32_t i = 0; i < count; i++) read_device(l, devices[i], &result->devices[i]);
}

void vk_probe(vk_probe_result *result)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so"};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "d4r-info",
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &application};
    loader l = {0};
    void *library = NULL;
    memset(result, 0, sizeof *result);
    for (int i = 0; i < 2 && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) snprintf(result->loader, sizeof result->loader, "%s", names[i]);
    }
    void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol) {
        snprintf(result->problem, sizeof result->problem, "no Vulkan loader (libvulkan.so.1)");
        return;
    }
    memcpy(&l.get, &symbol, sizeof symbol);
    PFN_vkCreateInstance make = (PFN_vkCreateInstance)function(&l, "vkCreateInstance");
    VkResult code = make ? make(&create, NULL, &l.instance) : VK_ERROR_INITIALIZATION_FAILED;
    if (code != VK_SUCCESS) {
        snprintf(result->problem, sizeof result->problem, "no Vulkan instance (vkCreateInstance: %d%s)",
                 (int)code, code == VK_ERROR_INCOMPATIBLE_DRIVER ? ", no driver is installed" : "");
        return;
    }
    read_devices(&l, result);
    PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)function(&l, "vkDestroyInstance");
    if (destroy) destroy(l.instance, NULL);
}
