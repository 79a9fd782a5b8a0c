#include "runtime/cli/image.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/cli/half.h"

uint32_t cli_kind_channels(cli_kind kind)
{
    return kind == CLI_COLOR ? 4 : kind == CLI_MOTION ? 2 : 1;
}

const char *cli_kind_name(cli_kind kind)
{
    static const char *const names[] = {"colour", "motion", "depth", "exposure"};
    return names[kind];
}

void cli_image_free(cli_image *image)
{
    free(image->data);
    memset(image, 0, sizeof *image);
}

d4r_status cli_image_create(cli_image *image, d4r_size size, uint32_t channels, bool half, const d4r_log *log)
{
    size_t bytes;
    memset(image, 0, sizeof *image);
    if (__builtin_mul_overflow((size_t)size.width * channels * (half ? 2u : 4u), size.height, &bytes))
        return d4r_fail(log, D4R_ERROR_MEMORY, "an image of %ux%u is too large", size.width, size.height);
    image->data = calloc(1, bytes ? bytes : 1);
    if (!image->data)
        return d4r_fail(log, D4R_ERROR_MEMORY, "no memory for an image of %ux%u", size.width, size.height);
    image->size = size;
    image->channels = channels;
    image->half = half;
    image->bytes = bytes;
    return D4R_OK;
}

static size_t offset_of(const cli_image *image, uint32_t x, uint32_t y, uint32_t channel)
{
    return ((size_t)y * image->size.width + x) * image->channels + channel;
}

float cli_image_get(const cli_image *image, uint32_t x, uint32_t y, uint32_t channel)
{
    size_t at = offset_of(image, x, y, channel);
    return image->half ? cli_half_to_float(((const uint16_t *)image->data)[at])
                       : ((const float *)image->data)[at];
}

void cli_image_set(cli_image *image, uint32_t x, uint32_t y, uint32_t channel, float value)
{
    size_t at = offset_of(image, x, y, channel);
    if (image->half)
        ((uint16_t *)image->data)[at] = cli_float_to_half(value);
    else
        ((float *)image->data)[at] = value;
}

d4r_status cli_image_convert(cli_image *image, bool half, const d4r_log *log)
{
    cli_image other;
    size_t count = (size_t)image->size.width * image->size.height * image->channels;
    if (image->half == half) return D4R_OK;
    d4r_status status = cli_image_create(&other, image->size, image->channels, half, log);
    if (status != D4R_OK) return status;
    for (size_t i = 0; i < count; i++) {
        if (half)
            ((uint16_t *)other.data)[i] = cli_float_to_half(((const float *)image->data)[i]);
        else
            ((float *)other.data)[i] = cli_half_to_float(((const uint16_t *)image->data)[i]);
    }
    cli_image_free(image);
    *image = other;
    return D4R_OK;
}

d4r_plane cli_image_plane(const cli_image *image)
{
    static const d4r_pixel_format formats[2][5] = {
        {D4R_FORMAT_NONE, D4R_FORMAT_R32F, D4R_FORMAT_RG32F, D4R_FORMAT_NONE, D4R_FORMAT_RGBA32F},
        {D4R_FORMAT_NONE, D4R_FORMAT_NONE, D4R_FORMAT_RG16F, D4R_FORMAT_NONE, D4R_FORMAT_RGBA16F}};
    return (d4r_plane){.data = image->data,
                       .size = image->bytes,
                       .extent = image->size,
                       .format = image->data ? formats[image->half][image->channels] : D4R_FORMAT_NONE};
}

static void unpack10(const uint32_t *words, size_t count, float *rgba)
{
    for (size_t i = 0; i < count; i++) {
        for (unsigned c = 0; c < 3; c++) rgba[4 * i + c] = (float)(words[i] >> (10 * c) & 1023u) / 1023.0f;
        rgba[4 * i + 3] = (float)(words[i] >> 30) / 3.0f;
    }
}

static d4r_status raw_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image)
{
    uint32_t channels = cli_kind_channels(expect->kind);
    size_t pixels = (size_t)expect->size.width * expect->size.height, size = 0;
    size_t needed = expect->packed10 ? pixels * 4 : pixels * channels * expect->bits / 8;
    void *data = NULL;
    if (!pixels)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: a raw plane has no size of its own (%s)", path,
                        expect->field);
    /* A longer file is read up to a bound so that the message can tell its size. */
    d4r_status status = cli_read_file(path, expect->field, (size_t)1 << 33, log, &data, &size);
    if (status != D4R_OK) return status;
    if (size != needed) {
        free(data);
        if (expect->packed10)
            return d4r_fail(log, D4R_ERROR_INPUT, "%s: %zu bytes, but %ux%u RGB10A2 needs %zu (%s)", path,
                            size, expect->size.width, expect->size.height, needed, expect->field);
        return d4r_fail(log, D4R_ERROR_INPUT,
                        "%s: %zu bytes, but %ux%u with %u channel%s of %u bits needs %zu (%s)", path, size,
                        expect->size.width, expect->size.height, channels, channels > 1 ? "s" : "",
                        expect->bits, needed, expect->field);
    }
    if (expect->packed10) {
        status = cli_image_create(image, expect->size, 4, false, log);
        if (status == D4R_OK) unpack10(data, pixels, image->data);
        free(data);
        return status;
    }
    *image = (cli_image){expect->size, channels, expect->bits == 16, data, size};
    return D4R_OK;
}

d4r_status cli_image_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image)
{
    d4r_status status;
    memset(image, 0, sizeof *image);
    if (cli_ends_with(path, ".exr"))
        status = cli_exr_load(path, expect, log, image);
    else if (cli_ends_with(path, ".npy"))
        status = cli_npy_load(path, expect, log, image);
    else
        status = raw_load(path, expect, log, image);
    if (status == D4R_OK && (expect->kind == CLI_DEPTH || expect->kind == CLI_EXPOSURE))
        status = cli_image_convert(image, false, log);
    if (status != D4R_OK) cli_image_free(image);
    return status;
}
