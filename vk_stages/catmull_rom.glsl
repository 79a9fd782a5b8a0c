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
    float t2 = t * t;
    float t3 = t2 * t;
    a.before = t2 - 0.5 * (t + t3);
    a.after = 0.5 * (t3 - t2);
    float w1 = 1.5 * t3 - 2.5 * t2 + 1.0;
    float w2 = 1.0 - a.before - w1 - a.after;
    a.centre = w1 + w2;
    a.middle = a.base + w2 / a.centre;
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
    float total = x.centre * (y.before + y.centre + y.after) + (x.before + x.after) * y.centre;
    return sum / total;
}
