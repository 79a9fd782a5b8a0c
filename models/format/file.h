/* Reading files with a cap, SHA-256, and text made fit for a one-line message. */
#ifndef D4R_MODELS_FORMAT_FILE_H
#define D4R_MODELS_FORMAT_FILE_H

#include "d4r/d4r.h"

/* Reads a regular file completely; *data is freed by the caller. Errors: D4R_ERROR_MODEL (missing, not a
 * regular file, larger than `cap`), D4R_ERROR_IO, D4R_ERROR_MEMORY. The data is followed by a zero byte, not
 * counted. */
d4r_status d4r_file_read(const char *path, uint64_t cap, const d4r_log *log, uint8_t **data, size_t *size);

/* directory + "/" + name in fresh memory; NULL when memory is exhausted. */
char *d4r_path_join(const char *directory, const char *name);

void d4r_sha256_hex(const uint8_t *data, size_t size, char hex[65]);

/* Text from a file for a message: everything outside printable ASCII becomes '?', long text is cut. */
#define D4R_PRINTABLE_SIZE 72
const char *d4r_printable(char buffer[D4R_PRINTABLE_SIZE], const char *text);

#endif
