// Debug view: four columns and three rows of tiles, each a picture of the whole frame with its name.
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
layout(set = 2, binding = 0, rgba8) uniform writeonly image2D view_image;
layout(set = 3, binding = 1, r32f) uniform readonly image2D age_now;

// Letters of 3x5 pixels, a bit each, top row first, left highest: A to Z.
const uint letters[26] = uint[](
    0x2bedu, 0x6baeu, 0x3923u, 0x6b6eu, 0x79a7u, 0x79a4u, 0x396bu, 0x5bedu, 0x7497u, 0x126au, 0x5badu, 0x4927u,
    0x5fedu, 0x6b6du, 0x2b6au, 0x6ba4u, 0x2b73u, 0x6badu, 0x388eu, 0x7492u, 0x5b6bu, 0x5b6au, 0x5bfdu, 0x5aadu,
    0x5a92u, 0x72a7u);
// Names, 0 a space, letters from 1, ended by -1.
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
    15, 21, 20, 16, 21, 20, -1, 0, 0, 0, 0, 0, 0, 0);          // OUTPUT

vec3 shown(vec3 exposed)
{
    vec3 v = max(exposed, 0.0);
    v = ldr ? min(v, 1.0) : v * 4.0 / (1.0 + v * 4.0);
    return pow(v, vec3(1.0 / 2.2));
}

vec3 hue(float turn) { return clamp(abs(fract(turn + vec3(0.0, 2.0, 1.0) / 3.0) * 6.0 - 3.0) - 1.0, 0.0, 1.0); }

// Blue over green and yellow to red.
vec3 heat(float v) { return hue((1.0 - clamp(v, 0.0, 1.0)) * 0.66) * (0.35 + 0.65 * clamp(v * 4.0, 0.0, 1.0)); }

// Hue by direction (red: right, cyan: left), brightness by the logarithm of the length: 32 render pixels are bright.
vec3 motion_picture(vec2 motion)
{
    vec2 m = motion * p.to_render;
    float size = clamp(log2(1.0 + length(m)) / 5.0, 0.0, 1.0);
    return dot(m, m) > 1e-8 ? hue(atan(m.y, m.x) / 6.2831853) * size : vec3(0.0);
}

// Bright is near: 12 octaves of near / z, with a step every quarter of one. The sky is blue.
vec3 depth_picture(ivec2 pixel)
{
    float d = load_nearness(pixel);
    if ((p.flags & D4R_FLAG_DEPTH_REGULAR) != 0u) d = d >= -1.0 ? 1.0 + d : 1.0 / (1.0 - d);
    if (d <= 0.0) return vec3(0.05, 0.1, 0.3);
    float octave = log2(clamp(d, 1e-6, 1.0));
    return vec3(clamp(1.0 + octave / 12.0, 0.0, 1.0) * 0.75 + fract(octave * 4.0) * 0.25);
}

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
    vec3 missing = vec3(0.7, 0.0, 0.7);
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

// 0 outside of the name's box, 1 in it, 2 on a letter.
int label(int tile, ivec2 at, int scale)
{
    ivec2 cell = at / scale - 2;
    if (any(lessThan(at, ivec2(0))) || at.y >= 9 * scale) return 0;
    int length = 0;
    while (length < name_length && names[tile * name_length + length] >= 0) length++;
    if (at.x >= (4 * length + 3) * scale) return 0;
    if (any(lessThan(cell, ivec2(0))) || cell.y > 4 || cell.x % 4 == 3 || cell.x / 4 >= length) return 1;
    int letter = names[tile * name_length + cell.x / 4];
    if (letter == 0) return 1;
    return (letters[letter - 1] >> (14 - cell.y * 3 - cell.x % 4) & 1u) != 0u ? 2 : 1;
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, size))) return;
    vec2 place = (vec2(pixel) + 0.5) / vec2(size) * vec2(4.0, 3.0);
    ivec2 grid = min(ivec2(place), ivec2(3, 2));
    int tile = grid.y * 4 + grid.x;
    vec2 at = place - vec2(grid);
    ivec2 inside = pixel - ivec2(ceil(vec2(grid) * vec2(size) / vec2(4.0, 3.0) - 0.5));
    vec3 result = vec3(0.0);
    if (all(greaterThan(inside, ivec2(0)))) {
        result = tile_picture(tile, min(ivec2(at * vec2(p.render)), p.render - 1), at);
        int text = label(tile, inside - 3, max(1, size.x / 640));
        if (text == 1) result *= 0.15;
        if (text == 2) result = vec3(1.0);
    }
    imageStore(view_image, pixel + origin, vec4(is_finite(result) ? clamp(result, 0.0, 1.0) : vec3(1.0), 1.0));
}
