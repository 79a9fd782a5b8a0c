// Input of preset K: 32 features of a token, 4x4 output pixels, from the render samples nearest to the centres of its four
// sub-blocks and from the history there. An invocation owns a token: nothing is shared, a token's 64 bytes are stored at once.
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
layout(local_size_x = D4R_TOKEN_GROUP, local_size_y = D4R_TOKEN_GROUP) in;
layout(set = 0, binding = D4R_BIND_TOKENS, std430) writeonly buffer token_block { uvec4 tokens[]; };
layout(set = 0, binding = D4R_K_BIND_RECURRENT_LOW) uniform sampler2D recurrent_low;
layout(set = 0, binding = D4R_K_BIND_RECURRENT_HIGH) uniform sampler2D recurrent_high;
layout(set = 0, binding = D4R_K_BIND_MOTION_OUT, rg16f) uniform writeonly image2D motion_out;

float luma(vec3 c) { return 0.25 * c.r + 0.5 * c.g + 0.25 * c.b; }
vec2 chroma(vec3 c) { return vec2(0.5 * (c.r - c.b), 0.5 * c.g - 0.25 * (c.r + c.b)); }

// In [0, 1], 1 nearest; a depth that is not finite is far.
float nearness_of(ivec2 pixel)
{
    float d = texelFetch(depth_image, pixel + p.depth_origin, 0).r;
    if (!is_finite(d)) return 0.0;
    return clamp((p.flags & D4R_FLAG_DEPTH_REGULAR) != 0u ? 1.0 - d : d, 0.0, 1.0);
}

struct surface {
    vec2 motion, own;     // of the nearest texel of 3x3; of the texel itself
    float nearest, farthest;
};

surface surface_at(ivec2 texel)
{
    surface s;
    s.nearest = nearness_of(texel);
    s.farthest = s.nearest;
    ivec2 at = texel;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            if (i == 0 && j == 0) continue;
            ivec2 n = clamp(texel + ivec2(i, j), ivec2(0), p.render - 1);
            float d = nearness_of(n);
            if (d > s.nearest) {
                s.nearest = d;
                at = n;
            }
            s.farthest = min(s.farthest, d);
        }
    }
    s.own = load_motion(texel);
    s.motion = at == texel ? s.own : load_motion(at);
    return s;
}

vec4 history_at(vec2 q, vec3 fallback)
{
    if (p.reset != 0u || !on_screen(q)) return vec4(fallback, 0.0);
    bool ok;
    vec4 h = exposed_history(fetch_linear(history_previous, q, p.reconstruction, p.inverse_reconstruction), ok);
    return ok ? h : vec4(fallback, 0.0);
}

// What the four sub-blocks give to their token.
struct token_sums {
    vec3 color, history; // sums of four
    float confidence;    // sum of n / (n + 4)
    float change;        // greatest difference between nearest and own motion
    float nearest, farthest;
    vec2 motion;         // of the nearest sub-block
    vec2 place[2];       // where samples lie: x of columns, y of rows
};

// Luma now, luma of the history, mismatch.
vec3 visit_sub_block(ivec2 token, ivec2 s, inout token_sums t)
{
    vec2 centre = vec2(min(token * 4 + s * 2 + 1, p.output_size));
    precise vec2 f = centre * p.to_render;
    f -= p.jitter;
    ivec2 texel = clamp(ivec2(floor(f)), ivec2(0), p.render - 1);
    precise vec2 lies = (vec2(texel) + 0.5) + p.jitter;
    lies *= p.to_reconstruction;
    surface m = surface_at(texel);
    ivec2 sub_block = token * 2 + s;
    if (all(lessThan(sub_block, p.half_size))) imageStore(motion_out, sub_block, vec4(m.motion, 0.0, 0.0));
    vec3 color = compress_exposed(load_color(texel), current_exposure);
    vec4 h = history_at(history_position(centre, m.motion), color);
    vec4 there = history_at(history_position(lies, m.motion), color);
    t.color += color;
    t.history += h.rgb;
    t.confidence += h.a / (h.a + 4.0);
    t.change = max(t.change, length(m.motion - m.own));
    if (m.nearest > t.nearest) {
        t.nearest = m.nearest;
        t.motion = m.motion;
    }
    t.farthest = min(t.farthest, m.farthest);
    vec2 place = clamp((lies - centre) * 0.5, -2.0, 2.0);
    t.place[s.x].x = place.x;
    t.place[s.y].y = place.y;
    return vec3(luma(color), luma(h.rgb), luma(color) - luma(there.rgb));
}

// previous features where the token was; q in output pixels
void recurrent_at(vec2 q, out vec4 low, out vec4 high)
{
    low = vec4(0.0);
    high = vec4(0.0);
    if (p.reset != 0u || !on_screen(q)) return;
    ivec2 size = (p.output_size + 3) / 4;
    low = fetch_linear(recurrent_low, q * 0.25, size, 1.0 / vec2(size));
    high = fetch_linear(recurrent_high, q * 0.25, size, 1.0 / vec2(size));
}

float tamed(float v) { return is_finite(v) ? clamp(v, -64.0, 64.0) : 0.0; }

uint pair(float a, float b) { return pack_half(vec2(tamed(a), tamed(b))); }
uvec2 four(vec4 v) { return uvec2(pair(v.x, v.y), pair(v.z, v.w)); }

void main()
{
    ivec2 token = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(token, p.grid))) return;
    int at = (token.y * p.grid.x + token.x) * 4;
    if (any(greaterThanEqual(token * 4, p.output_size))) {
        [[unroll]] for (int i = 0; i < 4; i++) tokens[at + i] = uvec4(0u);
        return;
    }
    token_sums t = token_sums(vec3(0.0), vec3(0.0), 0.0, 0.0, -1.0, 1.0, vec2(0.0), vec2[2](vec2(0.0), vec2(0.0)));
    vec3 a = visit_sub_block(token, ivec2(0, 0), t);
    vec3 b = visit_sub_block(token, ivec2(1, 0), t);
    vec3 c = visit_sub_block(token, ivec2(0, 1), t);
    vec3 d = visit_sub_block(token, ivec2(1, 1), t);
    vec4 low, high;
    recurrent_at(history_position(vec2(token * 4 + 2), t.motion), low, high);
    vec2 now = chroma(t.color * 0.25), before = chroma(t.history * 0.25);
    vec4 last = vec4(0.25 * log(1.0 + length(t.motion)), 0.25 * log(1.0 + t.change),
                     1.0 - (t.farthest + 1e-6) / (t.nearest + 1e-6), t.confidence * 0.25);
    uvec2 v[8];
    v[0] = four(vec4(a.x, b.x, c.x, d.x));
    v[1] = four(vec4(now, a.y, b.y));
    v[2] = four(vec4(c.y, d.y, before));
    v[3] = four(vec4(a.z, b.z, c.z, d.z));
    v[4] = four(vec4(t.place[0].x, t.place[1].x, t.place[0].y, t.place[1].y));
    v[5] = four(low);
    v[6] = four(high);
    v[7] = four(last);
    [[unroll]] for (int i = 0; i < 4; i++) tokens[at + i] = uvec4(v[2 * i], v[2 * i + 1]);
}
