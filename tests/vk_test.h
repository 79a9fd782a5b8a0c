/* A Vulkan device for tests: lavapipe with the validation layer, synchronisation validation included, and a
 * count of its messages. Set D4R_TEST_DEVICE to a part of another device's name to test that one instead. */
#ifndef D4R_TESTS_VK_TEST_H
#define D4R_TESTS_VK_TEST_H

#include "runtime/base/vk.h"

typedef struct vk_test {
    void *library;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    d4r_vk vk;           /* of `device`; the function table may be patched by a test */
    unsigned messages;   /* validation messages (warnings and errors) so far */
    bool quiet;          /* do not print them: they are expected */
    char last[2048];     /* the last one */
    unsigned log_errors; /* lines that the library logged as errors */
    char last_log[1024];
} vk_test;

/* False, with the reason on stderr, when there is no device or no validation layer: the test exits with 77.
 * Everything else that goes wrong ends the process: it is a failure of the test. */
bool vk_test_create(vk_test *t);
void vk_test_destroy(vk_test *t);

/* A command buffer in recording state; submit ends it, waits for it and frees it. */
VkCommandBuffer vk_test_begin(vk_test *t);
void vk_test_submit(vk_test *t, VkCommandBuffer commands);
/* The same for several, each in a submission of its own, without waits in between. */
void vk_test_submit_all(vk_test *t, VkCommandBuffer *commands, uint32_t count);

/* Creates an image with the content (tightly packed, `bytes` a pixel) in layout GENERAL; data NULL:
 * undefined. */
d4r_vk_image vk_test_image(vk_test *t, const char *name, VkFormat format, uint32_t width, uint32_t height,
                           VkImageUsageFlags usage, const void *data, uint32_t bytes);
/* Copies `bytes` a pixel of the top left width x height of an image in layout GENERAL. */
void vk_test_read_image(vk_test *t, VkImage image, uint32_t width, uint32_t height, uint32_t bytes,
                        void *out);
void vk_test_read_buffer(vk_test *t, VkBuffer buffer, VkDeviceSize size, void *out);
void vk_test_write_buffer(vk_test *t, VkBuffer buffer, VkDeviceSize size, const void *data);
/* Overwrites an image in layout GENERAL. */
void vk_test_write_image(vk_test *t, VkImage image, uint32_t width, uint32_t height, uint32_t bytes,
                         const void *data);

#endif
