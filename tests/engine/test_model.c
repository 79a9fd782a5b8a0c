#include "tests/engine/test_model.h"

#include <stdlib.h>
#include <string.h>
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
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++)
        if (strcmp(d4r_m_tensors[i].name, "expansion.bias") != 0)
            random_tensor(&d4r_m_tensors[i], weights->data + weights->offset[i], &seed);
    return true;
}

d4r_model *test_model_create(uint32_t seed)
{
    d4r_model *model = calloc(1, sizeof *model);
    d4r_m_weights weights = {0};
    bool ok = model && d4r_m_weights_create(&weights) == D4R_OK && fill(&weights, seed);
    if (ok) {
        model->info.preset = D4R_PRESET_M;
        model->info.name = "test";
        model->info.licence = "none";
        model->stage_weight_bytes = D4R_M_STAGE_BYTES;
        model->network_bytes = D4R_M_NET_BYTES;
        model->stage_weights = aligned_alloc(64, (D4R_M_STAGE_BYTES + 63) / 64 * 64);
        model->network = aligned_alloc(256, (D4R_M_NET_BYTES + 255) / 256 * 256);
        ok = model->stage_weights && model->network;
    }
    if (ok) d4r_m_pack(&weights, model->stage_weights, model->network);
    d4r_m_weights_free(&weights);
    if (ok) return model;
    test_model_destroy(model);
    return NULL;
}

void test_model_destroy(d4r_model *model)
{
    if (!model) return;
    free(model->stage_weights);
    free(model->network);
    free(model);
}
