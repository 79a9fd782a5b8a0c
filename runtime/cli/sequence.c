#include "runtime/cli/sequence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_sequence_free(cli_sequence *sequence)
{
    for (size_t i = 0; i < sequence->frame_count; i++) {
        cli_frame *frame = &sequence->frames[i];
        free(frame->color);
        free(frame->motion);
        free(frame->depth);
        free(frame->exposure_file);
        free(frame->reference);
    }
    free(sequence->frames);
    free(sequence->file);
    free(sequence->name);
    memset(sequence, 0, sizeof *sequence);
}

/* ---- overrides */

static void override_flag(int given, bool *flag)
{
    if (given >= 0) *flag = given != 0;
}

static void apply_options(const cli_sequence_options *options, cli_sequence *sequence)
{
    d4r_conventions *conventions = &sequence->conventions;
    override_flag(options->ldr, &conventions->ldr);
    override_flag(options->depth_regular, &conventions->depth_regular);
    override_flag(options->motion_reversed, &conventions->motion_reversed);
    override_flag(options->motion_flip_y, &conventions->motion_flip_y);
    override_flag(options->motion_at_output, &conventions->motion_at_output);
    override_flag(options->motion_jittered, &conventions->motion_jittered);
    if (options->motion_unit >= 0) {
        conventions->motion_unit = (d4r_motion_unit)options->motion_unit;
        sequence->uv_size = (d4r_vec2){0, 0};
    }
    if (options->exposure_mode >= 0) conventions->exposure_mode = (d4r_exposure_mode)options->exposure_mode;
    if (options->has_jitter_sign)
        sequence->jitter_negated = (options->jitter_sign.x < 0) | (options->jitter_sign.y < 0) << 1;
    for (size_t i = 0; i < sequence->frame_count; i++) {
        d4r_frame_settings *settings = &sequence->frames[i].settings;
        if (options->has_jitter_sign) {
            settings->jitter.x *= options->jitter_sign.x;
            settings->jitter.y *= options->jitter_sign.y;
        }
        if (options->has_motion_scale) settings->motion_scale = options->motion_scale;
        if (options->has_exposure) {
            settings->exposure = options->exposure;
            sequence->frames[i].has_exposure = true;
        }
        if (options->has_pre_exposure) settings->pre_exposure = options->pre_exposure;
    }
}

/* ---- checks */

static d4r_status fail_field(const cli_sequence *sequence, const d4r_log *log, size_t frame,
                             const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static d4r_status fail_field(const cli_sequence *sequence, const d4r_log *log, size_t frame,
                             const char *field, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return d4r_fail(log, D4R_ERROR_INPUT, "%s: frames[%zu].%s: %s", sequence->file, frame, field, text);
}

static d4r_status check_output(const cli_sequence *sequence, const d4r_log *log)
{
    d4r_size size = sequence->output;
    if (size.width < D4R_MIN_DIMENSION || size.height < D4R_MIN_DIMENSION)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: output: %ux%u is smaller than %ux%u", sequence->file,
                        size.width, size.height, D4R_MIN_DIMENSION, D4R_MIN_DIMENSION);
    if (size.width > D4R_MAX_DIMENSION || size.height > D4R_MAX_DIMENSION)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: output: %ux%u is larger than %ux%u", sequence->file,
                        size.width, size.height, D4R_MAX_DIMENSION, D4R_MAX_DIMENSION);
    return D4R_OK;
}

/* A frame whose exposure is stated, by a number or by a file; frame_count: none. */
static size_t stated_exposure(const cli_sequence *sequence, bool file)
{
    size_t i = 0;
    while (i < sequence->frame_count &&
           !(file ? sequence->frames[i].exposure_file != NULL : sequence->frames[i].has_exposure))
        i++;
    return i;
}

static d4r_status check_exposure(const cli_sequence *sequence, size_t index, const d4r_log *log)
{
    const cli_frame *frame = &sequence->frames[index];
    d4r_exposure_mode mode = sequence->conventions.exposure_mode;
    if (mode == D4R_EXPOSURE_TEXTURE && !frame->exposure_file) {
        size_t other = stated_exposure(sequence, true);
        if (other == sequence->frame_count)
            return fail_field(sequence, log, index, "exposure",
                              "exposure_mode is texture, but no file is named");
        return fail_field(sequence, log, index, "exposure",
                          "missing: frames[%zu] names a file, so every frame must", other);
    }
    if (mode == D4R_EXPOSURE_SCALAR && !frame->has_exposure && frame->exposure_file)
        return fail_field(sequence, log, index, "exposure",
                          "exposure_mode is scalar, but a file is named: a number is needed");
    return D4R_OK;
}

/* Scalar exposures of some frames only are rather forgotten than meant. */
static void warn_exposure(const cli_sequence *sequence, const d4r_log *log)
{
    size_t first = 0, missing = 0, other = stated_exposure(sequence, false);
    if (sequence->conventions.exposure_mode != D4R_EXPOSURE_SCALAR || other == sequence->frame_count) return;
    for (size_t i = sequence->frame_count; i-- > 0;)
        if (!sequence->frames[i].has_exposure) {
            first = i;
            missing++;
        }
    if (missing)
        d4r_log_print(log, D4R_LOG_WARNING,
                      "%s: frames[%zu].exposure: missing in %zu of %zu frames, where 1 is used; frames[%zu] "
                      "has a number",
                      sequence->file, first, missing, sequence->frame_count, other);
}

static d4r_status check_frame(const cli_sequence *sequence, size_t index, const d4r_log *log)
{
    const d4r_frame_settings *settings = &sequence->frames[index].settings;
    d4r_size render = settings->render, output = sequence->output;
    if (render.width > output.width || render.height > output.height)
        return fail_field(sequence, log, index, "render", "%ux%u is larger than the output %ux%u",
                          render.width, render.height, output.width, output.height);
    if (render.width < D4R_MIN_DIMENSION || render.height < D4R_MIN_DIMENSION)
        return fail_field(sequence, log, index, "render", "%ux%u is smaller than %ux%u", render.width,
                          render.height, D4R_MIN_DIMENSION, D4R_MIN_DIMENSION);
    if (!(settings->motion_scale.x > 0) || !(settings->motion_scale.y > 0))
        return fail_field(sequence, log, index, "motion_scale",
                          "%g, %g: must be positive (motion_direction and motion_y reverse vectors)",
                          (double)settings->motion_scale.x, (double)settings->motion_scale.y);
    if (!(settings->pre_exposure > 0))
        return fail_field(sequence, log, index, "pre_exposure", "%g: must be positive",
                          (double)settings->pre_exposure);
    if (fabsf(settings->jitter.x) > 1 || fabsf(settings->jitter.y) > 1)
        d4r_log_print(log, D4R_LOG_WARNING, "%s: frames[%zu].jitter: %g, %g is beyond one render pixel",
                      sequence->file, index, (double)settings->jitter.x, (double)settings->jitter.y);
    return check_exposure(sequence, index, log);
}

/* Missing files are found before any work is done; sizes are checked when the planes are loaded. */
static d4r_status check_files(const cli_sequence *sequence, size_t index, const d4r_log *log)
{
    const cli_frame *frame = &sequence->frames[index];
    const char *paths[] = {frame->color, frame->motion, frame->depth, frame->exposure_file, frame->reference};
    static const char *const fields[] = {"color", "motion", "depth", "exposure", "reference"};
    for (int i = 0; i < 5; i++) {
        if (!paths[i]) continue;
        if (access(paths[i], R_OK))
            return d4r_fail(log, D4R_ERROR_IO, "%s: %s (%s: frames[%zu].%s)", paths[i], strerror(errno),
                            sequence->file, index, fields[i]);
        cli_note_input(paths[i]);
    }
    return D4R_OK;
}

d4r_status cli_sequence_check(cli_sequence *sequence, const d4r_log *log)
{
    d4r_status status = check_output(sequence, log);
    sequence->max_render = (d4r_size){0, 0};
    sequence->reference_count = 0;
    for (size_t i = 0; status == D4R_OK && i < sequence->frame_count; i++) {
        d4r_size render = sequence->frames[i].settings.render;
        if (render.width > sequence->max_render.width) sequence->max_render.width = render.width;
        if (render.height > sequence->max_render.height) sequence->max_render.height = render.height;
        if (sequence->frames[i].reference) sequence->reference_count++;
        status = check_frame(sequence, i, log);
        if (status == D4R_OK) status = check_files(sequence, i, log);
    }
    if (status == D4R_OK) warn_exposure(sequence, log);
    return status;
}

/* ---- loading */

static d4r_status load_frames_json(const char *file, const d4r_log *log, cli_sequence *sequence)
{
    void *text;
    size_t size;
    d4r_status status = cli_read_file(file, NULL, (size_t)64 << 20, log, &text, &size);
    if (status != D4R_OK) return status;
    status = cli_frames_json_parse(file, text, size, log, sequence);
    free(text);
    return status;
}

d4r_status cli_sequence_load(const char *path, const cli_sequence_options *options, const d4r_log *log,
                             cli_sequence *sequence)
{
    d4r_status status;
    memset(sequence, 0, sizeof *sequence);
    if (cli_is_directory(path)) {
        char *file = cli_format("%s%sframes.json", path, cli_ends_with(path, "/") ? "" : "/");
        if (!file) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
        bool capture_wanted = options->sequence >= 0 || options->ratio || options->motion_gt;
        if (cli_exists(file) && capture_wanted && !cli_capture_present(path))
            status = d4r_fail(log, D4R_ERROR_INPUT,
                              "%s: --sequence, --ratio and --motion-gt need a capture folder; this is a "
                              "frames.json",
                              file);
        else
            status = cli_exists(file) && !capture_wanted ? load_frames_json(file, log, sequence)
                                                         : cli_capture_load(path, options, log, sequence);
        free(file);
    } else if (options->sequence >= 0 || options->ratio || options->motion_gt) {
        status = d4r_fail(log, D4R_ERROR_INPUT,
                          "%s: --sequence, --ratio and --motion-gt need a capture folder", path);
    } else {
        status = load_frames_json(path, log, sequence);
    }
    if (status == D4R_OK) apply_options(options, sequence);
    if (status == D4R_OK) status = cli_sequence_check(sequence, log);
    if (status != D4R_OK) cli_sequence_free(sequence);
    return status;
}

/* ---- planes */

void cli_planes_free(cli_planes *planes)
{
    cli_image_free(&planes->color);
    cli_image_free(&planes->motion);
    cli_image_free(&planes->depth);
    cli_image_free(&planes->exposure);
}

/* Rounds to 20 significant bits: a vector of up to 20 bits in render pixels survives a stay in f32 UV units,
 * which rounds twice; the relative change of any other is below 5e-7. */
static float round20(double value)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return (float)ldexp(nearbyint(ldexp(fraction, 20)), exponent - 20);
}

/* Captures hold vectors in UV; the conventions say render pixels after this. */
static d4r_status scale_vectors(const cli_sequence *sequence, const d4r_log *log, cli_image *motion)
{
    d4r_status status = cli_image_convert(motion, false, log);
    size_t count = (size_t)motion->size.width * motion->size.height;
    float *vectors = motion->data;
    double sx = (double)sequence->uv_size.x, sy = (double)sequence->uv_size.y;
    if (status != D4R_OK) return status;
    vectors = motion->data;
    for (size_t i = 0; i < count; i++) {
        vectors[2 * i] = round20((double)vectors[2 * i] * sx);
        vectors[2 * i + 1] = round20((double)vectors[2 * i + 1] * sy);
    }
    return D4R_OK;
}

d4r_status cli_planes_load(const cli_sequence *sequence, size_t index, const d4r_log *log, cli_planes *planes)
{
    const cli_frame *frame = &sequence->frames[index];
    d4r_size render = frame->settings.render;
    bool at_output = sequence->conventions.motion_at_output;
    char field[64];
    cli_expect expect = {.field = field, .kind = CLI_COLOR, .size = render, .bits = sequence->color_bits};
    memset(planes, 0, sizeof *planes);
    snprintf(field, sizeof field, "frames[%zu].color", index);
    d4r_status status = cli_image_load(frame->color, &expect, log, &planes->color);
    if (status == D4R_OK) {
        snprintf(field, sizeof field, "frames[%zu].motion", index);
        expect = (cli_expect){.field = field,
                              .kind = CLI_MOTION,
                              .size = at_output ? sequence->output : render,
                              .bits = sequence->motion_bits};
        status = cli_image_load(frame->motion, &expect, log, &planes->motion);
    }
    if (status == D4R_OK && sequence->uv_size.x > 0) status = scale_vectors(sequence, log, &planes->motion);
    if (status == D4R_OK) {
        snprintf(field, sizeof field, "frames[%zu].depth", index);
        expect =
            (cli_expect){.field = field, .kind = CLI_DEPTH, .size = render, .bits = sequence->depth_bits};
        status = cli_image_load(frame->depth, &expect, log, &planes->depth);
    }
    if (status == D4R_OK && frame->exposure_file &&
        sequence->conventions.exposure_mode == D4R_EXPOSURE_TEXTURE) {
        snprintf(field, sizeof field, "frames[%zu].exposure", index);
        expect = (cli_expect){
            .field = field, .kind = CLI_EXPOSURE, .size = {1, 1}, .bits = sequence->exposure_bits};
        status = cli_image_load(frame->exposure_file, &expect, log, &planes->exposure);
    }
    if (status != D4R_OK) cli_planes_free(planes);
    return status;
}

d4r_status cli_reference_load(const cli_sequence *sequence, size_t index, const d4r_log *log,
                              cli_image *image)
{
    char field[64];
    cli_expect expect = {
        .field = field, .kind = CLI_COLOR, .size = sequence->output, .bits = sequence->reference_bits};
    snprintf(field, sizeof field, "frames[%zu].reference", index);
    return cli_image_load(sequence->frames[index].reference, &expect, log, image);
}
