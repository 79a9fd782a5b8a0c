/* The debug view: objects and recording. */
#include "vk_stages/debug_view.h"

#include <stdlib.h>
#include "runtime/base/log.h"
#include "vk_stages/stages_base.h"

enum pass { AGE, VIEW, PASS_COUNT };

/* The push constants of debug_push.glsl. */
typedef struct view_push {
    int32_t origin[2], size[2];
    uint32_t age_known;
} view_push;

struct d4r_debug_view {
    const d4r_vk *vk;
    d4r_stages *stages;
    const d4r_debug_view_desc *desc; /* of the stages */
    d4r_vk_image age[2];             /* by frame parity */
    VkDescriptorSetLayout age_layout;
    VkDescriptorPool pool;
    VkDescriptorSet sets[2];
    VkPipelineLayout pipeline_layout;
    VkPipeline pipelines[PASS_COUNT];
    bool has_age; /* the frame `age_index` wrote its age image */
    uint64_t age_index;
};

/* ---- creation ---- */

static d4r_status create_images(d4r_debug_view *v)
{
    const d4r_size size = v->desc->largest_age(v->stages);
    d4r_status status = D4R_OK;
    for (int i = 0; i < 2 && status == D4R_OK; i++)
        status = d4r_vk_image_create(v->vk, i ? "history age odd" : "history age even", VK_FORMAT_R32_SFLOAT,
                                     (VkExtent2D){size.width, size.height}, VK_IMAGE_USAGE_STORAGE_BIT,
                                     &v->age[i]);
    return status;
}

static d4r_status create_sets(d4r_debug_view *v)
{
    const d4r_vk *vk = v->vk;
    VkDescriptorSetLayoutBinding bindings[2];
    for (uint32_t i = 0; i < 2; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1,
                                                     VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo layout = {.sType =
                                                        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                    .bindingCount = 2,
                                                    .pBindings = bindings};
    VkResult result = vk->fn.vkCreateDescriptorSetLayout(vk->device, &layout, vk->allocator, &v->age_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "history age layout");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)v->age_layout, "history age layout");
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 4};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    result = vk->fn.vkCreateDescriptorPool(vk->device, &pool, vk->allocator, &v->pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "history age pool");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)v->pool, "history age pool");
    const VkDescriptorSetLayout layouts[] = {v->age_layout, v->age_layout};
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = v->pool,
                                              .descriptorSetCount = 2,
                                              .pSetLayouts = layouts};
    result = vk->fn.vkAllocateDescriptorSets(vk->device, &info, v->sets);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, "history age sets");
}

static void write_sets(d4r_debug_view *v)
{
    for (int parity = 0; parity < 2; parity++) {
        const VkDescriptorImageInfo images[2] = {
            {VK_NULL_HANDLE, v->age[1 - parity].view, VK_IMAGE_LAYOUT_GENERAL},
            {VK_NULL_HANDLE, v->age[parity].view, VK_IMAGE_LAYOUT_GENERAL}};
        const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = v->sets[parity],
                                            .descriptorCount = 2,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                            .pImageInfo = images};
        d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)v->sets[parity],
                        parity ? "history age set odd" : "history age set even");
        v->vk->fn.vkUpdateDescriptorSets(v->vk->device, 1, &write, 0, NULL);
    }
}

static d4r_status create_pipelines(d4r_debug_view *v)
{
    const d4r_stage_programs *p = v->desc->programs(v->stages);
    const VkDescriptorSetLayout layouts[] = {p->own_layout, p->input_layout, p->output_layout, v->age_layout};
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(view_push)};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 4,
                                             .pSetLayouts = layouts,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &range};
    VkResult result =
        v->vk->fn.vkCreatePipelineLayout(v->vk->device, &info, v->vk->allocator, &v->pipeline_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(v->vk, result, "debug view layout");
    d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)v->pipeline_layout, "debug view layout");
    const d4r_stages_desc *desc = &v->stages->desc;
    const d4r_stage_code codes[PASS_COUNT] = {
        [AGE] = {"debug_age", v->desc->age.words, *v->desc->age.bytes, 0},
        [VIEW] = {"debug_view", v->desc->view.words, *v->desc->view.bytes, 0}};
    d4r_status status = D4R_OK;
    for (int i = 0; i < PASS_COUNT && status == D4R_OK; i++)
        status = d4r_create_stage_pipeline(v->vk, v->pipeline_layout, &codes[i], desc->exact_filter,
                                           desc->conventions.ldr, 0, &v->pipelines[i]);
    return status;
}

d4r_status d4r_debug_view_create(const d4r_vk *vk, d4r_stages *stages, d4r_debug_view **view)
{
    d4r_debug_view *v = calloc(1, sizeof *v);
    *view = NULL;
    if (!v) return d4r_fail(&vk->log, D4R_ERROR_MEMORY, "debug view: out of memory");
    v->vk = vk;
    v->stages = stages;
    v->desc = stages->ops->debug_view;
    d4r_status status = create_images(v);
    if (status == D4R_OK) status = create_sets(v);
    if (status == D4R_OK) {
        write_sets(v);
        status = create_pipelines(v);
    }
    if (status != D4R_OK) d4r_debug_view_destroy(&v);
    *view = v;
    return status;
}

void d4r_debug_view_destroy(d4r_debug_view **view)
{
    d4r_debug_view *v = *view;
    if (!v) return;
    const d4r_vk *vk = v->vk;
    for (int i = 0; i < PASS_COUNT; i++)
        if (v->pipelines[i]) vk->fn.vkDestroyPipeline(vk->device, v->pipelines[i], vk->allocator);
    if (v->pipeline_layout) vk->fn.vkDestroyPipelineLayout(vk->device, v->pipeline_layout, vk->allocator);
    if (v->pool) vk->fn.vkDestroyDescriptorPool(vk->device, v->pool, vk->allocator);
    if (v->age_layout) vk->fn.vkDestroyDescriptorSetLayout(vk->device, v->age_layout, vk->allocator);
    for (int i = 0; i < 2; i++) d4r_vk_image_destroy(vk, &v->age[i]);
    free(v);
    *view = NULL;
}

/* ---- recording ---- */

static void dispatch(const d4r_debug_view *v, VkCommandBuffer commands, enum pass pass, uint32_t width,
                     uint32_t height)
{
    v->vk->fn.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, v->pipelines[pass]);
    v->vk->fn.vkCmdDispatch(commands, (width + D4R_PIXEL_GROUP - 1) / D4R_PIXEL_GROUP,
                            (height + D4R_PIXEL_GROUP - 1) / D4R_PIXEL_GROUP, 1);
}

d4r_status d4r_debug_view_record(d4r_debug_view *v, VkCommandBuffer commands)
{
    d4r_stages *base = v->stages;
    const d4r_image *image = &base->frame_images.debug_view;
    const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
    const bool known = v->has_age && v->age_index + 1 == base->frame.index && !base->frame.reset;
    const view_push push = {
        {(int32_t)image->origin_x, (int32_t)image->origin_y},
        {(int32_t)(image->extent.width - image->origin_x), (int32_t)(image->extent.height - image->origin_y)},
        known};
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT,
                                    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkDescriptorSet target;
    d4r_status status = d4r_view_cache_get(base, &base->outputs, &image->view, &layout, &target);
    if (status != D4R_OK) return status;
    const VkDescriptorSet sets[] = {base->own_sets[base->frame.index & 1], base->input_set, target,
                                    v->sets[base->frame.index & 1]};
    /* What the age pass reads was ordered for the back's last stage already; the barrier behind it orders that stage too. */
    /* Without a frame before, both age images begin anew. Their earlier reads are ordered by the back's own barriers. */
    if (!known) d4r_restart_images(v->vk, commands, v->age);
    v->vk->fn.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, v->pipeline_layout, 0, 4,
                                      sets, 0, NULL);
    v->vk->fn.vkCmdPushConstants(commands, v->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                                 &push);
    const d4r_size aged = v->desc->age_size(base);
    dispatch(v, commands, AGE, aged.width, aged.height);
    v->vk->fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
    dispatch(v, commands, VIEW, (uint32_t)push.size[0], (uint32_t)push.size[1]);
    d4r_stages_mark(base, commands, "debug view");
    v->has_age = true;
    v->age_index = base->frame.index;
    return D4R_OK;
}

uint64_t d4r_debug_view_device_bytes(const d4r_debug_view *v)
{
    return v->age[0].allocation + v->age[1].allocation;
}
