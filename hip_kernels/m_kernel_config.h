/* How many windows a wave owns, how many waves a workgroup has, and which part of a block's matrices the workgroup
 * shares in LDS, for each width and machine; chosen by counting instructions, registers and bytes (docs/network.md).
 * Read by the kernels and by m_launch.c. */
#ifndef D4R_HIP_KERNELS_M_KERNEL_CONFIG_H
#define D4R_HIP_KERNELS_M_KERNEL_CONFIG_H

#include "models/format/m_layout.h"

#define M_WAVES 8

/* gfx12: FP8 matrices. C 64 all of them (32 KiB), C 96 qkv and proj (36 KiB), C 128 qkv (48 KiB). */
#define M_GFX12_WINDOWS_64 2
#define M_GFX12_WINDOWS_96 2
#define M_GFX12_WINDOWS_128 2
#define M_GFX12_STAGED_64 D4R_M_BLOCK_QKV(64), D4R_M_BLOCK_QKV_BIAS(64)
#define M_GFX12_STAGED_96 D4R_M_BLOCK_QKV(96), D4R_M_BLOCK_MLP1(96)
#define M_GFX12_STAGED_128 D4R_M_BLOCK_QKV(128), D4R_M_BLOCK_PROJ(128)

/* gfx11: f16 matrices, twice the bytes. C 64 qkv and proj (32 KiB), C 96 qkv (54 KiB), C 128 proj (32 KiB). */
#define M_GFX11_WINDOWS_64 1
#define M_GFX11_WINDOWS_96 1
#define M_GFX11_WINDOWS_128 1
#define M_GFX11_STAGED_64 D4R_M_BLOCK_QKV(64), D4R_M_BLOCK_MLP1(64)
#define M_GFX11_STAGED_96 D4R_M_BLOCK_QKV(96), D4R_M_BLOCK_PROJ(96)
#define M_GFX11_STAGED_128 D4R_M_BLOCK_PROJ(128), D4R_M_BLOCK_MLP1(128)

/* NVIDIA, f16 matrices. One workgroup a multiprocessor copies matrices to shared memory and works on one group of windows
 * after another. NV: machines with 99 KiB of it, SM90: with 227. Builds that try other figures define these six. */
#define M_NV_WINDOWS_64 1
#define M_NV_WINDOWS_96 1
#define M_NV_WINDOWS_128 1
#define M_NV_WAVES_64 16
#define M_NV_WAVES_96 16
#define M_NV_WAVES_128 12
#ifndef M_SM90_WINDOWS_64
#define M_SM90_WINDOWS_64 1
#define M_SM90_WINDOWS_96 1
#define M_SM90_WINDOWS_128 1
#define M_SM90_WAVES_64 16
#define M_SM90_WAVES_96 16
#define M_SM90_WAVES_128 8
#endif
/* Offsets of the matrices whose sums leave the tensor core after every mma (tile_nv.h), by kernel: first, end. D4R_NV_SUMS, for
 * builds that measure (docs/performance.md): 0 none, 1 all, 2 all of enc1's and dec1's kernel and qkv of dec2's, 3 qkv of dec2's. */
#ifndef D4R_NV_SUMS
#define D4R_NV_SUMS 0
#endif
#define M_NV_OUTSIDE_IF(all) 0, ((all) ? 0x7fffffff : 0)
#define M_NV_OUTSIDE_block64 M_NV_OUTSIDE_IF(D4R_NV_SUMS == 1 || D4R_NV_SUMS == 2)
#define M_NV_OUTSIDE_block96_expand \
    0, (D4R_NV_SUMS == 1 ? 0x7fffffff : D4R_NV_SUMS > 1 ? D4R_M_BLOCK_PROJ(96) : 0)
#define M_NV_OUTSIDE_merge_block96 M_NV_OUTSIDE_IF(D4R_NV_SUMS == 1)
#define M_NV_OUTSIDE_merge_block128 M_NV_OUTSIDE_IF(D4R_NV_SUMS == 1)
#define M_NV_OUTSIDE_block128 M_NV_OUTSIDE_IF(D4R_NV_SUMS == 1)
#define M_NV_OUTSIDE_block128_expand M_NV_OUTSIDE_IF(D4R_NV_SUMS == 1)
/* Offsets in the layer's weights: first and end of the staged matrices, the block, whose vectors are staged too; its C. */
#define M_BLOCK_OF_merge_block96 D4R_M_LINEAR_BYTES(96, 256)
#define M_BLOCK_OF_merge_block128 D4R_M_LINEAR_BYTES(128, 384)
/* C 64 all of them (64 KiB), C 96 qkv and proj (72 KiB), C 128 mlp1 (64 KiB). */
#define M_NV_STAGED_block64 0, D4R_M_BLOCK_QKV_BIAS(64), 0, 64
#define M_NV_STAGED_merge_block96 \
    M_BLOCK_OF_merge_block96, M_BLOCK_OF_merge_block96 + D4R_M_BLOCK_MLP1(96), M_BLOCK_OF_merge_block96, 96
#define M_NV_STAGED_block96_expand 0, D4R_M_BLOCK_MLP1(96), 0, 96
#define M_NV_STAGED_merge_block128                                                                        \
    M_BLOCK_OF_merge_block128 + D4R_M_BLOCK_MLP1(128), M_BLOCK_OF_merge_block128 + D4R_M_BLOCK_MLP2(128), \
        M_BLOCK_OF_merge_block128, 128
#define M_NV_STAGED_block128 D4R_M_BLOCK_MLP1(128), D4R_M_BLOCK_MLP2(128), 0, 128
#define M_NV_STAGED_block128_expand M_NV_STAGED_block128
/* C 64 all, C 96 all, the merge or expand too (192 KiB), C 128 all but mlp2 (192 KiB). */
#define M_SM90_STAGED_block64 M_NV_STAGED_block64
#define M_SM90_STAGED_merge_block96 \
    0, M_BLOCK_OF_merge_block96 + D4R_M_BLOCK_QKV_BIAS(96), M_BLOCK_OF_merge_block96, 96
#define M_SM90_STAGED_block96_expand 0, D4R_M_BLOCK_BYTES(96) + D4R_M_LINEAR_BIAS(256, 96), 0, 96
#define M_SM90_STAGED_merge_block128                                                                         \
    M_BLOCK_OF_merge_block128, M_BLOCK_OF_merge_block128 + D4R_M_BLOCK_MLP2(128), M_BLOCK_OF_merge_block128, \
        128
#define M_SM90_STAGED_block128 0, D4R_M_BLOCK_MLP2(128), 0, 128
#define M_SM90_STAGED_block128_expand M_SM90_STAGED_block128
#define M_NV_SHARED(...) M_NV_SHARED_1(__VA_ARGS__)
#define M_NV_SHARED_1(first, end, block, c) \
    (2 * ((end) - (first)) + D4R_M_BLOCK_BYTES(c) - D4R_M_BLOCK_QKV_BIAS(c))

#endif
