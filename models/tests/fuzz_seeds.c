/* fuzz_seeds DIR: writes the seed corpus of fuzz_model (a valid model.json, small safetensors files, preset
 * M's header) into DIR. fuzz_seeds --mutate COUNT: without libFuzzer, runs the target on COUNT random
 * mutations of the seeds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/k_pack.h"
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"
#include "models/format/preset_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEEDS 7
struct seed {
    uint8_t *data;
    size_t size;
};

static struct seed make_seed(uint8_t mode, const uint8_t *data, size_t size)
{
    struct seed seed = {malloc(size + 1), size + 1};
    if (!seed.data) exit(1);
    seed.data[0] = mode;
    memcpy(seed.data + 1, data, size);
    return seed;
}

static struct seed manifest_seed(d4r_preset preset)
{
    const d4r_preset_format *format = d4r_preset_format_find(preset);
    d4r_manifest manifest = {.preset = preset, .name = "seed", .licence = "MIT"};
    for (int i = 0; i < D4R_FILE_COUNT; i++) {
        if (!format->bytes[i]) continue;
        manifest.files[i].size = 1000u * (unsigned)(i + 1);
        memset(manifest.files[i].sha256, 'a' + i, 64);
    }
    char *text = d4r_manifest_print(&manifest);
    if (!text) exit(1);
    struct seed seed = make_seed(0, (uint8_t *)text, strlen(text));
    free(text);
    return seed;
}

static struct seed small_seed(void)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"w\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,3],\"data_offsets\":[12,18]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}";
    uint8_t file[8 + sizeof header - 1 + 18] = {sizeof header - 1};
    memcpy(file + 8, header, sizeof header - 1);
    return make_seed(1, file, sizeof file);
}

static struct seed preset_seed(void)
{
    d4r_m_weights weights;
    uint8_t *file;
    size_t size, header = 0;
    if (d4r_m_weights_create(&weights) != D4R_OK || d4r_m_weights_encode(&weights, &file, &size) != D4R_OK)
        exit(1);
    for (int i = 7; i >= 0; i--) header = header << 8 | file[i];
    struct seed seed = make_seed(2, file, 8 + header);
    d4r_m_weights_free(&weights);
    free(file);
    return seed;
}

static struct seed preset_k_seed(void)
{
    d4r_k_weights weights;
    uint8_t *file;
    size_t size, header = 0;
    if (d4r_k_weights_create(&weights) != D4R_OK || d4r_k_weights_encode(&weights, &file, &size) != D4R_OK)
        exit(1);
    for (int i = 7; i >= 0; i--) header = header << 8 | file[i];
    struct seed seed = make_seed(3, file, 8 + header);
    d4r_k_weights_free(&weights);
    free(file);
    return seed;
}

/* The first shapes of the tables. */
static struct seed tables_seed(void)
{
    static const d4r_k_gaussian round_shapes[D4R_K_SHAPES];
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    if (!tables) exit(1);
    d4r_k_tables_fill(round_shapes, tables);
    struct seed seed = make_seed(4, tables, 256);
    free(tables);
    return seed;
}

static int write_seeds(const char *directory, const struct seed *seeds)
{
    for (int i = 0; i < SEEDS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%d", directory, i);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(seeds[i].data, 1, seeds[i].size, file) != seeds[i].size || fclose(file)) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Changes 1 to 4 places: a random byte, a digit, a copied stretch, a cut. */
static size_t mutate(uint8_t *data, size_t size, uint64_t *state)
{
    for (uint32_t changes = next_random(state) % 4 + 1; changes && size > 16; changes--) {
        size_t at = next_random(state) % size, other = next_random(state) % size;
        size_t length = next_random(state) % 12 + 1;
        switch (next_random(state) % 4) {
        case 0:
            data[at] = (uint8_t)next_random(state);
            break;
        case 1:
            data[at] = "0123456789[]{}\",:-e."[next_random(state) % 20];
            break;
        case 2:
            if (at + length <= size && other + length <= size) memmove(data + at, data + other, length);
            break;
        default:
            if (next_random(state) % 8 == 0) size = at > 16 ? at : size;
        }
    }
    return size;
}

int main(int argc, char **argv)
{
    static const uint8_t empty[10] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    struct seed seeds[SEEDS] = {
        manifest_seed(D4R_PRESET_M), small_seed(),    preset_seed(), make_seed(1, empty, sizeof empty),
        manifest_seed(D4R_PRESET_K), preset_k_seed(), tables_seed()};
    int code = 0;
    if (argc == 3 && !strcmp(argv[1], "--mutate")) {
        uint64_t state = 1;
        uint8_t *data = malloc(seeds[2].size + seeds[0].size + seeds[4].size + seeds[5].size + 64);
        for (long i = strtol(argv[2], NULL, 10); data && i > 0; i--) {
            const struct seed *seed = &seeds[next_random(&state) % SEEDS];
            memcpy(data, seed->data, seed->size);
            LLVMFuzzerTestOneInput(data, mutate(data, seed->size, &state));
        }
        free(data);
    } else if (argc == 2) {
        code = write_seeds(argv[1], seeds);
    } else {
        fprintf(stderr, "usage: fuzz_seeds DIR | fuzz_seeds --mutate COUNT\n");
        code = 2;
    }
    for (int i = 0; i < SEEDS; i++) free(seeds[i].data);
    return code;
}
