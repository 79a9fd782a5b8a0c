#include "models/format/m_pack.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/format/file.h"
#include "models/format/fp8.h"
#include "runtime/base/log.h"

#define LOG2_E 1.44269504088896340736

d4r_status d4r_m_weights_create(d4r_m_weights *weights)
{
    size_t at = 0;
    *weights = (d4r_m_weights){0};
    /* f32 tensors first, so that they are aligned in memory and in the file. */
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
            if ((d4r_m_tensors[i].kind == D4R_M_WEIGHT) != (pass == 1)) continue;
            weights->offset[i] = at;
            at += d4r_m_tensor_bytes(&d4r_m_tensors[i]);
        }
    weights->data = calloc(1, at);
    if (!weights->data) return D4R_ERROR_MEMORY;
    weights->bytes = at;
    return D4R_OK;
}

void d4r_m_weights_free(d4r_m_weights *weights)
{
    free(weights->data);
    *weights = (d4r_m_weights){0};
}

static d4r_status match_one(const char *path, const d4r_m_tensor *want, const d4r_tensor *have,
                            const d4r_log *log)
{
    uint32_t dimensions = want->kind == D4R_M_BIAS ? 1 : 2;
    char shape[40];
    snprintf(shape, sizeof shape, dimensions == 1 ? "[%u]" : "[%u, %u]", want->rows, want->cols);
    if (!have)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\" %s of preset M is missing", path, want->name,
                        shape);
    if (have->dimensions != dimensions || have->shape[0] != want->rows ||
        (dimensions == 2 && have->shape[1] != want->cols))
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\": its shape is not %s", path, want->name,
                        shape);
    if (want->kind != D4R_M_WEIGHT && have->dtype == D4R_DTYPE_F8_E4M3)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\": a bias cannot be F8_E4M3; use F32", path,
                        want->name);
    return D4R_OK;
}

d4r_status d4r_m_match(const char *path, const d4r_safetensors *safetensors, const d4r_log *log)
{
    char printable[D4R_PRINTABLE_SIZE];
    for (size_t i = 0; i < safetensors->count; i++)
        if (d4r_m_tensor_index(safetensors->tensors[i].name) < 0)
            return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\" is not one of preset M's", path,
                            d4r_printable(printable, safetensors->tensors[i].name));
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *want = &d4r_m_tensors[i];
        d4r_status status = match_one(path, want, d4r_safetensors_find(safetensors, want->name), log);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

/* Little-endian, as everything here; memcpy because tensors may lie at any address. */
static float read_float(const uint8_t *at, d4r_dtype dtype)
{
    uint16_t half;
    float value;
    switch (dtype) {
    case D4R_DTYPE_F8_E4M3:
        return d4r_e4m3_to_float(*at);
    case D4R_DTYPE_F16:
        memcpy(&half, at, sizeof half);
        return d4r_half_to_float(half);
    case D4R_DTYPE_BF16:
        memcpy(&half, at, sizeof half);
        return d4r_bfloat_to_float(half);
    case D4R_DTYPE_F32:
        break;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

static d4r_status fail_value(const char *path, const d4r_tensor *tensor, size_t index, const char *text,
                             const d4r_log *log)
{
    return d4r_fail(log, D4R_ERROR_MODEL, "%s: tensor \"%s\": element %zu %s", path, tensor->name, index,
                    text);
}

static d4r_status convert_weight(const char *path, const uint8_t *from, const d4r_tensor *tensor, uint8_t *to,
                                 d4r_m_rounding *rounding, const d4r_log *log)
{
    size_t step = d4r_dtype_bytes(tensor->dtype);
    *rounding = (d4r_m_rounding){0};
    for (size_t i = 0; i < tensor->elements; i++) {
        float value = read_float(from + i * step, tensor->dtype);
        if (!isfinite(value)) return fail_value(path, tensor, i, "is not a finite number", log);
        /* An FP8 code is kept as it is: -0 stays -0, and the file stays byte for byte the same. */
        to[i] = tensor->dtype == D4R_DTYPE_F8_E4M3 ? from[i] : d4r_float_to_e4m3(value);
        double error = (double)d4r_e4m3_to_float(to[i]) - value;
        rounding->signal += (double)value * value;
        rounding->noise += error * error;
        rounding->flushed += value != 0.0f && (to[i] & 0x7f) == 0;
        rounding->saturated += fabsf(value) > D4R_E4M3_MAX;
        rounding->largest = fmaxf(rounding->largest, fabsf(value));
    }
    return D4R_OK;
}

static d4r_status convert_bias(const char *path, const uint8_t *from, const d4r_tensor *tensor, uint8_t *to,
                               const d4r_log *log)
{
    size_t step = d4r_dtype_bytes(tensor->dtype);
    for (size_t i = 0; i < tensor->elements; i++) {
        float value = read_float(from + i * step, tensor->dtype);
        if (!isfinite(value)) return fail_value(path, tensor, i, "is not a finite number", log);
        if (fabsf(value) > D4R_M_BIAS_LIMIT)
            return fail_value(path, tensor, i, "is beyond +-65504, the range of a bias", log);
        memcpy(to + i * sizeof value, &value, sizeof value);
    }
    return D4R_OK;
}

static d4r_status convert(const char *path, const uint8_t *file, const d4r_safetensors *safetensors,
                          const d4r_log *log, d4r_m_weights *weights, d4r_m_rounding *rounding)
{
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_tensor *tensor = d4r_safetensors_find(safetensors, d4r_m_tensors[i].name);
        uint8_t *to = weights->data + weights->offset[i];
        d4r_m_rounding local = {0};
        d4r_status status = d4r_m_tensors[i].kind == D4R_M_WEIGHT
                                ? convert_weight(path, file + tensor->offset, tensor, to, &local, log)
                                : convert_bias(path, file + tensor->offset, tensor, to, log);
        if (status != D4R_OK) return status;
        if (local.saturated)
            d4r_log_print(log, D4R_LOG_WARNING,
                          "%s: tensor \"%s\": %zu of %" PRIu64 " values beyond +-448 saturated", path,
                          tensor->name, local.saturated, tensor->elements);
        if (rounding) rounding[i] = local;
    }
    return D4R_OK;
}

d4r_status d4r_m_weights_read(const char *path, const uint8_t *file, size_t size, const d4r_log *log,
                              d4r_m_weights *weights, d4r_m_rounding *rounding)
{
    d4r_safetensors safetensors;
    *weights = (d4r_m_weights){0};
    d4r_status status = d4r_safetensors_parse(path, file, size, size, log, &safetensors);
    if (status != D4R_OK) return status;
    status = d4r_m_match(path, &safetensors, log);
    if (status == D4R_OK && d4r_m_weights_create(weights) != D4R_OK)
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the weights", path);
    if (status == D4R_OK) status = convert(path, file, &safetensors, log, weights, rounding);
    d4r_safetensors_free(&safetensors);
    if (status != D4R_OK) d4r_m_weights_free(weights);
    return status;
}

d4r_status d4r_m_weights_encode(const d4r_m_weights *weights, uint8_t **image, size_t *size)
{
    static const char *const metadata[] = {"format", "pt", "preset", "M", NULL};
    d4r_tensor tensors[D4R_M_TENSOR_COUNT] = {0};
    const uint8_t *data[D4R_M_TENSOR_COUNT];
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
            const d4r_m_tensor *from = &d4r_m_tensors[i];
            d4r_tensor *to = &tensors[count];
            if ((from->kind == D4R_M_WEIGHT) != (pass == 1)) continue;
            snprintf(to->name, sizeof to->name, "%s", from->name);
            to->dtype = from->kind == D4R_M_WEIGHT ? D4R_DTYPE_F8_E4M3 : D4R_DTYPE_F32;
            to->dimensions = from->kind == D4R_M_BIAS ? 1 : 2;
            to->shape[0] = from->rows;
            to->shape[1] = from->cols;
            to->elements = d4r_m_tensor_elements(from);
            to->bytes = d4r_m_tensor_bytes(from);
            data[count++] = weights->data + weights->offset[i];
        }
    return d4r_safetensors_encode(tensors, data, count, metadata, image, size);
}

static void pack_tiles(const d4r_m_tensor *tensor, const uint8_t *from, uint8_t *to)
{
    for (uint32_t row = 0; row < tensor->rows; row++)
        for (uint32_t col = 0; col < tensor->cols; col++) {
            uint32_t tile = row / 16 * (tensor->cols / 16) + col / 16;
            to[tile * D4R_M_TILE_BYTES + D4R_M_TILE_BYTE(row % 16, col % 16)] =
                from[row * tensor->cols + col];
        }
}

/* [head][49] -> [head][key][query], times log2(e) because the kernels use exp2. */
static void pack_rel_bias(const d4r_m_tensor *tensor, const uint8_t *from, uint8_t *to)
{
    for (uint32_t head = 0; head < tensor->rows; head++)
        for (int key = 0; key < D4R_M_WINDOW_TOKENS; key++)
            for (int query = 0; query < D4R_M_WINDOW_TOKENS; query++) {
                int dy = key / D4R_M_WINDOW - query / D4R_M_WINDOW,
                    dx = key % D4R_M_WINDOW - query % D4R_M_WINDOW;
                float value;
                memcpy(&value, from + (head * tensor->cols + (uint32_t)(7 * (dy + 3) + dx + 3)) * 4, 4);
                value = (float)(value * LOG2_E);
                memcpy(to + ((head * 16 + (uint32_t)key) * 16 + (uint32_t)query) * 4, &value, 4);
            }
}

void d4r_m_pack(const d4r_m_weights *weights, uint8_t *stage, uint8_t *network)
{
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *tensor = &d4r_m_tensors[i];
        const uint8_t *from = weights->data + weights->offset[i];
        uint8_t *to = (tensor->image == D4R_M_STAGE_IMAGE ? stage : network) + tensor->packed_offset;
        if (tensor->kind == D4R_M_REL_BIAS)
            pack_rel_bias(tensor, from, to);
        else if (tensor->kind == D4R_M_WEIGHT && tensor->image == D4R_M_NETWORK_IMAGE)
            pack_tiles(tensor, from, to);
        else
            memcpy(to, from, d4r_m_tensor_bytes(tensor));
    }
}
