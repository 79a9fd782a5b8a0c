// The colour input: conventions, repair, and the logarithmic range in which histories are kept.
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_control_flow_attributes : require
layout(set = 1, binding = D4R_BIND_COLOR) uniform texture2D color_image;

vec3 color_from_stored(vec3 v)
{
    if (ldr) {
        v = clamp(v, 0.0, 1.0);
        return vec3(v.r > 0.0 ? pow(v.r, 2.2) : 0.0, v.g > 0.0 ? pow(v.g, 2.2) : 0.0,
                    v.b > 0.0 ? pow(v.b, 2.2) : 0.0);
    }
    return clamp(v * p.inverse_pre_exposure, 0.0, 65504.0);
}

// Mean of the finite neighbours inside the render rectangle, 0 without any. Rarely run: unrolled it would only be code to
// load.
vec3 repaired_color(ivec2 pixel)
{
    vec3 sum = vec3(0.0);
    float count = 0.0;
    [[dont_unroll]] for (int j = -1; j <= 1; j++) {
        [[dont_unroll]] for (int i = -1; i <= 1; i++) {
            ivec2 n = pixel + ivec2(i, j);
            if (any(lessThan(n, ivec2(0))) || any(greaterThanEqual(n, p.render))) continue;
            vec3 v = texelFetch(color_image, n + p.color_origin, 0).rgb;
            if (!is_finite(v)) continue;
            sum += color_from_stored(v);
            count += 1.0;
        }
    }
    return count > 0.0 ? sum / count : vec3(0.0);
}

// Scene-linear colour without pre-exposure, finite, in [0, 65504].
vec3 load_color(ivec2 pixel)
{
    vec3 v = texelFetch(color_image, pixel + p.color_origin, 0).rgb;
    return is_finite(v) ? color_from_stored(v) : repaired_color(pixel);
}

float alpha_from_stored(float a) { return is_finite(a) ? clamp(a, 0.0, 65504.0) : 1.0; }

// The same by one fetch, with the alpha.
vec4 load_color_alpha(ivec2 pixel)
{
    vec4 v = texelFetch(color_image, pixel + p.color_origin, 0);
    vec3 color = is_finite(v.rgb) ? color_from_stored(v.rgb) : repaired_color(pixel);
    return vec4(color, alpha_from_stored(v.a));
}
