/* How many places of a window's 2x2 groups a wave owns, for each width and machine, and how preset K's kernels are grouped
 * into workgroups; chosen by counting instructions, registers and bytes (docs/preset_k.md). Read by the kernels and by
 * k_launch.c. */
#ifndef D4R_HIP_KERNELS_K_KERNEL_CONFIG_H
#define D4R_HIP_KERNELS_K_KERNEL_CONFIG_H

#include "models/format/k_layout.h"

#define K_WAVES 8
#define K_THREADS (32 * K_WAVES)
#define K_KEYS_BYTES 8192 /* keys and values of one head of one window */

#define K_GFX12_PLACES_32 2
#define K_GFX12_PLACES_64 2
#define K_GFX12_PLACES_96 1
#define K_GFX12_PLACES_128 1

#define K_GFX11_PLACES_32 2
#define K_GFX11_PLACES_64 1
#define K_GFX11_PLACES_96 1
#define K_GFX11_PLACES_128 1

#define K_NV_PLACES_32 1
#define K_NV_PLACES_64 1
#define K_NV_PLACES_96 1
#define K_NV_PLACES_128 1

/* Widths are macros: expanded before they are pasted. */
#define K_PLACES_2(machine, c) K_##machine##_PLACES_##c
#define K_PLACES(machine, c) K_PLACES_2(machine, c)
#define K_WINDOWS(places) (K_WAVES * (places) / 4) /* a workgroup; they share every chunk of weights */
/* What is brought at a time: a head's chunk, the largest; at width 32 the whole block. */
#define K_MEMORY_BYTES(c) ((c) == 32 ? D4R_K_BLOCK_BYTES(32, D4R_K_H0) : D4R_K_HEAD_BYTES_OF(c))

#endif
