/* What the files of the stages share. */
#ifndef D4R_VK_STAGES_STAGES_INTERNAL_H
#define D4R_VK_STAGES_STAGES_INTERNAL_H

#include "vk_stages/params.h"
#include "vk_stages/stages.h"

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

/* Descriptor sets of the caller's views: written once, reused while the views live. With a limit they are all made
 * ahead, and one whose frames have completed is written anew for other views. */
typedef struct d4r_m_view_set {
    VkImageView views[D4R_INPUT_COUNT]; /* the first NULL: free */
    VkImageLayout layouts[D4R_INPUT_COUNT];
    VkDescriptorSet set;
    VkDescriptorPool pool;
    uint64_t last_use; /* index of the last frame that was recorded with it */
} d4r_m_view_set;

typedef struct d4r_m_view_cache {
    VkDescriptorSetLayout layout;
    VkDescriptorType type;
    uint32_t view_count; /* bindings a set */
    d4r_m_view_set *sets;
    uint32_t count, capacity;
    bool limited;            /* `count` sets exist and no more are made */
    VkDescriptorPool *pools; /* a fixed number of sets each */
    uint32_t *pool_used;
    uint32_t pool_count;
} d4r_m_view_cache;

#define D4R_M_OUTPUTS 8 /* formats */

/* What does not depend on any size: shared by stages that differ in sizes and output format alone. */
typedef struct d4r_m_programs {
    const d4r_vk *vk;
    unsigned users;
    bool exact_filter, ldr;
    VkSampler sampler;
    VkDescriptorSetLayout own_layout, input_layout, output_layout;
    VkPipelineLayout pipeline_layout;
    VkPipeline pipelines[D4R_M_DOWNSAMPLE]; /* all but the last stage */
    VkPipeline downsample[D4R_M_OUTPUTS];   /* by output format, made when it is first wanted */
} d4r_m_programs;

struct d4r_m_stages {
    d4r_m_stages_desc desc; /* desc.weights is not kept */
    d4r_size reconstruction, half_size;
    d4r_vk_image images[D4R_M_IMAGE_COUNT];
    d4r_vk_buffer buffers[D4R_M_BUFFER_COUNT];
    float weights[D4R_WEIGHT_VEC4 * 4]; /* decoded, in the order of params.h */
    d4r_m_programs *programs;
    VkPipeline downsample; /* of the programs */
    d4r_m_view_cache inputs, outputs;
    VkDescriptorPool own_pool;
    VkDescriptorSet own_sets[2]; /* by frame parity */
    uint64_t completed;          /* frames with a smaller index have completed */
    d4r_stage_marker_fn marker;
    void *marker_user;
    /* the frame recorded last */
    bool has_frame;
    d4r_m_frame frame;
    d4r_frame_images frame_images;
    d4r_m_params params;
    VkDescriptorSet input_set;
};

/* stages_memory.c */
d4r_status d4r_m_stages_create_memory(d4r_m_stages *stages);
void d4r_m_stages_destroy_memory(d4r_m_stages *stages);
/* weights.bin to floats. */
void d4r_m_stages_decode_weights(const uint8_t *bytes, float *weights);

/* stages_descriptors.c */
d4r_status d4r_m_stages_create_descriptors(d4r_m_stages *stages);
void d4r_m_stages_destroy_descriptors(d4r_m_stages *stages);
/* Finds or makes the set of these views. Allocates only when the views are new and there is no limit. */
d4r_status d4r_m_view_cache_get(d4r_m_stages *stages, d4r_m_view_cache *cache, const VkImageView *views,
                                const VkImageLayout *layouts, VkDescriptorSet *set);

/* stages_pipelines.c */
/* Sampler and layouts (stages_descriptors.c). */
d4r_status d4r_m_programs_create_layouts(d4r_m_programs *programs);
/* Takes those of `share` where they fit (may be NULL), else makes them. */
d4r_status d4r_m_programs_get(d4r_m_stages *stages, const d4r_m_stages *share);
void d4r_m_programs_release(d4r_m_programs **programs); /* NULL content is fine */

/* stages_params.c */
void d4r_m_stages_fill_params(const d4r_m_stages *stages, const d4r_m_frame *frame, d4r_m_params *params);

/* A pair of images whose content is dropped, in layout GENERAL again: for compute shaders before and after. */
void d4r_m_restart_images(const d4r_vk *vk, VkCommandBuffer commands, const d4r_vk_image images[2]);

#endif
