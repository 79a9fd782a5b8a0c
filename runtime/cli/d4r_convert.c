/* d4r-convert: a frame sequence into the engine capture layout. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/capture_write.h"
#include "runtime/cli/given.h"

static const char help_text[] =
    "Usage: d4r-convert [options] FRAMES OUT\n"
    "Writes a frame sequence in the capture layout of engine plugins (docs/frames.md): one OpenEXR file a "
    "channel\n"
    "and frame, one JSON a sequence; vectors in UV units, previous = current + motion, y down.\n"
    "\n"
    "  --motion-type f32|f16     how vectors are stored; default f32 (the layout's own is f16)\n"
    "  --as-sequence N           number of the sequence that is written; default 0\n"
    "  --no-references           do not write ground_truth\n"
    "  --force                   replace that sequence when OUT holds it already; other sequences always "
    "stay\n"
    "  -q, --quiet               errors and warnings only\n";

static const char help_end[] =
    "\nExit codes: 0 done, 2 usage, 5 bad input or an unwritable output, 130 interrupted.\n";

enum { OPTION_TYPE = 1, OPTION_AS, OPTION_NO_REFERENCES, OPTION_FORCE, OPTION_HELP, OPTION_VERSION };

static const struct option long_options[] = {{"motion-type", required_argument, NULL, OPTION_TYPE},
                                             {"as-sequence", required_argument, NULL, OPTION_AS},
                                             {"no-references", no_argument, NULL, OPTION_NO_REFERENCES},
                                             {"force", no_argument, NULL, OPTION_FORCE},
                                             {"quiet", no_argument, NULL, 'q'},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {"version", no_argument, NULL, OPTION_VERSION},
                                             CLI_SEQUENCE_OPTIONS,
                                             {NULL, 0, NULL, 0}};

static bool take_option(int option, const char *value, cli_capture_options *options,
                        cli_sequence_options *input)
{
    bool good = true;
    if (cli_sequence_option(option, value, input, &good)) return good;
    switch (option) {
    case OPTION_TYPE:
        options->motion_half = !strcmp(value, "f16");
        if (options->motion_half || !strcmp(value, "f32")) return true;
        return cli_usage_error("--motion-type: '%s' is neither f32 nor f16", value), false;
    case OPTION_AS:
        if (cli_parse_uint(value, 0, 9999, &options->sequence)) return true;
        return cli_usage_error("--as-sequence: '%s' is not a number from 0 to 9999", value), false;
    case OPTION_FORCE:
        options->force = true;
        return true;
    case OPTION_NO_REFERENCES:
        options->references = false;
        return true;
    default:
        cli_set_level(D4R_LOG_WARNING);
        return true;
    }
}

/* The planes of one channel of the sequence that is replaced go, unless new ones take their places. */
static d4r_status mark_channel(cli_folder *folder, const char *channel, uint32_t sequence)
{
    d4r_status status = D4R_OK;
    char *path = cli_format("%s/%s/%04u", folder->path, channel, sequence);
    DIR *listing = path ? opendir(path) : NULL;
    for (struct dirent *entry; status == D4R_OK && listing && (entry = readdir(listing));) {
        if (!cli_ends_with(entry->d_name, ".exr")) continue;
        char *full = cli_format("%s/%s", path, entry->d_name);
        char *name = cli_format("%s/%04u/%s", channel, sequence, entry->d_name);
        status = full && name ? cli_refuse_input(full, cli_log()) : D4R_ERROR_MEMORY;
        if (status == D4R_OK) status = cli_folder_stale(folder, name, cli_log());
        free(full);
        free(name);
    }
    if (listing) closedir(listing);
    free(path);
    return status;
}

/* A sequence that is replaced leaves nothing that its new description would be read with: not more frames, and no
 * channels of another ratio. */
static d4r_status mark_stale(cli_folder *folder, uint32_t sequence)
{
    static const char *const channels[] = {"color", "depth", "motion"};
    d4r_status status = mark_channel(folder, "motion_gt", sequence);
    if (status == D4R_OK) status = mark_channel(folder, "ground_truth", sequence);
    DIR *listing = opendir(folder->path);
    for (struct dirent *entry; status == D4R_OK && listing && (entry = readdir(listing));) {
        const char *name = entry->d_name;
        if (name[0] != 'x' || !name[1] || strspn(name + 1, "0123456789_") != strlen(name + 1)) continue;
        for (int i = 0; status == D4R_OK && i < 3; i++) {
            char *channel = cli_format("%s/%s", name, channels[i]);
            status = channel ? mark_channel(folder, channel, sequence) : D4R_ERROR_MEMORY;
            free(channel);
        }
    }
    if (listing) closedir(listing);
    return status;
}

static int convert(const char *frames, const char *out, const cli_sequence_options *input,
                   const cli_capture_options *options)
{
    cli_sequence sequence;
    cli_folder folder;
    d4r_status status = cli_sequence_load(frames, input, cli_log(), &sequence);
    if (status != D4R_OK) return cli_exit_code(status);
    status = cli_folder_begin(&folder, out, options->force ? CLI_FOLDER_FORCE : CLI_FOLDER_MERGE, cli_log());
    if (status == D4R_OK) {
        char name[16];
        snprintf(name, sizeof name, "%04u.json", options->sequence);
        status = cli_folder_check(&folder, name, cli_log());
        if (status == D4R_OK && options->force) status = mark_stale(&folder, options->sequence);
        if (status == D4R_OK) status = cli_capture_write(&sequence, options, folder.temporary, cli_log());
        if (status == D4R_OK && !cli_interrupted()) status = cli_folder_commit(&folder, cli_log());
        cli_folder_abandon(&folder);
    }
    cli_sequence_free(&sequence);
    return cli_interrupted() ? CLI_INTERRUPTED : cli_exit_code(status);
}

int main(int count, char **arguments)
{
    cli_capture_options options = {.references = true};
    cli_sequence_options input = cli_sequence_options_default();
    int option;
    int index = -1;
    cli_start("d4r-convert");
    opterr = 0;
    for (; (option = getopt_long(count, arguments, ":q", long_options, &index)) != -1; index = -1) {
        if (option == OPTION_HELP) {
            fputs(help_text, stdout);
            fputs(cli_sequence_help, stdout);
            fputs(help_end, stdout);
            return CLI_OK;
        }
        if (option == OPTION_VERSION) {
            printf("d4r-convert %s\n", d4r_version_string());
            return CLI_OK;
        }
        if (option == '?' || option == ':') return cli_option_error(option, arguments);
        if (index >= 0) cli_given_option(&long_options[index], optarg);
        if (!take_option(option, optarg, &options, &input)) return CLI_USAGE;
    }
    if (count - optind != 2) return cli_usage_error("FRAMES and OUT are needed");
    if (cli_sequence_conflicts() != CLI_OK) return CLI_USAGE;
    cli_catch_signals();
    return cli_finish(convert(arguments[optind], arguments[optind + 1], &input, &options));
}
