/* What the stages of all presets share: the beginning of their structure, descriptor sets of the caller's views, output
 * formats, and pieces of recording. For the files of a preset's stages and for what reads their surfaces. */
#ifndef D4R_VK_STAGES_STAGES_BASE_H
#define D4R_VK_STAGES_STAGES_BASE_H

#include "vk_stages/params.h"
#include "vk_stages/preset_stages.h"

/* Descriptor sets of the caller's views: written once, reused while the views live. With a limit they are all made
 * ahead, and one whose frames have completed is written anew for other views. */
typedef struct d4r_view_set {
    VkImageView views[D4R_INPUT_COUNT]; /* the first NULL: free */
    VkImageLayout layouts[D4R_INPUT_COUNT];
    VkDescriptorSet set;
    VkDescriptorPool pool;
    uint64_t last_use; /* index of the last frame that was recorded with it */
} d4r_view_set;

typedef struct d4r_view_cache {
    VkDescriptorSetLayout layout;
    VkDescriptorType type;
    uint32_t view_count; /* bindings a set */
    const char *name;    /* of a set, for debuggers */
    d4r_view_set *sets;
    uint32_t count, capacity;
    bool limited;            /* `count` sets exist and no more are made */
    VkDescriptorPool *pools; /* a fixed number of sets each */
    uint32_t *pool_used;
    uint32_t pool_count;
} d4r_view_cache;

/* The first member of every preset's stages. The preset's create fills desc (with d4r_stages_init), the caches' layouts
 * (d4r_view_caches_init) and the two buffers. */
struct d4r_stages {
    const d4r_stages_ops *ops;
    d4r_stages_desc desc; /* weights, tables and share are not kept */
    d4r_view_cache inputs, outputs;
    uint64_t completed; /* frames with a smaller index have completed */
    d4r_stage_marker_fn marker;
    void *marker_user;
    /* The validation passes read these: a uniform buffer that begins with struct d4r_m_params, of which they use render,
     * output_size, the origins, inverse_pre_exposure and flags; a storage buffer that begins with the frame's exposure and
     * the one before (exposure_state.glsl). */
    VkBuffer params_buffer, exposure_buffer;
    VkDescriptorPool own_pool;
    VkDescriptorSet own_sets[2]; /* of the preset's own resources, by frame parity */
    /* the frame recorded last */
    bool has_frame;
    d4r_stage_frame frame;
    d4r_frame_images frame_images;
    VkDescriptorSet input_set;
};

/* ---- stages_base.c */

/* Takes over the description, but for weights, tables and share. */
void d4r_stages_init(d4r_stages *stages, const d4r_stages_ops *ops, const d4r_stages_desc *desc);
/* D4R_ERROR_FEATURE with a line when a limit of the device is below what is needed. */
typedef struct d4r_stages_limit {
    const char *name;
    uint64_t limit, need;
} d4r_stages_limit;
d4r_status d4r_stages_check_limits(const d4r_stages *stages, const char *preset,
                                   const d4r_stages_limit *limits, size_t count);
/* Copies the frame; an error when it does not fit max_render. The preset sets has_frame at the front's end. */
d4r_status d4r_stages_begin(d4r_stages *stages, const d4r_stage_frame *frame);
/* The set of colour, depth, motion and exposure views (D4R_BIND_COLOR ..) into input_set. Without an exposure image its
 * binding holds the colour. */
d4r_status d4r_stages_find_inputs(d4r_stages *stages, bool exposure_image);
d4r_status d4r_stages_find_output(d4r_stages *stages, VkDescriptorSet *set);

void d4r_stages_mark(d4r_stages *stages, VkCommandBuffer commands, const char *stage);
void d4r_stages_barrier(const d4r_stages *stages, VkCommandBuffer commands, VkPipelineStageFlags from,
                        VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags uses);
/* What one stage wrote is read by the next. */
void d4r_stages_stage_barrier(const d4r_stages *stages, VkCommandBuffer commands);
/* Orders this frame after the stages of the previous one. A reset drops the content of all `images` (at most 16) and brings
 * them into layout GENERAL; it happens at every reset, not once, as a recorded front may never be submitted. */
void d4r_stages_begin_images(const d4r_stages *stages, VkCommandBuffer commands, const d4r_vk_image *images,
                             uint32_t count);
/* A pair of images whose content is dropped, in layout GENERAL again: for compute shaders before and after. */
void d4r_restart_images(const d4r_vk *vk, VkCommandBuffer commands, const d4r_vk_image images[2]);
/* The render size of the frame before, or this frame's own after a reset. */
d4r_size d4r_stage_previous_render(const d4r_stage_frame *frame);

/* ---- stages_params.c */

/* All parameters but those of the preset's own surfaces: grid, half_size, change_scale. scale: history pixels an output
 * pixel (1.5 or 1), full: their number. */
void d4r_stage_params_fill(const d4r_stages *stages, const d4r_stage_frame *frame, double scale,
                           d4r_size full, struct d4r_m_params *params);

/* ---- stages_base.c: resources */

typedef struct d4r_resource_list {
    d4r_stage_resource *items;
    uint32_t capacity, count;
} d4r_resource_list;
void d4r_resource_image(d4r_resource_list *list, const d4r_vk_image *image, const char *stage,
                        const char *name, bool input, d4r_size extent);
void d4r_resource_buffer(d4r_resource_list *list, VkBuffer buffer, const char *stage, const char *name,
                         bool input, d4r_size extent, uint32_t channels, const char *dtype);

/* ---- stages_outputs.c */

#define D4R_OUTPUTS 8 /* formats */
/* D4R_OUTPUTS: unknown. */
size_t d4r_output_index(VkFormat format);
VkFormat d4r_output_storage_of(size_t output);
/* D4R_OUTPUT_* of params.h. LDR values are display-referred already: they are stored as they are. */
uint32_t d4r_output_flags(size_t output, bool ldr);

/* ---- stages_views.c */

d4r_status d4r_create_set_layout(const d4r_vk *vk, const char *name,
                                 const VkDescriptorSetLayoutBinding *bindings, uint32_t count,
                                 VkDescriptorSetLayout *layout);
/* The layouts of set 1 (the caller's inputs) and set 2 (the output). On an error what exists is left to the caller. */
d4r_status d4r_create_view_layouts(const d4r_vk *vk, VkDescriptorSetLayout *input,
                                   VkDescriptorSetLayout *output);
/* Linear, clamped. */
d4r_status d4r_create_history_sampler(const d4r_vk *vk, VkSampler *sampler);
void d4r_view_caches_init(d4r_stages *stages, VkDescriptorSetLayout input, VkDescriptorSetLayout output);
void d4r_view_caches_destroy(d4r_stages *stages);
/* Finds or makes the set of these views. Allocates only when the views are new and there is no limit. */
d4r_status d4r_view_cache_get(d4r_stages *stages, d4r_view_cache *cache, const VkImageView *views,
                              const VkImageLayout *layouts, VkDescriptorSet *set);

/* ---- stages_outputs.c: pipelines */

/* A compute pipeline with all specialisation constants of params.h: a stage ignores those that it does not declare. */
typedef struct d4r_stage_code {
    const char *name;
    const uint32_t *words;
    size_t bytes;
    int32_t tile; /* D4R_SPEC_TILE */
} d4r_stage_code;
d4r_status d4r_create_stage_pipeline(const d4r_vk *vk, VkPipelineLayout layout, const d4r_stage_code *code,
                                     bool exact_filter, bool ldr, uint32_t output_flags,
                                     VkPipeline *pipeline);

/* ---- stages_programs.c */

/* Set 0: binding D4R_BIND_PARAMS is the uniform buffer, other buffers follow, then sampled images, then storage images. */
typedef struct d4r_own_bindings {
    uint32_t first_sampled, first_storage, count;
} d4r_own_bindings;
#define D4R_OWN_BINDINGS_MAX 26

/* The first member of every preset's programs: what does not depend on any size and is shared by stages that differ in
 * sizes and output format alone. */
typedef struct d4r_stage_programs {
    const d4r_vk *vk;
    unsigned users;
    bool exact_filter, ldr;
    VkSampler sampler;
    VkDescriptorSetLayout own_layout, input_layout, output_layout;
    VkPipelineLayout pipeline_layout;
} d4r_stage_programs;

/* One user. On an error what exists is left for d4r_stage_programs_release. */
d4r_status d4r_stage_programs_create(d4r_stage_programs *programs, const d4r_stages_desc *desc,
                                     const d4r_own_bindings *own);
bool d4r_stage_programs_fit(const d4r_stage_programs *programs, const d4r_stages_desc *desc);
/* Makes the pipeline if it is not there. */
d4r_status d4r_stage_programs_pipeline(const d4r_stage_programs *programs, const d4r_stage_code *code,
                                       uint32_t output_flags, VkPipeline *pipeline);
/* true: that was the last user; what is named here is destroyed, and the caller destroys its pipelines and frees the memory. */
bool d4r_stage_programs_release(d4r_stage_programs *programs);
void d4r_destroy_pipelines(const d4r_vk *vk, const VkPipeline *pipelines, size_t count);

/* What a preset's debug view is made of: two passes, which have the stages' sets, the view's image (set 2) and the ages of
 * the frame before and of this one (set 3), R32F images. */
typedef struct d4r_debug_view_desc {
    struct {
        const uint32_t *words;
        const size_t *bytes;
    } age, view;
    const d4r_stage_programs *(*programs)(const d4r_stages *stages);
    d4r_size (*largest_age)(const d4r_stages *stages); /* size of the age images */
    d4r_size (*age_size)(const d4r_stages *stages);    /* the part that the frame recorded last uses */
} d4r_debug_view_desc;
extern const d4r_debug_view_desc d4r_m_debug_view, d4r_k_debug_view; /* debug_presets.c */

/* The two sets, to be written, and the caches of the caller's views. */
d4r_status d4r_own_sets_create(d4r_stages *stages, const d4r_stage_programs *programs,
                               const d4r_own_bindings *own);
/* buffers: by binding, up to first_sampled; views: by binding, from there on. */
void d4r_own_set_write(const d4r_stages *stages, uint32_t parity, const d4r_own_bindings *own,
                       const VkDescriptorBufferInfo *buffers, const VkImageView *views);
void d4r_own_sets_destroy(d4r_stages *stages);
/* Binds all sets of the frame; output may be VK_NULL_HANDLE. */
void d4r_stages_bind(const d4r_stages *stages, const d4r_stage_programs *programs, VkCommandBuffer commands,
                     VkDescriptorSet output);

#endif
