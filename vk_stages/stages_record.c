/* Recording of the stages: front (exposure, input) and back (expansion, reconstruction, downsample). */
#include "vk_stages/stages_internal.h"
#include "runtime/base/log.h"

static void mark(d4r_m_stages *stages, VkCommandBuffer commands, const char *stage)
{
    if (stages->marker) stages->marker(stages->marker_user, commands, stage);
}

static void barrier(const d4r_m_stages *stages, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags uses)
{
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, wrote, uses};
    stages->desc.vk->fn.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* What one stage wrote is read by the next. */
static void stage_barrier(const d4r_m_stages *stages, VkCommandBuffer commands)
{
    barrier(stages, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

static void dispatch(const d4r_m_stages *stages, VkCommandBuffer commands, enum d4r_m_pipeline pipeline,
                     int32_t width, int32_t height, int32_t group)
{
    const d4r_vk *vk = stages->desc.vk;
    const VkPipeline handle =
        pipeline == D4R_M_DOWNSAMPLE ? stages->downsample : stages->programs->pipelines[pipeline];
    vk->fn.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, handle);
    vk->fn.vkCmdDispatch(commands, (uint32_t)((width + group - 1) / group),
                         (uint32_t)((height + group - 1) / group), 1);
}

/* Orders this frame after the stages of the previous one. A reset drops all images' content and brings them
 * into their layout; it happens at every reset, not once, as a recorded front may never be submitted. */
static void begin_frame(d4r_m_stages *stages, VkCommandBuffer commands)
{
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT,
                                    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkImageMemoryBarrier images[D4R_M_IMAGE_COUNT];
    for (int i = 0; i < D4R_M_IMAGE_COUNT; i++)
        images[i] =
            (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                   .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                                   .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                   .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                   .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .image = stages->images[i].image,
                                   .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    stages->desc.vk->fn.vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &memory, 0, NULL,
        stages->frame.reset ? D4R_M_IMAGE_COUNT : 0, images);
}

/* Parameters travel in the command buffer, so that frames can be recorded while earlier ones are queued. */
static void upload(d4r_m_stages *stages, VkCommandBuffer commands)
{
    const d4r_vk *vk = stages->desc.vk;
    vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_M_PARAMS].buffer, 0, sizeof stages->params,
                             &stages->params);
    _Static_assert(sizeof stages->weights <= 65536, "limit of vkCmdUpdateBuffer");
    if (stages->frame.reset)
        vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_M_WEIGHTS].buffer, 0, sizeof stages->weights,
                                 stages->weights);
    barrier(stages, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_SHADER_READ_BIT);
}

static d4r_status find_input_set(d4r_m_stages *stages)
{
    const d4r_frame_images *i = &stages->frame_images;
    /* Without an exposure image its binding still needs a valid view. */
    const d4r_image *exposure =
        stages->params.exposure_mode == D4R_EXPOSURE_TEXTURE ? &i->exposure : &i->color;
    const VkImageView views[] = {i->color.view, i->depth.view, i->motion.view, exposure->view};
    const VkImageLayout layouts[] = {i->color.layout, i->depth.layout, i->motion.layout, exposure->layout};
    return d4r_m_view_cache_get(stages, &stages->inputs, views, layouts, &stages->input_set);
}

static void bind_sets(const d4r_m_stages *stages, VkCommandBuffer commands, VkDescriptorSet output)
{
    const VkDescriptorSet sets[] = {stages->own_sets[stages->frame.index & 1], stages->input_set, output};
    stages->desc.vk->fn.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                                stages->programs->pipeline_layout, 0, output ? 3 : 2, sets, 0,
                                                NULL);
}

d4r_status d4r_m_stages_record_front(d4r_m_stages *stages, VkCommandBuffer commands, const d4r_m_frame *frame)
{
    const d4r_size r = frame->settings.render, m = stages->desc.max_render;
    stages->has_frame = false;
    if (r.width > m.width || r.height > m.height)
        return d4r_fail(&stages->desc.vk->log, D4R_ERROR_ARGUMENT,
                        "render: %ux%u is larger than max_render, %ux%u", r.width, r.height, m.width,
                        m.height);
    stages->frame = *frame;
    stages->frame_images = *frame->images;
    stages->frame.images = &stages->frame_images;
    d4r_m_stages_fill_params(stages, frame, &stages->params);
    d4r_status status = find_input_set(stages);
    if (status != D4R_OK) return status;
    const d4r_m_params *p = &stages->params;
    mark(stages, commands, "begin");
    begin_frame(stages, commands);
    upload(stages, commands);
    bind_sets(stages, commands, VK_NULL_HANDLE);
    if (p->exposure_mode == D4R_EXPOSURE_AUTO) {
        dispatch(stages, commands, D4R_M_EXPOSURE_SUM, p->partial_grid.x, p->partial_grid.y, 1);
        stage_barrier(stages, commands);
    }
    dispatch(stages, commands, D4R_M_EXPOSURE, 1, 1, 1);
    stage_barrier(stages, commands);
    mark(stages, commands, "exposure");
    dispatch(stages, commands, D4R_M_INPUT, p->grid.x, p->grid.y, D4R_TOKEN_GROUP);
    mark(stages, commands, "input");
    stages->has_frame = true;
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

d4r_status d4r_m_stages_record_back(d4r_m_stages *stages, VkCommandBuffer commands)
{
    if (!stages->has_frame)
        return d4r_fail(&stages->desc.vk->log, D4R_ERROR_STATE, "back: no front has been recorded");
    const d4r_m_params *p = &stages->params;
    const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
    VkDescriptorSet output;
    d4r_status status =
        d4r_m_view_cache_get(stages, &stages->outputs, &stages->frame_images.output.view, &layout, &output);
    if (status != D4R_OK) return status;
    stage_barrier(stages, commands);
    mark(stages, commands, "acquire");
    bind_sets(stages, commands, output);
    dispatch(stages, commands, D4R_M_EXPANSION, (p->render.x + 1) / 2, (p->render.y + 1) / 2,
             D4R_TOKEN_GROUP);
    stage_barrier(stages, commands);
    mark(stages, commands, "expansion");
    dispatch(stages, commands, reconstruction_tier(p), p->reconstruction.x, p->reconstruction.y,
             D4R_PIXEL_GROUP);
    stage_barrier(stages, commands);
    mark(stages, commands, "reconstruction");
    dispatch(stages, commands, D4R_M_DOWNSAMPLE, p->output_size.x, p->output_size.y, D4R_PIXEL_GROUP);
    mark(stages, commands, "downsample");
    return D4R_OK;
}
