/* Preset M's descriptor sets of its own resources, by frame parity: written once, before their first use. */
#include "vk_stages/stages_internal.h"

static bool is_sampled(int binding)
{
    return binding >= D4R_BIND_MV_A_PREVIOUS && binding <= D4R_BIND_HALF;
}

static VkDescriptorType own_type(int binding)
{
    if (binding == D4R_BIND_PARAMS) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    if (binding <= D4R_BIND_PACKED) return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    return is_sampled(binding) ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

d4r_status d4r_m_programs_create_layouts(d4r_m_programs *programs)
{
    const d4r_vk *vk = programs->vk;
    VkDescriptorSetLayoutBinding own[D4R_BIND_COUNT];
    d4r_status status = d4r_create_history_sampler(vk, &programs->sampler);
    if (status != D4R_OK) return status;
    for (uint32_t i = 0; i < D4R_BIND_COUNT; i++)
        own[i] = (VkDescriptorSetLayoutBinding){i, own_type((int)i), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                is_sampled((int)i) ? &programs->sampler : NULL};
    status = d4r_create_set_layout(vk, "stage set layout", own, D4R_BIND_COUNT, &programs->own_layout);
    if (status != D4R_OK) return status;
    return d4r_create_view_layouts(vk, &programs->input_layout, &programs->output_layout);
}

/* The image behind a binding for frames of a parity. */
static const d4r_vk_image *image_of(const d4r_m_stages *stages, int binding, int now)
{
    static const uint8_t table[D4R_BIND_COUNT] = {
        [D4R_BIND_MV_A_PREVIOUS] = D4R_M_MV_A,
        [D4R_BIND_MV_A] = D4R_M_MV_A,
        [D4R_BIND_MV_A_OUT] = D4R_M_MV_A,
        [D4R_BIND_MV_B] = D4R_M_MV_B,
        [D4R_BIND_MV_B_OUT] = D4R_M_MV_B,
        [D4R_BIND_MV_C] = D4R_M_MV_C,
        [D4R_BIND_MV_C_OUT] = D4R_M_MV_C,
        [D4R_BIND_RECURRENT_PREVIOUS] = D4R_M_RECURRENT,
        [D4R_BIND_RECURRENT_OUT] = D4R_M_RECURRENT,
        [D4R_BIND_GATES] = D4R_M_GATES,
        [D4R_BIND_GATES_OUT] = D4R_M_GATES,
        [D4R_BIND_MIX] = D4R_M_MIX,
        [D4R_BIND_MIX_OUT] = D4R_M_MIX,
        [D4R_BIND_COVARIANCE] = D4R_M_COVARIANCE,
        [D4R_BIND_COVARIANCE_OUT] = D4R_M_COVARIANCE,
        [D4R_BIND_HISTORY_PREVIOUS] = D4R_M_HISTORY,
        [D4R_BIND_HISTORY_OUT] = D4R_M_HISTORY,
        [D4R_BIND_HALF] = D4R_M_HALF,
        [D4R_BIND_HALF_OUT] = D4R_M_HALF,
    };
    int image = table[binding];
    if (image <= D4R_M_HISTORY) { /* the pairs */
        const bool previous = binding == D4R_BIND_MV_A_PREVIOUS || binding == D4R_BIND_RECURRENT_PREVIOUS ||
                              binding == D4R_BIND_HISTORY_PREVIOUS;
        image += previous ? 1 - now : now;
    }
    return &stages->images[image];
}

static VkDescriptorBufferInfo buffer_of(const d4r_m_stages *stages, int binding)
{
    VkBuffer buffer = VK_NULL_HANDLE;
    switch (binding) {
    case D4R_BIND_PARAMS:
        buffer = stages->buffers[D4R_M_PARAMS].buffer;
        break;
    case D4R_BIND_WEIGHTS:
        buffer = stages->buffers[D4R_M_WEIGHTS].buffer;
        break;
    case D4R_BIND_PARTIALS:
        buffer = stages->buffers[D4R_M_PARTIALS].buffer;
        break;
    case D4R_BIND_EXPOSURE:
        buffer = stages->buffers[D4R_M_EXPOSURE_STATE].buffer;
        break;
    case D4R_BIND_TOKENS:
        buffer = stages->base.desc.tokens;
        break;
    case D4R_BIND_HEAD:
        buffer = stages->base.desc.head;
        break;
    case D4R_BIND_PACKED:
        buffer = stages->buffers[D4R_M_PACKED].buffer;
        break;
    default:
        break;
    }
    const bool shared = binding == D4R_BIND_TOKENS || binding == D4R_BIND_HEAD;
    return (VkDescriptorBufferInfo){buffer, 0, shared ? stages->base.desc.token_bytes : VK_WHOLE_SIZE};
}

static void write_own_set(d4r_m_stages *stages, int parity)
{
    VkWriteDescriptorSet writes[D4R_BIND_COUNT];
    VkDescriptorBufferInfo buffers[D4R_BIND_COUNT];
    VkDescriptorImageInfo images[D4R_BIND_COUNT];
    for (int i = 0; i < D4R_BIND_COUNT; i++) {
        const bool image = i > D4R_BIND_PACKED;
        if (image)
            images[i] = (VkDescriptorImageInfo){VK_NULL_HANDLE, image_of(stages, i, parity)->view,
                                                VK_IMAGE_LAYOUT_GENERAL};
        else
            buffers[i] = buffer_of(stages, i);
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = stages->own_sets[parity],
                                           .dstBinding = (uint32_t)i,
                                           .descriptorCount = 1,
                                           .descriptorType = own_type(i),
                                           .pImageInfo = image ? &images[i] : NULL,
                                           .pBufferInfo = image ? NULL : &buffers[i]};
    }
    stages->base.desc.vk->fn.vkUpdateDescriptorSets(stages->base.desc.vk->device, D4R_BIND_COUNT, writes, 0,
                                                    NULL);
}

static d4r_status create_own_sets(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->base.desc.vk;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 2},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 12},
                                          {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 20},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 18}};
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

d4r_status d4r_m_stages_create_descriptors(d4r_m_stages *stages)
{
    d4r_view_caches_init(&stages->base, stages->programs->input_layout, stages->programs->output_layout);
    return create_own_sets(stages);
}

void d4r_m_stages_destroy_descriptors(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->base.desc.vk;
    d4r_view_caches_destroy(&stages->base);
    if (stages->own_pool) vk->fn.vkDestroyDescriptorPool(vk->device, stages->own_pool, vk->allocator);
}
