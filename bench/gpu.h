/* A HIP device (either platform) for benchmarks: kernels of gpu_probe.cu, times by events. */
#ifndef D4R_BENCH_GPU_H
#define D4R_BENCH_GPU_H

#include <stdio.h>
#include "interop/hip.h"

typedef struct bench_gpu {
    d4r_hip *hip;
    d4r_hip_device device;
    d4r_hip_stream stream;
    d4r_hip_event start, end;
    d4r_hip_module probes;
    void *image;
} bench_gpu;

/* Opens device 0 of HIP's NVIDIA platform and loads `probes` (a cubin, or NULL: none). False after a message. */
bool bench_gpu_open(const char *probes, bench_gpu *gpu);
void bench_gpu_close(bench_gpu *gpu);
/* Device memory, NULL after a message; filled from `from` unless that is NULL. */
void *bench_gpu_memory(bench_gpu *gpu, size_t bytes, const void *from);
/* Launches `function` of the probes with blocks of 256 threads and waits; seconds by events, best of five, negative after
 * a message. */
double bench_gpu_time(bench_gpu *gpu, const char *function, unsigned blocks, void **arguments);

typedef struct bench_gpu_peaks {
    double mma_tflops; /* mma.sync m16n8k16, f16 operands, f32 sums: 2 operations a multiply-add */
    double copy_gb_s;  /* bytes read plus bytes written, 1 GiB each way */
} bench_gpu_peaks;
bool bench_gpu_measure_peaks(bench_gpu *gpu, bench_gpu_peaks *peaks);

/* "device": ..., "driver": ..., "date": ... and a comma. */
void bench_gpu_json_header(const bench_gpu *gpu, FILE *file);
/* Smallest, median and largest are taken from sorted values. */
void bench_sort(double *values, size_t count);

#endif
