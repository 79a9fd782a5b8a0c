/* frames.json: docs/frames.md describes every field. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/json_read.h"
#include "runtime/cli/sequence.h"

#define MAX_FRAMES 1000000

/* Defaults that a frame may override. */
typedef struct frame_defaults {
    double motion_scale[2], pre_exposure, jitter_sign[2];
    bool any_scalar, any_texture; /* kinds of exposure seen in the frames */
} frame_defaults;

static d4r_status read_scale(const json_source *source, const cJSON *object, const char *path,
                             double scale[2])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "motion_scale");
    d4r_status status = D4R_OK;
    if (item && cJSON_IsNumber(item)) {
        scale[0] = scale[1] = item->valuedouble;
    } else if (item && !cJSON_IsNull(item) && !cJSON_IsArray(item)) {
        return json_fail_value(source, path, "motion_scale", item, "a positive number or [x, y]");
    } else {
        status = json_pair(source, object, path, "motion_scale", JSON_OPTIONAL, scale);
    }
    for (int i = 0; status == D4R_OK && i < 2; i++)
        if (!(scale[i] >= 1e-30 && scale[i] <= 1e30))
            return json_fail_value(source, path, "motion_scale", item,
                                   "positive (1e-30 to 1e30; motion_direction and motion_y reverse vectors)");
    return status;
}

static d4r_status read_bits(const json_source *source, const cJSON *root, cli_sequence *sequence)
{
    static const char *const keys[] = {"color", "motion", "depth", "reference", "exposure", NULL};
    uint32_t *const targets[] = {&sequence->color_bits, &sequence->motion_bits, &sequence->depth_bits,
                                 &sequence->reference_bits, &sequence->exposure_bits};
    const cJSON *bits = cJSON_GetObjectItemCaseSensitive(root, "bits");
    if (!bits || cJSON_IsNull(bits)) return D4R_OK;
    if (!cJSON_IsObject(bits))
        return json_fail_value(source, "", "bits", bits, "an object like {\"color\": 32}");
    for (int i = 0; keys[i]; i++) {
        double value = *targets[i];
        d4r_status status = json_number(source, bits, "bits", keys[i], JSON_OPTIONAL, &value);
        if (status != D4R_OK) return status;
        if (value != 16 && value != 32)
            return json_fail_value(source, "bits", keys[i], cJSON_GetObjectItemCaseSensitive(bits, keys[i]),
                                   "16 or 32");
        *targets[i] = (uint32_t)value;
    }
    json_warn_unknown(source, bits, "bits", keys);
    return D4R_OK;
}

static d4r_status read_conventions(const json_source *source, const cJSON *root, d4r_conventions *conventions)
{
    static const char *const directions[] = {"to_previous", "from_previous", NULL}, *const ys[] = {
                                                                                        "down", "up", NULL};
    static const char *const sizes[] = {"render", "output", NULL};
    static const char *const units[] = {"render_pixels", "output_pixels", "uv", "ndc", NULL};
    static const char *const modes[] = {"auto", "scalar", "texture", NULL};
    bool hdr = true, inverted = true;
    int direction = 0, y = 0, size = 0, unit = 0, mode = 0;
    d4r_status status = json_bool(source, root, "", "hdr", &hdr);
    if (status == D4R_OK) status = json_bool(source, root, "", "depth_inverted", &inverted);
    if (status == D4R_OK) status = json_choice(source, root, "", "motion_direction", directions, &direction);
    if (status == D4R_OK) status = json_choice(source, root, "", "motion_y", ys, &y);
    if (status == D4R_OK) status = json_choice(source, root, "", "motion_size", sizes, &size);
    if (status == D4R_OK) status = json_choice(source, root, "", "motion_unit", units, &unit);
    if (status == D4R_OK)
        status = json_bool(source, root, "", "motion_jittered", &conventions->motion_jittered);
    if (status == D4R_OK) status = json_choice(source, root, "", "exposure_mode", modes, &mode);
    conventions->ldr = !hdr;
    conventions->depth_regular = !inverted;
    conventions->motion_reversed = direction == 1;
    conventions->motion_flip_y = y == 1;
    conventions->motion_at_output = size == 1;
    conventions->motion_unit = (d4r_motion_unit)unit;
    conventions->exposure_mode = (d4r_exposure_mode)mode;
    return status;
}

static d4r_status read_sequence(const json_source *source, const cJSON *root, cli_sequence *sequence,
                                frame_defaults *defaults)
{
    static const char *const known[] = {"format",
                                        "version",
                                        "name",
                                        "output",
                                        "hdr",
                                        "depth_inverted",
                                        "near",
                                        "bits",
                                        "motion_direction",
                                        "motion_y",
                                        "motion_size",
                                        "motion_unit",
                                        "motion_jittered",
                                        "motion_scale",
                                        "jitter_sign",
                                        "exposure_mode",
                                        "pre_exposure",
                                        "frames",
                                        /* free text for people: */ "depth",
                                        "motion",
                                        "jitter",
                                        "color",
                                        "reference",
                                        "comment",
                                        "licence",
                                        "license",
                                        NULL};
    double version = 1, near = 1;
    const char *name = NULL;
    json_warn_unknown(source, root, "", known);
    d4r_status status = json_number(source, root, "", "version", JSON_OPTIONAL, &version);
    if (status == D4R_OK && version != 1)
        status = json_fail_value(source, "", "version", cJSON_GetObjectItemCaseSensitive(root, "version"),
                                 "1, the only version there is");
    if (status == D4R_OK) status = json_string(source, root, "", "name", JSON_OPTIONAL, &name);
    if (status == D4R_OK) status = json_size(source, root, "", "output", JSON_REQUIRED, &sequence->output);
    if (status == D4R_OK) status = read_conventions(source, root, &sequence->conventions);
    if (status == D4R_OK) status = read_bits(source, root, sequence);
    if (status == D4R_OK) status = read_scale(source, root, "", defaults->motion_scale);
    if (status == D4R_OK) status = json_positive(source, root, "", "pre_exposure", &defaults->pre_exposure);
    if (status == D4R_OK)
        status = json_pair(source, root, "", "jitter_sign", JSON_OPTIONAL, defaults->jitter_sign);
    if (status == D4R_OK && (fabs(defaults->jitter_sign[0]) != 1 || fabs(defaults->jitter_sign[1]) != 1))
        status =
            json_fail_value(source, "", "jitter_sign", cJSON_GetObjectItemCaseSensitive(root, "jitter_sign"),
                            "[x, y] with 1 or -1 each");
    if (status == D4R_OK) status = json_positive(source, root, "", "near", &near);
    if (status == D4R_OK) sequence->name = strdup(name ? name : "sequence");
    return status;
}

static d4r_status read_path(const json_source *source, const cJSON *object, const char *path, const char *key,
                            enum json_presence presence, char **target)
{
    const char *text = NULL;
    d4r_status status = json_string(source, object, path, key, presence, &text);
    if (status != D4R_OK || !text) return status;
    char *folder = cli_dirname(source->file);
    *target = folder ? cli_join(folder, text) : NULL;
    free(folder);
    return *target ? D4R_OK : d4r_fail(source->log, D4R_ERROR_MEMORY, "%s: no memory", source->file);
}

static d4r_status read_exposure(const json_source *source, const cJSON *object, const char *path,
                                cli_frame *frame, frame_defaults *defaults)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "exposure");
    double value = 1;
    d4r_status status = D4R_OK;
    if (!item || cJSON_IsNull(item)) return D4R_OK;
    if (cJSON_IsString(item)) {
        defaults->any_texture = true;
        return read_path(source, object, path, "exposure", JSON_OPTIONAL, &frame->exposure_file);
    }
    defaults->any_scalar = true;
    if (!cJSON_IsNumber(item))
        return json_fail_value(source, path, "exposure", item, "a positive number or a file name");
    status = json_positive(source, object, path, "exposure", &value);
    frame->settings.exposure = (float)value;
    frame->has_exposure = true;
    return status;
}

static d4r_status read_frame(const json_source *source, const cJSON *object, size_t index, cli_frame *frame,
                             frame_defaults *defaults)
{
    static const char *const known[] = {
        "color",        "motion", "depth",     "render",       "jitter",  "exposure", "camera",
        "pre_exposure", "reset",  "reference", "motion_scale", "comment", NULL};
    char path[32];
    double jitter[2] = {0, 0}, scale[2] = {defaults->motion_scale[0], defaults->motion_scale[1]};
    double pre_exposure = defaults->pre_exposure;
    d4r_size render = {0, 0};
    bool reset = false;
    snprintf(path, sizeof path, "frames[%zu]", index);
    if (!cJSON_IsObject(object)) return json_fail_value(source, path, "", object, "an object");
    json_warn_unknown(source, object, path, known);
    d4r_status status = json_size(source, object, path, "render", JSON_REQUIRED, &render);
    frame->settings = d4r_frame_settings_default(render);
    if (status == D4R_OK) status = read_path(source, object, path, "color", JSON_REQUIRED, &frame->color);
    if (status == D4R_OK) status = read_path(source, object, path, "motion", JSON_REQUIRED, &frame->motion);
    if (status == D4R_OK) status = read_path(source, object, path, "depth", JSON_REQUIRED, &frame->depth);
    if (status == D4R_OK)
        status = read_path(source, object, path, "reference", JSON_OPTIONAL, &frame->reference);
    if (status == D4R_OK) status = json_pair(source, object, path, "jitter", JSON_REQUIRED, jitter);
    if (status == D4R_OK) status = read_scale(source, object, path, scale);
    if (status == D4R_OK) status = json_positive(source, object, path, "pre_exposure", &pre_exposure);
    if (status == D4R_OK) status = json_bool(source, object, path, "reset", &reset);
    if (status == D4R_OK) status = read_exposure(source, object, path, frame, defaults);
    const cJSON *camera = cJSON_GetObjectItemCaseSensitive(object, "camera");
    if (status == D4R_OK && camera && !cJSON_IsObject(camera) && !cJSON_IsNull(camera))
        status = json_fail_value(source, path, "camera", camera, "an object");
    frame->settings.jitter = (d4r_vec2){(float)(jitter[0] * defaults->jitter_sign[0]),
                                        (float)(jitter[1] * defaults->jitter_sign[1])};
    frame->settings.motion_scale = (d4r_vec2){(float)scale[0], (float)scale[1]};
    frame->settings.pre_exposure = (float)pre_exposure;
    frame->settings.reset = reset;
    return status;
}

static d4r_status read_frames(const json_source *source, const cJSON *root, cli_sequence *sequence,
                              frame_defaults *defaults)
{
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(root, "frames"), *item;
    size_t index = 0;
    d4r_status status = D4R_OK;
    if (!cJSON_IsArray(frames)) return json_fail_value(source, "", "frames", frames, "an array of frames");
    int count = cJSON_GetArraySize(frames);
    if (count < 1 || count > MAX_FRAMES)
        return json_fail_value(source, "", "frames", count ? NULL : frames,
                               "an array of 1 to 1000000 frames");
    sequence->frames = calloc((size_t)count, sizeof *sequence->frames);
    if (!sequence->frames) return d4r_fail(source->log, D4R_ERROR_MEMORY, "%s: no memory", source->file);
    sequence->frame_count = (size_t)count;
    cJSON_ArrayForEach(item, frames)
    {
        if (status == D4R_OK) status = read_frame(source, item, index, &sequence->frames[index], defaults);
        index++;
    }
    return status;
}

/* Without an explicit mode, what the frames hold decides. */
static d4r_status decide_exposure(const json_source *source, const cJSON *root,
                                  const frame_defaults *defaults, d4r_conventions *conventions)
{
    if (defaults->any_scalar && defaults->any_texture)
        return json_fail(source, "frames[]", "exposure", "numbers and file names must not be mixed");
    if (cJSON_HasObjectItem(root, "exposure_mode")) return D4R_OK;
    if (defaults->any_scalar) conventions->exposure_mode = D4R_EXPOSURE_SCALAR;
    if (defaults->any_texture) conventions->exposure_mode = D4R_EXPOSURE_TEXTURE;
    return D4R_OK;
}

d4r_status cli_frames_json_parse(const char *file, const char *text, size_t size, const d4r_log *log,
                                 cli_sequence *sequence)
{
    json_source source = {file, log};
    frame_defaults defaults = {.motion_scale = {1, 1}, .pre_exposure = 1, .jitter_sign = {1, 1}};
    cJSON *root = NULL;
    memset(sequence, 0, sizeof *sequence);
    sequence->color_bits = sequence->motion_bits = sequence->reference_bits = 16;
    sequence->depth_bits = sequence->exposure_bits = 32;
    sequence->file = strdup(file);
    d4r_status status = json_parse(&source, text, size, &root);
    if (status == D4R_OK) status = read_sequence(&source, root, sequence, &defaults);
    if (status == D4R_OK) status = read_frames(&source, root, sequence, &defaults);
    if (status == D4R_OK) status = decide_exposure(&source, root, &defaults, &sequence->conventions);
    cJSON_Delete(root);
    if (status == D4R_OK && (!sequence->file || !sequence->name))
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", file);
    if (status != D4R_OK) cli_sequence_free(sequence);
    return status;
}
