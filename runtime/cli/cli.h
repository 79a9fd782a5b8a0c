/* What every command line tool shares: exit codes, messages on stderr, outputs that appear only when complete,
 * interruption, parsing of option values. */
#ifndef D4R_RUNTIME_CLI_CLI_H
#define D4R_RUNTIME_CLI_CLI_H

#include <stdio.h>
#include "runtime/base/log.h"

enum {
    CLI_OK = 0,
    CLI_USAGE = 2,
    CLI_NO_DEVICE = 3, /* no suitable device or a needed feature is missing */
    CLI_BAD_MODEL = 4,
    CLI_BAD_INPUT = 5, /* also: a file or folder cannot be read or written */
    CLI_DEVICE = 6,    /* device, network or memory failure while running */
    CLI_INTERRUPTED = 130
};

int cli_exit_code(d4r_status status);

/* ---- messages */

/* Sets the tool's name for messages and the level that reaches stderr. */
void cli_start(const char *tool);
void cli_set_level(d4r_log_level level);
/* Writes "tool: error: line" to stderr; identical warnings are written once. Thread safe. */
const d4r_log *cli_log(void);
/* Error lines written so far. */
unsigned cli_error_count(void);
/* Logs "message; try 'tool --help'" and returns CLI_USAGE. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Redraws the progress line when stderr is a terminal; NULL clears it. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- interruption */

/* From now on SIGINT and SIGTERM set a flag (the second one ends the process). */
void cli_catch_signals(void);
bool cli_interrupted(void);

/* ---- strings and numbers */

char *cli_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* malloc'ed; NULL: no memory */
/* Folder of a path ("." when it has none), malloc'ed. */
char *cli_dirname(const char *path);
/* Base joined with relative; absolute `relative` alone. malloc'ed. */
char *cli_join(const char *base, const char *relative);
bool cli_ends_with(const char *text, const char *suffix); /* ASCII case ignored */
/* Whole-string parsers; false when anything else is in the text or the value is out of range or not finite. */
bool cli_parse_uint(const char *text, uint32_t low, uint32_t high, uint32_t *value);
bool cli_parse_number(const char *text, double *value);
bool cli_parse_pair(const char *text, double *first, double *second); /* "a,b" or "a" for both */

double cli_now(void); /* seconds, monotonic */

/* ---- files */

bool cli_is_directory(const char *path);
bool cli_exists(const char *path);
/* Reads a file of at most `limit` bytes; the buffer has one extra zero byte. `what` (may be NULL) names the
 * field that refers to the file. */
d4r_status cli_read_file(const char *path, const char *what, size_t limit, const d4r_log *log, void **data,
                         size_t *size);
/* Gives a finished temporary file its name, or removes it. A symbolic link is followed; what exists and is not a regular
 * file (a device, a FIFO, a folder) is refused with D4R_ERROR_IO. */
d4r_status cli_publish(const char *temporary, const char *path, const d4r_log *log);
/* Writes to a temporary name next to path and publishes it. */
d4r_status cli_write_file(const char *path, const void *data, size_t size, const d4r_log *log);
/* Whether a file could be created at path: for outputs that are written after a long run. */
d4r_status cli_check_writable(const char *path, const d4r_log *log);
/* Removes a folder and what is in it. Only for folders that this process made. */
void cli_remove_tree(const char *path);

/* An output folder that appears complete or not at all. Files are written into `temporary`; commit moves them
 * to `path`: by renaming the folder, or file by file when `path` exists. */
typedef struct cli_folder {
    char *path;
    char *temporary;
} cli_folder;

d4r_status cli_folder_begin(cli_folder *folder, const char *path, const d4r_log *log);
d4r_status cli_folder_commit(cli_folder *folder, const d4r_log *log);
void cli_folder_abandon(cli_folder *folder); /* after commit: only frees */

#endif
