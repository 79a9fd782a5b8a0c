/* Finds out by warping whether a sequence's conventions fit its frames: the previous frame, moved by the
 * vectors and the jitter, must look like the current one. Needs no reference. */
#ifndef D4R_RUNTIME_CLI_CHECK_H
#define D4R_RUNTIME_CLI_CHECK_H

#include <cjson/cJSON.h>
#include "runtime/cli/sequence.h"

/* PSNR in dB of the warped previous frame (luma of c/(1+c)) for every hypothesis. Signs are relative to the
 * declared conventions: index bit 0 = x negated, bit 1 = y negated. */
typedef struct cli_check {
    size_t pairs;       /* frame pairs that were compared */
    size_t left_out;    /* pairs that cannot be compared: a cut, or another render size */
    double motion_size; /* mean length of the vectors as declared, render pixels */
    double jitter_size; /* mean length of the jitter differences, render pixels */
    double unwarped;    /* vectors ignored */
    double motion[4];   /* signs of the vectors, with the best unit */
    double unit[4];     /* by d4r_motion_unit, with the declared signs */
    double jitter[4];   /* signs of the jitter, with the best vectors */
    double jittered[2]; /* vectors without / with jitter in them */
    int best_motion, best_unit, best_jitter, best_jittered;
    bool motion_x_known, motion_y_known, unit_known, jitter_x_known, jitter_y_known, jittered_known;
    /* Places of the previous frame that two surfaces of the current frame come from: PSNR of the surface that is nearer by
     * the declared depth, and of the other. The nearer one hid the other, so it must be the one that fits. */
    size_t depth_places;
    double depth_nearer, depth_farther;
    size_t depth_fits[2]; /* places where only the nearer fits, and only the farther */
    bool depth_known, depth_wrong;
    size_t bad_color, bad_motion, bad_depth; /* non-finite pixels seen */
    float depth_low, depth_high, color_high;
} cli_check;

/* Reads every plane and reference of every frame: each must be there and of its size. */
d4r_status cli_check_planes(const cli_sequence *sequence, const d4r_log *log);
d4r_status cli_check_run(const cli_sequence *sequence, const d4r_log *log, cli_check *check);
/* Logs what fits and a warning for each declared convention that does not; returns the number of those. */
unsigned cli_check_report(const cli_sequence *sequence, const cli_check *check, const d4r_log *log);
cJSON *cli_check_json(const cli_check *check);

#endif
