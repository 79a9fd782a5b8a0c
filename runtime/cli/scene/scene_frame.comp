// What a game would hand over: one sample a pixel at the jittered centre, depth, exact motion.
#version 450
#extension GL_GOOGLE_include_directive : require
#define RAYS 1
#include "scene.glsl"

layout(std430, set = 0, binding = 6) writeonly buffer color_block { uvec2 colors[]; };
layout(std430, set = 0, binding = 7) writeonly buffer depth_block { float depths[]; };
layout(std430, set = 0, binding = 8) writeonly buffer motion_block { uint motions[]; };

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy + uvec2(0u, push.tile_y * 8u);
    if (pixel.x >= push.size.x || pixel.y >= push.size.y) return;
    vec2 at = vec2(pixel) + 0.5 + push.jitter;
    vec3 direction = camera_ray(frame.now, at);
    rays r, s;
    r.origin[0] = frame.now.position.xyz;
    r.direction[0] = direction;
    trace_with_shadows(tile_list(), r, s);
    hit h = hit_of(r.nearest[0], r.found[0], s.nearest[0], direction);
    vec3 color = radiance(h, direction);
    uint which = primitives[max(h.primitive_index, 0)].meta.y;
    vec3 before = h.t < FAR ? to_world(objects[which].previous, h.at) - frame.previous.position.xyz : direction;
    vec3 there = project(frame.previous, before);
    // Behind the previous camera there is no vector that means anything.
    vec2 motion = there.z > 1e-4 ? there.xy - at : vec2(0.0);
    uint index = pixel.y * push.size.x + pixel.x;
    colors[index] = uvec2(packHalf2x16(color.rg), packHalf2x16(vec2(color.b, 1.0)));
    depths[index] = h.t < FAR ? min(frame.now.position.w / h.t, 1.0) : 0.0;
    if (push.wide_motion != 0u) {
        motions[2u * index] = floatBitsToUint(motion.x);
        motions[2u * index + 1u] = floatBitsToUint(motion.y);
    } else {
        motions[index] = packHalf2x16(motion);
    }
}
