/* Host functions: they run on one thread, as on the real runtime's signal handler, and hold up their stream.
 */
#include "hip_internal.h"

#include <stdlib.h>
#include <time.h>

typedef struct host_call {
    struct host_call *next;
    hipHostFn_t fn;
    hipStreamCallback_t callback; /* when fn is NULL */
    hipStream_t stream;
    hipError_t status;
    void *user;
    bool done, abandoned;
} host_call;

/* Under hipemu.lock. */
static struct {
    pthread_t thread;
    pthread_cond_t wake;
    bool started, quit;
    host_call *head, *tail;
} handler = {.wake = PTHREAD_COND_INITIALIZER};

static void *handler_thread(void *argument)
{
    (void)argument;
    hipemu_callback_mark(true);
    pthread_mutex_lock(&hipemu.lock);
    for (;;) {
        while (!handler.head && !handler.quit) pthread_cond_wait(&handler.wake, &hipemu.lock);
        host_call *call = handler.head;
        if (!call) break;
        handler.head = call->next;
        if (!handler.head) handler.tail = NULL;
        bool run = !hipemu.shutdown; /* at exit, what they would touch may be gone */
        pthread_mutex_unlock(&hipemu.lock);
        if (run && call->fn)
            call->fn(call->user);
        else if (run)
            call->callback(call->stream, call->status, call->user);
        pthread_mutex_lock(&hipemu.lock);
        call->done = true;
        if (call->abandoned) free(call);
        pthread_cond_broadcast(&hipemu.progress);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return NULL;
}

/* Hands the call to the handler and waits until the function has returned. */
static hipError_t call_host(const host_call *what, hipemu_stream *stream)
{
    host_call *call = malloc(sizeof *call);
    if (!call) return hipErrorOutOfMemory;
    *call = *what;
    pthread_mutex_lock(&hipemu.lock);
    if (!handler.started && !hipemu.shutdown)
        handler.started = pthread_create(&handler.thread, NULL, handler_thread, NULL) == 0;
    if (!handler.started || hipemu.shutdown) {
        pthread_mutex_unlock(&hipemu.lock);
        free(call);
        return hipErrorOutOfMemory;
    }
    if (handler.tail)
        handler.tail->next = call;
    else
        handler.head = call;
    handler.tail = call;
    pthread_cond_signal(&handler.wake);
    while (!call->done && !hipemu.shutdown) pthread_cond_wait(&hipemu.progress, &hipemu.lock);
    bool done = call->done;
    call->abandoned = !done;
    hipError_t status = stream->device->lost ? stream->device->sticky : hipSuccess;
    pthread_mutex_unlock(&hipemu.lock);
    if (done) free(call);
    return status;
}

void hipemu_callback_stop(void)
{
    pthread_mutex_lock(&hipemu.lock);
    bool started = handler.started;
    handler.quit = true;
    pthread_cond_signal(&handler.wake);
    pthread_mutex_unlock(&hipemu.lock);
    if (started) {
        /* A function that never returns must not hold up the process's exit. */
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 2;
        if (pthread_timedjoin_np(handler.thread, NULL, &limit)) {
            hipemu_message("a host function still runs at exit; its thread is left behind");
            pthread_detach(handler.thread);
        }
    }
    pthread_mutex_lock(&hipemu.lock);
    handler.started = handler.quit = false;
    pthread_mutex_unlock(&hipemu.lock);
}

/* ---- operations ---- */

typedef struct host_op {
    hipemu_op op;
    host_call call;
} host_op;

static hipError_t host_run(hipemu_op *op, hipemu_stream *stream)
{
    return call_host(&((host_op *)op)->call, stream);
}

/* A lost device never reaches a host function (option: it does); a stream callback is told the error. */
static void host_lost(hipemu_op *op, hipemu_stream *stream, hipError_t status)
{
    host_call call = ((host_op *)op)->call;
    pthread_mutex_lock(&hipemu.lock);
    bool run = !hipemu.shutdown && (!call.fn || hipemu.config.lost_callbacks);
    pthread_mutex_unlock(&hipemu.lock);
    call.status = status;
    if (run) call_host(&call, stream);
}

hipError_t hipemu_host_op(hipHostFn_t fn, void *user, hipemu_op **out)
{
    host_op *op = hipemu_op_new(sizeof *op, "host function", host_run);
    if (!op) return hipErrorOutOfMemory;
    op->op.lost = host_lost;
    op->call.fn = fn;
    op->call.user = user;
    *out = &op->op;
    return hipSuccess;
}

static hipError_t launch_host(hipStream_t handle, hipHostFn_t fn, hipStreamCallback_t callback, void *user)
{
    if (!fn && !callback) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipemu_op *op = NULL;
    hipError_t status = stream ? hipemu_host_op(fn, user, &op) : hipErrorInvalidHandle;
    if (!status) {
        ((host_op *)op)->call.callback = callback;
        ((host_op *)op)->call.stream = handle;
        if (!fn) op->name = "stream callback";
        status = hipemu_submit(stream, op);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void *user);
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void *user)
{
    HIPEMU_CALL(launch_host(stream, fn, NULL, user), "stream %p", (void *)stream);
}

HIPEMU_EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *user,
                                              unsigned flags);
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *user, unsigned flags)
{
    HIPEMU_CALL(flags ? hipErrorInvalidValue : launch_host(stream, NULL, callback, user), "stream %p",
                (void *)stream);
}
