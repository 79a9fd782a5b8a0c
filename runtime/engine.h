/* The engine's inside, for the upscaler: what its dumps and its clean-up need. */
#ifndef D4R_RUNTIME_ENGINE_H
#define D4R_RUNTIME_ENGINE_H

#include "d4r/d4r_vulkan.h"
#include "interop/handoff.h"
#include "interop/marker.h"
#include "interop/shared.h"
#include "runtime/preset.h"
#include "runtime/validate.h"
#include "vk_stages/debug_view.h"
#include "vk_stages/preset_stages.h"

struct d4r_engine {
    d4r_vk vk;
    d4r_engine_params params; /* max_render resolved */
    const d4r_preset_desc *preset;
    d4r_sizes sizes; /* of max_render */
    d4r_shared shared;
    d4r_marker marker; /* only for networks that want one */
    VkSemaphore timeline;
    d4r_handoff *handoff;
    d4r_handoff_end end; /* how it ended, once it was stopped */
    d4r_stages *stages;
    d4r_validate *validate;     /* only with params.validate */
    d4r_debug_view *debug_view; /* only with params.debug_view */
    bool wants_debug_view;      /* the frame recorded last */

    d4r_stage_marker_fn marker_fn; /* the caller's */
    void *marker_user;

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

/* d4r_engine_create with token memory for a render size that may be larger than params->max_render. */
d4r_status d4r_engine_create_reserved(const d4r_engine_params *params, d4r_size reserve_render,
                                      d4r_engine **engine);
/* The checks of creation. *max_render is resolved. */
d4r_status d4r_engine_check_params(const d4r_engine_params *params, d4r_size *max_render);
d4r_status d4r_engine_check_limits(const d4r_vk *vk, const d4r_sizes *sizes);
/* What the stages of these parameters need; of `engine`: device, token memory. */
d4r_stages_desc d4r_engine_stages_desc(const d4r_engine *engine, const d4r_engine_params *params);
d4r_shared_desc d4r_engine_shared_desc(const d4r_engine *engine, d4r_size token_grid);

/* ---- engine_configure.c */

/* What a change leaves behind: in use until the frames recorded before it have completed. */
typedef struct d4r_engine_leftovers {
    d4r_stages *stages;
    d4r_validate *validate;
    d4r_debug_view *debug_view;
    d4r_shared shared;
} d4r_engine_leftovers;
void d4r_engine_free_leftovers(const d4r_vk *vk, d4r_engine_leftovers *leftovers);
uint64_t d4r_engine_leftover_bytes(const d4r_engine_leftovers *leftovers);

/* Takes over output, max_render, conventions and output format of *params from the next front on, which resets. The
 * timeline, the frames and the network stay; only tokens of a size that was not reserved make it wait for the network, which
 * then gets other buffers. view_limit: see d4r_stages_limit_views; 0: none. On error nothing has changed. */
d4r_status d4r_engine_configure(d4r_engine *engine, const d4r_engine_params *params, uint32_t view_limit,
                                d4r_engine_leftovers *leftovers);

/* The first half of destruction: every frame has ended and the device uses nothing of the engine's any more. */
void d4r_engine_stop(d4r_engine *engine);
/* The stages' marker: labels every stage for debuggers and passes the call on (engine_record.c). */
void d4r_engine_on_stage(void *engine, VkCommandBuffer commands, const char *stage);

/* d4r_engine_destroy, reporting how it ended: when a job is still out (D4R_HANDOFF_ABANDONED), the shared
 * buffers stay allocated and the device must not be destroyed. */
d4r_handoff_end d4r_engine_end(d4r_engine **engine);

#endif
