/* Preset K's descriptor sets of its own resources, by frame parity: written once, before their first use. */
#include "vk_stages/k_stages_internal.h"

#define FIRST_IMAGE D4R_K_BIND_HISTORY_PREVIOUS

static bool is_sampled(uint32_t binding)
{
    return binding >= FIRST_IMAGE && binding <= D4R_K_BIND_MOTION;
}

static VkDescriptorType own_type(uint32_t binding)
{
    if (binding == D4R_BIND_PARAMS) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    if (binding < FIRST_IMAGE) return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    return is_sampled(binding) ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

d4r_status d4r_k_create_set_layouts(d4r_k_programs *programs)
{
    const d4r_vk *vk = programs->vk;
    VkDescriptorSetLayoutBinding own[D4R_K_BIND_COUNT];
    d4r_status status = d4r_create_history_sampler(vk, &programs->sampler);
    if (status != D4R_OK) return status;
    for (uint32_t i = 0; i < D4R_K_BIND_COUNT; i++)
        own[i] = (VkDescriptorSetLayoutBinding){i, own_type(i), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                is_sampled(i) ? &programs->sampler : NULL};
    status = d4r_create_set_layout(vk, "stage set layout", own, D4R_K_BIND_COUNT, &programs->own_layout);
    if (status != D4R_OK) return status;
    return d4r_create_view_layouts(vk, &programs->input_layout, &programs->output_layout);
}

/* The image behind a binding for frames of a parity. */
static VkImageView view_of(const d4r_k_stages *stages, uint32_t binding, uint32_t parity)
{
    static const uint8_t table[D4R_K_BIND_COUNT] = {
        [D4R_K_BIND_RECURRENT_LOW] = D4R_K_RECURRENT_LOW,
        [D4R_K_BIND_RECURRENT_HIGH] = D4R_K_RECURRENT_HIGH,
        [D4R_K_BIND_MOTION] = D4R_K_MOTION,
        [D4R_K_BIND_MOTION_OUT] = D4R_K_MOTION,
        [D4R_K_BIND_RECURRENT_LOW_OUT] = D4R_K_RECURRENT_LOW,
        [D4R_K_BIND_RECURRENT_HIGH_OUT] = D4R_K_RECURRENT_HIGH,
    };
    uint32_t image = table[binding];
    if (binding == D4R_K_BIND_HISTORY_PREVIOUS) image = D4R_K_HISTORY + 1 - parity;
    if (binding == D4R_K_BIND_HISTORY_OUT) image = D4R_K_HISTORY + parity;
    return stages->images[image].view;
}

static VkDescriptorBufferInfo buffer_of(const d4r_k_stages *stages, uint32_t binding)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    const VkDescriptorBufferInfo table[FIRST_IMAGE] = {
        [D4R_BIND_PARAMS] = {stages->buffers[D4R_K_PARAMS].buffer, 0, VK_WHOLE_SIZE},
        [D4R_K_BIND_TABLES] = {stages->buffers[D4R_K_TABLES].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_PARTIALS] = {stages->buffers[D4R_K_PARTIALS].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_EXPOSURE] = {stages->buffers[D4R_K_EXPOSURE_STATE].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_TOKENS] = {desc->tokens, 0, desc->token_bytes},
        [D4R_BIND_HEAD] = {desc->head, 0, desc->head_bytes},
    };
    return table[binding];
}

static void write_own_set(d4r_k_stages *stages, uint32_t parity)
{
    VkWriteDescriptorSet writes[D4R_K_BIND_COUNT];
    VkDescriptorBufferInfo buffers[FIRST_IMAGE];
    VkDescriptorImageInfo images[D4R_K_BIND_COUNT];
    for (uint32_t i = 0; i < D4R_K_BIND_COUNT; i++) {
        const bool image = i >= FIRST_IMAGE;
        if (image)
            images[i] =
                (VkDescriptorImageInfo){VK_NULL_HANDLE, view_of(stages, i, parity), VK_IMAGE_LAYOUT_GENERAL};
        else
            buffers[i] = buffer_of(stages, i);
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = stages->own_sets[parity],
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = own_type(i),
                                           .pImageInfo = image ? &images[i] : NULL,
                                           .pBufferInfo = image ? NULL : &buffers[i]};
    }
    stages->base.desc.vk->fn.vkUpdateDescriptorSets(stages->base.desc.vk->device, D4R_K_BIND_COUNT, writes, 0,
                                                    NULL);
}

static d4r_status create_own_sets(d4r_k_stages *stages)
{
    const d4r_vk *vk = stages->base.desc.vk;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 10},
                                          {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 8},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 8}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = 4,
                                             .pPoolSizes = sizes};
    VkResult result = vk->fn.vkCreateDescriptorPool(vk->device, &pool, vk->allocator, &stages->own_pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor pool");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)stages->own_pool, "stage descriptor pool");
    const VkDescriptorSetLayout layouts[] = {stages->programs->own_layout, stages->programs->own_layout};
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = stages->own_pool,
                                              .descriptorSetCount = 2,
                                              .pSetLayouts = layouts};
    result = vk->fn.vkAllocateDescriptorSets(vk->device, &info, stages->own_sets);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor sets");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)stages->own_sets[0], "stage set even");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)stages->own_sets[1], "stage set odd");
    write_own_set(stages, 0);
    write_own_set(stages, 1);
    return D4R_OK;
}

d4r_status d4r_k_create_descriptors(d4r_k_stages *stages)
{
    d4r_view_caches_init(&stages->base, stages->programs->input_layout, stages->programs->output_layout);
    return create_own_sets(stages);
}

void d4r_k_destroy_descriptors(d4r_k_stages *stages)
{
    const d4r_vk *vk = stages->base.desc.vk;
    d4r_view_caches_destroy(&stages->base);
    if (stages->own_pool) vk->fn.vkDestroyDescriptorPool(vk->device, stages->own_pool, vk->allocator);
}
