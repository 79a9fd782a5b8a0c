/* A sequence of frames with its conventions, from frames.json or from an engine capture. */
#ifndef D4R_RUNTIME_CLI_SEQUENCE_H
#define D4R_RUNTIME_CLI_SEQUENCE_H

#include <getopt.h>
#include "runtime/cli/image.h"

typedef struct cli_frame {
    char *color, *motion, *depth; /* paths */
    char *exposure_file;          /* NULL: none */
    char *reference;              /* NULL: none */
    bool has_exposure;            /* settings.exposure was stated; else it is 1 */
    d4r_frame_settings settings;
} cli_frame;

typedef struct cli_sequence {
    char *file; /* the JSON file */
    char *name;
    d4r_size output;
    d4r_size max_render;
    d4r_conventions conventions;
    uint32_t color_bits, motion_bits, depth_bits, reference_bits, exposure_bits; /* of raw planes */
    bool capture;                                                                /* engine capture layout */
    d4r_vec2 uv_size; /* captures: vectors are multiplied by this when loaded, which gives render pixels */
    unsigned jitter_negated; /* bits 0, 1: x, y were negated by --jitter-sign */
    size_t frame_count, reference_count;
    cli_frame *frames;
} cli_sequence;

/* Overrides and choices from the command line. -1 or NULL: not given. */
typedef struct cli_sequence_options {
    int32_t sequence;  /* of a capture */
    const char *ratio; /* "2", "1_7": of a capture */
    bool motion_gt;    /* captures: display-resolution vectors */
    int ldr, depth_regular, motion_reversed, motion_flip_y, motion_at_output, motion_jittered, motion_unit,
        exposure_mode;
    bool has_jitter_sign, has_motion_scale, has_exposure, has_pre_exposure;
    d4r_vec2 jitter_sign, motion_scale;
    float exposure, pre_exposure;
} cli_sequence_options;

cli_sequence_options cli_sequence_options_default(void);

/* getopt_long entries of the options above; values from 1000 on. */
enum {
    CLI_OPTION_SEQUENCE = 1000,
    CLI_OPTION_RATIO,
    CLI_OPTION_MOTION_GT,
    CLI_OPTION_COLOR,
    CLI_OPTION_DEPTH,
    CLI_OPTION_MOTION_DIRECTION,
    CLI_OPTION_MOTION_Y,
    CLI_OPTION_MOTION_SIZE,
    CLI_OPTION_MOTION_JITTERED,
    CLI_OPTION_MOTION_UNIT,
    CLI_OPTION_MOTION_SCALE,
    CLI_OPTION_JITTER_SIGN,
    CLI_OPTION_EXPOSURE,
    CLI_OPTION_PRE_EXPOSURE
};
/* clang-format off */
#define CLI_SEQUENCE_OPTIONS \
    {"sequence", required_argument, NULL, CLI_OPTION_SEQUENCE}, \
    {"ratio", required_argument, NULL, CLI_OPTION_RATIO}, \
    {"motion-gt", no_argument, NULL, CLI_OPTION_MOTION_GT}, \
    {"color", required_argument, NULL, CLI_OPTION_COLOR}, \
    {"depth", required_argument, NULL, CLI_OPTION_DEPTH}, \
    {"motion-direction", required_argument, NULL, CLI_OPTION_MOTION_DIRECTION}, \
    {"motion-y", required_argument, NULL, CLI_OPTION_MOTION_Y}, \
    {"motion-size", required_argument, NULL, CLI_OPTION_MOTION_SIZE}, \
    {"motion-jittered", required_argument, NULL, CLI_OPTION_MOTION_JITTERED}, \
    {"motion-unit", required_argument, NULL, CLI_OPTION_MOTION_UNIT}, \
    {"motion-scale", required_argument, NULL, CLI_OPTION_MOTION_SCALE}, \
    {"jitter-sign", required_argument, NULL, CLI_OPTION_JITTER_SIGN}, \
    {"exposure", required_argument, NULL, CLI_OPTION_EXPOSURE}, \
    {"pre-exposure", required_argument, NULL, CLI_OPTION_PRE_EXPOSURE}
/* clang-format on */
extern const char cli_sequence_help[];
/* Handles one of the options; false for an unknown `option`. *good is false (and an error was logged) for a
 * bad value. */
bool cli_sequence_option(int option, const char *value, cli_sequence_options *options, bool *good);

/* CLI_OK, or the usage error of conventions that contradict each other (given.h). */
int cli_sequence_conflicts(void);

/* frames.json, a folder with one, or a capture folder. Checks every field and the sizes, not the planes. */
d4r_status cli_sequence_load(const char *path, const cli_sequence_options *options, const d4r_log *log,
                             cli_sequence *sequence);
void cli_sequence_free(cli_sequence *sequence);

/* The steps of cli_sequence_load. */
d4r_status cli_frames_json_parse(const char *file, const char *text, size_t size, const d4r_log *log,
                                 cli_sequence *sequence);
d4r_status cli_capture_load(const char *folder, const cli_sequence_options *options, const d4r_log *log,
                            cli_sequence *sequence);
/* Whether the folder holds a capture's NNNN.json. */
bool cli_capture_present(const char *folder);
/* Sizes, scales, jitter of every frame; fills max_render and reference_count. */
d4r_status cli_sequence_check(cli_sequence *sequence, const d4r_log *log);

typedef struct cli_planes {
    cli_image color, motion, depth, exposure;
} cli_planes;

/* Loads a frame's planes and checks them against the settings. */
d4r_status cli_planes_load(const cli_sequence *sequence, size_t index, const d4r_log *log,
                           cli_planes *planes);
void cli_planes_free(cli_planes *planes);
/* RGBA of output size; the frame must have a reference. */
d4r_status cli_reference_load(const cli_sequence *sequence, size_t index, const d4r_log *log,
                              cli_image *image);

#endif
