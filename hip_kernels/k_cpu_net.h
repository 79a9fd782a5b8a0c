/* Preset K's network on the CPU: the kernels of k_block.h through tile_half_cpu.h, run by a thread pool. Results depend
 * neither on the number of threads nor on the instruction set level (docs/preset_k.md). */
#ifndef D4R_HIP_KERNELS_K_CPU_NET_H
#define D4R_HIP_KERNELS_K_CPU_NET_H

#include <stdatomic.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/k_layers.h"

typedef struct d4r_k_cpu_net d4r_k_cpu_net;

typedef struct d4r_k_cpu_net_params {
    const uint8_t *network; /* the packed image (models/format/k_layout.h), read during create only */
    size_t network_bytes;   /* D4R_K_NET_BYTES */
    d4r_size max_grid;      /* largest token grid that will be run */
    uint32_t threads;       /* 0: one for each core this process may use */
    d4r_cpu_level level;    /* D4R_CPU_V4_BF16 runs as D4R_CPU_V4: bf16 cannot hold f16 values */
    d4r_log log;
} d4r_k_cpu_net_params;

/* Allocates all memory, prepares the weights, starts the threads. Errors: ARGUMENT, MEMORY, FEATURE; *net is NULL then. */
d4r_status d4r_k_cpu_net_create(const d4r_k_cpu_net_params *params, d4r_k_cpu_net **net);
/* Waits for a run in progress. NULL and NULL content are fine; *net becomes NULL. */
void d4r_k_cpu_net_destroy(d4r_k_cpu_net **net);

/* Called on the calling thread after each layer: its output as [rows * columns][channels] f16, valid during the call. */
typedef void (*d4r_k_cpu_net_layer_fn)(void *user, d4r_k_layer layer, const uint16_t *values,
                                       uint32_t columns, uint32_t rows, uint32_t channels);

typedef struct d4r_k_cpu_net_run_params {
    d4r_size grid;                /* token grid: multiples of 32, at least 32, at most max_grid in tokens */
    uint32_t phase;               /* evaluations so far, modulo 8 */
    const uint16_t *tokens;       /* [rows * columns][32] f16 */
    uint16_t *head;               /* [rows * columns][40] f16; not the same memory as tokens */
    const atomic_bool *cancel;    /* NULL, or polled often: the run stops early when it becomes true */
    d4r_k_cpu_net_layer_fn layer; /* NULL, or called after each layer */
    void *user;
} d4r_k_cpu_net_run_params;

/* Runs the network; allocates nothing. Calls on one net from several threads are serialised. Errors: ARGUMENT; TIMEOUT when
 * *cancel became true before the end (head may then be partly written). */
d4r_status d4r_k_cpu_net_run(d4r_k_cpu_net *net, const d4r_k_cpu_net_run_params *params);

uint64_t d4r_k_cpu_net_memory(const d4r_k_cpu_net *net);
uint32_t d4r_k_cpu_net_threads(const d4r_k_cpu_net *net);
d4r_cpu_level d4r_k_cpu_net_level(const d4r_k_cpu_net *net); /* never AUTO or V4_BF16 */

#endif
