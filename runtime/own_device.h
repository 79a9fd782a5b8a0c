/* The upscaler's own Vulkan device: loader, instance, choice of the device, queue, validation. */
#ifndef D4R_RUNTIME_OWN_DEVICE_H
#define D4R_RUNTIME_OWN_DEVICE_H

#include <stdatomic.h>
#include "d4r/d4r_vulkan.h"
#include "runtime/base/vk.h"

typedef struct d4r_own_device {
    void *loader; /* libvulkan.so.1 */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t queue_family;
    VkQueue queue;
    bool timestamps; /* the queue can write them */
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    d4r_log log;
    atomic_uint validation_messages;
} d4r_own_device;

/* `choice`: NULL (first suitable device, CPUs last), an index, or a part of a name. The struct must stay
 * where it is: the validation messenger points to it. On error everything is released. */
d4r_status d4r_own_device_create(const char *choice, bool validation, const d4r_log *log,
                                 d4r_own_device *device);
void d4r_own_device_destroy(d4r_own_device *device);

#endif
