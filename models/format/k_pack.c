#include "models/format/k_pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/fp8.h"
#include "runtime/base/log.h"

/* ---- tensors -------------------------------------------------------------------------------------------------- */

enum { QKV, QV_BIAS, REL_BIAS, PROJ, MLP1, MLP1_BIAS, MLP2, BETWEEN, BETWEEN_BIAS };

typedef struct layer {
    const char *name, *between; /* "merge", "expand"; enc0: NULL */
    uint32_t c, h, in;
    size_t offset; /* in the packed network */
} layer;

/* clang-format off */
static const layer layers[D4R_K_LAYERS] = {
    {"enc0", NULL, D4R_K_C0, D4R_K_H0, 0, D4R_K_NET_ENC0},
    {"enc1", "merge", D4R_K_C1, D4R_K_H1, D4R_K_C0, D4R_K_NET_ENC1},
    {"enc2", "merge", D4R_K_C2, D4R_K_H2, D4R_K_C1, D4R_K_NET_ENC2},
    {"enc3", "merge", D4R_K_C3, D4R_K_H3, D4R_K_C2, D4R_K_NET_ENC3},
    {"enc4", "merge", D4R_K_C4, D4R_K_H4, D4R_K_C3, D4R_K_NET_ENC4},
    {"dec5", "merge", D4R_K_C5, D4R_K_H5, D4R_K_C4, D4R_K_NET_DEC5},
    {"dec4", "expand", D4R_K_C4, D4R_K_H4, D4R_K_C5, D4R_K_NET_DEC4},
    {"dec3", "expand", D4R_K_C3, D4R_K_H3, D4R_K_C4, D4R_K_NET_DEC3},
    {"dec2", "expand", D4R_K_C2, D4R_K_H2, D4R_K_C3, D4R_K_NET_DEC2},
    {"dec1", "expand", D4R_K_C1, D4R_K_H1, D4R_K_C2, D4R_K_NET_DEC1},
    {"dec0", "expand", D4R_K_C0, D4R_K_H0, D4R_K_C1, D4R_K_NET_DEC0},
};
/* clang-format on */

/* What a layer's block is preceded by: its rows and columns, and its bytes in the packed network. */
static uint32_t between_rows(const layer *l)
{
    return !l->between ? D4R_K_HEAD : l->between[0] == 'm' ? l->c : 4 * l->c;
}
static uint32_t between_cols(const layer *l)
{
    return !l->between ? D4R_K_C0 : l->between[0] == 'm' ? 4 * l->in : l->in;
}

static d4r_k_tensor tensor(const char *owner, const char *name, bool weight, uint32_t rows, uint32_t cols)
{
    d4r_k_tensor t = {.weight = weight, .rows = rows, .cols = cols};
    snprintf(t.name, sizeof t.name, "%s.%s", owner, name);
    return t;
}

d4r_k_tensor d4r_k_tensor_at(int index)
{
    const layer *l = &layers[index / D4R_K_LAYER_TENSORS];
    const bool head = !l->between;
    char name[24];
    switch (index % D4R_K_LAYER_TENSORS) {
    case QKV:
        return tensor(l->name, "qkv.weight", true, 3 * l->c, l->c);
    case QV_BIAS:
        return tensor(l->name, "qv.bias", false, 2 * l->c, 0);
    case REL_BIAS:
        return tensor(l->name, "rel_bias", false, l->c / D4R_K_HEAD_CHANNELS, D4R_K_OFFSETS);
    case PROJ:
        return tensor(l->name, "proj.weight", true, l->c, l->c);
    case MLP1:
        return tensor(l->name, "mlp1.weight", true, l->h, l->c);
    case MLP1_BIAS:
        return tensor(l->name, "mlp1.bias", false, l->h, 0);
    case MLP2:
        return tensor(l->name, "mlp2.weight", true, l->c, l->h);
    case BETWEEN:
        snprintf(name, sizeof name, "%s.weight", head ? "" : l->between);
        return tensor(head ? "head" : l->name, head ? "weight" : name, true, between_rows(l),
                      between_cols(l));
    default:
        snprintf(name, sizeof name, "%s.bias", head ? "" : l->between);
        return tensor(head ? "head" : l->name, head ? "bias" : name, false, between_rows(l), 0);
    }
}

d4r_status d4r_k_weights_create(d4r_k_weights *weights)
{
    size_t at = 0;
    *weights = (d4r_k_weights){0};
    for (int pass = 0; pass < 2; pass++) /* f32 first, so that everything is aligned */
        for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
            const d4r_k_tensor t = d4r_k_tensor_at(i);
            if (t.weight != (pass == 1)) continue;
            weights->offset[i] = at;
            at += d4r_k_tensor_elements(&t) * (t.weight ? 2 : 4);
        }
    weights->data = calloc(1, at);
    if (!weights->data) return D4R_ERROR_MEMORY;
    weights->bytes = at;
    return D4R_OK;
}

void d4r_k_weights_free(d4r_k_weights *weights)
{
    free(weights->data);
    *weights = (d4r_k_weights){0};
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

uint16_t d4r_k_half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const float size = fabsf(value);
    if (size < 0x1p-14f) { /* steps of 2^-24; 2^23 + x rounds to whole steps */
        const float steps = size * 0x1p24f + 0x1p23f;
        memcpy(&bits, &steps, sizeof bits);
        return sign | (uint16_t)(bits & 0x7fff);
    }
    bits &= 0x7fffffff;
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits >> 13) - (112 << 10));
}

static float read_float(const uint8_t *at, d4r_dtype dtype)
{
    uint16_t half;
    float value;
    if (dtype == D4R_DTYPE_F32) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&half, at, sizeof half);
    return dtype == D4R_DTYPE_F16 ? d4r_half_to_float(half) : d4r_bfloat_to_float(half);
}

static d4r_status match_one(const char *path, const d4r_k_tensor *want, const d4r_tensor *have,
                            const d4r_log *log)
{
    const uint32_t dimensions = want->cols ? 2 : 1;
    char shape[40];
    snprintf(shape, sizeof shape, dimensions == 1 ? "[%u]" : "[%u, %u]", want->rows, want->cols);
    if (!have)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\" %s of preset K is missing", path, want->name,
                        shape);
    if (have->dimensions != dimensions || have->shape[0] != want->rows ||
        (dimensions == 2 && have->shape[1] != want->cols))
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\": its shape is not %s", path, want->name,
                        shape);
    if (have->dtype == D4R_DTYPE_F8_E4M3)
        return d4r_fail(log, D4R_ERROR_MODEL,
                        "%s: tensor \"%s\": F8_E4M3 is not used by preset K; use F16 or F32", path,
                        want->name);
    return D4R_OK;
}

d4r_status d4r_k_match(const char *path, const d4r_safetensors *safetensors, const d4r_log *log)
{
    char printable[D4R_PRINTABLE_SIZE];
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor want = d4r_k_tensor_at(i);
        d4r_status status = match_one(path, &want, d4r_safetensors_find(safetensors, want.name), log);
        if (status != D4R_OK) return status;
    }
    /* All of K's are there; names are unique, so any more are foreign. */
    for (size_t i = 0; i < safetensors->count && safetensors->count > D4R_K_TENSOR_COUNT; i++) {
        int k = 0;
        while (k < D4R_K_TENSOR_COUNT && strcmp(d4r_k_tensor_at(k).name, safetensors->tensors[i].name)) k++;
        if (k == D4R_K_TENSOR_COUNT)
            return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\" is not one of preset K's", path,
                            d4r_printable(printable, safetensors->tensors[i].name));
    }
    return D4R_OK;
}

static d4r_status convert(const char *path, const uint8_t *from, const d4r_tensor *have, bool weight,
                          uint8_t *to, const d4r_log *log)
{
    const size_t step = d4r_dtype_bytes(have->dtype);
    for (size_t i = 0; i < have->elements; i++) {
        const float value = read_float(from + i * step, have->dtype);
        if (!(fabsf(value) <= D4R_K_BIAS_LIMIT)) /* NaN too */
            return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\": element %zu %s", path, have->name, i,
                            isfinite(value) ? "is beyond +-65504" : "is not a finite number");
        if (weight) {
            const uint16_t half = d4r_k_half_of(value);
            memcpy(to + 2 * i, &half, sizeof half);
        } else {
            memcpy(to + 4 * i, &value, sizeof value);
        }
    }
    return D4R_OK;
}

d4r_status d4r_k_weights_read(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                              d4r_k_weights *weights)
{
    d4r_safetensors safetensors;
    *weights = (d4r_k_weights){0};
    d4r_status status = d4r_safetensors_parse(path, file, size, size, log, &safetensors);
    if (status != D4R_OK) return status;
    status = d4r_k_match(path, &safetensors, log);
    if (status == D4R_OK && d4r_k_weights_create(weights) != D4R_OK)
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the weights", path);
    for (int i = 0; i < D4R_K_TENSOR_COUNT && status == D4R_OK; i++) {
        const d4r_k_tensor want = d4r_k_tensor_at(i);
        const d4r_tensor *have = d4r_safetensors_find(&safetensors, want.name);
        status =
            convert(path, file + have->offset, have, want.weight, weights->data + weights->offset[i], log);
    }
    d4r_safetensors_free(&safetensors);
    if (status != D4R_OK) d4r_k_weights_free(weights);
    return status;
}

d4r_status d4r_k_weights_encode(const d4r_k_weights *weights, uint8_t **image, size_t *size)
{
    static const char *const metadata[] = {"format", "pt", "preset", "K", NULL};
    d4r_tensor tensors[D4R_K_TENSOR_COUNT] = {0};
    const uint8_t *data[D4R_K_TENSOR_COUNT];
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
            const d4r_k_tensor from = d4r_k_tensor_at(i);
            if (from.weight != (pass == 1)) continue;
            d4r_tensor *to = &tensors[count];
            snprintf(to->name, sizeof to->name, "%s", from.name);
            to->dtype = from.weight ? D4R_DTYPE_F16 : D4R_DTYPE_F32;
            to->dimensions = from.cols ? 2 : 1;
            to->shape[0] = from.rows;
            to->shape[1] = from.cols;
            to->elements = d4r_k_tensor_elements(&from);
            to->bytes = to->elements * (from.weight ? 2 : 4);
            data[count++] = weights->data + weights->offset[i];
        }
    return d4r_safetensors_encode(tensors, data, count, metadata, image, size);
}

/* ---- packing -------------------------------------------------------------------------------------------------- */

typedef struct matrix {
    const uint8_t *halves;
    uint32_t rows, cols;
} matrix;

/* Tiles of a part of the matrix, row tile by row tile; `to` is zero where the matrix has no row. */
static uint8_t *pack_tiles(uint8_t *to, const matrix *m, uint32_t row0, uint32_t rows, uint32_t col0,
                           uint32_t cols)
{
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t col = 0; col < cols && row0 + row < m->rows; col++) {
            const size_t tile = row / 16 * (cols / 16) + col / 16;
            memcpy(to + tile * D4R_K_TILE_BYTES + D4R_K_TILE_BYTE(row % 16, col % 16),
                   m->halves + 2 * ((size_t)(row0 + row) * m->cols + col0 + col), 2);
        }
    return to + D4R_K_TILES(rows, cols);
}

static uint8_t *pack_floats(uint8_t *to, const uint8_t *floats, size_t first, size_t count)
{
    memcpy(to, floats + 4 * first, 4 * count);
    return to + 4 * count;
}

static void pack_rel_bias(uint8_t *to, const uint8_t *table)
{
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4; k++)
            for (int key = 0; key < 16; key++)
                for (int query = 0; query < 16; query++) {
                    const int dy = D4R_K_TOKEN_ROW(k, key) - D4R_K_TOKEN_ROW(q, query);
                    const int dx = D4R_K_TOKEN_COLUMN(k, key) - D4R_K_TOKEN_COLUMN(q, query);
                    memcpy(to + (4 * q + k) * 1024 + D4R_K_REL_INDEX(key, query) * 4,
                           table + (15 * (dy + 7) + dx + 7) * 4, 4);
                }
}

static void pack_block(uint8_t *block, const layer *l, const uint8_t *const *data)
{
    const uint32_t c = l->c, h = l->h, step = D4R_K_MLP_STEP(h);
    const matrix qkv = {data[QKV], 3 * c, c}, proj = {data[PROJ], c, c}, mlp1 = {data[MLP1], h, c},
                 mlp2 = {data[MLP2], c, h};
    for (uint32_t head = 0; head < D4R_K_HEADS(c); head++) {
        uint8_t *to = block + D4R_K_BLOCK_HEAD(c, head);
        for (uint32_t part = 0; part < 3; part++) to = pack_tiles(to, &qkv, part * c + 32 * head, 32, 0, c);
        to = pack_tiles(to, &proj, 0, c, 32 * head, 32);
        to = pack_floats(to, data[QV_BIAS], 32 * head, 32);
        pack_floats(to, data[QV_BIAS], c + 32 * head, 32);
        pack_rel_bias(block + D4R_K_BLOCK_REL(c, h) + head * D4R_K_REL_BYTES,
                      data[REL_BIAS] + head * D4R_K_OFFSETS * 4);
    }
    for (uint32_t j = 0; j < h / step; j++) {
        uint8_t *to = pack_tiles(block + D4R_K_BLOCK_MLP(c, h, j), &mlp1, j * step, step, 0, c);
        to = pack_tiles(to, &mlp2, 0, c, j * step, step);
        pack_floats(to, data[MLP1_BIAS], j * step, step);
    }
}

/* The merge or expand, a place or 32 channels at a time; returns where the block begins. */
static uint8_t *pack_between(uint8_t *to, const layer *l, const uint8_t *const *data)
{
    if (!l->between) return to;
    const matrix m = {data[BETWEEN], between_rows(l), between_cols(l)};
    const uint32_t cols = l->between[0] == 'm' ? l->in : 32;
    for (uint32_t col = 0; col < m.cols; col += cols) to = pack_tiles(to, &m, 0, m.rows, col, cols);
    return pack_floats(to, data[BETWEEN_BIAS], 0, m.rows);
}

void d4r_k_pack(const d4r_k_weights *weights, uint8_t *network)
{
    memset(network, 0, D4R_K_NET_BYTES);
    for (int i = 0; i < D4R_K_LAYERS; i++) {
        const uint8_t *data[D4R_K_LAYER_TENSORS];
        for (int k = 0; k < D4R_K_LAYER_TENSORS; k++)
            data[k] = weights->data + weights->offset[i * D4R_K_LAYER_TENSORS + k];
        pack_block(pack_between(network + layers[i].offset, &layers[i], data), &layers[i], data);
    }
    const matrix head = {weights->data + weights->offset[BETWEEN], D4R_K_HEAD, D4R_K_C0};
    uint8_t *to =
        pack_tiles(network + D4R_K_NET_BYTES - D4R_K_HEAD_BYTES, &head, 0, D4R_K_HEAD_ROWS, 0, D4R_K_C0);
    pack_floats(to, weights->data + weights->offset[BETWEEN_BIAS], 0, D4R_K_HEAD);
}
