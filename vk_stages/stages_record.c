/* Recording of preset M's stages: front (exposure, input) and back (expansion, reconstruction, downsample). */
#include "vk_stages/stages_internal.h"

static void dispatch(const d4r_m_stages *stages, VkCommandBuffer commands, enum d4r_m_pipeline pipeline,
                     int32_t width, int32_t height, int32_t group)
{
    const d4r_vk *vk = stages->base.desc.vk;
    const VkPipeline handle =
        pipeline == D4R_M_DOWNSAMPLE ? stages->downsample : stages->programs->pipelines[pipeline];
    vk->fn.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, handle);
    vk->fn.vkCmdDispatch(commands, (uint32_t)((width + group - 1) / group),
                         (uint32_t)((height + group - 1) / group), 1);
}

/* Parameters travel in the command buffer, so that frames can be recorded while earlier ones are queued. */
static void upload(d4r_m_stages *stages, VkCommandBuffer commands)
{
    const d4r_vk *vk = stages->base.desc.vk;
    vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_M_PARAMS].buffer, 0, sizeof stages->params,
                             &stages->params);
    _Static_assert(sizeof stages->weights <= 65536, "limit of vkCmdUpdateBuffer");
    if (stages->base.frame.reset)
        vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_M_WEIGHTS].buffer, 0, sizeof stages->weights,
                                 stages->weights);
    d4r_stages_barrier(&stages->base, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_SHADER_READ_BIT);
}

d4r_status d4r_m_stages_record_front(d4r_stages *base, VkCommandBuffer commands, const d4r_stage_frame *frame)
{
    d4r_m_stages *stages = d4r_m_stages_of(base);
    const d4r_m_params *p = &stages->params;
    d4r_status status = d4r_stages_begin(base, frame);
    if (status != D4R_OK) return status;
    d4r_m_stages_fill_params(stages, frame, &stages->params);
    status = d4r_stages_find_inputs(base, p->exposure_mode == D4R_EXPOSURE_TEXTURE);
    if (status != D4R_OK) return status;
    d4r_stages_mark(base, commands, "begin");
    d4r_stages_begin_images(base, commands, stages->images, D4R_M_IMAGE_COUNT);
    upload(stages, commands);
    d4r_stages_bind(&stages->base, &stages->programs->base, commands, VK_NULL_HANDLE);
    if (p->exposure_mode == D4R_EXPOSURE_AUTO) {
        dispatch(stages, commands, D4R_M_EXPOSURE_SUM, p->partial_grid.x, p->partial_grid.y, 1);
        d4r_stages_stage_barrier(base, commands);
    }
    dispatch(stages, commands, D4R_M_EXPOSURE, 1, 1, 1);
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "exposure");
    dispatch(stages, commands, D4R_M_INPUT, p->grid.x, p->grid.y, D4R_TOKEN_GROUP);
    d4r_stages_mark(base, commands, "input");
    base->has_frame = true;
    return D4R_OK;
}

/* The tier by the span of 16 reconstruction pixels in render pixels: see gaussian.glsl. */
static enum d4r_m_pipeline reconstruction_tier(const d4r_m_params *p)
{
    if (2 * p->render.x <= p->output_size.x && 2 * p->render.y <= p->output_size.y)
        return D4R_M_RECONSTRUCTION_10;
    return p->to_render.x <= 0.45f && p->to_render.y <= 0.45f ? D4R_M_RECONSTRUCTION_11
                                                              : D4R_M_RECONSTRUCTION_15;
}

d4r_status d4r_m_stages_record_back(d4r_stages *base, VkCommandBuffer commands)
{
    d4r_m_stages *stages = d4r_m_stages_of(base);
    const d4r_m_params *p = &stages->params;
    VkDescriptorSet output;
    d4r_status status = d4r_stages_find_output(base, &output);
    if (status != D4R_OK) return status;
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "acquire");
    d4r_stages_bind(&stages->base, &stages->programs->base, commands, output);
    dispatch(stages, commands, D4R_M_EXPANSION, (p->render.x + 1) / 2, (p->render.y + 1) / 2,
             D4R_TOKEN_GROUP);
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "expansion");
    dispatch(stages, commands, reconstruction_tier(p), p->reconstruction.x, p->reconstruction.y,
             D4R_PIXEL_GROUP);
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "reconstruction");
    dispatch(stages, commands, D4R_M_DOWNSAMPLE, p->output_size.x, p->output_size.y, D4R_PIXEL_GROUP);
    d4r_stages_mark(base, commands, "downsample");
    return D4R_OK;
}
