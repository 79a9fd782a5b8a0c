// Catmull-Rom at q by five bilinear reads (the corners of the 4x4 footprint are left out), normalised.
struct cubic_axis {
    float before, centre, after; // weights; centre holds the two middle taps
    float middle;                // position of the centre read
    float base;
};

cubic_axis cubic_weights(float q)
{
    cubic_axis a;
    a.base = floor(q - 0.5) + 0.5;
    float t = clamp(q - a.base, 0.0, 1.0);
    // The page's weights, factored: w0 + w3 = -t (1 - t) / 2, w1 + w2 = 1 - (w0 + w3).
    float u = 1.0 - t;
    float outer = 0.5 * t * u;
    a.before = -outer * u;
    a.after = -outer * t;
    a.centre = 1.0 + outer;
    a.middle = a.base + t * (0.5 + t * (2.0 - 1.5 * t)) / a.centre;
    return a;
}

vec4 fetch_catmull_rom(sampler2D image, vec2 q, ivec2 size, vec2 inverse_extent)
{
    cubic_axis x = cubic_weights(q.x);
    cubic_axis y = cubic_weights(q.y);
    vec4 sum = x.before * y.centre *
               fetch_linear(image, vec2(x.base - 1.0, y.middle), size, inverse_extent);
    sum += x.centre * y.before * fetch_linear(image, vec2(x.middle, y.base - 1.0), size, inverse_extent);
    sum += x.centre * y.centre * fetch_linear(image, vec2(x.middle, y.middle), size, inverse_extent);
    sum += x.centre * y.after * fetch_linear(image, vec2(x.middle, y.base + 2.0), size, inverse_extent);
    sum += x.after * y.centre * fetch_linear(image, vec2(x.base + 2.0, y.middle), size, inverse_extent);
    // An axis's weights have the sum 1: what is left are the four corners.
    float total = x.centre + (1.0 - x.centre) * y.centre;
    return sum / total;
}
