/* A model made in memory: the neutral one with seeded random weights in the network and small ones around it, so that
 * every byte of the output depends on every part of the pipeline. */
#ifndef D4R_TESTS_ENGINE_TEST_MODEL_H
#define D4R_TESTS_ENGINE_TEST_MODEL_H

#include "models/format/k_pack.h"
#include "models/format/model.h"

#define TEST_NEUTRAL 0 /* a seed: the neutral model as it is */

/* NULL when memory is exhausted. */
d4r_model *test_model_create_of(d4r_preset preset, uint32_t seed);
/* The preset that a test program runs: K with D4R_TEST_PRESET=K, else M. Programs are registered once for each. */
d4r_preset test_preset(void);
d4r_model *test_model_create(uint32_t seed); /* of test_preset */
void test_model_destroy(d4r_model *model);

/* Preset K's: random weights, the neutral model's tables (D4R_K_TABLES_BYTES). */
bool test_k_weights_fill(d4r_k_weights *weights, uint8_t *tables, uint32_t seed);

/* The test's random numbers: reproducible, [0, 1). */
float test_random(uint32_t *state);

#endif
