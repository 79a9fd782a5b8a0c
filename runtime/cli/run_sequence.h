/* A run: frames through the upscaler, several in flight, results collected. */
#ifndef D4R_RUNTIME_CLI_RUN_SEQUENCE_H
#define D4R_RUNTIME_CLI_RUN_SEQUENCE_H

#include "runtime/cli/run_output.h"

typedef struct run_frame_result {
    bool finished;
    double seconds; /* between this frame's completion and the previous one's, first run */
    bool compared;
    double psnr, ssim;
    size_t not_finite; /* pixels of the output */
} run_frame_result;

typedef struct run_results {
    size_t count;
    run_frame_result *frames;
    double wall_seconds; /* all runs, loading and comparing included */
    double median_frame_seconds;
    d4r_memory_info memory;
    char description[256];
    run_profile profile;
} run_results;

/* Runs everything; pictures (may be NULL) and dump (may be NULL) must have begun. */
d4r_status run_sequence(const run_options *options, const cli_sequence *sequence, run_pictures *pictures,
                        run_dump *dump, run_results *results);
void run_results_free(run_results *results);

#endif
