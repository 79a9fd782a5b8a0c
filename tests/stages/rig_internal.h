/* What the rig's files share. */
#ifndef D4R_TESTS_STAGES_RIG_INTERNAL_H
#define D4R_TESTS_STAGES_RIG_INTERNAL_H

#include "tests/stages/rig.h"

struct rig {
    vk_test *t;
    rig_params params;
    const rig_preset *preset;
    uint8_t *model; /* the preset's weights or tables */
    d4r_stages *stages;
    d4r_vk_image color, depth, motion, exposure, output;
    d4r_vk_buffer tokens, head;
    d4r_frame_images images;
    d4r_stage_frame frame; /* next or current one */
    ref_frame reference;
    float *stored_color, *stored_motion; /* as rounded to the formats */
    void *head_values;
    uint64_t random;
    bool first;
    d4r_vec2 last_jitter;
    d4r_size last_render;
    double last_exposure, last_count;
    /* histories as the GPU holds them, read after the previous frame */
    ref_image mv_a, recurrent, recurrent_high, history, half;
    void *output_pixels;
};

void rig_require(bool ok, const char *what);
/* An image resource as values. */
ref_image rig_read_surface(rig *r, const char *name);
void rig_drop_histories(rig *r);

/* From here on pipelines are made with params.filter_bits, until the end. */
void rig_filter_begin(rig *r);
void rig_filter_end(rig *r);

double rig_half_ulp(double v);
void rig_lower(double *worst, double share);
/* Share of values of `got` within 2 ulp of f16, 2e-6 and the slack of `want`. */
double rig_half_share(const ref_image *got, const ref_image *want, const ref_image *slack);
double rig_identical(const ref_image *got, const ref_image *want);
bool rig_all_finite(const ref_image *image);
/* Relative error; the frame's exposure. kept: of the frame before, nothing was measured. */
double rig_check_exposure(rig *r, bool kept, double *now);
/* Share of the output within one code of RGB10A2, or 2 ulp or 2e-6 of f16, and the slack. */
double rig_output_share(rig *r, const ref_image *want, const ref_image *slack, bool *finite);

#endif
