/* Preset M's CPU kernels, compiled once for each instruction set level. */
#ifndef D4R_HIP_KERNELS_CPU_KERNELS_H
#define D4R_HIP_KERNELS_CPU_KERNELS_H

#include <stdint.h>
#include "hip_kernels/m_layers.h"
#include "hip_kernels/net_desc.h"

typedef struct d4r_cpu_kernels {
    d4r_cpu_machine machine;
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
