/* The CPU machine's kernels, compiled once for each instruction set level. */
#ifndef D4R_HIP_KERNELS_CPU_KERNELS_H
#define D4R_HIP_KERNELS_CPU_KERNELS_H

#include <stdint.h>
#include "hip_kernels/m_args.h"
#include "hip_kernels/m_layers.h"

/* Runs the window groups first .. last - 1 of one layer. */
typedef void (*d4r_cpu_kernel_fn)(const d4r_m_args *args, int first, int last);

typedef struct d4r_cpu_kernels {
    int windows_a_group;
    int panel_scale; /* bytes of a weight in the prepared form */
    d4r_cpu_kernel_fn layers[D4R_M_LAYER_COUNT];
    /* Converts the matrices of hipnet.bin; `panels` has D4R_M_NET_BYTES * panel_scale bytes, 64-byte aligned.
     */
    void (*prepare)(const uint8_t *network, unsigned char *panels);
    /* For tests and stages of tests: FP8 conversion of this level. */
    void (*encode)(const float *values, uint8_t *codes, int count); /* count: a multiple of 16 */
    void (*decode)(const uint8_t *codes, float *values, int count);
    void (*round)(const float *values, float *rounded, int count);
} d4r_cpu_kernels;

extern const d4r_cpu_kernels d4r_cpu_kernels_baseline;
#if defined(__x86_64__)
extern const d4r_cpu_kernels d4r_cpu_kernels_v3;
extern const d4r_cpu_kernels d4r_cpu_kernels_v4;
extern const d4r_cpu_kernels d4r_cpu_kernels_v4bf16;
#endif

#endif
