// Debug view, first pass: the mean age in frames of what the history holds, at render resolution. Every frame ages it by
// one and blends in the current colour, whose age is 0.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "filter.glsl"
#include "reproject.glsl"
#include "debug_view.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 3, binding = 0, r32f) uniform readonly image2D age_previous;
layout(set = 3, binding = 1, r32f) uniform writeonly image2D age_now;

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, p.render))) return;
    vec2 q = history_position(pixel);
    float age = 0.0;
    if (age_known != 0u && has_history(q)) {
        ivec2 there = clamp(ivec2(previous_render_position(q)), ivec2(0), p.render - 1);
        age = history_share(pixel).x * (imageLoad(age_previous, there).r + 1.0);
    } else if (has_history(q)) {
        age = history_share(pixel).x;
    }
    imageStore(age_now, pixel, vec4(age, 0.0, 0.0, 0.0));
}
