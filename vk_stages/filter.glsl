// Bilinear reads clamped to the part of an image in use.
layout(constant_id = D4R_SPEC_EXACT_FILTER) const bool exact_filter = false;
// Tests: not 0, exact_filter reads at positions cut to so many fraction bits, as a device's sampler may.
layout(constant_id = D4R_SPEC_FILTER_BITS) const uint filter_bits = 0u;

// a + (b - a) t: exactly a where a = b, which mix() need not be.
vec4 lerp(vec4 a, vec4 b, float t) { return a + (b - a) * t; }

// position in texels (centres at .5); size: part in use; inverse_extent: 1 / size of the whole image.
vec4 fetch_linear(sampler2D image, vec2 position, ivec2 size, vec2 inverse_extent)
{
    if (exact_filter) {
        vec2 q = clamp(position, vec2(0.5), vec2(size) - 0.5) - 0.5;
        if (filter_bits > 0u) q = floor(q * float(1u << filter_bits)) / float(1u << filter_bits);
        vec2 base = floor(q);
        vec2 t = q - base;
        ivec2 a = ivec2(base);
        ivec2 b = min(a + 1, size - 1);
        vec4 top = lerp(texelFetch(image, a, 0), texelFetch(image, ivec2(b.x, a.y), 0), t.x);
        vec4 bottom = lerp(texelFetch(image, ivec2(a.x, b.y), 0), texelFetch(image, b, 0), t.x);
        return lerp(top, bottom, t.y);
    }
    // 1/1024 inside the last centre: the sampler must not touch texels beyond the part in use, not even with
    // weight 0, as they may hold anything.
    vec2 q = clamp(position, vec2(0.5), vec2(size) - (0.5 + 0.0009765625));
    return textureLod(image, q * inverse_extent, 0.0);
}
