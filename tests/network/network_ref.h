/* The truth: preset M's network in double precision, plain loops, FP8 rounding at the points of
 * docs/network.md. */
#ifndef D4R_TESTS_NETWORK_NETWORK_REF_H
#define D4R_TESTS_NETWORK_NETWORK_REF_H

#include "hip_kernels/m_layers.h"
#include "tests/network/network_tensors.h"

/* One layer (a block with what is fused into it) on the token grid columns x rows (level 0): codes in, codes
 * out. `skip` is NULL for layers without one. */
void network_ref_layer(const network_tensors *tensors, d4r_m_layer layer, uint32_t columns, uint32_t rows,
                       const uint8_t *input, const uint8_t *skip, uint8_t *output);

#endif
