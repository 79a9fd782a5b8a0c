/* Descriptor sets: two of the stages' own resources (by frame parity), and cached ones of the caller's views.
 * A set is written once, before its first use, and never changed. */
#include "vk_stages/stages_internal.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

#define SETS_A_POOL 16

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

static d4r_status create_set_layout(const d4r_vk *vk, const char *name,
                                    const VkDescriptorSetLayoutBinding *bindings, uint32_t count,
                                    VkDescriptorSetLayout *layout)
{
    const VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .bindingCount = count,
                                                  .pBindings = bindings};
    VkResult result = vk->fn.vkCreateDescriptorSetLayout(vk->device, &info, vk->allocator, layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)*layout, name);
    return D4R_OK;
}

static d4r_status create_layouts(d4r_m_programs *programs)
{
    VkDescriptorSetLayoutBinding own[D4R_BIND_COUNT], inputs[D4R_INPUT_COUNT];
    for (uint32_t i = 0; i < D4R_BIND_COUNT; i++)
        own[i] = (VkDescriptorSetLayoutBinding){i, own_type((int)i), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                is_sampled((int)i) ? &programs->sampler : NULL};
    for (uint32_t i = 0; i < D4R_INPUT_COUNT; i++)
        inputs[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1,
                                                   VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutBinding output = {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1,
                                                 VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const d4r_vk *vk = programs->vk;
    d4r_status status = create_set_layout(vk, "stage set layout", own, D4R_BIND_COUNT, &programs->own_layout);
    if (status == D4R_OK)
        status = create_set_layout(vk, "input set layout", inputs, D4R_INPUT_COUNT, &programs->input_layout);
    if (status == D4R_OK)
        status = create_set_layout(vk, "output set layout", &output, 1, &programs->output_layout);
    return status;
}

d4r_status d4r_m_programs_create_layouts(d4r_m_programs *programs)
{
    const d4r_vk *vk = programs->vk;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                         .magFilter = VK_FILTER_LINEAR,
                                         .minFilter = VK_FILTER_LINEAR,
                                         .mipmapMode = VK_SAMPLER_MIPMAP_MODE_NEAREST,
                                         .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                         .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                         .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkResult result = vk->fn.vkCreateSampler(vk->device, &sampler, vk->allocator, &programs->sampler);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "sampler");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SAMPLER, (uint64_t)programs->sampler, "history sampler");
    return create_layouts(programs);
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
        buffer = stages->desc.tokens;
        break;
    case D4R_BIND_HEAD:
        buffer = stages->desc.head;
        break;
    case D4R_BIND_PACKED:
        buffer = stages->buffers[D4R_M_PACKED].buffer;
        break;
    default:
        break;
    }
    const bool shared = binding == D4R_BIND_TOKENS || binding == D4R_BIND_HEAD;
    return (VkDescriptorBufferInfo){buffer, 0, shared ? stages->desc.token_bytes : VK_WHOLE_SIZE};
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
    stages->desc.vk->fn.vkUpdateDescriptorSets(stages->desc.vk->device, D4R_BIND_COUNT, writes, 0, NULL);
}

static d4r_status create_own_sets(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
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
    stages->inputs.type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    stages->inputs.view_count = D4R_INPUT_COUNT;
    stages->inputs.layout = stages->programs->input_layout;
    stages->outputs.type = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    stages->outputs.view_count = 1;
    stages->outputs.layout = stages->programs->output_layout;
    return create_own_sets(stages);
}

/* ---- the caller's views */

static d4r_status grow_pools(d4r_m_stages *stages, d4r_m_view_cache *cache, uint32_t set_count)
{
    const d4r_vk *vk = stages->desc.vk;
    VkDescriptorPool *pools = realloc(cache->pools, (cache->pool_count + 1) * sizeof *pools);
    if (pools) cache->pools = pools;
    uint32_t *used = realloc(cache->pool_used, (cache->pool_count + 1) * sizeof *used);
    if (used) cache->pool_used = used;
    if (!pools || !used) return d4r_fail(&vk->log, D4R_ERROR_MEMORY, "descriptor pools: out of memory");
    const VkDescriptorPoolSize size = {cache->type, set_count * cache->view_count};
    const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
                                             .maxSets = set_count,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkResult result =
        vk->fn.vkCreateDescriptorPool(vk->device, &info, vk->allocator, &pools[cache->pool_count]);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor pool");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)pools[cache->pool_count],
                    "view descriptor pool");
    used[cache->pool_count++] = 0;
    return D4R_OK;
}

static void name_view_set(const d4r_m_stages *stages, const d4r_m_view_cache *cache, VkDescriptorSet set)
{
    d4r_vk_set_name(stages->desc.vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)set,
                    cache == &stages->inputs ? "input set" : "output set");
}

static d4r_status allocate_set(d4r_m_stages *stages, d4r_m_view_cache *cache, d4r_m_view_set *entry)
{
    const d4r_vk *vk = stages->desc.vk;
    uint32_t pool = 0;
    while (pool < cache->pool_count && cache->pool_used[pool] == SETS_A_POOL) pool++;
    if (pool == cache->pool_count) {
        d4r_status status = grow_pools(stages, cache, SETS_A_POOL);
        if (status != D4R_OK) return status;
    }
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = cache->pools[pool],
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &cache->layout};
    VkResult result = vk->fn.vkAllocateDescriptorSets(vk->device, &info, &entry->set);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor set");
    name_view_set(stages, cache, entry->set);
    entry->pool = cache->pools[pool];
    cache->pool_used[pool]++;
    return D4R_OK;
}

static void write_view_set(d4r_m_stages *stages, const d4r_m_view_cache *cache, const d4r_m_view_set *entry)
{
    VkWriteDescriptorSet writes[D4R_INPUT_COUNT];
    VkDescriptorImageInfo images[D4R_INPUT_COUNT];
    for (uint32_t i = 0; i < cache->view_count; i++) {
        images[i] = (VkDescriptorImageInfo){VK_NULL_HANDLE, entry->views[i], entry->layouts[i]};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = entry->set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = cache->type,
                                           .pImageInfo = &images[i]};
    }
    stages->desc.vk->fn.vkUpdateDescriptorSets(stages->desc.vk->device, cache->view_count, writes, 0, NULL);
}

static d4r_status grow_sets(d4r_m_stages *stages, d4r_m_view_cache *cache, uint32_t capacity)
{
    d4r_m_view_set *sets = realloc(cache->sets, capacity * sizeof *sets);
    if (!sets) return d4r_fail(&stages->desc.vk->log, D4R_ERROR_MEMORY, "view cache: out of memory");
    cache->sets = sets;
    cache->capacity = capacity;
    return D4R_OK;
}

/* A new set at the end. */
static d4r_status append_set(d4r_m_stages *stages, d4r_m_view_cache *cache, d4r_m_view_set **entry)
{
    d4r_status status = D4R_OK;
    if (cache->count == cache->capacity) status = grow_sets(stages, cache, cache->capacity + SETS_A_POOL);
    if (status != D4R_OK) return status;
    *entry = &cache->sets[cache->count];
    memset(*entry, 0, sizeof **entry);
    status = allocate_set(stages, cache, *entry);
    if (status == D4R_OK) cache->count++;
    return status;
}

/* A free set, else the one that has not been used for longest, if its frames have completed. */
static d4r_status reuse_set(d4r_m_stages *stages, d4r_m_view_cache *cache, d4r_m_view_set **entry)
{
    d4r_m_view_set *best = NULL;
    for (uint32_t i = 0; i < cache->count; i++) {
        d4r_m_view_set *s = &cache->sets[i];
        if (!s->views[0]) {
            best = s;
            break;
        }
        if (s->last_use < stages->completed && (!best || s->last_use < best->last_use)) best = s;
    }
    *entry = best;
    if (best) return D4R_OK;
    return d4r_fail(
        &stages->desc.vk->log, D4R_ERROR_STATE,
        "all %u descriptor sets of the view budget belong to frames that have not completed: queue "
        "fewer frames or raise the budget",
        cache->count);
}

d4r_status d4r_m_view_cache_get(d4r_m_stages *stages, d4r_m_view_cache *cache, const VkImageView *views,
                                const VkImageLayout *layouts, VkDescriptorSet *set)
{
    d4r_m_view_set *entry = NULL;
    d4r_status status;
    for (uint32_t i = 0; i < cache->count; i++) {
        d4r_m_view_set *s = &cache->sets[i];
        if (memcmp(s->views, views, cache->view_count * sizeof *views) == 0 &&
            memcmp(s->layouts, layouts, cache->view_count * sizeof *layouts) == 0) {
            s->last_use = stages->frame.index;
            *set = s->set;
            return D4R_OK;
        }
    }
    status = cache->limited ? reuse_set(stages, cache, &entry) : append_set(stages, cache, &entry);
    if (status != D4R_OK) return status;
    memcpy(entry->views, views, cache->view_count * sizeof *views);
    memcpy(entry->layouts, layouts, cache->view_count * sizeof *layouts);
    entry->last_use = stages->frame.index;
    write_view_set(stages, cache, entry);
    *set = entry->set;
    return D4R_OK;
}

static d4r_status limit_cache(d4r_m_stages *stages, d4r_m_view_cache *cache, uint32_t limit)
{
    d4r_status status = grow_sets(stages, cache, limit);
    if (status == D4R_OK) status = grow_pools(stages, cache, limit);
    cache->limited = true;
    while (status == D4R_OK && cache->count < limit) {
        const d4r_vk *vk = stages->desc.vk;
        const uint32_t left = limit - cache->count;
        VkDescriptorSetLayout layouts[SETS_A_POOL];
        VkDescriptorSet sets[SETS_A_POOL];
        const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                  .descriptorPool = cache->pools[0],
                                                  .descriptorSetCount =
                                                      left < SETS_A_POOL ? left : SETS_A_POOL,
                                                  .pSetLayouts = layouts};
        for (uint32_t i = 0; i < info.descriptorSetCount; i++) layouts[i] = cache->layout;
        VkResult result = vk->fn.vkAllocateDescriptorSets(vk->device, &info, sets);
        if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "descriptor sets");
        for (uint32_t i = 0; i < info.descriptorSetCount; i++)
            cache->sets[cache->count++] = (d4r_m_view_set){.pool = cache->pools[0], .set = sets[i]};
    }
    return status;
}

d4r_status d4r_m_stages_limit_views(d4r_m_stages *stages, uint32_t limit)
{
    d4r_status status = limit_cache(stages, &stages->inputs, limit);
    return status == D4R_OK ? limit_cache(stages, &stages->outputs, limit) : status;
}

void d4r_m_stages_set_completed(d4r_m_stages *stages, uint64_t index)
{
    stages->completed = index;
}

static uint32_t sets_in_use(const d4r_m_view_cache *cache)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < cache->count; i++) used += cache->sets[i].views[0] != VK_NULL_HANDLE;
    return used;
}

uint32_t d4r_m_stages_view_sets(const d4r_m_stages *stages, bool *full)
{
    const uint32_t inputs = sets_in_use(&stages->inputs), outputs = sets_in_use(&stages->outputs);
    *full = inputs == stages->inputs.count || outputs == stages->outputs.count;
    return inputs + outputs;
}

static void forget(d4r_m_stages *stages, d4r_m_view_cache *cache, VkImageView view)
{
    const d4r_vk *vk = stages->desc.vk;
    for (uint32_t i = cache->count; i-- > 0;) {
        d4r_m_view_set *s = &cache->sets[i];
        bool uses = false;
        for (uint32_t k = 0; k < cache->view_count; k++) uses |= s->views[k] == view;
        if (!uses) continue;
        if (cache->limited) {
            memset(s->views, 0, sizeof s->views);
            continue;
        }
        vk->fn.vkFreeDescriptorSets(vk->device, s->pool, 1, &s->set);
        for (uint32_t k = 0; k < cache->pool_count; k++)
            if (cache->pools[k] == s->pool) cache->pool_used[k]--;
        *s = cache->sets[--cache->count];
    }
}

void d4r_m_stages_forget_view(d4r_m_stages *stages, VkImageView view)
{
    forget(stages, &stages->inputs, view);
    forget(stages, &stages->outputs, view);
}

static void destroy_cache(const d4r_vk *vk, d4r_m_view_cache *cache)
{
    for (uint32_t i = 0; i < cache->pool_count; i++)
        vk->fn.vkDestroyDescriptorPool(vk->device, cache->pools[i], vk->allocator);
    free(cache->pools);
    free(cache->pool_used);
    free(cache->sets);
}

void d4r_m_stages_destroy_descriptors(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
    destroy_cache(vk, &stages->inputs);
    destroy_cache(vk, &stages->outputs);
    if (stages->own_pool) vk->fn.vkDestroyDescriptorPool(vk->device, stages->own_pool, vk->allocator);
}
