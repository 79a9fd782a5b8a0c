/* Preset M's network as logical tensors in natural order, for tests: random values, the packed image,
 * safetensors. */
#ifndef D4R_TESTS_NETWORK_NETWORK_TENSORS_H
#define D4R_TESTS_NETWORK_NETWORK_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "models/format/m_layout.h"

typedef struct linear_tensors {
    int out, in;
    uint8_t *weight; /* [out][in] FP8 codes */
    float *bias;     /* [out] */
} linear_tensors;

typedef struct block_tensors {
    int channels;
    linear_tensors qkv, proj, mlp1, mlp2;
    float *rel_bias; /* [channels / 32][49] */
} block_tensors;

enum { BLOCK_ENC1, BLOCK_ENC2, BLOCK_MID0, BLOCK_DEC2 = BLOCK_MID0 + 6, BLOCK_DEC1, BLOCK_COUNT };
enum { LINEAR_MERGE1, LINEAR_MERGE2, LINEAR_EXPAND2, LINEAR_EXPAND1, LINEAR_COUNT };

typedef struct network_tensors {
    block_tensors blocks[BLOCK_COUNT];
    linear_tensors linears[LINEAR_COUNT];
} network_tensors;

/* Random weights whose activations keep sane sizes: products of unit-variance inputs have unit variance
 * (attention, hidden layer) or half (residual branches). `gain` scales all weights (1: sane). Aborts the test
 * on lack of memory. */
network_tensors *network_tensors_random(uint64_t seed, double gain);
void network_tensors_free(network_tensors *tensors);

/* Writes hipnet.bin's layout (D4R_M_NET_BYTES). Written apart from the library's packer on purpose. */
void network_tensors_pack(const network_tensors *tensors, uint8_t *packed);
/* Writes F8_E4M3 weights and F32 biases with the names of m_layout.h; false on a file error. */
bool network_tensors_write_safetensors(const network_tensors *tensors, const char *path);

/* Tokens with a spread like the embedding's: about N(0, spread), clamped to +-2 pi; [count] codes. */
void network_random_tokens(uint64_t seed, double spread, uint8_t *codes, size_t count);

/* Uniform in [0, 1) and standard normal; splitmix64. */
double network_random_uniform(uint64_t *state);
double network_random_normal(uint64_t *state);

#endif
