/* A small game around d4r: a moving scene drawn by a shader at a resolution that changes by key, jittered, upscaled
 * through the game adapter (d4r_game.h), and shown beside the same input enlarged bilinearly. `interactive --help` has the
 * keys. gpu.c and gpu_draw.c hold the window and the drawing; this file holds what concerns d4r. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "d4r/d4r_game.h"
#include "gpu.h"
#include "present_spv.h"
#include "scene_spv.h"

static const char help[] =
    "Usage: interactive [options] MODEL\n"
    "Draws a moving scene at a low resolution and upscales it.\n"
    "\n"
    "  --size WxH         size of the window; default 640x360\n"
    "  --ratio X          window / render size at the start, 1 to 3; default 2\n"
    "  --network cpu|hip  who computes the network; default cpu\n"
    "  --frames N         stop after N frames; the scene's clock then advances by 1/30 s a frame\n"
    "  --screenshot FILE  the last frame as PNG\n"
    "  --keys F:K,...     press key K before frame F (up, down, left, right, or a letter)\n"
    "\n"
    "Keys: up, down: render resolution    S: split view on, off    left, right: move the split\n"
    "      space or P: pause the scene    R: reset the history     Esc or Q: quit\n"
    "\n"
    "Exit codes: 0 done, 2 usage, 3 no display or device, 4 bad model, 5 the file cannot be written, 6 "
    "device failure.\n";

#define RATIOS 9
static const float ratios[RATIOS] = {1.0f, 1.25f, 1.5f, 1.75f, 2.0f, 2.25f, 2.5f, 2.75f, 3.0f};

typedef struct options {
    const char *model, *screenshot, *keys;
    d4r_size size;
    bool hip;
    unsigned frames; /* 0: until the window is closed */
} options;

typedef struct app {
    options options;
    gpu gpu;
    gpu_image color, motion, depth, upscaled, shown;
    gpu_pass scene, present;
    d4r_model *model;
    d4r_network *network;
    d4r_game *game;
    unsigned ratio; /* index */
    int split;      /* x of the line in pixels; 0: whole picture */
    bool paused, reset, quit;
    double clock;         /* real time of the last frame */
    float time, before;   /* of the scene */
    unsigned frame, lost; /* frames so far; frames whose network failed */
    double frame_ms;
} app;

/* The shaders' push constants. */
typedef struct scene_push {
    int32_t render[2];
    float jitter[2], time, before;
} scene_push;
typedef struct present_push {
    int32_t render[2], output[2];
    float jitter[2];
    int32_t split;
} present_push;

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "d4r: %s\n", line);
}

/* ---- options and keys */

static void usage(const char *what)
{
    fprintf(stderr, "interactive: %s (--help lists the options)\n", what);
    exit(2);
}

static unsigned nearest_ratio(float wanted)
{
    unsigned best = 0;
    for (unsigned i = 1; i < RATIOS; i++)
        if ((ratios[i] - wanted) * (ratios[i] - wanted) < (ratios[best] - wanted) * (ratios[best] - wanted))
            best = i;
    return best;
}

static void set_option(app *a, const char *name, const char *value)
{
    options *o = &a->options;
    if (!value) usage("an option lacks its value");
    if (strcmp(name, "--size") == 0) {
        if (sscanf(value, "%ux%u", &o->size.width, &o->size.height) != 2 || o->size.width < 192 ||
            o->size.height < 192 || o->size.width > 7680 || o->size.height > 4320)
            usage("--size: WxH, 192x192 to 7680x4320");
    } else if (strcmp(name, "--ratio") == 0) {
        float ratio = (float)atof(value);
        if (!(ratio >= 1 && ratio <= 3)) usage("--ratio: 1 to 3");
        a->ratio = nearest_ratio(ratio);
    } else if (strcmp(name, "--network") == 0) {
        o->hip = strcmp(value, "hip") == 0;
        if (!o->hip && strcmp(value, "cpu") != 0) usage("--network: cpu or hip");
    } else if (strcmp(name, "--frames") == 0) {
        int frames = atoi(value);
        if (frames < 1) usage("--frames: at least 1");
        o->frames = (unsigned)frames;
    } else if (strcmp(name, "--screenshot") == 0) {
        o->screenshot = value;
    } else if (strcmp(name, "--keys") == 0) {
        o->keys = value;
    } else {
        usage("unknown option");
    }
}

static void parse_options(app *a, int argc, char **argv)
{
    a->options.size = (d4r_size){640, 360};
    a->ratio = nearest_ratio(2);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            exit(0);
        }
        if (strncmp(argv[i], "--", 2) == 0) {
            set_option(a, argv[i], argv[i + 1]);
            i++;
        } else if (a->options.model) {
            usage("one MODEL");
        } else {
            a->options.model = argv[i];
        }
    }
    if (!a->options.model) usage("MODEL is missing");
    if (a->options.screenshot && !a->options.frames) usage("--screenshot needs --frames");
    a->split = (int)a->options.size.width / 2;
}

static void press(app *a, int key)
{
    int width = (int)a->options.size.width;
    switch (key) {
    case GLFW_KEY_UP:
        a->ratio -= a->ratio > 0;
        break;
    case GLFW_KEY_DOWN:
        a->ratio += a->ratio + 1 < RATIOS;
        break;
    case GLFW_KEY_LEFT:
        a->split = a->split > width / 16 ? a->split - width / 16 : a->split;
        break;
    case GLFW_KEY_RIGHT:
        a->split = a->split < width - width / 16 ? a->split + width / 16 : a->split;
        break;
    case GLFW_KEY_S:
        a->split = a->split ? 0 : width / 2;
        break;
    case GLFW_KEY_SPACE:
    case GLFW_KEY_P:
        a->paused = !a->paused;
        break;
    case GLFW_KEY_R:
        a->reset = true;
        break;
    case GLFW_KEY_ESCAPE:
    case GLFW_KEY_Q:
        a->quit = true;
        break;
    default:
        break;
    }
}

static void on_key(GLFWwindow *window, int key, int code, int action, int mods)
{
    (void)code, (void)mods;
    if (action != GLFW_RELEASE) press(glfwGetWindowUserPointer(window), key);
}

/* The keys of --keys that are due before this frame. */
static void press_scripted(app *a)
{
    static const struct {
        const char *name;
        int key;
    } named[] = {
        {"up", GLFW_KEY_UP}, {"down", GLFW_KEY_DOWN}, {"left", GLFW_KEY_LEFT}, {"right", GLFW_KEY_RIGHT}};
    const char *at = a->options.keys;
    while (at && *at) {
        unsigned frame;
        char name[8];
        if (sscanf(at, "%u:%7[a-z]", &frame, name) != 2) usage("--keys: FRAME:KEY,...");
        int key = name[1] ? 0 : GLFW_KEY_A + name[0] - 'a';
        for (size_t i = 0; i < sizeof named / sizeof *named; i++)
            if (strcmp(name, named[i].name) == 0) key = named[i].key;
        if (key == 0) usage("--keys: up, down, left, right or a letter");
        if (frame == a->frame) press(a, key);
        at = strchr(at, ',');
        at += at != NULL;
    }
}

/* ---- d4r */

static void create_upscaler(app *a)
{
    const d4r_log *log = &a->gpu.log;
    d4r_status status = a->options.hip ? d4r_network_create_hip(a->model, NULL, log, &a->network)
                                       : d4r_network_create_cpu(a->model, NULL, log, &a->network);
    if (status != D4R_OK) gpu_fail(3, "no network");
    d4r_game_params params = d4r_game_params_default();
    params.engine.device = (d4r_vulkan_device){.get_instance_proc_addr = vkGetInstanceProcAddr,
                                               .instance = a->gpu.instance,
                                               .physical_device = a->gpu.physical,
                                               .device = a->gpu.device,
                                               .queue_family = a->gpu.family};
    params.engine.model = a->model;
    params.engine.network = a->network;
    params.engine.output = a->options.size;
    params.engine.max_render =
        a->options.size; /* the render size may then be anything up to that, in any frame */
    params.engine.output_format = a->upscaled.format;
    params.engine.log = *log;
    if (d4r_game_create(&params, &a->game) != D4R_OK) gpu_fail(6, "no upscaler");
}

static d4r_game_image game_image(const gpu_image *image)
{
    return (d4r_game_image){.image = image->image,
                            .view = image->view,
                            .format = image->format,
                            .usage = image->usage,
                            .layout = VK_IMAGE_LAYOUT_GENERAL,
                            .extent = image->size};
}

/* The scene in the top left `render` of its images, and d4r's two halves around the network. */
static void record(app *a, const gpu_slot *slot, uint32_t index, d4r_frame *frame)
{
    d4r_size output = a->options.size;
    d4r_size render = {(uint32_t)((float)output.width / ratios[a->ratio] + 0.5f),
                       (uint32_t)((float)output.height / ratios[a->ratio] + 0.5f)};
    d4r_frame_settings settings = d4r_frame_settings_default(render);
    settings.jitter = d4r_jitter(a->frame, d4r_jitter_phase_count(render, output));
    settings.reset = a->reset;
    a->reset = false;

    gpu_begin(slot->front);
    const gpu_image *drawn[3] = {&a->color, &a->motion, &a->depth};
    for (int i = 0; i < 3; i++)
        gpu_barrier(slot->front, drawn[i]->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    scene_push scene = {{(int32_t)render.width, (int32_t)render.height},
                        {settings.jitter.x, settings.jitter.y},
                        a->time,
                        a->before};
    gpu_pass_record(&a->scene, slot->front, render, &scene, sizeof scene);
    d4r_game_images images = {.color = game_image(&a->color),
                              .motion = game_image(&a->motion),
                              .depth = game_image(&a->depth),
                              .output = game_image(&a->upscaled)};
    images.output.layout = VK_IMAGE_LAYOUT_UNDEFINED; /* what it held is not needed */
    images.output.final_layout = VK_IMAGE_LAYOUT_GENERAL;
    gpu_check(d4r_game_record_front(a->game, slot->front, &images, &settings, frame),
              "d4r_game_record_front");

    gpu_begin(slot->back);
    gpu_check(d4r_game_record_back(a->game, slot->back, frame), "d4r_game_record_back");
    present_push present = {{(int32_t)render.width, (int32_t)render.height},
                            {(int32_t)output.width, (int32_t)output.height},
                            {settings.jitter.x, settings.jitter.y},
                            a->split};
    gpu_barrier(slot->back, a->shown.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    gpu_pass_record(&a->present, slot->back, output, &present, sizeof present);
    gpu_record_show(&a->gpu, slot->back, &a->shown, index);
}

/* A present may not wait for work that waits for a semaphore which the host has yet to signal; so the network comes
 * first. B is signalled in any case: a network that fails or hangs costs its picture, not the loop. */
static void finish(app *a, uint32_t index, const d4r_frame *frame)
{
    gpu_check(d4r_network_submit(frame), "d4r_network_submit");
    d4r_status status;
    while ((status = d4r_frame_status(frame)) == D4R_PENDING) glfwWaitEventsTimeout(0.0005);
    if (status != D4R_OK) a->lost++; /* the next frame resets by itself */
    gpu_present(&a->gpu, index);
}

static void draw_frame(app *a)
{
    gpu_slot *slot = &a->gpu.slots[a->frame % GPU_SLOTS];
    uint32_t index;
    d4r_frame frame;
    gpu_check(vkWaitForFences(a->gpu.device, 1, &slot->done, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    if (!gpu_acquire(&a->gpu, slot, &index)) return;
    gpu_check(vkResetFences(a->gpu.device, 1, &slot->done), "vkResetFences");
    record(a, slot, index, &frame);
    gpu_submit(&a->gpu, slot, index, &frame);
    finish(a, index, &frame);
    a->frame++;
}

/* ---- the loop */

static void advance(app *a)
{
    double now = glfwGetTime(), passed = now - a->clock;
    a->clock = now;
    a->frame_ms = a->frame_ms * 0.9 + passed * 100;
    a->before = a->time;
    if (a->paused) return;
    /* A slow machine sees a slow scene rather than one that jumps. */
    a->time += a->options.frames || passed > 1.0 / 30 ? 1.0f / 30 : (float)passed;
}

static void show_state(const app *a)
{
    char title[160];
    d4r_size size = a->options.size;
    snprintf(title, sizeof title, "d4r: %.0fx%.0f to %ux%u (%.2fx), frame %u, %.0f ms%s%s%s",
             (double)((float)size.width / ratios[a->ratio]), (double)((float)size.height / ratios[a->ratio]),
             size.width, size.height, (double)ratios[a->ratio], a->frame, a->frame_ms,
             a->split ? ", left: bilinear" : "", a->paused ? ", paused" : "",
             a->lost ? ", the network failed" : "");
    glfwSetWindowTitle(a->gpu.window, title);
    if (a->options.frames && a->frame == a->options.frames) printf("%s\n", title);
}

static void create_scene(app *a)
{
    const VkImageUsageFlags drawn = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT;
    const gpu *g = &a->gpu;
    d4r_size size = a->options.size;
    a->color = gpu_image_create(g, VK_FORMAT_R16G16B16A16_SFLOAT, size, drawn);
    a->motion = gpu_image_create(g, VK_FORMAT_R16G16B16A16_SFLOAT, size, drawn);
    a->depth = gpu_image_create(g, VK_FORMAT_R32_SFLOAT, size, drawn);
    a->upscaled = gpu_image_create(g, VK_FORMAT_R16G16B16A16_SFLOAT, size, drawn);
    a->shown = gpu_image_create(g, VK_FORMAT_R8G8B8A8_UNORM, size,
                                VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    const VkDescriptorType stored = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                           read = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    const VkDescriptorType scene_types[3] = {stored, stored, stored}, present_types[3] = {read, read, stored};
    const gpu_image *scene[3] = {&a->color, &a->motion, &a->depth};
    const gpu_image *present[3] = {&a->color, &a->upscaled, &a->shown};
    a->scene = gpu_pass_create(g, scene_spv, sizeof scene_spv, sizeof(scene_push), 3, scene_types, scene);
    a->present =
        gpu_pass_create(g, present_spv, sizeof present_spv, sizeof(present_push), 3, present_types, present);
}

static void destroy(app *a)
{
    vkDeviceWaitIdle(a->gpu.device);
    d4r_game_destroy(&a->game); /* before the images that it has seen, and before network and model */
    d4r_network_destroy(&a->network);
    d4r_model_destroy(&a->model);
    gpu_pass_destroy(&a->gpu, &a->scene);
    gpu_pass_destroy(&a->gpu, &a->present);
    gpu_image *images[5] = {&a->color, &a->motion, &a->depth, &a->upscaled, &a->shown};
    for (int i = 0; i < 5; i++) gpu_image_destroy(&a->gpu, images[i]);
    gpu_destroy(&a->gpu);
}

int main(int argc, char **argv)
{
    static app a;
    const d4r_log log = {.fn = on_log, .level = D4R_LOG_WARNING};
    parse_options(&a, argc, argv);
    press_scripted(&a); /* checks the text */
    if (d4r_model_load(a.options.model, &log, &a.model) != D4R_OK) return 4;
    gpu_create(&a.gpu, a.options.size, &log);
    create_scene(&a);
    create_upscaler(&a);
    glfwSetWindowUserPointer(a.gpu.window, &a);
    glfwSetKeyCallback(a.gpu.window, on_key);
    a.clock = glfwGetTime();
    while (!a.quit && !glfwWindowShouldClose(a.gpu.window) &&
           (!a.options.frames || a.frame < a.options.frames)) {
        glfwPollEvents();
        if (a.frame > 0) press_scripted(&a);
        advance(&a);
        draw_frame(&a);
        show_state(&a);
    }
    bool written = !a.options.screenshot || gpu_screenshot(&a.gpu, &a.shown, a.options.screenshot);
    if (!written) fprintf(stderr, "interactive: cannot write %s\n", a.options.screenshot);
    destroy(&a);
    return written ? 0 : 5;
}
