/* Creation and destruction of preset K's stages, their images and buffers, and the table of functions. */
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"
#include "vk_stages/k_stages_internal.h"

#define TABLES 16 /* of lut.bin */
#define MOST_SHARED_BYTES (20 * 20 * 16 + D4R_K_SUB_BLOCKS * D4R_K_SUB_BLOCKS * 40)

static d4r_size divided(d4r_size size, uint32_t by)
{
    return (d4r_size){(size.width + by - 1) / by, (size.height + by - 1) / by};
}

static d4r_status check_limits(const d4r_k_stages *stages)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    const VkPhysicalDeviceLimits *limits = &desc->vk->properties.limits;
    const uint64_t side = desc->output.width > desc->output.height ? desc->output.width : desc->output.height;
    const d4r_stages_limit checks[] = {
        {"maxImageDimension2D", limits->maxImageDimension2D, side},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, desc->token_bytes},
        {"maxStorageBufferRange", limits->maxStorageBufferRange, desc->head_bytes},
        {"maxPerStageDescriptorStorageBuffers", limits->maxPerStageDescriptorStorageBuffers, 5},
        {"maxPerStageDescriptorStorageImages", limits->maxPerStageDescriptorStorageImages, 5},
        {"maxPerStageDescriptorSampledImages", limits->maxPerStageDescriptorSampledImages, 8},
        {"maxComputeWorkGroupInvocations", limits->maxComputeWorkGroupInvocations, 256},
        {"maxComputeSharedMemorySize", limits->maxComputeSharedMemorySize, MOST_SHARED_BYTES},
    };
    return d4r_stages_check_limits(&stages->base, "K", checks, sizeof checks / sizeof *checks);
}

/* ---- memory */

static d4r_status create_images(d4r_k_stages *stages)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    const struct {
        const char *name;
        VkFormat format;
        uint32_t divisor; /* output pixels a texel, per axis */
    } table[D4R_K_IMAGE_COUNT] = {
        [D4R_K_HISTORY] = {"history even", VK_FORMAT_R16G16B16A16_SFLOAT, 1},
        [D4R_K_HISTORY_ODD] = {"history odd", VK_FORMAT_R16G16B16A16_SFLOAT, 1},
        [D4R_K_RECURRENT_LOW] = {"recurrent 0-3", VK_FORMAT_R16G16B16A16_SFLOAT, 4},
        [D4R_K_RECURRENT_HIGH] = {"recurrent 4-7", VK_FORMAT_R16G16B16A16_SFLOAT, 4},
        [D4R_K_MOTION] = {"motion", VK_FORMAT_R16G16_SFLOAT, 2},
    };
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                                    VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    for (int i = 0; i < D4R_K_IMAGE_COUNT; i++) {
        const d4r_size size = divided(desc->output, table[i].divisor);
        d4r_status status =
            d4r_vk_image_create(desc->vk, table[i].name, table[i].format,
                                (VkExtent2D){size.width, size.height}, usage, &stages->images[i]);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

static d4r_status create_buffers(d4r_k_stages *stages)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    const d4r_size groups = divided(desc->max_render, D4R_EXPOSURE_BLOCK);
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    const struct {
        const char *name;
        VkDeviceSize size;
        VkBufferUsageFlags usage;
    } table[D4R_K_BUFFER_COUNT] = {
        [D4R_K_PARAMS] = {"parameters", 256,
                          VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT},
        [D4R_K_TABLES] = {"kernel tables", sizeof stages->tables, storage | VK_BUFFER_USAGE_TRANSFER_DST_BIT},
        [D4R_K_PARTIALS] = {"exposure sums", (VkDeviceSize)groups.width * groups.height * 8, storage},
        [D4R_K_EXPOSURE_STATE] = {"exposure", 16, storage},
    };
    _Static_assert(sizeof stages->params <= 256, "parameter buffer");
    for (int i = 0; i < D4R_K_BUFFER_COUNT; i++) {
        d4r_status status =
            d4r_vk_buffer_create(desc->vk, table[i].name, table[i].size, table[i].usage,
                                 VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, false, &stages->buffers[i]);
        if (status != D4R_OK) return status;
    }
    stages->base.params_buffer = stages->buffers[D4R_K_PARAMS].buffer;
    stages->base.exposure_buffer = stages->buffers[D4R_K_EXPOSURE_STATE].buffer;
    return D4R_OK;
}

static uint64_t device_bytes(const d4r_stages *base)
{
    const d4r_k_stages *stages = (const d4r_k_stages *)base;
    uint64_t sum = 0;
    for (int i = 0; i < D4R_K_IMAGE_COUNT; i++) sum += stages->images[i].allocation;
    for (int i = 0; i < D4R_K_BUFFER_COUNT; i++) sum += stages->buffers[i].allocation;
    return sum;
}

static uint64_t weight_bytes(const d4r_stages *base)
{
    return ((const d4r_k_stages *)base)->buffers[D4R_K_TABLES].allocation;
}

/* ---- creation */

/* Keeps the even tables from D4R_K_FIRST_TABLE to 14: no ratio asks for another. */
static d4r_status take_tables(d4r_k_stages *stages, const d4r_stages_desc *desc)
{
    if (!desc->tables || desc->table_bytes != TABLES * D4R_K_TABLE_BYTES)
        return d4r_fail(&desc->vk->log, D4R_ERROR_ARGUMENT, "kernel tables: %zu bytes, not %d",
                        desc->tables ? desc->table_bytes : (size_t)0, TABLES * D4R_K_TABLE_BYTES);
    for (size_t i = 0; i < D4R_K_TABLES_USED; i++)
        memcpy(stages->tables + i * D4R_K_TABLE_BYTES,
               desc->tables + (D4R_K_FIRST_TABLE + 2 * i) * D4R_K_TABLE_BYTES, D4R_K_TABLE_BYTES);
    return D4R_OK;
}

static d4r_status create_parts(d4r_k_stages *stages, const d4r_stages_desc *desc)
{
    d4r_status status = take_tables(stages, desc);
    if (status == D4R_OK) status = check_limits(stages);
    if (status == D4R_OK) status = d4r_k_programs_get(stages, (const d4r_k_stages *)desc->share);
    if (status == D4R_OK) status = create_images(stages);
    if (status == D4R_OK) status = create_buffers(stages);
    if (status == D4R_OK) status = d4r_k_create_descriptors(stages);
    return status;
}

static void destroy(d4r_stages *base)
{
    d4r_k_stages *stages = d4r_k_stages_of(base);
    const d4r_vk *vk = base->desc.vk;
    d4r_own_sets_destroy(base);
    d4r_k_programs_release(&stages->programs);
    for (int i = 0; i < D4R_K_IMAGE_COUNT; i++) d4r_vk_image_destroy(vk, &stages->images[i]);
    for (int i = 0; i < D4R_K_BUFFER_COUNT; i++) d4r_vk_buffer_destroy(vk, &stages->buffers[i]);
    free(stages);
}

static d4r_status create(const d4r_stages_desc *desc, d4r_stages **out)
{
    d4r_k_stages *stages = calloc(1, sizeof *stages);
    if (!stages) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "stages: out of memory");
    d4r_stages_init(&stages->base, &d4r_k_stages_ops, desc);
    d4r_status status = create_parts(stages, desc);
    if (status == D4R_OK)
        *out = &stages->base;
    else
        destroy(&stages->base);
    return status;
}

/* ---- resources of the last frame */

static uint32_t resources(const d4r_stages *base, d4r_stage_resource *items, uint32_t capacity)
{
    const d4r_k_stages *stages = (const d4r_k_stages *)base;
    d4r_resource_list list = {items, capacity, 0};
    const d4r_vk_image *images = stages->images;
    const int now = base->frame.index & 1, before = 1 - now;
    const d4r_size output = base->desc.output, tokens = divided(output, 4);
    const d4r_size grid = {(uint32_t)stages->params.grid.x, (uint32_t)stages->params.grid.y};
    d4r_resource_buffer(&list, stages->buffers[D4R_K_EXPOSURE_STATE].buffer, "exposure", "exposure", false,
                        (d4r_size){1, 1}, 4, "<f4");
    d4r_resource_image(&list, &images[D4R_K_MOTION], "input", "motion", false, divided(output, 2));
    d4r_resource_buffer(&list, base->desc.tokens, "input", "tokens", false, grid, 32, "<f2");
    d4r_resource_buffer(&list, base->desc.head, "reconstruction", "head", true, grid, 40, "<f2");
    d4r_resource_image(&list, &images[D4R_K_HISTORY + before], "reconstruction", "history_previous", true,
                       output);
    d4r_resource_image(&list, &images[D4R_K_RECURRENT_LOW], "reconstruction", "recurrent_low", false, tokens);
    d4r_resource_image(&list, &images[D4R_K_RECURRENT_HIGH], "reconstruction", "recurrent_high", false,
                       tokens);
    d4r_resource_image(&list, &images[D4R_K_HISTORY + now], "reconstruction", "history", false, output);
    return list.count;
}

static const char *const marks[] = {"begin", "exposure", "input", "acquire", "reconstruction"};

const d4r_stages_ops d4r_k_stages_ops = {.create = create,
                                         .destroy = destroy,
                                         .record_front = d4r_k_stages_record_front,
                                         .record_back = d4r_k_stages_record_back,
                                         .device_bytes = device_bytes,
                                         .weight_bytes = weight_bytes,
                                         .resources = resources,
                                         .marks = marks,
                                         .mark_count = sizeof marks / sizeof *marks,
                                         .front_marks = 3,
                                         .debug_view = &d4r_k_debug_view};
