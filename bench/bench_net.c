/* Speed of the CPU network: GMAC/s per layer and in all, and its share of what the same threads reach with
 * nothing but f32 multiply-adds in registers, measured in the same run (before and after; the better one
 * counts). Where others use the cores as well, the share by CPU time is the one to look at: it counts the time
 * that the process had a core. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include "bench/fma_peak.h"
#include "bench/machine.h"
#include "hip_kernels/cpu_net.h"
#include "tests/network/network_tensors.h"

#define MAX_SIZES 8
#define MAX_REPEATS 1000

typedef struct options {
    d4r_size sizes[MAX_SIZES];
    int size_count;
    uint32_t threads;
    int repeats;
    d4r_cpu_level level;
    const char *json;
} options;

typedef struct result {
    d4r_size render, grid;
    double seconds[D4R_M_LAYER_COUNT]; /* best repeat of each layer */
    double total;                      /* best whole run */
    double cpu;                        /* least CPU time of a run, all threads together */
} result;

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}
static double cpu_now(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- options
 * -------------------------------------------------------------------------------------------------- */

static const char usage[] = "usage: bench_net [--size WxH]... [--threads N] [--repeats N] [--level "
                            "auto|baseline|v3|v4|v4bf16] [--json FILE]\n"
                            "Render sizes (default 640x360, 1280x720, 1920x1080); threads 0 = all cores.\n";

static bool parse_number(const char *text, long least, long most, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && *value >= least && *value <= most;
}

static bool parse_size(const char *text, d4r_size *size)
{
    char width[16];
    const char *x = strchr(text, 'x');
    long w, h;
    if (!x || (size_t)(x - text) >= sizeof(width)) return false;
    memcpy(width, text, (size_t)(x - text));
    width[x - text] = 0;
    if (!parse_number(width, D4R_MIN_DIMENSION, D4R_MAX_DIMENSION, &w) ||
        !parse_number(x + 1, D4R_MIN_DIMENSION, D4R_MAX_DIMENSION, &h))
        return false;
    *size = (d4r_size){(uint32_t)w, (uint32_t)h};
    return true;
}

static bool parse_option(options *o, const char *name, const char *value)
{
    long number;
    if (strcmp(name, "--size") == 0)
        return o->size_count < MAX_SIZES && parse_size(value, &o->sizes[o->size_count++]);
    if (strcmp(name, "--threads") == 0) {
        if (!parse_number(value, 0, 1024, &number)) return false;
        o->threads = (uint32_t)number;
        return true;
    }
    if (strcmp(name, "--repeats") == 0) {
        if (!parse_number(value, 1, MAX_REPEATS, &number)) return false;
        o->repeats = (int)number;
        return true;
    }
    if (strcmp(name, "--level") == 0) {
        for (int i = 0; i < D4R_CPU_LEVEL_COUNT; i++)
            if (strcmp(value, d4r_cpu_level_name((d4r_cpu_level)i)) == 0) {
                o->level = (d4r_cpu_level)i;
                return true;
            }
        return false;
    }
    if (strcmp(name, "--json") == 0) {
        o->json = value;
        return true;
    }
    return false;
}

static bool parse_options(options *o, int argc, char **argv)
{
    *o = (options){.repeats = 5};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !parse_option(o, argv[i], argv[i + 1])) {
            fprintf(stderr, "bench_net: bad option or value: %s %s\n%s", argv[i],
                    i + 1 < argc ? argv[i + 1] : "", usage);
            return false;
        }
    if (o->size_count == 0) {
        const d4r_size sizes[] = {{640, 360}, {1280, 720}, {1920, 1080}};
        o->size_count = 3;
        memcpy(o->sizes, sizes, sizeof(sizes));
    }
    return true;
}

/* ---- measuring
 * ------------------------------------------------------------------------------------------------ */

typedef struct timing {
    double last;
    result *result;
} timing;

static void layer_done(void *user, unsigned layer, const void *codes, uint32_t columns, uint32_t rows,
                       uint32_t channels)
{
    (void)codes, (void)columns, (void)rows, (void)channels;
    timing *t = user;
    double time = now(), spent = time - t->last;
    if (spent < t->result->seconds[layer]) t->result->seconds[layer] = spent;
    t->last = time;
}

static bool measure(d4r_cpu_net *net, const options *o, d4r_size render, result *r)
{
    r->render = render;
    r->grid = (d4r_size){(render.width + 31) / 32 * 16, (render.height + 31) / 32 * 16};
    size_t bytes = (size_t)r->grid.width * r->grid.height * D4R_M_TOKEN_CHANNELS;
    uint8_t *tokens = malloc(bytes), *head = malloc(bytes);
    bool ok = tokens && head;
    if (ok) network_random_tokens(1, 1.5, tokens, bytes);
    r->total = r->cpu = 1e30;
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) r->seconds[i] = 1e30;
    for (int i = 0; ok && i < o->repeats + 1; i++) { /* the first one only warms up */
        result warm = *r;
        timing t = {now(), i == 0 ? &warm : r};
        d4r_cpu_net_run_params params = {
            .grid = r->grid, .tokens = tokens, .head = head, .layer = layer_done, .user = &t};
        double start = now(), cpu_start = cpu_now();
        ok = d4r_cpu_net_run(net, &params) == D4R_OK;
        double spent = now() - start, cpu = cpu_now() - cpu_start;
        if (i > 0 && spent < r->total) r->total = spent;
        if (i > 0 && cpu < r->cpu) r->cpu = cpu;
    }
    free(tokens);
    free(head);
    return ok;
}

static d4r_cpu_net *create_net(const options *o)
{
    network_tensors *tensors = network_tensors_random(1, 1.0);
    uint8_t *packed = malloc(D4R_M_NET_BYTES);
    d4r_cpu_net *net = NULL;
    d4r_size most = {16, 16};
    for (int i = 0; i < o->size_count; i++) {
        d4r_size grid = {(o->sizes[i].width + 31) / 32 * 16, (o->sizes[i].height + 31) / 32 * 16};
        if (grid.width > most.width) most.width = grid.width;
        if (grid.height > most.height) most.height = grid.height;
    }
    if (packed) {
        network_tensors_pack(tensors, packed);
        d4r_cpu_net_params params = {.net = &d4r_m_net,
                                     .network = packed,
                                     .network_bytes = D4R_M_NET_BYTES,
                                     .max_grid = most,
                                     .threads = o->threads,
                                     .level = o->level};
        d4r_status status = d4r_cpu_net_create(&params, &net);
        if (status != D4R_OK) fprintf(stderr, "bench_net: %s\n", d4r_status_name(status));
    }
    free(packed);
    network_tensors_free(tensors);
    return net;
}

/* ---- report
 * --------------------------------------------------------------------------------------------------- */

static double total_gmac(const result *r)
{
    double macs = 0;
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
        macs += (double)d4r_m_layer_macs((d4r_m_layer)i, r->grid.width, r->grid.height);
    return macs / 1e9;
}

/* Of the peak, had the threads had a core each all the time. */
static double cpu_share(const result *r, uint32_t threads, double peak)
{
    return total_gmac(r) / (r->cpu / threads) / peak;
}

static void print_result(const result *r, uint32_t threads, double peak)
{
    printf("render %ux%u, grid %ux%u: %.2f GMAC in %.1f ms = %.1f GMAC/s, %.0f %% of the f32 FMA peak (%.0f "
           "%% by CPU "
           "time)\n",
           r->render.width, r->render.height, r->grid.width, r->grid.height, total_gmac(r), r->total * 1e3,
           total_gmac(r) / r->total, 100 * total_gmac(r) / r->total / peak,
           100 * cpu_share(r, threads, peak));
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++) {
        double gmac = (double)d4r_m_layer_macs((d4r_m_layer)i, r->grid.width, r->grid.height) / 1e9;
        printf("  %s %8.2f ms %7.1f GMAC/s %4.0f %%\n", d4r_m_layers[i].name, r->seconds[i] * 1e3,
               gmac / r->seconds[i], 100 * gmac / r->seconds[i] / peak);
    }
}

static bool write_json(const options *o, const d4r_cpu_net *net, const result *results, double peak)
{
    char temporary[4096], cpu[256], date[32];
    struct utsname system;
    double load;
    time_t t = time(NULL);
    bench_cpu_model(cpu, sizeof(cpu));
    strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&t));
    uname(&system);
    snprintf(temporary, sizeof(temporary), "%s.tmp", o->json);
    FILE *f = fopen(temporary, "w");
    if (!f) return false;
    fprintf(
        f,
        "{\n  \"bench\": \"bench_net\",\n  \"date\": \"%s\",\n  \"cpu\": \"%s\",\n  \"system\": \"%s %s\",\n",
        date, cpu, system.sysname, system.machine);
    fprintf(f, "  \"compiler\": \"%s\",\n  \"level\": \"%s\",\n  \"threads\": %u,\n", __VERSION__,
            d4r_cpu_level_name(d4r_cpu_net_get_level(net)), d4r_cpu_net_threads(net));
    if (getloadavg(&load, 1) == 1)
        fprintf(f, "  \"load_average_1min\": %.2f,\n", load); /* others at work show here */
    fprintf(f, "  \"f32_fma_peak_gmac_s\": %.2f,\n  \"sizes\": [", peak);
    for (int s = 0; s < o->size_count; s++) {
        const result *r = &results[s];
        fprintf(f, "%s\n    {\"render\": [%u, %u], \"grid\": [%u, %u], \"gmac\": %.3f, \"ms\": %.3f, ",
                s ? "," : "", r->render.width, r->render.height, r->grid.width, r->grid.height, total_gmac(r),
                r->total * 1e3);
        fprintf(f, "\"gmac_s\": %.2f, \"peak_share\": %.3f, \"peak_share_by_cpu_time\": %.3f, \"layers\": [",
                total_gmac(r) / r->total, total_gmac(r) / r->total / peak,
                cpu_share(r, d4r_cpu_net_threads(net), peak));
        for (int i = 0; i < D4R_M_LAYER_COUNT; i++) {
            double gmac = (double)d4r_m_layer_macs((d4r_m_layer)i, r->grid.width, r->grid.height) / 1e9;
            fprintf(f, "%s\n      {\"name\": \"%s\", \"ms\": %.3f, \"gmac_s\": %.2f, \"peak_share\": %.3f}",
                    i ? "," : "", d4r_m_layers[i].name, r->seconds[i] * 1e3, gmac / r->seconds[i],
                    gmac / r->seconds[i] / peak);
        }
        fprintf(f, "]}");
    }
    fprintf(f, "\n  ]\n}\n");
    bool ok = !ferror(f);
    ok = fclose(f) == 0 && ok;
    return ok && rename(temporary, o->json) == 0;
}

int main(int argc, char **argv)
{
    options o;
    result results[MAX_SIZES];
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse_options(&o, argc, argv)) return 2;
    d4r_cpu_net *net = create_net(&o);
    if (!net) return 3;
    double peak = fma_peak_gmac(d4r_cpu_net_threads(net), 0.5);
    bool ok = true;
    for (int i = 0; ok && i < o.size_count; i++) ok = measure(net, &o, o.sizes[i], &results[i]);
    double again = fma_peak_gmac(d4r_cpu_net_threads(net), 0.5);
    if (again > peak) peak = again;
    printf("level %s, %u threads, f32 FMA peak of these threads %.1f GMAC/s\n",
           d4r_cpu_level_name(d4r_cpu_net_get_level(net)), d4r_cpu_net_threads(net), peak);
    for (int i = 0; ok && i < o.size_count; i++) print_result(&results[i], d4r_cpu_net_threads(net), peak);
    if (ok && o.json && !write_json(&o, net, results, peak)) {
        fprintf(stderr, "bench_net: %s: cannot write: %s\n", o.json, strerror(errno));
        ok = false;
    }
    d4r_cpu_net_destroy(&net);
    return ok ? 0 : 5;
}
