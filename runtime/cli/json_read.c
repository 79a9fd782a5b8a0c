#include "runtime/cli/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JSON_BYTES ((size_t)64 << 20)

d4r_status json_fail(const json_source *source, const char *path, const char *key, const char *problem)
{
    return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: %s%s%s: %s", source->file, path,
                    path[0] && key[0] ? "." : "", key, problem);
}

d4r_status json_parse(const json_source *source, const char *text, size_t size, cJSON **root)
{
    const char *end = text;
    *root = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (!*root) {
        size_t line = 1, limit = end ? (size_t)(end - text) : 0;
        for (size_t i = 0; i < limit && i < size; i++) line += text[i] == '\n';
        return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: not valid JSON near line %zu", source->file, line);
    }
    if (!cJSON_IsObject(*root)) {
        cJSON_Delete(*root);
        *root = NULL;
        return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: must hold a JSON object", source->file);
    }
    return D4R_OK;
}

d4r_status json_load(const json_source *source, cJSON **root)
{
    void *text;
    size_t size;
    *root = NULL;
    d4r_status status = cli_read_file(source->file, NULL, MAX_JSON_BYTES, source->log, &text, &size);
    if (status != D4R_OK) return status;
    status = json_parse(source, text, size, root);
    free(text);
    return status;
}

/* The member, or NULL when it is absent or null; *status tells whether that is an error. */
static const cJSON *member(const json_source *source, const cJSON *object, const char *path, const char *key,
                           enum json_presence presence, d4r_status *status)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *status = D4R_OK;
    if (item && !cJSON_IsNull(item)) return item;
    if (presence == JSON_REQUIRED) *status = json_fail(source, path, key, "missing");
    return NULL;
}

d4r_status json_number(const json_source *source, const cJSON *object, const char *path, const char *key,
                       enum json_presence presence, double *value)
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, presence, &status);
    if (!item) return status;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return json_fail(source, path, key, "must be a finite number");
    *value = item->valuedouble;
    return D4R_OK;
}

d4r_status json_bool(const json_source *source, const cJSON *object, const char *path, const char *key,
                     bool *value)
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, JSON_OPTIONAL, &status);
    if (!item) return status;
    if (!cJSON_IsBool(item)) return json_fail(source, path, key, "must be true or false");
    *value = cJSON_IsTrue(item);
    return D4R_OK;
}

d4r_status json_string(const json_source *source, const cJSON *object, const char *path, const char *key,
                       enum json_presence presence, const char **value)
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, presence, &status);
    if (!item) return status;
    if (!cJSON_IsString(item) || !item->valuestring[0])
        return json_fail(source, path, key, "must be a non-empty string");
    *value = item->valuestring;
    return D4R_OK;
}

d4r_status json_choice(const json_source *source, const cJSON *object, const char *path, const char *key,
                       const char *const *names, int *value)
{
    const char *text = NULL;
    char problem[192] = "must be one of";
    d4r_status status = json_string(source, object, path, key, JSON_OPTIONAL, &text);
    if (status != D4R_OK || !text) return status;
    for (int i = 0; names[i]; i++) {
        if (!strcmp(names[i], text)) {
            *value = i;
            return D4R_OK;
        }
        size_t used = strlen(problem);
        snprintf(problem + used, sizeof problem - used, " \"%s\"", names[i]);
    }
    return json_fail(source, path, key, problem);
}

d4r_status json_pair(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, double value[2])
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, presence, &status);
    if (!item) return status;
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2)
        return json_fail(source, path, key, "must be an array of two numbers");
    for (int i = 0; i < 2; i++) {
        const cJSON *number = cJSON_GetArrayItem(item, i);
        if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble))
            return json_fail(source, path, key, "must be an array of two finite numbers");
        value[i] = number->valuedouble;
    }
    return D4R_OK;
}

d4r_status json_size(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, d4r_size *value)
{
    double pair[2] = {0, 0};
    d4r_status status = json_pair(source, object, path, key, presence, pair);
    if (status != D4R_OK || (pair[0] == 0 && pair[1] == 0 && !cJSON_HasObjectItem(object, key)))
        return status;
    for (int i = 0; i < 2; i++)
        if (!(pair[i] >= 1 && pair[i] <= 1000000) || pair[i] != floor(pair[i]))
            return json_fail(source, path, key, "must be [width, height] in whole pixels, at least 1");
    *value = (d4r_size){(uint32_t)pair[0], (uint32_t)pair[1]};
    return D4R_OK;
}

void json_warn_unknown(const json_source *source, const cJSON *object, const char *path,
                       const char *const *known)
{
    for (const cJSON *item = object->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string)) i++;
        if (!known[i] && item->string[0] != '_')
            d4r_log_print(source->log, D4R_LOG_WARNING, "%s: %s%s%.60s: unknown field, ignored", source->file,
                          path, path[0] ? "." : "", item->string);
    }
}

d4r_status json_save(cJSON *root, const char *path, const d4r_log *log)
{
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    size_t length = strlen(text);
    text[length] = '\n'; /* cJSON's buffer ends with the zero byte that is replaced here */
    d4r_status status = cli_write_file(path, text, length + 1, log);
    cJSON_free(text);
    return status;
}
