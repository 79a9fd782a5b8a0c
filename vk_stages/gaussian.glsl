// Kernel-predicted resampling: the render texels around a position, each weighted by its own Gaussian.
//
// A work group's texels are staged in shared memory. The tile starts at the first pixel's position, jitter
// included, so that any jitter is in bounds; its side follows from the span of 16 pixels at the scale of the tier:
// floor(15 s + rounding) + 1 bases and one texel on each side, 9 for s <= 1/3, 10 for .45, 14 for 2/3.
layout(constant_id = D4R_SPEC_TILE) const int tile_side = 10;
layout(set = 0, binding = D4R_BIND_GATES) uniform sampler2D gates_image;
layout(set = 0, binding = D4R_BIND_MIX) uniform sampler2D mix_image;
layout(set = 0, binding = D4R_BIND_COVARIANCE) uniform sampler2D covariance_image;
shared vec4 tile_color[tile_side * tile_side]; // compressed colour, mix.x
shared vec4 tile_gates[tile_side * tile_side]; // mix.yz, gates.xy
shared vec4 tile_shape[tile_side * tile_side]; // gates.z, exponent factors of dx^2, dy^2, dx dy

struct resampled {
    vec3 color; // compressed
    vec3 mixture;
    vec3 gates;
    float weight;
    vec3 nearest; // compressed colour of the render texel that holds the position
};

ivec2 tile_origin(ivec2 first_pixel) { return ivec2(floor(render_position(first_pixel))) - 1; }

void load_tile(ivec2 origin, int i)
{
    if (i >= tile_side * tile_side) return;
    ivec2 texel = clamp(origin + ivec2(i % tile_side, i / tile_side), ivec2(0), p.render - 1);
    vec3 color = compress_exposed(load_color(texel), current_exposure);
    vec3 mixture = texelFetch(mix_image, texel, 0).xyz;
    vec3 gates = texelFetch(gates_image, texel, 0).xyz;
    vec3 shape = texelFetch(covariance_image, texel, 0).xyz;
    const float log2e = 1.44269504088896;
    tile_color[i] = vec4(color, mixture.x);
    tile_gates[i] = vec4(mixture.yz, gates.xy);
    tile_shape[i] = vec4(gates.z, shape * vec3(-0.5 * log2e, -0.5 * log2e, -log2e));
}

resampled resample(vec2 position, ivec2 origin)
{
    vec2 base = floor(position);
    // Of the top left tap. Texel numbers are exact in f32, and integer products are slow.
    int corner = int(base.y * float(tile_side) + base.x) - ((origin.y + 1) * tile_side + origin.x + 1);
    vec2 centre = base + 0.5 - position;
    vec4 color = vec4(0.0), gates = vec4(0.0);
    float gate_z = 0.0, weight = 0.0;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            int at = corner + (j + 1) * tile_side + i + 1;
            vec2 d = centre + vec2(i, j);
            vec4 shape = tile_shape[at];
            float w = exp2(d.x * d.x * shape.y + d.y * d.y * shape.z + d.x * d.y * shape.w);
            color += w * tile_color[at];
            gates += w * tile_gates[at];
            gate_z += w * shape.x;
            weight += w;
        }
    }
    float scale = 1.0 / weight;
    resampled r;
    r.color = color.xyz * scale;
    r.mixture = vec3(color.w, gates.xy) * scale;
    r.gates = vec3(gates.zw, gate_z) * scale;
    r.weight = weight;
    r.nearest = tile_color[corner + tile_side + 1].xyz;
    return r;
}
