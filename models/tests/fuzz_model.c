/* Fuzz target of the parsers. The first byte chooses: 0 model.json, 1 a safetensors file as it is, 2 and 3 a
 * safetensors header of a file whose data would fit preset M or K exactly (so that the check of names and shapes
 * is reached without carrying a megabyte of weights), 4 preset K's tables, of which all but the first bytes are good. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/k_pack.h"
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"
#include "models/format/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Messages are one line each: formatting is part of what is tested. */
static void check_line(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    (void)level;
    if (strchr(line, '\n') || strlen(line) > 1023) abort();
}

static const d4r_log log_lines = {check_line, NULL, D4R_LOG_DEBUG};

static uint64_t canonical_data_bytes(bool k)
{
    uint64_t bytes = 0;
    for (int i = 0; k && i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor t = d4r_k_tensor_at(i);
        bytes += d4r_k_tensor_elements(&t) * (t.weight ? 2 : 4);
    }
    if (k) return bytes;
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) bytes += d4r_m_tensor_bytes(&d4r_m_tensors[i]);
    return bytes;
}

static void fuzz_manifest(const uint8_t *data, size_t size)
{
    d4r_manifest manifest;
    if (d4r_manifest_parse("model.json", (const char *)data, size, &log_lines, &manifest) != D4R_OK) return;
    /* What was accepted can be written and is accepted again. */
    d4r_manifest again;
    char *text = d4r_manifest_print(&manifest);
    if (!text || d4r_manifest_parse("model.json", text, strlen(text), &log_lines, &again) != D4R_OK) abort();
    if (memcmp(manifest.files, again.files, sizeof manifest.files) || strcmp(manifest.name, again.name))
        abort();
    free(text);
}

static void fuzz_safetensors(const uint8_t *data, size_t size, uint64_t file_size)
{
    d4r_safetensors st;
    if (d4r_safetensors_parse("f", data, size, file_size, &log_lines, &st) != D4R_OK) return;
    for (size_t i = 0; i < st.count; i++) {
        const d4r_tensor *t = &st.tensors[i];
        if (t->offset > file_size || t->bytes > file_size - t->offset) abort();
        if (d4r_safetensors_find(&st, t->name) != t) abort();
    }
    (void)d4r_m_match("f", &st, &log_lines);
    (void)d4r_k_match("f", &st, &log_lines);
    d4r_safetensors_free(&st);
}

/* The sum of accepted weights is what the stages divide by. */
static void fuzz_tables(const uint8_t *data, size_t size)
{
    static const d4r_k_gaussian round_shapes[D4R_K_SHAPES];
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    if (!tables) return;
    d4r_k_tables_fill(round_shapes, tables);
    memcpy(tables, data, size < D4R_K_TABLES_BYTES ? size : D4R_K_TABLES_BYTES);
    if (d4r_k_tables_check("f", tables, &log_lines) == D4R_OK)
        for (size_t i = 0; i < size / 2 && i < D4R_K_TABLES_BYTES / 2; i++)
            if (tables[2 * i + 1] > 0x7b && tables[2 * i + 1] != 0x80) abort();
    free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 9) return 0;
    uint8_t mode = data[0] % 5;
    /* A copy of exactly this size, so that a read past the end is seen. */
    uint8_t *copy = malloc(--size);
    if (!copy) return 0;
    memcpy(copy, data + 1, size);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | copy[i];
    if (mode == 0)
        fuzz_manifest(copy, size);
    else if (mode == 4)
        fuzz_tables(copy, size);
    else if (mode == 1 || header > size)
        fuzz_safetensors(copy, size, size);
    else
        fuzz_safetensors(copy, size, 8 + header + canonical_data_bytes(mode == 3));
    free(copy);
    return 0;
}
