// Validation, first pass: the analysis image. The luma is blurred (sigma 2, radius 6, clamped to the rectangle), as frames
// of one sample a pixel alias so much that shifts could not be told without.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "exposure_state.glsl"
#include "validate.glsl"
layout(local_size_x = D4R_V_GROUP, local_size_y = D4R_V_GROUP) in;
layout(set = 0, binding = D4R_V_BIND_OUT, rgba32f) uniform writeonly image2D analysis_out;
layout(set = 1, binding = D4R_BIND_DEPTH) uniform texture2D depth_image;
const int side = D4R_V_GROUP + 2 * D4R_V_BLUR;
shared float tile[side * side];
shared float rows[side * D4R_V_GROUP];

float tap(int i) { return exp(-float(i * i) / 8.0); }

float luma_at(ivec2 pixel)
{
    vec3 c = load_color(clamp(pixel, ivec2(0), p.render - 1));
    return compress_exposed(vec3(0.25 * c.r + 0.5 * c.g + 0.25 * c.b), current_exposure).x;
}

void main()
{
    ivec2 first = ivec2(gl_WorkGroupID.xy) * D4R_V_GROUP;
    int index = int(gl_LocalInvocationIndex);
    for (int i = index; i < side * side; i += D4R_V_GROUP * D4R_V_GROUP)
        tile[i] = luma_at(first - D4R_V_BLUR + ivec2(i % side, i / side));
    barrier();
    float total = 0.0;
    for (int k = -D4R_V_BLUR; k <= D4R_V_BLUR; k++) total += tap(k);
    for (int i = index; i < side * D4R_V_GROUP; i += D4R_V_GROUP * D4R_V_GROUP) {
        float sum = 0.0;
        for (int k = -D4R_V_BLUR; k <= D4R_V_BLUR; k++)
            sum += tap(k) * tile[(i / D4R_V_GROUP) * side + i % D4R_V_GROUP + D4R_V_BLUR + k];
        rows[i] = sum / total;
    }
    barrier();
    ivec2 local = ivec2(gl_LocalInvocationID.xy);
    ivec2 pixel = first + local;
    if (any(greaterThanEqual(pixel, p.render))) return;
    float sum = 0.0;
    for (int k = -D4R_V_BLUR; k <= D4R_V_BLUR; k++)
        sum += tap(k) * rows[(local.y + D4R_V_BLUR + k) * D4R_V_GROUP + local.x];
    float luma = tile[(local.y + D4R_V_BLUR) * side + local.x + D4R_V_BLUR];
    float depth = texelFetch(depth_image, pixel + p.depth_origin, 0).r;
    float good = is_finite(texelFetch(color_image, pixel + p.color_origin, 0).rgb) ? 1.0 : 0.0;
    imageStore(analysis_out, pixel, vec4(sum / total, luma, is_finite(depth) ? depth : -1.0, good));
}
