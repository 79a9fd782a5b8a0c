#include "k_params.h"
layout(set = 0, binding = D4R_BIND_PARAMS, std140) uniform params_block { d4r_m_params p; };
layout(constant_id = D4R_SPEC_LDR) const bool ldr = false;
