/* Preset K's CPU kernels, compiled once for each instruction set level. */
#ifndef D4R_HIP_KERNELS_K_CPU_KERNELS_H
#define D4R_HIP_KERNELS_K_CPU_KERNELS_H

#include "hip_kernels/cpu_kernels.h"
#include "hip_kernels/k_layers.h"

typedef struct d4r_k_cpu_kernels {
    d4r_cpu_machine machine; /* an item is a window */
    /* For tests: this level's f16 conversions. `count`: a multiple of 16. */
    void (*encode)(const float *values, uint16_t *bits, int count);
    void (*decode)(const uint16_t *bits, float *values, int count);
} d4r_k_cpu_kernels;

extern const d4r_k_cpu_kernels d4r_k_cpu_kernels_baseline;
#if defined(__x86_64__)
extern const d4r_k_cpu_kernels d4r_k_cpu_kernels_v3;
extern const d4r_k_cpu_kernels d4r_k_cpu_kernels_v4;
#endif

#endif
