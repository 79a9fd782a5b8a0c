#include "tests/engine/test_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"
#include "models/format/neutral.h"

float test_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f;
}

/* Codes up to 1/8: sums of 64 to 256 products of values near 1 stay near 1. */
static void random_tensor(const d4r_m_tensor *tensor, uint8_t *data, uint32_t *state)
{
    size_t count = d4r_m_tensor_elements(tensor);
    for (size_t i = 0; i < count; i++) {
        float value = (test_random(state) - 0.5f) * (tensor->kind == D4R_M_REL_BIAS ? 1.0f : 0.2f);
        if (tensor->kind == D4R_M_WEIGHT) {
            uint8_t code = (uint8_t)(test_random(state) * 33);
            data[i] = (uint8_t)(value < 0 ? code | 0x80 : code);
        } else {
            memcpy(data + 4 * i, &value, 4);
        }
    }
}

static bool fill(d4r_m_weights *weights, uint32_t seed)
{
    d4r_m_neutral neutral = d4r_m_neutral_default();
    if (d4r_m_neutral_fill(&neutral, NULL, weights) != D4R_OK) return false;
    for (int i = 0; seed != TEST_NEUTRAL && i < D4R_M_TENSOR_COUNT; i++)
        if (strcmp(d4r_m_tensors[i].name, "expansion.bias") != 0)
            random_tensor(&d4r_m_tensors[i], weights->data + weights->offset[i], &seed);
    return true;
}

static bool create_m(d4r_model *model, uint32_t seed)
{
    d4r_m_weights weights = {0};
    bool ok = d4r_m_weights_create(&weights) == D4R_OK && fill(&weights, seed);
    model->stage_weight_bytes = D4R_M_STAGE_BYTES;
    model->network_bytes = D4R_M_NET_BYTES;
    model->stage_weights = aligned_alloc(64, (D4R_M_STAGE_BYTES + 63) / 64 * 64);
    model->network = aligned_alloc(256, (D4R_M_NET_BYTES + 255) / 256 * 256);
    ok = ok && model->stage_weights && model->network;
    if (ok) d4r_m_pack(&weights, model->stage_weights, model->network);
    d4r_m_weights_free(&weights);
    return ok;
}

/* ---- preset K ---- */

static void random_k_tensor(const d4r_k_tensor *t, float gain, uint8_t *data, uint32_t *state)
{
    for (size_t i = 0; i < d4r_k_tensor_elements(t); i++) {
        const float value = 2 * test_random(state) - 1;
        const float weight = value * gain * sqrtf(3.0f / (float)t->cols), bias = 0.2f * value;
        const uint16_t half = d4r_k_half_of(weight);
        if (t->weight)
            memcpy(data + 2 * i, &half, 2);
        else
            memcpy(data + 4 * i, &bias, 4);
    }
}

/* Inputs of unit variance keep about that; the head's values stay near the neutral ones. */
bool test_k_weights_fill(d4r_k_weights *weights, uint8_t *tables, uint32_t seed)
{
    const d4r_k_neutral neutral = d4r_k_neutral_default();
    if (d4r_k_neutral_fill(&neutral, NULL, weights, tables) != D4R_OK) return false;
    for (int i = 0; seed != TEST_NEUTRAL && i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor t = d4r_k_tensor_at(i);
        if (strcmp(t.name, "head.bias") != 0)
            random_k_tensor(&t, strcmp(t.name, "head.weight") ? 1.0f : 0.3f,
                            weights->data + weights->offset[i], &seed);
    }
    return true;
}

static bool create_k(d4r_model *model, uint32_t seed)
{
    d4r_k_weights weights = {0};
    model->network_bytes = D4R_K_NET_BYTES;
    model->table_bytes = D4R_K_TABLES_BYTES;
    model->network = aligned_alloc(256, (D4R_K_NET_BYTES + 255) / 256 * 256);
    model->tables = aligned_alloc(64, D4R_K_TABLES_BYTES);
    bool ok = model->network && model->tables && d4r_k_weights_create(&weights) == D4R_OK &&
              test_k_weights_fill(&weights, model->tables, seed);
    if (ok) d4r_k_pack(&weights, model->network);
    d4r_k_weights_free(&weights);
    return ok;
}

d4r_model *test_model_create_of(d4r_preset preset, uint32_t seed)
{
    d4r_model *model = calloc(1, sizeof *model);
    if (!model) return NULL;
    model->info.preset = preset;
    model->info.name = "test";
    model->info.licence = "none";
    if (preset == D4R_PRESET_K ? create_k(model, seed) : create_m(model, seed)) return model;
    test_model_destroy(model);
    return NULL;
}

d4r_preset test_preset(void)
{
    const char *name = getenv("D4R_TEST_PRESET");
    return name && strcmp(name, "K") == 0 ? D4R_PRESET_K : D4R_PRESET_M;
}

d4r_model *test_model_create(uint32_t seed)
{
    return test_model_create_of(test_preset(), seed);
}

void test_model_destroy(d4r_model *model)
{
    if (!model) return;
    free(model->stage_weights);
    free(model->network);
    free(model->tables);
    free(model);
}
