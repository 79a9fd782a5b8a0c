/* f16: conversions, scalar and packed arithmetic. */
#include "device.h"

#define SETUP                                                                                                  \
    u32 i = group_id() * group_size() + local_id();                                                            \
    if (i >= n) return

KERNEL void half_from_float(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f32 x = bits<f32>(a[i]), y = bits<f32>(b[i]);
    u32 *o = out + i * 3;
    o[0] = bits<u16>((f16)x) | (u32)bits<u16>((f16)y) << 16;
    bool finite = __builtin_fabsf(x) < __builtin_inff() && __builtin_fabsf(y) < __builtin_inff();
    o[1] = finite ? pack_f16_rtz(x, y) : 0;
    /* f32 product, then rounded. clang makes it a fused multiply-add of +0, which turns -0 into +0. */
    f32 product = x * y;
    o[2] = product == 0.0f ? 0 : bits<u16>((f16)product);
}

/* Every f16: a holds 0..65535. */
KERNEL void half_all(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f16 h = bits<f16>((u16)a[i]);
    u32 *o = out + i * 6;
    o[0] = bits<u32>((f32)h);
    o[1] = bits<u32>((f32)-h) ^ bits<u32>(__builtin_fabsf((f32)h));
    f32 f = (f32)h;
    bool in16 = f > -32768.0f && f < 32768.0f;
    o[2] = in16 ? (u32)(i32)(i16)h : 1;
    o[3] = f >= 0 && f < 65536.0f ? (u32)(u16)h : 2;
    o[4] = bits<u16>((f16)(i16)a[i]) | (u32)bits<u16>((f16)(u16)a[i]) << 16;
    o[5] = bits<u16>(__builtin_elementwise_floor(h)) | (u32)bits<u16>(__builtin_elementwise_trunc(h)) << 16;
}

INLINE u32 two(f16 low, f16 high)
{
    return bits<u16>(low) | (u32)bits<u16>(high) << 16;
}

KERNEL void half_arithmetic(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f16 x = bits<f16>((u16)a[i]), y = bits<f16>((u16)b[i]), z = bits<f16>((u16)(a[i] >> 16));
    u32 *o = out + i * 6;
    o[0] = two((f16)(x + y), (f16)(x - y));
    o[1] = two((f16)(x * y), __builtin_elementwise_abs(x));
    o[2] = two((f16)-(x + z), x < y ? x : z);
    o[3] = (u32)((x < y) | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | !(x > y) << 4);
    f16 p = x == x ? x : (f16)1, q = y == y ? y : (f16)2;
    o[4] = two((f16)(__builtin_elementwise_max(p, q) + (f16)0), (f16)(__builtin_elementwise_min(p, q) + (f16)0));
    o[5] = two((f16)(x * (f16)0.5f + (f16)1.0f), (f16)(p * p - q));
}

KERNEL void half_packed(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f16x2 x = bits<f16x2>(a[i]), y = bits<f16x2>(b[i]);
    u32 *o = out + i * 6;
    o[0] = bits<u32>((f16x2)(x + y));
    o[1] = bits<u32>((f16x2)(x * y));
    o[2] = bits<u32>((f16x2)(x - y.yx));
    o[3] = bits<u32>((f16x2)(-x + y.xx));
    o[4] = bits<u32>((f16x2)(x * y.yy));
    o[5] = bits<u32>((f16x2)(x * (f16)2.0f + (f16)-1.5f));
}

/* Mixed precision: f16 operands in an f32 fused multiply-add (v_fma_mix). */
KERNEL void half_mixed(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f16x2 x = bits<f16x2>(a[i]), y = bits<f16x2>(b[i]);
    f32 z = bits<f32>(a[(i * 5 + 1) % n]);
    f32 *o = (f32 *)(out + i * 4);
    o[0] = __builtin_fmaf((f32)x.x, (f32)y.x, z);
    o[1] = __builtin_fmaf((f32)x.y, (f32)y.y, (f32)y.x);
    o[2] = __builtin_fmaf(-(f32)x.x, __builtin_fabsf((f32)y.y), z);
    out[i * 4 + 3] = bits<u16>((f16)__builtin_fmaf((f32)x.x, (f32)y.y, z));
}
