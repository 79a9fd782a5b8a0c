#include "models/format/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/preset_format.h"
#include "runtime/base/log.h"

#define NETWORK_ALIGNMENT 256
#define STAGE_ALIGNMENT 64

static uint8_t *allocate_aligned(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

/* Reads one file of the directory and holds it against model.json. */
static d4r_status read_listed(const char *directory, const d4r_manifest *manifest, d4r_model_file file,
                              const d4r_log *log, uint8_t **data, size_t *size)
{
    char hex[65];
    const d4r_preset_format *format = d4r_preset_format_find(manifest->preset);
    char *path = d4r_path_join(directory, d4r_model_file_names[file]);
    if (!path) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    d4r_status status = d4r_file_read(path, format->bytes[file], log, data, size);
    if (status == D4R_OK && file != D4R_FILE_SAFETENSORS && *size != format->bytes[file])
        status = d4r_fail(log, D4R_ERROR_MODEL,
                          "%s: %zu bytes, but preset %s's has %" PRIu64 "; copy or pack the model again",
                          path, *size, format->name, format->bytes[file]);
    if (status == D4R_OK && *size != manifest->files[file].size)
        status = d4r_fail(log, D4R_ERROR_MODEL,
                          "%s: %zu bytes, but model.json says %" PRIu64 "; copy or pack the model again",
                          path, *size, manifest->files[file].size);
    if (status == D4R_OK) {
        d4r_sha256_hex(*data, *size, hex);
        if (strcmp(hex, manifest->files[file].sha256))
            status =
                d4r_fail(log, D4R_ERROR_MODEL,
                         "%s: its SHA-256 is not the one in model.json; copy or pack the model again", path);
    }
    free(path);
    return status;
}

/* The packed images must be what weights.safetensors packs to. That also proves that they hold no NaN and no
 * infinity: the tensors were checked value by value when they were read. */
static d4r_status compare_packed(const char *directory, d4r_model_file file, const uint8_t *have,
                                 const uint8_t *want, size_t size, const d4r_log *log)
{
    size_t at = 0;
    while (at < size && have[at] == want[at]) at++;
    if (at == size) return D4R_OK;
    return d4r_fail(log, D4R_ERROR_MODEL,
                    "%s/%s: byte %zu is not what weights.safetensors packs to; pack the model again",
                    directory, d4r_model_file_names[file], at);
}

static d4r_status check_packed(const char *directory, const d4r_manifest *manifest, d4r_model_file file,
                               const uint8_t *want, size_t want_size, const d4r_log *log)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (!want) return D4R_OK; /* the preset has no such file */
    d4r_status status = read_listed(directory, manifest, file, log, &data, &size);
    if (status == D4R_OK) status = compare_packed(directory, file, data, want, want_size, log);
    free(data);
    return status;
}

static d4r_status allocate_images(const char *directory, const d4r_preset_format *format, const d4r_log *log,
                                  d4r_model *model)
{
    model->stage_weight_bytes = format->bytes[D4R_FILE_STAGES];
    model->network_bytes = format->bytes[D4R_FILE_NETWORK];
    model->table_bytes = format->bytes[D4R_FILE_TABLES];
    model->network = allocate_aligned(NETWORK_ALIGNMENT, model->network_bytes);
    if (model->stage_weight_bytes)
        model->stage_weights = allocate_aligned(STAGE_ALIGNMENT, model->stage_weight_bytes);
    if (model->table_bytes) model->tables = allocate_aligned(STAGE_ALIGNMENT, model->table_bytes);
    if (model->network && (model->stage_weights || !model->stage_weight_bytes) &&
        (model->tables || !model->table_bytes))
        return D4R_OK;
    return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the packed weights", directory);
}

/* Packs weights.safetensors. */
static d4r_status load_weights(const char *directory, const d4r_manifest *manifest, const d4r_log *log,
                               d4r_model *model)
{
    const d4r_preset_format *format = d4r_preset_format_find(manifest->preset);
    uint8_t *data = NULL;
    size_t size = 0;
    d4r_status status = read_listed(directory, manifest, D4R_FILE_SAFETENSORS, log, &data, &size);
    char *path = d4r_path_join(directory, d4r_model_file_names[D4R_FILE_SAFETENSORS]);
    if (status == D4R_OK && !path) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    if (status == D4R_OK) status = allocate_images(directory, format, log, model);
    if (status == D4R_OK) status = format->pack(path, data, size, log, model->stage_weights, model->network);
    free(data);
    free(path);
    return status;
}

/* Reads the tables, which stand for themselves. */
static d4r_status load_tables(const char *directory, const d4r_manifest *manifest, const d4r_log *log,
                              d4r_model *model)
{
    const d4r_preset_format *format = d4r_preset_format_find(manifest->preset);
    uint8_t *data = NULL;
    size_t size = 0;
    if (!model->tables) return D4R_OK;
    d4r_status status = read_listed(directory, manifest, D4R_FILE_TABLES, log, &data, &size);
    char *path = d4r_path_join(directory, d4r_model_file_names[D4R_FILE_TABLES]);
    if (status == D4R_OK && !path) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    if (status == D4R_OK) status = format->check_tables(path, data, log);
    if (status == D4R_OK) memcpy(model->tables, data, size);
    free(data);
    free(path);
    return status;
}

static d4r_status load_files(const char *directory, const d4r_manifest *manifest, const d4r_log *log,
                             d4r_model *model)
{
    d4r_status status = load_weights(directory, manifest, log, model);
    if (status == D4R_OK)
        status = check_packed(directory, manifest, D4R_FILE_STAGES, model->stage_weights,
                              model->stage_weight_bytes, log);
    if (status == D4R_OK)
        status =
            check_packed(directory, manifest, D4R_FILE_NETWORK, model->network, model->network_bytes, log);
    return status == D4R_OK ? load_tables(directory, manifest, log, model) : status;
}

static d4r_status read_manifest(const char *directory, const d4r_log *log, d4r_manifest *manifest,
                                char sha256[65])
{
    uint8_t *text = NULL;
    size_t size = 0;
    char *path = d4r_path_join(directory, D4R_MANIFEST_NAME);
    if (!path) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    d4r_status status = d4r_file_read(path, D4R_MANIFEST_MAX_BYTES, log, &text, &size);
    if (status == D4R_OK) status = d4r_manifest_parse(path, (const char *)text, size, log, manifest);
    if (status == D4R_OK) d4r_sha256_hex(text, size, sha256);
    free(text);
    free(path);
    return status;
}

static d4r_status fill_info(const char *directory, const d4r_manifest *manifest, const d4r_log *log,
                            d4r_model *model)
{
    size_t name = strlen(manifest->name) + 1, licence = strlen(manifest->licence) + 1;
    model->strings = malloc(name + licence);
    model->directory = strdup(directory);
    if (!model->strings || !model->directory)
        return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    memcpy(model->strings, manifest->name, name);
    memcpy(model->strings + name, manifest->licence, licence);
    model->info.preset = manifest->preset;
    model->info.name = model->strings;
    model->info.licence = model->strings + name;
    model->info.packed_bytes = model->stage_weight_bytes + model->network_bytes + model->table_bytes;
    model->info.parameter_count = d4r_preset_format_find(manifest->preset)->parameters;
    return D4R_OK;
}

d4r_status d4r_model_load(const char *directory, const d4r_log *log, d4r_model **model)
{
    d4r_manifest manifest;
    if (!model) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_model_load: model is NULL");
    *model = NULL;
    if (!directory) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_model_load: directory is NULL");
    d4r_model *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    d4r_status status = read_manifest(directory, log, &manifest, loaded->info.sha256);
    if (status == D4R_OK) status = load_files(directory, &manifest, log, loaded);
    if (status == D4R_OK) status = fill_info(directory, &manifest, log, loaded);
    if (status != D4R_OK) d4r_model_destroy(&loaded);
    *model = loaded;
    return status;
}

void d4r_model_destroy(d4r_model **model)
{
    if (!model || !*model) return;
    free((*model)->strings);
    free((*model)->stage_weights);
    free((*model)->network);
    free((*model)->tables);
    free((*model)->directory);
    free(*model);
    *model = NULL;
}

d4r_status d4r_model_get_info(const d4r_model *model, d4r_model_info *info)
{
    if (!model || !info) return D4R_ERROR_ARGUMENT;
    *info = model->info;
    return D4R_OK;
}
