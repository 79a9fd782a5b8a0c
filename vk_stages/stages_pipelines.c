/* Preset M's pipelines, one a stage; the reconstruction has one a tier of its shared tile. */
#include "vk_stages/stages_internal.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

enum { VENDOR_NVIDIA = 0x10de };

#define SHADER(name)              \
    extern const uint32_t name[]; \
    extern const size_t name##_size;
SHADER(d4r_spv_exposure_sum)
SHADER(d4r_spv_exposure)
SHADER(d4r_spv_input)
SHADER(d4r_spv_expansion)
SHADER(d4r_spv_input_shared)
SHADER(d4r_spv_expansion_shared)
SHADER(d4r_spv_reconstruction)
SHADER(d4r_spv_downsample_rgba16f)
SHADER(d4r_spv_downsample_rgb10a2)
SHADER(d4r_spv_downsample_rgba8)
SHADER(d4r_spv_downsample_r11g11b10f)

static d4r_stage_code downsample_code(VkFormat storage)
{
    switch (storage) {
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        return (d4r_stage_code){"downsample", d4r_spv_downsample_rgb10a2, d4r_spv_downsample_rgb10a2_size, 0};
    case VK_FORMAT_R8G8B8A8_UNORM:
        return (d4r_stage_code){"downsample", d4r_spv_downsample_rgba8, d4r_spv_downsample_rgba8_size, 0};
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
        return (d4r_stage_code){"downsample", d4r_spv_downsample_r11g11b10f,
                                d4r_spv_downsample_r11g11b10f_size, 0};
    default:
        return (d4r_stage_code){"downsample", d4r_spv_downsample_rgba16f, d4r_spv_downsample_rgba16f_size, 0};
    }
}

/* ---- pipelines ---- */

/* Where a load of one address for all invocations costs as much as any other; elsewhere such loads are scalar. The
 * environment can choose, so that tests and measurements have both forms on one device. */
static bool shared_products(const d4r_vk *vk)
{
    const char *given = getenv("D4R_STAGE_PRODUCTS");
    if (given) return !strcmp(given, "shared");
    return vk->properties.vendorID == VENDOR_NVIDIA;
}

/* output: of the downsample, which has a pipeline a format. */
static d4r_stage_code code_of(const d4r_vk *vk, enum d4r_m_pipeline pipeline, size_t output)
{
    const bool shared = shared_products(vk);
    switch (pipeline) {
    case D4R_M_EXPOSURE_SUM:
        return (d4r_stage_code){"exposure_sum", d4r_spv_exposure_sum, d4r_spv_exposure_sum_size, 0};
    case D4R_M_EXPOSURE:
        return (d4r_stage_code){"exposure", d4r_spv_exposure, d4r_spv_exposure_size, 0};
    case D4R_M_INPUT:
        if (shared) return (d4r_stage_code){"input", d4r_spv_input_shared, d4r_spv_input_shared_size, 0};
        return (d4r_stage_code){"input", d4r_spv_input, d4r_spv_input_size, 0};
    case D4R_M_EXPANSION:
        if (shared)
            return (d4r_stage_code){"expansion", d4r_spv_expansion_shared, d4r_spv_expansion_shared_size, 0};
        return (d4r_stage_code){"expansion", d4r_spv_expansion, d4r_spv_expansion_size, 0};
    case D4R_M_RECONSTRUCTION_10:
        return (d4r_stage_code){"reconstruction 10", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 10};
    case D4R_M_RECONSTRUCTION_11:
        return (d4r_stage_code){"reconstruction 11", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 11};
    case D4R_M_RECONSTRUCTION_15:
        return (d4r_stage_code){"reconstruction 15", d4r_spv_reconstruction, d4r_spv_reconstruction_size, 15};
    default:
        return downsample_code(d4r_output_storage_of(output));
    }
}

static d4r_status create_pipeline(const d4r_m_programs *programs, enum d4r_m_pipeline which, size_t output,
                                  VkPipeline *pipeline)
{
    const d4r_stage_code code = code_of(programs->base.vk, which, output);
    return d4r_stage_programs_pipeline(&programs->base, &code, d4r_output_flags(output, programs->base.ldr),
                                       pipeline);
}

static d4r_status get_downsample(d4r_m_stages *stages)
{
    const size_t output = d4r_output_index(stages->base.desc.output_format);
    VkPipeline *pipeline = &stages->programs->downsample[output];
    d4r_status status = create_pipeline(stages->programs, D4R_M_DOWNSAMPLE, output, pipeline);
    stages->downsample = *pipeline;
    return status;
}

d4r_status d4r_m_programs_get(d4r_m_stages *stages, const d4r_m_stages *share)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    d4r_m_programs *p = share ? share->programs : NULL;
    if (p && d4r_stage_programs_fit(&p->base, desc)) {
        p->base.users++;
        stages->programs = p;
        return get_downsample(stages);
    }
    p = calloc(1, sizeof *p);
    if (!p) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "pipelines: out of memory");
    stages->programs = p; /* released with the stages, however far this comes */
    d4r_status status = d4r_stage_programs_create(&p->base, desc, &d4r_m_own_bindings);
    for (int i = 0; i < D4R_M_DOWNSAMPLE && status == D4R_OK; i++)
        status = create_pipeline(p, i, 0, &p->pipelines[i]);
    return status == D4R_OK ? get_downsample(stages) : status;
}

void d4r_m_programs_release(d4r_m_programs **programs)
{
    d4r_m_programs *p = *programs;
    *programs = NULL;
    if (!p || !d4r_stage_programs_release(&p->base)) return;
    d4r_destroy_pipelines(p->base.vk, p->downsample, D4R_OUTPUTS);
    d4r_destroy_pipelines(p->base.vk, p->pipelines, D4R_M_DOWNSAMPLE);
    free(p);
}
