#include "tests/network/k_tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/network/half_ref.h"
#include "tests/network/network_tensors.h"

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

/* ---- random --------------------------------------------------------------------------------------------------- */

static float *random_floats(int count, double spread, uint64_t *state)
{
    float *v = allocate((size_t)count * sizeof(float));
    for (int i = 0; i < count; i++) v[i] = (float)(spread * network_random_normal(state));
    return v;
}
static void random_linear(k_linear *l, int out, int in, double gain, bool bias, uint64_t *state)
{
    *l = (k_linear){out, in, allocate((size_t)out * (size_t)in * 2), NULL};
    for (int i = 0; i < out * in; i++)
        l->weight[i] = half_ref_encode(gain / sqrt(in) * network_random_normal(state));
    if (bias) l->bias = random_floats(out, 0.1, state);
}

k_tensors *k_tensors_random(uint64_t seed, double gain)
{
    k_tensors *t = allocate(sizeof(*t));
    uint64_t state = seed;
    memset(t, 0, sizeof(*t));
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) {
        const d4r_k_layer_info *info = &d4r_k_layers[i];
        k_layer_tensors *l = &t->layers[i];
        const int c = l->channels = (int)info->channels, in = (int)info->in_channels;
        if (info->in_level < info->level) random_linear(&l->between, c, 4 * in, 0.7 * gain, true, &state);
        if (info->in_level > info->level) random_linear(&l->between, 4 * c, in, 0.7 * gain, true, &state);
        random_linear(&l->qkv, 3 * c, c, gain, false, &state);
        /* Scores are base-2 logarithms: 32^-1/2 * log2 e belongs to the queries' weights. */
        for (int k = 0; k < c * c; k++)
            l->qkv.weight[k] = half_ref_encode(half_ref_decode(l->qkv.weight[k]) * M_LOG2E / sqrt(32));
        l->qv_bias = random_floats(2 * c, 0.1, &state);
        l->rel_bias = random_floats(c / 32 * D4R_K_OFFSETS, 1.0, &state);
        random_linear(&l->proj, c, c, 0.7 * gain, false, &state);
        random_linear(&l->mlp1, (int)info->hidden, c, gain, true, &state);
        random_linear(&l->mlp2, c, (int)info->hidden, 0.7 * gain, false, &state);
    }
    random_linear(&t->head, D4R_K_HEAD, D4R_K_C0, gain, true, &state);
    return t;
}

static void free_linear(k_linear *l)
{
    free(l->weight);
    free(l->bias);
}
void k_tensors_free(k_tensors *t)
{
    if (!t) return;
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) {
        k_layer_tensors *l = &t->layers[i];
        k_linear *parts[] = {&l->qkv, &l->proj, &l->mlp1, &l->mlp2, &l->between};
        for (int k = 0; k < 5; k++) free_linear(parts[k]);
        free(l->qv_bias);
        free(l->rel_bias);
    }
    free_linear(&t->head);
    free(t);
}

void k_random_tokens(uint64_t seed, double spread, uint16_t *values, size_t count)
{
    uint64_t state = seed ^ 0x5bd1e995u;
    for (size_t i = 0; i < count; i++) values[i] = half_ref_encode(spread * network_random_normal(&state));
}

/* ---- packed --------------------------------------------------------------------------------------------------- */

/* Tiles of rows row0 .. and columns column0 .., row tile by row tile. Rows past the matrix are zero. */
static uint8_t *put_tiles(uint8_t *at, const k_linear *l, int row0, int rows, int column0, int columns)
{
    for (int m = 0; m < rows; m += 16)
        for (int k = 0; k < columns; k += 16, at += 512)
            for (int r = 0; r < 16; r++)
                for (int c = 0; c < 16; c++) {
                    const int row = row0 + m + r;
                    const uint16_t v = row < l->out ? l->weight[row * l->in + column0 + k + c] : 0;
                    memcpy(at + c / 8 * 256 + r * 16 + c % 8 * 2, &v, 2);
                }
    return at;
}
static uint8_t *put_floats(uint8_t *at, const float *values, int count)
{
    memcpy(at, values, (size_t)count * sizeof(float));
    return at + (size_t)count * sizeof(float);
}
/* Rows and columns of tokens in a window, by place and number. */
static void token_of(int place, int i, int *y, int *x)
{
    *y = i / 4 * 2 + place / 2;
    *x = i % 4 * 2 + place % 2;
}
static uint8_t *put_rel_bias(uint8_t *at, const float *table)
{
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4; k++, at += 1024)
            for (int part = 0; part < 2; part++)
                for (int lane = 0; lane < 32; lane++)
                    for (int j = 0; j < 4; j++) {
                        int qy, qx, ky, kx;
                        token_of(q, lane % 16, &qy, &qx);
                        token_of(k, 8 * (lane / 16) + 4 * part + j, &ky, &kx);
                        memcpy(at + part * 512 + lane * 16 + j * 4, &table[15 * (ky - qy + 7) + kx - qx + 7],
                               4);
                    }
    return at;
}
static uint8_t *put_block(uint8_t *at, const k_layer_tensors *l)
{
    const int c = l->channels;
    for (int h = 0; h < c / 32; h++) {
        for (int part = 0; part < 3; part++) at = put_tiles(at, &l->qkv, part * c + 32 * h, 32, 0, c);
        at = put_tiles(at, &l->proj, 0, c, 32 * h, 32);
        at = put_floats(at, l->qv_bias + 32 * h, 32);
        at = put_floats(at, l->qv_bias + c + 32 * h, 32);
    }
    const int step = l->mlp1.out % 64 ? 32 : 64;
    for (int j = 0; j < l->mlp1.out; j += step) {
        at = put_tiles(at, &l->mlp1, j, step, 0, c);
        at = put_tiles(at, &l->mlp2, 0, c, j, step);
        at = put_floats(at, l->mlp1.bias + j, step);
    }
    for (int h = 0; h < c / 32; h++) at = put_rel_bias(at, l->rel_bias + h * D4R_K_OFFSETS);
    return at;
}
static uint8_t *put_between(uint8_t *at, const k_linear *l, bool merge)
{
    const int steps = merge ? 4 : l->in / 32, columns = merge ? l->in / 4 : 32;
    for (int i = 0; i < steps; i++) at = put_tiles(at, l, 0, l->out, i * columns, columns);
    return put_floats(at, l->bias, l->out);
}

void k_tensors_pack(const k_tensors *t, uint8_t *packed)
{
    uint8_t *at = packed;
    memset(packed, 0, D4R_K_NET_BYTES);
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) {
        const k_layer_tensors *l = &t->layers[i];
        if ((size_t)(at - packed) != d4r_k_layers[i].weights) abort();
        if (l->between.out)
            at = put_between(at, &l->between, d4r_k_layers[i].in_level < d4r_k_layers[i].level);
        at = put_block(at, l);
    }
    at = put_tiles(at, &t->head, 0, 48, 0, t->head.in);
    at = put_floats(at, t->head.bias, D4R_K_HEAD) + 4 * (48 - D4R_K_HEAD);
    if (at - packed != D4R_K_NET_BYTES) abort();
}

/* ---- safetensors ---------------------------------------------------------------------------------------------- */

typedef struct writer {
    FILE *file;
    bool header; /* first pass: the JSON; second pass: the data */
    size_t offset;
} writer;

static void write_tensor(writer *w, const char *owner, const char *name, const char *dtype, int rows,
                         int columns, const void *data, size_t bytes)
{
    if (!w->header) {
        fwrite(data, 1, bytes, w->file);
        return;
    }
    fprintf(w->file, "%s\"%s.%s\":{\"dtype\":\"%s\",\"shape\":[%d", w->offset ? "," : "", owner, name, dtype,
            rows);
    if (columns) fprintf(w->file, ",%d", columns);
    fprintf(w->file, "],\"data_offsets\":[%zu,%zu]}", w->offset, w->offset + bytes);
    w->offset += bytes;
}
static void write_linear(writer *w, const char *owner, const char *name, const k_linear *l)
{
    char full[64];
    snprintf(full, sizeof(full), "%s%sweight", name, name[0] ? "." : "");
    write_tensor(w, owner, full, "F16", l->out, l->in, l->weight, (size_t)l->out * (size_t)l->in * 2);
    if (!l->bias) return;
    snprintf(full, sizeof(full), "%s%sbias", name, name[0] ? "." : "");
    write_tensor(w, owner, full, "F32", l->out, 0, l->bias, (size_t)l->out * sizeof(float));
}
static void write_all(writer *w, const k_tensors *t)
{
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) {
        const k_layer_tensors *l = &t->layers[i];
        const char *name = d4r_k_layers[i].name;
        const int c = l->channels;
        if (l->between.out)
            write_linear(w, name, d4r_k_layers[i].in_level < d4r_k_layers[i].level ? "merge" : "expand",
                         &l->between);
        write_linear(w, name, "qkv", &l->qkv);
        write_tensor(w, name, "qv.bias", "F32", 2 * c, 0, l->qv_bias, (size_t)(2 * c) * sizeof(float));
        write_tensor(w, name, "rel_bias", "F32", c / 32, D4R_K_OFFSETS, l->rel_bias,
                     (size_t)(c / 32 * D4R_K_OFFSETS) * sizeof(float));
        write_linear(w, name, "proj", &l->proj);
        write_linear(w, name, "mlp1", &l->mlp1);
        write_linear(w, name, "mlp2", &l->mlp2);
    }
    write_linear(w, "head", "", &t->head);
}

bool k_tensors_write_safetensors(const k_tensors *t, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    writer header = {open_memstream(&text, &length), true, 0};
    if (!header.file) return false;
    fputc('{', header.file);
    write_all(&header, t);
    fputc('}', header.file);
    fclose(header.file);
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL;
    if (ok) {
        uint64_t size = (length + 7) / 8 * 8;
        fwrite(&size, 8, 1, file);
        fprintf(file, "%-*s", (int)size, text);
        writer data = {file, false, 0};
        write_all(&data, t);
        ok = !ferror(file);
        ok = fclose(file) == 0 && ok;
    }
    free(text);
    return ok;
}
