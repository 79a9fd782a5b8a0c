// Preset K's kernels: where an output pixel lies among the render texels, and the weights that the frame's table gives to
// the 4x4 around it.
layout(set = 0, binding = D4R_K_BIND_TABLES, std430) readonly buffer table_block { uvec4 tables[]; };

// The taps' place: base is the texel at tap (0, 0), phi the position's distance from that texel's centre.
struct footprint {
    ivec2 base;
    vec2 phi;
};

footprint footprint_of(ivec2 pixel)
{
    precise vec2 f = render_position(pixel);
    precise vec2 g = f - 0.5;
    vec2 base = floor(g);
    precise vec2 phi = g - base;
    return footprint(ivec2(base), phi);
}

// The kernel's weights, rows of four: bilinear between the four shapes around (column, row), each in [0, 3].
void kernel_weights(vec2 phi, vec2 shape, out vec4 w[4])
{
    ivec2 phase = min(ivec2(phi * 8.0), 7);
    ivec2 corner = min(ivec2(shape), 2);
    vec2 t = shape - vec2(corner);
    int table = int(p.flags >> D4R_K_FLAG_TABLE_SHIFT) * D4R_K_TABLE_VEC4;
    int first = table + ((phase.y * 8 + phase.x) * 16 + corner.y * 4 + corner.x) * 2;
    const int offsets[4] = {0, 2, 8, 10};
    float shares[4] = {(1.0 - t.x) * (1.0 - t.y), t.x * (1.0 - t.y), (1.0 - t.x) * t.y, t.x * t.y};
    [[unroll]] for (int i = 0; i < 4; i++) w[i] = vec4(0.0);
    [[unroll]] for (int k = 0; k < 4; k++) {
        uvec4 top = tables[first + offsets[k]];
        uvec4 bottom = tables[first + offsets[k] + 1];
        w[0] += shares[k] * vec4(unpackHalf2x16(top.x), unpackHalf2x16(top.y));
        w[1] += shares[k] * vec4(unpackHalf2x16(top.z), unpackHalf2x16(top.w));
        w[2] += shares[k] * vec4(unpackHalf2x16(bottom.x), unpackHalf2x16(bottom.y));
        w[3] += shares[k] * vec4(unpackHalf2x16(bottom.z), unpackHalf2x16(bottom.w));
    }
}
