/* Float functions of one lane, written so that loops over 32 of them vectorise. */
#ifndef HIPEMU_FMATH_H
#define HIPEMU_FMATH_H

#include "exec.h"
#include "half.h"

static inline float quiet(float x)
{
    return x != x ? as_f32(as_u32(x) | 0x400000) : x;
}

static inline bool is_signalling(float x)
{
    return x != x && !(as_u32(x) & 0x400000);
}

/* c ? a : b without control flow, which the vectoriser does not always see through. */
static inline uint32_t pick(bool c, uint32_t a, uint32_t b)
{
    uint32_t mask = 0u - (uint32_t)c;
    return (a & mask) | (b & ~mask);
}

static inline float pick_f32(bool c, float a, float b)
{
    return as_f32(pick(c, as_u32(a), as_u32(b)));
}

/* Floats that are not NaN order as these integers do, -0 below +0. Its own inverse. */
static inline int32_t order_key(uint32_t u)
{
    int32_t k = (int32_t)u;
    return k ^ ((k >> 31) & 0x7fffffff);
}

static inline int32_t key_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t key_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* A number wins over a NaN; -0 is below +0. */
static inline float number_min(float x, float y)
{
    float r = x < y ? x : y;
    r = x == y ? as_f32(as_u32(x) | as_u32(y)) : r;
    r = y != y ? x : r;
    r = x != x ? y : r;
    return quiet(r);
}

static inline float number_max(float x, float y)
{
    float r = x > y ? x : y;
    r = x == y ? as_f32(as_u32(x) & as_u32(y)) : r;
    r = y != y ? x : r;
    r = x != x ? y : r;
    return quiet(r);
}

/* A NaN wins. */
static inline float nan_min(float x, float y)
{
    float r = x < y ? x : y;
    r = x == y ? as_f32(as_u32(x) | as_u32(y)) : r;
    r = y != y ? y : r;
    r = x != x ? x : r;
    return quiet(r);
}

static inline float nan_max(float x, float y)
{
    float r = x > y ? x : y;
    r = x == y ? as_f32(as_u32(x) & as_u32(y)) : r;
    r = y != y ? y : r;
    r = x != x ? x : r;
    return quiet(r);
}

static inline float number_med3(float x, float y, float z)
{
    bool nan = x != x || y != y || z != z;
    float low = number_min(number_min(x, y), z);
    float mid = number_max(number_min(x, y), number_min(number_max(x, y), z));
    return nan ? low : mid;
}

/* MODE rounds f16 down. */
#define DOWN16 (w->special_mode && (w->mode >> 2 & 3) == EMU_ROUND_DOWN)

/* f32 denormals become zeros of their sign (instructions that flush whatever the mode). */
static inline float flush(float x)
{
    return (as_u32(x) & 0x7f800000) == 0 ? as_f32(as_u32(x) & 0x80000000) : x;
}

/* a * b + c for f16 values in f32, rounded to odd: a later rounding to f16, in any direction, is then the only one.
 * The product is exact in f32 (22 bits), the error of the sum is exact (two-sum, round to nearest). down: the
 * rounding to come is towards minus infinity, where a sum that cancels is -0. */
static inline float fma_odd(float a, float b, float c, bool down)
{
    float p = a * b, s = p + c, t = s - p;
    float error = (p - (s - t)) + (c - t);
    uint32_t bits = as_u32(s);
    bool adjust = error != 0 && !(bits & 1) && s - s == 0; /* not for infinities and NaN */
    uint32_t step = (error > 0) == (s > 0) ? 1u : 0xffffffffu;
    bits = s == 0 && down ? bits | ((as_u32(p) | as_u32(c)) & 0x80000000) : bits;
    return as_f32(adjust ? bits + step : bits);
}

static inline uint32_t float_to_i32(float x)
{
    float clamped = x < 2147483648.0f ? x : 0.0f;
    clamped = clamped > -2147483648.0f ? clamped : -2147483648.0f;
    uint32_t r = (uint32_t)(int32_t)clamped;
    r = x >= 2147483648.0f ? 0x7fffffff : r;
    return x != x ? 0 : r;
}

static inline uint32_t float_to_u32(float x)
{
    float clamped = x > 0 ? x : 0.0f; /* NaN gives 0 */
    bool over = clamped >= 4294967296.0f;
    clamped = over ? 0.0f : clamped;
    return over ? 0xffffffff : (uint32_t)(int64_t)clamped;
}

/* 2^n for any n that keeps a double normal. */
static inline double power_of_two(int n)
{
    return as_f64((uint64_t)(int64_t)(n + 1023) << 52);
}

static inline float ldexp_f32(float x, int32_t n)
{
    int32_t c = n < -400 ? -400 : n > 400 ? 400 : n;
    return (float)((double)x * power_of_two(c));
}

/* 2^x: a polynomial in double on [-1/2, 1/2], relative error under 1e-14, then one rounding; denormal results
 * are zero. */
static inline float exp2_f32(float x)
{
    float c = x < -200.0f ? -200.0f : x > 200.0f ? 200.0f : x;
    const double magic = 6755399441055744.0;
    double d = (double)c, n = (d + magic) - magic, f = d - n;
    double p = 4.4455382718708114e-10;
    p = p * f + 7.0549116208011233e-09;
    p = p * f + 1.0178086009239699e-07;
    p = p * f + 1.3215486790144309e-06;
    p = p * f + 1.5252733804059840e-05;
    p = p * f + 1.5403530393381608e-04;
    p = p * f + 1.3333558146428443e-03;
    p = p * f + 9.6181291076284771e-03;
    p = p * f + 5.5504108664821579e-02;
    p = p * f + 2.4022650695910071e-01;
    p = p * f + 6.9314718055994531e-01;
    p = p * f + 1.0;
    double bounded = n > -1000.0 ? n : -1000.0; /* NaN goes through any value, but not into an int */
    bounded = bounded < 1000.0 ? bounded : 1000.0;
    int exponent = (int)bounded;
    float r = (float)(p * power_of_two(exponent));
    r = c < -126.0f ? 0.0f : r;
    return x != x ? quiet(x) : r;
}

/* log2 of a positive normal number: 2/ln 2 * atanh((m - 1) / (m + 1)), m in [sqrt(1/2), sqrt(2)). */
static inline float log2_f32(float x)
{
    float v = flush(x);
    uint32_t bits = as_u32(v);
    int e = (int)(bits >> 23 & 0xff) - 127;
    double m = (double)as_f32((bits & 0x7fffff) | 0x3f800000);
    bool high = m > 1.4142135623730951;
    m = high ? m * 0.5 : m;
    e = high ? e + 1 : e;
    double s = (m - 1.0) / (m + 1.0), q = s * s;
    double p = 1.0 / 17;
    p = p * q + 1.0 / 15;
    p = p * q + 1.0 / 13;
    p = p * q + 1.0 / 11;
    p = p * q + 1.0 / 9;
    p = p * q + 1.0 / 7;
    p = p * q + 1.0 / 5;
    p = p * q + 1.0 / 3;
    p = p * q + 1.0;
    float r = (float)((double)e + 2.8853900817779268 * s * p);
    r = v == as_f32(0x7f800000) ? v : r;
    r = v < 0 ? as_f32(0x7fc00000) : r;
    r = v == 0 ? as_f32(0xff800000) : r;
    return v != v ? quiet(v) : r;
}

static inline float rcp_f32(float x)
{
    return flush(1.0f / flush(x));
}

static inline float rsq_f32(float x)
{
    float v = flush(x);
    float r = (float)(1.0 / sqrt((double)(v < 0 ? 1.0f : v)));
    r = v == 0 ? as_f32(0x7f800000 | (as_u32(v) & 0x80000000)) : r;
    return v < 0 ? as_f32(0x7fc00000) : r;
}

static inline float sqrt_f32(float x)
{
    float v = flush(x);
    float r = sqrtf(v < 0 ? 1.0f : v);
    return v < 0 ? as_f32(0x7fc00000) : r;
}

/* Class bits of V_CMP_CLASS: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf. */
static inline uint32_t class_of(bool negative, bool nan, bool quiet_bit, bool infinite, bool zero,
                                bool denormal)
{
    if (nan) return quiet_bit ? 2 : 1;
    if (infinite) return negative ? 4 : 512;
    if (zero) return negative ? 32 : 64;
    if (denormal) return negative ? 16 : 128;
    return negative ? 8 : 256;
}

static inline uint32_t class_f32(uint32_t u)
{
    uint32_t body = u & 0x7fffffff;
    return class_of(u >> 31, body > 0x7f800000, u >> 22 & 1, body == 0x7f800000, body == 0, body < 0x800000);
}

static inline uint32_t class_f16(uint32_t u)
{
    uint32_t body = u & 0x7fff;
    return class_of(u >> 15 & 1, body > 0x7c00, u >> 9 & 1, body == 0x7c00, body == 0, body < 0x400);
}

static inline uint32_t class_f64(uint64_t u)
{
    uint64_t body = u & 0x7fffffffffffffff, infinity = 0x7ff0000000000000;
    return class_of(u >> 63, body > infinity, u >> 51 & 1, body == infinity, body == 0,
                    body < 0x10000000000000);
}

#endif
