/* Flat, global and scratch memory. */
#include "access.h"

/* Generic pointers into LDS and scratch: the upper half of the address names the aperture. */
enum { APERTURE_SHARED = 0x00010000, APERTURE_PRIVATE = 0x00020000 };

/* ------------------------------------------------------------------ addresses */

static void lane_addresses(emu_wave *w, const emu_op *op, uint64_t out[EMU_LANES])
{
    uint64_t base = (uint64_t)(int64_t)op->offset;
    if (op->space == EMU_FMT_SCRATCH) {
        if (op->flags & EMU_OP_SADDR) base += scalar32(w, &op->src[2]);
        if (op->src[0].kind == EMU_SRC_OFF) {
            LANES out[i] = (uint32_t)base;
        } else {
            const uint32_t *v = w->vgpr[op->src[0].reg];
            LANES out[i] = (uint32_t)(base + v[i]);
        }
        return;
    }
    const uint32_t *v = w->vgpr[op->src[0].reg];
    if (op->flags & EMU_OP_SADDR) {
        base += scalar64(w, &op->src[2]);
        LANES out[i] = base + v[i];
    } else {
        const uint32_t *high = v + EMU_LANES;
        LANES out[i] = base + ((uint64_t)high[i] << 32 | v[i]);
    }
}

/* Distinct pieces of 1 << shift bytes. */
static unsigned count_any(uint32_t mask, const uint64_t *address, uint32_t bytes, unsigned shift)
{
    uint64_t seen[EMU_LANES * 2];
    unsigned count = 0;
    for (; mask; mask &= mask - 1) {
        unsigned lane = (unsigned)__builtin_ctz(mask);
        for (uint64_t piece = address[lane] >> shift; piece <= (address[lane] + bytes - 1) >> shift;
             piece++) {
            unsigned k = count;
            while (k > 0 && seen[k - 1] != piece) k--;
            if (!k) seen[count++] = piece;
        }
    }
    return count;
}

/* Mostly addresses rise from lane to lane: then counting steps is enough. */
static unsigned count_pieces(uint32_t mask, const uint64_t *address, uint32_t bytes, unsigned shift)
{
    uint64_t last = (address[__builtin_ctz(mask)] >> shift) - 1;
    unsigned count = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        uint64_t first = address[lane] >> shift, end = (address[lane] + bytes - 1) >> shift;
        if (first < last) return count_any(mask, address, bytes, shift);
        count += (unsigned)(end - last);
        if (first > last + 1) count -= (unsigned)(first - last - 1);
        last = end;
    }
    return count;
}

/* What an instruction asks the caches for: lanes that want the same bytes ask once. */
static void count_traffic(emu_wave *w, uint32_t mask, const uint64_t *address, uint32_t bytes)
{
    emu_counters *c = &w->worker->counters;
    if (mask == 0xffffffff && memcmp(address, address + 16, 16 * sizeof(*address)) == 0) mask = 0xffff;
    c->cache_lines += count_pieces(mask, address, bytes, 7);
    c->cache_pieces += count_pieces(mask, address, bytes, 6);
}

static bool check_written(emu_wave *w, const emu_op *op, emu_access *access, uint32_t bytes,
                          const uint64_t *address)
{
    for (uint32_t m = access->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (uint32_t b = 0; access->shadow[lane] && b < bytes; b++) {
            if (!__atomic_load_n(&access->shadow[lane][b], __ATOMIC_RELAXED)) {
                emu_raise(w, op, EMU_FAULT_UNINITIALISED_MEMORY, lane, address[lane] + b, bytes, false);
                return false;
            }
        }
    }
    return true;
}

static void mark_written(const emu_access *access, uint32_t bytes)
{
    for (uint32_t m = access->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (uint32_t b = 0; access->shadow[lane] && b < bytes; b++) {
            __atomic_store_n(&access->shadow[lane][b], 1, __ATOMIC_RELAXED);
        }
    }
}

static bool resolve_scratch(emu_wave *w, const emu_op *op, unsigned lane, uint32_t offset, uint32_t bytes,
                            bool store, emu_access *access)
{
    if ((uint64_t)offset + bytes > w->scratch_size) {
        emu_raise(w, op, EMU_FAULT_SCRATCH_BOUNDS, lane, offset, bytes, store);
        return false;
    }
    access->host[lane] = w->scratch + (size_t)lane * w->scratch_size + offset;
    access->shadow[lane] = NULL;
    return true;
}

static bool resolve_memory(emu_wave *w, const emu_op *op, unsigned lane, uint64_t address, uint32_t bytes,
                           bool store, emu_access *access)
{
    const emu_range *range = emu_worker_range(w->worker, address, bytes);
    if (!range) {
        emu_raise(w, op, EMU_FAULT_OUT_OF_BOUNDS, lane, address, bytes, store);
        return false;
    }
    if (store && range->read_only) {
        emu_raise(w, op, EMU_FAULT_READ_ONLY, lane, address, bytes, true);
        return false;
    }
    access->host[lane] = (uint8_t *)(uintptr_t)address;
    access->shadow[lane] = range->shadow ? range->shadow + (address - range->lo) : NULL;
    access->any_shadow |= range->shadow != NULL;
    return true;
}

/* Lane by lane: scratch, generic pointers, lanes in several allocations, faults. */
static bool resolve_each(emu_wave *w, const emu_op *op, const uint64_t *address, uint32_t bytes, bool load,
                         bool store, emu_access *access)
{
    for (uint32_t m = access->mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        uint32_t high = (uint32_t)(address[lane] >> 32), low = (uint32_t)address[lane];
        bool ok;
        if (op->space == EMU_FMT_SCRATCH || (op->space == EMU_FMT_FLAT && high == APERTURE_PRIVATE)) {
            ok = resolve_scratch(w, op, lane, low, bytes, store, access);
        } else if (op->space == EMU_FMT_FLAT && high == APERTURE_SHARED) {
            ok = EX(lds_check)(w, op, lane, low, bytes, load, store, load && store);
            access->host[lane] = w->group->lds + low;
            access->shadow[lane] = NULL;
        } else {
            ok = resolve_memory(w, op, lane, address[lane], bytes, store, access);
        }
        if (!ok) return false;
    }
    return true;
}

/* All active lanes in one allocation: one look-up. */
static bool resolve_span(emu_wave *w, const uint64_t *address, uint32_t bytes, bool store, emu_access *access)
{
    ALIGNED uint64_t low[EMU_LANES], high[EMU_LANES];
    LANES low[i] = access->mask >> i & 1 ? address[i] : UINT64_MAX;
    LANES high[i] = access->mask >> i & 1 ? address[i] : 0;
    uint64_t lo = UINT64_MAX, hi = 0;
    LANES lo = low[i] < lo ? low[i] : lo;
    LANES hi = high[i] > hi ? high[i] : hi;
    if (hi - lo > UINT64_MAX / 2) return false;
    const emu_range *range = emu_worker_range(w->worker, lo, hi - lo + bytes);
    if (!range || (store && range->read_only)) return false;
    LANES access->host[i] = (uint8_t *)(uintptr_t)address[i];
    if (UNLIKELY(range->shadow != NULL)) {
        /* Lanes that are off have any address: integers, because such a pointer must not even be formed. */
        LANES access->shadow[i] = (void *)((uintptr_t)range->shadow + (uintptr_t)(address[i] - range->lo));
        access->any_shadow = true;
    }
    return true;
}

bool EX(resolve)(emu_wave *w, const emu_op *op, uint32_t bytes, uint32_t alignment, bool load, bool store,
                 emu_access *access)
{
    ALIGNED uint64_t address[EMU_LANES];
    access->mask = w->exec;
    access->any_shadow = false;
    if (!access->mask) return true;
    lane_addresses(w, op, address);
    bool any = !(load && store) && EX(may_misalign)(w, op->offset, alignment);
    if (any) alignment = 1;
    uint64_t misaligned = 0;
    LANES misaligned |= (access->mask >> i & 1 ? address[i] : 0) & (alignment - 1);
    if (UNLIKELY(misaligned != 0)) {
        unsigned lane = 0;
        while (!(access->mask >> lane & 1) || !(address[lane] & (alignment - 1))) lane++;
        emu_raise(w, op, EMU_FAULT_MISALIGNED, lane, address[lane], bytes, store);
        return false;
    }
    bool scratch = op->space == EMU_FMT_SCRATCH;
    if (scratch || !resolve_span(w, address, bytes, store, access)) {
        if (!resolve_each(w, op, address, bytes, load, store, access)) return false;
    }
    emu_counters *c = &w->worker->counters;
    emu_space space = scratch ? EMU_SPACE_SCRATCH : EMU_SPACE_GLOBAL;
    uint32_t total = bytes * (uint32_t)__builtin_popcount(access->mask);
    if (load) c->bytes_read[space] += total;
    if (store) c->bytes_written[space] += total;
    if (!scratch) count_traffic(w, access->mask, address, bytes);
    if (UNLIKELY(access->any_shadow)) {
        if (load && w->group->run->check_uninitialised && !check_written(w, op, access, bytes, address))
            return false;
        if (store) mark_written(access, bytes);
    }
    return true;
}

/* ------------------------------------------------------------------ loads */

/* Accesses with a scope beyond the compute unit are single-copy atomic, so that a kernel may poll a flag that
 * another thread writes; others are plain, so that a missing wait shows as a race. */
static inline uint32_t load_word(const uint8_t *p, bool coherent)
{
    uint32_t value;
    if (coherent) return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
    memcpy(&value, p, 4);
    return value;
}

static inline void store_word(uint8_t *p, uint32_t value, bool coherent)
{
    if (coherent) {
        __atomic_store_n((uint32_t *)(void *)p, value, __ATOMIC_RELAXED);
    } else {
        memcpy(p, &value, 4);
    }
}

static inline void load_words(emu_wave *w, const emu_op *op, unsigned count)
{
    emu_access access;
    ALIGNED uint32_t r[4][EMU_LANES];
    bool coherent = op->flags & EMU_OP_COHERENT;
    if (!EX(resolve)(w, op, 4 * count, 4, true, false, &access)) return;
    if (LIKELY(access.mask == 0xffffffff && !coherent)) {
        LANES
        {
            for (unsigned k = 0; k < count; k++) memcpy(&r[k][i], access.host[i] + 4 * k, 4);
        }
        for (unsigned k = 0; k < count; k++) memcpy(w->vgpr[op->dst + k], r[k], sizeof(r[k]));
        return;
    }
    for (uint32_t m = access.mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (unsigned k = 0; k < count; k++) r[k][lane] = load_word(access.host[lane] + 4 * k, coherent);
        for (unsigned k = 0; k < count; k++) w->vgpr[op->dst + k][lane] = r[k][lane];
    }
}

HANDLER(m_load_b32)
{
    load_words(w, op, 1);
}
HANDLER(m_load_b64)
{
    load_words(w, op, 2);
}
HANDLER(m_load_b96)
{
    load_words(w, op, 3);
}
HANDLER(m_load_b128)
{
    load_words(w, op, 4);
}

/* old: the register's former value; v: the loaded value. */
#define LOAD_SMALL(name, type, expression)                                                 \
    HANDLER(name)                                                                          \
    {                                                                                      \
        emu_access access;                                                                 \
        if (!EX(resolve)(w, op, sizeof(type), sizeof(type), true, false, &access)) return; \
        for (uint32_t m = access.mask; m; m &= m - 1) {                                    \
            unsigned lane = (unsigned)__builtin_ctz(m);                                    \
            uint32_t old = w->vgpr[op->dst][lane];                                         \
            type v;                                                                        \
            if (op->flags & EMU_OP_COHERENT) {                                             \
                v = __atomic_load_n((type *)(void *)access.host[lane], __ATOMIC_RELAXED);  \
            } else {                                                                       \
                memcpy(&v, access.host[lane], sizeof(v));                                  \
            }                                                                              \
            (void)old;                                                                     \
            w->vgpr[op->dst][lane] = (uint32_t)(expression);                               \
        }                                                                                  \
    }
LOAD_SMALL(m_load_u8, uint8_t, v)
LOAD_SMALL(m_load_i8, int8_t, (int32_t)v)
LOAD_SMALL(m_load_u16, uint16_t, v)
LOAD_SMALL(m_load_i16, int16_t, (int32_t)v)
LOAD_SMALL(m_load_d16_u8, uint8_t, (old & 0xffff0000) | v)
LOAD_SMALL(m_load_d16_i8, int8_t, (old & 0xffff0000) | (uint16_t)(int16_t)v)
LOAD_SMALL(m_load_d16_b16, uint16_t, (old & 0xffff0000) | v)
LOAD_SMALL(m_load_d16_hi_u8, uint8_t, (old & 0xffff) | (uint32_t)v << 16)
LOAD_SMALL(m_load_d16_hi_i8, int8_t, (old & 0xffff) | (uint32_t)(int32_t)v << 16)
LOAD_SMALL(m_load_d16_hi_b16, uint16_t, (old & 0xffff) | (uint32_t)v << 16)

/* ------------------------------------------------------------------ stores */

static inline void store_words(emu_wave *w, const emu_op *op, unsigned count)
{
    emu_access access;
    bool coherent = op->flags & EMU_OP_COHERENT;
    if (!EX(resolve)(w, op, 4 * count, 4, false, true, &access)) return;
    for (uint32_t m = access.mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (unsigned k = 0; k < count; k++) {
            store_word(access.host[lane] + 4 * k, w->vgpr[op->src[1].reg + k][lane], coherent);
        }
    }
}

HANDLER(m_store_b32)
{
    store_words(w, op, 1);
}
HANDLER(m_store_b64)
{
    store_words(w, op, 2);
}
HANDLER(m_store_b96)
{
    store_words(w, op, 3);
}
HANDLER(m_store_b128)
{
    store_words(w, op, 4);
}

#define STORE_SMALL(name, type, shift)                                                     \
    HANDLER(name)                                                                          \
    {                                                                                      \
        emu_access access;                                                                 \
        if (!EX(resolve)(w, op, sizeof(type), sizeof(type), false, true, &access)) return; \
        for (uint32_t m = access.mask; m; m &= m - 1) {                                    \
            unsigned lane = (unsigned)__builtin_ctz(m);                                    \
            type v = (type)(w->vgpr[op->src[1].reg][lane] >> shift);                       \
            if (op->flags & EMU_OP_COHERENT) {                                             \
                __atomic_store_n((type *)(void *)access.host[lane], v, __ATOMIC_RELAXED);  \
            } else {                                                                       \
                memcpy(access.host[lane], &v, sizeof(v));                                  \
            }                                                                              \
        }                                                                                  \
    }
STORE_SMALL(m_store_b8, uint8_t, 0)
STORE_SMALL(m_store_b16, uint16_t, 0)
STORE_SMALL(m_store_d16_hi_b8, uint8_t, 16)
STORE_SMALL(m_store_d16_hi_b16, uint16_t, 16)

/* ------------------------------------------------------------------ atomics */

static inline uint32_t data_uint32_t(const emu_wave *w, unsigned reg, unsigned lane)
{
    return w->vgpr[reg][lane];
}

static inline uint64_t data_uint64_t(const emu_wave *w, unsigned reg, unsigned lane)
{
    return (uint64_t)w->vgpr[reg + 1][lane] << 32 | w->vgpr[reg][lane];
}

static inline void return_value(emu_wave *w, const emu_op *op, unsigned lane, uint64_t value, unsigned bytes)
{
    if (!(op->flags & EMU_OP_RETURNS)) return;
    w->vgpr[op->dst][lane] = (uint32_t)value;
    if (bytes == 8) w->vgpr[op->dst + 1][lane] = (uint32_t)(value >> 32);
}

#define ATOMIC(suffix, type, expression)                                                                  \
    void EX(m_atomic_##suffix)(emu_wave * w, const emu_op *op);                                           \
    HANDLER(m_atomic_##suffix)                                                                            \
    {                                                                                                     \
        emu_access access;                                                                                \
        if (!EX(resolve)(w, op, sizeof(type), sizeof(type), true, true, &access)) return;                 \
        for (uint32_t m = access.mask; m; m &= m - 1) {                                                   \
            unsigned lane = (unsigned)__builtin_ctz(m);                                                   \
            type *p = (type *)(void *)access.host[lane];                                                  \
            type data = data_##type(w, op->src[1].reg, lane);                                             \
            type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
            type value;                                                                                   \
            do {                                                                                          \
                value = (type)(expression);                                                               \
            } while (                                                                                     \
                !__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
            return_value(w, op, lane, old, sizeof(type));                                                 \
        }                                                                                                 \
    }
EMU_ATOMICS(ATOMIC)

/* Data: the new value, then the value to compare with. */
#define COMPARE_SWAP(name, type, words, equal)                                                               \
    HANDLER(name)                                                                                            \
    {                                                                                                        \
        emu_access access;                                                                                   \
        if (!EX(resolve)(w, op, sizeof(type), sizeof(type), true, true, &access)) return;                    \
        for (uint32_t m = access.mask; m; m &= m - 1) {                                                      \
            unsigned lane = (unsigned)__builtin_ctz(m);                                                      \
            type *p = (type *)(void *)access.host[lane];                                                     \
            type data = data_##type(w, op->src[1].reg, lane);                                                \
            type compare = data_##type(w, op->src[1].reg + words, lane);                                     \
            type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                 \
            while (equal &&                                                                                  \
                   !__atomic_compare_exchange_n(p, &old, data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) { \
            }                                                                                                \
            return_value(w, op, lane, old, sizeof(type));                                                    \
        }                                                                                                    \
    }
COMPARE_SWAP(m_atomic_cmpswap_b32, uint32_t, 1, old == compare)
COMPARE_SWAP(m_atomic_cmpswap_b64, uint64_t, 2, old == compare)
COMPARE_SWAP(m_atomic_cmpswap_f32, uint32_t, 1, as_f32(old) == as_f32(compare))
