// Motion vectors: from the stored form to reconstruction pixels, and the three candidates of a pixel.
layout(set = 1, binding = D4R_BIND_DEPTH) uniform texture2D depth_image;
layout(set = 1, binding = D4R_BIND_MOTION) uniform texture2D motion_image;

// previous position = current position + motion; rounded to f16, the form in which every stage reads it.
vec2 load_motion(ivec2 pixel)
{
    ivec2 texel = pixel;
    if ((p.flags & D4R_FLAG_MOTION_AT_OUTPUT) != 0u) {
        // The output texel that holds the render pixel's centre.
        texel = min(((2 * pixel + 1) * p.output_size) / (2 * p.render), p.output_size - 1);
    }
    precise vec2 mv = texelFetch(motion_image, texel + p.motion_origin, 0).rg * p.motion_factor;
    mv += p.motion_offset;
    if (!is_finite(mv)) return vec2(0.0);
    return round_half(clamp(mv, -65504.0, 65504.0));
}

// Larger is nearer, whatever the convention; non-finite depth is far.
float load_nearness(ivec2 pixel)
{
    float d = texelFetch(depth_image, pixel + p.depth_origin, 0).r;
    bool regular = (p.flags & D4R_FLAG_DEPTH_REGULAR) != 0u;
    if (!is_finite(d)) return regular ? -3.402823466e38 : 0.0;
    return regular ? -d : d;
}

// a: motion at the nearest depth of the 3x3 neighbourhood, b: at the farthest, c: the pixel's own.
void motion_candidates(ivec2 pixel, out vec2 a, out vec2 b, out vec2 c)
{
    float near = load_nearness(pixel);
    float far = near;
    ivec2 near_pixel = pixel;
    ivec2 far_pixel = pixel;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            if (i == 0 && j == 0) continue;
            ivec2 n = clamp(pixel + ivec2(i, j), ivec2(0), p.render - 1);
            float d = load_nearness(n);
            if (d > near) {
                near = d;
                near_pixel = n;
            }
            if (d < far) {
                far = d;
                far_pixel = n;
            }
        }
    }
    c = load_motion(pixel);
    a = near_pixel == pixel ? c : load_motion(near_pixel);
    b = far_pixel == pixel ? c : load_motion(far_pixel);
}
