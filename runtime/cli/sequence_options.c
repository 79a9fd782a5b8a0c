#include <string.h>
#include "runtime/cli/given.h"
#include "runtime/cli/sequence.h"

const char cli_sequence_help[] =
    "Frames (docs/frames.md):\n"
    "  FRAMES is a frames.json, a folder that holds one, or a folder in the engine capture layout.\n"
    "  --sequence N              capture: the sequence, default the only one or 0\n"
    "  --ratio 2|1_7|1_5|...     capture: the folder x<ratio>, default the only one or 2\n"
    "  --motion-gt               capture: use the display-resolution vectors of motion_gt\n"
    "Conventions (each replaces what the frames' description says):\n"
    "  --color hdr|ldr           linear scene colour, or display-referred [0, 1] with gamma 2.2\n"
    "  --depth inverted|regular  near = 1, or near = 0\n"
    "  --motion-direction to-previous|from-previous\n"
    "                            previous = current + motion, or current = previous + motion\n"
    "  --motion-y down|up        direction of the stored y component\n"
    "  --motion-size render|output  size of the motion image\n"
    "  --motion-jittered yes|no  vectors contain the difference of the frames' jitter\n"
    "  --motion-unit render-pixels|output-pixels|uv|ndc\n"
    "  --motion-scale S or X,Y   multiplies the vectors; positive\n"
    "  --jitter-sign ++|+-|-+|-- multiplies the jitter's x and y by +1 or -1\n"
    "  --exposure auto|texture|VALUE  measured, from the frames' exposure files, or one value\n"
    "  --pre-exposure VALUE      what the colour was already multiplied by\n";

cli_sequence_options cli_sequence_options_default(void)
{
    return (cli_sequence_options){.sequence = -1,
                                  .ldr = -1,
                                  .depth_regular = -1,
                                  .motion_reversed = -1,
                                  .motion_flip_y = -1,
                                  .motion_at_output = -1,
                                  .motion_jittered = -1,
                                  .motion_unit = -1,
                                  .exposure_mode = -1};
}

static bool choose(const char *option, const char *value, const char *const *names, int *target)
{
    char list[128] = "";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(value, names[i])) {
            *target = i;
            return true;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    cli_usage_error("--%s: '%s' is none of %s", option, value, list);
    return false;
}

/* What a float holds well. */
static bool in_range(double value)
{
    return value >= 1e-30 && value <= 1e30;
}

static bool parse_exposure(const char *value, cli_sequence_options *options)
{
    double number;
    options->exposure_mode = D4R_EXPOSURE_AUTO;
    if (!strcmp(value, "auto")) return true;
    options->exposure_mode = D4R_EXPOSURE_TEXTURE;
    if (!strcmp(value, "texture")) return true;
    options->exposure_mode = D4R_EXPOSURE_SCALAR;
    if (!cli_parse_number(value, &number) || !in_range(number)) {
        cli_usage_error("--exposure: '%s' is neither auto, texture nor a positive number from 1e-30 to 1e30",
                        value);
        return false;
    }
    options->has_exposure = true;
    options->exposure = (float)number;
    return true;
}

static bool parse_jitter_sign(const char *value, cli_sequence_options *options)
{
    if (strlen(value) != 2 || strspn(value, "+-") != 2) {
        cli_usage_error("--jitter-sign: '%s' is none of ++, +-, -+, --", value);
        return false;
    }
    options->has_jitter_sign = true;
    options->jitter_sign = (d4r_vec2){value[0] == '-' ? -1 : 1, value[1] == '-' ? -1 : 1};
    return true;
}

static bool parse_positive(const char *option, const char *value, d4r_vec2 *target)
{
    double x, y;
    if (!cli_parse_pair(value, &x, &y) || !in_range(x) || !in_range(y)) {
        cli_usage_error("--%s: '%s' is not positive, or outside 1e-30 to 1e30", option, value);
        return false;
    }
    *target = (d4r_vec2){(float)x, (float)y};
    return true;
}

static bool parse_sequence(const char *value, cli_sequence_options *options)
{
    uint32_t number;
    if (!cli_parse_uint(value, 0, 999999, &number)) {
        cli_usage_error("--sequence: '%s' is not a number", value);
        return false;
    }
    options->sequence = (int32_t)number;
    return true;
}

static bool parse_ratio(const char *value, cli_sequence_options *options)
{
    options->ratio = value[0] == 'x' ? value + 1 : value;
    if (!options->ratio[0] || strspn(options->ratio, "0123456789_") != strlen(options->ratio)) {
        cli_usage_error("--ratio: '%s' is not of the form 2 or 1_7", value);
        return false;
    }
    return true;
}

bool cli_sequence_option(int option, const char *value, cli_sequence_options *options, bool *good)
{
    static const char *const colors[] = {"hdr", "ldr", NULL}, *const depths[] = {"inverted", "regular", NULL};
    static const char *const directions[] = {"to-previous", "from-previous", NULL}, *const ys[] = {
                                                                                        "down", "up", NULL};
    static const char *const sizes[] = {"render", "output", NULL}, *const answers[] = {"no", "yes", NULL};
    static const char *const units[] = {"render-pixels", "output-pixels", "uv", "ndc", NULL};
    d4r_vec2 pre;
    switch (option) {
    case CLI_OPTION_SEQUENCE:
        *good = parse_sequence(value, options);
        return true;
    case CLI_OPTION_RATIO:
        *good = parse_ratio(value, options);
        return true;
    case CLI_OPTION_MOTION_GT:
        options->motion_gt = *good = true;
        return true;
    case CLI_OPTION_COLOR:
        *good = choose("color", value, colors, &options->ldr);
        return true;
    case CLI_OPTION_DEPTH:
        *good = choose("depth", value, depths, &options->depth_regular);
        return true;
    case CLI_OPTION_MOTION_DIRECTION:
        *good = choose("motion-direction", value, directions, &options->motion_reversed);
        return true;
    case CLI_OPTION_MOTION_Y:
        *good = choose("motion-y", value, ys, &options->motion_flip_y);
        return true;
    case CLI_OPTION_MOTION_SIZE:
        *good = choose("motion-size", value, sizes, &options->motion_at_output);
        return true;
    case CLI_OPTION_MOTION_JITTERED:
        *good = choose("motion-jittered", value, answers, &options->motion_jittered);
        return true;
    case CLI_OPTION_MOTION_UNIT:
        *good = choose("motion-unit", value, units, &options->motion_unit);
        return true;
    case CLI_OPTION_MOTION_SCALE:
        *good = options->has_motion_scale = parse_positive("motion-scale", value, &options->motion_scale);
        return true;
    case CLI_OPTION_JITTER_SIGN:
        *good = parse_jitter_sign(value, options);
        return true;
    case CLI_OPTION_EXPOSURE:
        *good = parse_exposure(value, options);
        return true;
    case CLI_OPTION_PRE_EXPOSURE:
        if (strchr(value, ','))
            *good = (cli_usage_error("--pre-exposure: '%s' is not one number", value), false);
        else
            *good = options->has_pre_exposure = parse_positive("pre-exposure", value, &pre);
        options->pre_exposure = *good ? pre.x : 1;
        return true;
    default:
        return false;
    }
}

int cli_sequence_conflicts(void)
{
    static const cli_conflict table[] = {
        {"--motion-gt", "--motion-size=render", "motion_gt holds vectors of output size"}};
    return cli_check_conflicts(table, sizeof table / sizeof *table);
}
