/* What the files of preset K's stages share. */
#ifndef D4R_VK_STAGES_K_STAGES_INTERNAL_H
#define D4R_VK_STAGES_K_STAGES_INTERNAL_H

#include "vk_stages/k_params.h"
#include "vk_stages/stages_base.h"

enum d4r_k_pipeline { D4R_K_EXPOSURE_SUM, D4R_K_EXPOSURE, D4R_K_INPUT, D4R_K_PIPELINE_COUNT };

/* The reconstruction's, by the side of its shared tile. */
enum d4r_k_tier { D4R_K_TILE_12, D4R_K_TILE_15, D4R_K_TILE_20, D4R_K_TIER_COUNT };

enum d4r_k_image {
    D4R_K_HISTORY, /* a pair, by frame parity */
    D4R_K_HISTORY_ODD,
    D4R_K_RECURRENT_LOW,
    D4R_K_RECURRENT_HIGH,
    D4R_K_MOTION,
    D4R_K_IMAGE_COUNT
};

enum d4r_k_buffer { D4R_K_PARAMS, D4R_K_TABLES, D4R_K_PARTIALS, D4R_K_EXPOSURE_STATE, D4R_K_BUFFER_COUNT };

typedef struct d4r_k_programs {
    d4r_stage_programs base;
    VkPipeline pipelines[D4R_K_PIPELINE_COUNT];
    VkPipeline reconstruction[D4R_OUTPUTS]
                             [D4R_K_TIER_COUNT]; /* an output format's are made when first wanted */
} d4r_k_programs;

typedef struct d4r_k_stages {
    d4r_stages base;
    d4r_vk_image images[D4R_K_IMAGE_COUNT];
    d4r_vk_buffer buffers[D4R_K_BUFFER_COUNT];
    uint8_t tables[D4R_K_TABLES_USED * D4R_K_TABLE_BYTES];
    d4r_k_programs *programs;
    size_t output;              /* index of the output format */
    struct d4r_m_params params; /* of the frame recorded last */
} d4r_k_stages;

static inline d4r_k_stages *d4r_k_stages_of(d4r_stages *stages)
{
    return (d4r_k_stages *)stages;
}

/* k_stages_programs.c */
/* Takes those of `share` where they fit (may be NULL), else makes them. */
d4r_status d4r_k_programs_get(d4r_k_stages *stages, const d4r_k_stages *share);
void d4r_k_programs_release(d4r_k_programs **programs); /* NULL content is fine */

/* k_stages_descriptors.c */
extern const d4r_own_bindings d4r_k_own_bindings;
d4r_status d4r_k_create_descriptors(d4r_k_stages *stages);

/* k_stages_record.c */
d4r_status d4r_k_stages_record_front(d4r_stages *stages, VkCommandBuffer commands,
                                     const d4r_stage_frame *frame);
d4r_status d4r_k_stages_record_back(d4r_stages *stages, VkCommandBuffer commands);
/* The number of lut.bin's table for these sizes. */
uint32_t d4r_k_table_of(d4r_size render, d4r_size output);

#endif
