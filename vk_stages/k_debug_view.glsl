// What the passes of preset K's debug view share: how much of the history a sub-block keeps, and where that lies.
layout(set = 0, binding = D4R_K_BIND_MOTION) uniform sampler2D motion_surface;
#include "debug_push.glsl"

vec2 nearest_motion(ivec2 sub_block) { return texelFetch(motion_surface, sub_block, 0).rg; }

// The position of a sub-block's centre in the previous frame, output pixels.
vec2 centre_position(ivec2 sub_block)
{
    return history_position(vec2(min(sub_block * 2 + 1, p.output_size)), nearest_motion(sub_block));
}

// The confidence that a position of the previous frame has; 0 without a history.
float confidence_at(vec2 q)
{
    if (!has_history(q)) return 0.0;
    float n = fetch_linear(history_previous, q, p.reconstruction, p.inverse_reconstruction).a;
    return is_finite(n) ? clamp(n, 0.0, most_confidence) : 0.0;
}

// Share of the history in what is kept (x) and in what is shown (y): the mean of the sub-block's pixels, each along the
// nearest surface's vector, where the stage may take the pixel's own.
vec2 history_share(ivec2 sub_block)
{
    vec4 kernel, gates, w[4];
    read_sub_block(sub_block, kernel, gates);
    float sum = 0.0;
    for (int k = 0; k < 4; k++) {
        ivec2 pixel = min(sub_block * 2 + ivec2(k & 1, k >> 1), p.output_size - 1);
        kernel_weights(footprint_of(pixel).phi, kernel.xy, w);
        float now = max(dot(w[0] + w[1] + w[2] + w[3], vec4(1.0)), 1e-6) * kernel.z;
        vec2 q = history_position(vec2(pixel) + 0.5, nearest_motion(sub_block));
        float before = confidence_at(q) * kernel.w;
        sum += 1.0 - now / max(before + now, 1e-6);
    }
    return sum * 0.25 * vec2(1.0, 1.0 - gates.x);
}
