#include "runtime/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *d4r_utf8_json(const char *json)
{
    size_t length = strlen(json), used = 0;
    char *out = malloc(5 * length + 1); /* JSON writes a backslash as two */
    if (!out) return NULL;
    while (*json) {
        size_t bytes = d4r_utf8_length(json);
        if (bytes) {
            memcpy(out + used, json, bytes);
            used += bytes;
            json += bytes;
        } else {
            used += (size_t)snprintf(out + used, 6, "\\\\x%02x", (unsigned char)*json++);
        }
    }
    out[used] = 0;
    return out;
}
