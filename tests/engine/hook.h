/* A vkGetInstanceProcAddr between the engine and the device: hides commands, and lets creation calls fail. The engine
 * takes whatever the caller passes in, so no hook in the library is needed. */
#ifndef D4R_TESTS_ENGINE_HOOK_H
#define D4R_TESTS_ENGINE_HOOK_H

#include "tests/vk_test.h"

/* Prepares the hook for this device; nothing hidden, nothing failing. */
void hook_init(const vk_test *t);
/* Device command that reads as missing; NULL: none. */
void hook_hide(const char *name);
/* New mappings hold 0x7f in every byte, a NaN in FP8 and in f32, instead of the driver's zeros. */
void hook_spoil_maps(bool spoil);
/* Call number n (from 0) of the creation and allocation commands fails with VK_ERROR_OUT_OF_DEVICE_MEMORY;
 * UINT32_MAX: none. */
void hook_fail_at(uint32_t n);
/* Whether a call has failed since hook_fail_at. */
bool hook_failed(void);
PFN_vkVoidFunction VKAPI_CALL hook_get_instance_proc_addr(VkInstance instance, const char *name);

#endif
