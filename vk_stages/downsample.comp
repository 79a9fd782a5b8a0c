// Downsample 3 -> 2 of the display buffer to the output, back to the caller's range; alpha from the input.
// OUTPUT_FORMAT is the storage format.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "exposure_state.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_BIND_PACKED, std430) readonly buffer packed_block { uint packed_pixels[]; };
layout(set = 2, binding = 0, OUTPUT_FORMAT) uniform writeonly image2D output_image;
layout(constant_id = D4R_SPEC_OUTPUT) const uint output_flags = 0u;

// Two of three reconstruction pixels cover an output pixel: 2/3 and 1/3, mirrored for odd pixels.
vec3 area_mean(ivec2 pixel)
{
    ivec2 odd = pixel & 1;
    ivec2 at = (pixel >> 1) * 3 + odd;
    vec2 second = vec2(1 + odd) / 3.0;
    int i = at.y * p.reconstruction.x + at.x;
    int j = i + p.reconstruction.x;
    vec3 top = mix(unpack_display(packed_pixels[i]), unpack_display(packed_pixels[i + 1]), second.x);
    vec3 bottom = mix(unpack_display(packed_pixels[j]), unpack_display(packed_pixels[j + 1]), second.x);
    return mix(top, bottom, second.y);
}

float stored_alpha(ivec2 texel)
{
    float a = texelFetch(color_image, clamp(texel, ivec2(0), p.render - 1) + p.color_origin, 0).a;
    return is_finite(a) ? clamp(a, 0.0, 65504.0) : 1.0;
}

// Bilinear at the output pixel's place in the unjittered image. Fetches: colour formats need not be filterable.
float output_alpha(ivec2 pixel)
{
    vec2 f = (vec2(pixel) + 0.5) * vec2(p.render) / vec2(p.output_size) - p.jitter;
    f = clamp(f, vec2(0.5), vec2(p.render) - 0.5) - 0.5;
    ivec2 base = ivec2(floor(f));
    vec2 t = f - vec2(base);
    float top = mix(stored_alpha(base), stored_alpha(base + ivec2(1, 0)), t.x);
    float bottom = mix(stored_alpha(base + ivec2(0, 1)), stored_alpha(base + 1), t.x);
    return mix(top, bottom, t.y);
}

// Rounds a value in [0, 65504] to a float of `bits` bits of mantissa and half's exponent: drivers differ in imageStore.
float round_small(float v, int bits)
{
    int exponent = max(int(floatBitsToUint(v) >> 23) - 127, -14);
    float scale = exp2(float(bits - exponent));
    float largest = (2.0 - exp2(float(-bits))) * 32768.0;
    return min(roundEven(v * scale) / scale, largest);
}

float encode_srgb(float v) { return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1.0 / 2.4) - 0.055; }

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, p.output_size))) return;
    vec3 v = expand_display(area_mean(pixel));
    if (ldr) v = pow(clamp(v, 0.0, 1.0), vec3(1.0 / 2.2));
    else v = clamp(v * (p.pre_exposure / current_exposure), 0.0, 65504.0);
    vec4 result = vec4(v, output_alpha(pixel));
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
