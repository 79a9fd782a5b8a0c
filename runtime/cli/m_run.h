/* d4r-m's run: frames through the upscaler, several in flight, results collected. */
#ifndef D4R_RUNTIME_CLI_M_RUN_H
#define D4R_RUNTIME_CLI_M_RUN_H

#include "runtime/cli/m_output.h"

typedef struct m_frame_result {
    bool finished;
    double seconds; /* between this frame's completion and the previous one's, first run */
    bool compared;
    double psnr, ssim;
    size_t not_finite; /* pixels of the output */
} m_frame_result;

typedef struct m_results {
    size_t count;
    m_frame_result *frames;
    double wall_seconds; /* all runs, loading and comparing included */
    double median_frame_seconds;
    d4r_memory_info memory;
    char description[256];
    m_profile profile;
} m_results;

/* Runs everything; pictures (may be NULL) and dump (may be NULL) must have begun. */
d4r_status m_run(const m_options *options, const cli_sequence *sequence, m_pictures *pictures, m_dump *dump,
                 m_results *results);
void m_results_free(m_results *results);

#endif
