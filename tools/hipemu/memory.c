/* The table of live allocations: sorted ranges behind a read-write lock, with a generation that workers compare to
 * know whether what they have cached still holds. */
#include "wave.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 32 };

typedef struct entry {
    emu_allocation allocation;
    uint8_t *shadow; /* a byte for each byte: written */
} entry;

struct emu_memory {
    pthread_rwlock_t lock;
    bool track;
    entry *entries; /* by base */
    size_t count, capacity;
    uint64_t next_id;
    _Atomic uint64_t generation;
    emu_allocation freed[REMEMBERED];
    size_t freed_count; /* ever; the ring holds the last ones */
};

emu_memory *emu_memory_create(bool track_writes)
{
    emu_memory *memory = calloc(1, sizeof(*memory));
    if (!memory) return NULL;
    if (pthread_rwlock_init(&memory->lock, NULL)) {
        free(memory);
        return NULL;
    }
    memory->track = track_writes;
    memory->next_id = 1;
    memory->generation = 1;
    return memory;
}

void emu_memory_destroy(emu_memory **memory)
{
    emu_memory *m = *memory;
    *memory = NULL;
    if (!m) return;
    for (size_t i = 0; i < m->count; i++) free(m->entries[i].shadow);
    free(m->entries);
    pthread_rwlock_destroy(&m->lock);
    free(m);
}

/* The first entry whose base is above the address. */
static size_t upper_bound(const emu_memory *memory, uintptr_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->entries[middle].allocation.base <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const entry *holder(const emu_memory *memory, uintptr_t address, size_t size)
{
    size_t i = upper_bound(memory, address);
    if (!i) return NULL;
    const entry *e = &memory->entries[i - 1];
    size_t offset = address - e->allocation.base;
    return offset < e->allocation.size && size <= e->allocation.size - offset ? e : NULL;
}

static emu_status insert(emu_memory *memory, uintptr_t base, size_t size, uint32_t flags, void *user)
{
    size_t at = upper_bound(memory, base);
    if (at > 0) {
        const emu_allocation *before = &memory->entries[at - 1].allocation;
        if (base - before->base < before->size) return EMU_INVALID;
    }
    if (at < memory->count && memory->entries[at].allocation.base - base < size) return EMU_INVALID;
    if (memory->count == memory->capacity) {
        size_t capacity = memory->capacity ? 2 * memory->capacity : 16;
        entry *grown = realloc(memory->entries, capacity * sizeof(*grown));
        if (!grown) return EMU_NO_MEMORY;
        memory->entries = grown;
        memory->capacity = capacity;
    }
    uint8_t *shadow = NULL;
    if (memory->track) {
        shadow = calloc(size, 1);
        if (!shadow) return EMU_NO_MEMORY;
        if (flags & EMU_MEMORY_WRITTEN) memset(shadow, 1, size);
    }
    memmove(&memory->entries[at + 1], &memory->entries[at], (memory->count - at) * sizeof(entry));
    memory->entries[at] = (entry){{base, size, memory->next_id++, flags, user}, shadow};
    memory->count++;
    memory->generation++;
    return EMU_OK;
}

emu_status emu_memory_add(emu_memory *memory, void *base, size_t size, uint32_t flags, void *user)
{
    uintptr_t address = (uintptr_t)base;
    if (!size || !base || address + size < address) return EMU_INVALID;
    pthread_rwlock_wrlock(&memory->lock);
    emu_status status = insert(memory, address, size, flags, user);
    pthread_rwlock_unlock(&memory->lock);
    return status;
}

emu_status emu_memory_remove(emu_memory *memory, void *base)
{
    uintptr_t address = (uintptr_t)base;
    emu_status status = EMU_INVALID;
    pthread_rwlock_wrlock(&memory->lock);
    size_t i = upper_bound(memory, address);
    if (i && memory->entries[i - 1].allocation.base == address) {
        entry *e = &memory->entries[i - 1];
        memory->freed[memory->freed_count++ % REMEMBERED] = e->allocation;
        free(e->shadow);
        memmove(e, e + 1, (memory->count - i) * sizeof(entry));
        memory->count--;
        memory->generation++;
        status = EMU_OK;
    }
    pthread_rwlock_unlock(&memory->lock);
    return status;
}

bool emu_memory_find(emu_memory *memory, const void *address, size_t size, emu_allocation *allocation)
{
    pthread_rwlock_rdlock(&memory->lock);
    const entry *e = holder(memory, (uintptr_t)address, size);
    if (e && allocation) *allocation = e->allocation;
    pthread_rwlock_unlock(&memory->lock);
    return e != NULL;
}

void emu_memory_mark_written(emu_memory *memory, const void *address, size_t size)
{
    if (!memory->track || !size) return;
    pthread_rwlock_rdlock(&memory->lock);
    const entry *e = holder(memory, (uintptr_t)address, size);
    if (e) {
        uint8_t *shadow = e->shadow + ((uintptr_t)address - e->allocation.base);
        for (size_t i = 0; i < size; i++) __atomic_store_n(&shadow[i], 1, __ATOMIC_RELAXED);
    }
    pthread_rwlock_unlock(&memory->lock);
}

size_t emu_memory_count(emu_memory *memory)
{
    pthread_rwlock_rdlock(&memory->lock);
    size_t count = memory->count;
    pthread_rwlock_unlock(&memory->lock);
    return count;
}

uint64_t emu_memory_generation(emu_memory *memory)
{
    return atomic_load_explicit(&memory->generation, memory_order_acquire);
}

bool emu_memory_range(emu_memory *memory, uintptr_t address, size_t size, emu_range *range)
{
    pthread_rwlock_rdlock(&memory->lock);
    const entry *e = holder(memory, address, size);
    if (e) {
        range->lo = e->allocation.base;
        range->hi = e->allocation.base + e->allocation.size;
        range->shadow = e->shadow;
        range->read_only = e->allocation.flags & EMU_MEMORY_READ_ONLY;
    }
    pthread_rwlock_unlock(&memory->lock);
    return e != NULL;
}

static void describe_locked(const emu_memory *memory, uintptr_t address, char *text, size_t size)
{
    size_t i = upper_bound(memory, address);
    const emu_allocation *below = i ? &memory->entries[i - 1].allocation : NULL;
    const emu_allocation *above = i < memory->count ? &memory->entries[i].allocation : NULL;
    if (below && address - below->base < below->size) {
        snprintf(text, size, "%zu bytes into allocation %llu of %zu bytes at 0x%zx",
                 (size_t)(address - below->base), (unsigned long long)below->id, below->size,
                 (size_t)below->base);
        return;
    }
    size_t remembered = memory->freed_count < REMEMBERED ? memory->freed_count : REMEMBERED;
    for (size_t k = 0; k < remembered; k++) {
        const emu_allocation *f = &memory->freed[(memory->freed_count - 1 - k) % REMEMBERED];
        if (address - f->base < f->size) {
            snprintf(text, size, "%zu bytes into freed allocation %llu of %zu bytes",
                     (size_t)(address - f->base), (unsigned long long)f->id, f->size);
            return;
        }
    }
    size_t past = below ? address - (below->base + below->size) : SIZE_MAX;
    size_t ahead = above ? above->base - address : SIZE_MAX;
    if (past == SIZE_MAX && ahead == SIZE_MAX) {
        snprintf(text, size, "no allocation is live");
    } else if (past <= ahead) {
        snprintf(text, size, "%zu bytes past the end of allocation %llu of %zu bytes", past,
                 (unsigned long long)below->id, below->size);
    } else {
        snprintf(text, size, "%zu bytes before allocation %llu of %zu bytes", ahead,
                 (unsigned long long)above->id, above->size);
    }
}

void emu_memory_describe(emu_memory *memory, uintptr_t address, char *text, size_t size)
{
    pthread_rwlock_rdlock(&memory->lock);
    describe_locked(memory, address, text, size);
    pthread_rwlock_unlock(&memory->lock);
}
