/* Recording a frame of the game adapter: transitions, copies, front and back. */
#include <inttypes.h>
#include "runtime/base/log.h"
#include "runtime/game.h"

#define ANY_READ_WRITE (VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT)
#define USES (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)

/* ---- barriers ---- */

typedef struct barriers {
    VkPipelineStageFlags from, to;
    VkMemoryBarrier memory;
    VkImageMemoryBarrier images[2 * D4R_SLOTS];
    uint32_t count;
} barriers;

static barriers begin_barriers(VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
                               VkAccessFlags uses)
{
    return (barriers){
        .from = from, .to = to, .memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, wrote, uses}};
}

static void add_image(barriers *b, VkImage image, VkImageAspectFlags aspects, uint32_t mip_level,
                      uint32_t array_layer, VkImageLayout from, VkImageLayout to)
{
    if (from == to) return; /* the memory barrier does it */
    b->images[b->count++] =
        (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                               .srcAccessMask = b->memory.srcAccessMask,
                               .dstAccessMask = b->memory.dstAccessMask,
                               .oldLayout = from,
                               .newLayout = to,
                               .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                               .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                               .image = image,
                               .subresourceRange = {aspects, mip_level, 1, array_layer, 1}};
}

static void add_subresource(barriers *b, const d4r_game_subresource *s, VkImageLayout from, VkImageLayout to)
{
    add_image(b, s->image, s->aspects, s->mip_level, s->array_layer, from, to);
}

static void add_copy(barriers *b, const d4r_vk_image *copy, VkImageLayout from, VkImageLayout to)
{
    add_image(b, copy->image, d4r_vk_aspects(copy->format), 0, 0, from, to);
}

static void record_barriers(const d4r_game *game, VkCommandBuffer commands, const barriers *b)
{
    game->engine->vk.fn.vkCmdPipelineBarrier(commands, b->from, b->to, 0, 1, &b->memory, 0, NULL, b->count,
                                             b->images);
}

static bool through_copy(const d4r_game_plan *plan)
{
    return plan->route == D4R_GAME_COPIED || plan->route == D4R_GAME_CONVERTED;
}

static VkImageLayout layout_of(const d4r_game_frame *frame, enum d4r_game_slot slot)
{
    const d4r_game_image *image = &frame->plans[slot].image;
    for (uint32_t k = 0; k < frame->subresource_count; k++) {
        const d4r_game_subresource *s = &frame->subresources[k];
        if (s->image == image->image && s->mip_level == image->mip_level &&
            s->array_layer == image->array_layer)
            return slot == D4R_SLOT_OUTPUT ? s->write : s->read;
    }
    return VK_IMAGE_LAYOUT_GENERAL;
}

/* The output becomes one, after it was an input perhaps. */
static void add_output(barriers *b, const d4r_game_frame *frame)
{
    for (uint32_t k = 0; k < frame->subresource_count; k++) {
        const d4r_game_subresource *s = &frame->subresources[k];
        if (s->write) add_subresource(b, s, s->read ? s->read : s->before, s->write);
    }
}

/* ---- copies ---- */

static VkImageSubresourceLayers layers(const d4r_game_image *image, VkImageAspectFlags aspects)
{
    return (VkImageSubresourceLayers){aspects, image->mip_level, image->array_layer, 1};
}

/* The rectangle of the caller's image to the top left of the adapter's, or back. Never more than the rectangle. */
static void record_copy(const d4r_game *game, VkCommandBuffer commands, const d4r_game_frame *frame,
                        enum d4r_game_slot slot)
{
    const struct VolkDeviceTable *fn = &game->engine->vk.fn;
    const d4r_game_plan *plan = &frame->plans[slot];
    const d4r_game_image *i = &plan->image;
    const d4r_vk_image *copy = &game->copies[slot];
    const VkImageAspectFlags aspects = d4r_vk_aspects(i->format) & ~VK_IMAGE_ASPECT_STENCIL_BIT;
    const int32_t x = (int32_t)i->origin_x, y = (int32_t)i->origin_y;
    const int32_t w = (int32_t)plan->rectangle.width, h = (int32_t)plan->rectangle.height;
    const VkImageSubresourceLayers game_layers = layers(i, aspects), own_layers = {aspects, 0, 0, 1};
    const VkImageLayout layout = layout_of(frame, slot);
    const bool in = slot != D4R_SLOT_OUTPUT;
    const VkImage from = in ? i->image : copy->image, to = in ? copy->image : i->image;
    const VkImageLayout from_layout = in ? layout : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkImageLayout to_layout = in ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : layout;
    if (plan->route == D4R_GAME_COPIED) {
        const VkImageCopy region = {in ? game_layers : own_layers,
                                    {in ? x : 0, in ? y : 0, 0},
                                    in ? own_layers : game_layers,
                                    {in ? 0 : x, in ? 0 : y, 0},
                                    {plan->rectangle.width, plan->rectangle.height, 1}};
        fn->vkCmdCopyImage(commands, from, from_layout, to, to_layout, 1, &region);
        return;
    }
    const VkOffset3D there[2] = {{x, y, 0}, {x + w, y + h, 1}}, here[2] = {{0, 0, 0}, {w, h, 1}};
    const VkImageBlit blit = {in ? game_layers : own_layers,
                              {in ? there[0] : here[0], in ? there[1] : here[1]},
                              in ? own_layers : game_layers,
                              {in ? here[0] : there[0], in ? here[1] : there[1]}};
    fn->vkCmdBlitImage(commands, from, from_layout, to, to_layout, 1, &blit, VK_FILTER_NEAREST);
}

/* ---- front ---- */

/* Views, and images for copies: everything that may fail, before anything is recorded. */
static d4r_status get_resources(d4r_game *game, d4r_game_frame *frame, VkImageView views[D4R_SLOTS])
{
    d4r_status status = D4R_OK;
    for (int slot = 0; slot < D4R_SLOTS && status == D4R_OK; slot++) {
        const d4r_game_plan *plan = &frame->plans[slot];
        if (plan->route == D4R_GAME_DIRECT) status = d4r_game_get_view(game, slot, plan, &views[slot]);
        if (!through_copy(plan)) continue;
        const d4r_size extent = d4r_game_rectangle(game, slot, game->engine->params.max_render);
        status = d4r_game_get_copy(game, slot, plan->read_format, extent);
        if (status == D4R_OK) views[slot] = game->copies[slot].view;
    }
    return status;
}

static d4r_image engine_image(const d4r_game *game, const d4r_game_frame *frame, enum d4r_game_slot slot,
                              VkImageView view)
{
    const d4r_game_plan *plan = &frame->plans[slot];
    const d4r_game_image *i = &plan->image;
    const d4r_vk_image *copy = &game->copies[slot];
    if (plan->route == D4R_GAME_UNUSED) return (d4r_image){0};
    if (plan->route == D4R_GAME_DIRECT)
        return (d4r_image){.view = view,
                           .image = i->image,
                           .layout = layout_of(frame, slot),
                           .extent = i->extent,
                           .origin_x = i->origin_x,
                           .origin_y = i->origin_y};
    return (d4r_image){.view = view,
                       .image = copy->image,
                       .layout = slot == D4R_SLOT_OUTPUT ? VK_IMAGE_LAYOUT_GENERAL
                                                         : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                       .extent = {copy->extent.width, copy->extent.height}};
}

/* Whatever wrote the inputs comes before; the copies' last readers, too. */
static void record_inputs(const d4r_game *game, VkCommandBuffer commands, const d4r_game_frame *frame)
{
    barriers first = begin_barriers(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, USES,
                                    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                        VK_ACCESS_TRANSFER_WRITE_BIT);
    barriers copied = begin_barriers(VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT);
    for (uint32_t k = 0; k < frame->subresource_count; k++) {
        const d4r_game_subresource *s = &frame->subresources[k];
        if (s->read) add_subresource(&first, s, s->before, s->read);
    }
    for (int slot = 0; slot < D4R_GAME_INPUTS; slot++) {
        if (!through_copy(&frame->plans[slot])) continue;
        add_copy(&first, &game->copies[slot], VK_IMAGE_LAYOUT_UNDEFINED,
                 VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        add_copy(&copied, &game->copies[slot], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                 VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    }
    record_barriers(game, commands, &first);
    if (copied.count == 0) return;
    for (int slot = 0; slot < D4R_GAME_INPUTS; slot++)
        if (through_copy(&frame->plans[slot])) record_copy(game, commands, frame, slot);
    record_barriers(game, commands, &copied);
}

/* All images into their layouts: the final ones, or after a failure those in which they came. */
static void record_return(const d4r_game *game, VkCommandBuffer commands, const d4r_game_frame *frame,
                          bool undo)
{
    barriers last = begin_barriers(USES, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, ANY_READ_WRITE);
    for (uint32_t k = 0; k < frame->subresource_count; k++) {
        const d4r_game_subresource *s = &frame->subresources[k];
        const VkImageLayout now = s->write && !undo ? s->write : s->read;
        if (now) add_subresource(&last, s, now, undo ? s->before : s->after);
    }
    record_barriers(game, commands, &last);
}

static d4r_status check_front(const d4r_game *game, VkCommandBuffer commands, const d4r_game_images *images,
                              const d4r_frame_settings *settings, const d4r_frame *frame)
{
    const d4r_size max = game->engine->params.max_render;
    if (!commands || !images || !settings || !frame)
        return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT, "d4r_game_record_front: %s is NULL",
                        !commands   ? "commands"
                        : !images   ? "images"
                        : !settings ? "settings"
                                    : "frame");
    if (game->engine->front_open)
        return d4r_fail(&game->params.log, D4R_ERROR_STATE,
                        "d4r_game_record_front: the back of frame %" PRIu64
                        " was neither recorded nor discarded",
                        game->engine->last_id);
    if (settings->render.width < D4R_MIN_DIMENSION || settings->render.height < D4R_MIN_DIMENSION ||
        settings->render.width > max.width || settings->render.height > max.height)
        return d4r_fail(
            &game->params.log, D4R_ERROR_ARGUMENT,
            "settings.render is %ux%u; it must lie between %ux%u and the configured max_render of %ux%u",
            settings->render.width, settings->render.height, D4R_MIN_DIMENSION, D4R_MIN_DIMENSION, max.width,
            max.height);
    return D4R_OK;
}

d4r_status d4r_game_record_front(d4r_game *game, VkCommandBuffer commands, const d4r_game_images *images,
                                 const d4r_frame_settings *settings, d4r_frame *frame)
{
    VkImageView views[D4R_SLOTS] = {0};
    d4r_frame_images engine_images;
    d4r_game_frame plan;
    d4r_status status;
    if (!game) return D4R_ERROR_ARGUMENT;
    status = check_front(game, commands, images, settings, frame);
    if (status != D4R_OK) return status;
    d4r_game_reclaim(game);
    status = d4r_game_plan_frame(game, images, settings, &plan);
    if (status == D4R_OK) status = get_resources(game, &plan, views);
    if (status != D4R_OK) return status;
    engine_images =
        (d4r_frame_images){.color = engine_image(game, &plan, D4R_SLOT_COLOR, views[D4R_SLOT_COLOR]),
                           .depth = engine_image(game, &plan, D4R_SLOT_DEPTH, views[D4R_SLOT_DEPTH]),
                           .motion = engine_image(game, &plan, D4R_SLOT_MOTION, views[D4R_SLOT_MOTION]),
                           .exposure = engine_image(game, &plan, D4R_SLOT_EXPOSURE, views[D4R_SLOT_EXPOSURE]),
                           .output = engine_image(game, &plan, D4R_SLOT_OUTPUT, views[D4R_SLOT_OUTPUT]),
                           .debug_view = images->debug_view};
    record_inputs(game, commands, &plan);
    status = d4r_engine_record_front(game->engine, commands, &engine_images, settings, frame);
    if (status != D4R_OK) {
        record_return(game, commands, &plan, true);
        return status;
    }
    plan.open = true;
    plan.id = frame->id;
    game->frame = plan;
    return D4R_OK;
}

/* ---- back ---- */

/* The storage image that the back writes: its last users come before. */
static void record_output_begin(const d4r_game *game, VkCommandBuffer commands, const d4r_game_frame *frame)
{
    barriers b = begin_barriers(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    if (through_copy(&frame->plans[D4R_SLOT_OUTPUT]))
        add_copy(&b, &game->copies[D4R_SLOT_OUTPUT], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    else
        add_output(&b, frame);
    record_barriers(game, commands, &b);
}

static void record_output_copy(const d4r_game *game, VkCommandBuffer commands, const d4r_game_frame *frame)
{
    barriers b = begin_barriers(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                                VK_PIPELINE_STAGE_TRANSFER_BIT,
                                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    if (!through_copy(&frame->plans[D4R_SLOT_OUTPUT])) return;
    add_copy(&b, &game->copies[D4R_SLOT_OUTPUT], VK_IMAGE_LAYOUT_GENERAL,
             VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    add_output(&b, frame);
    record_barriers(game, commands, &b);
    record_copy(game, commands, frame, D4R_SLOT_OUTPUT);
}

d4r_status d4r_game_record_back(d4r_game *game, VkCommandBuffer commands, const d4r_frame *frame)
{
    d4r_game_frame *plan = game ? &game->frame : NULL;
    d4r_status status;
    if (!game) return D4R_ERROR_ARGUMENT;
    /* What the engine would refuse is left to it, before anything is recorded. */
    if (!commands || !frame || frame->engine != game->engine || !plan->open || frame->id != plan->id ||
        !game->engine->front_open)
        return d4r_engine_record_back(game->engine, commands, frame);
    record_output_begin(game, commands, plan);
    status = d4r_engine_record_back(game->engine, commands, frame);
    if (status != D4R_OK) return status;
    record_output_copy(game, commands, plan);
    record_return(game, commands, plan, false);
    plan->open = false;
    return D4R_OK;
}
