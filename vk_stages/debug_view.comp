// Debug view, second pass, preset M: what its twelve tiles show.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "filter.glsl"
#include "exposure_state.glsl"
#include "motion.glsl"
#include "reproject.glsl"
#include "debug_view.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_BIND_PACKED, std430) readonly buffer packed_block { uint packed_pixels[]; };
layout(set = 0, binding = D4R_BIND_MV_A) uniform sampler2D mv_a;
layout(set = 0, binding = D4R_BIND_MV_B) uniform sampler2D mv_b;
layout(set = 0, binding = D4R_BIND_MIX) uniform sampler2D mix_image;
layout(set = 0, binding = D4R_BIND_HISTORY_PREVIOUS) uniform sampler2D history_previous;
layout(set = 3, binding = 1, r32f) uniform readonly image2D age_now;

// Names of the tiles: 0 a space, letters from 1, ended by -1.
const int name_length = 14;
const int names[12 * name_length] = int[](
    3, 15, 12, 15, 18, -1, 0, 0, 0, 0, 0, 0, 0, 0,             // COLOR
    13, 15, 20, 9, 15, 14, -1, 0, 0, 0, 0, 0, 0, 0,            // MOTION
    4, 5, 16, 20, 8, -1, 0, 0, 0, 0, 0, 0, 0, 0,               // DEPTH
    3, 1, 14, 4, 9, 4, 1, 20, 5, 19, -1, 0, 0, 0,              // CANDIDATES
    13, 9, 24, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,               // MIX
    7, 1, 20, 5, 19, -1, 0, 0, 0, 0, 0, 0, 0, 0,               // GATES
    8, 9, 19, 20, 0, 23, 5, 9, 7, 8, 20, -1, 0, 0,             // HIST WEIGHT
    11, 5, 18, 14, 5, 12, -1, 0, 0, 0, 0, 0, 0, 0,             // KERNEL
    8, 9, 19, 20, 15, 18, 25, 0, 1, 7, 5, -1, 0, 0,            // HISTORY AGE
    8, 9, 19, 20, 15, 18, 25, -1, 0, 0, 0, 0, 0, 0,            // HISTORY
    13, 9, 19, 6, 9, 20, -1, 0, 0, 0, 0, 0, 0, 0,              // MISFIT
    15, 21, 20, 16, 21, 20, -1, 0, 0, 0, 0, 0, 0, 0);
#include "debug_tiles.glsl"

// Red: the nearest surface's motion differs from the pixel's own; blue: the farthest one's; on the darkened colour.
vec3 candidate_picture(ivec2 pixel, vec3 color)
{
    vec2 own = texelFetch(mv_c, pixel, 0).rg;
    float a = length((texelFetch(mv_a, pixel, 0).rg - own) * p.to_render);
    float b = length((texelFetch(mv_b, pixel, 0).rg - own) * p.to_render);
    return mix(color * 0.3, vec3(1.0, 0.2, 0.0), clamp(a, 0.0, 1.0)) + vec3(0.0, 0.1, 1.0) * clamp(b, 0.0, 1.0);
}

vec3 tile_picture(int tile, ivec2 pixel, vec2 at)
{
    vec3 color = compress_exposed(load_color(pixel), current_exposure);
    vec2 q = history_position(pixel);
    vec3 history = fetch_linear(history_previous, q, p.reconstruction, p.inverse_reconstruction).rgb;
    switch (tile) {
    case 0: return shown(expand(color));
    case 1: return motion_picture(texelFetch(mv_c, pixel, 0).rg);
    case 2: return depth_picture(pixel);
    case 3: return candidate_picture(pixel, shown(expand(color)));
    case 4: return texelFetch(mix_image, pixel, 0).rgb;
    case 5: return texelFetch(gates_image, pixel, 0).rgb;
    case 6: return has_history(q) ? vec3(history_share(pixel), 0.0) : missing;
    case 7: {
        vec3 shape = texelFetch(covariance_image, pixel, 0).xyz;
        vec2 sigma = inversesqrt(max(shape.xy, 1e-4));
        return vec3(clamp(sigma, 0.0, 1.0), abs(shape.z) * sigma.x * sigma.y);
    }
    case 8: return has_history(q) ? heat(imageLoad(age_now, pixel).r / 8.0) : missing;
    case 9: return has_history(q) ? shown(expand(history) * (current_exposure / previous_exposure)) : missing;
    case 10: return has_history(q) ? heat(dot(abs(history - color), vec3(1.0)) * 0.7) : missing;
    }
    ivec2 big = min(ivec2(at * vec2(p.reconstruction)), p.reconstruction - 1);
    return shown(expand_display(unpack_display(packed_pixels[big.y * p.reconstruction.x + big.x])));
}
