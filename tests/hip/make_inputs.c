/* make_inputs FOLDER: what test_cli.sh runs on. FOLDER/model and model-k (random weights everywhere), FOLDER/seq and
 * FOLDER/odd (frames.json and f32 planes; a cut in the middle), FOLDER/tokens.npy and tokens-k.npy (grids of 48x32 and 64x32
 * tokens). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "models/format/model_write.h"
#include "models/format/neutral.h"
#include "tests/engine/content.h"
#include "tests/engine/test_model.h"
#include "tests/network/fp8_ref.h"
#include "tests/network/half_ref.h"
#include "tests/network/network_tensors.h"

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "make_inputs: %s\n", what);
    exit(1);
}

/* Products of unit-variance inputs keep about unit variance in the network; around it weights are small, so that the
 * neutral biases still shape the picture. */
static void random_tensor(const d4r_m_tensor *t, uint8_t *data, uint64_t *state)
{
    double gain = t->image == D4R_M_NETWORK_IMAGE ? 1.0 : 0.3;
    for (size_t i = 0; i < d4r_m_tensor_elements(t); i++) {
        double normal = network_random_normal(state);
        float bias = (float)(t->kind == D4R_M_REL_BIAS ? normal : 0.1 * normal);
        if (t->kind == D4R_M_WEIGHT)
            data[i] = fp8_ref_encode(gain / sqrt((double)t->cols) * normal);
        else
            memcpy(data + 4 * i, &bias, 4);
    }
}

static void write_model(const char *path)
{
    d4r_m_neutral neutral = d4r_m_neutral_default();
    d4r_m_weights weights = {0};
    uint64_t state = 4;
    must(d4r_m_weights_create(&weights) == D4R_OK, "out of memory");
    must(d4r_m_neutral_fill(&neutral, NULL, &weights) == D4R_OK, "no neutral model");
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++)
        if (strcmp(d4r_m_tensors[i].name, "expansion.bias") != 0)
            random_tensor(&d4r_m_tensors[i], weights.data + weights.offset[i], &state);
    must(d4r_m_model_write(path, false, &weights, "random", "none", NULL) == D4R_OK,
         "cannot write the model");
    d4r_m_weights_free(&weights);
}

static void write_k_model(const char *path)
{
    d4r_k_weights weights = {0};
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    must(tables && d4r_k_weights_create(&weights) == D4R_OK, "out of memory");
    must(test_k_weights_fill(&weights, tables, 5), "no neutral model");
    must(d4r_k_model_write(path, false, &weights, tables, "random", "none", NULL) == D4R_OK,
         "cannot write the model");
    d4r_k_weights_free(&weights);
    free(tables);
}

static void write_file(const char *folder, const char *name, int frame, const void *data, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%d.bin", folder, name, frame);
    FILE *file = fopen(path, "wb");
    must(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0, path);
}

static void write_sequence(const char *folder, d4r_size render, d4r_size output, int frames, int cut)
{
    char path[4096];
    size_t pixels = (size_t)render.width * render.height;
    must(mkdir(folder, 0777) == 0, folder);
    snprintf(path, sizeof path, "%s/frames.json", folder);
    FILE *json = fopen(path, "w");
    must(json != NULL, path);
    fprintf(json,
            "{\"version\": 1, \"output\": [%u, %u], \"bits\": {\"color\": 32, \"motion\": 32}, \"frames\": [",
            output.width, output.height);
    for (int n = 0; n < frames; n++) {
        test_content c;
        d4r_vec2 jitter = d4r_jitter((uint64_t)n, 32);
        must(test_content_create(&c, render, (uint32_t)n, 6), "out of memory");
        write_file(folder, "color", n, c.color, pixels * 16);
        write_file(folder, "motion", n, c.motion, pixels * 8);
        write_file(folder, "depth", n, c.depth, pixels * 4);
        test_content_destroy(&c);
        fprintf(
            json,
            "%s\n{\"color\": \"color-%d.bin\", \"motion\": \"motion-%d.bin\", \"depth\": \"depth-%d.bin\", "
            "\"render\": [%u, %u], \"jitter\": [%.6f, %.6f], \"reset\": %s}",
            n ? "," : "", n, n, n, render.width, render.height, (double)jitter.x, (double)jitter.y,
            n == cut ? "true" : "false");
    }
    fprintf(json, "\n]}\n");
    must(fclose(json) == 0, path);
}

static void write_array(const char *path, const char *dtype, const uint32_t shape[3], const void *data,
                        size_t bytes)
{
    char head[129] = "\x93NUMPY\x01";
    FILE *file = fopen(path, "wb");
    must(file != NULL, path);
    head[8] = 118;
    int used = 10 + snprintf(head + 10, sizeof head - 10,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u, %u), }", dtype,
                             shape[0], shape[1], shape[2]);
    memset(head + used, ' ', (size_t)(127 - used));
    head[127] = '\n';
    must(fwrite(head, 1, 128, file) == 128 && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0,
         path);
}

static void write_tokens(const char *path, uint32_t columns, uint32_t rows)
{
    const uint32_t shape[3] = {rows, columns, D4R_M_TOKEN_CHANNELS};
    const size_t bytes = (size_t)columns * rows * D4R_M_TOKEN_CHANNELS;
    uint8_t *codes = malloc(bytes);
    must(codes != NULL, "out of memory");
    network_random_tokens(8, 1.5, codes, bytes);
    write_array(path, "|u1", shape, codes, bytes);
    free(codes);
}

static void write_k_tokens(const char *path, uint32_t columns, uint32_t rows)
{
    const uint32_t shape[3] = {rows, columns, D4R_K_FEATURES};
    const size_t count = (size_t)columns * rows * D4R_K_FEATURES;
    uint16_t *values = malloc(2 * count);
    uint64_t state = 9;
    must(values != NULL, "out of memory");
    for (size_t i = 0; i < count; i++) values[i] = half_ref_encode(network_random_normal(&state));
    write_array(path, "<f2", shape, values, 2 * count);
    free(values);
}

int main(int argc, char **argv)
{
    char path[4096];
    must(argc == 2, "one folder is needed");
    snprintf(path, sizeof path, "%s/model", argv[1]);
    write_model(path);
    snprintf(path, sizeof path, "%s/model-k", argv[1]);
    write_k_model(path);
    snprintf(path, sizeof path, "%s/seq", argv[1]);
    write_sequence(path, (d4r_size){64, 64}, (d4r_size){128, 128}, 7, 4);
    snprintf(path, sizeof path, "%s/odd", argv[1]);
    write_sequence(path, (d4r_size){71, 65}, (d4r_size){141, 129}, 3, -1);
    snprintf(path, sizeof path, "%s/tokens.npy", argv[1]);
    write_tokens(path, 48, 32);
    snprintf(path, sizeof path, "%s/tokens-k.npy", argv[1]);
    write_k_tokens(path, 64, 32);
    return 0;
}
