#include "tests/stages/content.h"
#include <math.h>
#include <stdlib.h>

static void pixel_color(const rig_params *p, double x, double y, uint64_t *s, float *out)
{
    const double edge = sin(x * 0.35) * cos(y * 0.27) > 0.1 ? 0.9 : 0.08;
    const double spot = fmod(fabs(x * 3.1 + y * 1.7), 47) < 1 ? 40 : 0;
    for (int k = 0; k < 3; k++) {
        double v = edge * (1 + 0.3 * k) + 0.05 * rig_uniform(s, 0, 1) + (p->conventions.ldr ? 0 : spot);
        if (rig_random(s) % 97 == 0) v = -0.2; /* out of range */
        out[k] = (float)(p->conventions.ldr ? v * 0.7 : v);
    }
    out[3] = (float)rig_uniform(s, 0, 1);
}

/* Stored form of a motion of `pixels` render pixels. */
static float stored_motion(const rig_params *p, double pixels, d4r_size render, bool vertical)
{
    const double r = vertical ? render.height : render.width;
    const double o = vertical ? p->output.height : p->output.width;
    double v = pixels;
    if (p->conventions.motion_unit == D4R_MOTION_OUTPUT_PIXELS) v *= o / r;
    if (p->conventions.motion_unit == D4R_MOTION_UV) v /= r;
    if (p->conventions.motion_unit == D4R_MOTION_NDC) v *= 2 / r;
    if (p->conventions.motion_reversed) v = -v;
    if (vertical && p->conventions.motion_flip_y) v = -v;
    return (float)v;
}

content content_random(const rig_params *params, d4r_size render, int frame)
{
    content c = {0};
    const d4r_size m = params->conventions.motion_at_output ? params->output : render;
    const size_t pixels = (size_t)render.width * render.height;
    uint64_t s = 77 + (uint64_t)frame * 1000;
    c.color = malloc(pixels * 16);
    c.depth = malloc(pixels * 4);
    c.motion = malloc((size_t)m.width * m.height * 8);
    if (!c.color || !c.depth || !c.motion) abort();
    for (uint32_t y = 0; y < render.height; y++) {
        for (uint32_t x = 0; x < render.width; x++) {
            const size_t i = (size_t)y * render.width + x;
            pixel_color(params, x + 1.7 * frame, y - 0.6 * frame, &s, c.color + 4 * i);
            /* Steps, so that neighbours are often equal: the order of comparison counts. */
            c.depth[i] = (float)(floor(rig_uniform(&s, 0, 1) * 6) / 6 * (sin(x * 0.2) > 0 ? 1 : 0.5));
        }
    }
    for (uint32_t y = 0; y < m.height; y++) {
        for (uint32_t x = 0; x < m.width; x++) {
            double mx = 1.7 + 0.4 * sin(y * 0.1) + 0.1 * rig_uniform(&s, -1, 1),
                   my = -0.6 + 0.3 * cos(x * 0.13);
            if (rig_random(&s) % 50 == 0) mx = rig_uniform(&s, -90, 90), my = rig_uniform(&s, -90, 90);
            float *mv = c.motion + 2 * ((size_t)y * m.width + x);
            mv[0] = stored_motion(params, mx, render, false);
            mv[1] = stored_motion(params, my, render, true);
        }
    }
    c.input.settings =
        (d4r_frame_settings){.render = render,
                             .jitter = {(float)rig_uniform(&s, -0.5, 0.5), (float)rig_uniform(&s, -0.5, 0.5)},
                             .motion_scale = {1, 1},
                             .exposure = 1.3f + 0.2f * (float)frame,
                             .pre_exposure = 1};
    c.input.exposure_texel = 0.8f + 0.1f * (float)frame;
    c.input.color = c.color;
    c.input.depth = c.depth;
    c.input.motion = c.motion;
    return c;
}

void content_damage(content *c, const rig_params *params, uint64_t seed)
{
    const float bad[] = {NAN, INFINITY, -INFINITY, -NAN, 3e38f, -3e38f};
    const d4r_size r = c->input.settings.render;
    const d4r_size m = params->conventions.motion_at_output ? params->output : r;
    uint64_t s = seed;
    for (size_t i = 0; i < (size_t)r.width * r.height; i++) {
        if (rig_random(&s) % 20 == 0) c->color[4 * i + rig_random(&s) % 4] = bad[rig_random(&s) % 6];
        if (rig_random(&s) % 20 == 0) c->depth[i] = bad[rig_random(&s) % 6];
    }
    for (size_t i = 0; i < (size_t)m.width * m.height; i++)
        if (rig_random(&s) % 20 == 0) c->motion[2 * i + rig_random(&s) % 2] = bad[rig_random(&s) % 6];
    /* A block without a finite pixel in reach of its centre. */
    for (size_t y = 10; y < 14; y++)
        for (size_t x = 20; x < 24; x++) c->color[4 * (y * r.width + x) + 1] = NAN;
}

void content_free(content *c)
{
    free(c->color);
    free(c->depth);
    free(c->motion);
}
