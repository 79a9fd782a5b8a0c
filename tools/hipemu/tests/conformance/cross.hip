/* Moves between lanes: permutes, DPP, swizzles, ballots. Whole waves only. */
#include "device.h"

KERNEL void cross_permute(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 i = group_id() * group_size() + local_id(), x = a[i], y = b[i];
    u32 *o = out + i * 10;
    o[0] = permlanex16(x, 0x76543210, 0xfedcba98);
    o[1] = permlanex16(x, 0x01234567, 0x89abcdef);
    o[2] = permlane16(x, 0x13579bdf, 0x02468ace);
    o[3] = bpermute(x, y & 31);
    o[4] = bpermute(x + y, (lane_id() + 5) & 31);
    o[5] = readlane(x, 17);
    o[6] = readfirstlane(y);
    o[7] = ballot(x > y);
    o[8] = ballot((x ^ y) & 1);
    o[9] = swizzle<0x041f>(x) ^ swizzle<0x081f>(y) ^ swizzle<0x401f>(x) ^ swizzle<0x0018>(y);
}

KERNEL void cross_dpp(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 i = group_id() * group_size() + local_id(), x = a[i], y = b[i];
    u32 *o = out + i * 12;
    o[0] = dpp<0x1b>(y, x);  /* quad_perm 3,2,1,0 */
    o[1] = dpp<0xb1>(y, x);  /* quad_perm 1,0,3,2 */
    o[2] = dpp<0x101>(y, x); /* row_shl 1 */
    o[3] = dpp<0x111>(y, x); /* row_shr 1 */
    o[4] = dpp<0x118>(0, x); /* row_shr 8 */
    o[5] = dpp<0x124>(y, x); /* row_ror 4 */
    o[6] = dpp<0x140>(y, x); /* row_mirror */
    o[7] = dpp<0x141>(y, x); /* row_half_mirror */
    o[8] = dpp<0x155>(y, x); /* row_share 5 */
    o[9] = dpp<0x163>(y, x); /* row_xmask 3 */
    /* Folded into arithmetic. */
    f32 sum = bits<f32>(x & 0x3fffffff);
    sum += bits<f32>(dpp<0xb1>(0, bits<u32>(sum)));
    sum += bits<f32>(dpp<0x4e>(0, bits<u32>(sum)));
    sum += bits<f32>(dpp<0x141>(0, bits<u32>(sum)));
    sum += bits<f32>(dpp<0x140>(0, bits<u32>(sum)));
    sum += bits<f32>(permlanex16(bits<u32>(sum), 0x76543210, 0xfedcba98));
    o[10] = bits<u32>(sum);
    u32 before = dpp<0x111>(~0u, x);
    o[11] = (x < before ? x : before) + dpp<0x112>(7, y);
}

/* Part of the wave has left: ballots and permutes see the rest. */
KERNEL void cross_partial(const u32 *a, const u32 *b, u32 *out, u32 n)
{
    u32 i = group_id() * group_size() + local_id(), x = a[i];
    if (i % 32 >= 20) {
        out[i * 2] = 1;
        out[i * 2 + 1] = 2;
        return;
    }
    out[i * 2] = ballot(x & 4);
    out[i * 2 + 1] = readfirstlane(x) ^ bpermute(x, (lane_id() + 1) % 20);
}
