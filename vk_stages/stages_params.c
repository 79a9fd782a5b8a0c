/* A frame's settings as the numbers that the stages read. */
#include "vk_stages/stages_internal.h"
#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(d4r_m_params, jitter) == 96 && offsetof(d4r_m_params, inverse_pre_exposure) == 192 &&
                   sizeof(d4r_m_params) == 224,
               "std140 layout of params.h");

static d4r_gpu_ivec2 ivec2(uint32_t x, uint32_t y)
{
    return (d4r_gpu_ivec2){(int32_t)x, (int32_t)y};
}
static d4r_gpu_vec2 vec2(double x, double y)
{
    return (d4r_gpu_vec2){(float)x, (float)y};
}

/* History pixels per unit of the stored vectors, along an axis; scale: history pixels an output pixel. */
static double motion_unit(d4r_motion_unit unit, double scale, uint32_t render, uint32_t output)
{
    switch (unit) {
    case D4R_MOTION_OUTPUT_PIXELS:
        return scale;
    case D4R_MOTION_UV:
        return scale * output;
    case D4R_MOTION_NDC:
        return 0.5 * scale * output;
    case D4R_MOTION_RENDER_PIXELS:
        break;
    }
    return scale * output / render;
}

static void fill_motion(const d4r_stages *stages, const d4r_stage_frame *frame, double scale, d4r_m_params *p)
{
    const d4r_conventions *c = &stages->desc.conventions;
    const d4r_frame_settings *s = &frame->settings;
    const d4r_size o = stages->desc.output;
    const double sign = c->motion_reversed ? -1.0 : 1.0, flip = c->motion_flip_y ? -1.0 : 1.0;
    p->motion_factor = vec2(
        sign * s->motion_scale.x * motion_unit(c->motion_unit, scale, s->render.width, o.width),
        sign * flip * s->motion_scale.y * motion_unit(c->motion_unit, scale, s->render.height, o.height));
    /* Products of a float and a size are exact in double, so a constant size changes no bit of either. */
    const d4r_size r = s->render, before = d4r_stage_previous_render(frame);
    const double jx = (double)frame->previous_jitter.x * r.width / before.width - s->jitter.x;
    const double jy = (double)frame->previous_jitter.y * r.height / before.height - s->jitter.y;
    p->jitter_change = vec2((double)s->jitter.x * before.width / r.width - frame->previous_jitter.x,
                            (double)s->jitter.y * before.height / r.height - frame->previous_jitter.y);
    if (c->motion_jittered)
        p->motion_offset = vec2(jx * scale * o.width / r.width, jy * scale * o.height / r.height);
    if (c->motion_at_output) p->flags |= D4R_FLAG_MOTION_AT_OUTPUT;
}

static void fill_sizes(const d4r_stages *stages, const d4r_stage_frame *frame, double scale, d4r_size full,
                       d4r_m_params *p)
{
    const d4r_size r = frame->settings.render, o = stages->desc.output, m = stages->desc.max_render;
    const uint32_t block = D4R_EXPOSURE_BLOCK;
    const d4r_size before = d4r_stage_previous_render(frame);
    p->render = ivec2(r.width, r.height);
    p->previous_render = ivec2(before.width, before.height);
    p->output_size = ivec2(o.width, o.height);
    p->reconstruction = ivec2(full.width, full.height);
    p->partial_grid = ivec2((r.width + block - 1) / block, (r.height + block - 1) / block);
    p->to_render = vec2(r.width / (scale * o.width), r.height / (scale * o.height));
    p->to_reconstruction = vec2(scale * o.width / r.width, scale * o.height / r.height);
    p->previous_to_render = vec2(before.width / (scale * o.width), before.height / (scale * o.height));
    p->render_change = vec2((double)before.width / r.width, (double)before.height / r.height);
    p->inverse_render_extent = vec2(1.0 / m.width, 1.0 / m.height);
    p->inverse_reconstruction = vec2(1.0 / full.width, 1.0 / full.height);
}

void d4r_stage_params_fill(const d4r_stages *stages, const d4r_stage_frame *frame, double scale,
                           d4r_size full, d4r_m_params *p)
{
    const d4r_conventions *c = &stages->desc.conventions;
    const d4r_frame_settings *s = &frame->settings;
    const d4r_frame_images *i = frame->images;
    memset(p, 0, sizeof *p);
    fill_sizes(stages, frame, scale, full, p);
    fill_motion(stages, frame, scale, p);
    p->color_origin = ivec2(i->color.origin_x, i->color.origin_y);
    p->depth_origin = ivec2(i->depth.origin_x, i->depth.origin_y);
    p->motion_origin = ivec2(i->motion.origin_x, i->motion.origin_y);
    p->exposure_origin = ivec2(i->exposure.origin_x, i->exposure.origin_y);
    p->output_origin = ivec2(i->output.origin_x, i->output.origin_y);
    p->jitter = (d4r_gpu_vec2){s->jitter.x, s->jitter.y};
    p->previous_jitter = (d4r_gpu_vec2){frame->previous_jitter.x, frame->previous_jitter.y};
    p->inverse_pre_exposure = (float)(1.0 / s->pre_exposure);
    p->pre_exposure = s->pre_exposure;
    p->exposure = c->ldr ? 1.0f : s->exposure;
    p->exposure_mode = c->ldr ? D4R_EXPOSURE_SCALAR : (uint32_t)c->exposure_mode;
    p->frame = (uint32_t)(frame->index & 7);
    p->reset = frame->reset;
    if (c->depth_regular) p->flags |= D4R_FLAG_DEPTH_REGULAR;
}

void d4r_m_stages_fill_params(const d4r_m_stages *stages, const d4r_stage_frame *frame, d4r_m_params *p)
{
    const d4r_size r = frame->settings.render, half = stages->half_size;
    d4r_stage_params_fill(&stages->base, frame, 1.5, stages->reconstruction, p);
    p->half_size = ivec2(half.width, half.height);
    p->inverse_half = vec2(1.0 / half.width, 1.0 / half.height);
    p->grid = ivec2((r.width + 31) / 32 * 16, (r.height + 31) / 32 * 16);
    p->change_scale = (float)(9.045 * 540.0 / r.height);
}
