/* Preset K's kernels on NVIDIA: the same text as k_kernels.hip, on tile_half_nv.h. Built by nvcc to a cubin for sm_90 and
 * to PTX for every architecture from sm_89 on. */
#include "hip_kernels/k_kernel_config.h"
#define TILE_WINDOWS 1
#define TILE_HALF
#include "hip_kernels/tile_nv.h"
#include "hip_kernels/tile_half_nv.h"
#include "hip_kernels/k_block.h"

#define KERNEL(name)                                                                                              \
    extern "C" __global__ void __launch_bounds__(K_THREADS) d4r_k_##name(d4r_m_args args)                         \
    {                                                                                                             \
        __shared__ __align__(16) unsigned char keys[K_WINDOWS(1) * K_KEYS_BYTES];                                 \
        const int wave = (int)threadIdx.x >> 5, own = wave / 4;                                                   \
        tile_group group;                                                                                         \
        tile_open_half(&group, &args, (int)blockIdx.x * K_WINDOWS(1) + own, wave & 3, keys + own * K_KEYS_BYTES); \
        k_##name(&group, &args);                                                                                  \
    }

KERNEL(enc0)
KERNEL(enc1)
KERNEL(enc2)
KERNEL(enc3)
KERNEL(enc4)
KERNEL(dec5)
KERNEL(dec4)
KERNEL(dec3)
KERNEL(dec2)
KERNEL(dec1)
KERNEL(dec0)
