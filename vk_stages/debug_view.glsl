// What the passes of preset M's debug view share: how much of the history a render pixel keeps, and where that lies.
layout(set = 0, binding = D4R_BIND_MV_C) uniform sampler2D mv_c;
layout(set = 0, binding = D4R_BIND_GATES) uniform sampler2D gates_image;
layout(set = 0, binding = D4R_BIND_COVARIANCE) uniform sampler2D covariance_image;
#include "debug_push.glsl"

// The position of a render pixel's sample in the previous frame, reconstruction pixels.
vec2 history_position(ivec2 pixel)
{
    return previous_position(vec2(pixel) + 0.5 + p.jitter, texelFetch(mv_c, pixel, 0).rg);
}

// Share of the history in what is kept (x) and in what is shown (y): the mean of four positions in the render pixel, each
// by the pixel's own kernel, where the stage weighs nine texels by theirs.
vec2 history_share(ivec2 pixel)
{
    vec3 shape = texelFetch(covariance_image, pixel, 0).xyz;
    vec3 gates = texelFetch(gates_image, pixel, 0).xyz;
    vec2 sum = vec2(0.0);
    for (int k = 0; k < 4; k++) {
        vec2 first = p.jitter - (vec2(k & 1, k >> 1) * 0.5 - 0.25);
        float weight = 0.0;
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++) {
                vec2 d = first + vec2(i, j);
                weight += exp(-0.5 * (shape.x * d.x * d.x + shape.y * d.y * d.y + 2.0 * shape.z * d.x * d.y));
            }
        }
        float a0 = clamp(2.75301 * weight * gates.x, 0.0, 1.0);
        sum += 1.0 - (a0 * (1.0 - gates.yz) + gates.yz);
    }
    return sum * 0.25;
}
