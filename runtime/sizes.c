/* Quality modes and jitter: pure functions of their arguments. */
#include <math.h>
#include "d4r/d4r.h"

float d4r_quality_ratio(d4r_quality quality)
{
    switch (quality) {
    case D4R_QUALITY_NATIVE:
        return 1.0f;
    case D4R_QUALITY_ULTRA_QUALITY:
        return 1.3f;
    case D4R_QUALITY_QUALITY:
        return 1.5f;
    case D4R_QUALITY_BALANCED:
        return 1.7f;
    case D4R_QUALITY_PERFORMANCE:
        return 2.0f;
    case D4R_QUALITY_ULTRA_PERFORMANCE:
        return 3.0f;
    }
    return 0.0f;
}

static uint32_t render_dimension(uint32_t output, double ratio)
{
    uint32_t size = (uint32_t)(output / ratio + 0.5);
    if (size < D4R_MIN_DIMENSION) size = D4R_MIN_DIMENSION;
    return size < output ? size : output;
}

/* The ratio as a decimal fraction: 1.3f is not 1.3, which matters where output / ratio ends in .5. */
static double exact_ratio(d4r_quality quality)
{
    return round(d4r_quality_ratio(quality) * 10.0) / 10.0;
}

d4r_size d4r_render_size(d4r_size output, d4r_quality quality)
{
    double ratio = exact_ratio(quality);
    if (ratio <= 0) return output;
    return (d4r_size){render_dimension(output.width, ratio), render_dimension(output.height, ratio)};
}

uint32_t d4r_jitter_phase_count(d4r_size render, d4r_size output)
{
    uint64_t area = (uint64_t)render.width * render.height;
    uint64_t phases;
    if (area == 0) return 8;
    phases = (8 * (uint64_t)output.width * output.height + area - 1) / area;
    if (phases < 8) return 8;
    return phases < UINT32_MAX ? (uint32_t)phases : UINT32_MAX;
}

static float halton(uint64_t index, uint32_t base)
{
    double value = 0, digit = 1;
    for (; index > 0; index /= base) {
        digit /= base;
        value += digit * (double)(index % base);
    }
    /* In (0, 1) as a double; the float must stay inside (-0.5, 0.5) too. */
    return fmaxf(fminf((float)(value - 0.5), 0.49999997f), -0.49999997f);
}

d4r_vec2 d4r_jitter(uint64_t frame, uint32_t phases)
{
    uint64_t index;
    if (phases == 0) return (d4r_vec2){0, 0};
    index = frame % phases + 1;
    return (d4r_vec2){halton(index, 2), halton(index, 3)};
}

float d4r_mip_bias(d4r_size render, d4r_size output)
{
    if (render.width == 0 || output.width == 0) return 0;
    return (float)fmin(log2((double)render.width / output.width), 0.0);
}

size_t d4r_pixel_format_bytes(d4r_pixel_format format)
{
    switch (format) {
    case D4R_FORMAT_NONE:
        return 0;
    case D4R_FORMAT_RGBA16F:
        return 8;
    case D4R_FORMAT_RGBA32F:
        return 16;
    case D4R_FORMAT_RG16F:
        return 4;
    case D4R_FORMAT_RG32F:
        return 8;
    case D4R_FORMAT_R32F:
        return 4;
    case D4R_FORMAT_RGB10A2:
        return 4;
    }
    return 0;
}
