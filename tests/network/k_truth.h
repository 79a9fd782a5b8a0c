/* Preset K's network in double precision, as docs/preset_k.md defines it: independent of the kernels' text. */
#ifndef D4R_TESTS_NETWORK_K_TRUTH_H
#define D4R_TESTS_NETWORK_K_TRUTH_H

#include "tests/network/k_tensors.h"

/* One layer in a phase on a token grid of columns x rows (level 0). `input`, `skip`, `output`: f16, [rows][columns]
 * [channels] of their levels. */
void k_truth_layer(const k_tensors *tensors, d4r_k_layer layer, uint32_t columns, uint32_t rows,
                   uint32_t phase, const uint16_t *input, const uint16_t *skip, uint16_t *output);

#endif
