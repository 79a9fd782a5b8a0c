/* The game adapter: what it refuses and why, aliasing, layouts, bad values and budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/cli/half.h"
#include "runtime/game.h"
#include "tests/engine/test_model.h"
#include "tests/game/game_rig.h"
#include "vk_stages/stages_internal.h"

static vk_test device;
static d4r_model *model;

static const d4r_size small_render = {68, 66}, small_output = {132, 130};

static game_rig_params plain_params(void)
{
    return (game_rig_params){.model = model, .render = small_render, .output = small_output};
}

/* The plain case's eight outputs, which many tests must reproduce. */
static const uint8_t *plain_outputs(size_t *bytes)
{
    static uint8_t *outputs;
    static size_t size;
    if (!outputs) {
        const game_rig_params params = plain_params();
        const game_case c = game_case_plain();
        game_rig r;
        game_rig_create(&r, &device, &params);
        outputs = game_rig_run_case(&r, &c, &size);
        game_rig_destroy(&r);
    }
    *bytes = size;
    return outputs;
}

static void expect_plain(game_rig *r, const game_case *c)
{
    size_t bytes, got_bytes;
    const uint8_t *want = plain_outputs(&bytes);
    uint8_t *got = game_rig_run_case(r, c, &got_bytes);
    assert_int_equal(bytes, got_bytes);
    assert_memory_equal(got, want, bytes * GAME_FRAMES);
    assert_int_equal(device.messages, 0);
    free(got);
}

/* ---- what is refused ---- */

static void create_arguments(void **state)
{
    game_rig_params params = plain_params();
    d4r_game_params good, bad;
    d4r_game *game = (d4r_game *)1;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    good = game_rig_game_params(&r, &device, &params);
#define REFUSE(change, field)                                           \
    bad = good;                                                         \
    change;                                                             \
    rig_last_error();                                                   \
    assert_int_equal(d4r_game_create(&bad, &game), D4R_ERROR_ARGUMENT); \
    assert_null(game);                                                  \
    assert_non_null(strstr(rig_last_error(), field))
    REFUSE(bad.view_budget = 3, "view_budget is 3");
    REFUSE(bad.engine.output_format = VK_FORMAT_D32_SFLOAT, "output_format is VkFormat 126");
    REFUSE(bad.engine.model = NULL, "model");
    REFUSE(bad.engine.device.instance = VK_NULL_HANDLE, "instance");
    REFUSE(bad.engine.device.device = VK_NULL_HANDLE, "device");
    REFUSE(bad.engine.output = ((d4r_size){0, 0}), "output is 0x0");
    assert_int_equal(d4r_game_create(NULL, NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_game_record_front(NULL, NULL, NULL, NULL, NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_game_record_back(NULL, NULL, NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_game_configure(NULL, NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_game_get_info(NULL, NULL), D4R_ERROR_ARGUMENT);
    assert_null(d4r_game_engine(NULL));
    d4r_game_destroy(NULL);
    d4r_game_forget_image(NULL, VK_NULL_HANDLE);
    d4r_game_trim(NULL);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

typedef struct refusal {
    game_rig *r;
    d4r_game_images good;
    d4r_frame_settings settings;
} refusal;

static void expect_refused(const refusal *x, d4r_game_images images, d4r_frame_settings settings,
                           const char *text)
{
    VkCommandBuffer commands = vk_test_begin(&device);
    d4r_frame frame;
    rig_last_error();
    const d4r_status status = d4r_game_record_front(x->r->game, commands, &images, &settings, &frame);
    const char *said = rig_last_error();
    if (status != D4R_ERROR_ARGUMENT || !strstr(said, text))
        print_error("wanted \"%s\", got \"%s\"\n", text, said);
    assert_int_equal(status, D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(said, text));
    vk_test_submit(&device, commands); /* the images are as they were */
}

static void refuse_images(const refusal *x)
{
    d4r_game_images i;
#define REFUSE_IMAGES(change, text) \
    i = x->good;                    \
    change;                         \
    expect_refused(x, i, x->settings, text)
    REFUSE_IMAGES(i.color.image = VK_NULL_HANDLE, "images.color.image is NULL");
    REFUSE_IMAGES(i.output.image = VK_NULL_HANDLE, "images.output.image is NULL");
    REFUSE_IMAGES(i.depth.extent = ((d4r_size){0, 66}), "images.depth.extent is 0x66");
    REFUSE_IMAGES(i.motion.origin_x = 1, "images.motion: the rectangle of 68x66 at (1, 0)");
    REFUSE_IMAGES(i.color.origin_y = UINT32_MAX, "images.color: the rectangle");
    REFUSE_IMAGES(i.output.origin_x = 1, "images.output: the rectangle of 132x130");
    REFUSE_IMAGES(i.output.extent.height = 129, "images.output: the rectangle");
    REFUSE_IMAGES(i.color.format = VK_FORMAT_R8G8B8A8_UINT, "images.color.format is VkFormat 41");
    REFUSE_IMAGES(i.color.format = VK_FORMAT_D32_SFLOAT, "images.color.format");
    REFUSE_IMAGES(i.motion.format = VK_FORMAT_R32_SFLOAT, "images.motion.format");
    REFUSE_IMAGES(i.depth.format = VK_FORMAT_R16G16_SFLOAT, "images.depth.format");
    REFUSE_IMAGES(i.color.layout = VK_IMAGE_LAYOUT_UNDEFINED,
                  "images.color.layout is VK_IMAGE_LAYOUT_UNDEFINED");
    REFUSE_IMAGES(i.depth.final_layout = VK_IMAGE_LAYOUT_PREINITIALIZED, "PREINITIALIZED");
    REFUSE_IMAGES((i.output.layout = 0, i.output.final_layout = 0),
                  "images.output.final_layout must be given");
    REFUSE_IMAGES(i.color.usage = VK_IMAGE_USAGE_STORAGE_BIT, "images.color.usage is 0x8");
    REFUSE_IMAGES(i.output.usage = VK_IMAGE_USAGE_SAMPLED_BIT, "images.output.usage is 0x4");
    REFUSE_IMAGES(i.output.format = VK_FORMAT_R8G8B8A8_UNORM, "images.output.format is VkFormat 37");
    REFUSE_IMAGES((i.motion = i.color, i.motion.layout = VK_IMAGE_LAYOUT_GENERAL),
                  "twice with different layouts");
}

static void refuse_settings(const refusal *x)
{
    d4r_frame_settings s;
#define REFUSE_SETTINGS(change, text) \
    s = x->settings;                  \
    change;                           \
    expect_refused(x, x->good, s, text)
    REFUSE_SETTINGS(s.render = ((d4r_size){0, 0}), "settings.render is 0x0");
    REFUSE_SETTINGS(s.render.width = 63, "settings.render is 63x66");
    REFUSE_SETTINGS(s.render.height = 67, "max_render of 68x66");
    /* Found by the engine, when the transitions are recorded already: they are undone. */
    REFUSE_SETTINGS(s.jitter.x = NAN, "settings.jitter");
    REFUSE_SETTINGS(s.motion_scale.y = 0, "settings.motion_scale");
}

static void record_arguments(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    refusal x;
    game_images_set set;
    d4r_frame frame = {0};
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    game_rig_create_set(&r, &c, &set);
    game_rig_fill(&r, &c, 0);
    game_rig_frame(&r, &c, &set, 0);
    game_rig_wait(&r);
    x = (refusal){.r = &r, .settings = d4r_frame_settings_default(small_render)};
    /* Layouts that need transitions: a refused frame must leave them alone. */
    x.good = (d4r_game_images){.color = game_image_describe(&set.color[0], &c.color_access),
                               .depth = game_image_describe(&set.depth[0], &c.depth_access),
                               .motion = game_image_describe(&set.motion[0], &c.motion_access),
                               .output = game_image_describe(&set.output[0], &c.output_access)};
    refuse_images(&x);
    refuse_settings(&x);
    assert_int_equal(d4r_game_record_back(r.game, r.back[0], &frame), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_game_configure(r.game, NULL), D4R_ERROR_ARGUMENT);
    game_rig_destroy_set(&r, &set);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* ---- one image for two purposes ---- */

static void alias_outputs(game_rig *r, const game_case *c, bool fits)
{
    game_images_set set;
    size_t bytes;
    const uint8_t *want = plain_outputs(&bytes);
    game_rig_create_set(r, c, &set);
    game_image_destroy(r, &set.output[0]);
    set.output[0] = set.color[0];
    for (uint32_t n = 0; n < GAME_FRAMES && fits; n++) {
        size_t got;
        game_rig_fill(r, c, n);
        game_rig_frame(r, c, &set, n);
        game_rig_wait(r);
        assert_memory_equal(game_rig_output(r, c, n, &got), want + n * bytes, bytes);
    }
    if (!fits) {
        d4r_frame_settings settings = d4r_frame_settings_default(small_render);
        refusal x = {.r = r, .settings = settings};
        set.color[0].now = set.output[0].now = VK_IMAGE_LAYOUT_GENERAL;
        set.depth[0].now = set.motion[0].now = VK_IMAGE_LAYOUT_GENERAL;
        x.good = (d4r_game_images){.color = game_image_describe(&set.color[0], &c->color_access),
                                   .depth = game_image_describe(&set.depth[0], &c->depth_access),
                                   .motion = game_image_describe(&set.motion[0], &c->motion_access),
                                   .output = game_image_describe(&set.output[0], &c->output_access)};
        expect_refused(&x, x.good, settings, "images.color and images.output are one image");
        x.good.output.layout = VK_IMAGE_LAYOUT_UNDEFINED;
        x.good.output.final_layout = VK_IMAGE_LAYOUT_GENERAL;
        expect_refused(&x, x.good, settings, "is an input as well");
    }
    memset(&set.output[0], 0, sizeof set.output[0]);
    game_rig_destroy_set(r, &set);
}

static void aliasing(void **state)
{
    const VkImageUsageFlags all = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    d4r_game_info info;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    /* The colour lies in the middle of the output: 132 = 68 + 2 * 32. */
    c.color_access.origin_x = c.color_access.origin_y = 32;
    c.color_access.extra_usage = all;
    c.color_access.final_layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    alias_outputs(&r, &c, true);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.color, D4R_GAME_DIRECT);
    assert_int_equal(info.output, D4R_GAME_COPIED);
    c.color_access.hidden_usage = c.output_access.hidden_usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    alias_outputs(&r, &c, true);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.color, D4R_GAME_COPIED);
    assert_int_equal(info.output, D4R_GAME_DIRECT);
    c.color_access.hidden_usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    alias_outputs(&r, &c, false);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* ---- layouts as renderers leave them ---- */

static void attachment_layouts(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    c.color_access.extra_usage = c.motion_access.extra_usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    c.color_access.layout = c.motion_access.layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    c.color_access.final_layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    c.depth_access.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    for (c.depth = 0; c.depth < 2; c.depth++) {
        expect_plain(&r, &c);
        c.queued = c.rotating = true;
        c.depth_access.layout = VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL;
    }
    game_rig_destroy(&r);
}

/* copy_inputs: through copies although the images could be read in place. */
static void copies_on_request(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    d4r_game_info info;
    game_rig r;
    (void)state;
    params.copy_inputs = true;
    game_rig_create(&r, &device, &params);
    c.color_access.extra_usage = c.depth_access.extra_usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    expect_plain(&r, &c);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.color, D4R_GAME_COPIED);
    assert_int_equal(info.depth, D4R_GAME_COPIED);
    assert_int_equal(info.motion, D4R_GAME_DIRECT);
    assert_true(info.conversion_bytes >= 68 * 66 * 12);
    game_rig_destroy(&r);
}

/* ---- values ---- */

static void bad_values(void **state)
{
    const game_rig_params params = plain_params();
    game_case c = game_case_plain();
    uint8_t *direct, *copied;
    size_t bytes;
    game_rig r;
    (void)state;
    game_rig_create(&r, &device, &params);
    c.damage = true;
    direct = game_rig_run_case(&r, &c, &bytes);
    c.color_access.copied = c.motion_access.copied = c.depth_access.copied = c.output_access.copied = true;
    c.color_access.layout = c.motion_access.layout = c.depth_access.layout = VK_IMAGE_LAYOUT_GENERAL;
    c.color_access.origin_x = c.depth_access.origin_y = 9;
    copied = game_rig_run_case(&r, &c, &bytes);
    assert_memory_equal(direct, copied, bytes * GAME_FRAMES);
    for (size_t i = 0; i < bytes * GAME_FRAMES / 2; i++)
        assert_true((((uint16_t *)direct)[i] & 0x7c00) != 0x7c00); /* neither NaN nor infinity */
    free(direct);
    free(copied);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

static double stored(int output, const uint8_t *texel, int channel)
{
    uint32_t word;
    memcpy(&word, texel, 4);
    const int swapped = channel == 3 ? 3 : 2 - channel;
    switch (output) {
    case 1:
        return (word >> 10 * channel & (channel == 3 ? 3u : 1023u)) / (channel == 3 ? 3.0 : 1023.0);
    case 2: { /* 11 and 10 bits: half without its low bits */
        if (channel == 3) return 0;
        const uint32_t bits = channel == 2 ? (word >> 22) << 5 : (word >> 11 * channel & 0x7ff) << 4;
        return (double)cli_half_to_float((uint16_t)bits);
    }
    case 3:
    case 5:
        return texel[channel] / 255.0;
    case 4:
    case 6:
        return texel[swapped] / 255.0;
    case 7:
        return (word >> 10 * swapped & (swapped == 3 ? 3u : 1023u)) / (swapped == 3 ? 3.0 : 1023.0);
    default: {
        float v;
        memcpy(&v, texel + 4 * channel, 4);
        return (double)v;
    }
    }
}

static double encode_srgb(double v)
{
    return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

/* What an output format should hold for the value in RGBA16F, and how far it may be off: half a step of each format (the
 * 16-bit value is rounded too) and a code for the unit's own rounding. */
static void check_value(int output, bool ldr, double half, double got, int channel)
{
    double want = fmin(fmax(half, 0), 1), tolerance = 1.51 / 255;
    if (output == 8) want = half, tolerance = 0;
    if (output == 2)
        want = channel == 3 ? 0 : half, tolerance = (channel == 2 ? 1 / 64.0 : 1 / 128.0) * half + 2e-5;
    if (output == 1 || output == 7) tolerance = channel == 3 ? 0.51 / 3 : 1.51 / 1023;
    if ((output == 5 || output == 6) && !ldr && channel < 3) want = encode_srgb(want), tolerance = 2.01 / 255;
    if (fabs(got - want) > tolerance)
        print_error("output %s, channel %d: %g instead of %g\n", game_outputs[output].name, channel, got,
                    want);
    assert_true(fabs(got - want) <= tolerance);
}

static void output_formats(void **state)
{
    game_rig_params params = plain_params();
    (void)state;
    for (int ldr = 0; ldr < 2; ldr++) {
        uint8_t *half;
        size_t bytes, half_bytes;
        game_case c = game_case_plain();
        game_rig r;
        params.conventions.ldr = ldr;
        game_rig_create(&r, &device, &params);
        half = game_rig_run_case(&r, &c, &half_bytes);
        for (c.output = 1; c.output < GAME_OUTPUTS; c.output++) {
            d4r_game_config config;
            uint8_t *got;
            const size_t texel = game_outputs[c.output].bytes;
            d4r_game_get_config(r.game, &config);
            config.output_format = game_outputs[c.output].format;
            assert_int_equal(d4r_game_configure(r.game, &config), D4R_OK);
            got = game_rig_run_case(&r, &c, &bytes);
            for (size_t i = 0; i < bytes * GAME_FRAMES / texel; i++)
                for (int k = 0; k < 4; k++) {
                    uint16_t code;
                    memcpy(&code, half + 8 * i + 2 * k, 2);
                    check_value(c.output, ldr, (double)cli_half_to_float(code),
                                stored(c.output, got + i * texel, k), k);
                }
            free(got);
        }
        free(half);
        game_rig_destroy(&r);
    }
    assert_int_equal(device.messages, 0);
}

/* In LDR, sRGB colour is read as it is stored: the same bytes as UNORM, through a mutable image or a copy. */
static void srgb_in_ldr(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    uint8_t *unorm, *srgb;
    size_t bytes;
    game_rig r;
    (void)state;
    params.conventions.ldr = true;
    game_rig_create(&r, &device, &params);
    c.color = 4;
    unorm = game_rig_run_case(&r, &c, &bytes);
    c.color = 6;
    c.color_access.extra_usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    srgb = game_rig_run_case(&r, &c, &bytes);
    assert_memory_equal(unorm, srgb, bytes * GAME_FRAMES);
    free(unorm);
    free(srgb);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* A device that lacks something: formats are converted by a blit. */
static VkFormat poor_format;
static VkFormatFeatureFlags poor_features;

static VKAPI_ATTR void VKAPI_CALL poor_properties(VkPhysicalDevice physical_device, VkFormat format,
                                                  VkFormatProperties *properties)
{
    ((PFN_vkGetPhysicalDeviceFormatProperties)device.get_instance_proc_addr(
        device.instance, "vkGetPhysicalDeviceFormatProperties"))(physical_device, format, properties);
    if (format == poor_format) properties->optimalTilingFeatures &= ~poor_features;
}

static PFN_vkVoidFunction VKAPI_CALL poor_get_instance_proc_addr(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetPhysicalDeviceFormatProperties") == 0) return (PFN_vkVoidFunction)poor_properties;
    return device.get_instance_proc_addr(instance, name);
}

static void poor_device(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    d4r_game_info info;
    game_rig r;
    (void)state;
    /* Half floats that cannot be sampled: through RGBA32F, which holds the same values. */
    params.get_instance_proc_addr = poor_get_instance_proc_addr;
    poor_format = VK_FORMAT_R16G16B16A16_SFLOAT;
    poor_features = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT;
    game_rig_create(&r, &device, &params);
    c.color_access.extra_usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    c.color_access.origin_x = 3;
    expect_plain(&r, &c);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.color, D4R_GAME_CONVERTED);
    game_rig_destroy(&r);
    /* No storage images of RGB10A2: the output is blitted. */
    poor_format = VK_FORMAT_A2B10G10R10_UNORM_PACK32;
    poor_features = VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    params.output_format = poor_format;
    game_rig_create(&r, &device, &params);
    c = game_case_plain();
    c.output = 1;
    c.output_access.copied = true;
    size_t bytes, half_bytes;
    const uint8_t *half = plain_outputs(&half_bytes);
    uint8_t *got = game_rig_run_case(&r, &c, &bytes);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.output, D4R_GAME_CONVERTED);
    for (size_t i = 0; i < bytes / 4; i++)
        for (int k = 0; k < 3; k++) {
            uint16_t code;
            memcpy(&code, half + 8 * i + 2 * k, 2);
            const double v = (double)cli_half_to_float(code);
            assert_true(fabs(stored(1, got + 4 * i, k) - fmin(v, 1)) <= 1.51 / 1023);
        }
    free(got);
    game_rig_destroy(&r);
    poor_format = VK_FORMAT_UNDEFINED;
    assert_int_equal(device.messages, 0);
}

/* ---- many images ---- */

/* More images than the budget has views: all frames right, nothing in use is touched (validation would say so). */
static void view_budget(void **state)
{
    enum { SETS = 5 };
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_images_set sets[SETS];
    d4r_game_info info;
    size_t bytes;
    const uint8_t *want = plain_outputs(&bytes);
    game_rig r;
    (void)state;
    params.view_budget = D4R_GAME_MIN_VIEW_BUDGET;
    game_rig_create(&r, &device, &params);
    for (int i = 0; i < SETS; i++) game_rig_create_set(&r, &c, &sets[i]);
    for (uint32_t n = 0; n < GAME_FRAMES; n++) game_rig_fill(&r, &c, n);
    for (int round = 0; round < 3; round++) {
        for (uint32_t n = 0; n < GAME_FRAMES; n++) {
            game_rig_frame(&r, &c, &sets[n % SETS], n);
            if (n % 2) game_rig_wait(&r); /* two frames queued: 8 of 16 views are in use */
            d4r_game_get_info(r.game, &info);
            assert_true(info.views <= info.view_budget && info.view_budget == D4R_GAME_MIN_VIEW_BUDGET);
        }
        game_rig_wait(&r);
        for (uint32_t n = 0; n < GAME_FRAMES; n++) {
            size_t got;
            assert_memory_equal(game_rig_output(&r, &c, n, &got), want + n * bytes, bytes);
        }
    }
    for (int i = 0; i < SETS; i++) game_rig_destroy_set(&r, &sets[i]);
    d4r_game_get_info(r.game, &info);
    assert_int_equal(info.views, 0); /* all were forgotten */
    assert_int_equal(info.descriptor_sets, 0);
    game_rig_destroy(&r);
    assert_int_equal(device.messages, 0);
}

/* Frames recorded and not submitted hold their views: the budget is refused by name, and discarding frees it. */
static void budget_exhausted(void **state)
{
    game_rig_params params = plain_params();
    game_case c = game_case_plain();
    game_images_set sets[5];
    VkCommandBuffer commands[10];
    d4r_frame frames[5];
    d4r_status status = D4R_OK;
    uint32_t recorded = 0;
    game_rig r;
    (void)state;
    params.view_budget = D4R_GAME_MIN_VIEW_BUDGET;
    game_rig_create(&r, &device, &params);
    for (int i = 0; i < 5; i++) game_rig_create_set(&r, &c, &sets[i]);
    for (uint32_t n = 0; n < 5; n++) {
        d4r_frame_settings settings = d4r_frame_settings_default(small_render);
        sets[n].color[0].now = sets[n].depth[0].now = sets[n].motion[0].now = VK_IMAGE_LAYOUT_GENERAL;
        d4r_game_images images = {.color = game_image_describe(&sets[n].color[0], &c.color_access),
                                  .depth = game_image_describe(&sets[n].depth[0], &c.depth_access),
                                  .motion = game_image_describe(&sets[n].motion[0], &c.motion_access),
                                  .output = game_image_describe(&sets[n].output[0], &c.output_access)};
        commands[2 * n] = vk_test_begin(&device);
        commands[2 * n + 1] = vk_test_begin(&device);
        rig_last_error();
        status = d4r_game_record_front(r.game, commands[2 * n], &images, &settings, &frames[n]);
        if (status != D4R_OK) break;
        assert_int_equal(d4r_game_record_back(r.game, commands[2 * n + 1], &frames[n]), D4R_OK);
        recorded++;
    }
    assert_int_equal(status, D4R_ERROR_STATE);
    assert_int_equal(recorded, 4);
    assert_non_null(strstr(rig_last_error(), "view_budget"));
    while (recorded > 0) assert_int_equal(d4r_frame_discard(&frames[--recorded]), D4R_OK);
    for (int i = 0; i < 10; i++) device.vk.fn.vkEndCommandBuffer(commands[i]);
    device.vk.fn.vkFreeCommandBuffers(device.device, device.pool, 10, commands);
    for (int i = 0; i < 5; i++) game_rig_destroy_set(&r, &sets[i]);
    d4r_game_trim(r.game);
    /* Four frames were counted, so four more bring the dither back to its start. */
    c.frames = 4;
    size_t bytes;
    free(game_rig_run_case(&r, &c, &bytes));
    c.frames = 0;
    expect_plain(&r, &c);
    game_rig_destroy(&r);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(5);
    return model ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    test_model_destroy(model);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_arguments),  cmocka_unit_test(record_arguments),
        cmocka_unit_test(aliasing),          cmocka_unit_test(attachment_layouts),
        cmocka_unit_test(copies_on_request), cmocka_unit_test(bad_values),
        cmocka_unit_test(output_formats),    cmocka_unit_test(srgb_in_ldr),
        cmocka_unit_test(poor_device),       cmocka_unit_test(view_budget),
        cmocka_unit_test(budget_exhausted),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
