// Kernel-predicted resampling of preset K: a 4x4 neighbourhood of render texels weighted by one of the tables' kernels,
// and its moments. The texels of a work group are staged in shared memory (docs/stages_k.md).
layout(constant_id = D4R_SPEC_TILE) const int tile_side = 12;
shared vec4 tile[tile_side * tile_side]; // compressed colour, alpha

void load_texel(ivec2 origin, int i)
{
    if (i >= tile_side * tile_side) return;
    ivec2 texel = clamp(origin + ivec2(i % tile_side, i / tile_side), ivec2(0), p.render - 1);
    vec4 v = load_color_alpha(texel);
    tile[i] = vec4(compress_exposed(v.rgb, current_exposure), v.a);
}

// Only the largest tier has more texels than invocations.
void load_tile(ivec2 origin, int i)
{
    const int group = D4R_PIXEL_GROUP * D4R_PIXEL_GROUP;
    load_texel(origin, i);
    if (tile_side * tile_side > group) load_texel(origin, i + group);
}

// Gaussian of sigma 0.75 texel at the four taps of an axis, of sum 1. exp(-c (k - phi)^2) is exp(-c k^2) exp(2 c phi)^k and a
// factor that all taps share.
vec4 moment_weights(float phi)
{
    const float c = 0.5 / (0.75 * 0.75);
    float r = exp(2.0 * c * phi);
    float r2 = r * r;
    vec4 g = vec4(exp(-c), r, exp(-c) * r2, exp(-4.0 * c) * (r2 * r));
    return g * (1.0 / (g.x + g.y + g.z + g.w));
}

struct resampled {
    vec3 color;           // compressed
    float weight, alpha;
    vec3 mean, deviation; // of the neighbourhood
};

// cell: the tile's texel of tap (0, 0).
resampled resample(ivec2 cell, vec2 phi, vec2 shape)
{
    vec4 w[4];
    kernel_weights(phi, shape, w);
    vec4 gx = moment_weights(phi.x), gy = moment_weights(phi.y);
    int at = cell.y * tile_side + cell.x;
    int first_tap = at - tile_side - 1;
    // Moments about the own texel: a flat surface has deviation 0 exactly, whatever its brightness.
    int own = at + (phi.x >= 0.5 ? 1 : 0) + (phi.y >= 0.5 ? tile_side : 0);
    vec3 pivot = tile[own].rgb;
    vec3 sum = vec3(0.0), first = vec3(0.0), second = vec3(0.0);
    float weight = 0.0;
    [[unroll]] for (int j = 0; j < 4; j++) {
        [[unroll]] for (int i = 0; i < 4; i++) {
            vec3 d = tile[first_tap + j * tile_side + i].rgb - pivot;
            vec3 g = (gx[i] * gy[j]) * d;
            sum += w[j][i] * d;
            weight += w[j][i];
            first += g;
            second += g * d;
        }
    }
    resampled r;
    r.weight = max(weight, 1e-6);
    r.color = pivot + sum / r.weight;
    r.mean = pivot + first;
    r.deviation = sqrt(max(second - first * first, 0.0));
    r.alpha = mix(mix(tile[at].a, tile[at + 1].a, phi.x), mix(tile[at + tile_side].a, tile[at + tile_side + 1].a, phi.x),
                  phi.y);
    return r;
}
