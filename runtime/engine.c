/* The engine: creation, destruction, queries. Recording is in engine_record.c. */
#include "runtime/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "interop/timeline.h"
#include "models/format/model.h"
#include "runtime/base/log.h"
#include "runtime/settings.h"

d4r_engine_params d4r_engine_params_default(void)
{
    return (d4r_engine_params){.output_format = VK_FORMAT_R16G16B16A16_SFLOAT,
                               .log = {.level = D4R_LOG_WARNING}};
}

/* ---- checks ---- */

d4r_status d4r_engine_check_params(const d4r_engine_params *params, d4r_size *max_render)
{
    const d4r_log *log = &params->log;
    d4r_status status;
    if (!params->model) return d4r_fail(log, D4R_ERROR_ARGUMENT, "params.model is NULL");
    if (!params->network) return d4r_fail(log, D4R_ERROR_ARGUMENT, "params.network is NULL");
    if (d4r_stages_output_storage(params->output_format) == VK_FORMAT_UNDEFINED)
        return d4r_fail(
            log, D4R_ERROR_ARGUMENT,
            "params.output_format is VkFormat %d; RGBA16F, R11G11B10F, or a 10- or 8-bit UNORM or "
            "sRGB format is needed",
            (int)params->output_format);
    status = d4r_check_sizes("params", params->output, max_render, log);
    return status == D4R_OK ? d4r_check_conventions("params", &params->conventions, log) : status;
}

static d4r_status check_queue_family(const d4r_vk *vk)
{
    PFN_vkGetPhysicalDeviceQueueFamilyProperties get =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties)vk->get_instance_proc_addr(
            vk->instance, "vkGetPhysicalDeviceQueueFamilyProperties");
    VkQueueFamilyProperties families[32];
    uint32_t count = sizeof families / sizeof families[0];
    if (!get) return d4r_fail(&vk->log, D4R_ERROR_ARGUMENT, "params.device.instance is not an instance");
    get(vk->physical_device, &count, families);
    if (vk->queue_family < count && (families[vk->queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return D4R_OK;
    return d4r_fail(&vk->log, D4R_ERROR_ARGUMENT,
                    "params.device.queue_family is %u; a family with compute is needed (%u families)",
                    vk->queue_family, count);
}

d4r_status d4r_engine_check_limits(const d4r_vk *vk, const d4r_sizes *sizes)
{
    const VkPhysicalDeviceLimits *limits = &vk->properties.limits;
    d4r_size r = sizes->reconstruction, output = sizes->output;
    if (r.width > limits->maxImageDimension2D || r.height > limits->maxImageDimension2D)
        return d4r_fail(&vk->log, D4R_ERROR_ARGUMENT,
                        "params.output is %ux%u: its reconstruction image of %ux%u exceeds the device's "
                        "maxImageDimension2D of %u",
                        output.width, output.height, r.width, r.height, limits->maxImageDimension2D);
    const uint64_t bytes = sizes->token_bytes > sizes->head_bytes ? sizes->token_bytes : sizes->head_bytes;
    if (bytes > limits->maxStorageBufferRange)
        return d4r_fail(&vk->log, D4R_ERROR_ARGUMENT,
                        "params.max_render is %ux%u, params.output %ux%u: %" PRIu64
                        " bytes of tokens exceed the device's maxStorageBufferRange of %u",
                        sizes->render.width, sizes->render.height, output.width, output.height, bytes,
                        limits->maxStorageBufferRange);
    return D4R_OK;
}

/* ---- creation ---- */

static d4r_status create_handoff(d4r_engine *engine)
{
    d4r_network *network = engine->params.network;
    uint32_t watchdog = engine->params.watchdog_ms;
    d4r_handoff_desc desc = {.vk = &engine->vk,
                             .network = network,
                             .timeline = engine->timeline,
                             .strategy =
                                 network->callbacks.wants_marker ? D4R_HANDOFF_MARKER : D4R_HANDOFF_HOST};
    d4r_status status = d4r_network_attach(network, &engine->shared.info, &engine->vk.log);
    if (status != D4R_OK) return status;
    if (watchdog == 0) watchdog = network->callbacks.watchdog_ms;
    desc.watchdog_ms = watchdog ? watchdog : 1000;
    status = d4r_handoff_create(&desc, &engine->handoff);
    if (status != D4R_OK) d4r_network_detach(network);
    return status;
}

d4r_shared_desc d4r_engine_shared_desc(const d4r_engine *engine, d4r_size token_grid)
{
    const d4r_network_callbacks *network = &engine->params.network->callbacks;
    const uint64_t tokens = (uint64_t)token_grid.width * token_grid.height;
    return (d4r_shared_desc){.vk = &engine->vk,
                             .preset = engine->preset->id,
                             .max_token_grid = token_grid,
                             .token_bytes = tokens * engine->preset->network->token_bytes,
                             .head_bytes = tokens * engine->preset->network->head_bytes,
                             .needs_host_map = network->needs_host_map,
                             .needs_fd = network->needs_fd};
}

d4r_stages_desc d4r_engine_stages_desc(const d4r_engine *engine, const d4r_engine_params *params)
{
    return (d4r_stages_desc){.vk = &engine->vk,
                             .output = params->output,
                             .max_render = params->max_render,
                             .conventions = params->conventions,
                             .output_format = params->output_format,
                             .exact_filter = params->exact_filter,
                             .weights = params->model->stage_weights,
                             .weight_bytes = params->model->stage_weight_bytes,
                             .tables = params->model->tables,
                             .table_bytes = params->model->table_bytes,
                             .tokens = engine->shared.tokens.buffer,
                             .head = engine->shared.head.buffer,
                             .token_bytes = engine->shared.info.tokens_bytes,
                             .head_bytes = engine->shared.info.head_bytes};
}

/* Tokens of the largest sizes, or of larger ones. */
static d4r_size reserved_grid(const d4r_engine *engine, d4r_size reserve_render)
{
    const d4r_size have = engine->sizes.token_grid, output = engine->params.output;
    /* An output is at least as large as what is rendered for it. */
    const d4r_size reserve_output = {
        reserve_render.width > output.width ? reserve_render.width : output.width,
        reserve_render.height > output.height ? reserve_render.height : output.height};
    d4r_sizes reserved = {.render = reserve_render, .output = reserve_output};
    engine->preset->sizes(reserve_render, reserve_output, &reserved);
    const d4r_size want = reserved.token_grid;
    return (d4r_size){want.width > have.width ? want.width : have.width,
                      want.height > have.height ? want.height : have.height};
}

static d4r_status create_parts(d4r_engine *engine, d4r_size reserve_render)
{
    const d4r_engine_params *p = &engine->params;
    d4r_shared_desc shared = d4r_engine_shared_desc(engine, reserved_grid(engine, reserve_render));
    d4r_stages_desc stages;
    d4r_status status = d4r_shared_create(&shared, &engine->shared);
    if (status == D4R_OK && p->network->callbacks.wants_marker) {
        status = d4r_marker_create(&engine->vk, &engine->marker);
        engine->shared.info.marker = engine->marker.page;
        engine->shared.info.marker_bytes = engine->marker.bytes;
    }
    if (status != D4R_OK) return status;
    stages = d4r_engine_stages_desc(engine, p);
    status = d4r_stages_create(engine->preset->stages, &stages, &engine->stages);
    if (status == D4R_OK) d4r_stages_set_marker(engine->stages, d4r_engine_on_stage, engine);
    if (status == D4R_OK)
        status = d4r_timeline_create(&engine->vk, "d4r hand-off timeline", &engine->timeline);
    if (status == D4R_OK && p->validate)
        status = d4r_validate_create(&engine->vk, engine->stages, engine->timeline, p, &engine->validate);
    if (status == D4R_OK && p->debug_view)
        status = d4r_debug_view_create(&engine->vk, engine->stages, &engine->debug_view);
    return status == D4R_OK ? create_handoff(engine) : status;
}

static d4r_status start(d4r_engine *engine, const d4r_engine_params *params, d4r_size reserve_render)
{
    const d4r_vulkan_device *d = &params->device;
    d4r_status status = d4r_vk_init(&engine->vk, d->get_instance_proc_addr, d->instance, d->physical_device,
                                    d->device, d->queue_family, d->allocator, &params->log);
    if (status == D4R_OK) status = check_queue_family(&engine->vk);
    if (status != D4R_OK) return status;
    if (d4r_preset_sizes(engine->preset->id, engine->params.max_render, params->output, &engine->sizes) !=
        D4R_OK)
        return d4r_fail(&params->log, D4R_ERROR_ARGUMENT, "params.max_render and params.output do not fit");
    status = d4r_engine_check_limits(&engine->vk, &engine->sizes);
    return status == D4R_OK ? create_parts(engine, reserve_render) : status;
}

d4r_status d4r_engine_create_reserved(const d4r_engine_params *params, d4r_size reserve_render,
                                      d4r_engine **engine)
{
    d4r_size max_render;
    d4r_engine *e;
    d4r_status status;
    if (engine) *engine = NULL;
    if (!engine || !params)
        return d4r_fail(params ? &params->log : NULL, D4R_ERROR_ARGUMENT, "d4r_engine_create: %s is NULL",
                        params ? "engine" : "params");
    max_render = params->max_render;
    status = d4r_engine_check_params(params, &max_render);
    if (status != D4R_OK) return status;
    e = calloc(1, sizeof *e);
    if (!e) return d4r_fail(&params->log, D4R_ERROR_MEMORY, "d4r_engine_create: out of memory");
    e->params = *params;
    e->preset = d4r_preset_find(params->model->info.preset);
    e->params.max_render = max_render;
    status = start(e, params, reserve_render);
    if (status != D4R_OK)
        d4r_engine_destroy(&e);
    else
        *engine = e;
    return status;
}

d4r_status d4r_engine_create(const d4r_engine_params *params, d4r_engine **engine)
{
    return d4r_engine_create_reserved(params, (d4r_size){0, 0}, engine);
}

/* ---- destruction ---- */

void d4r_engine_stop(d4r_engine *e)
{
    if (!e->handoff) return;
    e->end = d4r_handoff_destroy(&e->handoff);
    /* Frames were given up although their fronts had run: their backs now run, and nothing may be freed
     * before. With a front that never came the device might wait for ever, so then it is not asked. */
    if (e->end == D4R_HANDOFF_OUTSTANDING || e->end == D4R_HANDOFF_ABANDONED)
        e->vk.fn.vkDeviceWaitIdle(e->vk.device);
}

d4r_handoff_end d4r_engine_end(d4r_engine **engine)
{
    d4r_engine *e = engine ? *engine : NULL;
    d4r_handoff_end end;
    if (!e) return D4R_HANDOFF_CLEAN;
    *engine = NULL;
    d4r_engine_stop(e);
    end = e->end;
    d4r_validate_destroy(&e->validate);
    d4r_debug_view_destroy(&e->debug_view);
    d4r_stages_destroy(&e->stages);
    if (e->timeline) e->vk.fn.vkDestroySemaphore(e->vk.device, e->timeline, e->vk.allocator);
    if (end != D4R_HANDOFF_ABANDONED && e->vk.device) {
        d4r_marker_destroy(&e->vk, &e->marker);
        d4r_shared_destroy(&e->vk, &e->shared);
    }
    free(e);
    return end;
}

void d4r_engine_destroy(d4r_engine **engine)
{
    d4r_engine_end(engine);
}

/* ---- queries ---- */

void d4r_engine_forget_view(d4r_engine *engine, VkImageView view)
{
    if (engine && view) d4r_stages_forget_view(engine->stages, view);
}

d4r_status d4r_engine_memory(const d4r_engine *engine, d4r_memory_info *info)
{
    if (!engine || !info) return D4R_ERROR_ARGUMENT;
    memset(info, 0, sizeof *info);
    info->shared_bytes = d4r_shared_bytes(&engine->shared);
    info->weight_bytes = d4r_stages_weight_bytes(engine->stages);
    info->device_bytes = d4r_stages_device_bytes(engine->stages) + info->shared_bytes;
    if (engine->validate) info->device_bytes += d4r_v_passes_device_bytes(engine->validate->passes);
    info->network_bytes = d4r_network_memory(engine->params.network);
    if (engine->debug_view) info->device_bytes += d4r_debug_view_device_bytes(engine->debug_view);
    return D4R_OK;
}

d4r_status d4r_engine_validation_report(d4r_engine *engine, d4r_finding *findings, uint32_t capacity,
                                        uint32_t *count)
{
    if (!engine || !count || (capacity > 0 && !findings)) return D4R_ERROR_ARGUMENT;
    *count = 0;
    if (!engine->validate)
        return d4r_fail(&engine->vk.log, D4R_ERROR_STATE,
                        "d4r_engine_validation_report: params.validate is false");
    d4r_validate_poll(engine->validate);
    *count = engine->validate->finding_count;
    for (uint32_t i = 0; i < *count && i < capacity; i++) findings[i] = engine->validate->findings[i];
    return D4R_OK;
}

void d4r_engine_set_marker(d4r_engine *engine, d4r_stage_marker_fn marker, void *user)
{
    if (!engine) return;
    engine->marker_fn = marker;
    engine->marker_user = user;
}
