#include "tests/game/game_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interop/timeline.h"
#include "runtime/cli/half.h"

#define POISON 0x5b /* 235 in f16, 6e16 in f32, a third in UNORM */
#define MAX_SIDE 176u

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "game rig: %s\n", what);
    exit(1);
}

const game_format game_colors[GAME_COLORS] = {{"RGBA16F", VK_FORMAT_R16G16B16A16_SFLOAT, 8, 0},
                                              {"RGBA32F", VK_FORMAT_R32G32B32A32_SFLOAT, 16, 0},
                                              {"R11G11B10F", VK_FORMAT_B10G11R11_UFLOAT_PACK32, 4, 1},
                                              {"RGB10A2", VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4, 2},
                                              {"RGBA8", VK_FORMAT_R8G8B8A8_UNORM, 4, 3},
                                              {"BGRA8", VK_FORMAT_B8G8R8A8_UNORM, 4, 3},
                                              {"RGBA8 sRGB", VK_FORMAT_R8G8B8A8_SRGB, 4, 4},
                                              {"BGRA8 sRGB", VK_FORMAT_B8G8R8A8_SRGB, 4, 4}};
const game_format game_motions[GAME_MOTIONS] = {{"RG16F", VK_FORMAT_R16G16_SFLOAT, 4, 0},
                                                {"RG32F", VK_FORMAT_R32G32_SFLOAT, 8, 0},
                                                {"RGBA16F", VK_FORMAT_R16G16B16A16_SFLOAT, 8, 0}};
const game_format game_depths[GAME_DEPTHS] = {{"D32F", VK_FORMAT_D32_SFLOAT, 4, 0},
                                              {"D32F_S8", VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 0},
                                              {"D16", VK_FORMAT_D16_UNORM, 2, 1},
                                              {"R32F", VK_FORMAT_R32_SFLOAT, 4, 0},
                                              {"R16F", VK_FORMAT_R16_SFLOAT, 2, 0}};
const game_format game_outputs[GAME_OUTPUTS] = {{"RGBA16F", VK_FORMAT_R16G16B16A16_SFLOAT, 8, 0},
                                                {"RGB10A2", VK_FORMAT_A2B10G10R10_UNORM_PACK32, 4, 1},
                                                {"R11G11B10F", VK_FORMAT_B10G11R11_UFLOAT_PACK32, 4, 2},
                                                {"RGBA8", VK_FORMAT_R8G8B8A8_UNORM, 4, 3},
                                                {"BGRA8", VK_FORMAT_B8G8R8A8_UNORM, 4, 4},
                                                {"RGBA8 sRGB", VK_FORMAT_R8G8B8A8_SRGB, 4, 5},
                                                {"BGRA8 sRGB", VK_FORMAT_B8G8R8A8_SRGB, 4, 6},
                                                {"BGR10A2", VK_FORMAT_A2R10G10B10_UNORM_PACK32, 4, 7},
                                                {"RGBA32F", VK_FORMAT_R32G32B32A32_SFLOAT, 16, 8}};

/* ---- content ---- */

static float noise(uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ z * 0xc2b2ae3du;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (float)((h ^ h >> 15) >> 8) / 16777216.0f;
}

static float rounded(float v)
{
    return cli_half_to_float(cli_float_to_half(v));
}

/* Representable in f16, so that wider formats hold the same. */
static void texel(const game_rig *r, bool damage, uint32_t n, uint32_t x, uint32_t y, float color[4],
                  float motion[2], float *depth)
{
    const float u = (float)x + 1.5f * (float)n, v = (float)y, seed = (float)r->seed;
    for (int k = 0; k < 3; k++)
        color[k] = rounded(0.5f + 0.4f * sinf(u * 0.21f + (float)k + seed) * cosf(v * 0.17f) +
                           0.1f * noise(x, y, n * 7 + (uint32_t)k));
    color[3] = rounded(0.25f + 0.5f * noise(x / 8, y / 8, 99));
    motion[0] = 1.5f;
    motion[1] = rounded(0.25f * noise(x, y, n + 1000));
    *depth = rounded(0.2f + 0.6f * noise(x / 4, y / 4, n + 2000));
    if (!damage) return;
    if (noise(x, y, n + 3000) < 0.02f) color[(x + y) % 4] = x & 1 ? NAN : INFINITY;
    if (noise(x, y, n + 4000) < 0.02f) motion[x & 1] = y & 1 ? NAN : -INFINITY;
    if (noise(x, y, n + 5000) < 0.02f) *depth = x & 1 ? NAN : INFINITY;
}

static uint32_t unorm(float v, uint32_t top)
{
    return (uint32_t)(fminf(fmaxf(v, 0), 1) * (float)top + 0.5f);
}

static void store_floats(uint8_t *to, const float *v, int count, bool half)
{
    for (int k = 0; k < count; k++) {
        const uint16_t bits = cli_float_to_half(v[k]);
        memcpy(to + (half ? 2 : 4) * k, half ? (const void *)&bits : (const void *)&v[k], half ? 2 : 4);
    }
}

static void store_color(VkFormat format, const float v[4], uint8_t *to)
{
    uint32_t word;
    switch (format) {
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R32G32B32A32_SFLOAT:
        store_floats(to, v, 4, format == VK_FORMAT_R16G16B16A16_SFLOAT);
        return;
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32: /* half without sign and low bits of the mantissa */
        word = (cli_float_to_half(v[0]) >> 4 & 0x7ffu) | (cli_float_to_half(v[1]) >> 4 & 0x7ffu) << 11 |
               (cli_float_to_half(v[2]) >> 5 & 0x3ffu) << 22;
        break;
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        word = unorm(v[0], 1023) | unorm(v[1], 1023) << 10 | unorm(v[2], 1023) << 20 | unorm(v[3], 3) << 30;
        break;
    default: {
        const bool bgra = format == VK_FORMAT_B8G8R8A8_UNORM || format == VK_FORMAT_B8G8R8A8_SRGB;
        word = unorm(v[bgra ? 2 : 0], 255) | unorm(v[1], 255) << 8 | unorm(v[bgra ? 0 : 2], 255) << 16 |
               unorm(v[3], 255) << 24;
    }
    }
    memcpy(to, &word, 4);
}

static void store_depth(VkFormat format, float v, uint8_t *to)
{
    const uint16_t code = (uint16_t)unorm(v, 65535);
    if (format == VK_FORMAT_D16_UNORM)
        memcpy(to, &code, 2);
    else
        store_floats(to, &v, 1, format == VK_FORMAT_R16_SFLOAT);
}

/* ---- creation ---- */

d4r_game_params game_rig_game_params(game_rig *r, vk_test *t, const game_rig_params *p)
{
    rig_params base = {.model = p->model,
                       .network = r->network,
                       .render = p->render,
                       .output = p->output,
                       .allocator = p->allocator,
                       .get_instance_proc_addr = p->get_instance_proc_addr};
    d4r_game_params g = d4r_game_params_default();
    g.engine = rig_engine_params(t, &base);
    g.engine.conventions = p->conventions;
    if (p->output_format) g.engine.output_format = p->output_format;
    g.view_budget = p->view_budget;
    g.reserve_render = p->reserve_render;
    g.copy_inputs = p->copy_inputs;
    return g;
}

static void create_commands(game_rig *r)
{
    const struct VolkDeviceTable *fn = &r->t->vk.fn;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = r->t->family};
    must(fn->vkCreateCommandPool(r->t->device, &pool, NULL, &r->pool) == VK_SUCCESS, "no command pool");
    const VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = r->pool,
                                                 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                 .commandBufferCount = GAME_FRAMES};
    must(fn->vkAllocateCommandBuffers(r->t->device, &buffers, r->front) == VK_SUCCESS, "no command buffers");
    must(fn->vkAllocateCommandBuffers(r->t->device, &buffers, r->back) == VK_SUCCESS, "no command buffers");
    must(d4r_timeline_create(&r->t->vk, "game rig", &r->done) == D4R_OK, "no timeline");
    for (int n = 0; n < GAME_FRAMES; n++) {
        const VkMemoryPropertyFlags host =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        must(d4r_vk_buffer_create(&r->t->vk, "game staging", MAX_SIDE * MAX_SIDE * 28,
                                  VK_BUFFER_USAGE_TRANSFER_SRC_BIT, host, 0, false, &r->staging[n]) == D4R_OK,
             "no staging");
        must(d4r_vk_buffer_create(&r->t->vk, "game readback", MAX_SIDE * MAX_SIDE * 16,
                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT, host, VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                  false, &r->readback[n]) == D4R_OK,
             "no readback");
    }
}

void game_rig_create(game_rig *r, vk_test *t, const game_rig_params *params)
{
    d4r_game_params game;
    memset(r, 0, sizeof *r);
    r->t = t;
    r->render = params->render;
    r->output = params->output;
    script_init(&r->script);
    r->network = script_network(&r->script, 20000);
    game = game_rig_game_params(r, t, params);
    must(d4r_game_create(&game, &r->game) == D4R_OK, "d4r_game_create failed");
    create_commands(r);
}

void game_rig_destroy(game_rig *r)
{
    game_rig_wait(r);
    d4r_game_destroy(&r->game);
    d4r_network_destroy(&r->network);
    script_end(&r->script);
    for (int n = 0; n < GAME_FRAMES; n++) {
        d4r_vk_buffer_destroy(&r->t->vk, &r->staging[n]);
        d4r_vk_buffer_destroy(&r->t->vk, &r->readback[n]);
    }
    r->t->vk.fn.vkDestroySemaphore(r->t->device, r->done, NULL);
    r->t->vk.fn.vkDestroyCommandPool(r->t->device, r->pool, NULL);
}

/* ---- images ---- */

game_image game_image_create(game_rig *r, VkFormat format, VkImageUsageFlags usage, VkImageCreateFlags flags,
                             d4r_size extent)
{
    const d4r_vk *vk = &r->t->vk;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = flags,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {extent.width, extent.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = usage,
                                    .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                                    .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    game_image image = {.extent = extent, .format = format, .usage = usage, .flags = flags};
    VkMemoryRequirements needs;
    must(vk->fn.vkCreateImage(vk->device, &info, NULL, &image.image) == VK_SUCCESS, "vkCreateImage");
    vk->fn.vkGetImageMemoryRequirements(vk->device, image.image, &needs);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex =
                                             d4r_vk_memory_type(vk, needs.memoryTypeBits, 0, 0)};
    must(vk->fn.vkAllocateMemory(vk->device, &memory, NULL, &image.memory) == VK_SUCCESS, "no image memory");
    must(vk->fn.vkBindImageMemory(vk->device, image.image, image.memory, 0) == VK_SUCCESS, "no image memory");
    return image;
}

static void give_view(game_rig *r, game_image *image)
{
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = image->format,
        .subresourceRange = {d4r_vk_aspects(image->format) & ~VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 0, 1}};
    must(r->t->vk.fn.vkCreateImageView(r->t->device, &info, NULL, &image->view) == VK_SUCCESS, "no view");
}

void game_image_destroy(game_rig *r, game_image *image)
{
    const d4r_vk *vk = &r->t->vk;
    if (!image->image) return;
    d4r_game_forget_image(r->game, image->image);
    if (image->view) vk->fn.vkDestroyImageView(vk->device, image->view, NULL);
    vk->fn.vkDestroyImage(vk->device, image->image, NULL);
    vk->fn.vkFreeMemory(vk->device, image->memory, NULL);
    memset(image, 0, sizeof *image);
}

d4r_game_image game_image_describe(const game_image *image, const game_access *access)
{
    return (d4r_game_image){.image = image->image,
                            .view = image->view,
                            .format = image->format,
                            .usage = image->usage & ~access->hidden_usage,
                            .flags = image->flags,
                            .layout = image->now,
                            .final_layout = access->final_layout,
                            .extent = image->extent,
                            .origin_x = access->origin_x,
                            .origin_y = access->origin_y};
}

static void move(game_rig *r, VkCommandBuffer commands, game_image *image, VkImageLayout to)
{
    const VkAccessFlags any = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = any,
                                          .dstAccessMask = any,
                                          .oldLayout = image->now,
                                          .newLayout = to,
                                          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .image = image->image,
                                          .subresourceRange = {d4r_vk_aspects(image->format), 0, 1, 0, 1}};
    r->t->vk.fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    image->now = to;
}

static VkBufferImageCopy whole(const game_image *image, VkDeviceSize offset)
{
    return (VkBufferImageCopy){
        .bufferOffset = offset,
        .imageSubresource = {d4r_vk_aspects(image->format) & ~VK_IMAGE_ASPECT_STENCIL_BIT, 0, 0, 1},
        .imageExtent = {image->extent.width, image->extent.height, 1}};
}

static d4r_size padded(d4r_size size, const game_access *access)
{
    return (d4r_size){size.width + 2 * access->origin_x, size.height + 2 * access->origin_y};
}

static VkImageUsageFlags usage_of(const game_access *access, VkImageUsageFlags direct, VkImageUsageFlags copy)
{
    return VK_IMAGE_USAGE_TRANSFER_DST_BIT | access->extra_usage | (access->copied ? copy : direct);
}

static void poison_outputs(game_rig *r, game_images_set *set, uint32_t count)
{
    VkCommandBuffer commands = vk_test_begin(r->t);
    memset(r->staging[0].map, POISON, r->staging[0].size);
    for (uint32_t i = 0; i < count; i++) {
        const VkBufferImageCopy copy = whole(&set->output[i], 0);
        move(r, commands, &set->output[i], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        r->t->vk.fn.vkCmdCopyBufferToImage(commands, r->staging[0].buffer, set->output[i].image,
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    }
    vk_test_submit(r->t, commands);
}

void game_rig_create_set(game_rig *r, const game_case *c, game_images_set *set)
{
    const VkImageCreateFlags mutable =
        VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    const uint32_t count = c->rotating ? GAME_SETS : 1;
    const VkFormat output = game_outputs[c->output].format;
    const bool plain = c->output < 4;
    memset(set, 0, sizeof *set);
    for (uint32_t i = 0; i < count; i++) {
        const VkImageUsageFlags sampled = VK_IMAGE_USAGE_SAMPLED_BIT,
                                source = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        set->color[i] =
            game_image_create(r, game_colors[c->color].format, usage_of(&c->color_access, sampled, source), 0,
                              padded(r->render, &c->color_access));
        set->motion[i] =
            game_image_create(r, game_motions[c->motion].format, usage_of(&c->motion_access, sampled, source),
                              0, padded(r->render, &c->motion_access));
        set->depth[i] =
            game_image_create(r, game_depths[c->depth].format,
                              usage_of(&c->depth_access, sampled, source) |
                                  (c->depth < 3 ? VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT : 0),
                              0, padded(r->render, &c->depth_access));
        set->output[i] = game_image_create(
            r, output, source | usage_of(&c->output_access, VK_IMAGE_USAGE_STORAGE_BIT, 0),
            plain || c->output_access.copied ? 0 : mutable, padded(r->output, &c->output_access));
        if (c->color_access.give_view && !c->color_access.copied) give_view(r, &set->color[i]);
        if (c->motion_access.give_view && !c->motion_access.copied) give_view(r, &set->motion[i]);
        if (c->depth_access.give_view && !c->depth_access.copied) give_view(r, &set->depth[i]);
        if (c->output_access.give_view && plain && !c->output_access.copied) give_view(r, &set->output[i]);
    }
    poison_outputs(r, set, count);
}

void game_rig_destroy_set(game_rig *r, game_images_set *set)
{
    for (int i = 0; i < GAME_SETS; i++) {
        game_image_destroy(r, &set->color[i]);
        game_image_destroy(r, &set->motion[i]);
        game_image_destroy(r, &set->depth[i]);
        game_image_destroy(r, &set->output[i]);
    }
}

/* ---- frames ---- */

static d4r_size render_of(const game_rig *r, const game_case *c, uint32_t n)
{
    const d4r_size size = c->render[n % GAME_FRAMES];
    return size.width ? size : r->render;
}

/* Sections of a staging buffer. */
static VkDeviceSize motion_offset(void)
{
    return MAX_SIDE * MAX_SIDE * 16;
}
static VkDeviceSize depth_offset(void)
{
    return MAX_SIDE * MAX_SIDE * 24;
}

static uint8_t *place(uint8_t *plane, d4r_size size, const game_access *access, uint32_t bytes, uint32_t x,
                      uint32_t y)
{
    return plane +
           ((size_t)(y + access->origin_y) * (size.width + 2 * access->origin_x) + x + access->origin_x) *
               bytes;
}

void game_rig_fill(game_rig *r, const game_case *c, uint32_t n)
{
    uint8_t *color = r->staging[n % GAME_FRAMES].map, *motion = color + motion_offset();
    uint8_t *depth = color + depth_offset();
    const d4r_size render = render_of(r, c, n);
    memset(color, POISON, r->staging[n % GAME_FRAMES].size);
    for (uint32_t y = 0; y < render.height; y++)
        for (uint32_t x = 0; x < render.width; x++) {
            float rgba[4], vector[4] = {0, 0, POISON, POISON}, d;
            texel(r, c->damage, n, x, y, rgba, vector, &d);
            store_color(game_colors[c->color].format, rgba,
                        place(color, r->render, &c->color_access, game_colors[c->color].bytes, x, y));
            store_floats(place(motion, r->render, &c->motion_access, game_motions[c->motion].bytes, x, y),
                         vector, c->motion == 2 ? 4 : 2, c->motion != 1);
            store_depth(game_depths[c->depth].format, d,
                        place(depth, r->render, &c->depth_access, game_depths[c->depth].bytes, x, y));
        }
}

static void upload(game_rig *r, VkCommandBuffer commands, game_image *image, VkBuffer from,
                   VkDeviceSize offset, const game_access *access)
{
    const VkBufferImageCopy copy = whole(image, offset);
    move(r, commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    r->t->vk.fn.vkCmdCopyBufferToImage(commands, from, image->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                                       &copy);
    if (access->layout != image->now) move(r, commands, image, access->layout);
}

static void after_frame(game_image *image, const game_access *access)
{
    if (access->final_layout) image->now = access->final_layout;
}

static void submit(game_rig *r, uint32_t slot, const d4r_frame *frame)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    uint64_t done = ++r->queued;
    VkTimelineSemaphoreSubmitInfo values[2] = {{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &frame->tokens_ready},
                                               {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = 1,
                                                .pWaitSemaphoreValues = &frame->head_ready,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &done}};
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[0],
                                .commandBufferCount = 1,
                                .pCommandBuffers = &r->front[slot],
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &frame->timeline},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[1],
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &frame->timeline,
                                .pWaitDstStageMask = &stage,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &r->back[slot],
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &r->done}};
    must(r->t->vk.fn.vkQueueSubmit(r->t->queue, 2, submits, VK_NULL_HANDLE) == VK_SUCCESS, "vkQueueSubmit");
    must(d4r_network_submit(frame) == D4R_OK, "d4r_network_submit");
}

d4r_frame game_rig_frame(game_rig *r, const game_case *c, game_images_set *set, uint32_t n)
{
    const struct VolkDeviceTable *fn = &r->t->vk.fn;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const uint32_t slot = n % GAME_FRAMES, i = c->rotating ? n % GAME_SETS : 0;
    VkCommandBuffer front = r->front[slot], back = r->back[slot];
    const VkBuffer from = r->staging[slot].buffer;
    d4r_frame_settings settings = d4r_frame_settings_default(render_of(r, c, n));
    game_access output = c->output_access;
    d4r_game_images images;
    d4r_frame frame;
    settings.jitter = d4r_jitter(n, 32);
    settings.reset = n == 0 && !c->skip_reset;
    if (!output.final_layout) output.final_layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    must(fn->vkBeginCommandBuffer(front, &begin) == VK_SUCCESS, "vkBeginCommandBuffer");
    upload(r, front, &set->color[i], from, 0, &c->color_access);
    upload(r, front, &set->motion[i], from, motion_offset(), &c->motion_access);
    upload(r, front, &set->depth[i], from, depth_offset(), &c->depth_access);
    if (set->output[i].image == set->color[i].image) set->output[i].now = set->color[i].now;
    images = (d4r_game_images){
        .color = game_image_describe(&set->color[i], &c->color_access),
        .motion = game_image_describe(&set->motion[i], &c->motion_access),
        .depth = game_image_describe(&set->depth[i], &c->depth_access),
        .output = game_image_describe(&set->output[i], &output),
        .debug_view = {.view = r->debug_view.view,
                       .image = r->debug_view.image,
                       .layout = VK_IMAGE_LAYOUT_GENERAL,
                       .extent = {r->debug_view.extent.width, r->debug_view.extent.height}}};
    must(d4r_game_record_front(r->game, front, &images, &settings, &frame) == D4R_OK, rig_last_error());
    must(fn->vkEndCommandBuffer(front) == VK_SUCCESS, "vkEndCommandBuffer");
    must(fn->vkBeginCommandBuffer(back, &begin) == VK_SUCCESS, "vkBeginCommandBuffer");
    must(d4r_game_record_back(r->game, back, &frame) == D4R_OK, "d4r_game_record_back");
    after_frame(&set->color[i], &c->color_access);
    after_frame(&set->motion[i], &c->motion_access);
    after_frame(&set->depth[i], &c->depth_access);
    after_frame(&set->output[i], &output);
    if (output.final_layout != VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)
        move(r, back, &set->output[i], VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    if (set->output[i].image == set->color[i].image) set->color[i].now = set->output[i].now;
    const VkBufferImageCopy copy = whole(&set->output[i], 0);
    fn->vkCmdCopyImageToBuffer(back, set->output[i].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               r->readback[slot].buffer, 1, &copy);
    must(fn->vkEndCommandBuffer(back) == VK_SUCCESS, "vkEndCommandBuffer");
    submit(r, slot, &frame);
    return frame;
}

void game_rig_wait(game_rig *r)
{
    must(d4r_timeline_wait(&r->t->vk, r->done, r->queued, RIG_PATIENCE_MS * 1000000ull) == VK_SUCCESS,
         "the frames have not finished");
}

const uint8_t *game_rig_output(game_rig *r, const game_case *c, uint32_t n, size_t *bytes)
{
    const game_access *a = &c->output_access;
    const size_t texel_bytes = game_outputs[c->output].bytes, row = r->output.width * texel_bytes;
    const size_t pitch = (r->output.width + 2 * a->origin_x) * texel_bytes;
    const size_t height = r->output.height + 2 * a->origin_y;
    uint8_t *all = r->readback[n % GAME_FRAMES].map;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < pitch; x++) {
            const bool inside = y >= a->origin_y && y < a->origin_y + r->output.height &&
                                x >= a->origin_x * texel_bytes && x < a->origin_x * texel_bytes + row;
            must(inside || all[y * pitch + x] == POISON, "the output was written beyond its rectangle");
        }
    for (uint32_t y = 0; y < r->output.height; y++)
        memmove(all + y * row, all + (y + a->origin_y) * pitch + a->origin_x * texel_bytes, row);
    *bytes = row * r->output.height;
    return all;
}

uint8_t *game_rig_run_case(game_rig *r, const game_case *c, size_t *frame_bytes)
{
    const uint32_t frames = c->frames ? c->frames : GAME_FRAMES;
    game_images_set set;
    uint8_t *outputs;
    game_rig_create_set(r, c, &set);
    *frame_bytes = (size_t)r->output.width * r->output.height * game_outputs[c->output].bytes;
    outputs = malloc(*frame_bytes * frames);
    must(outputs != NULL, "out of memory");
    for (uint32_t n = 0; n < frames; n++) game_rig_fill(r, c, n);
    for (uint32_t n = 0; n < frames; n++) {
        d4r_frame frame = game_rig_frame(r, c, &set, n);
        if (c->queued) continue;
        game_rig_wait(r);
        must(d4r_frame_status(&frame) == D4R_OK, "a frame failed");
    }
    game_rig_wait(r);
    for (uint32_t n = 0; n < frames; n++) {
        const uint8_t *output = game_rig_output(r, c, n, frame_bytes);
        memcpy(outputs + n * *frame_bytes, output, *frame_bytes);
    }
    game_rig_destroy_set(r, &set);
    return outputs;
}

game_case game_case_plain(void)
{
    const game_access color = {.layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    const game_access depth = {.layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL};
    return (game_case){.color_access = color, .motion_access = color, .depth_access = depth};
}
