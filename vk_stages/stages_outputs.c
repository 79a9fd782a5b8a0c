/* Output formats, and the pipelines of stages: the same for every preset. */
#include "vk_stages/stages_base.h"

static const struct {
    VkFormat format, storage;
    bool swapped, srgb; /* blue comes first; the format stores sRGB-encoded values */
} outputs[] = {
    {VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT, false, false},
    {VK_FORMAT_B10G11R11_UFLOAT_PACK32, VK_FORMAT_B10G11R11_UFLOAT_PACK32, false, false},
    {VK_FORMAT_A2B10G10R10_UNORM_PACK32, VK_FORMAT_A2B10G10R10_UNORM_PACK32, false, false},
    {VK_FORMAT_A2R10G10B10_UNORM_PACK32, VK_FORMAT_A2B10G10R10_UNORM_PACK32, true, false},
    {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, false, false},
    {VK_FORMAT_R8G8B8A8_SRGB, VK_FORMAT_R8G8B8A8_UNORM, false, true},
    {VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM, true, false},
    {VK_FORMAT_B8G8R8A8_SRGB, VK_FORMAT_R8G8B8A8_UNORM, true, true},
};
_Static_assert(sizeof outputs / sizeof outputs[0] == D4R_OUTPUTS, "output formats");

size_t d4r_output_index(VkFormat format)
{
    size_t i = 0;
    while (i < D4R_OUTPUTS && outputs[i].format != format) i++;
    return i;
}

VkFormat d4r_stages_output_storage(VkFormat output_format)
{
    const size_t i = d4r_output_index(output_format);
    return i < D4R_OUTPUTS ? outputs[i].storage : VK_FORMAT_UNDEFINED;
}

uint32_t d4r_output_flags(size_t output, bool ldr)
{
    return (outputs[output].swapped ? D4R_OUTPUT_SWAP : 0) |
           (outputs[output].srgb && !ldr ? D4R_OUTPUT_ENCODE_SRGB : 0);
}

VkFormat d4r_output_storage_of(size_t output)
{
    return outputs[output].storage;
}

d4r_status d4r_create_stage_pipeline(const d4r_vk *vk, VkPipelineLayout layout, const d4r_stage_code *code,
                                     bool exact_filter, bool ldr, uint32_t output_flags, VkPipeline *pipeline)
{
    const struct {
        uint32_t exact_filter, ldr;
        int32_t tile;
        uint32_t output;
    } values = {exact_filter, ldr, code->tile, output_flags};
    const VkSpecializationMapEntry entries[] = {
        {D4R_SPEC_EXACT_FILTER, 0, 4}, {D4R_SPEC_LDR, 4, 4}, {D4R_SPEC_TILE, 8, 4}, {D4R_SPEC_OUTPUT, 12, 4}};
    const VkSpecializationInfo constants = {4, entries, sizeof values, &values};
    VkShaderModule module;
    VkResult result =
        vk->fn.vkCreateShaderModule(vk->device,
                                    &(VkShaderModuleCreateInfo){VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                                NULL, 0, code->bytes, code->words},
                                    vk->allocator, &module);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, code->name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, code->name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = layout};
    result = vk->fn.vkCreateComputePipelines(vk->device, VK_NULL_HANDLE, 1, &info, vk->allocator, pipeline);
    vk->fn.vkDestroyShaderModule(vk->device, module, vk->allocator);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, code->name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_PIPELINE, (uint64_t)*pipeline, code->name);
    return D4R_OK;
}
