/* d4r-m's command line. */
#ifndef D4R_RUNTIME_CLI_M_OPTIONS_H
#define D4R_RUNTIME_CLI_M_OPTIONS_H

#include "runtime/cli/hip_options.h"
#include "runtime/cli/sequence.h"

typedef struct m_options {
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
} m_options;

/* CLI_OK: go on. Else *done is true and the value is the exit code (--help and --version included). */
int m_options_parse(int count, char **arguments, m_options *options, bool *done);

#endif
