// Debug view, first pass, preset M: the history's age at render resolution.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "params.glsl"
#include "numeric.glsl"
#include "filter.glsl"
#include "reproject.glsl"
#include "debug_view.glsl"

ivec2 age_size() { return p.render; }
vec2 age_origin(ivec2 pixel) { return history_position(pixel); }
ivec2 age_texel(vec2 q) { return clamp(ivec2(previous_render_position(q)), ivec2(0), p.render - 1); }

#include "debug_age.glsl"
