/* A preset's network on the CPU: its kernels (m_block.h, k_block.h) compiled for the CPU's tiles, run by a thread pool.
 *
 * Results do not depend on the number of threads or on the instruction set level: the order of every sum is
 * fixed (docs/network.md, docs/preset_k.md). */
#ifndef D4R_HIP_KERNELS_CPU_NET_H
#define D4R_HIP_KERNELS_CPU_NET_H

#include <stdatomic.h>
#include "d4r/d4r.h"
#include "hip_kernels/net_desc.h"

typedef struct d4r_cpu_net d4r_cpu_net;

typedef struct d4r_cpu_net_params {
    const d4r_net_desc *net; /* the preset's */
    const uint8_t *network;  /* hipnet.bin (d4r_model.network), read during create only */
    size_t network_bytes;    /* net->image_bytes */
    d4r_size max_grid;       /* largest token grid (columns, rows) that will be run; d4r_sizes.token_grid */
    uint32_t threads;        /* 0: one for each core this process may use */
    d4r_cpu_level level;
    d4r_log log;
} d4r_cpu_net_params;

/* Allocates all memory, prepares the weights, starts the threads. Errors: ARGUMENT, MEMORY, FEATURE; *net is
 * NULL then. Any number of nets may exist; each has its own threads. */
d4r_status d4r_cpu_net_create(const d4r_cpu_net_params *params, d4r_cpu_net **net);
/* Waits for a run in progress, joins the threads, frees everything. NULL and NULL content are fine; *net
 * becomes NULL. */
void d4r_cpu_net_destroy(d4r_cpu_net **net);

/* Called on the calling thread after each layer: the layer's output as [rows * columns][channels] values of the preset (FP8
 * codes, f16), valid during the call only. */
typedef void (*d4r_cpu_net_layer_fn)(void *user, unsigned layer, const void *values, uint32_t columns,
                                     uint32_t rows, uint32_t channels);

typedef struct d4r_cpu_net_run_params {
    d4r_size grid;      /* a token grid of the preset, at most max_grid in tokens */
    uint32_t phase;     /* evaluations so far, modulo the preset's phases */
    const void *tokens; /* [rows * columns] tokens */
    void
        *head; /* [rows * columns]; may be the same memory as tokens if tokens and heads have the same size */
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
d4r_cpu_level
d4r_cpu_net_get_level(const d4r_cpu_net *net); /* never AUTO, nor a level without kernels of its own */

#endif
