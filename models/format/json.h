/* Strict reading of small JSON objects with cJSON: every failure names file and field. */
#ifndef D4R_MODELS_FORMAT_JSON_H
#define D4R_MODELS_FORMAT_JSON_H

#include <cjson/cJSON.h>

#include "d4r/d4r.h"

/* Parses text[0..size) as one object and nothing else; duplicate keys at the top level are an error. `what`
 * names the text in messages ("model.json", "weights.safetensors: header"). NULL on failure (logged).
 * cJSON_Delete the result. */
cJSON *d4r_json_parse(const char *what, const char *text, size_t size, const d4r_log *log);

/* NULL, or the first key that occurs twice in the object. */
const char *d4r_json_duplicate(const cJSON *object);

/* True when item is a whole number in [0, 2^53], stored in *value. */
bool d4r_json_uint(const cJSON *item, uint64_t *value);

#endif
