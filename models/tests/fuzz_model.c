/* Fuzz target of the two parsers. The first byte chooses: 0 model.json, 1 a safetensors file as it is, 2 a
 * safetensors header of a file whose data would fit preset M exactly (so that the check of names and shapes
 * is reached without carrying a megabyte of weights). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static uint64_t canonical_data_bytes(void)
{
    uint64_t bytes = 0;
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
    d4r_safetensors_free(&st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 9) return 0;
    uint8_t mode = data[0] % 3;
    /* A copy of exactly this size, so that a read past the end is seen. */
    uint8_t *copy = malloc(--size);
    if (!copy) return 0;
    memcpy(copy, data + 1, size);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | copy[i];
    if (mode == 0)
        fuzz_manifest(copy, size);
    else if (mode == 1 || header > size)
        fuzz_safetensors(copy, size, size);
    else
        fuzz_safetensors(copy, size, 8 + header + canonical_data_bytes());
    free(copy);
    return 0;
}
