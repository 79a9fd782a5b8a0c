/* Preset M's stages around the network: pipelines, intermediate images, histories, and their recording.
 *
 * Knows nothing of the network: it writes a token buffer and reads a head buffer. The caller records the
 * hand-over of the two buffers (queue family EXTERNAL) and whatever orders front before network before back.
 */
#ifndef D4R_VK_STAGES_STAGES_H
#define D4R_VK_STAGES_STAGES_H

#include "d4r/d4r_vulkan.h"
#include "runtime/base/vk.h"

typedef struct d4r_m_stages d4r_m_stages;

typedef struct d4r_m_stages_desc {
    const d4r_vk *vk; /* must outlive the stages */
    d4r_size output, max_render;
    d4r_conventions conventions;
    VkFormat output_format; /* d4r_m_output_storage says in which format its view is */
    bool exact_filter;
    const uint8_t *weights;           /* weights.bin (D4R_M_STAGE_BYTES); copied */
    VkBuffer tokens, head;            /* storage buffers for the grid of max_render */
    VkDeviceSize token_bytes;         /* size of each */
    const struct d4r_m_stages *share; /* pipelines are taken from these where they fit; may be NULL */
} d4r_m_stages_desc;

/* The format of the storage image through which an output format is written, bit for bit: itself, or one of the same
 * texel size (BGRA and sRGB). VK_FORMAT_UNDEFINED: no such output. */
VkFormat d4r_m_output_storage(VkFormat output_format);

/* Creates pipelines, images, samplers, descriptors. Weights travel to the device with the first recorded
 * front, so no queue is needed here. */
d4r_status d4r_m_stages_create(const d4r_m_stages_desc *desc, d4r_m_stages **stages);
void d4r_m_stages_destroy(d4r_m_stages **stages);

/* One frame, already checked and with defaults resolved by the caller. */
typedef struct d4r_m_frame {
    const d4r_frame_images *images;
    d4r_frame_settings settings;
    d4r_vec2 previous_jitter; /* equal to settings.jitter on the first frame and after a reset */
    d4r_size previous_render; /* of the frame before; 0, 0 or a reset: settings.render */
    bool reset;               /* settings.reset, first frame, or after a failed frame */
    uint64_t index;           /* counts recorded frames: parity selects histories, & 7 the dither */
} d4r_m_frame;

/* exposure + input: reads colour, depth, motion; writes tokens. Ends without a barrier on tokens. `frame` is
 * copied, so that record_back need not be given it again. */
d4r_status d4r_m_stages_record_front(d4r_m_stages *stages, VkCommandBuffer commands,
                                     const d4r_m_frame *frame);
/* expansion + reconstruction + downsample: reads head and colour; writes the output image. Begins with a
 * compute -> compute memory barrier. Flips the histories. */
d4r_status d4r_m_stages_record_back(d4r_m_stages *stages, VkCommandBuffer commands);

void d4r_m_stages_set_marker(d4r_m_stages *stages, d4r_stage_marker_fn marker, void *user);
void d4r_m_stages_copy_marker(d4r_m_stages *stages, const d4r_m_stages *from);
/* No pending command buffer may use the view. */
void d4r_m_stages_forget_view(d4r_m_stages *stages, VkImageView view);
/* Before the first frame: makes `limit` descriptor sets for inputs and as many for outputs, and no more later. A set is
 * used again for other views once its frames have completed. Recording fails with D4R_ERROR_STATE when all are in use. */
d4r_status d4r_m_stages_limit_views(d4r_m_stages *stages, uint32_t limit);
/* Frames with an index below have completed on the device. */
void d4r_m_stages_set_completed(d4r_m_stages *stages, uint64_t index);
/* Descriptor sets in use for the caller's views; *full: every input or every output set is. */
uint32_t d4r_m_stages_view_sets(const d4r_m_stages *stages, bool *full);
uint64_t d4r_m_stages_device_bytes(const d4r_m_stages *stages);
uint64_t d4r_m_stages_weight_bytes(const d4r_m_stages *stages);

/* What a frame's stages read and wrote, for dumps and tests: either an image (layout GENERAL) or a buffer. */
typedef struct d4r_m_resource {
    const char *stage, *name; /* docs/dump.md */
    bool input;               /* a history or surface that the stage read; else one that it wrote */
    VkImage image;            /* or VK_NULL_HANDLE */
    VkBuffer buffer;
    VkFormat format;   /* images: always one that copies to a buffer texel by texel */
    d4r_size extent;   /* images: part in use */
    VkDeviceSize size; /* buffers: bytes in use */
    const char *dtype; /* NumPy type of an element */
    uint32_t channels; /* elements a texel (images) */
} d4r_m_resource;
/* Resources of the frame recorded last. Returns the count; fills up to `capacity`. Images can be copied from
 * after the back has completed and before the next front is recorded. */
uint32_t d4r_m_stages_resources(const d4r_m_stages *stages, d4r_m_resource *resources, uint32_t capacity);

#endif
