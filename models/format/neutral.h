/* The neutral model: no weights, only the expansion's bias. The network passes zeros through, every render
 * pixel gets the same reconstruction parameters, and the pipeline is a plain temporal upscaler. */
#ifndef D4R_MODELS_FORMAT_NEUTRAL_H
#define D4R_MODELS_FORMAT_NEUTRAL_H

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

#endif
