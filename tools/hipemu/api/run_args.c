/* Kernel arguments from the command line. */
#include "run_args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(const char *text, const char *why)
{
    fprintf(stderr, "hipemu-run: --arg %s: %s (see --help)\n", text, why);
    return RUN_USAGE;
}

static int append(run_args *args, const char *text, const void *value, size_t size, size_t align)
{
    size_t at = (args->size + align - 1) / align * align;
    if (at + size > sizeof args->kernarg) return usage(text, "too many argument bytes");
    memcpy(args->kernarg + at, value, size);
    args->size = at + size;
    return RUN_OK;
}

/* ---- scalars ---- */

typedef struct scalar_type {
    const char *name;
    size_t size;
    int64_t minimum;
    uint64_t maximum;
} scalar_type;

static const scalar_type scalar_types[] = {
    {"i8", 1, INT8_MIN, INT8_MAX},    {"u8", 1, 0, UINT8_MAX},          {"i16", 2, INT16_MIN, INT16_MAX},
    {"u16", 2, 0, UINT16_MAX},        {"i32", 4, INT32_MIN, INT32_MAX}, {"u32", 4, 0, UINT32_MAX},
    {"i64", 8, INT64_MIN, INT64_MAX}, {"u64", 8, 0, UINT64_MAX},
};

static bool parse_integer(const char *value, const scalar_type *type, uint64_t *bits)
{
    char *end;
    errno = 0;
    if (value[0] == '-') {
        long long number = strtoll(value, &end, 0);
        *bits = (uint64_t)number;
        return end != value && !*end && !errno && number >= type->minimum;
    }
    *bits = strtoull(value, &end, 0);
    return end != value && !*end && !errno && *bits <= type->maximum;
}

/* True when the prefix names a scalar type; *status is then the result. */
static bool add_scalar(run_args *args, const char *text, const char *value, size_t prefix, int *status)
{
    if (prefix == 3 && (strncmp(text, "f32", 3) == 0 || strncmp(text, "f64", 3) == 0)) {
        char *end;
        double number = strtod(value, &end);
        float single = (float)number;
        bool wide = text[1] == '6';
        *status = end == value || *end ? usage(text, "not a number")
                  : wide               ? append(args, text, &number, 8, 8)
                                       : append(args, text, &single, 4, 4);
        return true;
    }
    for (size_t i = 0; i < sizeof scalar_types / sizeof scalar_types[0]; i++) {
        const scalar_type *type = &scalar_types[i];
        if (strlen(type->name) != prefix || strncmp(text, type->name, prefix) != 0) continue;
        uint64_t bits;
        *status = parse_integer(value, type, &bits) ? append(args, text, &bits, type->size, type->size)
                                                    : usage(text, "not a number of that type");
        return true;
    }
    return false;
}

/* ---- buffers ---- */

/* Offset of the data in a .npy file (0: it is none), by the format's published header. */
static size_t npy_data_offset(const unsigned char *data, size_t size)
{
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0) return 0;
    size_t header = data[6] == 1 ? data[8] | (size_t)data[9] << 8
                    : size >= 12
                        ? data[8] | (size_t)data[9] << 8 | (size_t)data[10] << 16 | (size_t)data[11] << 24
                        : SIZE_MAX / 2;
    size_t offset = header + (data[6] == 1 ? 10 : 12);
    return offset <= size ? offset : 0;
}

static int read_input(const char *path, run_buffer *buffer)
{
    FILE *file = fopen(path, "rbe");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    unsigned char *data = length > 0 ? aligned_alloc(4096, ((size_t)length + 4095) & ~(size_t)4095) : NULL;
    if (file) rewind(file);
    bool good = data && fread(data, 1, (size_t)length, file) == (size_t)length;
    if (file) fclose(file);
    if (!good) {
        fprintf(stderr, "hipemu-run: %s: cannot be read, or is empty\n", path);
        free(data);
        return RUN_BAD_INPUT;
    }
    size_t offset = npy_data_offset(data, (size_t)length);
    buffer->size = (size_t)length - offset;
    memmove(data, data + offset, buffer->size);
    buffer->data = data;
    buffer->written = true;
    if (buffer->size) return RUN_OK;
    fprintf(stderr, "hipemu-run: %s: holds no data\n", path);
    return RUN_BAD_INPUT;
}

/* zeros:BYTES, empty:BYTES, random:BYTES[:SEED] */
static int make_buffer(const char *text, const char *kind, const char *value, run_buffer *buffer)
{
    char *end;
    errno = 0;
    unsigned long long size = strtoull(value, &end, 0);
    uint64_t seed = 1;
    if (end != value && *end == ':' && strcmp(kind, "random") == 0) {
        value = end + 1;
        seed = strtoull(value, &end, 0);
    }
    if (end == value || *end || errno || !size || size > (1ull << 40))
        return usage(text, "expected a size in bytes");
    unsigned char *data = aligned_alloc(4096, (size + 4095) & ~4095ull);
    if (!data) {
        fprintf(stderr, "hipemu-run: --arg %s: out of memory\n", text);
        return RUN_FAILURE;
    }
    bool empty = strcmp(kind, "empty") == 0;
    memset(data, empty ? 0xff : 0, size);
    for (size_t i = 0; strcmp(kind, "random") == 0 && i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (unsigned char)(seed >> 56);
    }
    buffer->data = data;
    buffer->size = size;
    buffer->written = !empty;
    return RUN_OK;
}

static bool set_npy_type(run_buffer *buffer, const char *name)
{
    static const char *const names[][2] = {{"u8", "|u1"},  {"i8", "|i1"},  {"u16", "<u2"}, {"i16", "<i2"},
                                           {"f16", "<f2"}, {"u32", "<u4"}, {"i32", "<i4"}, {"f32", "<f4"},
                                           {"u64", "<u8"}, {"i64", "<i8"}, {"f64", "<f8"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], name) != 0) continue;
        strcpy(buffer->type, names[i][1]);
        return true;
    }
    return false;
}

/* The part after '>': FILE or FILE.npy:TYPE. */
static int set_output(run_buffer *buffer, const char *text, const char *output)
{
    buffer->output = strdup(output);
    if (!buffer->output) return RUN_FAILURE;
    strcpy(buffer->type, "|u1");
    char *colon = strrchr(buffer->output, ':');
    if (colon && colon - buffer->output > 4 && strncmp(colon - 4, ".npy", 4) == 0) {
        if (!set_npy_type(buffer, colon + 1)) return usage(text, "unknown element type after .npy:");
        *colon = 0;
    }
    size_t element = (size_t)(buffer->type[2] - '0');
    return buffer->size % element ? usage(text, "size is no multiple of the element type") : RUN_OK;
}

static int add_buffer(run_args *args, const char *text, char *kind, char *value)
{
    if (args->buffer_count == RUN_MAX_ARGS) return usage(text, "too many buffers");
    run_buffer *buffer = &args->buffers[args->buffer_count];
    memset(buffer, 0, sizeof *buffer);
    char *output = strchr(value, '>');
    if (output) *output++ = 0;
    bool made = strcmp(kind, "zeros") == 0 || strcmp(kind, "empty") == 0 || strcmp(kind, "random") == 0;
    int status = strcmp(kind, "in") == 0 ? read_input(value, buffer)
                 : made                  ? make_buffer(text, kind, value, buffer)
                                         : usage(text, "unknown kind of argument");
    if (status) return status;
    args->buffer_count++;
    buffer->source = text;
    uint64_t address = (uint64_t)(uintptr_t)buffer->data;
    status = output ? set_output(buffer, text, output) : RUN_OK;
    return status ? status : append(args, text, &address, 8, 8);
}

int run_args_add(run_args *args, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon) return usage(text, "expected KIND:VALUE");
    int status;
    if (add_scalar(args, text, colon + 1, (size_t)(colon - text), &status)) return status;
    char *copy = strdup(text);
    if (!copy) return RUN_FAILURE;
    copy[colon - text] = 0;
    status = add_buffer(args, text, copy, copy + (colon - text) + 1);
    free(copy);
    return status;
}

/* ---- outputs ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static bool write_npy_header(FILE *file, const run_buffer *buffer)
{
    char text[192];
    size_t count = buffer->size / (size_t)(buffer->type[2] - '0');
    int used = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }",
                        buffer->type, count);
    size_t total = ((size_t)used + 1 + 10 + 63) & ~(size_t)63; /* the format wants multiples of 64 */
    unsigned header = (unsigned)(total - 10);
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)header, (unsigned char)(header >> 8)};
    bool good = fwrite(start, 1, sizeof start, file) == sizeof start;
    good = good && fprintf(file, "%-*s\n", (int)header - 1, text) == (int)header;
    return good;
}

static bool write_output(const run_buffer *buffer)
{
    size_t length = strlen(buffer->output) + 32;
    char *temporary = malloc(length);
    if (!temporary) return false;
    snprintf(temporary, length, "%s.%ld.tmp", buffer->output, (long)getpid());
    FILE *file = fopen(temporary, "wbe");
    bool good = file != NULL;
    if (file) {
        if (ends_with(buffer->output, ".npy")) good = write_npy_header(file, buffer);
        good = good && fwrite(buffer->data, 1, buffer->size, file) == buffer->size;
        good = fclose(file) == 0 && good;
        good = good && rename(temporary, buffer->output) == 0;
        if (!good) unlink(temporary);
    }
    free(temporary);
    return good;
}

int run_args_write(const run_args *args)
{
    for (size_t i = 0; i < args->buffer_count; i++) {
        const run_buffer *buffer = &args->buffers[i];
        if (!buffer->output || write_output(buffer)) continue;
        fprintf(stderr, "hipemu-run: %s: cannot be written\n", buffer->output);
        return RUN_BAD_INPUT;
    }
    return RUN_OK;
}

void run_args_free(run_args *args)
{
    for (size_t i = 0; i < args->buffer_count; i++) {
        free(args->buffers[i].data);
        free(args->buffers[i].output);
    }
    args->buffer_count = 0;
}
