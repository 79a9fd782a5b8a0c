/* model.json: what a model directory says about itself. */
#ifndef D4R_MODELS_FORMAT_MANIFEST_H
#define D4R_MODELS_FORMAT_MANIFEST_H

#include "d4r/d4r.h"

#define D4R_MODEL_FORMAT_VERSION 1
#define D4R_MANIFEST_MAX_BYTES 65536u
#define D4R_MANIFEST_TEXT_SIZE 201 /* longest name or licence: 200 bytes */

typedef enum d4r_model_file {
    D4R_FILE_SAFETENSORS, /* weights.safetensors */
    D4R_FILE_STAGES,      /* weights.bin */
    D4R_FILE_NETWORK,     /* hipnet.bin */
    D4R_FILE_TABLES,      /* lut.bin */
    D4R_FILE_COUNT
} d4r_model_file;

extern const char *const d4r_model_file_names[D4R_FILE_COUNT];
#define D4R_MANIFEST_NAME "model.json"

typedef struct d4r_manifest {
    d4r_preset preset;
    char name[D4R_MANIFEST_TEXT_SIZE], licence[D4R_MANIFEST_TEXT_SIZE];
    struct {
        uint64_t size;
        char sha256[65]; /* empty: the preset has no such file */
    } files[D4R_FILE_COUNT];
} d4r_manifest;

/* Reads and checks; `path` is used in messages. */
d4r_status d4r_manifest_parse(const char *path, const char *text, size_t size, const d4r_log *log,
                              d4r_manifest *manifest);

/* The text of model.json, freed by the caller; NULL when memory is exhausted. */
char *d4r_manifest_print(const d4r_manifest *manifest);

/* NULL when the text may be a name or licence, else what is wrong with it. */
const char *d4r_manifest_text_problem(const char *text);

#endif
