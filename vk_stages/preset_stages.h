/* The stages around a preset's network: what the engine, the tools and the tests know of them. Every preset has one table
 * of functions (d4r_m_stages_ops, d4r_k_stages_ops) for the same description, frame and resources.
 *
 * Stages know nothing of the network: the front writes a token buffer, the back reads a head buffer. The caller records the
 * hand-over of the two buffers (queue family EXTERNAL) and whatever orders front before network before back. */
#ifndef D4R_VK_STAGES_PRESET_STAGES_H
#define D4R_VK_STAGES_PRESET_STAGES_H

#include "d4r/d4r_vulkan.h"
#include "runtime/base/vk.h"

typedef struct d4r_stages d4r_stages; /* begins every preset's own structure (stages_base.h) */

typedef struct d4r_stages_desc {
    const d4r_vk *vk; /* must outlive the stages */
    d4r_size output, max_render;
    d4r_conventions conventions;
    VkFormat output_format; /* d4r_stages_output_storage says in which format its view is */
    bool exact_filter;
    const uint8_t *weights; /* weights.bin of the preset's model; copied. NULL, 0: the preset has none */
    size_t weight_bytes;
    const uint8_t *tables; /* lut.bin; copied. NULL, 0: the preset has none */
    size_t table_bytes;
    VkBuffer tokens, head;                /* storage buffers for the grid of max_render */
    VkDeviceSize token_bytes, head_bytes; /* their sizes */
    const d4r_stages
        *share; /* of the same preset: pipelines are taken from these where they fit; may be NULL */
} d4r_stages_desc;

/* One frame, already checked and with defaults resolved by the caller. */
typedef struct d4r_stage_frame {
    const d4r_frame_images *images;
    d4r_frame_settings settings;
    d4r_vec2 previous_jitter; /* equal to settings.jitter on the first frame and after a reset */
    d4r_size previous_render; /* of the frame before; 0, 0 or a reset: settings.render */
    bool reset;               /* settings.reset, first frame, or after a failed frame */
    uint64_t index;           /* counts recorded frames: parity selects histories, & 7 the dither */
} d4r_stage_frame;

/* What a frame's stages read and wrote, for dumps and tests: either an image (layout GENERAL) or a buffer. */
typedef struct d4r_stage_resource {
    const char *stage, *name; /* docs/dump.md */
    bool input;               /* a history or surface that the stage read; else one that it wrote */
    VkImage image;            /* or VK_NULL_HANDLE */
    VkBuffer buffer;
    VkFormat format;   /* images: always one that copies to a buffer texel by texel */
    d4r_size extent;   /* images: part in use */
    VkDeviceSize size; /* buffers: bytes in use */
    const char *dtype; /* NumPy type of an element */
    uint32_t channels; /* elements a texel (images) */
} d4r_stage_resource;

typedef struct d4r_stages_ops {
    /* Pipelines, images, samplers, descriptors. Weights and tables travel to the device with the first recorded front, so no
     * queue is needed here. */
    d4r_status (*create)(const d4r_stages_desc *desc, d4r_stages **stages);
    void (*destroy)(d4r_stages *stages);
    /* Reads colour, depth, motion; writes tokens. Ends without a barrier on tokens. Copies `frame` (d4r_stages_begin), so that
     * record_back need not be given it again. The marks begin with "begin". */
    d4r_status (*record_front)(d4r_stages *stages, VkCommandBuffer commands, const d4r_stage_frame *frame);
    /* Reads head and colour; writes the output image. Begins with a compute -> compute memory barrier and the mark "acquire".
     * Flips the histories. */
    d4r_status (*record_back)(d4r_stages *stages, VkCommandBuffer commands);
    uint64_t (*device_bytes)(const d4r_stages *stages);
    uint64_t (*weight_bytes)(const d4r_stages *stages); /* of them: weights and tables */
    /* Resources of the frame recorded last. Returns the count; fills up to `capacity`. Images can be copied from after the
     * back has completed and before the next front is recorded. */
    uint32_t (*resources)(const d4r_stages *stages, d4r_stage_resource *resources, uint32_t capacity);
    /* Marks in the order of a frame, front then back, and how many of them are the front's. The work between two marks has the
     * later one's name, in profiles and as a label ("d4r input"); "begin" and "acquire" begin their parts. */
    const char *const *marks;
    uint32_t mark_count, front_marks;
    const struct d4r_debug_view_desc *debug_view; /* stages_base.h: what debug_view.c needs */
} d4r_stages_ops;

extern const d4r_stages_ops d4r_m_stages_ops, d4r_k_stages_ops;

/* ---- the table's functions */

d4r_status d4r_stages_create(const d4r_stages_ops *ops, const d4r_stages_desc *desc, d4r_stages **stages);
void d4r_stages_destroy(d4r_stages **stages); /* NULL content is fine */
d4r_status d4r_stages_record_front(d4r_stages *stages, VkCommandBuffer commands,
                                   const d4r_stage_frame *frame);
d4r_status d4r_stages_record_back(d4r_stages *stages, VkCommandBuffer commands);
uint64_t d4r_stages_device_bytes(const d4r_stages *stages);
uint64_t d4r_stages_weight_bytes(const d4r_stages *stages);
uint32_t d4r_stages_resources(const d4r_stages *stages, d4r_stage_resource *resources, uint32_t capacity);

/* ---- the same for every preset (stages_base.c, stages_views.c) */

/* The format of the storage image through which an output format is written, bit for bit: itself, or one of the same
 * texel size (BGRA and sRGB). VK_FORMAT_UNDEFINED: no such output. */
VkFormat d4r_stages_output_storage(VkFormat output_format);
void d4r_stages_set_marker(d4r_stages *stages, d4r_stage_marker_fn marker, void *user);
void d4r_stages_copy_marker(d4r_stages *stages, const d4r_stages *from);
/* No pending command buffer may use the view. */
void d4r_stages_forget_view(d4r_stages *stages, VkImageView view);
/* Before the first frame: makes `limit` descriptor sets for inputs and as many for outputs, and no more later. A set is
 * used again for other views once its frames have completed. Recording fails with D4R_ERROR_STATE when all are in use. */
d4r_status d4r_stages_limit_views(d4r_stages *stages, uint32_t limit);
/* Frames with an index below have completed on the device. */
void d4r_stages_set_completed(d4r_stages *stages, uint64_t index);
/* Descriptor sets in use for the caller's views; *full: every input or every output set is. */
uint32_t d4r_stages_view_sets(const d4r_stages *stages, bool *full);

#endif
