/* Pipelines, one a stage (the reconstruction has one a tier of its shared tile), and output formats. */
#include "vk_stages/stages_internal.h"
#include <stdlib.h>
#include "runtime/base/log.h"

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
SHADER(d4r_spv_downsample_rgba8)
SHADER(d4r_spv_downsample_r11g11b10f)

typedef struct stage_code {
    const char *name;
    const uint32_t *words;
    size_t bytes;
    int32_t tile;
} stage_code;

/* ---- output formats ---- */

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
_Static_assert(sizeof outputs / sizeof outputs[0] == D4R_M_OUTPUTS, "output formats");

/* D4R_M_OUTPUTS: unknown. */
static size_t output_index(VkFormat format)
{
    size_t i = 0;
    while (i < D4R_M_OUTPUTS && outputs[i].format != format) i++;
    return i;
}

VkFormat d4r_m_output_storage(VkFormat output_format)
{
    const size_t i = output_index(output_format);
    return i < D4R_M_OUTPUTS ? outputs[i].storage : VK_FORMAT_UNDEFINED;
}

/* D4R_OUTPUT_* of params.h. LDR values are display-referred already: they are stored as they are. */
static uint32_t output_flags(size_t output, bool ldr)
{
    return (outputs[output].swapped ? D4R_OUTPUT_SWAP : 0) |
           (outputs[output].srgb && !ldr ? D4R_OUTPUT_ENCODE_SRGB : 0);
}

static stage_code downsample_code(VkFormat storage)
{
    switch (storage) {
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        return (stage_code){"downsample", d4r_spv_downsample_rgb10a2, d4r_spv_downsample_rgb10a2_size, 0};
    case VK_FORMAT_R8G8B8A8_UNORM:
        return (stage_code){"downsample", d4r_spv_downsample_rgba8, d4r_spv_downsample_rgba8_size, 0};
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
        return (stage_code){"downsample", d4r_spv_downsample_r11g11b10f, d4r_spv_downsample_r11g11b10f_size,
                            0};
    default:
        return (stage_code){"downsample", d4r_spv_downsample_rgba16f, d4r_spv_downsample_rgba16f_size, 0};
    }
}

/* ---- pipelines ---- */

/* output: of the downsample, which has a pipeline a format. */
static stage_code code_of(enum d4r_m_pipeline pipeline, size_t output)
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
        return downsample_code(outputs[output].storage);
    }
}

static d4r_status create_pipeline(const d4r_m_programs *programs, enum d4r_m_pipeline which, size_t output,
                                  VkPipeline *pipeline)
{
    const d4r_vk *vk = programs->vk;
    const stage_code code = code_of(which, output);
    const struct {
        uint32_t exact_filter, ldr;
        int32_t tile;
        uint32_t output;
    } values = {programs->exact_filter, programs->ldr, code.tile, output_flags(output, programs->ldr)};
    /* A stage ignores constants that it does not declare. */
    const VkSpecializationMapEntry entries[] = {
        {D4R_SPEC_EXACT_FILTER, 0, 4}, {D4R_SPEC_LDR, 4, 4}, {D4R_SPEC_TILE, 8, 4}, {D4R_SPEC_OUTPUT, 12, 4}};
    const VkSpecializationInfo constants = {4, entries, sizeof values, &values};
    VkShaderModule module;
    VkResult result =
        vk->fn.vkCreateShaderModule(vk->device,
                                    &(VkShaderModuleCreateInfo){VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                                NULL, 0, code.bytes, code.words},
                                    vk->allocator, &module);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, code.name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, code.name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = programs->pipeline_layout};
    result = vk->fn.vkCreateComputePipelines(vk->device, VK_NULL_HANDLE, 1, &info, vk->allocator, pipeline);
    vk->fn.vkDestroyShaderModule(vk->device, module, vk->allocator);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, code.name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_PIPELINE, (uint64_t)*pipeline, code.name);
    return D4R_OK;
}

static d4r_status create_pipelines(d4r_m_programs *programs)
{
    const d4r_vk *vk = programs->vk;
    const VkDescriptorSetLayout layouts[] = {programs->own_layout, programs->input_layout,
                                             programs->output_layout};
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 3, .pSetLayouts = layouts};
    VkResult result =
        vk->fn.vkCreatePipelineLayout(vk->device, &info, vk->allocator, &programs->pipeline_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, "pipeline layout");
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)programs->pipeline_layout,
                    "stage pipeline layout");
    for (int i = 0; i < D4R_M_DOWNSAMPLE; i++) {
        d4r_status status = create_pipeline(programs, i, 0, &programs->pipelines[i]);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

/* ---- sharing ---- */

static d4r_status get_downsample(d4r_m_stages *stages)
{
    const size_t output = output_index(stages->desc.output_format);
    VkPipeline *pipeline = &stages->programs->downsample[output];
    d4r_status status = D4R_OK;
    if (!*pipeline) status = create_pipeline(stages->programs, D4R_M_DOWNSAMPLE, output, pipeline);
    stages->downsample = *pipeline;
    return status;
}

d4r_status d4r_m_programs_get(d4r_m_stages *stages, const d4r_m_stages *share)
{
    const d4r_m_stages_desc *desc = &stages->desc;
    d4r_m_programs *p = share ? share->programs : NULL;
    d4r_status status;
    if (p && p->exact_filter == desc->exact_filter && p->ldr == desc->conventions.ldr) {
        p->users++;
        stages->programs = p;
        return get_downsample(stages);
    }
    p = calloc(1, sizeof *p);
    if (!p) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "pipelines: out of memory");
    *p = (d4r_m_programs){
        .vk = desc->vk, .users = 1, .exact_filter = desc->exact_filter, .ldr = desc->conventions.ldr};
    stages->programs = p; /* released with the stages, however far this comes */
    status = d4r_m_programs_create_layouts(p);
    if (status == D4R_OK) status = create_pipelines(p);
    return status == D4R_OK ? get_downsample(stages) : status;
}

void d4r_m_programs_release(d4r_m_programs **programs)
{
    d4r_m_programs *p = *programs;
    *programs = NULL;
    if (!p || --p->users > 0) return;
    const d4r_vk *vk = p->vk;
    const VkDescriptorSetLayout layouts[] = {p->own_layout, p->input_layout, p->output_layout};
    for (int i = 0; i < D4R_M_OUTPUTS; i++)
        if (p->downsample[i]) vk->fn.vkDestroyPipeline(vk->device, p->downsample[i], vk->allocator);
    for (int i = 0; i < D4R_M_DOWNSAMPLE; i++)
        if (p->pipelines[i]) vk->fn.vkDestroyPipeline(vk->device, p->pipelines[i], vk->allocator);
    if (p->pipeline_layout) vk->fn.vkDestroyPipelineLayout(vk->device, p->pipeline_layout, vk->allocator);
    for (int i = 0; i < 3; i++)
        if (layouts[i]) vk->fn.vkDestroyDescriptorSetLayout(vk->device, layouts[i], vk->allocator);
    if (p->sampler) vk->fn.vkDestroySampler(vk->device, p->sampler, vk->allocator);
    free(p);
}
