/* Creation and destruction of preset M's stages. */
#include "vk_stages/stages_internal.h"
#include <stdlib.h>
#include "runtime/base/log.h"

static d4r_status check_limit(const d4r_vk *vk, const char *what, uint64_t limit, uint64_t need)
{
    if (limit >= need) return D4R_OK;
    return d4r_fail(&vk->log, D4R_ERROR_FEATURE, "%s: %s is %llu, the stages of preset M need %llu",
                    vk->properties.deviceName, what, (unsigned long long)limit, (unsigned long long)need);
}

static d4r_status check_limits(const d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
    const VkPhysicalDeviceLimits *limits = &vk->properties.limits;
    const d4r_size r = stages->reconstruction;
    const uint64_t side = r.width > r.height ? r.width : r.height;
    const uint64_t shared = 15 * 15 * 48 + D4R_PIXEL_GROUP * D4R_PIXEL_GROUP * 16;
    const struct {
        const char *name;
        uint64_t limit, need;
    } checks[] = {
        {"maxImageDimension2D", limits->maxImageDimension2D, side},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, 4ull * r.width * r.height},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, stages->desc.token_bytes},
        {"maxPerStageDescriptorStorageBuffers", limits->maxPerStageDescriptorStorageBuffers, 6},
        {"maxPerStageDescriptorStorageImages", limits->maxPerStageDescriptorStorageImages, 10},
        {"maxPerStageDescriptorSampledImages", limits->maxPerStageDescriptorSampledImages, 14},
        {"maxComputeWorkGroupInvocations", limits->maxComputeWorkGroupInvocations, 256},
        {"maxComputeSharedMemorySize", limits->maxComputeSharedMemorySize, shared},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        d4r_status status = check_limit(vk, checks[i].name, checks[i].limit, checks[i].need);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

static d4r_status create(d4r_m_stages *stages)
{
    d4r_status status = check_limits(stages);
    if (status == D4R_OK) status = d4r_m_programs_get(stages, stages->desc.share);
    stages->desc.share = NULL;
    if (status == D4R_OK) status = d4r_m_stages_create_memory(stages);
    if (status == D4R_OK) status = d4r_m_stages_create_descriptors(stages);
    return status;
}

d4r_status d4r_m_stages_create(const d4r_m_stages_desc *desc, d4r_m_stages **out)
{
    *out = NULL;
    if (d4r_m_output_storage(desc->output_format) == VK_FORMAT_UNDEFINED)
        return d4r_fail(&desc->vk->log, D4R_ERROR_ARGUMENT,
                        "output_format: RGBA16F, R11G11B10F, 10- and 8-bit UNORM and sRGB are supported, not "
                        "VkFormat %d",
                        (int)desc->output_format);
    d4r_m_stages *stages = calloc(1, sizeof *stages);
    if (!stages) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "stages: out of memory");
    stages->desc = *desc;
    stages->desc.weights = NULL;
    const d4r_size o = desc->output;
    stages->reconstruction = (d4r_size){(3 * o.width + 1) / 2, (3 * o.height + 1) / 2};
    stages->half_size =
        (d4r_size){(stages->reconstruction.width + 1) / 2, (stages->reconstruction.height + 1) / 2};
    d4r_m_stages_decode_weights(desc->weights, stages->weights);
    d4r_status status = create(stages);
    if (status != D4R_OK) d4r_m_stages_destroy(&stages);
    *out = stages;
    return status;
}

void d4r_m_stages_destroy(d4r_m_stages **stages)
{
    if (!*stages) return;
    d4r_m_stages_destroy_descriptors(*stages);
    d4r_m_programs_release(&(*stages)->programs);
    d4r_m_stages_destroy_memory(*stages);
    free(*stages);
    *stages = NULL;
}

void d4r_m_stages_set_marker(d4r_m_stages *stages, d4r_stage_marker_fn marker, void *user)
{
    stages->marker = marker;
    stages->marker_user = user;
}

void d4r_m_stages_copy_marker(d4r_m_stages *stages, const d4r_m_stages *from)
{
    d4r_m_stages_set_marker(stages, from->marker, from->marker_user);
}
