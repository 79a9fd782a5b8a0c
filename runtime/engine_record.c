/* The engine: recording a frame, and the calls that end it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/engine.h"
#include "runtime/settings.h"
#include "vk_stages/stages_base.h"

/* ---- checks ---- */

static d4r_status check_image(const d4r_engine *engine, const char *name, const d4r_image *image,
                              d4r_size rectangle, bool output)
{
    const d4r_log *log = &engine->vk.log;
    if (!image->view) return d4r_fail(log, D4R_ERROR_ARGUMENT, "images.%s.view is NULL", name);
    if (output && image->layout != VK_IMAGE_LAYOUT_GENERAL)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "images.%s.layout is %d; the output must be in VK_IMAGE_LAYOUT_GENERAL", name,
                        (int)image->layout);
    if (image->layout == VK_IMAGE_LAYOUT_UNDEFINED || image->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "images.%s.layout is %d; a layout that shaders can read is needed", name,
                        (int)image->layout);
    if ((uint64_t)image->origin_x + rectangle.width > image->extent.width ||
        (uint64_t)image->origin_y + rectangle.height > image->extent.height)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "images.%s: the rectangle of %ux%u at (%u, %u) is not inside the image of %ux%u",
                        name, rectangle.width, rectangle.height, image->origin_x, image->origin_y,
                        image->extent.width, image->extent.height);
    return D4R_OK;
}

static d4r_status check_images(const d4r_engine *engine, const d4r_frame_images *images,
                               const d4r_frame_settings *settings)
{
    const d4r_conventions *c = &engine->params.conventions;
    d4r_size output = engine->params.output;
    d4r_status status = check_image(engine, "color", &images->color, settings->render, false);
    if (status == D4R_OK) status = check_image(engine, "depth", &images->depth, settings->render, false);
    if (status == D4R_OK)
        status = check_image(engine, "motion", &images->motion, d4r_motion_size(c, settings->render, output),
                             false);
    if (status == D4R_OK && d4r_uses_exposure_image(c))
        status = check_image(engine, "exposure", &images->exposure, (d4r_size){1, 1}, false);
    if (status == D4R_OK) status = check_image(engine, "output", &images->output, output, true);
    if (status != D4R_OK || !images->debug_view.view) return status;
    if (!engine->debug_view)
        return d4r_fail(&engine->vk.log, D4R_ERROR_STATE,
                        "images.debug_view: the engine was created without params.debug_view");
    return check_image(engine, "debug_view", &images->debug_view, (d4r_size){320, 180}, true);
}

static d4r_status check_front(d4r_engine *engine, VkCommandBuffer commands, const d4r_frame_images *images,
                              const d4r_frame_settings *settings, const d4r_frame *frame)
{
    const d4r_log *log = &engine->vk.log;
    d4r_size max = engine->params.max_render;
    d4r_status status;
    if (!commands || !images || !settings || !frame)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_engine_record_front: %s is NULL",
                        !commands   ? "commands"
                        : !images   ? "images"
                        : !settings ? "settings"
                                    : "frame");
    if (engine->front_open)
        return d4r_fail(log, D4R_ERROR_STATE,
                        "d4r_engine_record_front: the back of frame %" PRIu64
                        " was neither recorded nor discarded",
                        engine->last_id);
    status = d4r_frame_settings_check(settings, engine->params.output, log);
    if (status != D4R_OK) return status;
    if (settings->render.width > max.width || settings->render.height > max.height)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "settings.render is %ux%u, larger than the engine's max_render of %ux%u",
                        settings->render.width, settings->render.height, max.width, max.height);
    return check_images(engine, images, settings);
}

/* ---- labels ---- */

enum { LABEL_BYTES = 64 };

/* The label of the work that begins behind a mark; empty: none. */
static void label_behind(const d4r_engine *engine, const char *mark, char label[LABEL_BYTES])
{
    const d4r_stages_ops *ops = engine->stages->ops;
    uint32_t i = 0;
    label[0] = 0;
    while (i < ops->mark_count && strcmp(mark, ops->marks[i]) != 0) i++;
    if (i + 1 == ops->front_marks) {
        if (engine->validate) snprintf(label, LABEL_BYTES, "d4r validation");
    } else if (i + 1 == ops->mark_count) {
        if (engine->wants_debug_view) snprintf(label, LABEL_BYTES, "d4r debug view");
    } else if (i < ops->mark_count) {
        snprintf(label, LABEL_BYTES, "d4r %s", ops->marks[i + 1]);
    }
}

void d4r_engine_on_stage(void *user, VkCommandBuffer commands, const char *stage)
{
    d4r_engine *engine = user;
    char next[LABEL_BYTES];
    label_behind(engine, stage, next);
    /* The first mark of either part ends nothing. */
    if (strcmp(stage, "begin") != 0 && strcmp(stage, "acquire") != 0) d4r_vk_end_label(&engine->vk, commands);
    if (engine->marker_fn) engine->marker_fn(engine->marker_user, commands, stage);
    if (next[0]) d4r_vk_begin_label(&engine->vk, commands, next);
}

/* ---- front ---- */

/* A head that no network ever wrote must not hold NaN: the first frame may fail, and its back runs all the
 * same. A mapped head was cleared by the host, which writes it: a fill by the device won over the first frame's head on a
 * device whose host-visible memory is its own. */
static void clear_head(d4r_engine *engine, VkCommandBuffer commands)
{
    if (engine->head_cleared || engine->shared.head.map) return;
    engine->vk.fn.vkCmdFillBuffer(commands, engine->shared.head.buffer, 0, VK_WHOLE_SIZE, 0);
}

static bool needs_reset(const d4r_engine *engine, const d4r_frame_settings *settings, uint64_t failures)
{
    return settings->reset || !engine->any_frame || failures != engine->seen_failures;
}

static void commit_front(d4r_engine *engine, const d4r_frame_settings *settings, uint64_t id,
                         uint64_t failures)
{
    engine->any_frame = true;
    engine->front_open = true;
    engine->last_id = id;
    engine->index++;
    engine->last_render = settings->render;
    engine->last_jitter = settings->jitter;
    engine->seen_failures = failures;
    if (!engine->head_cleared) engine->clearing_id = id;
    engine->head_cleared = true;
}

d4r_status d4r_engine_record_front(d4r_engine *engine, VkCommandBuffer commands,
                                   const d4r_frame_images *images, const d4r_frame_settings *settings,
                                   d4r_frame *frame)
{
    d4r_stage_frame record;
    d4r_sizes sizes;
    d4r_status status;
    uint64_t id, failures;
    if (!engine) return D4R_ERROR_ARGUMENT;
    status = check_front(engine, commands, images, settings, frame);
    if (status != D4R_OK) return status;
    d4r_preset_sizes(engine->preset->id, settings->render, engine->params.output, &sizes);
    failures = d4r_handoff_failures(engine->handoff);
    status = d4r_handoff_begin(engine->handoff, &sizes, &id);
    if (status != D4R_OK) return status;
    record = (d4r_stage_frame){.images = images,
                               .settings = *settings,
                               .previous_jitter = engine->last_jitter,
                               .previous_render = engine->last_render,
                               .reset = needs_reset(engine, settings, failures),
                               .index = engine->index};
    if (record.reset) record.previous_jitter = settings->jitter;
    clear_head(engine, commands);
    status = d4r_stages_record_front(engine->stages, commands, &record);
    if (status != D4R_OK) {
        d4r_handoff_rollback(engine->handoff, id);
        return status;
    }
    engine->wants_debug_view = images->debug_view.view != VK_NULL_HANDLE;
    if (engine->validate) {
        d4r_validate_arguments(engine->validate, images, settings, record.reset);
        d4r_validate_record_front(engine->validate, commands, id, &record);
    }
    d4r_shared_record_release(&engine->vk, &engine->shared, commands);
    if (engine->marker.buffer)
        d4r_marker_record(&engine->vk, &engine->marker, commands, (uint32_t)d4r_handoff_a(id));
    commit_front(engine, settings, id, failures);
    *frame = (d4r_frame){.engine = engine,
                         .id = id,
                         .timeline = engine->timeline,
                         .tokens_ready = d4r_handoff_a(id),
                         .head_ready = d4r_handoff_b(id)};
    return D4R_OK;
}

/* ---- back ---- */

d4r_status d4r_engine_record_back(d4r_engine *engine, VkCommandBuffer commands, const d4r_frame *frame)
{
    d4r_status status;
    if (!engine) return D4R_ERROR_ARGUMENT;
    if (!commands || !frame || frame->engine != engine)
        return d4r_fail(&engine->vk.log, D4R_ERROR_ARGUMENT, "d4r_engine_record_back: %s",
                        !commands ? "commands is NULL"
                        : !frame  ? "frame is NULL"
                                  : "the frame is another engine's");
    if (!engine->front_open || frame->id != engine->last_id)
        return d4r_fail(&engine->vk.log, D4R_ERROR_STATE,
                        "d4r_engine_record_back: frame %" PRIu64
                        " is not the one whose front was recorded last",
                        frame->id);
    d4r_shared_record_acquire(&engine->vk, &engine->shared, commands);
    status = d4r_stages_record_back(engine->stages, commands);
    if (status == D4R_OK && engine->wants_debug_view)
        status = d4r_debug_view_record(engine->debug_view, commands);
    if (status == D4R_OK) engine->front_open = false;
    return status;
}

/* ---- the end of a frame ---- */

d4r_status d4r_network_submit(const d4r_frame *frame)
{
    if (!frame || !frame->engine) return D4R_ERROR_ARGUMENT;
    return d4r_handoff_submit(frame->engine->handoff, frame->id);
}

d4r_status d4r_frame_discard(const d4r_frame *frame)
{
    d4r_engine *engine = frame ? frame->engine : NULL;
    d4r_status status;
    if (!engine) return D4R_ERROR_ARGUMENT;
    status = d4r_handoff_discard(engine->handoff, frame->id);
    if (status != D4R_OK) return status;
    if (engine->last_id == frame->id) engine->front_open = false;
    if (engine->clearing_id == frame->id) engine->head_cleared = false;
    return D4R_OK;
}

d4r_status d4r_frame_status(const d4r_frame *frame)
{
    if (!frame || !frame->engine) return D4R_ERROR_ARGUMENT;
    return d4r_handoff_status(frame->engine->handoff, frame->id);
}
