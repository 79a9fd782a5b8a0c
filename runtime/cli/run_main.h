/* The program behind d4r-m and d4r-k. */
#ifndef D4R_RUNTIME_CLI_RUN_MAIN_H
#define D4R_RUNTIME_CLI_RUN_MAIN_H

#include "runtime/cli/run_options.h"

/* The process's exit code. */
int run_main(const run_tool *tool, int count, char **arguments);

#endif
