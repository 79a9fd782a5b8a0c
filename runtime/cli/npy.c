/* NumPy .npy files, format versions 1 to 3, little endian, C order. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/image.h"

#define MAX_HEADER 4096 /* of the dictionary; NumPy's own is about 100 bytes */
#define MAX_DIMENSIONS 4

typedef struct npy_header {
    char descr[16];
    bool fortran;
    uint32_t dimensions;
    uint64_t shape[MAX_DIMENSIONS];
    bool has_descr, has_order, has_shape;
} npy_header;

/* A cursor over the dictionary text; every reader checks `end`. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *text)
{
    while (text->at < text->end && isspace((unsigned char)*text->at)) text->at++;
}

static bool take(cursor *text, char wanted)
{
    skip_space(text);
    if (text->at >= text->end || *text->at != wanted) return false;
    text->at++;
    return true;
}

static bool take_string(cursor *text, char *out, size_t capacity)
{
    skip_space(text);
    if (text->at >= text->end || (*text->at != '\'' && *text->at != '"')) return false;
    char quote = *text->at++;
    size_t length = 0;
    while (text->at < text->end && *text->at != quote) {
        if (length + 1 >= capacity) return false;
        out[length++] = *text->at++;
    }
    out[length] = 0;
    return take(text, quote);
}

static bool take_word(cursor *text, const char *word)
{
    size_t length = strlen(word);
    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length)) return false;
    text->at += length;
    return true;
}

static bool take_integer(cursor *text, uint64_t *value)
{
    skip_space(text);
    if (text->at >= text->end || !isdigit((unsigned char)*text->at)) return false;
    *value = 0;
    while (text->at < text->end && isdigit((unsigned char)*text->at)) {
        if (*value > UINT32_MAX) return false;
        *value = *value * 10 + (uint64_t)(*text->at++ - '0');
    }
    return true;
}

static bool take_shape(cursor *text, npy_header *header)
{
    if (!take(text, '(')) return false;
    header->dimensions = 0;
    while (!take(text, ')')) {
        if (header->dimensions == MAX_DIMENSIONS) return false;
        if (!take_integer(text, &header->shape[header->dimensions++])) return false;
        if (!take(text, ',')) return take(text, ')');
    }
    return true;
}

static bool take_entry(cursor *text, npy_header *header)
{
    char key[32];
    if (!take_string(text, key, sizeof key) || !take(text, ':')) return false;
    if (!strcmp(key, "descr"))
        return header->has_descr = take_string(text, header->descr, sizeof header->descr);
    if (!strcmp(key, "shape")) return header->has_shape = take_shape(text, header);
    if (!strcmp(key, "fortran_order")) {
        header->fortran = take_word(text, "True");
        return header->has_order = header->fortran || take_word(text, "False");
    }
    return false;
}

static bool parse_dictionary(cursor text, npy_header *header)
{
    if (!take(&text, '{')) return false;
    while (!take(&text, '}')) {
        if (!take_entry(&text, header)) return false;
        if (!take(&text, ',')) {
            if (!take(&text, '}')) return false;
            break;
        }
    }
    skip_space(&text);
    return text.at == text.end && header->has_descr && header->has_shape && header->has_order;
}

/* Finds the dictionary; *start becomes the offset of the data. */
static const char *locate(const unsigned char *bytes, size_t size, cursor *text, size_t *start)
{
    size_t prefix, length;
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6)) return "not a .npy file (no \\x93NUMPY at its start)";
    if (bytes[6] == 1) {
        prefix = 10;
        length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    } else if (bytes[6] == 2 || bytes[6] == 3) {
        if (size < 12) return "truncated in its header";
        prefix = 12;
        length = (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    } else {
        return "an unknown .npy format version (1, 2 and 3 are read)";
    }
    if (length > size - prefix) return "truncated in its header";
    if (length > MAX_HEADER) return "a header longer than 4096 bytes";
    *text = (cursor){(const char *)bytes + prefix, (const char *)bytes + prefix + length};
    *start = prefix + length;
    return NULL;
}

/* Height, width and channels of a shape; false when it is no image. */
static bool image_shape(const npy_header *header, uint32_t wanted, d4r_size *size, uint32_t *channels)
{
    *channels = 1;
    if (header->dimensions == 3) {
        if (header->shape[2] < 1 || header->shape[2] > 4) return false;
        *channels = (uint32_t)header->shape[2];
    } else if (header->dimensions != 2) {
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (header->shape[i] < 1 || header->shape[i] > D4R_MAX_DIMENSION) return false;
    size->height = (uint32_t)header->shape[0];
    size->width = (uint32_t)header->shape[1];
    return *channels == wanted || (wanted == 4 && *channels == 3);
}

/* Copies, adding alpha 1 when the file has three channels. */
static void copy_pixels(const unsigned char *source, uint32_t channels, cli_image *image)
{
    size_t pixels = (size_t)image->size.width * image->size.height, unit = image->half ? 2 : 4;
    unsigned char *target = image->data;
    if (channels == image->channels) {
        memcpy(target, source, image->bytes);
        return;
    }
    for (size_t i = 0; i < pixels; i++) {
        memcpy(target + i * 4 * unit, source + i * 3 * unit, 3 * unit);
        if (image->half)
            memcpy(target + (i * 4 + 3) * unit, &(uint16_t){0x3c00}, 2);
        else
            memcpy(target + (i * 4 + 3) * unit, &(float){1}, 4);
    }
}

d4r_status cli_npy_parse(const char *path, const void *bytes, size_t size, const cli_expect *expect,
                         const d4r_log *log, cli_image *image)
{
    npy_header header = {0};
    cursor text = {NULL, NULL};
    size_t start = 0;
    d4r_size found;
    uint32_t channels, wanted = cli_kind_channels(expect->kind);
    memset(image, 0, sizeof *image);
    const char *problem = locate(bytes, size, &text, &start);
    if (problem) return d4r_fail(log, D4R_ERROR_INPUT, "%s: %s (%s)", path, problem, expect->field);
    if (!parse_dictionary(text, &header))
        return d4r_fail(log, D4R_ERROR_INPUT,
                        "%s: its header is not a dictionary of descr, fortran_order, shape (%s)", path,
                        expect->field);
    bool half = !strcmp(header.descr, "<f2");
    if (!half && strcmp(header.descr, "<f4"))
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: type '%.15s'; '<f2' and '<f4' are read (%s)", path,
                        header.descr, expect->field);
    if (header.fortran && header.dimensions > 1)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: Fortran order; save it in C order (%s)", path,
                        expect->field);
    if (!image_shape(&header, wanted, &found, &channels))
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: its shape is not [height, width%s] (%s)", path,
                        wanted == 4   ? ", 3 or 4"
                        : wanted == 2 ? ", 2"
                                      : "",
                        expect->field);
    if (expect->size.width && (found.width != expect->size.width || found.height != expect->size.height))
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: %ux%u pixels, but %ux%u are needed (%s)", path,
                        found.width, found.height, expect->size.width, expect->size.height, expect->field);
    size_t needed = (size_t)found.width * found.height * channels * (half ? 2 : 4);
    if (size - start != needed)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: %zu bytes of data, but its header needs %zu (%s)", path,
                        size - start, needed, expect->field);
    d4r_status status = cli_image_create(image, found, wanted, half, log);
    if (status == D4R_OK) copy_pixels((const unsigned char *)bytes + start, channels, image);
    return status;
}

d4r_status cli_npy_load(const char *path, const cli_expect *expect, const d4r_log *log, cli_image *image)
{
    void *bytes;
    size_t size;
    d4r_status status = cli_read_file(path, expect->field, (size_t)1 << 33, log, &bytes, &size);
    if (status != D4R_OK) return status;
    status = cli_npy_parse(path, bytes, size, expect, log, image);
    free(bytes);
    return status;
}

/* "|u1" may be written without its first character. */
static bool same_type(const char *descr, const char *dtype)
{
    return !strcmp(descr, dtype) || (dtype[0] == '|' && !strcmp(descr, dtype + 1));
}

static d4r_status parse_plain(const char *path, const char *field, const char *dtype,
                              const unsigned char *bytes, size_t size, const d4r_log *log, npy_header *header,
                              size_t *start)
{
    cursor text = {NULL, NULL};
    const char *problem = locate(bytes, size, &text, start);
    if (!problem && !parse_dictionary(text, header))
        problem = "its header is not a dictionary of descr, fortran_order, shape";
    if (!problem && !same_type(header->descr, dtype))
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: its type is '%.15s', not '%s' (%s)", path, header->descr,
                        dtype, field);
    if (!problem && header->fortran && header->dimensions > 1) problem = "Fortran order; save it in C order";
    if (!problem && header->dimensions == 0) problem = "it has no dimensions";
    if (problem) return d4r_fail(log, D4R_ERROR_INPUT, "%s: %s (%s)", path, problem, field);
    uint64_t needed = (uint64_t)(dtype[2] - '0');
    for (uint32_t i = 0; i < header->dimensions; i++) {
        if (header->shape[i] && needed > SIZE_MAX / header->shape[i]) needed = 0;
        needed *= header->shape[i];
    }
    if (needed == 0 || size - *start != needed)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: %zu bytes of data do not fit its shape (%s)", path,
                        size - *start, field);
    return D4R_OK;
}

d4r_status cli_npy_load_plain(const char *path, const char *field, const char *dtype, const d4r_log *log,
                              uint64_t shape[4], uint32_t *dimensions, uint8_t **data)
{
    npy_header header = {0};
    void *bytes;
    size_t size, start = 0;
    *data = NULL;
    d4r_status status = cli_read_file(path, field, (size_t)1 << 33, log, &bytes, &size);
    if (status != D4R_OK) return status;
    status = parse_plain(path, field, dtype, bytes, size, log, &header, &start);
    if (status == D4R_OK) {
        *data = malloc(size - start);
        if (!*data) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    }
    if (status == D4R_OK) {
        memcpy(*data, (unsigned char *)bytes + start, size - start);
        for (uint32_t i = 0; i < 4; i++) shape[i] = i < header.dimensions ? header.shape[i] : 1;
        *dimensions = header.dimensions;
    }
    free(bytes);
    return status;
}

d4r_status cli_npy_write(const char *path, const char *dtype, uint32_t dimensions, const uint64_t *shape,
                         const void *data, size_t bytes, const d4r_log *log)
{
    char shape_text[96] = "", header[256];
    int used = 0;
    for (uint32_t i = 0; i < dimensions; i++)
        used += snprintf(shape_text + used, sizeof shape_text - (size_t)used, "%" PRIu64 "%s", shape[i],
                         dimensions == 1      ? ","
                         : i + 1 < dimensions ? ", "
                                              : "");
    int length = snprintf(header + 10, sizeof header - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, shape_text);
    int total = (10 + length + 1 + 63) / 64 * 64; /* the data starts at a multiple of 64 */
    memset(header + 10 + length, ' ', (size_t)(total - 10 - length - 1));
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 255);
    header[9] = (char)((total - 10) >> 8);
    FILE *file = fopen(path, "wbe");
    bool good = file && fwrite(header, 1, (size_t)total, file) == (size_t)total &&
                (bytes == 0 || fwrite(data, 1, bytes, file) == bytes);
    int error = errno;
    if (file && fclose(file) && good) good = false, error = errno;
    return good ? D4R_OK : d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path, strerror(error));
}

d4r_status cli_npy_write_image(const char *path, const cli_image *image, const d4r_log *log)
{
    uint64_t shape[3] = {image->size.height, image->size.width, image->channels};
    return cli_npy_write(path, image->half ? "<f2" : "<f4", 3, shape, image->data, image->bytes, log);
}
