/* The resource report of the network's GPU kernels: registers, LDS, spills, waves a SIMD from the code objects'
 * metadata; instructions counted while the emulated device executes whole frames; and what the serial throughput model
 * (tools/hipemu/api/model.c) makes of the counts for the two cards that it knows. Nothing here is a measurement on AMD
 * hardware. Counts are of the size itself, not scaled from a smaller one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cjson/cJSON.h>
#include "bench/kernel_counts.h"
#include "bench/machine.h"
#include "models/format/m_layout.h"
#include "tests/network/network_tensors.h"
#include "tools/hipemu/api/model.h"

enum { MAX_ARCHS = 16, MAX_SIZES = 8 };

static const char *const all_archs[] = {
#define D4R_ARCHITECTURE(name, mach, tile) #name,
#include "hip_kernels/architectures.def"
#undef D4R_ARCHITECTURE
};
enum { ALL_ARCHS = sizeof all_archs / sizeof *all_archs };

/* The cards of the model, and the architecture that each one is. */
static const struct {
    const char *arch, *card;
} cards[] = {{"gfx1201", "9070xt"}, {"gfx1100", "7900xtx"}};

typedef struct options {
    const char *archs[MAX_ARCHS];
    d4r_size sizes[MAX_SIZES];
    int arch_count, size_count;
    unsigned threads;
    const char *kernels, *json;
} options;

static const char usage[] =
    "usage: bench_kernels [options]\n"
    "Resources, executed instructions and estimated times of the network's GPU kernels, on the emulated "
    "device.\n"
    "\n"
    "  --arch NAME      architecture; may be repeated (default: all)\n"
    "  --size WxH       render size; may be repeated (default: 640x360, 1280x720, 1920x1080 for gfx1201 and\n"
    "                   gfx1100, which have an estimate; 640x360 for the others)\n"
    "  --kernels DIR    code objects (default: searched as the library does)\n"
    "  --threads N      0 = all cores\n"
    "  --json FILE\n"
    "Exit status: 0 good, 2 usage, 4 no or bad code object, 5 the JSON file cannot be written.\n";

/* ---- options ---- */

static bool parse_size(const char *text, d4r_size *size)
{
    char end;
    unsigned w, h;
    if (sscanf(text, "%ux%u%c", &w, &h, &end) != 2) return false;
    *size = (d4r_size){w, h};
    return w >= D4R_MIN_DIMENSION && h >= D4R_MIN_DIMENSION && w <= D4R_MAX_DIMENSION &&
           h <= D4R_MAX_DIMENSION;
}

static bool parse_option(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--arch") == 0) {
        if (!d4r_architecture_known(value) || o->arch_count == MAX_ARCHS) return false;
        o->archs[o->arch_count++] = value;
        return true;
    }
    if (strcmp(name, "--size") == 0)
        return o->size_count < MAX_SIZES && parse_size(value, &o->sizes[o->size_count++]);
    if (strcmp(name, "--threads") == 0) {
        char *end;
        o->threads = (unsigned)strtoul(value, &end, 10);
        return *value && !*end && o->threads <= 1024;
    }
    if (strcmp(name, "--kernels") == 0) o->kernels = value;
    if (strcmp(name, "--json") == 0) o->json = value;
    return strcmp(name, "--kernels") == 0 || strcmp(name, "--json") == 0;
}

static bool parse_options(options *o, int argc, char **argv)
{
    memset(o, 0, sizeof *o);
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !parse_option(o, argv[i], argv[i + 1])) {
            fprintf(stderr, "bench_kernels: bad option or value: %s %s\n%s", argv[i],
                    i + 1 < argc ? argv[i + 1] : "", usage);
            return false;
        }
    if (o->arch_count == 0) {
        memcpy(o->archs, all_archs, sizeof all_archs);
        o->arch_count = ALL_ARCHS;
    }
    return true;
}

static const hipemu_card *card_of(const char *arch)
{
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strcmp(arch, cards[i].arch) == 0) return hipemu_card_find(cards[i].card);
    return NULL;
}

/* Default sizes of an architecture. */
static int sizes_of(const options *o, const char *arch, d4r_size sizes[MAX_SIZES])
{
    static const d4r_size defaults[] = {{640, 360}, {1280, 720}, {1920, 1080}};
    int count = o->size_count ? o->size_count : card_of(arch) ? 3 : 1;
    memcpy(sizes, o->size_count ? o->sizes : defaults, (size_t)count * sizeof *sizes);
    return count;
}

/* ---- static report ---- */

static uint64_t wmma_of(const emu_counters *c)
{
    return c->by_class[EMU_COUNT_WMMA];
}

/* Layers that share a kernel: the first one's report stands for all. */
static bool first_of_kernel(const kernel_counter *k, int layer)
{
    for (int i = 0; i < layer; i++)
        if (kernel_counter_kernel(k, (d4r_m_layer)i) == kernel_counter_kernel(k, (d4r_m_layer)layer))
            return false;
    return true;
}

static cJSON *kernel_report(const kernel_counter *k, int layer, const layer_counts *counts)
{
    const emu_kernel *kernel = kernel_counter_kernel(k, (d4r_m_layer)layer);
    const d4r_m_kernel *launch = d4r_m_kernel_of(k->machine, (d4r_m_layer)layer);
    const emu_occupancy occupancy = emu_kernel_occupancy(kernel, launch->threads, 0);
    const emu_counters *dynamic = &counts[layer].counters;
    const double windows = (double)counts[layer].windows;
    emu_counters mix = {0};
    emu_kernel_mix(kernel, &mix, NULL);
    printf("%-8s %-20s %5u %5u %6u %7u %6u %7llu %6llu %9.1f %7.1f %6.1f %%\n", k->arch->name, kernel->name,
           kernel->vgprs, kernel->sgprs, kernel->lds_bytes, kernel->vgpr_spills + kernel->sgpr_spills,
           occupancy.waves, (unsigned long long)mix.instructions, (unsigned long long)wmma_of(&mix),
           (double)dynamic->instructions / windows, (double)wmma_of(dynamic) / windows,
           100.0 * (double)wmma_of(dynamic) / (double)dynamic->instructions);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "kernel", kernel->name);
    cJSON_AddNumberToObject(json, "vgprs", kernel->vgprs);
    cJSON_AddNumberToObject(json, "sgprs", kernel->sgprs);
    cJSON_AddNumberToObject(json, "lds_bytes", kernel->lds_bytes);
    cJSON_AddNumberToObject(json, "scratch_bytes", kernel->scratch_bytes);
    cJSON_AddNumberToObject(json, "vgpr_spills", kernel->vgpr_spills);
    cJSON_AddNumberToObject(json, "sgpr_spills", kernel->sgpr_spills);
    cJSON_AddNumberToObject(json, "waves_per_simd", occupancy.waves);
    cJSON_AddNumberToObject(json, "code_bytes", kernel->code_size);
    cJSON_AddNumberToObject(json, "static_instructions", (double)mix.instructions);
    cJSON_AddNumberToObject(json, "static_wmma", (double)wmma_of(&mix));
    return json;
}

/* ---- dynamic report ---- */

static const char *binding(const hipemu_estimate *e)
{
    return e->launch > e->part[e->bound] ? "launch" : hipemu_bound_name(e->bound);
}

static double microseconds(double seconds)
{
    return (double)(long long)(seconds * 1e8 + 0.5) / 100;
}

static cJSON *layer_report(const kernel_counter *k, int layer, const layer_counts *l, const hipemu_card *card,
                           double *total)
{
    const emu_counters *c = &l->counters;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "layer", d4r_m_layers[layer].name);
    cJSON_AddStringToObject(json, "kernel", kernel_counter_kernel(k, (d4r_m_layer)layer)->name);
    cJSON_AddNumberToObject(json, "windows", (double)l->windows);
    cJSON_AddNumberToObject(json, "instructions", (double)c->instructions);
    cJSON_AddNumberToObject(json, "wmma", (double)wmma_of(c));
    cJSON_AddNumberToObject(json, "global_bytes",
                            (double)(c->bytes_read[EMU_SPACE_GLOBAL] + c->bytes_written[EMU_SPACE_GLOBAL]));
    cJSON_AddNumberToObject(json, "l2_bytes", 64.0 * (double)c->cache_pieces);
    cJSON_AddNumberToObject(json, "lds_cycles", (double)(c->lds_accesses + c->lds_conflict_cycles));
    cJSON_AddNumberToObject(json, "lds_conflict_cycles", (double)c->lds_conflict_cycles);
    cJSON_AddNumberToObject(json, "memory_bytes", l->memory_bytes);
    if (!card) return json;
    const hipemu_estimate e = hipemu_model_estimate(card, c, l->memory_bytes);
    *total += e.seconds;
    cJSON *us = cJSON_AddObjectToObject(json, "estimate_microseconds");
    cJSON_AddNumberToObject(us, "total", microseconds(e.seconds));
    cJSON_AddNumberToObject(us, "launch", microseconds(e.launch));
    for (int i = 0; i < HIPEMU_BOUND_COUNT; i++)
        cJSON_AddNumberToObject(us, hipemu_bound_name((hipemu_bound)i), microseconds(e.part[i]));
    cJSON_AddNumberToObject(us, "wmma", microseconds(e.wmma));
    cJSON_AddStringToObject(json, "bound", binding(&e));
    printf("  %-6s %7.1f us: issue %6.1f (WMMA %5.1f), LDS %6.1f, L2 %6.1f, memory %5.1f; + launch %.0f; "
           "bound: %s\n",
           d4r_m_layers[layer].name, e.seconds * 1e6, e.part[HIPEMU_BOUND_ISSUE] * 1e6, e.wmma * 1e6,
           e.part[HIPEMU_BOUND_LDS] * 1e6, e.part[HIPEMU_BOUND_L2] * 1e6, e.part[HIPEMU_BOUND_MEMORY] * 1e6,
           e.launch * 1e6, binding(&e));
    return json;
}

/* The token grid of a render size: rounded up to multiples of 32, two pixels a token. */
static d4r_size grid_of(d4r_size render)
{
    return (d4r_size){(render.width + 31) / 32 * 16, (render.height + 31) / 32 * 16};
}

static cJSON *size_report(const kernel_counter *k, d4r_size render, const layer_counts *counts)
{
    const hipemu_card *card = card_of(k->arch->name);
    const d4r_size grid = grid_of(render);
    double total = 0;
    cJSON *json = cJSON_CreateObject();
    const double sides[2][2] = {{render.width, render.height}, {grid.width, grid.height}};
    cJSON_AddItemToObject(json, "render", cJSON_CreateDoubleArray(sides[0], 2));
    cJSON_AddItemToObject(json, "grid", cJSON_CreateDoubleArray(sides[1], 2));
    if (card) {
        cJSON_AddStringToObject(json, "card", card->name);
        printf("%s, %ux%u, estimate for %s:\n", k->arch->name, render.width, render.height, card->name);
    }
    cJSON *layers = cJSON_AddArrayToObject(json, "layers");
    for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
        cJSON_AddItemToArray(layers, layer_report(k, i, &counts[i], card, &total));
    if (card) {
        cJSON_AddNumberToObject(json, "estimate_milliseconds", microseconds(total) / 1000);
        printf("  network %.3f ms\n", total * 1e3);
    }
    return json;
}

static bool report_arch(const options *o, const char *arch, const uint8_t *network, cJSON *list)
{
    kernel_counter k;
    d4r_size sizes[MAX_SIZES];
    layer_counts counts[MAX_SIZES][D4R_M_LAYER_COUNT];
    const int size_count = sizes_of(o, arch, sizes);
    if (!kernel_counter_open(&k, arch, o->kernels, network, o->threads)) return false;
    bool ok = true;
    for (int i = 0; i < size_count && ok; i++) ok = kernel_counter_run(&k, grid_of(sizes[i]), counts[i]);
    if (ok) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "arch", arch);
        cJSON_AddStringToObject(json, "code_object_sha256", k.object.sha256);
        cJSON *kernels = cJSON_AddArrayToObject(json, "kernels");
        for (int i = 0; i < D4R_M_LAYER_COUNT; i++)
            if (first_of_kernel(&k, i)) cJSON_AddItemToArray(kernels, kernel_report(&k, i, counts[0]));
        cJSON *runs = cJSON_AddArrayToObject(json, "sizes");
        for (int i = 0; i < size_count; i++) cJSON_AddItemToArray(runs, size_report(&k, sizes[i], counts[i]));
        cJSON_AddItemToArray(list, json);
    }
    kernel_counter_close(&k);
    return ok;
}

/* ---- JSON ---- */

static bool write_json(const char *path, const cJSON *root)
{
    char temporary[4096];
    char *text = cJSON_Print(root);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    FILE *file = text ? fopen(temporary, "w") : NULL;
    bool ok = file && fprintf(file, "%s\n", text) > 0;
    if (file) ok = fclose(file) == 0 && ok;
    cJSON_free(text);
    return ok && rename(temporary, path) == 0;
}

static cJSON *create_root(cJSON **list)
{
    char machine[256], date[32];
    const time_t t = time(NULL);
    cJSON *root = cJSON_CreateObject();
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&t));
    bench_cpu_model(machine, sizeof machine);
    cJSON_AddStringToObject(root, "bench", "bench_kernels");
    cJSON_AddStringToObject(
        root, "method",
        "emulated/static: instructions and bytes counted on the emulated device at the full "
        "size; times by its serial model; never measured on AMD hardware");
    cJSON_AddStringToObject(root, "date", date);
    cJSON_AddStringToObject(root, "counted_on", machine);
    *list = cJSON_AddArrayToObject(root, "architectures");
    return root;
}

int main(int argc, char **argv)
{
    options o;
    cJSON *list;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(usage, stdout) < 0;
    if (!parse_options(&o, argc, argv)) return 2;
    network_tensors *tensors = network_tensors_random(1, 1.0);
    uint8_t *network = malloc(D4R_M_NET_BYTES);
    if (!network) return 4;
    network_tensors_pack(tensors, network);
    network_tensors_free(tensors);
    cJSON *root = create_root(&list);
    printf("%-8s %-20s %5s %5s %6s %7s %6s %7s %6s %9s %7s %8s\n", "arch", "kernel", "VGPR", "SGPR", "LDS",
           "spills", "waves", "static", "WMMA", "executed", "WMMA", "WMMA");
    printf("%-8s %-20s %5s %5s %6s %7s %6s %7s %6s %9s %7s %8s\n", "", "", "", "", "bytes", "", "a SIMD",
           "instr.", "", "a window", "", "share");
    int code = 0;
    for (int i = 0; i < o.arch_count && !code; i++)
        if (!report_arch(&o, o.archs[i], network, list)) code = 4;
    if (!code && o.json && !write_json(o.json, root)) {
        fprintf(stderr, "bench_kernels: %s: cannot write: %s\n", o.json, strerror(errno));
        code = 5;
    }
    cJSON_Delete(root);
    free(network);
    return code;
}
