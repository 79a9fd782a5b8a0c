/* The debug view: one picture of what a frame's stages read, decided and kept. Recorded behind the back. */
#ifndef D4R_VK_STAGES_DEBUG_VIEW_H
#define D4R_VK_STAGES_DEBUG_VIEW_H

#include "vk_stages/preset_stages.h"

typedef struct d4r_debug_view d4r_debug_view;

/* The stages must outlive the view. */
d4r_status d4r_debug_view_create(const d4r_vk *vk, d4r_stages *stages, d4r_debug_view **view);
void d4r_debug_view_destroy(d4r_debug_view **view);

/* For the frame whose back the stages recorded last, into the same command buffer. */
d4r_status d4r_debug_view_record(d4r_debug_view *view, VkCommandBuffer commands);

uint64_t d4r_debug_view_device_bytes(const d4r_debug_view *view);

#endif
