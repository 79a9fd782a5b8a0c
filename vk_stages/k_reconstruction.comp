// Reconstruction of preset K, straight to the output: the current colour by predicted kernels, the history along one or two
// motion vectors, moved towards the neighbourhood's box, and their average by confidence. Writes the next frame's history and
// recurrent features. OUTPUT_FORMAT is the storage format.
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
#include "catmull_rom.glsl"
#include "k_history.glsl"
#include "k_kernel.glsl"
#include "k_resample.glsl"
#include "k_head.glsl"
#include "output_store.glsl"
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 0, binding = D4R_K_BIND_MOTION) uniform sampler2D motion_surface;
layout(set = 0, binding = D4R_K_BIND_RECURRENT_LOW_OUT, rgba16f) uniform writeonly image2D recurrent_low_out;
layout(set = 0, binding = D4R_K_BIND_RECURRENT_HIGH_OUT, rgba16f) uniform writeonly image2D recurrent_high_out;
layout(set = 0, binding = D4R_K_BIND_HISTORY_OUT, rgba16f) uniform writeonly image2D history_out;

const int sub_blocks = D4R_K_SUB_BLOCKS * D4R_K_SUB_BLOCKS;
shared vec4 kernels[sub_blocks]; // shape (column, row), gain, keep
shared vec4 gates[sub_blocks];   // show, own, clip, box
shared vec2 motions[sub_blocks];

vec4 tanhs(vec4 v) { return vec4(safe_tanh(v.x), safe_tanh(v.y), safe_tanh(v.z), safe_tanh(v.w)); }

// Of the work group's sub-block i. The grid reaches past the last work group.
void decode_sub_block(int i)
{
    ivec2 sub_block = ivec2(gl_WorkGroupID.xy) * D4R_K_SUB_BLOCKS + ivec2(i % D4R_K_SUB_BLOCKS, i / D4R_K_SUB_BLOCKS);
    read_sub_block(sub_block, kernels[i], gates[i]);
    motions[i] = texelFetch(motion_surface, min(sub_block, p.half_size - 1), 0).rg;
}

// Of the work group's token i.
void store_recurrent(int i)
{
    const int side = D4R_K_SUB_BLOCKS / 2;
    ivec2 token = ivec2(gl_WorkGroupID.xy) * side + ivec2(i % side, i / side);
    if (any(greaterThanEqual(token * 4, p.output_size))) return;
    uvec4 v = head[head_at(token) + 4];
    imageStore(recurrent_low_out, token, round_half(tanhs(head_values(v.x, v.y))));
    imageStore(recurrent_high_out, token, round_half(tanhs(head_values(v.z, v.w))));
}

vec4 history_at(ivec2 pixel, vec2 motion, vec3 current)
{
    vec2 q = history_position(vec2(pixel) + 0.5, motion);
    if (p.reset != 0u || !on_screen(q)) return vec4(current, 0.0);
    bool ok;
    vec4 h = exposed_history(
        fetch_catmull_rom(history_previous, q, p.reconstruction, p.inverse_reconstruction), ok);
    return ok ? h : vec4(current, 0.0);
}

// share: of the pixel's own motion against the nearest surface's.
vec4 history_along(ivec2 pixel, ivec2 texel, vec2 nearest, float share, vec3 current)
{
    vec2 own = share < 1.0 / 255.0 ? nearest : load_motion(clamp(texel, ivec2(0), p.render - 1));
    bool both = own != nearest && share <= 254.0 / 255.0;
    vec4 h = history_at(pixel, both ? nearest : own, current);
    if (both) h = lerp(h, history_at(pixel, own, current), share);
    return h;
}

void reconstruct(ivec2 pixel, footprint f, ivec2 origin, int sub_block)
{
    vec4 kernel = kernels[sub_block], gate = gates[sub_block];
    resampled r = resample(f.base - origin, f.phi, kernel.xy);
    ivec2 texel = f.base + ivec2(greaterThanEqual(f.phi, vec2(0.5)));
    vec4 h = history_along(pixel, texel, motions[sub_block], gate.y, r.color);
    vec3 box = gate.w * r.deviation;
    h.rgb += gate.z * (clamp(h.rgb, r.mean - box, r.mean + box) - h.rgb);
    float now = r.weight * kernel.z, before = h.a * kernel.w;
    float a = now / max(before + now, 1e-6);
    // In hundredths of the exposed light, in which compressing and expanding cost least.
    vec3 history = expand_history(h.rgb), current = expand_history(r.color);
    if (!is_finite(history)) history = current;
    vec3 kept = history + (current - history) * a;
    vec3 shown = history + (current - history) * (a + (1.0 - a) * gate.x);
    imageStore(history_out, pixel, round_half(vec4(compress_hundredfold(kept), min(before + now, most_confidence))));
    store_output(pixel, shown, r.alpha);
}

void main()
{
    ivec2 first = ivec2(gl_WorkGroupID.xy) * D4R_PIXEL_GROUP;
    ivec2 local = ivec2(gl_LocalInvocationID.xy);
    ivec2 pixel = first + local;
    int index = int(gl_LocalInvocationIndex);
    const int group = D4R_PIXEL_GROUP * D4R_PIXEL_GROUP;
    ivec2 origin = footprint_of(first).base - 1;
    load_tile(origin, index);
    // The last waves have the fewest texels to load.
    if (index >= group - sub_blocks) decode_sub_block(index - (group - sub_blocks));
    else if (index >= group - sub_blocks - sub_blocks / 4) store_recurrent(index - (group - sub_blocks - sub_blocks / 4));
    barrier();
    if (any(greaterThanEqual(pixel, p.output_size))) return;
    ivec2 s = local >> 1;
    reconstruct(pixel, footprint_of(pixel), origin, s.y * D4R_K_SUB_BLOCKS + s.x);
}
