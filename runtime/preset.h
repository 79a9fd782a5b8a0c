/* A preset by its description: all that the engine, the networks and the upscaler know of it. Nothing else in runtime/ names
 * a preset. */
#ifndef D4R_RUNTIME_PRESET_H
#define D4R_RUNTIME_PRESET_H

#include "d4r/d4r.h"
#include "hip_kernels/net_desc.h"
#include "vk_stages/preset_stages.h"

typedef struct d4r_preset_desc {
    d4r_preset id;
    const char *name; /* "M" */
    /* d4r_preset_sizes for sizes that are in range. */
    void (*sizes)(d4r_size render, d4r_size output, d4r_sizes *sizes);
    const d4r_stages_ops *stages;
    const d4r_net_desc *network;
} d4r_preset_desc;

/* NULL: unknown. */
const d4r_preset_desc *d4r_preset_find(d4r_preset id);

#endif
