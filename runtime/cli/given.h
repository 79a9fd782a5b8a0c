/* Which options a command line holds, and which of them contradict each other. */
#ifndef D4R_RUNTIME_CLI_GIVEN_H
#define D4R_RUNTIME_CLI_GIVEN_H

#include <getopt.h>
#include "runtime/cli/cli.h"

/* Remembers "--name" and, with a value, "--name=value". */
void cli_given_option(const struct option *option, const char *value);
/* Remembers anything else: "REPEATS", "OUT '-'". */
void cli_given(const char *what);

typedef struct cli_conflict {
    const char *first, *second; /* a '*' at the end stands for anything */
    const char *reason;
} cli_conflict;

/* A usage error that names the first two given things which contradict each other, or CLI_OK. */
int cli_check_conflicts(const cli_conflict *table, size_t count);

/* The usage error of what getopt_long answered with '?' or ':' (an option string that starts with ':'). */
int cli_option_error(int answer, char **arguments);

#endif
