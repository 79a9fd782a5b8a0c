#include "models/format/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/json.h"
#include "models/format/preset_format.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"

const char *const d4r_model_file_names[D4R_FILE_COUNT] = {"weights.safetensors", "weights.bin", "hipnet.bin",
                                                          "lut.bin"};

static d4r_status fail_field(const char *path, const char *field, const char *text, const d4r_log *log)
{
    return d4r_fail(log, D4R_ERROR_MODEL, "%s: %s: %s", path, field, text);
}

/* What a field holds, clipped, and what it should. */
static d4r_status fail_found(const char *path, const char *field, const cJSON *item, const char *needed,
                             const d4r_log *log)
{
    char clipped[41], printable[D4R_PRINTABLE_SIZE];
    char *text = item ? cJSON_PrintUnformatted(item) : NULL;
    snprintf(clipped, sizeof clipped, "%s", text ? text : item ? "?" : "missing");
    cJSON_free(text);
    return d4r_fail(log, D4R_ERROR_MODEL, "%s: %s: %s, but %s is needed", path, field,
                    d4r_printable(printable, clipped), needed);
}

const char *d4r_manifest_text_problem(const char *text)
{
    size_t length = strlen(text);
    if (length == 0) return "is empty";
    if (length >= D4R_MANIFEST_TEXT_SIZE) return "is longer than 200 bytes";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return "contains a control character";
    while (*text) {
        size_t bytes = d4r_utf8_length(text);
        if (!bytes) return "is not UTF-8";
        text += bytes;
    }
    return NULL;
}

static d4r_status read_text(const char *path, const cJSON *root, const char *field, const d4r_log *log,
                            char *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, field);
    if (!cJSON_IsString(item)) return fail_found(path, field, item, "a string", log);
    const char *problem = d4r_manifest_text_problem(item->valuestring);
    if (problem) return fail_field(path, field, problem, log);
    strcpy(out, item->valuestring);
    return D4R_OK;
}

static d4r_status read_version(const char *path, const cJSON *root, const d4r_log *log)
{
    uint64_t version;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "format_version");
    if (!d4r_json_uint(item, &version))
        return fail_found(path, "format_version", item, "a whole number", log);
    if (version != D4R_MODEL_FORMAT_VERSION)
        return d4r_fail(log, D4R_ERROR_MODEL,
                        "%s: format_version: %" PRIu64 ", but this library reads %d; pack the model again",
                        path, version, D4R_MODEL_FORMAT_VERSION);
    return D4R_OK;
}

static d4r_status read_preset(const char *path, const cJSON *root, const d4r_log *log, d4r_preset *preset)
{
    char printable[D4R_PRINTABLE_SIZE];
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "preset");
    if (!cJSON_IsString(item)) return fail_found(path, "preset", item, "a string", log);
    const d4r_preset_format *format = d4r_preset_format_named(item->valuestring);
    if (!format)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: preset: \"%s\", but this library reads " D4R_PRESET_NAMES,
                        path, d4r_printable(printable, item->valuestring));
    *preset = format->preset;
    return D4R_OK;
}

static bool dimension_matches(const cJSON *item, int count, const uint32_t *values)
{
    uint64_t number;
    if (count == 1) return d4r_json_uint(item, &number) && number == values[0];
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != count) return false;
    const cJSON *element = item->child;
    for (int i = 0; i < count; i++, element = element->next)
        if (!d4r_json_uint(element, &number) || number != values[i]) return false;
    return true;
}

static d4r_status fail_dimension(const char *path, const cJSON *item, const d4r_preset_format *format,
                                 const d4r_dimension *d, const d4r_log *log)
{
    char field[64], needed[96];
    int at = snprintf(needed, sizeof needed, "preset %s's %s", format->name, d->count == 1 ? "" : "[");
    for (int i = 0; i < d->count && at < (int)sizeof needed; i++)
        at += snprintf(needed + at, sizeof needed - (size_t)at, "%s%" PRIu32 "%s", i ? "," : "", d->values[i],
                       d->count > 1 && i + 1 == d->count ? "]" : "");
    snprintf(field, sizeof field, "dimensions.%s", d->key);
    return fail_found(path, field, item, needed, log);
}

static d4r_status read_dimensions(const char *path, const cJSON *root, const d4r_preset_format *format,
                                  const d4r_log *log)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "dimensions");
    if (!cJSON_IsObject(object)) return fail_field(path, "dimensions", "missing, or not an object", log);
    if (d4r_json_duplicate(object)) return fail_field(path, "dimensions", "a key occurs twice", log);
    if ((size_t)cJSON_GetArraySize(object) != format->dimension_count)
        return d4r_fail(log, D4R_ERROR_MODEL,
                        "%s: dimensions: not the dimensions of preset %s: fields missing or added", path,
                        format->name);
    for (size_t i = 0; i < format->dimension_count; i++) {
        const d4r_dimension *d = &format->dimensions[i];
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, d->key);
        if (!dimension_matches(item, d->count, d->values)) return fail_dimension(path, item, format, d, log);
    }
    return D4R_OK;
}

static bool is_sha256(const cJSON *item)
{
    return cJSON_IsString(item) && strlen(item->valuestring) == 64 &&
           strspn(item->valuestring, "0123456789abcdef") == 64;
}

static d4r_status read_file_entry(const char *path, const cJSON *entry, const d4r_preset_format *format,
                                  const d4r_log *log, d4r_manifest *manifest)
{
    char field[96], printable[D4R_PRINTABLE_SIZE];
    snprintf(field, sizeof field, "files.\"%s\"", d4r_printable(printable, entry->string));
    int index = 0;
    while (index < D4R_FILE_COUNT && strcmp(entry->string, d4r_model_file_names[index])) index++;
    if (index == D4R_FILE_COUNT || !format->bytes[index])
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: %s: not a file of a preset %s model", path, field,
                        format->name);
    if (!cJSON_IsObject(entry) || d4r_json_duplicate(entry))
        return fail_field(path, field, "not an object, or a key occurs twice", log);
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(entry, "size");
    const cJSON *hash = cJSON_GetObjectItemCaseSensitive(entry, "sha256");
    const size_t end = strlen(field);
    if (!d4r_json_uint(size, &manifest->files[index].size)) {
        snprintf(field + end, sizeof field - end, ".size");
        return fail_found(path, field, size, "a whole number of bytes, 0 or more,", log);
    }
    if (!is_sha256(hash)) {
        snprintf(field + end, sizeof field - end, ".sha256");
        return fail_found(path, field, hash, "a text of 64 lower-case hex digits", log);
    }
    strcpy(manifest->files[index].sha256, hash->valuestring);
    return D4R_OK;
}

static d4r_status read_files(const char *path, const cJSON *root, const d4r_preset_format *format,
                             const d4r_log *log, d4r_manifest *manifest)
{
    const cJSON *entry, *object = cJSON_GetObjectItemCaseSensitive(root, "files");
    if (!cJSON_IsObject(object)) return fail_field(path, "files", "missing, or not an object", log);
    if (d4r_json_duplicate(object)) return fail_field(path, "files", "a file is listed twice", log);
    cJSON_ArrayForEach(entry, object)
    {
        d4r_status status = read_file_entry(path, entry, format, log, manifest);
        if (status != D4R_OK) return status;
    }
    for (int i = 0; i < D4R_FILE_COUNT; i++)
        if (format->bytes[i] && !manifest->files[i].sha256[0])
            return d4r_fail(log, D4R_ERROR_MODEL, "%s: files: \"%s\" is not listed", path,
                            d4r_model_file_names[i]);
    return D4R_OK;
}

d4r_status d4r_manifest_parse(const char *path, const char *text, size_t size, const d4r_log *log,
                              d4r_manifest *manifest)
{
    *manifest = (d4r_manifest){0};
    cJSON *root = d4r_json_parse(path, text, size, log);
    if (!root) return D4R_ERROR_MODEL;
    d4r_status status = read_version(path, root, log);
    if (status == D4R_OK) status = read_preset(path, root, log, &manifest->preset);
    if (status == D4R_OK) status = read_text(path, root, "name", log, manifest->name);
    if (status == D4R_OK) status = read_text(path, root, "licence", log, manifest->licence);
    const d4r_preset_format *format = d4r_preset_format_find(manifest->preset);
    if (status == D4R_OK) status = read_dimensions(path, root, format, log);
    if (status == D4R_OK) status = read_files(path, root, format, log, manifest);
    cJSON_Delete(root);
    return status;
}

static bool add_dimensions(cJSON *root, const d4r_preset_format *format)
{
    cJSON *object = cJSON_AddObjectToObject(root, "dimensions");
    bool ok = object != NULL;
    for (size_t i = 0; ok && i < format->dimension_count; i++) {
        const d4r_dimension *d = &format->dimensions[i];
        if (d->count == 1) {
            ok = cJSON_AddNumberToObject(object, d->key, d->values[0]);
            continue;
        }
        cJSON *array = cJSON_AddArrayToObject(object, d->key);
        for (int k = 0; k < d->count; k++)
            ok = ok && cJSON_AddItemToArray(array, cJSON_CreateNumber(d->values[k]));
    }
    return ok;
}

static bool add_files(cJSON *root, const d4r_manifest *manifest)
{
    cJSON *object = cJSON_AddObjectToObject(root, "files");
    bool ok = object != NULL;
    for (int i = 0; ok && i < D4R_FILE_COUNT; i++) {
        if (!manifest->files[i].sha256[0]) continue;
        cJSON *entry = cJSON_AddObjectToObject(object, d4r_model_file_names[i]);
        ok = entry && cJSON_AddNumberToObject(entry, "size", (double)manifest->files[i].size) &&
             cJSON_AddStringToObject(entry, "sha256", manifest->files[i].sha256);
    }
    return ok;
}

char *d4r_manifest_print(const d4r_manifest *manifest)
{
    const d4r_preset_format *format = d4r_preset_format_find(manifest->preset);
    cJSON *root = cJSON_CreateObject();
    bool ok = root && cJSON_AddNumberToObject(root, "format_version", D4R_MODEL_FORMAT_VERSION) &&
              cJSON_AddStringToObject(root, "preset", format->name) &&
              cJSON_AddStringToObject(root, "name", manifest->name) &&
              cJSON_AddStringToObject(root, "licence", manifest->licence) && add_dimensions(root, format) &&
              add_files(root, manifest);
    char *json = ok ? cJSON_Print(root) : NULL, *text = NULL;
    if (json && asprintf(&text, "%s\n", json) < 0) text = NULL;
    cJSON_free(json);
    cJSON_Delete(root);
    return text;
}
