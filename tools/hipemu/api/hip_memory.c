/* Memory: allocation, registration, copies, fills. A device address is the host address. */
#include "hip_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* All under hipemu.lock. */
static hipemu_block *blocks;

typedef struct grave {
    struct grave *next;
    void *base;
    size_t size;
    bool mapped;
} grave;
static grave *graves;

/* ---- ranges ---- */

hipError_t hipemu_block_add(hipemu_block_kind kind, void *base, size_t size, hipemu_device *device,
                            hipemu_external *external)
{
    hipemu_block *block = calloc(1, sizeof *block);
    if (!block) return hipErrorOutOfMemory;
    *block = (hipemu_block){blocks, kind, base, size, device, external};
    unsigned flags = kind == HIPEMU_BLOCK_DEVICE ? EMU_MEMORY_DEFAULT : EMU_MEMORY_WRITTEN;
    emu_status status = emu_memory_add(hipemu.memory, base, size, flags, block);
    if (status != EMU_OK) {
        free(block);
        return status == EMU_NO_MEMORY ? hipErrorOutOfMemory : hipErrorInvalidValue;
    }
    blocks = block;
    return hipSuccess;
}

hipemu_block *hipemu_block_find(const void *base)
{
    for (hipemu_block *block = blocks; block; block = block->next)
        if (block->base == base) return block;
    return NULL;
}

void hipemu_block_remove(hipemu_block *block)
{
    emu_memory_remove(hipemu.memory, block->base);
    for (hipemu_block **link = &blocks; *link; link = &(*link)->next) {
        if (*link != block) continue;
        *link = block->next;
        break;
    }
    free(block);
}

static void release(void *base, size_t size, bool mapped)
{
    if (mapped)
        munmap(base, size);
    else
        free(base);
}

static void dig_up(void)
{
    while (graves && !hipemu.running) {
        grave *first = graves;
        graves = first->next;
        release(first->base, first->size, first->mapped);
        free(first);
    }
}

void hipemu_bury(void *base, size_t size, bool mapped)
{
    grave *entry = malloc(sizeof *entry);
    if (!entry) return; /* rather leak than free under a running kernel */
    *entry = (grave){graves, base, size, mapped};
    graves = entry;
    dig_up();
}

void hipemu_memory_free_all(void)
{
    pthread_mutex_lock(&hipemu.lock);
    while (blocks) {
        hipemu_block *block = blocks;
        bool own = block->kind == HIPEMU_BLOCK_DEVICE || block->kind == HIPEMU_BLOCK_HOST;
        void *base = block->base;
        size_t size = block->size;
        hipemu_block_remove(block);
        if (own) hipemu_bury(base, size, false);
    }
    dig_up();
    pthread_mutex_unlock(&hipemu.lock);
}

/* ---- allocation ---- */

/* Takes the bytes from the device's budget. */
static hipError_t reserve(size_t size, hipemu_block_kind kind, hipemu_device **device)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *d = *device = hipemu_device_current();
    hipError_t status = !d ? hipErrorNoDevice : d->lost ? d->sticky : hipSuccess;
    if (!status && kind == HIPEMU_BLOCK_DEVICE) {
        if (size > d->memory_total - d->memory_used)
            status = hipErrorOutOfMemory;
        else
            d->memory_used += size;
    }
    dig_up();
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

static hipError_t allocate(void **out, size_t size, hipemu_block_kind kind)
{
    if (!out) return hipErrorInvalidValue;
    *out = NULL;
    hipemu_device *device;
    hipError_t status = reserve(size, kind, &device);
    if (status || !size) return status;
    void *base = NULL;
    if (posix_memalign(&base, 4096, size)) base = NULL;
    /* All ones: NaN in every floating format, so that a read before the first write shows. */
    if (base) memset(base, 0xff, size);
    pthread_mutex_lock(&hipemu.lock);
    status = base ? hipemu_block_add(kind, base, size, device, NULL) : hipErrorOutOfMemory;
    if (status && kind == HIPEMU_BLOCK_DEVICE) device->memory_used -= size;
    pthread_mutex_unlock(&hipemu.lock);
    if (status)
        free(base);
    else
        *out = base;
    return status;
}

HIPEMU_EXPORT hipError_t hipMalloc(void **out, size_t size);
hipError_t hipMalloc(void **out, size_t size)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, allocate(out, size, HIPEMU_BLOCK_DEVICE), "%zu", size);
}

static hipError_t host_malloc(void **out, size_t size, unsigned flags)
{
    if (flags & ~(hipHostMallocValidFlags | HIPEMU_HOST_MALLOC_HIGH_FLAGS)) return hipErrorInvalidValue;
    return allocate(out, size, HIPEMU_BLOCK_HOST);
}

HIPEMU_EXPORT hipError_t hipHostMalloc(void **out, size_t size, unsigned flags);
hipError_t hipHostMalloc(void **out, size_t size, unsigned flags)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, host_malloc(out, size, flags), "%zu, flags %#x", size,
                   flags);
}

/* Frees device, host and mapped memory after the synchronisation that the real call does. */
static hipError_t free_block(void *base, bool host)
{
    if (!base) return hipSuccess;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_block *block = hipemu_block_find(base);
    bool known = block && (host ? block->kind == HIPEMU_BLOCK_HOST
                                : block->kind == HIPEMU_BLOCK_DEVICE || block->kind == HIPEMU_BLOCK_MAPPED);
    if (!known) {
        pthread_mutex_unlock(&hipemu.lock);
        return hipErrorInvalidValue;
    }
    hipemu_block copy = *block;
    /* External memory belongs to no device as far as hipFree knows: only device 0's streams are waited for.
     */
    hipemu_device_drain(copy.kind == HIPEMU_BLOCK_MAPPED ? &hipemu.devices[0] : copy.device);
    block = hipemu_block_find(base);
    if (block) {
        hipemu_block_remove(block);
        if (copy.kind == HIPEMU_BLOCK_DEVICE) copy.device->memory_used -= copy.size;
        if (copy.kind == HIPEMU_BLOCK_MAPPED)
            hipemu_external_unmapped(copy.external);
        else
            hipemu_bury(base, copy.size, false);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return block ? hipSuccess : hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipFree(void *base);
hipError_t hipFree(void *base)
{
    HIPEMU_CALL_AS(.release = true, free_block(base, false), "%p", base);
}

HIPEMU_EXPORT hipError_t hipHostFree(void *base);
hipError_t hipHostFree(void *base)
{
    HIPEMU_CALL_AS(.release = true, free_block(base, true), "%p", base);
}

/* ---- host registration ---- */

static hipError_t host_register(void *base, size_t size, unsigned flags)
{
    if (!base || !size || (flags & ~(unsigned)hipHostRegisterValidFlags)) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    hipError_t status = !device ? hipErrorNoDevice : device->lost ? device->sticky : hipSuccess;
    if (!status) status = hipemu_block_add(HIPEMU_BLOCK_REGISTERED, base, size, device, NULL);
    if (status == hipErrorInvalidValue) status = hipErrorHostMemoryAlreadyRegistered;
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipHostRegister(void *base, size_t size, unsigned flags);
hipError_t hipHostRegister(void *base, size_t size, unsigned flags)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, host_register(base, size, flags), "%p, %zu, flags %#x", base,
                   size, flags);
}

static hipError_t host_unregister(void *base)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_block *block = hipemu_block_find(base);
    hipError_t status = hipErrorHostMemoryNotRegistered;
    if (block && block->kind == HIPEMU_BLOCK_REGISTERED) {
        /* The caller frees the pages next: nothing may be inside them. */
        for (int i = 0; i < hipemu.config.device_count; i++) hipemu_device_drain(&hipemu.devices[i]);
        block = hipemu_block_find(base);
        if (block) hipemu_block_remove(block);
        status = hipSuccess;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipHostUnregister(void *base);
hipError_t hipHostUnregister(void *base)
{
    HIPEMU_CALL_AS(.release = true, host_unregister(base), "%p", base);
}

static hipError_t device_pointer(void **out, void *host, unsigned flags)
{
    if (!out || flags) return hipErrorInvalidValue;
    emu_allocation found;
    pthread_mutex_lock(&hipemu.lock);
    bool known = emu_memory_find(hipemu.memory, host, 1, &found) &&
                 ((hipemu_block *)found.user)->kind != HIPEMU_BLOCK_DEVICE;
    pthread_mutex_unlock(&hipemu.lock);
    if (!known) return hipErrorInvalidValue;
    *out = host;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipHostGetDevicePointer(void **out, void *host, unsigned flags);
hipError_t hipHostGetDevicePointer(void **out, void *host, unsigned flags)
{
    HIPEMU_CALL(device_pointer(out, host, flags), "%p", host);
}

/* ---- information ---- */

static hipError_t memory_info(size_t *left, size_t *total)
{
    if (!left || !total) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    if (device) {
        *total = device->memory_total;
        *left = device->memory_total - device->memory_used;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return device ? hipSuccess : hipErrorNoDevice;
}

HIPEMU_EXPORT hipError_t hipMemGetInfo(size_t *left, size_t *total);
hipError_t hipMemGetInfo(size_t *left, size_t *total)
{
    HIPEMU_CALL(memory_info(left, total), " ");
}

static hipError_t address_range(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer)
{
    emu_allocation found;
    pthread_mutex_lock(&hipemu.lock);
    bool known = emu_memory_find(hipemu.memory, pointer, 1, &found);
    pthread_mutex_unlock(&hipemu.lock);
    if (!known) return hipErrorInvalidValue;
    if (base) *base = ((hipemu_block *)found.user)->base;
    if (size) *size = found.size;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer);
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer)
{
    HIPEMU_CALL(address_range(base, size, pointer), "%p", pointer);
}

/* ---- copies and fills ---- */

typedef struct copy_op {
    hipemu_op op;
    void *dst;
    const void *src; /* NULL: fill */
    size_t size;     /* bytes */
    uint32_t value;
    unsigned width; /* bytes an element of a fill */
} copy_op;

/* A range that starts inside a known allocation must end inside it. */
static bool range_fits(const void *base, size_t size, bool must_be_known)
{
    emu_allocation found;
    if (emu_memory_find(hipemu.memory, base, size, &found)) return true;
    return !must_be_known && !emu_memory_find(hipemu.memory, base, 1, &found);
}

static void fill(void *dst, uint32_t value, unsigned width, size_t size)
{
    if (width == 1) {
        memset(dst, (int)(value & 0xff), size);
        return;
    }
    for (size_t at = 0; at < size; at += width) memcpy((char *)dst + at, &value, width);
}

static bool operands_live(const copy_op *copy)
{
    emu_allocation found;
    bool dst = emu_memory_find(hipemu.memory, copy->dst, copy->size, &found);
    bool src = copy->src && emu_memory_find(hipemu.memory, copy->src, copy->size, &found);
    return dst || src;
}

static hipError_t copy_run(hipemu_op *op, hipemu_stream *stream)
{
    copy_op *copy = (copy_op *)op;
    pthread_mutex_lock(&hipemu.lock);
    bool live = operands_live(copy);
    hipemu.running += live;
    pthread_mutex_unlock(&hipemu.lock);
    if (live) {
        if (copy->src)
            memmove(copy->dst, copy->src, copy->size);
        else
            fill(copy->dst, copy->value, copy->width, copy->size);
    }
    pthread_mutex_lock(&hipemu.lock);
    hipemu.running -= live;
    if (live)
        emu_memory_mark_written(hipemu.memory, copy->dst, copy->size);
    else
        hipemu_device_lose(stream->device, hipErrorLaunchFailure,
                           "a queued copy found its device memory freed");
    dig_up();
    pthread_mutex_unlock(&hipemu.lock);
    return live ? hipSuccess : hipErrorLaunchFailure;
}

/* Runs for host-to-host copies, which touch no device memory. */
static hipError_t host_copy_run(hipemu_op *op, hipemu_stream *stream)
{
    (void)stream;
    copy_op *copy = (copy_op *)op;
    memmove(copy->dst, copy->src, copy->size);
    return hipSuccess;
}

hipError_t hipemu_memcpy_op(void *dst, const void *src, size_t size, int kind, hipemu_op **out)
{
    if (!dst || !src) return hipErrorInvalidValue;
    if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
    bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
    bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
    emu_allocation found;
    if (!range_fits(dst, size, to_device) || !range_fits(src, size, from_device)) return hipErrorInvalidValue;
    bool any = emu_memory_find(hipemu.memory, dst, size, &found) ||
               emu_memory_find(hipemu.memory, src, size, &found);
    copy_op *op = hipemu_op_new(sizeof *op, "copy", any ? copy_run : host_copy_run);
    if (!op) return hipErrorOutOfMemory;
    op->dst = dst;
    op->src = src;
    op->size = size;
    *out = &op->op;
    return hipSuccess;
}

hipError_t hipemu_memset_op(void *dst, uint32_t value, unsigned width, size_t count, hipemu_op **out)
{
    if (!dst || count > SIZE_MAX / width || (uintptr_t)dst % width) return hipErrorInvalidValue;
    if (!range_fits(dst, count * width, true)) return hipErrorInvalidValue;
    copy_op *op = hipemu_op_new(sizeof *op, "fill", copy_run);
    if (!op) return hipErrorOutOfMemory;
    op->dst = dst;
    op->size = count * width;
    op->value = value;
    op->width = width;
    *out = &op->op;
    return hipSuccess;
}

static hipError_t submit(hipStream_t handle, hipError_t built, hipemu_op *op, bool wait)
{
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (built || !stream) {
        if (op) hipemu_op_unref(op);
        return built ? built : hipErrorInvalidHandle;
    }
    bool capturing = stream->capture != NULL;
    hipError_t status = hipemu_submit(stream, op);
    return status || !wait || capturing ? status : hipemu_stream_drain(stream);
}

static hipError_t copy(void *dst, const void *src, size_t size, int kind, hipStream_t stream, bool wait)
{
    if (!size) return hipSuccess;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_op *op = NULL;
    hipError_t status = hipemu_memcpy_op(dst, src, size, kind, &op);
    status = submit(stream, status, op, wait);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

/* Copies within the device do not hold the caller up; fills neither. */
static hipError_t copy_sync(void *dst, const void *src, size_t size, int kind)
{
    return copy(dst, src, size, kind, NULL, kind != hipMemcpyDeviceToDevice);
}

static hipError_t set(void *dst, uint32_t value, unsigned width, size_t count, hipStream_t stream)
{
    if (!count) return hipSuccess;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_op *op = NULL;
    hipError_t status = hipemu_memset_op(dst, value, width, count, &op);
    status = submit(stream, status, op, false);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipMemcpy(void *dst, const void *src, size_t size, int kind);
hipError_t hipMemcpy(void *dst, const void *src, size_t size, int kind)
{
    HIPEMU_CALL(copy_sync(dst, src, size, kind), "%p, %p, %zu, kind %d", dst, src, size, kind);
}

HIPEMU_EXPORT hipError_t hipMemcpyAsync(void *dst, const void *src, size_t size, int kind,
                                        hipStream_t stream);
hipError_t hipMemcpyAsync(void *dst, const void *src, size_t size, int kind, hipStream_t stream)
{
    HIPEMU_CALL(copy(dst, src, size, kind, stream, false), "%p, %p, %zu, kind %d, stream %p", dst, src, size,
                kind, (void *)stream);
}

HIPEMU_EXPORT hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t size, int kind,
                                             hipStream_t stream);
hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t size, int kind, hipStream_t stream)
{
    HIPEMU_CALL(copy(dst, src, size, kind, stream, true), "%p, %p, %zu, kind %d, stream %p", dst, src, size,
                kind, (void *)stream);
}

HIPEMU_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t size);
hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t size)
{
    HIPEMU_CALL(copy_sync(dst, src, size, hipMemcpyHostToDevice), "%p, %p, %zu", dst, src, size);
}

HIPEMU_EXPORT hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t size);
hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t size)
{
    HIPEMU_CALL(copy_sync(dst, src, size, hipMemcpyDeviceToHost), "%p, %p, %zu", dst, src, size);
}

HIPEMU_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size);
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size)
{
    HIPEMU_CALL(copy_sync(dst, src, size, hipMemcpyDeviceToDevice), "%p, %p, %zu", dst, src, size);
}

HIPEMU_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, void *src, size_t size, hipStream_t stream);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, void *src, size_t size, hipStream_t stream)
{
    HIPEMU_CALL(copy(dst, src, size, hipMemcpyHostToDevice, stream, false), "%p, %p, %zu, stream %p", dst,
                src, size, (void *)stream);
}

HIPEMU_EXPORT hipError_t hipMemcpyDtoHAsync(void *dst, hipDeviceptr_t src, size_t size, hipStream_t stream);
hipError_t hipMemcpyDtoHAsync(void *dst, hipDeviceptr_t src, size_t size, hipStream_t stream)
{
    HIPEMU_CALL(copy(dst, src, size, hipMemcpyDeviceToHost, stream, false), "%p, %p, %zu, stream %p", dst,
                src, size, (void *)stream);
}

HIPEMU_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size,
                                            hipStream_t stream);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size, hipStream_t stream)
{
    HIPEMU_CALL(copy(dst, src, size, hipMemcpyDeviceToDevice, stream, false), "%p, %p, %zu, stream %p", dst,
                src, size, (void *)stream);
}

#define HIPEMU_MEMSET(name, type, width, cast)                                                             \
    HIPEMU_EXPORT hipError_t name(void *dst, type value, size_t count);                                    \
    hipError_t name(void *dst, type value, size_t count)                                                   \
    {                                                                                                      \
        HIPEMU_CALL(set(dst, (cast)value, width, count, NULL), "%p, %#x, %zu", dst, (unsigned)(cast)value, \
                    count);                                                                                \
    }                                                                                                      \
    HIPEMU_EXPORT hipError_t name##Async(void *dst, type value, size_t count, hipStream_t stream);         \
    hipError_t name##Async(void *dst, type value, size_t count, hipStream_t stream)                        \
    {                                                                                                      \
        HIPEMU_CALL(set(dst, (cast)value, width, count, stream), "%p, %#x, %zu, stream %p", dst,           \
                    (unsigned)(cast)value, count, (void *)stream);                                         \
    }

HIPEMU_MEMSET(hipMemset, int, 1, uint8_t)
HIPEMU_MEMSET(hipMemsetD8, unsigned char, 1, uint8_t)
HIPEMU_MEMSET(hipMemsetD16, unsigned short, 2, uint16_t)
HIPEMU_MEMSET(hipMemsetD32, int, 4, uint32_t)
