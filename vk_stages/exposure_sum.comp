// Exposure, first half: sum and count of the clamped luma of 32x32 render pixels a work group.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = D4R_BIND_PARTIALS, std430) writeonly buffer partial_block { vec2 partials[]; };
shared vec2 sums[256];

vec2 pixel_luma(ivec2 pixel)
{
    if (any(greaterThanEqual(pixel, p.render))) return vec2(0.0);
    vec3 v = texelFetch(color_image, pixel + p.color_origin, 0).rgb * p.inverse_pre_exposure;
    float luma = 0.25 * v.r + 0.5 * v.g + 0.25 * v.b;
    // NaN and infinities are skipped: their pixel is repaired later on.
    return is_finite(v) && is_finite(luma) ? vec2(clamp(luma, 0.0, 10000.0), 1.0) : vec2(0.0);
}

void main()
{
    ivec2 first = ivec2(gl_WorkGroupID.xy) * D4R_EXPOSURE_BLOCK + ivec2(gl_LocalInvocationID.xy);
    vec2 top = pixel_luma(first) + pixel_luma(first + ivec2(16, 0));
    vec2 bottom = pixel_luma(first + ivec2(0, 16)) + pixel_luma(first + ivec2(16, 16));
    uint i = gl_LocalInvocationIndex;
    sums[i] = top + bottom;
    barrier();
    for (uint step = 128u; step > 0u; step >>= 1) {
        if (i < step) sums[i] += sums[i + step];
        barrier();
    }
    if (i == 0u) partials[gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x] = sums[0];
}
