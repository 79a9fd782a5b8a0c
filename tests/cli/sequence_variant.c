/* sequence_variant KIND FRAMES OUT: writes a sequence again, in another file format or with one convention the
 * other way round, so that the same pictures must come out of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "runtime/cli/sequence.h"

typedef struct variant {
    const char *name;
    const char *suffix; /* of the planes */
    const char *fields; /* of frames.json */
    double sx, sy;      /* factors of the vectors */
    bool uv, output, ndc, jittered, at_output, regular, single;
} variant;

static const variant variants[] = {
    {"npy", "npy", "", 1, 1, .single = false},
    {"npy32", "npy", "", 1, 1, .single = true},
    {"exr", "exr", "", 1, 1, .single = false},
    {"reversed", "npy", "\"motion_direction\": \"from_previous\",", -1, -1, .single = false},
    {"flip_y", "npy", "\"motion_y\": \"up\",", 1, -1, .single = false},
    {"scaled", "npy", "\"motion_scale\": [4, 0.5],", 0.25, 2, .single = true},
    {"output_pixels", "npy", "\"motion_unit\": \"output_pixels\",", 1, 1, .output = true, .single = true},
    {"uv", "npy", "\"motion_unit\": \"uv\",", 1, 1, .uv = true, .single = true},
    {"ndc", "npy", "\"motion_unit\": \"ndc\",", 1, 1, .ndc = true, .single = true},
    {"jittered", "npy", "\"motion_jittered\": true,", 1, 1, .jittered = true, .single = true},
    {"at_output", "npy", "\"motion_size\": \"output\",", 1, 1, .at_output = true, .single = true},
    {"regular", "npy", "\"depth_inverted\": false,", 1, 1, .regular = true, .single = false},
};

static void change_vectors(const cli_sequence *s, size_t index, const variant *v, cli_image *motion)
{
    const d4r_frame_settings *now = &s->frames[index].settings,
                             *before = &s->frames[index ? index - 1 : 0].settings;
    double render[2] = {now->render.width, now->render.height},
           output[2] = {s->output.width, s->output.height};
    double jitter[2] = {(double)now->jitter.x - (double)before->jitter.x,
                        (double)now->jitter.y - (double)before->jitter.y};
    for (uint32_t y = 0; y < motion->size.height; y++)
        for (uint32_t x = 0; x < motion->size.width; x++)
            for (uint32_t c = 0; c < 2; c++) {
                double value = (double)cli_image_get(motion, x, y, c) * (c ? v->sy : v->sx);
                /* A jittered vector leads from a pixel of this frame's raster to the one of the previous frame. */
                if (v->jittered) value += jitter[c];
                if (v->output) value *= output[c] / render[c];
                if (v->uv) value /= render[c];
                if (v->ndc) value /= render[c] / 2;
                cli_image_set(motion, x, y, c, (float)value);
            }
}

/* Each render pixel's vector for all output pixels that it covers. */
static void enlarge(const cli_sequence *s, cli_image *motion)
{
    cli_image large;
    if (cli_image_create(&large, s->output, 2, motion->half, cli_log()) != D4R_OK) exit(1);
    for (uint32_t y = 0; y < s->output.height; y++)
        for (uint32_t x = 0; x < s->output.width; x++)
            for (uint32_t c = 0; c < 2; c++)
                cli_image_set(&large, x, y, c,
                              cli_image_get(motion, x * motion->size.width / s->output.width,
                                            y * motion->size.height / s->output.height, c));
    cli_image_free(motion);
    *motion = large;
}

static void save(const char *folder, const char *plane, size_t index, const char *suffix,
                 const cli_image *image, cli_kind kind)
{
    char *path = cli_format("%s/%s-%zu.%s", folder, plane, index, suffix);
    d4r_status status = !strcmp(suffix, "exr") ? cli_exr_write(path, image, kind, cli_log())
                                               : cli_npy_write_image(path, image, cli_log());
    if (status != D4R_OK) exit(1);
    free(path);
}

static void write_frame(const cli_sequence *s, size_t index, const variant *v, const char *folder)
{
    cli_planes planes;
    if (cli_planes_load(s, index, cli_log(), &planes) != D4R_OK) exit(1);
    if (v->single && (cli_image_convert(&planes.motion, false, cli_log()) != D4R_OK ||
                      cli_image_convert(&planes.color, false, cli_log()) != D4R_OK))
        exit(1);
    change_vectors(s, index, v, &planes.motion);
    if (v->at_output) enlarge(s, &planes.motion);
    for (uint32_t y = 0; v->regular && y < planes.depth.size.height; y++)
        for (uint32_t x = 0; x < planes.depth.size.width; x++)
            cli_image_set(&planes.depth, x, y, 0, 1 - cli_image_get(&planes.depth, x, y, 0));
    save(folder, "color", index, v->suffix, &planes.color, CLI_COLOR);
    save(folder, "motion", index, v->suffix, &planes.motion, CLI_MOTION);
    save(folder, "depth", index, v->suffix, &planes.depth, CLI_DEPTH);
    cli_planes_free(&planes);
}

int main(int count, char **arguments)
{
    cli_sequence s;
    cli_sequence_options options = cli_sequence_options_default();
    cli_start("sequence_variant");
    if (count != 4) return 2;
    const variant *v = variants, *end = variants + sizeof variants / sizeof *variants;
    while (v < end && strcmp(v->name, arguments[1])) v++;
    if (v == end || cli_sequence_load(arguments[2], &options, cli_log(), &s) != D4R_OK) return 1;
    mkdir(arguments[3], 0777);
    char *path = cli_format("%s/frames.json", arguments[3]);
    FILE *file = fopen(path, "w");
    if (!file) return 1;
    fprintf(file, "{\"name\": \"%s\", \"output\": [%u, %u], %s \"frames\": [\n", v->name, s.output.width,
            s.output.height, v->fields);
    for (size_t i = 0; i < s.frame_count; i++) {
        const d4r_frame_settings *f = &s.frames[i].settings;
        write_frame(&s, i, v, arguments[3]);
        fprintf(file,
                "%s{\"color\": \"color-%zu.%s\", \"motion\": \"motion-%zu.%s\", \"depth\": \"depth-%zu.%s\", "
                "\"render\": "
                "[%u, %u], \"jitter\": [%.9g, %.9g]}",
                i ? ",\n" : "", i, v->suffix, i, v->suffix, i, v->suffix, f->render.width, f->render.height,
                (double)f->jitter.x, (double)f->jitter.y);
    }
    fprintf(file, "]}\n");
    fclose(file);
    free(path);
    cli_sequence_free(&s);
    return 0;
}
