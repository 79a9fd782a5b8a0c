#include "runtime/base/log.h"

#include <stdio.h>

static void print_line(const d4r_log *log, d4r_log_level level, const char *format, va_list args)
{
    char line[1024];
    if (!log || !log->fn || level > log->level) return;
    vsnprintf(line, sizeof line, format, args);
    log->fn(log->user, level, line);
}

void d4r_log_print(const d4r_log *log, d4r_log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(log, level, format, args);
    va_end(args);
}

d4r_status d4r_fail(const d4r_log *log, d4r_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(log, D4R_LOG_ERROR, format, args);
    va_end(args);
    return status;
}
