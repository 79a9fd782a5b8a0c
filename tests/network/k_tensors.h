/* Preset K's network as logical tensors in natural order, for tests: random values, the packed image, safetensors. */
#ifndef D4R_TESTS_NETWORK_K_TENSORS_H
#define D4R_TESTS_NETWORK_K_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hip_kernels/k_layers.h"

typedef struct k_linear {
    int out, in;
    uint16_t *weight; /* [out][in] f16 */
    float *bias;      /* [out], or NULL */
} k_linear;

typedef struct k_layer_tensors {
    int channels;
    k_linear qkv, proj, mlp1, mlp2;
    float *qv_bias;   /* [2 * channels] */
    float *rel_bias;  /* [channels / 32][225] */
    k_linear between; /* merge or expand; out 0: none (enc0) */
} k_layer_tensors;

typedef struct k_tensors {
    k_layer_tensors layers[D4R_K_LAYER_COUNT];
    k_linear head;
} k_tensors;

/* As network_tensors_random: products of unit-variance inputs have unit variance, or half of it in the residual branches;
 * `gain` scales all weights. */
k_tensors *k_tensors_random(uint64_t seed, double gain);
void k_tensors_free(k_tensors *tensors);
/* Writes D4R_K_NET_BYTES. Written apart from the library's packer on purpose. */
void k_tensors_pack(const k_tensors *tensors, uint8_t *packed);
/* F16 weights and F32 biases with the names of k_layout.h; false on a file error. */
bool k_tensors_write_safetensors(const k_tensors *tensors, const char *path);
/* [count] f16, about N(0, spread). */
void k_random_tokens(uint64_t seed, double spread, uint16_t *values, size_t count);

#endif
