/* Neutral models: no weights, only the biases that the reconstruction's parameters come from. The network passes zeros
 * through, every pixel gets the same parameters, and the pipeline is a plain temporal upscaler. */
#ifndef D4R_MODELS_FORMAT_NEUTRAL_H
#define D4R_MODELS_FORMAT_NEUTRAL_H

#include "models/format/k_pack.h"
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"

typedef struct d4r_m_neutral {
    float sigma;  /* Gaussian's standard deviation, render pixels; > 1/8 */
    float weight; /* gate g.x: current-frame weight = 2.753 * (sum of Gaussian weights) * g.x; (0, 1) */
    float history_floor; /* gate g.y: least weight of the current frame in the history; (0, 1) */
    float output_floor;  /* gate g.z: least weight of the current frame in the output; (0, 1) */
    float candidate;     /* share of motion candidate A (nearest depth); C and B share the rest; (0, 1) */
    float recurrent;     /* gate of the recurrent feature; (0, 1) */
} d4r_m_neutral;

d4r_m_neutral d4r_m_neutral_default(void);

/* Fills zeroed weights. *params becomes what the model really does after rounding to FP8. D4R_ERROR_ARGUMENT
 * with the field's name in the log when a value is out of range. */
d4r_status d4r_m_neutral_fill(d4r_m_neutral *params, const d4r_log *log, d4r_m_weights *weights);

/* Preset K's; docs/stages_k.md says what the values do. */
typedef struct d4r_k_neutral {
    float column, row; /* kernel shape, 0 .. 3 each: columns of growing precision, row 1 is round; (0, 3) */
    float gain;        /* weight of the current frame; (0, 4) */
    float keep;        /* share of the history's confidence that survives a frame; (0, 1) */
    float show;        /* extra share of the current frame in what is shown; (0, 1) */
    float own;         /* share of the pixel's own motion against the nearest surface's; (0, 1) */
    float clip;        /* how far the history is moved into the box; (0, 1) */
    float box;         /* half the box's size in standard deviations; (0, 4) */
} d4r_k_neutral;

d4r_k_neutral d4r_k_neutral_default(void);

/* Fills zeroed weights and D4R_K_TABLES_BYTES of tables. D4R_ERROR_ARGUMENT with the field's name in the log when a value
 * is out of range. */
d4r_status d4r_k_neutral_fill(const d4r_k_neutral *params, const d4r_log *log, d4r_k_weights *weights,
                              uint8_t *tables);

#endif
