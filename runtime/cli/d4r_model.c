/* d4r-model: packs, inspects and verifies model directories, and writes the neutral model. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "d4r/d4r.h"
#include "models/format/file.h"
#include "models/format/fp8.h"
#include "models/format/model_write.h"
#include "models/format/neutral.h"
#include "models/format/preset_format.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/cli.h"

#define MAX_INPUT_BYTES (64u << 20)
#define DEFAULT_LICENCE "unspecified"

static const char help_text[] =
    "NAME\n"
    "    d4r-model - pack, inspect and verify d4r models\n"
    "\n"
    "SYNOPSIS\n"
    "    d4r-model pack [--preset M] [--name NAME] [--licence TEXT] [--force] [--quiet] SAFETENSORS OUT\n"
    "    d4r-model pack --preset K --tables FILE [...] SAFETENSORS OUT\n"
    "    d4r-model neutral [--preset M|K] [--sigma X] [...] [--name NAME] [--licence TEXT] [--force] "
    "[--quiet] "
    "OUT\n"
    "    d4r-model inspect [--json] MODEL\n"
    "    d4r-model verify [--quiet] MODEL\n"
    "    d4r-model --help | --version\n"
    "\n"
    "DESCRIPTION\n"
    "    A model is a directory with model.json, weights.safetensors (the tensors in natural order) and the "
    "packed\n"
    "    images made from it: weights.bin and hipnet.bin (preset M), hipnet.bin (K, which has lut.bin "
    "besides).\n"
    "    docs/model_format.md lists tensors and layouts.\n"
    "\n"
    "COMMANDS\n"
    "    pack SAFETENSORS OUT\n"
    "        Makes a model directory from a safetensors file, which must hold exactly the tensors of the "
    "preset. M: "
    "weights\n"
    "        may be F8_E4M3, F16, BF16 or F32 and are rounded to FP8 e4m3 (nearest even, saturating at 448 "
    "with a\n"
    "        warning); for every weight tensor that was rounded it prints the signal-to-noise ratio in dB "
    "and the "
    "share\n"
    "        of non-zero values that became zero. K: F16, BF16 or F32, rounded to f16. Biases F16, BF16 or "
    "F32.\n"
    "    neutral OUT\n"
    "        Makes a model without weights whose biases alone give a plain temporal upscaler. Preset M's "
    "values "
    "are\n"
    "        rounded to what FP8 can hold; the result is printed.\n"
    "    inspect MODEL\n"
    "        Verifies the model and prints what it is and statistics of every tensor.\n"
    "    verify MODEL\n"
    "        Checks sizes, SHA-256, tensor names, shapes, types and values, that the packed images are what\n"
    "        weights.safetensors packs to, and every weight of the tables.\n"
    "\n"
    "OPTIONS\n"
    "    --preset M|K       of what pack and neutral make (default M)\n"
    "    --tables FILE      pack: preset K's lut.bin, copied into the model\n"
    "    --name NAME        name in model.json, 1 to 200 bytes (default: the last part of OUT)\n"
    "    --licence TEXT     licence in model.json, 1 to 200 bytes (default: \"" DEFAULT_LICENCE
    "\"; neutral: \"MIT\")\n"
    "    --force            replace OUT if it is a model directory\n"
    "    --quiet            print nothing but warnings and errors\n"
    "    --json             machine-readable output\n"
    "    --help, --version\n"
    "  neutral, preset M:\n"
    "    --sigma X          standard deviation of the resampling Gaussian in render pixels (default 0.3)\n"
    "    --weight X         gate of the current frame; its weight is 2.753 * (sum of Gaussian weights) * X "
    "(default 0.2)\n"
    "    --history-floor X  least weight of the current frame in the history, 0..1 (default 0.0003)\n"
    "    --output-floor X   least weight of the current frame in the output, 0..1 (default 0.0003)\n"
    "    --candidate X      share of the motion of the nearest depth, 0..1 (default 0.9999)\n"
    "    --recurrent X      gate of the recurrent feature, 0..1 (default 0.0003)\n"
    "  neutral, preset K (docs/stages_k.md):\n"
    "    --column X         kernel shape by precision, 0..3 (default 2.5)\n"
    "    --row X            kernel shape by direction, 0..3, 1 is round (default 1)\n"
    "    --gain X           weight of the current frame, 0..4 (default 1)\n"
    "    --keep X           share of the history's confidence that survives a frame, 0..1 (default 0.95)\n"
    "    --show X           extra share of the current frame in what is shown, 0..1 (default 0.001)\n"
    "    --own X            share of the pixel's own motion, 0..1 (default 0.001)\n"
    "    --clip X           how far the history is moved into the box of its neighbours, 0..1 (default 0.5)\n"
    "    --box X            half of that box in standard deviations, 0..4 (default 2.5)\n"
    "\n"
    "OUTPUT\n"
    "    OUT is written under a temporary name beside it and renamed: it appears complete or not at all.\n"
    "\n"
    "EXIT STATUS\n"
    "    0 success, 2 usage, 4 a bad MODEL, or content of SAFETENSORS that is no model, 5 SAFETENSORS cannot "
    "be read or\n"
    "    OUT not be written, 6 no memory\n"
    "\n"
    "EXAMPLES\n"
    "    d4r-model neutral --sigma 0.35 neutral\n"
    "    d4r-model pack --name my-model --licence CC0-1.0 weights.safetensors my-model && d4r-model inspect "
    "my-model\n";

struct options {
    const char *name, *licence, *tables;
    const d4r_preset_format *preset;
    bool force, quiet, json;
    d4r_m_neutral m;
    d4r_k_neutral k;
    const char *arguments[2];
    int argument_count;
};

/* `model`: the status came from reading a model directory, of which every fault is a bad model. */
static int exit_code(d4r_status status, bool model)
{
    if (status == D4R_ERROR_ARGUMENT) return CLI_USAGE;
    if (model && (status == D4R_ERROR_IO || status == D4R_ERROR_INPUT)) return CLI_BAD_MODEL;
    return cli_exit_code(status);
}

/* A path or name that comes from outside, on its way to standard output. */
static const char *safe(const char *text, char buffer[1024])
{
    cli_escape(text, buffer, 1024);
    return buffer;
}

static const char *default_name(const char *out, char buffer[D4R_MANIFEST_TEXT_SIZE])
{
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/') length--;
    size_t start = length;
    while (start > 0 && out[start - 1] != '/') start--;
    snprintf(buffer, D4R_MANIFEST_TEXT_SIZE, "%.*s", (int)(length - start > 200 ? 200 : length - start),
             out + start);
    return buffer;
}

/* What both ways to write a model need. */
typedef struct target {
    const char *out, *name, *licence;
    char buffer[D4R_MANIFEST_TEXT_SIZE];
} target;

static void choose_target(const struct options *options, const char *out, const char *licence, target *t)
{
    t->out = out;
    t->name = options->name ? options->name : default_name(out, t->buffer);
    t->licence = options->licence ? options->licence : licence;
}

static double ratio_db(double signal, double noise)
{
    return 10 * log10(signal / noise);
}

static void print_rounding(const d4r_m_rounding *rounding)
{
    double signal = 0, noise = 0;
    printf("%-20s %9s %9s %9s %10s\n", "tensor", "largest", "SNR dB", "to zero", "saturated");
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *tensor = &d4r_m_tensors[i];
        if (tensor->kind != D4R_M_WEIGHT) continue;
        char snr[16] = "exact";
        if (rounding[i].noise > 0)
            snprintf(snr, sizeof snr, "%.2f", ratio_db(rounding[i].signal, rounding[i].noise));
        printf("%-20s %9.4g %9s %8.3f%% %10zu\n", tensor->name, (double)rounding[i].largest, snr,
               100.0 * (double)rounding[i].flushed / (double)d4r_m_tensor_elements(tensor),
               rounding[i].saturated);
        signal += rounding[i].signal;
        noise += rounding[i].noise;
    }
    if (noise > 0)
        printf("all weights: SNR %.2f dB\n", ratio_db(signal, noise));
    else
        printf("all weights: exact\n");
}

static d4r_status pack_m(const struct options *options, const uint8_t *file, size_t size, const target *t)
{
    d4r_m_weights weights = {0};
    d4r_m_rounding rounding[D4R_M_TENSOR_COUNT];
    d4r_status status = d4r_m_weights_read(options->arguments[0], file, size, cli_log(), &weights, rounding);
    if (status == D4R_OK)
        status = d4r_m_model_write(t->out, options->force, &weights, t->name, t->licence, cli_log());
    if (status == D4R_OK && !options->quiet) print_rounding(rounding);
    d4r_m_weights_free(&weights);
    return status;
}

/* A file that the user names: what it should be but is not is bad input. */
static d4r_status read_input(const char *path, uint64_t cap, uint8_t **data, size_t *size)
{
    d4r_status status = d4r_file_read(path, cap, cli_log(), data, size);
    /* no such file, a folder, too large: nothing was read */
    return status == D4R_ERROR_MODEL ? D4R_ERROR_INPUT : status;
}

static d4r_status pack_k(const struct options *options, const uint8_t *file, size_t size, const target *t)
{
    d4r_k_weights weights = {0};
    uint8_t *tables = NULL;
    size_t table_bytes = 0;
    d4r_status status = read_input(options->tables, MAX_INPUT_BYTES, &tables, &table_bytes);
    if (status == D4R_OK && table_bytes != D4R_K_TABLES_BYTES)
        status = d4r_fail(cli_log(), D4R_ERROR_MODEL, "%s: %zu bytes, but preset K's tables have %d",
                          options->tables, table_bytes, D4R_K_TABLES_BYTES);
    if (status == D4R_OK) status = d4r_k_tables_check(options->tables, tables, cli_log());
    if (status == D4R_OK) status = d4r_k_weights_read(options->arguments[0], file, size, cli_log(), &weights);
    if (status == D4R_OK)
        status = d4r_k_model_write(t->out, options->force, &weights, tables, t->name, t->licence, cli_log());
    d4r_k_weights_free(&weights);
    free(tables);
    return status;
}

static int command_pack(const struct options *options)
{
    const bool k = options->preset->preset == D4R_PRESET_K;
    uint8_t *file = NULL;
    size_t size = 0;
    char text[1024];
    target t;
    if (k != (options->tables != NULL))
        return cli_usage_error(k ? "pack --preset K needs --tables FILE" : "--tables is of preset K");
    choose_target(options, options->arguments[1], DEFAULT_LICENCE, &t);
    d4r_status status = read_input(options->arguments[0], MAX_INPUT_BYTES, &file, &size);
    if (status == D4R_OK) status = k ? pack_k(options, file, size, &t) : pack_m(options, file, size, &t);
    if (status == D4R_OK && !options->quiet) printf("%s: written\n", safe(options->arguments[1], text));
    free(file);
    return cli_finish(exit_code(status, false));
}

static d4r_status neutral_m(const struct options *options, const target *t)
{
    d4r_m_neutral p = options->m;
    char text[1024];
    d4r_m_weights weights = {0};
    d4r_status status = d4r_m_weights_create(&weights);
    if (status == D4R_OK)
        status = d4r_m_neutral_fill(&p, cli_log(), &weights);
    else
        d4r_fail(cli_log(), status, "no memory for the weights");
    if (status == D4R_OK)
        status = d4r_m_model_write(t->out, options->force, &weights, t->name, t->licence, cli_log());
    if (status == D4R_OK && !options->quiet)
        printf("%s: sigma %.4f, weight %.4f, history floor %.5f, output floor %.5f, candidate %.5f, "
               "recurrent %.5f\n",
               safe(t->out, text), (double)p.sigma, (double)p.weight, (double)p.history_floor,
               (double)p.output_floor, (double)p.candidate, (double)p.recurrent);
    d4r_m_weights_free(&weights);
    return status;
}

static d4r_status neutral_k(const struct options *options, const target *t)
{
    const d4r_k_neutral *p = &options->k;
    char text[1024];
    d4r_k_weights weights = {0};
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    d4r_status status = tables ? d4r_k_weights_create(&weights) : D4R_ERROR_MEMORY;
    if (status == D4R_OK)
        status = d4r_k_neutral_fill(p, cli_log(), &weights, tables);
    else
        d4r_fail(cli_log(), status, "no memory for the weights");
    if (status == D4R_OK)
        status = d4r_k_model_write(t->out, options->force, &weights, tables, t->name, t->licence, cli_log());
    if (status == D4R_OK && !options->quiet)
        printf("%s: column %.4f, row %.4f, gain %.4f, keep %.4f, show %.4f, own %.4f, clip %.4f, box %.4f\n",
               safe(t->out, text), (double)p->column, (double)p->row, (double)p->gain, (double)p->keep,
               (double)p->show, (double)p->own, (double)p->clip, (double)p->box);
    d4r_k_weights_free(&weights);
    free(tables);
    return status;
}

static int command_neutral(const struct options *options)
{
    target t;
    choose_target(options, options->arguments[0], "MIT", &t);
    return cli_finish(exit_code(
        options->preset->preset == D4R_PRESET_K ? neutral_k(options, &t) : neutral_m(options, &t), false));
}

static int command_verify(const struct options *options)
{
    d4r_model *model = NULL;
    d4r_model_info info;
    char text[1024], name[1024];
    d4r_status status = d4r_model_load(options->arguments[0], cli_log(), &model);
    if (status == D4R_OK) status = d4r_model_get_info(model, &info);
    if (status == D4R_OK && !options->quiet)
        printf("%s: ok: preset %s, \"%s\", %" PRIu64 " parameters, %" PRIu64 " packed bytes\n",
               safe(options->arguments[0], text), d4r_preset_format_find(info.preset)->name,
               safe(info.name, name), info.parameter_count, info.packed_bytes);
    d4r_model_destroy(&model);
    return cli_finish(exit_code(status, true));
}

struct statistics {
    double minimum, maximum, rms, zeros; /* zeros: share */
};

/* weights.safetensors of a model that was verified. */
typedef struct weights_file {
    char *path;
    uint8_t *data;
    d4r_safetensors tensors;
} weights_file;

static float value_at(const uint8_t *data, d4r_dtype dtype, size_t index)
{
    float value;
    uint16_t half;
    if (dtype == D4R_DTYPE_F8_E4M3) return d4r_e4m3_to_float(data[index]);
    if (dtype == D4R_DTYPE_F32) {
        memcpy(&value, data + 4 * index, sizeof value);
        return value;
    }
    memcpy(&half, data + 2 * index, sizeof half);
    return dtype == D4R_DTYPE_F16 ? d4r_half_to_float(half) : d4r_bfloat_to_float(half);
}

static struct statistics measure(const weights_file *weights, const d4r_tensor *tensor)
{
    const uint8_t *data = weights->data + tensor->offset;
    size_t zeros = 0;
    struct statistics s = {INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < tensor->elements; i++) {
        const float value = value_at(data, tensor->dtype, i);
        s.minimum = fmin(s.minimum, value);
        s.maximum = fmax(s.maximum, value);
        s.rms += (double)value * value;
        zeros += value == 0;
    }
    s.rms = sqrt(s.rms / (double)tensor->elements);
    s.zeros = (double)zeros / (double)tensor->elements;
    return s;
}

static void print_tensor(const weights_file *weights, const d4r_tensor *tensor)
{
    const struct statistics s = measure(weights, tensor);
    char shape[48];
    if (tensor->dimensions == 1)
        snprintf(shape, sizeof shape, "%" PRIu64, tensor->shape[0]);
    else
        snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu64, tensor->shape[0], tensor->shape[1]);
    printf("%-20s %-7s %9s %11.5g %11.5g %11.5g %7.2f%%\n", tensor->name, d4r_dtype_name(tensor->dtype),
           shape, s.minimum, s.maximum, s.rms, 100 * s.zeros);
}

static void inspect_text(const char *path, const d4r_model_info *info, const d4r_manifest *manifest,
                         const weights_file *weights)
{
    char text[1024], name[1024], licence[1024];
    printf("model       %s\nname        %s\nlicence     %s\npreset      %s\nparameters  %" PRIu64
           "\npacked      %" PRIu64 " bytes\n%-20s %s\n",
           safe(path, text), safe(info->name, name), safe(info->licence, licence),
           d4r_preset_format_find(info->preset)->name, info->parameter_count, info->packed_bytes,
           D4R_MANIFEST_NAME, info->sha256);
    for (int i = 0; i < D4R_FILE_COUNT; i++)
        if (manifest->files[i].sha256[0])
            printf("%-20s %s %9" PRIu64 " bytes\n", d4r_model_file_names[i], manifest->files[i].sha256,
                   manifest->files[i].size);
    printf("\n%-20s %-7s %9s %11s %11s %11s %8s\n", "tensor", "type", "shape", "min", "max", "rms", "zeros");
    for (size_t i = 0; i < weights->tensors.count; i++) print_tensor(weights, &weights->tensors.tensors[i]);
}

static cJSON *tensor_json(const weights_file *weights, const d4r_tensor *tensor)
{
    const struct statistics s = measure(weights, tensor);
    cJSON *entry = cJSON_CreateObject();
    int shape[2] = {(int)tensor->shape[0], (int)tensor->shape[1]};
    cJSON_AddStringToObject(entry, "name", tensor->name);
    cJSON_AddStringToObject(entry, "dtype", d4r_dtype_name(tensor->dtype));
    cJSON_AddItemToObject(entry, "shape", cJSON_CreateIntArray(shape, (int)tensor->dimensions));
    cJSON_AddNumberToObject(entry, "min", s.minimum);
    cJSON_AddNumberToObject(entry, "max", s.maximum);
    cJSON_AddNumberToObject(entry, "rms", s.rms);
    cJSON_AddNumberToObject(entry, "zeros", s.zeros);
    return entry;
}

static bool inspect_json(const d4r_model_info *info, const d4r_manifest *manifest,
                         const weights_file *weights)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "name", info->name);
    cJSON_AddStringToObject(root, "licence", info->licence);
    cJSON_AddStringToObject(root, "preset", d4r_preset_format_find(info->preset)->name);
    cJSON_AddNumberToObject(root, "parameters", (double)info->parameter_count);
    cJSON_AddNumberToObject(root, "packed_bytes", (double)info->packed_bytes);
    cJSON_AddStringToObject(root, "sha256", info->sha256);
    cJSON *files = cJSON_AddObjectToObject(root, "files");
    for (int i = 0; i < D4R_FILE_COUNT; i++) {
        if (!manifest->files[i].sha256[0]) continue;
        cJSON *entry = cJSON_AddObjectToObject(files, d4r_model_file_names[i]);
        cJSON_AddNumberToObject(entry, "size", (double)manifest->files[i].size);
        cJSON_AddStringToObject(entry, "sha256", manifest->files[i].sha256);
    }
    cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
    for (size_t i = 0; i < weights->tensors.count; i++)
        cJSON_AddItemToArray(tensors, tensor_json(weights, &weights->tensors.tensors[i]));
    char *printed = cJSON_Print(root), *text = printed ? d4r_utf8_json(printed) : NULL;
    if (text) puts(text);
    free(text);
    cJSON_free(printed);
    cJSON_Delete(root);
    return text != NULL;
}

/* Reads a file of the model again for its details; it has just been verified. */
static d4r_status read_again(const char *directory, const char *name, uint8_t **data, size_t *size,
                             char **path)
{
    *path = d4r_path_join(directory, name);
    if (!*path) return d4r_fail(cli_log(), D4R_ERROR_MEMORY, "%s: no memory", directory);
    return d4r_file_read(*path, MAX_INPUT_BYTES, cli_log(), data, size);
}

static d4r_status inspect(const char *directory, bool json, const d4r_model_info *info)
{
    uint8_t *text = NULL;
    char *text_path = NULL;
    size_t text_size = 0, size = 0;
    d4r_manifest manifest;
    weights_file weights = {0};
    d4r_status status = read_again(directory, D4R_MANIFEST_NAME, &text, &text_size, &text_path);
    if (status == D4R_OK)
        status = d4r_manifest_parse(text_path, (const char *)text, text_size, cli_log(), &manifest);
    if (status == D4R_OK)
        status = read_again(directory, d4r_model_file_names[D4R_FILE_SAFETENSORS], &weights.data, &size,
                            &weights.path);
    if (status == D4R_OK)
        status = d4r_safetensors_parse(weights.path, weights.data, size, size, cli_log(), &weights.tensors);
    if (status == D4R_OK && !json) inspect_text(directory, info, &manifest, &weights);
    if (status == D4R_OK && json && !inspect_json(info, &manifest, &weights))
        status = d4r_fail(cli_log(), D4R_ERROR_MEMORY, "%s: no memory for the JSON text", directory);
    d4r_safetensors_free(&weights.tensors);
    free(weights.path);
    free(weights.data);
    free(text_path);
    free(text);
    return status;
}

static int command_inspect(const struct options *options)
{
    d4r_model *model = NULL;
    d4r_model_info info;
    d4r_status status = d4r_model_load(options->arguments[0], cli_log(), &model);
    if (status == D4R_OK) status = d4r_model_get_info(model, &info);
    if (status == D4R_OK) status = inspect(options->arguments[0], options->json, &info);
    d4r_model_destroy(&model);
    return cli_finish(exit_code(status, true));
}

/* ---- command line ---- */

enum {
    OPTION_NAME = 256,
    OPTION_LICENCE,
    OPTION_FORCE,
    OPTION_QUIET,
    OPTION_JSON,
    OPTION_PRESET,
    OPTION_TABLES,
    OPTION_NUMBER /* the first of `numbers` */
};

#define NUMBER(name, preset, field)                   \
    {                                                 \
        name, preset, offsetof(struct options, field) \
    }
/* What `neutral` takes. */
static const struct number {
    const char *name;
    d4r_preset preset;
    size_t field;
} numbers[] = {
    NUMBER("sigma", D4R_PRESET_M, m.sigma),
    NUMBER("weight", D4R_PRESET_M, m.weight),
    NUMBER("history-floor", D4R_PRESET_M, m.history_floor),
    NUMBER("output-floor", D4R_PRESET_M, m.output_floor),
    NUMBER("candidate", D4R_PRESET_M, m.candidate),
    NUMBER("recurrent", D4R_PRESET_M, m.recurrent),
    NUMBER("column", D4R_PRESET_K, k.column),
    NUMBER("row", D4R_PRESET_K, k.row),
    NUMBER("gain", D4R_PRESET_K, k.gain),
    NUMBER("keep", D4R_PRESET_K, k.keep),
    NUMBER("show", D4R_PRESET_K, k.show),
    NUMBER("own", D4R_PRESET_K, k.own),
    NUMBER("clip", D4R_PRESET_K, k.clip),
    NUMBER("box", D4R_PRESET_K, k.box),
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static const struct option plain_options[] = {{"name", required_argument, NULL, OPTION_NAME},
                                              {"licence", required_argument, NULL, OPTION_LICENCE},
                                              {"license", required_argument, NULL, OPTION_LICENCE},
                                              {"force", no_argument, NULL, OPTION_FORCE},
                                              {"quiet", no_argument, NULL, OPTION_QUIET},
                                              {"json", no_argument, NULL, OPTION_JSON},
                                              {"preset", required_argument, NULL, OPTION_PRESET},
                                              {"tables", required_argument, NULL, OPTION_TABLES}};
#define PLAIN_OPTIONS (sizeof plain_options / sizeof plain_options[0])

#define ALLOW(option) (1u << ((option)-OPTION_NAME))
#define ALLOW_OUTPUT                                                                          \
    (ALLOW(OPTION_NAME) | ALLOW(OPTION_LICENCE) | ALLOW(OPTION_FORCE) | ALLOW(OPTION_QUIET) | \
     ALLOW(OPTION_PRESET))

static const struct command {
    const char *name;
    int (*run)(const struct options *options);
    int arguments;
    unsigned allowed;
} commands[] = {
    {"pack", command_pack, 2, ALLOW_OUTPUT | ALLOW(OPTION_TABLES)},
    {"neutral", command_neutral, 1, ALLOW_OUTPUT | ALLOW(OPTION_NUMBER)},
    {"inspect", command_inspect, 1, ALLOW(OPTION_JSON)},
    {"verify", command_verify, 1, ALLOW(OPTION_QUIET)},
};

static bool parse_number(const char *text, float *value)
{
    char *end;
    *value = strtof(text, &end);
    return end != text && !*end && isfinite(*value);
}

/* CLI_OK, or CLI_USAGE after a message. */
static int apply_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_NAME:
        options->name = value;
        return CLI_OK;
    case OPTION_LICENCE:
        options->licence = value;
        return CLI_OK;
    case OPTION_FORCE:
        options->force = true;
        return CLI_OK;
    case OPTION_QUIET:
        options->quiet = true;
        return CLI_OK;
    case OPTION_JSON:
        options->json = true;
        return CLI_OK;
    case OPTION_TABLES:
        options->tables = value;
        return CLI_OK;
    case OPTION_PRESET:
        options->preset = d4r_preset_format_named(value);
        return options->preset ? CLI_OK : cli_usage_error("--preset: '%s' is neither M nor K", value);
    default:
        if (parse_number(value, (float *)((char *)options + numbers[option - OPTION_NUMBER].field)))
            return CLI_OK;
        return cli_usage_error("%s is not a number", value);
    }
}

/* Both kinds of options, for getopt. */
static void list_options(struct option list[PLAIN_OPTIONS + NUMBERS + 1])
{
    memcpy(list, plain_options, sizeof plain_options);
    for (size_t i = 0; i < NUMBERS; i++)
        list[PLAIN_OPTIONS + i] =
            (struct option){numbers[i].name, required_argument, NULL, OPTION_NUMBER + (int)i};
    list[PLAIN_OPTIONS + NUMBERS] = (struct option){0};
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct options options = {.preset = d4r_preset_format_find(D4R_PRESET_M),
                              .m = d4r_m_neutral_default(),
                              .k = d4r_k_neutral_default()};
    struct option list[PLAIN_OPTIONS + NUMBERS + 1];
    bool given[NUMBERS] = {false};
    int option, index = 0;
    list_options(list);
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", list, &index)) != -1) {
        if (option == ':') return cli_usage_error("%s needs a value", argv[optind - 1]);
        if (option == '?') return cli_usage_error("unknown option %s", argv[optind - 1]);
        if (!(command->allowed & ALLOW(option < OPTION_NUMBER ? option : OPTION_NUMBER)))
            return cli_usage_error("--%s does not go with this command", list[index].name);
        if (apply_option(&options, option, optarg) != CLI_OK) return CLI_USAGE;
        if (option >= OPTION_NUMBER) given[option - OPTION_NUMBER] = true;
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (given[i] && numbers[i].preset != options.preset->preset)
            return cli_usage_error("--%s is not of preset %s", numbers[i].name, options.preset->name);
    if (argc - optind != command->arguments)
        return cli_usage_error(command->arguments == 2 ? "%s needs SAFETENSORS and OUT"
                                                       : "%s needs one directory",
                               command->name);
    for (int i = 0; i < command->arguments; i++) {
        options.arguments[i] = argv[optind + i];
        if (!*options.arguments[i]) return cli_usage_error("%s: an empty path", command->name);
    }
    cli_catch_signals(); /* writing a model takes a moment: the first signal waits for it */
    return command->run(&options);
}

int main(int argc, char **argv)
{
    cli_start("d4r-model");
    cli_set_level(D4R_LOG_WARNING);
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help_text, stdout);
            return cli_finish(CLI_OK);
        }
        if (!strcmp(argv[i], "--version")) {
            printf("d4r-model %d.%d.%d\n", D4R_VERSION_MAJOR, D4R_VERSION_MINOR, D4R_VERSION_PATCH);
            return cli_finish(CLI_OK);
        }
    }
    if (argc < 2) return cli_usage_error("%s", "a command is missing: pack, neutral, inspect or verify");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(argv[1], commands[i].name)) return run_command(&commands[i], argc - 1, argv + 1);
    return cli_usage_error("unknown command \"%s\"", argv[1]);
}
