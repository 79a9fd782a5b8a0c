/* Packed 16-bit, mixed-precision and dot-product instructions. */
#include "vector.h"

/* The 16 bits that source i gives to the low (or high) result: op_sel, op_sel_hi, then neg_lo, neg_hi. */
static inline void packed_source(emu_wave *w, const emu_op *op, int i, bool high, bool is_float,
                                 uint32_t out[EMU_LANES])
{
    const uint32_t *p = src32(w, op, i);
    unsigned upper = (high ? op->op_sel_hi : op->op_sel) >> i & 1;
    unsigned shift = upper ? 16 : 0;
    uint32_t flip = is_float && ((high ? op->neg_hi : op->neg_lo) >> i & 1) ? 0x8000 : 0;
    for (int l = 0; l < EMU_LANES; l++) out[l] = (p[l] >> shift & 0xffff) ^ flip;
}

static inline void packed_float(emu_wave *w, const emu_op *op, int i, bool high, float out[EMU_LANES])
{
    ALIGNED uint32_t h[EMU_LANES];
    packed_source(w, op, i, high, true, h);
    EX(half_expand)(w, h, out);
}

static inline void put_packed(emu_wave *w, const emu_op *op, const uint32_t *low, const uint32_t *high)
{
    ALIGNED uint32_t r[EMU_LANES];
    LANES r[i] = (low[i] & 0xffff) | high[i] << 16;
    put32(w, op, r);
}

/* ------------------------------------------------------------------ f16 pairs */

#define PACKED_HALF(name, sources, expression)                                 \
    HANDLER(name)                                                              \
    {                                                                          \
        ALIGNED float s[3][EMU_LANES], r[EMU_LANES];                           \
        ALIGNED uint32_t half[2][EMU_LANES];                                   \
        memset(s, 0, sizeof(s));                                               \
        for (int h = 0; h < 2; h++) {                                          \
            for (int k = 0; k < sources; k++) packed_float(w, op, k, h, s[k]); \
            LANES                                                              \
            {                                                                  \
                float x = s[0][i], y = s[1][i], z = s[2][i];                   \
                (void)z;                                                       \
                r[i] = (expression);                                           \
            }                                                                  \
            EX(half_round)(w, op, r, half[h]);                                 \
        }                                                                      \
        put_packed(w, op, half[0], half[1]);                                   \
    }
PACKED_HALF(v_pk_add_f16, 2, fma_odd(x, 1.0f, y, DOWN16))
PACKED_HALF(v_pk_mul_f16, 2, x *y)
PACKED_HALF(v_pk_fma_f16, 3, fma_odd(x, y, z, DOWN16))
PACKED_HALF(v_pk_min_f16, 2, number_min(x, y))
PACKED_HALF(v_pk_max_f16, 2, number_max(x, y))
PACKED_HALF(v_pk_min_num_f16, 2, number_min(x, y))
PACKED_HALF(v_pk_max_num_f16, 2, number_max(x, y))
PACKED_HALF(v_pk_minimum_f16, 2, nan_min(x, y))
PACKED_HALF(v_pk_maximum_f16, 2, nan_max(x, y))

/* VOP2: no modifiers, both halves straight, accumulates into the destination. */
HANDLER(v_pk_fmac_f16)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t h[EMU_LANES], half[2][EMU_LANES];
    const uint32_t *p = src32(w, op, 0), *q = src32(w, op, 1), *d = w->vgpr[op->dst];
    for (int side = 0; side < 2; side++) {
        LANES h[i] = p[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, a);
        LANES h[i] = q[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, b);
        LANES h[i] = d[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, c);
        LANES r[i] = fma_odd(a[i], b[i], c[i], DOWN16);
        EX(half_round)(w, op, r, half[side]);
    }
    put_packed(w, op, half[0], half[1]);
}

/* ------------------------------------------------------------------ integer pairs */

static inline uint32_t clamp16(int64_t v, bool is_signed, bool clamp)
{
    if (clamp && is_signed) v = v > 32767 ? 32767 : v < -32768 ? -32768 : v;
    if (clamp && !is_signed) v = v > 65535 ? 65535 : v < 0 ? 0 : v;
    return (uint32_t)v & 0xffff;
}

#define PACKED_INT(name, type, sources, is_signed, expression)                         \
    HANDLER(name)                                                                      \
    {                                                                                  \
        ALIGNED uint32_t s[3][EMU_LANES], half[2][EMU_LANES];                          \
        bool clamp = op->flags & EMU_OP_CLAMP;                                         \
        memset(s, 0, sizeof(s));                                                       \
        for (int h = 0; h < 2; h++) {                                                  \
            for (int k = 0; k < sources; k++) packed_source(w, op, k, h, false, s[k]); \
            LANES                                                                      \
            {                                                                          \
                int64_t x = (type)s[0][i], y = (type)s[1][i], z = (type)s[2][i];       \
                (void)z;                                                               \
                half[h][i] = clamp16(expression, is_signed, clamp);                    \
            }                                                                          \
        }                                                                              \
        put_packed(w, op, half[0], half[1]);                                           \
    }
PACKED_INT(v_pk_mad_i16, int16_t, 3, true, x *y + z)
PACKED_INT(v_pk_mad_u16, uint16_t, 3, false, x *y + z)
PACKED_INT(v_pk_mul_lo_u16, uint16_t, 2, false, x *y)
PACKED_INT(v_pk_add_i16, int16_t, 2, true, x + y)
PACKED_INT(v_pk_sub_i16, int16_t, 2, true, x - y)
PACKED_INT(v_pk_add_u16, uint16_t, 2, false, x + y)
PACKED_INT(v_pk_sub_u16, uint16_t, 2, false, x - y)
PACKED_INT(v_pk_lshlrev_b16, uint16_t, 2, false, (int64_t)(uint16_t)((uint32_t)y << (x & 15)))
PACKED_INT(v_pk_lshrrev_b16, uint16_t, 2, false, y >> (x & 15))
PACKED_INT(v_pk_ashrrev_i16, int16_t, 2, true, y >> (x & 15))
PACKED_INT(v_pk_max_i16, int16_t, 2, true, x > y ? x : y)
PACKED_INT(v_pk_min_i16, int16_t, 2, true, x < y ? x : y)
PACKED_INT(v_pk_max_u16, uint16_t, 2, false, x > y ? x : y)
PACKED_INT(v_pk_min_u16, uint16_t, 2, false, x < y ? x : y)

/* ------------------------------------------------------------------ mixed precision */

/* Each source is an f32 (op_sel_hi 0) or one half as f16; neg_lo negates, neg_hi takes the magnitude. */
static inline void mix_source(emu_wave *w, const emu_op *op, int i, float out[EMU_LANES])
{
    const uint32_t *p = src32(w, op, i);
    if (op->op_sel_hi >> i & 1) {
        ALIGNED uint32_t h[EMU_LANES];
        unsigned shift = op->op_sel >> i & 1 ? 16 : 0;
        for (int l = 0; l < EMU_LANES; l++) h[l] = p[l] >> shift & 0xffff;
        EX(half_expand)(w, h, out);
    } else {
        memcpy(out, p, sizeof(float) * EMU_LANES);
    }
    bool absolute = op->neg_hi >> i & 1, negate = op->neg_lo >> i & 1;
    if (absolute) {
        for (int l = 0; l < EMU_LANES; l++) out[l] = fabsf(out[l]);
    }
    if (negate) {
        for (int l = 0; l < EMU_LANES; l++) out[l] = as_f32(as_u32(out[l]) ^ 0x80000000);
    }
}

static inline void mix(emu_wave *w, const emu_op *op, float r[EMU_LANES])
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], c[EMU_LANES];
    mix_source(w, op, 0, a);
    mix_source(w, op, 1, b);
    mix_source(w, op, 2, c);
    LANES r[i] = fmaf(a[i], b[i], c[i]);
}

HANDLER(v_fma_mix_f32)
{
    ALIGNED float r[EMU_LANES];
    mix(w, op, r);
    putf(w, op, r);
}

/* The f32 result is rounded a second time, to f16: two roundings, as the ISA text writes it. */
static void mix_half(emu_wave *w, const emu_op *op, bool high)
{
    ALIGNED float r[EMU_LANES];
    ALIGNED uint32_t h[EMU_LANES], full[EMU_LANES];
    mix(w, op, r);
    EX(half_round)(w, op, r, h);
    const uint32_t *old = w->vgpr[op->dst];
    LANES full[i] = high ? (old[i] & 0xffff) | h[i] << 16 : (old[i] & 0xffff0000) | h[i];
    put32(w, op, full);
}

HANDLER(v_fma_mixlo_f16)
{
    mix_half(w, op, false);
}
HANDLER(v_fma_mixhi_f16)
{
    mix_half(w, op, true);
}

/* ------------------------------------------------------------------ dot products
 *
 * Order of the sums: the accumulator first, then the products by rising index, each step one fused f32
 * operation. Products of two f16, bf16 or FP8 values are exact in f32. */

HANDLER(v_dot2_f32_f16)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    const uint32_t *c = src32(w, op, 2);
    uint32_t keep = op->neg_hi & 4 ? 0x7fffffff : 0xffffffff, flip = op->neg_lo & 4 ? 0x80000000 : 0;
    LANES r[i] = as_f32((c[i] & keep) ^ flip);
    for (int h = 0; h < 2; h++) {
        packed_float(w, op, 0, h, a);
        packed_float(w, op, 1, h, b);
        LANES r[i] = fmaf(a[i], b[i], r[i]);
    }
    putf(w, op, r);
}

HANDLER(v_dot2_f32_bf16)
{
    ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES];
    ALIGNED float r[EMU_LANES];
    const uint32_t *c = src32(w, op, 2);
    uint32_t keep = op->neg_hi & 4 ? 0x7fffffff : 0xffffffff, flip = op->neg_lo & 4 ? 0x80000000 : 0;
    LANES r[i] = as_f32((c[i] & keep) ^ flip);
    for (int h = 0; h < 2; h++) {
        packed_source(w, op, 0, h, true, a);
        packed_source(w, op, 1, h, true, b);
        LANES r[i] = fmaf(emu_bf16_to_float(a[i]), emu_bf16_to_float(b[i]), r[i]);
    }
    putf(w, op, r);
}

HANDLER(v_dot2acc_f32_f16)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t h[EMU_LANES];
    const uint32_t *p = src32(w, op, 0), *q = src32(w, op, 1);
    memcpy(r, w->vgpr[op->dst], sizeof(r));
    for (int side = 0; side < 2; side++) {
        LANES h[i] = p[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, a);
        LANES h[i] = q[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, b);
        LANES r[i] = fmaf(a[i], b[i], r[i]);
    }
    putf(w, op, r);
}

HANDLER(v_dot2_f16_f16)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t h[EMU_LANES];
    const uint32_t *p = src32(w, op, 0), *q = src32(w, op, 1);
    EX(half_source)(w, op, 2, r);
    for (int side = 0; side < 2; side++) {
        LANES h[i] = p[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, a);
        LANES h[i] = q[i] >> (16 * side) & 0xffff;
        EX(half_expand)(w, h, b);
        LANES r[i] = fmaf(a[i], b[i], r[i]);
    }
    EX(half_result)(w, op, r);
}

HANDLER(v_dot2_bf16_bf16)
{
    ALIGNED uint32_t c[EMU_LANES], out[EMU_LANES];
    const uint32_t *p = src32(w, op, 0), *q = src32(w, op, 1);
    src16(w, op, 2, c);
    uint32_t keep = op->src[2].mods & EMU_MOD_ABS ? 0x7fff : 0xffff,
             flip = op->src[2].mods & EMU_MOD_NEG ? 0x8000 : 0;
    LANES
    {
        float r = emu_bf16_to_float((c[i] & keep) ^ flip);
        for (int s = 0; s < 32; s += 16) {
            r = fmaf(emu_bf16_to_float(p[i] >> s & 0xffff), emu_bf16_to_float(q[i] >> s & 0xffff), r);
        }
        out[i] = emu_float_to_bf16(r);
    }
    put16(w, op, out);
}

#define DOT4(name, convert_a, convert_b)                                                     \
    HANDLER(name)                                                                            \
    {                                                                                        \
        const uint32_t *a = src32(w, op, 0), *b = src32(w, op, 1), *c = src32(w, op, 2);     \
        uint32_t keep = op->neg_hi & 4 ? 0x7fffffff : 0xffffffff;                            \
        uint32_t flip = op->neg_lo & 4 ? 0x80000000 : 0;                                     \
        ALIGNED float r[EMU_LANES];                                                          \
        LANES                                                                                \
        {                                                                                    \
            r[i] = as_f32((c[i] & keep) ^ flip);                                             \
            for (int s = 0; s < 32; s += 8) {                                                \
                r[i] = fmaf(convert_a(a[i] >> s & 0xff), convert_b(b[i] >> s & 0xff), r[i]); \
            }                                                                                \
        }                                                                                    \
        putf(w, op, r);                                                                      \
    }
DOT4(v_dot4_f32_fp8_fp8, emu_fp8_to_float, emu_fp8_to_float)
DOT4(v_dot4_f32_fp8_bf8, emu_fp8_to_float, emu_bf8_to_float)
DOT4(v_dot4_f32_bf8_fp8, emu_bf8_to_float, emu_fp8_to_float)
DOT4(v_dot4_f32_bf8_bf8, emu_bf8_to_float, emu_bf8_to_float)
