/* Vector f64 arithmetic. Runs under MODE's f64 rounding and denormal controls when they are not the default. */
#include "vector.h"

#define DOUBLE1(name, expression)                  \
    HANDLER(name)                                  \
    {                                              \
        ALIGNED double a[EMU_LANES], r[EMU_LANES]; \
        srcd(w, op, 0, a);                         \
        LANES                                      \
        {                                          \
            double x = a[i];                       \
            r[i] = (expression);                   \
        }                                          \
        putd(w, op, r);                            \
    }
#define DOUBLE2(name, expression)                                \
    HANDLER(name)                                                \
    {                                                            \
        ALIGNED double a[EMU_LANES], b[EMU_LANES], r[EMU_LANES]; \
        srcd(w, op, 0, a);                                       \
        srcd(w, op, 1, b);                                       \
        LANES                                                    \
        {                                                        \
            double x = a[i], y = b[i];                           \
            r[i] = (expression);                                 \
        }                                                        \
        putd(w, op, r);                                          \
    }
#define DOUBLE3(name, expression)                                              \
    HANDLER(name)                                                              \
    {                                                                          \
        ALIGNED double a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES]; \
        srcd(w, op, 0, a);                                                     \
        srcd(w, op, 1, b);                                                     \
        srcd(w, op, 2, c);                                                     \
        LANES                                                                  \
        {                                                                      \
            double x = a[i], y = b[i], z = c[i];                               \
            r[i] = (expression);                                               \
        }                                                                      \
        putd(w, op, r);                                                        \
    }

static inline double quiet64(double x)
{
    return x != x ? as_f64(as_u64(x) | 0x8000000000000) : x;
}

static inline bool signalling64(double x)
{
    return x != x && !(as_u64(x) & 0x8000000000000);
}

static inline double number_min64(double x, double y)
{
    double r = x < y ? x : y;
    r = x == y ? as_f64(as_u64(x) | as_u64(y)) : r;
    r = y != y ? x : r;
    r = x != x ? y : r;
    return quiet64(r);
}

static inline double number_max64(double x, double y)
{
    double r = x > y ? x : y;
    r = x == y ? as_f64(as_u64(x) & as_u64(y)) : r;
    r = y != y ? x : r;
    r = x != x ? y : r;
    return quiet64(r);
}

static inline double nan_min64(double x, double y)
{
    return x != x ? quiet64(x) : y != y ? quiet64(y) : number_min64(x, y);
}

static inline double nan_max64(double x, double y)
{
    return x != x ? quiet64(x) : y != y ? quiet64(y) : number_max64(x, y);
}

static inline double ieee_min64(double x, double y, bool ieee)
{
    if (ieee && signalling64(x)) return quiet64(x);
    if (ieee && signalling64(y)) return quiet64(y);
    return number_min64(x, y);
}

static inline double ieee_max64(double x, double y, bool ieee)
{
    if (ieee && signalling64(x)) return quiet64(x);
    if (ieee && signalling64(y)) return quiet64(y);
    return number_max64(x, y);
}

DOUBLE2(v_add_f64, x + y)
DOUBLE2(v_mul_f64, x *y)
DOUBLE3(v_fma_f64, fma(x, y, z))
DOUBLE2(v_min_f64, ieee_min64(x, y, w->ieee))
DOUBLE2(v_max_f64, ieee_max64(x, y, w->ieee))
DOUBLE2(v_min_num_f64, number_min64(x, y))
DOUBLE2(v_max_num_f64, number_max64(x, y))
DOUBLE2(v_minimum_f64, nan_min64(x, y))
DOUBLE2(v_maximum_f64, nan_max64(x, y))
DOUBLE1(v_trunc_f64, trunc(x))
DOUBLE1(v_ceil_f64, ceil(x))
DOUBLE1(v_floor_f64, floor(x))
DOUBLE1(v_rndne_f64, roundeven(x))

static inline double fract64(double x)
{
    double r = x - floor(x);
    return r >= 1.0 ? 0x1.fffffffffffffp-1 : r;
}
DOUBLE1(v_fract_f64, fract64(x))

/* The hardware gives about 26 bits for these two; full precision is within its stated error. */
DOUBLE1(v_rcp_f64, 1.0 / x)
DOUBLE1(v_rsq_f64, 1.0 / sqrt(x))
DOUBLE1(v_sqrt_f64, sqrt(x))

static inline double mantissa64(double x)
{
    int e;
    return x - x != 0 || x == 0 ? quiet64(x) : frexp(x, &e);
}
DOUBLE1(v_frexp_mant_f64, mantissa64(x))

HANDLER(v_frexp_exp_i32_f64)
{
    ALIGNED double a[EMU_LANES];
    ALIGNED uint32_t r[EMU_LANES];
    srcd(w, op, 0, a);
    LANES
    {
        int e = 0;
        if (a[i] - a[i] == 0 && a[i] != 0) frexp(a[i], &e);
        r[i] = (uint32_t)e;
    }
    put32(w, op, r);
}

HANDLER(v_ldexp_f64)
{
    ALIGNED double a[EMU_LANES], r[EMU_LANES];
    SRC_B(int32_t)
    srcd(w, op, 0, a);
    LANES r[i] = ldexp(a[i], b[i] < -5000 ? -5000 : b[i] > 5000 ? 5000 : b[i]);
    putd(w, op, r);
}

/* ------------------------------------------------------------------ division helpers: see exec_f32.c */

static inline int exponent64(double x)
{
    return (int)(as_u64(x) >> 52 & 0x7ff);
}

static inline bool denormal64(double x)
{
    return x != 0 && exponent64(x) == 0;
}

static inline double div_scale64(double value, double den, double num, bool *post)
{
    *post = false;
    if (num == 0 || den == 0) return as_f64(0x7ff8000000000000);
    bool scale_den = as_u64(value) == as_u64(den), scale_num = as_u64(value) == as_u64(num);
    bool inverse_denormal = fabs(den) > 0x1p1022;
    bool quotient_denormal = denormal64(num / den) || (num / den == 0 && num != 0);
    if (exponent64(num) - exponent64(den) >= 768) {
        *post = true;
        return scale_den ? ldexp(value, 128) : value;
    }
    if (denormal64(den)) return ldexp(value, 128);
    if (inverse_denormal && quotient_denormal) {
        *post = true;
        return scale_den ? ldexp(value, -128) : value;
    }
    if (inverse_denormal) return ldexp(value, -128);
    if (quotient_denormal) {
        *post = true;
        return scale_num ? ldexp(value, 128) : value;
    }
    if (exponent64(num) <= 53) return ldexp(value, 128);
    return value;
}

HANDLER(v_div_scale_f64)
{
    ALIGNED double a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES];
    uint32_t out = 0;
    srcd(w, op, 0, a);
    srcd(w, op, 1, b);
    srcd(w, op, 2, c);
    LANES
    {
        bool post;
        r[i] = div_scale64(a[i], b[i], c[i], &post);
        out |= (uint32_t)post << i;
    }
    putd(w, op, r);
    set_sgpr(w, op->sdst, out & w->exec);
}

HANDLER(v_div_fmas_f64)
{
    ALIGNED double a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES];
    uint32_t post = w->sgpr[EMU_S_VCC];
    srcd(w, op, 0, a);
    srcd(w, op, 1, b);
    srcd(w, op, 2, c);
    LANES
    {
        r[i] = fma(a[i], b[i], c[i]);
        if (post >> i & 1) r[i] = ldexp(r[i], exponent64(c[i]) > 1023 ? 128 : -128);
    }
    putd(w, op, r);
}

static inline double div_fixup64(double q, double den, double num)
{
    uint64_t sign = (as_u64(den) ^ as_u64(num)) & 0x8000000000000000;
    if (num != num) return quiet64(num);
    if (den != den) return quiet64(den);
    bool den_inf = fabs(den) == INFINITY, num_inf = fabs(num) == INFINITY;
    if ((num == 0 && den == 0) || (den_inf && num_inf)) return as_f64(0xfff8000000000000);
    if (den == 0 || num_inf) return as_f64(sign | 0x7ff0000000000000);
    if (den_inf || num == 0) return as_f64(sign);
    if (exponent64(num) - exponent64(den) < -1075) return as_f64(sign);
    return as_f64((as_u64(q) & 0x7fffffffffffffff) | sign);
}
DOUBLE3(v_div_fixup_f64, div_fixup64(x, y, z))
