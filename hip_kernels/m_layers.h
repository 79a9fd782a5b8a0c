/* The ten launches of preset M's network: what every machine (CPU, HIP) and every test iterates over.
 *
 * A launch is a Swin block with the linear layers fused into it: merges run in the consumer's prologue,
 * expands and skip adds in the producer's epilogue, so merged tokens and the last block's own output never
 * reach memory. Grids: level 0 is the token grid, level n has (columns >> n) x (rows >> n) tokens. */
#ifndef D4R_HIP_KERNELS_M_LAYERS_H
#define D4R_HIP_KERNELS_M_LAYERS_H

#include <stddef.h>
#include <stdint.h>

typedef enum d4r_m_layer {
    D4R_M_LAYER_ENC1 = 0, /* block 64 */
    D4R_M_LAYER_ENC2,     /* merge1, block 96 */
    D4R_M_LAYER_MID0,     /* merge2, block 128 */
    D4R_M_LAYER_MID1,
    D4R_M_LAYER_MID2,
    D4R_M_LAYER_MID3,
    D4R_M_LAYER_MID4,
    D4R_M_LAYER_MID5, /* block 128, expand2, + enc2's output */
    D4R_M_LAYER_DEC2, /* block 96, expand1, + enc1's output */
    D4R_M_LAYER_DEC1, /* block 64 */
    D4R_M_LAYER_COUNT
} d4r_m_layer;

#define D4R_M_NO_LAYER (-1)

typedef struct d4r_m_layer_info {
    const char *name;
    uint32_t in_level, in_channels;   /* tokens read */
    uint32_t level, channels;         /* the block's own grid and width */
    uint32_t out_level, out_channels; /* tokens written */
    uint32_t shift;                   /* 0 or 2 */
    int input;                        /* layer whose output is read; D4R_M_NO_LAYER: the network's tokens */
    int skip;                         /* layer whose output is added after the expand; D4R_M_NO_LAYER: none */
    size_t weights;                   /* offset in hipnet.bin of the first fused part */
} d4r_m_layer_info;

extern const d4r_m_layer_info d4r_m_layers[D4R_M_LAYER_COUNT];

/* Tokens at a level of a grid of columns x rows tokens (both multiples of 16). */
static inline size_t d4r_m_level_tokens(uint32_t columns, uint32_t rows, uint32_t level)
{
    return (size_t)(columns >> level) * (rows >> level);
}

/* 4x4 windows along one axis of the block's grid: a shifted block starts at -2 and so has one more. */
static inline uint32_t d4r_m_windows(uint32_t tokens, uint32_t shift)
{
    return tokens / 4 + (shift ? 1 : 0);
}

/* The matrices of hipnet.bin, as ranges of 16x16 tiles (models/format/m_layout.h); between them lie biases.
 * Whoever needs the weights in a machine's own form converts these ranges and keeps offsets proportional. */
typedef struct d4r_m_range {
    size_t offset, bytes;
} d4r_m_range;
#define D4R_M_MATRIX_RANGES 14
extern const d4r_m_range d4r_m_matrix_ranges[D4R_M_MATRIX_RANGES];

/* Multiply-accumulates of one layer on a grid: block, merge and expand products and attention. */
uint64_t d4r_m_layer_macs(d4r_m_layer layer, uint32_t columns, uint32_t rows);

#endif
