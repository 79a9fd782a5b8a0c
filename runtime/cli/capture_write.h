/* Writes a sequence in the engine capture layout. */
#ifndef D4R_RUNTIME_CLI_CAPTURE_WRITE_H
#define D4R_RUNTIME_CLI_CAPTURE_WRITE_H

#include "runtime/cli/sequence.h"

typedef struct cli_capture_options {
    uint32_t sequence;
    bool motion_half; /* vectors as f16 instead of f32 */
    bool references;  /* write ground_truth */
    bool force;       /* replace the sequence when it is there */
} cli_capture_options;

/* The folder must exist. Vectors become UV units, previous = current + motion, y down. */
d4r_status cli_capture_write(const cli_sequence *sequence, const cli_capture_options *options,
                             const char *folder, const d4r_log *log);

#endif
