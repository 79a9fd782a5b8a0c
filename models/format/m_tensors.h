/* The logical tensors of preset M: the table behind m_layout.h's list, with each tensor's place in the packed
 * images. */
#ifndef D4R_MODELS_FORMAT_M_TENSORS_H
#define D4R_MODELS_FORMAT_M_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "models/format/m_layout.h"

typedef enum d4r_m_kind {
    D4R_M_WEIGHT,  /* [rows][cols], FP8 */
    D4R_M_BIAS,    /* [rows], f32; cols is 1 */
    D4R_M_REL_BIAS /* [heads][49], f32 */
} d4r_m_kind;

typedef enum d4r_m_image {
    D4R_M_STAGE_IMAGE,  /* weights.bin: weights in natural order */
    D4R_M_NETWORK_IMAGE /* hipnet.bin: weights in tiles */
} d4r_m_image;

typedef struct d4r_m_tensor {
    const char *name;
    d4r_m_kind kind;
    d4r_m_image image;
    uint32_t rows, cols;
    uint32_t packed_offset; /* in its image */
} d4r_m_tensor;

#define D4R_M_BLOCKS 10
#define D4R_M_TENSOR_COUNT (D4R_M_BLOCKS * 9 + 6 * 2)
#define D4R_M_REL_BIAS_ENTRIES 49

/* In the order of m_layout.h's list: stages, blocks in the order of evaluation, merges, expands. */
extern const d4r_m_tensor d4r_m_tensors[D4R_M_TENSOR_COUNT];

static inline size_t d4r_m_tensor_elements(const d4r_m_tensor *tensor)
{
    return (size_t)tensor->rows * tensor->cols;
}

/* Bytes in canonical form: FP8 for weights, f32 for everything else. */
static inline size_t d4r_m_tensor_bytes(const d4r_m_tensor *tensor)
{
    return d4r_m_tensor_elements(tensor) * (tensor->kind == D4R_M_WEIGHT ? 1 : 4);
}

/* Index in d4r_m_tensors, or -1. */
int d4r_m_tensor_index(const char *name);

#endif
