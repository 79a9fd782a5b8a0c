/* What the headless examples upscale: a textured wall that pans and a disc that moves before it, as a renderer would
 * deliver them (one sample a pixel at the jittered centre, exact motion and depth), and the picture they should become. */
#ifndef D4R_EXAMPLES_PATTERN_H
#define D4R_EXAMPLES_PATTERN_H

#include <math.h>
#include <stdlib.h>

#include "d4r/d4r.h"

/* Positions are in units of the image's height, so that every size shows the same. */
typedef struct pattern_point {
    float color[3], depth;
    float velocity[2]; /* a frame */
} pattern_point;

static inline pattern_point pattern_at(float x, float y, unsigned frame)
{
    const float wall[2] = {0.004f, -0.0015f}, disc[2] = {-0.006f, 0.002f};
    float t = (float)frame, dx = x - 1.1f - disc[0] * t, dy = y - 0.45f - disc[1] * t;
    if (dx * dx + dy * dy < 0.04f) {
        float ring = 0.5f + 0.5f * sinf(220.0f * sqrtf(dx * dx + dy * dy));
        return (pattern_point){{1.5f * ring + 0.05f, 0.4f, 0.1f + 0.2f * ring}, 0.5f, {disc[0], disc[1]}};
    }
    float u = x - wall[0] * t, v = y - wall[1] * t;
    float brick = floorf(v * 14.0f), offset = fmodf(fabsf(brick), 2.0f) * 0.5f;
    float across = u * 7.0f + offset - floorf(u * 7.0f + offset), up = v * 14.0f - brick;
    float tone = across < 0.05f || up < 0.1f ? 0.75f : 0.25f + 0.1f * sinf(90.0f * u) * sinf(130.0f * v);
    return (pattern_point){{tone, 0.7f * tone, 0.55f * tone}, 0.1f, {wall[0], wall[1]}};
}

/* One frame's planes, tightly packed: RGBA, XY and one float a pixel. Motion: previous = current + motion. */
static inline void pattern_render(unsigned frame, d4r_size size, d4r_vec2 jitter, float *color, float *motion,
                                  float *depth)
{
    float scale = 1.0f / (float)size.height;
    for (uint32_t y = 0; y < size.height; y++)
        for (uint32_t x = 0; x < size.width; x++) {
            size_t i = (size_t)y * size.width + x;
            pattern_point p =
                pattern_at(((float)x + 0.5f + jitter.x) * scale, ((float)y + 0.5f + jitter.y) * scale, frame);
            for (int c = 0; c < 3; c++) color[4 * i + c] = p.color[c];
            color[4 * i + 3] = 1;
            motion[2 * i] = -p.velocity[0] / scale;
            motion[2 * i + 1] = -p.velocity[1] / scale;
            depth[i] = p.depth;
        }
}

static inline float pattern_half(uint16_t h)
{
    int exponent = h >> 10 & 31;
    float value =
        exponent ? ldexpf((float)(1024 + (h & 1023)), exponent - 25) : ldexpf((float)(h & 1023), -24);
    return h & 0x8000 ? -value : value;
}

/* PSNR of an RGBA16F picture against the supersampled pattern, over v / (1 + v). */
static inline double pattern_psnr(unsigned frame, d4r_size size, const uint16_t *rgba)
{
    double sum = 0;
    float scale = 1.0f / (float)size.height;
    for (uint32_t y = 0; y < size.height; y++)
        for (uint32_t x = 0; x < size.width; x++) {
            float truth[3] = {0, 0, 0};
            for (int s = 0; s < 16; s++) {
                float sx = (float)x + ((float)(s % 4) + 0.5f) / 4,
                      sy = (float)y + ((float)(s / 4) + 0.5f) / 4;
                pattern_point p = pattern_at(sx * scale, sy * scale, frame);
                for (int c = 0; c < 3; c++) truth[c] += p.color[c] / 16;
            }
            for (int c = 0; c < 3; c++) {
                float v = pattern_half(rgba[4 * ((size_t)y * size.width + x) + c]);
                double d = v / (1 + v) - truth[c] / (1 + truth[c]);
                sum += d * d;
            }
        }
    return -10 * log10(sum / (3.0 * size.width * size.height) + 1e-12);
}

#endif
