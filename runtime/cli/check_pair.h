/* Inside the check of conventions: two consecutive frames, and warping the one to the other. */
#ifndef D4R_RUNTIME_CLI_CHECK_PAIR_H
#define D4R_RUNTIME_CLI_CHECK_PAIR_H

#include "runtime/cli/check.h"

typedef struct check_pair {
    d4r_size size;
    float *current, *previous; /* display luma; NaN where the colour is not finite */
    cli_image motion, depth;   /* of the current frame */
    d4r_vec2 jitter, jitter_previous, scale;
} check_pair;

typedef struct check_hypothesis {
    double sx, sy; /* signs of the vectors, 0 for no warping */
    d4r_motion_unit unit;
    bool jittered;
    double jx, jy; /* signs of the jitter */
} check_hypothesis;

/* What a hypothesis makes of one pair's vectors: previous = current + factor * vector + shift. */
typedef struct check_warp {
    double factor[2], shift[2];
} check_warp;

check_warp check_warp_of(const cli_sequence *sequence, const check_pair *p, const check_hypothesis *h);
/* The place in the previous frame of a pixel; false outside, or where the vector is not finite. */
bool check_place(const cli_sequence *sequence, const check_pair *p, const check_warp *warp, uint32_t x,
                 uint32_t y, double place[2]);
/* Luma of the previous frame there, bilinear. */
double check_sample(const check_pair *p, const double place[2]);

/* Fills the fields depth_... of the check. */
d4r_status check_depth(const cli_sequence *sequence, const check_pair *pairs, const check_hypothesis *h,
                       const d4r_log *log, cli_check *check);

#endif
