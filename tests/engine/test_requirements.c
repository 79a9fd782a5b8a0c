/* What a device must have, asked of made-up devices: no driver takes part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "d4r/d4r_vulkan.h"

static struct {
    uint32_t version;
    bool timeline, formats, fd_extension;
    uint32_t storage_images;
} fake;

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *p)
{
    (void)device;
    memset(p, 0, sizeof *p);
    p->apiVersion = fake.version;
    p->limits.maxPerStageDescriptorStorageImages = fake.storage_images;
    p->limits.maxPerStageDescriptorSampledImages = p->limits.maxPerStageDescriptorStorageBuffers = 1000;
    p->limits.maxPerStageResources = p->limits.maxComputeWorkGroupInvocations = 1024;
    p->limits.maxComputeSharedMemorySize = 65536;
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)
{
    (void)device;
    features->features.shaderStorageImageExtendedFormats = fake.formats;
    for (VkBaseOutStructure *next = features->pNext; next; next = next->pNext)
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            ((VkPhysicalDeviceVulkan12Features *)(void *)next)->timelineSemaphore = fake.timeline;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                                VkExtensionProperties *properties)
{
    (void)device;
    (void)layer;
    if (properties && *count > 0 && fake.fd_extension)
        strcpy(properties[0].extensionName, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    *count = fake.fd_extension ? 1 : 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance instance, const char *name)
{
    (void)instance;
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) return (PFN_vkVoidFunction)get_properties;
    if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0) return (PFN_vkVoidFunction)get_features;
    if (strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) return (PFN_vkVoidFunction)enumerate;
    return NULL;
}

static char line[1024];
static void on_log(void *user, d4r_log_level level, const char *text)
{
    (void)user;
    (void)level;
    snprintf(line, sizeof line, "%s", text);
}

static d4r_status ask(d4r_vulkan_requirements *requirements)
{
    int instance, device; /* only their addresses matter */
    d4r_log log = {on_log, NULL, D4R_LOG_DEBUG};
    line[0] = 0;
    return d4r_vulkan_get_requirements(get_instance_proc_addr, (VkInstance)(void *)&instance,
                                       (VkPhysicalDevice)(void *)&device, &log, requirements);
}

static void good(void **state)
{
    d4r_vulkan_requirements r;
    (void)state;
    fake.version = VK_API_VERSION_1_2;
    fake.timeline = fake.formats = true;
    fake.storage_images = 16;
    fake.fd_extension = false;
    assert_int_equal(ask(&r), D4R_OK);
    assert_int_equal(r.extension_count, 0);
    assert_true(r.features12.timelineSemaphore && r.features.features.shaderStorageImageExtendedFormats);
    assert_ptr_equal(r.features.pNext, &r.features11);
    assert_ptr_equal(r.features11.pNext, &r.features12);
    assert_null(r.features12.pNext);
    fake.fd_extension = true; /* optional: taken when it is there */
    assert_int_equal(ask(&r), D4R_OK);
    assert_int_equal(r.extension_count, 1);
    assert_string_equal(r.extensions[0], VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
}

static void lacking(void **state)
{
    d4r_vulkan_requirements r;
    (void)state;
    fake.version = VK_API_VERSION_1_2;
    fake.timeline = fake.formats = false;
    fake.storage_images = 4;
    assert_int_equal(ask(&r), D4R_ERROR_FEATURE); /* everything that is missing, in one line */
    assert_non_null(strstr(line, "timelineSemaphore"));
    assert_non_null(strstr(line, "shaderStorageImageExtendedFormats"));
    assert_non_null(strstr(line, "maxPerStageDescriptorStorageImages is 4 (10 needed)"));
    fake.timeline = fake.formats = true;
    fake.storage_images = 16;
    fake.version = VK_API_VERSION_1_1;
    assert_int_equal(ask(&r), D4R_ERROR_FEATURE);
    assert_non_null(strstr(line, "Vulkan 1.2 (it has 1.1)"));
    assert_int_equal(d4r_vulkan_get_requirements(NULL, NULL, NULL, NULL, &r), D4R_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(lacking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
