/* Writes a random model of preset K and the double-precision truth of every layer, for comparison with other
 * implementations:
 *   k_dump FOLDER COLUMNS ROWS PHASE SEED
 * FOLDER (which exists) gets weights.safetensors, hipnet.bin, tokens.npy and <layer>.npy (f16, [rows, columns, channels]);
 * each layer is computed from the values of the one before. */
#include <stdio.h>
#include <stdlib.h>
#include "tests/network/k_truth.h"

static bool write_file(const char *folder, const char *name, const void *head, size_t head_bytes,
                       const void *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool ok =
        file && fwrite(head, 1, head_bytes, file) == head_bytes && fwrite(data, 1, bytes, file) == bytes;
    ok = file && fclose(file) == 0 && ok;
    if (!ok) fprintf(stderr, "k_dump: %s: cannot write\n", path);
    return ok;
}

static bool write_npy(const char *folder, const char *name, const uint16_t *values, uint32_t columns,
                      uint32_t rows, uint32_t channels)
{
    char file[64], head[129];
    /* Magic, version 1.0, length of the rest of the header: 128 bytes in all. */
    snprintf(head, sizeof(head), "\x93NUMPY\x01%c%c%c", 0, 118, 0);
    int used = 10;
    used += snprintf(head + used, sizeof(head) - 10,
                     "{'descr': '<f2', 'fortran_order': False, 'shape': (%u, %u, %u), }", rows, columns,
                     channels);
    while (used < 127) head[used++] = ' ';
    head[127] = '\n';
    snprintf(file, sizeof(file), "%s.npy", name);
    return write_file(folder, file, head, 128, values, (size_t)columns * rows * channels * 2);
}

static bool dump_layers(const char *folder, const k_tensors *tensors, uint32_t columns, uint32_t rows,
                        uint32_t phase, uint64_t seed)
{
    uint16_t *outputs[D4R_K_LAYER_COUNT] = {NULL};
    const size_t count = (size_t)columns * rows * D4R_K_FEATURES;
    uint16_t *tokens = malloc(count * 2);
    bool ok = tokens != NULL;
    if (ok) k_random_tokens(seed, 1.0, tokens, count);
    ok = ok && write_npy(folder, "tokens", tokens, columns, rows, D4R_K_FEATURES);
    for (int i = 0; ok && i < D4R_K_LAYER_COUNT; i++) {
        const d4r_k_layer_info *l = &d4r_k_layers[i];
        outputs[i] = malloc(d4r_k_level_tokens(columns, rows, l->level) * l->out_channels * 2);
        ok = outputs[i] != NULL;
        if (!ok) break;
        k_truth_layer(tensors, (d4r_k_layer)i, columns, rows, phase,
                      l->input == D4R_K_NO_LAYER ? tokens : outputs[l->input],
                      l->skip == D4R_K_NO_LAYER ? NULL : outputs[l->skip], outputs[i]);
        ok = write_npy(folder, l->name, outputs[i], columns >> l->level, rows >> l->level, l->out_channels);
    }
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) free(outputs[i]);
    free(tokens);
    return ok;
}

int main(int argc, char **argv)
{
    const bool full = argc == 6;
    const long columns = full ? strtol(argv[2], NULL, 10) : 0, rows = full ? strtol(argv[3], NULL, 10) : 0;
    const long phase = full ? strtol(argv[4], NULL, 10) : 0;
    if (columns < 32 || rows < 32 || columns > 2048 || rows > 2048 || columns % 32 || rows % 32 ||
        phase < 0 || phase >= D4R_K_PHASES) {
        fprintf(stderr,
                "usage: k_dump FOLDER COLUMNS ROWS PHASE SEED (multiples of 32 tokens, phase 0 to 7)\n");
        return 2;
    }
    const uint64_t seed = strtoull(argv[5], NULL, 10);
    char path[4096];
    k_tensors *tensors = k_tensors_random(seed, 1.0);
    uint8_t *packed = malloc(D4R_K_NET_BYTES);
    snprintf(path, sizeof(path), "%s/weights.safetensors", argv[1]);
    bool ok = packed && k_tensors_write_safetensors(tensors, path);
    if (!ok) fprintf(stderr, "k_dump: %s: cannot write\n", path);
    if (ok) k_tensors_pack(tensors, packed);
    ok = ok && write_file(argv[1], "hipnet.bin", "", 0, packed, D4R_K_NET_BYTES);
    ok = ok && dump_layers(argv[1], tensors, (uint32_t)columns, (uint32_t)rows, (uint32_t)phase, seed);
    free(packed);
    k_tensors_free(tensors);
    return ok ? 0 : 5;
}
