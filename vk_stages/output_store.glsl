// The output image: back from exposed linear light to the caller's range and format. OUTPUT_FORMAT is the storage format.
layout(set = 2, binding = 0, OUTPUT_FORMAT) uniform writeonly image2D output_image;
layout(constant_id = D4R_SPEC_OUTPUT) const uint output_flags = 0u;

// Rounds a value in [0, 65504] to a float of `bits` bits of mantissa and half's exponent: drivers differ in imageStore.
float round_small(float v, int bits)
{
    int exponent = max(int(floatBitsToUint(v) >> 23) - 127, -14);
    float scale = exp2(float(bits - exponent));
    float largest = (2.0 - exp2(float(-bits))) * 32768.0;
    return min(roundEven(v * scale) / scale, largest);
}

float encode_srgb(float v) { return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1.0 / 2.4) - 0.055; }

// v: hundredths of the exposed light.
void store_output(ivec2 pixel, vec3 v, float alpha)
{
    if (ldr) v = pow(clamp(v * 0.01, 0.0, 1.0), vec3(1.0 / 2.2));
    else v = clamp(v * (0.01 * p.pre_exposure / current_exposure), 0.0, 65504.0);
    vec4 result = vec4(v, alpha);
#if defined(OUTPUT_UNORM)
    result = clamp(result, 0.0, 1.0);
    if ((output_flags & D4R_OUTPUT_ENCODE_SRGB) != 0u)
        result.rgb = vec3(encode_srgb(result.r), encode_srgb(result.g), encode_srgb(result.b));
    if ((output_flags & D4R_OUTPUT_SWAP) != 0u) result = result.bgra;
#elif defined(OUTPUT_R11G11B10F)
    result = vec4(round_small(result.r, 6), round_small(result.g, 6), round_small(result.b, 5), 0.0);
#else
    result = round_half(result);
#endif
    imageStore(output_image, pixel + p.output_origin, result);
}
