/* d4r-sheet: one picture that shows input, a spatial upscaler, ours and the reference. */
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/given.h"
#include "runtime/cli/picture.h"
#include "runtime/cli/resample.h"
#include "runtime/cli/sequence.h"
#include "runtime/cli/sheet.h"

static const char help_text[] =
    "Usage: d4r-sheet [options] FRAMES PICTURES OUT.png\n"
    "Draws a contact sheet of one frame: the input (nearest), a spatial upscaler, the upscaled picture and "
    "the\n"
    "reference side by side, whole and in enlarged crops, with PSNR and SSIM against the reference.\n"
    "\n"
    "  PICTURES    output folder of d4r-m for FRAMES\n"
    "\n"
    "  --frame N             default: the last picture that has a reference, else the last picture\n"
    "  --crop X,Y            left and top of a crop in output pixels; up to 6 times. Default: three places "
    "where\n"
    "                        the spatial upscaler differs most from the reference (or from ours without "
    "one)\n"
    "  --crops N             number of chosen crops, 0..6; default 3\n"
    "  --zoom N              enlargement of the crops, 1..16; default 6\n"
    "  --cell N              width of a cell, 160..1920; default 480\n"
    "  --filter bicubic|bilinear  the spatial upscaler; default bicubic (Catmull-Rom)\n"
    "  --title TEXT          default: the sequence's name\n"
    "  -q, --quiet           errors and warnings only\n";

static const char help_end[] =
    "\nExit codes: 0 done, 2 usage, 5 bad input or an unwritable output, 130 interrupted.\n"
    "OUT.png replaces a file of that name once it is complete.\n";

enum {
    OPTION_FRAME = 1,
    OPTION_CROP,
    OPTION_CROPS,
    OPTION_ZOOM,
    OPTION_CELL,
    OPTION_FILTER,
    OPTION_TITLE,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {{"frame", required_argument, NULL, OPTION_FRAME},
                                             {"crop", required_argument, NULL, OPTION_CROP},
                                             {"crops", required_argument, NULL, OPTION_CROPS},
                                             {"zoom", required_argument, NULL, OPTION_ZOOM},
                                             {"cell", required_argument, NULL, OPTION_CELL},
                                             {"filter", required_argument, NULL, OPTION_FILTER},
                                             {"title", required_argument, NULL, OPTION_TITLE},
                                             {"quiet", no_argument, NULL, 'q'},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {"version", no_argument, NULL, OPTION_VERSION},
                                             CLI_SEQUENCE_OPTIONS,
                                             {NULL, 0, NULL, 0}};

typedef struct sheet_options {
    const char *frames, *pictures, *out, *title;
    bool frame_given;
    uint32_t frame, crops, zoom, cell;
    unsigned given_crops;
    double crop[SHEET_MAX_CROPS][2];
    cli_filter filter;
    cli_sequence_options input;
} sheet_options;

/* ---- choosing the frame */

static d4r_status find_picture(const sheet_options *options, const cli_sequence *sequence,
                               const cli_pictures *pictures, size_t *index)
{
    bool found = false, with_reference = false;
    for (size_t i = 0; i < pictures->count; i++) {
        size_t frame = pictures->frames[i];
        if (frame >= sequence->frame_count || (options->frame_given && frame != options->frame)) continue;
        bool has = sequence->frames[frame].reference != NULL;
        if (with_reference && !has) continue;
        *index = i;
        found = true;
        with_reference = has;
    }
    if (found) return D4R_OK;
    if (options->frame_given)
        return d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: no picture of frame %u", pictures->source,
                        options->frame);
    return d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: no picture belongs to a frame of %s", pictures->source,
                    sequence->file);
}

/* ---- columns */

static d4r_status add_column(sheet *content, const char *title, cli_image *image, bool ldr)
{
    sheet_column *column = &content->columns[content->column_count];
    column->title = title;
    d4r_status status = cli_display_make(image, ldr, cli_log(), &column->picture);
    if (status == D4R_OK) content->column_count++;
    cli_image_free(image);
    return status;
}

static d4r_status add_upscaled(sheet *content, const cli_sequence *sequence, size_t frame,
                               const cli_image *color, cli_filter filter)
{
    static const char *const titles[] = {"Input", "Bilinear", "Bicubic"};
    cli_image image;
    d4r_status status = cli_upscale(color, sequence->frames[frame].settings.jitter, filter, sequence->output,
                                    cli_log(), &image);
    return status == D4R_OK ? add_column(content, titles[filter], &image, sequence->conventions.ldr) : status;
}

static d4r_status fill_columns(sheet *content, const sheet_options *options, const cli_sequence *sequence,
                               const cli_pictures *pictures, size_t index)
{
    size_t frame = pictures->frames[index];
    bool ldr = sequence->conventions.ldr;
    cli_planes planes;
    cli_image image;
    d4r_status status = cli_planes_load(sequence, frame, cli_log(), &planes);
    if (status != D4R_OK) return status;
    status = add_upscaled(content, sequence, frame, &planes.color, CLI_NEAREST);
    if (status == D4R_OK) status = add_upscaled(content, sequence, frame, &planes.color, options->filter);
    cli_planes_free(&planes);
    if (status == D4R_OK) status = cli_pictures_load(pictures, index, cli_log(), &image);
    if (status == D4R_OK &&
        (image.size.width != sequence->output.width || image.size.height != sequence->output.height)) {
        status = d4r_fail(cli_log(), D4R_ERROR_INPUT, "%s: %ux%u, but the output of %s is %ux%u",
                          pictures->files[index], image.size.width, image.size.height, sequence->file,
                          sequence->output.width, sequence->output.height);
        cli_image_free(&image);
    }
    if (status == D4R_OK) status = add_column(content, "d4r", &image, ldr);
    content->reference = -1;
    if (status == D4R_OK && sequence->frames[frame].reference) {
        status = cli_reference_load(sequence, frame, cli_log(), &image);
        if (status == D4R_OK) status = add_column(content, "Reference", &image, ldr);
        content->reference = 3;
    }
    return status;
}

/* ---- crops and text */

static d4r_status choose_crops(sheet *content, const sheet_options *options)
{
    int width, height;
    d4r_size size = content->columns[0].picture.size;
    sheet_crop_size(content, &width, &height);
    if (!options->given_crops)
        return sheet_pick_crops(content, 1, content->reference >= 0 ? 3 : 2, options->crops, cli_log());
    for (unsigned i = 0; i < options->given_crops; i++) {
        canvas_rect crop = {(int)options->crop[i][0], (int)options->crop[i][1], width, height};
        if (crop.x + width > (int)size.width || crop.y + height > (int)size.height)
            return d4r_fail(cli_log(), D4R_ERROR_INPUT,
                            "--crop %d,%d: %dx%d pixels from there leave the %ux%u picture", crop.x, crop.y,
                            width, height, size.width, size.height);
        content->crops[content->crop_count++] = crop;
    }
    return D4R_OK;
}

static void write_titles(sheet *content, const sheet_options *options, const cli_sequence *sequence,
                         size_t frame)
{
    d4r_size render = sequence->frames[frame].settings.render, output = sequence->output;
    snprintf(content->title, sizeof content->title, "%.150s",
             options->title ? options->title : sequence->name);
    snprintf(content->subtitle, sizeof content->subtitle,
             "frame %zu   render %ux%u -> output %ux%u   PSNR and SSIM against the reference, on %s%s", frame,
             render.width, render.height, output.width, output.height,
             sequence->conventions.ldr ? "display values" : "sRGB of v/(1+v)",
             options->given_crops || !content->crop_count
                 ? ""
                 : "   crops: where the spatial upscaler is furthest off");
}

static int draw(const sheet_options *options)
{
    cli_sequence sequence;
    cli_pictures pictures = {0};
    sheet content = {.cell_width = options->cell, .zoom = options->zoom, .reference = -1};
    canvas target = {0};
    size_t index = 0;
    d4r_status status = cli_check_writable(options->out, cli_log());
    if (status == D4R_OK) status = cli_sequence_load(options->frames, &options->input, cli_log(), &sequence);
    if (status != D4R_OK) return cli_exit_code(status);
    status = cli_pictures_open(options->pictures, cli_log(), &pictures);
    if (status == D4R_OK) status = cli_refuse_input(options->out, cli_log()); /* now that they are known */
    if (status == D4R_OK) status = find_picture(options, &sequence, &pictures, &index);
    if (status == D4R_OK) status = fill_columns(&content, options, &sequence, &pictures, index);
    if (status == D4R_OK) status = choose_crops(&content, options);
    if (status == D4R_OK) {
        write_titles(&content, options, &sequence, pictures.frames[index]);
        status = sheet_draw(&content, cli_log(), &target);
    }
    if (status == D4R_OK) {
        char *temporary = cli_temporary_file(options->out, cli_log());
        status = temporary ? cli_png_write(temporary, target.size, target.rgb, cli_log()) : D4R_ERROR_IO;
        if (status == D4R_OK && !cli_interrupted())
            status = cli_publish(temporary, options->out, cli_log());
        else
            cli_discard(temporary);
    }
    for (unsigned i = 0; i < content.column_count; i++) cli_display_free(&content.columns[i].picture);
    canvas_free(&target);
    cli_pictures_free(&pictures);
    cli_sequence_free(&sequence);
    return cli_interrupted() ? CLI_INTERRUPTED : cli_exit_code(status);
}

/* ---- command line */

static bool take_number(const char *option, const char *value, uint32_t low, uint32_t high, uint32_t *target)
{
    if (cli_parse_uint(value, low, high, target)) return true;
    return cli_usage_error("--%s: '%s' is not a number from %u to %u", option, value, low, high), false;
}

static bool take_crop(const char *value, sheet_options *options)
{
    if (options->given_crops == SHEET_MAX_CROPS) return cli_usage_error("--crop: at most 6"), false;
    double *crop = options->crop[options->given_crops++];
    if (strchr(value, ',') && cli_parse_pair(value, &crop[0], &crop[1]) && crop[0] >= 0 && crop[1] >= 0 &&
        crop[0] <= D4R_MAX_DIMENSION && crop[1] <= D4R_MAX_DIMENSION)
        return true;
    return cli_usage_error("--crop: '%s' is not X,Y", value), false;
}

static bool take_option(int option, const char *value, sheet_options *options)
{
    bool good = true;
    if (cli_sequence_option(option, value, &options->input, &good)) return good;
    switch (option) {
    case OPTION_FRAME:
        return options->frame_given = take_number("frame", value, 0, 1000000, &options->frame);
    case OPTION_CROP:
        return take_crop(value, options);
    case OPTION_CROPS:
        return take_number("crops", value, 0, SHEET_MAX_CROPS, &options->crops);
    case OPTION_ZOOM:
        return take_number("zoom", value, 1, 16, &options->zoom);
    case OPTION_CELL:
        return take_number("cell", value, 160, 1920, &options->cell);
    case OPTION_FILTER:
        options->filter = !strcmp(value, "bilinear") ? CLI_BILINEAR : CLI_BICUBIC;
        if (options->filter == CLI_BILINEAR || !strcmp(value, "bicubic")) return true;
        return cli_usage_error("--filter: '%s' is neither bicubic nor bilinear", value), false;
    case OPTION_TITLE:
        options->title = value;
        return true;
    default:
        cli_set_level(D4R_LOG_WARNING);
        return true;
    }
}

int main(int count, char **arguments)
{
    sheet_options options = {
        .crops = 3, .zoom = 6, .cell = 480, .filter = CLI_BICUBIC, .input = cli_sequence_options_default()};
    static const cli_conflict crops[] = {{"--crop", "--crops", "either the places or their number"}};
    int option, index = -1;
    cli_start("d4r-sheet");
    opterr = 0;
    for (; (option = getopt_long(count, arguments, ":q", long_options, &index)) != -1; index = -1) {
        if (option == OPTION_HELP) {
            fputs(help_text, stdout);
            fputs(cli_sequence_help, stdout);
            fputs(help_end, stdout);
            return CLI_OK;
        }
        if (option == OPTION_VERSION) {
            printf("d4r-sheet %s\n", d4r_version_string());
            return CLI_OK;
        }
        if (option == '?' || option == ':') return cli_option_error(option, arguments);
        if (index >= 0) cli_given_option(&long_options[index], optarg);
        if (!take_option(option, optarg, &options)) return CLI_USAGE;
    }
    if (count - optind != 3) return cli_usage_error("FRAMES, PICTURES and OUT.png are needed");
    options.frames = arguments[optind];
    options.pictures = arguments[optind + 1];
    options.out = arguments[optind + 2];
    if (cli_check_conflicts(crops, 1) != CLI_OK || cli_sequence_conflicts() != CLI_OK) return CLI_USAGE;
    cli_catch_signals();
    return cli_finish(draw(&options));
}
