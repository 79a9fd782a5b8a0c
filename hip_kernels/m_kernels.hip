/* The network's GPU kernels: one entry point for each kind of layer, on the tile vocabulary of the architecture.
 * Built by clang alone, without ROCm's headers. m_block.h is compiled for one and for two windows a wave. */
#include "hip_kernels/m_args.h"
#include "hip_kernels/m_kernel_config.h"
#include "models/format/m_layout.h"

#if defined(__GFX12__)
#define MACHINE "hip_kernels/tile_gfx12.h"
#define WINDOWS(c) M_GFX12_WINDOWS_##c
#define STAGED(c) M_GFX12_STAGED_##c
#elif defined(__GFX11__)
#define MACHINE "hip_kernels/tile_gfx11.h"
#define WINDOWS(c) M_GFX11_WINDOWS_##c
#define STAGED(c) M_GFX11_STAGED_##c
#else
#define MACHINE "hip_kernels/tile_gfx12.h" /* the host pass parses the same text */
#define WINDOWS(c) M_GFX12_WINDOWS_##c
#define STAGED(c) M_GFX12_STAGED_##c
#endif

namespace windows_1 {
#define TILE_WINDOWS 1
#include MACHINE
#include "hip_kernels/m_block.h"
#undef TILE_WINDOWS
} // namespace windows_1
#undef D4R_HIP_KERNELS_TILE_GFX_H
#undef D4R_HIP_KERNELS_TILE_GFX_ROWS_H
#undef D4R_HIP_KERNELS_TILE_GFX11_H
#undef D4R_HIP_KERNELS_TILE_GFX12_H
#undef D4R_HIP_KERNELS_M_BLOCK_H
namespace windows_2 {
#define TILE_WINDOWS 2
#include MACHINE
#include "hip_kernels/m_block.h"
} // namespace windows_2

#define NAMESPACE_2(n) windows_##n
#define NAMESPACE_1(n) NAMESPACE_2(n)
#define NAMESPACE(c) NAMESPACE_1(WINDOWS(c))

#define KERNEL(c, name) KERNEL_1(c, name, STAGED(c))
#define KERNEL_1(c, name, staged) KERNEL_2(c, name, staged)

/* One wave, one group of windows; its number is uniform. first, end: the part of the block's matrices in LDS; the
 * block's vectors always go there. `block` is the block's offset in the layer's weights. */
#define KERNEL_2(c, name, first, end)                                                                      \
    extern "C" __attribute__((                                                                             \
        global, amdgpu_flat_work_group_size(32 * M_WAVES, 32 * M_WAVES))) void d4r_##name(d4r_m_args args) \
    {                                                                                                      \
        using namespace NAMESPACE(c);                                                                      \
        enum { block = BLOCK_OF_##name, vectors = D4R_M_BLOCK_QKV_BIAS(c), bytes = D4R_M_BLOCK_BYTES(c) }; \
        static __attribute__((                                                                             \
            shared,                                                                                        \
            aligned(16))) unsigned char memory[((end) - (first)) * TILE_PANEL_SCALE + bytes - vectors];    \
        const int wave = __builtin_amdgcn_readfirstlane((int)(__builtin_amdgcn_workitem_id_x() >> 5));     \
        tile_group group;                                                                                  \
        tile_start();                                                                                      \
        tile_stage(&group, &args, memory, block + (first), block + (end), block + vectors, block + bytes,  \
                   32 * M_WAVES);                                                                          \
        if (tile_open(&group, &args, (int)__builtin_amdgcn_workgroup_id_x() * M_WAVES + wave))             \
            m_##name(&group, &args);                                                                       \
    }

#define BLOCK_OF_block64 0
#define BLOCK_OF_merge_block96 D4R_M_LINEAR_BYTES(96, 256)
#define BLOCK_OF_block96_expand 0
#define BLOCK_OF_merge_block128 D4R_M_LINEAR_BYTES(128, 384)
#define BLOCK_OF_block128 0
#define BLOCK_OF_block128_expand 0

KERNEL(64, block64)
KERNEL(96, merge_block96)
KERNEL(96, block96_expand)
KERNEL(128, merge_block128)
KERNEL(128, block128)
KERNEL(128, block128_expand)
