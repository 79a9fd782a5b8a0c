// Debug view, second pass, preset K: what its twelve tiles show.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "k_params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "filter.glsl"
#include "exposure_state.glsl"
#include "motion.glsl"
#include "reproject.glsl"
#include "k_history.glsl"
#include "k_kernel.glsl"
#include "k_head.glsl"
#include "k_debug_view.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_K_BIND_HISTORY_OUT, rgba16f) uniform readonly image2D history_now;
layout(set = 3, binding = 1, r32f) uniform readonly image2D age_now;

// Names of the tiles: 0 a space, letters from 1, ended by -1.
const int name_length = 14;
const int names[12 * name_length] = int[](
    3, 15, 12, 15, 18, -1, 0, 0, 0, 0, 0, 0, 0, 0,             // COLOR
    13, 15, 20, 9, 15, 14, -1, 0, 0, 0, 0, 0, 0, 0,            // MOTION
    4, 5, 16, 20, 8, -1, 0, 0, 0, 0, 0, 0, 0, 0,               // DEPTH
    3, 1, 14, 4, 9, 4, 1, 20, 5, 19, -1, 0, 0, 0,              // CANDIDATES
    3, 15, 14, 6, 9, 4, 5, 14, 3, 5, -1, 0, 0, 0,              // CONFIDENCE
    7, 1, 20, 5, 19, -1, 0, 0, 0, 0, 0, 0, 0, 0,               // GATES
    8, 9, 19, 20, 0, 23, 5, 9, 7, 8, 20, -1, 0, 0,             // HIST WEIGHT
    11, 5, 18, 14, 5, 12, -1, 0, 0, 0, 0, 0, 0, 0,             // KERNEL
    8, 9, 19, 20, 15, 18, 25, 0, 1, 7, 5, -1, 0, 0,            // HISTORY AGE
    8, 9, 19, 20, 15, 18, 25, -1, 0, 0, 0, 0, 0, 0,            // HISTORY
    13, 9, 19, 6, 9, 20, -1, 0, 0, 0, 0, 0, 0, 0,              // MISFIT
    11, 5, 16, 20, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0);             // KEPT
#include "debug_tiles.glsl"

// Exposed light of a compressed value, to 0 exactly.
vec3 light_of(vec3 v) { return expand_display(clamp(v, 0.0, 3.0)); }

// Red: the nearest surface's motion differs from the pixel's own; yellow: and the history is read along the pixel's own;
// on the darkened colour.
vec3 candidate_picture(ivec2 pixel, ivec2 sub_block, float own, vec3 color)
{
    float apart = length((nearest_motion(sub_block) - load_motion(pixel)) * p.to_render);
    return mix(color * 0.3, vec3(1.0, own, 0.0), clamp(apart, 0.0, 1.0));
}

// At the place of the render pixel's sample: the history there, in this frame's exposure, or how much it differs.
vec3 history_picture(ivec2 pixel, vec3 color, bool difference)
{
    precise vec2 lies = (vec2(pixel) + 0.5) + p.jitter;
    lies *= p.to_reconstruction;
    vec2 q = history_position(lies, nearest_motion(clamp(ivec2(lies) / 2, ivec2(0), p.half_size - 1)));
    bool ok;
    vec4 h = exposed_history(fetch_linear(history_previous, q, p.reconstruction, p.inverse_reconstruction), ok);
    if (!has_history(q) || !ok) return missing;
    return difference ? heat(dot(abs(h.rgb - color), vec3(1.0)) * 0.7) : shown(light_of(h.rgb));
}

vec3 tile_picture(int tile, ivec2 pixel, vec2 at)
{
    ivec2 output_pixel = min(ivec2(at * vec2(p.output_size)), p.output_size - 1);
    ivec2 sub_block = output_pixel / 2;
    vec3 color = compress_exposed(load_color(pixel), current_exposure);
    bool known = has_history(centre_position(sub_block));
    vec4 kernel, gates;
    read_sub_block(sub_block, kernel, gates);
    switch (tile) {
    case 0: return shown(light_of(color));
    case 1: return motion_picture(nearest_motion(sub_block));
    case 2: return depth_picture(pixel);
    case 3: return candidate_picture(pixel, sub_block, gates.y, shown(light_of(color)));
    case 4: return known ? heat(log2(1.0 + confidence_at(centre_position(sub_block))) / 6.0) : missing;
    case 5: return vec3(kernel.w, gates.z, gates.w / 4.0);
    case 6: return known ? vec3(history_share(sub_block), 0.0) : missing;
    case 7: return kernel.xyz / vec3(3.0, 3.0, 4.0);
    case 8: return known ? heat(imageLoad(age_now, sub_block).r / 8.0) : missing;
    case 9: return history_picture(pixel, color, false);
    case 10: return history_picture(pixel, color, true);
    }
    return shown(light_of(imageLoad(history_now, output_pixel).rgb));
}
