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
/* The text with control characters, line breaks, direction overrides and bytes that are not UTF-8 as \n, \x1b, ...; every
 * message and progress line goes through it. Returns the length; cut at `size`. */
size_t cli_escape(const char *text, char *out, size_t size);
/* Redraws the progress line when stderr is a terminal; NULL clears it. */
void cli_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* While a step runs that takes long now and then: "text (N s)" on a terminal once it has taken half a second. */
void cli_busy_begin(const char *text);
void cli_busy_end(void);
/* Flushes standard output; when that fails, CLI_BAD_INPUT and an error line, else `code`. */
int cli_finish(int code);

/* ---- interruption */

/* From now on SIGINT, SIGTERM, SIGQUIT and SIGHUP (unless it is ignored) set a flag; the second one removes the temporary
 * outputs and ends the process. To be called before other threads start. */
void cli_catch_signals(void);
bool cli_interrupted(void);
/* What is removed when the process ends by a signal. */
void cli_temporary_add(const char *path);
void cli_temporary_drop(const char *path);
/* No signal ends the process between the two. */
void cli_commit_lock(void);
void cli_commit_unlock(void);

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
/* Makes an empty file next to path, under a name that nobody has; malloc'ed. NULL: an error was logged. */
char *cli_temporary_file(const char *path, const d4r_log *log);
/* Gives a finished temporary file its name, or removes it; frees the name. A symbolic link is followed; what exists and is
 * not a regular file (a device, a FIFO, a folder) is refused with D4R_ERROR_IO. */
d4r_status cli_publish(char *temporary, const char *path, const d4r_log *log);
/* Removes a temporary file and frees its name. */
void cli_discard(char *temporary);
/* Writes to a temporary name next to path and publishes it. */
d4r_status cli_write_file(const char *path, const void *data, size_t size, const d4r_log *log);
/* Every regular file of a folder is an input of this run, as what cli_read_file reads is: publishing and cli_check_writable
 * refuse to replace one (IO). */
void cli_note_inputs(const char *folder);
/* A file that this run will read. */
void cli_note_input(const char *path);
/* A file that was read only to know what may be replaced. */
void cli_forget_input(const char *path);
d4r_status cli_refuse_input(const char *path, const d4r_log *log);
/* Whether the folder that path lies in exists and can be written to; an error says "path: PROBLEM: why". */
d4r_status cli_check_parent(const char *path, const char *problem, const d4r_log *log);
/* Whether two paths, of things that may not exist yet, name one place. */
bool cli_same_place(const char *a, const char *b);
/* Whether a file could be created at path: for outputs that are written after a long run. */
d4r_status cli_check_writable(const char *path, const d4r_log *log);
/* Removes a folder and what is in it. Only for folders that this process made. */
void cli_remove_tree(const char *path);

/* What an existing output folder means. */
typedef enum cli_folder_mode {
    CLI_FOLDER_NEW, /* it must be empty */
    CLI_FOLDER_MERGE, /* other files stay; of those with the same name only the tool's own are replaced (`ours`) */
    CLI_FOLDER_FORCE /* --force: files with the same name are replaced, others stay */
} cli_folder_mode;

/* An output folder that appears complete or not at all. Files are written into `temporary`; commit moves them to `path`: by
 * renaming the folder, or, when `path` exists, file by file, after all have been checked; when one cannot be moved,
 * everything is put back. */
typedef struct cli_folder {
    char *path;
    char *temporary;
    cli_folder_mode mode;
    bool (*ours)(const char *name); /* an existing file that may be replaced; NULL: none */
    char **stale;                   /* names in `path` that commit removes */
    size_t stale_count;
} cli_folder;

d4r_status cli_folder_begin(cli_folder *folder, const char *path, cli_folder_mode mode, const d4r_log *log);
/* Whether a file of that name may be put into the folder: to find out before a long run. */
d4r_status cli_folder_check(const cli_folder *folder, const char *name, const d4r_log *log);
/* The same for everything in `temporary`. */
d4r_status cli_folder_ready(const cli_folder *folder, const d4r_log *log);
/* Commit will remove that file. */
d4r_status cli_folder_stale(cli_folder *folder, const char *name, const d4r_log *log);
d4r_status cli_folder_commit(cli_folder *folder, const d4r_log *log);
void cli_folder_abandon(cli_folder *folder); /* after commit: only frees */

#endif
