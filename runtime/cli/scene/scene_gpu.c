#include "runtime/cli/scene/scene_gpu.h"

#include <string.h>

#include "runtime/base/log.h"

/* One submission's work: short enough for a GPU's watchdog and for progress, long enough to fill it. */
#define SAMPLES_A_SUBMIT (2u << 20)
#define WAIT_NS 120000000000ull

extern const uint32_t scene_frame_spv[], scene_reference_spv[];
extern const size_t scene_frame_spv_size, scene_reference_spv_size;

/* push_block of scene.glsl */
struct push {
    uint32_t width, height, tiles_x, tile_y;
    float jitter[2];
    uint32_t samples, shadow_list, glyphs, wide_motion;
};

static d4r_status create_layouts(scene_gpu *g)
{
    const d4r_vk *vk = &g->device.vk;
    VkDescriptorSetLayoutBinding bindings[SCENE_BUFFER_COUNT];
    for (uint32_t i = 0; i < SCENE_BUFFER_COUNT; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = SCENE_BUFFER_COUNT,
                                           .pBindings = bindings};
    VkResult result = vk->fn.vkCreateDescriptorSetLayout(vk->device, &set, NULL, &g->set_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateDescriptorSetLayout");
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(struct push)};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &g->set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
    result = vk->fn.vkCreatePipelineLayout(vk->device, &layout, NULL, &g->layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreatePipelineLayout");
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SCENE_BUFFER_COUNT};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = 1,
                                       .poolSizeCount = 1,
                                       .pPoolSizes = &size};
    result = vk->fn.vkCreateDescriptorPool(vk->device, &pool, NULL, &g->descriptor_pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = g->descriptor_pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &g->set_layout};
    result = vk->fn.vkAllocateDescriptorSets(vk->device, &allocate, &g->set);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "vkAllocateDescriptorSets");
}

static d4r_status create_pipeline(scene_gpu *g, const uint32_t *code, size_t size, VkPipeline *pipeline)
{
    const d4r_vk *vk = &g->device.vk;
    VkShaderModule module;
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkResult result = vk->fn.vkCreateShaderModule(vk->device, &info, NULL, &module);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateShaderModule");
    VkComputePipelineCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = g->layout};
    result = vk->fn.vkCreateComputePipelines(vk->device, VK_NULL_HANDLE, 1, &create, NULL, pipeline);
    vk->fn.vkDestroyShaderModule(vk->device, module, NULL);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "vkCreateComputePipelines");
}

static d4r_status create_commands(scene_gpu *g)
{
    const d4r_vk *vk = &g->device.vk;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = vk->queue_family};
    VkResult result = vk->fn.vkCreateCommandPool(vk->device, &pool, NULL, &g->command_pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateCommandPool");
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = g->command_pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    result = vk->fn.vkAllocateCommandBuffers(vk->device, &info, &g->commands);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkAllocateCommandBuffers");
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    result = vk->fn.vkCreateFence(vk->device, &fence, NULL, &g->fence);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "vkCreateFence");
}

d4r_status scene_gpu_create(const char *device, bool validation, const d4r_log *log, scene_gpu *gpu)
{
    *gpu = (scene_gpu){0};
    d4r_status status = scene_device_create(device, validation, log, &gpu->device);
    if (status != D4R_OK) return status;
    status = create_layouts(gpu);
    if (status == D4R_OK)
        status = create_pipeline(gpu, scene_frame_spv, scene_frame_spv_size, &gpu->frame_pipeline);
    if (status == D4R_OK)
        status =
            create_pipeline(gpu, scene_reference_spv, scene_reference_spv_size, &gpu->reference_pipeline);
    if (status == D4R_OK) status = create_commands(gpu);
    if (status != D4R_OK) scene_gpu_destroy(gpu);
    return status;
}

void scene_gpu_destroy(scene_gpu *gpu)
{
    const d4r_vk *vk = &gpu->device.vk;
    if (vk->device) {
        vk->fn.vkDeviceWaitIdle(vk->device);
        vk->fn.vkDestroyFence(vk->device, gpu->fence, NULL);
        vk->fn.vkDestroyCommandPool(vk->device, gpu->command_pool, NULL);
        vk->fn.vkDestroyPipeline(vk->device, gpu->frame_pipeline, NULL);
        vk->fn.vkDestroyPipeline(vk->device, gpu->reference_pipeline, NULL);
        vk->fn.vkDestroyDescriptorPool(vk->device, gpu->descriptor_pool, NULL);
        vk->fn.vkDestroyPipelineLayout(vk->device, gpu->layout, NULL);
        vk->fn.vkDestroyDescriptorSetLayout(vk->device, gpu->set_layout, NULL);
        for (int i = 0; i < SCENE_BUFFER_COUNT; i++) d4r_vk_buffer_destroy(vk, &gpu->buffers[i]);
    }
    scene_device_destroy(&gpu->device);
    *gpu = (scene_gpu){0};
}

/* Makes buffer `index` hold at least `size` bytes and copies `data` there (NULL: nothing). */
static d4r_status fill(scene_gpu *g, int index, const void *data, size_t size)
{
    const d4r_vk *vk = &g->device.vk;
    d4r_vk_buffer *buffer = &g->buffers[index];
    if (buffer->size < size || !buffer->buffer) {
        d4r_vk_buffer_destroy(vk, buffer);
        d4r_status status = d4r_vk_buffer_create(
            vk, "scene", size, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
            index >= SCENE_COLOR ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
            false, buffer);
        if (status != D4R_OK) return status;
    }
    if (data) memcpy(buffer->map, data, size);
    return D4R_OK;
}

static d4r_status fill_text(scene_gpu *g, const scene *s)
{
    uint32_t words[2 * SCENE_GLYPHS + SCENE_MAX_TEXT] = {0};
    memcpy(words, scene_font, sizeof scene_font);
    memcpy(words + 2 * SCENE_GLYPHS, s->text, s->text_count * sizeof s->text[0]);
    return fill(g, 5, words, sizeof words);
}

static d4r_status upload(scene_gpu *g, const scene *s, const scene_lists *lists, const scene_pass *pass)
{
    size_t pixels = (size_t)pass->size.width * pass->size.height;
    d4r_status status = fill(g, 0, &s->frame, sizeof s->frame);
    if (status == D4R_OK) status = fill(g, 1, s->primitives, s->primitive_count * sizeof s->primitives[0]);
    if (status == D4R_OK) status = fill(g, 2, s->objects, s->object_count * sizeof s->objects[0]);
    if (status == D4R_OK) status = fill(g, 3, s->materials, s->material_count * sizeof s->materials[0]);
    if (status == D4R_OK) status = fill(g, 4, lists->words, lists->count * sizeof lists->words[0]);
    if (status == D4R_OK) status = fill_text(g, s);
    if (status == D4R_OK) status = fill(g, SCENE_COLOR, NULL, pixels * 8);
    if (status == D4R_OK) status = fill(g, SCENE_DEPTH, NULL, pass->samples ? 4 : pixels * 4);
    if (status == D4R_OK) status = fill(g, SCENE_MOTION, NULL, pass->samples ? 8 : pixels * 8);
    return status;
}

static void write_set(scene_gpu *g)
{
    VkDescriptorBufferInfo infos[SCENE_BUFFER_COUNT];
    VkWriteDescriptorSet writes[SCENE_BUFFER_COUNT];
    for (uint32_t i = 0; i < SCENE_BUFFER_COUNT; i++) {
        infos[i] = (VkDescriptorBufferInfo){g->buffers[i].buffer, 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = g->set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &infos[i]};
    }
    g->device.vk.fn.vkUpdateDescriptorSets(g->device.vk.device, SCENE_BUFFER_COUNT, writes, 0, NULL);
}

/* Tile rows first .. first + rows - 1: recorded, submitted, waited for. */
static d4r_status dispatch(scene_gpu *g, const struct push *push, uint32_t rows, bool reference)
{
    const d4r_vk *vk = &g->device.vk;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkMemoryBarrier to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &g->commands};
    VkResult result = vk->fn.vkBeginCommandBuffer(g->commands, &begin);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkBeginCommandBuffer");
    vk->fn.vkCmdBindPipeline(g->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                             reference ? g->reference_pipeline : g->frame_pipeline);
    vk->fn.vkCmdBindDescriptorSets(g->commands, VK_PIPELINE_BIND_POINT_COMPUTE, g->layout, 0, 1, &g->set, 0,
                                   NULL);
    vk->fn.vkCmdPushConstants(g->commands, g->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof *push, push);
    vk->fn.vkCmdDispatch(g->commands, push->tiles_x, rows, 1);
    vk->fn.vkCmdPipelineBarrier(g->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                                0, 1, &to_host, 0, NULL, 0, NULL);
    result = vk->fn.vkEndCommandBuffer(g->commands);
    if (result == VK_SUCCESS) result = vk->fn.vkQueueSubmit(g->device.queue, 1, &submit, g->fence);
    if (result == VK_SUCCESS) result = vk->fn.vkWaitForFences(vk->device, 1, &g->fence, VK_TRUE, WAIT_NS);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "rendering a part of the scene");
    result = vk->fn.vkResetFences(vk->device, 1, &g->fence);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "vkResetFences");
}

static d4r_status render_bands(scene_gpu *g, const scene_lists *lists, const scene_pass *pass)
{
    uint64_t row_samples =
        (uint64_t)lists->tiles_x * SCENE_TILE * SCENE_TILE * (pass->samples ? pass->samples : 1);
    uint32_t band = (uint32_t)(SAMPLES_A_SUBMIT / row_samples);
    if (band == 0) band = 1;
    struct push push = {.width = pass->size.width,
                        .height = pass->size.height,
                        .tiles_x = lists->tiles_x,
                        .jitter = {pass->jitter.x, pass->jitter.y},
                        .samples = pass->samples,
                        .shadow_list = lists->shadow_list,
                        .glyphs = 2 * SCENE_GLYPHS,
                        .wide_motion = pass->wide_motion};
    d4r_status status = D4R_OK;
    for (uint32_t y = 0; y < lists->tiles_y && status == D4R_OK; y += band) {
        uint32_t rows = lists->tiles_y - y < band ? lists->tiles_y - y : band;
        push.tile_y = y;
        status = dispatch(g, &push, rows, pass->samples > 0);
        if (status == D4R_OK && pass->progress &&
            !pass->progress(pass->user, (double)(y + rows) / lists->tiles_y))
            status = D4R_PENDING;
    }
    return status;
}

d4r_status scene_gpu_render(scene_gpu *gpu, const scene *s, const scene_pass *pass)
{
    scene_lists lists;
    /* A sample lies up to half a pixel (jitter), at most 1, outside its pixel. */
    if (!scene_lists_make(s, pass->size, 1.5, &lists))
        return d4r_fail(&gpu->device.vk.log, D4R_ERROR_MEMORY, "no memory for the scene's lists");
    d4r_status status = upload(gpu, s, &lists, pass);
    if (status == D4R_OK) {
        write_set(gpu);
        status = render_bands(gpu, &lists, pass);
    }
    scene_lists_free(&lists);
    return status;
}
