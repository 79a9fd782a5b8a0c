/* What d4r-m writes: pictures and their index, stage dumps, stage times. */
#ifndef D4R_RUNTIME_CLI_M_OUTPUT_H
#define D4R_RUNTIME_CLI_M_OUTPUT_H

#include <cjson/cJSON.h>
#include "runtime/cli/m_options.h"

/* ---- pictures */
typedef struct m_pictures {
    cli_folder folder;
    const m_options *options;
    const cli_sequence *sequence;
    cJSON *frames; /* of outputs.json */
} m_pictures;

d4r_status m_pictures_begin(m_pictures *pictures, const m_options *options, const cli_sequence *sequence);
/* `raw` is the output as it came from the upscaler, `image` the same as an image. */
d4r_status m_pictures_write(m_pictures *pictures, size_t frame, const void *raw, size_t bytes,
                            const cli_image *image);
/* Adds outputs.json: the folder is ready to be committed. */
d4r_status m_pictures_finish(m_pictures *pictures);
void m_pictures_abandon(m_pictures *pictures);

/* ---- dump */
typedef struct m_dump {
    cli_folder folder;
    d4r_status status; /* the first failure of the callback */
    uint64_t last_frame;
    bool any;
} m_dump;

d4r_status m_dump_begin(m_dump *dump, const char *path, bool force);
void m_dump_item(void *user, uint64_t frame, const d4r_dump_item *item); /* d4r_dump_fn */

/* ---- times */
typedef struct m_profile {
    size_t count, capacity;
    struct m_profile_frame {
        double submitted; /* seconds since the start of the run */
        d4r_frame_profile times;
    } * frames;
} m_profile;

d4r_status m_profile_add(m_profile *profile, double submitted, const d4r_frame_profile *times);
/* A folder of its own for the times: earlier times in it are replaced, other files stay. */
d4r_status m_profile_begin(cli_folder *folder, const char *path);
/* Writes stages.csv and trace.json. */
d4r_status m_profile_write(const m_profile *profile, const char *folder);
/* [{stage, clock, median_us, ...}] */
cJSON *m_profile_json(const m_profile *profile);
void m_profile_free(m_profile *profile);

#endif
