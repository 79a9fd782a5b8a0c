/* Writes a random model and the double-precision truth of every layer, for comparison with other implementations:
 *   net_dump FOLDER COLUMNS ROWS SEED
 * FOLDER (which exists) gets weights.safetensors, hipnet.bin, tokens.npy and <layer>.npy (uint8 codes, [rows, columns,
 * channels]); each layer is computed from the codes of the one before. */
#include <stdio.h>
#include <stdlib.h>
#include "tests/network/network_ref.h"

static bool write_file(const char *folder, const char *name, const void *head, size_t head_bytes,
                       const uint8_t *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool ok =
        file && fwrite(head, 1, head_bytes, file) == head_bytes && fwrite(data, 1, bytes, file) == bytes;
    ok = file && fclose(file) == 0 && ok;
    if (!ok) fprintf(stderr, "net_dump: %s: cannot write\n", path);
    return ok;
}

static bool write_npy(const char *folder, const char *name, const uint8_t *codes, uint32_t columns,
                      uint32_t rows, uint32_t channels)
{
    char file[64], head[129];
    /* Magic, version 1.0, length of the rest of the header: 128 bytes in all. */
    int used = snprintf(head, sizeof(head), "\x93NUMPY\x01%c%c%c", 0, 118, 0);
    used = 10;
    used += snprintf(head + used, sizeof(head) - 10,
                     "{'descr': '|u1', 'fortran_order': False, 'shape': (%u, %u, %u), }", rows, columns,
                     channels);
    while (used < 127) head[used++] = ' ';
    head[127] = '\n';
    snprintf(file, sizeof(file), "%s.npy", name);
    return write_file(folder, file, head, 128, codes, (size_t)columns * rows * channels);
}

static bool dump_layers(const char *folder, const network_tensors *tensors, uint32_t columns, uint32_t rows,
                        uint64_t seed)
{
    uint8_t *outputs[D4R_M_LAYER_COUNT] = {NULL};
    size_t bytes = (size_t)columns * rows * D4R_M_TOKEN_CHANNELS;
    uint8_t *tokens = malloc(bytes);
    bool ok = tokens != NULL;
    if (ok) network_random_tokens(seed, 1.5, tokens, bytes);
    ok = ok && write_npy(folder, "tokens", tokens, columns, rows, D4R_M_TOKEN_CHANNELS);
    for (int i = 0; ok && i < D4R_M_LAYER_COUNT; i++) {
        const d4r_m_layer_info *l = &d4r_m_layers[i];
        outputs[i] = malloc(d4r_m_level_tokens(columns, rows, l->out_level) * l->out_channels);
        ok = outputs[i] != NULL;
        if (!ok) break;
        network_ref_layer(tensors, (d4r_m_layer)i, columns, rows,
                          l->input == D4R_M_NO_LAYER ? tokens : outputs[l->input],
                          l->skip == D4R_M_NO_LAYER ? NULL : outputs[l->skip], outputs[i]);
        ok = write_npy(folder, l->name, outputs[i], columns >> l->out_level, rows >> l->out_level,
                       l->out_channels);
    }
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(outputs[i]);
    free(tokens);
    return ok;
}

int main(int argc, char **argv)
{
    long columns = argc == 5 ? strtol(argv[2], NULL, 10) : 0,
         rows = argc == 5 ? strtol(argv[3], NULL, 10) : 0;
    if (columns < 16 || rows < 16 || columns > 8192 || rows > 8192 || columns % 16 || rows % 16) {
        fprintf(stderr, "usage: net_dump FOLDER COLUMNS ROWS SEED (multiples of 16 tokens)\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[4], NULL, 10);
    char path[4096];
    network_tensors *tensors = network_tensors_random(seed, 1.0);
    uint8_t *packed = malloc(D4R_M_NET_BYTES);
    snprintf(path, sizeof(path), "%s/weights.safetensors", argv[1]);
    bool ok = packed && network_tensors_write_safetensors(tensors, path);
    if (!ok) fprintf(stderr, "net_dump: %s: cannot write\n", path);
    if (ok) network_tensors_pack(tensors, packed);
    ok = ok && write_file(argv[1], "hipnet.bin", "", 0, packed, D4R_M_NET_BYTES);
    ok = ok && dump_layers(argv[1], tensors, (uint32_t)columns, (uint32_t)rows, seed);
    free(packed);
    network_tensors_free(tensors);
    return ok ? 0 : 5;
}
