/* d4r-model: packs, inspects and verifies model directories, and writes the neutral model. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "d4r/d4r.h"
#include "models/format/file.h"
#include "models/format/fp8.h"
#include "models/format/m_pack.h"
#include "models/format/manifest.h"
#include "models/format/model_write.h"
#include "models/format/neutral.h"
#include "runtime/cli/cli.h"

#define MAX_INPUT_BYTES (64u << 20)
#define DEFAULT_LICENCE "unspecified"

static const char help_text[] =
    "NAME\n"
    "    d4r-model - pack, inspect and verify d4r models\n"
    "\n"
    "SYNOPSIS\n"
    "    d4r-model pack [--name NAME] [--licence TEXT] [--force] [--quiet] SAFETENSORS OUT\n"
    "    d4r-model neutral [--sigma X] [--weight X] [...] [--name NAME] [--licence TEXT] [--force] [--quiet] "
    "OUT\n"
    "    d4r-model inspect [--json] MODEL\n"
    "    d4r-model verify [--quiet] MODEL\n"
    "    d4r-model --help | --version\n"
    "\n"
    "DESCRIPTION\n"
    "    A model is a directory with model.json, weights.safetensors (the tensors in natural order) and the "
    "packed\n"
    "    images made from it, weights.bin and hipnet.bin. docs/model_format.md lists tensors and layouts.\n"
    "\n"
    "COMMANDS\n"
    "    pack SAFETENSORS OUT\n"
    "        Makes a model directory from a safetensors file. It must hold exactly the tensors of preset M. "
    "Weights may\n"
    "        be F8_E4M3, F16, BF16 or F32 and are rounded to FP8 e4m3 (nearest even, saturating at 448 with "
    "a\n"
    "        warning); biases F16, BF16 or F32. For every weight tensor that was rounded it prints the "
    "signal-to-noise\n"
    "        ratio in dB and the share of non-zero values that became zero.\n"
    "    neutral OUT\n"
    "        Makes a model without weights whose biases alone give a plain temporal upscaler. Its values are "
    "rounded\n"
    "        to what FP8 can hold; the result is printed.\n"
    "    inspect MODEL\n"
    "        Verifies the model and prints what it is and statistics of every tensor.\n"
    "    verify MODEL\n"
    "        Checks sizes, SHA-256, tensor names, shapes, types and values, and that the packed images are "
    "what\n"
    "        weights.safetensors packs to.\n"
    "\n"
    "OPTIONS\n"
    "    --name NAME        name in model.json, 1 to 200 bytes (default: the last part of OUT)\n"
    "    --licence TEXT     licence in model.json, 1 to 200 bytes (default: \"" DEFAULT_LICENCE
    "\"; neutral: \"MIT\")\n"
    "    --force            replace OUT if it is a model directory\n"
    "    --quiet            print nothing but warnings and errors\n"
    "    --json             machine-readable output\n"
    "    --help, --version\n"
    "  neutral only:\n"
    "    --sigma X          standard deviation of the resampling Gaussian in render pixels (default 0.3)\n"
    "    --weight X         gate of the current frame; its weight is 2.753 * (sum of Gaussian weights) * X "
    "(default 0.2)\n"
    "    --history-floor X  least weight of the current frame in the history, 0..1 (default 0.0003)\n"
    "    --output-floor X   least weight of the current frame in the output, 0..1 (default 0.0003)\n"
    "    --candidate X      share of the motion of the nearest depth, 0..1 (default 0.9999)\n"
    "    --recurrent X      gate of the recurrent feature, 0..1 (default 0.0003)\n"
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
    const char *name, *licence;
    bool force, quiet, json;
    d4r_m_neutral neutral;
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

static d4r_status write_model(const struct options *options, const char *out, const char *licence,
                              const d4r_m_weights *weights)
{
    char name[D4R_MANIFEST_TEXT_SIZE];
    return d4r_model_write(out, options->force, weights,
                           options->name ? options->name : default_name(out, name),
                           options->licence ? options->licence : licence, cli_log());
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

static int command_pack(const struct options *options)
{
    const char *path = options->arguments[0];
    uint8_t *file = NULL;
    size_t size = 0;
    d4r_m_weights weights = {0};
    d4r_m_rounding rounding[D4R_M_TENSOR_COUNT];
    char text[1024];
    d4r_status status = d4r_file_read(path, MAX_INPUT_BYTES, cli_log(), &file, &size);
    if (status == D4R_ERROR_MODEL)
        status = D4R_ERROR_INPUT; /* no such file, a folder, too large: nothing was read */
    if (status == D4R_OK) status = d4r_m_weights_read(path, file, size, cli_log(), &weights, rounding);
    if (status == D4R_OK) status = write_model(options, options->arguments[1], DEFAULT_LICENCE, &weights);
    if (status == D4R_OK && !options->quiet) {
        print_rounding(rounding);
        printf("%s: written\n", safe(options->arguments[1], text));
    }
    d4r_m_weights_free(&weights);
    free(file);
    return cli_finish(exit_code(status, false));
}

static int command_neutral(const struct options *options)
{
    d4r_m_neutral params = options->neutral;
    char text[1024];
    d4r_m_weights weights = {0};
    d4r_status status = d4r_m_weights_create(&weights);
    if (status == D4R_OK)
        status = d4r_m_neutral_fill(&params, cli_log(), &weights);
    else
        d4r_fail(cli_log(), status, "no memory for the weights");
    if (status == D4R_OK) status = write_model(options, options->arguments[0], "MIT", &weights);
    if (status == D4R_OK && !options->quiet)
        printf("%s: sigma %.4f, weight %.4f, history floor %.5f, output floor %.5f, candidate %.5f, "
               "recurrent %.5f\n",
               safe(options->arguments[0], text), (double)params.sigma, (double)params.weight,
               (double)params.history_floor, (double)params.output_floor, (double)params.candidate,
               (double)params.recurrent);
    d4r_m_weights_free(&weights);
    return cli_finish(exit_code(status, false));
}

static int command_verify(const struct options *options)
{
    d4r_model *model = NULL;
    d4r_model_info info;
    char text[1024], name[1024];
    d4r_status status = d4r_model_load(options->arguments[0], cli_log(), &model);
    if (status == D4R_OK) status = d4r_model_get_info(model, &info);
    if (status == D4R_OK && !options->quiet)
        printf("%s: ok: preset M, \"%s\", %" PRIu64 " parameters, %" PRIu64 " packed bytes\n",
               safe(options->arguments[0], text), safe(info.name, name), info.parameter_count,
               info.packed_bytes);
    d4r_model_destroy(&model);
    return cli_finish(exit_code(status, true));
}

struct statistics {
    double minimum, maximum, rms, zeros; /* zeros: share */
};

static struct statistics measure(const d4r_m_weights *weights, int index)
{
    const d4r_m_tensor *tensor = &d4r_m_tensors[index];
    const uint8_t *data = weights->data + weights->offset[index];
    size_t count = d4r_m_tensor_elements(tensor), zeros = 0;
    struct statistics s = {INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < count; i++) {
        float value;
        if (tensor->kind == D4R_M_WEIGHT)
            value = d4r_e4m3_to_float(data[i]);
        else
            memcpy(&value, data + 4 * i, sizeof value);
        s.minimum = fmin(s.minimum, value);
        s.maximum = fmax(s.maximum, value);
        s.rms += (double)value * value;
        zeros += value == 0;
    }
    s.rms = sqrt(s.rms / (double)count);
    s.zeros = (double)zeros / (double)count;
    return s;
}

static void inspect_text(const char *path, const d4r_model_info *info, const d4r_manifest *manifest,
                         const d4r_m_weights *weights)
{
    char text[1024], name[1024], licence[1024];
    printf("model       %s\nname        %s\nlicence     %s\npreset      M\nparameters  %" PRIu64
           "\npacked      %" PRIu64 " bytes\n%-20s %s\n",
           safe(path, text), safe(info->name, name), safe(info->licence, licence), info->parameter_count,
           info->packed_bytes, D4R_MANIFEST_NAME, info->sha256);
    for (int i = 0; i < D4R_FILE_COUNT; i++)
        printf("%-20s %s %9" PRIu64 " bytes\n", d4r_model_file_names[i], manifest->files[i].sha256,
               manifest->files[i].size);
    printf("\n%-20s %-5s %9s %11s %11s %11s %8s\n", "tensor", "type", "shape", "min", "max", "rms", "zeros");
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) {
        const d4r_m_tensor *tensor = &d4r_m_tensors[i];
        struct statistics s = measure(weights, i);
        char shape[24];
        snprintf(shape, sizeof shape, tensor->kind == D4R_M_BIAS ? "%u" : "%ux%u", tensor->rows,
                 tensor->cols);
        printf("%-20s %-5s %9s %11.5g %11.5g %11.5g %7.2f%%\n", tensor->name,
               tensor->kind == D4R_M_WEIGHT ? "e4m3" : "f32", shape, s.minimum, s.maximum, s.rms,
               100 * s.zeros);
    }
}

static cJSON *tensor_json(const d4r_m_weights *weights, int index)
{
    const d4r_m_tensor *tensor = &d4r_m_tensors[index];
    struct statistics s = measure(weights, index);
    cJSON *entry = cJSON_CreateObject();
    int shape[2] = {(int)tensor->rows, (int)tensor->cols};
    cJSON_AddStringToObject(entry, "name", tensor->name);
    cJSON_AddStringToObject(entry, "dtype", tensor->kind == D4R_M_WEIGHT ? "F8_E4M3" : "F32");
    cJSON_AddItemToObject(entry, "shape", cJSON_CreateIntArray(shape, tensor->kind == D4R_M_BIAS ? 1 : 2));
    cJSON_AddNumberToObject(entry, "min", s.minimum);
    cJSON_AddNumberToObject(entry, "max", s.maximum);
    cJSON_AddNumberToObject(entry, "rms", s.rms);
    cJSON_AddNumberToObject(entry, "zeros", s.zeros);
    return entry;
}

static bool inspect_json(const d4r_model_info *info, const d4r_manifest *manifest,
                         const d4r_m_weights *weights)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "name", info->name);
    cJSON_AddStringToObject(root, "licence", info->licence);
    cJSON_AddStringToObject(root, "preset", "M");
    cJSON_AddNumberToObject(root, "parameters", (double)info->parameter_count);
    cJSON_AddNumberToObject(root, "packed_bytes", (double)info->packed_bytes);
    cJSON_AddStringToObject(root, "sha256", info->sha256);
    cJSON *files = cJSON_AddObjectToObject(root, "files");
    for (int i = 0; i < D4R_FILE_COUNT; i++) {
        cJSON *entry = cJSON_AddObjectToObject(files, d4r_model_file_names[i]);
        cJSON_AddNumberToObject(entry, "size", (double)manifest->files[i].size);
        cJSON_AddStringToObject(entry, "sha256", manifest->files[i].sha256);
    }
    cJSON *tensors = cJSON_AddArrayToObject(root, "tensors");
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++) cJSON_AddItemToArray(tensors, tensor_json(weights, i));
    char *text = cJSON_Print(root);
    if (text) puts(text);
    cJSON_free(text);
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
    uint8_t *text = NULL, *file = NULL;
    char *text_path = NULL, *file_path = NULL;
    size_t text_size = 0, size = 0;
    d4r_manifest manifest;
    d4r_m_weights weights = {0};
    d4r_status status = read_again(directory, D4R_MANIFEST_NAME, &text, &text_size, &text_path);
    if (status == D4R_OK)
        status = d4r_manifest_parse(text_path, (const char *)text, text_size, cli_log(), &manifest);
    if (status == D4R_OK)
        status = read_again(directory, d4r_model_file_names[D4R_FILE_SAFETENSORS], &file, &size, &file_path);
    if (status == D4R_OK) status = d4r_m_weights_read(file_path, file, size, cli_log(), &weights, NULL);
    if (status == D4R_OK && !json) inspect_text(directory, info, &manifest, &weights);
    if (status == D4R_OK && json && !inspect_json(info, &manifest, &weights))
        status = d4r_fail(cli_log(), D4R_ERROR_MEMORY, "%s: no memory for the JSON text", directory);
    d4r_m_weights_free(&weights);
    free(file_path);
    free(text_path);
    free(file);
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
    OPTION_SIGMA,
    OPTION_WEIGHT,
    OPTION_HISTORY_FLOOR,
    OPTION_OUTPUT_FLOOR,
    OPTION_CANDIDATE,
    OPTION_RECURRENT
};

static const struct option option_table[] = {{"name", required_argument, NULL, OPTION_NAME},
                                             {"licence", required_argument, NULL, OPTION_LICENCE},
                                             {"license", required_argument, NULL, OPTION_LICENCE},
                                             {"force", no_argument, NULL, OPTION_FORCE},
                                             {"quiet", no_argument, NULL, OPTION_QUIET},
                                             {"json", no_argument, NULL, OPTION_JSON},
                                             {"sigma", required_argument, NULL, OPTION_SIGMA},
                                             {"weight", required_argument, NULL, OPTION_WEIGHT},
                                             {"history-floor", required_argument, NULL, OPTION_HISTORY_FLOOR},
                                             {"output-floor", required_argument, NULL, OPTION_OUTPUT_FLOOR},
                                             {"candidate", required_argument, NULL, OPTION_CANDIDATE},
                                             {"recurrent", required_argument, NULL, OPTION_RECURRENT},
                                             {NULL, 0, NULL, 0}};

#define ALLOW(option) (1u << ((option)-OPTION_NAME))
#define ALLOW_OUTPUT (ALLOW(OPTION_NAME) | ALLOW(OPTION_LICENCE) | ALLOW(OPTION_FORCE) | ALLOW(OPTION_QUIET))
#define ALLOW_NEUTRAL                                                                                        \
    (ALLOW(OPTION_SIGMA) | ALLOW(OPTION_WEIGHT) | ALLOW(OPTION_HISTORY_FLOOR) | ALLOW(OPTION_OUTPUT_FLOOR) | \
     ALLOW(OPTION_CANDIDATE) | ALLOW(OPTION_RECURRENT))

static const struct command {
    const char *name;
    int (*run)(const struct options *options);
    int arguments;
    unsigned allowed;
} commands[] = {
    {"pack", command_pack, 2, ALLOW_OUTPUT},
    {"neutral", command_neutral, 1, ALLOW_OUTPUT | ALLOW_NEUTRAL},
    {"inspect", command_inspect, 1, ALLOW(OPTION_JSON)},
    {"verify", command_verify, 1, ALLOW(OPTION_QUIET)},
};

static bool parse_number(const char *text, float *value)
{
    char *end;
    *value = strtof(text, &end);
    return end != text && !*end && isfinite(*value);
}

static bool apply_option(struct options *options, int option, const char *value)
{
    switch (option) {
    case OPTION_NAME:
        options->name = value;
        return true;
    case OPTION_LICENCE:
        options->licence = value;
        return true;
    case OPTION_FORCE:
        options->force = true;
        return true;
    case OPTION_QUIET:
        options->quiet = true;
        return true;
    case OPTION_JSON:
        options->json = true;
        return true;
    case OPTION_SIGMA:
        return parse_number(value, &options->neutral.sigma);
    case OPTION_WEIGHT:
        return parse_number(value, &options->neutral.weight);
    case OPTION_HISTORY_FLOOR:
        return parse_number(value, &options->neutral.history_floor);
    case OPTION_OUTPUT_FLOOR:
        return parse_number(value, &options->neutral.output_floor);
    case OPTION_CANDIDATE:
        return parse_number(value, &options->neutral.candidate);
    default:
        return parse_number(value, &options->neutral.recurrent);
    }
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct options options = {.neutral = d4r_m_neutral_default()};
    int option, index = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", option_table, &index)) != -1) {
        if (option == ':') return cli_usage_error("%s needs a value", argv[optind - 1]);
        if (option == '?') return cli_usage_error("unknown option %s", argv[optind - 1]);
        if (!(command->allowed & ALLOW(option)))
            return cli_usage_error("--%s does not go with this command", option_table[index].name);
        if (!apply_option(&options, option, optarg)) return cli_usage_error("%s is not a number", optarg);
    }
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
