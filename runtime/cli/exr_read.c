/* OpenEXR files through the C core library: the first part, scanlines or one-level tiles. */
#include <openexr.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/image.h"

#define MAX_CHANNELS 4

typedef struct exr_file {
    exr_context_t context;
    const char *path, *field;
    const d4r_log *log;
    char reason[256]; /* the library's first message */
    exr_storage_t storage;
    exr_attr_box2i_t window;
    d4r_size size;
    const exr_attr_chlist_t *channels;
} exr_file;

static void keep_reason(exr_const_context_t context, exr_result_t code, const char *message)
{
    void *user = NULL;
    (void)code;
    exr_get_user_data(context, &user);
    exr_file *file = user;
    if (file && !file->reason[0]) snprintf(file->reason, sizeof file->reason, "%s", message);
}

static d4r_status fail(exr_file *file, exr_result_t code)
{
    const char *reason = file->reason[0] ? file->reason : exr_get_error_code_as_string(code);
    d4r_status status = code == EXR_ERR_OUT_OF_MEMORY ? D4R_ERROR_MEMORY
                        : code == EXR_ERR_FILE_ACCESS ? D4R_ERROR_IO
                                                      : D4R_ERROR_INPUT;
    return d4r_fail(file->log, status, "%s: not a readable OpenEXR file: %s (%s)", file->path, reason,
                    file->field);
}

static d4r_status refuse(exr_file *file, const char *problem)
{
    return d4r_fail(file->log, D4R_ERROR_INPUT, "%s: %s (%s)", file->path, problem, file->field);
}

static d4r_status check_compression(exr_file *file)
{
    static const char *const names[] = {"none",  "RLE", "ZIPS", "ZIP",  "PIZ",
                                        "PXR24", "B44", "B44A", "DWAA", "DWAB"};
    exr_compression_t compression;
    exr_result_t code = exr_get_compression(file->context, 0, &compression);
    if (code != EXR_ERR_SUCCESS) return fail(file, code);
    if ((unsigned)compression < EXR_COMPRESSION_DWAA) return D4R_OK;
    if ((unsigned)compression > EXR_COMPRESSION_DWAB) return refuse(file, "an unknown OpenEXR compression");
    return d4r_fail(file->log, D4R_ERROR_INPUT,
                    "%s: OpenEXR compression %s is not supported; save it with none, ZIP or PIZ (%s)",
                    file->path, names[compression], file->field);
}

static d4r_status read_header(exr_file *file)
{
    exr_result_t code = exr_get_storage(file->context, 0, &file->storage);
    if (code == EXR_ERR_SUCCESS) code = exr_get_data_window(file->context, 0, &file->window);
    if (code == EXR_ERR_SUCCESS) code = exr_get_channels(file->context, 0, &file->channels);
    if (code != EXR_ERR_SUCCESS) return fail(file, code);
    if (file->storage != EXR_STORAGE_SCANLINE && file->storage != EXR_STORAGE_TILED)
        return refuse(file, "a deep OpenEXR image; flat images are read");
    int64_t width = (int64_t)file->window.max.x - file->window.min.x + 1;
    int64_t height = (int64_t)file->window.max.y - file->window.min.y + 1;
    if (width < 1 || height < 1 || width > D4R_MAX_DIMENSION || height > D4R_MAX_DIMENSION)
        return refuse(file, "a data window outside 1..16384 pixels");
    file->size = (d4r_size){(uint32_t)width, (uint32_t)height};
    return check_compression(file);
}

static d4r_status open_file(exr_file *file)
{
    exr_context_initializer_t setup = EXR_DEFAULT_CONTEXT_INITIALIZER;
    setup.error_handler_fn = keep_reason;
    setup.user_data = file;
    setup.max_image_width = setup.max_image_height = (int)D4R_MAX_DIMENSION;
    if (!cli_exists(file->path))
        return d4r_fail(file->log, D4R_ERROR_IO, "%s: No such file or directory (%s)", file->path,
                        file->field);
    exr_result_t code = exr_start_read(&file->context, file->path, &setup);
    if (code != EXR_ERR_SUCCESS) return fail(file, code);
    return read_header(file);
}

d4r_status cli_exr_size(const char *path, const char *field, const d4r_log *log, d4r_size *size)
{
    exr_file file = {.path = path, .field = field, .log = log};
    d4r_status status = open_file(&file);
    *size = file.size;
    if (file.context) exr_finish(&file.context);
    return status;
}

/* ---- channels */

/* The channel with this name, or the only one whose last component (after '.') is this name; -1: none. */
static int find_channel(const exr_attr_chlist_t *list, const char *name)
{
    int found = -1;
    for (int i = 0; i < list->num_channels; i++) {
        const char *full = list->entries[i].name.str, *dot = strrchr(full, '.');
        if (!strcmp(full, name)) return i;
        if (dot && !strcmp(dot + 1, name)) {
            if (found >= 0) return -1;
            found = i;
        }
    }
    return found;
}

static bool find_all(const exr_attr_chlist_t *list, const char *const *names, int count, int *index)
{
    for (int i = 0; i < count; i++)
        if ((index[i] = find_channel(list, names[i])) < 0) return false;
    return true;
}

/* Maps the wanted channels; index[3] may stay -1 (no alpha). */
static bool map_channels(const exr_attr_chlist_t *list, cli_kind kind, int index[MAX_CHANNELS])
{
    static const char *const color[] = {"R", "G", "B"}, *const pairs[][2] = {
                                                            {"X", "Y"}, {"R", "G"}, {"U", "V"}};
    static const char *const depth[] = {"Z", "R", "Y", "V"}, *const exposure[] = {"Y", "R", "V", "X"};
    if (kind == CLI_COLOR) {
        index[3] = find_channel(list, "A");
        return find_all(list, color, 3, index);
    }
    if (kind == CLI_MOTION) {
        for (int i = 0; i < 3; i++)
            if (find_all(list, pairs[i], 2, index)) return true;
        return false;
    }
    for (int i = 0; i < 4; i++)
        if (find_all(list, kind == CLI_DEPTH ? &depth[i] : &exposure[i], 1, index)) return true;
    return false;
}

static d4r_status choose_channels(exr_file *file, cli_kind kind, int index[MAX_CHANNELS], bool *half)
{
    static const char *const wanted[] = {"R, G, B", "X, Y or R, G", "Z, R, Y or V", "Y, R, V or X"};
    if (!map_channels(file->channels, kind, index))
        return d4r_fail(file->log, D4R_ERROR_INPUT, "%s: no channels %s (%s)", file->path, wanted[kind],
                        file->field);
    *half = true;
    for (uint32_t i = 0; i < cli_kind_channels(kind); i++) {
        if (index[i] < 0) continue;
        const exr_attr_chlist_entry_t *channel = &file->channels->entries[index[i]];
        if (channel->x_sampling != 1 || channel->y_sampling != 1)
            return refuse(file, "a subsampled channel; save it at full resolution");
        if (channel->pixel_type != EXR_PIXEL_HALF) *half = false;
    }
    return D4R_OK;
}

/* ---- pixels */

typedef struct decode_target {
    cli_image *image;
    const int *index;
} decode_target;

/* Points the chunk's channels at their place in the image. */
static void aim(exr_file *file, exr_decode_pipeline_t *decode, const decode_target *target, int32_t x,
                int32_t y)
{
    cli_image *image = target->image;
    size_t unit = image->half ? 2 : 4, pixel = unit * image->channels, line = pixel * image->size.width;
    for (int c = 0; c < decode->channel_count; c++) {
        exr_coding_channel_info_t *info = &decode->channels[c];
        info->decode_to_ptr = NULL;
        for (uint32_t k = 0; k < image->channels; k++) {
            if (target->index[k] < 0) continue;
            if (strcmp(info->channel_name, file->channels->entries[target->index[k]].name.str)) continue;
            info->user_bytes_per_element = (int16_t)unit;
            info->user_data_type = image->half ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
            info->user_pixel_stride = (int32_t)pixel;
            info->user_line_stride = (int32_t)line;
            info->decode_to_ptr = (uint8_t *)image->data + (size_t)y * line + (size_t)x * pixel + k * unit;
        }
    }
}

static exr_result_t decode_chunk(exr_file *file, exr_decode_pipeline_t *decode, bool *started,
                                 const exr_chunk_info_t *chunk, const decode_target *target, int32_t x,
                                 int32_t y)
{
    exr_result_t code = *started ? exr_decoding_update(file->context, 0, chunk, decode)
                                 : exr_decoding_initialize(file->context, 0, chunk, decode);
    if (code != EXR_ERR_SUCCESS) return code;
    /* A chunk that does not fit would be written outside the image. */
    if (x < 0 || y < 0 || (int64_t)x + chunk->width > target->image->size.width ||
        (int64_t)y + chunk->height > target->image->size.height)
        return EXR_ERR_CORRUPT_CHUNK;
    aim(file, decode, target, x, y);
    if (!*started) code = exr_decoding_choose_default_routines(file->context, 0, decode);
    *started = true;
    return code == EXR_ERR_SUCCESS ? exr_decoding_run(file->context, 0, decode) : code;
}

static exr_result_t decode_scanlines(exr_file *file, exr_decode_pipeline_t *decode,
                                     const decode_target *target)
{
    int32_t lines = 0;
    bool started = false;
    exr_result_t code = exr_get_scanlines_per_chunk(file->context, 0, &lines);
    if (code == EXR_ERR_SUCCESS && lines < 1) code = EXR_ERR_FILE_BAD_HEADER;
    for (int32_t y = 0; code == EXR_ERR_SUCCESS && y < (int32_t)file->size.height; y += lines) {
        exr_chunk_info_t chunk;
        code = exr_read_scanline_chunk_info(file->context, 0, file->window.min.y + y, &chunk);
        if (code == EXR_ERR_SUCCESS) code = decode_chunk(file, decode, &started, &chunk, target, 0, y);
    }
    return code;
}

static exr_result_t decode_tiles(exr_file *file, exr_decode_pipeline_t *decode, const decode_target *target)
{
    int32_t width = 0, height = 0;
    bool started = false;
    exr_result_t code = exr_get_tile_sizes(file->context, 0, 0, 0, &width, &height);
    if (code == EXR_ERR_SUCCESS && (width < 1 || height < 1)) code = EXR_ERR_FILE_BAD_HEADER;
    if (code != EXR_ERR_SUCCESS) return code;
    int32_t columns = ((int32_t)file->size.width + width - 1) / width;
    int32_t rows = ((int32_t)file->size.height + height - 1) / height;
    for (int32_t i = 0; code == EXR_ERR_SUCCESS && i < columns * rows; i++) {
        exr_chunk_info_t chunk;
        code = exr_read_tile_chunk_info(file->context, 0, i % columns, i / columns, 0, 0, &chunk);
        if (code == EXR_ERR_SUCCESS)
            code = decode_chunk(file, decode, &started, &chunk, target, i % columns * width,
                                i / columns * height);
    }
    return code;
}

static d4r_status read_pixels(exr_file *file, const int *index, cli_image *image)
{
    exr_decode_pipeline_t decode = EXR_DECODE_PIPELINE_INITIALIZER;
    decode_target target = {image, index};
    exr_result_t code = file->storage == EXR_STORAGE_TILED ? decode_tiles(file, &decode, &target)
                                                           : decode_scanlines(file, &decode, &target);
    exr_decoding_destroy(file->context, &decode);
    return code == EXR_ERR_SUCCESS ? D4R_OK : fail(file, code);
}

static void fill_alpha(cli_image *image)
{
    size_t pixels = (size_t)image->size.width * image->size.height;
    for (size_t i = 0; i < pixels; i++) {
        if (image->half)
            ((uint16_t *)image->data)[4 * i + 3] = 0x3c00;
        else
            ((float *)image->data)[4 * i + 3] = 1;
    }
}

d4r_status cli_exr_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image)
{
    exr_file file = {.path = path, .field = expect->field, .log = log};
    int index[MAX_CHANNELS] = {-1, -1, -1, -1};
    bool half = false;
    memset(image, 0, sizeof *image);
    d4r_status status = open_file(&file);
    if (status == D4R_OK && expect->size.width &&
        (file.size.width != expect->size.width || file.size.height != expect->size.height))
        status = d4r_fail(log, D4R_ERROR_INPUT, "%s: %ux%u pixels, but %ux%u are needed (%s)", path,
                          file.size.width, file.size.height, expect->size.width, expect->size.height,
                          expect->field);
    if (status == D4R_OK) status = choose_channels(&file, expect->kind, index, &half);
    if (status == D4R_OK)
        status = cli_image_create(image, file.size, cli_kind_channels(expect->kind), half, log);
    if (status == D4R_OK) status = read_pixels(&file, index, image);
    if (status == D4R_OK && expect->kind == CLI_COLOR && index[3] < 0) fill_alpha(image);
    if (file.context) exr_finish(&file.context);
    if (status != D4R_OK) cli_image_free(image);
    return status;
}
