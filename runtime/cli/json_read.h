/* Checked reading of JSON files: every error names the file and the field's path. */
#ifndef D4R_RUNTIME_CLI_JSON_READ_H
#define D4R_RUNTIME_CLI_JSON_READ_H

#include <cjson/cJSON.h>
#include "runtime/cli/cli.h"

typedef struct json_source {
    const char *file;
    const d4r_log *log;
} json_source;

/* Reads and parses; the root must be an object, nothing may follow it, and no object may hold a name twice. */
d4r_status json_load(const json_source *source, cJSON **root);
d4r_status json_parse(const json_source *source, const char *text, size_t size, cJSON **root);

/* "frames.json: frames[3].render: problem", D4R_ERROR_INPUT. `path` is the object's path ("" at the root). */
d4r_status json_fail(const json_source *source, const char *path, const char *key, const char *problem);

/* "frames.json: frames[3].render: must be EXPECTED, found VALUE". */
d4r_status json_fail_value(const json_source *source, const char *path, const char *key, const cJSON *item,
                           const char *expected);

/* Readers of one member. Absent (or null): *value stays as it is and D4R_OK, unless `required`. */
enum json_presence { JSON_OPTIONAL = 0, JSON_REQUIRED = 1 };
d4r_status json_number(const json_source *source, const cJSON *object, const char *path, const char *key,
                       enum json_presence presence, double *value);
d4r_status json_bool(const json_source *source, const cJSON *object, const char *path, const char *key,
                     bool *value);
/* Borrowed from the tree. */
d4r_status json_string(const json_source *source, const cJSON *object, const char *path, const char *key,
                       enum json_presence presence, const char **value);
/* One of `names` (NULL-terminated) -> index. */
d4r_status json_choice(const json_source *source, const cJSON *object, const char *path, const char *key,
                       const char *const *names, int *value);
/* [a, b], both finite as floats, as what json_number reads. */
d4r_status json_pair(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, double value[2]);
/* [width, height], integers in 1..1000000. */
d4r_status json_size(const json_source *source, const cJSON *object, const char *path, const char *key,
                     enum json_presence presence, d4r_size *value);
/* A number that a float holds as a positive one: 1e-30 to 1e30. */
d4r_status json_positive(const json_source *source, const cJSON *object, const char *path, const char *key,
                         double *value);
/* Warns about members that are not in `known` (NULL-terminated), and tells the known name that is nearest. */
void json_warn_unknown(const json_source *source, const cJSON *object, const char *path,
                       const char *const *known);

/* The tree as text that is valid UTF-8, whatever names it holds; frees the tree. malloc'ed; NULL: no memory. */
char *json_text(cJSON *root);
/* Writes json_text to a file through a temporary name; frees the tree. */
d4r_status json_save(cJSON *root, const char *path, const d4r_log *log);

#endif
