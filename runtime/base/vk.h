/* A Vulkan device as the library's parts see it: volk's device table, limits and small creation helpers.
 * No global Vulkan pointers: everything goes through the table. */
#ifndef D4R_RUNTIME_BASE_VK_H
#define D4R_RUNTIME_BASE_VK_H

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>
#include "d4r/d4r.h"

typedef struct d4r_vk {
    struct VolkDeviceTable fn;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t queue_family;
    const VkAllocationCallbacks *allocator;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t subgroup_size;
    bool external_memory_fd;                          /* VK_KHR_external_memory_fd is enabled */
    PFN_vkSetDebugUtilsObjectNameEXT set_object_name; /* NULL unless VK_EXT_debug_utils is enabled */
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;     /* likewise */
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    d4r_log log;
} d4r_vk;

typedef struct d4r_vk_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size;       /* as asked for */
    VkDeviceSize allocation; /* VkMemoryAllocateInfo.allocationSize */
    void *map;               /* NULL when not mapped */
} d4r_vk_buffer;

typedef struct d4r_vk_image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    VkDeviceSize allocation;
    VkFormat format;
    VkExtent2D extent;
} d4r_vk_image;

/* Fills vk from the caller's handles: loads the device table, reads properties. */
d4r_status d4r_vk_init(d4r_vk *vk, PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                       VkPhysicalDevice physical_device, VkDevice device, uint32_t queue_family,
                       const VkAllocationCallbacks *allocator, const d4r_log *log);

/* Debug name, shown in validation messages; nothing without VK_EXT_debug_utils. */
void d4r_vk_set_name(const d4r_vk *vk, VkObjectType type, uint64_t handle, const char *name);

/* A named region of a command buffer, for debuggers; nothing without VK_EXT_debug_utils. */
void d4r_vk_begin_label(const d4r_vk *vk, VkCommandBuffer commands, const char *name);
void d4r_vk_end_label(const d4r_vk *vk, VkCommandBuffer commands);

/* Index of a memory type in `type_bits` with all `required` flags, preferring `preferred`; UINT32_MAX: none.
 */
uint32_t d4r_vk_memory_type(const d4r_vk *vk, uint32_t type_bits, VkMemoryPropertyFlags required,
                            VkMemoryPropertyFlags preferred);

/* Creates buffer and dedicated memory; mapped when `required` holds HOST_VISIBLE. `export_fd`: chained for
 * export as an opaque fd. The name is used in messages and as debug name. On error *buffer is zeroed. */
d4r_status d4r_vk_buffer_create(const d4r_vk *vk, const char *name, VkDeviceSize size,
                                VkBufferUsageFlags usage, VkMemoryPropertyFlags required,
                                VkMemoryPropertyFlags preferred, bool export_fd, d4r_vk_buffer *buffer);
void d4r_vk_buffer_destroy(const d4r_vk *vk, d4r_vk_buffer *buffer); /* zeroes; zeroed content is fine */

/* The aspects of a format: colour, depth, or depth and stencil. */
VkImageAspectFlags d4r_vk_aspects(VkFormat format);

/* Creates a 2D optimal-tiling image with one mip, device-local memory and a view of the whole image (the depth aspect of
 * depth formats). */
d4r_status d4r_vk_image_create(const d4r_vk *vk, const char *name, VkFormat format, VkExtent2D extent,
                               VkImageUsageFlags usage, d4r_vk_image *image);
void d4r_vk_image_destroy(const d4r_vk *vk, d4r_vk_image *image);

/* True for the one message in which the validation layer gives up a wait of its own book-keeping ("most likely a
 * validation bug"): up to 1.3.296 its thread can block itself when a timeline is both waited for and signalled by the
 * host, and says so 10 s later on a busy machine (Khronos Vulkan-ValidationLayers #4968, mended by #8519). It tells
 * nothing of the program; every wait of ours is bounded and checked by itself. */
bool d4r_vk_layer_gave_up(const VkDebugUtilsMessengerCallbackDataEXT *data);

/* VkResult as text, for messages. */
const char *d4r_vk_result_name(VkResult result);
/* Logs "what: VK_ERROR_..." and maps the result to a status (OUT_OF_*_MEMORY: MEMORY, else DEVICE). */
d4r_status d4r_vk_fail(const d4r_vk *vk, VkResult result, const char *what);

#endif
