/* The window, the device and what the interactive example draws with: plain Vulkan, nothing of d4r's except what the
 * device must have enabled. Every failure ends the program with a message. */
#ifndef D4R_EXAMPLES_GPU_H
#define D4R_EXAMPLES_GPU_H

#define GLFW_INCLUDE_NONE
#include <vulkan/vulkan.h>
#include <GLFW/glfw3.h>

#include "d4r/d4r_vulkan.h"

#define GPU_SLOTS 2 /* frames that the CPU may be ahead */
#define GPU_MAX_SWAP 8

typedef struct gpu_image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    VkFormat format;
    VkImageUsageFlags usage;
    d4r_size size;
} gpu_image;

/* A compute shader with one descriptor set of images, one a binding. */
typedef struct gpu_pass {
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorSet set;
} gpu_pass;

typedef struct gpu_slot {
    VkCommandBuffer front, back;
    VkSemaphore acquired;
    VkFence done;
} gpu_slot;

typedef struct gpu {
    GLFWwindow *window;
    VkInstance instance;
    VkSurfaceKHR surface;
    VkPhysicalDevice physical;
    uint32_t family;
    VkDevice device;
    VkQueue queue;
    VkCommandPool commands;
    VkDescriptorPool descriptors;
    VkSampler sampler;
    VkSwapchainKHR swapchain;
    d4r_size swap_size;
    uint32_t swap_count;
    VkImage swap[GPU_MAX_SWAP];
    VkSemaphore drawn[GPU_MAX_SWAP];
    gpu_slot slots[GPU_SLOTS];
    d4r_log log;
} gpu;

/* Ends the program: 3 without a display or device, 6 when a call fails. */
void gpu_fail(int code, const char *what);
void gpu_check(int result, const char *what);

void gpu_create(gpu *g, d4r_size window, const d4r_log *log);
void gpu_destroy(gpu *g);

gpu_image gpu_image_create(const gpu *g, VkFormat format, d4r_size size, VkImageUsageFlags usage);
void gpu_image_destroy(const gpu *g, gpu_image *image);

/* types[i]: STORAGE_IMAGE or COMBINED_IMAGE_SAMPLER of images[i], in layout GENERAL, at binding i. */
gpu_pass gpu_pass_create(const gpu *g, const uint32_t *code, size_t code_size, uint32_t push_size,
                         uint32_t count, const VkDescriptorType *types, const gpu_image *const *images);
void gpu_pass_destroy(const gpu *g, gpu_pass *pass);
/* One invocation a pixel, in groups of 8x8. */
void gpu_pass_record(const gpu_pass *pass, VkCommandBuffer commands, d4r_size size, const void *push,
                     uint32_t push_size);

/* A full barrier; a layout that stays the same makes it a memory barrier of this image. */
void gpu_barrier(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to);

void gpu_begin(VkCommandBuffer commands);
/* False: the swapchain was made anew, skip this frame. */
bool gpu_acquire(gpu *g, const gpu_slot *slot, uint32_t *index);
/* Copies the picture into a swapchain image. Expects it in GENERAL and leaves it in TRANSFER_SRC_OPTIMAL. */
void gpu_record_show(const gpu *g, VkCommandBuffer commands, const gpu_image *picture, uint32_t index);
/* Front, A, B, back: see d4r_vulkan.h. */
void gpu_submit(const gpu *g, const gpu_slot *slot, uint32_t index, const d4r_frame *frame);
void gpu_present(gpu *g, uint32_t index);

/* RGBA8 in TRANSFER_SRC_OPTIMAL, as PNG. Waits for the device. False: the file cannot be written. */
bool gpu_screenshot(const gpu *g, const gpu_image *picture, const char *path);

#endif
