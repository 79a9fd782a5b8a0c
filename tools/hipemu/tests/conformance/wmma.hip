/* Matrix products of one wave: operands from random codes, result against double precision. */
#include "device.h"

/* Values whose products and sums are exact in any order: bit-identical. */
KERNEL void wmma_f16_exact(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 lane = local_id(), wave = group_id();
    wmma_f16_operand x, y;
    f32x8 c;
    for (u32 k = 0; k < sizeof(x) / 2; k++) {
        /* Small integers; on gfx11 lanes 16..31 repeat 0..15. */
        u32 at = wave * 512 + (sizeof(x) == 32 ? (lane & 15) * 16 + k : (lane & 15) * 16 + (lane / 16) * 8 + k);
        x[k] = (f16)(f32)((i32)(a[at] & 63) - 32);
        y[k] = (f16)(f32)((i32)(b[at] & 63) - 31);
    }
    for (u32 e = 0; e < 8; e++) c[e] = (f32)(i32)(a[wave * 512 + lane * 8 + e] >> 20);
    f32x8 d = wmma_f16(x, y, wmma_f16(y, x, c));
    for (u32 e = 0; e < 8; e++) ((f32 *)out)[wave * 256 + lane * 8 + e] = d[e];
}

KERNEL void wmma_f16_random(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 lane = local_id(), wave = group_id();
    wmma_f16_operand x, y;
    f32x8 c;
    for (u32 k = 0; k < sizeof(x) / 2; k++) {
        u32 at = wave * 512 + (sizeof(x) == 32 ? (lane & 15) * 16 + k : (lane & 15) * 16 + (lane / 16) * 8 + k);
        x[k] = (f16)((f32)(i32)a[at] * 0x1p-31f); /* -1..1 */
        y[k] = (f16)((f32)(i32)b[at] * 0x1p-31f);
    }
    for (u32 e = 0; e < 8; e++) c[e] = (f32)(i32)b[wave * 512 + lane * 8 + e] * 0x1p-31f;
    f32x8 d = wmma_f16(x, y, c);
    for (u32 e = 0; e < 8; e++) ((f32 *)out)[wave * 256 + lane * 8 + e] = d[e];
}

#if HIPEMU_CLASS == 12
/* Codes of magnitude 16 and less with no NaN: exact in any order. */
KERNEL void wmma_fp8_exact(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 lane = local_id(), wave = group_id();
    i32x2 x, y;
    f32x8 c;
    for (u32 k = 0; k < 2; k++) {
        x[k] = (i32)((a[wave * 512 + lane * 2 + k] & 0x87878787) | 0x50505050); /* +-8..15 */
        y[k] = (i32)((b[wave * 512 + lane * 2 + k] & 0x87878787) | 0x48484848); /* +-4..7.5 */
    }
    for (u32 e = 0; e < 8; e++) c[e] = (f32)(i32)(a[wave * 512 + lane * 8 + e] >> 20);
    f32x8 d = wmma_fp8(x, y, wmma_fp8(y, x, c));
    for (u32 e = 0; e < 8; e++) ((f32 *)out)[wave * 256 + lane * 8 + e] = d[e];
}

/* Any finite code. */
KERNEL void wmma_fp8_random(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 lane = local_id(), wave = group_id();
    i32x2 x, y;
    f32x8 c;
    for (u32 k = 0; k < 2; k++) {
        u32 p = a[wave * 512 + lane * 2 + k], q = b[wave * 512 + lane * 2 + k];
        x[k] = (i32)(p & ~(((p & 0x78787878) + 0x08080808) >> 7 & 0x01010101)); /* exponent 15: mantissa even */
        y[k] = (i32)(q & ~(((q & 0x78787878) + 0x08080808) >> 7 & 0x01010101));
    }
    for (u32 e = 0; e < 8; e++) c[e] = (f32)(i32)b[wave * 512 + lane * 8 + e] * 0x1p-28f;
    f32x8 d = wmma_fp8(x, y, c);
    for (u32 e = 0; e < 8; e++) ((f32 *)out)[wave * 256 + lane * 8 + e] = d[e];
}
#endif
