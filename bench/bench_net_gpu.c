/* Preset M's network alone on an NVIDIA GPU: each layer's codes against the CPU network on the CPU's own inputs, then times
 * by events, whole (one graph) and by layer, with the shares of the matrix peak and the memory bandwidth that the same
 * run measures. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bench/gpu.h"
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/hip_net.h"
#include "models/format/model.h"
#include "tests/network/compare.h"
#include "tests/network/network_tensors.h"

enum { MAX_SIZES = 8, MAX_REPEATS = 1000, WARM_UP = 10, SPIN_LOOPS = 20000 };

typedef struct options {
    d4r_size sizes[MAX_SIZES];
    int size_count;
    int repeats;
    const char *model, *tokens, *probes, *kernels, *json, *label, *dump;
    bool check;
} options;

typedef struct result {
    d4r_size render, grid;
    double median, best;              /* us of a whole run */
    double layers[D4R_M_LAYER_COUNT]; /* us, medians; launched one by one */
} result;

typedef struct check_result {
    d4r_size grid;
    double same[D4R_M_LAYER_COUNT]; /* percent of identical codes, each layer on the CPU's inputs */
    size_t far[D4R_M_LAYER_COUNT];  /* more than one step apart */
    bool repeatable;                /* two runs give the same head */
} check_result;

typedef struct bench {
    const options *o;
    bench_gpu gpu;
    bench_gpu_peaks peaks;
    d4r_model *model;
    uint8_t *network; /* hipnet.bin */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    d4r_status status;
} bench;

/* ---- options ---- */

static const char usage[] =
    "usage: bench_net_gpu --probes CUBIN [--kernels DIR] [--model DIR] [--tokens FILE] [--size WxH]... "
    "[--repeats N]\n"
    "                     [--check yes|no] [--dump DIR] [--label TEXT] [--json FILE]\n"
    "Render sizes (default 480x270 to 3840x2160). Without --model random weights, without --tokens (raw "
    "codes of the\n"
    "check's grid, the first size's) random tokens. --dump writes enc1's codes of both and the tokens "
    "there.\n";

static bool parse_size(const char *text, d4r_size *size)
{
    char *end;
    unsigned long w = strtoul(text, &end, 10);
    if (*end != 'x') return false;
    unsigned long h = strtoul(end + 1, &end, 10);
    *size = (d4r_size){(uint32_t)w, (uint32_t)h};
    return *end == 0 && w >= 32 && h >= 32 && w <= 16384 && h <= 16384;
}

static bool parse_option(options *o, const char *name, const char *value)
{
    const struct {
        const char *name, **value;
    } texts[] = {{"--model", &o->model}, {"--tokens", &o->tokens},   {"--probes", &o->probes},
                 {"--json", &o->json},   {"--kernels", &o->kernels}, {"--label", &o->label},
                 {"--dump", &o->dump}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(name, texts[i].name)) {
            *texts[i].value = value;
            return true;
        }
    if (!strcmp(name, "--size"))
        return o->size_count < MAX_SIZES && parse_size(value, &o->sizes[o->size_count++]);
    if (!strcmp(name, "--check")) {
        o->check = !strcmp(value, "yes");
        return o->check || !strcmp(value, "no");
    }
    if (strcmp(name, "--repeats")) return false;
    o->repeats = atoi(value);
    return o->repeats >= 1 && o->repeats <= MAX_REPEATS;
}

static bool parse_options(options *o, int argc, char **argv)
{
    static const d4r_size sizes[] = {{480, 270},   {640, 360},   {960, 540},  {1280, 720},
                                     {1920, 1080}, {2560, 1440}, {3840, 2160}};
    *o = (options){.repeats = 100, .check = true, .label = ""};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !parse_option(o, argv[i], argv[i + 1])) {
            fprintf(stderr, "bench_net_gpu: bad option or value: %s\n%s", argv[i], usage);
            return false;
        }
    if (o->size_count == 0) {
        o->size_count = sizeof sizes / sizeof *sizes;
        memcpy(o->sizes, sizes, sizeof sizes);
    }
    if (!o->probes) fputs(usage, stderr);
    return o->probes != NULL;
}

static d4r_size grid_of(d4r_size render)
{
    return (d4r_size){(render.width + 31) / 32 * 16, (render.height + 31) / 32 * 16};
}

static size_t token_bytes(d4r_size grid)
{
    return (size_t)grid.width * grid.height * D4R_M_TOKEN_CHANNELS;
}

/* ---- one run ---- */

static void job_ended(void *user, d4r_status status)
{
    bench *b = user;
    pthread_mutex_lock(&b->lock);
    b->ended = true;
    b->status = status;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static bool wait_for_job(bench *b)
{
    pthread_mutex_lock(&b->lock);
    while (!b->ended) pthread_cond_wait(&b->changed, &b->lock);
    b->ended = false;
    pthread_mutex_unlock(&b->lock);
    return b->status == D4R_OK;
}

/* Its own device work done, the stream is kept busy for a moment, so that the launch's time on the host is hidden; then the
 * events enclose the network alone. us: NULL, or where the time goes. */
static bool run(bench *b, d4r_hip_net *net, const d4r_hip_net_job *job, d4r_hip_function spin, void *scratch,
                double *us)
{
    const d4r_hip *hip = b->gpu.hip;
    int loops = SPIN_LOOPS;
    void *arguments[] = {&scratch, &loops};
    float ms = 0;
    d4r_hip_error error = 0;
    if (spin) error = hip->launch(spin, 1, 1, 1, 32, 1, 1, 0, b->gpu.stream, arguments, NULL);
    if (!error) error = hip->event_record(b->gpu.start, b->gpu.stream);
    if (error || d4r_hip_net_launch(net, job) != D4R_PENDING) return false;
    error = hip->event_record(b->gpu.end, b->gpu.stream);
    if (!wait_for_job(b) || error) return false;
    error = hip->stream_synchronize(b->gpu.stream);
    if (!error) error = hip->event_elapsed(&ms, b->gpu.start, b->gpu.end);
    if (us) *us = ms * 1e3;
    return error == 0;
}

static d4r_hip_net *create_net(bench *b, d4r_size grid, bool timing)
{
    d4r_hip_net *net = NULL;
    const d4r_hip_net_params params = {.net = &d4r_m_net,
                                       .hip = b->gpu.hip,
                                       .device = b->gpu.device,
                                       .network = b->network,
                                       .max_grid = grid,
                                       .stream = b->gpu.stream,
                                       .kernels = b->o->kernels,
                                       .timing = timing,
                                       .log = b->gpu.hip->log};
    return d4r_hip_net_create(&params, &net) == D4R_OK ? net : NULL;
}

/* ---- times ---- */

static bool measure_whole(bench *b, const d4r_hip_net_job *job, void *scratch, result *r)
{
    double times[MAX_REPEATS];
    d4r_hip_function spin;
    d4r_hip_net *net = create_net(b, r->grid, false);
    bool ok = net && b->gpu.hip->module_function(&spin, b->gpu.probes, "probe_fma") == 0;
    for (int i = 0; ok && i < WARM_UP + b->o->repeats; i++)
        ok = run(b, net, job, spin, scratch, i < WARM_UP ? NULL : &times[i - WARM_UP]);
    if (ok) {
        bench_sort(times, (size_t)b->o->repeats);
        r->median = times[b->o->repeats / 2];
        r->best = times[0];
    }
    d4r_hip_net_destroy(&net, 5000);
    return ok;
}

static bool measure_layers(bench *b, const d4r_hip_net_job *job, result *r)
{
    static double times[D4R_M_LAYER_COUNT][MAX_REPEATS];
    const int repeats = b->o->repeats < 30 ? b->o->repeats : 30;
    d4r_hip_net *net = create_net(b, r->grid, true);
    bool ok = net != NULL;
    for (int i = 0; ok && i < 3 + repeats; i++) {
        float us[D4R_NET_MAX_LAYERS];
        ok = run(b, net, job, NULL, NULL, NULL) && d4r_hip_net_times(net, us) == D4R_OK;
        for (int l = 0; ok && i >= 3 && l < D4R_M_LAYER_COUNT; l++) times[l][i - 3] = us[l];
    }
    for (int l = 0; ok && l < D4R_M_LAYER_COUNT; l++) {
        bench_sort(times[l], (size_t)repeats);
        r->layers[l] = times[l][repeats / 2];
    }
    d4r_hip_net_destroy(&net, 5000);
    return ok;
}

static bool measure(bench *b, d4r_size render, result *r)
{
    r->render = render;
    r->grid = grid_of(render);
    const size_t bytes = token_bytes(r->grid);
    uint8_t *tokens = malloc(bytes);
    if (!tokens) return false;
    network_random_tokens(1, 1.5, tokens, bytes);
    void *in = bench_gpu_memory(&b->gpu, bytes, tokens), *out = bench_gpu_memory(&b->gpu, bytes, NULL);
    const d4r_hip_net_job job = {.grid = r->grid, .tokens = in, .head = out, .done = job_ended, .user = b};
    bool ok = in && out && measure_whole(b, &job, out, r) && measure_layers(b, &job, r);
    b->gpu.hip->device_free(in);
    b->gpu.hip->device_free(out);
    free(tokens);
    return ok;
}

/* ---- codes ---- */

typedef struct layers {
    uint8_t *codes[D4R_M_LAYER_COUNT];
    size_t bytes[D4R_M_LAYER_COUNT];
} layers;

static void keep_layer(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    layers *l = user;
    l->bytes[layer] = (size_t)columns * rows * channels;
    l->codes[layer] = malloc(l->bytes[layer]);
    if (l->codes[layer]) memcpy(l->codes[layer], codes, l->bytes[layer]);
}

static bool run_cpu(const bench *b, d4r_size grid, const uint8_t *tokens, layers *l)
{
    d4r_cpu_net *net = NULL;
    uint8_t *head = malloc(token_bytes(grid));
    const d4r_cpu_net_params params = {
        .net = &d4r_m_net, .network = b->network, .network_bytes = D4R_M_NET_BYTES, .max_grid = grid};
    const d4r_cpu_net_run_params job = {
        .grid = grid, .tokens = tokens, .head = head, .layer = keep_layer, .user = l};
    bool ok = head && d4r_cpu_net_create(&params, &net) == D4R_OK && d4r_cpu_net_run(net, &job) == D4R_OK;
    d4r_cpu_net_destroy(&net);
    free(head);
    for (int i = 0; ok && i < D4R_M_LAYER_COUNT; i++) ok = l->codes[i] != NULL;
    return ok;
}

static void dump(const options *o, const char *name, const uint8_t *codes, size_t bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", o->dump, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(codes, 1, bytes, file) != bytes) fprintf(stderr, "%s: cannot write\n", path);
    if (file) fclose(file);
}

/* The layer on the CPU's inputs; its codes go to `codes`. */
static bool run_layer(bench *b, d4r_hip_net *net, d4r_hip_net_job job, int index, const layers *l,
                      uint8_t *codes)
{
    const d4r_m_layer_info *info = &d4r_m_layers[index];
    const int inputs[] = {info->input, info->skip};
    for (int i = 0; i < 2; i++)
        if (inputs[i] != D4R_M_NO_LAYER &&
            d4r_hip_net_write_layer(net, (unsigned)inputs[i], job.grid, l->codes[inputs[i]]) != D4R_OK)
            return false;
    job.first = (unsigned)index;
    job.layers = 1;
    if (!run(b, net, &job, NULL, NULL, NULL)) return false;
    if (index != D4R_M_LAYER_DEC1)
        return d4r_hip_net_read_layer(net, (unsigned)index, job.grid, codes) == D4R_OK;
    return b->gpu.hip->copy(codes, job.head, l->bytes[index], D4R_HIP_MEMCPY_TO_HOST) == 0;
}

static bool check_layers(bench *b, d4r_hip_net *net, const d4r_hip_net_job *job, const layers *l,
                         check_result *c)
{
    uint8_t *codes = malloc(token_bytes(job->grid));
    bool ok = codes != NULL;
    for (int i = 0; ok && i < D4R_M_LAYER_COUNT; i++) {
        ok = run_layer(b, net, *job, i, l, codes);
        if (!ok) break;
        const code_comparison same = compare_codes(l->codes[i], codes, l->bytes[i]);
        c->same[i] = compare_same_percent(&same);
        c->far[i] = same.far;
        if (i == 0 && b->o->dump) {
            dump(b->o, "enc1.cpu", l->codes[0], l->bytes[0]);
            dump(b->o, "enc1.gpu", codes, l->bytes[0]);
        }
    }
    free(codes);
    return ok;
}

static bool run_twice(bench *b, d4r_hip_net *net, const d4r_hip_net_job *job, bool *same)
{
    const size_t bytes = token_bytes(job->grid);
    uint8_t *heads[2] = {malloc(bytes), malloc(bytes)};
    bool ok = heads[0] && heads[1];
    for (int i = 0; ok && i < 2; i++)
        ok = run(b, net, job, NULL, NULL, NULL) &&
             b->gpu.hip->copy(heads[i], job->head, bytes, D4R_HIP_MEMCPY_TO_HOST) == 0;
    *same = ok && memcmp(heads[0], heads[1], bytes) == 0;
    free(heads[0]);
    free(heads[1]);
    return ok;
}

static bool read_tokens(const options *o, uint8_t *tokens, size_t bytes)
{
    if (!o->tokens) {
        network_random_tokens(1, 1.5, tokens, bytes);
        return true;
    }
    FILE *file = fopen(o->tokens, "rb");
    bool ok = file && fread(tokens, 1, bytes, file) == bytes;
    if (file) fclose(file);
    if (!ok) fprintf(stderr, "%s: not %zu bytes of tokens\n", o->tokens, bytes);
    return ok;
}

static bool check(bench *b, check_result *c)
{
    layers l = {0};
    c->grid = grid_of(b->o->sizes[0]);
    const size_t bytes = token_bytes(c->grid);
    uint8_t *tokens = malloc(bytes);
    bool ok = tokens && read_tokens(b->o, tokens, bytes) && run_cpu(b, c->grid, tokens, &l);
    void *in = ok ? bench_gpu_memory(&b->gpu, bytes, tokens) : NULL,
         *out = bench_gpu_memory(&b->gpu, bytes, NULL);
    d4r_hip_net *net = ok ? create_net(b, c->grid, false) : NULL;
    const d4r_hip_net_job job = {.grid = c->grid, .tokens = in, .head = out, .done = job_ended, .user = b};
    ok = ok && in && out && net && check_layers(b, net, &job, &l, c) &&
         run_twice(b, net, &job, &c->repeatable);
    if (ok && b->o->dump) dump(b->o, "tokens", tokens, bytes);
    d4r_hip_net_destroy(&net, 5000);
    b->gpu.hip->device_free(in);
    b->gpu.hip->device_free(out);
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) free(l.codes[i]);
    free(tokens);
    return ok;
}

/* ---- report ---- */

static double layer_tflop(const result *r, int layer)
{
    return 2e-12 * (double)d4r_m_layer_macs((d4r_m_layer)layer, r->grid.width, r->grid.height);
}

/* Tokens in, skip and out, once each. */
static double layer_gbytes(const result *r, int layer)
{
    const d4r_m_layer_info *l = &d4r_m_layers[layer];
    const double out =
        (double)d4r_m_level_tokens(r->grid.width, r->grid.height, l->out_level) * l->out_channels;
    const double in = (double)d4r_m_level_tokens(r->grid.width, r->grid.height, l->in_level) * l->in_channels;
    return (in + out + (l->skip == D4R_M_NO_LAYER ? 0 : out)) * 1e-9;
}

static void write_size(const bench *b, const result *r, FILE *f)
{
    double tflop = 0;
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) tflop += layer_tflop(r, i);
    fprintf(f, "{\"render\": [%u, %u], \"grid\": [%u, %u], \"median_us\": %.1f, \"best_us\": %.1f, ",
            r->render.width, r->render.height, r->grid.width, r->grid.height, r->median, r->best);
    fprintf(f, "\"gmac\": %.2f, \"tflops\": %.1f, \"peak_share\": %.3f, \"layers\": [", tflop * 500,
            tflop / r->median * 1e6, tflop / r->median * 1e6 / b->peaks.mma_tflops);
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) {
        const double rate = layer_tflop(r, i) / r->layers[i] * 1e6,
                     bytes = layer_gbytes(r, i) / r->layers[i] * 1e6;
        fprintf(f,
                "%s\n      {\"name\": \"%s\", \"us\": %.1f, \"tflops\": %.1f, \"peak_share\": %.3f, "
                "\"gb_s\": %.0f, "
                "\"copy_share\": %.3f}",
                i ? "," : "", d4r_m_layers[i].name, r->layers[i], rate, rate / b->peaks.mma_tflops, bytes,
                bytes / b->peaks.copy_gb_s);
    }
    fprintf(f, "]}");
}

static void write_check(const check_result *c, FILE *f)
{
    fprintf(f, "  \"check\": {\"grid\": [%u, %u], \"repeatable\": %s, \"same_percent\": {", c->grid.width,
            c->grid.height, c->repeatable ? "true" : "false");
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
        fprintf(f, "%s\"%s\": %.4f", i ? ", " : "", d4r_m_layers[i].name, c->same[i]);
    fprintf(f, "}, \"far\": {");
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
        fprintf(f, "%s\"%s\": %zu", i ? ", " : "", d4r_m_layers[i].name, c->far[i]);
    fprintf(f, "}},\n");
}

static void write_report(const bench *b, const check_result *c, const result *results, FILE *f)
{
    fprintf(f, "{\n  \"bench\": \"bench_net_gpu\",\n  \"label\": \"%s\",\n", b->o->label);
    bench_gpu_json_header(&b->gpu, f);
    fprintf(f, "  \"weights\": \"%s\",\n", b->model ? b->model->info.name : "random");
    fprintf(f, "  \"mma_f16_peak_tflops\": %.1f,\n  \"copy_gb_s\": %.0f,\n", b->peaks.mma_tflops,
            b->peaks.copy_gb_s);
    if (b->o->check) write_check(c, f);
    fprintf(f, "  \"sizes\": [");
    for (int i = 0; i < b->o->size_count; i++) {
        fprintf(f, "%s\n    ", i ? "," : "");
        write_size(b, &results[i], f);
    }
    fprintf(f, "\n  ]\n}\n");
}

static bool write_json(const bench *b, const check_result *c, const result *results)
{
    char temporary[1024];
    snprintf(temporary, sizeof temporary, "%s.tmp", b->o->json);
    FILE *file = fopen(temporary, "w");
    if (file) write_report(b, c, results, file);
    bool ok = file && !ferror(file);
    if (file) ok = fclose(file) == 0 && ok;
    ok = ok && rename(temporary, b->o->json) == 0;
    if (!ok) fprintf(stderr, "bench_net_gpu: %s: cannot write: %s\n", b->o->json, strerror(errno));
    return ok;
}

static void print_summary(const bench *b, const check_result *c, const result *results)
{
    printf("%s: mma peak %.0f TFLOP/s, copy %.0f GB/s\n", b->o->label, b->peaks.mma_tflops,
           b->peaks.copy_gb_s);
    for (int i = 0; b->o->check && i < D4R_M_LAYER_COUNT; i++)
        printf("%s%s %.4f%%", i ? " " : "  ", d4r_m_layers[i].name, c->same[i]);
    if (b->o->check) printf(" repeatable %d\n", c->repeatable);
    for (int s = 0; s < b->o->size_count; s++) {
        printf("  %ux%u: %.0f us (best %.0f):", results[s].render.width, results[s].render.height,
               results[s].median, results[s].best);
        for (int i = 0; i < D4R_M_LAYER_COUNT; i++) printf(" %.0f", results[s].layers[i]);
        printf("\n");
    }
}

static bool get_weights(bench *b)
{
    if (b->o->model) {
        if (d4r_model_load(b->o->model, &b->gpu.hip->log, &b->model) != D4R_OK) return false;
        b->network = b->model->network;
        return true;
    }
    network_tensors *tensors = network_tensors_random(1, 1.0);
    b->network = malloc(D4R_M_NET_BYTES);
    if (b->network) network_tensors_pack(tensors, b->network);
    network_tensors_free(tensors);
    return b->network != NULL;
}

int main(int argc, char **argv)
{
    options o;
    bench b = {.o = &o, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    result results[MAX_SIZES] = {0};
    check_result c = {0};
    if (!parse_options(&o, argc, argv)) return 2;
    if (!bench_gpu_open(o.probes, &b.gpu)) return 3;
    if (!get_weights(&b)) return 4;
    bool ok = bench_gpu_measure_peaks(&b.gpu, &b.peaks) && (!o.check || check(&b, &c));
    for (int i = 0; ok && i < o.size_count; i++) ok = measure(&b, o.sizes[i], &results[i]);
    if (ok) print_summary(&b, &c, results);
    if (ok && o.json) ok = write_json(&b, &c, results);
    if (b.model)
        d4r_model_destroy(&b.model);
    else
        free(b.network);
    bench_gpu_close(&b.gpu);
    if (!ok) fprintf(stderr, "bench_net_gpu: failed\n");
    return ok ? 0 : 6;
}
