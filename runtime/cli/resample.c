#include "runtime/cli/resample.h"

#include <math.h>
#include <stdlib.h>

#define TAPS 4

/* Where an output column (or row) reads: first source index and weights; indices are clamped by the reader. */
typedef struct tap_set {
    int32_t first;
    float weight[TAPS];
} tap_set;

static void weights_of(cli_filter filter, double position, tap_set *taps)
{
    double base = floor(position), t = position - base;
    *taps = (tap_set){(int32_t)base - 1, {0, 0, 0, 0}};
    if (filter == CLI_NEAREST) {
        taps->weight[t < 0.5 ? 1 : 2] = 1;
    } else if (filter == CLI_BILINEAR) {
        taps->weight[1] = (float)(1 - t);
        taps->weight[2] = (float)t;
    } else {
        taps->weight[0] = (float)(t * (-0.5 + t * (1 - 0.5 * t)));
        taps->weight[1] = (float)(1 + t * t * (-2.5 + 1.5 * t));
        taps->weight[2] = (float)(t * (0.5 + t * (2 - 1.5 * t)));
        taps->weight[3] = (float)(t * t * (-0.5 + 0.5 * t));
    }
}

static tap_set *make_taps(cli_filter filter, uint32_t source, uint32_t target, double jitter)
{
    tap_set *taps = malloc(target * sizeof *taps);
    for (uint32_t i = 0; taps && i < target; i++)
        weights_of(filter, (i + 0.5) * source / target - 0.5 - jitter, &taps[i]);
    return taps;
}

static uint32_t clamp_index(int32_t index, uint32_t size)
{
    return index < 0 ? 0 : (uint32_t)index < size ? (uint32_t)index : size - 1;
}

static void filter_pixel(const cli_image *color, const tap_set *horizontal, const tap_set *vertical,
                         float *out)
{
    for (int c = 0; c < 4; c++) out[c] = 0;
    for (int j = 0; j < TAPS; j++) {
        if (vertical->weight[j] == 0) continue;
        uint32_t y = clamp_index(vertical->first + j, color->size.height);
        for (int i = 0; i < TAPS; i++) {
            float weight = vertical->weight[j] * horizontal->weight[i];
            if (weight == 0) continue;
            uint32_t x = clamp_index(horizontal->first + i, color->size.width);
            for (uint32_t c = 0; c < 4; c++) out[c] += weight * cli_image_get(color, x, y, c);
        }
    }
}

d4r_status cli_upscale(const cli_image *color, d4r_vec2 jitter, cli_filter filter, d4r_size output,
                       const d4r_log *log, cli_image *result)
{
    d4r_status status = cli_image_create(result, output, 4, false, log);
    if (status != D4R_OK) return status;
    tap_set *horizontal = make_taps(filter, color->size.width, output.width, (double)jitter.x);
    tap_set *vertical = make_taps(filter, color->size.height, output.height, (double)jitter.y);
    if (horizontal && vertical) {
        for (uint32_t y = 0; y < output.height; y++)
            for (uint32_t x = 0; x < output.width; x++)
                filter_pixel(color, &horizontal[x], &vertical[y],
                             (float *)result->data + 4 * ((size_t)y * output.width + x));
    } else {
        status = d4r_fail(log, D4R_ERROR_MEMORY, "no memory to upscale");
        cli_image_free(result);
    }
    free(horizontal);
    free(vertical);
    return status;
}
