#include "tests/vk_test.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAVAPIPE "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
#define LAYER "VK_LAYER_KHRONOS_validation"

/* The driver, its compiler and the layer keep memory until the process ends; that is not ours to report. They alone
 * are C++ here, and their stacks end at operator new. Looked up by name at run time: hidden, it would not be found. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libvulkan\nleak:libLLVM\nleak:libVkLayer\nleak:libdbus\nleak:libstdc++\n"
           "leak:libamdhip64\nleak:libhsa\n";
}

/* Neither is compiled with the thread sanitizer, so it does not see how they synchronise inside. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libVkLayer_khronos_validation\ndeadlock:libVkLayer_khronos_validation\nrace:libvulkan_lvp\n";
}

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "vk_test: %s\n", what);
    exit(1);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    vk_test *t = user;
    (void)severity;
    if (!(types &
          (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT)))
        return VK_FALSE; /* the loader's remarks on other drivers */
    if (d4r_vk_layer_gave_up(data)) {
        fprintf(stderr, "vk_test: the validation layer lost track of a timeline for 10 s\n");
        return VK_FALSE;
    }
    t->messages++;
    snprintf(t->last, sizeof t->last, "%s", data->pMessage);
    if (!t->quiet) fprintf(stderr, "validation: %s\n", data->pMessage);
    return VK_FALSE;
}

static void on_log(void *user, d4r_log_level level, const char *line)
{
    vk_test *t = user;
    if (level != D4R_LOG_ERROR) return;
    t->log_errors++;
    snprintf(t->last_log, sizeof t->last_log, "%s", line);
}

static PFN_vkVoidFunction load(const vk_test *t, const char *name)
{
    PFN_vkVoidFunction f = t->get_instance_proc_addr(t->instance, name);
    check(f != NULL, name);
    return f;
}

static bool has_layer(const vk_test *t)
{
    PFN_vkEnumerateInstanceLayerProperties enumerate =
        (PFN_vkEnumerateInstanceLayerProperties)t->get_instance_proc_addr(
            NULL, "vkEnumerateInstanceLayerProperties");
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (!enumerate || enumerate(&count, layers) < 0) return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, LAYER) == 0) return true;
    return false;
}

static bool create_instance(vk_test *t)
{
    if (!getenv("D4R_TEST_DEVICE") && access(LAVAPIPE, R_OK) == 0) {
        setenv("VK_ICD_FILENAMES", LAVAPIPE, 1);
        setenv("VK_DRIVER_FILES", LAVAPIPE, 1);
    }
    /* Hazards between submissions too; only the environment can ask for that. */
    setenv("VK_LAYER_ENABLES", "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 0);
    t->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!t->library) {
        fprintf(stderr, "skipped: no libvulkan.so.1\n");
        return false;
    }
    t->get_instance_proc_addr = (PFN_vkGetInstanceProcAddr)dlsym(t->library, "vkGetInstanceProcAddr");
    check(t->get_instance_proc_addr != NULL, "vkGetInstanceProcAddr");
    if (!has_layer(t)) {
        fprintf(stderr, "skipped: %s is not installed\n", LAYER);
        return false;
    }
    static const VkValidationFeatureEnableEXT enables[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = t};
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .pNext = &messenger,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = enables};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "d4r tests",
                                           .apiVersion = VK_API_VERSION_1_2};
    const char *layers[] = {LAYER}, *extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = &features,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = 1,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = 1,
                                       .ppEnabledExtensionNames = extensions};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)t->get_instance_proc_addr(NULL, "vkCreateInstance");
    check(create(&info, NULL, &t->instance) == VK_SUCCESS, "vkCreateInstance failed");
    PFN_vkCreateDebugUtilsMessengerEXT create_messenger =
        (PFN_vkCreateDebugUtilsMessengerEXT)load(t, "vkCreateDebugUtilsMessengerEXT");
    check(create_messenger(t->instance, &messenger, NULL, &t->messenger) == VK_SUCCESS, "no messenger");
    return true;
}

/* The leak checker can name what a library left behind only while the library is there. */
static void keep_loaded(void)
{
    static const char *const names[] = {"libvulkan_lvp.so", "libVkLayer_khronos_validation.so"};
    for (int i = 0; i < 2; i++) dlopen(names[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool pick_device(vk_test *t)
{
    const char *wanted = getenv("D4R_TEST_DEVICE");
    if (!wanted) wanted = "llvmpipe";
    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)load(t, "vkEnumeratePhysicalDevices");
    PFN_vkGetPhysicalDeviceProperties get =
        (PFN_vkGetPhysicalDeviceProperties)load(t, "vkGetPhysicalDeviceProperties");
    if (enumerate(t->instance, &count, devices) < 0) count = 0;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        get(devices[i], &properties);
        if (!strstr(properties.deviceName, wanted)) continue;
        t->physical_device = devices[i];
        return true;
    }
    fprintf(stderr, "skipped: no Vulkan device named *%s* among %u\n", wanted, count);
    return false;
}

static bool has_extension(const vk_test *t, const char *name)
{
    static VkExtensionProperties extensions[512];
    uint32_t count = 512;
    PFN_vkEnumerateDeviceExtensionProperties enumerate =
        (PFN_vkEnumerateDeviceExtensionProperties)load(t, "vkEnumerateDeviceExtensionProperties");
    if (enumerate(t->physical_device, NULL, &count, extensions) < 0) return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(extensions[i].extensionName, name) == 0) return true;
    return false;
}

static void create_device(vk_test *t)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    ((PFN_vkGetPhysicalDeviceQueueFamilyProperties)load(t, "vkGetPhysicalDeviceQueueFamilyProperties"))(
        t->physical_device, &count, families);
    while (t->family < count && !(families[t->family].queueFlags & VK_QUEUE_COMPUTE_BIT)) t->family++;
    check(t->family < count, "no compute queue");
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = t->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
    const VkPhysicalDeviceFeatures features = {.shaderStorageImageExtendedFormats = VK_TRUE};
    static const char *const wanted[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                         VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
    const char *extensions[2];
    uint32_t extension_count = 0;
    for (int i = 0; i < 2; i++)
        if (has_extension(t, wanted[i])) extensions[extension_count++] = wanted[i];
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = extension_count,
                                     .ppEnabledExtensionNames = extensions,
                                     .pEnabledFeatures = &features};
    VkResult result =
        ((PFN_vkCreateDevice)load(t, "vkCreateDevice"))(t->physical_device, &info, NULL, &t->device);
    check(result == VK_SUCCESS, "vkCreateDevice failed");
    const d4r_log log = {on_log, t, D4R_LOG_WARNING};
    keep_loaded();
    check(d4r_vk_init(&t->vk, t->get_instance_proc_addr, t->instance, t->physical_device, t->device,
                      t->family, NULL, &log) == D4R_OK,
          "d4r_vk_init failed");
    t->vk.fn.vkGetDeviceQueue(t->device, t->family, 0, &t->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = t->family};
    check(t->vk.fn.vkCreateCommandPool(t->device, &pool, NULL, &t->pool) == VK_SUCCESS, "no command pool");
}

bool vk_test_create(vk_test *t)
{
    memset(t, 0, sizeof *t);
    if (!create_instance(t) || !pick_device(t)) {
        vk_test_destroy(t);
        return false;
    }
    create_device(t);
    return true;
}

void vk_test_destroy(vk_test *t)
{
    if (t->device) {
        t->vk.fn.vkDeviceWaitIdle(t->device);
        t->vk.fn.vkDestroyCommandPool(t->device, t->pool, NULL);
        t->vk.fn.vkDestroyDevice(t->device, NULL);
    }
    if (t->instance) {
        ((PFN_vkDestroyDebugUtilsMessengerEXT)load(t, "vkDestroyDebugUtilsMessengerEXT"))(t->instance,
                                                                                          t->messenger, NULL);
        ((PFN_vkDestroyInstance)load(t, "vkDestroyInstance"))(t->instance, NULL);
    }
    /* The library stays loaded: the driver's own threads and caches outlive the instance. */
    t->device = VK_NULL_HANDLE;
    t->instance = VK_NULL_HANDLE;
}

VkCommandBuffer vk_test_begin(vk_test *t)
{
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = t->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands;
    check(t->vk.fn.vkAllocateCommandBuffers(t->device, &info, &commands) == VK_SUCCESS, "no command buffer");
    check(t->vk.fn.vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS, "vkBeginCommandBuffer failed");
    return commands;
}

void vk_test_submit_all(vk_test *t, VkCommandBuffer *commands, uint32_t count)
{
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    check(t->vk.fn.vkCreateFence(t->device, &fence_info, NULL, &fence) == VK_SUCCESS, "no fence");
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo submit = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands[i]};
        check(t->vk.fn.vkEndCommandBuffer(commands[i]) == VK_SUCCESS, "vkEndCommandBuffer failed");
        check(t->vk.fn.vkQueueSubmit(t->queue, 1, &submit, i + 1 == count ? fence : VK_NULL_HANDLE) ==
                  VK_SUCCESS,
              "vkQueueSubmit failed");
    }
    check(t->vk.fn.vkWaitForFences(t->device, 1, &fence, VK_TRUE, 300000000000ull) == VK_SUCCESS,
          "the device did not finish in 300 s");
    t->vk.fn.vkDestroyFence(t->device, fence, NULL);
    t->vk.fn.vkFreeCommandBuffers(t->device, t->pool, count, commands);
}

void vk_test_submit(vk_test *t, VkCommandBuffer commands)
{
    vk_test_submit_all(t, &commands, 1);
}

/* ---- data */

static d4r_vk_buffer staging(vk_test *t, VkDeviceSize size, VkBufferUsageFlags usage)
{
    d4r_vk_buffer buffer;
    check(d4r_vk_buffer_create(&t->vk, "staging", size, usage,
                               VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0,
                               false, &buffer) == D4R_OK,
          "no staging buffer");
    return buffer;
}

static void all_barrier(vk_test *t, VkCommandBuffer commands, VkImage image, VkImageLayout from,
                        VkImageLayout to)
{
    const VkAccessFlags any = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, any, any};
    const VkImageMemoryBarrier layout = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                         .srcAccessMask = any,
                                         .dstAccessMask = any,
                                         .oldLayout = from,
                                         .newLayout = to,
                                         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .image = image,
                                         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    t->vk.fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &memory, 0, NULL, image ? 1 : 0,
                                  &layout);
}

static VkBufferImageCopy whole(uint32_t width, uint32_t height)
{
    return (VkBufferImageCopy){.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = {width, height, 1}};
}

static void write_image(vk_test *t, VkImage image, VkImageLayout from, uint32_t width, uint32_t height,
                        uint32_t bytes, const void *data)
{
    const VkDeviceSize size = (VkDeviceSize)width * height * bytes;
    d4r_vk_buffer buffer = staging(t, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    if (data) memcpy(buffer.map, data, size);
    VkCommandBuffer commands = vk_test_begin(t);
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    all_barrier(t, commands, image, from, layout);
    const VkBufferImageCopy copy = whole(width, height);
    if (data) t->vk.fn.vkCmdCopyBufferToImage(commands, buffer.buffer, image, layout, 1, &copy);
    all_barrier(t, commands, image, layout, VK_IMAGE_LAYOUT_GENERAL);
    vk_test_submit(t, commands);
    d4r_vk_buffer_destroy(&t->vk, &buffer);
}

d4r_vk_image vk_test_image(vk_test *t, const char *name, VkFormat format, uint32_t width, uint32_t height,
                           VkImageUsageFlags usage, const void *data, uint32_t bytes)
{
    d4r_vk_image image;
    usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    check(d4r_vk_image_create(&t->vk, name, format, (VkExtent2D){width, height}, usage, &image) == D4R_OK,
          "no image");
    write_image(t, image.image, VK_IMAGE_LAYOUT_UNDEFINED, width, height, bytes, data);
    return image;
}

void vk_test_write_image(vk_test *t, VkImage image, uint32_t width, uint32_t height, uint32_t bytes,
                         const void *data)
{
    write_image(t, image, VK_IMAGE_LAYOUT_GENERAL, width, height, bytes, data);
}

void vk_test_read_image(vk_test *t, VkImage image, uint32_t width, uint32_t height, uint32_t bytes, void *out)
{
    const VkDeviceSize size = (VkDeviceSize)width * height * bytes;
    d4r_vk_buffer buffer = staging(t, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkCommandBuffer commands = vk_test_begin(t);
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    all_barrier(t, commands, image, VK_IMAGE_LAYOUT_GENERAL, layout);
    const VkBufferImageCopy copy = whole(width, height);
    t->vk.fn.vkCmdCopyImageToBuffer(commands, image, layout, buffer.buffer, 1, &copy);
    all_barrier(t, commands, image, layout, VK_IMAGE_LAYOUT_GENERAL);
    vk_test_submit(t, commands);
    memcpy(out, buffer.map, size);
    d4r_vk_buffer_destroy(&t->vk, &buffer);
}

static void copy_buffer(vk_test *t, VkBuffer from, VkBuffer to, VkDeviceSize size)
{
    VkCommandBuffer commands = vk_test_begin(t);
    all_barrier(t, commands, VK_NULL_HANDLE, 0, 0);
    t->vk.fn.vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){0, 0, size});
    all_barrier(t, commands, VK_NULL_HANDLE, 0, 0);
    vk_test_submit(t, commands);
}

void vk_test_read_buffer(vk_test *t, VkBuffer from, VkDeviceSize size, void *out)
{
    d4r_vk_buffer buffer = staging(t, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    copy_buffer(t, from, buffer.buffer, size);
    memcpy(out, buffer.map, size);
    d4r_vk_buffer_destroy(&t->vk, &buffer);
}

void vk_test_write_buffer(vk_test *t, VkBuffer to, VkDeviceSize size, const void *data)
{
    d4r_vk_buffer buffer = staging(t, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    memcpy(buffer.map, data, size);
    copy_buffer(t, buffer.buffer, to, size);
    d4r_vk_buffer_destroy(&t->vk, &buffer);
}
