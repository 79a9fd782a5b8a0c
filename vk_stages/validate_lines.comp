// Validation: how many pixels of every row and column of the render rectangle differ from the frame before, in luma or
// depth. Rows first, then columns; one invocation each.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "params.glsl"
#include "validate.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = D4R_V_BIND_LINES, std430) writeonly buffer line_block { uint lines[]; };

void main()
{
    int line = int(gl_GlobalInvocationID.x);
    if (line >= p.render.x + p.render.y) return;
    bool row = line < p.render.y;
    int length = row ? p.render.x : p.render.y;
    uint count = 0u;
    if (v.has_previous != 0u) {
        for (int i = 0; i < length; i++) {
            ivec2 pixel = row ? ivec2(i, line) : ivec2(line - p.render.y, i);
            vec2 now = texelFetch(analysis_now, pixel, 0).gb;
            vec2 before = texelFetch(analysis_previous, pixel, 0).gb;
            if (any(greaterThan(abs(now - before), vec2(1e-6, 0.0)))) count++;
        }
    }
    lines[line] = count;
}
