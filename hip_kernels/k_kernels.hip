/* Preset K's GPU kernels: one entry point a layer, on the tile vocabulary of the architecture. Built by clang alone,
 * without ROCm's headers. */
#include "hip_kernels/k_kernel_config.h"
#include "hip_kernels/m_args.h"

#define TILE_WINDOWS 1
#define TILE_HALF
#define TILE_HALF_THREADS K_THREADS
#define TILE_PANEL_SCALE 1
#if defined(__GFX11__)
#include "hip_kernels/tile_gfx11.h"
#else
#include "hip_kernels/tile_gfx12.h" /* the host pass parses the same text */
#endif
#include "hip_kernels/tile_half_gfx.h"
#include "hip_kernels/k_block.h"

/* Four waves a window. LDS: the chunk, then each window's keys and values. */
#define KERNEL(name, c)                                                                                      \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(K_THREADS, K_THREADS))) void d4r_k_##name( \
        d4r_m_args args)                                                                                     \
    {                                                                                                        \
        static __attribute__((shared,                                                                        \
                              aligned(16))) unsigned char memory[D4R_K_CHUNK_BYTES(c) + K_WINDOWS * K_KEYS_BYTES]; \
        const int wave = __builtin_amdgcn_readfirstlane((int)(__builtin_amdgcn_workitem_id_x() >> 5));       \
        const int own = wave / K_WAVES_A_WINDOW;                                                             \
        tile_group group;                                                                                    \
        tile_start_half();                                                                                   \
        tile_open_half(&group, &args, (int)__builtin_amdgcn_workgroup_id_x() * K_WINDOWS + own, wave, memory, \
                       memory + D4R_K_CHUNK_BYTES(c) + own * K_KEYS_BYTES);                                  \
        k_##name(&group, &args);                                                                             \
    }

KERNEL(enc0, D4R_K_C0)
KERNEL(enc1, D4R_K_C1)
KERNEL(enc2, D4R_K_C2)
KERNEL(enc3, D4R_K_C3)
KERNEL(enc4, D4R_K_C4)
KERNEL(dec5, D4R_K_C5)
KERNEL(dec4, D4R_K_C4)
KERNEL(dec3, D4R_K_C3)
KERNEL(dec2, D4R_K_C2)
KERNEL(dec1, D4R_K_C1)
KERNEL(dec0, D4R_K_C0)
