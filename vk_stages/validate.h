/* The passes of the validation mode: statistics of a frame's images, written into a ring that the host reads.
 * Recorded with the front, behind the input stage; reads the caller's images, the stages' parameters and exposure. */
#ifndef D4R_VK_STAGES_VALIDATE_H
#define D4R_VK_STAGES_VALIDATE_H

#include "vk_stages/preset_stages.h"
#include "vk_stages/validate_params.h"

typedef struct d4r_v_params d4r_v_params;
typedef struct d4r_v_passes d4r_v_passes;

/* The stages must outlive the passes. */
d4r_status d4r_v_passes_create(const d4r_vk *vk, d4r_stages *stages, d4r_v_passes **passes);
void d4r_v_passes_destroy(d4r_v_passes **passes);

/* For the frame whose front the stages recorded last, into the same command buffer. Fills step, groups, reading_groups
 * and phase of *params. has_previous 0 drops what is kept of earlier frames. */
void d4r_v_passes_record(d4r_v_passes *passes, VkCommandBuffer commands, d4r_v_params *params);

/* D4R_V_SLOT_SLICES * 8 numbers, written once the frame's front has completed. */
const float *d4r_v_passes_slot(const d4r_v_passes *passes, uint32_t slot);
uint64_t d4r_v_passes_device_bytes(const d4r_v_passes *passes);

#endif
