/* FP8 (e4m3) and BF8 (e5m2) conversions; gfx12 only. */
#include "device.h"

#define SETUP                                                                                                  \
    u32 i = group_id() * group_size() + local_id();                                                            \
    if (i >= n) return

/* Every code in every byte position: a holds 0..255. */
KERNEL void fp8_decode(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    u32 code = a[i], word = code * 0x01010101u ^ 0x00204060u;
    f32 *o = (f32 *)(out + i * 12);
    o[0] = fp8_unpack<0>(word);
    o[1] = fp8_unpack<1>(word);
    o[2] = fp8_unpack<2>(word);
    o[3] = fp8_unpack<3>(word);
    o[4] = bf8_unpack<0>(word);
    o[5] = bf8_unpack<1>(word);
    o[6] = bf8_unpack<2>(word);
    o[7] = bf8_unpack<3>(word);
    f32x2 low = fp8_unpack2<false>(word), high = fp8_unpack2<true>(word);
    o[8] = low.x;
    o[9] = low.y;
    o[10] = high.x;
    o[11] = high.y;
}

KERNEL void fp8_encode(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    SETUP;
    f32 x = bits<f32>(a[i]), y = bits<f32>(b[i]);
    out[i * 2] = fp8_pack(x, y, 0xabcd1234, false);
    out[i * 2 + 1] = bf8_pack(x, y, 0xabcd1234, false);
}

KERNEL void fp8_saturate(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    saturate_conversions();
    SETUP;
    f32 x = bits<f32>(a[i]), y = bits<f32>(b[i]);
    out[i * 3] = fp8_pack(x, y, 0xabcd1234, true);
    out[i * 3 + 1] = bf8_pack(x, y, 0xabcd1234, true);
    /* The usual way without the mode: clamp, then convert. */
    f32 p = x == x ? x : 0.0f, q = y == y ? y : 0.0f;
    out[i * 3 + 2] = fp8_pack(med3(p, -448.0f, 448.0f), med3(q, -448.0f, 448.0f), 0, false) & 0xffff;
}
