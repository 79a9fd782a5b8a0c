/* d4r-net: runs a model's network alone, on tokens from a file. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hip_kernels/cpu_net.h"
#include "hip_kernels/hip_net.h"
#include "models/format/model.h"
#include "runtime/cli/given.h"
#include "runtime/cli/hip_options.h"
#include "runtime/cli/image.h"
#include "runtime/cli/json_read.h"

static const char help_text[] =
    "Usage: d4r-net [options] MODEL --network cpu|hip --in TOKENS --out HEAD\n"
    "Runs a model's network alone.\n"
    "\n"
    "  MODEL                     model directory (d4r-model makes one)\n"
    "  --network cpu|hip         who computes\n"
    "  --in TOKENS               .npy. Preset M: bytes, FP8 e4m3 codes, [rows, columns, 64], multiples of "
    "16; "
    "preset K:\n"
    "                            f16, [rows, columns, 32], multiples of 32\n"
    "  --out HEAD                .npy that is written: the head, or the layer chosen; '-': none, timing "
    "only\n"
    "  --layer N|NAME            stop after this layer: a number from 0, or M: enc1 enc2 mid0 ... mid5 dec2 "
    "dec1, "
    "K: enc0\n"
    "                            ... enc4 dec5 ... dec0; default: the last one\n"
    "  --grid WxH                columns and rows when the file's shape does not say: [n] or [n, channels]\n"
    "  --phase N                 which of a preset's windows cuts, 0 (default) to 7 (K), 0 (M)\n"
    "  --repeats N               run this often, always the same phase (default 1), and print the median "
    "time\n"
    "  --layer-times             time of each layer, by events (HIP; plain launches)\n"
    "  --threads N               threads of the CPU network; default all cores\n"
    "  --watchdog MS             bound for one run on a HIP device; default 60000\n"
    "  --json FILE               what ran and its times\n"
    "  -q, --quiet               errors and warnings only\n"
    "  -v, --verbose             also debug messages\n";

static const char help_end[] = "  Without --hip-device it is device 0. --hip-handoff has no meaning here.\n"
                               "\nExit codes: 0 done, 2 usage, 3 no device, library or kernels, 4 bad model, "
                               "5 bad input or an unwritable output,\n"
                               "6 device failure. The output appears complete or not at all.\n";

enum {
    OPTION_NETWORK = 1,
    OPTION_IN,
    OPTION_OUT,
    OPTION_LAYER,
    OPTION_GRID,
    OPTION_PHASE,
    OPTION_REPEATS,
    OPTION_LAYER_TIMES,
    OPTION_THREADS,
    OPTION_WATCHDOG,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {{"network", required_argument, NULL, OPTION_NETWORK},
                                             {"in", required_argument, NULL, OPTION_IN},
                                             {"out", required_argument, NULL, OPTION_OUT},
                                             {"layer", required_argument, NULL, OPTION_LAYER},
                                             {"grid", required_argument, NULL, OPTION_GRID},
                                             {"phase", required_argument, NULL, OPTION_PHASE},
                                             {"repeats", required_argument, NULL, OPTION_REPEATS},
                                             {"layer-times", no_argument, NULL, OPTION_LAYER_TIMES},
                                             {"threads", required_argument, NULL, OPTION_THREADS},
                                             {"watchdog", required_argument, NULL, OPTION_WATCHDOG},
                                             {"json", required_argument, NULL, OPTION_JSON},
                                             {"quiet", no_argument, NULL, 'q'},
                                             {"verbose", no_argument, NULL, 'v'},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {"version", no_argument, NULL, OPTION_VERSION},
                                             CLI_HIP_OPTIONS,
                                             {NULL, 0, NULL, 0}};

#define MAX_REPEATS 100000u

typedef struct options {
    const char *model, *in, *out, *json;
    d4r_network_kind network; /* AUTO: not given */
    const char *layer;        /* the last one that runs; NULL: all */
    d4r_size grid;            /* 0, 0: from the file */
    uint32_t phase, repeats, threads, watchdog_ms;
    bool layer_times;
    d4r_hip_network_params hip;
} options;

/* One evaluation after another, on whatever was chosen. */
typedef struct run {
    const options *o;
    const d4r_net_desc *net;
    unsigned layer; /* the last one that runs */
    d4r_size grid;
    const uint8_t *tokens;
    uint8_t *result; /* the last layer's values */
    size_t result_bytes;
    double *seconds; /* of each repeat */
    char description[300];
    float layer_us[D4R_NET_MAX_LAYERS];
    bool has_layer_us;
} run;

/* ---- options ---- */

static bool parse_grid(const char *text, d4r_size *grid)
{
    char copy[32];
    char *x;
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    x = strchr(copy, 'x');
    if (!x) return false;
    *x = 0;
    return cli_parse_uint(copy, 16, 16384, &grid->width) && cli_parse_uint(x + 1, 16, 16384, &grid->height);
}

/* CLI_OK, or CLI_USAGE after a message. */
static int take_option(int option, const char *value, options *o)
{
    bool good = true;
    if (option == CLI_HIP_HANDOFF) return cli_usage_error("--hip-handoff has no meaning without Vulkan");
    if (cli_hip_option(option, value, &o->hip, &good)) return good ? CLI_OK : CLI_USAGE;
    switch (option) {
    case OPTION_NETWORK:
        o->network = !strcmp(value, "cpu")   ? D4R_NETWORK_CPU
                     : !strcmp(value, "hip") ? D4R_NETWORK_HIP
                                             : D4R_NETWORK_AUTO;
        if (o->network != D4R_NETWORK_AUTO) return CLI_OK;
        return cli_usage_error("--network: '%s' is neither cpu nor hip", value);
    case OPTION_IN:
        o->in = value;
        return CLI_OK;
    case OPTION_OUT:
        o->out = value;
        return CLI_OK;
    case OPTION_LAYER:
        o->layer = value;
        return CLI_OK;
    case OPTION_GRID:
        if (parse_grid(value, &o->grid)) return CLI_OK;
        return cli_usage_error("--grid: '%s' is not WIDTHxHEIGHT in tokens, 16 to 16384 each", value);
    case OPTION_PHASE:
        if (cli_parse_uint(value, 0, 7, &o->phase)) return CLI_OK;
        return cli_usage_error("--phase: '%s' is not a number from 0 to 7", value);
    case OPTION_REPEATS:
        if (cli_parse_uint(value, 1, MAX_REPEATS, &o->repeats)) return CLI_OK;
        return cli_usage_error("--repeats: '%s' is not a number from 1 to %u", value, MAX_REPEATS);
    case OPTION_LAYER_TIMES:
        o->layer_times = true;
        return CLI_OK;
    case OPTION_THREADS:
        if (cli_parse_uint(value, 1, 1024, &o->threads)) return CLI_OK;
        return cli_usage_error("--threads: '%s' is not a number from 1 to 1024", value);
    case OPTION_WATCHDOG:
        if (cli_parse_uint(value, 1, 3600000, &o->watchdog_ms)) return CLI_OK;
        return cli_usage_error("--watchdog: '%s' is not a number of milliseconds from 1 to 3600000", value);
    case OPTION_JSON:
        o->json = value;
        return CLI_OK;
    default:
        cli_set_level(option == 'v' ? D4R_LOG_DEBUG : D4R_LOG_WARNING);
        return CLI_OK;
    }
}

/* *done: the exit code is final. */
static int parse_options(int count, char **arguments, options *o, bool *done)
{
    static const cli_conflict conflicts[] = {
        {"--hip-*", "--network=cpu", "the CPU network uses no HIP device"},
        {"--threads", "--network=hip", "threads are of the CPU network"},
        {"--watchdog", "--network=cpu", "the bound is for a HIP device"},
        {"--layer-times", "--network=cpu", "the times of layers come from HIP events"},
        {"--layer-times", "--layer", "the times are of whole runs"},
        {"--quiet", "--verbose", "fewer messages and more"}};
    int option, index = -1;
    *done = true;
    opterr = 0;
    for (; (option = getopt_long(count, arguments, ":qv", long_options, &index)) != -1; index = -1) {
        if (option == OPTION_HELP) {
            fputs(help_text, stdout);
            fputs(cli_hip_help, stdout);
            fputs(help_end, stdout);
            return CLI_OK;
        }
        if (option == OPTION_VERSION) {
            printf("d4r-net %s\n", d4r_version_string());
            return CLI_OK;
        }
        if (option == '?' || option == ':') return cli_option_error(option, arguments);
        if (index >= 0) cli_given_option(&long_options[index], optarg);
        int code = take_option(option, optarg, o);
        if (code != CLI_OK) return code;
    }
    if (count - optind != 1) return cli_usage_error("one MODEL is needed");
    if (o->network == D4R_NETWORK_AUTO || !o->in || !o->out)
        return cli_usage_error("--network, --in and --out are needed");
    if (cli_check_conflicts(conflicts, sizeof conflicts / sizeof *conflicts) != CLI_OK) return CLI_USAGE;
    if (o->json && cli_same_place(o->json, o->out))
        return cli_usage_error("--json and --out are both '%s': choose another name for one", o->out);
    o->model = arguments[optind];
    *done = false;
    return CLI_OK;
}

/* ---- what depends on the model's preset ---- */

/* CLI_OK, or CLI_USAGE after a message. */
static int choose_layer(const options *o, const d4r_net_desc *net, unsigned *layer)
{
    uint32_t number = net->layer_count - 1;
    if (o->phase >= net->phases)
        return cli_usage_error("--phase: preset %s has %u", net->preset, net->phases);
    *layer = number;
    if (!o->layer) return CLI_OK;
    for (*layer = 0; *layer < net->layer_count; ++*layer)
        if (!strcmp(o->layer, net->layer(*layer).name)) return CLI_OK;
    if (!cli_parse_uint(o->layer, 0, net->layer_count - 1, &number))
        return cli_usage_error(
            "--layer: '%s' is not a layer of preset %s: 0 to %u, or a name that --help lists", o->layer,
            net->preset, net->layer_count - 1);
    *layer = number;
    return CLI_OK;
}

static d4r_status grid_of(const options *o, const d4r_net_desc *net, const uint64_t shape[4],
                          uint32_t dimensions, d4r_size *grid)
{
    const uint32_t channels = net->token_bytes / net->value_bytes;
    const uint64_t values = shape[0] * shape[1] * shape[2] * shape[3];
    if (dimensions == 3 && shape[2] == channels && shape[0] <= 16384 && shape[1] <= 16384)
        *grid = (d4r_size){(uint32_t)shape[1], (uint32_t)shape[0]};
    else if (o->grid.width && dimensions <= 2)
        *grid = o->grid;
    else
        return d4r_fail(cli_log(), D4R_ERROR_INPUT,
                        "%s: its shape is not [rows, columns, %u]; give --grid WIDTHxHEIGHT for a flat file",
                        o->in, channels);
    if (o->grid.width && (o->grid.width != grid->width || o->grid.height != grid->height))
        return d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: its grid is %ux%u tokens, --grid says %ux%u", o->in,
                        grid->width, grid->height, o->grid.width, o->grid.height);
    if (!d4r_net_grid_valid(net, *grid))
        return d4r_fail(cli_log(), D4R_ERROR_INPUT,
                        "%s: a grid of %ux%u tokens; both must be multiples of %u, at most %u", o->in,
                        grid->width, grid->height, net->grid_step, net->grid_most);
    if (values != (uint64_t)grid->width * grid->height * channels)
        return d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: %llu values, but a grid of %ux%u tokens has %llu",
                        o->in, (unsigned long long)values, grid->width, grid->height,
                        (unsigned long long)grid->width * grid->height * channels);
    return D4R_OK;
}

/* Writes beside the output and renames. */
static d4r_status write_result(const run *r)
{
    const d4r_net_layer l = r->net->layer(r->layer);
    uint64_t shape[3] = {r->grid.height >> l.out_level, r->grid.width >> l.out_level, l.out_channels};
    char *temporary = cli_temporary_file(r->o->out, cli_log());
    if (!temporary) return D4R_ERROR_IO;
    d4r_status status =
        cli_npy_write(temporary, r->net->dtype, 3, shape, r->result, r->result_bytes, cli_log());
    if (status == D4R_OK) return cli_publish(temporary, r->o->out, cli_log());
    cli_discard(temporary);
    return status;
}

/* ---- the CPU network ---- */

static void keep_layer(void *user, unsigned layer, const void *values, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    run *r = user;
    if (layer == r->layer) memcpy(r->result, values, (size_t)columns * rows * channels * r->net->value_bytes);
}

static d4r_status run_cpu(run *r, const d4r_model *model)
{
    d4r_cpu_net *net;
    const d4r_cpu_net_params params = {.net = r->net,
                                       .network = model->network,
                                       .network_bytes = model->network_bytes,
                                       .max_grid = r->grid,
                                       .threads = r->o->threads,
                                       .log = *cli_log()};
    d4r_status status = d4r_cpu_net_create(&params, &net);
    uint8_t *head = malloc((size_t)r->grid.width * r->grid.height * r->net->head_bytes);
    if (status == D4R_OK && !head) status = d4r_fail(cli_log(), D4R_ERROR_MEMORY, "head: no memory");
    const d4r_cpu_net_run_params job = {.grid = r->grid,
                                        .phase = r->o->phase,
                                        .tokens = r->tokens,
                                        .head = head,
                                        .layer = keep_layer,
                                        .user = r};
    for (uint32_t i = 0; i < r->o->repeats && status == D4R_OK && !cli_interrupted(); i++) {
        double start = cli_now();
        status = d4r_cpu_net_run(net, &job);
        r->seconds[i] = cli_now() - start;
    }
    if (status == D4R_OK)
        snprintf(r->description, sizeof r->description, "cpu, %u threads, %s", d4r_cpu_net_threads(net),
                 d4r_cpu_level_name(d4r_cpu_net_get_level(net)));
    d4r_cpu_net_destroy(&net);
    free(head);
    return status;
}

/* ---- the HIP network ---- */

typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    d4r_status status;
} waiter;

static void job_ended(void *user, d4r_status status)
{
    waiter *w = user;
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    w->status = status;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static d4r_status wait_for_job(waiter *w, uint32_t timeout_ms)
{
    struct timespec limit;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += timeout_ms / 1000;
    limit.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_sec++;
        limit.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&w->lock);
    while (!w->ended && !error) error = pthread_cond_timedwait(&w->changed, &w->lock, &limit);
    d4r_status status = w->ended ? w->status : D4R_ERROR_TIMEOUT;
    w->ended = false;
    pthread_mutex_unlock(&w->lock);
    return status;
}

typedef struct hip_run {
    d4r_hip *hip;
    d4r_hip_device device;
    d4r_hip_net *net;
    void *tokens, *head; /* device memory */
    waiter wait;
} hip_run;

static d4r_status open_device(const options *o, hip_run *h)
{
    const char *library = o->hip.library;
    const d4r_hip_match match = {.select = o->hip.device ? o->hip.device : "0"};
    d4r_status status = o->hip.platform == D4R_HIP_NVIDIA ? d4r_hip_load_nvidia(library, cli_log(), &h->hip)
                                                          : d4r_hip_load(library, cli_log(), &h->hip);
    return status == D4R_OK ? d4r_hip_find(h->hip, &match, &h->device) : status;
}

static d4r_status allocate(const run *r, hip_run *h)
{
    const size_t tokens = (size_t)r->grid.width * r->grid.height, bytes = tokens * r->net->token_bytes;
    d4r_hip_error error = h->hip->device_malloc(&h->tokens, bytes);
    if (error == D4R_HIP_SUCCESS) error = h->hip->device_malloc(&h->head, tokens * r->net->head_bytes);
    if (error == D4R_HIP_SUCCESS) error = h->hip->copy(h->tokens, r->tokens, bytes, D4R_HIP_MEMCPY_TO_DEVICE);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(h->hip, error, "tokens");
}

static d4r_status create_net(const run *r, const d4r_model *model, hip_run *h)
{
    const d4r_hip_net_params params = {.net = r->net,
                                       .hip = h->hip,
                                       .device = h->device,
                                       .network = model->network,
                                       .max_grid = r->grid,
                                       .kernels = r->o->hip.kernels,
                                       .completion = r->o->hip.completion,
                                       .graphs = r->o->hip.graphs,
                                       .timing = r->o->layer_times,
                                       .log = *cli_log()};
    return d4r_hip_net_create(&params, &h->net);
}

static d4r_status run_jobs(run *r, hip_run *h)
{
    const d4r_hip_net_job job = {.grid = r->grid,
                                 .phase = r->o->phase,
                                 .tokens = h->tokens,
                                 .head = h->head,
                                 .layers = r->layer == r->net->layer_count - 1 ? 0 : r->layer + 1,
                                 .done = job_ended,
                                 .user = &h->wait};
    d4r_status status = D4R_OK;
    for (uint32_t i = 0; i < r->o->repeats && status == D4R_OK && !cli_interrupted(); i++) {
        double start = cli_now();
        status = d4r_hip_net_launch(h->net, &job);
        if (status == D4R_PENDING) status = wait_for_job(&h->wait, r->o->watchdog_ms);
        r->seconds[i] = cli_now() - start;
        if (status == D4R_ERROR_TIMEOUT)
            d4r_fail(cli_log(), status, "the network took longer than %u ms", r->o->watchdog_ms);
    }
    return status;
}

static d4r_status read_result(run *r, hip_run *h)
{
    if (r->layer != r->net->layer_count - 1)
        return d4r_hip_net_read_layer(h->net, r->layer, r->grid, r->result);
    d4r_hip_error error = h->hip->copy(r->result, h->head, r->result_bytes, D4R_HIP_MEMCPY_TO_HOST);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(h->hip, error, "head");
}

static d4r_status run_on_device(run *r, const d4r_model *model, hip_run *h)
{
    int previous;
    d4r_status status = d4r_hip_enter(h->hip, h->device.index, &previous);
    if (status == D4R_OK) status = create_net(r, model, h);
    if (status == D4R_OK) status = allocate(r, h);
    if (status == D4R_OK) status = run_jobs(r, h);
    if (status == D4R_OK) status = read_result(r, h);
    if (status == D4R_OK) {
        snprintf(r->description, sizeof r->description, "hip, %s", d4r_hip_net_description(h->net));
        r->has_layer_us = d4r_hip_net_times(h->net, r->layer_us) == D4R_OK;
    }
    /* A device that still works keeps what it may write to; the process ends anyway. */
    if (d4r_hip_net_destroy(&h->net, 2000)) {
        if (h->head) h->hip->device_free(h->head);
        if (h->tokens) h->hip->device_free(h->tokens);
    }
    return status;
}

static d4r_status run_hip(run *r, const d4r_model *model)
{
    /* Static: a device that hangs may come back while the process is ending. */
    static hip_run h = {.wait = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    d4r_status status = open_device(r->o, &h);
    return status == D4R_OK ? run_on_device(r, model, &h) : status;
}

/* ---- report ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static d4r_status write_json(const run *r, double median, double best)
{
    cJSON *root = cJSON_CreateObject();
    int grid[2] = {(int)r->grid.width, (int)r->grid.height};
    cJSON_AddStringToObject(root, "tool", "d4r-net");
    cJSON_AddStringToObject(root, "version", d4r_version_string());
    cJSON_AddStringToObject(root, "model", r->o->model);
    cJSON_AddStringToObject(root, "network", r->description);
    cJSON_AddItemToObject(root, "grid", cJSON_CreateIntArray(grid, 2));
    cJSON_AddStringToObject(root, "preset", r->net->preset);
    cJSON_AddStringToObject(root, "layer", r->net->layer(r->layer).name);
    cJSON_AddNumberToObject(root, "phase", r->o->phase);
    cJSON_AddNumberToObject(root, "repeats", r->o->repeats);
    cJSON_AddNumberToObject(root, "median_milliseconds", 1e3 * median);
    cJSON_AddNumberToObject(root, "best_milliseconds", 1e3 * best);
    if (r->has_layer_us) {
        cJSON *layers = cJSON_AddObjectToObject(root, "layer_microseconds");
        for (unsigned i = 0; i < r->net->layer_count; i++)
            cJSON_AddNumberToObject(layers, r->net->layer(i).name, (double)r->layer_us[i]);
    }
    return json_save(root, r->o->json, cli_log());
}

static d4r_status report(run *r)
{
    qsort(r->seconds, r->o->repeats, sizeof *r->seconds, by_value);
    double median = r->seconds[r->o->repeats / 2], best = r->seconds[0];
    d4r_log_print(cli_log(), D4R_LOG_INFO, "%s: %ux%u tokens, %u run%s, median %.3f ms, best %.3f ms",
                  r->description, r->grid.width, r->grid.height, r->o->repeats, r->o->repeats > 1 ? "s" : "",
                  1e3 * median, 1e3 * best);
    for (unsigned i = 0; r->has_layer_us && i < r->net->layer_count; i++)
        printf("%s %.1f us\n", r->net->layer(i).name, (double)r->layer_us[i]);
    return r->o->json ? write_json(r, median, best) : D4R_OK;
}

static d4r_status evaluate(const options *o, const d4r_model *model, unsigned layer, d4r_size grid,
                           const uint8_t *tokens)
{
    run r = {.o = o, .net = d4r_net_find(model->info.preset), .layer = layer, .grid = grid, .tokens = tokens};
    r.result_bytes = d4r_net_layer_bytes(r.net, layer, grid);
    r.result = malloc(r.result_bytes);
    r.seconds = calloc(o->repeats, sizeof *r.seconds);
    d4r_status status = r.result && r.seconds ? D4R_OK : d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory");
    if (status == D4R_OK) status = o->network == D4R_NETWORK_CPU ? run_cpu(&r, model) : run_hip(&r, model);
    if (status == D4R_OK && !cli_interrupted()) status = report(&r);
    if (status == D4R_OK && !cli_interrupted() && strcmp(o->out, "-") != 0) status = write_result(&r);
    free(r.seconds);
    free(r.result);
    return status;
}

static d4r_status check_outputs(const options *o)
{
    d4r_status status = strcmp(o->out, "-") != 0 ? cli_check_writable(o->out, cli_log()) : D4R_OK;
    return status == D4R_OK && o->json ? cli_check_writable(o->json, cli_log()) : status;
}

static d4r_status load_model(const char *path, d4r_model **model)
{
    d4r_status status = d4r_model_load(path, cli_log(), model);
    return status == D4R_ERROR_IO ? D4R_ERROR_MODEL : status; /* unreadable: a bad model to the caller */
}

/* With a model. An exit code. */
static int run_model(const options *o, const d4r_model *model)
{
    const d4r_net_desc *net = d4r_net_find(model->info.preset);
    d4r_size grid = {0, 0};
    uint8_t *tokens = NULL;
    uint64_t shape[4];
    uint32_t dimensions;
    unsigned layer = 0;
    if (choose_layer(o, net, &layer) != CLI_OK) return CLI_USAGE;
    d4r_status status = cli_npy_load_plain(o->in, "--in", net->dtype, cli_log(), shape, &dimensions, &tokens);
    if (status == D4R_OK) status = check_outputs(o); /* again: --in is an input now */
    if (status == D4R_OK) status = grid_of(o, net, shape, dimensions, &grid);
    if (status == D4R_OK) status = evaluate(o, model, layer, grid, tokens);
    free(tokens);
    return cli_exit_code(status);
}

int main(int count, char **arguments)
{
    options o = {.repeats = 1, .watchdog_ms = 60000};
    d4r_model *model = NULL;
    bool done;
    cli_start("d4r-net");
    int code = parse_options(count, arguments, &o, &done);
    if (done) return code;
    cli_catch_signals();
    cli_note_inputs(o.model);
    d4r_status status = check_outputs(&o);
    if (status == D4R_OK) status = load_model(o.model, &model);
    code = status == D4R_OK ? run_model(&o, model) : cli_exit_code(status);
    d4r_model_destroy(&model);
    if (cli_interrupted()) {
        d4r_log_print(cli_log(), D4R_LOG_WARNING, "interrupted; nothing was written");
        return CLI_INTERRUPTED;
    }
    return cli_finish(code);
}
