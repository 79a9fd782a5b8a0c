/* What the files of preset M's stages share. */
#ifndef D4R_VK_STAGES_STAGES_INTERNAL_H
#define D4R_VK_STAGES_STAGES_INTERNAL_H

#include "vk_stages/stages_base.h"

typedef struct d4r_m_params d4r_m_params;

enum d4r_m_pipeline {
    D4R_M_EXPOSURE_SUM,
    D4R_M_EXPOSURE,
    D4R_M_INPUT,
    D4R_M_EXPANSION,
    D4R_M_RECONSTRUCTION_10, /* by the side of the shared tile */
    D4R_M_RECONSTRUCTION_11,
    D4R_M_RECONSTRUCTION_15,
    D4R_M_DOWNSAMPLE,
    D4R_M_PIPELINE_COUNT
};

/* Pairs are indexed by frame parity. */
enum d4r_m_image {
    D4R_M_MV_A,
    D4R_M_MV_A_ODD,
    D4R_M_RECURRENT,
    D4R_M_RECURRENT_ODD,
    D4R_M_HISTORY,
    D4R_M_HISTORY_ODD,
    D4R_M_MV_B,
    D4R_M_MV_C,
    D4R_M_GATES,
    D4R_M_MIX,
    D4R_M_COVARIANCE,
    D4R_M_HALF,
    D4R_M_IMAGE_COUNT
};

enum d4r_m_buffer {
    D4R_M_PARAMS,
    D4R_M_WEIGHTS,
    D4R_M_PARTIALS,
    D4R_M_EXPOSURE_STATE,
    D4R_M_PACKED,
    D4R_M_BUFFER_COUNT
};

typedef struct d4r_m_programs {
    d4r_stage_programs base;
    VkPipeline pipelines[D4R_M_DOWNSAMPLE]; /* all but the last stage */
    VkPipeline downsample[D4R_OUTPUTS];     /* by output format, made when it is first wanted */
} d4r_m_programs;

typedef struct d4r_m_stages {
    d4r_stages base;
    d4r_size reconstruction, half_size;
    d4r_vk_image images[D4R_M_IMAGE_COUNT];
    d4r_vk_buffer buffers[D4R_M_BUFFER_COUNT];
    float weights[D4R_WEIGHT_VEC4 * 4]; /* decoded, in the order of params.h */
    d4r_m_programs *programs;
    VkPipeline downsample; /* of the programs */
    d4r_m_params params;   /* of the frame recorded last */
} d4r_m_stages;

static inline d4r_m_stages *d4r_m_stages_of(d4r_stages *stages)
{
    return (d4r_m_stages *)stages;
}

/* stages_memory.c */
d4r_status d4r_m_stages_create_memory(d4r_m_stages *stages);
void d4r_m_stages_destroy_memory(d4r_m_stages *stages);
/* weights.bin to floats. */
void d4r_m_stages_decode_weights(const uint8_t *bytes, float *weights);

uint64_t d4r_m_stages_device_bytes(const d4r_stages *stages);
uint64_t d4r_m_stages_weight_bytes(const d4r_stages *stages);
uint32_t d4r_m_stages_resources(const d4r_stages *stages, d4r_stage_resource *resources, uint32_t capacity);

/* stages_record.c */
d4r_status d4r_m_stages_record_front(d4r_stages *stages, VkCommandBuffer commands,
                                     const d4r_stage_frame *frame);
d4r_status d4r_m_stages_record_back(d4r_stages *stages, VkCommandBuffer commands);

/* stages_descriptors.c */
extern const d4r_own_bindings d4r_m_own_bindings;
d4r_status d4r_m_stages_create_descriptors(d4r_m_stages *stages);

/* stages_pipelines.c */
/* Takes those of `share` where they fit (may be NULL), else makes them. */
d4r_status d4r_m_programs_get(d4r_m_stages *stages, const d4r_m_stages *share);
void d4r_m_programs_release(d4r_m_programs **programs); /* NULL content is fine */

/* stages_params.c */
void d4r_m_stages_fill_params(const d4r_m_stages *stages, const d4r_stage_frame *frame, d4r_m_params *params);

#endif
