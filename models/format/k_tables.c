#include "models/format/k_tables.h"

#include <math.h>
#include <string.h>

#include "models/format/fp8.h"
#include "models/format/k_pack.h"
#include "runtime/base/log.h"

#define LEAST_SUM 0x1p-14f /* the least normal f16: a sum is as exact as f16 is */
#define SCALED_SUM (1.0 / 16000)

static void fill_shape(const d4r_k_gaussian *g, double ratio, int phase, uint8_t *to)
{
    double w[D4R_K_TAPS], sum = 0;
    for (int i = 0; i < D4R_K_TAPS; i++) {
        const double dx = i % 4 - 1 - (phase % 8 + 0.5) / 8, dy = i / 4 - 1 - (phase / 8 + 0.5) / 8;
        w[i] = exp(-(g->a * dx * dx + g->b * dy * dy + 2 * g->c * dx * dy) / 2 * ratio / 2);
        sum += w[i];
    }
    for (int i = 0; i < D4R_K_TAPS; i++) {
        const uint16_t half = d4r_k_half_of((float)(sum < SCALED_SUM ? w[i] * SCALED_SUM / sum : w[i]));
        memcpy(to + 2 * i, &half, sizeof half);
    }
}

void d4r_k_tables_fill(const d4r_k_gaussian shapes[D4R_K_SHAPES], uint8_t *tables)
{
    for (int table = 0; table < D4R_K_TABLES; table++)
        for (int phase = 0; phase < D4R_K_TABLE_PHASES; phase++)
            for (int shape = 0; shape < D4R_K_SHAPES; shape++, tables += 2 * D4R_K_TAPS)
                fill_shape(&shapes[shape], 0.5 + table * 3.0 / 28, phase, tables);
}

/* NULL, or what is wrong with a shape's weights. */
static const char *problem_of(const uint8_t *weights)
{
    float sum = 0;
    for (int i = 0; i < D4R_K_TAPS; i++) {
        uint16_t half;
        memcpy(&half, weights + 2 * i, sizeof half);
        const float value = d4r_half_to_float(half);
        if (!isfinite(value)) return "a weight is not a finite number";
        if (value < 0) return "a weight is negative";
        sum += value;
    }
    return sum < LEAST_SUM ? "its weights sum to less than 1/16384" : NULL;
}

d4r_status d4r_k_tables_check(const char *path, const uint8_t *tables, const d4r_log *log)
{
    const int shapes = D4R_K_TABLES * D4R_K_TABLE_PHASES * D4R_K_SHAPES;
    for (int i = 0; i < shapes; i++) {
        const char *problem = problem_of(tables + (size_t)i * 2 * D4R_K_TAPS);
        if (problem)
            return d4r_fail(log, D4R_ERROR_MODEL, "%s: table %d, phase %d, shape %d: %s", path,
                            i / (D4R_K_TABLE_PHASES * D4R_K_SHAPES), i / D4R_K_SHAPES % D4R_K_TABLE_PHASES,
                            i % D4R_K_SHAPES, problem);
    }
    return D4R_OK;
}
