/* Preset K's pipelines: one a stage, the reconstruction has one a tier of its shared tile and output format. */
#include <stdlib.h>
#include "runtime/base/log.h"
#include "vk_stages/k_stages_internal.h"

#define SHADER(name)              \
    extern const uint32_t name[]; \
    extern const size_t name##_size;
SHADER(d4r_spv_exposure_sum)
SHADER(d4r_spv_exposure)
SHADER(d4r_spv_k_input)
SHADER(d4r_spv_k_reconstruction_rgba16f)
SHADER(d4r_spv_k_reconstruction_rgb10a2)
SHADER(d4r_spv_k_reconstruction_rgba8)
SHADER(d4r_spv_k_reconstruction_r11g11b10f)

static d4r_stage_code code_of(enum d4r_k_pipeline pipeline)
{
    switch (pipeline) {
    case D4R_K_EXPOSURE_SUM:
        return (d4r_stage_code){"exposure_sum", d4r_spv_exposure_sum, d4r_spv_exposure_sum_size, 0};
    case D4R_K_EXPOSURE:
        return (d4r_stage_code){"exposure", d4r_spv_exposure, d4r_spv_exposure_size, 0};
    default:
        return (d4r_stage_code){"k_input", d4r_spv_k_input, d4r_spv_k_input_size, 0};
    }
}

static d4r_stage_code reconstruction_code(VkFormat storage, enum d4r_k_tier tier)
{
    static const struct {
        const char *name;
        int32_t side;
    } tiers[D4R_K_TIER_COUNT] = {
        {"k_reconstruction 12", 12}, {"k_reconstruction 15", 15}, {"k_reconstruction 20", 20}};
    d4r_stage_code code = {tiers[tier].name, d4r_spv_k_reconstruction_rgba16f,
                           d4r_spv_k_reconstruction_rgba16f_size, tiers[tier].side};
    switch (storage) {
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        code.words = d4r_spv_k_reconstruction_rgb10a2;
        code.bytes = d4r_spv_k_reconstruction_rgb10a2_size;
        break;
    case VK_FORMAT_R8G8B8A8_UNORM:
        code.words = d4r_spv_k_reconstruction_rgba8;
        code.bytes = d4r_spv_k_reconstruction_rgba8_size;
        break;
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
        code.words = d4r_spv_k_reconstruction_r11g11b10f;
        code.bytes = d4r_spv_k_reconstruction_r11g11b10f_size;
        break;
    default:
        break;
    }
    return code;
}

/* All tiers: the render size may change every frame. */
static d4r_status create_reconstruction(d4r_k_programs *programs, size_t output)
{
    d4r_status status = D4R_OK;
    for (int tier = 0; tier < D4R_K_TIER_COUNT && status == D4R_OK; tier++) {
        const d4r_stage_code code = reconstruction_code(d4r_output_storage_of(output), tier);
        status =
            d4r_stage_programs_pipeline(&programs->base, &code, d4r_output_flags(output, programs->base.ldr),
                                        &programs->reconstruction[output][tier]);
    }
    return status;
}

d4r_status d4r_k_programs_get(d4r_k_stages *stages, const d4r_k_stages *share)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    d4r_k_programs *p = share ? share->programs : NULL;
    stages->output = d4r_output_index(desc->output_format);
    if (p && d4r_stage_programs_fit(&p->base, desc)) {
        p->base.users++;
        stages->programs = p;
        return create_reconstruction(p, stages->output);
    }
    p = calloc(1, sizeof *p);
    if (!p) return d4r_fail(&desc->vk->log, D4R_ERROR_MEMORY, "pipelines: out of memory");
    stages->programs = p; /* released with the stages, however far this comes */
    d4r_status status = d4r_stage_programs_create(&p->base, desc, &d4r_k_own_bindings);
    for (int i = 0; i < D4R_K_PIPELINE_COUNT && status == D4R_OK; i++) {
        const d4r_stage_code code = code_of(i);
        status = d4r_stage_programs_pipeline(&p->base, &code, 0, &p->pipelines[i]);
    }
    return status == D4R_OK ? create_reconstruction(p, stages->output) : status;
}

void d4r_k_programs_release(d4r_k_programs **programs)
{
    d4r_k_programs *p = *programs;
    *programs = NULL;
    if (!p || !d4r_stage_programs_release(&p->base)) return;
    for (int i = 0; i < D4R_OUTPUTS; i++)
        d4r_destroy_pipelines(p->base.vk, p->reconstruction[i], D4R_K_TIER_COUNT);
    d4r_destroy_pipelines(p->base.vk, p->pipelines, D4R_K_PIPELINE_COUNT);
    free(p);
}
