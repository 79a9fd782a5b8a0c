/* Control flow with diverging lanes, calls, private arrays. */
#include "device.h"

#define SETUP                                                                                                  \
    u32 i = group_id() * group_size() + local_id();                                                            \
    if (i >= n) return;                                                                                        \
    u32 x = a[i], y = b[i]

KERNEL void flow_loops(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 v = x % 1000 + 1, steps = 0;
    while (v != 1 && steps < 200) { /* a different number of rounds a lane */
        v = v & 1 ? v * 3 + 1 : v / 2;
        steps++;
    }
    u32 sum = 0;
    for (u32 j = 0; j < (y & 15); j++) {
        if (j == (x & 7)) continue;
        for (u32 k = j; k < 20; k += (y >> 8 & 3) + 1) {
            if (k * j > 100) break;
            sum += k * j + 1;
        }
        if (sum > 1500) goto out;
    }
    sum ^= 0x5555;
out:
    out[i * 2] = steps;
    out[i * 2 + 1] = sum;
}

KERNEL void flow_switch(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 r = 0;
    switch (x % 9) {
    case 0: r = y + 1; break;
    case 1: r = y * y; /* falls through */
    case 2: r += 2; break;
    case 3:
        if (y & 1) {
            r = y >> 3;
            break;
        }
        r = 33;
    case 4: r ^= x; break;
    case 7: r = y % 13 == 0 ? 1 : 2; break;
    default: r = ~x;
    }
    if (x & 2) {
        if (y & 4)
            r += 5;
        else if (y & 8)
            r *= 3;
        else
            r -= 9;
    } else {
        r = ((r & 1) && (x & 8)) || (y & 16) ? r + 100 : r;
    }
    out[i] = r;
}

CALLED u32 mix(u32 x, u32 y)
{
    u32 r = x * 2654435761u ^ y;
    return r ^ r >> 15;
}

CALLED u32 mix_many(u32 x, u32 y, u32 rounds)
{
    u32 r = x;
    for (u32 i = 0; i < rounds; i++) r = mix(r, y + i);
    return r;
}

KERNEL void flow_calls(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 r = mix(x, y);
    if (x & 1) r = mix_many(r, y, y & 7); /* called by some lanes only */
    out[i] = mix(r, i);
}

/* Private arrays indexed at run time: scratch. */
KERNEL void flow_scratch(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 words[48];
    u8 bytes[32];
    for (u32 j = 0; j < 48; j++) words[j] = x + j * y;
    for (u32 j = 0; j < 32; j++) bytes[(j * 7 + x) & 31] = (u8)(y >> (j & 15));
    u32 at = x % 48;
    for (u32 j = 0; j < 40; j++) {
        u32 next = words[at] % 48;
        words[at] = words[next] ^ bytes[j & 31];
        at = next;
    }
    u32 hash = 0;
    for (u32 j = 0; j < 48; j++) hash = hash * 31 + words[j];
    out[i * 2] = hash;
    out[i * 2 + 1] = words[y % 48] + bytes[y & 31];
}

/* Global atomics: the final values do not depend on the order. out: 64 cells, zeroed before. */
KERNEL void flow_atomics(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    ATOMIC(fetch_add, &out[x & 7], y & 0xffff);
    ATOMIC(fetch_max, &out[8 + (x & 3)], y);
    ATOMIC(fetch_or, &out[12 + (x & 3)], 1u << (y & 31));
    ATOMIC(fetch_xor, &out[16 + (x & 3)], y);
    ATOMIC(fetch_max, (i32 *)&out[20 + (x & 3)], (i32)y);
    ATOMIC(fetch_add, (u64 *)&out[24 + 2 * (x & 3)], (u64)y << 20);
    ATOMIC(fetch_sub, &out[32 + (x & 3)], y);
    atomic_add_f32((f32 *)&out[36 + (x & 3)], (f32)(y & 255)); /* exact: below 2^24 */
    u32 seen = atomic_read(&out[40 + (x & 3)]);
    while (!atomic_swap_if(&out[40 + (x & 3)], &seen, seen + (y & 1023))) {}
    u32 old = ATOMIC(fetch_add, &out[44], 1u); /* every number once */
    ATOMIC(fetch_add, &out[45], old);
    ATOMIC(fetch_xor, &out[46], old * 2654435761u);
    ATOMIC(fetch_and, &out[47], y);
    old = ATOMIC(exchange, &out[48 + (x & 3)], 7u);
    if (old != 7) ATOMIC(fetch_add, &out[52 + (x & 3)], 1u); /* once a cell */
}
