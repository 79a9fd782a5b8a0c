#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gpu_fail(int code, const char *what)
{
    fprintf(stderr, "interactive: %s\n", what);
    exit(code);
}

void gpu_check(int result, const char *what)
{
    if (result == 0) return;
    fprintf(stderr, "interactive: %s failed (%d)\n", what, result);
    exit(6);
}

static void on_glfw_error(int code, const char *text)
{
    (void)code;
    fprintf(stderr, "interactive: window system: %s\n", text);
}

static void create_window(gpu *g, d4r_size size)
{
    glfwSetErrorCallback(on_glfw_error);
    if (!glfwInit()) gpu_fail(3, "no display: is DISPLAY set? (without one: xvfb-run)");
    if (!glfwVulkanSupported()) gpu_fail(3, "no Vulkan loader, or no driver that can draw to a window");
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE);
    g->window = glfwCreateWindow((int)size.width, (int)size.height, "d4r", NULL, NULL);
    if (!g->window) gpu_fail(3, "no window");
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    uint32_t count;
    const char **names = glfwGetRequiredInstanceExtensions(&count);
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &info,
                                   .enabledExtensionCount = count,
                                   .ppEnabledExtensionNames = names};
    gpu_check(vkCreateInstance(&create, NULL, &g->instance), "vkCreateInstance");
    gpu_check(glfwCreateWindowSurface(g->instance, g->window, NULL, &g->surface), "glfwCreateWindowSurface");
}

/* The first device with a queue family that computes, draws to the surface, and that d4r can use. */
static void choose_device(gpu *g, d4r_vulkan_requirements *needed)
{
    VkPhysicalDevice devices[16];
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    if (vkEnumeratePhysicalDevices(g->instance, &count, devices) < 0) count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t family_count = 16;
        vkGetPhysicalDeviceQueueFamilyProperties(devices[i], &family_count, families);
        for (uint32_t f = 0; f < family_count; f++) {
            VkBool32 shows = VK_FALSE;
            vkGetPhysicalDeviceSurfaceSupportKHR(devices[i], f, g->surface, &shows);
            if (!shows || !(families[f].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
            if (d4r_vulkan_get_requirements(vkGetInstanceProcAddr, g->instance, devices[i], &g->log,
                                            needed) != D4R_OK)
                break;
            g->physical = devices[i];
            g->family = f;
            return;
        }
    }
    gpu_fail(3, "no Vulkan device that d4r can use and that can draw to the window");
}

static void create_device(gpu *g)
{
    d4r_vulkan_requirements needed;
    choose_device(g, &needed);
    const char *names[32] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
    if (needed.extension_count > 31) gpu_fail(6, "more device extensions than expected");
    for (uint32_t i = 0; i < needed.extension_count; i++) names[1 + i] = needed.extensions[i];
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = g->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = &needed.features,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = needed.extension_count + 1,
                                 .ppEnabledExtensionNames = names};
    gpu_check(vkCreateDevice(g->physical, &create, NULL, &g->device), "vkCreateDevice");
    vkGetDeviceQueue(g->device, g->family, 0, &g->queue);
}

static VkSemaphore create_semaphore(const gpu *g)
{
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore;
    gpu_check(vkCreateSemaphore(g->device, &info, NULL, &semaphore), "vkCreateSemaphore");
    return semaphore;
}

static void create_slots(gpu *g)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = g->family};
    gpu_check(vkCreateCommandPool(g->device, &pool, NULL, &g->commands), "vkCreateCommandPool");
    VkCommandBuffer buffers[2 * GPU_SLOTS];
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = g->commands,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 2 * GPU_SLOTS};
    gpu_check(vkAllocateCommandBuffers(g->device, &info, buffers), "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
                               .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    for (int i = 0; i < GPU_SLOTS; i++) {
        g->slots[i] =
            (gpu_slot){.front = buffers[2 * i], .back = buffers[2 * i + 1], .acquired = create_semaphore(g)};
        gpu_check(vkCreateFence(g->device, &fence, NULL, &g->slots[i].done), "vkCreateFence");
    }
    for (int i = 0; i < GPU_MAX_SWAP; i++) g->drawn[i] = create_semaphore(g);
}

static void create_swapchain(gpu *g)
{
    VkSurfaceCapabilitiesKHR can;
    VkSurfaceFormatKHR formats[32];
    uint32_t count = 32;
    gpu_check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(g->physical, g->surface, &can),
              "surface capabilities");
    if (vkGetPhysicalDeviceSurfaceFormatsKHR(g->physical, g->surface, &count, formats) < 0 || count == 0)
        gpu_fail(3, "the window has no format");
    /* Values are written as they are: not an sRGB format, which would encode them once more. */
    VkSurfaceFormatKHR format = formats[0];
    for (uint32_t i = 0; i < count; i++)
        if (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM || formats[i].format == VK_FORMAT_R8G8B8A8_UNORM) {
            format = formats[i];
            break;
        }
    int width, height;
    glfwGetFramebufferSize(g->window, &width, &height);
    VkExtent2D extent = can.currentExtent;
    if (extent.width == UINT32_MAX) extent = (VkExtent2D){(uint32_t)width, (uint32_t)height};
    uint32_t images = can.minImageCount + 1;
    if (can.maxImageCount && images > can.maxImageCount) images = can.maxImageCount;
    VkSwapchainKHR old = g->swapchain;
    VkSwapchainCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                       .surface = g->surface,
                                       .minImageCount = images,
                                       .imageFormat = format.format,
                                       .imageColorSpace = format.colorSpace,
                                       .imageExtent = extent,
                                       .imageArrayLayers = 1,
                                       .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                       .preTransform = can.currentTransform,
                                       .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                       .presentMode = VK_PRESENT_MODE_FIFO_KHR,
                                       .clipped = VK_TRUE,
                                       .oldSwapchain = old};
    gpu_check(vkCreateSwapchainKHR(g->device, &create, NULL, &g->swapchain), "vkCreateSwapchainKHR");
    vkDestroySwapchainKHR(g->device, old, NULL);
    g->swap_size = (d4r_size){extent.width, extent.height};
    g->swap_count = GPU_MAX_SWAP;
    gpu_check(vkGetSwapchainImagesKHR(g->device, g->swapchain, &g->swap_count, g->swap),
              "vkGetSwapchainImagesKHR");
}

void gpu_create(gpu *g, d4r_size window, const d4r_log *log)
{
    *g = (gpu){.log = *log};
    create_window(g, window);
    create_device(g);
    create_slots(g);
    create_swapchain(g);
    VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 8},
                                     {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 8}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 4,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    gpu_check(vkCreateDescriptorPool(g->device, &pool, NULL, &g->descriptors), "vkCreateDescriptorPool");
    VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    gpu_check(vkCreateSampler(g->device, &sampler, NULL, &g->sampler), "vkCreateSampler");
}

void gpu_destroy(gpu *g)
{
    vkDeviceWaitIdle(g->device);
    for (int i = 0; i < GPU_SLOTS; i++) {
        vkDestroySemaphore(g->device, g->slots[i].acquired, NULL);
        vkDestroyFence(g->device, g->slots[i].done, NULL);
    }
    for (int i = 0; i < GPU_MAX_SWAP; i++) vkDestroySemaphore(g->device, g->drawn[i], NULL);
    vkDestroySampler(g->device, g->sampler, NULL);
    vkDestroyDescriptorPool(g->device, g->descriptors, NULL);
    vkDestroyCommandPool(g->device, g->commands, NULL);
    vkDestroySwapchainKHR(g->device, g->swapchain, NULL);
    vkDestroyDevice(g->device, NULL);
    vkDestroySurfaceKHR(g->instance, g->surface, NULL);
    vkDestroyInstance(g->instance, NULL);
    glfwDestroyWindow(g->window);
    glfwTerminate();
}

bool gpu_acquire(gpu *g, const gpu_slot *slot, uint32_t *index)
{
    VkResult result =
        vkAcquireNextImageKHR(g->device, g->swapchain, UINT64_MAX, slot->acquired, VK_NULL_HANDLE, index);
    if (result == VK_ERROR_OUT_OF_DATE_KHR) {
        vkDeviceWaitIdle(g->device);
        create_swapchain(g);
        return false;
    }
    gpu_check(result == VK_SUBOPTIMAL_KHR ? 0 : result, "vkAcquireNextImageKHR");
    return true;
}

void gpu_submit(const gpu *g, const gpu_slot *slot, uint32_t index, const d4r_frame *frame)
{
    const VkSemaphore waits[2] = {frame->timeline, slot->acquired};
    const uint64_t wait_values[2] = {frame->head_ready, 0};
    const VkPipelineStageFlags stages[2] = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                            VK_PIPELINE_STAGE_ALL_COMMANDS_BIT};
    const uint64_t no_value = 0;
    VkTimelineSemaphoreSubmitInfo values[2] = {{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &frame->tokens_ready},
                                               {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = 2,
                                                .pWaitSemaphoreValues = wait_values,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &no_value}};
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[0],
                                .commandBufferCount = 1,
                                .pCommandBuffers = &slot->front,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &frame->timeline},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[1],
                                .waitSemaphoreCount = 2,
                                .pWaitSemaphores = waits,
                                .pWaitDstStageMask = stages,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &slot->back,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &g->drawn[index]}};
    gpu_check(vkEndCommandBuffer(slot->front), "vkEndCommandBuffer");
    gpu_check(vkEndCommandBuffer(slot->back), "vkEndCommandBuffer");
    gpu_check(vkQueueSubmit(g->queue, 2, submits, slot->done), "vkQueueSubmit");
}

void gpu_present(gpu *g, uint32_t index)
{
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                             .waitSemaphoreCount = 1,
                             .pWaitSemaphores = &g->drawn[index],
                             .swapchainCount = 1,
                             .pSwapchains = &g->swapchain,
                             .pImageIndices = &index};
    VkResult result = vkQueuePresentKHR(g->queue, &info);
    if (result != VK_ERROR_OUT_OF_DATE_KHR && result != VK_SUBOPTIMAL_KHR)
        gpu_check(result, "vkQueuePresentKHR");
}
