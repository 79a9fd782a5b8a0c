/* External memory by file descriptor, waits and writes on memory, and the semaphore calls that do not exist.
 */
#include "hip_internal.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct hipemu_external {
    hipemu_object object;
    hipemu_device *device;
    char *base;
    size_t size;
    int mapped; /* pointers given out and not yet freed */
};

/* Where a driver without a kernel object puts the memory in its file: at the end, page aligned from below. */
static off_t memory_offset(off_t file_size, uint64_t size)
{
    return (off_t)(((uint64_t)file_size - size) & ~(uint64_t)4095);
}

static hipError_t refuse(const char *why, int fd, unsigned long long size)
{
    /* Every failure reads the same on the real runtime; the reason goes into the trace alone. */
    hipemu_trace("import of fd %d, %llu bytes refused: %s", fd, size, why);
    return hipErrorOutOfMemory;
}

static hipError_t import(hipExternalMemory_t *out, const hipExternalMemoryHandleDesc *desc)
{
    if (!out || !desc || !desc->size || (desc->flags & ~(unsigned)hipExternalMemoryDedicated))
        return hipErrorInvalidValue;
    int fd = desc->handle.fd;
    if (hipemu.config.refuse_import) return refuse("D4R_HIPEMU_IMPORT=refuse", fd, desc->size);
    if (desc->type != hipExternalMemoryHandleTypeOpaqueFd) return refuse("handle type", fd, desc->size);
    struct stat info;
    if (fstat(fd, &info)) return refuse("not an open descriptor", fd, desc->size);
    if (!S_ISREG(info.st_mode) || info.st_size <= 0 || desc->size > (uint64_t)info.st_size)
        return refuse("smaller than asked for", fd, desc->size);
    hipemu_external *memory = calloc(1, sizeof *memory);
    if (!memory) return hipErrorOutOfMemory;
    void *base = mmap(NULL, desc->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      memory_offset(info.st_size, desc->size));
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    if (base == MAP_FAILED || !device || device->lost) {
        pthread_mutex_unlock(&hipemu.lock);
        if (base != MAP_FAILED) munmap(base, desc->size);
        free(memory);
        return refuse("it cannot be mapped, or the device is lost", fd, desc->size);
    }
    memory->device = device;
    memory->base = base;
    memory->size = desc->size;
    hipemu_object_add(&memory->object, HIPEMU_EXTERNAL);
    pthread_mutex_unlock(&hipemu.lock);
    *out = memory; /* the descriptor stays the caller's */
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipImportExternalMemory(hipExternalMemory_t *out,
                                                 const hipExternalMemoryHandleDesc *desc);
hipError_t hipImportExternalMemory(hipExternalMemory_t *out, const hipExternalMemoryHandleDesc *desc)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, import(out, desc), "type %d, fd %d, size %llu, flags %#x",
                   desc ? desc->type : -1, desc ? desc->handle.fd : -1, desc ? desc->size : 0,
                   desc ? desc->flags : 0);
}

static hipError_t map_buffer(void **out, hipExternalMemory_t memory, const hipExternalMemoryBufferDesc *desc)
{
    if (!out || !desc || desc->flags || !desc->size) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipErrorInvalidValue;
    if (hipemu_object_valid(memory, HIPEMU_EXTERNAL) && desc->offset <= memory->size &&
        desc->size <= memory->size - desc->offset) {
        char *base = memory->base + desc->offset;
        status = hipemu_block_add(HIPEMU_BLOCK_MAPPED, base, desc->size, memory->device, memory);
        if (status == hipErrorInvalidValue)
            hipemu_message(
                "hipExternalMemoryGetMappedBuffer: overlaps a range that is already mapped; not emulated");
        if (!status) {
            memory->mapped++;
            *out = base;
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipExternalMemoryGetMappedBuffer(void **out, hipExternalMemory_t memory,
                                                          const hipExternalMemoryBufferDesc *desc);
hipError_t hipExternalMemoryGetMappedBuffer(void **out, hipExternalMemory_t memory,
                                            const hipExternalMemoryBufferDesc *desc)
{
    HIPEMU_CALL(map_buffer(out, memory, desc), "%p, offset %llu, size %llu, flags %#x", (void *)memory,
                desc ? desc->offset : 0, desc ? desc->size : 0, desc ? desc->flags : 0);
}

hipError_t hipemu_external_unmapped(hipemu_external *memory)
{
    memory->mapped--;
    return hipSuccess;
}

static hipError_t destroy(hipExternalMemory_t memory)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipErrorInvalidValue;
    if (!hipemu_object_valid(memory, HIPEMU_EXTERNAL)) {
    } else if (memory->mapped) {
        hipemu_message(
            "hipDestroyExternalMemory before hipFree of %d mapped pointer(s): wrong order, nothing done",
            memory->mapped);
    } else {
        hipemu_object_remove(&memory->object);
        hipemu_bury(memory->base, memory->size, true);
        free(memory);
        status = hipSuccess;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipDestroyExternalMemory(hipExternalMemory_t memory);
hipError_t hipDestroyExternalMemory(hipExternalMemory_t memory)
{
    HIPEMU_CALL_AS(.release = true, destroy(memory), "%p", (void *)memory);
}

void hipemu_external_free_all(void)
{
    pthread_mutex_lock(&hipemu.lock);
    while (hipemu.objects[HIPEMU_EXTERNAL]) {
        hipemu_external *memory = (hipemu_external *)hipemu.objects[HIPEMU_EXTERNAL];
        hipemu_object_remove(&memory->object);
        hipemu_bury(memory->base, memory->size, true);
        free(memory);
    }
    pthread_mutex_unlock(&hipemu.lock);
}

/* ---- semaphores: abort, as assert-enabled builds of the real runtime do on Linux ---- */

static _Noreturn hipError_t no_semaphores(const char *name)
{
    hipemu_message("%s: HIP has no external semaphores on Linux; this call must never be made; aborting",
                   name);
    abort();
}

#define HIPEMU_NO_SEMAPHORE(name, ...)          \
    HIPEMU_EXPORT hipError_t name(__VA_ARGS__); \
    hipError_t name(__VA_ARGS__)                \
    {                                           \
        no_semaphores(__func__);                \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
HIPEMU_NO_SEMAPHORE(hipImportExternalSemaphore, hipExternalSemaphore_t *out, const void *desc)
HIPEMU_NO_SEMAPHORE(hipDestroyExternalSemaphore, hipExternalSemaphore_t semaphore)
HIPEMU_NO_SEMAPHORE(hipSignalExternalSemaphoresAsync, const hipExternalSemaphore_t *semaphores,
                    const void *params, unsigned count, hipStream_t stream)
HIPEMU_NO_SEMAPHORE(hipWaitExternalSemaphoresAsync, const hipExternalSemaphore_t *semaphores,
                    const void *params, unsigned count, hipStream_t stream)
#pragma GCC diagnostic pop

/* ---- waiting on and writing memory ---- */

typedef struct value_op {
    hipemu_op op;
    void *address;
    uint64_t value, mask;
    unsigned flags;
    bool wide;
} value_op;

static bool value_reached(const value_op *op)
{
    uint64_t now = op->wide ? __atomic_load_n((uint64_t *)op->address, __ATOMIC_ACQUIRE)
                            : __atomic_load_n((uint32_t *)op->address, __ATOMIC_ACQUIRE);
    uint64_t masked = now & op->mask;
    uint64_t full = op->wide ? UINT64_MAX : UINT32_MAX;
    switch (op->flags) {
    case hipStreamWaitValueGte:
        return masked >= op->value;
    case hipStreamWaitValueEq:
        return masked == op->value;
    case hipStreamWaitValueAnd:
        return (masked & op->value) != 0;
    default:
        return (~(masked | (op->value & op->mask)) & full) != 0;
    }
}

/* Polls without a bound, like the spinning kernel of the real runtime. */
static hipError_t wait_value_run(hipemu_op *op, hipemu_stream *stream)
{
    while (!value_reached((value_op *)op)) {
        if (hipemu_must_stop(stream->device)) return hipErrorLaunchFailure;
        hipemu_sleep_ns(20000);
    }
    return hipSuccess;
}

static hipError_t write_value_run(hipemu_op *op, hipemu_stream *stream)
{
    (void)stream;
    value_op *write = (value_op *)op;
    if (write->wide)
        __atomic_store_n((uint64_t *)write->address, write->value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)write->address, (uint32_t)write->value, __ATOMIC_RELEASE);
    emu_memory_mark_written(hipemu.memory, write->address, write->wide ? 8 : 4);
    return hipSuccess;
}

static hipError_t submit_value(hipStream_t handle, const value_op *what, bool wait)
{
    size_t width = what->wide ? 8 : 4;
    if (!what->address || (uintptr_t)what->address % width) return hipErrorInvalidValue;
    if (what->flags > (wait ? hipStreamWaitValueNor : 0)) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    emu_allocation found;
    hipError_t status = hipErrorInvalidHandle;
    if (stream && !emu_memory_find(hipemu.memory, what->address, width, &found)) {
        status = hipErrorInvalidValue;
    } else if (stream && stream->capture) {
        stream->capture_status = hipStreamCaptureStatusInvalidated;
        status = hipErrorStreamCaptureUnsupported;
    } else if (stream) {
        value_op *op = hipemu_op_new(sizeof *op, wait ? "wait value" : "write value",
                                     wait ? wait_value_run : write_value_run);
        status = hipErrorOutOfMemory;
        if (op) {
            hipemu_op head = op->op;
            *op = *what;
            op->op = head;
            status = hipemu_submit(stream, &op->op);
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamWaitValue32(hipStream_t stream, void *address, uint32_t value,
                                              unsigned flags, uint32_t mask);
hipError_t hipStreamWaitValue32(hipStream_t stream, void *address, uint32_t value, unsigned flags,
                                uint32_t mask)
{
    value_op op = {.address = address, .value = value, .mask = mask, .flags = flags};
    HIPEMU_CALL(submit_value(stream, &op, true), "stream %p, %p, %u, flags %u", (void *)stream, address,
                value, flags);
}

HIPEMU_EXPORT hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, uint64_t value,
                                              unsigned flags, uint64_t mask);
hipError_t hipStreamWaitValue64(hipStream_t stream, void *address, uint64_t value, unsigned flags,
                                uint64_t mask)
{
    value_op op = {.address = address, .value = value, .mask = mask, .flags = flags, .wide = true};
    HIPEMU_CALL(submit_value(stream, &op, true), "stream %p, %p, %llu, flags %u", (void *)stream, address,
                (unsigned long long)value, flags);
}

HIPEMU_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void *address, uint32_t value,
                                               unsigned flags);
hipError_t hipStreamWriteValue32(hipStream_t stream, void *address, uint32_t value, unsigned flags)
{
    value_op op = {.address = address, .value = value, .flags = flags};
    HIPEMU_CALL(submit_value(stream, &op, false), "stream %p, %p, %u", (void *)stream, address, value);
}

HIPEMU_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, uint64_t value,
                                               unsigned flags);
hipError_t hipStreamWriteValue64(hipStream_t stream, void *address, uint64_t value, unsigned flags)
{
    value_op op = {.address = address, .value = value, .flags = flags, .wide = true};
    HIPEMU_CALL(submit_value(stream, &op, false), "stream %p, %p, %llu", (void *)stream, address,
                (unsigned long long)value);
}
