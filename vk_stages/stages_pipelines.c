/* One pipeline a stage; the reconstruction has one a tier of its shared tile. */
#include "vk_stages/stages_internal.h"

#define SHADER(name)              \
    extern const uint32_t name[]; \
    extern const size_t name##_size;
SHADER(d4r_spv_exposure_sum)
SHADER(d4r_spv_exposure)
SHADER(d4r_spv_input)
SHADER(d4r_spv_expansion)
SHADER(d4r_spv_reconstruction)
SHADER(d4r_spv_downsample_rgba16f)
SHADER(d4r_spv_downsample_rgb10a2)

typedef struct stage_code {
    const char *name;
    const uint32_t *words;
    size_t bytes;
    int32_t tile;
} stage_code;

static stage_code code_of(const d4r_m_stages *stages, enum d4r_m_pipeline pipeline)
{
    switch (pipeline) {
    case D4R_M_EXPOSURE_SUM:
        return (stage_code){"exposure_sum", d4r_spv_exposure_sum, d4r_spv_exposure_sum_size, 0};
    case D4R_M_EXPOSURE:
        return (stage_code){"exposure", d4r_spv_exposure, d4r_spv_exposure_size, 0};
    case D4R_M_INPUT:
        return (stage_code){"input", d4r_spv_input, d4r_spv_input_size, 0};
    case D4R_M_EXPANSION:
        return (stage_code){"expansion", d4r_spv_expansion, d4r_spv_expansion_size, 0};
    case D4R_M_RECONSTRUCTION_10:
        return (stage_code){"reconstruction 10", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 10};
    case D4R_M_RECONSTRUCTION_11:
        return (stage_code){"reconstruction 11", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 11};
    case D4R_M_RECONSTRUCTION_15:
        return (stage_code){"reconstruction 15", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 15};
    default:
        break;
    }
    if (stages->desc.output_format == VK_FORMAT_A2B10G10R10_UNORM_PACK32)
        return (stage_code){"downsample", d4r_spv_downsample_rgb10a2, d4r_spv_downsample_rgb10a2_size, 0};
    return (stage_code){"downsample", d4r_spv_downsample_rgba16f, d4r_spv_downsample_rgba16f_size, 0};
}

static d4r_status create_pipeline(d4r_m_stages *stages, enum d4r_m_pipeline which)
{
    const d4r_vk *vk = stages->desc.vk;
    const stage_code code = code_of(stages, which);
    const struct {
        uint32_t exact_filter, ldr;
        int32_t tile;
    } values = {stages->desc.exact_filter, stages->desc.conventions.ldr, code.tile};
    /* A stage ignores constants that it does not declare. */
    const VkSpecializationMapEntry entries[] = {
        {D4R_SPEC_EXACT_FILTER, 0, 4}, {D4R_SPEC_LDR, 4, 4}, {D4R_SPEC_TILE, 8, 4}};
    const VkSpecializationInfo constants = {3, entries, sizeof values, &values};
    VkShaderModule module;
    VkResult result =
        vk->fn.vkCreateShaderModule(vk->device,
                                    &(VkShaderModuleCreateInfo){VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                                NULL, 0, code.bytes, code.words},
                                    vk->allocator, &module);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, code.name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = stages->pipeline_layout};
    result = vk->fn.vkCreateComputePipelines(vk->device, VK_NULL_HANDLE, 1, &info, vk->allocator,
                                             &stages->pipelines[which]);
    vk->fn.vkDestroyShaderModule(vk->device, module, vk->allocator);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(vk, result, code.name);
}

d4r_status d4r_m_stages_create_pipelines(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
    const VkDescriptorSetLayout layouts[] = {stages->own_layout, stages->inputs.layout,
                                             stages->outputs.layout};
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 3, .pSetLayouts = layouts};
    VkResult result =
        vk->fn.vkCreatePipelineLayout(vk->device, &info, vk->allocator, &stages->pipeline_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "pipeline layout");
    for (int i = 0; i < D4R_M_PIPELINE_COUNT; i++) {
        d4r_status status = create_pipeline(stages, i);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

void d4r_m_stages_destroy_pipelines(d4r_m_stages *stages)
{
    const d4r_vk *vk = stages->desc.vk;
    for (int i = 0; i < D4R_M_PIPELINE_COUNT; i++)
        if (stages->pipelines[i]) vk->fn.vkDestroyPipeline(vk->device, stages->pipelines[i], vk->allocator);
    if (stages->pipeline_layout)
        vk->fn.vkDestroyPipelineLayout(vk->device, stages->pipeline_layout, vk->allocator);
}
