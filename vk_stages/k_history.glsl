// Preset K's history: compressed colour and confidence, at output size.
layout(set = 0, binding = D4R_K_BIND_HISTORY_PREVIOUS) uniform sampler2D history_previous;

const float most_confidence = 64.0;

// To 0 exactly, unlike preset M's: black must stay black.
vec3 expand_history(vec3 v) { return hundredfold(clamp(v, 0.0, 3.0)); }

// What was read from the history, in this frame's exposure. ok: false when it must not be used.
vec4 exposed_history(vec4 h, out bool ok)
{
    ok = is_finite(h.rgb) && is_finite(h.a);
    return vec4(expose_anew(h.rgb, 0.0, current_exposure, previous_exposure), clamp(h.a, 0.0, most_confidence));
}

// previous position of an output position
vec2 history_position(vec2 position, vec2 motion)
{
    precise vec2 q = position + motion;
    return q;
}
