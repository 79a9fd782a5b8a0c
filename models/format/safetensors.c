#include "models/format/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/json.h"
#include "runtime/base/log.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[D4R_DTYPE_COUNT] = {
    [D4R_DTYPE_F8_E4M3] = {"F8_E4M3", 1},
    [D4R_DTYPE_F16] = {"F16", 2},
    [D4R_DTYPE_BF16] = {"BF16", 2},
    [D4R_DTYPE_F32] = {"F32", 4},
};

const char *d4r_dtype_name(d4r_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t d4r_dtype_bytes(d4r_dtype dtype)
{
    return dtypes[dtype].bytes;
}

/* What the functions below share: where messages come from and go to. */
struct reader {
    const char *path;
    const d4r_log *log;
    uint64_t data_start, data_bytes;
};

static d4r_status fail_tensor(const struct reader *r, const char *name, const char *text)
{
    char printable[D4R_PRINTABLE_SIZE];
    return d4r_fail(r->log, D4R_ERROR_MODEL, "%s: tensor \"%s\": %s", r->path, d4r_printable(printable, name),
                    text);
}

static bool name_is_plain(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= D4R_TENSOR_NAME_SIZE) return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= 0x20 || name[i] >= 0x7f) return false;
    return true;
}

static d4r_status read_dtype(const struct reader *r, const cJSON *item, d4r_tensor *tensor)
{
    char text[160], printable[D4R_PRINTABLE_SIZE];
    if (!cJSON_IsString(item)) return fail_tensor(r, tensor->name, "dtype is not a string");
    for (int i = 0; i < D4R_DTYPE_COUNT; i++) {
        if (strcmp(item->valuestring, dtypes[i].name)) continue;
        tensor->dtype = (d4r_dtype)i;
        return D4R_OK;
    }
    snprintf(text, sizeof text, "dtype \"%s\"; convert it to F8_E4M3, F16, BF16 or F32",
             d4r_printable(printable, item->valuestring));
    return fail_tensor(r, tensor->name, text);
}

static d4r_status read_shape(const struct reader *r, const cJSON *array, d4r_tensor *tensor)
{
    const cJSON *item;
    if (!cJSON_IsArray(array)) return fail_tensor(r, tensor->name, "shape is not a list");
    tensor->elements = 1;
    cJSON_ArrayForEach(item, array)
    {
        uint64_t extent;
        if (tensor->dimensions == D4R_TENSOR_MAX_DIMENSIONS)
            return fail_tensor(r, tensor->name, "shape has more than 4 dimensions");
        if (!d4r_json_uint(item, &extent)) return fail_tensor(r, tensor->name, "shape holds no whole number");
        tensor->shape[tensor->dimensions++] = extent;
        if (__builtin_mul_overflow(tensor->elements, extent, &tensor->elements))
            return fail_tensor(r, tensor->name, "the product of its shape overflows");
    }
    return D4R_OK;
}

static d4r_status read_offsets(const struct reader *r, const cJSON *array, d4r_tensor *tensor)
{
    char text[160];
    uint64_t begin, end, bytes;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != 2 || !d4r_json_uint(array->child, &begin) ||
        !d4r_json_uint(array->child->next, &end))
        return fail_tensor(r, tensor->name, "data_offsets is not a pair of whole numbers");
    if (begin > end || end > r->data_bytes) {
        snprintf(text, sizeof text,
                 "data_offsets [%" PRIu64 ", %" PRIu64 "] leave the file's %" PRIu64 " bytes of data", begin,
                 end, r->data_bytes);
        return fail_tensor(r, tensor->name, text);
    }
    if (__builtin_mul_overflow(tensor->elements, (uint64_t)dtypes[tensor->dtype].bytes, &bytes) ||
        bytes != end - begin) {
        snprintf(text, sizeof text, "data_offsets span %" PRIu64 " bytes, but its shape and dtype do not",
                 end - begin);
        return fail_tensor(r, tensor->name, text);
    }
    tensor->offset = r->data_start + begin;
    tensor->bytes = bytes;
    return D4R_OK;
}

static d4r_status read_tensor(const struct reader *r, const cJSON *entry, d4r_tensor *tensor)
{
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL, *item;
    *tensor = (d4r_tensor){0};
    if (!name_is_plain(entry->string))
        return fail_tensor(r, entry->string, "its name must be 1 to 127 printable ASCII characters");
    strcpy(tensor->name, entry->string);
    if (!cJSON_IsObject(entry)) return fail_tensor(r, tensor->name, "its entry is not an object");
    cJSON_ArrayForEach(item, entry)
    {
        const cJSON **slot = !strcmp(item->string, "dtype")          ? &dtype
                             : !strcmp(item->string, "shape")        ? &shape
                             : !strcmp(item->string, "data_offsets") ? &offsets
                                                                     : NULL;
        if (!slot) return fail_tensor(r, tensor->name, "unknown key beside dtype, shape, data_offsets");
        if (*slot) return fail_tensor(r, tensor->name, "a key occurs twice in its entry");
        *slot = item;
    }
    if (!dtype || !shape || !offsets)
        return fail_tensor(r, tensor->name, "dtype, shape or data_offsets is missing");
    d4r_status status = read_dtype(r, dtype, tensor);
    if (status == D4R_OK) status = read_shape(r, shape, tensor);
    if (status == D4R_OK) status = read_offsets(r, offsets, tensor);
    return status;
}

static d4r_status check_metadata(const struct reader *r, const cJSON *entry)
{
    const cJSON *item;
    if (!cJSON_IsObject(entry))
        return d4r_fail(r->log, D4R_ERROR_MODEL, "%s: __metadata__ is not an object", r->path);
    cJSON_ArrayForEach(item, entry) if (!cJSON_IsString(item)) return d4r_fail(
        r->log, D4R_ERROR_MODEL, "%s: __metadata__ holds something else than strings", r->path);
    return D4R_OK;
}

static int by_offset(const void *a, const void *b)
{
    const d4r_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const d4r_tensor *)a)->name, ((const d4r_tensor *)b)->name);
}

/* Every byte behind the header belongs to exactly one tensor. */
static d4r_status check_cover(const struct reader *r, d4r_safetensors *st)
{
    uint64_t at = r->data_start;
    if (st->count) qsort(st->tensors, st->count, sizeof *st->tensors, by_offset);
    for (size_t i = 0; i < st->count; i++) {
        const d4r_tensor *tensor = &st->tensors[i];
        if (tensor->offset < at)
            return fail_tensor(r, tensor->name, "its data_offsets overlap another tensor's");
        if (tensor->offset > at)
            return fail_tensor(r, tensor->name, "its data_offsets leave a gap before it that no tensor owns");
        at += tensor->bytes;
    }
    if (at != r->data_start + r->data_bytes)
        return d4r_fail(r->log, D4R_ERROR_MODEL,
                        "%s: %" PRIu64 " bytes behind the last tensor belong to none", r->path,
                        r->data_start + r->data_bytes - at);
    if (st->count) qsort(st->tensors, st->count, sizeof *st->tensors, by_name);
    return D4R_OK;
}

static d4r_status read_entries(const struct reader *r, const cJSON *root, d4r_safetensors *out)
{
    size_t count = (size_t)cJSON_GetArraySize(root);
    if (count > D4R_SAFETENSORS_MAX_TENSORS)
        return d4r_fail(r->log, D4R_ERROR_MODEL, "%s: %zu tensors, more than %u", r->path, count,
                        D4R_SAFETENSORS_MAX_TENSORS);
    out->tensors = calloc(count + 1, sizeof *out->tensors);
    if (!out->tensors)
        return d4r_fail(r->log, D4R_ERROR_MEMORY, "%s: no memory for %zu tensors", r->path, count);
    const cJSON *entry;
    d4r_status status = D4R_OK;
    cJSON_ArrayForEach(entry, root)
    {
        if (!strcmp(entry->string, "__metadata__"))
            status = check_metadata(r, entry);
        else
            status = read_tensor(r, entry, &out->tensors[out->count++]);
        if (status != D4R_OK) return status;
    }
    return check_cover(r, out);
}

d4r_status d4r_safetensors_parse(const char *path, const uint8_t *data, size_t size, uint64_t file_size,
                                 const d4r_log *log, d4r_safetensors *out)
{
    *out = (d4r_safetensors){0};
    uint64_t length = 0;
    if (size < 8 || file_size < 8)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: too short to be a safetensors file", path);
    for (int i = 7; i >= 0; i--) length = length << 8 | data[i];
    if (length > D4R_SAFETENSORS_MAX_HEADER)
        return d4r_fail(log, D4R_ERROR_MODEL,
                        "%s: header length %" PRIu64 " is above %u: damaged, or not a safetensors file", path,
                        length, D4R_SAFETENSORS_MAX_HEADER);
    if (length > file_size - 8 || length > size - 8)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: header length %" PRIu64 " is larger than the file", path,
                        length);
    char *what;
    if (asprintf(&what, "%s: header", path) < 0)
        return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    cJSON *root = d4r_json_parse(what, (const char *)data + 8, (size_t)length, log);
    free(what);
    if (!root) return D4R_ERROR_MODEL;
    struct reader r = {path, log, 8 + length, file_size - 8 - length};
    d4r_status status = read_entries(&r, root, out);
    cJSON_Delete(root);
    if (status != D4R_OK) d4r_safetensors_free(out);
    return status;
}

void d4r_safetensors_free(d4r_safetensors *safetensors)
{
    free(safetensors->tensors);
    *safetensors = (d4r_safetensors){0};
}

const d4r_tensor *d4r_safetensors_find(const d4r_safetensors *safetensors, const char *name)
{
    d4r_tensor key = {0};
    if (strlen(name) >= sizeof key.name || !safetensors->count) return NULL;
    strcpy(key.name, name);
    return bsearch(&key, safetensors->tensors, safetensors->count, sizeof key, by_name);
}

static void print_header(FILE *stream, const d4r_tensor *tensors, size_t count, const char *const *metadata)
{
    uint64_t at = 0;
    const char *comma = "";
    fputc('{', stream);
    if (metadata && metadata[0]) {
        fputs("\"__metadata__\":{", stream);
        for (size_t i = 0; metadata[i]; i += 2)
            fprintf(stream, "%s\"%s\":\"%s\"", i ? "," : "", metadata[i], metadata[i + 1]);
        fputc('}', stream);
        comma = ",";
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", comma, tensors[i].name,
                d4r_dtype_name(tensors[i].dtype));
        for (uint32_t d = 0; d < tensors[i].dimensions; d++)
            fprintf(stream, "%s%" PRIu64, d ? "," : "", tensors[i].shape[d]);
        fprintf(stream, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + tensors[i].bytes);
        at += tensors[i].bytes;
        comma = ",";
    }
    fputc('}', stream);
    /* Pad with spaces so that the data starts at a multiple of 8 bytes, as other writers do. */
    while (ftell(stream) % 8) fputc(' ', stream);
}

d4r_status d4r_safetensors_encode(const d4r_tensor *tensors, const uint8_t *const *data, size_t count,
                                  const char *const *metadata, uint8_t **image, size_t *image_size)
{
    char *header = NULL;
    size_t length = 0, total;
    *image = NULL;
    FILE *stream = open_memstream(&header, &length);
    if (!stream) return D4R_ERROR_MEMORY;
    print_header(stream, tensors, count, metadata);
    if (fclose(stream)) {
        free(header);
        return D4R_ERROR_MEMORY;
    }
    total = 8 + length;
    for (size_t i = 0; i < count; i++) total += tensors[i].bytes;
    uint8_t *out = malloc(total);
    if (out) {
        for (int i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)length >> 8 * i);
        memcpy(out + 8, header, length);
        uint8_t *at = out + 8 + length;
        for (size_t i = 0; i < count; at += tensors[i++].bytes) memcpy(at, data[i], tensors[i].bytes);
        *image = out;
        *image_size = total;
    }
    free(header);
    return out ? D4R_OK : D4R_ERROR_MEMORY;
}
