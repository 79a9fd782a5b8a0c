/* What to do with each image of a frame: read in place, copy, or refuse with the reason. */
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/game.h"

d4r_size d4r_game_rectangle(const d4r_game *game, enum d4r_game_slot slot, d4r_size render)
{
    const d4r_engine_params *p = &game->params;
    if (slot == D4R_SLOT_EXPOSURE) return (d4r_size){1, 1};
    if (slot == D4R_SLOT_OUTPUT || (slot == D4R_SLOT_MOTION && p->conventions.motion_at_output))
        return p->output;
    return render;
}

static d4r_status refuse(const d4r_game *game, enum d4r_game_slot slot, const char *what)
{
    return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT, "images.%s%s", d4r_game_slot_name(slot), what);
}

/* ---- one image by itself ---- */

static d4r_status check_image(const d4r_game *game, enum d4r_game_slot slot, const d4r_game_plan *plan)
{
    const d4r_game_image *i = &plan->image;
    const d4r_size r = plan->rectangle;
    if (!i->image) return refuse(game, slot, ".image is NULL");
    if (i->extent.width == 0 || i->extent.height == 0)
        return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT, "images.%s.extent is %ux%u",
                        d4r_game_slot_name(slot), i->extent.width, i->extent.height);
    if ((uint64_t)i->origin_x + r.width > i->extent.width ||
        (uint64_t)i->origin_y + r.height > i->extent.height)
        return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT,
                        "images.%s: the rectangle of %ux%u at (%u, %u) is not inside the image of %ux%u",
                        d4r_game_slot_name(slot), r.width, r.height, i->origin_x, i->origin_y,
                        i->extent.width, i->extent.height);
    if (i->layout == VK_IMAGE_LAYOUT_UNDEFINED && slot != D4R_SLOT_OUTPUT)
        return refuse(game, slot, ".layout is VK_IMAGE_LAYOUT_UNDEFINED: the content would be lost");
    if (i->layout == VK_IMAGE_LAYOUT_PREINITIALIZED || i->final_layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return refuse(game, slot, ".layout or .final_layout is VK_IMAGE_LAYOUT_PREINITIALIZED");
    if (i->layout == VK_IMAGE_LAYOUT_UNDEFINED && i->final_layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return refuse(game, slot, ".final_layout must be given, as .layout is VK_IMAGE_LAYOUT_UNDEFINED");
    return D4R_OK;
}

static d4r_status plan_input(const d4r_game *game, enum d4r_game_slot slot, d4r_game_plan *plan)
{
    const d4r_game_image *i = &plan->image;
    const VkImageUsageFlags usage = i->usage;
    d4r_game_input format;
    if (!d4r_game_input_format(&game->formats, slot, i->format, game->params.conventions.ldr, &format))
        return d4r_fail(
            &game->params.log, D4R_ERROR_ARGUMENT,
            "images.%s.format is VkFormat %d, which is not a format for it (docs/game_adapter.md)",
            d4r_game_slot_name(slot), (int)i->format);
    const bool viewable = format.read_format == i->format || (i->flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT);
    const bool copyable = usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    const bool direct = format.sampled && viewable && (usage & VK_IMAGE_USAGE_SAMPLED_BIT);
    plan->read_format = format.read_format;
    plan->route = D4R_GAME_DIRECT;
    if (direct && !(game->copy_inputs && copyable)) return D4R_OK;
    plan->route = D4R_GAME_COPIED;
    if (format.sampled && copyable) return D4R_OK;
    plan->route = D4R_GAME_CONVERTED;
    plan->read_format = VK_FORMAT_R32G32B32A32_SFLOAT;
    if (copyable && format.blit_source && game->formats.wide &&
        d4r_vk_aspects(i->format) == VK_IMAGE_ASPECT_COLOR_BIT)
        return D4R_OK;
    if (copyable)
        return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT,
                        "images.%s.format is VkFormat %d, which the device can neither sample nor blit",
                        d4r_game_slot_name(slot), (int)i->format);
    return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT,
                    "images.%s.usage is 0x%x: it cannot be read in place%s; add VK_IMAGE_USAGE_%s",
                    d4r_game_slot_name(slot), usage,
                    usage & VK_IMAGE_USAGE_SAMPLED_BIT ? " in this format" : "",
                    usage & VK_IMAGE_USAGE_SAMPLED_BIT ? "TRANSFER_SRC_BIT, for a copy"
                                                       : "SAMPLED_BIT or TRANSFER_SRC_BIT");
}

static d4r_status plan_output(const d4r_game *game, d4r_game_plan *plan)
{
    const d4r_game_image *i = &plan->image;
    const VkFormat format = game->params.output_format;
    const VkFormat storage = game->formats.output_storage;
    const d4r_game_route route = game->formats.output_route;
    if (i->format != format)
        return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT,
                        "images.output.format is VkFormat %d, but the configured output_format is %d",
                        (int)i->format, (int)format);
    const bool viewable = storage == format || (i->flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT);
    plan->read_format = storage;
    plan->route = D4R_GAME_DIRECT;
    if (route == D4R_GAME_COPIED && viewable && (i->usage & VK_IMAGE_USAGE_STORAGE_BIT)) return D4R_OK;
    plan->route = route;
    if (i->usage & VK_IMAGE_USAGE_TRANSFER_DST_BIT) return D4R_OK;
    return d4r_fail(
        &game->params.log, D4R_ERROR_ARGUMENT,
        "images.output.usage is 0x%x: it cannot be written in place; add %sVK_IMAGE_USAGE_TRANSFER_DST_BIT",
        i->usage, viewable ? "VK_IMAGE_USAGE_STORAGE_BIT or " : "");
}

/* ---- images that are one ---- */

static bool same_subresource(const d4r_game_image *a, const d4r_game_image *b)
{
    return a->image == b->image && a->mip_level == b->mip_level && a->array_layer == b->array_layer;
}

/* An input that is the output as well: the output is written last, by a copy, or the input is copied first. */
static d4r_status resolve_alias(const d4r_game *game, d4r_game_frame *frame, enum d4r_game_slot slot)
{
    d4r_game_plan *in = &frame->plans[slot], *out = &frame->plans[D4R_SLOT_OUTPUT];
    if (in->route == D4R_GAME_UNUSED || !same_subresource(&in->image, &out->image)) return D4R_OK;
    if (out->image.layout == VK_IMAGE_LAYOUT_UNDEFINED)
        return refuse(game, D4R_SLOT_OUTPUT, ".layout is UNDEFINED, but the image is an input as well");
    if (out->route != D4R_GAME_DIRECT || in->route != D4R_GAME_DIRECT) return D4R_OK;
    if (out->image.usage & VK_IMAGE_USAGE_TRANSFER_DST_BIT) {
        out->route = game->formats.output_route;
        return D4R_OK;
    }
    if (in->image.usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT) {
        in->route = D4R_GAME_COPIED;
        return D4R_OK;
    }
    return d4r_fail(&game->params.log, D4R_ERROR_ARGUMENT,
                    "images.%s and images.output are one image: it needs VK_IMAGE_USAGE_TRANSFER_DST_BIT or "
                    "TRANSFER_SRC_BIT, so that one of them can go through a copy",
                    d4r_game_slot_name(slot));
}

static bool shader_readable(VkImageLayout layout)
{
    switch (layout) {
    case VK_IMAGE_LAYOUT_GENERAL:
    case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL:
        return true;
    default:
        return false;
    }
}

static VkImageLayout working_layout(enum d4r_game_slot slot, const d4r_game_plan *plan)
{
    const bool direct = plan->route == D4R_GAME_DIRECT;
    if (slot == D4R_SLOT_OUTPUT)
        return direct ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    if (!direct) return VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    if (shader_readable(plan->image.layout)) return plan->image.layout;
    return VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL; /* of depth too: it may lack the attachment usage */
}

static d4r_status add_subresource(const d4r_game *game, d4r_game_frame *frame, enum d4r_game_slot slot)
{
    const d4r_game_plan *plan = &frame->plans[slot];
    const d4r_game_image *i = &plan->image;
    const VkImageLayout working = working_layout(slot, plan);
    const VkImageLayout after = i->final_layout ? i->final_layout : i->layout;
    const bool output = slot == D4R_SLOT_OUTPUT;
    for (uint32_t k = 0; k < frame->subresource_count; k++) {
        d4r_game_subresource *s = &frame->subresources[k];
        if (s->image != i->image || s->mip_level != i->mip_level || s->array_layer != i->array_layer)
            continue;
        if (s->before != i->layout || s->after != after)
            return refuse(game, slot, ": the same image was given twice with different layouts");
        if (output)
            s->write = working;
        else if (s->read != working) /* read in place and copied */
            s->read = VK_IMAGE_LAYOUT_GENERAL;
        return D4R_OK;
    }
    frame->subresources[frame->subresource_count++] =
        (d4r_game_subresource){.image = i->image,
                               .mip_level = i->mip_level,
                               .array_layer = i->array_layer,
                               .aspects = d4r_vk_aspects(i->format),
                               .before = i->layout,
                               .after = after,
                               .read = output ? VK_IMAGE_LAYOUT_UNDEFINED : working,
                               .write = output ? working : VK_IMAGE_LAYOUT_UNDEFINED};
    return D4R_OK;
}

/* ---- all ---- */

static bool slot_used(const d4r_game *game, enum d4r_game_slot slot)
{
    const d4r_conventions *c = &game->params.conventions;
    return slot != D4R_SLOT_EXPOSURE || (!c->ldr && c->exposure_mode == D4R_EXPOSURE_TEXTURE);
}

d4r_status d4r_game_plan_frame(d4r_game *game, const d4r_game_images *images,
                               const d4r_frame_settings *settings, d4r_game_frame *frame)
{
    const d4r_game_image *given[D4R_SLOTS] = {&images->color, &images->depth, &images->motion,
                                              &images->exposure, &images->output};
    d4r_status status = D4R_OK;
    memset(frame, 0, sizeof *frame);
    for (int slot = 0; slot < D4R_SLOTS && status == D4R_OK; slot++) {
        d4r_game_plan *plan = &frame->plans[slot];
        if (!slot_used(game, slot)) continue;
        plan->image = *given[slot];
        plan->rectangle = d4r_game_rectangle(game, slot, settings->render);
        status = check_image(game, slot, plan);
        if (status != D4R_OK) break;
        status = slot == D4R_SLOT_OUTPUT ? plan_output(game, plan) : plan_input(game, slot, plan);
    }
    for (int slot = 0; slot < D4R_GAME_INPUTS && status == D4R_OK; slot++)
        status = resolve_alias(game, frame, slot);
    for (int slot = 0; slot < D4R_SLOTS && status == D4R_OK; slot++)
        if (frame->plans[slot].route != D4R_GAME_UNUSED) status = add_subresource(game, frame, slot);
    return status;
}
