/* Vector f16 arithmetic: operands are widened to f32. Products are exact there; sums and fused multiply-adds are
 * rounded to odd (fma_odd), so that the rounding to f16 that follows, in any direction, is the only one. Handlers run with MXCSR at its default: MODE's f16
 * rounding and denormal controls are applied here. */
#include "vector.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

void EX(half_expand)(emu_wave *w, const uint32_t h[EMU_LANES], float out[EMU_LANES])
{
#ifdef __F16C__
    for (int i = 0; i < EMU_LANES; i += 8) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(h + i));
        __m128i low = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(low));
    }
#else
    LANES out[i] = emu_half_to_float(h[i]);
#endif
    if (UNLIKELY(w->special_mode) && !(w->mode & 0x40)) {
        LANES
        {
            if (fabsf(out[i]) < 0x1p-14f) out[i] = copysignf(0.0f, out[i]);
        }
    }
}

void EX(half_source)(emu_wave *w, const emu_op *op, int i, float out[EMU_LANES])
{
    ALIGNED uint32_t h[EMU_LANES];
    src16(w, op, i, h);
    unsigned mods = op->src[i].mods;
    if (mods & EMU_MOD_ABS) {
        for (int l = 0; l < EMU_LANES; l++) h[l] &= 0x7fff;
    }
    if (mods & EMU_MOD_NEG) {
        for (int l = 0; l < EMU_LANES; l++) h[l] ^= 0x8000;
    }
    EX(half_expand)(w, h, out);
}

void EX(half_round)(emu_wave *w, const emu_op *op, const float r[EMU_LANES], uint32_t out[EMU_LANES])
{
    ALIGNED float v[EMU_LANES];
    LANES v[i] = r[i];
    if (!plain_output(op)) {
        LANES v[i] = out_f32(w, op, v[i]);
    }
    bool saturate = w->mode & EMU_MODE_FP16_OVFL;
    if (UNLIKELY(w->special_mode || saturate)) {
        unsigned mode = w->mode >> 2 & 3;
        LANES out[i] = emu_float_to_half(v[i], mode, saturate);
        if (!(w->mode & 0x80)) {
            LANES
            {
                if ((out[i] & 0x7c00) == 0) out[i] &= 0x8000;
            }
        }
        return;
    }
#ifdef __F16C__
    for (int i = 0; i < EMU_LANES; i += 8) {
        __m128i h = _mm256_cvtps_ph(_mm256_load_ps(v + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_cvtepu16_epi32(h));
    }
#else
    LANES out[i] = emu_float_to_half(v[i], EMU_ROUND_EVEN, false);
#endif
}

void EX(half_result)(emu_wave *w, const emu_op *op, float r[EMU_LANES])
{
    ALIGNED uint32_t h[EMU_LANES];
    EX(half_round)(w, op, r, h);
    put16(w, op, h);
}

/* ------------------------------------------------------------------ arithmetic */

HALF2(v_add_f16, fma_odd(x, 1.0f, y, DOWN16))
HALF2(v_sub_f16, fma_odd(y, -1.0f, x, DOWN16))
HALF2(v_subrev_f16, fma_odd(x, -1.0f, y, DOWN16))
HALF2(v_mul_f16, x *y)
HALF3(v_fma_f16, fma_odd(x, y, z, DOWN16))
HALF3(v_fmaak_f16, fma_odd(x, y, z, DOWN16))
HALF3(v_fmamk_f16, fma_odd(x, y, z, DOWN16))

HANDLER(v_fmac_f16)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t old[EMU_LANES];
    EX(half_source)(w, op, 0, a);
    EX(half_source)(w, op, 1, b);
    unsigned shift = op->dst_hi ? 16 : 0;
    LANES old[i] = w->vgpr[op->dst][i] >> shift & 0xffff;
    EX(half_expand)(w, old, c);
    LANES r[i] = fma_odd(a[i], b[i], c[i], DOWN16);
    EX(half_result)(w, op, r);
}

/* IEEE mode of gfx11: a signalling NaN counts ahead of a number. Widening has made it quiet, so the codes
 * decide. */
static void half_minmax(emu_wave *w, const emu_op *op, bool max)
{
    ALIGNED float a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t ha[EMU_LANES], hb[EMU_LANES];
    EX(half_source)(w, op, 0, a);
    EX(half_source)(w, op, 1, b);
    LANES r[i] = max ? number_max(a[i], b[i]) : number_min(a[i], b[i]);
    if (w->ieee) {
        src16(w, op, 0, ha);
        src16(w, op, 1, hb);
        LANES
        {
            if ((hb[i] & 0x7e00) == 0x7c00 && (hb[i] & 0x1ff)) r[i] = b[i];
            if ((ha[i] & 0x7e00) == 0x7c00 && (ha[i] & 0x1ff)) r[i] = a[i];
        }
    }
    EX(half_result)(w, op, r);
}

HANDLER(v_min_f16)
{
    half_minmax(w, op, false);
}
HANDLER(v_max_f16)
{
    half_minmax(w, op, true);
}
HALF2(v_min_num_f16, number_min(x, y))
HALF2(v_max_num_f16, number_max(x, y))
HALF2(v_minimum_f16, nan_min(x, y))
HALF2(v_maximum_f16, nan_max(x, y))
HALF3(v_min3_f16, number_min(number_min(x, y), z))
HALF3(v_max3_f16, number_max(number_max(x, y), z))
HALF3(v_med3_f16, number_med3(x, y, z))
HALF3(v_minmax_f16, number_max(number_min(x, y), z))
HALF3(v_maxmin_f16, number_min(number_max(x, y), z))
HALF3(v_min3_num_f16, number_min(number_min(x, y), z))
HALF3(v_max3_num_f16, number_max(number_max(x, y), z))
HALF3(v_med3_num_f16, number_med3(x, y, z))
HALF3(v_minmax_num_f16, number_max(number_min(x, y), z))
HALF3(v_maxmin_num_f16, number_min(number_max(x, y), z))
HALF3(v_minimum3_f16, nan_min(nan_min(x, y), z))
HALF3(v_maximum3_f16, nan_max(nan_max(x, y), z))
HALF3(v_minimummaximum_f16, nan_max(nan_min(x, y), z))
HALF3(v_maximumminimum_f16, nan_min(nan_max(x, y), z))

/* ------------------------------------------------------------------ rounding and parts */

HALF1(v_trunc_f16, truncf(x))
HALF1(v_ceil_f16, ceilf(x))
HALF1(v_floor_f16, floorf(x))
HALF1(v_rndne_f16, roundevenf(x))

static inline float fract(float x)
{
    float r = x - floorf(x);
    return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
}
HALF1(v_fract_f16, fract(x))

static inline float mantissa(float x)
{
    int e;
    return x - x != 0 || x == 0 ? x : frexpf(x, &e);
}
HALF1(v_frexp_mant_f16, mantissa(x))

HANDLER(v_frexp_exp_i16_f16)
{
    ALIGNED float a[EMU_LANES];
    ALIGNED uint32_t r[EMU_LANES];
    EX(half_source)(w, op, 0, a);
    LANES
    {
        int e = 0;
        if (a[i] - a[i] == 0 && a[i] != 0) frexpf(a[i], &e);
        r[i] = (uint32_t)e & 0xffff;
    }
    put16(w, op, r);
}

HANDLER(v_ldexp_f16)
{
    ALIGNED float a[EMU_LANES], r[EMU_LANES];
    ALIGNED uint32_t n[EMU_LANES];
    EX(half_source)(w, op, 0, a);
    src16(w, op, 1, n);
    LANES
    {
        int32_t e = (int16_t)n[i];
        e = e < -60 ? -60 : e > 60 ? 60 : e; /* exact in f32 */
        r[i] = a[i] * (float)power_of_two(e);
    }
    EX(half_result)(w, op, r);
}

/* ------------------------------------------------------------------ transcendental
 *
 * Computed in double or correctly rounded f32 and rounded to f16: within half a unit but for ties. */
static inline float half_exp2(float x)
{
    return x != x ? x : (float)exp2((double)x);
}

static inline float half_log2(float x)
{
    if (x < 0) return as_f32(0x7fc00000);
    return x == 0 ? -INFINITY : (float)log2((double)x);
}

static inline float half_rsq(float x)
{
    if (x < 0) return as_f32(0x7fc00000);
    return x == 0 ? copysignf(INFINITY, x) : (float)(1.0 / sqrt((double)x));
}

static inline float half_sin(float x)
{
    if (x - x != 0) return as_f32(0x7fc00000);
    double t = (double)x, r = t - rint(t);
    return r == 0 ? (float)r : (float)sin(r * 6.283185307179586);
}

static inline float half_cos(float x)
{
    if (x - x != 0) return as_f32(0x7fc00000);
    double t = (double)x, r = t - rint(t);
    return fabs(r) == 0.25 ? 0.0f : (float)cos(r * 6.283185307179586);
}
HALF1(v_exp_f16, half_exp2(x))
HALF1(v_log_f16, half_log2(x))
HALF1(v_rcp_f16, 1.0f / x)
HALF1(v_rsq_f16, half_rsq(x))
HALF1(v_sqrt_f16, x < 0 ? as_f32(0x7fc00000) : sqrtf(x))
HALF1(v_sin_f16, half_sin(x))
HALF1(v_cos_f16, half_cos(x))

#define SCALAR_HALF(name, expression)                                                                       \
    HANDLER(name)                                                                                           \
    {                                                                                                       \
        uint32_t u = op->src[0].kind == EMU_SRC_CONST ? op->src[0].row[0] : scalar32(w, &op->src[0]);       \
        if (op->src[0].mods & EMU_MOD_HI) u >>= 16;                                                         \
        if (op->src[0].mods & EMU_MOD_ABS) u &= 0x7fff;                                                     \
        if (op->src[0].mods & EMU_MOD_NEG) u ^= 0x8000;                                                     \
        float x = emu_half_to_float(u & 0xffff);                                                            \
        set_sgpr(                                                                                           \
            w, op->dst,                                                                                     \
            emu_float_to_half(out_f32(w, op, expression), w->mode >> 2 & 3, w->mode & EMU_MODE_FP16_OVFL)); \
    }
SCALAR_HALF(v_s_exp_f16, half_exp2(x))
SCALAR_HALF(v_s_log_f16, half_log2(x))
SCALAR_HALF(v_s_rcp_f16, 1.0f / x)
SCALAR_HALF(v_s_rsq_f16, half_rsq(x))
SCALAR_HALF(v_s_sqrt_f16, x < 0 ? as_f32(0x7fc00000) : sqrtf(x))

/* The quotient's special cases; see exec_f32.c. */
static inline float div_fixup(float q, float den, float num)
{
    float sign = copysignf(1, den) * copysignf(1, num);
    if (num != num) return num;
    if (den != den) return den;
    bool den_inf = fabsf(den) == INFINITY, num_inf = fabsf(num) == INFINITY;
    if ((num == 0 && den == 0) || (den_inf && num_inf)) return as_f32(0xffc00000);
    if (den == 0 || num_inf) return sign * INFINITY;
    if (den_inf || num == 0) return sign * 0.0f;
    return copysignf(q, sign);
}
HALF3(v_div_fixup_f16, div_fixup(x, y, z))
