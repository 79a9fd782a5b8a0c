/* A preset's model directory by its description: dimensions, files, and how the packed images are made. */
#ifndef D4R_MODELS_FORMAT_PRESET_FORMAT_H
#define D4R_MODELS_FORMAT_PRESET_FORMAT_H

#include "models/format/manifest.h"

/* Dimensions as model.json states them; a list where one number a level is meant. */
typedef struct d4r_dimension {
    const char *key;
    int count;
    uint32_t values[6];
} d4r_dimension;

typedef struct d4r_preset_format {
    d4r_preset preset;
    const char *name; /* "M" */
    const d4r_dimension *dimensions;
    size_t dimension_count;
    uint64_t bytes[D4R_FILE_COUNT]; /* exactly; of weights.safetensors at most; 0: there is no such file */
    uint64_t parameters;
    /* Checks a safetensors file completely and makes weights.bin and hipnet.bin from it, those that the preset has. */
    d4r_status (*pack)(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                       uint8_t *stages, uint8_t *network);
    /* Checks lut.bin, which is not made from anything; NULL: there is none. */
    d4r_status (*check_tables)(const char *path, const uint8_t *tables, const d4r_log *log);
} d4r_preset_format;

/* NULL: unknown. */
const d4r_preset_format *d4r_preset_format_find(d4r_preset preset);
const d4r_preset_format *d4r_preset_format_named(const char *name);
/* The names for a message: "M" and "K". */
#define D4R_PRESET_NAMES "\"M\" or \"K\""

#endif
