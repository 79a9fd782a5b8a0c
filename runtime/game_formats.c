/* The formats that the game adapter knows. */
#include "runtime/game.h"

#define COLOR (1u << D4R_SLOT_COLOR)
#define DEPTH (1u << D4R_SLOT_DEPTH)
#define MOTION (1u << D4R_SLOT_MOTION)
#define EXPOSURE (1u << D4R_SLOT_EXPOSURE)

static const struct {
    VkFormat format;
    unsigned slots;
    VkFormat encoded; /* sRGB: the UNORM format of the same bits */
} inputs[] = {
    {VK_FORMAT_R16G16B16A16_SFLOAT, COLOR | MOTION | EXPOSURE, 0},
    {VK_FORMAT_R32G32B32A32_SFLOAT, COLOR | MOTION | EXPOSURE, 0},
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32, COLOR, 0},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, COLOR, 0},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, COLOR, 0},
    {VK_FORMAT_R8G8B8A8_UNORM, COLOR, 0},
    {VK_FORMAT_B8G8R8A8_UNORM, COLOR, 0},
    {VK_FORMAT_R8G8B8A8_SRGB, COLOR, VK_FORMAT_R8G8B8A8_UNORM},
    {VK_FORMAT_B8G8R8A8_SRGB, COLOR, VK_FORMAT_B8G8R8A8_UNORM},
    {VK_FORMAT_R16G16B16A16_UNORM, COLOR, 0},
    {VK_FORMAT_R16G16B16A16_SNORM, MOTION, 0},
    {VK_FORMAT_R16G16_SFLOAT, MOTION | EXPOSURE, 0},
    {VK_FORMAT_R32G32_SFLOAT, MOTION | EXPOSURE, 0},
    {VK_FORMAT_R16G16_SNORM, MOTION, 0},
    {VK_FORMAT_R32_SFLOAT, DEPTH | EXPOSURE, 0},
    {VK_FORMAT_R16_SFLOAT, DEPTH | EXPOSURE, 0},
    {VK_FORMAT_R16_UNORM, DEPTH, 0},
    {VK_FORMAT_D32_SFLOAT, DEPTH, 0},
    {VK_FORMAT_D32_SFLOAT_S8_UINT, DEPTH, 0},
    {VK_FORMAT_D16_UNORM, DEPTH, 0},
    {VK_FORMAT_D16_UNORM_S8_UINT, DEPTH, 0},
    {VK_FORMAT_X8_D24_UNORM_PACK32, DEPTH, 0},
    {VK_FORMAT_D24_UNORM_S8_UINT, DEPTH, 0},
};

const char *d4r_game_slot_name(enum d4r_game_slot slot)
{
    static const char *const names[D4R_SLOTS] = {"color", "depth", "motion", "exposure", "output"};
    return names[slot];
}

#define INPUT_COUNT (sizeof inputs / sizeof inputs[0])
_Static_assert(INPUT_COUNT <= 32, "bits of d4r_game_formats");

static size_t input_index(VkFormat format)
{
    size_t i = 0;
    while (i < INPUT_COUNT && inputs[i].format != format) i++;
    return i;
}

static bool has(const d4r_vk *vk, VkFormat format, VkFormatFeatureFlags features)
{
    PFN_vkGetPhysicalDeviceFormatProperties get =
        (PFN_vkGetPhysicalDeviceFormatProperties)vk->get_instance_proc_addr(
            vk->instance, "vkGetPhysicalDeviceFormatProperties");
    VkFormatProperties properties = {0};
    if (get) get(vk->physical_device, format, &properties);
    return (properties.optimalTilingFeatures & features) == features;
}

void d4r_game_query_inputs(const d4r_vk *vk, d4r_game_formats *formats)
{
    formats->sampled = formats->blit_source = 0;
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        formats->sampled |= (uint32_t)has(vk, inputs[i].format, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) << i;
        formats->blit_source |= (uint32_t)has(vk, inputs[i].format, VK_FORMAT_FEATURE_BLIT_SRC_BIT) << i;
    }
    formats->wide = has(vk, VK_FORMAT_R32G32B32A32_SFLOAT,
                        VK_FORMAT_FEATURE_BLIT_DST_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT);
}

bool d4r_game_input_format(const d4r_game_formats *formats, enum d4r_game_slot slot, VkFormat format,
                           bool ldr, d4r_game_input *input)
{
    const size_t i = input_index(format);
    if (i == INPUT_COUNT || !(inputs[i].slots >> slot & 1)) return false;
    input->read_format = ldr && inputs[i].encoded ? inputs[i].encoded : format;
    input->sampled = formats->sampled >> input_index(input->read_format) & 1;
    input->blit_source = formats->blit_source >> i & 1;
    return true;
}

/* Formats that a blit of half floats fills: colour, neither integer nor sRGB (in LDR the values are encoded already). */
static bool fills_by_blit(const d4r_vk *vk, VkFormat format)
{
    const bool known = format == VK_FORMAT_R32G32B32A32_SFLOAT || format == VK_FORMAT_R16G16B16A16_UNORM ||
                       format == VK_FORMAT_A8B8G8R8_UNORM_PACK32 ||
                       format == VK_FORMAT_B10G11R11_UFLOAT_PACK32 ||
                       format == VK_FORMAT_A2B10G10R10_UNORM_PACK32;
    return known && has(vk, format, VK_FORMAT_FEATURE_BLIT_DST_BIT) &&
           has(vk, VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_FEATURE_BLIT_SRC_BIT);
}

VkFormat d4r_game_engine_format(const d4r_vk *vk, VkFormat output_format, d4r_game_route *route)
{
    const VkFormat storage = d4r_stages_output_storage(output_format);
    const bool stores =
        storage != VK_FORMAT_UNDEFINED && has(vk, storage, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT);
    *route = stores                             ? D4R_GAME_COPIED
             : fills_by_blit(vk, output_format) ? D4R_GAME_CONVERTED
                                                : D4R_GAME_UNUSED;
    if (stores) return output_format;
    return *route == D4R_GAME_CONVERTED ? VK_FORMAT_R16G16B16A16_SFLOAT : VK_FORMAT_UNDEFINED;
}
