/* Counters a kernel has gathered, and their JSON: used by libhipemu and hipemu-run. */
#ifndef HIPEMU_COUNTS_H
#define HIPEMU_COUNTS_H

#include <stdio.h>
#include "core.h"

/* Self-contained: outlives the module. */
typedef struct hipemu_kernel_counts {
    struct hipemu_kernel_counts *next;
    const emu_arch *arch;
    char *kernel;
    uint32_t vgprs, sgprs, lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills;
    uint32_t waves_per_simd; /* at the last launch's block size */
    emu_counters counters;
    uint64_t memory_bytes; /* sizes of the buffers given, at most the bytes moved; summed over launches */
    uint64_t *mnemonics;
} hipemu_kernel_counts;

hipemu_kernel_counts *hipemu_counts_new(const emu_kernel *kernel); /* NULL when out of memory */
/* buffer_bytes: sizes of the allocations that this launch's arguments point into. */
void hipemu_counts_add(hipemu_kernel_counts *entry, const emu_counters *counters, const uint64_t *mnemonics,
                       uint64_t buffer_bytes);
void hipemu_counts_free(hipemu_kernel_counts **list);
/* Sizes of the distinct live allocations that any 8-byte word of the arguments points into. */
uint64_t hipemu_buffer_bytes(emu_memory *memory, const void *kernarg, size_t size);

/* Writes "hipemu-counts 1" JSON to a temporary name and renames it. */
bool hipemu_counts_json_file(const char *path, const hipemu_kernel_counts *list);
/* The estimate as text: one line a card that the kernel's architecture fits. */
void hipemu_estimate_print(FILE *file, const hipemu_kernel_counts *entry);

#endif
