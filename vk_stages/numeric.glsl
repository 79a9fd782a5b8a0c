// Finite tests on the bits: compilers may assume that isnan() and isinf() are false.
bool is_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }
bool is_finite(vec2 v) { return is_finite(v.x) && is_finite(v.y); }
bool is_finite(vec3 v)
{
    uvec3 e = floatBitsToUint(v) & 0x7f800000u;
    return max(max(e.x, e.y), e.z) != 0x7f800000u;
}

// Rounds to half's grid, nearest even, for values up to 65504: drivers differ in imageStore and in packHalf2x16, which
// may truncate; of values on the grid both are exact. The sum of v and 2^13 of its binade has half's step.
float round_half(float v)
{
    uint bits = floatBitsToUint(v);
    float lift = uintBitsToFloat((max(bitfieldExtract(bits, 23, 8), 113u) + 13u) << 23);
    precise float lifted = abs(v) + lift;
    precise float magnitude = lifted - lift;
    return uintBitsToFloat(floatBitsToUint(magnitude) | (bits & 0x80000000u));
}
vec2 round_half(vec2 v) { return vec2(round_half(v.x), round_half(v.y)); }
vec4 round_half(vec4 v) { return vec4(round_half(v.xy), round_half(v.zw)); }
uint pack_half(vec2 v) { return packHalf2x16(round_half(v)); }

float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }

// Exact at both ends of the range, where some tanh() implementations overflow.
float safe_tanh(float x)
{
    float a = abs(x);
    float s = x * x;
    float small = x * (1.0 + s * (-0.33333333 + s * (0.13333333 - s * 0.05396825)));
    float large = sign(x) * (1.0 - 2.0 / (exp(2.0 * min(a, 20.0)) + 1.0));
    return a < 0.25 ? small : large;
}
