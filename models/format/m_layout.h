/* Preset M: the network's dimensions, the logical tensors, and the layout of the packed images.
 *
 * Read by the packer and loader (C), by the kernels (HIP and C) and by the stages: freestanding, no includes.
 *
 * Logical tensors (weights.safetensors). Weights are [out][in], FP8 e4m3 (or f32/f16/bf16, which the packer rounds to
 * FP8, nearest even); the product uses the FP8 value as it is (no scale). Biases and relative biases are f32.
 *
 *   input.embed.weight [64][128]   .bias [64]     in = 32 * q + slot, q = 2 * (y & 1) + (x & 1), slots below
 *   <block>.qkv.weight [3C][C]     .bias [3C]     rows: q, k, v; head h = rows 32h..32h+31 of each
 *   <block>.rel_bias [C/32][49]                   (key - query) offset: 7 * (ky - qy + 3) + (kx - qx + 3)
 *   <block>.proj.weight [C][C]     .bias [C]
 *   <block>.mlp1.weight [2C][C]    .bias [2C]
 *   <block>.mlp2.weight [C][2C]    .bias [C]
 *   merge1.weight [96][256] .bias [96]            in = 64 * q + channel, q = 2 * (row & 1) + (column & 1) of the token
 *   merge2.weight [128][384] .bias [128]          in = 96 * q + channel
 *   expand2.weight [384][128] .bias [384]         out = 96 * q + channel, then + skip (enc2's output)
 *   expand1.weight [256][96] .bias [256]          out = 64 * q + channel, then + skip (enc1's output)
 *   expansion.weight [68][64] .bias [68]          out = 17 * q + j
 *   blocks: enc1 (C 64) enc2 (96) mid0..mid5 (128) dec2 (96) dec1 (64)
 *
 * Feature slots of a pixel: 0-2 R' G' B'; 3-5 history along candidate A (nearest depth); 6-8 along C (own vector);
 * 9-11 along B (farthest depth); 12-14 along C without the jitter term; 15-18 recurrent feature; 19 motion change;
 * 20-31 zero.
 * Expansion values j: 0, 1, 10 gates g.x g.y g.z; 2-5 recurrent candidates; 6-9 recurrent gates; 11-13 mix of the
 * motion candidates (A, C, B); 14, 15 precisions a, b; 16 correlation.
 */
#ifndef D4R_MODELS_FORMAT_M_LAYOUT_H
#define D4R_MODELS_FORMAT_M_LAYOUT_H

#define D4R_M_FEATURES 32        /* slots a render pixel */
#define D4R_M_FEATURES_USED 20
#define D4R_M_EMBED_IN 128       /* 4 pixels * 32 slots */
#define D4R_M_TOKEN_CHANNELS 64  /* channels of tokens and head */
#define D4R_M_VALUES 17          /* expansion values a render pixel */
#define D4R_M_EXPANSION_OUT 68   /* 4 * 17 */
#define D4R_M_WINDOW 4
#define D4R_M_WINDOW_TOKENS 16
#define D4R_M_HEAD_CHANNELS 32
#define D4R_M_C1 64
#define D4R_M_C2 96
#define D4R_M_C3 128
#define D4R_M_MIDDLE_BLOCKS 6
#define D4R_M_NORM_EPS 1e-5f
#define D4R_M_TOKEN_CLAMP 6.28318530717958647692f /* the embedding is clamped to +-2 pi before rounding */

/* A weight matrix is stored as 16x16 tiles of 256 FP8 bytes, tile (m, k) at index m * (in / 16) + k. Inside a tile,
 * row r (output channel) and column c (input channel) are at byte (c >> 3) * 128 + r * 8 + (c & 7): the operand order
 * of a gfx12 wave, lane = r + 16 * (c >> 3), eight bytes a lane. */
#define D4R_M_TILE_BYTES 256
#define D4R_M_TILE_BYTE(r, c) ((((c) >> 3) * 128) + (r) * 8 + ((c) & 7))
#define D4R_M_MATRIX_BYTES(out, in) ((out) * (in))

/* One block's part of hipnet.bin: four matrices, then f32 vectors, then the expanded relative bias:
 * [head][16 keys][16 queries], multiplied by log2(e) (softmax is computed with exp2). All offsets from the block's
 * start; every part is a multiple of 128 bytes for C = 64, 96, 128 (vectors: 7C * 4 bytes). */
#define D4R_M_BLOCK_QKV(C) 0
#define D4R_M_BLOCK_PROJ(C) (3 * (C) * (C))
#define D4R_M_BLOCK_MLP1(C) (4 * (C) * (C))
#define D4R_M_BLOCK_MLP2(C) (6 * (C) * (C))
#define D4R_M_BLOCK_QKV_BIAS(C) (8 * (C) * (C))
#define D4R_M_BLOCK_PROJ_BIAS(C) (8 * (C) * (C) + 12 * (C))
#define D4R_M_BLOCK_MLP1_BIAS(C) (8 * (C) * (C) + 16 * (C))
#define D4R_M_BLOCK_MLP2_BIAS(C) (8 * (C) * (C) + 24 * (C))
#define D4R_M_BLOCK_REL_BIAS(C) (8 * (C) * (C) + 28 * (C))
#define D4R_M_BLOCK_BYTES(C) (8 * (C) * (C) + 28 * (C) + (C) / 32 * 1024)
/* A merge's or expand's part: tiles, then the f32 bias. */
#define D4R_M_LINEAR_BIAS(out, in) ((out) * (in))
#define D4R_M_LINEAR_BYTES(out, in) ((out) * (in) + 4 * (out))

/* hipnet.bin: the parts in the order of evaluation, no header (model.json holds size and SHA-256). */
#define D4R_M_NET_ENC1 0
#define D4R_M_NET_MERGE1 (D4R_M_NET_ENC1 + D4R_M_BLOCK_BYTES(64))
#define D4R_M_NET_ENC2 (D4R_M_NET_MERGE1 + D4R_M_LINEAR_BYTES(96, 256))
#define D4R_M_NET_MERGE2 (D4R_M_NET_ENC2 + D4R_M_BLOCK_BYTES(96))
#define D4R_M_NET_MID(i) (D4R_M_NET_MERGE2 + D4R_M_LINEAR_BYTES(128, 384) + (i) * D4R_M_BLOCK_BYTES(128))
#define D4R_M_NET_EXPAND2 D4R_M_NET_MID(6)
#define D4R_M_NET_DEC2 (D4R_M_NET_EXPAND2 + D4R_M_LINEAR_BYTES(384, 128))
#define D4R_M_NET_EXPAND1 (D4R_M_NET_DEC2 + D4R_M_BLOCK_BYTES(96))
#define D4R_M_NET_DEC1 (D4R_M_NET_EXPAND1 + D4R_M_LINEAR_BYTES(256, 96))
#define D4R_M_NET_BYTES (D4R_M_NET_DEC1 + D4R_M_BLOCK_BYTES(64))

/* weights.bin: what the Vulkan stages read. FP8 matrices in natural [out][in] order, then f32 biases. */
#define D4R_M_STAGE_EMBED_WEIGHT 0
#define D4R_M_STAGE_EXPANSION_WEIGHT (64 * 128)
#define D4R_M_STAGE_EMBED_BIAS (64 * 128 + 68 * 64)
#define D4R_M_STAGE_EXPANSION_BIAS (64 * 128 + 68 * 64 + 64 * 4)
#define D4R_M_STAGE_BYTES (64 * 128 + 68 * 64 + 64 * 4 + 68 * 4)

#endif
