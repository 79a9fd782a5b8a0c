/* The model directory: model.json, weights.safetensors, packed images. docs/model_format.md describes it. */
#ifndef D4R_MODELS_FORMAT_MODEL_H
#define D4R_MODELS_FORMAT_MODEL_H

#include "d4r/d4r.h"

/* A loaded and completely verified model: this is what `d4r_model` is. Immutable after d4r_model_load. */
struct d4r_model {
    d4r_model_info info; /* name and licence point into `strings` */
    char *strings;
    uint8_t *stage_weights; /* weights.bin, 64-byte aligned; NULL: the preset has none */
    size_t stage_weight_bytes;
    uint8_t *network; /* hipnet.bin, 256-byte aligned */
    size_t network_bytes;
    uint8_t *tables; /* lut.bin, 64-byte aligned; NULL: the preset has none */
    size_t table_bytes;
    char *directory; /* where it was loaded from: code objects may lie beside it */
};

#endif
