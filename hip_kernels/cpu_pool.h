/* A pool of threads that share the items of one job at a time. */
#ifndef D4R_HIP_KERNELS_CPU_POOL_H
#define D4R_HIP_KERNELS_CPU_POOL_H

#include <stdatomic.h>
#include "d4r/d4r.h"

typedef struct d4r_cpu_pool d4r_cpu_pool;

/* Handles items first .. last - 1. Called from several threads at once. */
typedef void (*d4r_cpu_pool_fn)(void *user, int first, int last);

/* threads counts the caller of d4r_cpu_pool_run, which works too; 0: one for each core this process may use.
 * Errors: MEMORY, or IO when a thread cannot be started; *pool is NULL then. */
d4r_status d4r_cpu_pool_create(uint32_t threads, d4r_cpu_pool **pool);
/* Joins the threads. No run may be in progress. NULL content is fine; *pool becomes NULL. */
void d4r_cpu_pool_destroy(d4r_cpu_pool **pool);

/* Splits 0 .. count - 1 into chunks that the threads take one after the other; returns when all are done.
 * Stops handing out chunks when *cancel (may be NULL) is true; returns false then. One run at a time. */
bool d4r_cpu_pool_run(d4r_cpu_pool *pool, d4r_cpu_pool_fn fn, void *user, int count, int chunk,
                      const atomic_bool *cancel);
uint32_t d4r_cpu_pool_threads(const d4r_cpu_pool *pool);

#endif
