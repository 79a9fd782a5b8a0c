/* Helpers of the handlers. Each exec_*.c is compiled once for every instruction-set level; EX() names the
 * result.
 *
 * A handler works on 32 lanes with plain loops that the compiler vectorises. Results go to a local array
 * first and are stored through put*(), which honours EXEC; so sources and destination may be the same
 * register. */
#ifndef HIPEMU_EXEC_H
#define HIPEMU_EXEC_H

#include "wave.h"

#include <math.h>
#include <string.h>

#ifndef EMU_LEVEL
#define EMU_LEVEL base
#endif
#define EMU_PASTE2(a, b) a##_##b
#define EMU_PASTE(a, b) EMU_PASTE2(a, b)
#define EX(name) EMU_PASTE(emu_x_##name, EMU_LEVEL)
#define HANDLER(name) void EX(name)(emu_wave * w, const emu_op *op)

/* Prototypes of every handler. */
#define ROW(format, op11, op12, name, operands, handler, count) \
    void EX(handler)(emu_wave * w, const emu_op *op);
#define F115 0
#include "isa_all.def"
#undef F115
#undef ROW

#define LANES for (int i = 0; i < EMU_LANES; i++)
#define ALIGNED _Alignas(64)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline float as_f32(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint32_t as_u32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

static inline double as_f64(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}

static inline uint64_t as_u64(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

/* ------------------------------------------------------------------ scalar registers */

static inline void exec_changed(emu_wave *w)
{
    uint32_t exec = w->sgpr[EMU_S_EXEC];
    w->exec = exec;
    LANES w->lane_mask[i] = 0u - (exec >> i & 1);
}

static inline void set_sgpr(emu_wave *w, unsigned reg, uint32_t value)
{
    w->sgpr[reg] = value;
    if (UNLIKELY(reg == EMU_S_EXEC)) exec_changed(w);
}

static inline void set_sgpr64(emu_wave *w, unsigned reg, uint64_t value)
{
    if (reg == EMU_SGPR_SINK) return;
    set_sgpr(w, reg, (uint32_t)value);
    set_sgpr(w, reg + 1, (uint32_t)(value >> 32));
}

static inline uint32_t scalar32(const emu_wave *w, const emu_src *s)
{
    switch (s->kind) {
    case EMU_SRC_SGPR:
        return w->sgpr[s->reg];
    case EMU_SRC_SCC:
        return w->scc;
    default:
        return (uint32_t)s->value;
    }
}

static inline uint64_t scalar64(const emu_wave *w, const emu_src *s)
{
    switch (s->kind) {
    case EMU_SRC_SGPR:
        if (s->reg == EMU_S_NULL) return 0;
        return (uint64_t)w->sgpr[s->reg + 1] << 32 | w->sgpr[s->reg];
    case EMU_SRC_SCC:
        return w->scc;
    default:
        return s->value;
    }
}

/* ------------------------------------------------------------------ vector sources */

static inline const uint32_t *spread(emu_wave *w, const emu_src *s, int i, bool wide)
{
    uint32_t *low = w->broadcast[2 * i], *high = w->broadcast[2 * i + 1];
    uint32_t a = s->kind == EMU_SRC_SCC ? w->scc : w->sgpr[s->reg];
    for (int l = 0; l < EMU_LANES; l++) low[l] = a;
    if (wide) {
        uint32_t b = s->kind == EMU_SRC_SCC || s->reg == EMU_S_NULL ? 0 : w->sgpr[s->reg + 1];
        for (int l = 0; l < EMU_LANES; l++) high[l] = b;
    }
    return low;
}

/* 32 words; a 64-bit source has its high words in the 32 that follow. */
static inline const uint32_t *src32(emu_wave *w, const emu_op *op, int i)
{
    const emu_src *s = &op->src[i];
    if (LIKELY(s->kind == EMU_SRC_VGPR)) return w->vgpr[s->reg];
    if (s->kind == EMU_SRC_CONST) return s->row;
    return spread(w, s, i, false);
}

static inline const uint32_t *src64(emu_wave *w, const emu_op *op, int i)
{
    const emu_src *s = &op->src[i];
    if (LIKELY(s->kind == EMU_SRC_VGPR)) return w->vgpr[s->reg];
    if (s->kind == EMU_SRC_CONST) return s->row;
    return spread(w, s, i, true);
}

static inline const float *srcf(emu_wave *w, const emu_op *op, int i)
{
    const uint32_t *p = src32(w, op, i);
    unsigned mods = op->src[i].mods;
    if (LIKELY(!mods)) return (const float *)(const void *)p;
    uint32_t keep = mods & EMU_MOD_ABS ? 0x7fffffff : 0xffffffff;
    uint32_t flip = mods & EMU_MOD_NEG ? 0x80000000 : 0;
    uint32_t *out = w->modified[2 * i];
    for (int l = 0; l < EMU_LANES; l++) out[l] = (p[l] & keep) ^ flip;
    return (const float *)(const void *)out;
}

static inline void srcd(emu_wave *w, const emu_op *op, int i, double out[EMU_LANES])
{
    const uint32_t *p = src64(w, op, i);
    unsigned mods = op->src[i].mods;
    uint64_t keep = mods & EMU_MOD_ABS ? 0x7fffffffffffffff : 0xffffffffffffffff;
    uint64_t flip = mods & EMU_MOD_NEG ? 0x8000000000000000 : 0;
    for (int l = 0; l < EMU_LANES; l++) {
        uint64_t u = (uint64_t)p[l + EMU_LANES] << 32 | p[l];
        out[l] = as_f64((u & keep) ^ flip);
    }
}

static inline void srcq(emu_wave *w, const emu_op *op, int i, uint64_t out[EMU_LANES])
{
    const uint32_t *p = src64(w, op, i);
    for (int l = 0; l < EMU_LANES; l++) out[l] = (uint64_t)p[l + EMU_LANES] << 32 | p[l];
}

/* The 16-bit half a source names, zero-extended. */
static inline void src16(emu_wave *w, const emu_op *op, int i, uint32_t out[EMU_LANES])
{
    const uint32_t *p = src32(w, op, i);
    unsigned shift = op->src[i].mods & EMU_MOD_HI ? 16 : 0;
    for (int l = 0; l < EMU_LANES; l++) out[l] = p[l] >> shift & 0xffff;
}

/* ------------------------------------------------------------------ destinations */

static inline void store_lanes(emu_wave *w, uint32_t *d, const uint32_t *r)
{
    if (LIKELY(w->exec == 0xffffffff)) {
        memcpy(d, r, sizeof(uint32_t) * EMU_LANES);
    } else {
        LANES d[i] = (r[i] & w->lane_mask[i]) | (d[i] & ~w->lane_mask[i]);
    }
}

static inline void put32(emu_wave *w, const emu_op *op, const uint32_t *r)
{
    store_lanes(w, w->vgpr[op->dst], r);
}

static inline void put64(emu_wave *w, const emu_op *op, const uint64_t *r)
{
    ALIGNED uint32_t low[EMU_LANES], high[EMU_LANES];
    LANES low[i] = (uint32_t)r[i];
    LANES high[i] = (uint32_t)(r[i] >> 32);
    store_lanes(w, w->vgpr[op->dst], low);
    store_lanes(w, w->vgpr[op->dst + 1], high);
}

/* One half of the register; the other is kept. */
static inline void put16(emu_wave *w, const emu_op *op, const uint32_t *r)
{
    ALIGNED uint32_t full[EMU_LANES];
    const uint32_t *old = w->vgpr[op->dst];
    if (op->dst_hi) {
        LANES full[i] = (old[i] & 0xffff) | r[i] << 16;
    } else {
        LANES full[i] = (old[i] & 0xffff0000) | (r[i] & 0xffff);
    }
    put32(w, op, full);
}

/* Output modifiers, as the order of the ISA: multiply, then clamp to [0, 1]. */
static inline float out_f32(const emu_wave *w, const emu_op *op, float x)
{
    if (op->omod == 1) x *= 2;
    if (op->omod == 2) x *= 4;
    if (op->omod == 3) x *= 0.5f;
    if (op->flags & EMU_OP_CLAMP) {
        if (x != x) return w->clamp_nan ? 0.0f : x;
        x = x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
    }
    return x;
}

static inline bool plain_output(const emu_op *op)
{
    return LIKELY(!(op->omod | (op->flags & EMU_OP_CLAMP)));
}

static inline void putf(emu_wave *w, const emu_op *op, float *r)
{
    if (!plain_output(op)) LANES r[i] = out_f32(w, op, r[i]);
    put32(w, op, (const uint32_t *)(const void *)r);
}

static inline void putd(emu_wave *w, const emu_op *op, const double *r)
{
    ALIGNED uint64_t bits[EMU_LANES];
    LANES
    {
        double x = r[i];
        if (!plain_output(op)) {
            x *= op->omod == 1 ? 2 : op->omod == 2 ? 4 : op->omod == 3 ? 0.5 : 1;
            if (op->flags & EMU_OP_CLAMP)
                x = x != x ? (w->clamp_nan ? 0 : x) : x > 0 ? (x < 1 ? x : 1.0) : 0.0;
        }
        bits[i] = as_u64(x);
    }
    put64(w, op, bits);
}

/* A lane mask: bit i from word i's sign; inactive lanes give 0. */
uint32_t EX(lane_bits)(const uint32_t *words);

/* Runs `w` for at most `limit` instructions. */
void EX(run)(emu_wave *w, uint64_t limit);
extern const emu_fn EX(handlers)[];
void EX(dpp)(emu_wave *w, const emu_op *op);
void EX(pair)(emu_wave *w, const emu_op *op);

#endif
