#include "runtime/cli/json_read.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/utf8.h"

#define MAX_JSON_BYTES ((size_t)64 << 20)
#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number
#define NESTING_LIMIT_TEXT TEXT_OF(CJSON_NESTING_LIMIT)

d4r_status json_fail(const json_source *source, const char *path, const char *key, const char *problem)
{
    return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: %s%s%s: %s", source->file, path,
                    path[0] && key[0] ? "." : "", key, problem);
}

/* cJSON prints numbers beyond a double's range as null; here they are told as inf. */
static void name_infinities(cJSON *item)
{
    if (cJSON_IsNumber(item) && !isfinite(item->valuedouble)) {
        item->type = cJSON_Raw;
        item->valuestring = cJSON_malloc(5);
        if (item->valuestring) strcpy(item->valuestring, item->valuedouble < 0 ? "-inf" : "inf");
    }
    for (cJSON *child = item->child; child; child = child->next) name_infinities(child);
}

/* A short text of the value that was found. */
static const char *found(const cJSON *item, char out[64])
{
    cJSON *copy = item ? cJSON_Duplicate(item, true) : NULL;
    if (copy) name_infinities(copy);
    char *text = copy ? cJSON_PrintUnformatted(copy) : NULL;
    cJSON_Delete(copy);
    size_t length = text ? strlen(text) : 0;
    snprintf(out, 64, length > 48 ? "%.45s..." : "%s", text ? text : "nothing");
    cJSON_free(text);
    return out;
}

d4r_status json_fail_value(const json_source *source, const char *path, const char *key, const cJSON *item,
                           const char *expected)
{
    char value[64];
    return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: %s%s%s: must be %s, found %s", source->file, path,
                    path[0] && key[0] ? "." : "", key, expected, found(item, value));
}

/* ---- whole files */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* cJSON keeps all members of one name and gives the first: nobody can have meant that. */
static d4r_status check_object(const json_source *source, const cJSON *object, const char *path)
{
    size_t count = (size_t)cJSON_GetArraySize(object), i = 0;
    const cJSON **items = malloc((count + 1) * sizeof *items), *item;
    if (!items) return d4r_fail(source->log, D4R_ERROR_MEMORY, "%s: no memory", source->file);
    cJSON_ArrayForEach(item, object) items[i++] = item;
    qsort(items, count, sizeof *items, by_name);
    d4r_status status = D4R_OK;
    for (i = 1; status == D4R_OK && i < count; i++)
        if (!strcmp(items[i]->string, items[i - 1]->string))
            status = d4r_fail(source->log, D4R_ERROR_INPUT, "%s: %s%s%.60s: given twice; leave one",
                              source->file, path, path[0] ? "." : "", items[i]->string);
    free(items);
    return status;
}

/* The tree is at most as deep as cJSON parses (1000). */
static d4r_status check_twice(const json_source *source, const cJSON *item, const char *path)
{
    const cJSON *child;
    char name[160];
    size_t index = 0;
    d4r_status status = cJSON_IsObject(item) ? check_object(source, item, path) : D4R_OK;
    cJSON_ArrayForEach(child, item)
    {
        if (status != D4R_OK) break;
        if (cJSON_IsArray(item))
            snprintf(name, sizeof name, "%.120s[%zu]", path, index);
        else
            snprintf(name, sizeof name, "%.80s%s%.60s", path, path[0] ? "." : "", child->string);
        if (child->child) status = check_twice(source, child, name);
        index++;
    }
    return status;
}

static size_t line_of(const char *text, const char *at)
{
    size_t line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* What cJSON gives no reason for, or takes and then cuts a string at: NULL, or the problem and where it is. */
static const char *text_problem(const char *text, size_t size, const char **at)
{
    size_t depth = 0;
    bool string = false;
    const char *end = text + size;
    for (*at = text; *at < end; ++*at) {
        const char c = **at;
        if (!c) return "a zero byte";
        if (c == '"')
            string = !string;
        else if (string && c == '\\' && end - *at >= 6 && !memcmp(*at + 1, "u0000", 5))
            return "a string with \\u0000, which no text here may hold";
        else if (string && c == '\\' && *at + 1 < end)
            ++*at;
        else if (!string && (c == '[' || c == '{') && ++depth > CJSON_NESTING_LIMIT)
            return "more than " NESTING_LIMIT_TEXT " arrays and objects inside each other";
        else if (!string && (c == ']' || c == '}') && depth)
            depth--;
    }
    return NULL;
}

d4r_status json_parse(const json_source *source, const char *text, size_t size, cJSON **root)
{
    const char *end = text, *problem = text_problem(text, size, &end);
    *root = NULL;
    if (problem)
        return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: line %zu: %s", source->file, line_of(text, end),
                        problem);
    *root = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (!*root)
        return d4r_fail(source->log, D4R_ERROR_INPUT, "%s: not valid JSON near line %zu", source->file,
                        end && end <= text + size ? line_of(text, end) : 1);
    while (end < text + size && strchr(" \t\r\n", *end) && *end) end++;
    d4r_status status = D4R_OK;
    if (end < text + size)
        status = d4r_fail(source->log, D4R_ERROR_INPUT, "%s: text after the end of the JSON, in line %zu",
                          source->file, line_of(text, end));
    else if (!cJSON_IsObject(*root))
        status = d4r_fail(source->log, D4R_ERROR_INPUT, "%s: must hold a JSON object", source->file);
    if (status == D4R_OK) status = check_twice(source, *root, "");
    if (status != D4R_OK) {
        cJSON_Delete(*root);
        *root = NULL;
        return status;
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

/* Every number that is read becomes a float sooner or later; FLT_MAX is 3.40282e38. */
#define FINITE(what) what " of at most 3.4e38 (finite as a float)"

static bool fits_float(double value)
{
    return fabs(value) <= (double)FLT_MAX;
}

d4r_status json_number(const json_source *source, const cJSON *object, const char *path, const char *key,
                       enum json_presence presence, double *value)
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, presence, &status);
    if (!item) return status;
    if (!cJSON_IsNumber(item)) return json_fail_value(source, path, key, item, "a number");
    if (!fits_float(item->valuedouble)) return json_fail_value(source, path, key, item, FINITE("a number"));
    *value = item->valuedouble;
    return D4R_OK;
}

d4r_status json_positive(const json_source *source, const cJSON *object, const char *path, const char *key,
                         double *value)
{
    d4r_status status = json_number(source, object, path, key, JSON_OPTIONAL, value);
    if (status == D4R_OK && !(*value >= 1e-30 && *value <= 1e30))
        return json_fail_value(source, path, key, cJSON_GetObjectItemCaseSensitive(object, key),
                               "positive (1e-30 to 1e30)");
    return status;
}

d4r_status json_bool(const json_source *source, const cJSON *object, const char *path, const char *key,
                     bool *value)
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, JSON_OPTIONAL, &status);
    if (!item) return status;
    if (!cJSON_IsBool(item)) return json_fail_value(source, path, key, item, "true or false");
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
        return json_fail_value(source, path, key, item, "a non-empty string");
    *value = item->valuestring;
    return D4R_OK;
}

d4r_status json_choice(const json_source *source, const cJSON *object, const char *path, const char *key,
                       const char *const *names, int *value)
{
    const char *text = NULL;
    char problem[192] = "one of";
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
    return json_fail_value(source, path, key, cJSON_GetObjectItemCaseSensitive(object, key), problem);
}

static d4r_status read_pair(const json_source *source, const cJSON *object, const char *path, const char *key,
                            enum json_presence presence, const char *expected, double value[2])
{
    d4r_status status;
    const cJSON *item = member(source, object, path, key, presence, &status);
    if (!item) return status;
    bool numbers = cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2;
    for (int i = 0; numbers && i < 2; i++) {
        const cJSON *number = cJSON_GetArrayItem(item, i);
        numbers = cJSON_IsNumber(number);
        value[i] = number->valuedouble;
    }
    return numbers ? D4R_OK : json_fail_value(source, path, key, item, expected);
}

d4r_status json_pair(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, double value[2])
{
    double pair[2] = {value[0], value[1]};
    d4r_status status = read_pair(source, object, path, key, presence, "an array of two numbers", pair);
    if (status == D4R_OK && !(fits_float(pair[0]) && fits_float(pair[1])))
        return json_fail_value(source, path, key, cJSON_GetObjectItemCaseSensitive(object, key),
                               FINITE("two numbers"));
    if (status == D4R_OK) memcpy(value, pair, sizeof pair);
    return status;
}

d4r_status json_size(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, d4r_size *value)
{
    static const char expected[] = "[width, height] in whole pixels, 1 to 1000000 each";
    double pair[2] = {0, 0};
    d4r_status status = read_pair(source, object, path, key, presence, expected, pair);
    if (status != D4R_OK || (pair[0] == 0 && pair[1] == 0 && !cJSON_HasObjectItem(object, key)))
        return status;
    for (int i = 0; i < 2; i++)
        if (!(pair[i] >= 1 && pair[i] <= 1000000) || pair[i] != floor(pair[i]))
            return json_fail_value(source, path, key, cJSON_GetObjectItemCaseSensitive(object, key),
                                   expected);
    *value = (d4r_size){(uint32_t)pair[0], (uint32_t)pair[1]};
    return D4R_OK;
}

#define TOO_LONG 1000000u

/* Edits that make one name of the other; TOO_LONG for long names. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[40];
    size_t columns = strlen(b);
    if (columns >= 40 || strlen(a) >= 40) return TOO_LONG;
    for (unsigned j = 0; j <= columns; j++) row[j] = j;
    for (; *a; a++) {
        unsigned diagonal = row[0]++;
        for (size_t j = 1; j <= columns; j++) {
            unsigned change = diagonal + (tolower((unsigned char)*a) != tolower((unsigned char)b[j - 1]));
            diagonal = row[j];
            unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[columns];
}

static const char *nearest(const char *name, const char *const *known)
{
    const char *best = NULL;
    unsigned least = (unsigned)strlen(name) / 3 + 1; /* further away it is a guess */
    for (int i = 0; known[i]; i++) {
        unsigned d = distance(name, known[i]);
        if (d == TOO_LONG || d > least || (best && d == least)) continue;
        least = d;
        best = known[i];
    }
    return best;
}

void json_warn_unknown(const json_source *source, const cJSON *object, const char *path,
                       const char *const *known)
{
    for (const cJSON *item = object->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string)) i++;
        if (known[i] || item->string[0] == '_') continue;
        const char *meant = nearest(item->string, known);
        d4r_log_print(source->log, D4R_LOG_WARNING, "%s: %s%s%.60s: unknown field, ignored%s%s%s",
                      source->file, path, path[0] ? "." : "", item->string, meant ? "; is '" : "",
                      meant ? meant : "", meant ? "' meant?" : "");
    }
}

char *json_text(cJSON *root)
{
    char *printed = root ? cJSON_Print(root) : NULL;
    char *text = printed ? d4r_utf8_json(printed) : NULL;
    cJSON_free(printed);
    cJSON_Delete(root);
    return text;
}

d4r_status json_save(cJSON *root, const char *path, const d4r_log *log)
{
    char *text = json_text(root);
    if (!text) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the zero byte */
    d4r_status status = cli_write_file(path, text, length + 1, log);
    free(text);
    return status;
}
