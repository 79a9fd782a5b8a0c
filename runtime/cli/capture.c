/* The capture layout that engine plugins write: one JSON a sequence, one OpenEXR file a channel and frame
 * (docs/frames.md). The layout does not state the signs of jitter and motion: warping decides. */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/check.h"
#include "runtime/cli/json_read.h"

#define MAX_CAPTURE_FRAMES 1000000

typedef struct capture {
    json_source source;
    const char *folder;
    uint32_t number;    /* of the sequence */
    char ratio[16];     /* "2" */
    int ratio_index;    /* in NormalizedPerRatioJitter; -1: unknown */
    bool by_frame_name; /* files are named by the field Frame instead of by position */
    bool motion_gt;
} capture;

/* ---- choosing */

/* Names of one kind in a folder, sorted. */
typedef struct names {
    unsigned count;
    char name[2048][16]; /* as many as fit */
} names;

static int by_text(const void *a, const void *b)
{
    size_t long_a = strlen(a), long_b = strlen(b);
    return long_a != long_b ? (long_a > long_b) - (long_a < long_b) : strcmp(a, b);
}

static names list_names(const char *folder, bool (*take)(const char *name, char out[16]))
{
    names list = {0};
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && list.count < 2048 && (entry = readdir(listing));)
        if (take(entry->d_name, list.name[list.count])) list.count++;
    if (listing) closedir(listing);
    qsort(list.name, list.count, sizeof *list.name, by_text);
    return list;
}

/* Sequences are NNNN.json files. */
static bool take_sequence(const char *name, char out[16])
{
    uint32_t value;
    size_t length = strlen(name);
    if (length < 6 || length > 12 || !cli_ends_with(name, ".json")) return false;
    memcpy(out, name, length - 5);
    out[length - 5] = 0;
    if (!cli_parse_uint(out, 0, 999999, &value)) return false;
    snprintf(out, 16, "%04u", value);
    return true;
}

static bool take_ratio(const char *name, char out[16])
{
    size_t length = strlen(name);
    if (name[0] != 'x' || length < 2 || length > 15 || strspn(name + 1, "0123456789_") != length - 1)
        return false;
    memcpy(out, name + 1, length);
    return true;
}

static bool contains(const names *list, const char *name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (!strcmp(list->name[i], name)) return true;
    return false;
}

/* "prefix0000, prefix0003" */
static void join(const names *list, const char *prefix, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (unsigned i = 0; i < list->count && used + 24 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? ", " : "", prefix, list->name[i]);
}

static d4r_status choose(capture *c, const cli_sequence_options *options, const d4r_log *log)
{
    names sequences = list_names(c->folder, take_sequence), ratios = list_names(c->folder, take_ratio);
    char wanted[16], text[200];
    if (!sequences.count)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: holds neither frames.json nor a capture's 0000.json",
                        c->folder);
    c->number = (uint32_t)(options->sequence >= 0 ? options->sequence : atoi(sequences.name[0]));
    snprintf(wanted, sizeof wanted, "%04u", c->number);
    if (options->sequence >= 0 && sequences.count < 2048 && !contains(&sequences, wanted)) {
        join(&sequences, "", text, sizeof text);
        return d4r_fail(log, D4R_ERROR_INPUT,
                        "%s/%s.json: No such file or directory (--sequence %u; there are %s)", c->folder,
                        wanted, c->number, text);
    }
    if (!ratios.count)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: no folder x2, x1_7, ... with the render-size channels",
                        c->folder);
    snprintf(c->ratio, sizeof c->ratio, "%.15s",
             options->ratio           ? options->ratio
             : contains(&ratios, "2") ? "2"
                                      : ratios.name[0]);
    if (options->ratio && !contains(&ratios, options->ratio)) {
        join(&ratios, "x", text, sizeof text);
        return d4r_fail(log, D4R_ERROR_INPUT,
                        "%s/x%.40s: No such file or directory (--ratio %.40s; there are %s)", c->folder,
                        options->ratio, options->ratio, text);
    }
    return D4R_OK;
}

bool cli_capture_present(const char *folder)
{
    return list_names(folder, take_sequence).count > 0;
}

/* ---- one frame */

static char *channel_path(const capture *c, bool with_ratio, const char *channel, uint32_t frame)
{
    if (!with_ratio) return cli_format("%s/%s/%04u/%04u.exr", c->folder, channel, c->number, frame);
    return cli_format("%s/x%s/%s/%04u/%04u.exr", c->folder, c->ratio, channel, c->number, frame);
}

/* {X, Y} or [x, y]. */
static bool read_vector(const cJSON *item, double value[2])
{
    const cJSON *x =
        cJSON_IsArray(item) ? cJSON_GetArrayItem(item, 0) : cJSON_GetObjectItemCaseSensitive(item, "X");
    const cJSON *y =
        cJSON_IsArray(item) ? cJSON_GetArrayItem(item, 1) : cJSON_GetObjectItemCaseSensitive(item, "Y");
    if (!cJSON_IsNumber(x) || !cJSON_IsNumber(y)) return false;
    value[0] = x->valuedouble;
    value[1] = y->valuedouble;
    return isfinite(value[0]) && isfinite(value[1]);
}

static d4r_status read_jitter(const capture *c, const cJSON *object, const char *path,
                              d4r_frame_settings *settings)
{
    double value[2];
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "NormalizedPerRatioJitter");
    const cJSON *plain = cJSON_GetObjectItemCaseSensitive(object, "Jitter");
    if (cJSON_IsArray(list) && c->ratio_index >= 0) {
        if (!read_vector(cJSON_GetArrayItem(list, c->ratio_index), value))
            return json_fail(&c->source, path, "NormalizedPerRatioJitter", "no {X, Y} at the ratio's index");
        value[0] *= settings->render.width;
        value[1] *= settings->render.height;
    } else if (!plain || !read_vector(plain, value)) {
        return json_fail(&c->source, path, "Jitter", "missing, or not {X, Y}");
    }
    if (!(fabs(value[0]) <= (double)FLT_MAX && fabs(value[1]) <= (double)FLT_MAX))
        return d4r_fail(c->source.log, D4R_ERROR_INPUT,
                        "%s: %s: the jitter %g, %g (render pixels) is not finite as a float", c->source.file,
                        path, value[0], value[1]);
    settings->jitter = (d4r_vec2){(float)value[0], (float)value[1]};
    return D4R_OK;
}

static d4r_status read_capture_frame(const capture *c, const cJSON *object, size_t index,
                                     cli_sequence *sequence)
{
    cli_frame *frame = &sequence->frames[index];
    char path[32];
    double number = (double)index, exposure = 0;
    d4r_size render = {0, 0};
    bool cut = false;
    snprintf(path, sizeof path, "Frames[%zu]", index);
    if (!cJSON_IsObject(object)) return json_fail(&c->source, path, "", "must be an object");
    d4r_status status = D4R_OK;
    if (c->by_frame_name) status = json_number(&c->source, object, path, "Frame", JSON_REQUIRED, &number);
    if (status == D4R_OK && !(number >= 0 && number <= 999999))
        status = json_fail(&c->source, path, "Frame", "must be between 0 and 999999");
    if (status == D4R_OK) status = json_bool(&c->source, object, path, "CameraCut", &cut);
    if (status == D4R_OK)
        status = json_number(&c->source, object, path, "Exposure", JSON_OPTIONAL, &exposure);
    if (status != D4R_OK) return status;
    frame->color = channel_path(c, true, "color", (uint32_t)number);
    frame->depth = channel_path(c, true, "depth", (uint32_t)number);
    frame->motion = channel_path(c, !c->motion_gt, c->motion_gt ? "motion_gt" : "motion", (uint32_t)number);
    frame->reference = channel_path(c, false, "ground_truth", (uint32_t)number);
    if (!frame->color || !frame->depth || !frame->motion || !frame->reference)
        return d4r_fail(c->source.log, D4R_ERROR_MEMORY, "%s: no memory", c->source.file);
    if (!cli_exists(frame->reference)) {
        free(frame->reference);
        frame->reference = NULL;
    }
    status = cli_exr_size(frame->color, path, c->source.log, &render);
    if (status != D4R_OK) return status;
    frame->settings = d4r_frame_settings_default(render);
    frame->settings.reset = cut;
    if (exposure > 0 && !(exposure >= 1e-30 && exposure <= 1e30))
        return json_fail_value(&c->source, path, "Exposure",
                               cJSON_GetObjectItemCaseSensitive(object, "Exposure"),
                               "1e-30 to 1e30 when it is positive");
    if (exposure > 0) {
        frame->settings.exposure = (float)exposure;
        frame->has_exposure = true;
        sequence->conventions.exposure_mode = D4R_EXPOSURE_SCALAR;
    }
    return read_jitter(c, object, path, &frame->settings);
}

/* ---- the sequence */

static d4r_status read_ratio_index(capture *c, const cJSON *root)
{
    char key[32];
    double index = -1;
    const cJSON *indices = cJSON_GetObjectItemCaseSensitive(root, "UpscalingRatiosIndices");
    c->ratio_index = -1;
    if (!indices) return D4R_OK;
    snprintf(key, sizeof key, "x%s_index", c->ratio);
    d4r_status status =
        json_number(&c->source, indices, "UpscalingRatiosIndices", key, JSON_OPTIONAL, &index);
    if (status == D4R_OK && index != -1 && !(index >= 0 && index < 64 && index == floor(index)))
        return json_fail(&c->source, "UpscalingRatiosIndices", key, "must be a small index");
    if (status == D4R_OK) c->ratio_index = (int)index;
    return status;
}

static d4r_status read_target(const capture *c, const cJSON *root, cli_sequence *sequence)
{
    double value[2];
    bool reversed = true, dilated = false;
    const char *space = "";
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(root, "TargetResolution");
    if (!target || !read_vector(target, value) ||
        !(value[0] >= 1 && value[0] <= 1e6 && value[1] >= 1 && value[1] <= 1e6))
        return json_fail(&c->source, "", "TargetResolution", "must be {X, Y} in pixels");
    sequence->output = (d4r_size){(uint32_t)value[0], (uint32_t)value[1]};
    d4r_status status = json_bool(&c->source, root, "", "ReverseZ", &reversed);
    if (status == D4R_OK) status = json_bool(&c->source, root, "", "MotionVectorsDilated", &dilated);
    if (status == D4R_OK) status = json_string(&c->source, root, "", "GTColorSpace", JSON_OPTIONAL, &space);
    if (status == D4R_OK && space[0] && !strcasestr(space, "linear"))
        d4r_log_print(c->source.log, D4R_LOG_WARNING, "%s: GTColorSpace: '%.40s' is taken as linear",
                      c->source.file, space);
    sequence->conventions.depth_regular = !reversed;
    return status;
}

static d4r_status read_capture(capture *c, const cJSON *root, cli_sequence *sequence)
{
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(root, "Frames"), *item;
    size_t index = 0;
    d4r_status status = read_target(c, root, sequence);
    if (status == D4R_OK) status = read_ratio_index(c, root);
    if (status != D4R_OK) return status;
    int count = cJSON_IsArray(frames) ? cJSON_GetArraySize(frames) : 0;
    if (count < 1 || count > MAX_CAPTURE_FRAMES)
        return json_fail(&c->source, "", "Frames", "must be an array of 1 to 1000000 frames");
    sequence->frames = calloc((size_t)count, sizeof *sequence->frames);
    if (!sequence->frames) return d4r_fail(c->source.log, D4R_ERROR_MEMORY, "%s: no memory", c->source.file);
    sequence->frame_count = (size_t)count;
    char *first = channel_path(c, true, "color", 0);
    c->by_frame_name = first && !cli_exists(first);
    free(first);
    cJSON_ArrayForEach(item, frames)
    {
        if (status == D4R_OK) status = read_capture_frame(c, item, index, sequence);
        index++;
    }
    return status;
}

/* ---- signs */

static void set_signs(const cli_sequence_options *options, const cli_check *check, cli_sequence *sequence)
{
    bool negate_x = check->best_motion & 1, negate_y = (check->best_motion & 2) != 0;
    if (!check->motion_y_known && check->motion_x_known) negate_y = negate_x;
    if (!check->motion_x_known && check->motion_y_known) negate_x = negate_y;
    if (options->motion_reversed < 0) sequence->conventions.motion_reversed = negate_x;
    if (options->motion_flip_y < 0) sequence->conventions.motion_flip_y = negate_x != negate_y;
    if (options->has_jitter_sign) return;
    for (size_t i = 0; i < sequence->frame_count; i++) {
        d4r_vec2 *jitter = &sequence->frames[i].settings.jitter;
        if (check->best_jitter & 1) jitter->x = -jitter->x;
        if (check->best_jitter & 2) jitter->y = -jitter->y;
    }
}

static void tell_signs(const cli_sequence *sequence, const cli_check *check, const d4r_log *log)
{
    const d4r_conventions *conventions = &sequence->conventions;
    const char *unsure = check->pairs ? "nothing moves that could tell" : "too few frames to tell";
    if (check->motion_x_known || check->motion_y_known)
        d4r_log_print(
            log, D4R_LOG_INFO,
            "%s: vectors: %s, y %s, fit best (warped %.2f dB, unwarped %.2f; signs ++ %.2f, -+ %.2f, +- "
            "%.2f, "
            "-- %.2f)",
            sequence->file,
            conventions->motion_reversed ? "current = previous + motion" : "previous = current + motion",
            conventions->motion_flip_y ? "up" : "down", check->motion[check->best_motion], check->unwarped,
            check->motion[0], check->motion[1], check->motion[2], check->motion[3]);
    else
        d4r_log_print(log, D4R_LOG_INFO, "%s: vectors: %s; previous = current + motion, y down, is assumed",
                      sequence->file, unsure);
    if (check->jitter_x_known || check->jitter_y_known)
        d4r_log_print(log, D4R_LOG_INFO,
                      "%s: jitter: sign %c%c fits best (++ %.2f, -+ %.2f, +- %.2f, -- %.2f dB)",
                      sequence->file, check->best_jitter & 1 ? '-' : '+', check->best_jitter & 2 ? '-' : '+',
                      check->jitter[0], check->jitter[1], check->jitter[2], check->jitter[3]);
    else
        d4r_log_print(log, D4R_LOG_INFO, "%s: jitter: %s; sign ++ is assumed", sequence->file, unsure);
}

static d4r_status decide_signs(const cli_sequence_options *options, const d4r_log *log,
                               cli_sequence *sequence)
{
    cli_check check;
    if (options->has_jitter_sign && options->motion_reversed >= 0 && options->motion_flip_y >= 0)
        return D4R_OK;
    cli_sequence trial = *sequence; /* borrows everything */
    trial.conventions.motion_reversed = trial.conventions.motion_flip_y = false;
    d4r_status status = cli_check_run(&trial, log, &check);
    if (status != D4R_OK) return status;
    set_signs(options, &check, sequence);
    tell_signs(sequence, &check, log);
    return D4R_OK;
}

static bool uniform_render_size(const cli_sequence *sequence)
{
    d4r_size first = sequence->frames[0].settings.render;
    for (size_t i = 1; i < sequence->frame_count; i++) {
        d4r_size size = sequence->frames[i].settings.render;
        if (size.width != first.width || size.height != first.height) return false;
    }
    return true;
}

d4r_status cli_capture_load(const char *folder, const cli_sequence_options *options, const d4r_log *log,
                            cli_sequence *sequence)
{
    capture c = {.folder = folder, .motion_gt = options->motion_gt};
    cJSON *root = NULL;
    memset(sequence, 0, sizeof *sequence);
    d4r_status status = choose(&c, options, log);
    if (status != D4R_OK) return status;
    sequence->file = cli_format("%s/%04u.json", folder, c.number);
    sequence->name = cli_format("capture-%04u-x%s", c.number, c.ratio);
    sequence->capture = true;
    sequence->color_bits = sequence->motion_bits = sequence->reference_bits = 16;
    sequence->depth_bits = sequence->exposure_bits = 32;
    sequence->conventions.motion_at_output = c.motion_gt;
    if (!sequence->file || !sequence->name) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", folder);
    c.source = (json_source){sequence->file, log};
    if (status == D4R_OK) status = json_load(&c.source, &root);
    if (status == D4R_OK) status = read_capture(&c, root, sequence);
    cJSON_Delete(root);
    if (status == D4R_OK) status = cli_sequence_check(sequence, log);
    if (status == D4R_OK) {
        d4r_size render = sequence->frames[0].settings.render;
        sequence->conventions.motion_unit = D4R_MOTION_UV;
        /* One render size: vectors become render pixels when they are loaded (see round20 in sequence.c). */
        if (uniform_render_size(sequence)) {
            sequence->uv_size = (d4r_vec2){(float)render.width, (float)render.height};
            sequence->conventions.motion_unit = D4R_MOTION_RENDER_PIXELS;
        }
        status = decide_signs(options, log, sequence);
    }
    if (status != D4R_OK) cli_sequence_free(sequence);
    return status;
}
