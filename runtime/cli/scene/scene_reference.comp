// What the upscaler should make of it: many samples a pixel, box filter, linear average, no jitter.
#version 450
#extension GL_GOOGLE_include_directive : require
#define RAYS 8
#include "scene.glsl"

layout(std430, set = 0, binding = 6) writeonly buffer color_block { uvec2 colors[]; };

// A Hammersley set, shifted by a different amount in every pixel, covers the pixel evenly for any number of samples.
vec3 sample_ray(uvec2 pixel, vec2 shift, uint i)
{
    vec2 set = vec2((float(i) + 0.5) / float(push.samples), float(bitfieldReverse(i) >> 8) / 16777216.0);
    return camera_ray(frame.now, vec2(pixel) + fract(set + shift));
}

#define CAMERA_RAY(i)                                                                                                  \
    r.origin[i] = frame.now.position.xyz;                                                                              \
    r.direction[i] = sample_ray(pixel, shift, first + i);
#define KEEP(i)                                                                                                        \
    nearest[i] = r.nearest[i];                                                                                         \
    found[i] = r.found[i];                                                                                             \
    blocked[i] = s.nearest[i];

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy + uvec2(0u, push.tile_y * 8u);
    if (pixel.x >= push.size.x || pixel.y >= push.size.y) return;
    uint salt = hash(pixel.y * 16411u + pixel.x);
    vec2 shift = vec2(salt & 0xffffu, salt >> 16) / 65536.0;
    vec3 sum = vec3(0.0);
    for (uint first = 0u; first < push.samples; first += RAYS) {
        rays r, s;
        float nearest[RAYS], blocked[RAYS];
        int found[RAYS];
        EACH(CAMERA_RAY)
        trace_with_shadows(tile_list(), r, s);
        EACH(KEEP)
        // A loop, not eight copies of all materials: its end is not known to the compiler.
        for (uint i = 0u; i < min(push.samples - first, RAYS); i++) {
            vec3 direction = sample_ray(pixel, shift, first + i);
            sum += radiance(hit_of(nearest[i], found[i], blocked[i], direction), direction);
        }
    }
    vec3 color = sum / float(push.samples);
    colors[pixel.y * push.size.x + pixel.x] = uvec2(packHalf2x16(color.rg), packHalf2x16(vec2(color.b, 1.0)));
}
