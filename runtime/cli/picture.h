/* Sets of finished pictures: what d4r-m writes and d4r-compare reads. */
#ifndef D4R_RUNTIME_CLI_PICTURE_H
#define D4R_RUNTIME_CLI_PICTURE_H

#include "runtime/cli/image.h"

#define CLI_PICTURES_INDEX "outputs.json"

typedef struct cli_pictures {
    char *source;  /* the folder or file that was opened */
    d4r_size size; /* 0, 0: each file's own */
    bool ldr, ldr_known;
    bool packed10; /* raw files are RGB10A2 */
    uint32_t bits; /* of raw files */
    size_t count;
    size_t *frames; /* frame number of each picture */
    char **files;
} cli_pictures;

/* A folder with outputs.json, a frames.json or a folder with one (its references), a folder of .exr or .npy
 * files (sorted by name), or one .exr or .npy file. */
d4r_status cli_pictures_open(const char *path, const d4r_log *log, cli_pictures *pictures);
void cli_pictures_free(cli_pictures *pictures);
d4r_status cli_pictures_load(const cli_pictures *pictures, size_t index, const d4r_log *log,
                             cli_image *image);
/* The 8-bit RGB of a picture's display values. malloc'ed; NULL: no memory. */
uint8_t *cli_display_bytes(const cli_image *image, bool ldr);

#endif
