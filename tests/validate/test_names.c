/* Every Vulkan object that the library creates has a name, and every stage a label: what a frame debugger shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "tests/engine/rig.h"
#include "tests/engine/test_model.h"

#define MOST 1024

static struct {
    const vk_test *t;
    PFN_vkGetDeviceProcAddr get_device_proc_addr;
    struct {
        uint64_t handle;
        const char *command;
        bool named;
    } objects[MOST];
    unsigned count;
    char labels[64][32]; /* in order; "-" ends one */
    unsigned label_count;
} seen;

static void created(uint64_t handle, const char *command)
{
    assert_true(seen.count < MOST);
    seen.objects[seen.count].handle = handle;
    seen.objects[seen.count].command = command;
    seen.objects[seen.count++].named = false;
}

/* ---- wrappers ---- */

#define CREATE(name, info_type, handle_type)                                                                 \
    static VKAPI_ATTR VkResult VKAPI_CALL wrap_##name(                                                       \
        VkDevice device, const info_type *info, const VkAllocationCallbacks *allocator, handle_type *handle) \
    {                                                                                                        \
        VkResult result =                                                                                    \
            ((PFN_##name)seen.get_device_proc_addr(device, #name))(device, info, allocator, handle);         \
        if (result == VK_SUCCESS) created((uint64_t)*handle, #name);                                         \
        return result;                                                                                       \
    }
#define CREATIONS(X)                                                                       \
    X(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)                              \
    X(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)                                        \
    X(vkCreateImage, VkImageCreateInfo, VkImage)                                           \
    X(vkCreateImageView, VkImageViewCreateInfo, VkImageView)                               \
    X(vkCreateSampler, VkSamplerCreateInfo, VkSampler)                                     \
    X(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)                               \
    X(vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)                      \
    X(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)                \
    X(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout) \
    X(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATIONS(CREATE)

static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkCreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                                    uint32_t count,
                                                                    const VkComputePipelineCreateInfo *infos,
                                                                    const VkAllocationCallbacks *allocator,
                                                                    VkPipeline *pipelines)
{
    VkResult result = ((PFN_vkCreateComputePipelines)seen.get_device_proc_addr(
        device, "vkCreateComputePipelines"))(device, cache, count, infos, allocator, pipelines);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        created((uint64_t)pipelines[i], "vkCreateComputePipelines");
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wrap_vkAllocateDescriptorSets(VkDevice device,
                                                                    const VkDescriptorSetAllocateInfo *info,
                                                                    VkDescriptorSet *sets)
{
    VkResult result = ((PFN_vkAllocateDescriptorSets)seen.get_device_proc_addr(
        device, "vkAllocateDescriptorSets"))(device, info, sets);
    for (uint32_t i = 0; i < info->descriptorSetCount && result == VK_SUCCESS; i++)
        created((uint64_t)sets[i], "vkAllocateDescriptorSets");
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    for (unsigned i = 0; i < seen.count; i++)
        if (seen.objects[i].handle == info->objectHandle && info->pObjectName[0])
            seen.objects[i].named = true;
    return ((PFN_vkSetDebugUtilsObjectNameEXT)seen.t->get_instance_proc_addr(
        seen.t->instance, "vkSetDebugUtilsObjectNameEXT"))(device, info);
}

static VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT *label)
{
    assert_true(seen.label_count < 64);
    snprintf(seen.labels[seen.label_count++], sizeof seen.labels[0], "%s", label->pLabelName);
    ((PFN_vkCmdBeginDebugUtilsLabelEXT)seen.t->get_instance_proc_addr(
        seen.t->instance, "vkCmdBeginDebugUtilsLabelEXT"))(commands, label);
}

static VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer commands)
{
    assert_true(seen.label_count < 64);
    snprintf(seen.labels[seen.label_count++], sizeof seen.labels[0], "-");
    ((PFN_vkCmdEndDebugUtilsLabelEXT)seen.t->get_instance_proc_addr(seen.t->instance,
                                                                    "vkCmdEndDebugUtilsLabelEXT"))(commands);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
#define MATCH(wrapped, ...) \
    if (strcmp(name, #wrapped) == 0) return (PFN_vkVoidFunction)wrap_##wrapped;
    CREATIONS(MATCH)
    MATCH(vkCreateComputePipelines)
    MATCH(vkAllocateDescriptorSets)
    return seen.get_device_proc_addr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)device_proc;
    if (strcmp(name, "vkSetDebugUtilsObjectNameEXT") == 0) return (PFN_vkVoidFunction)set_name;
    if (strcmp(name, "vkCmdBeginDebugUtilsLabelEXT") == 0) return (PFN_vkVoidFunction)begin_label;
    if (strcmp(name, "vkCmdEndDebugUtilsLabelEXT") == 0) return (PFN_vkVoidFunction)end_label;
    return seen.t->get_instance_proc_addr(instance, name);
}

/* ---- the test ---- */

static void run_frame(rig *r, const d4r_vk_image *view)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    d4r_frame_images images = rig_images(r);
    d4r_frame_settings settings = rig_settings(r, 0);
    const struct VolkDeviceTable *fn = &r->t->vk.fn;
    d4r_frame frame;
    images.debug_view = (d4r_image){.view = view->view,
                                    .image = view->image,
                                    .layout = VK_IMAGE_LAYOUT_GENERAL,
                                    .extent = {view->extent.width, view->extent.height}};
    assert_int_equal(fn->vkBeginCommandBuffer(r->front[0], &begin), VK_SUCCESS);
    assert_int_equal(d4r_engine_record_front(r->engine, r->front[0], &images, &settings, &frame), D4R_OK);
    assert_int_equal(fn->vkEndCommandBuffer(r->front[0]), VK_SUCCESS);
    assert_int_equal(fn->vkBeginCommandBuffer(r->back[0], &begin), VK_SUCCESS);
    assert_int_equal(d4r_engine_record_back(r->engine, r->back[0], &frame), D4R_OK);
    assert_int_equal(fn->vkEndCommandBuffer(r->back[0]), VK_SUCCESS);
    rig_queue(r, 0, &frame);
    assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    assert_true(rig_wait(r, RIG_PATIENCE_MS));
}

static void everything_has_a_name(void **state)
{
    static const char *const expected[] = {
        "d4r exposure",       "-", "d4r input",      "-", "d4r validation", "-", "d4r expansion", "-",
        "d4r reconstruction", "-", "d4r downsample", "-", "d4r debug view", "-"};
    vk_test *t = *state;
    script s;
    rig r;
    script_init(&s);
    d4r_network *network = script_network(&s, 60000);
    d4r_model *model = test_model_create(1);
    rig_params params = {.model = model,
                         .network = network,
                         .render = {96, 64},
                         .output = {192, 128},
                         .validate = true,
                         .debug_view = true,
                         .get_instance_proc_addr = instance_proc};
    seen.t = t;
    seen.get_device_proc_addr =
        (PFN_vkGetDeviceProcAddr)t->get_instance_proc_addr(t->instance, "vkGetDeviceProcAddr");
    rig_create(&r, t, &params);
    assert_int_equal(r.status, D4R_OK);
    d4r_vk_image view =
        vk_test_image(t, "view", VK_FORMAT_R8G8B8A8_UNORM, 320, 180, VK_IMAGE_USAGE_STORAGE_BIT, NULL, 4);
    run_frame(&r, &view);
    assert_true(seen.count > 80);
    for (unsigned i = 0; i < seen.count; i++)
        if (!seen.objects[i].named) fail_msg("an object of %s has no name", seen.objects[i].command);
    assert_int_equal(seen.label_count, sizeof expected / sizeof *expected);
    for (unsigned i = 0; i < seen.label_count; i++) assert_string_equal(seen.labels[i], expected[i]);
    print_message("%u objects, all named\n", seen.count);
    rig_destroy(&r);
    d4r_vk_image_destroy(&t->vk, &view);
    d4r_network_destroy(&network);
    script_end(&s);
    test_model_destroy(model);
    assert_int_equal(t->messages, 0);
}

int main(void)
{
    static vk_test t;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(everything_has_a_name, &t)};
    if (!vk_test_create(&t)) return 77;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&t);
    return failures != 0;
}
