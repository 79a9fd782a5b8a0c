/* d4r-compare: quality of pictures against other pictures or references. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/given.h"
#include "runtime/cli/json_read.h"
#include "runtime/cli/metrics.h"
#include "runtime/cli/picture.h"

static const char help_text[] =
    "Usage: d4r-compare [options] PICTURES REFERENCES\n"
    "Prints PSNR, SSIM and tPSNR of each frame and their means.\n"
    "\n"
    "PICTURES and REFERENCES are each one of\n"
    "  - an output folder of d4r-m (or its outputs.json),\n"
    "  - a frames.json, or a folder that holds one: its references are taken,\n"
    "  - a folder of .exr or .npy files, taken in the order of their names,\n"
    "  - one .exr or .npy file.\n"
    "Frames are matched by number; those that only one side has are left out.\n"
    "\n"
    "PSNR is over R, G, B with peak 1, SSIM (11x11 Gaussian, sigma 1.5) on Rec.709 luma, both of display "
    "values:\n"
    "sRGB(v/(1+v)) of linear colour, or the values themselves with --color ldr. tPSNR is the PSNR of the\n"
    "differences of consecutive frames.\n"
    "\n"
    "  --color hdr|ldr       default: what PICTURES or REFERENCES say, else hdr\n"
    "  --from N              first frame that counts for the means; default 4, or 0 with fewer than 5 "
    "frames\n"
    "  --diff DIR            difference images as DIR/diff-NNNN.png: grey where equal, enlarged by --gain\n"
    "  --gain G              default 4\n"
    "  --force               replace files in a --diff DIR that is not empty\n"
    "  --min-psnr DB         exit code 1 when the mean PSNR is lower\n"
    "  --json FILE           all numbers\n"
    "  -q, --quiet           print the means only\n"
    "\n"
    "Exit codes: 0 done, 1 below --min-psnr, 2 usage, 5 bad input or an unwritable output, 130 "
    "interrupted.\n";

enum {
    OPTION_COLOR = 1,
    OPTION_FROM,
    OPTION_DIFF,
    OPTION_GAIN,
    OPTION_FORCE,
    OPTION_MIN,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {{"color", required_argument, NULL, OPTION_COLOR},
                                             {"from", required_argument, NULL, OPTION_FROM},
                                             {"diff", required_argument, NULL, OPTION_DIFF},
                                             {"gain", required_argument, NULL, OPTION_GAIN},
                                             {"force", no_argument, NULL, OPTION_FORCE},
                                             {"min-psnr", required_argument, NULL, OPTION_MIN},
                                             {"json", required_argument, NULL, OPTION_JSON},
                                             {"quiet", no_argument, NULL, 'q'},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {"version", no_argument, NULL, OPTION_VERSION},
                                             {NULL, 0, NULL, 0}};

typedef struct settings {
    const char *diff, *json;
    int ldr; /* -1: not given */
    uint32_t from;
    bool from_given, quiet, force;
    double gain, min_psnr;
} settings;

typedef struct score {
    size_t frame;
    double psnr, ssim, tpsnr; /* tpsnr < 0: no previous frame */
    size_t not_finite;
} score;

typedef struct comparison {
    const settings *options;
    cli_pictures pictures, references;
    bool ldr;
    size_t count;
    score *scores;
} comparison;

static uint8_t difference_byte(float ours, float reference, double gain)
{
    double value = 127.5 + 127.5 * gain * ((double)ours - (double)reference);
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

static d4r_status write_difference(const comparison *c, const char *folder, size_t frame,
                                   const cli_display *ours, const cli_display *reference)
{
    size_t count = 3 * (size_t)ours->size.width * ours->size.height;
    uint8_t *bytes = malloc(count);
    char *path = cli_format("%s/diff-%04zu.png", folder, frame);
    d4r_status status = D4R_ERROR_MEMORY;
    if (bytes && path) {
        for (size_t i = 0; i < count; i++)
            bytes[i] = difference_byte(ours->rgb[i], reference->rgb[i], c->options->gain);
        status = cli_png_write(path, ours->size, bytes, cli_log());
    }
    free(bytes);
    free(path);
    return status;
}

static d4r_status load_display(const cli_pictures *pictures, size_t index, bool ldr, cli_display *display)
{
    cli_image image;
    d4r_status status = cli_pictures_load(pictures, index, cli_log(), &image);
    if (status != D4R_OK) return status;
    status = cli_display_make(&image, ldr, cli_log(), display);
    cli_image_free(&image);
    return status;
}

/* The previous pair, for tPSNR. */
typedef struct previous {
    bool valid;
    size_t frame;
    cli_display ours, reference;
} previous;

static void forget(previous *before)
{
    cli_display_free(&before->ours);
    cli_display_free(&before->reference);
    before->valid = false;
}

static d4r_status compare_pair(comparison *c, size_t a, size_t b, const char *folder, previous *before)
{
    cli_display ours, reference = {0};
    size_t frame = c->pictures.frames[a];
    d4r_status status = load_display(&c->pictures, a, c->ldr, &ours);
    if (status != D4R_OK) return status;
    status = load_display(&c->references, b, c->ldr, &reference);
    if (status == D4R_OK &&
        (ours.size.width != reference.size.width || ours.size.height != reference.size.height))
        status = d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: %ux%u, but %s is %ux%u", c->pictures.files[a],
                          ours.size.width, ours.size.height, c->references.files[b], reference.size.width,
                          reference.size.height);
    if (status == D4R_OK) {
        bool follows = before->valid && before->frame + 1 == frame &&
                       before->ours.size.width == ours.size.width &&
                       before->ours.size.height == ours.size.height;
        c->scores[c->count++] = (score){
            frame, cli_psnr(&ours, &reference, NULL), cli_ssim(&ours, &reference),
            follows ? cli_tpsnr(&ours, &before->ours, &reference, &before->reference) : -1, ours.not_finite};
        if (folder) status = write_difference(c, folder, frame, &ours, &reference);
    }
    if (status == D4R_OK) {
        forget(before);
        *before = (previous){true, frame, ours, reference};
        return status;
    }
    cli_display_free(&ours);
    cli_display_free(&reference);
    return status;
}

static d4r_status compare_all(comparison *c, const char *folder)
{
    previous before = {0};
    d4r_status status = D4R_OK;
    c->scores = calloc(c->pictures.count ? c->pictures.count : 1, sizeof *c->scores);
    if (!c->scores) return d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory");
    for (size_t a = 0; status == D4R_OK && a < c->pictures.count && !cli_interrupted(); a++) {
        size_t b = 0;
        while (b < c->references.count && c->references.frames[b] != c->pictures.frames[a]) b++;
        if (b < c->references.count) status = compare_pair(c, a, b, folder, &before);
    }
    forget(&before);
    if (status == D4R_OK && !c->count)
        status = d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s and %s have no frame in common", c->pictures.source,
                          c->references.source);
    return status;
}

/* ---- results */

static score mean_score(const comparison *c, size_t *counted)
{
    uint32_t from = c->options->from_given ? c->options->from : c->pictures.count > 4 ? 4 : 0;
    score mean = {0};
    size_t pairs = 0;
    *counted = 0;
    for (size_t i = 0; i < c->count; i++) {
        const score *s = &c->scores[i];
        if (s->frame < from) continue;
        ++*counted;
        mean.psnr += s->psnr;
        mean.ssim += s->ssim;
        mean.not_finite += s->not_finite;
        if (s->tpsnr >= 0) mean.tpsnr += s->tpsnr, pairs++;
    }
    mean.psnr /= *counted ? (double)*counted : 1;
    mean.ssim /= *counted ? (double)*counted : 1;
    mean.tpsnr = pairs ? mean.tpsnr / (double)pairs : -1;
    return mean;
}

static void print_score(const char *label, const score *s)
{
    printf("%s  PSNR %.2f dB  SSIM %.4f", label, s->psnr, s->ssim);
    if (s->tpsnr >= 0) printf("  tPSNR %.2f dB", s->tpsnr);
    if (s->not_finite) printf("  %zu pixels not finite", s->not_finite);
    printf("\n");
}

static void print_scores(const comparison *c)
{
    char label[64];
    size_t counted;
    score mean = mean_score(c, &counted);
    for (size_t i = 0; i < c->count && !c->options->quiet; i++) {
        snprintf(label, sizeof label, "frame %zu", c->scores[i].frame);
        print_score(label, &c->scores[i]);
    }
    snprintf(label, sizeof label, "mean of %zu frames", counted);
    if (counted) print_score(label, &mean);
}

static cJSON *score_json(const score *s)
{
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddNumberToObject(entry, "psnr", s->psnr);
    cJSON_AddNumberToObject(entry, "ssim", s->ssim);
    if (s->tpsnr >= 0) cJSON_AddNumberToObject(entry, "tpsnr", s->tpsnr);
    cJSON_AddNumberToObject(entry, "not_finite", (double)s->not_finite);
    return entry;
}

static d4r_status write_json(const comparison *c)
{
    cJSON *root = cJSON_CreateObject();
    size_t counted;
    score mean = mean_score(c, &counted);
    cJSON_AddStringToObject(root, "tool", "d4r-compare");
    cJSON_AddStringToObject(root, "pictures", c->pictures.source);
    cJSON_AddStringToObject(root, "references", c->references.source);
    cJSON_AddStringToObject(root, "color", c->ldr ? "ldr" : "hdr");
    cJSON *summary = score_json(&mean);
    cJSON_AddNumberToObject(summary, "frames", (double)counted);
    cJSON_AddItemToObject(root, "mean", summary);
    cJSON *frames = cJSON_AddArrayToObject(root, "frames");
    for (size_t i = 0; i < c->count; i++) {
        cJSON *entry = score_json(&c->scores[i]);
        cJSON_AddNumberToObject(entry, "frame", (double)c->scores[i].frame);
        cJSON_AddItemToArray(frames, entry);
    }
    return json_save(root, c->options->json, cli_log());
}

static d4r_status check_from(const comparison *c)
{
    size_t counted;
    mean_score(c, &counted);
    if (counted) return D4R_OK;
    return d4r_fail(cli_log(), D4R_ERROR_INPUT, "--from %u: the last frame that was compared is %zu",
                    c->options->from, c->scores[c->count - 1].frame);
}

static int run(const settings *options, const char *pictures, const char *references)
{
    comparison c = {.options = options};
    cli_folder folder = {0};
    size_t counted = 0;
    d4r_status status = cli_pictures_open(pictures, cli_log(), &c.pictures);
    if (status == D4R_OK) status = cli_pictures_open(references, cli_log(), &c.references);
    if (options->ldr >= 0)
        c.ldr = options->ldr;
    else
        c.ldr = c.pictures.ldr_known ? c.pictures.ldr : c.references.ldr;
    if (status == D4R_OK && options->diff)
        status = cli_folder_begin(&folder, options->diff, options->force ? CLI_FOLDER_FORCE : CLI_FOLDER_NEW,
                                  cli_log());
    if (status == D4R_OK && options->json) status = cli_check_writable(options->json, cli_log());
    if (status == D4R_OK) status = compare_all(&c, options->diff ? folder.temporary : NULL);
    bool stopped = status == D4R_OK && cli_interrupted();
    if (status == D4R_OK && !stopped && options->from_given) status = check_from(&c);
    if (status == D4R_OK && !stopped && options->diff) status = cli_folder_commit(&folder, cli_log());
    if (status == D4R_OK && !stopped && options->json) status = write_json(&c);
    if (status == D4R_OK && !stopped) print_scores(&c);
    int code = stopped ? CLI_INTERRUPTED : cli_exit_code(status);
    if (stopped) d4r_log_print(cli_log(), D4R_LOG_WARNING, "interrupted; nothing was written");
    if (code == CLI_OK && mean_score(&c, &counted).psnr < options->min_psnr) code = 1;
    cli_folder_abandon(&folder);
    cli_pictures_free(&c.pictures);
    cli_pictures_free(&c.references);
    free(c.scores);
    return code;
}

static bool take_option(int option, const char *value, settings *options)
{
    switch (option) {
    case OPTION_COLOR:
        options->ldr = !strcmp(value, "ldr");
        if (options->ldr || !strcmp(value, "hdr")) return true;
        return cli_usage_error("--color: '%s' is neither hdr nor ldr", value), false;
    case OPTION_FROM:
        options->from_given = cli_parse_uint(value, 0, 1000000000, &options->from);
        if (options->from_given) return true;
        return cli_usage_error("--from: '%s' is not a frame number", value), false;
    case OPTION_DIFF:
        options->diff = value;
        return true;
    case OPTION_GAIN:
        if (cli_parse_number(value, &options->gain) && options->gain > 0) return true;
        return cli_usage_error("--gain: '%s' is not a positive number", value), false;
    case OPTION_FORCE:
        return options->force = true;
    case OPTION_MIN:
        if (cli_parse_number(value, &options->min_psnr)) return true;
        return cli_usage_error("--min-psnr: '%s' is not a number", value), false;
    case OPTION_JSON:
        options->json = value;
        return true;
    default:
        return options->quiet = true;
    }
}

int main(int count, char **arguments)
{
    settings options = {.ldr = -1, .gain = 4, .min_psnr = -1000};
    static const cli_conflict diff[] = {
        {"--gain", "no --diff", "only difference images have a gain"},
        {"--force", "no --diff", "only the folder of --diff can be in the way"}};
    int option, index = -1;
    cli_start("d4r-compare");
    opterr = 0;
    for (; (option = getopt_long(count, arguments, ":q", long_options, &index)) != -1; index = -1) {
        if (option == OPTION_HELP) return fputs(help_text, stdout) < 0;
        if (option == OPTION_VERSION) return printf("d4r-compare %s\n", d4r_version_string()) < 0;
        if (option == '?' || option == ':') return cli_option_error(option, arguments);
        if (index >= 0) cli_given_option(&long_options[index], optarg);
        if (!take_option(option, optarg, &options)) return CLI_USAGE;
    }
    if (count - optind != 2) return cli_usage_error("PICTURES and REFERENCES are needed");
    if (!options.diff) cli_given("no --diff");
    if (cli_check_conflicts(diff, 2) != CLI_OK) return CLI_USAGE;
    if (options.json && options.diff && cli_same_place(options.json, options.diff))
        return cli_usage_error("--json and --diff are both '%s': choose another name for one", options.diff);
    cli_catch_signals();
    return cli_finish(run(&options, arguments[optind], arguments[optind + 1]));
}
