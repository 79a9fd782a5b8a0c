/* Breaks a rule of Vulkan on purpose: run.sh must notice. */
#include <vulkan/vulkan.h>

int main(void)
{
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                   .pApplicationInfo = &info};
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkBuffer buffer;
    uint32_t count = 1;
    float priority = 1;
    if (vkCreateInstance(&create, NULL, &instance) < 0) return 3;
    if (vkEnumeratePhysicalDevices(instance, &count, &gpu) < 0 || count == 0) return 3;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo made = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    if (vkCreateDevice(gpu, &made, NULL, &device) < 0) return 3;
    VkBufferCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = 64}; /* without any usage */
    if (vkCreateBuffer(device, &empty, NULL, &buffer) == VK_SUCCESS) vkDestroyBuffer(device, buffer, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return 0;
}
