/* The network's code objects as the emulated device sees them: resources from the metadata, and the instructions and
 * memory traffic of every layer on a grid, counted while it executes. */
#ifndef D4R_BENCH_KERNEL_COUNTS_H
#define D4R_BENCH_KERNEL_COUNTS_H

#include "hip_kernels/code_object.h"
#include "hip_kernels/m_launch.h"
#include "tools/hipemu/core.h"

typedef struct kernel_counter {
    const emu_arch *arch;
    d4r_m_machine machine;
    d4r_code_object object;
    emu_module *module;
    emu_memory *memory;
    emu_pool *pool;
    uint8_t *weights, *panels;
} kernel_counter;

/* `network`: hipnet.bin. False after a message. */
bool kernel_counter_open(kernel_counter *k, const char *arch, const char *kernels, const uint8_t *network,
                         unsigned threads);
void kernel_counter_close(kernel_counter *k);

const emu_kernel *kernel_counter_kernel(const kernel_counter *k, d4r_m_layer layer);

typedef struct layer_counts {
    emu_counters counters;
    uint64_t windows;
    double memory_bytes; /* tokens read and written and weights, each once */
} layer_counts;

/* Runs the network once on random tokens, a layer after the other. False after a message. */
bool kernel_counter_run(kernel_counter *k, d4r_size grid, layer_counts counts[D4R_M_LAYER_COUNT]);

#endif
