// Finite tests on the bits: compilers may assume that isnan() and isinf() are false.
bool is_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }
bool is_finite(vec2 v) { return is_finite(v.x) && is_finite(v.y); }
bool is_finite(vec3 v) { return is_finite(v.x) && is_finite(v.y) && is_finite(v.z); }

// Rounds to nearest even before a store: some drivers truncate in imageStore.
vec2 round_half(vec2 v) { return unpackHalf2x16(packHalf2x16(v)); }
vec4 round_half(vec4 v) { return vec4(round_half(v.xy), round_half(v.zw)); }

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
