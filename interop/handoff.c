#include "interop/handoff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "interop/timeline.h"
#include "runtime/base/log.h"

/* How often a thread that waits for A looks whether the engine is being destroyed. */
#define WAIT_SLICE_NS 50000000ull
/* Destroy waits this long for the A of a frame that was recorded but never passed to submit or discard, ...
 */
#define RECORDED_GRACE_NS 2000000000ull
/* ... and at most this long for that of a submitted one. */
#define SUBMITTED_GRACE_NS 10000000000ull
/* For the threads to end once nothing holds them up. */
#define EXIT_GRACE_NS 1000000000ull

typedef enum frame_state {
    FRAME_NONE = 0,
    FRAME_RECORDED, /* values are with the caller */
    FRAME_QUEUED,   /* submitted */
    FRAME_WAITING,  /* a thread waits for A or runs the job */
    FRAME_RESOLVED  /* B signalled, or not needed */
} frame_state;

typedef struct frame_slot {
    uint64_t id;
    frame_state state;
    d4r_status status;
    d4r_sizes sizes;
    uint64_t start_ns, end_ns;
    bool promised; /* submitted by the caller, so A will come */
    bool discarded;
} frame_slot;

struct d4r_handoff {
    d4r_vk vk;
    d4r_network *network;
    d4r_log log;
    VkSemaphore timeline;
    uint64_t watchdog_ns;
    d4r_handoff_strategy strategy;

    pthread_mutex_t lock; /* guards the rest except the completion; held while B is signalled */
    pthread_cond_t changed;
    frame_slot frames[D4R_HANDOFF_FRAMES];
    uint64_t next_id;   /* of the next frame to be recorded */
    uint64_t next_job;  /* first frame that no thread has taken yet */
    uint64_t resolved;  /* all frames below are resolved */
    uint64_t signalled; /* highest value signalled from here */
    uint64_t failures;

    bool busy; /* a callback is active or pending */
    bool cancelling;
    bool tokens_seen; /* A of the job was reached: only then may its B be signalled */
    uint64_t job_id;
    uint64_t job_deadline;

    bool closing, stop_watchdog, unreached;
    uint64_t recorded_deadline, submitted_deadline; /* for A, once closing */
    bool abandoned;
    unsigned threads; /* alive */
    pthread_t runner, watchdog;

    /* A lock of its own, never held during a call of anything: d4r_network_complete may come from a driver's
     * callback, which must not wait for a lock that is held around vkSignalSemaphore. */
    pthread_mutex_t completion_lock;
    pthread_cond_t completion_changed;
    bool completion_pending, completed;
    d4r_status completion_status;
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(deadline_ns / 1000000000ull),
                          .tv_nsec = (long)(deadline_ns % 1000000000ull)};
    pthread_cond_timedwait(cond, lock, &ts);
}

static frame_slot *slot_of(d4r_handoff *h, uint64_t id)
{
    return &h->frames[id % D4R_HANDOFF_FRAMES];
}

/* ---- resolving: lock held ---- */

static void signal_value(d4r_handoff *h, uint64_t value)
{
    VkResult result;
    if (value <= h->signalled || h->abandoned) return;
    h->signalled = value;
    result = d4r_timeline_signal(&h->vk, h->timeline, value);
    if (result != VK_SUCCESS) d4r_vk_fail(&h->vk, result, "vkSignalSemaphore (head ready)");
}

/* Signals the B of every frame below which everything is resolved: exactly once each, and in order. Nobody waits for a
 * discarded frame's B: the host may signal it only while no later A can come from the device, that is, when no later
 * frame is outstanding; otherwise that frame's values move the timeline past it. */
static void signal_resolved(d4r_handoff *h)
{
    while (h->resolved < h->next_id && slot_of(h, h->resolved)->state == FRAME_RESOLVED) {
        uint64_t id = h->resolved++;
        if (!slot_of(h, id)->discarded) signal_value(h, d4r_handoff_b(id));
    }
    if (h->resolved > 0 && h->resolved == h->next_id) signal_value(h, d4r_handoff_b(h->resolved - 1));
}

static void resolve(d4r_handoff *h, uint64_t id, d4r_status status)
{
    frame_slot *slot = slot_of(h, id);
    if (slot->id != id || slot->state == FRAME_RESOLVED) return; /* the watchdog was first */
    slot->state = FRAME_RESOLVED;
    slot->status = status;
    slot->end_ns = now_ns();
    if (status != D4R_OK) h->failures++;
    signal_resolved(h);
    pthread_cond_broadcast(&h->changed);
}

/* ---- jobs ---- */

/* Takes the next submitted frame: lock held. False when there is none. */
static bool take_job(d4r_handoff *h, uint64_t *id)
{
    while (h->next_job < h->next_id) {
        frame_slot *slot = slot_of(h, h->next_job);
        if (slot->state == FRAME_RESOLVED) {
            h->next_job++;
            continue;
        }
        if (slot->state != FRAME_QUEUED) return false;
        slot->state = FRAME_WAITING;
        *id = h->next_job++;
        return true;
    }
    return false;
}

/* Waits for A without the lock. D4R_OK, DEVICE, or STATE when the engine is being destroyed and A did not
 * come. */
static d4r_status wait_tokens(d4r_handoff *h, uint64_t id)
{
    for (;;) {
        VkResult result = d4r_timeline_wait(&h->vk, h->timeline, d4r_handoff_a(id), WAIT_SLICE_NS);
        bool give_up;
        if (result == VK_SUCCESS) return D4R_OK;
        if (result != VK_TIMEOUT) return d4r_vk_fail(&h->vk, result, "vkWaitSemaphores (tokens ready)");
        pthread_mutex_lock(&h->lock);
        give_up = h->closing &&
                  now_ns() >= (slot_of(h, id)->promised ? h->submitted_deadline : h->recorded_deadline);
        give_up = give_up || h->abandoned;
        /* What was never submitted will not hold up the device. */
        if (give_up && slot_of(h, id)->promised) h->unreached = true;
        pthread_mutex_unlock(&h->lock);
        if (give_up) return D4R_ERROR_STATE;
    }
}

static d4r_status wait_completion(d4r_handoff *h)
{
    d4r_status status;
    pthread_mutex_lock(&h->completion_lock);
    while (!h->completed) pthread_cond_wait(&h->completion_changed, &h->completion_lock);
    status = h->completion_status;
    pthread_mutex_unlock(&h->completion_lock);
    return status;
}

void d4r_network_complete(void *completion, d4r_status status)
{
    d4r_handoff *h = completion;
    if (!h) return;
    pthread_mutex_lock(&h->completion_lock);
    if (h->completion_pending && !h->completed) {
        h->completed = true;
        h->completion_status = status;
        pthread_cond_broadcast(&h->completion_changed);
    }
    pthread_mutex_unlock(&h->completion_lock);
}

/* The callback. No lock held. D4R_PENDING: wait_completion. */
static d4r_status call_network(d4r_handoff *h, uint64_t id, const d4r_sizes *sizes, uint32_t marker_value)
{
    const d4r_network_callbacks *callbacks = &h->network->callbacks;
    d4r_network_job job = {.frame = id,
                           .token_grid = sizes->token_grid,
                           .bytes = sizes->token_bytes,
                           .marker_value = marker_value,
                           .completion = h,
                           .head_bytes = sizes->head_bytes};
    pthread_mutex_lock(&h->completion_lock);
    h->completion_pending = true;
    h->completed = false;
    pthread_mutex_unlock(&h->completion_lock);
    return callbacks->run(callbacks->user, &job);
}

/* The bound for what comes next: lock held. */
static void set_deadline(d4r_handoff *h, bool tokens_seen, uint64_t deadline)
{
    h->tokens_seen = tokens_seen;
    h->job_deadline = deadline;
    pthread_cond_broadcast(&h->changed);
}

static void start_job(d4r_handoff *h, uint64_t id, bool tokens_seen)
{
    h->busy = true;
    h->job_id = id;
    slot_of(h, id)->start_ns = now_ns();
    set_deadline(h, tokens_seen, now_ns() + h->watchdog_ns);
}

/* Lock held. */
static void end_job(d4r_handoff *h, uint64_t id, d4r_status status)
{
    pthread_mutex_lock(&h->completion_lock);
    h->completion_pending = false;
    pthread_mutex_unlock(&h->completion_lock);
    if (status != D4R_OK && slot_of(h, id)->state != FRAME_RESOLVED)
        d4r_fail(&h->log, D4R_ERROR_NETWORK, "frame %" PRIu64 ": the %s network failed: %s", id,
                 h->network->name, d4r_status_name(status));
    resolve(h, id, status == D4R_OK ? D4R_OK : D4R_ERROR_NETWORK);
    while (h->cancelling) pthread_cond_wait(&h->changed, &h->lock);
    h->busy = false;
    pthread_cond_broadcast(&h->changed);
}

/* Strategy `host`, A was reached. Lock held on entry and exit; released around the callback. */
static void run_job(d4r_handoff *h, uint64_t id)
{
    const d4r_sizes sizes = slot_of(h, id)->sizes;
    d4r_status status;
    start_job(h, id, true);
    pthread_mutex_unlock(&h->lock);
    status = call_network(h, id, &sizes, 0);
    if (status == D4R_PENDING) status = wait_completion(h);
    pthread_mutex_lock(&h->lock);
    end_job(h, id, status);
}

static void cancel_job(d4r_handoff *h, uint64_t id);

/* Strategy `marker`: the network enqueues its work behind a wait for the marker; only then does this thread wait for
 * A, from which the watchdog counts. A frame whose A never comes lets the network go on by cancelling it. */
static void run_job_ahead(d4r_handoff *h, uint64_t id)
{
    const d4r_sizes sizes = slot_of(h, id)->sizes;
    d4r_status status, tokens;
    start_job(h, id, false);
    pthread_mutex_unlock(&h->lock);
    status = call_network(h, id, &sizes, (uint32_t)d4r_handoff_a(id));
    pthread_mutex_lock(&h->lock);
    set_deadline(h, false, UINT64_MAX);
    pthread_mutex_unlock(&h->lock);
    tokens = wait_tokens(h, id);
    pthread_mutex_lock(&h->lock);
    slot_of(h, id)->start_ns = now_ns();
    set_deadline(h, true, now_ns() + h->watchdog_ns);
    if (tokens != D4R_OK && status == D4R_PENDING) cancel_job(h, id);
    pthread_mutex_unlock(&h->lock);
    if (status == D4R_PENDING) status = wait_completion(h);
    pthread_mutex_lock(&h->lock);
    if (tokens == D4R_ERROR_DEVICE) resolve(h, id, tokens);
    end_job(h, id, tokens == D4R_OK ? status : tokens);
}

static void free_handoff(d4r_handoff *h)
{
    pthread_cond_destroy(&h->completion_changed);
    pthread_mutex_destroy(&h->completion_lock);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Lock held; released. Whoever leaves an abandoned hand-off last cleans up. */
static void leave_thread(d4r_handoff *h)
{
    bool last = --h->threads == 0 && h->abandoned;
    d4r_network *network = h->network;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    if (!last) return;
    d4r_network_detach(network);
    free_handoff(h);
}

static void *runner_main(void *argument)
{
    d4r_handoff *h = argument;
    uint64_t id = 0;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        d4r_status status;
        if (!take_job(h, &id)) {
            if (h->closing) break;
            pthread_cond_wait(&h->changed, &h->lock);
            continue;
        }
        if (h->strategy == D4R_HANDOFF_MARKER && !h->closing) {
            run_job_ahead(h, id);
            continue;
        }
        pthread_mutex_unlock(&h->lock);
        status = wait_tokens(h, id);
        pthread_mutex_lock(&h->lock);
        if (status != D4R_OK || h->closing)
            resolve(h, id, status == D4R_ERROR_DEVICE ? status : D4R_ERROR_NETWORK);
        else
            run_job(h, id);
    }
    h->stop_watchdog = true;
    leave_thread(h);
    return NULL;
}

/* ---- watchdog ---- */

/* Lock held; released around the callback. The runner does not go on while this is under way. */
static void cancel_job(d4r_handoff *h, uint64_t id)
{
    const d4r_network_callbacks *callbacks = &h->network->callbacks;
    if (!callbacks->cancel || h->cancelling) return;
    h->cancelling = true;
    pthread_mutex_unlock(&h->lock);
    callbacks->cancel(callbacks->user, id);
    pthread_mutex_lock(&h->lock);
    h->cancelling = false;
    pthread_cond_broadcast(&h->changed);
}

/* The runner is stuck in a callback that was given up: the frames behind it fail as soon as their turn comes.
 */
static void fail_next(d4r_handoff *h, uint64_t id)
{
    d4r_status status;
    pthread_mutex_unlock(&h->lock);
    status = wait_tokens(h, id);
    pthread_mutex_lock(&h->lock);
    if (!h->closing)
        d4r_fail(&h->log, D4R_ERROR_NETWORK,
                 "frame %" PRIu64 ": the %s network has not come back from frame %" PRIu64, id,
                 h->network->name, h->job_id);
    resolve(h, id, status == D4R_ERROR_DEVICE ? status : D4R_ERROR_NETWORK);
}

static void *watchdog_main(void *argument)
{
    d4r_handoff *h = argument;
    uint64_t id = 0;
    pthread_mutex_lock(&h->lock);
    while (!h->stop_watchdog) {
        if (h->busy && slot_of(h, h->job_id)->id == h->job_id &&
            slot_of(h, h->job_id)->state != FRAME_RESOLVED) {
            if (now_ns() < h->job_deadline) {
                wait_until(&h->changed, &h->lock, h->job_deadline);
                continue;
            }
            id = h->job_id;
            if (!h->tokens_seen) { /* stuck while enqueueing: B must still come after A */
                fail_next(h, id);
                continue;
            }
            d4r_fail(&h->log, D4R_ERROR_TIMEOUT,
                     "frame %" PRIu64 ": the %s network took longer than %" PRIu64 " ms; frame given up", id,
                     h->network->name, h->watchdog_ns / 1000000u);
            resolve(h, id, D4R_ERROR_TIMEOUT);
            cancel_job(h, id);
        } else if (h->busy && take_job(h, &id)) {
            fail_next(h, id);
        } else {
            pthread_cond_wait(&h->changed, &h->lock);
        }
    }
    leave_thread(h);
    return NULL;
}

/* ---- create and destroy ---- */

static void init_sync(d4r_handoff *h)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, &attributes);
    pthread_mutex_init(&h->completion_lock, NULL);
    pthread_cond_init(&h->completion_changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static d4r_status start_threads(d4r_handoff *h)
{
    if (pthread_create(&h->watchdog, NULL, watchdog_main, h) != 0) return D4R_ERROR_MEMORY;
    h->threads = 1;
    if (pthread_create(&h->runner, NULL, runner_main, h) == 0) {
        pthread_mutex_lock(&h->lock);
        h->threads++;
        pthread_mutex_unlock(&h->lock);
        return D4R_OK;
    }
    pthread_mutex_lock(&h->lock);
    h->stop_watchdog = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->watchdog, NULL);
    return D4R_ERROR_MEMORY;
}

d4r_status d4r_handoff_create(const d4r_handoff_desc *desc, d4r_handoff **handoff)
{
    d4r_handoff *h = calloc(1, sizeof *h);
    d4r_status status;
    *handoff = NULL;
    if (!h) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "hand-off: out of memory");
    h->vk = *desc->vk;
    h->log = desc->vk->log;
    h->network = desc->network;
    h->timeline = desc->timeline;
    h->watchdog_ns = (uint64_t)desc->watchdog_ms * 1000000ull;
    h->strategy = desc->strategy;
    init_sync(h);
    status = start_threads(h);
    if (status != D4R_OK) {
        free_handoff(h);
        return d4r_fail(&desc->vk->log, status, "hand-off: cannot start a thread");
    }
    *handoff = h;
    return D4R_OK;
}

/* Lock held. Everything recorded becomes a job of the closing hand-off; an active job is given up now. */
static bool close_handoff(d4r_handoff *h)
{
    bool outstanding = h->resolved < h->next_id;
    uint64_t now = now_ns();
    h->closing = true;
    h->recorded_deadline = now + RECORDED_GRACE_NS;
    h->submitted_deadline = now + (h->watchdog_ns < SUBMITTED_GRACE_NS ? h->watchdog_ns : SUBMITTED_GRACE_NS);
    for (uint64_t id = h->next_job; id < h->next_id; id++)
        if (slot_of(h, id)->state == FRAME_RECORDED) slot_of(h, id)->state = FRAME_QUEUED;
    pthread_cond_broadcast(&h->changed);
    if (h->busy && h->tokens_seen) {
        uint64_t id = h->job_id;
        resolve(h, id, D4R_ERROR_NETWORK);
        cancel_job(h, id);
    }
    return outstanding;
}

d4r_handoff_end d4r_handoff_destroy(d4r_handoff **handoff)
{
    d4r_handoff *h = *handoff;
    bool outstanding;
    d4r_handoff_end end;
    uint64_t deadline;
    *handoff = NULL;
    if (!h) return D4R_HANDOFF_CLEAN;
    pthread_mutex_lock(&h->lock);
    outstanding = close_handoff(h);
    deadline = h->submitted_deadline > h->recorded_deadline ? h->submitted_deadline : h->recorded_deadline;
    deadline += h->watchdog_ns + EXIT_GRACE_NS;
    while (h->threads > 0 && now_ns() < deadline) wait_until(&h->changed, &h->lock, deadline);
    if (h->threads > 0) {
        d4r_fail(&h->log, D4R_ERROR_TIMEOUT,
                 "the %s network has not come back from frame %" PRIu64 "; the shared buffers stay allocated",
                 h->network->name, h->job_id);
        h->abandoned = true;
        h->log = h->vk.log = (d4r_log){0};
        d4r_network_abandon(h->network);
        pthread_detach(h->runner);
        pthread_detach(h->watchdog);
        pthread_mutex_unlock(&h->lock);
        return D4R_HANDOFF_ABANDONED;
    }
    end = h->unreached ? D4R_HANDOFF_UNREACHED : outstanding ? D4R_HANDOFF_OUTSTANDING : D4R_HANDOFF_CLEAN;
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->runner, NULL);
    pthread_join(h->watchdog, NULL);
    d4r_network_detach(h->network);
    free_handoff(h);
    return end;
}

/* ---- frames ---- */

d4r_status d4r_handoff_begin(d4r_handoff *h, const d4r_sizes *sizes, uint64_t *id)
{
    d4r_status status = D4R_OK;
    pthread_mutex_lock(&h->lock);
    if (h->next_id - h->resolved >= D4R_HANDOFF_FRAMES ||
        (h->busy && h->next_id - h->job_id >= D4R_HANDOFF_FRAMES)) {
        status = D4R_ERROR_STATE;
    } else {
        *id = h->next_id++;
        *slot_of(h, *id) =
            (frame_slot){.id = *id, .state = FRAME_RECORDED, .status = D4R_PENDING, .sizes = *sizes};
    }
    pthread_mutex_unlock(&h->lock);
    if (status != D4R_OK)
        d4r_fail(&h->log, status, "%u frames are recorded and not finished: submit or discard them first",
                 D4R_HANDOFF_FRAMES);
    return status;
}

void d4r_handoff_rollback(d4r_handoff *h, uint64_t id)
{
    pthread_mutex_lock(&h->lock);
    slot_of(h, id)->state = FRAME_NONE;
    h->next_id = id;
    pthread_mutex_unlock(&h->lock);
}

/* Lock held: the slot when the frame is known and still with the caller, else NULL with a message. */
static frame_slot *recorded_slot(d4r_handoff *h, uint64_t id, const char *what)
{
    frame_slot *slot = slot_of(h, id);
    if (id < h->next_id && slot->id == id && slot->state == FRAME_RECORDED) return slot;
    d4r_fail(&h->log, D4R_ERROR_STATE, "%s: frame %" PRIu64 " %s", what, id,
             id >= h->next_id ? "was never recorded" : "was submitted or discarded already");
    return NULL;
}

d4r_status d4r_handoff_submit(d4r_handoff *h, uint64_t id)
{
    d4r_status status = D4R_OK;
    frame_slot *slot;
    pthread_mutex_lock(&h->lock);
    slot = recorded_slot(h, id, "d4r_network_submit");
    if (!slot) status = D4R_ERROR_STATE;
    for (uint64_t earlier = h->next_job; slot && earlier < id; earlier++)
        if (slot_of(h, earlier)->state == FRAME_RECORDED) {
            status = d4r_fail(&h->log, D4R_ERROR_STATE,
                              "d4r_network_submit: frame %" PRIu64 " before frame %" PRIu64
                              ", which is neither submitted nor discarded",
                              id, earlier);
            break;
        }
    if (status == D4R_OK) {
        slot->state = FRAME_QUEUED;
        slot->promised = true;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return status;
}

d4r_status d4r_handoff_discard(d4r_handoff *h, uint64_t id)
{
    frame_slot *slot;
    pthread_mutex_lock(&h->lock);
    slot = recorded_slot(h, id, "d4r_frame_discard");
    if (slot) {
        if (h->next_id != id + 1)
            d4r_log_print(&h->log, D4R_LOG_WARNING,
                          "d4r_frame_discard: frames recorded after frame %" PRIu64
                          " build on it: discard them too",
                          id);
        slot->state = FRAME_RESOLVED;
        slot->status = D4R_ERROR_STATE;
        slot->discarded = true;
        h->failures++;
        signal_resolved(h);
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->lock);
    return slot ? D4R_OK : D4R_ERROR_STATE;
}

d4r_status d4r_handoff_status(d4r_handoff *h, uint64_t id)
{
    frame_slot *slot = slot_of(h, id);
    d4r_status status;
    pthread_mutex_lock(&h->lock);
    status = id < h->next_id && slot->id == id ? slot->status : D4R_ERROR_STATE;
    pthread_mutex_unlock(&h->lock);
    return status;
}

uint64_t d4r_handoff_failures(d4r_handoff *h)
{
    uint64_t failures;
    pthread_mutex_lock(&h->lock);
    failures = h->failures;
    pthread_mutex_unlock(&h->lock);
    return failures;
}

d4r_status d4r_handoff_idle(d4r_handoff *h)
{
    const uint64_t deadline = now_ns() + h->watchdog_ns + SUBMITTED_GRACE_NS;
    d4r_status status = D4R_OK;
    pthread_mutex_lock(&h->lock);
    for (uint64_t id = h->resolved; id < h->next_id && status == D4R_OK; id++)
        if (slot_of(h, id)->state == FRAME_RECORDED) status = D4R_ERROR_STATE;
    while (status == D4R_OK && (h->resolved < h->next_id || h->busy)) {
        if (now_ns() >= deadline)
            status = D4R_ERROR_TIMEOUT;
        else
            wait_until(&h->changed, &h->lock, deadline);
    }
    pthread_mutex_unlock(&h->lock);
    return status;
}

bool d4r_handoff_times(d4r_handoff *h, uint64_t id, uint64_t *start_ns, uint64_t *end_ns)
{
    frame_slot *slot = slot_of(h, id);
    bool known;
    pthread_mutex_lock(&h->lock);
    known = id < h->next_id && slot->id == id && slot->state == FRAME_RESOLVED && slot->start_ns != 0;
    if (known) {
        *start_ns = slot->start_ns;
        *end_ns = slot->end_ns;
    }
    pthread_mutex_unlock(&h->lock);
    return known;
}
