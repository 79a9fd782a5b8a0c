/* Logging and failing inside the library: text goes to the caller's callback, the status is returned. */
#ifndef D4R_RUNTIME_BASE_LOG_H
#define D4R_RUNTIME_BASE_LOG_H

#include <stdarg.h>
#include "d4r/d4r.h"

/* Formats and passes one line (no trailing newline) to log->fn; a NULL log or NULL fn drops it.
 * Lines longer than 1023 bytes are cut. Thread safe if the callback is. */
void d4r_log_print(const d4r_log *log, d4r_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs the text at error level and returns `status`: `return d4r_fail(log, D4R_ERROR_IO, "%s: ...", path);`
 */
d4r_status d4r_fail(const d4r_log *log, d4r_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
