#include "models/format/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/m_pack.h"
#include "models/format/manifest.h"
#include "runtime/base/log.h"

/* An f32 file of all tensors has 4.5 MB; the header adds at most 1 MiB. */
#define MAX_SAFETENSORS_BYTES (16u << 20)
#define NETWORK_ALIGNMENT 256
#define STAGE_ALIGNMENT 64

static uint8_t *allocate_aligned(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static uint64_t size_limit(d4r_model_file file)
{
    return file == D4R_FILE_SAFETENSORS ? MAX_SAFETENSORS_BYTES
           : file == D4R_FILE_STAGES    ? D4R_M_STAGE_BYTES
                                        : D4R_M_NET_BYTES;
}

/* Reads one file of the directory and holds it against model.json. */
static d4r_status read_listed(const char *directory, const d4r_manifest *manifest, d4r_model_file file,
                              const d4r_log *log, uint8_t **data, size_t *size)
{
    char hex[65];
    char *path = d4r_path_join(directory, d4r_model_file_names[file]);
    if (!path) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    d4r_status status = d4r_file_read(path, size_limit(file), log, data, size);
    if (status == D4R_OK && file != D4R_FILE_SAFETENSORS && *size != size_limit(file))
        status = d4r_fail(log, D4R_ERROR_MODEL,
                          "%s: %zu bytes, but preset M's has %" PRIu64 "; copy or pack the model again", path,
                          *size, size_limit(file));
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
    d4r_status status = read_listed(directory, manifest, file, log, &data, &size);
    if (status == D4R_OK) status = compare_packed(directory, file, data, want, want_size, log);
    free(data);
    return status;
}

static d4r_status load_weights(const char *directory, const d4r_manifest *manifest, const d4r_log *log,
                               d4r_model *model)
{
    uint8_t *data = NULL;
    size_t size = 0;
    d4r_m_weights weights = {0};
    d4r_status status = read_listed(directory, manifest, D4R_FILE_SAFETENSORS, log, &data, &size);
    char *path = d4r_path_join(directory, d4r_model_file_names[D4R_FILE_SAFETENSORS]);
    if (status == D4R_OK && !path) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    if (status == D4R_OK) status = d4r_m_weights_read(path, data, size, log, &weights, NULL);
    if (status == D4R_OK) {
        model->stage_weight_bytes = D4R_M_STAGE_BYTES;
        model->network_bytes = D4R_M_NET_BYTES;
        model->stage_weights = allocate_aligned(STAGE_ALIGNMENT, model->stage_weight_bytes);
        model->network = allocate_aligned(NETWORK_ALIGNMENT, model->network_bytes);
        if (model->stage_weights && model->network)
            d4r_m_pack(&weights, model->stage_weights, model->network);
        else
            status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the packed weights", directory);
    }
    d4r_m_weights_free(&weights);
    free(data);
    free(path);
    if (status == D4R_OK)
        status =
            check_packed(directory, manifest, D4R_FILE_STAGES, model->stage_weights, D4R_M_STAGE_BYTES, log);
    if (status == D4R_OK)
        status = check_packed(directory, manifest, D4R_FILE_NETWORK, model->network, D4R_M_NET_BYTES, log);
    return status;
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
    model->info.packed_bytes = model->stage_weight_bytes + model->network_bytes;
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++)
        model->info.parameter_count += d4r_m_tensor_elements(&d4r_m_tensors[i]);
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
    if (status == D4R_OK) status = load_weights(directory, &manifest, log, loaded);
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
