/* What the stages' pipelines cost on a Radeon, as RADV's compiler says: Mesa can pretend to have such a GPU ("null device"),
 * for which it compiles everything and runs nothing. */
#ifndef D4R_BENCH_STAGE_COUNTS_H
#define D4R_BENCH_STAGE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stage_counts {
    char preset[2];  /* "M", "K" */
    char name[64];   /* of the pipeline */
    char output[24]; /* format of the output image, where the pipeline depends on it */
    char range[4];   /* "HDR", "LDR" */
    /* the driver's own statistics */
    uint32_t subgroup_size;
    uint64_t sgprs, vgprs, spilled_sgprs, spilled_vgprs, code_bytes, lds_bytes, scratch_bytes;
    uint64_t subgroups_per_simd, instructions, copies, branches, latency, inverse_throughput;
    uint64_t vmem_clauses, smem_clauses;
    /* counted in the disassembly, each instruction once, whatever loops and branches are around it */
    uint32_t valu, transcendental; /* the latter are among the former: exp, log, rcp, rsq, sqrt, sin, cos */
    uint32_t lds_loads, lds_load_bytes, lds_stores, lds_store_bytes; /* bytes of one invocation */
    uint32_t samples, image_loads, image_stores; /* by a sampler; texel fetches; texel stores */
    uint32_t buffer_loads, buffer_stores, scalar_loads;
} stage_counts;

typedef struct stage_counts_list {
    stage_counts *items;
    size_t count, capacity;
    char device[256];
    uint32_t driver_version[2]; /* Mesa's: major, minor */
} stage_counts_list;

typedef enum stage_counts_result {
    STAGE_COUNTS_OK,
    STAGE_COUNTS_NO_DEVICE,
    STAGE_COUNTS_FAILED
} stage_counts_result;

/* Makes all pipelines of both presets on the null device of a family ("gfx1100", "navi21"), and fills the list, which
 * stage_counts_free frees whatever came of it. Not OK: `why` has one line. Sets RADV_FORCE_FAMILY and the loader's
 * variables, so nothing else of the process may use Vulkan. */
stage_counts_result stage_counts_collect(const char *family, stage_counts_list *list, char *why, size_t size);
void stage_counts_free(stage_counts_list *list);

#endif
