#include "models/format/preset_format.h"

#include <string.h>

#include "models/format/k_pack.h"
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"

/* An f32 file of all tensors has 4.5 MB; the header adds at most 1 MiB. */
#define MAX_SAFETENSORS_BYTES (16u << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- M ---- */

static const d4r_dimension m_dimensions[] = {
    {"features", 1, {D4R_M_FEATURES_USED}},
    {"token_channels", 1, {D4R_M_TOKEN_CHANNELS}},
    {"channels", 3, {D4R_M_C1, D4R_M_C2, D4R_M_C3}},
    {"middle_blocks", 1, {D4R_M_MIDDLE_BLOCKS}},
    {"window", 1, {D4R_M_WINDOW}},
    {"head_channels", 1, {D4R_M_HEAD_CHANNELS}},
    {"values", 1, {D4R_M_VALUES}},
};

static d4r_status pack_m(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                         uint8_t *stages, uint8_t *network)
{
    d4r_m_weights weights = {0};
    d4r_status status = d4r_m_weights_read(path, file, size, log, &weights, NULL);
    if (status == D4R_OK) d4r_m_pack(&weights, stages, network);
    d4r_m_weights_free(&weights);
    return status;
}

/* ---- K ---- */

static const d4r_dimension k_dimensions[] = {
    {"features", 1, {D4R_K_FEATURES}},
    {"channels", 6, {D4R_K_C0, D4R_K_C1, D4R_K_C2, D4R_K_C3, D4R_K_C4, D4R_K_C5}},
    {"hidden", 6, {D4R_K_H0, D4R_K_H1, D4R_K_H2, D4R_K_H3, D4R_K_H4, D4R_K_H5}},
    {"window", 1, {D4R_K_WINDOW}},
    {"head_channels", 1, {D4R_K_HEAD_CHANNELS}},
    {"values", 1, {D4R_K_HEAD}},
    {"tables", 1, {D4R_K_TABLES}},
};

static d4r_status pack_k(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                         uint8_t *stages, uint8_t *network)
{
    d4r_k_weights weights = {0};
    d4r_status status = d4r_k_weights_read(path, file, size, log, &weights);
    (void)stages;
    if (status == D4R_OK) d4r_k_pack(&weights, network);
    d4r_k_weights_free(&weights);
    return status;
}

/* ---- both ---- */

static const d4r_preset_format formats[] = {
    {.preset = D4R_PRESET_M,
     .name = "M",
     .dimensions = m_dimensions,
     .dimension_count = COUNT(m_dimensions),
     .bytes = {[D4R_FILE_SAFETENSORS] = MAX_SAFETENSORS_BYTES,
               [D4R_FILE_STAGES] = D4R_M_STAGE_BYTES,
               [D4R_FILE_NETWORK] = D4R_M_NET_BYTES},
     .parameters = 1169702,
     .pack = pack_m},
    {.preset = D4R_PRESET_K,
     .name = "K",
     .dimensions = k_dimensions,
     .dimension_count = COUNT(k_dimensions),
     .bytes = {[D4R_FILE_SAFETENSORS] = MAX_SAFETENSORS_BYTES,
               [D4R_FILE_NETWORK] = D4R_K_NET_BYTES,
               [D4R_FILE_TABLES] = D4R_K_TABLES_BYTES},
     .parameters = 1008356,
     .pack = pack_k,
     .check_tables = d4r_k_tables_check},
};

const d4r_preset_format *d4r_preset_format_find(d4r_preset preset)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].preset == preset) return &formats[i];
    return NULL;
}

const d4r_preset_format *d4r_preset_format_named(const char *name)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (!strcmp(name, formats[i].name)) return &formats[i];
    return NULL;
}
