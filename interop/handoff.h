/* The hand-off: orders front, network and back of each frame on one timeline, and keeps the promise that
 * every B is signalled exactly once, whatever the network does.
 *
 * Frame n owns two values, A = 2n + 1 (signalled by the caller's submission of the front) and B = 2n + 2
 * (signalled here). The strategy `host`: a dedicated thread waits for A on the host, runs the network's
 * callback, and signals B from the host. The strategy `marker`: the callback comes as soon as the frame is
 * submitted, and enqueues its work behind a wait for the word that the front writes (interop/marker.h). A
 * second thread is the watchdog: it gives up a job that takes too
 * long, and answers for the frames behind it while the callback has not come back.
 *
 * Every function is thread safe. None but create and destroy allocates, frees or waits for a frame. */
#ifndef D4R_INTEROP_HANDOFF_H
#define D4R_INTEROP_HANDOFF_H

#include "interop/network.h"
#include "runtime/base/vk.h"

#define D4R_HANDOFF_FRAMES 64u /* frames remembered, and the most that can be outstanding */

typedef struct d4r_handoff d4r_handoff;

typedef struct d4r_handoff_desc {
    const d4r_vk *vk;     /* copied */
    d4r_network *network; /* attached already */
    VkSemaphore timeline; /* at 0 */
    uint32_t watchdog_ms; /* bound for one job, counted from when A is reached; > 0 */
    d4r_handoff_strategy strategy;
} d4r_handoff_desc;

d4r_status d4r_handoff_create(const d4r_handoff_desc *desc, d4r_handoff **handoff);

typedef enum d4r_handoff_end {
    D4R_HANDOFF_CLEAN = 0, /* nothing was outstanding */
    D4R_HANDOFF_OUTSTANDING =
        1,                     /* frames were given up; their A had been reached, so the device can go idle */
    D4R_HANDOFF_UNREACHED = 2, /* some A never came: its front was never submitted, or the device hangs */
    D4R_HANDOFF_ABANDONED = 3  /* a job has not come back: its buffers must stay allocated for ever */
} d4r_handoff_end;
/* Signals every outstanding B, cancels a running job and waits for it, at most twice the watchdog's bound.
 * Detaches the network, except when ABANDONED: then the job's own thread does so when it comes back. */
d4r_handoff_end d4r_handoff_destroy(d4r_handoff **handoff);

static inline uint64_t d4r_handoff_a(uint64_t id)
{
    return 2 * id + 1;
}
static inline uint64_t d4r_handoff_b(uint64_t id)
{
    return 2 * id + 2;
}

/* A new frame. D4R_ERROR_STATE: D4R_HANDOFF_FRAMES frames are outstanding. */
d4r_status d4r_handoff_begin(d4r_handoff *handoff, const d4r_sizes *sizes, uint64_t *id);
/* Takes back the frame begun last, whose values were not given to anyone. */
void d4r_handoff_rollback(d4r_handoff *handoff, uint64_t id);

d4r_status d4r_handoff_submit(d4r_handoff *handoff, uint64_t id);
d4r_status d4r_handoff_discard(d4r_handoff *handoff, uint64_t id);
d4r_status d4r_handoff_status(d4r_handoff *handoff, uint64_t id);
/* Frames failed or discarded so far: a change since the last recording means reset. */
uint64_t d4r_handoff_failures(d4r_handoff *handoff);

/* Waits until no frame is outstanding and no callback is active. D4R_ERROR_STATE: a frame is recorded, but neither
 * submitted nor discarded; D4R_ERROR_TIMEOUT: the bound of a job and 10 s have passed. */
d4r_status d4r_handoff_idle(d4r_handoff *handoff);

/* When a frame's job started (A seen) and ended, CLOCK_MONOTONIC; false when unknown or not run. */
bool d4r_handoff_times(d4r_handoff *handoff, uint64_t id, uint64_t *start_ns, uint64_t *end_ns);

#endif
