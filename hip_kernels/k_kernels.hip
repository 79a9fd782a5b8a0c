/* Preset K's GPU kernels: one entry point a layer, on the tile vocabulary of the architecture. Built by clang alone,
 * without ROCm's headers. k_block.h is compiled for one, two and four places a wave. */
#include "hip_kernels/k_kernel_config.h"
#include "hip_kernels/m_args.h"

#define TILE_HALF
#define TILE_HALF_THREADS K_THREADS
#define TILE_PANEL_SCALE 1
#if defined(__GFX11__)
#define MACHINE "hip_kernels/tile_gfx11.h"
#define KEYS_IN_LDS(places) 1
#define PLACES(c) K_PLACES(GFX11, c)
#else
#define MACHINE "hip_kernels/tile_gfx12.h" /* the host pass parses the same text */
#define KEYS_IN_LDS(places) ((places) < 4)
#define PLACES(c) K_PLACES(GFX12, c)
#endif

namespace places_1 {
#define TILE_WINDOWS 1
#include MACHINE
#include "hip_kernels/tile_half_gfx.h"
#include "hip_kernels/k_block.h"
#undef TILE_WINDOWS
} // namespace places_1
#undef D4R_HIP_KERNELS_TILE_GFX_H
#undef D4R_HIP_KERNELS_TILE_GFX_ROWS_H
#undef D4R_HIP_KERNELS_TILE_GFX11_H
#undef D4R_HIP_KERNELS_TILE_GFX12_H
#undef D4R_HIP_KERNELS_TILE_HALF_GFX_H
#undef D4R_HIP_KERNELS_K_BLOCK_H
namespace places_2 {
#define TILE_WINDOWS 2
#include MACHINE
#include "hip_kernels/tile_half_gfx.h"
#include "hip_kernels/k_block.h"
#undef TILE_WINDOWS
} // namespace places_2
#undef D4R_HIP_KERNELS_TILE_GFX_H
#undef D4R_HIP_KERNELS_TILE_GFX_ROWS_H
#undef D4R_HIP_KERNELS_TILE_GFX11_H
#undef D4R_HIP_KERNELS_TILE_GFX12_H
#undef D4R_HIP_KERNELS_TILE_HALF_GFX_H
#undef D4R_HIP_KERNELS_K_BLOCK_H
namespace places_4 {
#define TILE_WINDOWS 4
#include MACHINE
#include "hip_kernels/tile_half_gfx.h"
#include "hip_kernels/k_block.h"
#undef TILE_WINDOWS
} // namespace places_4

#define NAMESPACE_2(n) places_##n
#define NAMESPACE_1(n) NAMESPACE_2(n)
#define NAMESPACE(c) NAMESPACE_1(PLACES(c))

/* LDS: what is brought, then each window's keys and values. Numbers of waves and windows are uniform. */
#define KERNEL(name, c) KERNEL_1(name, c, NAMESPACE(c), PLACES(c))
#define KERNEL_1(name, c, space, places) KERNEL_2(name, c, space, places)
#define KERNEL_2(name, c, space, places)                                                                     \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(K_THREADS, K_THREADS))) void d4r_k_##name( \
        d4r_m_args args)                                                                                     \
    {                                                                                                        \
        enum { windows = K_WINDOWS(places), keys = KEYS_IN_LDS(places) ? K_KEYS_BYTES : 0 };                 \
        static __attribute__((shared, aligned(16))) unsigned char memory[K_MEMORY_BYTES(c) + windows * keys]; \
        const int wave = __builtin_amdgcn_readfirstlane((int)(__builtin_amdgcn_workitem_id_x() >> 5));       \
        const int own = wave * (places) / 4;                                                                 \
        space::tile_group group;                                                                             \
        space::tile_start_half();                                                                            \
        space::tile_open_half(&group, &args, (int)__builtin_amdgcn_workgroup_id_x() * windows + own,         \
                              wave & (4 / (places)-1), memory, memory + K_MEMORY_BYTES(c) + own * keys);     \
        space::k_##name(&group, &args);                                                                      \
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
