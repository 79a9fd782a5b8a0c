// Input: motion candidates, features, dither to FP8, embedding of 2x2 pixels into a token.
//
// An invocation owns a token: the weights' addresses are uniform (scalar loads on GPUs that have them), the
// features stay in registers, and nothing is shared.
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
layout(set = 0, binding = D4R_BIND_TOKENS, std430) writeonly buffer token_block { uvec4 tokens[]; };
layout(set = 0, binding = D4R_BIND_MV_A_OUT, rg16f) uniform writeonly image2D mv_a_out;
layout(set = 0, binding = D4R_BIND_MV_B_OUT, rg16f) uniform writeonly image2D mv_b_out;
layout(set = 0, binding = D4R_BIND_MV_C_OUT, rg16f) uniform writeonly image2D mv_c_out;

// Pixels beyond the render rectangle mirror it without repeating the edge.
ivec2 mirrored(ivec2 pixel)
{
    return ivec2(pixel.x < p.render.x ? pixel.x : 2 * p.render.x - 2 - pixel.x,
                 pixel.y < p.render.y ? pixel.y : 2 * p.render.y - 2 - pixel.y);
}

void accumulate(inout vec4 sum[16], float feature, int row)
{
    [[unroll]] for (int i = 0; i < 16; i++) sum[i] += feature * weights[D4R_WEIGHT_EMBED + row * 16 + i];
}

uint token_codes(vec4 sum)
{
    const float bound = 6.28318530717958647692;
    vec4 v = clamp(sum, -bound, bound);
    return fp8_code(fp8_round(v.x)) | fp8_code(fp8_round(v.y)) << 8 | fp8_code(fp8_round(v.z)) << 16 |
           fp8_code(fp8_round(v.w)) << 24;
}

void main()
{
    ivec2 token = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(token, p.grid))) return;
    vec4 sum[16];
    [[unroll]] for (int i = 0; i < 16; i++) sum[i] = weights[D4R_WEIGHT_EMBED_BIAS + i];
    [[dont_unroll]] for (int q = 0; q < 4; q++) {
        ivec2 target = token * 2 + ivec2(q & 1, q >> 1);
        ivec2 pixel = mirrored(target);
        vec2 a, b, c;
        motion_candidates(pixel, a, b, c);
        if (target == pixel) {
            imageStore(mv_a_out, pixel, vec4(a, 0.0, 0.0));
            imageStore(mv_b_out, pixel, vec4(b, 0.0, 0.0));
            imageStore(mv_c_out, pixel, vec4(c, 0.0, 0.0));
        }
        vec4 f[5];
        pixel_features(pixel, a, b, c, f);
        uint n = dither_bits(uvec2(pixel), p.frame);
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
