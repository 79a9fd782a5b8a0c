#include <errno.h>
#include <openexr.h>
#include <string.h>
#include "runtime/cli/image.h"

typedef struct exr_target {
    exr_context_t context;
    const cli_image *image;
    cli_kind kind;
    const char *const *names; /* of the channels, in the image's order */
} exr_target;

static void ignore_message(exr_const_context_t context, exr_result_t code, const char *message)
{
    (void)context, (void)code, (void)message; /* the caller reports the code */
}

static exr_result_t write_header(exr_target *target)
{
    const cli_image *image = target->image;
    exr_context_t context = target->context;
    int part = 0;
    exr_result_t code = exr_add_part(context, "image", EXR_STORAGE_SCANLINE, &part);
    if (code == EXR_ERR_SUCCESS)
        code = exr_initialize_required_attr_simple(context, part, (int32_t)image->size.width,
                                                   (int32_t)image->size.height, EXR_COMPRESSION_ZIP);
    for (uint32_t i = 0; code == EXR_ERR_SUCCESS && i < image->channels; i++)
        code =
            exr_add_channel(context, part, target->names[i], image->half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT,
                            EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    return code == EXR_ERR_SUCCESS ? exr_write_header(context) : code;
}

static void aim(const exr_target *target, exr_encode_pipeline_t *encode, int32_t y)
{
    const cli_image *image = target->image;
    size_t unit = image->half ? 2 : 4, pixel = unit * image->channels, line = pixel * image->size.width;
    for (int c = 0; c < encode->channel_count; c++) {
        exr_coding_channel_info_t *info = &encode->channels[c];
        uint32_t k = 0;
        while (strcmp(info->channel_name, target->names[k])) k++;
        info->user_bytes_per_element = (int16_t)unit;
        info->user_data_type = image->half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
        info->user_pixel_stride = (int32_t)pixel;
        info->user_line_stride = (int32_t)line;
        info->encode_from_ptr = (const uint8_t *)image->data + (size_t)y * line + k * unit;
    }
}

static exr_result_t write_chunks(exr_target *target)
{
    exr_context_t context = target->context;
    exr_encode_pipeline_t encode = EXR_ENCODE_PIPELINE_INITIALIZER;
    int32_t lines = 1;
    exr_result_t code = exr_get_scanlines_per_chunk(context, 0, &lines);
    for (int32_t y = 0; code == EXR_ERR_SUCCESS && y < (int32_t)target->image->size.height; y += lines) {
        exr_chunk_info_t chunk;
        code = exr_write_scanline_chunk_info(context, 0, y, &chunk);
        if (code == EXR_ERR_SUCCESS)
            code = y ? exr_encoding_update(context, 0, &chunk, &encode)
                     : exr_encoding_initialize(context, 0, &chunk, &encode);
        if (code != EXR_ERR_SUCCESS) break;
        aim(target, &encode, y);
        if (!y) code = exr_encoding_choose_default_routines(context, 0, &encode);
        if (code == EXR_ERR_SUCCESS) code = exr_encoding_run(context, 0, &encode);
    }
    exr_encoding_destroy(context, &encode);
    return code;
}

d4r_status cli_exr_write(const char *path, const cli_image *image, cli_kind kind, const d4r_log *log)
{
    static const char *const color[] = {"R", "G", "B", "A"}, *const depth[] = {"R"};
    exr_target target = {NULL, image, kind, kind == CLI_COLOR || kind == CLI_MOTION ? color : depth};
    exr_context_initializer_t setup = EXR_DEFAULT_CONTEXT_INITIALIZER;
    setup.error_handler_fn = ignore_message;
    setup.zip_level = 4;
    errno = 0;
    exr_result_t code = exr_start_write(&target.context, path, EXR_WRITE_FILE_DIRECTLY, &setup);
    if (code == EXR_ERR_SUCCESS) code = write_header(&target);
    if (code == EXR_ERR_SUCCESS) code = write_chunks(&target);
    int error = errno;
    if (target.context) {
        exr_result_t closed = exr_finish(&target.context);
        if (code == EXR_ERR_SUCCESS) code = closed;
    }
    if (code == EXR_ERR_SUCCESS) return D4R_OK;
    const char *reason = error ? strerror(error) : exr_get_error_code_as_string(code);
    return d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path, reason);
}
