/* Between launch.c, group.c and pool.c. Private. */
#ifndef HIPEMU_LAUNCH_H
#define HIPEMU_LAUNCH_H

#include "wave.h"

/* Runs workgroups of a launch until none is left or it stops; the worker's buffers are kept for the next call. */
void emu_worker_run(emu_worker *worker, emu_run *run);
void emu_worker_free(emu_worker *worker);

/* Runs one workgroup; false when the launch has to stop. */
bool emu_group_run(emu_worker *worker, uint64_t index);

/* Offers a run to the pool's threads; withdraw returns when none works on it any more. pool may be NULL. */
void emu_pool_offer(emu_pool *pool, emu_run *run);
void emu_pool_withdraw(emu_pool *pool, emu_run *run);

/* counters.c: instruction counters of a launch from the executions of each op. */
void emu_counters_from_ops(const emu_code *code, const uint64_t *counts, emu_counters *counters,
                           uint64_t *mnemonics);

#endif
