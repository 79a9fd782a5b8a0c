/* Every layer on the emulated device against the CPU network, on identical inputs: each HIP launch gets the CPU's
 * codes of the layers that it reads. Then the whole network. Architectures: the arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/hip_net.h"
#include "models/format/m_layout.h"
#include "tests/hip/env.h"
#include "tests/network/compare.h"
#include "tests/network/network_tensors.h"

/* The sums run in another order than the CPU's. A value within half an ulp of f32 of a rounding boundary then falls to
 * the other side, and everything that depends on it may follow (tests/network/test_network.c has the arithmetic). */
#define LEAST_SAME_PERCENT 99.99

static int arch_count;
static char **archs;
static d4r_model *model;

typedef struct layers {
    d4r_size grid;
    uint8_t *tokens;
    uint8_t *codes[D4R_M_LAYER_COUNT];
    size_t bytes[D4R_M_LAYER_COUNT];
} layers;

static uint8_t *allocate(size_t bytes)
{
    uint8_t *p = malloc(bytes);
    assert_non_null(p);
    return p;
}

static void keep(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                 uint32_t channels)
{
    layers *l = user;
    l->bytes[layer] = (size_t)columns * rows * channels;
    l->codes[layer] = allocate(l->bytes[layer]);
    memcpy(l->codes[layer], codes, l->bytes[layer]);
}

static void run_cpu(layers *l, d4r_size grid)
{
    const d4r_cpu_net_params params = {.net = &d4r_m_net,
                                       .network = model->network,
                                       .network_bytes = D4R_M_NET_BYTES,
                                       .max_grid = grid,
                                       .threads = 2};
    size_t bytes = (size_t)grid.width * grid.height * D4R_M_TOKEN_CHANNELS;
    d4r_cpu_net *net;
    memset(l, 0, sizeof *l);
    l->grid = grid;
    l->tokens = allocate(bytes);
    network_random_tokens(grid.width, 1.5, l->tokens, bytes);
    uint8_t *head = allocate(bytes);
    const d4r_cpu_net_run_params job = {
        .grid = grid, .tokens = l->tokens, .head = head, .layer = keep, .user = l};
    assert_int_equal(d4r_cpu_net_create(&params, &net), D4R_OK);
    assert_int_equal(d4r_cpu_net_run(net, &job), D4R_OK);
    d4r_cpu_net_destroy(&net);
    free(head);
}

static void free_layers(layers *l)
{
    free(l->tokens);
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(l->codes[i]);
}

/* ---- one device ---- */

typedef struct device {
    d4r_hip *hip;
    d4r_hip_net *net;
    void *tokens, *head;
    size_t bytes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    d4r_status status;
} device;

static void print_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", line);
}

static void open_device(device *d, const layers *l, d4r_hip_graphs graphs)
{
    const d4r_log log = {print_log, NULL, D4R_LOG_WARNING};
    const d4r_hip_match match = {.select = "0"};
    d4r_hip_net_params params = {
        .net = &d4r_m_net, .network = model->network, .max_grid = l->grid, .graphs = graphs};
    memset(d, 0, sizeof *d);
    params.log = log;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->bytes = (size_t)l->grid.width * l->grid.height * D4R_M_TOKEN_CHANNELS;
    assert_int_equal(d4r_hip_load(NULL, &log, &d->hip), D4R_OK);
    assert_int_equal(d4r_hip_find(d->hip, &match, &params.device), D4R_OK);
    params.hip = d->hip;
    assert_int_equal(d4r_hip_net_create(&params, &d->net), D4R_OK);
    assert_int_equal(d->hip->device_malloc(&d->tokens, d->bytes), 0);
    assert_int_equal(d->hip->device_malloc(&d->head, d->bytes), 0);
    assert_int_equal(d->hip->copy(d->tokens, l->tokens, d->bytes, D4R_HIP_MEMCPY_TO_DEVICE), 0);
}

static void close_device(device *d)
{
    assert_true(d4r_hip_net_destroy(&d->net, 5000));
    assert_int_equal(d->hip->device_free(d->tokens), 0);
    assert_int_equal(d->hip->device_free(d->head), 0);
    d4r_hip_unload(&d->hip);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}

static void ended(void *user, d4r_status status)
{
    device *d = user;
    pthread_mutex_lock(&d->lock);
    d->ended = true;
    d->status = status;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

static void launch(device *d, d4r_size grid, unsigned first, unsigned count)
{
    const d4r_hip_net_job job = {.grid = grid,
                                 .tokens = d->tokens,
                                 .head = d->head,
                                 .first = first,
                                 .layers = count,
                                 .done = ended,
                                 .user = d};
    d->ended = false;
    assert_int_equal(d4r_hip_net_launch(d->net, &job), D4R_PENDING);
    pthread_mutex_lock(&d->lock);
    while (!d->ended) pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
    assert_int_equal(d->status, D4R_OK);
}

static void give(device *d, const layers *l, int layer)
{
    if (layer == D4R_M_NO_LAYER) return;
    assert_int_equal(d4r_hip_net_write_layer(d->net, (d4r_m_layer)layer, l->grid, l->codes[layer]), D4R_OK);
}

static void read_output(device *d, const layers *l, int layer, uint8_t *codes)
{
    if (layer == D4R_M_LAYER_DEC1)
        assert_int_equal(d->hip->copy(codes, d->head, d->bytes, D4R_HIP_MEMCPY_TO_HOST), 0);
    else
        assert_int_equal(d4r_hip_net_read_layer(d->net, (d4r_m_layer)layer, l->grid, codes), D4R_OK);
}

static void compare(const char *arch, const char *what, const layers *l, int layer, const uint8_t *codes)
{
    code_comparison c = compare_codes(codes, l->codes[layer], l->bytes[layer]);
    double same = compare_same_percent(&c);
    printf("%s %-8s %ux%u: %zu of %zu codes differ, %.4f %% identical\n", arch, what, l->grid.width,
           l->grid.height, c.different, c.count, same);
    assert_true(c.rms > 0.1);
    assert_int_equal(c.nan, 0);
    assert_true(same >= LEAST_SAME_PERCENT);
}

static void check_layers(const char *arch, d4r_size grid, bool each)
{
    device d;
    layers l;
    env_reset(arch);
    env_set("CHECK", "uninit,race"); /* the checker loses the device on a report */
    env_apply();
    run_cpu(&l, grid);
    open_device(&d, &l, D4R_HIP_GRAPHS_OFF);
    for (int i = 0; each && i < D4R_M_LAYER_COUNT; i++) {
        uint8_t *codes = allocate(l.bytes[i]);
        give(&d, &l, d4r_m_layers[i].input);
        give(&d, &l, d4r_m_layers[i].skip);
        launch(&d, grid, (unsigned)i, 1);
        read_output(&d, &l, i, codes);
        compare(arch, d4r_m_layers[i].name, &l, i, codes);
        free(codes);
    }
    uint8_t *codes = allocate(d.bytes);
    launch(&d, grid, 0, 0);
    read_output(&d, &l, D4R_M_LAYER_DEC1, codes);
    compare(arch, "network", &l, D4R_M_LAYER_DEC1, codes);
    free(codes);
    close_device(&d);
    assert_int_equal(env_live(), 0);
    free_layers(&l);
}

/* 32x48: more than one window group and a partial one on every layer; shifted windows reach over every edge. */
static void layer_by_layer(void **state)
{
    (void)state;
    for (int i = 0; i < arch_count; i++) check_layers(archs[i], (d4r_size){48, 32}, true);
}

static void smallest_grid(void **state)
{
    (void)state;
    for (int i = 0; i < arch_count; i++) check_layers(archs[i], (d4r_size){16, 16}, false);
}

static void bad_jobs(void **state)
{
    device d;
    layers l;
    d4r_hip_net_job job = {.done = ended, .user = &d};
    (void)state;
    env_reset(archs[0]);
    run_cpu(&l, (d4r_size){16, 16});
    open_device(&d, &l, D4R_HIP_GRAPHS_OFF);
    job.tokens = d.tokens;
    job.head = d.head;
    static const d4r_size bad[] = {{0, 16}, {16, 8}, {24, 16}, {32, 16}, {16, 32}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        job.grid = bad[i];
        assert_int_equal(d4r_hip_net_launch(d.net, &job), D4R_ERROR_ARGUMENT);
    }
    job.grid = l.grid;
    job.first = 3;
    assert_int_equal(d4r_hip_net_launch(d.net, &job), D4R_ERROR_ARGUMENT);
    job.layers = 8;
    assert_int_equal(d4r_hip_net_launch(d.net, &job), D4R_ERROR_ARGUMENT);
    float times[D4R_NET_MAX_LAYERS];
    assert_int_equal(d4r_hip_net_times(d.net, times), D4R_ERROR_STATE);
    assert_int_equal(d4r_hip_net_read_layer(d.net, D4R_M_LAYER_DEC1, l.grid, l.tokens), D4R_ERROR_ARGUMENT);
    launch(&d, l.grid, 0, 0);
    close_device(&d);
    free_layers(&l);
}

/* More sizes than graphs are kept, twice: rebuilt graphs are right, and a size that comes back too. */
static void changing_sizes(void **state)
{
    static const d4r_size grids[] = {{48, 32}, {16, 16}, {32, 16}, {16, 32}, {32, 32}, {48, 16}};
    device plain, graphs;
    layers l;
    (void)state;
    env_reset(archs[0]);
    run_cpu(&l, grids[0]);
    open_device(&plain, &l, D4R_HIP_GRAPHS_OFF);
    open_device(&graphs, &l, D4R_HIP_GRAPHS_ON);
    uint8_t *a = allocate(plain.bytes), *b = allocate(plain.bytes);
    for (unsigned i = 0; i < 12; i++) {
        d4r_size grid = grids[i * 5 % 6];
        size_t bytes = (size_t)grid.width * grid.height * D4R_M_TOKEN_CHANNELS;
        launch(&plain, grid, 0, 0);
        launch(&graphs, grid, 0, 0);
        read_output(&plain, &l, D4R_M_LAYER_DEC1, a);
        read_output(&graphs, &l, D4R_M_LAYER_DEC1, b);
        assert_memory_equal(a, b, bytes);
    }
    free(a);
    free(b);
    close_device(&plain);
    close_device(&graphs);
    assert_int_equal(env_live(), 0);
    free_layers(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_by_layer),
        cmocka_unit_test(smallest_grid),
        cmocka_unit_test(bad_jobs),
        cmocka_unit_test(changing_sizes),
    };
    if (argc < 2) return 2;
    archs = argv + 1;
    arch_count = argc - 1;
    env_start();
    model = env_model(5);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    env_model_free(model);
    return failed;
}
