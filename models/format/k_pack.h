/* Preset K's logical tensors, and from a safetensors file to the packed network (k_layout.h). */
#ifndef D4R_MODELS_FORMAT_K_PACK_H
#define D4R_MODELS_FORMAT_K_PACK_H

#include "models/format/k_layout.h"
#include "models/format/safetensors.h"

#define D4R_K_LAYERS 11
#define D4R_K_LAYER_TENSORS 9 /* fewer in enc0, which has no merge or expand */
#define D4R_K_TENSOR_COUNT (D4R_K_LAYERS * D4R_K_LAYER_TENSORS) /* enc0's two are the head's */
#define D4R_K_BIAS_LIMIT 65504.0f

typedef struct d4r_k_tensor {
    char name[32];
    bool weight;         /* f16 in canonical form; everything else f32 */
    uint32_t rows, cols; /* cols 0: a vector */
} d4r_k_tensor;

/* Layer by layer in the order of evaluation: qkv.weight, qv.bias, rel_bias, proj.weight, mlp1.weight, mlp1.bias, mlp2.weight,
 * and the merge's or expand's weight and bias, in enc0 the head's. `index` < D4R_K_TENSOR_COUNT. */
d4r_k_tensor d4r_k_tensor_at(int index);
static inline size_t d4r_k_tensor_elements(const d4r_k_tensor *tensor)
{
    return (size_t)tensor->rows * (tensor->cols ? tensor->cols : 1);
}

/* All tensors in canonical form; tensor i starts at data + offset[i], aligned to its type. */
typedef struct d4r_k_weights {
    uint8_t *data;
    size_t offset[D4R_K_TENSOR_COUNT], bytes;
} d4r_k_weights;

/* Zero-filled weights; D4R_ERROR_MEMORY. Free with d4r_k_weights_free. */
d4r_status d4r_k_weights_create(d4r_k_weights *weights);
void d4r_k_weights_free(d4r_k_weights *weights);

/* The f16 bits of a value within +-65504; nearest even. */
uint16_t d4r_k_half_of(float value);
/* Exactly preset K's tensors with their shapes, no other, in types that can be used. */
d4r_status d4r_k_match(const char *path, const d4r_safetensors *safetensors, const d4r_log *log);
/* Exactly preset K's tensors with their shapes; weights F16, BF16 or F32, rounded to f16 (nearest even) and within +-65504;
 * others F16, BF16 or F32, within +-65504; all finite. On error *weights is empty. */
d4r_status d4r_k_weights_read(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                              d4r_k_weights *weights);
/* The canonical safetensors file (F16 and F32); *image is freed by the caller. */
d4r_status d4r_k_weights_encode(const d4r_k_weights *weights, uint8_t **image, size_t *size);
/* Writes every byte of `network` (D4R_K_NET_BYTES). */
void d4r_k_pack(const d4r_k_weights *weights, uint8_t *network);

#endif
