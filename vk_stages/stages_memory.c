/* Preset M's images and buffers, and how much memory they hold. */
#include "vk_stages/stages_internal.h"
#include "models/format/m_layout.h"
#include <math.h>
#include <string.h>

enum extent_kind { RENDER, RECONSTRUCTION, HALF };

static const struct {
    const char *name;
    VkFormat format;
    enum extent_kind extent;
} image_table[D4R_M_IMAGE_COUNT] = {
    [D4R_M_MV_A] = {"mv_a even", VK_FORMAT_R16G16_SFLOAT, RENDER},
    [D4R_M_MV_A_ODD] = {"mv_a odd", VK_FORMAT_R16G16_SFLOAT, RENDER},
    [D4R_M_RECURRENT] = {"recurrent even", VK_FORMAT_R8G8B8A8_SNORM, RENDER},
    [D4R_M_RECURRENT_ODD] = {"recurrent odd", VK_FORMAT_R8G8B8A8_SNORM, RENDER},
    [D4R_M_HISTORY] = {"history even", VK_FORMAT_R16G16B16A16_SFLOAT, RECONSTRUCTION},
    [D4R_M_HISTORY_ODD] = {"history odd", VK_FORMAT_R16G16B16A16_SFLOAT, RECONSTRUCTION},
    [D4R_M_MV_B] = {"mv_b", VK_FORMAT_R16G16_SFLOAT, RENDER},
    [D4R_M_MV_C] = {"mv_c", VK_FORMAT_R16G16_SFLOAT, RENDER},
    [D4R_M_GATES] = {"gates", VK_FORMAT_R8G8B8A8_UNORM, RENDER},
    [D4R_M_MIX] = {"mix", VK_FORMAT_R8G8B8A8_UNORM, RENDER},
    [D4R_M_COVARIANCE] = {"covariance", VK_FORMAT_R16G16B16A16_SFLOAT, RENDER},
    [D4R_M_HALF] = {"half", VK_FORMAT_R16G16B16A16_SFLOAT, HALF},
};

static d4r_status create_buffers(d4r_m_stages *stages)
{
    const d4r_size m = stages->base.desc.max_render, r = stages->reconstruction;
    const uint32_t block = D4R_EXPOSURE_BLOCK;
    const VkDeviceSize groups =
        (VkDeviceSize)((m.width + block - 1) / block) * ((m.height + block - 1) / block);
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    const struct {
        const char *name;
        VkDeviceSize size;
        VkBufferUsageFlags usage;
    } table[D4R_M_BUFFER_COUNT] = {
        [D4R_M_PARAMS] = {"parameters", 256,
                          VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT},
        [D4R_M_WEIGHTS] = {"stage weights", sizeof stages->weights,
                           storage | VK_BUFFER_USAGE_TRANSFER_DST_BIT},
        [D4R_M_PARTIALS] = {"exposure sums", groups * 8, storage},
        [D4R_M_EXPOSURE_STATE] = {"exposure", 16, storage},
        [D4R_M_PACKED] = {"display", 4ull * r.width * r.height, storage},
    };
    _Static_assert(sizeof(d4r_m_params) <= 256, "parameter buffer");
    for (int i = 0; i < D4R_M_BUFFER_COUNT; i++) {
        d4r_status status =
            d4r_vk_buffer_create(stages->base.desc.vk, table[i].name, table[i].size, table[i].usage,
                                 VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, false, &stages->buffers[i]);
        if (status != D4R_OK) return status;
    }
    stages->base.params_buffer = stages->buffers[D4R_M_PARAMS].buffer;
    stages->base.exposure_buffer = stages->buffers[D4R_M_EXPOSURE_STATE].buffer;
    return D4R_OK;
}

d4r_status d4r_m_stages_create_memory(d4r_m_stages *stages)
{
    const d4r_size sizes[] = {[RENDER] = stages->base.desc.max_render,
                              [RECONSTRUCTION] = stages->reconstruction,
                              [HALF] = stages->half_size};
    const VkImageUsageFlags usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                                    VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    for (int i = 0; i < D4R_M_IMAGE_COUNT; i++) {
        const d4r_size s = sizes[image_table[i].extent];
        d4r_status status =
            d4r_vk_image_create(stages->base.desc.vk, image_table[i].name, image_table[i].format,
                                (VkExtent2D){s.width, s.height}, usage, &stages->images[i]);
        if (status != D4R_OK) return status;
    }
    return create_buffers(stages);
}

void d4r_m_stages_destroy_memory(d4r_m_stages *stages)
{
    for (int i = 0; i < D4R_M_IMAGE_COUNT; i++)
        d4r_vk_image_destroy(stages->base.desc.vk, &stages->images[i]);
    for (int i = 0; i < D4R_M_BUFFER_COUNT; i++)
        d4r_vk_buffer_destroy(stages->base.desc.vk, &stages->buffers[i]);
}

uint64_t d4r_m_stages_device_bytes(const d4r_stages *base)
{
    const d4r_m_stages *stages = (const d4r_m_stages *)base;
    uint64_t sum = 0;
    for (int i = 0; i < D4R_M_IMAGE_COUNT; i++) sum += stages->images[i].allocation;
    for (int i = 0; i < D4R_M_BUFFER_COUNT; i++) sum += stages->buffers[i].allocation;
    return sum;
}

uint64_t d4r_m_stages_weight_bytes(const d4r_stages *base)
{
    return ((const d4r_m_stages *)base)->buffers[D4R_M_WEIGHTS].allocation;
}

/* ---- weights */

static float fp8_value(uint8_t code)
{
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if ((code & 127) == 127) return 0.0f; /* NaN: the model loader refuses it; never let it spread */
    const float a = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
    return code & 128 ? -a : a;
}

void d4r_m_stages_decode_weights(const uint8_t *bytes, float *weights)
{
    memset(weights, 0, D4R_WEIGHT_VEC4 * 4 * sizeof *weights);
    const uint8_t *embed = bytes + D4R_M_STAGE_EMBED_WEIGHT;
    for (int q = 0; q < 4; q++)
        for (int s = 0; s < D4R_M_FEATURES_USED; s++)
            for (int c = 0; c < D4R_M_TOKEN_CHANNELS; c++)
                weights[D4R_WEIGHT_EMBED * 4 + (q * D4R_M_FEATURES_USED + s) * 64 + c] =
                    fp8_value(embed[c * D4R_M_EMBED_IN + q * D4R_M_FEATURES + s]);
    memcpy(weights + D4R_WEIGHT_EMBED_BIAS * 4, bytes + D4R_M_STAGE_EMBED_BIAS, 64 * sizeof(float));
    const uint8_t *expansion = bytes + D4R_M_STAGE_EXPANSION_WEIGHT;
    for (int q = 0; q < 4; q++) {
        for (int j = 0; j < D4R_M_VALUES; j++) {
            const int row = D4R_M_VALUES * q + j;
            for (int k = 0; k < 64; k++)
                weights[D4R_WEIGHT_EXPANSION * 4 + (q * 64 + k) * 20 + j] =
                    fp8_value(expansion[row * 64 + k]);
        }
        memcpy(weights + D4R_WEIGHT_EXPANSION_BIAS * 4 + q * 20,
               bytes + D4R_M_STAGE_EXPANSION_BIAS + q * D4R_M_VALUES * 4, D4R_M_VALUES * sizeof(float));
    }
}

/* ---- resources of the last frame */

uint32_t d4r_m_stages_resources(const d4r_stages *base, d4r_stage_resource *resources, uint32_t capacity)
{
    const d4r_m_stages *stages = (const d4r_m_stages *)base;
    d4r_resource_list list = {resources, capacity, 0};
    const int now = base->frame.index & 1, before = 1 - now;
    const d4r_size render = base->frame.settings.render;
    const d4r_size grid = {(uint32_t)stages->params.grid.x, (uint32_t)stages->params.grid.y};
    const d4r_size r = stages->reconstruction;
    d4r_resource_buffer(&list, stages->buffers[D4R_M_EXPOSURE_STATE].buffer, "exposure", "exposure", false,
                        (d4r_size){1, 1}, 4, "<f4");
    d4r_resource_image(&list, &stages->images[D4R_M_MV_A + before], "input", "mv_a_previous", true, render);
    d4r_resource_image(&list, &stages->images[D4R_M_RECURRENT + before], "input", "recurrent_previous", true,
                       render);
    d4r_resource_image(&list, &stages->images[D4R_M_MV_A + now], "input", "mv_a", false, render);
    d4r_resource_image(&list, &stages->images[D4R_M_MV_B], "input", "mv_b", false, render);
    d4r_resource_image(&list, &stages->images[D4R_M_MV_C], "input", "mv_c", false, render);
    d4r_resource_buffer(&list, stages->base.desc.tokens, "input", "tokens", false, grid, 64, "|u1");
    d4r_resource_buffer(&list, stages->base.desc.head, "expansion", "head", true, grid, 64, "|u1");
    d4r_resource_image(&list, &stages->images[D4R_M_RECURRENT + now], "expansion", "recurrent", false,
                       render);
    d4r_resource_image(&list, &stages->images[D4R_M_GATES], "expansion", "gates", false, render);
    d4r_resource_image(&list, &stages->images[D4R_M_MIX], "expansion", "mix", false, render);
    d4r_resource_image(&list, &stages->images[D4R_M_COVARIANCE], "expansion", "covariance", false, render);
    d4r_resource_image(&list, &stages->images[D4R_M_HISTORY + before], "reconstruction", "history_previous",
                       true, r);
    d4r_resource_image(&list, &stages->images[D4R_M_HISTORY + now], "reconstruction", "history", false, r);
    d4r_resource_image(&list, &stages->images[D4R_M_HALF], "reconstruction", "half", false,
                       stages->half_size);
    d4r_resource_buffer(&list, stages->buffers[D4R_M_PACKED].buffer, "reconstruction", "display", false, r, 1,
                        "<u4");
    return list.count;
}
