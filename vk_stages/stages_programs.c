/* What the pipelines of every preset's stages need around them, and the descriptor sets of a preset's own resources: one a
 * frame parity, written once, before their first use. */
#include "runtime/base/log.h"
#include "vk_stages/stages_base.h"

static bool is_sampled(const d4r_own_bindings *own, uint32_t binding)
{
    return binding >= own->first_sampled && binding < own->first_storage;
}

static VkDescriptorType own_type(const d4r_own_bindings *own, uint32_t binding)
{
    if (binding == D4R_BIND_PARAMS) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    if (binding < own->first_sampled) return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    return is_sampled(own, binding) ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                                    : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

/* ---- programs ---- */

static d4r_status create_pipeline_layout(d4r_stage_programs *programs)
{
    const d4r_vk *vk = programs->vk;
    const VkDescriptorSetLayout layouts[] = {programs->own_layout, programs->input_layout,
                                             programs->output_layout};
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 3, .pSetLayouts = layouts};
    VkResult result =
        vk->fn.vkCreatePipelineLayout(vk->device, &info, vk->allocator, &programs->pipeline_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "pipeline layout");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)programs->pipeline_layout,
                    "stage pipeline layout");
    return D4R_OK;
}

d4r_status d4r_stage_programs_create(d4r_stage_programs *programs, const d4r_stages_desc *desc,
                                     const d4r_own_bindings *own)
{
    VkDescriptorSetLayoutBinding bindings[D4R_OWN_BINDINGS_MAX];
    *programs = (d4r_stage_programs){
        .vk = desc->vk, .users = 1, .exact_filter = desc->exact_filter, .ldr = desc->conventions.ldr};
    d4r_status status = d4r_create_history_sampler(desc->vk, &programs->sampler);
    if (status != D4R_OK) return status;
    for (uint32_t i = 0; i < own->count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, own_type(own, i), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                     is_sampled(own, i) ? &programs->sampler : NULL};
    status = d4r_create_set_layout(desc->vk, "stage set layout", bindings, own->count, &programs->own_layout);
    if (status == D4R_OK)
        status = d4r_create_view_layouts(desc->vk, &programs->input_layout, &programs->output_layout);
    return status == D4R_OK ? create_pipeline_layout(programs) : status;
}

bool d4r_stage_programs_fit(const d4r_stage_programs *programs, const d4r_stages_desc *desc)
{
    return programs->exact_filter == desc->exact_filter && programs->ldr == desc->conventions.ldr;
}

d4r_status d4r_stage_programs_pipeline(const d4r_stage_programs *programs, const d4r_stage_code *code,
                                       uint32_t output_flags, VkPipeline *pipeline)
{
    if (*pipeline) return D4R_OK;
    return d4r_create_stage_pipeline(programs->vk, programs->pipeline_layout, code, programs->exact_filter,
                                     programs->ldr, output_flags, pipeline);
}

bool d4r_stage_programs_release(d4r_stage_programs *programs)
{
    if (--programs->users > 0) return false;
    const d4r_vk *vk = programs->vk;
    const VkDescriptorSetLayout layouts[] = {programs->own_layout, programs->input_layout,
                                             programs->output_layout};
    if (programs->pipeline_layout)
        vk->fn.vkDestroyPipelineLayout(vk->device, programs->pipeline_layout, vk->allocator);
    for (int i = 0; i < 3; i++)
        if (layouts[i]) vk->fn.vkDestroyDescriptorSetLayout(vk->device, layouts[i], vk->allocator);
    if (programs->sampler) vk->fn.vkDestroySampler(vk->device, programs->sampler, vk->allocator);
    return true;
}

void d4r_destroy_pipelines(const d4r_vk *vk, const VkPipeline *pipelines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pipelines[i]) vk->fn.vkDestroyPipeline(vk->device, pipelines[i], vk->allocator);
}

/* ---- sets of own resources ---- */

d4r_status d4r_own_sets_create(d4r_stages *stages, const d4r_stage_programs *programs,
                               const d4r_own_bindings *own)
{
    const d4r_vk *vk = stages->desc.vk;
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 2},
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * (own->first_sampled - 1)},
        {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 2 * (own->first_storage - own->first_sampled)},
        {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2 * (own->count - own->first_storage)}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = 4,
                                             .pPoolSizes = sizes};
    d4r_view_caches_init(stages, programs->input_layout, programs->output_layout);
    VkResult result = vk->fn.vkCreateDescriptorPool(vk->device, &pool, vk->allocator, &stages->own_pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor pool");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)stages->own_pool, "stage descriptor pool");
    const VkDescriptorSetLayout layouts[] = {programs->own_layout, programs->own_layout};
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = stages->own_pool,
                                              .descriptorSetCount = 2,
                                              .pSetLayouts = layouts};
    result = vk->fn.vkAllocateDescriptorSets(vk->device, &info, stages->own_sets);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor sets");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)stages->own_sets[0], "stage set even");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)stages->own_sets[1], "stage set odd");
    return D4R_OK;
}

void d4r_own_set_write(const d4r_stages *stages, uint32_t parity, const d4r_own_bindings *own,
                       const VkDescriptorBufferInfo *buffers, const VkImageView *views)
{
    VkWriteDescriptorSet writes[D4R_OWN_BINDINGS_MAX];
    VkDescriptorImageInfo images[D4R_OWN_BINDINGS_MAX];
    for (uint32_t i = 0; i < own->count; i++) {
        const bool image = i >= own->first_sampled;
        images[i] = (VkDescriptorImageInfo){VK_NULL_HANDLE, image ? views[i] : VK_NULL_HANDLE,
                                            VK_IMAGE_LAYOUT_GENERAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = stages->own_sets[parity],
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = own_type(own, i),
                                           .pImageInfo = image ? &images[i] : NULL,
                                           .pBufferInfo = image ? NULL : &buffers[i]};
    }
    stages->desc.vk->fn.vkUpdateDescriptorSets(stages->desc.vk->device, own->count, writes, 0, NULL);
}

void d4r_own_sets_destroy(d4r_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
    d4r_view_caches_destroy(stages);
    if (stages->own_pool) vk->fn.vkDestroyDescriptorPool(vk->device, stages->own_pool, vk->allocator);
}

void d4r_stages_bind(const d4r_stages *stages, const d4r_stage_programs *programs, VkCommandBuffer commands,
                     VkDescriptorSet output)
{
    const VkDescriptorSet sets[] = {stages->own_sets[stages->frame.index & 1], stages->input_set, output};
    stages->desc.vk->fn.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                                programs->pipeline_layout, 0, output ? 3 : 2, sets, 0, NULL);
}
