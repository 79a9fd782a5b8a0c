#include "tests/engine/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/engine/test_model.h"

bool test_content_create(test_content *c, d4r_size render, uint32_t frame, uint32_t seed)
{
    size_t count = (size_t)render.width * render.height;
    uint32_t state = seed * 7919u + frame;
    c->render = render;
    c->color = malloc(count * 4 * sizeof(float));
    c->motion = malloc(count * 2 * sizeof(float));
    c->depth = malloc(count * sizeof(float));
    if (!c->color || !c->motion || !c->depth) {
        test_content_destroy(c);
        return false;
    }
    for (uint32_t y = 0; y < render.height; y++)
        for (uint32_t x = 0; x < render.width; x++) {
            size_t i = (size_t)y * render.width + x;
            float u = (float)x + 1.5f * (float)frame, v = (float)y;
            for (int k = 0; k < 3; k++)
                c->color[4 * i + k] =
                    0.6f + 0.5f * sinf(u * 0.21f + (float)k) * cosf(v * 0.17f) + 0.1f * test_random(&state);
            c->color[4 * i + 3] = 1;
            c->motion[2 * i] = 1.5f;
            c->motion[2 * i + 1] = 0.25f * test_random(&state);
            c->depth[i] = 0.2f + 0.6f * test_random(&state);
        }
    return true;
}

void test_content_destroy(test_content *c)
{
    free(c->color);
    free(c->motion);
    free(c->depth);
    memset(c, 0, sizeof *c);
}

static d4r_plane plane(const float *data, d4r_size extent, d4r_pixel_format format)
{
    return (d4r_plane){.data = data,
                       .size = (size_t)extent.width * extent.height * d4r_pixel_format_bytes(format),
                       .extent = extent,
                       .format = format};
}

d4r_upscaler_frame test_content_frame(const test_content *c, uint32_t frame)
{
    d4r_upscaler_frame f = {.settings = d4r_frame_settings_default(c->render),
                            .color = plane(c->color, c->render, D4R_FORMAT_RGBA32F),
                            .motion = plane(c->motion, c->render, D4R_FORMAT_RG32F),
                            .depth = plane(c->depth, c->render, D4R_FORMAT_R32F)};
    f.settings.jitter = d4r_jitter(frame, 32);
    return f;
}
