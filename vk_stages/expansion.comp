// Expansion: head tokens to 17 values a render pixel, and from these the recurrent feature, gates, mix of the
// motion candidates and the Gaussian. An invocation owns a token; with SHARED_PRODUCT, as in the input stage, one pixel of
// each of two tokens, whose inputs are in shared memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "params.glsl"
#include "numeric.glsl"
#include "filter.glsl"
#include "reproject.glsl"
#include "fp8.glsl"
#ifdef SHARED_PRODUCT
layout(local_size_x = D4R_TOKEN_GROUP, local_size_y = 2 * D4R_TOKEN_GROUP) in;
#else
layout(local_size_x = D4R_TOKEN_GROUP, local_size_y = D4R_TOKEN_GROUP) in;
#endif
layout(set = 0, binding = D4R_BIND_WEIGHTS, std430) readonly buffer weight_block { vec4 weights[]; };
layout(set = 0, binding = D4R_BIND_HEAD, std430) readonly buffer head_block { uvec4 head[]; };
layout(set = 0, binding = D4R_BIND_MV_A) uniform sampler2D mv_a;
layout(set = 0, binding = D4R_BIND_RECURRENT_PREVIOUS) uniform sampler2D recurrent_previous;
layout(set = 0, binding = D4R_BIND_RECURRENT_OUT, rgba8_snorm) uniform writeonly image2D recurrent_out;
layout(set = 0, binding = D4R_BIND_GATES_OUT, rgba8) uniform writeonly image2D gates_out;
layout(set = 0, binding = D4R_BIND_MIX_OUT, rgba8) uniform writeonly image2D mix_out;
layout(set = 0, binding = D4R_BIND_COVARIANCE_OUT, rgba16f) uniform writeonly image2D covariance_out;

vec4 rounded(vec4 v) { return vec4(fp8_round(v.x), fp8_round(v.y), fp8_round(v.z), fp8_round(v.w)); }
vec4 sigmoid(vec4 v) { return vec4(sigmoid(v.x), sigmoid(v.y), sigmoid(v.z), sigmoid(v.w)); }

void store_recurrent(ivec2 pixel, vec4 candidate, vec4 gate)
{
    vec2 q = previous_position(vec2(pixel) + 0.5 + p.jitter, texelFetch(mv_a, pixel, 0).rg);
    vec4 before = vec4(0.0);
    if (p.reset == 0u && on_screen(q)) {
        before = fetch_linear(recurrent_previous, previous_render_position(q), p.previous_render,
                              p.inverse_render_extent);
    }
    vec4 g = sigmoid(gate);
    vec4 now = vec4(safe_tanh(candidate.x), safe_tanh(candidate.y), safe_tanh(candidate.z),
                    safe_tanh(candidate.w));
    imageStore(recurrent_out, pixel, (1.0 - g) * before + g * now);
}

void store_covariance(ivec2 pixel, float v14, float v15, float v16)
{
    float a = 8.0 * sigmoid(clamp(v14, -20.0, 20.0));
    float b = 8.0 * sigmoid(clamp(v15, -20.0, 20.0));
    imageStore(covariance_out, pixel, round_half(vec4(a * a, b * b, a * b * safe_tanh(v16 * 0.07863), 0.0)));
}

// v[0..16] in four vectors and a scalar.
void store_pixel(ivec2 pixel, vec4 v0, vec4 v4, vec4 v8, vec4 v12, float v16)
{
    store_recurrent(pixel, vec4(v0.zw, v4.xy), vec4(v4.zw, v8.xy));
    imageStore(gates_out, pixel, vec4(sigmoid(v0.x), sigmoid(v0.y), sigmoid(v8.z), 0.0));
    vec3 m = vec3(v8.w, v12.xy);
    m = exp(m - max(m.x, max(m.y, m.z)));
    imageStore(mix_out, pixel, vec4(m / (m.x + m.y + m.z), 0.0));
    store_covariance(pixel, v12.z, v12.w, v16);
}

#ifdef SHARED_PRODUCT
const int group_tokens = D4R_TOKEN_GROUP * D4R_TOKEN_GROUP;
shared vec4 inputs[64 * group_tokens / 4]; // [channel][token]

// Half of a token's channels. Tokens beyond the grid count as 0 and have no pixels. Grids are multiples of the work group,
// but the launch is not bound to them.
void load_inputs(ivec2 token, int slot, int part)
{
    bool inside = all(lessThan(token, p.grid));
    int at = (token.y * p.grid.x + token.x) * 4 + 2 * part;
    [[unroll]] for (int i = 0; i < 2; i++) {
        uvec4 codes = inside ? head[at + i] : uvec4(0u);
        [[unroll]] for (int k = 0; k < 16; k++) {
            if ((k & 3) == 0) codes[k >> 2] = fp8_without_nan(codes[k >> 2]);
            inputs[((32 * part + 16 * i + k) * group_tokens + slot) >> 2][slot & 3] = fp8_value(codes[k >> 2], k & 3);
        }
    }
}

void main()
{
    int index = int(gl_LocalInvocationIndex);
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * D4R_TOKEN_GROUP;
    int slot = index & (group_tokens - 1);
    load_inputs(origin + ivec2(slot & 7, slot >> 3), slot, index / group_tokens);
    barrier();
    // Two neighbouring tokens, one pixel of each; a wave of 32 has the same pixel, so its weights' addresses are uniform.
    int two = index & 31, q = index >> 5;
    int bias = D4R_WEIGHT_EXPANSION_BIAS + q * 5;
    vec4 a0 = weights[bias], a4 = weights[bias + 1], a8 = weights[bias + 2], a12 = weights[bias + 3];
    vec4 b0 = a0, b4 = a4, b8 = a8, b12 = a12;
    float a16 = weights[bias + 4].x, b16 = a16;
    [[dont_unroll]] for (int k = 0; k < 64; k += 2) {
        [[unroll]] for (int j = 0; j < 2; j++) {
            vec4 pair = inputs[(k + j) * group_tokens / 4 + (two >> 1)];
            vec2 x = (two & 1) == 0 ? pair.xy : pair.zw;
            int row = D4R_WEIGHT_EXPANSION + (q * 64 + k + j) * 5;
            vec4 w0 = weights[row], w4 = weights[row + 1], w8 = weights[row + 2], w12 = weights[row + 3];
            float w16 = weights[row + 4].x;
            a0 += x.x * w0;
            a4 += x.x * w4;
            a8 += x.x * w8;
            a12 += x.x * w12;
            a16 += x.x * w16;
            b0 += x.y * w0;
            b4 += x.y * w4;
            b8 += x.y * w8;
            b12 += x.y * w12;
            b16 += x.y * w16;
        }
    }
    ivec2 pixel = (origin + ivec2(2 * (two & 3), two >> 2)) * 2 + ivec2(q & 1, q >> 1);
    if (all(lessThan(pixel, p.render))) store_pixel(pixel, rounded(a0), rounded(a4), rounded(a8), rounded(a12), fp8_round(a16));
    pixel.x += 2;
    if (all(lessThan(pixel, p.render))) store_pixel(pixel, rounded(b0), rounded(b4), rounded(b8), rounded(b12), fp8_round(b16));
}
#else
void main()
{
    ivec2 token = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(token * 2, p.render))) return;
    int at = (token.y * p.grid.x + token.x) * 4;
    float x[64];
    [[unroll]] for (int i = 0; i < 4; i++) {
        uvec4 codes = head[at + i];
        [[unroll]] for (int k = 0; k < 16; k++) {
            if ((k & 3) == 0) codes[k >> 2] = fp8_without_nan(codes[k >> 2]);
            x[16 * i + k] = fp8_value(codes[k >> 2], k & 3);
        }
    }
    [[dont_unroll]] for (int q = 0; q < 4; q++) {
        ivec2 pixel = token * 2 + ivec2(q & 1, q >> 1);
        if (any(greaterThanEqual(pixel, p.render))) continue;
        int bias = D4R_WEIGHT_EXPANSION_BIAS + q * 5;
        vec4 v0 = weights[bias], v4 = weights[bias + 1], v8 = weights[bias + 2], v12 = weights[bias + 3];
        float v16 = weights[bias + 4].x;
        [[unroll]] for (int k = 0; k < 64; k++) {
            int row = D4R_WEIGHT_EXPANSION + (q * 64 + k) * 5;
            v0 += x[k] * weights[row];
            v4 += x[k] * weights[row + 1];
            v8 += x[k] * weights[row + 2];
            v12 += x[k] * weights[row + 3];
            v16 += x[k] * weights[row + 4].x;
        }
        store_pixel(pixel, rounded(v0), rounded(v4), rounded(v8), rounded(v12), fp8_round(v16));
    }
}
#endif
