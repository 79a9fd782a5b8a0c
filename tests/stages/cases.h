/* The tests that every preset's stages pass: the preset's test program defines what it is asked for here. */
#ifndef D4R_TESTS_STAGES_CASES_H
#define D4R_TESTS_STAGES_CASES_H

#include "tests/stages/content.h"

/* ---- from the test program */

extern vk_test device;
extern const char
    *const case_histories[]; /* names of f16 images that a frame leaves for the next; the last is NULL */
/* Render and output of this size, RGBA16F, everything else zero. */
rig_params hdr(uint32_t width, uint32_t height);
rig *create_rig(const rig_params *params);
/* hardware: the frames were filtered by the sampler. */
void assert_good(const char *name, const rig_result *result, bool hardware);

/* ---- for it */

typedef void (*edit_fn)(content *c, const rig_params *params, int frame);
rig_result run_frames(const rig_params *params, d4r_size render, int frames, edit_fn edit);
void check(const char *name, const rig_params *params, d4r_size render, int frames, edit_fn edit);
/* The render size changes under one set of images of 160x150: histories go on. */
void check_render_sizes(const d4r_size *sizes, int count);

void test_jitter(void **state);
void test_ldr_and_formats(void **state);
void test_conventions(void **state);
void test_bad_input(void **state);
void test_one_nan_does_not_spread(void **state);
void test_bad_history(void **state);
void test_hardware_filter(void **state);
void test_coarse_filter(void **state);

#endif
