// Validation, second pass: statistics of a subset of the pixels. The z coordinate of the work group selects the slice: a
// reading of the motion vectors, or one of the tests of validate_params.h.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "exposure_state.glsl"
#include "validate.glsl"
layout(local_size_x = D4R_V_GROUP, local_size_y = D4R_V_GROUP) in;
layout(set = 1, binding = D4R_BIND_DEPTH) uniform texture2D depth_image;
layout(set = 1, binding = D4R_BIND_MOTION) uniform texture2D motion_image;
layout(set = 0, binding = D4R_V_BIND_PARTIALS, std430) writeonly buffer partial_block { vec4 partials[]; };
layout(push_constant) uniform push_block
{
    uint first_slice;
    uint stride; // times v.step: the readings look at fewer pixels than the other tests
};
shared vec4 sums_a[D4R_V_GROUP * D4R_V_GROUP];
shared vec4 sums_b[D4R_V_GROUP * D4R_V_GROUP]; // w: a maximum

vec2 stored_motion(ivec2 pixel)
{
    ivec2 texel = pixel;
    if ((p.flags & D4R_FLAG_MOTION_AT_OUTPUT) != 0u)
        texel = min(((2 * pixel + 1) * p.output_size) / (2 * p.render), p.output_size - 1);
    return texelFetch(motion_image, texel + p.motion_origin, 0).rg;
}

// Motion in render pixels under a reading; false when it is not finite or leaves the screen.
bool previous_at(ivec2 pixel, vec2 factor, vec2 shift, out vec2 motion, out vec2 there)
{
    motion = stored_motion(pixel) * factor + v.shift.zw;
    there = vec2(pixel) + motion + shift;
    if (!is_finite(motion)) return false;
    return all(greaterThanEqual(there, vec2(0.0))) && all(lessThanEqual(there, vec2(p.render - 1)));
}

float previous_luma(vec2 q)
{
    ivec2 base = min(ivec2(q), p.render - 2);
    vec2 t = q - vec2(base);
    float a = texelFetch(analysis_previous, base, 0).r;
    float b = texelFetch(analysis_previous, base + ivec2(1, 0), 0).r;
    float c = texelFetch(analysis_previous, base + ivec2(0, 1), 0).r;
    float d = texelFetch(analysis_previous, base + ivec2(1, 1), 0).r;
    return mix(mix(a, b, t.x), mix(c, d, t.x), t.y);
}

float now_luma(ivec2 pixel) { return texelFetch(analysis_now, clamp(pixel, ivec2(0), p.render - 1), 0).r; }

// a: squared error, pixels, length of the motion, pixels that leave the screen
void measure_reading(ivec2 pixel, uint reading, inout vec4 a)
{
    vec2 motion, there;
    if (!previous_at(pixel, v.hypotheses[reading].xy, v.shift.xy, motion, there)) {
        a.w = 1.0;
        return;
    }
    float e = previous_luma(there) - now_luma(pixel);
    a.xyz = vec3(e * e, 1.0, length(motion));
}

// The shift that is left between the frames when only the vectors are followed: normal equations of the luma's gradients.
// The products take one gradient of each frame, whose aliasing is independent.
void measure_shift(ivec2 pixel, inout vec4 a, inout vec4 b)
{
    vec2 motion, there;
    if (!previous_at(pixel, v.hypotheses[0].xy, vec2(0.0), motion, there)) return;
    if (any(lessThan(there, vec2(1.0))) || any(greaterThan(there, vec2(p.render - 2)))) return;
    float difference = now_luma(pixel) - previous_luma(there);
    vec2 now = 0.5 * vec2(now_luma(pixel + ivec2(1, 0)) - now_luma(pixel - ivec2(1, 0)),
                          now_luma(pixel + ivec2(0, 1)) - now_luma(pixel - ivec2(0, 1)));
    vec2 before = 0.5 * vec2(previous_luma(there + vec2(1.0, 0.0)) - previous_luma(there - vec2(1.0, 0.0)),
                             previous_luma(there + vec2(0.0, 1.0)) - previous_luma(there - vec2(0.0, 1.0)));
    vec2 mean = 0.5 * (now + before);
    a = vec4(difference * mean, now.x * before.x, now.y * before.y);
    b = vec4(0.5 * (now.x * before.y + now.y * before.x), difference * difference, 1.0, 0.0);
}

// Correlation of the frame and the warped previous one.
void measure_match(ivec2 pixel, inout vec4 a, inout vec4 b)
{
    vec2 motion, there;
    if (!previous_at(pixel, v.hypotheses[0].xy, v.shift.xy, motion, there)) return;
    float x = now_luma(pixel), y = previous_luma(there);
    a = vec4(x, y, x * x, y * y);
    b = vec4(x * y, 1.0, length(motion), 0.0);
}

// The stored colour, as it is read but neither clamped nor repaired.
void measure_color(ivec2 pixel, inout vec4 a, inout vec4 b)
{
    vec3 c = texelFetch(color_image, pixel + p.color_origin, 0).rgb;
    if (!is_finite(c)) return;
    float luma = max(0.25 * c.r + 0.5 * c.g + 0.25 * c.b, 0.0);
    float top = max(c.r, max(c.g, c.b));
    a = vec4(luma, luma * luma, log(luma + 1e-4), 1.0);
    b = vec4(top > 1.0005 ? 1.0 : 0.0, top * p.inverse_pre_exposure >= 65504.0 ? 1.0 : 0.0,
             min(c.r, min(c.g, c.b)) < 0.0 ? 1.0 : 0.0, top);
}

float gap(float larger, float smaller)
{
    // Of near / z as of 1 - near / z and of z itself: the larger of the two relative steps.
    float r = larger / max(smaller, 1e-12);
    float s = larger <= 1.0 && smaller >= 0.0 ? (1.0 - smaller) / max(1.0 - larger, 1e-7) : 1.0;
    return max(r, s);
}

// a: exactly 0, exactly 1, pixels, sum; b: previous surface clearly larger, smaller, above 0.5; maximum
void measure_depth(ivec2 pixel, inout vec4 a, inout vec4 b)
{
    float d = texelFetch(analysis_now, pixel, 0).b;
    if (texelFetch(depth_image, pixel + p.depth_origin, 0).r != d) return;
    a = vec4(d == 0.0 ? 1.0 : 0.0, d == 1.0 ? 1.0 : 0.0, 1.0, d);
    b.z = d > 0.5 ? 1.0 : 0.0;
    b.w = d;
    vec2 motion, there;
    if (v.has_previous == 0u || !previous_at(pixel, v.hypotheses[0].xy, v.shift.xy, motion, there)) return;
    ivec2 q = ivec2(there + 0.5);
    vec2 now = vec2(3e38, -3e38), before = now;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            float n = texelFetch(analysis_now, clamp(pixel + ivec2(i, j), ivec2(0), p.render - 1), 0).b;
            float o = texelFetch(analysis_previous, clamp(q + ivec2(i, j), ivec2(0), p.render - 1), 0).b;
            now = vec2(min(now.x, n), max(now.y, n));
            before = vec2(min(before.x, o), max(before.y, o));
        }
    }
    // A surface that was hidden shows up: what was there before must have been nearer.
    if (before.x > now.y && gap(before.x, now.y) > 1.15) b.x = 1.0;
    if (before.y < now.x && gap(now.x, before.y) > 1.15) b.y = 1.0;
}

// Values that are not finite.
void measure_bad(ivec2 pixel, inout vec4 a)
{
    float depth = texelFetch(depth_image, pixel + p.depth_origin, 0).r;
    vec3 color = texelFetch(color_image, pixel + p.color_origin, 0).rgb;
    a = vec4(is_finite(color) ? 0.0 : 1.0, is_finite(stored_motion(pixel)) ? 0.0 : 1.0,
             is_finite(depth) ? 0.0 : 1.0, 1.0);
}

void main()
{
    uint slice = gl_WorkGroupID.z + first_slice;
    int index = int(gl_LocalInvocationIndex);
    int step = int(v.step * stride), phase = int(v.phase) % (step * step);
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy) * step + ivec2(phase % step, phase / step);
    vec4 a = vec4(0.0), b = vec4(0.0, 0.0, 0.0, -3e38);
    if (all(lessThan(pixel, p.render))) {
        bool pair = v.has_previous != 0u;
        if (slice < D4R_V_HYPOTHESES) {
            if (pair) measure_reading(pixel, slice, a);
        } else if (slice == D4R_V_SLICE_SHIFT) {
            if (pair) measure_shift(pixel, a, b);
        } else if (slice == D4R_V_SLICE_MATCH) {
            if (pair) measure_match(pixel, a, b);
        } else if (slice == D4R_V_SLICE_COLOR) {
            measure_color(pixel, a, b);
        } else if (slice == D4R_V_SLICE_DEPTH) {
            measure_depth(pixel, a, b);
        } else {
            measure_bad(pixel, a);
        }
    }
    sums_a[index] = a;
    sums_b[index] = b;
    barrier();
    for (int half_size = D4R_V_GROUP * D4R_V_GROUP / 2; half_size > 0; half_size >>= 1) {
        if (index < half_size) {
            sums_a[index] += sums_a[index + half_size];
            vec4 other = sums_b[index + half_size];
            sums_b[index] = vec4(sums_b[index].xyz + other.xyz, max(sums_b[index].w, other.w));
        }
        barrier();
    }
    if (index != 0) return;
    uint at = (slice * v.groups + gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 2u;
    partials[at] = sums_a[0];
    partials[at + 1u] = sums_b[0];
}
