/* The command line of d4r-m and d4r-k. */
#ifndef D4R_RUNTIME_CLI_RUN_OPTIONS_H
#define D4R_RUNTIME_CLI_RUN_OPTIONS_H

#include "runtime/cli/hip_options.h"
#include "runtime/cli/sequence.h"

/* What tells the two programs apart. */
typedef struct run_tool {
    const char *name; /* "d4r-m" */
    d4r_preset preset;
    const char *output_stage; /* the stage that writes the output, for dumps */
} run_tool;

typedef struct run_options {
    const run_tool *tool;
    const char *model, *frames, *out; /* out NULL: "-", no readback */
    uint32_t repeats;
    d4r_network_kind network;
    const char *network_name; /* as given; NULL: not given */
    const char *device, *json, *dump, *profile_folder;
    bool png, exr, npy, no_raw;
    bool reset_all, check, check_only, force, validate, validate_inputs, exact_filter, profile;
    d4r_pixel_format format;
    uint32_t frames_in_flight, threads, watchdog_ms;
    d4r_hip_network_params hip;
    cli_sequence_options sequence;
} run_options;

/* CLI_OK: go on. Else *done is true and the value is the exit code (--help and --version included). */
int run_options_parse(const run_tool *tool, int count, char **arguments, run_options *options, bool *done);

#endif
