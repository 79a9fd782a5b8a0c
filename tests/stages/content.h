/* Input for the stage tests. */
#ifndef D4R_TESTS_STAGES_CONTENT_H
#define D4R_TESTS_STAGES_CONTENT_H

#include "tests/stages/rig.h"

typedef struct content {
    rig_input input;
    float *color, *depth, *motion;
} content;

/* A moving pattern of edges, noise, highlights and a few vectors that leave the screen. */
content content_random(const rig_params *params, d4r_size render, int frame);
/* NaN and infinities in colour, alpha, depth and motion. */
void content_damage(content *c, const rig_params *params, uint64_t seed);
void content_free(content *c);

#endif
