/* The whole picture with the network in double precision (an external network of this test's own) against the CPU
 * network: same stages, same frames, the shipped model. One FP8 code that falls the other way is a step of 6 to 12 %, which
 * later layers and the histories spread: hence a bound on the picture, not equality. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "models/format/m_layout.h"
#include "models/format/model.h"
#include "tests/engine/rig.h"
#include "tests/network/network_ref.h"

#define FRAMES 4
#define LEAST_DB 50.0
#define LOG2_E 1.44269504088896340736

/* ---- logical tensors from the packed image ---- */

static const uint8_t *take_matrix(const uint8_t *at, linear_tensors *l)
{
    for (int o = 0; o < l->out; o++)
        for (int i = 0; i < l->in; i++)
            l->weight[o * l->in + i] =
                at[(o / 16 * (l->in / 16) + i / 16) * D4R_M_TILE_BYTES + D4R_M_TILE_BYTE(o % 16, i % 16)];
    return at + (size_t)l->out * (size_t)l->in;
}

static const uint8_t *take_floats(const uint8_t *at, float *values, int count)
{
    memcpy(values, at, (size_t)count * 4);
    return at + (size_t)count * 4;
}

static const uint8_t *take_linear(const uint8_t *at, linear_tensors *l)
{
    return take_floats(take_matrix(at, l), l->bias, l->out);
}

static const uint8_t *take_block(const uint8_t *at, block_tensors *b)
{
    linear_tensors *parts[4] = {&b->qkv, &b->proj, &b->mlp1, &b->mlp2};
    for (int i = 0; i < 4; i++) at = take_matrix(at, parts[i]);
    for (int i = 0; i < 4; i++) at = take_floats(at, parts[i]->bias, parts[i]->out);
    for (int h = 0; h < b->channels / 32; h++) {
        float table[16][16]; /* [key][query], times log2(e) */
        at = take_floats(at, &table[0][0], 256);
        for (int key = 0; key < 16; key++)
            for (int query = 0; query < 16; query++) {
                int dy = key / 4 - query / 4 + 3, dx = key % 4 - query % 4 + 3;
                b->rel_bias[h * 49 + 7 * dy + dx] = (float)(table[key][query] / LOG2_E);
            }
    }
    return at;
}

static network_tensors *unpack(const uint8_t *at)
{
    network_tensors *t = network_tensors_random(1, 1.0); /* for its memory */
    at = take_block(at, &t->blocks[BLOCK_ENC1]);
    at = take_linear(at, &t->linears[LINEAR_MERGE1]);
    at = take_block(at, &t->blocks[BLOCK_ENC2]);
    at = take_linear(at, &t->linears[LINEAR_MERGE2]);
    for (int i = 0; i < 6; i++) at = take_block(at, &t->blocks[BLOCK_MID0 + i]);
    at = take_linear(at, &t->linears[LINEAR_EXPAND2]);
    at = take_block(at, &t->blocks[BLOCK_DEC2]);
    at = take_linear(at, &t->linears[LINEAR_EXPAND1]);
    take_block(at, &t->blocks[BLOCK_DEC1]);
    return t;
}

/* ---- the network in double precision ---- */

typedef struct truth {
    network_tensors *tensors;
    d4r_network_buffers buffers;
    uint8_t *outputs[D4R_M_LAYER_COUNT];
} truth;

static d4r_status truth_attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    truth *t = user;
    (void)log;
    t->buffers = *buffers;
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
        if (!t->outputs[i]) t->outputs[i] = malloc(buffers->tokens_bytes * 2);
    return D4R_OK;
}

static d4r_status truth_run(void *user, const d4r_network_job *job)
{
    truth *t = user;
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) {
        const d4r_m_layer_info *l = &d4r_m_layers[i];
        network_ref_layer(t->tensors, (d4r_m_layer)i, job->token_grid.width, job->token_grid.height,
                          l->input == D4R_M_NO_LAYER ? t->buffers.tokens_map : t->outputs[l->input],
                          l->skip == D4R_M_NO_LAYER ? NULL : t->outputs[l->skip], t->outputs[i]);
    }
    memcpy(t->buffers.head_map, t->outputs[D4R_M_LAYER_DEC1], job->bytes);
    return D4R_OK;
}

/* ---- the comparison ---- */

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

/* sRGB of v / (1 + v). */
static double display(uint16_t bits)
{
    double v = half_value(bits), x = v > 0 ? v / (1 + v) : 0;
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

static double psnr(const uint16_t *a, const uint16_t *b, size_t values)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < values; i++) {
        if (i % 4 == 3) continue;
        double d = display(a[i]) - display(b[i]);
        sum += d * d;
        count++;
    }
    return sum > 0 ? -10 * log10(sum / (double)count) : 100;
}

static void test_picture(void **state)
{
    const d4r_size render = {96, 64}, output = {192, 128};
    vk_test *device = *state;
    d4r_model *model = NULL;
    assert_int_equal(d4r_model_load(D4R_SHIPPED_MODEL, NULL, &model), D4R_OK);
    truth t = {.tensors = unpack(model->network)};
    const d4r_network_callbacks callbacks = {.user = &t,
                                             .name = "double",
                                             .needs_host_map = true,
                                             .watchdog_ms = 300000,
                                             .attach = truth_attach,
                                             .run = truth_run};
    d4r_network *networks[2];
    assert_int_equal(d4r_network_create(&callbacks, NULL, &networks[0]), D4R_OK);
    assert_int_equal(d4r_network_create_cpu(model, NULL, NULL, &networks[1]), D4R_OK);
    uint16_t *pictures[2][FRAMES];
    size_t size = 0;
    for (int n = 0; n < 2; n++) {
        rig r;
        const rig_params params = {
            .model = model, .network = networks[n], .render = render, .output = output, .seed = 5};
        rig_create(&r, device, &params);
        assert_int_equal(r.status, D4R_OK);
        for (uint32_t f = 0; f < FRAMES; f++) {
            assert_int_equal(rig_run(&r, f), D4R_OK);
            pictures[n][f] = rig_read(&r, &size);
        }
        rig_destroy(&r);
        d4r_network_destroy(&networks[n]);
    }
    for (int f = 0; f < FRAMES; f++) {
        double db = psnr(pictures[0][f], pictures[1][f], size / 2);
        print_message("frame %d: %.2f dB\n", f, db);
        assert_true(db >= LEAST_DB);
        free(pictures[0][f]);
        free(pictures[1][f]);
    }
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(t.outputs[i]);
    network_tensors_free(t.tensors);
    d4r_model_destroy(&model);
    assert_int_equal(device->messages, 0);
}

int main(void)
{
    static vk_test device;
    if (!vk_test_create(&device)) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_picture, &device)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&device);
    return failed;
}
