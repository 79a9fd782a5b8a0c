/* Instruction set levels of the CPU networks; a level that the CPU lacks or that was not built is refused with
 * D4R_ERROR_FEATURE. */
#ifndef D4R_HIP_KERNELS_CPU_LEVEL_H
#define D4R_HIP_KERNELS_CPU_LEVEL_H

#include "d4r/d4r.h"

typedef enum d4r_cpu_level {
    D4R_CPU_AUTO = 0, /* the best one, or the one named by the environment variable D4R_CPU_LEVEL */
    D4R_CPU_BASELINE, /* whatever the build's own compiler flags allow: x86-64 SSE2, or another architecture */
    D4R_CPU_V3,       /* x86-64-v3: AVX2 */
    D4R_CPU_V4,       /* x86-64-v4: AVX-512 */
    D4R_CPU_V4_BF16,  /* x86-64-v4 with AVX512-BF16 */
    D4R_CPU_LEVEL_COUNT
} d4r_cpu_level;

/* "auto", "baseline", "v3", "v4", "v4bf16"; NULL for an unknown value. */
const char *d4r_cpu_level_name(d4r_cpu_level level);
/* True when this build and this CPU can run the level (AUTO: always). */
bool d4r_cpu_level_available(d4r_cpu_level level);
/* Replaces AUTO by the level that will run. Errors: ARGUMENT (unknown, or so named by the environment), FEATURE. */
d4r_status d4r_cpu_level_resolve(d4r_cpu_level *level, const d4r_log *log);

#endif
