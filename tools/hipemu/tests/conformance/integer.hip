/* Integers of all widths, bit fields, packed 16 bit. */
#include "device.h"

#define SETUP                                                                                                  \
    u32 i = group_id() * group_size() + local_id();                                                            \
    if (i >= n) return;                                                                                        \
    u32 x = a[i], y = b[i]

KERNEL void int_arithmetic(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 *o = out + i * 16;
    i32 sx = (i32)x, sy = (i32)y;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = (u32)((u64)x * y >> 32);
    o[4] = (u32)((i64)sx * sy >> 32);
    o[5] = y ? x / y : 1;
    o[6] = y ? x % y : 2;
    o[7] = sy && sy != -1 ? (u32)(sx / sy) : 3;
    o[8] = sy && sy != -1 ? (u32)(sx % sy) : 4;
    o[9] = (x & 0xffffff) * (y & 0xffffff) + i;                     /* mad_u24 */
    o[10] = (u32)((sx << 8 >> 8) * (sy << 8 >> 8)) + x;             /* mad_i24 */
    o[11] = x << (y & 31) | y >> (x & 31);
    o[12] = (u32)(sx >> (y & 31));
    o[13] = (sx < sy ? x : y) + (x > y ? 7 : 11) + (sx == sy ? 13 : 17);
    o[14] = (x & y) ^ (x | ~y);
    o[15] = __builtin_popcount(x) + (y ? __builtin_clz(y) * 100 : 0) + (x ? __builtin_ctz(x) * 10000 : 0);
}

KERNEL void int_wide(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u64 *o = (u64 *)(out + i * 24);
    u64 p = (u64)x << 32 | y, q = (u64)(y * 2654435761u) << 17 ^ x;
    i64 sp = (i64)p, sq = (i64)q;
    o[0] = p + q;
    o[1] = p - q;
    o[2] = p * q;
    o[3] = q ? p / q : 5;
    o[4] = x ? p % x : 6;
    o[5] = sq && sq != -1 ? (u64)(sp / sq) : 7;
    o[6] = p << (y & 63);
    o[7] = (u64)(sp >> (x & 63)) ^ q >> (y & 63);
    o[8] = (sp < sq ? p : q) + (p > q ? 1 : 2) + (sp >= 0 ? 4 : 8);
    o[9] = (u64)__builtin_popcountl(p) + (q ? (u64)__builtin_clzl(q) << 8 : 0) + (p ? (u64)__builtin_ctzl(p) << 16 : 0);
    o[10] = (p & q) ^ ~(p | q);
    o[11] = p > q ? p - q : q - p;
}

KERNEL void int_fields(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 *o = out + i * 12;
    o[0] = unsigned_bits(x, y & 31, y >> 5 & 31);
    o[1] = (u32)signed_bits((i32)x, y & 31, y >> 5 & 31);
    o[2] = __builtin_bitreverse32(x);
    o[3] = __builtin_bswap32(x);
    o[4] = align_bits(x, y, i & 31);
    o[5] = perm_bytes(x, y, (y ^ x) & 0x0f0f0f0f);
    o[6] = sad_u8(x, y, i);
    o[7] = (x & y) | (~x & i);          /* v_bfi */
    o[8] = ((x + y) << 3) + i;          /* v_add_lshl and friends */
    o[9] = (x ^ y ^ i) + ((x & y) | i); /* v_xor3, v_and_or */
    o[10] = (u32)__builtin_elementwise_add_sat(x, y);
    o[11] = (u32)__builtin_elementwise_sub_sat((i32)x, (i32)y);
}

KERNEL void int_narrow(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 *o = out + i * 12;
    u16 p = (u16)x, q = (u16)y;
    i16 sp = (i16)p, sq = (i16)q;
    o[0] = (u16)(p + q);
    o[1] = (u16)(p - q);
    o[2] = (u16)(p * q);
    o[3] = (u16)(p << (q & 15)) | (u32)(u16)(p >> (q & 15)) << 16;
    o[4] = (u16)(sp >> (q & 15));
    o[5] = (u32)(sp < sq ? sp : sq);
    o[6] = p > q ? p : q;
    o[7] = (u32)(u8)x + (u32)(i32)(i8)(x >> 8) + (y >> 24);
    o[8] = (u16)(p * q + p);
    u16x2 v = bits<u16x2>(x), w = bits<u16x2>(y);
    i16x2 sv = bits<i16x2>(x), sw = bits<i16x2>(y);
    o[9] = bits<u32>((u16x2)(v + w)) ^ bits<u32>((u16x2)(v * w));
    o[10] = bits<u32>((u16x2)__builtin_elementwise_max(v, w)) ^ bits<u32>((i16x2)__builtin_elementwise_min(sv, sw));
    o[11] = bits<u32>((u16x2)(v - w)) ^ bits<u32>((u16x2)(v << (w & (u16x2)15))) ^
            bits<u32>((i16x2)(sv >> (sw & (i16x2)15)));
}

KERNEL void int_memory(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    /* Loads and stores of every width. */
    const u8 *bytes = (const u8 *)a;
    const u16 *halves = (const u16 *)b;
    u32 at = (x ^ y) % n;
    u8 *o8 = (u8 *)(out + i * 12);
    o8[0] = bytes[at];
    o8[1] = bytes[at + 1];
    o8[2] = (u8)halves[at];
    o8[3] = (u8)(i32)(i8)bytes[at + 3];
    *(u16 *)(o8 + 4) = halves[at];
    *(u16 *)(o8 + 6) = (u16)(i16)(i8)bytes[i];
    *(i32 *)(o8 + 8) = (i16)halves[i];
    *(i32 *)(o8 + 12) = (i8)bytes[at];
    u32x2 pair = ((const u32x2 *)a)[at / 2];
    u32x4 quad = ((const u32x4 *)b)[at / 4];
    *(u32x2 *)(out + i * 12 + 4) = pair + (u32x2)1;
    out[i * 12 + 6] = quad.x ^ quad.w;
    out[i * 12 + 7] = quad.y + quad.z;
    *(u32x4 *)(out + i * 12 + 8) = quad * (u32x4)3;
}
