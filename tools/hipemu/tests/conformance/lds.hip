/* LDS with barriers: several waves a workgroup, all access widths, atomics. */
#include "device.h"

/* Sum, prefix sum and transpose of 256 values. */
KERNEL void lds_reduce(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    LDS u32 tile[256], sums[256];
    u32 t = local_id(), i = group_id() * 256 + t;
    tile[t] = a[i];
    sums[t] = a[i] ^ b[i];
    barrier();
    for (u32 half = 128; half; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        barrier();
    }
    for (u32 step = 1; step < 256; step *= 2) {
        u32 add = t >= step ? tile[t - step] : 0;
        barrier();
        tile[t] += add;
        barrier();
    }
    out[i * 2] = tile[(t & 15) * 16 + t / 16];
    out[i * 2 + 1] = sums[0];
}

KERNEL void lds_widths(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    LDS u32x4 block[256];
    u8 *bytes = (u8 *)block;
    u32 t = local_id(), i = group_id() * 256 + t;
    block[t] = u32x4{a[i], b[i], t, i};
    barrier();
    u32x4 other = block[t ^ 33];
    u32x2 pair = ((u32x2 *)block)[(t * 7) % 512];
    u32 word = ((u32 *)block)[(t * 13) % 1024];
    u16 half = ((u16 *)block)[(t * 5) % 2048];
    i32 small = ((i8 *)block)[(t * 3) % 4096];
    u32 two = ((u32 *)block)[t] ^ ((u32 *)block)[t + 64]; /* may become one ds_load_2addr */
    barrier();
    bytes[t * 16] = (u8)small;
    *(u16 *)(bytes + t * 16 + 2) = half;
    *(u32x2 *)(bytes + t * 16 + 8) = pair;
    barrier();
    u32x4 now = block[255 - t];
    u32 *o = out + i * 12;
    *(u32x4 *)o = other;
    *(u32x4 *)(o + 4) = now;
    o[8] = word;
    o[9] = (u32)small;
    o[10] = half;
    o[11] = two;
}

KERNEL void lds_atomics(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    LDS u32 counts[16];
    LDS i32 lowest, highest;
    LDS u32 flags, highest_unsigned;
    u32 t = local_id(), i = group_id() * 256 + t;
    if (t < 16) counts[t] = 0;
    if (t == 0) lowest = 0x7fffffff, highest = -0x7fffffff - 1, flags = 0, highest_unsigned = 0;
    barrier();
    ATOMIC_LDS(fetch_add, &counts[a[i] & 15], 1u + (b[i] & 3));
    ATOMIC_LDS(fetch_min, &lowest, (i32)a[i]);
    ATOMIC_LDS(fetch_max, &highest, (i32)b[i]);
    ATOMIC_LDS(fetch_max, &highest_unsigned, a[i]);
    ATOMIC_LDS(fetch_or, &flags, 1u << (a[i] & 31));
    barrier();
    u32 *o = out + i * 5;
    o[0] = counts[t & 15];
    o[1] = (u32)lowest;
    o[2] = (u32)highest;
    o[3] = flags;
    o[4] = highest_unsigned;
}

/* Two waves hand values to each other over several rounds. */
KERNEL void lds_pingpong(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    LDS u32 cells[64];
    u32 t = local_id(), i = group_id() * 64 + t, x = a[i];
    for (u32 round = 0; round < 9; round++) {
        cells[t] = x;
        barrier();
        x = cells[(t + 32 + round) & 63] * 3 + round;
        barrier();
    }
    out[i] = x;
}
