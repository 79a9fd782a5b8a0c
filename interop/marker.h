/* The marker strategy's word: a page of host memory that the GPU writes through Vulkan and a HIP stream waits for.
 *
 * Anonymous host pages, given to VK_EXT_external_memory_host and to hipHostRegister: a word in cached device memory
 * could be missed by HIP's polling kernel (docs/hip.md). */
#ifndef D4R_INTEROP_MARKER_H
#define D4R_INTEROP_MARKER_H

#include <stdatomic.h>
#include "interop/hip.h"
#include "runtime/base/vk.h"

/* ---- Vulkan's side: owned by the engine ---- */

typedef struct d4r_marker {
    VkBuffer buffer;
    VkDeviceMemory memory;
    _Atomic uint32_t *word; /* in `page` */
    void *page;
    size_t bytes; /* of the page: a multiple of what both sides want */
} d4r_marker;

/* D4R_ERROR_FEATURE: the device cannot import host memory, or the extension is not enabled. */
d4r_status d4r_marker_create(const d4r_vk *vk, d4r_marker *marker);
void d4r_marker_destroy(const d4r_vk *vk, d4r_marker *marker); /* zeroed content is fine */
/* Writes `value` once everything recorded before has completed and is visible. */
void d4r_marker_record(const d4r_vk *vk, const d4r_marker *marker, VkCommandBuffer commands, uint32_t value);

/* ---- HIP's side: owned by the network ---- */

typedef struct d4r_hip_marker {
    void *page;   /* registered */
    void *device; /* its address on the HIP device */
} d4r_hip_marker;

d4r_status d4r_hip_marker_register(const d4r_hip *hip, void *page, size_t bytes, d4r_hip_marker *marker);
/* The stream must be idle. Zeroed content is fine. */
void d4r_hip_marker_unregister(const d4r_hip *hip, d4r_hip_marker *marker);
/* Writes the word from the host, so that a stream that waits for `value` goes on although the GPU never wrote it: its
 * front was never submitted, or the device hangs. Any thread; zeroed content is fine. */
void d4r_hip_marker_release(const d4r_hip_marker *marker, uint32_t value);

#endif
