/* Frames for tests: a moving pattern with depth and motion, seeded noise on top, in host memory. */
#ifndef D4R_TESTS_ENGINE_CONTENT_H
#define D4R_TESTS_ENGINE_CONTENT_H

#include "d4r/d4r.h"

typedef struct test_content {
    d4r_size render;
    float *color;  /* RGBA */
    float *motion; /* RG, render pixels */
    float *depth;
} test_content;

bool test_content_create(test_content *content, d4r_size render, uint32_t frame, uint32_t seed);
void test_content_destroy(test_content *content);
/* Planes and default settings of this content, with the jitter of frame `frame`. */
d4r_upscaler_frame test_content_frame(const test_content *content, uint32_t frame);

#endif
