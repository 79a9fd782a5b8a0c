/* A log that keeps its lines, so that tests can look for messages. */
#ifndef D4R_TESTS_CLI_CAPTURE_LOG_H
#define D4R_TESTS_CLI_CAPTURE_LOG_H

#include <stdio.h>
#include <string.h>
#include "d4r/d4r.h"

typedef struct kept_lines {
    char text[8192];
} kept_lines;

static inline void keep_line(void *user, d4r_log_level level, const char *line)
{
    kept_lines *kept = user;
    size_t used = strlen(kept->text);
    (void)level;
    snprintf(kept->text + used, sizeof kept->text - used, "%s\n", line);
}

static inline d4r_log keeping_log(kept_lines *kept)
{
    kept->text[0] = 0;
    return (d4r_log){keep_line, kept, D4R_LOG_DEBUG};
}

#endif
