/* Memory accesses of a wave: lanes resolved to host pointers, checked and counted. */
#ifndef HIPEMU_ACCESS_H
#define HIPEMU_ACCESS_H

#include "fmath.h"

typedef struct emu_access {
    uint32_t mask; /* active lanes */
    uint8_t *host[EMU_LANES];
    uint8_t *shadow[EMU_LANES]; /* written-bytes shadow of the access, NULL without one */
    bool any_shadow;
} emu_access;

/* Flat, global and scratch: false after raising a fault (or with no active lane: mask 0, true). */
bool EX(resolve)(emu_wave *w, const emu_op *op, uint32_t bytes, uint32_t alignment, bool load, bool store,
                 emu_access *access);

/* Whether an access may start anywhere: the launch allows it, or the compiler chose a misaligned constant offset. */
bool EX(may_misalign)(const emu_wave *w, int32_t offset, uint32_t alignment);

/* LDS: the same for `bytes` at offset[lane] in the workgroup's LDS. atomic: both load and store. */
bool EX(lds_check)(emu_wave *w, const emu_op *op, unsigned lane, uint32_t offset, uint32_t bytes, bool load,
                   bool store, bool atomic);

/* Bank conflicts of one LDS access of `bytes` a lane. */
void EX(lds_count)(emu_wave *w, uint32_t mask, const uint32_t *offset, uint32_t bytes, bool load, bool store);

/* The new value of an atomic; operand: data, cmp: compare value. */
static inline uint32_t pack_halves(float low, float high, bool saturate)
{
    return emu_float_to_half(low, EMU_ROUND_EVEN, saturate) |
           emu_float_to_half(high, EMU_ROUND_EVEN, saturate) << 16;
}

static inline uint32_t add_halves(uint32_t a, uint32_t b)
{
    return pack_halves(emu_half_to_float(a & 0xffff) + emu_half_to_float(b & 0xffff),
                       emu_half_to_float(a >> 16) + emu_half_to_float(b >> 16), false);
}

static inline uint32_t add_bf16s(uint32_t a, uint32_t b)
{
    return emu_float_to_bf16(emu_bf16_to_float(a & 0xffff) + emu_bf16_to_float(b & 0xffff)) |
           emu_float_to_bf16(emu_bf16_to_float(a >> 16) + emu_bf16_to_float(b >> 16)) << 16;
}

static inline double atomic_min64(double a, double b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}

static inline double atomic_max64(double a, double b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

/* X(suffix, unsigned type, expression of old, data): operations shared by LDS and memory. */
#define EMU_ATOMICS(X)                                                  \
    X(add_u32, uint32_t, old + data)                                    \
    X(sub_u32, uint32_t, old - data)                                    \
    X(inc_u32, uint32_t, old >= data ? 0 : old + 1)                     \
    X(dec_u32, uint32_t, old == 0 || old > data ? data : old - 1)       \
    X(min_i32, uint32_t, (int32_t)old < (int32_t)data ? old : data)     \
    X(max_i32, uint32_t, (int32_t)old > (int32_t)data ? old : data)     \
    X(min_u32, uint32_t, old < data ? old : data)                       \
    X(max_u32, uint32_t, old > data ? old : data)                       \
    X(and_b32, uint32_t, old &data)                                     \
    X(or_b32, uint32_t, old | data)                                     \
    X(xor_b32, uint32_t, old ^ data)                                    \
    X(swap_b32, uint32_t, data)                                         \
    X(sub_clamp_u32, uint32_t, old < data ? 0 : old - data)             \
    X(cond_sub_u32, uint32_t, old >= data ? old - data : old)           \
    X(add_f32, uint32_t, as_u32(as_f32(old) + as_f32(data)))            \
    X(min_f32, uint32_t, as_u32(number_min(as_f32(old), as_f32(data)))) \
    X(max_f32, uint32_t, as_u32(number_max(as_f32(old), as_f32(data)))) \
    X(pk_add_f16, uint32_t, add_halves(old, data))                      \
    X(pk_add_bf16, uint32_t, add_bf16s(old, data))                      \
    X(add_u64, uint64_t, old + data)                                    \
    X(sub_u64, uint64_t, old - data)                                    \
    X(inc_u64, uint64_t, old >= data ? 0 : old + 1)                     \
    X(dec_u64, uint64_t, old == 0 || old > data ? data : old - 1)       \
    X(min_i64, uint64_t, (int64_t)old < (int64_t)data ? old : data)     \
    X(max_i64, uint64_t, (int64_t)old > (int64_t)data ? old : data)     \
    X(min_u64, uint64_t, old < data ? old : data)                       \
    X(max_u64, uint64_t, old > data ? old : data)                       \
    X(and_b64, uint64_t, old &data)                                     \
    X(or_b64, uint64_t, old | data)                                     \
    X(xor_b64, uint64_t, old ^ data)                                    \
    X(swap_b64, uint64_t, data)

#endif
