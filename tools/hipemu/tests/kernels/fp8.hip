/* FP8 conversions, gfx12. */
#include "kernel.h"

/* out: 256 * 8 words: fp8 and bf8, by each byte select where it differs. */
KERNEL void fp8_expand(u32 *out)
{
    u32 code = group() * 32 + lane();
    u32 word = code | (code ^ 0x5a) << 8 | (code ^ 0xa5) << 16 | (code ^ 0xff) << 24;
    u32 r[8];
    __asm__("v_cvt_f32_fp8 %0, %1" : "=v"(r[0]) : "v"(word));
    __asm__("v_cvt_f32_bf8 %0, %1" : "=v"(r[1]) : "v"(word));
    __asm__("v_cvt_f32_fp8_e64 %0, %1 byte_sel:1" : "=v"(r[2]) : "v"(word));
    __asm__("v_cvt_f32_fp8_e64 %0, %1 byte_sel:2" : "=v"(r[3]) : "v"(word));
    __asm__("v_cvt_f32_bf8_e64 %0, %1 byte_sel:3" : "=v"(r[4]) : "v"(word));
    f2 pair = __builtin_amdgcn_cvt_pk_f32_fp8((int)word, true);
    /* Through variables: clang 19 casts the first element when handed another one of a vector. */
    f32 x = pair.x, y = pair.y;
    r[5] = __builtin_bit_cast(u32, x);
    r[6] = __builtin_bit_cast(u32, y);
    pair = __builtin_amdgcn_cvt_pk_f32_bf8((int)word, false);
    y = pair.y;
    r[7] = __builtin_bit_cast(u32, y);
    for (u32 k = 0; k < 8; k++) out[code * 8 + k] = r[k];
}

/* out: 4 words a value: the pair instruction's result over a marked register, low and high half, both formats. */
KERNEL void fp8_narrow(const f32 *a, u32 *out, u32 saturate)
{
    u32 i = group() * 32 + lane();
    f32 x = a[i], y = -x;
    u32 r[4] = {0x12345678, 0x12345678, 0x12345678, 0x12345678};
    __asm__ volatile("s_setreg_b32 hwreg(HW_REG_MODE, 23, 1), %[m]\n\t"
                     "v_cvt_pk_fp8_f32 %[p], %[x], %[y]\n\t"
                     "v_cvt_pk_fp8_f32 %[q], %[x], %[y] op_sel:[0,0,1]\n\t"
                     "v_cvt_pk_bf8_f32 %[r], %[x], %[y]\n\t"
                     "v_cvt_pk_bf8_f32 %[s], %[x], %[y] op_sel:[0,0,1]\n\t"
                     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0"
                     : [p] "+&v"(r[0]), [q] "+&v"(r[1]), [r] "+&v"(r[2]), [s] "+&v"(r[3])
                     : [m] "s"(saturate), [x] "v"(x), [y] "v"(y));
    for (u32 k = 0; k < 4; k++) out[i * 4 + k] = r[k];
}

/* Stochastic rounding with a seed a value, byte 2 of a marked register. */
KERNEL void fp8_stochastic(const f32 *a, const u32 *seed, u32 *out)
{
    u32 i = group() * 32 + lane();
    out[2 * i] = (u32)__builtin_amdgcn_cvt_sr_fp8_f32(a[i], (int)seed[i], 0x12345678, 2);
    out[2 * i + 1] = (u32)__builtin_amdgcn_cvt_sr_bf8_f32(a[i], (int)seed[i], 0x12345678, 1);
}
