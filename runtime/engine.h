/* The engine's inside, for the upscaler: what its dumps and its clean-up need. */
#ifndef D4R_RUNTIME_ENGINE_H
#define D4R_RUNTIME_ENGINE_H

#include "d4r/d4r_vulkan.h"
#include "interop/handoff.h"
#include "interop/marker.h"
#include "interop/shared.h"
#include "vk_stages/stages.h"

struct d4r_engine {
    d4r_vk vk;
    d4r_engine_params params; /* max_render resolved */
    d4r_sizes sizes;          /* of max_render */
    d4r_shared shared;
    d4r_marker marker; /* only for networks that want one */
    VkSemaphore timeline;
    d4r_handoff *handoff;
    d4r_m_stages *stages;

    /* The recording state: what the next frame must know of the last. */
    bool any_frame;
    bool front_open; /* the back of `last_id` is not recorded yet */
    uint64_t last_id;
    uint64_t index; /* frames recorded */
    d4r_size last_render;
    d4r_vec2 last_jitter;
    uint64_t seen_failures;
    bool head_cleared; /* a frame that fills the head with zeros was recorded, and not discarded */
    uint64_t clearing_id;
};

/* d4r_engine_destroy, reporting how it ended: when a job is still out (D4R_HANDOFF_ABANDONED), the shared
 * buffers stay allocated and the device must not be destroyed. */
d4r_handoff_end d4r_engine_end(d4r_engine **engine);

#endif
