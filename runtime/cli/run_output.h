/* What a run writes: pictures and their index, stage dumps, stage times. */
#ifndef D4R_RUNTIME_CLI_RUN_OUTPUT_H
#define D4R_RUNTIME_CLI_RUN_OUTPUT_H

#include <cjson/cJSON.h>
#include "runtime/cli/run_options.h"

/* ---- pictures */

/* Names that a run writes. */
bool run_is_output_name(const char *name);

typedef struct run_pictures {
    cli_folder folder;
    const run_options *options;
    const cli_sequence *sequence;
    cJSON *frames; /* of outputs.json */
} run_pictures;

d4r_status run_pictures_begin(run_pictures *pictures, const run_options *options,
                              const cli_sequence *sequence);
/* `raw` is the output as it came from the upscaler, `image` the same as an image. */
d4r_status run_pictures_write(run_pictures *pictures, size_t frame, const void *raw, size_t bytes,
                              const cli_image *image);
/* Adds outputs.json: the folder is ready to be committed. */
d4r_status run_pictures_finish(run_pictures *pictures);
void run_pictures_abandon(run_pictures *pictures);

/* ---- dump */
typedef struct run_dump {
    cli_folder folder;
    d4r_status status; /* the first failure of the callback */
    uint64_t last_frame;
    bool any;
} run_dump;

d4r_status run_dump_begin(run_dump *dump, const char *path, bool force);
void run_dump_item(void *user, uint64_t frame, const d4r_dump_item *item); /* d4r_dump_fn */

/* ---- times */
typedef struct run_profile {
    size_t count, capacity;
    struct run_profile_frame {
        double submitted; /* seconds since the start of the run */
        d4r_frame_profile times;
    } * frames;
} run_profile;

d4r_status run_profile_add(run_profile *profile, double submitted, const d4r_frame_profile *times);
/* A folder of its own for the times: earlier times in it are replaced, other files stay. */
d4r_status run_profile_begin(cli_folder *folder, const char *path);
/* Writes stages.csv, trace.json and profile.json; the latter is `about`, which is taken over, with the stages added. */
d4r_status run_profile_write(const run_profile *profile, cJSON *about, const char *folder);
/* [{stage, clock, median_us, ...}] */
cJSON *run_profile_json(const run_profile *profile);
void run_profile_free(run_profile *profile);

#endif
