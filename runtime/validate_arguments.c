/* The validation mode: arguments that the engine accepts, but that are probably not meant. */
#include <inttypes.h>
#include <math.h>
#include "runtime/settings.h"
#include "runtime/validate.h"

#define STILL_FRAMES 16u /* frames of one jitter before it is said */
#define RESET_FRAMES 8u  /* frames that all reset */
#define SIZE_FRAMES 16u  /* of which at most every other may change the size */

static void check_jitter(d4r_validate *v, const d4r_frame_settings *s, uint64_t frame)
{
    d4r_validate_arguments_state *a = &v->arguments;
    bool upscales = s->render.width < v->output.width || s->render.height < v->output.height;
    bool same = a->frames > 0 && s->jitter.x == a->last_jitter.x && s->jitter.y == a->last_jitter.y;
    a->constant_jitter = same ? a->constant_jitter + 1 : 0;
    if (fabsf(s->jitter.x) > 1 || fabsf(s->jitter.y) > 1)
        d4r_validate_find(
            v, D4R_FINDING_JITTER_RANGE, frame, 2,
            "settings.jitter is (%g, %g): it is in render pixels and lies within 1; d4r_jitter gives values "
            "within 0.5",
            (double)s->jitter.x, (double)s->jitter.y);
    if (upscales && a->constant_jitter + 1 >= STILL_FRAMES)
        d4r_validate_find(
            v, D4R_FINDING_JITTER_CONSTANT, frame, 2,
            "settings.jitter has been (%g, %g) for %u frames: without a jitter that changes every frame "
            "there "
            "is no detail to accumulate; use d4r_jitter(frame, d4r_jitter_phase_count(render, output))",
            (double)s->jitter.x, (double)s->jitter.y, STILL_FRAMES);
}

static void check_resets(d4r_validate *v, const d4r_frame_settings *s, uint64_t frame)
{
    d4r_validate_arguments_state *a = &v->arguments;
    bool changed = a->frames > 0 &&
                   (s->render.width != a->last_render.width || s->render.height != a->last_render.height);
    a->resets = s->reset ? a->resets + 1 : 0;
    if (a->resets >= RESET_FRAMES)
        d4r_validate_find(
            v, D4R_FINDING_RESET_ALWAYS, frame, 2,
            "settings.reset was set in %u frames in a row: nothing is accumulated; set it only for the first "
            "frame after a cut",
            RESET_FRAMES);
    if (a->frames % SIZE_FRAMES == 0) a->size_changes = 0;
    a->size_changes += changed;
    if (a->size_changes > SIZE_FRAMES / 2)
        d4r_validate_find(v, D4R_FINDING_RENDER_SIZE, frame, 2,
                          "settings.render changed in more than %u of %u frames, last from %ux%u to %ux%u: "
                          "change it rarely, "
                          "as every change costs quality",
                          SIZE_FRAMES / 2, SIZE_FRAMES, a->last_render.width, a->last_render.height,
                          s->render.width, s->render.height);
}

static void check_values(d4r_validate *v, const d4r_frame_settings *s, uint64_t frame)
{
    const d4r_conventions *c = &v->conventions;
    if (!c->ldr && c->exposure_mode == D4R_EXPOSURE_SCALAR && !(s->exposure > 0 && isfinite(s->exposure)))
        d4r_validate_find(
            v, D4R_FINDING_EXPOSURE_VALUE, frame, 2,
            "settings.exposure is %g, which counts as 1: give the factor that the tone mapper uses, or use "
            "D4R_EXPOSURE_AUTO",
            (double)s->exposure);
    if (s->pre_exposure < 1e-4f || s->pre_exposure > 1e4f)
        d4r_validate_find(
            v, D4R_FINDING_EXPOSURE_VALUE, frame, 2,
            "settings.pre_exposure is %g: it is what the colour was already multiplied by, 1 if nothing",
            (double)s->pre_exposure);
}

static void check_images(d4r_validate *v, const d4r_frame_images *i, const d4r_frame_settings *s,
                         uint64_t frame)
{
    const d4r_conventions *c = &v->conventions;
    d4r_size m = i->motion.extent;
    bool upscales = s->render.width < v->output.width || s->render.height < v->output.height;
    bool render_everywhere =
        i->color.extent.width == s->render.width && i->color.extent.height == s->render.height;
    if (upscales && !c->motion_at_output && render_everywhere && m.width == v->output.width &&
        m.height == v->output.height)
        d4r_validate_find(v, D4R_FINDING_MOTION_SIZE, frame, 2,
                          "images.motion is %ux%u, the output's size, but its first %ux%u are read: set "
                          "conventions.motion_at_output, or pass vectors of the render size",
                          m.width, m.height, s->render.width, s->render.height);
    if (i->color.view == i->motion.view || i->color.view == i->depth.view || i->motion.view == i->depth.view)
        d4r_validate_find(v, D4R_FINDING_SAME_IMAGE, frame, 2, "images.%s and images.%s are the same view",
                          i->color.view == i->motion.view || i->color.view == i->depth.view ? "color"
                                                                                            : "motion",
                          i->color.view == i->motion.view ? "motion" : "depth");
    if (i->output.view == i->color.view || (i->output.image && i->output.image == i->color.image))
        d4r_validate_find(
            v, D4R_FINDING_SAME_IMAGE, frame, 2,
            "images.output is images.color: the output is written while the colour is still read");
}

void d4r_validate_arguments(d4r_validate *v, const d4r_frame_images *images,
                            const d4r_frame_settings *settings, bool reset)
{
    d4r_validate_arguments_state *a = &v->arguments;
    (void)reset;
    check_jitter(v, settings, a->frames);
    check_resets(v, settings, a->frames);
    check_values(v, settings, a->frames);
    check_images(v, images, settings, a->frames);
    a->last_jitter = settings->jitter;
    a->last_render = settings->render;
    a->frames++;
}
