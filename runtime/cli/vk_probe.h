/* What d4r-info tells about Vulkan devices. */
#ifndef D4R_RUNTIME_CLI_VK_PROBE_H
#define D4R_RUNTIME_CLI_VK_PROBE_H

#include "runtime/base/log.h"

#define VK_MAX_DEVICES 16
#define VK_MAX_MISSING 16

typedef struct vk_device_info {
    char name[256], driver[256], driver_details[256];
    const char *type; /* "discrete GPU", ... */
    uint32_t api_version, max_image;
    uint64_t local_bytes; /* largest device-local heap */
    bool pci_known, external_memory_fd, usable;
    uint32_t pci_domain, pci_bus, pci_device, pci_function;
    unsigned missing_count;
    char missing[VK_MAX_MISSING][160]; /* what d4r needs and the device lacks */
} vk_device_info;

typedef struct vk_probe_result {
    char loader[64];
    char problem[256]; /* why there are no devices */
    unsigned device_count;
    vk_device_info devices[VK_MAX_DEVICES];
} vk_probe_result;

void vk_probe(vk_probe_result *result);

#endif
