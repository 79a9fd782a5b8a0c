#include "tests/network/network_tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/network/fp8_ref.h"

static const char *const block_names[BLOCK_COUNT] = {"enc1", "enc2", "mid0", "mid1", "mid2",
                                                     "mid3", "mid4", "mid5", "dec2", "dec1"};
static const int block_channels[BLOCK_COUNT] = {64, 96, 128, 128, 128, 128, 128, 128, 96, 64};
static const char *const linear_names[LINEAR_COUNT] = {"merge1", "merge2", "expand2", "expand1"};
static const int linear_sizes[LINEAR_COUNT][2] = {{96, 256}, {128, 384}, {384, 128}, {256, 96}};

/* ---- random
 * --------------------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
double network_random_uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}
double network_random_normal(uint64_t *state)
{
    double u = 1.0 - network_random_uniform(state), v = network_random_uniform(state);
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) abort();
    return p;
}

static void random_linear(linear_tensors *l, int out, int in, double gain, uint64_t *state)
{
    *l = (linear_tensors){out, in, allocate((size_t)out * (size_t)in), allocate((size_t)out * sizeof(float))};
    for (int i = 0; i < out * in; i++)
        l->weight[i] = fp8_ref_encode(gain / sqrt(in) * network_random_normal(state));
    for (int i = 0; i < out; i++) l->bias[i] = (float)(0.1 * network_random_normal(state));
}

network_tensors *network_tensors_random(uint64_t seed, double gain)
{
    network_tensors *t = allocate(sizeof(*t));
    uint64_t state = seed;
    for (int i = 0; i < BLOCK_COUNT; i++) {
        block_tensors *b = &t->blocks[i];
        int c = b->channels = block_channels[i];
        random_linear(&b->qkv, 3 * c, c, gain, &state);
        random_linear(&b->proj, c, c, 0.7 * gain, &state);
        random_linear(&b->mlp1, 2 * c, c, gain, &state);
        random_linear(&b->mlp2, c, 2 * c, 0.7 * gain, &state);
        b->rel_bias = allocate((size_t)(c / 32) * 49 * sizeof(float));
        for (int k = 0; k < c / 32 * 49; k++) b->rel_bias[k] = (float)network_random_normal(&state);
    }
    for (int i = 0; i < LINEAR_COUNT; i++)
        random_linear(&t->linears[i], linear_sizes[i][0], linear_sizes[i][1], 0.7 * gain, &state);
    return t;
}

void network_tensors_free(network_tensors *t)
{
    if (!t) return;
    for (int i = 0; i < BLOCK_COUNT; i++) {
        linear_tensors *parts[] = {&t->blocks[i].qkv, &t->blocks[i].proj, &t->blocks[i].mlp1,
                                   &t->blocks[i].mlp2};
        for (int k = 0; k < 4; k++) {
            free(parts[k]->weight);
            free(parts[k]->bias);
        }
        free(t->blocks[i].rel_bias);
    }
    for (int i = 0; i < LINEAR_COUNT; i++) {
        free(t->linears[i].weight);
        free(t->linears[i].bias);
    }
    free(t);
}

void network_random_tokens(uint64_t seed, double spread, uint8_t *codes, size_t count)
{
    uint64_t state = seed ^ 0x5bd1e995u;
    for (size_t i = 0; i < count; i++)
        codes[i] = fp8_ref_encode(fmax(-2 * M_PI, fmin(2 * M_PI, spread * network_random_normal(&state))));
}

/* ---- packed
 * --------------------------------------------------------------------------------------------------- */

static uint8_t *put_matrix(uint8_t *at, const linear_tensors *l)
{
    for (int m = 0; m < l->out / 16; m++)
        for (int k = 0; k < l->in / 16; k++)
            for (int r = 0; r < 16; r++)
                for (int c = 0; c < 16; c++)
                    at[(m * (l->in / 16) + k) * 256 + (c / 8) * 128 + r * 8 + c % 8] =
                        l->weight[(16 * m + r) * l->in + 16 * k + c];
    return at + l->out * l->in;
}
static uint8_t *put_floats(uint8_t *at, const float *values, int count)
{
    memcpy(at, values, (size_t)count * sizeof(float));
    return at + (size_t)count * sizeof(float);
}
static uint8_t *put_block(uint8_t *at, const block_tensors *b)
{
    const linear_tensors *parts[] = {&b->qkv, &b->proj, &b->mlp1, &b->mlp2};
    for (int i = 0; i < 4; i++) at = put_matrix(at, parts[i]);
    for (int i = 0; i < 4; i++) at = put_floats(at, parts[i]->bias, parts[i]->out);
    for (int h = 0; h < b->channels / 32; h++)
        for (int key = 0; key < 16; key++)
            for (int query = 0; query < 16; query++) {
                int dy = key / 4 - query / 4, dx = key % 4 - query % 4;
                float v = (float)((double)b->rel_bias[h * 49 + 7 * (dy + 3) + dx + 3] * M_LOG2E);
                at = put_floats(at, &v, 1);
            }
    return at;
}
static uint8_t *put_linear(uint8_t *at, const linear_tensors *l)
{
    return put_floats(put_matrix(at, l), l->bias, l->out);
}

void network_tensors_pack(const network_tensors *t, uint8_t *packed)
{
    uint8_t *at = put_block(packed, &t->blocks[BLOCK_ENC1]);
    at = put_linear(at, &t->linears[LINEAR_MERGE1]);
    at = put_block(at, &t->blocks[BLOCK_ENC2]);
    at = put_linear(at, &t->linears[LINEAR_MERGE2]);
    for (int i = 0; i < 6; i++) at = put_block(at, &t->blocks[BLOCK_MID0 + i]);
    at = put_linear(at, &t->linears[LINEAR_EXPAND2]);
    at = put_block(at, &t->blocks[BLOCK_DEC2]);
    at = put_linear(at, &t->linears[LINEAR_EXPAND1]);
    at = put_block(at, &t->blocks[BLOCK_DEC1]);
    if (at - packed != D4R_M_NET_BYTES) abort();
}

/* ---- safetensors
 * ---------------------------------------------------------------------------------------------- */

typedef struct writer {
    FILE *file;
    bool header; /* first pass: the JSON; second pass: the data */
    size_t offset;
} writer;

static void write_tensor(writer *w, const char *owner, const char *name, const char *dtype, int rows,
                         int columns, const void *data, size_t bytes)
{
    if (w->header) {
        fprintf(w->file, "%s\"%s.%s\":{\"dtype\":\"%s\",\"shape\":[%d", w->offset ? "," : "", owner, name,
                dtype, rows);
        if (columns) fprintf(w->file, ",%d", columns);
        fprintf(w->file, "],\"data_offsets\":[%zu,%zu]}", w->offset, w->offset + bytes);
        w->offset += bytes;
    } else {
        fwrite(data, 1, bytes, w->file);
    }
}
static void write_linear(writer *w, const char *owner, const char *name, const linear_tensors *l)
{
    char full[64];
    snprintf(full, sizeof(full), "%s%sweight", name, name[0] ? "." : "");
    write_tensor(w, owner, full, "F8_E4M3", l->out, l->in, l->weight, (size_t)l->out * (size_t)l->in);
    snprintf(full, sizeof(full), "%s%sbias", name, name[0] ? "." : "");
    write_tensor(w, owner, full, "F32", l->out, 0, l->bias, (size_t)l->out * sizeof(float));
}
static void write_all(writer *w, const network_tensors *t)
{
    for (int i = 0; i < BLOCK_COUNT; i++) {
        const block_tensors *b = &t->blocks[i];
        write_linear(w, block_names[i], "qkv", &b->qkv);
        write_tensor(w, block_names[i], "rel_bias", "F32", b->channels / 32, 49, b->rel_bias,
                     (size_t)(b->channels / 32) * 49 * sizeof(float));
        write_linear(w, block_names[i], "proj", &b->proj);
        write_linear(w, block_names[i], "mlp1", &b->mlp1);
        write_linear(w, block_names[i], "mlp2", &b->mlp2);
    }
    for (int i = 0; i < LINEAR_COUNT; i++) write_linear(w, linear_names[i], "", &t->linears[i]);
}

bool network_tensors_write_safetensors(const network_tensors *t, const char *path)
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
