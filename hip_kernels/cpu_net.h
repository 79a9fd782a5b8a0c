/* Preset M's network on the CPU: the kernels of m_block.h compiled through tile_cpu.h, run by a thread pool.
 *
 * Results do not depend on the number of threads or on the instruction set level: the order of every sum is
 * fixed (docs/network.md). */
#ifndef D4R_HIP_KERNELS_CPU_NET_H
#define D4R_HIP_KERNELS_CPU_NET_H

#include <stdatomic.h>
#include "d4r/d4r.h"
#include "hip_kernels/m_layers.h"

typedef struct d4r_cpu_net d4r_cpu_net;

/* Instruction set levels; a level that the CPU lacks or that was not built is refused with D4R_ERROR_FEATURE.
 */
typedef enum d4r_cpu_level {
    D4R_CPU_AUTO = 0, /* the best one, or the one named by the environment variable D4R_CPU_LEVEL */
    D4R_CPU_BASELINE, /* whatever the build's own compiler flags allow: x86-64 SSE2, or another architecture
                       */
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

typedef struct d4r_cpu_net_params {
    const uint8_t *network; /* hipnet.bin (d4r_model.network), read during create only */
    size_t network_bytes;   /* D4R_M_NET_BYTES */
    d4r_size max_grid;      /* largest token grid (columns, rows) that will be run; d4r_sizes.token_grid */
    uint32_t threads;       /* 0: one for each core this process may use */
    d4r_cpu_level level;
    d4r_log log;
} d4r_cpu_net_params;

/* Allocates all memory, prepares the weights, starts the threads. Errors: ARGUMENT, MEMORY, FEATURE; *net is
 * NULL then. Any number of nets may exist; each has its own threads. */
d4r_status d4r_cpu_net_create(const d4r_cpu_net_params *params, d4r_cpu_net **net);
/* Waits for a run in progress, joins the threads, frees everything. NULL and NULL content are fine; *net
 * becomes NULL. */
void d4r_cpu_net_destroy(d4r_cpu_net **net);

/* Called on the calling thread after each layer: the layer's output as [rows * columns][channels] FP8 codes,
 * valid during the call only. */
typedef void (*d4r_cpu_net_layer_fn)(void *user, d4r_m_layer layer, const uint8_t *codes, uint32_t columns,
                                     uint32_t rows, uint32_t channels);

typedef struct d4r_cpu_net_run_params {
    d4r_size grid;              /* token grid: multiples of 16, at least 16, at most max_grid in tokens */
    const uint8_t *tokens;      /* [rows * columns][64] FP8 */
    uint8_t *head;              /* same layout; may be the same memory as tokens */
    const atomic_bool *cancel;  /* NULL, or polled often: the run stops early when it becomes true */
    d4r_cpu_net_layer_fn layer; /* NULL, or called after each layer */
    void *user;
} d4r_cpu_net_run_params;

/* Runs the network; allocates nothing. Calls on one net from several threads are serialised. Errors:
 * ARGUMENT; D4R_ERROR_TIMEOUT when *cancel became true before the end (head may then be partly written). */
d4r_status d4r_cpu_net_run(d4r_cpu_net *net, const d4r_cpu_net_run_params *params);

/* Bytes held: prepared weights, activations, scratch. */
uint64_t d4r_cpu_net_memory(const d4r_cpu_net *net);
uint32_t d4r_cpu_net_threads(const d4r_cpu_net *net);
d4r_cpu_level d4r_cpu_net_get_level(const d4r_cpu_net *net); /* never AUTO */

#endif
