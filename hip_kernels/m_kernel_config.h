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

/* NVIDIA, f16 matrices: read through the caches. */
#ifndef M_NV_WINDOWS
#define M_NV_WINDOWS 1
#endif
#define M_NV_WINDOWS_64 M_NV_WINDOWS
#define M_NV_WINDOWS_96 M_NV_WINDOWS
#define M_NV_WINDOWS_128 M_NV_WINDOWS

#endif
