/* One 16-byte load a lane at chosen offsets; lanes with a negative offset do not load. One wave. */
#include "kernel.h"

KERNEL void gather(const u8 *in, const int *offsets, u32 *out)
{
    int offset = offsets[lane()];
    u32 sum = 0;
    if (offset >= 0) {
        w4 v = *(const w4 *)(in + offset);
        sum = v.x + v.y + v.z + v.w;
    }
    out[lane()] = sum;
}
