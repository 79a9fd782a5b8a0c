/* Conversions between f32 and the narrow formats, in integer arithmetic: f16, bf16, FP8 e4m3 and e5m2 (OCP).
 */
#ifndef HIPEMU_HALF_H
#define HIPEMU_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { EMU_ROUND_EVEN, EMU_ROUND_UP, EMU_ROUND_DOWN, EMU_ROUND_ZERO };

static inline float emu_f32_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint32_t emu_bits_f32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* Exact; a signalling NaN is made quiet. */
static inline float emu_half_to_float(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, body = h & 0x7fff;
    if (body >= 0x7c00) return emu_f32_bits(sign | 0x7f800000 | (body & 0x3ff) << 13 | (body > 0x7c00) << 22);
    if (body >= 0x400) return emu_f32_bits(sign | ((body << 13) + 0x38000000));
    /* Subnormal: body * 2^-24, exact whatever the denormal mode since the result is normal or zero. */
    float f = (float)(int)body * 0x1p-24f;
    return emu_f32_bits(sign | emu_bits_f32(f));
}

/* Rounds away the low `shift` bits of `value`; sticky = more non-zero bits below. */
static inline uint32_t emu_round_shift(uint64_t value, unsigned shift, bool sticky, bool negative,
                                       unsigned mode)
{
    if (shift > 62) {
        sticky |= value != 0;
        value = 0;
        shift = 1;
    }
    uint64_t kept = value >> shift, rest = value & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    bool inexact = rest || sticky;
    bool up = false;
    switch (mode) {
    case EMU_ROUND_EVEN:
        up = rest > half || (rest == half && (sticky || (kept & 1)));
        break;
    case EMU_ROUND_UP:
        up = inexact && !negative;
        break;
    case EMU_ROUND_DOWN:
        up = inexact && negative;
        break;
    default:
        break;
    }
    return (uint32_t)(kept + up);
}

/* One rounding from a double to a format of `mant` mantissa bits, exponent bias `bias`, largest finite code
 * `max_code`; returns the magnitude's code, or max_code + 1 on overflow. Finite input. */
static inline uint32_t emu_narrow(double magnitude, bool negative, unsigned mant, int bias, uint32_t max_code,
                                  unsigned mode)
{
    uint64_t u;
    memcpy(&u, &magnitude, 8);
    int e = (int)(u >> 52 & 0x7ff);
    if (!e) return 0; /* zero; f64 subnormals do not arise from f32 and f16 values */
    uint64_t m = (u & 0xfffffffffffff) | 1ull << 52;
    int target = e - 1023 + bias; /* biased exponent in the narrow format */
    unsigned shift = 52 - mant;
    uint32_t code;
    if (target >= 1) {
        uint32_t rounded = emu_round_shift(m, shift, false, negative, mode); /* with the leading one */
        uint64_t wide = ((uint64_t)(target - 1) << mant) + rounded;
        code = wide > max_code ? max_code + 1 : (uint32_t)wide;
    } else {
        code = emu_round_shift(m, shift + (unsigned)(1 - target), false, negative, mode);
    }
    return code;
}

/* What an overflow becomes: infinity, or the largest finite number when rounding goes the other way. */
static inline bool emu_overflow_to_infinity(bool negative, unsigned mode)
{
    return mode == EMU_ROUND_EVEN || (mode == EMU_ROUND_UP && !negative) ||
           (mode == EMU_ROUND_DOWN && negative);
}

static inline uint32_t emu_double_to_half(double d, unsigned mode, bool saturate)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    bool negative = u >> 63;
    uint32_t sign = negative ? 0x8000 : 0;
    u &= 0x7fffffffffffffff;
    if (u > 0x7ff0000000000000) return sign | 0x7e00 | (uint32_t)(u >> 42 & 0x1ff);
    if (u == 0x7ff0000000000000) return sign | 0x7c00;
    double magnitude;
    memcpy(&magnitude, &u, 8);
    uint32_t code = emu_narrow(magnitude, negative, 10, 15, 0x7bff, mode);
    if (code > 0x7bff) code = !saturate && emu_overflow_to_infinity(negative, mode) ? 0x7c00 : 0x7bff;
    return sign | code;
}

static inline uint32_t emu_float_to_half(float f, unsigned mode, bool saturate)
{
    return emu_double_to_half((double)f, mode, saturate);
}

/* bf16 by truncating or rounding the upper half of an f32. */
static inline uint32_t emu_float_to_bf16(float f)
{
    uint32_t u = emu_bits_f32(f);
    if ((u & 0x7fffffff) > 0x7f800000) return u >> 16 | 0x40;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static inline float emu_bf16_to_float(uint32_t h)
{
    return emu_f32_bits(h << 16);
}

/* e4m3: bias 7, no infinity, NaN 0x7f, largest 448. */
static inline float emu_fp8_to_float(uint32_t b)
{
    uint32_t sign = (b & 0x80) << 24, body = b & 0x7f;
    if (body == 0x7f) return emu_f32_bits(sign | 0x7fc00000);
    if (body >= 8) return emu_f32_bits(sign | ((body << 20) + (120u << 23)));
    return emu_f32_bits(sign | emu_bits_f32((float)(int)body * 0x1p-9f));
}

/* e5m2: bias 15, infinity 0x7c, NaN above, largest 57344: the upper byte of an f16. */
static inline float emu_bf8_to_float(uint32_t b)
{
    return emu_half_to_float((b & 0xff) << 8);
}

/* Round to nearest even. Overflow: NaN, or with `saturate` (MODE.FP16_OVFL) 448. Infinity: NaN either way. */
static inline uint32_t emu_float_to_fp8(float f, bool saturate)
{
    uint32_t u = emu_bits_f32(f), sign = u >> 24 & 0x80;
    u &= 0x7fffffff;
    if (u >= 0x7f800000) return sign | 0x7f;
    uint32_t code = emu_narrow((double)emu_f32_bits(u), sign != 0, 3, 7, 0x7e, EMU_ROUND_EVEN);
    if (code > 0x7e) code = saturate ? 0x7e : 0x7f;
    return sign | code;
}

/* Overflow: infinity, or with `saturate` 57344. Infinity stays. */
static inline uint32_t emu_float_to_bf8(float f, bool saturate)
{
    uint32_t u = emu_bits_f32(f), sign = u >> 24 & 0x80;
    u &= 0x7fffffff;
    if (u > 0x7f800000) return sign | 0x7f;
    if (u == 0x7f800000) return sign | 0x7c;
    uint32_t code = emu_narrow((double)emu_f32_bits(u), sign != 0, 2, 15, 0x7b, EMU_ROUND_EVEN);
    if (code > 0x7b) code = saturate ? 0x7b : 0x7c;
    return sign | code;
}

#endif
