/* Creation and destruction of preset M's stages. */
#include "vk_stages/stages_internal.h"
#include <stdlib.h>
#include "runtime/base/log.h"

static d4r_status check_limits(const d4r_m_stages *stages)
{
    const VkPhysicalDeviceLimits *limits = &stages->base.desc.vk->properties.limits;
    const d4r_size r = stages->reconstruction;
    const uint64_t side = r.width > r.height ? r.width : r.height;
    const uint64_t shared = 15 * 15 * 48 + D4R_PIXEL_GROUP * D4R_PIXEL_GROUP * 16;
    const d4r_stages_limit checks[] = {
        {"maxImageDimension2D", limits->maxImageDimension2D, side},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, 4ull * r.width * r.height},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, stages->base.desc.token_bytes},
        {"maxPerStageDescriptorStorageBuffers", limits->maxPerStageDescriptorStorageBuffers, 6},
        {"maxPerStageDescriptorStorageImages", limits->maxPerStageDescriptorStorageImages, 10},
        {"maxPerStageDescriptorSampledImages", limits->maxPerStageDescriptorSampledImages, 14},
        {"maxComputeWorkGroupInvocations", limits->maxComputeWorkGroupInvocations, 256},
        {"maxComputeSharedMemorySize", limits->maxComputeSharedMemorySize, shared},
    };
    return d4r_stages_check_limits(&stages->base, "M", checks, sizeof checks / sizeof *checks);
}

static d4r_status create_parts(d4r_m_stages *stages, const d4r_stages *share)
{
    d4r_status status = check_limits(stages);
    if (status == D4R_OK) status = d4r_m_programs_get(stages, (const d4r_m_stages *)share);
    if (status == D4R_OK) status = d4r_m_stages_create_memory(stages);
    if (status == D4R_OK) status = d4r_m_stages_create_descriptors(stages);
    return status;
}

static void destroy(d4r_stages *base)
{
    d4r_m_stages *stages = d4r_m_stages_of(base);
    d4r_own_sets_destroy(base);
    d4r_m_programs_release(&stages->programs);
    d4r_m_stages_destroy_memory(stages);
    free(stages);
}

static d4r_status create(const d4r_stages_desc *desc, d4r_stages **out)
{
    d4r_m_stages *stages = calloc(1, sizeof *stages);
    if (!stages) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "stages: out of memory");
    d4r_stages_init(&stages->base, &d4r_m_stages_ops, desc);
    const d4r_size o = desc->output;
    stages->reconstruction = (d4r_size){(3 * o.width + 1) / 2, (3 * o.height + 1) / 2};
    stages->half_size =
        (d4r_size){(stages->reconstruction.width + 1) / 2, (stages->reconstruction.height + 1) / 2};
    d4r_m_stages_decode_weights(desc->weights, stages->weights);
    d4r_status status = create_parts(stages, desc->share);
    if (status == D4R_OK)
        *out = &stages->base;
    else
        destroy(&stages->base);
    return status;
}

static const char *const marks[] = {"begin",     "exposure",       "input",     "acquire",
                                    "expansion", "reconstruction", "downsample"};

const d4r_stages_ops d4r_m_stages_ops = {.create = create,
                                         .destroy = destroy,
                                         .record_front = d4r_m_stages_record_front,
                                         .record_back = d4r_m_stages_record_back,
                                         .device_bytes = d4r_m_stages_device_bytes,
                                         .weight_bytes = d4r_m_stages_weight_bytes,
                                         .resources = d4r_m_stages_resources,
                                         .marks = marks,
                                         .mark_count = sizeof marks / sizeof *marks,
                                         .front_marks = 3,
                                         .debug_view = &d4r_m_debug_view};
