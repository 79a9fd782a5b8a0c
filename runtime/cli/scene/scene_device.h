/* A Vulkan device with one compute queue for d4r-scene. */
#ifndef D4R_SCENE_DEVICE_H
#define D4R_SCENE_DEVICE_H

#include "runtime/base/vk.h"

typedef struct scene_device {
    d4r_vk vk;
    VkQueue queue;
    void *loader;
    VkDebugUtilsMessengerEXT messenger;
    unsigned validation_messages;
} scene_device;

/* `choice`: NULL (a GPU before a CPU device), an index, or a part of the device's name. Zeroed first; on error nothing is
 * left. The object must not move afterwards. */
d4r_status scene_device_create(const char *choice, bool validation, const d4r_log *log, scene_device *device);
void scene_device_destroy(scene_device *device);

#endif
