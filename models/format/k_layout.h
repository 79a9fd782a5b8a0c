/* Preset K: the network's dimensions, the logical tensors, and the layout of the packed image.
 *
 * Read by the packer, by the kernels (HIP and C) and by the launcher: freestanding, no includes. docs/preset_k.md is the
 * definition.
 *
 * Logical tensors. Weights are [out][in] and f16 (the packer rounds others, nearest even), biases f32. Layers: enc0 ..
 * enc4, dec5, dec4 .. dec0; C is the width of the layer's level.
 *
 *   <layer>.qkv.weight [3C][C]                  rows: q, k, v; head h = rows 32h .. 32h + 31 of each
 *   <layer>.qv.bias [2C]                        of q, of v; a key's bias would change no softmax
 *   <layer>.rel_bias [C / 32][225]              15 * (ky - qy + 7) + kx - qx + 7; scores are base-2 logarithms
 *   <layer>.proj.weight [C][C]                  no bias: the values' bias does the same
 *   <layer>.mlp1.weight [H][C] .bias [H]        H: hidden channels of the level
 *   <layer>.mlp2.weight [C][H]                  no bias: hidden channels can hold it
 *   <layer>.merge.weight [C][4 * finer C] .bias [C]      enc1 .. enc4, dec5: in = finer C * q + channel
 *   <layer>.expand.weight [4C][coarser C] .bias [4C]     dec4 .. dec0: out = C * q + channel
 *   head.weight [40][C0] .bias [40]
 *   q = 2 * (row & 1) + (column & 1) of the finer token.
 */
#ifndef D4R_MODELS_FORMAT_K_LAYOUT_H
#define D4R_MODELS_FORMAT_K_LAYOUT_H

#define D4R_K_LEVELS 6
#define D4R_K_C0 32 /* widths of the levels: multiples of 32 */
#define D4R_K_C1 64
#define D4R_K_C2 64
#define D4R_K_C3 96
#define D4R_K_C4 128
#define D4R_K_C5 128
#define D4R_K_H0 32 /* hidden channels of the levels' MLPs: multiples of 32 */
#define D4R_K_H1 64
#define D4R_K_H2 128
#define D4R_K_H3 192
#define D4R_K_H4 256
#define D4R_K_H5 256
#define D4R_K_MAX_CHANNELS 128
#define D4R_K_FEATURES 32 /* f16 values of a token: the network's input, D4R_K_C0 */
#define D4R_K_HEAD 40     /* f16 values of a token: the network's output */
#define D4R_K_HEAD_ROWS 48
#define D4R_K_WINDOW 8
#define D4R_K_WINDOW_TOKENS 64
#define D4R_K_HEAD_CHANNELS 32
#define D4R_K_OFFSETS 225 /* relative positions in a window */
#define D4R_K_PHASES 8
#define D4R_K_GRID_STEP 32 /* a token grid is a multiple of this, so that five halvings are exact */
#define D4R_K_GRID_LEAST 256
#define D4R_K_NORM_EPS 1e-5f
#define D4R_K_HALF_MAX 65504.0f

/* Token i of place p of a window: the 2x2 groups' places are separate, so that the tokens of one place under a window of
 * an even shift are the children of 16 coarser tokens. */
#define D4R_K_TOKEN_ROW(p, i) (2 * ((i) >> 2) + ((p) >> 1))
#define D4R_K_TOKEN_COLUMN(p, i) (2 * ((i)&3) + ((p)&1))

/* A matrix is cut into 16x16 tiles of f16: row r and column c at byte (c >> 3) * 256 + r * 16 + (c & 7) * 2, the operand
 * order of a gfx12 wave. */
#define D4R_K_TILE_BYTES 512
#define D4R_K_TILE_BYTE(r, c) ((((c) >> 3) * 256) + (r)*16 + ((c)&7) * 2)
#define D4R_K_TILES(out, in) ((out) / 16 * ((in) / 16) * D4R_K_TILE_BYTES)

/* What a workgroup brings into its memory at a time is contiguous: a chunk. Tiles first, then f32 vectors.
 * A block has a chunk for each head: q [2][C / 16] tiles, k likewise, v likewise, proj [C / 16][2] (its columns of the
 * head), biases of q and of v; then a chunk for each S hidden channels: mlp1 [S / 16][C / 16], mlp2 [C / 16][S / 16],
 * mlp1's bias; then the relative biases [head][query's place][key's place][256] f32 in the order of D4R_K_REL_INDEX. */
#define D4R_K_HEADS(C) ((C) / 32)
#define D4R_K_HEAD_TILES(C) (256 * (C))
#define D4R_K_HEAD_BYTES_OF(C) (256 * (C) + 256)
#define D4R_K_MLP_STEP(H) ((H) % 64 ? 32 : 64)
#define D4R_K_MLP_TILES(C, H) (4 * (C)*D4R_K_MLP_STEP(H))
#define D4R_K_MLP_BYTES(C, H) (D4R_K_MLP_TILES(C, H) + 4 * D4R_K_MLP_STEP(H))
#define D4R_K_BLOCK_HEAD(C, h) ((h)*D4R_K_HEAD_BYTES_OF(C))
#define D4R_K_BLOCK_MLP(C, H, j) (D4R_K_BLOCK_HEAD(C, D4R_K_HEADS(C)) + (j)*D4R_K_MLP_BYTES(C, H))
#define D4R_K_BLOCK_REL(C, H) D4R_K_BLOCK_MLP(C, H, (H) / D4R_K_MLP_STEP(H))
#define D4R_K_REL_BYTES 16384 /* a head */
#define D4R_K_BLOCK_BYTES(C, H) (D4R_K_BLOCK_REL(C, H) + D4R_K_HEADS(C) * D4R_K_REL_BYTES)
/* Key k and query i (0 .. 15 of their places): a lane of a gfx wave reads its eight keys as two times four. */
#define D4R_K_REL_INDEX(k, i) (((k) >> 2 & 1) * 128 + ((i) + 16 * ((k) >> 3)) * 4 + ((k)&3))

/* A merge: for each place q of the finer tokens [C / 16][finer C / 16] tiles, then the bias. */
#define D4R_K_MERGE_PLACE(C, in, q) ((q)*D4R_K_TILES(C, in))
#define D4R_K_MERGE_BIAS(C, in) (4 * D4R_K_TILES(C, in))
#define D4R_K_MERGE_BYTES(C, in) (4 * D4R_K_TILES(C, in) + 4 * (C))
/* An expand: for each 32 channels of the coarser tokens [4 places][C / 16][2] tiles, then the bias [4][C]. */
#define D4R_K_EXPAND_STEP(C, s) ((s)*D4R_K_TILES(4 * (C), 32))
#define D4R_K_EXPAND_BIAS(C, in) D4R_K_TILES(4 * (C), in)
#define D4R_K_EXPAND_BYTES(C, in) (D4R_K_TILES(4 * (C), in) + 16 * (C))
/* The head: [3][C0 / 16] tiles (rows 40 .. 47 are zero), then 48 f32. */
#define D4R_K_HEAD_BYTES (D4R_K_TILES(D4R_K_HEAD_ROWS, D4R_K_C0) + 4 * D4R_K_HEAD_ROWS)

/* A layer: merge or expand, block, and in dec0 the head. The image: the layers in the order of evaluation, no header. */
#define D4R_K_ENC_BYTES(C, H, in) (D4R_K_MERGE_BYTES(C, in) + D4R_K_BLOCK_BYTES(C, H))
#define D4R_K_DEC_BYTES(C, H, in) (D4R_K_EXPAND_BYTES(C, in) + D4R_K_BLOCK_BYTES(C, H))
#define D4R_K_NET_ENC0 0
#define D4R_K_NET_ENC1 D4R_K_BLOCK_BYTES(D4R_K_C0, D4R_K_H0)
#define D4R_K_NET_ENC2 (D4R_K_NET_ENC1 + D4R_K_ENC_BYTES(D4R_K_C1, D4R_K_H1, D4R_K_C0))
#define D4R_K_NET_ENC3 (D4R_K_NET_ENC2 + D4R_K_ENC_BYTES(D4R_K_C2, D4R_K_H2, D4R_K_C1))
#define D4R_K_NET_ENC4 (D4R_K_NET_ENC3 + D4R_K_ENC_BYTES(D4R_K_C3, D4R_K_H3, D4R_K_C2))
#define D4R_K_NET_DEC5 (D4R_K_NET_ENC4 + D4R_K_ENC_BYTES(D4R_K_C4, D4R_K_H4, D4R_K_C3))
#define D4R_K_NET_DEC4 (D4R_K_NET_DEC5 + D4R_K_ENC_BYTES(D4R_K_C5, D4R_K_H5, D4R_K_C4))
#define D4R_K_NET_DEC3 (D4R_K_NET_DEC4 + D4R_K_DEC_BYTES(D4R_K_C4, D4R_K_H4, D4R_K_C5))
#define D4R_K_NET_DEC2 (D4R_K_NET_DEC3 + D4R_K_DEC_BYTES(D4R_K_C3, D4R_K_H3, D4R_K_C4))
#define D4R_K_NET_DEC1 (D4R_K_NET_DEC2 + D4R_K_DEC_BYTES(D4R_K_C2, D4R_K_H2, D4R_K_C3))
#define D4R_K_NET_DEC0 (D4R_K_NET_DEC1 + D4R_K_DEC_BYTES(D4R_K_C1, D4R_K_H1, D4R_K_C2))
#define D4R_K_NET_BYTES (D4R_K_NET_DEC0 + D4R_K_DEC_BYTES(D4R_K_C0, D4R_K_H0, D4R_K_C1) + D4R_K_HEAD_BYTES)

#endif
