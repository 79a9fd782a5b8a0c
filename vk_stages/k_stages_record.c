/* Recording of preset K's stages: front (exposure, input) and back (reconstruction). */
#include <math.h>
#include "models/format/k_layout.h"
#include "runtime/base/log.h"
#include "vk_stages/k_stages_internal.h"

uint32_t d4r_k_table_of(d4r_size render, d4r_size output)
{
    const double ratio = sqrt((double)output.width / render.width * ((double)output.height / render.height));
    const double index = (ratio - 0.5) * 28 / 3;
    const double even = 2 * ceil((index - 1) / 2); /* nearest, ties down */
    const double last = D4R_K_FIRST_TABLE + 2 * (D4R_K_TABLES_USED - 1);
    return (uint32_t)fmin(fmax(even, D4R_K_FIRST_TABLE), last);
}

static uint32_t grid_side(uint32_t output)
{
    const uint32_t tokens = (output + 3) / 4;
    const uint32_t side = (tokens + D4R_K_GRID_STEP - 1) / D4R_K_GRID_STEP * D4R_K_GRID_STEP;
    return side > D4R_K_GRID_LEAST ? side : D4R_K_GRID_LEAST;
}

static void fill_params(d4r_k_stages *stages)
{
    const d4r_stage_frame *frame = &stages->base.frame;
    const d4r_size o = stages->base.desc.output;
    struct d4r_m_params *p = &stages->params;
    d4r_stage_params_fill(&stages->base, frame, 1.0, o, p);
    p->half_size = (d4r_gpu_ivec2){(int32_t)((o.width + 1) / 2), (int32_t)((o.height + 1) / 2)};
    p->grid = (d4r_gpu_ivec2){(int32_t)grid_side(o.width), (int32_t)grid_side(o.height)};
    /* A measurement every other frame is enough for what the eye gets used to slowly. */
    if (p->exposure_mode == D4R_EXPOSURE_AUTO && frame->index % 2 != 0 && !frame->reset)
        p->exposure_mode = D4R_EXPOSURE_KEPT;
    const uint32_t table = (d4r_k_table_of(frame->settings.render, o) - D4R_K_FIRST_TABLE) / 2;
    p->flags |= table << D4R_K_FLAG_TABLE_SHIFT;
}

/* ---- pieces */

static void dispatch(const d4r_k_stages *stages, VkCommandBuffer commands, VkPipeline pipeline,
                     d4r_gpu_ivec2 size, int32_t group)
{
    const d4r_vk *vk = stages->base.desc.vk;
    vk->fn.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vk->fn.vkCmdDispatch(commands, (uint32_t)((size.x + group - 1) / group),
                         (uint32_t)((size.y + group - 1) / group), 1);
}

/* Parameters travel in the command buffer, so that frames can be recorded while earlier ones are queued; the tables at every
 * reset, as a recorded front may never be submitted. */
static void upload(d4r_k_stages *stages, VkCommandBuffer commands)
{
    const d4r_vk *vk = stages->base.desc.vk;
    const size_t most = 65536; /* limit of vkCmdUpdateBuffer */
    _Static_assert(sizeof stages->tables % 65536 == 0, "pieces of the tables");
    vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_K_PARAMS].buffer, 0, sizeof stages->params,
                             &stages->params);
    for (size_t at = 0; stages->base.frame.reset && at < sizeof stages->tables; at += most)
        vk->fn.vkCmdUpdateBuffer(commands, stages->buffers[D4R_K_TABLES].buffer, at, most,
                                 stages->tables + at);
    d4r_stages_barrier(&stages->base, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_SHADER_READ_BIT);
}

/* By the span of 16 output pixels in render texels: see docs/stages_k.md. */
static enum d4r_k_tier tier_of(const struct d4r_m_params *p)
{
    const d4r_gpu_ivec2 r = p->render, o = p->output_size;
    if (2 * r.x <= o.x && 2 * r.y <= o.y) return D4R_K_TILE_12;
    return 3 * r.x <= 2 * o.x && 3 * r.y <= 2 * o.y ? D4R_K_TILE_15 : D4R_K_TILE_20;
}

/* ---- front and back */

static d4r_status begin(d4r_k_stages *stages, const d4r_stage_frame *frame)
{
    const d4r_size r = frame->settings.render, o = stages->base.desc.output;
    d4r_status status = d4r_stages_begin(&stages->base, frame);
    /* The largest tile holds no more than an output pixel a render pixel. */
    if (status == D4R_OK && (r.width > o.width || r.height > o.height))
        return d4r_fail(&stages->base.desc.vk->log, D4R_ERROR_ARGUMENT,
                        "render: %ux%u is larger than the output, %ux%u", r.width, r.height, o.width,
                        o.height);
    if (status != D4R_OK) return status;
    fill_params(stages);
    return d4r_stages_find_inputs(&stages->base, stages->params.exposure_mode == D4R_EXPOSURE_TEXTURE);
}

d4r_status d4r_k_stages_record_front(d4r_stages *base, VkCommandBuffer commands, const d4r_stage_frame *frame)
{
    d4r_k_stages *stages = d4r_k_stages_of(base);
    const struct d4r_m_params *p = &stages->params;
    const VkPipeline *pipelines = stages->programs->pipelines;
    d4r_status status = begin(stages, frame);
    if (status != D4R_OK) return status;
    d4r_stages_mark(base, commands, "begin");
    d4r_stages_begin_images(base, commands, stages->images, D4R_K_IMAGE_COUNT);
    upload(stages, commands);
    d4r_stages_bind(&stages->base, &stages->programs->base, commands, VK_NULL_HANDLE);
    if (p->exposure_mode == D4R_EXPOSURE_AUTO) {
        dispatch(stages, commands, pipelines[D4R_K_EXPOSURE_SUM], p->partial_grid, 1);
        d4r_stages_stage_barrier(base, commands);
    }
    dispatch(stages, commands, pipelines[D4R_K_EXPOSURE], (d4r_gpu_ivec2){1, 1}, 1);
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "exposure");
    dispatch(stages, commands, pipelines[D4R_K_INPUT], p->grid, D4R_TOKEN_GROUP);
    d4r_stages_mark(base, commands, "input");
    base->has_frame = true;
    return D4R_OK;
}

d4r_status d4r_k_stages_record_back(d4r_stages *base, VkCommandBuffer commands)
{
    d4r_k_stages *stages = d4r_k_stages_of(base);
    const struct d4r_m_params *p = &stages->params;
    VkDescriptorSet output;
    d4r_status status = d4r_stages_find_output(base, &output);
    if (status != D4R_OK) return status;
    d4r_stages_stage_barrier(base, commands);
    d4r_stages_mark(base, commands, "acquire");
    d4r_stages_bind(&stages->base, &stages->programs->base, commands, output);
    dispatch(stages, commands, stages->programs->reconstruction[stages->output][tier_of(p)], p->output_size,
             D4R_PIXEL_GROUP);
    d4r_stages_mark(base, commands, "reconstruction");
    return D4R_OK;
}
