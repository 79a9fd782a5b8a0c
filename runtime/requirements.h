/* What a device needs for d4r, with reasons when it lacks something. */
#ifndef D4R_RUNTIME_REQUIREMENTS_H
#define D4R_RUNTIME_REQUIREMENTS_H

#include "d4r/d4r_vulkan.h"

/* Fills *requirements when the device will do. Otherwise returns false and writes everything that is missing
 * to `missing`, separated by commas. */
bool d4r_requirements_check(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                            VkPhysicalDevice physical_device, d4r_vulkan_requirements *requirements,
                            char *missing, size_t missing_size);

#endif
