/* Images in host memory and the files they come from: raw planes, OpenEXR, NumPy. One loader for all. */
#ifndef D4R_RUNTIME_CLI_IMAGE_H
#define D4R_RUNTIME_CLI_IMAGE_H

#include "runtime/cli/cli.h"

/* What a file is read as; decides channel count and names. */
typedef enum cli_kind {
    CLI_COLOR,   /* RGBA, f16 or f32; alpha 1 when the file has none */
    CLI_MOTION,  /* x, y; f16 or f32 */
    CLI_DEPTH,   /* one channel, converted to f32 */
    CLI_EXPOSURE /* one channel, converted to f32 */
} cli_kind;

/* Tightly packed, rows top to bottom, interleaved. */
typedef struct cli_image {
    d4r_size size;
    uint32_t channels;
    bool half; /* values are f16, else f32 */
    void *data;
    size_t bytes;
} cli_image;

uint32_t cli_kind_channels(cli_kind kind);
const char *cli_kind_name(cli_kind kind);

void cli_image_free(cli_image *image); /* zeroes; zeroed content is fine */
/* Zero-filled. D4R_ERROR_MEMORY on overflow or lack of memory. */
d4r_status cli_image_create(cli_image *image, d4r_size size, uint32_t channels, bool half,
                            const d4r_log *log);
float cli_image_get(const cli_image *image, uint32_t x, uint32_t y, uint32_t channel);
void cli_image_set(cli_image *image, uint32_t x, uint32_t y, uint32_t channel, float value);
d4r_status cli_image_convert(cli_image *image, bool half, const d4r_log *log);
/* As a plane of the upscaler. */
d4r_plane cli_image_plane(const cli_image *image);

/* What is expected of a file. */
typedef struct cli_expect {
    const char *field; /* "frames[3].color": named in messages */
    cli_kind kind;
    d4r_size size; /* 0, 0: whatever the file has (not for raw planes) */
    uint32_t bits; /* of raw planes: 16 or 32 */
    bool packed10; /* raw plane of RGB10A2 instead */
} cli_expect;

/* By the file's name: .exr, .npy, anything else is a raw plane. */
d4r_status cli_image_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image);

/* ---- one file format each (used by cli_image_load) */
d4r_status cli_npy_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image);
/* The same from memory; `bytes` need not be terminated. */
d4r_status cli_npy_parse(const char *path, const void *bytes, size_t size, const cli_expect *expect,
                         const d4r_log *log, cli_image *image);
d4r_status cli_exr_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image);
/* Only the size, from the header. */
d4r_status cli_exr_size(const char *path, const char *field, const d4r_log *log, d4r_size *size);

/* An array of one type ("|u1", "<f2") in C order: its shape, unused dimensions 1, and malloc'ed data. */
d4r_status cli_npy_load_plain(const char *path, const char *field, const char *dtype, const d4r_log *log,
                              uint64_t shape[4], uint32_t *dimensions, uint8_t **data);

/* ---- writers; each writes the file under its name at once (callers write into a temporary folder) */
d4r_status cli_npy_write(const char *path, const char *dtype, uint32_t dimensions, const uint64_t *shape,
                         const void *data, size_t bytes, const d4r_log *log);
d4r_status cli_npy_write_image(const char *path, const cli_image *image, const d4r_log *log);
/* Channels by kind: R, G, B, A / R, G / R; ZIP compressed. */
d4r_status cli_exr_write(const char *path, const cli_image *image, cli_kind kind, const d4r_log *log);
/* 8-bit RGB, `rgb` tightly packed. */
d4r_status cli_png_write(const char *path, d4r_size size, const uint8_t *rgb, const d4r_log *log);

#endif
