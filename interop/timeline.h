/* Timeline semaphores: creation, host wait and host signal. */
#ifndef D4R_INTEROP_TIMELINE_H
#define D4R_INTEROP_TIMELINE_H

#include "runtime/base/vk.h"

d4r_status d4r_timeline_create(const d4r_vk *vk, const char *name, VkSemaphore *timeline);

/* VK_SUCCESS once the value is reached, VK_TIMEOUT, or an error such as VK_ERROR_DEVICE_LOST. */
VkResult d4r_timeline_wait(const d4r_vk *vk, VkSemaphore timeline, uint64_t value, uint64_t timeout_ns);

/* The value must be larger than the current one and than that of any pending signal. */
VkResult d4r_timeline_signal(const d4r_vk *vk, VkSemaphore timeline, uint64_t value);

#endif
