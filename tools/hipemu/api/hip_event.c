/* Events: markers in streams. */
#include "hip_internal.h"

#include <stdlib.h>

void hipemu_marker_unref(hipemu_marker *marker)
{
    if (marker && --marker->refs == 0) free(marker);
}

typedef struct marker_op {
    hipemu_op op;
    hipemu_marker *marker;
} marker_op;

static hipError_t record_run(hipemu_op *op, hipemu_stream *stream)
{
    (void)op, (void)stream;
    return hipSuccess;
}

static void record_done(hipemu_op *op, hipError_t status)
{
    hipemu_marker *marker = ((marker_op *)op)->marker;
    marker->done = true;
    marker->status = status;
    marker->time_ns = hipemu_now_ns();
}

static void marker_destroy(hipemu_op *op)
{
    hipemu_marker_unref(((marker_op *)op)->marker);
}

static hipError_t wait_run(hipemu_op *op, hipemu_stream *stream)
{
    hipemu_marker *marker = ((marker_op *)op)->marker;
    pthread_mutex_lock(&hipemu.lock);
    while (!marker->done && !hipemu.shutdown && !stream->device->lost)
        pthread_cond_wait(&hipemu.progress, &hipemu.lock);
    pthread_mutex_unlock(&hipemu.lock);
    return hipSuccess;
}

static hipError_t create(hipEvent_t *out, unsigned flags)
{
    const unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                           hipEventDisableSystemFence | hipEventReleaseToDevice | hipEventReleaseToSystem;
    if (!out || (flags & ~known)) return hipErrorInvalidValue;
    if ((flags & hipEventReleaseToDevice) && (flags & hipEventReleaseToSystem)) return hipErrorInvalidValue;
    if ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming)) return hipErrorInvalidValue;
    hipemu_event *event = calloc(1, sizeof *event);
    if (!event) return hipErrorOutOfMemory;
    pthread_mutex_lock(&hipemu.lock);
    event->device = hipemu_device_current();
    event->flags = flags;
    hipError_t status = event->device ? hipSuccess : hipErrorNoDevice;
    if (!status) hipemu_object_add(&event->object, HIPEMU_EVENT);
    pthread_mutex_unlock(&hipemu.lock);
    if (status)
        free(event);
    else
        *out = event;
    return status;
}

HIPEMU_EXPORT hipError_t hipEventCreate(hipEvent_t *event);
hipError_t hipEventCreate(hipEvent_t *event)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, create(event, 0), " ");
}

HIPEMU_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags);
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, create(event, flags), "flags %#x", flags);
}

static hipError_t destroy(hipEvent_t event)
{
    pthread_mutex_lock(&hipemu.lock);
    bool valid = hipemu_object_valid(event, HIPEMU_EVENT);
    if (valid) {
        hipemu_object_remove(&event->object);
        hipemu_marker_unref(event->marker);
        free(event);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return valid ? hipSuccess : hipErrorInvalidHandle;
}

HIPEMU_EXPORT hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventDestroy(hipEvent_t event)
{
    HIPEMU_CALL_AS(.release = true, destroy(event), "%p", (void *)event);
}

static hipError_t record_locked(hipEvent_t event, hipStream_t handle)
{
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (!stream || !hipemu_object_valid(event, HIPEMU_EVENT) || event->device != stream->device)
        return hipErrorInvalidHandle;
    if (stream->capture) {
        stream->capture_status = hipStreamCaptureStatusInvalidated;
        return hipErrorStreamCaptureUnsupported;
    }
    hipemu_marker *marker = calloc(1, sizeof *marker);
    marker_op *op = marker ? hipemu_op_new(sizeof *op, "event record", record_run) : NULL;
    if (!op) {
        free(marker);
        return hipErrorOutOfMemory;
    }
    marker->refs = 2;
    op->marker = marker;
    op->op.done = record_done;
    op->op.destroy = marker_destroy;
    hipError_t status = hipemu_submit(stream, &op->op);
    if (status) {
        hipemu_marker_unref(marker);
        return status;
    }
    hipemu_marker_unref(event->marker);
    event->marker = marker;
    return hipSuccess;
}

static hipError_t record(hipEvent_t event, hipStream_t stream)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = record_locked(event, stream);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    HIPEMU_CALL(record(event, stream), "%p, stream %p", (void *)event, (void *)stream);
}

/* wait: block until it has happened. */
static hipError_t event_status(hipEvent_t event, bool wait)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipErrorInvalidHandle;
    if (hipemu_object_valid(event, HIPEMU_EVENT)) {
        hipemu_marker *marker = event->marker;
        hipemu_device *device = event->device;
        status = hipSuccess;
        if (marker) {
            marker->refs++;
            while (wait && !marker->done && !hipemu.shutdown && !device->lost)
                pthread_cond_wait(&hipemu.progress, &hipemu.lock);
            status = device->lost ? device->sticky : marker->done ? marker->status : hipErrorNotReady;
            hipemu_marker_unref(marker);
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventSynchronize(hipEvent_t event)
{
    HIPEMU_CALL_AS(.usual = hipErrorLaunchFailure, event_status(event, true), "%p", (void *)event);
}

HIPEMU_EXPORT hipError_t hipEventQuery(hipEvent_t event);
hipError_t hipEventQuery(hipEvent_t event)
{
    HIPEMU_CALL_AS(.query = true, event_status(event, false), "%p", (void *)event);
}

static hipError_t elapsed_locked(float *ms, hipEvent_t start, hipEvent_t end)
{
    if (!ms) return hipErrorInvalidValue;
    if (!hipemu_object_valid(start, HIPEMU_EVENT) || !hipemu_object_valid(end, HIPEMU_EVENT))
        return hipErrorInvalidHandle;
    if (((start->flags | end->flags) & hipEventDisableTiming) || !start->marker || !end->marker)
        return hipErrorInvalidHandle;
    if (!start->marker->done || !end->marker->done) return hipErrorNotReady;
    *ms = (float)((double)((int64_t)(end->marker->time_ns - start->marker->time_ns)) * 1e-6);
    return hipSuccess;
}

static hipError_t elapsed(float *ms, hipEvent_t start, hipEvent_t end)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = elapsed_locked(ms, start, end);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t end);
hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t end)
{
    HIPEMU_CALL(elapsed(ms, start, end), "%p, %p", (void *)start, (void *)end);
}

static hipError_t wait_event(hipStream_t handle, hipEvent_t event, unsigned flags)
{
    if (flags) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = hipErrorInvalidHandle;
    if (stream && hipemu_object_valid(event, HIPEMU_EVENT)) {
        status = hipSuccess;
        if (stream->capture) {
            stream->capture_status = hipStreamCaptureStatusInvalidated;
            status = hipErrorStreamCaptureUnsupported;
        } else if (event->marker) {
            marker_op *op = hipemu_op_new(sizeof *op, "event wait", wait_run);
            status = hipErrorOutOfMemory;
            if (op) {
                op->marker = event->marker;
                op->marker->refs++;
                op->op.destroy = marker_destroy;
                status = hipemu_submit(stream, &op->op);
            }
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    HIPEMU_CALL(wait_event(stream, event, flags), "stream %p, event %p", (void *)stream, (void *)event);
}
