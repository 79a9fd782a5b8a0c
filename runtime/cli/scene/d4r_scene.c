/* d4r-scene: renders small procedural sequences with exact depth and motion and supersampled references. */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/given.h"
#include "runtime/cli/scene/scene_gpu.h"

static const char help_text[] =
    "NAME\n"
    "    d4r-scene - render a procedural sequence to try an upscaler on\n"
    "\n"
    "SYNOPSIS\n"
    "    d4r-scene [options] OUT\n"
    "    d4r-scene --list | --help | --version\n"
    "\n"
    "DESCRIPTION\n"
    "    Writes the folder OUT with frames.json and raw planes, as d4r-m reads them:\n"
    "    color      RGBA16F, render size: one sample a pixel at the jittered centre, linear HDR, no filter\n"
    "    depth      R32F, render size: near / z (planar), 1 = near, sky 0; near = 0.1\n"
    "    motion     RG16F, render size: render pixels, previous position = current position + motion, for "
    "the surface\n"
    "               point of the sample, camera and object motion, sky included, jitter not included\n"
    "    reference  RGBA16F, output size: no jitter, box filter of one output pixel, linear average\n"
    "    jitter     Halton(2, 3) - 0.5, render pixels: the sample of pixel (x, y) lies at (x + 0.5 + jx, y + "
    "0.5 + jy)\n"
    "    x points right, y down. Frame 0 has motion too, towards a frame that is not delivered. The same "
    "options give the\n"
    "    same files on the same driver. Shadows, highlights and what lamps light move without vectors, as in "
    "games.\n"
    "\n"
    "OPTIONS\n"
    "    --scene NAME          street, gallery or chart (default street); --list describes them\n"
    "    --frames N            number of frames, 1 to 10000 (default 16)\n"
    "    --render WxH[,WxH]..  render size (default 320x180); several, up to 64: one frame each, in turn (a "
    "count that "
    "shares\n"
    "                          no factor with --jitter-phases shows every size every jitter)\n"
    "    --output WxH          output and reference size, at least the render size (default 640x360)\n"
    "    --samples N           samples a reference pixel, 1 to 4096 (default 64)\n"
    "    --reference-from N    first frame with a reference (default 0); --frames or more: none\n"
    "    --start SECONDS       time of frame 0 (default 0)\n"
    "    --fps X               frames a second (default 24)\n"
    "    --jitter-phases N     length of the jitter sequence; 0: no jitter (default 16)\n"
    "    --motion-bits 16|32   RG16F or RG32F vectors (default 16)\n"
    "    --seed N              varies details of the scene (default 1)\n"
    "    --device D            Vulkan device: an index or a part of its name (default: a GPU, else a CPU "
    "device)\n"
    "    --validate            with the Khronos validation layer; messages are errors\n"
    "    --force               replace files in an OUT that is not empty; others in it stay\n"
    "    --quiet               print nothing but warnings and errors\n"
    "\n"
    "    Progress is shown when standard error is a terminal. OUT is written under a temporary name and "
    "renamed:\n"
    "    it appears complete or not at all.\n"
    "\n"
    "EXIT STATUS\n"
    "    0 success, 2 usage, 3 no suitable Vulkan device, 5 OUT cannot be written, 6 the device failed, 130 "
    "interrupted\n"
    "\n"
    "EXAMPLES\n"
    "    d4r-scene --scene gallery --frames 24 --reference-from 20 gallery && d4r-m MODEL "
    "gallery/frames.json out\n";

static const struct {
    const char *name;
    scene_function *build;
    bool still;
    const char *text;
} scenes[] = {
    {"street", scene_street, false,
     "a street before sunset: bricks, cobbles, tram wires, fences, festoon lights, a tram, a turning sign "
     "and wheel"},
    {"gallery", scene_gallery, false,
     "a hall under a glass roof: marble, pictures near the pixel pitch, a turning armillary sphere, a "
     "pendulum"},
    {"chart", scene_chart, true,
     "a test chart that stands still: rings, star, print, checkers, hair lines, bright dots"},
};
#define SCENE_COUNT (sizeof scenes / sizeof scenes[0])

#define MAX_RENDER_SIZES 64

struct options {
    size_t scene;
    uint32_t frames, samples, reference_from, phases, motion_bits, seed, render_count;
    d4r_size render[MAX_RENDER_SIZES]; /* frame i has the size i % render_count */
    d4r_size output;
    double start, fps;
    const char *device, *out;
    bool validate, quiet, force;
};

struct job {
    struct options options;
    scene_gpu gpu;
    scene *content;
    cli_folder folder;
    uint32_t frame;
    double started;
};

static bool show_progress(void *user, double done)
{
    struct job *job = user;
    cli_progress("%s: frame %u of %u, %3.0f %%", scenes[job->options.scene].name, job->frame + 1,
                 job->options.frames, 100 * done);
    return !cli_interrupted();
}

static d4r_status write_plane(struct job *job, const char *kind, uint32_t frame, int buffer, size_t size)
{
    char *path = cli_format("%s/%s-%04u.bin", job->folder.temporary, kind, frame);
    if (!path) return d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory");
    d4r_status status = cli_write_file(path, job->gpu.buffers[buffer].map, size, cli_log());
    free(path);
    return status;
}

static double seconds_of(const struct options *o, uint32_t frame)
{
    return o->start + frame / o->fps;
}

static d4r_size render_of(const struct options *o, uint32_t frame)
{
    return o->render[frame % o->render_count];
}

static bool has_reference(const struct options *o, uint32_t frame)
{
    return frame >= o->reference_from;
}

/* A scene that stands still has one reference for all frames. */
static uint32_t reference_file(const struct options *o, uint32_t frame)
{
    return scenes[o->scene].still ? o->reference_from : frame;
}

static d4r_status render_frame(struct job *job)
{
    const struct options *o = &job->options;
    d4r_size render = render_of(o, job->frame);
    size_t pixels = (size_t)render.width * render.height, big = (size_t)o->output.width * o->output.height;
    scene_begin(job->content, o->seed);
    scenes[o->scene].build(job->content, seconds_of(o, job->frame), 1 / o->fps, o->output);
    if (job->content->full)
        return d4r_fail(cli_log(), D4R_ERROR_STATE, "scene %s is too large", scenes[o->scene].name);
    scene_pass pass = {.size = render,
                       .jitter = d4r_jitter(job->frame, o->phases),
                       .wide_motion = o->motion_bits == 32,
                       .progress = show_progress,
                       .user = job};
    d4r_status status = scene_gpu_render(&job->gpu, job->content, &pass);
    if (status == D4R_OK) status = write_plane(job, "color", job->frame, SCENE_COLOR, pixels * 8);
    if (status == D4R_OK) status = write_plane(job, "depth", job->frame, SCENE_DEPTH, pixels * 4);
    if (status == D4R_OK)
        status = write_plane(job, "motion", job->frame, SCENE_MOTION, pixels * o->motion_bits / 8 * 2);
    if (status != D4R_OK || !has_reference(o, job->frame) || reference_file(o, job->frame) != job->frame)
        return status;
    pass.size = o->output;
    pass.jitter = (d4r_vec2){0, 0};
    pass.samples = o->samples;
    status = scene_gpu_render(&job->gpu, job->content, &pass);
    if (status == D4R_OK) status = write_plane(job, "reference", job->frame, SCENE_COLOR, big * 8);
    return status;
}

static void print_camera(FILE *f, const scene_camera *c)
{
    fprintf(f, "   \"camera\": {\"fov_x_deg\": %.9g, \"camera_to_world\": [",
            2 * atan(c->right[3]) * 180 / 3.14159265358979);
    for (int i = 0; i < 3; i++)
        fprintf(f, "[%.9g, %.9g, %.9g, %.9g], ", (double)c->right[i], (double)c->up[i],
                -(double)c->forward[i], (double)c->position[i]);
    fputs("[0, 0, 0, 1]]}}", f);
}

static void print_frame(FILE *f, struct job *job, uint32_t frame)
{
    const struct options *o = &job->options;
    d4r_vec2 jitter = d4r_jitter(frame, o->phases);
    d4r_size render = render_of(o, frame);
    scene_begin(job->content, o->seed);
    scenes[o->scene].build(job->content, seconds_of(o, frame), 1 / o->fps, o->output);
    fprintf(
        f,
        "  {\"color\": \"color-%04u.bin\", \"motion\": \"motion-%04u.bin\", \"depth\": \"depth-%04u.bin\",\n",
        frame, frame, frame);
    if (has_reference(o, frame))
        fprintf(f, "   \"reference\": \"reference-%04u.bin\",", reference_file(o, frame));
    else
        fputs("   \"reference\": null,", f);
    fprintf(f, " \"render\": [%u, %u], \"jitter\": [%.9g, %.9g],\n", render.width, render.height,
            (double)jitter.x, (double)jitter.y);
    print_camera(f, &job->content->frame.now);
}

static d4r_status write_json(struct job *job)
{
    const struct options *o = &job->options;
    char *text = NULL, *path = cli_format("%s/frames.json", job->folder.temporary);
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f || !path) {
        if (f) fclose(f);
        free(text);
        free(path);
        return d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory for frames.json");
    }
    fprintf(f, "{\n \"name\": \"%s\", \"output\": [%u, %u],\n", scenes[o->scene].name, o->output.width,
            o->output.height);
    if (o->motion_bits == 32) fputs(" \"bits\": {\"motion\": 32},\n", f);
    fputs(" \"depth_inverted\": true, \"near\": 0.1, \"depth\": \"near/z, 0 = sky\",\n"
          " \"motion\": \"render pixels, previous = current + motion, x right, y down, jitter excluded\",\n"
          " \"jitter\": \"sample position of pixel (x,y) in the unjittered image is (x+0.5+jx, y+0.5+jy), y "
          "down\",\n"
          " \"frames\": [\n",
          f);
    for (uint32_t i = 0; i < o->frames; i++) {
        print_frame(f, job, i);
        fputs(i + 1 < o->frames ? ",\n" : "\n", f);
    }
    fputs(" ]\n}\n", f);
    d4r_status status = fclose(f) ? d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory for frames.json")
                                  : cli_write_file(path, text, size, cli_log());
    free(text);
    free(path);
    return status;
}

static d4r_status render_all(struct job *job)
{
    d4r_status status = D4R_OK;
    for (job->frame = 0; job->frame < job->options.frames && status == D4R_OK; job->frame++)
        status = render_frame(job);
    cli_progress(NULL);
    if (status == D4R_OK) status = write_json(job);
    if (status == D4R_OK && job->gpu.device.validation_messages)
        status = d4r_fail(cli_log(), D4R_ERROR_DEVICE, "the validation layer reported %u messages",
                          job->gpu.device.validation_messages);
    if (status == D4R_OK) status = cli_folder_commit(&job->folder, cli_log());
    return status;
}

static void print_summary(const struct job *job)
{
    const struct options *o = &job->options;
    char out[4200], device[1100];
    cli_escape(o->out, out, sizeof out);
    cli_escape(job->gpu.device.vk.properties.deviceName, device, sizeof device);
    printf("%s: %u frames %ux%u", out, o->frames, o->render[0].width, o->render[0].height);
    if (o->render_count > 1) printf(" and %u more sizes in turn", o->render_count - 1);
    printf(", references %ux%u, %.1f s on %s\n", o->output.width, o->output.height, cli_now() - job->started,
           device);
}

static int run(const struct options *options)
{
    struct job job = {.options = *options, .started = cli_now()};
    cli_catch_signals();
    d4r_status status = cli_folder_begin(&job.folder, options->out,
                                         options->force ? CLI_FOLDER_FORCE : CLI_FOLDER_NEW, cli_log());
    if (status != D4R_OK) return cli_exit_code(status);
    job.content = malloc(sizeof *job.content);
    cli_busy_begin("compiling the shaders, which takes long the first time");
    status = job.content ? scene_gpu_create(options->device, options->validate, cli_log(), &job.gpu)
                         : d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory for the scene");
    cli_busy_end();
    if (status == D4R_OK) status = render_all(&job);
    if (status == D4R_OK && !options->quiet) print_summary(&job);
    cli_folder_abandon(&job.folder);
    scene_gpu_destroy(&job.gpu);
    free(job.content);
    if (status == D4R_PENDING) {
        d4r_log_print(cli_log(), D4R_LOG_WARNING, "interrupted; nothing was written");
        return CLI_INTERRUPTED;
    }
    return cli_exit_code(status);
}

/* ---- command line ---- */

enum {
    OPT_SCENE = 256,
    OPT_FRAMES,
    OPT_RENDER,
    OPT_OUTPUT,
    OPT_SAMPLES,
    OPT_REFERENCE_FROM,
    OPT_START,
    OPT_FPS,
    OPT_PHASES,
    OPT_MOTION_BITS,
    OPT_SEED,
    OPT_DEVICE,
    OPT_VALIDATE,
    OPT_QUIET,
    OPT_FORCE,
    OPT_LIST,
    OPT_HELP,
    OPT_VERSION
};

static const struct option option_table[] = {{"scene", required_argument, NULL, OPT_SCENE},
                                             {"frames", required_argument, NULL, OPT_FRAMES},
                                             {"render", required_argument, NULL, OPT_RENDER},
                                             {"output", required_argument, NULL, OPT_OUTPUT},
                                             {"samples", required_argument, NULL, OPT_SAMPLES},
                                             {"reference-from", required_argument, NULL, OPT_REFERENCE_FROM},
                                             {"start", required_argument, NULL, OPT_START},
                                             {"fps", required_argument, NULL, OPT_FPS},
                                             {"jitter-phases", required_argument, NULL, OPT_PHASES},
                                             {"motion-bits", required_argument, NULL, OPT_MOTION_BITS},
                                             {"seed", required_argument, NULL, OPT_SEED},
                                             {"device", required_argument, NULL, OPT_DEVICE},
                                             {"validate", no_argument, NULL, OPT_VALIDATE},
                                             {"quiet", no_argument, NULL, OPT_QUIET},
                                             {"force", no_argument, NULL, OPT_FORCE},
                                             {"list", no_argument, NULL, OPT_LIST},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {"version", no_argument, NULL, OPT_VERSION},
                                             {NULL, 0, NULL, 0}};

/* The WIDTHxHEIGHT that `text` begins with for `length` characters. */
static bool parse_size(const char *text, size_t length, d4r_size *size)
{
    char copy[32], *x;
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    x = strchr(copy, 'x');
    if (!x) return false;
    *x = 0;
    return cli_parse_uint(copy, D4R_MIN_DIMENSION, D4R_MAX_DIMENSION, &size->width) &&
           cli_parse_uint(x + 1, D4R_MIN_DIMENSION, D4R_MAX_DIMENSION, &size->height);
}

static bool parse_sizes(const char *text, struct options *o)
{
    for (o->render_count = 0; o->render_count < MAX_RENDER_SIZES; text++) {
        size_t length = strcspn(text, ",");
        if (!parse_size(text, length, &o->render[o->render_count++])) return false;
        text += length;
        if (!*text) return true;
    }
    return false;
}

static bool parse_scene(const char *text, size_t *index)
{
    for (*index = 0; *index < SCENE_COUNT; ++*index)
        if (!strcmp(text, scenes[*index].name)) return true;
    return false;
}

static bool apply_option(struct options *o, int option, const char *value)
{
    switch (option) {
    case OPT_SCENE:
        return parse_scene(value, &o->scene);
    case OPT_FRAMES:
        return cli_parse_uint(value, 1, 10000, &o->frames);
    case OPT_RENDER:
        return parse_sizes(value, o);
    case OPT_OUTPUT:
        return parse_size(value, strlen(value), &o->output);
    case OPT_SAMPLES:
        return cli_parse_uint(value, 1, 4096, &o->samples);
    case OPT_REFERENCE_FROM:
        return cli_parse_uint(value, 0, UINT32_MAX, &o->reference_from);
    case OPT_START:
        return cli_parse_number(value, &o->start) && fabs(o->start) <= 1000;
    case OPT_FPS:
        return cli_parse_number(value, &o->fps) && o->fps >= 1 && o->fps <= 1000;
    case OPT_PHASES:
        return cli_parse_uint(value, 0, 4096, &o->phases);
    case OPT_MOTION_BITS:
        return cli_parse_uint(value, 16, 32, &o->motion_bits) &&
               (o->motion_bits == 16 || o->motion_bits == 32);
    case OPT_SEED:
        return cli_parse_uint(value, 0, UINT32_MAX, &o->seed);
    case OPT_DEVICE:
        o->device = value;
        return true;
    case OPT_VALIDATE:
        o->validate = true;
        return true;
    case OPT_FORCE:
        o->force = true;
        return true;
    default:
        o->quiet = true;
        return true;
    }
}

/* What apply_option takes. */
static const char *allowed(int option)
{
    static const char *const texts[] = {
        [OPT_SCENE - OPT_SCENE] = "a scene: street, gallery or chart",
        [OPT_FRAMES - OPT_SCENE] = "a number from 1 to 10000",
        [OPT_RENDER - OPT_SCENE] = "WIDTHxHEIGHT, 64 to 16384 each, or up to 64 of them with commas between",
        [OPT_OUTPUT - OPT_SCENE] = "WIDTHxHEIGHT, 64 to 16384 each",
        [OPT_SAMPLES - OPT_SCENE] = "a number from 1 to 4096",
        [OPT_REFERENCE_FROM - OPT_SCENE] = "a frame number",
        [OPT_START - OPT_SCENE] = "a number of seconds from -1000 to 1000",
        [OPT_FPS - OPT_SCENE] = "a number from 1 to 1000",
        [OPT_PHASES - OPT_SCENE] = "a number from 0 to 4096",
        [OPT_MOTION_BITS - OPT_SCENE] = "16 or 32",
        [OPT_SEED - OPT_SCENE] = "a whole number from 0 to 4294967295",
    };
    return texts[option - OPT_SCENE];
}

static int print_information(int option)
{
    if (option == OPT_HELP) fputs(help_text, stdout);
    if (option == OPT_VERSION)
        printf("d4r-scene %d.%d.%d\n", D4R_VERSION_MAJOR, D4R_VERSION_MINOR, D4R_VERSION_PATCH);
    for (size_t i = 0; option == OPT_LIST && i < SCENE_COUNT; i++)
        printf("%-8s  %s\n", scenes[i].name, scenes[i].text);
    return cli_finish(CLI_OK);
}

int main(int argc, char **argv)
{
    struct options o = {.frames = 16,
                        .samples = 64,
                        .phases = 16,
                        .motion_bits = 16,
                        .seed = 1,
                        .render = {{320, 180}},
                        .render_count = 1,
                        .output = {640, 360},
                        .fps = 24};
    int option, index = 0;
    cli_start("d4r-scene");
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":h", option_table, &index)) != -1) {
        if (option == 'h') option = OPT_HELP;
        if (option == ':' || option == '?') return cli_option_error(option, argv);
        if (option >= OPT_LIST) return print_information(option);
        if (!apply_option(&o, option, optarg))
            return cli_usage_error("--%s: '%s' is not %s", option_table[index].name, optarg, allowed(option));
    }
    if (argc - optind != 1) return cli_usage_error("one output folder is needed");
    for (uint32_t i = 0; i < o.render_count; i++)
        if (o.render[i].width > o.output.width || o.render[i].height > o.output.height)
            return cli_usage_error("--render %ux%u is larger than --output %ux%u", o.render[i].width,
                                   o.render[i].height, o.output.width, o.output.height);
    if (o.quiet) cli_set_level(D4R_LOG_WARNING);
    o.out = argv[optind];
    return cli_finish(run(&o));
}
