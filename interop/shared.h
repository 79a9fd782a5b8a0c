/* The two buffers that an engine shares with its network, and the fds that export them. */
#ifndef D4R_INTEROP_SHARED_H
#define D4R_INTEROP_SHARED_H

#include "d4r/d4r_vulkan.h"
#include "runtime/base/vk.h"

typedef struct d4r_shared {
    d4r_vk_buffer tokens, head;
    d4r_network_buffers info; /* what the network is told; the fds are owned here */
} d4r_shared;

typedef struct d4r_shared_desc {
    const d4r_vk *vk;
    d4r_preset preset;
    d4r_size max_token_grid;
    uint64_t token_bytes, head_bytes; /* of the buffers */
    bool needs_host_map;              /* fail without; otherwise device-local memory is preferred */
    bool needs_fd;                    /* fail without; otherwise exported when the device can */
} d4r_shared_desc;

/* Errors: FEATURE (no such memory, or no export), MEMORY, DEVICE. On error *shared is empty. */
d4r_status d4r_shared_create(const d4r_shared_desc *desc, d4r_shared *shared);
void d4r_shared_destroy(const d4r_vk *vk, d4r_shared *shared); /* empty content is fine */
uint64_t d4r_shared_bytes(const d4r_shared *shared);

/* Hands both buffers to the network (front) and takes them back (back): queue family EXTERNAL, and the host
 * domain for networks that use the mappings. `back` also orders every earlier compute write before what
 * follows. */
void d4r_shared_record_release(const d4r_vk *vk, const d4r_shared *shared, VkCommandBuffer commands);
void d4r_shared_record_acquire(const d4r_vk *vk, const d4r_shared *shared, VkCommandBuffer commands);

#endif
