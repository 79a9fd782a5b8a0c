/* What the debug view is made of, preset by preset. */
#include "vk_stages/k_stages_internal.h"
#include "vk_stages/stages_internal.h"

#define SHADER(name)              \
    extern const uint32_t name[]; \
    extern const size_t name##_size;
SHADER(d4r_spv_debug_age)
SHADER(d4r_spv_debug_view)
SHADER(d4r_spv_k_debug_age)
SHADER(d4r_spv_k_debug_view)

/* ---- preset M: an age a render pixel */

static const d4r_stage_programs *m_programs(const d4r_stages *stages)
{
    return &((const d4r_m_stages *)stages)->programs->base;
}

static d4r_size m_largest_age(const d4r_stages *stages)
{
    return stages->desc.max_render;
}

static d4r_size m_age_size(const d4r_stages *stages)
{
    return stages->frame.settings.render;
}

const d4r_debug_view_desc d4r_m_debug_view = {.age = {d4r_spv_debug_age, &d4r_spv_debug_age_size},
                                              .view = {d4r_spv_debug_view, &d4r_spv_debug_view_size},
                                              .programs = m_programs,
                                              .largest_age = m_largest_age,
                                              .age_size = m_age_size};

/* ---- preset K: an age a sub-block */

static const d4r_stage_programs *k_programs(const d4r_stages *stages)
{
    return &((const d4r_k_stages *)stages)->programs->base;
}

static d4r_size k_age_size(const d4r_stages *stages)
{
    const d4r_size output = stages->desc.output;
    return (d4r_size){(output.width + 1) / 2, (output.height + 1) / 2};
}

const d4r_debug_view_desc d4r_k_debug_view = {.age = {d4r_spv_k_debug_age, &d4r_spv_k_debug_age_size},
                                              .view = {d4r_spv_k_debug_view, &d4r_spv_k_debug_view_size},
                                              .programs = k_programs,
                                              .largest_age = k_age_size,
                                              .age_size = k_age_size};
