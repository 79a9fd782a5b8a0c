#include "runtime/cli/run_sequence.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/metrics.h"

#define MAX_IN_FLIGHT 8
#define MAX_KEPT_BYTES ((size_t)2 << 30) /* planes kept in memory for repeated runs */

typedef struct waiting {
    uint64_t ticket;
    size_t frame;
    uint32_t run;
    double submitted;
} waiting;

typedef struct runner {
    const run_options *options;
    const cli_sequence *sequence;
    run_pictures *pictures;
    run_dump *dump;
    run_results *results;
    d4r_upscaler *upscaler;
    waiting queue[MAX_IN_FLIGHT];
    unsigned queued;
    void *pixels; /* one output; NULL without readback */
    size_t pixel_bytes;
    cli_planes *kept; /* NULL: planes are loaded anew for every run */
    double started, last_completion;
    double *times; /* seconds a frame, all runs */
    size_t time_count;
} runner;

void run_results_free(run_results *results)
{
    free(results->frames);
    run_profile_free(&results->profile);
    memset(results, 0, sizeof *results);
}

/* ---- the caller's own images in the dump */

static void dump_image(const runner *r, uint64_t ticket, const char *stage, const char *name,
                       const cli_image *image)
{
    d4r_dump_item item = {.stage = stage,
                          .name = name,
                          .dtype = image->half ? "<f2" : "<f4",
                          .dimensions = 3,
                          .shape = {image->size.height, image->size.width, image->channels},
                          .data = image->data,
                          .size = image->bytes};
    if (r->dump && image->data) run_dump_item(r->dump, ticket, &item);
}

/* ---- one finished frame */

static d4r_status to_image(const runner *r, cli_image *image)
{
    d4r_size size = r->sequence->output;
    bool packed = r->options->format == D4R_FORMAT_RGB10A2;
    d4r_status status = cli_image_create(image, size, 4, !packed, cli_log());
    if (status != D4R_OK) return status;
    if (!packed) {
        memcpy(image->data, r->pixels, r->pixel_bytes);
        return D4R_OK;
    }
    for (size_t i = 0; i < (size_t)size.width * size.height; i++) {
        uint32_t word = ((const uint32_t *)r->pixels)[i];
        for (unsigned c = 0; c < 3; c++)
            ((float *)image->data)[4 * i + c] = (float)(word >> (10 * c) & 1023) / 1023.0f;
        ((float *)image->data)[4 * i + 3] = (float)(word >> 30) / 3.0f;
    }
    return D4R_OK;
}

static d4r_status compare(const runner *r, size_t index, const cli_display *ours, run_frame_result *result)
{
    cli_image image;
    cli_display reference;
    d4r_status status = cli_reference_load(r->sequence, index, cli_log(), &image);
    if (status != D4R_OK) return status;
    status = cli_display_make(&image, r->sequence->conventions.ldr, cli_log(), &reference);
    if (status == D4R_OK) {
        result->compared = true;
        result->psnr = cli_psnr(ours, &reference, NULL);
        result->ssim = cli_ssim(ours, &reference);
        cli_display_free(&reference);
    }
    cli_image_free(&image);
    return status;
}

static d4r_status keep_picture(runner *r, const waiting *done, run_frame_result *result)
{
    size_t index = done->frame;
    cli_image image;
    cli_display display;
    d4r_status status = to_image(r, &image);
    if (status != D4R_OK) return status;
    dump_image(r, done->ticket, r->options->tool->output_stage, "output", &image);
    status = cli_display_make(&image, r->sequence->conventions.ldr, cli_log(), &display);
    if (status == D4R_OK) {
        result->not_finite = display.not_finite;
        if (display.not_finite)
            d4r_log_print(cli_log(), D4R_LOG_WARNING, "frame %zu: %zu output pixels are not finite", index,
                          display.not_finite);
        if (r->sequence->frames[index].reference) status = compare(r, index, &display, result);
        cli_display_free(&display);
    }
    if (status == D4R_OK && r->pictures)
        status = run_pictures_write(r->pictures, index, r->pixels, r->pixel_bytes, &image);
    cli_image_free(&image);
    return status;
}

static d4r_status finish_oldest(runner *r)
{
    waiting done = r->queue[0];
    run_frame_result *result = &r->results->frames[done.frame];
    d4r_status status = d4r_upscaler_wait(r->upscaler, done.ticket, r->pixels, r->pixel_bytes, 0);
    memmove(r->queue, r->queue + 1, --r->queued * sizeof *r->queue);
    if (status != D4R_OK)
        return d4r_fail(cli_log(), status, "frame %zu: %s", done.frame, d4r_status_name(status));
    double now = cli_now();
    r->times[r->time_count++] = now - r->last_completion;
    if (done.run == 0) result->seconds = now - r->last_completion;
    if (r->options->profile) {
        d4r_frame_profile times;
        status = d4r_upscaler_profile(r->upscaler, done.ticket, &times);
        if (status == D4R_OK)
            status = run_profile_add(&r->results->profile, done.submitted - r->started, &times);
    }
    if (status == D4R_OK && done.run == 0) {
        result->finished = true;
        if (r->pixels) status = keep_picture(r, &done, result);
        size_t count = r->sequence->frame_count;
        if (result->compared)
            cli_progress("frame %zu of %zu  %.2f dB  %.1f ms", done.frame + 1, count, result->psnr,
                         1e3 * result->seconds);
        else
            cli_progress("frame %zu of %zu  %.1f ms", done.frame + 1, count, 1e3 * result->seconds);
    }
    /* Writing and comparing are not the upscaler's time. */
    r->last_completion = cli_now();
    return status;
}

/* ---- submitting */

static d4r_status get_planes(runner *r, size_t index, cli_planes *planes)
{
    if (!r->kept) return cli_planes_load(r->sequence, index, cli_log(), planes);
    if (!r->kept[index].color.data) {
        d4r_status status = cli_planes_load(r->sequence, index, cli_log(), &r->kept[index]);
        if (status != D4R_OK) return status;
    }
    *planes = r->kept[index];
    return D4R_OK;
}

static d4r_status submit_frame(runner *r, uint32_t run, size_t index)
{
    cli_planes planes;
    waiting entry = {.frame = index, .run = run};
    double before = cli_now();
    d4r_status status = get_planes(r, index, &planes);
    if (status != D4R_OK) return status;
    d4r_upscaler_frame frame = {.settings = r->sequence->frames[index].settings,
                                .color = cli_image_plane(&planes.color),
                                .motion = cli_image_plane(&planes.motion),
                                .depth = cli_image_plane(&planes.depth),
                                .exposure = cli_image_plane(&planes.exposure)};
    if (r->options->reset_all || index == 0) frame.settings.reset = true;
    entry.submitted = cli_now();
    r->last_completion += entry.submitted - before; /* loading is not the upscaler's time */
    status = d4r_upscaler_submit(r->upscaler, &frame, &entry.ticket);
    if (status == D4R_OK) {
        dump_image(r, entry.ticket, "frame", "color", &planes.color);
        dump_image(r, entry.ticket, "frame", "motion", &planes.motion);
        dump_image(r, entry.ticket, "frame", "depth", &planes.depth);
        dump_image(r, entry.ticket, "frame", "exposure", &planes.exposure);
    }
    if (!r->kept) cli_planes_free(&planes);
    if (status != D4R_OK)
        return d4r_fail(cli_log(), status, "%s: frames[%zu]: not accepted: %s", r->sequence->file, index,
                        d4r_status_name(status));
    r->queue[r->queued++] = entry;
    return D4R_OK;
}

static d4r_status run_frames(runner *r)
{
    d4r_status status = D4R_OK;
    r->started = r->last_completion = cli_now();
    for (uint32_t run = 0; status == D4R_OK && run < r->options->repeats; run++) {
        for (size_t i = 0; status == D4R_OK && i < r->sequence->frame_count; i++) {
            if (cli_interrupted()) return D4R_OK;
            if (r->queued == r->options->frames_in_flight) status = finish_oldest(r);
            if (status == D4R_OK) status = submit_frame(r, run, i);
        }
        if (run) cli_progress("run %u of %u", run + 1, r->options->repeats);
    }
    while (status == D4R_OK && r->queued && !cli_interrupted()) status = finish_oldest(r);
    return status;
}

/* ---- set-up */

static d4r_status create_upscaler(runner *r, const d4r_model *model)
{
    const run_options *options = r->options;
    d4r_upscaler_params params = d4r_upscaler_params_default();
    params.model = model;
    params.output = r->sequence->output;
    params.max_render = r->sequence->max_render;
    params.conventions = r->sequence->conventions;
    params.output_format = options->format;
    params.network = options->network;
    params.hip = options->hip;
    params.frames_in_flight = options->frames_in_flight;
    params.device = options->device;
    params.validation = options->validate;
    params.validate = options->validate_inputs;
    params.exact_filter = options->exact_filter;
    params.readback = options->out != NULL;
    params.profile = options->profile;
    params.watchdog_ms = options->watchdog_ms;
    params.cpu_threads = options->threads;
    params.log = *cli_log();
    if (r->dump) {
        params.dump = run_dump_item;
        params.dump_user = r->dump;
    }
    unsigned errors = cli_error_count();
    cli_busy_begin("compiling the shaders, which takes long the first time");
    d4r_status status = d4r_upscaler_create(&params, &r->upscaler);
    cli_busy_end();
    if (status != D4R_OK && cli_error_count() == errors)
        d4r_fail(cli_log(), status, "the upscaler cannot be created: %s", d4r_status_name(status));
    if (status != D4R_OK) return status;
    snprintf(r->results->description, sizeof r->results->description, "%s",
             d4r_upscaler_description(r->upscaler));
    d4r_log_print(cli_log(), D4R_LOG_INFO, "%s", r->results->description);
    return D4R_OK;
}

static bool worth_keeping(const run_options *options, const cli_sequence *sequence)
{
    size_t frame = (size_t)sequence->max_render.width * sequence->max_render.height * 28;
    return options->repeats > 1 && sequence->frame_count < MAX_KEPT_BYTES / (frame + 1);
}

static d4r_status allocate(runner *r)
{
    size_t frames = r->sequence->frame_count;
    r->results->count = frames;
    r->results->frames = calloc(frames, sizeof *r->results->frames);
    r->times = calloc(frames * r->options->repeats, sizeof *r->times);
    bool good = r->results->frames && r->times;
    if (worth_keeping(r->options, r->sequence)) {
        r->kept = calloc(frames, sizeof *r->kept);
        good = good && r->kept;
    }
    if (r->options->out) {
        r->pixel_bytes = (size_t)r->sequence->output.width * r->sequence->output.height *
                         d4r_pixel_format_bytes(r->options->format);
        r->pixels = malloc(r->pixel_bytes);
        good = good && r->pixels;
    }
    return good ? D4R_OK : d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory for %zu frames", frames);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void release(runner *r)
{
    d4r_upscaler_destroy(&r->upscaler);
    for (size_t i = 0; r->kept && i < r->sequence->frame_count; i++) cli_planes_free(&r->kept[i]);
    free(r->kept);
    free(r->pixels);
    free(r->times);
}

static d4r_status check_preset(const run_options *options, const d4r_model *model)
{
    d4r_model_info info;
    const d4r_preset wanted = options->tool->preset;
    d4r_status status = d4r_model_get_info(model, &info);
    if (status != D4R_OK || info.preset == wanted) return status;
    return d4r_fail(cli_log(), D4R_ERROR_MODEL,
                    "%s: the model is of preset %s; %s runs models of preset %s: use d4r-%c", options->model,
                    d4r_preset_name(info.preset), options->tool->name, d4r_preset_name(wanted),
                    tolower((unsigned char)d4r_preset_name(info.preset)[0]));
}

d4r_status run_sequence(const run_options *options, const cli_sequence *sequence, run_pictures *pictures,
                        run_dump *dump, run_results *results)
{
    runner r = {
        .options = options, .sequence = sequence, .pictures = pictures, .dump = dump, .results = results};
    d4r_model *model = NULL;
    memset(results, 0, sizeof *results);
    d4r_status status = d4r_model_load(options->model, cli_log(), &model);
    if (status == D4R_ERROR_IO)
        status = D4R_ERROR_MODEL; /* an unreadable model is a bad model to the caller */
    if (status == D4R_OK) status = check_preset(options, model);
    if (status == D4R_OK) status = allocate(&r);
    if (status == D4R_OK) status = create_upscaler(&r, model);
    if (status == D4R_OK) {
        double start = cli_now();
        status = run_frames(&r);
        cli_progress(NULL);
        results->wall_seconds = cli_now() - start;
        if (status == D4R_OK && dump) status = dump->status;
        d4r_upscaler_memory(r.upscaler, &results->memory);
        if (r.time_count) {
            qsort(r.times, r.time_count, sizeof *r.times, ascending);
            results->median_frame_seconds = r.times[r.time_count / 2];
        }
    }
    release(&r);
    d4r_model_destroy(&model);
    return status;
}
