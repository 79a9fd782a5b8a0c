#include "runtime/cli/capture_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "runtime/cli/json_read.h"

/* "2" for 640/320, "1_5" for 1.5: the nearest tenth. */
static void ratio_name(const cli_sequence *sequence, char name[16])
{
    double ratio = (double)sequence->output.width / sequence->frames[0].settings.render.width;
    int tenths = (int)lround(ratio * 10);
    if (tenths % 10)
        snprintf(name, 16, "%d_%d", tenths / 10 % 1000, tenths % 10);
    else
        snprintf(name, 16, "%d", tenths / 10 % 1000);
}

static d4r_status make_folders(const char *folder, const char *channel, uint32_t sequence, const d4r_log *log)
{
    char *path = cli_format("%s/%s/%04u", folder, channel, sequence);
    d4r_status status = path ? D4R_OK : d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", folder);
    for (char *slash = path ? strchr(path + strlen(folder) + 1, '/') : NULL; status == D4R_OK;
         slash = strchr(slash + 1, '/')) {
        if (slash) *slash = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            status = d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
        if (!slash) break;
        *slash = '/';
    }
    free(path);
    return status;
}

static d4r_status write_channel(const char *folder, const char *channel, uint32_t sequence, size_t frame,
                                const cli_image *image, cli_kind kind, const d4r_log *log)
{
    char *path = cli_format("%s/%s/%04u/%04zu.exr", folder, channel, sequence, frame);
    d4r_status status = path ? cli_exr_write(path, image, kind, log) : D4R_ERROR_MEMORY;
    free(path);
    return status;
}

/* Stored vectors -> UV, previous = current + motion, y down, without jitter. */
static d4r_status to_uv(const cli_sequence *sequence, size_t index, bool half, const d4r_log *log,
                        cli_image *motion)
{
    const d4r_conventions *conventions = &sequence->conventions;
    const d4r_frame_settings *settings = &sequence->frames[index].settings;
    double sign = conventions->motion_reversed ? -1 : 1;
    double factor[2] = {sign * (double)settings->motion_scale.x,
                        sign * (double)settings->motion_scale.y * (conventions->motion_flip_y ? -1 : 1)};
    double render[2] = {settings->render.width, settings->render.height};
    double output[2] = {sequence->output.width, sequence->output.height}, divisor[2];
    for (int i = 0; i < 2; i++)
        divisor[i] = conventions->motion_unit == D4R_MOTION_RENDER_PIXELS   ? render[i]
                     : conventions->motion_unit == D4R_MOTION_OUTPUT_PIXELS ? output[i]
                     : conventions->motion_unit == D4R_MOTION_UV            ? 1
                                                                            : 2;
    d4r_status status = cli_image_convert(motion, false, log);
    size_t count = (size_t)motion->size.width * motion->size.height;
    if (status != D4R_OK) return status;
    for (size_t i = 0; i < 2 * count; i++) {
        float *value = (float *)motion->data + i;
        *value = (float)((double)*value * factor[i & 1] / divisor[i & 1]);
    }
    return half ? cli_image_convert(motion, true, log) : D4R_OK;
}

static d4r_status write_frame(const cli_sequence *sequence, const cli_capture_options *options,
                              const char *folder, const char *ratio, size_t index, const d4r_log *log)
{
    char channel[40];
    cli_planes planes;
    d4r_status status = cli_planes_load(sequence, index, log, &planes);
    if (status != D4R_OK) return status;
    snprintf(channel, sizeof channel, "x%s/color", ratio);
    status = write_channel(folder, channel, options->sequence, index, &planes.color, CLI_COLOR, log);
    snprintf(channel, sizeof channel, "x%s/depth", ratio);
    if (status == D4R_OK)
        status = write_channel(folder, channel, options->sequence, index, &planes.depth, CLI_DEPTH, log);
    if (sequence->conventions.motion_at_output)
        snprintf(channel, sizeof channel, "motion_gt");
    else
        snprintf(channel, sizeof channel, "x%s/motion", ratio);
    if (status == D4R_OK) status = to_uv(sequence, index, options->motion_half, log, &planes.motion);
    if (status == D4R_OK)
        status = write_channel(folder, channel, options->sequence, index, &planes.motion, CLI_MOTION, log);
    cli_planes_free(&planes);
    if (status == D4R_OK && options->references && sequence->frames[index].reference) {
        cli_image reference;
        status = cli_reference_load(sequence, index, log, &reference);
        if (status != D4R_OK) return status;
        status = write_channel(folder, "ground_truth", options->sequence, index, &reference, CLI_COLOR, log);
        cli_image_free(&reference);
    }
    return status;
}

static void add_vector(cJSON *object, const char *name, double x, double y)
{
    cJSON *vector = cJSON_CreateObject();
    cJSON_AddNumberToObject(vector, "X", x);
    cJSON_AddNumberToObject(vector, "Y", y);
    if (name)
        cJSON_AddItemToObject(object, name, vector);
    else
        cJSON_AddItemToArray(object, vector);
}

static cJSON *frame_json(const cli_sequence *sequence, size_t index)
{
    const d4r_frame_settings *settings = &sequence->frames[index].settings;
    cJSON *frame = cJSON_CreateObject();
    double jx = (double)settings->jitter.x, jy = (double)settings->jitter.y;
    cJSON_AddNumberToObject(frame, "Frame", (double)index);
    add_vector(frame, "Jitter", jx, jy);
    cJSON *list = cJSON_AddArrayToObject(frame, "NormalizedPerRatioJitter");
    add_vector(list, NULL, jx / settings->render.width, jy / settings->render.height);
    cJSON_AddNumberToObject(frame, "CameraFarPlane", -1);
    cJSON_AddBoolToObject(frame, "CameraCut", settings->reset || index == 0);
    if (sequence->conventions.exposure_mode == D4R_EXPOSURE_SCALAR)
        cJSON_AddNumberToObject(frame, "Exposure", (double)settings->exposure);
    return frame;
}

static d4r_status write_description(const cli_sequence *sequence, const cli_capture_options *options,
                                    const char *folder, const char *ratio, const d4r_log *log)
{
    cJSON *root = cJSON_CreateObject();
    char key[32];
    add_vector(root, "TargetResolution", sequence->output.width, sequence->output.height);
    cJSON_AddBoolToObject(root, "ReverseZ", !sequence->conventions.depth_regular);
    cJSON_AddBoolToObject(root, "MotionVectorsDilated", false);
    cJSON_AddStringToObject(root, "GTColorSpace", "Linear");
    cJSON *samples = cJSON_AddObjectToObject(root, "Samples");
    cJSON_AddStringToObject(samples, "Sequence", "Halton");
    cJSON_AddNumberToObject(samples, "Count", (double)sequence->frame_count);
    cJSON_AddBoolToObject(samples, "Quantized", false);
    cJSON *indices = cJSON_AddObjectToObject(root, "UpscalingRatiosIndices");
    snprintf(key, sizeof key, "x%s_index", ratio);
    cJSON_AddNumberToObject(indices, key, 0);
    cJSON *frames = cJSON_AddArrayToObject(root, "Frames");
    for (size_t i = 0; i < sequence->frame_count; i++) cJSON_AddItemToArray(frames, frame_json(sequence, i));
    char *path = cli_format("%s/%04u.json", folder, options->sequence);
    if (!path) cJSON_Delete(root);
    d4r_status status = path ? json_save(root, path, log) : D4R_ERROR_MEMORY;
    free(path);
    return status;
}

static d4r_status check_convertible(const cli_sequence *sequence, const d4r_log *log)
{
    if (sequence->conventions.ldr)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: the capture layout holds linear colour only",
                        sequence->file);
    if (sequence->conventions.motion_jittered)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: the capture layout holds vectors without jitter only",
                        sequence->file);
    if (sequence->conventions.exposure_mode == D4R_EXPOSURE_TEXTURE)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: the capture layout has no exposure images",
                        sequence->file);
    for (size_t i = 0; i < sequence->frame_count; i++)
        if (sequence->frames[i].settings.pre_exposure != 1)
            return d4r_fail(log, D4R_ERROR_INPUT, "%s: frames[%zu].pre_exposure: the capture layout has none",
                            sequence->file, i);
    return D4R_OK;
}

d4r_status cli_capture_write(const cli_sequence *sequence, const cli_capture_options *options,
                             const char *folder, const d4r_log *log)
{
    static const char *const channels[] = {"color", "depth", "motion"};
    char ratio[16], channel[40];
    d4r_status status = check_convertible(sequence, log);
    ratio_name(sequence, ratio);
    for (int i = 0; status == D4R_OK && i < 3; i++) {
        bool full = i == 2 && sequence->conventions.motion_at_output;
        if (full)
            snprintf(channel, sizeof channel, "motion_gt");
        else
            snprintf(channel, sizeof channel, "x%s/%s", ratio, channels[i]);
        status = make_folders(folder, channel, options->sequence, log);
    }
    if (status == D4R_OK && options->references && sequence->reference_count)
        status = make_folders(folder, "ground_truth", options->sequence, log);
    for (size_t i = 0; status == D4R_OK && i < sequence->frame_count; i++) {
        status = write_frame(sequence, options, folder, ratio, i, log);
        cli_progress("frame %zu of %zu", i + 1, sequence->frame_count);
        if (cli_interrupted()) break;
    }
    cli_progress(NULL);
    if (status == D4R_OK) status = write_description(sequence, options, folder, ratio, log);
    return status;
}
