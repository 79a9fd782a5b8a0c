/* f32 and f64: arithmetic, rounding, comparison, conversion; compiled without contraction on either side. */
#include "device.h"

#define SETUP                                                                                                  \
    u32 i = group_id() * group_size() + local_id();                                                            \
    if (i >= n) return;                                                                                        \
    f32 x = bits<f32>(a[i]), y = bits<f32>(b[i])

KERNEL void float_arithmetic(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f32 *o = (f32 *)(out + i * 16), z = bits<f32>(a[(i * 7 + 3) % n]);
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = x / y;
    o[4] = __builtin_sqrtf(__builtin_fabsf(x));
    o[5] = __builtin_fmaf(x, y, z);
    o[6] = __builtin_fmaf(-x, __builtin_fabsf(y), -z);
    o[7] = x * y + z;
    o[8] = 1.0f / x;
    o[9] = (x + 0.5f) * 2.0f - y;
    o[10] = -x * 0.15915494f;
    o[11] = __builtin_copysignf(x, y);
    o[12] = __builtin_fabsf(x) * 4.0f;
    o[13] = (x - y) * (x + y);
    o[14] = __builtin_fmaf(x, 3.0f, 1.25f);
    o[15] = __builtin_fmaf(x, y, 1e-30f) + __builtin_fmaf(y, z, x);
}

KERNEL void float_rounding(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f32 *o = (f32 *)(out + i * 12);
    o[0] = __builtin_floorf(x);
    o[1] = __builtin_ceilf(x);
    o[2] = __builtin_truncf(x);
    o[3] = __builtin_rintf(x);
    o[4] = fract(x);
    o[5] = frexp_mantissa(x);
    out[i * 12 + 6] = (u32)frexp_exponent(x);
    out[i * 12 + 7] = fp_class(x, 0x155) | fp_class(x, 0x2aa) << 1 | fp_class(y, 0x3) << 2 | fp_class(y, 0x90) << 3;
    i32 e = (i32)(b[i] % 301) - 150;
    o[8] = __builtin_ldexpf(x, e);
    /* Without NaN: which operand survives differs between machines. */
    f32 p = x == x ? x : 0.0f, q = y == y ? y : 1.0f;
    o[9] = p < q ? p : q;
    o[10] = __builtin_fmaxf(p, q) + 0.0f;
    o[11] = med3(p, q, 0.75f) + 0.0f; /* which zero is not defined */
}

KERNEL void float_compare(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 r = 0;
    r |= (x < y) << 0 | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5;
    r |= !(x < y) << 6 | !(x <= y) << 7 | !(x > y) << 8 | !(x >= y) << 9;
    r |= __builtin_isunordered(x, y) << 10 | (x != x) << 11 | (__builtin_fabsf(x) < __builtin_fabsf(y)) << 12;
    r |= (-x < y) << 13 | __builtin_islessgreater(x, y) << 14;
    f64 p = x, q = y;
    r |= (p < q) << 15 | (p <= q) << 16 | (p == q) << 17 | (p != q) << 18 | !(p > q) << 19;
    out[i * 2] = r;
    out[i * 2 + 1] = bits<u32>(x < y ? (x > 0 ? x : -y) : (y > 1 ? y : 0.5f));
}

KERNEL void float_convert(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 *o = out + i * 12;
    /* Only what is defined on both sides: values in range. */
    bool in32 = x > -2147483648.0f && x < 2147483648.0f, inu = x >= 0 && x < 4294967296.0f;
    o[0] = in32 ? (u32)(i32)x : 1;
    o[1] = inu ? (u32)x : 2;
    o[2] = bits<u32>((f32)(i32)a[i]);
    o[3] = bits<u32>((f32)a[i]);
    o[4] = bits<u32>((f32)(u8)a[i]) ^ bits<u32>((f32)(u8)(a[i] >> 8)) ^ bits<u32>((f32)(u8)(a[i] >> 16)) ^
           bits<u32>((f32)(a[i] >> 24));
    u64 wide = (u64)a[i] << 32 | b[i];
    o[5] = bits<u32>((f32)wide);
    o[6] = bits<u32>((f32)(i64)wide);
    bool in64 = x > -9e18f && x < 9e18f, inu64 = x >= 0 && x < 1.8e19f;
    *(u64 *)(o + 8) = in64 ? (u64)(i64)x : 3;
    *(u64 *)(o + 10) = inu64 ? (u64)x : 4;
    f64 d = (f64)x;
    o[7] = bits<u32>((f32)(d * 1.0000000001));
}

KERNEL void double_arithmetic(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f64 *o = (f64 *)(out + i * 20);
    f64 p = (f64)x * 1.000000123456789, q = (f64)y + 1e-9;
    o[0] = p + q;
    o[1] = p - q;
    o[2] = p * q;
    o[3] = p / q;
    o[4] = __builtin_sqrt(__builtin_fabs(p));
    o[5] = __builtin_fma(p, q, p);
    o[6] = __builtin_floor(p) + __builtin_ceil(q);
    o[7] = __builtin_trunc(p) - __builtin_rint(q);
    bool in32 = p > -2147483648.0 && p < 2147483648.0;
    o[8] = (f64)(in32 ? (i32)p : 5) + (f64)a[i];
    o[9] = __builtin_ldexp(p, (i32)(b[i] % 41) - 20);
}

/* The hardware's approximations: compared within a tolerance. */
KERNEL void float_approximate(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f32 *o = (f32 *)(out + i * 6);
    o[0] = rcp(x);
    o[1] = rsq(__builtin_fabsf(x));
    o[2] = exp2_hw(__builtin_fabsf(y) < 120 ? y : 1.5f);
    o[3] = log2_hw(__builtin_fabsf(x));
    o[4] = sqrt_hw(__builtin_fabsf(x));
    o[5] = exp2_hw(x * 0x1p-40f);
}
