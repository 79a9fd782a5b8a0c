// Render position of a reconstruction pixel's centre. Its floor selects texels: the roundings are normative.
vec2 render_position(ivec2 pixel)
{
    precise vec2 f = (vec2(pixel) + 0.5) * p.to_render;
    f -= p.jitter;
    return f;
}

// Positions in the previous frame, in reconstruction pixels. Their roundings are normative: a position's last bit,
// times the neighbours' difference, is by far the largest error of a feature.
vec2 previous_position(vec2 render_position, vec2 motion)
{
    precise vec2 q = render_position * p.to_reconstruction;
    q += motion;
    return q;
}

// Written so that NaN is off screen.
bool on_screen(vec2 q)
{
    return all(greaterThanEqual(q, vec2(0.0))) && all(lessThanEqual(q, vec2(p.reconstruction)));
}

// Where q lies in the previous frame's jittered render image.
vec2 previous_render_position(vec2 q)
{
    precise vec2 r = q * p.previous_to_render;
    r -= p.previous_jitter;
    return r;
}
