// What the validation passes share. Analysis image: blurred luma, luma, depth, 1 where the colour is finite; luma is
// compressed and exposed, as the stages' colour.
#include "validate_params.h"
layout(set = 0, binding = D4R_V_BIND_OWN, std140) uniform validate_block { d4r_v_params v; };
layout(set = 0, binding = D4R_V_BIND_NOW) uniform texture2D analysis_now;
layout(set = 0, binding = D4R_V_BIND_PREVIOUS) uniform texture2D analysis_previous;
