// Debug view, of every preset: four columns and three rows of tiles, each a picture of the whole frame with its name. The
// preset's shader has `names` and `name_length` before this file, and tile_picture.
layout(set = 2, binding = 0, rgba8) uniform writeonly image2D view_image;

// Of tile 0..11 at a render pixel; at: the same place, 0..1.
vec3 tile_picture(int tile, ivec2 pixel, vec2 at);

// Letters of 3x5 pixels, a bit each, top row first, left highest: A to Z.
const uint letters[26] = uint[](
    0x2bedu, 0x6baeu, 0x3923u, 0x6b6eu, 0x79a7u, 0x79a4u, 0x396bu, 0x5bedu, 0x7497u, 0x126au, 0x5badu, 0x4927u,
    0x5fedu, 0x6b6du, 0x2b6au, 0x6ba4u, 0x2b73u, 0x6badu, 0x388eu, 0x7492u, 0x5b6bu, 0x5b6au, 0x5bfdu, 0x5aadu,
    0x5a92u, 0x72a7u);
const vec3 missing = vec3(0.7, 0.0, 0.7); // there is no history

vec3 shown(vec3 exposed)
{
    vec3 v = max(exposed, 0.0);
    v = ldr ? min(v, 1.0) : v * 4.0 / (1.0 + v * 4.0);
    return pow(v, vec3(1.0 / 2.2));
}

vec3 hue(float turn) { return clamp(abs(fract(turn + vec3(0.0, 2.0, 1.0) / 3.0) * 6.0 - 3.0) - 1.0, 0.0, 1.0); }

// Blue over green and yellow to red.
vec3 heat(float v) { return hue((1.0 - clamp(v, 0.0, 1.0)) * 0.66) * (0.35 + 0.65 * clamp(v * 4.0, 0.0, 1.0)); }

// Hue by direction (red: right, cyan: left), brightness by the logarithm of the length: 32 render pixels are bright.
vec3 motion_picture(vec2 motion)
{
    vec2 m = motion * p.to_render;
    float size = clamp(log2(1.0 + length(m)) / 5.0, 0.0, 1.0);
    return dot(m, m) > 1e-8 ? hue(atan(m.y, m.x) / 6.2831853) * size : vec3(0.0);
}

// Bright is near: 12 octaves of near / z, with a step every quarter of one. The sky is blue.
vec3 depth_picture(ivec2 pixel)
{
    float d = load_nearness(pixel);
    if ((p.flags & D4R_FLAG_DEPTH_REGULAR) != 0u) d = d >= -1.0 ? 1.0 + d : 1.0 / (1.0 - d);
    if (d <= 0.0) return vec3(0.05, 0.1, 0.3);
    float octave = log2(clamp(d, 1e-6, 1.0));
    return vec3(clamp(1.0 + octave / 12.0, 0.0, 1.0) * 0.75 + fract(octave * 4.0) * 0.25);
}

// 0 outside of the name's box, 1 in it, 2 on a letter.
int label(int tile, ivec2 at, int scale)
{
    ivec2 cell = at / scale - 2;
    if (any(lessThan(at, ivec2(0))) || at.y >= 9 * scale) return 0;
    int length = 0;
    while (length < name_length && names[tile * name_length + length] >= 0) length++;
    if (at.x >= (4 * length + 3) * scale) return 0;
    if (any(lessThan(cell, ivec2(0))) || cell.y > 4 || cell.x % 4 == 3 || cell.x / 4 >= length) return 1;
    int letter = names[tile * name_length + cell.x / 4];
    if (letter == 0) return 1;
    return (letters[letter - 1] >> (14 - cell.y * 3 - cell.x % 4) & 1u) != 0u ? 2 : 1;
}

void main()
{
    ivec2 pixel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(pixel, size))) return;
    vec2 place = (vec2(pixel) + 0.5) / vec2(size) * vec2(4.0, 3.0);
    ivec2 grid = min(ivec2(place), ivec2(3, 2));
    int tile = grid.y * 4 + grid.x;
    vec2 at = place - vec2(grid);
    ivec2 inside = pixel - ivec2(ceil(vec2(grid) * vec2(size) / vec2(4.0, 3.0) - 0.5));
    vec3 result = vec3(0.0);
    if (all(greaterThan(inside, ivec2(0)))) {
        result = tile_picture(tile, min(ivec2(at * vec2(p.render)), p.render - 1), at);
        int text = label(tile, inside - 3, max(1, size.x / 640));
        if (text == 1) result *= 0.15;
        if (text == 2) result = vec3(1.0);
    }
    imageStore(view_image, pixel + origin, vec4(is_finite(result) ? clamp(result, 0.0, 1.0) : vec3(1.0), 1.0));
}
