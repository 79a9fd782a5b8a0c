/* Arguments of one launch: the same structure for every machine, passed by value to the HIP kernels. */
#ifndef D4R_HIP_KERNELS_M_ARGS_H
#define D4R_HIP_KERNELS_M_ARGS_H

#define M_SCORE_SCALE 0x1.0527dcp-2f /* 32^-1/2 * log2(e): scores and relative biases are in log2 */

typedef struct d4r_m_args {
    const unsigned char *input; /* FP8 tokens of the layer's input grid */
    const unsigned char *skip;  /* FP8 tokens added after the expand; unused by layers without one */
    unsigned char *output;      /* FP8 tokens of the layer's output grid */
    const unsigned char
        *weights; /* this layer's part of hipnet.bin: biases and relative biases are read here */
    const unsigned char
        *panels;            /* this layer's matrices in the machine's form, TILE_PANEL_SCALE times as large:
                               the matrix at offset o of `weights` is at TILE_PANEL_SCALE * o here */
    int columns, rows;      /* the block's grid, in tokens */
    int shift;              /* windows start at -shift */
    int windows_x, windows; /* windows a row, windows in all */
} d4r_m_args;

#endif
