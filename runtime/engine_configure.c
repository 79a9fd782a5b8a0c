/* Another size or another set of conventions for a living engine: its stages are replaced, everything that frames and
 * network hold on to stays. */
#include <string.h>
#include "interop/network.h"
#include "runtime/base/log.h"
#include "runtime/engine.h"

void d4r_engine_free_leftovers(const d4r_vk *vk, d4r_engine_leftovers *leftovers)
{
    d4r_debug_view_destroy(&leftovers->debug_view);
    d4r_validate_destroy(&leftovers->validate);
    if (leftovers->stages) d4r_stages_destroy(&leftovers->stages);
    d4r_shared_destroy(vk, &leftovers->shared);
}

uint64_t d4r_engine_leftover_bytes(const d4r_engine_leftovers *leftovers)
{
    return (leftovers->stages ? d4r_stages_device_bytes(leftovers->stages) : 0) +
           d4r_shared_bytes(&leftovers->shared);
}

static d4r_size larger(d4r_size a, d4r_size b)
{
    return (d4r_size){a.width > b.width ? a.width : b.width, a.height > b.height ? a.height : b.height};
}

/* Larger buffers for tokens and head, attached to the network once it rests. *old: to be freed or put back. */
static d4r_status replace_shared(d4r_engine *engine, d4r_size grid, d4r_shared *old)
{
    const d4r_log *log = &engine->vk.log;
    d4r_shared_desc desc = d4r_engine_shared_desc(engine, larger(grid, engine->shared.info.max_token_grid));
    d4r_shared fresh;
    d4r_status status = d4r_handoff_idle(engine->handoff);
    if (status != D4R_OK)
        return d4r_fail(log, status,
                        "a larger max_render needs larger token buffers, and %s (reserve_render avoids that)",
                        status == D4R_ERROR_STATE ? "a recorded frame is neither submitted nor discarded"
                                                  : "the network has not come to rest");
    status = d4r_shared_create(&desc, &fresh);
    if (status != D4R_OK) return status;
    fresh.info.marker = engine->shared.info.marker;
    fresh.info.marker_bytes = engine->shared.info.marker_bytes;
    d4r_network_detach(engine->params.network);
    status = d4r_network_attach(engine->params.network, &fresh.info, log);
    if (status != D4R_OK) {
        d4r_shared_destroy(&engine->vk, &fresh);
        if (d4r_network_attach(engine->params.network, &engine->shared.info, log) != D4R_OK)
            d4r_log_print(log, D4R_LOG_ERROR, "the network is lost to this engine: destroy it");
        return status;
    }
    *old = engine->shared;
    engine->shared = fresh;
    return D4R_OK;
}

/* Back to the old buffers after a failure behind replace_shared. */
static void restore_shared(d4r_engine *engine, d4r_shared *old)
{
    if (!old->tokens.buffer) return;
    d4r_network_detach(engine->params.network);
    d4r_shared_destroy(&engine->vk, &engine->shared);
    engine->shared = *old;
    memset(old, 0, sizeof *old);
    if (d4r_network_attach(engine->params.network, &engine->shared.info, &engine->vk.log) != D4R_OK)
        d4r_log_print(&engine->vk.log, D4R_LOG_ERROR, "the network is lost to this engine: destroy it");
}

/* The stages, and what reads their surfaces. On error *fresh is empty. */
static d4r_status create_stages(d4r_engine *engine, const d4r_engine_params *params, uint32_t view_limit,
                                d4r_engine_leftovers *fresh)
{
    d4r_stages_desc desc = d4r_engine_stages_desc(engine, params);
    d4r_status status;
    memset(fresh, 0, sizeof *fresh);
    desc.share = engine->stages;
    status = d4r_stages_create(engine->preset->stages, &desc, &fresh->stages);
    if (status == D4R_OK && view_limit) status = d4r_stages_limit_views(fresh->stages, view_limit);
    if (status == D4R_OK && engine->validate)
        status = d4r_validate_create(&engine->vk, fresh->stages, engine->timeline, params, &fresh->validate);
    if (status == D4R_OK && engine->debug_view)
        status = d4r_debug_view_create(&engine->vk, fresh->stages, &fresh->debug_view);
    if (status != D4R_OK) d4r_engine_free_leftovers(&engine->vk, fresh);
    return status;
}

static void take_over(d4r_engine *engine, const d4r_engine_params *params, const d4r_sizes *sizes,
                      const d4r_engine_leftovers *fresh, d4r_engine_leftovers *old)
{
    d4r_stages_copy_marker(fresh->stages, engine->stages);
    old->stages = engine->stages;
    old->validate = engine->validate;
    old->debug_view = engine->debug_view;
    engine->stages = fresh->stages;
    engine->validate = fresh->validate;
    engine->debug_view = fresh->debug_view;
    engine->params.output = params->output;
    engine->params.max_render = params->max_render;
    engine->params.conventions = params->conventions;
    engine->params.output_format = params->output_format;
    engine->sizes = *sizes;
    engine->any_frame = false; /* the next frame resets */
}

d4r_status d4r_engine_configure(d4r_engine *engine, const d4r_engine_params *params, uint32_t view_limit,
                                d4r_engine_leftovers *leftovers)
{
    d4r_engine_params wanted = *params;
    d4r_engine_leftovers fresh;
    d4r_sizes sizes;
    d4r_size have = engine->shared.info.max_token_grid;
    d4r_status status;
    memset(leftovers, 0, sizeof *leftovers);
    if (engine->front_open)
        return d4r_fail(&engine->vk.log, D4R_ERROR_STATE,
                        "the back of the last frame was neither recorded nor discarded");
    status = d4r_engine_check_params(&wanted, &wanted.max_render);
    if (status != D4R_OK) return status;
    if (d4r_preset_sizes(engine->preset->id, wanted.max_render, wanted.output, &sizes) != D4R_OK)
        return D4R_ERROR_ARGUMENT;
    status = d4r_engine_check_limits(&engine->vk, &sizes);
    if (status == D4R_OK && (sizes.token_grid.width > have.width || sizes.token_grid.height > have.height))
        status = replace_shared(engine, sizes.token_grid, &leftovers->shared);
    if (status != D4R_OK) return status;
    status = create_stages(engine, &wanted, view_limit, &fresh);
    if (status != D4R_OK) {
        restore_shared(engine, &leftovers->shared);
        return status;
    }
    if (leftovers->shared.tokens.buffer) engine->head_cleared = false;
    take_over(engine, &wanted, &sizes, &fresh, leftovers);
    return D4R_OK;
}
