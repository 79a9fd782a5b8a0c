/* Single instructions under every rounding and denormal mode. mode: MODE[7:0]. 32 work-items a group. */
#include "kernel.h"

#define UNDER(mode, text, out, ...)                                          \
    __asm__ volatile("s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), %[m]\n\t" text  \
                     "\n\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0" \
                     : [d] "=&v"(out)                                        \
                     : [m] "s"(mode), __VA_ARGS__)

KERNEL void f32_modes(const u32 *a, const u32 *b, const u32 *c, u32 *out, u32 mode)
{
    u32 i = group() * 32 + lane(), x = a[i], y = b[i], z = c[i], r[6];
    UNDER(mode, "v_add_f32 %[d], %[x], %[y]", r[0], [x] "v"(x), [y] "v"(y));
    UNDER(mode, "v_mul_f32 %[d], %[x], %[y]", r[1], [x] "v"(x), [y] "v"(y));
    UNDER(mode, "v_fma_f32 %[d], %[x], %[y], %[z]", r[2], [x] "v"(x), [y] "v"(y), [z] "v"(z));
    UNDER(mode, "v_cvt_f16_f32 %[d], %[x]", r[3], [x] "v"(x));
    UNDER(mode, "v_cvt_f32_i32 %[d], %[x]", r[4], [x] "v"(x));
    UNDER(mode, "v_cvt_f32_u32 %[d], %[x]", r[5], [x] "v"(x));
    for (u32 k = 0; k < 6; k++) out[i * 6 + k] = k == 3 ? r[k] & 0xffff : r[k];
}

/* a, b, c: f16 codes in the low halves. */
KERNEL void f16_modes(const u32 *a, const u32 *b, const u32 *c, u32 *out, u32 mode)
{
    u32 i = group() * 32 + lane(), x = a[i], y = b[i], z = c[i], r[4];
    UNDER(mode, "v_add_f16 %[d], %[x], %[y]", r[0], [x] "v"(x), [y] "v"(y));
    UNDER(mode, "v_mul_f16 %[d], %[x], %[y]", r[1], [x] "v"(x), [y] "v"(y));
    UNDER(mode, "v_fma_f16 %[d], %[x], %[y], %[z]", r[2], [x] "v"(x), [y] "v"(y), [z] "v"(z));
    UNDER(mode, "v_pk_fma_f16 %[d], %[x], %[y], %[z]", r[3], [x] "v"(x), [y] "v"(y), [z] "v"(z));
    for (u32 k = 0; k < 4; k++) out[i * 4 + k] = r[k] & 0xffff;
}

/* MODE.FP16_OVFL: what overflows becomes the largest number; infinities stay. */
KERNEL void f16_overflow(const u32 *a, u32 *out)
{
    u32 i = group() * 32 + lane(), x = a[i], r;
    __asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n\t"
                     "v_cvt_f16_f32 %0, %1\n\t"
                     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0"
                     : "=&v"(r)
                     : "v"(x));
    out[i] = r & 0xffff;
}
