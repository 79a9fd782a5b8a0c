// Exposure, second half: this frame's value from the partial sums, a setting or a texel.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "params.glsl"
#include "numeric.glsl"
layout(local_size_x = 256) in;
layout(set = 0, binding = D4R_BIND_PARTIALS, std430) readonly buffer partial_block { vec2 partials[]; };
layout(set = 0, binding = D4R_BIND_EXPOSURE, std430) buffer exposure_block {
    float current_exposure;
    float previous_exposure;
    float mean_luma;
    float pixel_count;
};
layout(set = 1, binding = D4R_BIND_EXPOSURE_IMAGE) uniform texture2D exposure_image;
shared vec2 sums[256];

// Zero, negative, non-finite and absurd values count as 1, so that e, 1 / e and ratios stay finite.
float usable(float e) { return e >= 1e-18 && e <= 1e18 ? e : 1.0; }

void main()
{
    uint i = gl_LocalInvocationIndex;
    uint count = p.exposure_mode == 0u ? uint(p.partial_grid.x * p.partial_grid.y) : 0u;
    vec2 sum = vec2(0.0);
    for (uint k = i; k < count; k += 256u) sum += partials[k];
    sums[i] = sum;
    barrier();
    for (uint step = 128u; step > 0u; step >>= 1) {
        if (i < step) sums[i] += sums[i + step];
        barrier();
    }
    if (i != 0u) return;
    float mean = sums[0].x / max(sums[0].y, 1.0);
    float e = p.exposure;
    if (p.exposure_mode == 0u) e = 0.23547077 / max(mean, 0.005);
    if (p.exposure_mode == 2u) e = texelFetch(exposure_image, p.exposure_origin, 0).r;
    bool kept = p.exposure_mode == D4R_EXPOSURE_KEPT;
    if (kept) e = current_exposure;
    e = usable(e);
    previous_exposure = p.reset != 0u ? e : current_exposure;
    current_exposure = e;
    if (kept) return;
    mean_luma = mean;
    pixel_count = sums[0].y;
}
