/* Options of the HIP network, shared by the runners. */
#ifndef D4R_RUNTIME_CLI_HIP_OPTIONS_H
#define D4R_RUNTIME_CLI_HIP_OPTIONS_H

#include <getopt.h>
#include "d4r/d4r.h"

enum {
    CLI_HIP_PLATFORM = 2000,
    CLI_HIP_LIBRARY,
    CLI_HIP_DEVICE,
    CLI_HIP_KERNELS,
    CLI_HIP_HANDOFF,
    CLI_HIP_COMPLETION,
    CLI_HIP_GRAPHS,
    CLI_HIP_LAST
};

/* clang-format off */
#define CLI_HIP_OPTIONS \
    {"hip-platform", required_argument, NULL, CLI_HIP_PLATFORM}, \
    {"hip-library", required_argument, NULL, CLI_HIP_LIBRARY}, \
    {"hip-device", required_argument, NULL, CLI_HIP_DEVICE}, \
    {"hip-kernels", required_argument, NULL, CLI_HIP_KERNELS}, \
    {"hip-handoff", required_argument, NULL, CLI_HIP_HANDOFF}, \
    {"hip-completion", required_argument, NULL, CLI_HIP_COMPLETION}, \
    {"hip-graphs", required_argument, NULL, CLI_HIP_GRAPHS}
/* clang-format on */
extern const char cli_hip_help[];

/* Handles one of the options; false for an unknown `option`. *good is false (and an error was logged) for a bad
 * value. Strings are kept by pointer. */
bool cli_hip_option(int option, const char *value, d4r_hip_network_params *params, bool *good);

/* The values as the options have them. */
typedef struct cli_hip_names {
    const char *platform, *handoff, *completion, *graphs;
} cli_hip_names;
cli_hip_names cli_hip_names_of(const d4r_hip_network_params *params);

#endif
