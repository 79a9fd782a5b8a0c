// Input: motion candidates, features, dither to FP8, embedding of 2x2 pixels into a token.
//
// An invocation owns a token: the weights' addresses are uniform (scalar loads on GPUs that have them), the
// features stay in registers, and nothing is shared. With SHARED_PRODUCT, for GPUs whose loads take a vector unit's time
// whatever their addresses, an invocation computes a token's features and then, with the work group's features in shared
// memory, eight channels of eight tokens: a fourth of the loads. The sums are the same, in the same order.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "filter.glsl"
#include "exposure_state.glsl"
#include "motion.glsl"
#include "reproject.glsl"
#include "features.glsl"
#include "dither.glsl"
#include "fp8.glsl"
layout(local_size_x = D4R_TOKEN_GROUP, local_size_y = D4R_TOKEN_GROUP) in;
layout(set = 0, binding = D4R_BIND_WEIGHTS, std430) readonly buffer weight_block { vec4 weights[]; };
#ifdef SHARED_PRODUCT
layout(set = 0, binding = D4R_BIND_TOKENS, std430) writeonly buffer token_block { uvec2 tokens[]; };
#else
layout(set = 0, binding = D4R_BIND_TOKENS, std430) writeonly buffer token_block { uvec4 tokens[]; };
#endif
layout(set = 0, binding = D4R_BIND_MV_A_OUT, rg16f) uniform writeonly image2D mv_a_out;
layout(set = 0, binding = D4R_BIND_MV_B_OUT, rg16f) uniform writeonly image2D mv_b_out;
layout(set = 0, binding = D4R_BIND_MV_C_OUT, rg16f) uniform writeonly image2D mv_c_out;

// Pixels beyond the render rectangle mirror it without repeating the edge.
ivec2 mirrored(ivec2 pixel)
{
    return ivec2(pixel.x < p.render.x ? pixel.x : 2 * p.render.x - 2 - pixel.x,
                 pixel.y < p.render.y ? pixel.y : 2 * p.render.y - 2 - pixel.y);
}

uint token_codes(vec4 sum)
{
    const float bound = 6.28318530717958647692;
    vec4 v = clamp(sum, -bound, bound);
    return fp8_nearest_code(v.x) + (fp8_nearest_code(v.y) << 8) + (fp8_nearest_code(v.z) << 16) +
           (fp8_nearest_code(v.w) << 24);
}

// Pixel q of the token: writes its motion candidates; the features before the dither, and the dither.
uint quarter_features(ivec2 token, int q, out vec4 f[5])
{
    ivec2 target = token * 2 + ivec2(q & 1, q >> 1);
    ivec2 pixel = mirrored(target);
    vec2 a, b, c;
    motion_candidates(pixel, a, b, c);
    if (target == pixel) {
        imageStore(mv_a_out, pixel, vec4(a, 0.0, 0.0));
        imageStore(mv_b_out, pixel, vec4(b, 0.0, 0.0));
        imageStore(mv_c_out, pixel, vec4(c, 0.0, 0.0));
    }
    pixel_features(pixel, a, b, c, f);
    return dither_bits(uvec2(pixel), p.frame);
}

#ifdef SHARED_PRODUCT
const int group_tokens = D4R_TOKEN_GROUP * D4R_TOKEN_GROUP;
shared vec4 features[20 * group_tokens / 4]; // [slot][token]

// Eight channels, from 8 * part on, of the tokens 8 * eight and following.
void accumulate(inout vec4 sum[16], int q, int eight, int part)
{
    [[dont_unroll]] for (int k = 0; k < 20; k++) {
        vec4 f0 = features[k * group_tokens / 4 + 2 * eight];
        vec4 f1 = features[k * group_tokens / 4 + 2 * eight + 1];
        int row = D4R_WEIGHT_EMBED + (q * 20 + k) * 16 + 2 * part;
        vec4 w0 = weights[row];
        vec4 w1 = weights[row + 1];
        [[unroll]] for (int i = 0; i < 4; i++) {
            sum[2 * i] += f0[i] * w0;
            sum[2 * i + 1] += f0[i] * w1;
            sum[2 * i + 8] += f1[i] * w0;
            sum[2 * i + 9] += f1[i] * w1;
        }
    }
}

// The grid is a multiple of the work group.
void main()
{
    ivec2 token = ivec2(gl_GlobalInvocationID.xy);
    int index = int(gl_LocalInvocationIndex);
    int eight = index & 7, part = index >> 3;
    vec4 sum[16];
    [[unroll]] for (int i = 0; i < 16; i++) sum[i] = weights[D4R_WEIGHT_EMBED_BIAS + 2 * part + (i & 1)];
    [[dont_unroll]] for (int q = 0; q < 4; q++) {
        vec4 f[5];
        uint n = quarter_features(token, q, f);
        if (q > 0) barrier();
        [[unroll]] for (int k = 0; k < 20; k++)
            features[(k * group_tokens + index) >> 2][index & 3] = fp8_dither(f[k >> 2][k & 3], n);
        barrier();
        accumulate(sum, q, eight, part);
    }
    ivec2 first = ivec2(gl_WorkGroupID.xy) * D4R_TOKEN_GROUP;
    int at = (((first.y + eight) * p.grid.x + first.x) << 3) + part;
    [[unroll]] for (int i = 0; i < 8; i++)
        tokens[at + 8 * i] = uvec2(token_codes(sum[2 * i]), token_codes(sum[2 * i + 1]));
}
#else
void accumulate(inout vec4 sum[16], float feature, int row)
{
    [[unroll]] for (int i = 0; i < 16; i++) sum[i] += feature * weights[D4R_WEIGHT_EMBED + row * 16 + i];
}

void main()
{
    ivec2 token = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(token, p.grid))) return;
    vec4 sum[16];
    [[unroll]] for (int i = 0; i < 16; i++) sum[i] = weights[D4R_WEIGHT_EMBED_BIAS + i];
    [[dont_unroll]] for (int q = 0; q < 4; q++) {
        vec4 f[5];
        uint n = quarter_features(token, q, f);
        [[unroll]] for (int i = 0; i < 5; i++) {
            [[unroll]] for (int k = 0; k < 4; k++) accumulate(sum, fp8_dither(f[i][k], n), q * 20 + i * 4 + k);
        }
    }
    int at = (token.y * p.grid.x + token.x) * 4;
    [[unroll]] for (int i = 0; i < 4; i++) {
        tokens[at + i] = uvec4(token_codes(sum[4 * i]), token_codes(sum[4 * i + 1]),
                               token_codes(sum[4 * i + 2]), token_codes(sum[4 * i + 3]));
    }
}
#endif
