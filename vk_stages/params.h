/* One frame's parameters and the binding numbers, read by the host (C) and by every stage (GLSL).
 * The members are ordered so that std140 and C agree: pairs on 8 bytes, scalars after them. */
#ifndef D4R_VK_STAGES_PARAMS_H
#define D4R_VK_STAGES_PARAMS_H

#ifdef __STDC_VERSION__
#include <stdint.h>
typedef struct d4r_gpu_vec2 {
    float x, y;
} d4r_gpu_vec2;
typedef struct d4r_gpu_ivec2 {
    int32_t x, y;
} d4r_gpu_ivec2;
#define D4R_UINT uint32_t
#else
#define d4r_gpu_vec2 vec2
#define d4r_gpu_ivec2 ivec2
#define D4R_UINT uint
#endif

struct d4r_m_params {
    d4r_gpu_ivec2 render;          /* render rectangle */
    d4r_gpu_ivec2 previous_render; /* the previous frame's */
    d4r_gpu_ivec2 output_size;     /* output rectangle */
    d4r_gpu_ivec2 reconstruction;  /* ceil(1.5 * output) */
    d4r_gpu_ivec2 half_size;       /* ceil(reconstruction / 2) */
    d4r_gpu_ivec2 grid;            /* tokens */
    d4r_gpu_ivec2 partial_grid;    /* work groups of the exposure sum */
    d4r_gpu_ivec2 color_origin;
    d4r_gpu_ivec2 depth_origin;
    d4r_gpu_ivec2 motion_origin;
    d4r_gpu_ivec2 exposure_origin;
    d4r_gpu_ivec2 output_origin;
    d4r_gpu_vec2 jitter;             /* render pixels: sample of pixel x at x + 0.5 + jitter */
    d4r_gpu_vec2 previous_jitter;    /* in the previous frame's render pixels */
    d4r_gpu_vec2 jitter_change;      /* jitter in the previous frame's render pixels, minus previous_jitter */
    d4r_gpu_vec2 to_render;          /* render pixels per reconstruction pixel: render / (1.5 * output) */
    d4r_gpu_vec2 to_reconstruction;  /* its inverse */
    d4r_gpu_vec2 previous_to_render; /* to_render of the previous frame */
    d4r_gpu_vec2 render_change; /* previous_to_render / to_render: 1 unless the render size has changed */
    d4r_gpu_vec2 motion_factor; /* stored vector -> reconstruction pixels, previous = current + motion */
    d4r_gpu_vec2 motion_offset; /* added after the factor: jitter contained in the vectors */
    d4r_gpu_vec2 inverse_render_extent; /* 1 / size of the render-sized images, which may exceed `render` */
    d4r_gpu_vec2 inverse_reconstruction;
    d4r_gpu_vec2 inverse_half;
    float inverse_pre_exposure;
    float pre_exposure;
    float exposure;         /* of D4R_EXPOSURE_SCALAR */
    float change_scale;     /* 9.045 * 540 / render height */
    D4R_UINT exposure_mode; /* d4r_exposure_mode or D4R_EXPOSURE_KEPT; LDR: scalar 1 */
    D4R_UINT frame;
    D4R_UINT reset;
    D4R_UINT flags; /* D4R_FLAG_* */
};

#define D4R_FLAG_DEPTH_REGULAR 1u
#define D4R_FLAG_MOTION_AT_OUTPUT 2u
#define D4R_EXPOSURE_KEPT 3u /* as in the frame before */

/* Set 0: the stages' own resources; one set a frame parity. Sampled images precede storage images. */
#define D4R_BIND_PARAMS 0
#define D4R_BIND_WEIGHTS 1
#define D4R_BIND_PARTIALS 2
#define D4R_BIND_EXPOSURE 3
#define D4R_BIND_TOKENS 4
#define D4R_BIND_HEAD 5
#define D4R_BIND_PACKED 6
#define D4R_BIND_MV_A_PREVIOUS 7
#define D4R_BIND_MV_A 8
#define D4R_BIND_MV_B 9
#define D4R_BIND_MV_C 10
#define D4R_BIND_RECURRENT_PREVIOUS 11
#define D4R_BIND_GATES 12
#define D4R_BIND_MIX 13
#define D4R_BIND_COVARIANCE 14
#define D4R_BIND_HISTORY_PREVIOUS 15
#define D4R_BIND_HALF 16
#define D4R_BIND_MV_A_OUT 17
#define D4R_BIND_MV_B_OUT 18
#define D4R_BIND_MV_C_OUT 19
#define D4R_BIND_RECURRENT_OUT 20
#define D4R_BIND_GATES_OUT 21
#define D4R_BIND_MIX_OUT 22
#define D4R_BIND_COVARIANCE_OUT 23
#define D4R_BIND_HISTORY_OUT 24
#define D4R_BIND_HALF_OUT 25
#define D4R_BIND_COUNT 26
/* Set 1: the caller's inputs. */
#define D4R_BIND_COLOR 0
#define D4R_BIND_DEPTH 1
#define D4R_BIND_MOTION 2
#define D4R_BIND_EXPOSURE_IMAGE 3
#define D4R_INPUT_COUNT 4
/* Set 2: the output, binding 0. */

/* Specialisation constants. */
#define D4R_SPEC_EXACT_FILTER 0
#define D4R_SPEC_LDR 1
#define D4R_SPEC_TILE 2
#define D4R_SPEC_OUTPUT 3 /* D4R_OUTPUT_* */
#define D4R_SPEC_FILTER_BITS 4 /* set by tests alone */

#define D4R_OUTPUT_SWAP 1u        /* blue in red's place */
#define D4R_OUTPUT_ENCODE_SRGB 2u /* linear values are stored sRGB-encoded */

/* Work groups. */
#define D4R_EXPOSURE_BLOCK 32 /* render pixels a side of a work group of the exposure sum */
#define D4R_TOKEN_GROUP 8     /* tokens a side: input, expansion */
#define D4R_PIXEL_GROUP 16    /* pixels a side: reconstruction, downsample */

/* The weight buffer in vec4: embedding [4 q][20 slots][16], its bias [16]; expansion [4 q][64 channels][5]
 * (17 values and three zeros), its bias [4 q][5]. */
#define D4R_WEIGHT_EMBED 0
#define D4R_WEIGHT_EMBED_BIAS 1280
#define D4R_WEIGHT_EXPANSION 1296
#define D4R_WEIGHT_EXPANSION_BIAS 2576
#define D4R_WEIGHT_VEC4 2596

#endif
