/* Preset K's stages in double precision, written from docs/stages_k.md: they share nothing with the shaders. As in ref.h, each
 * stage takes what the one before delivered on the GPU, results are unrounded but for the motion surface, and `slack` says by how
 * much the sampler's fraction bits may change a result. A frame's sizes: reconstruction = output, half = sub-blocks. */
#ifndef D4R_TESTS_STAGES_K_REF_H
#define D4R_TESTS_STAGES_K_REF_H

#include "tests/stages/ref.h"

enum { K_REF_FEATURES = 32, K_REF_HEAD = 40, K_REF_TABLES = 16, K_REF_TABLE_VALUES = 64 * 16 * 16 };

void k_ref_sizes(ref_frame *f, d4r_size render, d4r_size output);
/* f16 value; not finite: 0. */
double k_ref_head_value(uint16_t bits);
double k_ref_expand(double compressed);
/* The number of the frame's table. */
int k_ref_table(const ref_frame *f);
/* Where the centre of an output pixel lies in the render image, with its fixed roundings; p: the centre. */
float k_ref_render_position(float p, uint32_t render, uint32_t output, float jitter);
/* What was read from the history in this frame's exposure: colour, confidence. */
void k_ref_exposed(const double read[4], double ratio, double out[4]);

typedef struct k_ref_before {
    ref_image history;      /* [4] */
    ref_image recurrent[2]; /* [4] each */
    double exposure, previous_exposure;
} k_ref_before;

/* motion: [sub-blocks][2]; tokens, slack: [grid][32]. */
void k_ref_input(const ref_frame *f, const ref_image *color, const k_ref_before *before, ref_image *motion,
                 ref_image *tokens, ref_image *slack);

typedef struct k_ref_result {
    ref_image recurrent[2];           /* [4] each */
    ref_image history, history_slack; /* [4] */
    ref_image output, output_slack;   /* [4] */
} k_ref_result;

/* head: [grid][40] f16; tables: lut.bin; unorm: the output's range is [0, 1]. */
void k_ref_reconstruction(const ref_frame *f, const ref_image *color, const k_ref_before *before,
                          const ref_image *motion, const uint16_t *head, const uint16_t *tables, bool unorm,
                          k_ref_result *out);

#endif
