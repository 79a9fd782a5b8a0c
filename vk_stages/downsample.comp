// Downsample 3 -> 2 of the display buffer to the output, back to the caller's range; alpha from the input.
// OUTPUT_FORMAT is the storage format.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "exposure_state.glsl"
#include "output_store.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_BIND_PACKED, std430) readonly buffer packed_block { uint packed_pixels[]; };

// What is averaged, for a compressed value y: the cube root of t = 10^(y / 0.36) = 1 + 100 v. The logarithm would lose
// more of the share that something bright has in an edge pixel.
vec3 cube_root(int at) { return exp2(unpack_display(packed_pixels[at]) * (1.0 / (3.0 * compress_gain))); }

// Exactly a where a = b: code 0 stays exactly 0.
vec3 lerp(vec3 a, vec3 b, float t) { return a + (b - a) * t; }

// Hundredths of linear light of an output pixel. The reconstruction pixel whose centre is 1/6 away counts 3/4, the next one, 1/2
// away, 1/4: their areas' 2/3 and 1/3 would blur what was resolved at 1.5 times the output size.
vec3 filtered(ivec2 pixel)
{
    ivec2 odd = pixel & 1;
    ivec2 at = (pixel >> 1) * 3 + odd;
    vec2 second = mix(vec2(0.25), vec2(0.75), vec2(odd));
    int i = at.y * p.reconstruction.x + at.x;
    int j = i + p.reconstruction.x;
    vec3 top = lerp(cube_root(i), cube_root(i + 1), second.x);
    vec3 bottom = lerp(cube_root(j), cube_root(j + 1), second.x);
    vec3 s = lerp(top, bottom, second.y);
    return max(s * s * s - 1.0, 0.0);
}

float stored_alpha(ivec2 texel)
{
    return alpha_from_stored(
        texelFetch(color_image, clamp(texel, ivec2(0), p.render - 1) + p.color_origin, 0).a);
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

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, p.output_size))) return;
    store_output(pixel, filtered(pixel), output_alpha(pixel));
}
