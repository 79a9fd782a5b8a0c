/* The stream engine: one thread a stream, operations in order, and the HIP calls on streams. */
#include "hip_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t hipemu_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void hipemu_sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

void *hipemu_op_new(size_t size, const char *name, hipError_t (*run)(hipemu_op *, hipemu_stream *))
{
    hipemu_op *op = calloc(1, size);
    if (!op) return NULL;
    op->refs = 1;
    op->name = name;
    op->run = run;
    return op;
}

void hipemu_op_unref(hipemu_op *op)
{
    if (--op->refs) return;
    if (op->destroy) op->destroy(op);
    free(op);
}

bool hipemu_must_stop(const hipemu_device *device)
{
    pthread_mutex_lock(&hipemu.lock);
    bool stop = hipemu.shutdown || device->lost;
    pthread_mutex_unlock(&hipemu.lock);
    return stop;
}

/* ---- the worker ---- */

static void random_delay(void)
{
    pthread_mutex_lock(&hipemu.lock);
    uint64_t ns = 0;
    if (hipemu.config.delay_us) {
        hipemu.random = hipemu.random * 6364136223846793005u + 1442695040888963407u;
        ns = (hipemu.random >> 33) % ((uint64_t)hipemu.config.delay_us * 1000u);
    }
    pthread_mutex_unlock(&hipemu.lock);
    if (ns) hipemu_sleep_ns(ns);
}

static hipError_t device_status(const hipemu_device *device)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = device->lost ? device->sticky : hipemu.shutdown ? hipErrorNotInitialized : hipSuccess;
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

hipError_t hipemu_op_run(hipemu_op *op, hipemu_stream *stream)
{
    random_delay();
    hipError_t status = device_status(stream->device);
    if (status) {
        if (op->lost) op->lost(op, stream, status);
        return status;
    }
    if (hipemu_tracing()) hipemu_trace("stream %p begins %s", (void *)stream, op->name);
    status = op->run(op, stream);
    if (hipemu_tracing()) hipemu_trace("stream %p ends %s = %d", (void *)stream, op->name, status);
    return status;
}

static void stream_unref(hipemu_stream *stream)
{
    if (--stream->refs) return;
    pthread_cond_destroy(&stream->wake);
    free(stream);
}

static void *stream_thread(void *argument)
{
    hipemu_stream *stream = argument;
    pthread_mutex_lock(&hipemu.lock);
    for (;;) {
        while (!stream->head && !stream->quit) pthread_cond_wait(&stream->wake, &hipemu.lock);
        hipemu_entry *entry = stream->head;
        if (!entry) break;
        pthread_mutex_unlock(&hipemu.lock);
        hipError_t status = hipemu_op_run(entry->op, stream);
        pthread_mutex_lock(&hipemu.lock);
        stream->head = entry->next;
        if (!stream->head) stream->tail = NULL;
        stream->completed = entry->seq;
        if (entry->op->done) entry->op->done(entry->op, status);
        hipemu_op_unref(entry->op);
        free(entry);
        pthread_cond_broadcast(&hipemu.progress);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return NULL;
}

static hipError_t stream_new(hipemu_device *device, unsigned flags, int priority, hipemu_stream **out)
{
    hipemu_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return hipErrorOutOfMemory;
    stream->device = device;
    stream->flags = flags;
    stream->priority = priority;
    stream->refs = 1;
    pthread_cond_init(&stream->wake, NULL);
    if (pthread_create(&stream->thread, NULL, stream_thread, stream)) {
        pthread_cond_destroy(&stream->wake);
        free(stream);
        return hipErrorOutOfMemory;
    }
    hipemu_object_add(&stream->object, HIPEMU_STREAM);
    *out = stream;
    return hipSuccess;
}

hipemu_stream *hipemu_stream_get(hipStream_t handle)
{
    if (handle && handle != HIPEMU_STREAM_LEGACY && handle != HIPEMU_STREAM_PER_THREAD)
        return hipemu_object_valid(handle, HIPEMU_STREAM) ? handle : NULL;
    hipemu_device *device = hipemu_device_current();
    if (!device) return NULL;
    if (!device->null_stream && stream_new(device, hipStreamDefault, 0, &device->null_stream)) return NULL;
    return device->null_stream;
}

/* ---- submitting ---- */

static hipError_t append(hipemu_stream *stream, hipemu_op *op)
{
    hipemu_entry *entry = calloc(1, sizeof *entry);
    if (!entry) {
        hipemu_op_unref(op);
        return hipErrorOutOfMemory;
    }
    entry->op = op;
    entry->seq = ++stream->submitted;
    if (stream->tail)
        stream->tail->next = entry;
    else
        stream->head = entry;
    stream->tail = entry;
    pthread_cond_signal(&stream->wake);
    return hipSuccess;
}

typedef struct wait_stream_op {
    hipemu_op op;
    hipemu_stream *other;
    uint64_t seq;
} wait_stream_op;

static hipError_t wait_stream_run(hipemu_op *op, hipemu_stream *stream)
{
    wait_stream_op *wait = (wait_stream_op *)op;
    pthread_mutex_lock(&hipemu.lock);
    while (wait->other->completed < wait->seq && !hipemu.shutdown && !stream->device->lost)
        pthread_cond_wait(&hipemu.progress, &hipemu.lock);
    hipError_t status = stream->device->lost ? stream->device->sticky : hipSuccess;
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

static void wait_stream_destroy(hipemu_op *op)
{
    stream_unref(((wait_stream_op *)op)->other);
}

/* Makes `stream` wait for what `other` has been given so far. */
static hipError_t wait_for(hipemu_stream *stream, hipemu_stream *other)
{
    if (other->completed == other->submitted) return hipSuccess;
    wait_stream_op *wait = hipemu_op_new(sizeof *wait, "wait for another stream", wait_stream_run);
    if (!wait) return hipErrorOutOfMemory;
    wait->op.destroy = wait_stream_destroy;
    wait->other = other;
    wait->seq = other->submitted;
    other->refs++;
    return append(stream, &wait->op);
}

/* The null stream waits for all blocking streams of its device, and they wait for it. */
static hipError_t order_with_null_stream(hipemu_stream *stream)
{
    hipemu_device *device = stream->device;
    if (stream->flags & hipStreamNonBlocking) return hipSuccess;
    if (stream != device->null_stream)
        return device->null_stream ? wait_for(stream, device->null_stream) : hipSuccess;
    for (hipemu_object *o = hipemu.objects[HIPEMU_STREAM]; o; o = o->next) {
        hipemu_stream *other = (hipemu_stream *)o;
        if (other == stream || other->device != device || (other->flags & hipStreamNonBlocking)) continue;
        hipError_t status = wait_for(stream, other);
        if (status) return status;
    }
    return hipSuccess;
}

hipError_t hipemu_submit(hipemu_stream *stream, hipemu_op *op)
{
    hipError_t status;
    if (hipemu_capture_take(stream, op, &status)) return status;
    while (hipemu.config.sync_blocks && stream->syncing && !hipemu.shutdown &&
           !pthread_equal(stream->sync_thread, pthread_self()))
        pthread_cond_wait(&hipemu.progress, &hipemu.lock);
    status = stream->device->lost ? stream->device->sticky : order_with_null_stream(stream);
    if (status) {
        hipemu_op_unref(op);
        return status;
    }
    return append(stream, op);
}

hipError_t hipemu_stream_drain(hipemu_stream *stream)
{
    uint64_t seq = stream->submitted;
    stream->refs++;
    stream->syncing++;
    stream->sync_thread = pthread_self();
    while (stream->completed < seq && !hipemu.shutdown) pthread_cond_wait(&hipemu.progress, &hipemu.lock);
    stream->syncing--;
    hipError_t status = stream->device->lost ? stream->device->sticky : hipSuccess;
    stream_unref(stream);
    pthread_cond_broadcast(&hipemu.progress);
    return status;
}

hipError_t hipemu_submit_wait(hipStream_t handle, hipemu_op *op)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = hipErrorInvalidHandle;
    if (!stream)
        hipemu_op_unref(op);
    else
        status = hipemu_submit(stream, op);
    if (!status && !stream->capture) status = hipemu_stream_drain(stream);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

hipError_t hipemu_device_drain(hipemu_device *device)
{
    typedef struct mark {
        hipemu_stream *stream;
        uint64_t seq;
    } mark;
    size_t count = 0;
    for (hipemu_object *o = hipemu.objects[HIPEMU_STREAM]; o; o = o->next) count++;
    mark *marks = calloc(count + 1, sizeof *marks);
    if (!marks) return hipErrorOutOfMemory;
    count = 0;
    for (hipemu_object *o = hipemu.objects[HIPEMU_STREAM]; o; o = o->next) {
        hipemu_stream *stream = (hipemu_stream *)o;
        if (stream->device != device) continue;
        stream->refs++; /* it may be destroyed while the lock is dropped below */
        marks[count++] = (mark){stream, stream->submitted};
    }
    for (size_t i = 0; i < count; i++) {
        while (marks[i].stream->completed < marks[i].seq && !hipemu.shutdown)
            pthread_cond_wait(&hipemu.progress, &hipemu.lock);
        stream_unref(marks[i].stream);
    }
    free(marks);
    return device->lost ? device->sticky : hipSuccess;
}

static void stream_stop(hipemu_stream *stream)
{
    hipemu_object_remove(&stream->object);
    if (stream->device->null_stream == stream) stream->device->null_stream = NULL;
    stream->capture = NULL; /* an unfinished capture's graph stays in the table until shutdown */
    stream->quit = true;
    pthread_cond_broadcast(&stream->wake);
    pthread_mutex_unlock(&hipemu.lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&hipemu.lock);
    stream_unref(stream);
}

void hipemu_stream_stop_all(void)
{
    pthread_mutex_lock(&hipemu.lock);
    while (hipemu.objects[HIPEMU_STREAM]) stream_stop((hipemu_stream *)hipemu.objects[HIPEMU_STREAM]);
    pthread_mutex_unlock(&hipemu.lock);
}

/* ---- HIP calls ---- */

static hipError_t stream_create(hipStream_t *out, unsigned flags, int priority)
{
    if (!out || (flags != hipStreamDefault && flags != hipStreamNonBlocking)) return hipErrorInvalidValue;
    if (priority < -1) priority = -1;
    if (priority > 1) priority = 1;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    hipError_t status = device ? stream_new(device, flags, priority, out) : hipErrorNoDevice;
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamCreate(hipStream_t *stream);
hipError_t hipStreamCreate(hipStream_t *stream)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, stream_create(stream, 0, 0), "%p",
                   stream ? (void *)*stream : 0);
}

HIPEMU_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags);
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, stream_create(stream, flags, 0), "flags %u", flags);
}

HIPEMU_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority);
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, stream_create(stream, flags, priority),
                   "flags %u, priority %d", flags, priority);
}

static hipError_t priority_range(int *least, int *greatest)
{
    if (least) *least = 1;
    if (greatest) *greatest = -1;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest);
hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    HIPEMU_CALL(priority_range(least, greatest), " ");
}

static hipError_t stream_info(hipStream_t handle, int *priority, unsigned *flags)
{
    if (!priority && !flags) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (stream && priority) *priority = stream->priority;
    if (stream && flags) *flags = stream->flags;
    pthread_mutex_unlock(&hipemu.lock);
    return stream ? hipSuccess : hipErrorInvalidHandle;
}

HIPEMU_EXPORT hipError_t hipStreamGetPriority(hipStream_t stream, int *priority);
hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    HIPEMU_CALL(stream_info(stream, priority, NULL), "%p", (void *)stream);
}

HIPEMU_EXPORT hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags);
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    HIPEMU_CALL(stream_info(stream, NULL, flags), "%p", (void *)stream);
}

static hipError_t stream_device(hipStream_t handle, hipDevice_t *device)
{
    if (!device) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (stream) *device = (hipDevice_t)(stream->device - hipemu.devices);
    pthread_mutex_unlock(&hipemu.lock);
    return stream ? hipSuccess : hipErrorInvalidHandle;
}

HIPEMU_EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    HIPEMU_CALL(stream_device(stream, device), "%p", (void *)stream);
}

static hipError_t stream_destroy(hipStream_t handle)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipErrorInvalidHandle;
    if (handle && hipemu_object_valid(handle, HIPEMU_STREAM) && handle != handle->device->null_stream) {
        status = hipSuccess;
        /* As the real teardown does, this waits for the queue: an unsatisfied wait blocks here. */
        hipemu_stream_drain(handle);
        if (hipemu_object_valid(handle, HIPEMU_STREAM)) stream_stop(handle);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamDestroy(hipStream_t stream)
{
    HIPEMU_CALL_AS(.release = true, stream_destroy(stream), "%p", (void *)stream);
}

static hipError_t stream_synchronize(hipStream_t handle)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = hipErrorInvalidHandle;
    if (stream && stream->capture) {
        stream->capture_status = hipStreamCaptureStatusInvalidated;
        status = hipErrorStreamCaptureUnsupported;
    } else if (stream) {
        status = order_with_null_stream(stream);
        if (!status) status = hipemu_stream_drain(stream);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamSynchronize(hipStream_t stream)
{
    HIPEMU_CALL_AS(.usual = hipErrorLaunchFailure, stream_synchronize(stream), "%p", (void *)stream);
}

static hipError_t stream_query(hipStream_t handle)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = hipErrorInvalidHandle;
    if (stream) {
        while (hipemu.config.sync_blocks && stream->syncing && !hipemu.shutdown &&
               !pthread_equal(stream->sync_thread, pthread_self()))
            pthread_cond_wait(&hipemu.progress, &hipemu.lock);
        status = stream->device->lost                     ? stream->device->sticky
                 : stream->completed == stream->submitted ? hipSuccess
                                                          : hipErrorNotReady;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamQuery(hipStream_t stream);
hipError_t hipStreamQuery(hipStream_t stream)
{
    HIPEMU_CALL_AS(.query = true, stream_query(stream), "%p", (void *)stream);
}

static hipError_t device_synchronize(void)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    hipError_t status = device ? hipemu_device_drain(device) : hipErrorNoDevice;
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceSynchronize(void)
{
    HIPEMU_CALL_AS(.usual = hipErrorLaunchFailure, device_synchronize(), " ");
}
