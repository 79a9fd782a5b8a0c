// log10(100 v + 1) * 0.36 and its inverse: about 0 .. 2.35 for exposed colours.
const float compress_gain = 0.36 * 0.30102999566398120; // per log2

// The rounding of 1 + u is made good for: in the dark it would be the largest error by far.
vec3 compress(vec3 v)
{
    precise vec3 u = v * 100.0;
    precise vec3 t = u + 1.0;
    precise vec3 lost = u - (t - 1.0);
    return (log2(max(t, 1e-4)) + lost * 1.44269504088896) * compress_gain;
}

// Of u = 100 v where v was expanded, blended or is only stored: u is no better known than 1 + u.
vec3 compress_hundredfold(vec3 u) { return log2(max(u + 1.0, 1e-4)) * compress_gain; }

vec3 compress_exposed(vec3 color, float exposure) { return compress(min(color * exposure, 32752.0)); }
// 100 times the light of a compressed value: the form to blend, as compress_hundredfold() takes it.
vec3 hundredfold(vec3 v) { return exp2(v * (1.0 / compress_gain)) - 1.0; }
vec3 expand_hundredfold(vec3 v) { return hundredfold(clamp(v, 1e-4, 3.0)); }
vec3 expand(vec3 v) { return expand_hundredfold(v) * 0.01; }

// A compressed history, clamped to [least, 3], in this frame's exposure instead of the previous one's. Where they are the same,
// only the clamps remain (2.3454857 is compress(32752)); all invocations take the same way.
vec3 expose_anew(vec3 h, float least, float now, float before)
{
    h = clamp(h, least, 3.0);
    if (now == before) return min(h, 2.3454857);
    return compress_hundredfold(min(hundredfold(h) * (now / before), 3275200.0));
}

// The display buffer: 11-11-10 bits, red lowest, of compressed values up to 2.45 (LDR: up to that of 1).
const float packed_range = ldr ? 0.72155569 : 2.45;
// Down to exact black, which matters after the inverse gamma of LDR.
vec3 expand_display(vec3 v) { return hundredfold(v) * 0.01; }

uint pack_display(vec3 v)
{
    uvec3 n = uvec3(clamp(v * (1.0 / packed_range), 0.0, 1.0) * vec3(2047.0, 2047.0, 1023.0) + 0.5);
    return n.r | n.g << 11 | n.b << 22;
}
vec3 unpack_display(uint n)
{
    return vec3(n & 2047u, n >> 11 & 2047u, n >> 22) * (packed_range / vec3(2047.0, 2047.0, 1023.0));
}
