/* Vector conversions between formats. */
#include "vector.h"

#define TO_FLOAT(name, type, expression) \
    HANDLER(name)                        \
    {                                    \
        SRC_A(type)                      \
        ALIGNED float r[EMU_LANES];      \
        LANES                            \
        {                                \
            type x = a[i];               \
            r[i] = (float)(expression);  \
        }                                \
        putf(w, op, r);                  \
    }
#define FROM_FLOAT(name, expression)     \
    HANDLER(name)                        \
    {                                    \
        const float *a = srcf(w, op, 0); \
        ALIGNED uint32_t r[EMU_LANES];   \
        LANES                            \
        {                                \
            float x = a[i];              \
            r[i] = (expression);         \
        }                                \
        put32(w, op, r);                 \
    }

TO_FLOAT(v_cvt_f32_i32, int32_t, x)
TO_FLOAT(v_cvt_f32_u32, uint32_t, x)
TO_FLOAT(v_cvt_f32_ubyte0, uint32_t, (int)(x & 0xff))
TO_FLOAT(v_cvt_f32_ubyte1, uint32_t, (int)(x >> 8 & 0xff))
TO_FLOAT(v_cvt_f32_ubyte2, uint32_t, (int)(x >> 16 & 0xff))
TO_FLOAT(v_cvt_f32_ubyte3, uint32_t, (int)(x >> 24))
TO_FLOAT(v_cvt_off_f32_i4, int32_t, (float)((int32_t)((uint32_t)x << 28) >> 28) * 0.0625f)
FROM_FLOAT(v_cvt_i32_f32, float_to_i32(x))
FROM_FLOAT(v_cvt_u32_f32, float_to_u32(x))
FROM_FLOAT(v_cvt_nearest_i32_f32, float_to_i32((float)floor((double)x + 0.5)))
FROM_FLOAT(v_cvt_floor_i32_f32, float_to_i32(floorf(x)))
INT2(v_cvt_pk_u16_u32, uint32_t, (x > 0xffff ? 0xffff : x) | (y > 0xffff ? 0xffff : y) << 16)

static inline uint32_t saturate_i16(int32_t x)
{
    return (uint32_t)(x < -32768 ? -32768 : x > 32767 ? 32767 : x) & 0xffff;
}
INT2(v_cvt_pk_i16_i32, int32_t, saturate_i16(x) | saturate_i16(y) << 16)

/* ------------------------------------------------------------------ 16 bits */

HANDLER(v_cvt_f32_f16)
{
    ALIGNED float r[EMU_LANES];
    EX(half_source)(w, op, 0, r);
    putf(w, op, r);
}

HANDLER(v_cvt_f16_f32)
{
    const float *a = srcf(w, op, 0);
    ALIGNED float r[EMU_LANES];
    LANES r[i] = a[i];
    EX(half_result)(w, op, r);
}

HANDLER(v_cvt_pk_rtz_f16_f32)
{
    const float *a = srcf(w, op, 0), *b = srcf(w, op, 1);
    ALIGNED uint32_t r[EMU_LANES];
    LANES
    {
        r[i] = emu_float_to_half(a[i], EMU_ROUND_ZERO, false) | emu_float_to_half(b[i], EMU_ROUND_ZERO, false)
                                                                    << 16;
    }
    put32(w, op, r);
}

HANDLER(v_pack_b32_f16)
{
    ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    src16(w, op, 0, a);
    src16(w, op, 1, b);
    uint32_t keep0 = op->src[0].mods & EMU_MOD_ABS ? 0x7fff : 0xffff;
    uint32_t flip0 = op->src[0].mods & EMU_MOD_NEG ? 0x8000 : 0;
    uint32_t keep1 = op->src[1].mods & EMU_MOD_ABS ? 0x7fff : 0xffff;
    uint32_t flip1 = op->src[1].mods & EMU_MOD_NEG ? 0x8000 : 0;
    LANES r[i] = ((a[i] & keep0) ^ flip0) | ((b[i] & keep1) ^ flip1) << 16;
    put32(w, op, r);
}

#define HALF_FROM_SHORT(name, type)     \
    HANDLER(name)                       \
    {                                   \
        ALIGNED uint32_t a[EMU_LANES];  \
        ALIGNED float r[EMU_LANES];     \
        src16(w, op, 0, a);             \
        LANES r[i] = (float)(type)a[i]; \
        EX(half_result)(w, op, r);      \
    }
HALF_FROM_SHORT(v_cvt_f16_u16, uint16_t)
HALF_FROM_SHORT(v_cvt_f16_i16, int16_t)

#define SHORT_FROM_HALF(name, low, high)             \
    HANDLER(name)                                    \
    {                                                \
        ALIGNED float a[EMU_LANES];                  \
        ALIGNED uint32_t r[EMU_LANES];               \
        EX(half_source)(w, op, 0, a);                \
        LANES                                        \
        {                                            \
            float x = a[i] != a[i] ? 0.0f : a[i];    \
            x = x < low ? low : x > high ? high : x; \
            r[i] = (uint32_t)(int32_t)x & 0xffff;    \
        }                                            \
        put16(w, op, r);                             \
    }
SHORT_FROM_HALF(v_cvt_u16_f16, 0.0f, 65535.0f)
SHORT_FROM_HALF(v_cvt_i16_f16, -32768.0f, 32767.0f)

HANDLER(v_cvt_i32_i16)
{
    ALIGNED uint32_t a[EMU_LANES], r[EMU_LANES];
    src16(w, op, 0, a);
    LANES r[i] = (uint32_t)(int32_t)(int16_t)a[i];
    put32(w, op, r);
}

HANDLER(v_cvt_u32_u16)
{
    ALIGNED uint32_t r[EMU_LANES];
    src16(w, op, 0, r);
    put32(w, op, r);
}

/* ------------------------------------------------------------------ f64 */

HANDLER(v_cvt_f64_f32)
{
    const float *a = srcf(w, op, 0);
    ALIGNED double r[EMU_LANES];
    LANES r[i] = (double)a[i];
    putd(w, op, r);
}

HANDLER(v_cvt_f32_f64)
{
    ALIGNED double a[EMU_LANES];
    ALIGNED float r[EMU_LANES];
    srcd(w, op, 0, a);
    LANES r[i] = (float)a[i];
    putf(w, op, r);
}

HANDLER(v_cvt_f64_i32)
{
    SRC_A(int32_t)
    ALIGNED double r[EMU_LANES];
    LANES r[i] = (double)a[i];
    putd(w, op, r);
}

HANDLER(v_cvt_f64_u32)
{
    SRC_A(uint32_t)
    ALIGNED double r[EMU_LANES];
    LANES r[i] = (double)a[i];
    putd(w, op, r);
}

HANDLER(v_cvt_i32_f64)
{
    ALIGNED double a[EMU_LANES];
    ALIGNED uint32_t r[EMU_LANES];
    srcd(w, op, 0, a);
    LANES
    {
        double x = a[i] != a[i] ? 0 : a[i] < -2147483648.0 ? -2147483648.0 : a[i];
        r[i] = (uint32_t)(int32_t)(x > 2147483647.0 ? 2147483647.0 : x);
    }
    put32(w, op, r);
}

HANDLER(v_cvt_u32_f64)
{
    ALIGNED double a[EMU_LANES];
    ALIGNED uint32_t r[EMU_LANES];
    srcd(w, op, 0, a);
    LANES
    {
        double x = a[i] > 0 ? a[i] : 0; /* NaN gives 0 */
        r[i] = x >= 4294967295.0 ? 0xffffffff : (uint32_t)x;
    }
    put32(w, op, r);
}

/* ------------------------------------------------------------------ FP8 */

/* Table-free expansion: the code's exponent and mantissa moved into an f32 of too small an exponent, scaled
 * back by an exact power of two; subnormal codes come out right. Needs f32 denormals: runs with MXCSR default. */
static inline float fast_fp8(uint32_t b)
{
    float magnitude = as_f32((b & 0x7f) << 20) * 0x1p120f;
    uint32_t bits = as_u32(magnitude) | (b & 0x80) << 24;
    return as_f32((b & 0x7f) == 0x7f ? 0x7fc00000 | (b & 0x80) << 24 : bits);
}

static inline float fast_bf8(uint32_t b)
{
    float magnitude = as_f32((b & 0x7f) << 21) * 0x1p112f;
    uint32_t sign = (b & 0x80) << 24, body = b & 0x7f;
    uint32_t special = 0x7f800000 | (body & 3) << 21 | (body > 0x7c) << 22;
    return as_f32((body >= 0x7c ? special : as_u32(magnitude)) | sign);
}

/* Round to nearest even in integers: rebias, add half minus one plus the last kept bit, shift. Subnormal results
 * come from an addition that aligns the last kept bit with f32's last. */
static inline uint32_t fast_to_fp8(float f, uint32_t over)
{
    uint32_t u = as_u32(f), sign = u >> 24 & 0x80, body = u & 0x7fffffff;
    uint32_t normal = (body - (120u << 23) + 0x7ffff + (body >> 20 & 1)) >> 20;
    /* 2^-9 is the smallest subnormal; adding 1.5 * 2^14 leaves its multiples in the low bits. */
    uint32_t tiny = as_u32(as_f32(body) + 0x1.8p14f) - as_u32(0x1.8p14f);
    uint32_t code = pick(body < (121u << 23), tiny, normal);
    code = pick(body > 0x43e80000, over, code); /* 464 is a tie that goes to 448 */
    return sign | pick(body >= 0x7f800000, 0x7f, code);
}

static inline uint32_t fast_to_bf8(float f, uint32_t over)
{
    uint32_t u = as_u32(f), sign = u >> 24 & 0x80, body = u & 0x7fffffff;
    uint32_t normal = (body - (112u << 23) + 0xfffff + (body >> 21 & 1)) >> 21;
    /* 2^-16 is the smallest subnormal. */
    uint32_t tiny = as_u32(as_f32(body) + 0x1.8p7f) - as_u32(0x1.8p7f);
    uint32_t code = pick(body < (113u << 23), tiny, normal);
    code = pick(body >= 0x47700000, over, code); /* 61440 is a tie that goes up */
    code = pick(body == 0x7f800000, 0x7c, code);
    return sign | pick(body > 0x7f800000, 0x7f, code);
}

/* What an overflow becomes: NaN (e4m3) or infinity (e5m2), with FP16_OVFL the largest number. */
#define OVER_FP8 (w->mode & EMU_MODE_FP16_OVFL ? 0x7e : 0x7f)
#define OVER_BF8 (w->mode & EMU_MODE_FP16_OVFL ? 0x7b : 0x7c)

#define PACK8(name, convert, overflow)                               \
    HANDLER(name)                                                    \
    {                                                                \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1);        \
        uint32_t over = overflow;                                    \
        ALIGNED uint32_t r[EMU_LANES];                               \
        LANES r[i] = convert(a[i], over) | convert(b[i], over) << 8; \
        put16(w, op, r);                                             \
    }
PACK8(v_cvt_pk_fp8_f32, fast_to_fp8, OVER_FP8)
PACK8(v_cvt_pk_bf8_f32, fast_to_bf8, OVER_BF8)

/* Stochastic rounding: the seed's upper bits are added below the kept mantissa, then the value is truncated.
 * op_sel[3:2] names the byte written. */
static inline uint32_t stochastic(float f, uint32_t seed, unsigned dropped, bool bf8, uint32_t over)
{
    uint32_t u = as_u32(f), body = u & 0x7fffffff;
    if (body >= 0x7f800000) return bf8 ? fast_to_bf8(f, over) : fast_to_fp8(f, over);
    body += seed >> (32 - dropped);
    body &= ~((1u << dropped) - 1);
    float t = as_f32((u & 0x80000000) | body);
    /* Truncated normal values are exact; below the normal range the remaining bits are cut as well. */
    float limit = bf8 ? 0x1p-14f : 0x1p-6f, unit = bf8 ? 0x1p-16f : 0x1p-9f;
    if (fabsf(t) < limit) t = copysignf(truncf(t / unit) * unit, t);
    return bf8 ? fast_to_bf8(t, over) : fast_to_fp8(t, over);
}

#define STOCHASTIC(name, dropped, bf8, overflow)                              \
    HANDLER(name)                                                             \
    {                                                                         \
        const float *a = srcf(w, op, 0);                                      \
        SRC_B(uint32_t)                                                       \
        unsigned shift = 8 * (op->op_sel >> 2 & 3);                           \
        uint32_t over = overflow;                                             \
        ALIGNED uint32_t r[EMU_LANES];                                        \
        LANES                                                                 \
        {                                                                     \
            uint32_t code = stochastic(a[i], b[i], dropped, bf8, over);       \
            r[i] = (w->vgpr[op->dst][i] & ~(0xffu << shift)) | code << shift; \
        }                                                                     \
        put32(w, op, r);                                                      \
    }
STOCHASTIC(v_cvt_sr_fp8_f32, 20, false, OVER_FP8)
STOCHASTIC(v_cvt_sr_bf8_f32, 21, true, OVER_BF8)

/* Byte select: op_sel[0] is the upper bit of the byte's number, op_sel[1] the lower (LLVM's byte_sel). */
#define EXPAND8(name, convert)                                                \
    HANDLER(name)                                                             \
    {                                                                         \
        SRC_A(uint32_t)                                                       \
        unsigned shift = 8 * ((op->op_sel & 1) << 1 | (op->op_sel >> 1 & 1)); \
        ALIGNED float r[EMU_LANES];                                           \
        LANES r[i] = convert(a[i] >> shift & 0xff);                           \
        putf(w, op, r);                                                       \
    }
EXPAND8(v_cvt_f32_fp8, fast_fp8)
EXPAND8(v_cvt_f32_bf8, fast_bf8)

#define EXPAND8_PAIR(name, convert)                                                 \
    HANDLER(name)                                                                   \
    {                                                                               \
        SRC_A(uint32_t)                                                             \
        unsigned shift = op->op_sel & 1 ? 16 : 0;                                   \
        ALIGNED float low[EMU_LANES], high[EMU_LANES];                              \
        LANES low[i] = convert(a[i] >> shift & 0xff);                               \
        LANES high[i] = convert(a[i] >> (shift + 8) & 0xff);                        \
        store_lanes(w, w->vgpr[op->dst], (const uint32_t *)(const void *)low);      \
        store_lanes(w, w->vgpr[op->dst + 1], (const uint32_t *)(const void *)high); \
    }
EXPAND8_PAIR(v_cvt_pk_f32_fp8, fast_fp8)
EXPAND8_PAIR(v_cvt_pk_f32_bf8, fast_bf8)
