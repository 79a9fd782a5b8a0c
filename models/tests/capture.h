/* Shared by the model tests: a log that keeps its lines, little-endian safetensors images from a header text.
 */
#ifndef D4R_MODELS_TESTS_CAPTURE_H
#define D4R_MODELS_TESTS_CAPTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "d4r/d4r.h"

struct capture {
    int errors, warnings;
    char error[1024], warning[1024]; /* the last of each */
};

static inline void capture_line(void *user, d4r_log_level level, const char *line)
{
    struct capture *capture = user;
    assert_null(strchr(line, '\n'));
    if (level == D4R_LOG_ERROR) {
        capture->errors++;
        snprintf(capture->error, sizeof capture->error, "%s", line);
    } else if (level == D4R_LOG_WARNING) {
        capture->warnings++;
        snprintf(capture->warning, sizeof capture->warning, "%s", line);
    }
}

static inline d4r_log capture_log(struct capture *capture)
{
    *capture = (struct capture){0};
    return (d4r_log){capture_line, capture, D4R_LOG_DEBUG};
}

/* Exactly one error line that contains `text`. */
static inline void assert_one_error(const struct capture *capture, const char *text)
{
    if (capture->errors != 1 || !strstr(capture->error, text))
        fail_msg("expected one error with \"%s\", got %d: \"%s\"", text, capture->errors, capture->error);
}

#endif
