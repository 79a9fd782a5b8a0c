// FP8 e4m3 (OCP: no infinities, largest value 448).

// Exponent field (f32) of the binade whose grid applies: subnormals share the step of the smallest normals.
uint fp8_exponent(float magnitude) { return max(floatBitsToUint(magnitude) >> 23, 121u); }
float fp8_step(uint exponent) { return uintBitsToFloat((exponent - 3u) << 23); }
float fp8_inverse_step(uint exponent) { return uintBitsToFloat((257u - exponent) << 23); }

// Nearest even, saturating.
float fp8_round(float v)
{
    float a = min(abs(v), 448.0);
    uint e = fp8_exponent(a);
    float r = roundEven(a * fp8_inverse_step(e)) * fp8_step(e);
    return v < 0.0 ? -r : r;
}

// Truncation of |v| + n / 128 steps, saturating; non-finite values become 0.
float fp8_dither(float v, uint n)
{
    if (!is_finite(v)) v = 0.0;
    float a = min(abs(v), 448.0);
    uint e = fp8_exponent(a);
    float r = min(floor(a * fp8_inverse_step(e) + float(n) * 0.0078125) * fp8_step(e), 448.0);
    return v < 0.0 ? -r : r;
}

// Code of a value on the grid.
uint fp8_code(float v)
{
    float a = abs(v);
    uint code = a < 0.015625 ? uint(a * 512.0) : (floatBitsToUint(a) >> 20) - 960u;
    return v < 0.0 ? code | 128u : code;
}

// NaN codes count as 0, so that a damaged head cannot spread.
float fp8_value(uint code)
{
    uint m = code & 127u;
    float a = m < 8u ? float(m) * 0.001953125 : uintBitsToFloat((m << 20) + (120u << 23));
    if (m == 127u) a = 0.0;
    return (code & 128u) != 0u ? -a : a;
}
