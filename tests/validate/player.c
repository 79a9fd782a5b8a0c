#include "tests/validate/player.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interop/timeline.h"

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "player: %s\n", what);
    exit(1);
}

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    must(copy != NULL, "out of memory");
    memcpy(copy, data, bytes);
    return copy;
}

/* ---- lists ---- */

static float *plane_of(const cli_image *image)
{
    size_t count = (size_t)image->size.width * image->size.height * image->channels, n = 0;
    float *plane = malloc(count * sizeof *plane);
    must(plane != NULL, "out of memory");
    for (uint32_t y = 0; y < image->size.height; y++)
        for (uint32_t x = 0; x < image->size.width; x++)
            for (uint32_t c = 0; c < image->channels; c++) plane[n++] = cli_image_get(image, x, y, c);
    return plane;
}

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (level <= D4R_LOG_WARNING && getenv("D4R_TEST_VERBOSE")) fprintf(stderr, "%s\n", line);
}

bool play_load(const char *path, size_t limit, play_list *list)
{
    const d4r_log log = {on_log, NULL, D4R_LOG_WARNING};
    cli_sequence_options options = cli_sequence_options_default();
    cli_sequence sequence;
    memset(list, 0, sizeof *list);
    if (cli_sequence_load(path, &options, &log, &sequence) != D4R_OK) return false;
    const char *slash = strrchr(path, '/');
    snprintf(list->name, sizeof list->name, "%s", slash ? slash + 1 : path);
    list->output = sequence.output;
    list->conventions = sequence.conventions;
    list->count = sequence.frame_count < limit ? sequence.frame_count : limit;
    list->frames = calloc(list->count, sizeof *list->frames);
    must(list->frames != NULL, "out of memory");
    for (size_t i = 0; i < list->count; i++) {
        play_frame *f = &list->frames[i];
        cli_planes planes;
        must(cli_planes_load(&sequence, i, &log, &planes) == D4R_OK, "a plane cannot be read");
        f->settings = sequence.frames[i].settings;
        f->image = planes.color.size;
        f->motion_image = planes.motion.size;
        f->color = plane_of(&planes.color);
        f->motion = plane_of(&planes.motion);
        f->depth = plane_of(&planes.depth);
        cli_planes_free(&planes);
    }
    cli_sequence_free(&sequence);
    return true;
}

void play_append(play_list *list, const play_list *other)
{
    list->frames = realloc(list->frames, (list->count + other->count) * sizeof *list->frames);
    must(list->frames != NULL, "out of memory");
    for (size_t i = 0; i < other->count; i++) {
        const play_frame *from = &other->frames[i];
        play_frame *f = &list->frames[list->count++];
        size_t pixels = (size_t)from->image.width * from->image.height;
        size_t vectors = (size_t)from->motion_image.width * from->motion_image.height;
        *f = *from;
        f->color = copy_of(from->color, pixels * 16);
        f->depth = copy_of(from->depth, pixels * 4);
        f->motion = copy_of(from->motion, vectors * 8);
    }
}

void play_free(play_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->frames[i].color);
        free(list->frames[i].motion);
        free(list->frames[i].depth);
    }
    free(list->frames);
    memset(list, 0, sizeof *list);
}

static void crop_plane(float *plane, uint32_t channels, d4r_size from, uint32_t x, uint32_t y, uint32_t width,
                       uint32_t height)
{
    for (uint32_t row = 0; row < height; row++)
        memmove(&plane[(size_t)row * width * channels],
                &plane[((size_t)(row + y) * from.width + x) * channels],
                (size_t)width * channels * sizeof *plane);
}

void play_crop(play_list *list, uint32_t width, uint32_t height)
{
    for (size_t i = 0; i < list->count; i++) {
        play_frame *f = &list->frames[i];
        uint32_t x = (f->image.width - width) / 2, y = 0;
        crop_plane(f->color, 4, f->image, x, y, width, height);
        crop_plane(f->motion, 2, f->image, x, y, width, height);
        crop_plane(f->depth, 1, f->image, x, y, width, height);
        f->image = f->motion_image = f->settings.render = (d4r_size){width, height};
    }
    list->output = (d4r_size){2 * width, 2 * height};
}

/* ---- planted mistakes ---- */

static const struct {
    const char *name;
    d4r_finding_code code;
} plants[PLANT_COUNT] = {
    [PLANT_NONE] = {"none", D4R_FINDING_NONE},
    [PLANT_JITTER_SIGN] = {"jitter negated", D4R_FINDING_JITTER_SIGN},
    [PLANT_JITTER_SIGN_Y] = {"jitter y negated", D4R_FINDING_JITTER_SIGN},
    [PLANT_JITTER_DOUBLE] = {"jitter x 2", D4R_FINDING_JITTER_SCALE},
    [PLANT_JITTER_HALF] = {"jitter x 1/2", D4R_FINDING_JITTER_SCALE},
    [PLANT_JITTER_UV] = {"jitter in UV", D4R_FINDING_JITTER_SCALE},
    [PLANT_MOTION_SIGN] = {"motion negated", D4R_FINDING_MOTION_SIGN},
    [PLANT_MOTION_FLIP_Y] = {"motion y negated", D4R_FINDING_MOTION_SIGN},
    [PLANT_MOTION_DOUBLE] = {"motion x 2", D4R_FINDING_MOTION_SCALE},
    [PLANT_MOTION_HALF] = {"motion x 1/2", D4R_FINDING_MOTION_SCALE},
    [PLANT_MOTION_NDC] = {"motion in NDC (y up) as pixels", D4R_FINDING_MOTION_UNIT},
    [PLANT_MOTION_UV] = {"motion in UV as pixels", D4R_FINDING_MOTION_UNIT},
    [PLANT_MOTION_STALE] = {"motion of something else", D4R_FINDING_MOTION_UNRELATED},
    [PLANT_DEPTH] = {"inverted depth as regular", D4R_FINDING_DEPTH_CONVENTION},
    [PLANT_DEPTH_REGULAR] = {"regular depth as inverted", D4R_FINDING_DEPTH_CONVENTION},
    [PLANT_RECTANGLE_ORIGIN] = {"rectangle at a wrong origin", D4R_FINDING_RENDER_RECTANGLE},
    [PLANT_RECTANGLE_SIZE] = {"rectangle too large", D4R_FINDING_RENDER_RECTANGLE},
    [PLANT_EXPOSURE_HIGH] = {"exposure x 1000", D4R_FINDING_EXPOSURE},
    [PLANT_EXPOSURE_LOW] = {"exposure / 1000", D4R_FINDING_EXPOSURE},
    [PLANT_PRE_EXPOSURE] = {"pre-exposure x 1000", D4R_FINDING_EXPOSURE},
    [PLANT_SRGB] = {"sRGB as linear", D4R_FINDING_COLOR_ENCODED},
    [PLANT_SRGB_TONE] = {"tone mapped sRGB as linear", D4R_FINDING_COLOR_ENCODED},
    [PLANT_LDR] = {"HDR as LDR", D4R_FINDING_COLOR_LINEAR},
    [PLANT_JITTER_ABSENT] = {"image without the jitter", D4R_FINDING_JITTER_ABSENT},
    [PLANT_JITTERED] = {"motion_jittered for vectors without", D4R_FINDING_JITTER_SCALE},
    [PLANT_NAN] = {"NaN in the colour", D4R_FINDING_COLOR_NOT_FINITE}};

const char *plant_name(plant p)
{
    return plants[p].name;
}

d4r_finding_code plant_code(plant p)
{
    return plants[p].code;
}

static void scale_motion(play_frame *f, float x, float y)
{
    for (size_t i = 0; i < (size_t)f->motion_image.width * f->motion_image.height; i++) {
        f->motion[2 * i] *= x;
        f->motion[2 * i + 1] *= y;
    }
}

static float srgb(float v, bool tone)
{
    v = fmaxf(v, 0);
    v = tone ? v / (1 + v) : fminf(v, 1);
    return v <= 0.0031308f ? 12.92f * v : 1.055f * powf(v, 1 / 2.4f) - 0.055f;
}

static void encode(play_frame *f, bool tone)
{
    for (size_t i = 0; i < (size_t)f->image.width * f->image.height; i++)
        for (int c = 0; c < 3; c++) f->color[4 * i + c] = srgb(f->color[4 * i + c], tone);
}

/* The picture moves to (x, y) of an image of `size` that is cleared otherwise. */
static void move_plane(float **plane, uint32_t channels, d4r_size from, d4r_size size, uint32_t x, uint32_t y)
{
    float *moved = calloc((size_t)size.width * size.height * channels, sizeof *moved);
    must(moved != NULL, "out of memory");
    for (uint32_t row = 0; row < from.height && row + y < size.height; row++)
        for (uint32_t column = 0; column < from.width && column + x < size.width; column++)
            memcpy(&moved[((size_t)(row + y) * size.width + column + x) * channels],
                   &(*plane)[((size_t)row * from.width + column) * channels], channels * sizeof *moved);
    free(*plane);
    *plane = moved;
}

static void move_frame(play_frame *f, d4r_size size, uint32_t x, uint32_t y)
{
    move_plane(&f->color, 4, f->image, size, x, y);
    move_plane(&f->motion, 2, f->motion_image, size, x, y);
    move_plane(&f->depth, 1, f->image, size, x, y);
    f->image = f->motion_image = size;
}

/* The picture of a smaller render size in the top left of the declared rectangle: crops instead of rendering anew. */
static void shrink_frame(play_frame *f)
{
    d4r_size whole = f->image, part = {f->image.width * 3 / 4, f->image.height * 3 / 4};
    move_frame(f, part, 0, 0);
    move_frame(f, whole, 0, 0);
}

static void apply_values(plant p, play_frame *f)
{
    size_t pixels = (size_t)f->image.width * f->image.height;
    d4r_size r = f->settings.render;
    switch (p) {
    case PLANT_EXPOSURE_HIGH:
        f->settings.exposure = 500;
        break;
    case PLANT_EXPOSURE_LOW:
        f->settings.exposure = 0.0005f;
        break;
    case PLANT_PRE_EXPOSURE:
        f->settings.pre_exposure *= 1000;
        break;
    case PLANT_SRGB:
    case PLANT_SRGB_TONE:
        encode(f, p == PLANT_SRGB_TONE);
        break;
    case PLANT_DEPTH_REGULAR:
        for (size_t i = 0; i < pixels; i++) f->depth[i] = 1 - f->depth[i];
        break;
    case PLANT_NAN:
        f->color[4 * (pixels / 2)] = NAN;
        break;
    case PLANT_RECTANGLE_ORIGIN:
        move_frame(f, (d4r_size){r.width + 32, r.height + 24}, 32, 24);
        break;
    case PLANT_RECTANGLE_SIZE:
        shrink_frame(f);
        break;
    default:
        break;
    }
}

static void apply_motion(plant p, play_frame *f)
{
    float w = (float)f->settings.render.width, h = (float)f->settings.render.height;
    d4r_vec2 *j = &f->settings.jitter;
    switch (p) {
    case PLANT_JITTER_SIGN:
        *j = (d4r_vec2){-j->x, -j->y};
        break;
    case PLANT_JITTER_SIGN_Y:
        j->y = -j->y;
        break;
    case PLANT_JITTER_DOUBLE:
        *j = (d4r_vec2){2 * j->x, 2 * j->y};
        break;
    case PLANT_JITTER_HALF:
        *j = (d4r_vec2){j->x / 2, j->y / 2};
        break;
    case PLANT_JITTER_UV:
        *j = (d4r_vec2){j->x / w, j->y / h};
        break;
    case PLANT_MOTION_SIGN:
        scale_motion(f, -1, -1);
        break;
    case PLANT_MOTION_FLIP_Y:
        scale_motion(f, 1, -1);
        break;
    case PLANT_MOTION_DOUBLE:
        scale_motion(f, 2, 2);
        break;
    case PLANT_MOTION_HALF:
        scale_motion(f, 0.5f, 0.5f);
        break;
    case PLANT_MOTION_NDC:
        scale_motion(f, 2 / w, -2 / h);
        break;
    case PLANT_MOTION_UV:
        scale_motion(f, 1 / w, 1 / h);
        break;
    case PLANT_MOTION_STALE:
        for (size_t i = 0; i < (size_t)f->motion_image.width * f->motion_image.height; i++) {
            f->motion[2 * i] = 17 - (float)(i % 5);
            f->motion[2 * i + 1] = -11;
        }
        break;
    default:
        apply_values(p, f);
        break;
    }
}

/* A still picture without jitter, declared as jittered. */
static void freeze(play_list *list, size_t i)
{
    const play_frame *first = &list->frames[0];
    play_frame *f = &list->frames[i];
    size_t pixels = (size_t)f->image.width * f->image.height;
    memcpy(f->color, first->color, pixels * 16);
    memcpy(f->depth, first->depth, pixels * 4);
    scale_motion(f, 0, 0);
}

void plant_apply(plant p, play_list *list)
{
    for (size_t i = 0; i < list->count; i++) apply_motion(p, &list->frames[i]);
    if (p == PLANT_EXPOSURE_HIGH || p == PLANT_EXPOSURE_LOW)
        list->conventions.exposure_mode = D4R_EXPOSURE_SCALAR;
    if (p == PLANT_DEPTH) list->conventions.depth_regular = !list->conventions.depth_regular;
    if (p == PLANT_LDR) list->conventions.ldr = true;
    if (p == PLANT_JITTERED) list->conventions.motion_jittered = true;
    for (size_t i = 0; i < list->count && p == PLANT_JITTER_ABSENT; i++) freeze(list, i);
}

/* ---- playing ---- */

typedef struct stage_set {
    rig r; /* its images are replaced */
    const play_list *list;
    play_view *view; /* may be NULL */
    d4r_vk_image view_image;
} stage_set;

static void make_images(stage_set *s)
{
    rig *r = &s->r;
    const play_frame *f = s->list->frames;
    const VkImageUsageFlags sampled = VK_IMAGE_USAGE_SAMPLED_BIT;
    uint32_t w = f->image.width, h = f->image.height;
    d4r_vk_image_destroy(&r->t->vk, &r->color);
    d4r_vk_image_destroy(&r->t->vk, &r->motion);
    d4r_vk_image_destroy(&r->t->vk, &r->depth);
    r->color = vk_test_image(r->t, "color", VK_FORMAT_R32G32B32A32_SFLOAT, w, h, sampled, f->color, 16);
    r->motion = vk_test_image(r->t, "motion", VK_FORMAT_R32G32_SFLOAT, f->motion_image.width,
                              f->motion_image.height, sampled, f->motion, 8);
    r->depth = vk_test_image(r->t, "depth", VK_FORMAT_R32_SFLOAT, w, h, sampled, f->depth, 4);
}

static void begin(rig *r, VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    must(r->t->vk.fn.vkBeginCommandBuffer(commands, &info) == VK_SUCCESS, "vkBeginCommandBuffer");
}

static void play_one(stage_set *s, uint32_t n)
{
    rig *r = &s->r;
    const play_frame *f = &s->list->frames[n];
    VkCommandBuffer front = r->front[n % RIG_SLOTS], back = r->back[n % RIG_SLOTS];
    d4r_frame_images images = rig_images(r);
    d4r_frame frame;
    if (n > 0) {
        vk_test_write_image(r->t, r->color.image, f->image.width, f->image.height, 16, f->color);
        vk_test_write_image(r->t, r->motion.image, f->motion_image.width, f->motion_image.height, 8,
                            f->motion);
        vk_test_write_image(r->t, r->depth.image, f->image.width, f->image.height, 4, f->depth);
    }
    images.color.origin_x = images.motion.origin_x = images.depth.origin_x = f->origin_x;
    images.color.origin_y = images.motion.origin_y = images.depth.origin_y = f->origin_y;
    if (s->view)
        images.debug_view = (d4r_image){.view = s->view_image.view,
                                        .image = s->view_image.image,
                                        .layout = VK_IMAGE_LAYOUT_GENERAL,
                                        .extent = s->view->size};
    begin(r, front);
    must(d4r_engine_record_front(r->engine, front, &images, &f->settings, &frame) == D4R_OK, "record_front");
    must(r->t->vk.fn.vkEndCommandBuffer(front) == VK_SUCCESS, "vkEndCommandBuffer");
    begin(r, back);
    must(d4r_engine_record_back(r->engine, back, &frame) == D4R_OK, "record_back");
    must(r->t->vk.fn.vkEndCommandBuffer(back) == VK_SUCCESS, "vkEndCommandBuffer");
    rig_queue(r, n, &frame);
    must(d4r_network_submit(&frame) == D4R_OK, "d4r_network_submit");
    must(rig_wait(r, RIG_PATIENCE_MS), "the frame has not finished");
    if (!s->view) return;
    vk_test_read_image(r->t, s->view_image.image, s->view->size.width, s->view->size.height, 4,
                       s->view->pixels);
    if (s->view->look) s->view->look(s->view->user, n, s->view->pixels, s->view->size);
}

static void make_view(stage_set *s)
{
    play_view *view = s->view;
    if (!view) return;
    s->view_image = vk_test_image(s->r.t, "view", VK_FORMAT_R8G8B8A8_UNORM, view->size.width,
                                  view->size.height, VK_IMAGE_USAGE_STORAGE_BIT, NULL, 4);
    view->pixels = calloc((size_t)view->size.width * view->size.height, 4);
    must(view->pixels != NULL, "out of memory");
}

void play(vk_test *t, const d4r_model *model, const play_list *list, play_result *result)
{
    play_with_view(t, model, list, NULL, result);
}

void play_with_view(vk_test *t, const d4r_model *model, const play_list *list, play_view *view,
                    play_result *result)
{
    script s;
    stage_set set = {.list = list, .view = view};
    d4r_size render = list->frames[0].settings.render;
    rig_params params = {.model = model,
                         .render = render,
                         .output = list->output,
                         .conventions = &list->conventions,
                         .validate = true,
                         .debug_view = view != NULL,
                         .log = {on_log, NULL, D4R_LOG_WARNING}};
    script_init(&s);
    d4r_network *network = NULL;
    if (view && view->network_model)
        must(d4r_network_create_cpu(view->network_model, NULL, NULL, &network) == D4R_OK, "no network");
    else
        network = script_network(&s, 60000);
    params.network = network;
    rig_create(&set.r, t, &params);
    must(set.r.status == D4R_OK, "no engine");
    make_images(&set);
    make_view(&set);
    memset(result, 0, sizeof *result);
    result->least_match = 1;
    for (uint32_t n = 0; n < list->count; n++) {
        play_one(&set, n);
        must(d4r_engine_validation_report(set.r.engine, result->findings, D4R_VALIDATE_FINDINGS,
                                          &result->count) == D4R_OK,
             "no report");
        const d4r_validate *v = set.r.engine->validate;
        if (v->matches > 0) result->least_match = fmin(result->least_match, v->match[0]);
    }
    result->evidence = set.r.engine->validate->evidence;
    rig_destroy(&set.r);
    d4r_vk_image_destroy(&t->vk, &set.view_image);
    d4r_network_destroy(&network);
    script_end(&s);
}

const d4r_finding *play_found(const play_result *result, d4r_finding_code code)
{
    for (uint32_t i = 0; i < result->count; i++)
        if (result->findings[i].code == code) return &result->findings[i];
    return NULL;
}
