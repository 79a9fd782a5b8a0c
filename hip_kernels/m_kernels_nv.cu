/* The network's kernels on NVIDIA: the same text as m_kernels.hip, on tile_nv.h. Built by nvcc to a cubin for sm_90 and
 * to PTX for every architecture from sm_89 on. */
#include "hip_kernels/m_kernel_config.h"
#define TILE_WINDOWS M_NV_WINDOWS
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/m_block.h"

#define KERNEL(name)                                                                                       \
    extern "C" __global__ void __launch_bounds__(32 * M_WAVES) d4r_##name(d4r_m_args args)                 \
    {                                                                                                      \
        tile_group group;                                                                                  \
        if (tile_open(&group, &args, (int)(blockIdx.x * M_WAVES + (threadIdx.x >> 5)))) m_##name(&group, &args); \
    }

KERNEL(block64)
KERNEL(merge_block96)
KERNEL(block96_expand)
KERNEL(merge_block128)
KERNEL(block128)
KERNEL(block128_expand)
