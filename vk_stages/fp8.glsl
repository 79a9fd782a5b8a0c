// FP8 e4m3 (OCP: no infinities, largest value 448).

// Exponent field (f32) of the binade whose grid applies: subnormals share the step of the smallest normals.
uint fp8_exponent(float v) { return max(bitfieldExtract(floatBitsToUint(v), 23, 8), 121u); }

// 2^20 of the binade: its sum with a magnitude has the grid's step, and ends in the number of steps.
float fp8_lift(uint exponent) { return uintBitsToFloat((exponent + 20u) << 23); }

float fp8_signed(float magnitude, float v)
{
    return uintBitsToFloat(floatBitsToUint(magnitude) | (floatBitsToUint(v) & 0x80000000u));
}

// Nearest even, saturating.
float fp8_round(float v)
{
    float a = min(abs(v), 448.0);
    float lift = fp8_lift(fp8_exponent(a));
    precise float lifted = a + lift;
    precise float r = lifted - lift;
    return fp8_signed(r, v);
}

// Truncation of |v| + n / 128 steps, saturating; non-finite values become 0. 128 steps of n are one of a normal's last three
// bits of mantissa, and carry into the exponent as they should.
float fp8_dither(float v, uint n)
{
    if (!is_finite(v)) v = 0.0;
    float a = min(abs(v), 448.0);
    float normal = uintBitsToFloat((floatBitsToUint(a) + (n << 13)) & 0xfff00000u);
    float small = floor(a * 512.0 + float(n) * 0.0078125) * 0.001953125;
    return fp8_signed(a < 0.015625 ? small : normal, v);
}

// Code of the value nearest to v, whose magnitude is at most 448. Zero has one code: half a step below it still rounds to 0.
uint fp8_nearest_code(float v)
{
    uint exponent = fp8_exponent(v);
    float lift = fp8_lift(exponent);
    precise float lifted = abs(v) + lift;
    uint steps = floatBitsToUint(lifted) - floatBitsToUint(lift);
    return steps + exponent * 8u - 968u + (v < -0.0009765625 ? 128u : 0u);
}

// Four codes. NaN codes count as 0, so that a damaged head cannot spread.
uint fp8_without_nan(uint codes)
{
    uint nan = ((codes & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u;
    return codes & ~((nan << 1) - (nan >> 7));
}

// Value of code `at` of four, none of them NaN. Read as a normal, a subnormal x is 2^-7 + x / 2.
float fp8_value(uint codes, int at)
{
    float normal = uintBitsToFloat((bitfieldExtract(codes, 8 * at, 7) << 20) + (120u << 23));
    float a = min(normal, 2.0 * normal - 0.015625);
    return uintBitsToFloat(floatBitsToUint(a) | (codes << (24 - 8 * at) & 0x80000000u));
}
