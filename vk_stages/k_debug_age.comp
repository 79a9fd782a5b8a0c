// Debug view, first pass, preset K: the history's age, one texel a sub-block.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "k_params.glsl"
#include "numeric.glsl"
#include "color.glsl"
#include "range.glsl"
#include "filter.glsl"
#include "exposure_state.glsl"
#include "reproject.glsl"
#include "k_history.glsl"
#include "k_kernel.glsl"
#include "k_head.glsl"
#include "k_debug_view.glsl"

ivec2 age_size() { return p.half_size; }
vec2 age_origin(ivec2 sub_block) { return centre_position(sub_block); }
ivec2 age_texel(vec2 q) { return clamp(ivec2(q) / 2, ivec2(0), p.half_size - 1); }

#include "debug_age.glsl"
