/* A device whose sampler has few fraction bits: pipelines are created with D4R_SPEC_FILTER_BITS besides the stages' own
 * constants. */
#include <string.h>
#include "tests/stages/rig_internal.h"
#include "vk_stages/params.h"

static PFN_vkCreateComputePipelines create_plain;
static uint32_t filter_bits;

static VKAPI_ATTR VkResult VKAPI_CALL create_coarse(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                    const VkComputePipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkPipeline *pipelines)
{
    VkSpecializationMapEntry entries[16];
    uint32_t values[16];
    const VkSpecializationInfo *own = infos->stage.pSpecializationInfo;
    rig_require(count == 1 && own && own->mapEntryCount < 16 && own->dataSize < sizeof values,
                "one stage's pipeline");
    memcpy(entries, own->pMapEntries, own->mapEntryCount * sizeof *entries);
    memcpy(values, own->pData, own->dataSize);
    const uint32_t at = (uint32_t)(own->dataSize + 3) / 4;
    values[at] = filter_bits;
    entries[own->mapEntryCount] = (VkSpecializationMapEntry){D4R_SPEC_FILTER_BITS, 4 * at, 4};
    const VkSpecializationInfo constants = {own->mapEntryCount + 1, entries, 4 * (size_t)(at + 1), values};
    VkComputePipelineCreateInfo info = *infos;
    info.stage.pSpecializationInfo = &constants;
    return create_plain(device, cache, 1, &info, allocator, pipelines);
}

void rig_filter_begin(rig *r)
{
    if (!r->params.filter_bits) return;
    rig_require(!create_plain, "one rig with filter_bits at a time");
    filter_bits = r->params.filter_bits;
    create_plain = r->t->vk.fn.vkCreateComputePipelines;
    r->t->vk.fn.vkCreateComputePipelines = create_coarse;
}

void rig_filter_end(rig *r)
{
    if (!r->params.filter_bits) return;
    r->t->vk.fn.vkCreateComputePipelines = create_plain;
    create_plain = NULL;
}
