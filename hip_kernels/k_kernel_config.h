/* How preset K's kernels are grouped into workgroups; read by the kernels and by k_launch.c. */
#ifndef D4R_HIP_KERNELS_K_KERNEL_CONFIG_H
#define D4R_HIP_KERNELS_K_KERNEL_CONFIG_H

#include "models/format/k_layout.h"

#define K_WAVES_A_WINDOW 4
#define K_WINDOWS 2 /* a workgroup; they share every chunk of weights */
#define K_THREADS (32 * K_WAVES_A_WINDOW * K_WINDOWS)
#define K_KEYS_BYTES 8192 /* keys and values of one head of one window */

#endif
