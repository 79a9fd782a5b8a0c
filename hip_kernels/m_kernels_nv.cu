/* The network's kernels on NVIDIA: the same text as m_kernels.hip, on tile_nv.h. Built by nvcc to a cubin for sm_90 and
 * to PTX for every architecture from sm_89 on. m_block.h is compiled for one and for two windows a warp. */
#include <stdint.h>
#include "hip_kernels/m_args.h"
#include "hip_kernels/m_kernel_config.h"
#include "models/format/m_layout.h"

namespace windows_1 {
#define TILE_WINDOWS 1
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/m_block.h"
#undef TILE_WINDOWS
} // namespace windows_1
#undef D4R_HIP_KERNELS_TILE_NV_H
#undef D4R_HIP_KERNELS_M_BLOCK_H
#undef TILE_FN
#undef TILE_UNROLL
#undef TILE_ROLL
#undef TILE_PANEL_SCALE
#undef TILE_EACH_WINDOW
#undef M_MAX_TILES
#undef M_LINEAR
namespace windows_2 {
#define TILE_WINDOWS 2
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/m_block.h"
} // namespace windows_2

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1000
#define CONFIG(what, key) M_SM90_##what##_##key
#else
#define CONFIG(what, key) M_NV_##what##_##key
#endif

#define NAMESPACE_2(n) windows_##n
#define NAMESPACE_1(n) NAMESPACE_2(n)
#define NAMESPACE(c) NAMESPACE_1(CONFIG(WINDOWS, c))

extern __shared__ uint4 shared_memory[];

#define KERNEL(c, name) \
    KERNEL_1(name, CONFIG(WAVES, c), CONFIG(WINDOWS, c), NAMESPACE(c), CONFIG(STAGED, name))
#define KERNEL_1(...) KERNEL_2(__VA_ARGS__)

/* A warp works on one group of windows at a time. */
#define KERNEL_2(name, waves, each, space, first, end, block, c)                                     \
    extern "C" __global__ void __launch_bounds__(32 * (waves), 1) d4r_##name(d4r_m_args args)        \
    {                                                                                                \
        using namespace space;                                                                       \
        tile_group group;                                                                            \
        tile_stage(&group, &args, (unsigned char *)shared_memory, first, end,                        \
                   (block) + D4R_M_BLOCK_QKV_BIAS(c), (block) + D4R_M_BLOCK_BYTES(c), 32 * (waves)); \
        const int outside[] = {M_NV_OUTSIDE_##name};                                                 \
        group.outside_first = outside[0];                                                            \
        group.outside_end = outside[1];                                                              \
        for (int i = (int)(blockIdx.x * (waves) + (threadIdx.x >> 5)); i * (each) < args.windows;    \
             i += (int)gridDim.x * (waves)) {                                                        \
            tile_open(&group, &args, i);                                                             \
            m_##name(&group, &args);                                                                 \
        }                                                                                            \
    }

KERNEL(64, block64)
KERNEL(96, merge_block96)
KERNEL(96, block96_expand)
KERNEL(128, merge_block128)
KERNEL(128, block128)
KERNEL(128, block128_expand)
