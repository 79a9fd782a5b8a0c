/* From a safetensors file to preset M's packed images. */
#ifndef D4R_MODELS_FORMAT_M_PACK_H
#define D4R_MODELS_FORMAT_M_PACK_H

#include "models/format/m_tensors.h"
#include "models/format/safetensors.h"

/* Biases must fit f16, which a network implementation may store them in. */
#define D4R_M_BIAS_LIMIT 65504.0f

/* All tensors in canonical form (FP8 codes, f32), one after the other; tensor i starts at data + offset[i].
 */
typedef struct d4r_m_weights {
    uint8_t *data;
    size_t offset[D4R_M_TENSOR_COUNT];
    size_t bytes;
} d4r_m_weights;

/* What rounding to FP8 did to one weight tensor; zero for f32 tensors. */
typedef struct d4r_m_rounding {
    double signal, noise; /* sums of squares of the values and of the errors; noise 0: nothing was lost */
    size_t flushed;       /* non-zero values that became zero */
    size_t saturated;     /* values beyond +-448 */
    float largest;        /* magnitude, before rounding */
} d4r_m_rounding;

/* Zero-filled weights; D4R_ERROR_MEMORY. Free with d4r_m_weights_free. */
d4r_status d4r_m_weights_create(d4r_m_weights *weights);
void d4r_m_weights_free(d4r_m_weights *weights);

/* Exactly the tensors of preset M with their shapes, no other, with dtypes that can be used. */
d4r_status d4r_m_match(const char *path, const d4r_safetensors *safetensors, const d4r_log *log);

/* Parses and checks a whole file and converts it. Weights: NaN is an error, infinities too; values beyond
 * +-448 are saturated and counted. Biases: finite and within D4R_M_BIAS_LIMIT. `rounding` (D4R_M_TENSOR_COUNT
 * entries) may be NULL. On error *weights is empty. */
d4r_status d4r_m_weights_read(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                              d4r_m_weights *weights, d4r_m_rounding *rounding);

/* The canonical safetensors file of these weights; *image is freed by the caller. */
d4r_status d4r_m_weights_encode(const d4r_m_weights *weights, uint8_t **image, size_t *size);

/* stage: D4R_M_STAGE_BYTES, network: D4R_M_NET_BYTES. Every byte is written. */
void d4r_m_pack(const d4r_m_weights *weights, uint8_t *stage, uint8_t *network);

#endif
