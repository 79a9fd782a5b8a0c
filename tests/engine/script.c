/* The scripted network of rig.h. */
#include <string.h>
#include <time.h>
#include "tests/engine/rig.h"

void script_init(script *s)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
}

void script_end(script *s)
{
    if (s->has_worker) pthread_join(s->worker, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

/* A head without NaN codes, FP8 or f16, that depends on every token byte. */
static void write_head(script *s, const d4r_network_job *job)
{
    const uint8_t *tokens = s->buffers.tokens_map;
    uint8_t *head = s->buffers.head_map;
    for (uint64_t i = 0; i < job->head_bytes; i++) head[i] = (uint8_t)(tokens[i % job->bytes] & 0xbf);
}

static d4r_status on_attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    script *s = user;
    (void)log;
    pthread_mutex_lock(&s->lock);
    s->buffers = *buffers;
    s->attached++;
    pthread_mutex_unlock(&s->lock);
    return D4R_OK;
}

static void *complete_later(void *argument)
{
    script *s = argument;
    test_sleep_ms(20);
    write_head(s, &s->pending);
    d4r_network_complete(s->pending.completion, D4R_OK);
    return NULL;
}

/* Jobs are serialised, so one worker's place is enough. */
static d4r_status start_pending(script *s, const d4r_network_job *job)
{
    if (s->has_worker) pthread_join(s->worker, NULL);
    s->pending = *job;
    s->has_worker = pthread_create(&s->worker, NULL, complete_later, s) == 0;
    return s->has_worker ? D4R_PENDING : D4R_ERROR_MEMORY;
}

static d4r_status hang(script *s, const d4r_network_job *job)
{
    pthread_mutex_lock(&s->lock);
    while (!s->released && !(s->heeds_cancel && s->cancels && s->cancelled_frame == job->frame))
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    test_sleep_ms(s->late_ms);
    write_head(s, job); /* late, but the buffers must still be there */
    return D4R_OK;
}

static d4r_status on_run(void *user, const d4r_network_job *job)
{
    script *s = user;
    d4r_status status = D4R_OK;
    script_action action;
    pthread_mutex_lock(&s->lock);
    s->runs++;
    s->last_frame = job->frame;
    action = s->actions[job->frame % 64];
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    switch (action) {
    case SCRIPT_OK:
        write_head(s, job);
        break;
    case SCRIPT_FAIL:
        status = D4R_ERROR_NETWORK;
        break;
    case SCRIPT_PENDING:
        status = start_pending(s, job);
        break;
    case SCRIPT_HANG:
        status = hang(s, job);
        break;
    }
    pthread_mutex_lock(&s->lock);
    s->returned++;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void on_cancel(void *user, uint64_t frame)
{
    script *s = user;
    pthread_mutex_lock(&s->lock);
    s->cancels++;
    s->cancelled_frame = frame;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void on_detach(void *user)
{
    script *s = user;
    pthread_mutex_lock(&s->lock);
    s->detached++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void on_destroy(void *user)
{
    script *s = user;
    pthread_mutex_lock(&s->lock);
    s->destroyed++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

d4r_network *script_network(script *s, uint32_t watchdog_ms)
{
    d4r_network_callbacks callbacks = {.user = s,
                                       .name = "script",
                                       .needs_host_map = true,
                                       .watchdog_ms = watchdog_ms,
                                       .attach = on_attach,
                                       .run = on_run,
                                       .cancel = on_cancel,
                                       .detach = on_detach,
                                       .destroy = on_destroy};
    d4r_network *network = NULL;
    d4r_network_create(&callbacks, NULL, &network);
    return network;
}

void script_release(script *s)
{
    pthread_mutex_lock(&s->lock);
    s->released = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

bool script_wait_runs(script *s, unsigned runs)
{
    struct timespec deadline;
    bool ok = true;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 5;
    pthread_mutex_lock(&s->lock);
    while (s->runs < runs && ok) ok = pthread_cond_timedwait(&s->changed, &s->lock, &deadline) == 0;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

unsigned script_count(script *s, const unsigned *counter)
{
    unsigned value;
    pthread_mutex_lock(&s->lock);
    value = *counter;
    pthread_mutex_unlock(&s->lock);
    return value;
}
