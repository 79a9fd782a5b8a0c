#include "models/format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "runtime/base/log.h"

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *d4r_json_duplicate(const cJSON *object)
{
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, object) count++;
    const char **keys = calloc(count + 1, sizeof *keys);
    if (!keys) return "(no memory to compare the keys)";
    count = 0;
    cJSON_ArrayForEach(item, object) keys[count++] = item->string ? item->string : "";
    qsort(keys, count, sizeof *keys, compare_keys);
    const char *found = NULL;
    for (size_t i = 1; i < count && !found; i++)
        if (!strcmp(keys[i - 1], keys[i])) found = keys[i];
    free(keys);
    return found;
}

cJSON *d4r_json_parse(const char *what, const char *text, size_t size, const d4r_log *log)
{
    char printable[D4R_PRINTABLE_SIZE];
    /* A zero byte, raw or escaped, would cut a C string short and make two different keys look the same. */
    if (memchr(text, 0, size) || memmem(text, size, "\\u0000", 6)) {
        d4r_fail(log, D4R_ERROR_MODEL, "%s: contains a zero byte", what);
        return NULL;
    }
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (!root) {
        size_t at = end && end >= text && end <= text + size ? (size_t)(end - text) : 0;
        d4r_fail(log, D4R_ERROR_MODEL, "%s: not valid JSON, or nested too deeply, near byte %zu", what, at);
        return NULL;
    }
    while (end < text + size && strchr(" \t\r\n", *end)) end++;
    const char *duplicate = NULL;
    if (end != text + size)
        d4r_fail(log, D4R_ERROR_MODEL, "%s: more text after the JSON object, at byte %zu", what,
                 (size_t)(end - text));
    else if (!cJSON_IsObject(root))
        d4r_fail(log, D4R_ERROR_MODEL, "%s: not a JSON object", what);
    else if ((duplicate = d4r_json_duplicate(root)))
        d4r_fail(log, D4R_ERROR_MODEL, "%s: \"%s\" occurs twice", what, d4r_printable(printable, duplicate));
    else
        return root;
    cJSON_Delete(root);
    return NULL;
}

bool d4r_json_uint(const cJSON *item, uint64_t *value)
{
    if (!cJSON_IsNumber(item)) return false;
    double number = item->valuedouble;
    if (!(number >= 0 && number <= 0x1p53) || number != floor(number)) return false;
    *value = (uint64_t)number;
    return true;
}
