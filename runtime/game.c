/* The game adapter: creation, configuration, destruction, queries. */
#include "runtime/game.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

d4r_game_params d4r_game_params_default(void)
{
    return (d4r_game_params){.engine = d4r_engine_params_default(), .view_budget = D4R_GAME_VIEW_BUDGET};
}

/* ---- creation ---- */

/* The engine's parameters for the caller's: its output format may be another one. */
static d4r_status engine_params(const d4r_vk *vk, const d4r_engine_params *wanted, d4r_engine_params *params,
                                d4r_game_formats *formats)
{
    *params = *wanted;
    params->output_format = d4r_game_engine_format(vk, wanted->output_format, &formats->output_route);
    formats->output_storage = d4r_stages_output_storage(params->output_format);
    if (params->output_format != VK_FORMAT_UNDEFINED) return D4R_OK;
    return d4r_fail(&wanted->log, D4R_ERROR_ARGUMENT,
                    "output_format is VkFormat %d, which the device can neither store to nor blit to",
                    (int)wanted->output_format);
}

static d4r_status create_engine(d4r_game *game, const d4r_game_params *params)
{
    const d4r_vulkan_device *d = &params->engine.device;
    d4r_engine_params engine = params->engine;
    d4r_vk vk = {.get_instance_proc_addr = d->get_instance_proc_addr,
                 .instance = d->instance,
                 .physical_device = d->physical_device};
    d4r_status status = D4R_OK;
    /* Without a device there is nothing to ask: d4r_engine_create says what is missing. */
    if (d->get_instance_proc_addr && d->instance && d->physical_device) {
        d4r_game_query_inputs(&vk, &game->formats);
        status = engine_params(&vk, &params->engine, &engine, &game->formats);
    }
    if (status == D4R_OK) status = d4r_engine_create_reserved(&engine, params->reserve_render, &game->engine);
    if (status == D4R_OK) status = d4r_stages_limit_views(game->engine->stages, game->view_budget);
    return status;
}

d4r_status d4r_game_create(const d4r_game_params *params, d4r_game **game)
{
    d4r_game *g;
    d4r_status status;
    if (game) *game = NULL;
    if (!game || !params)
        return d4r_fail(params ? &params->engine.log : NULL, D4R_ERROR_ARGUMENT,
                        "d4r_game_create: %s is NULL", params ? "game" : "params");
    if (params->view_budget && params->view_budget < D4R_GAME_MIN_VIEW_BUDGET)
        return d4r_fail(&params->engine.log, D4R_ERROR_ARGUMENT,
                        "params.view_budget is %u; at least %u is needed", params->view_budget,
                        D4R_GAME_MIN_VIEW_BUDGET);
    g = calloc(1, sizeof *g);
    if (g) {
        g->view_budget = params->view_budget ? params->view_budget : D4R_GAME_VIEW_BUDGET;
        g->copy_inputs = params->copy_inputs;
        g->params = params->engine;
        g->views = calloc(g->view_budget, sizeof *g->views);
    }
    status = g && g->views
                 ? create_engine(g, params)
                 : d4r_fail(&params->engine.log, D4R_ERROR_MEMORY, "d4r_game_create: out of memory");
    if (status != D4R_OK)
        d4r_game_destroy(&g);
    else
        *game = g;
    return status;
}

void d4r_game_destroy(d4r_game **game)
{
    d4r_game *g = game ? *game : NULL;
    if (!g) return;
    *game = NULL;
    if (g->engine) {
        d4r_engine_stop(g->engine);
        d4r_game_free_retired(g);
        d4r_game_drop_views(g, VK_NULL_HANDLE);
        d4r_game_drop_copies(g);
    }
    d4r_engine_destroy(&g->engine);
    free(g->views);
    free(g);
}

/* ---- configuration ---- */

d4r_status d4r_game_get_config(const d4r_game *game, d4r_game_config *config)
{
    if (!game || !config) return D4R_ERROR_ARGUMENT;
    *config = (d4r_game_config){.output = game->params.output,
                                .max_render = game->engine->params.max_render,
                                .conventions = game->params.conventions,
                                .output_format = game->params.output_format};
    return D4R_OK;
}

static bool same_size(d4r_size a, d4r_size b)
{
    return a.width == b.width && a.height == b.height;
}

static bool same_conventions(const d4r_conventions *a, const d4r_conventions *b)
{
    return a->ldr == b->ldr && a->depth_regular == b->depth_regular &&
           a->motion_reversed == b->motion_reversed && a->motion_flip_y == b->motion_flip_y &&
           a->motion_at_output == b->motion_at_output && a->motion_jittered == b->motion_jittered &&
           a->motion_unit == b->motion_unit && a->exposure_mode == b->exposure_mode;
}

static bool unchanged(const d4r_game *game, const d4r_game_config *config)
{
    const d4r_size render =
        config->max_render.width || config->max_render.height ? config->max_render : config->output;
    return same_size(config->output, game->params.output) &&
           same_size(render, game->engine->params.max_render) &&
           same_conventions(&config->conventions, &game->params.conventions) &&
           config->output_format == game->params.output_format;
}

d4r_status d4r_game_configure(d4r_game *game, const d4r_game_config *config)
{
    d4r_engine_params wanted, engine;
    d4r_game_formats formats;
    d4r_game_retired *retired;
    d4r_status status;
    if (!game) return D4R_ERROR_ARGUMENT;
    if (!config) return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT, "d4r_game_configure: config is NULL");
    if (unchanged(game, config)) return D4R_OK;
    wanted = game->params;
    wanted.output = config->output;
    wanted.max_render = config->max_render;
    wanted.conventions = config->conventions;
    wanted.output_format = config->output_format;
    formats = game->formats;
    status = engine_params(&game->engine->vk, &wanted, &engine, &formats);
    if (status != D4R_OK) return status;
    retired = d4r_game_retire(game);
    if (!retired) return D4R_ERROR_MEMORY;
    status = d4r_engine_configure(game->engine, &engine, game->view_budget, &retired->leftovers);
    if (status == D4R_OK) {
        game->params = wanted;
        game->formats = formats;
    }
    return status; /* after a failure the retired entry is empty and goes with the next frames */
}

/* ---- pause ---- */

void d4r_game_forget_image(d4r_game *game, VkImage image)
{
    if (game && image) d4r_game_drop_views(game, image);
}

void d4r_game_trim(d4r_game *game)
{
    if (!game) return;
    d4r_game_free_retired(game);
    d4r_game_drop_views(game, VK_NULL_HANDLE);
    d4r_game_drop_copies(game);
}

/* ---- queries ---- */

d4r_game_route d4r_game_output_format_supported(const d4r_vulkan_device *device, VkFormat format)
{
    d4r_game_route route = D4R_GAME_UNUSED;
    d4r_vk vk = {0};
    if (!device || !device->get_instance_proc_addr || !device->instance || !device->physical_device)
        return route;
    vk.get_instance_proc_addr = device->get_instance_proc_addr;
    vk.instance = device->instance;
    vk.physical_device = device->physical_device;
    if (d4r_game_engine_format(&vk, format, &route) == format && d4r_stages_output_storage(format) == format)
        route = D4R_GAME_DIRECT;
    return route;
}

d4r_status d4r_game_get_info(const d4r_game *game, d4r_game_info *info)
{
    const d4r_game_plan *plans = game ? game->frame.plans : NULL;
    bool full;
    if (!game || !info) return D4R_ERROR_ARGUMENT;
    *info = (d4r_game_info){.color = plans[D4R_SLOT_COLOR].route,
                            .depth = plans[D4R_SLOT_DEPTH].route,
                            .motion = plans[D4R_SLOT_MOTION].route,
                            .exposure = plans[D4R_SLOT_EXPOSURE].route,
                            .output = plans[D4R_SLOT_OUTPUT].route,
                            .view_budget = game->view_budget,
                            .descriptor_sets = d4r_stages_view_sets(game->engine->stages, &full)};
    for (uint32_t i = 0; i < game->view_budget; i++) info->views += game->views[i].image != VK_NULL_HANDLE;
    for (int slot = 0; slot < D4R_SLOTS; slot++) info->conversion_bytes += game->copies[slot].allocation;
    for (const d4r_game_retired *r = game->retired; r; r = r->next) {
        const uint64_t bytes = r->image.allocation + d4r_engine_leftover_bytes(&r->leftovers);
        info->retired_bytes += bytes;
        info->retired += bytes > 0;
    }
    return D4R_OK;
}

d4r_engine *d4r_game_engine(d4r_game *game)
{
    return game ? game->engine : NULL;
}
