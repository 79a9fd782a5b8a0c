/* Views, images for copies, and what earlier configurations left behind. */
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/game.h"

uint64_t d4r_game_next_frame(const d4r_game *game)
{
    return game->engine->index;
}

/* ---- what has completed ---- */

/* Front n + 1 runs after back n, so once the device has signalled the A of a frame, all frames before it are through. A
 * discarded frame's values come from the host and prove nothing. */
static void update_completed(d4r_game *game)
{
    d4r_engine *engine = game->engine;
    const uint64_t next = engine->index;
    uint64_t value = 0, id;
    if (engine->vk.fn.vkGetSemaphoreCounterValue(engine->vk.device, engine->timeline, &value) != VK_SUCCESS ||
        value == 0 || next == 0)
        return;
    id = (value - 1) / 2 < next ? (value - 1) / 2 : next - 1;
    while (id > game->completed && d4r_handoff_status(engine->handoff, id) == D4R_ERROR_STATE) id--;
    if (id > game->completed) game->completed = id;
    d4r_stages_set_completed(engine->stages, game->completed);
}

/* ---- retired objects ---- */

static void free_retired(d4r_game *game, d4r_game_retired *r)
{
    const d4r_vk *vk = &game->engine->vk;
    if (r->image.view) d4r_stages_forget_view(game->engine->stages, r->image.view);
    d4r_vk_image_destroy(vk, &r->image);
    d4r_engine_free_leftovers(vk, &r->leftovers);
    free(r);
}

static void free_completed(d4r_game *game, bool all)
{
    d4r_game_retired **link = &game->retired;
    while (*link) {
        d4r_game_retired *r = *link;
        if (!all && r->until > game->completed) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        free_retired(game, r);
    }
}

void d4r_game_free_retired(d4r_game *game)
{
    free_completed(game, true);
}

d4r_game_retired *d4r_game_retire(d4r_game *game)
{
    d4r_game_retired *r = calloc(1, sizeof *r);
    if (!r) {
        d4r_fail(&game->params.log, D4R_ERROR_MEMORY, "game adapter: out of memory");
        return NULL;
    }
    r->until = d4r_game_next_frame(game);
    r->next = game->retired;
    game->retired = r;
    return r;
}

void d4r_game_reclaim(d4r_game *game)
{
    bool full;
    d4r_stages_view_sets(game->engine->stages, &full);
    for (uint32_t i = 0; i < game->view_budget && !full; i++)
        if (!game->views[i].image)
            break;
        else
            full = i + 1 == game->view_budget;
    if (!full && !game->retired) return;
    update_completed(game);
    free_completed(game, false);
}

/* ---- views ---- */

static void drop_view(d4r_game *game, d4r_game_view *v)
{
    const d4r_vk *vk = &game->engine->vk;
    if (!v->image) return;
    /* Its handle may come again for another view: no descriptor set may still be found by it. */
    d4r_stages_forget_view(game->engine->stages, v->view);
    if (v->owned) vk->fn.vkDestroyImageView(vk->device, v->view, vk->allocator);
    memset(v, 0, sizeof *v);
}

void d4r_game_drop_views(d4r_game *game, VkImage image)
{
    for (uint32_t i = 0; i < game->view_budget; i++)
        if (!image || game->views[i].image == image) drop_view(game, &game->views[i]);
}

static bool matches(const d4r_game_view *v, const d4r_game_view *wanted)
{
    if (v->image != wanted->image || v->owned != wanted->owned) return false;
    if (!v->owned) return v->view == wanted->view;
    return v->format == wanted->format && v->usage == wanted->usage && v->mip_level == wanted->mip_level &&
           v->array_layer == wanted->array_layer;
}

static d4r_status create_view(d4r_game *game, d4r_game_view *v)
{
    const d4r_vk *vk = &game->engine->vk;
    /* Only for this use: the image may have others that the view's format cannot do. */
    const VkImageViewUsageCreateInfo usage = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO,
                                              .usage = v->usage};
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .pNext = &usage,
        .image = v->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = v->format,
        .subresourceRange = {d4r_vk_aspects(v->format) & ~VK_IMAGE_ASPECT_STENCIL_BIT, v->mip_level, 1,
                             v->array_layer, 1}};
    VkResult result = vk->fn.vkCreateImageView(vk->device, &info, vk->allocator, &v->view);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "vkCreateImageView (game image)");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_IMAGE_VIEW, (uint64_t)v->view, "d4r game view");
    return D4R_OK;
}

/* A free place, else the one unused for longest, if its frames have completed. */
static d4r_game_view *find_place(d4r_game *game)
{
    d4r_game_view *best = NULL;
    for (uint32_t i = 0; i < game->view_budget; i++) {
        d4r_game_view *v = &game->views[i];
        if (!v->image) return v;
        if (v->last_use < game->completed && (!best || v->last_use < best->last_use)) best = v;
    }
    if (best) drop_view(game, best);
    return best;
}

d4r_status d4r_game_get_view(d4r_game *game, enum d4r_game_slot slot, const d4r_game_plan *plan,
                             VkImageView *view)
{
    const d4r_game_image *i = &plan->image;
    const bool given = i->view && plan->read_format == i->format;
    d4r_game_view wanted = {.image = i->image,
                            .view = given ? i->view : VK_NULL_HANDLE,
                            .owned = !given,
                            .format = plan->read_format,
                            .usage = slot == D4R_SLOT_OUTPUT ? VK_IMAGE_USAGE_STORAGE_BIT
                                                             : VK_IMAGE_USAGE_SAMPLED_BIT,
                            .mip_level = i->mip_level,
                            .array_layer = i->array_layer,
                            .last_use = d4r_game_next_frame(game)};
    d4r_game_view *place;
    d4r_status status;
    for (uint32_t k = 0; k < game->view_budget; k++)
        if (matches(&game->views[k], &wanted)) {
            game->views[k].last_use = wanted.last_use;
            *view = game->views[k].view;
            return D4R_OK;
        }
    place = find_place(game);
    if (!place)
        return d4r_fail(
            &game->params.log, D4R_ERROR_STATE,
            "all %u views of the budget belong to frames that have not completed: queue fewer frames or "
            "raise view_budget",
            game->view_budget);
    status = given ? D4R_OK : create_view(game, &wanted);
    if (status != D4R_OK) return status;
    *place = wanted;
    *view = wanted.view;
    return D4R_OK;
}

/* ---- images for copies ---- */

d4r_status d4r_game_get_copy(d4r_game *game, enum d4r_game_slot slot, VkFormat format, d4r_size extent)
{
    static const char *const names[D4R_SLOTS] = {"d4r game color", "d4r game depth", "d4r game motion",
                                                 "d4r game exposure", "d4r game output"};
    const VkImageUsageFlags usage = slot == D4R_SLOT_OUTPUT
                                        ? VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT
                                        : VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    d4r_vk_image *copy = &game->copies[slot], fresh;
    d4r_game_retired *old;
    d4r_status status;
    if (copy->image && copy->format == format && copy->extent.width >= extent.width &&
        copy->extent.height >= extent.height)
        return D4R_OK;
    status = d4r_vk_image_create(&game->engine->vk, names[slot], format,
                                 (VkExtent2D){extent.width, extent.height}, usage, &fresh);
    if (status != D4R_OK) return status;
    if (copy->image) {
        old = d4r_game_retire(game);
        if (!old) {
            d4r_vk_image_destroy(&game->engine->vk, &fresh);
            return D4R_ERROR_MEMORY;
        }
        old->image = *copy;
    }
    *copy = fresh;
    return D4R_OK;
}

void d4r_game_drop_copies(d4r_game *game)
{
    for (int slot = 0; slot < D4R_SLOTS; slot++) {
        d4r_vk_image *copy = &game->copies[slot];
        if (copy->view) d4r_stages_forget_view(game->engine->stages, copy->view);
        d4r_vk_image_destroy(&game->engine->vk, copy);
    }
}
