/* The eleven launches of preset K's network: what every machine and every test iterates over. A launch is a Swin block on
 * 8x8 windows with the merge or expand before it; dec0 ends with the head. Level n has (columns >> n) x (rows >> n)
 * tokens. docs/preset_k.md is the definition. */
#ifndef D4R_HIP_KERNELS_K_LAYERS_H
#define D4R_HIP_KERNELS_K_LAYERS_H

#include <stddef.h>
#include <stdint.h>
#include "hip_kernels/m_args.h"
#include "models/format/k_layout.h"

typedef enum d4r_k_layer {
    D4R_K_LAYER_ENC0 = 0,
    D4R_K_LAYER_ENC1,
    D4R_K_LAYER_ENC2,
    D4R_K_LAYER_ENC3,
    D4R_K_LAYER_ENC4,
    D4R_K_LAYER_DEC5,
    D4R_K_LAYER_DEC4,
    D4R_K_LAYER_DEC3,
    D4R_K_LAYER_DEC2,
    D4R_K_LAYER_DEC1,
    D4R_K_LAYER_DEC0,
    D4R_K_LAYER_COUNT
} d4r_k_layer;

#define D4R_K_NO_LAYER (-1)

typedef struct d4r_k_layer_info {
    const char *name;
    uint32_t level, channels;       /* the block's grid and width */
    uint32_t hidden;                /* channels of the block's MLP */
    uint32_t in_level, in_channels; /* tokens read: finer (merge), coarser (expand) or the same (enc0) */
    uint32_t out_channels;          /* f16 values of a token written, at `level` */
    int input;                      /* layer whose output is read; D4R_K_NO_LAYER: the network's tokens */
    int skip;                       /* layer whose output is added after the expand; D4R_K_NO_LAYER: none */
    size_t weights;                 /* offset in the packed image */
    size_t block;                   /* offset of the block from there: the bytes of the merge or expand */
} d4r_k_layer_info;

extern const d4r_k_layer_info d4r_k_layers[D4R_K_LAYER_COUNT];

/* Windows of a level start at -shift, on both axes, in phase 0 .. 7 of the cycle. Even at every level but the last. */
static inline uint32_t d4r_k_shift(uint32_t level, uint32_t phase)
{
    uint32_t shift = 5 * phase % D4R_K_PHASES;
    for (uint32_t l = D4R_K_LEVELS - 1; l > level; l--) shift = (2 * shift + 4) % D4R_K_WINDOW;
    return shift;
}
/* 8x8 windows along one axis. */
static inline uint32_t d4r_k_windows(uint32_t tokens, uint32_t shift)
{
    return (tokens + shift + D4R_K_WINDOW - 1) / D4R_K_WINDOW;
}
static inline size_t d4r_k_level_tokens(uint32_t columns, uint32_t rows, uint32_t level)
{
    return (size_t)(columns >> level) * (rows >> level);
}
/* The part of a launch's arguments that follows from the layer, the grid (level 0) and the phase; pointers are NULL. */
d4r_m_args d4r_k_layer_shape(d4r_k_layer layer, uint32_t columns, uint32_t rows, uint32_t phase);

/* Parts of the packed image that machines keep in their own form. */
typedef enum d4r_k_part { D4R_K_PART_TILES, D4R_K_PART_REL_BIAS /* one head */ } d4r_k_part;
typedef void (*d4r_k_part_fn)(void *user, d4r_k_part part, size_t offset, size_t bytes);
void d4r_k_each_part(d4r_k_part_fn fn, void *user);

/* Multiply-accumulates of one layer on a grid: block, merge, expand and head products and attention. */
uint64_t d4r_k_layer_macs(d4r_k_layer layer, uint32_t columns, uint32_t rows);

#endif
