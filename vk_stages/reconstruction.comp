// Reconstruction at 1.5 times the output size: resampled current colour, history along two motion candidates,
// gated blends. Writes the next frame's history, its half-resolution copy and the display buffer.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "filter.glsl"
#include "exposure_state.glsl"
#include "reproject.glsl"
#include "gaussian.glsl"
#include "catmull_rom.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_BIND_PACKED, std430) writeonly buffer packed_block { uint packed_pixels[]; };
layout(set = 0, binding = D4R_BIND_MV_A) uniform sampler2D mv_a;
layout(set = 0, binding = D4R_BIND_MV_B) uniform sampler2D mv_b;
layout(set = 0, binding = D4R_BIND_MV_C) uniform sampler2D mv_c;
layout(set = 0, binding = D4R_BIND_HISTORY_PREVIOUS) uniform sampler2D history_previous;
layout(set = 0, binding = D4R_BIND_HISTORY_OUT, rgba16f) uniform writeonly image2D history_out;
layout(set = 0, binding = D4R_BIND_HALF_OUT, rgba16f) uniform writeonly image2D half_out;
shared vec3 results[D4R_PIXEL_GROUP * D4R_PIXEL_GROUP];

// The two motion candidates of largest weight, and how the history is shared between them.
struct motion_pair {
    vec2 first, second;
    float share; // of the second; 0 when it does not matter
};

motion_pair choose_motion(vec2 position, vec3 mixture)
{
    ivec2 texel = clamp(ivec2(floor(position)), ivec2(0), p.render - 1);
    vec3 a = vec3(texelFetch(mv_a, texel, 0).rg, mixture.x);
    vec3 c = vec3(fetch_linear(mv_c, position, p.render, p.inverse_render_extent).rg, mixture.y);
    vec3 b = vec3(texelFetch(mv_b, texel, 0).rg, mixture.z);
    vec3 first = a.z < c.z ? c : a;
    vec3 second = a.z < c.z ? a : c;
    if (second.z < b.z) second = b;
    if (first.z < second.z) {
        vec3 swap = first;
        first = second;
        second = swap;
    }
    float k1 = clamp(1.1 * first.z - 0.05, 0.0, 1.0);
    float k2 = clamp(1.1 * second.z - 0.05, 0.0, 1.0);
    float share = k2 / max(k1 + k2, 1e-10);
    return motion_pair(first.xy, second.xy, share < 1.0 / 255.0 ? 0.0 : share);
}

// False: there is no history at q, and h is undefined.
bool read_history(vec2 q, out vec3 h)
{
    if (p.reset != 0u || !on_screen(q)) return false;
    h = fetch_catmull_rom(history_previous, q, p.reconstruction, p.inverse_reconstruction).rgb;
    return is_finite(h);
}

// Compressed history of the pixel, in the previous frame's exposure. Equal vectors lead to the same history.
vec3 blended_history(ivec2 pixel, motion_pair motion, vec3 nearest)
{
    vec2 centre = vec2(pixel) + 0.5;
    vec3 first, second;
    bool both = motion.share > 0.0 && motion.second != motion.first;
    bool has_first = read_history(centre + motion.first, first);
    bool has_second = true;
    if (both) has_second = read_history(centre + motion.second, second);
    if (!has_first || !has_second) {
        vec3 fallback = compress(expand(nearest) * (previous_exposure / current_exposure));
        if (!has_first) first = fallback;
        if (!has_second) second = fallback;
    }
    return both ? mix(first, second, motion.share) : first;
}

void main()
{
    ivec2 first = ivec2(gl_WorkGroupID.xy) * D4R_PIXEL_GROUP;
    ivec2 local = ivec2(gl_LocalInvocationID.xy);
    ivec2 pixel = first + local;
    int index = int(gl_LocalInvocationIndex);
    ivec2 origin = tile_origin(first);
    load_tile(origin, index);
    barrier();
    if (all(lessThan(pixel, p.reconstruction))) {
        vec2 position = render_position(pixel);
        resampled r = resample(position, origin);
        motion_pair motion = choose_motion(position, r.mixture);
        // All in hundredths of the exposed light, in which compressing and expanding cost least.
        vec3 history = blended_history(pixel, motion, r.nearest);
        history = expand_hundredfold(history) * (current_exposure / previous_exposure);
        vec3 current = expand_hundredfold(r.color);
        float a0 = clamp(2.75301 * r.weight * r.gates.x, 0.0, 1.0);
        vec2 alpha = a0 * (1.0 - r.gates.yz) + r.gates.yz;
        // Only the exposures' ratio can make the history infinite, and nothing else the blends.
        if (!is_finite(history)) history = current;
        vec3 kept = history + (current - history) * alpha.x;
        vec3 shown = history + (current - history) * alpha.y;
        imageStore(history_out, pixel, round_half(vec4(compress_hundredfold(kept), 0.0)));
        packed_pixels[pixel.y * p.reconstruction.x + pixel.x] = pack_display(compress_hundredfold(shown));
        results[index] = kept;
    }
    barrier();
    if (index >= (D4R_PIXEL_GROUP / 2) * (D4R_PIXEL_GROUP / 2)) return;
    ivec2 quad = ivec2(index % (D4R_PIXEL_GROUP / 2), index / (D4R_PIXEL_GROUP / 2));
    ivec2 half_pixel = first / 2 + quad;
    if (any(greaterThanEqual(half_pixel, p.half_size))) return;
    ivec2 extra = ivec2(lessThan(first + quad * 2 + 1, p.reconstruction));
    int at = quad.y * 2 * D4R_PIXEL_GROUP + quad.x * 2;
    vec3 sum = results[at];
    if (extra.x != 0) sum += results[at + 1];
    if (extra.y != 0) sum += results[at + D4R_PIXEL_GROUP];
    if (extra.x + extra.y == 2) sum += results[at + D4R_PIXEL_GROUP + 1];
    vec3 mean = sum / float((1 + extra.x) * (1 + extra.y));
    imageStore(half_out, half_pixel, round_half(vec4(compress_hundredfold(mean), 0.0)));
}
