// The 20 features of a render pixel that are in use, before the dither.
layout(set = 0, binding = D4R_BIND_MV_A_PREVIOUS) uniform sampler2D mv_a_previous;
layout(set = 0, binding = D4R_BIND_RECURRENT_PREVIOUS) uniform sampler2D recurrent_previous;
layout(set = 0, binding = D4R_BIND_HALF) uniform sampler2D half_history;

// The previous reconstruction at q, exposed by this frame's exposure and compressed; fallback where there is
// none.
vec3 history_feature(vec2 q, vec3 fallback)
{
    if (p.reset != 0u || !on_screen(q)) return fallback;
    vec3 h = fetch_linear(half_history, q * 0.5, p.half_size, p.inverse_half).rgb;
    if (!is_finite(h)) return fallback;
    return expose_anew(h, 1e-4, current_exposure, previous_exposure);
}

// How much the motion differs from the previous frame's there: 0.22357 ln(1 + 9.045 (540 / height) |difference|).
float motion_change(vec2 position, vec2 motion)
{
    if (p.reset != 0u) return 0.0;
    precise vec2 moved = motion * p.previous_to_render;
    precise vec2 there = position * p.render_change;
    there += p.jitter_change;
    there += moved;
    vec2 before = fetch_linear(mv_a_previous, there, p.previous_render, p.inverse_render_extent).rg;
    vec2 difference = (motion - before) * p.to_render;
    return 0.22357 * log(1.0 + p.change_scale * length(difference));
}

// Slots 0-3, 4-7, 8-11, 12-15, 16-19.
void pixel_features(ivec2 pixel, vec2 a, vec2 b, vec2 c, out vec4 f[5])
{
    vec2 position = vec2(pixel) + 0.5;
    vec2 sample_position = position + p.jitter;
    vec3 color = compress_exposed(load_color(pixel), current_exposure);
    vec2 qa = previous_position(sample_position, a);
    vec3 ha = history_feature(qa, color);
    vec3 hc = history_feature(previous_position(sample_position, c), color);
    vec3 hb = history_feature(previous_position(sample_position, b), color);
    vec3 hu = history_feature(previous_position(position, c), color);
    vec4 recurrent = vec4(0.0);
    if (p.reset == 0u && on_screen(qa)) {
        recurrent = fetch_linear(recurrent_previous, previous_render_position(qa), p.previous_render,
                                 p.inverse_render_extent);
    }
    f[0] = vec4(color, ha.r);
    f[1] = vec4(ha.gb, hc.rg);
    f[2] = vec4(hc.b, hb);
    f[3] = vec4(hu, recurrent.r);
    f[4] = vec4(recurrent.gba, motion_change(position, a));
}
