/* Matrix instructions on raw registers. a, b: 8 words a lane each, c and d: 8 words a lane. One wave. */
#include "kernel.h"

template <int N> DEVICE void load(u32 (&r)[N], const u32 *p)
{
    for (int i = 0; i < N; i++) r[i] = p[lane() * 8 + i];
}

template <typename A, typename C, typename F>
DEVICE void run(const u32 *a, const u32 *b, const u32 *c, u32 *d, F f)
{
    u32 ra[sizeof(A) / 4], rb[sizeof(A) / 4], rc[sizeof(C) / 4], rd[sizeof(C) / 4];
    load(ra, a);
    load(rb, b);
    load(rc, c);
    C r = f(__builtin_bit_cast(A, ra), __builtin_bit_cast(A, rb), __builtin_bit_cast(C, rc));
    __builtin_memcpy(rd, &r, sizeof(r));
    for (unsigned i = 0; i < sizeof(C) / 4; i++) d[lane() * 8 + i] = rd[i];
}

#define WMMA(name, a_type, c_type, call)                                                               \
    struct name##_call {                                                                               \
        __attribute__((device)) c_type operator()(a_type x, a_type y, c_type z) const { return call; } \
    };                                                                                                 \
    KERNEL void name(const u32 *a, const u32 *b, const u32 *c, u32 *d)                                 \
    {                                                                                                  \
        run<a_type, c_type>(a, b, c, d, name##_call());                                                \
    }

#if HIPEMU_CLASS == 12
WMMA(f32_f16, h8, f8, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, z))
WMMA(f32_bf16, s8, f8, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, z))
WMMA(f16_f16, h8, h8, __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(x, y, z))
WMMA(bf16_bf16, s8, s8, __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32_gfx12(x, y, z))
WMMA(i32_iu8, i2, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, true, y, z, false))
WMMA(i32_iu8_mixed, i2, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, x, true, y, z, true))
WMMA(i32_iu4, int, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32_gfx12(true, x, true, y, z, false))
WMMA(i32_iu4_deep, i2, i8, __builtin_amdgcn_wmma_i32_16x16x32_iu4_w32_gfx12(true, x, true, y, z, false))
WMMA(fp8_fp8, i2, f8, __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(x, y, z))
WMMA(fp8_bf8, i2, f8, __builtin_amdgcn_wmma_f32_16x16x16_fp8_bf8_w32_gfx12(x, y, z))
WMMA(bf8_fp8, i2, f8, __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(x, y, z))
WMMA(bf8_bf8, i2, f8, __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(x, y, z))
#else
WMMA(f32_f16, h16, f8, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, z))
WMMA(f32_bf16, s16, f8, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, z))
WMMA(f16_f16, h16, h16, __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(x, y, z, false))
WMMA(f16_f16_high, h16, h16, __builtin_amdgcn_wmma_f16_16x16x16_f16_tied_w32(x, y, z, true))
WMMA(bf16_bf16, s16, s16, __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(x, y, z, false))
WMMA(i32_iu8, i4, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, y, z, false))
WMMA(i32_iu8_mixed, i4, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, x, true, y, z, true))
WMMA(i32_iu4, i2, i8, __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, x, true, y, z, false))
#endif

/* Sign and magnitude modifiers: neg_lo and neg_hi of A and B negate even and odd elements, of C negate and take
 * the magnitude. */
KERNEL void modifiers(const u32 *a, const u32 *b, const u32 *c, u32 *d)
{
#if HIPEMU_CLASS == 12
    w4 x, y;
#else
    w8 x, y;
#endif
    w8 z;
    __builtin_memcpy(&x, a + lane() * 8, sizeof(x));
    __builtin_memcpy(&y, b + lane() * 8, sizeof(y));
    __builtin_memcpy(&z, c + lane() * 8, sizeof(z));
    w8 r;
    __asm__ volatile("s_wait_idle\n\tv_wmma_f32_16x16x16_f16 %0, %1, %2, %3 neg_lo:[1,0,1] neg_hi:[0,1,1]"
                     : "=&v"(r)
                     : "v"(x), "v"(y), "v"(z));
    for (int i = 0; i < 8; i++) d[lane() * 8 + i] = r[i];
}
