/* Vector f32 arithmetic. */
#include "vector.h"

FLOAT2(v_add_f32, x + y)
FLOAT2(v_sub_f32, x - y)
FLOAT2(v_subrev_f32, y - x)
FLOAT2(v_mul_f32, x *y)
/* DX9 rules: zero times anything is +0. */
FLOAT2(v_mul_dx9_zero_f32, x == 0 || y == 0 ? 0.0f : x * y)
FLOAT3(v_fma_f32, fmaf(x, y, z))
FLOAT3(v_fmaak_f32, fmaf(x, y, z))
FLOAT3(v_fmamk_f32, fmaf(x, y, z))
FLOAT3(v_fma_dx9_zero_f32, x == 0 || y == 0 ? z : fmaf(x, y, z))

#define ACCUMULATE(name, expression)                                    \
    HANDLER(name)                                                       \
    {                                                                   \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1);           \
        const float *d = (const float *)(const void *)w->vgpr[op->dst]; \
        ALIGNED float r[EMU_LANES];                                     \
        LANES                                                           \
        {                                                               \
            float x = a[i], y = b[i], z = d[i];                         \
            r[i] = (expression);                                        \
        }                                                               \
        putf(w, op, r);                                                 \
    }
ACCUMULATE(v_fmac_f32, fmaf(x, y, z))
ACCUMULATE(v_fmac_dx9_zero_f32, x == 0 || y == 0 ? z : fmaf(x, y, z))

/* ------------------------------------------------------------------ minimum, maximum */

/* gfx11's v_min_f32 in IEEE mode returns a signalling NaN, made quiet, ahead of a number. */
static inline float ieee_min(float x, float y)
{
    float r = number_min(x, y);
    r = is_signalling(y) ? quiet(y) : r;
    return is_signalling(x) ? quiet(x) : r;
}

static inline float ieee_max(float x, float y)
{
    float r = number_max(x, y);
    r = is_signalling(y) ? quiet(y) : r;
    return is_signalling(x) ? quiet(x) : r;
}

/* The fast loop orders integer keys; lanes with a NaN send the whole instruction through the exact functions. f32
 * denormals are flushed only if MODE says so. */
#define IS_NAN(u) (uint32_t)(((u)&0x7fffffff) > 0x7f800000)
#define FLUSH_MODE (w->special_mode && (w->mode & 0x30) != 0x30)

#define ORDERED2(name, key, exact)                                                                       \
    HANDLER(name)                                                                                        \
    {                                                                                                    \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1);                                            \
        const uint32_t *ua = (const uint32_t *)(const void *)a, *ub = (const uint32_t *)(const void *)b; \
        ALIGNED float r[EMU_LANES];                                                                      \
        uint32_t nan = 0;                                                                                \
        LANES                                                                                            \
        {                                                                                                \
            int32_t x = order_key(ua[i]), y = order_key(ub[i]);                                          \
            nan |= IS_NAN(ua[i]) | IS_NAN(ub[i]);                                                        \
            r[i] = as_f32((uint32_t)order_key((uint32_t)(key)));                                         \
        }                                                                                                \
        if (UNLIKELY(nan)) {                                                                             \
            LANES                                                                                        \
            {                                                                                            \
                float x = a[i], y = b[i];                                                                \
                r[i] = (exact);                                                                          \
            }                                                                                            \
        }                                                                                                \
        if (UNLIKELY(FLUSH_MODE)) LANES r[i] = flush(r[i]);                                              \
        putf(w, op, r);                                                                                  \
    }
#define ORDERED3(name, key, exact)                                                                       \
    HANDLER(name)                                                                                        \
    {                                                                                                    \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1), *c = srcf(w, op, 2);                       \
        const uint32_t *ua = (const uint32_t *)(const void *)a, *ub = (const uint32_t *)(const void *)b; \
        const uint32_t *uc = (const uint32_t *)(const void *)c;                                          \
        ALIGNED float r[EMU_LANES];                                                                      \
        uint32_t nan = 0;                                                                                \
        LANES                                                                                            \
        {                                                                                                \
            int32_t x = order_key(ua[i]), y = order_key(ub[i]), z = order_key(uc[i]);                    \
            nan |= IS_NAN(ua[i]) | IS_NAN(ub[i]) | IS_NAN(uc[i]);                                        \
            r[i] = as_f32((uint32_t)order_key((uint32_t)(key)));                                         \
        }                                                                                                \
        if (UNLIKELY(nan)) {                                                                             \
            LANES                                                                                        \
            {                                                                                            \
                float x = a[i], y = b[i], z = c[i];                                                      \
                r[i] = (exact);                                                                          \
            }                                                                                            \
        }                                                                                                \
        if (UNLIKELY(FLUSH_MODE)) LANES r[i] = flush(r[i]);                                              \
        putf(w, op, r);                                                                                  \
    }
#define MED(x, y, z) key_max(key_min(x, y), key_min(key_max(x, y), z))

ORDERED2(v_min_f32, key_min(x, y), w->ieee ? ieee_min(x, y) : number_min(x, y))
ORDERED2(v_max_f32, key_max(x, y), w->ieee ? ieee_max(x, y) : number_max(x, y))
ORDERED2(v_min_num_f32, key_min(x, y), number_min(x, y))
ORDERED2(v_max_num_f32, key_max(x, y), number_max(x, y))
ORDERED2(v_minimum_f32, key_min(x, y), nan_min(x, y))
ORDERED2(v_maximum_f32, key_max(x, y), nan_max(x, y))

/* The three-operand forms of gfx11 (v_min3_f32) and gfx12 (v_min3_num_f32) agree. */
#define BOTH3(a_name, b_name, key, exact) ORDERED3(a_name, key, exact) ORDERED3(b_name, key, exact)
BOTH3(v_min3_f32, v_min3_num_f32, key_min(key_min(x, y), z), number_min(number_min(x, y), z))
BOTH3(v_max3_f32, v_max3_num_f32, key_max(key_max(x, y), z), number_max(number_max(x, y), z))
BOTH3(v_med3_f32, v_med3_num_f32, MED(x, y, z), number_med3(x, y, z))
BOTH3(v_minmax_f32, v_minmax_num_f32, key_max(key_min(x, y), z), number_max(number_min(x, y), z))
BOTH3(v_maxmin_f32, v_maxmin_num_f32, key_min(key_max(x, y), z), number_min(number_max(x, y), z))
ORDERED3(v_minimum3_f32, key_min(key_min(x, y), z), nan_min(nan_min(x, y), z))
ORDERED3(v_maximum3_f32, key_max(key_max(x, y), z), nan_max(nan_max(x, y), z))
ORDERED3(v_minimummaximum_f32, key_max(key_min(x, y), z), nan_max(nan_min(x, y), z))
ORDERED3(v_maximumminimum_f32, key_min(key_max(x, y), z), nan_min(nan_max(x, y), z))

/* ------------------------------------------------------------------ rounding and parts */

FLOAT1(v_trunc_f32, truncf(x))
FLOAT1(v_ceil_f32, ceilf(x))
FLOAT1(v_floor_f32, floorf(x))
FLOAT1(v_rndne_f32, roundevenf(x))

/* At most the largest number below one. */
static inline float fract(float x)
{
    float r = x - floorf(x);
    return r >= 1.0f ? 0x1.fffffep-1f : r;
}
FLOAT1(v_fract_f32, fract(x))

static inline float frexp_mantissa(float x)
{
    int e;
    uint32_t body = as_u32(x) & 0x7fffffff;
    return body >= 0x7f800000 || body == 0 ? quiet(x) : frexpf(x, &e);
}
FLOAT1(v_frexp_mant_f32, frexp_mantissa(x))

HANDLER(v_frexp_exp_i32_f32)
{
    const float *a = srcf(w, op, 0);
    ALIGNED uint32_t r[EMU_LANES];
    LANES
    {
        int e = 0;
        uint32_t body = as_u32(a[i]) & 0x7fffffff;
        if (body < 0x7f800000 && body) frexpf(a[i], &e);
        r[i] = (uint32_t)e;
    }
    put32(w, op, r);
}

HANDLER(v_ldexp_f32)
{
    const float *a = srcf(w, op, 0);
    SRC_B(int32_t)
    ALIGNED float r[EMU_LANES];
    LANES r[i] = ldexp_f32(a[i], b[i]);
    putf(w, op, r);
}

/* ------------------------------------------------------------------ transcendental */

FLOAT1(v_exp_f32, exp2_f32(x))
FLOAT1(v_log_f32, log2_f32(x))
FLOAT1(v_rcp_f32, rcp_f32(x))
FLOAT1(v_rcp_iflag_f32, rcp_f32(x))
FLOAT1(v_rsq_f32, rsq_f32(x))
FLOAT1(v_sqrt_f32, sqrt_f32(x))

/* The argument is in turns. Beyond 2^8 turns the hardware's range ends; results there follow the period. */
static inline float sin_turns(float x)
{
    if (x - x != 0) return as_f32(0x7fc00000);
    double t = (double)flush(x), r = t - rint(t);
    return r == 0 ? (float)r : (float)sin(r * 6.283185307179586);
}

static inline float cos_turns(float x)
{
    if (x - x != 0) return as_f32(0x7fc00000);
    double t = (double)flush(x), r = t - rint(t);
    return fabs(r) == 0.25 ? 0.0f : (float)cos(r * 6.283185307179586);
}
FLOAT1(v_sin_f32, sin_turns(x))
FLOAT1(v_cos_f32, cos_turns(x))

/* gfx12: the same on scalars. Source and destination are SGPRs. */
#define SCALAR_FLOAT(name, expression)                               \
    HANDLER(name)                                                    \
    {                                                                \
        uint32_t u = scalar32(w, &op->src[0]);                       \
        if (op->src[0].kind == EMU_SRC_CONST) u = op->src[0].row[0]; \
        if (op->src[0].mods & EMU_MOD_ABS) u &= 0x7fffffff;          \
        if (op->src[0].mods & EMU_MOD_NEG) u ^= 0x80000000;          \
        float x = as_f32(u);                                         \
        set_sgpr(w, op->dst, as_u32(out_f32(w, op, expression)));    \
    }
SCALAR_FLOAT(v_s_exp_f32, exp2_f32(x))
SCALAR_FLOAT(v_s_log_f32, log2_f32(x))
SCALAR_FLOAT(v_s_rcp_f32, rcp_f32(x))
SCALAR_FLOAT(v_s_rsq_f32, rsq_f32(x))
SCALAR_FLOAT(v_s_sqrt_f32, sqrt_f32(x))

/* ------------------------------------------------------------------ division helpers
 *
 * div_scale, div_fmas and div_fixup only mean something together: a correctly rounded quotient. The scaling
 * follows the ISA text; where that text contradicts itself (which power div_fmas applies, a huge denominator
 * with a denormal quotient) the choice below keeps the three consistent. */

static inline int exponent_of(float x)
{
    return (int)(as_u32(x) >> 23 & 0xff);
}

static inline bool is_denormal(float x)
{
    uint32_t body = as_u32(x) & 0x7fffffff;
    return body != 0 && body < 0x800000;
}

static inline float div_scale(float value, float den, float num, bool *post)
{
    *post = false;
    if (num == 0 || den == 0) return as_f32(0x7fc00000);
    bool scale_den = as_u32(value) == as_u32(den), scale_num = as_u32(value) == as_u32(num);
    bool inverse_denormal = fabsf(den) > 0x1p126f;
    bool quotient_denormal = fabs((double)num / (double)den) < 0x1p-126;
    if (exponent_of(num) - exponent_of(den) >= 96) {
        *post = true;
        return scale_den ? ldexp_f32(value, 64) : value;
    }
    if (is_denormal(den)) return ldexp_f32(value, 64);
    if (inverse_denormal && quotient_denormal) {
        *post = true;
        return scale_den ? ldexp_f32(value, -64) : value;
    }
    if (inverse_denormal) return ldexp_f32(value, -64);
    if (quotient_denormal) {
        *post = true;
        return scale_num ? ldexp_f32(value, 64) : value;
    }
    if (exponent_of(num) <= 23) return ldexp_f32(value, 64);
    return value;
}

HANDLER(v_div_scale_f32)
{
    const float *a = srcf(w, op, 0), *b = srcf(w, op, 1), *c = srcf(w, op, 2);
    ALIGNED float r[EMU_LANES];
    uint32_t out = 0;
    LANES
    {
        bool post;
        r[i] = div_scale(a[i], b[i], c[i], &post);
        out |= (uint32_t)post << i;
    }
    putf(w, op, r);
    set_sgpr(w, op->sdst, out & w->exec);
}

/* a * b + c in double, inexact results made odd: rounding it again to fewer bits rounds the exact value. */
static inline double fma_to_odd(float a, float b, float c)
{
    double product = (double)a * (double)b; /* exact */
    double sum = product + (double)c, part = sum - product;
    double error = (product - (sum - part)) + ((double)c - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    if (error == 0 || error != error || bits & 1) return sum;
    bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    memcpy(&sum, &bits, sizeof(bits));
    return sum;
}

HANDLER(v_div_fmas_f32)
{
    const float *a = srcf(w, op, 0), *b = srcf(w, op, 1), *c = srcf(w, op, 2);
    uint32_t post = w->sgpr[EMU_S_VCC];
    ALIGNED float r[EMU_LANES];
    LANES
    {
        r[i] = fmaf(a[i], b[i], c[i]);
        /* The scaled quotient is above one when the denominator had been scaled up, far below when the
         * numerator had. One rounding, also where the result is denormal: the sum is rounded to odd in double. */
        if (post >> i & 1) {
            double odd = fma_to_odd(a[i], b[i], c[i]);
            r[i] = (float)(odd * (exponent_of(c[i]) > 127 ? 0x1p64 : 0x1p-64));
        }
    }
    putf(w, op, r);
}

static inline float div_fixup(float q, float den, float num)
{
    uint32_t sign = (as_u32(den) ^ as_u32(num)) & 0x80000000;
    if (num != num) return quiet(num);
    if (den != den) return quiet(den);
    bool den_inf = fabsf(den) == INFINITY, num_inf = fabsf(num) == INFINITY;
    if ((num == 0 && den == 0) || (den_inf && num_inf)) return as_f32(0xffc00000);
    if (den == 0 || num_inf) return as_f32(sign | 0x7f800000);
    if (den_inf || num == 0) return as_f32(sign);
    if (exponent_of(num) - exponent_of(den) < -150) return as_f32(sign);
    /* A quotient far beyond the largest value: the steps before have subtracted infinities. */
    if (q != q) return as_f32(sign | 0x7f800000);
    return as_f32((as_u32(q) & 0x7fffffff) | sign);
}
FLOAT3(v_div_fixup_f32, div_fixup(x, y, z))
