/* What the validation passes of the host (C) and the shaders (GLSL) share: parameters, bindings, statistics. */
#ifndef D4R_VK_STAGES_VALIDATE_PARAMS_H
#define D4R_VK_STAGES_VALIDATE_PARAMS_H

#ifdef __STDC_VERSION__
#include <stdint.h>
typedef struct d4r_gpu_vec4 {
    float x, y, z, w;
} d4r_gpu_vec4;
#define D4R_V_UINT uint32_t
#else
#define d4r_gpu_vec4 vec4
#define D4R_V_UINT uint
#endif

/* Ways to read the vectors: xy are the factors from the stored vector to render pixels, previous = current + motion.
 * Entry 0 is what was declared. */
#define D4R_V_HYPOTHESES 24

struct d4r_v_params {
    d4r_gpu_vec4 hypotheses[D4R_V_HYPOTHESES];
    d4r_gpu_vec4 shift; /* xy: jitter - previous jitter; zw: the vectors' own offset (motion_jittered) */
    D4R_V_UINT hypothesis_count;
    D4R_V_UINT has_previous;   /* the analysis image of the frame before is of the same size and sequence */
    D4R_V_UINT slot;           /* of the ring */
    D4R_V_UINT sequence;       /* written into the slot */
    D4R_V_UINT step;           /* every step-th pixel is looked at, per axis */
    D4R_V_UINT groups;         /* work groups a slice */
    D4R_V_UINT reading_groups; /* ... of the readings, which look at fewer pixels */
    D4R_V_UINT phase;          /* which of the step * step pixels */
};

/* Set 0. The stages' own numbers for the first two, so that the stages' includes can be used. */
#define D4R_V_BIND_PARAMS 0   /* d4r_m_params */
#define D4R_V_BIND_OWN 1      /* d4r_v_params */
#define D4R_V_BIND_EXPOSURE 3 /* exposure state */
#define D4R_V_BIND_OUT 4      /* analysis image, storage */
#define D4R_V_BIND_NOW 5      /* analysis image, read */
#define D4R_V_BIND_PREVIOUS 6 /* the frame before */
#define D4R_V_BIND_PARTIALS 7
#define D4R_V_BIND_LINES 8 /* changed pixels a row, then a column */
#define D4R_V_BIND_RING 9

/* Slices of the statistics: 8 numbers each, sums but for the last, a maximum. After the hypotheses' come these. */
#define D4R_V_SLICE_SHIFT D4R_V_HYPOTHESES /* gradients and differences: the residual shift */
#define D4R_V_SLICE_MATCH (D4R_V_HYPOTHESES + 1)
#define D4R_V_SLICE_COLOR (D4R_V_HYPOTHESES + 2)
#define D4R_V_SLICE_DEPTH (D4R_V_HYPOTHESES + 3)
#define D4R_V_SLICE_BAD (D4R_V_HYPOTHESES + 4)
#define D4R_V_SLICES (D4R_V_HYPOTHESES + 5)
/* One more slice of a slot holds the lines: first and last row, first and last column that changed, changed pixels
 * in these four; and then a header: sequence, exposure, mean luma, fraction of pixels that changed. */
#define D4R_V_SLICE_LINES D4R_V_SLICES
#define D4R_V_SLICE_HEADER (D4R_V_SLICES + 1)
#define D4R_V_SLOT_SLICES (D4R_V_SLICES + 2)
#define D4R_V_RING 64

#define D4R_V_GROUP 16
#define D4R_V_BLUR 6 /* radius of the blur, sigma 2 */

#endif
