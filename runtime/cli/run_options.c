#include "runtime/cli/run_options.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/cli/given.h"
#include "runtime/cli/run_output.h"

static const char help_text[] =
    "\n"
    "  MODEL    model directory of this preset (d4r-model makes one)\n"
    "  FRAMES   frame sequence, see below\n"
    "  OUT      output folder; it appears when everything has succeeded. '-': no readback, timing only\n"
    "  REPEATS  run the sequence this often (default 1); pictures are of the first run, times of all\n"
    "  NETWORK  as --network\n"
    "\n"
    "Device and network:\n"
    "  --network auto|cpu|vulkan|hip   who computes the network (vulkan is reserved); auto: hip, else cpu\n"
    "  --device INDEX|NAME       Vulkan device by index or by a part of its name (d4r-info lists them)\n"
    "  --threads N               threads of the CPU network; default all cores\n"
    "  --frames-in-flight N      1..8, default 3\n"
    "  --exact-filter            bilinear filtering by four f32 fetches instead of the hardware sampler\n"
    "  --watchdog MS             bound for one network evaluation\n"
    "  --validate                with the Khronos validation layer; a message makes the exit code 6\n"
    "  --validate-inputs         check every frame's arguments and images on the GPU, and warn of what is "
    "probably\n"
    "                            wrong (docs/debugging.md)\n"
    "Output:\n"
    "  OUT/frame-NNNN.bin and OUT/outputs.json, which describes them, are always written unless --no-raw is "
    "given\n"
    "  --output-format rgba16f|rgb10a2\n"
    "  --png  --exr  --npy       also as 8-bit sRGB of v/(1+v), OpenEXR (f16), NumPy\n"
    "  --no-raw                  no .bin files\n"
    "  --json FILE               results: settings, quality and time of every frame, memory\n"
    "  --dump DIR                every stage's inputs and outputs as DIR/FRAME/STAGE.NAME.npy (slow)\n"
    "  --profile[=DIR], or D4R_PROFILE=1   stage times: DIR/stages.csv (medians), DIR/profile.json (the "
    "same,\n"
    "                            and what was measured), DIR/trace.json (Chrome trace); DIR is OUT unless\n"
    "                            given, d4r-profile when OUT is '-'\n"
    "  --force                   replace files in OUT, and in the folder of --dump, that are not of an "
    "earlier run;\n"
    "                            pictures of an earlier run are always replaced, other files stay\n"
    "  -q, --quiet               errors and warnings only\n"
    "  -v, --verbose             also debug messages\n"
    "Behaviour:\n"
    "  --reset-all               every frame is a cut: nothing comes from history\n"
    "  --check[=only]            before the run, find out by warping whether the conventions fit the frames, "
    "and\n"
    "                            warn when they do not; 'only': stop after that, with exit code 5 when one "
    "is\n"
    "                            wrong. OUT is not touched then; every plane and reference is read\n";

static const char help_end[] =
    "\n"
    "When the frames have references, PSNR and SSIM of each frame go to standard output (on sRGB of v/(1+v), "
    "or on\n"
    "the values themselves for display-referred colour), and their mean over frames 4 to the last.\n"
    "\n"
    "Exit codes: 0 done, 2 usage, 3 no suitable device, or a feature, library or code object is missing or\n"
    "damaged, 4 bad model, 5 bad input or an unwritable output, 6 device or network failure, 130 interrupted.\n"
    "Nothing partial is left in any case.\n";

enum {
    OPTION_NETWORK = 1,
    OPTION_DEVICE,
    OPTION_THREADS,
    OPTION_IN_FLIGHT,
    OPTION_EXACT,
    OPTION_WATCHDOG,
    OPTION_VALIDATE,
    OPTION_VALIDATE_INPUTS,
    OPTION_FORMAT,
    OPTION_PNG,
    OPTION_EXR,
    OPTION_NPY,
    OPTION_NO_RAW,
    OPTION_JSON,
    OPTION_DUMP,
    OPTION_PROFILE,
    OPTION_RESET_ALL,
    OPTION_FORCE,
    OPTION_CHECK,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {{"network", required_argument, NULL, OPTION_NETWORK},
                                             {"device", required_argument, NULL, OPTION_DEVICE},
                                             {"threads", required_argument, NULL, OPTION_THREADS},
                                             {"frames-in-flight", required_argument, NULL, OPTION_IN_FLIGHT},
                                             {"exact-filter", no_argument, NULL, OPTION_EXACT},
                                             {"watchdog", required_argument, NULL, OPTION_WATCHDOG},
                                             {"validate", no_argument, NULL, OPTION_VALIDATE},
                                             {"validate-inputs", no_argument, NULL, OPTION_VALIDATE_INPUTS},
                                             {"output-format", required_argument, NULL, OPTION_FORMAT},
                                             {"png", no_argument, NULL, OPTION_PNG},
                                             {"exr", no_argument, NULL, OPTION_EXR},
                                             {"npy", no_argument, NULL, OPTION_NPY},
                                             {"no-raw", no_argument, NULL, OPTION_NO_RAW},
                                             {"json", required_argument, NULL, OPTION_JSON},
                                             {"dump", required_argument, NULL, OPTION_DUMP},
                                             {"profile", optional_argument, NULL, OPTION_PROFILE},
                                             {"reset-all", no_argument, NULL, OPTION_RESET_ALL},
                                             {"force", no_argument, NULL, OPTION_FORCE},
                                             {"check", optional_argument, NULL, OPTION_CHECK},
                                             {"quiet", no_argument, NULL, 'q'},
                                             {"verbose", no_argument, NULL, 'v'},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {"version", no_argument, NULL, OPTION_VERSION},
                                             CLI_SEQUENCE_OPTIONS,
                                             CLI_HIP_OPTIONS,
                                             {NULL, 0, NULL, 0}};

static bool parse_network(const char *name, d4r_network_kind *kind)
{
    static const char *const names[] = {"auto", "cpu", "vulkan", "hip"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i])) continue;
        *kind = (d4r_network_kind)i;
        return true;
    }
    cli_usage_error("network '%s' is none of auto, cpu, vulkan, hip", name);
    return false;
}

static bool parse_count(const char *option, const char *value, uint32_t low, uint32_t high, uint32_t *target)
{
    if (cli_parse_uint(value, low, high, target)) return true;
    cli_usage_error("%s: '%s' is not a number from %u to %u", option, value, low, high);
    return false;
}

static bool parse_format(const char *value, d4r_pixel_format *format)
{
    if (!strcmp(value, "rgba16f"))
        *format = D4R_FORMAT_RGBA16F;
    else if (!strcmp(value, "rgb10a2"))
        *format = D4R_FORMAT_RGB10A2;
    else
        return cli_usage_error("--output-format: '%s' is neither rgba16f nor rgb10a2", value), false;
    return true;
}

static bool parse_check(const char *value, run_options *options)
{
    options->check = true;
    options->check_only = value != NULL;
    if (!value || !strcmp(value, "only")) return true;
    cli_usage_error("--check: '%s' is not 'only'", value);
    return false;
}

static bool take_network(const char *value, run_options *options)
{
    options->network_name = value;
    return parse_network(value, &options->network);
}

/* Options without a value; false when it is none of them. */
static bool take_flag(int option, run_options *options)
{
    bool *const flags[] = {[OPTION_EXACT] = &options->exact_filter,
                           [OPTION_VALIDATE] = &options->validate,
                           [OPTION_VALIDATE_INPUTS] = &options->validate_inputs,
                           [OPTION_PNG] = &options->png,
                           [OPTION_EXR] = &options->exr,
                           [OPTION_NPY] = &options->npy,
                           [OPTION_NO_RAW] = &options->no_raw,
                           [OPTION_FORCE] = &options->force,
                           [OPTION_RESET_ALL] = &options->reset_all};
    if (option < 0 || (size_t)option >= sizeof flags / sizeof *flags || !flags[option]) return false;
    return *flags[option] = true;
}

static bool take_option(int option, const char *value, run_options *options)
{
    bool good = true;
    if (take_flag(option, options) || cli_sequence_option(option, value, &options->sequence, &good) ||
        cli_hip_option(option, value, &options->hip, &good))
        return good;
    switch (option) {
    case OPTION_NETWORK:
        return take_network(value, options);
    case OPTION_DEVICE:
        options->device = value;
        return true;
    case OPTION_THREADS:
        return parse_count("--threads", value, 1, 1024, &options->threads);
    case OPTION_IN_FLIGHT:
        return parse_count("--frames-in-flight", value, 1, 8, &options->frames_in_flight);
    case OPTION_WATCHDOG:
        return parse_count("--watchdog", value, 1, 3600000, &options->watchdog_ms);
    case OPTION_FORMAT:
        return parse_format(value, &options->format);
    case OPTION_JSON:
        options->json = value;
        return true;
    case OPTION_DUMP:
        options->dump = value;
        return true;
    case OPTION_PROFILE:
        options->profile = true;
        if (value) options->profile_folder = value;
        return true;
    case OPTION_CHECK:
        return parse_check(value, options);
    case 'q':
        cli_set_level(D4R_LOG_WARNING);
        return true;
    case 'v':
        cli_set_level(D4R_LOG_DEBUG);
        return true;
    default: /* getopt could not make sense of it */
        return false;
    }
}

static int take_positionals(int count, char **arguments, run_options *options)
{
    d4r_network_kind kind;
    int given = count - optind;
    if (given < 3) return cli_usage_error("MODEL, FRAMES and OUT are needed");
    if (given > 5) return cli_usage_error("too many arguments: '%s'", arguments[optind + 5]);
    options->model = arguments[optind];
    options->frames = arguments[optind + 1];
    options->out = strcmp(arguments[optind + 2], "-") ? arguments[optind + 2] : NULL;
    if (given > 3 && !parse_count("REPEATS", arguments[optind + 3], 1, 1000000, &options->repeats))
        return CLI_USAGE;
    if (given > 4) {
        if (!parse_network(arguments[optind + 4], &kind)) return CLI_USAGE;
        if (options->network_name && kind != options->network)
            return cli_usage_error("--network %s and NETWORK %s contradict each other", options->network_name,
                                   arguments[optind + 4]);
        options->network_name = arguments[optind + 4];
        options->network = kind;
    }
    return CLI_OK;
}

/* What was said by position, in the words of the options. */
static void remember_positionals(int count, const run_options *options)
{
    static const char *const networks[] = {"--network=auto", "--network=cpu", "--network=vulkan",
                                           "--network=hip"};
    if (options->network_name) cli_given(networks[options->network]);
    if (!options->out) cli_given("OUT '-'");
    if (count - optind > 3) cli_given("REPEATS");
}

/* Every output needs a place of its own. */
static int check_places(const run_options *options)
{
    const struct {
        const char *name, *path;
    } places[] = {{"--json", options->json},
                  {"--dump", options->dump},
                  {"--profile", options->profile ? options->profile_folder : NULL},
                  {"OUT", options->out}};
    enum { COUNT = sizeof places / sizeof *places };
    for (int i = 0; i < COUNT; i++)
        for (int k = i + 1; k < COUNT; k++)
            if (places[i].path && places[k].path && cli_same_place(places[i].path, places[k].path))
                return cli_usage_error("%s and %s are both '%s': choose another name for one", places[i].name,
                                       places[k].name, places[k].path);
    if (!options->json || !options->out) return CLI_OK;
    const char *slash = strrchr(options->json, '/');
    char *folder = slash ? cli_dirname(options->json) : NULL;
    bool taken = folder && cli_same_place(folder, options->out) && run_is_output_name(slash + 1);
    free(folder);
    if (!taken) return CLI_OK;
    return cli_usage_error("--json '%s' is a name that the run itself writes in OUT: choose another",
                           options->json);
}

static int check_combination(const run_options *options)
{
    static const char nothing[] = "'-' means that no picture is read back",
                      stops[] = "nothing runs after the check";
    static const cli_conflict table[] = {{"--hip-*", "--network=cpu", "the CPU network uses no HIP device"},
                                         {"--threads", "--network=hip", "threads are of the CPU network"},
                                         {"--png", "OUT '-'", nothing},
                                         {"--exr", "OUT '-'", nothing},
                                         {"--npy", "OUT '-'", nothing},
                                         {"--no-raw", "OUT '-'", nothing},
                                         {"--check=only", "REPEATS", stops},
                                         {"--check=only", "--png", stops},
                                         {"--check=only", "--exr", stops},
                                         {"--check=only", "--npy", stops},
                                         {"--check=only", "--no-raw", stops},
                                         {"--check=only", "--dump", stops},
                                         {"--check=only", "--profile", stops},
                                         {"--check=only", "--validate", stops},
                                         {"--check=only", "--validate-inputs", stops},
                                         {"--check=only", "--reset-all", stops},
                                         {"--check=only", "--output-format", stops},
                                         {"--quiet", "--verbose", "fewer messages and more"}};
    if (options->network == D4R_NETWORK_VULKAN)
        return cli_usage_error("the vulkan network does not exist yet; use hip, cpu or auto");
    int code = cli_check_conflicts(table, sizeof table / sizeof *table);
    if (code == CLI_OK) code = cli_sequence_conflicts();
    if (code != CLI_OK) return code;
    code = check_places(options);
    if (code != CLI_OK) return code;
    if (options->no_raw && !options->exr && !options->npy && !options->png)
        return cli_usage_error("--no-raw leaves nothing to write; add --png, --exr or --npy");
    return CLI_OK;
}

int run_options_parse(const run_tool *tool, int count, char **arguments, run_options *options, bool *done)
{
    const char *environment = getenv("D4R_PROFILE");
    int option, index = -1;
    *options = (run_options){.tool = tool, .repeats = 1, .format = D4R_FORMAT_RGBA16F, .frames_in_flight = 3};
    options->sequence = cli_sequence_options_default();
    options->profile = environment && *environment && strcmp(environment, "0") != 0;
    *done = true;
    opterr = 0;
    for (; (option = getopt_long(count, arguments, ":qv", long_options, &index)) != -1; index = -1) {
        if (option == OPTION_HELP) {
            printf("Usage: %s [options] MODEL FRAMES OUT|- [REPEATS] [NETWORK]\n"
                   "Upscales a frame sequence with preset %s.\n",
                   tool->name, d4r_preset_name(tool->preset));
            fputs(help_text, stdout);
            fputs(cli_hip_help, stdout);
            fputs(cli_sequence_help, stdout);
            fputs(help_end, stdout);
            return CLI_OK;
        }
        if (option == OPTION_VERSION) {
            printf("%s %s\n", tool->name, d4r_version_string());
            return CLI_OK;
        }
        if (option == '?' || option == ':') return cli_option_error(option, arguments);
        if (index >= 0) cli_given_option(&long_options[index], optarg);
        if (!take_option(option, optarg, options)) return CLI_USAGE;
    }
    int code = take_positionals(count, arguments, options);
    if (code == CLI_OK) remember_positionals(count, options);
    /* OUT is where --profile writes anyway. */
    if (code == CLI_OK && options->out && options->profile_folder &&
        cli_same_place(options->profile_folder, options->out))
        options->profile_folder = NULL;
    if (code == CLI_OK) code = check_combination(options);
    *done = code != CLI_OK;
    return code;
}
