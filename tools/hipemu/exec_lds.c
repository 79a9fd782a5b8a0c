/* LDS and the lane permutes of the data share. */
#include "access.h"

/* ------------------------------------------------------------------ checks and counts */

static bool check_race(emu_wave *w, const emu_op *op, unsigned lane, uint32_t offset, uint32_t bytes,
                       bool store, bool atomic)
{
    for (uint32_t b = 0; b < bytes; b++) {
        emu_lds_cell *cell = &w->group->lds_cells[offset + b];
        if (cell->epoch != w->group->epoch) *cell = (emu_lds_cell){w->group->epoch, -1, false, 0};
        bool other_writer = cell->writer >= 0 && cell->writer != (int)w->index && !(atomic && cell->atomic);
        bool other_reader = store && (cell->readers & ~(1u << w->index));
        if (other_writer || other_reader) {
            emu_raise(w, op, EMU_FAULT_LDS_RACE, lane, offset + b, bytes, store);
            return false;
        }
        if (store) {
            cell->writer = (int16_t)w->index;
            cell->atomic = atomic;
        } else {
            cell->readers |= 1u << w->index;
        }
    }
    return true;
}

bool EX(lds_check)(emu_wave *w, const emu_op *op, unsigned lane, uint32_t offset, uint32_t bytes, bool load,
                   bool store, bool atomic)
{
    emu_group *group = w->group;
    if ((uint64_t)offset + bytes > group->lds_size) {
        emu_raise(w, op, EMU_FAULT_LDS_BOUNDS, lane, offset, bytes, store);
        return false;
    }
    if (UNLIKELY(group->lds_written != NULL)) {
        for (uint32_t b = 0; load && b < bytes; b++) {
            if (!group->lds_written[offset + b]) {
                emu_raise(w, op, EMU_FAULT_UNINITIALISED_LDS, lane, offset + b, bytes, false);
                return false;
            }
        }
        if (store) memset(group->lds_written + offset, 1, bytes);
    }
    if (UNLIKELY(group->lds_cells != NULL)) return check_race(w, op, lane, offset, bytes, store, atomic);
    return true;
}

/* 32 banks of 4 bytes. Up to 4 bytes a lane all lanes go in one pass, 8 bytes 16 lanes, 12 and 16 bytes 8 lanes. A
 * pass takes as many cycles as the fullest bank has distinct dwords. */
void EX(lds_count)(emu_wave *w, uint32_t mask, const uint32_t *offset, uint32_t bytes, bool load, bool store)
{
    emu_counters *c = &w->worker->counters;
    unsigned lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, dwords = (bytes + 3) / 4;
    uint32_t total = bytes * (uint32_t)__builtin_popcount(mask);
    if (load) c->bytes_read[EMU_SPACE_LDS] += total;
    if (store) c->bytes_written[EMU_SPACE_LDS] += total;
    for (unsigned first = 0; first < EMU_LANES; first += lanes) {
        uint32_t seen[32][EMU_LANES];
        uint8_t count[32] = {0};
        unsigned worst = 0;
        uint32_t part = mask & (lanes == 32 ? 0xffffffff : ((1u << lanes) - 1) << first);
        if (!part) continue;
        for (; part; part &= part - 1) {
            uint32_t base = offset[__builtin_ctz(part)] / 4;
            for (unsigned d = 0; d < dwords; d++) {
                unsigned bank = (base + d) & 31, k = 0;
                while (k < count[bank] && seen[bank][k] != base + d) k++;
                if (k < count[bank]) continue;
                seen[bank][count[bank]++] = base + d;
                if (count[bank] > worst) worst = count[bank];
            }
        }
        c->lds_accesses++;
        c->lds_conflict_cycles += worst - 1;
    }
}

bool EX(may_misalign)(const emu_wave *w, int32_t offset, uint32_t alignment)
{
    return w->group->run->params->options.allow_misaligned || (uint32_t)offset % alignment != 0;
}

/* Offsets of the active lanes, all checked. */
static bool offsets(emu_wave *w, const emu_op *op, uint32_t add, uint32_t bytes, bool load, bool store,
                    uint32_t out[EMU_LANES])
{
    const uint32_t *v = w->vgpr[op->src[0].reg];
    uint32_t alignment = load && store ? bytes : bytes < 4 ? bytes : 4;
    if (!(load && store) && EX(may_misalign)(w, (int32_t)add, alignment)) alignment = 1;
    LANES out[i] = v[i] + add;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        if (out[lane] % alignment) {
            emu_raise(w, op, EMU_FAULT_MISALIGNED, lane, out[lane], bytes, store);
            return false;
        }
        if (!EX(lds_check)(w, op, lane, out[lane], bytes, load, store, load && store)) return false;
    }
    EX(lds_count)(w, w->exec, out, bytes, load, store);
    return true;
}

/* ------------------------------------------------------------------ loads and stores */

static inline void load_lanes(emu_wave *w, const uint32_t at[EMU_LANES], unsigned count,
                              uint32_t (*r)[EMU_LANES])
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (unsigned k = 0; k < count; k++) memcpy(&r[k][lane], w->group->lds + at[lane] + 4 * k, 4);
    }
}

static inline void write_registers(emu_wave *w, unsigned dst, unsigned count, uint32_t (*r)[EMU_LANES])
{
    for (unsigned k = 0; k < count; k++) store_lanes(w, w->vgpr[dst + k], r[k]);
}

static inline void load_words(emu_wave *w, const emu_op *op, unsigned count)
{
    ALIGNED uint32_t at[EMU_LANES], r[4][EMU_LANES];
    memset(r, 0, sizeof(r));
    if (!offsets(w, op, (uint32_t)op->offset, 4 * count, true, false, at)) return;
    load_lanes(w, at, count, r);
    write_registers(w, op->dst, count, r);
}

HANDLER(ds_load_b32)
{
    load_words(w, op, 1);
}
HANDLER(ds_load_b64)
{
    load_words(w, op, 2);
}
HANDLER(ds_load_b96)
{
    load_words(w, op, 3);
}
HANDLER(ds_load_b128)
{
    load_words(w, op, 4);
}

static inline uint32_t step(const emu_op *op, unsigned words)
{
    return 4 * words * (op->flags & EMU_OP_STRIDE64 ? 64 : 1);
}

static inline void load_two(emu_wave *w, const emu_op *op, unsigned words)
{
    ALIGNED uint32_t at[EMU_LANES], r[4][EMU_LANES];
    memset(r, 0, sizeof(r));
    if (!offsets(w, op, op->offset0 * step(op, words), 4 * words, true, false, at)) return;
    load_lanes(w, at, words, r);
    if (!offsets(w, op, op->offset1 * step(op, words), 4 * words, true, false, at)) return;
    load_lanes(w, at, words, r + words);
    write_registers(w, op->dst, 2 * words, r);
}

HANDLER(ds_load_2addr_b32)
{
    load_two(w, op, 1);
}
HANDLER(ds_load_2addr_b64)
{
    load_two(w, op, 2);
}

static inline void store_at(emu_wave *w, const uint32_t at[EMU_LANES], unsigned reg, unsigned count)
{
    for (uint32_t m = w->exec; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        for (unsigned k = 0; k < count; k++)
            memcpy(w->group->lds + at[lane] + 4 * k, &w->vgpr[reg + k][lane], 4);
    }
}

static inline void store_words(emu_wave *w, const emu_op *op, unsigned count)
{
    ALIGNED uint32_t at[EMU_LANES];
    if (!offsets(w, op, (uint32_t)op->offset, 4 * count, false, true, at)) return;
    store_at(w, at, op->src[1].reg, count);
}

HANDLER(ds_store_b32)
{
    store_words(w, op, 1);
}
HANDLER(ds_store_b64)
{
    store_words(w, op, 2);
}
HANDLER(ds_store_b96)
{
    store_words(w, op, 3);
}
HANDLER(ds_store_b128)
{
    store_words(w, op, 4);
}

static inline void store_two(emu_wave *w, const emu_op *op, unsigned words)
{
    ALIGNED uint32_t at[EMU_LANES];
    if (!offsets(w, op, op->offset0 * step(op, words), 4 * words, false, true, at)) return;
    store_at(w, at, op->src[1].reg, words);
    if (!offsets(w, op, op->offset1 * step(op, words), 4 * words, false, true, at)) return;
    store_at(w, at, op->src[2].reg, words);
}

HANDLER(ds_store_2addr_b32)
{
    store_two(w, op, 1);
}
HANDLER(ds_store_2addr_b64)
{
    store_two(w, op, 2);
}

#define LOAD_SMALL(name, type, expression)                                                \
    HANDLER(name)                                                                         \
    {                                                                                     \
        ALIGNED uint32_t at[EMU_LANES];                                                   \
        if (!offsets(w, op, (uint32_t)op->offset, sizeof(type), true, false, at)) return; \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                       \
            unsigned lane = (unsigned)__builtin_ctz(m);                                   \
            uint32_t old = w->vgpr[op->dst][lane];                                        \
            type v;                                                                       \
            memcpy(&v, w->group->lds + at[lane], sizeof(v));                              \
            (void)old;                                                                    \
            w->vgpr[op->dst][lane] = (uint32_t)(expression);                              \
        }                                                                                 \
    }
LOAD_SMALL(ds_load_u8, uint8_t, v)
LOAD_SMALL(ds_load_i8, int8_t, (int32_t)v)
LOAD_SMALL(ds_load_u16, uint16_t, v)
LOAD_SMALL(ds_load_i16, int16_t, (int32_t)v)
LOAD_SMALL(ds_load_d16_u8, uint8_t, (old & 0xffff0000) | v)
LOAD_SMALL(ds_load_d16_i8, int8_t, (old & 0xffff0000) | (uint16_t)(int16_t)v)
LOAD_SMALL(ds_load_d16_b16, uint16_t, (old & 0xffff0000) | v)
LOAD_SMALL(ds_load_d16_hi_u8, uint8_t, (old & 0xffff) | (uint32_t)v << 16)
LOAD_SMALL(ds_load_d16_hi_i8, int8_t, (old & 0xffff) | (uint32_t)(int32_t)v << 16)
LOAD_SMALL(ds_load_d16_hi_b16, uint16_t, (old & 0xffff) | (uint32_t)v << 16)

#define STORE_SMALL(name, type, shift)                                                    \
    HANDLER(name)                                                                         \
    {                                                                                     \
        ALIGNED uint32_t at[EMU_LANES];                                                   \
        if (!offsets(w, op, (uint32_t)op->offset, sizeof(type), false, true, at)) return; \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                       \
            unsigned lane = (unsigned)__builtin_ctz(m);                                   \
            type v = (type)(w->vgpr[op->src[1].reg][lane] >> shift);                      \
            memcpy(w->group->lds + at[lane], &v, sizeof(v));                              \
        }                                                                                 \
    }
STORE_SMALL(ds_store_b8, uint8_t, 0)
STORE_SMALL(ds_store_b16, uint16_t, 0)
STORE_SMALL(ds_store_d16_hi_b8, uint8_t, 16)
STORE_SMALL(ds_store_d16_hi_b16, uint16_t, 16)

/* ------------------------------------------------------------------ atomics: one thread runs a workgroup */

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

#define ATOMIC(suffix, type, expression)                                                 \
    void EX(ds_atomic_##suffix)(emu_wave * w, const emu_op *op);                         \
    HANDLER(ds_atomic_##suffix)                                                          \
    {                                                                                    \
        ALIGNED uint32_t at[EMU_LANES];                                                  \
        if (!offsets(w, op, (uint32_t)op->offset, sizeof(type), true, true, at)) return; \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                      \
            unsigned lane = (unsigned)__builtin_ctz(m);                                  \
            uint8_t *p = w->group->lds + at[lane];                                       \
            type data = data_##type(w, op->src[1].reg, lane), old, value;                \
            memcpy(&old, p, sizeof(old));                                                \
            value = (type)(expression);                                                  \
            memcpy(p, &value, sizeof(value));                                            \
            return_value(w, op, lane, old, sizeof(type));                                \
        }                                                                                \
    }
EMU_ATOMICS(ATOMIC)
ATOMIC(rsub_u32, uint32_t, data - old)
ATOMIC(rsub_u64, uint64_t, data - old)
ATOMIC(min_f64, uint64_t, as_u64(atomic_min64(as_f64(old), as_f64(data))))
ATOMIC(max_f64, uint64_t, as_u64(atomic_max64(as_f64(old), as_f64(data))))

/* data0: the new value, data1: the value to compare with. */
#define COMPARE_STORE(name, type, equal)                                                 \
    HANDLER(name)                                                                        \
    {                                                                                    \
        ALIGNED uint32_t at[EMU_LANES];                                                  \
        if (!offsets(w, op, (uint32_t)op->offset, sizeof(type), true, true, at)) return; \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                      \
            unsigned lane = (unsigned)__builtin_ctz(m);                                  \
            uint8_t *p = w->group->lds + at[lane];                                       \
            type data = data_##type(w, op->src[1].reg, lane);                            \
            type compare = data_##type(w, op->src[2].reg, lane), old;                    \
            memcpy(&old, p, sizeof(old));                                                \
            if (equal) memcpy(p, &data, sizeof(data));                                   \
            return_value(w, op, lane, old, sizeof(type));                                \
        }                                                                                \
    }
COMPARE_STORE(ds_atomic_cmpstore_b32, uint32_t, old == compare)
COMPARE_STORE(ds_atomic_cmpstore_b64, uint64_t, old == compare)
COMPARE_STORE(ds_atomic_cmpstore_f32, uint32_t, as_f32(old) == as_f32(compare))
COMPARE_STORE(ds_atomic_cmpstore_f64, uint64_t, as_f64(old) == as_f64(compare))

/* ------------------------------------------------------------------ permutes: no memory involved */

HANDLER(ds_bpermute_b32)
{
    const uint32_t *v = w->vgpr[op->src[0].reg], *data = w->vgpr[op->src[1].reg];
    ALIGNED uint32_t r[EMU_LANES];
    LANES
    {
        unsigned lane = (v[i] + (uint32_t)op->offset) >> 2 & 31;
        r[i] = w->exec >> lane & 1 ? data[lane] : 0;
    }
    put32(w, op, r);
}

/* Lanes that nobody sends to get 0; of several senders the highest lane wins. */
HANDLER(ds_permute_b32)
{
    const uint32_t *v = w->vgpr[op->src[0].reg], *data = w->vgpr[op->src[1].reg];
    ALIGNED uint32_t r[EMU_LANES] = {0};
    LANES
    {
        if (w->exec >> i & 1) r[(v[i] + (uint32_t)op->offset) >> 2 & 31] = data[i];
    }
    put32(w, op, r);
}

HANDLER(ds_swizzle_b32)
{
    const uint32_t *v = w->vgpr[op->src[0].reg];
    uint32_t mode = (uint32_t)op->offset & 0xffff;
    ALIGNED uint32_t r[EMU_LANES];
    if (mode >= 0xc000) { /* rotate and FFT */
        emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, mode, 0, false);
        return;
    }
    LANES
    {
        unsigned lane = mode & 0x8000 ? ((unsigned)i & ~3u) | (mode >> (2 * (i & 3)) & 3)
                                      : (((unsigned)i & mode & 31) | (mode >> 5 & 31)) ^ (mode >> 10 & 31);
        r[i] = w->exec >> lane & 1 ? v[lane] : 0;
    }
    put32(w, op, r);
}
