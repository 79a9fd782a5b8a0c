/* Descriptor sets of the caller's views, the same for every preset: cached, each written once before its first use and, unless
 * there is a limit, never changed. */
#include "vk_stages/stages_base.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

#define SETS_A_POOL 16

d4r_status d4r_create_set_layout(const d4r_vk *vk, const char *name,
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

d4r_status d4r_create_view_layouts(const d4r_vk *vk, VkDescriptorSetLayout *input,
                                   VkDescriptorSetLayout *output)
{
    VkDescriptorSetLayoutBinding inputs[D4R_INPUT_COUNT];
    for (uint32_t i = 0; i < D4R_INPUT_COUNT; i++)
        inputs[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1,
                                                   VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutBinding target = {0, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1,
                                                 VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    d4r_status status = d4r_create_set_layout(vk, "input set layout", inputs, D4R_INPUT_COUNT, input);
    return status == D4R_OK ? d4r_create_set_layout(vk, "output set layout", &target, 1, output) : status;
}

d4r_status d4r_create_history_sampler(const d4r_vk *vk, VkSampler *sampler)
{
    const VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                      .magFilter = VK_FILTER_LINEAR,
                                      .minFilter = VK_FILTER_LINEAR,
                                      .mipmapMode = VK_SAMPLER_MIPMAP_MODE_NEAREST,
                                      .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                      .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                      .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkResult result = vk->fn.vkCreateSampler(vk->device, &info, vk->allocator, sampler);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "sampler");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SAMPLER, (uint64_t)*sampler, "history sampler");
    return D4R_OK;
}

/* ---- the caller's views */

static d4r_status grow_pools(d4r_stages *stages, d4r_view_cache *cache, uint32_t set_count)
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

static d4r_status allocate_set(d4r_stages *stages, d4r_view_cache *cache, d4r_view_set *entry)
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
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)entry->set, cache->name);
    entry->pool = cache->pools[pool];
    cache->pool_used[pool]++;
    return D4R_OK;
}

static void write_view_set(d4r_stages *stages, const d4r_view_cache *cache, const d4r_view_set *entry)
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

static d4r_status grow_sets(d4r_stages *stages, d4r_view_cache *cache, uint32_t capacity)
{
    d4r_view_set *sets = realloc(cache->sets, capacity * sizeof *sets);
    if (!sets) return d4r_fail(&stages->desc.vk->log, D4R_ERROR_MEMORY, "view cache: out of memory");
    cache->sets = sets;
    cache->capacity = capacity;
    return D4R_OK;
}

/* A new set at the end. */
static d4r_status append_set(d4r_stages *stages, d4r_view_cache *cache, d4r_view_set **entry)
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
static d4r_status reuse_set(d4r_stages *stages, d4r_view_cache *cache, d4r_view_set **entry)
{
    d4r_view_set *best = NULL;
    for (uint32_t i = 0; i < cache->count; i++) {
        d4r_view_set *s = &cache->sets[i];
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

d4r_status d4r_view_cache_get(d4r_stages *stages, d4r_view_cache *cache, const VkImageView *views,
                              const VkImageLayout *layouts, VkDescriptorSet *set)
{
    d4r_view_set *entry = NULL;
    d4r_status status;
    for (uint32_t i = 0; i < cache->count; i++) {
        d4r_view_set *s = &cache->sets[i];
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

static d4r_status limit_cache(d4r_stages *stages, d4r_view_cache *cache, uint32_t limit)
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
            cache->sets[cache->count++] = (d4r_view_set){.pool = cache->pools[0], .set = sets[i]};
    }
    return status;
}

d4r_status d4r_stages_limit_views(d4r_stages *stages, uint32_t limit)
{
    d4r_status status = limit_cache(stages, &stages->inputs, limit);
    return status == D4R_OK ? limit_cache(stages, &stages->outputs, limit) : status;
}

static uint32_t sets_in_use(const d4r_view_cache *cache)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < cache->count; i++) used += cache->sets[i].views[0] != VK_NULL_HANDLE;
    return used;
}

uint32_t d4r_stages_view_sets(const d4r_stages *stages, bool *full)
{
    const uint32_t inputs = sets_in_use(&stages->inputs), outputs = sets_in_use(&stages->outputs);
    *full = inputs == stages->inputs.count || outputs == stages->outputs.count;
    return inputs + outputs;
}

static void forget(d4r_stages *stages, d4r_view_cache *cache, VkImageView view)
{
    const d4r_vk *vk = stages->desc.vk;
    for (uint32_t i = cache->count; i-- > 0;) {
        d4r_view_set *s = &cache->sets[i];
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

void d4r_stages_forget_view(d4r_stages *stages, VkImageView view)
{
    forget(stages, &stages->inputs, view);
    forget(stages, &stages->outputs, view);
}

static void destroy_cache(const d4r_vk *vk, d4r_view_cache *cache)
{
    for (uint32_t i = 0; i < cache->pool_count; i++)
        vk->fn.vkDestroyDescriptorPool(vk->device, cache->pools[i], vk->allocator);
    free(cache->pools);
    free(cache->pool_used);
    free(cache->sets);
}

void d4r_view_caches_init(d4r_stages *stages, VkDescriptorSetLayout input, VkDescriptorSetLayout output)
{
    stages->inputs = (d4r_view_cache){.layout = input,
                                      .type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                                      .view_count = D4R_INPUT_COUNT,
                                      .name = "input set"};
    stages->outputs = (d4r_view_cache){
        .layout = output, .type = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, .view_count = 1, .name = "output set"};
}

void d4r_view_caches_destroy(d4r_stages *stages)
{
    destroy_cache(stages->desc.vk, &stages->inputs);
    destroy_cache(stages->desc.vk, &stages->outputs);
}

d4r_status d4r_stages_find_inputs(d4r_stages *stages, bool exposure_image)
{
    const d4r_frame_images *i = &stages->frame_images;
    /* Without an exposure image its binding still needs a valid view. */
    const d4r_image *exposure = exposure_image ? &i->exposure : &i->color;
    const VkImageView views[] = {i->color.view, i->depth.view, i->motion.view, exposure->view};
    const VkImageLayout layouts[] = {i->color.layout, i->depth.layout, i->motion.layout, exposure->layout};
    return d4r_view_cache_get(stages, &stages->inputs, views, layouts, &stages->input_set);
}

d4r_status d4r_stages_find_output(d4r_stages *stages, VkDescriptorSet *set)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
    return d4r_view_cache_get(stages, &stages->outputs, &stages->frame_images.output.view, &layout, set);
}
