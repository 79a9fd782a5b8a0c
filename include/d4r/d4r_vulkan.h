/* d4r, recording level: for engines that own their VkDevice, images and command buffers.
 *
 * An engine object records a frame in two parts into the caller's command buffers and hands out two values of
 * one timeline semaphore; between the parts an external network computes the head from the tokens:
 *
 *     d4r_engine_record_front(engine, cmd1, &images, &settings, &frame);
 *     d4r_engine_record_back(engine, cmd2, &frame);
 *     submit cmd1, signalling frame.timeline = frame.tokens_ready          (A)
 *     submit cmd2, waiting for frame.timeline >= frame.head_ready          (B), stage ALL_COMMANDS
 *     d4r_network_submit(&frame);
 *
 * The order of the last three calls is free (wait-before-signal submission is fine), but every recorded frame
 * must end in exactly one d4r_network_submit or d4r_frame_discard, frames must be submitted in the order they
 * were recorded, and the front of frame N + 1 must run after the back of frame N (same queue and submission
 * order, or a semaphore). Recording never submits, waits, allocates (after the first use of a set of image
 * views) or reads back, and never calls back into the caller except for the stage marker.
 *
 * The library links neither libvulkan nor libamdhip64.
 */
#ifndef D4R_D4R_VULKAN_H
#define D4R_D4R_VULKAN_H

#include <vulkan/vulkan_core.h>
#include "d4r.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the caller's device
 * -------------------------------------------------------------------------------------- */

typedef struct d4r_vulkan_device {
    PFN_vkGetInstanceProcAddr get_instance_proc_addr; /* required */
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t queue_family; /* of the queue that will run the command buffers; compute capable */
    const VkAllocationCallbacks
        *allocator; /* may be NULL; used for every object and must outlive the engine */
} d4r_vulkan_device;

/* What a device must have enabled for d4r: device extensions and features. The structs are chained, ready for
 * VkDeviceCreateInfo.pNext; set .features.pNext yourself if you have a chain of your own to append. */
typedef struct d4r_vulkan_requirements {
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    const char *const *extensions; /* static storage */
    uint32_t extension_count;
} d4r_vulkan_requirements;

/* Fills *requirements for this physical device: needed features, plus optional ones that the device has
 * (external memory by fd is optional when only the CPU network is used). D4R_ERROR_FEATURE names every
 * missing feature in the log. instance must be Vulkan 1.2 or later. */
D4R_API d4r_status d4r_vulkan_get_requirements(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                               VkInstance instance, VkPhysicalDevice physical_device,
                                               const d4r_log *log, d4r_vulkan_requirements *requirements);

/* ---- external network
 * ----------------------------------------------------------------------------------------- */

typedef struct d4r_network d4r_network;
typedef struct d4r_engine d4r_engine;

/* What an engine shares with its network. Valid from attach to detach; the fds belong to the engine (dup to
 * keep). */
typedef struct d4r_network_buffers {
    d4r_size max_token_grid;
    uint64_t tokens_bytes, head_bytes; /* of the largest grid */
    int tokens_fd, head_fd;            /* opaque fds of the device memory; -1 when not exported */
    uint64_t tokens_allocation,
        head_allocation;         /* VkMemoryAllocateInfo.allocationSize: what an import must pass */
    void *tokens_map, *head_map; /* host mappings, coherent; NULL when the memory is not host visible */
    void *marker; /* wants_marker: a page of host memory whose first 32-bit word the GPU writes; else NULL */
    size_t marker_bytes; /* of the page */
    bool has_pci;        /* false for CPU devices */
    uint32_t pci_domain, pci_bus, pci_device, pci_function;
    uint8_t device_uuid[16];
    d4r_preset preset; /* of the engine's model */
} d4r_network_buffers;

typedef struct d4r_network_job {
    uint64_t frame;        /* id of the frame, strictly increasing */
    d4r_size token_grid;   /* this frame's grid: tokens and head are [height][width] tokens of the model's preset. M: 64 FP8
                              e4m3 each. K: 32 and 40 f16 */
    uint64_t bytes;        /* of the tokens */
    uint32_t marker_value; /* 0: the tokens are complete. Else they are once the marker holds this value */
    void *completion;      /* for d4r_network_complete */
    uint64_t head_bytes;
} d4r_network_job;

/* Whoever computes. All callbacks of one network are serialised, except `cancel`, which may come from another
 * thread while `run` is active. */
typedef struct d4r_network_callbacks {
    void *user;
    const char *name;     /* for messages; copied */
    bool needs_host_map;  /* tokens_map and head_map must not be NULL */
    bool needs_fd;        /* tokens_fd and head_fd must not be -1 */
    bool wants_marker;    /* run is called ahead, as soon as the frame is submitted (job.marker_value) */
    uint32_t watchdog_ms; /* default bound for one job; 0 = 1000 */
    d4r_status (*attach)(void *user, const d4r_network_buffers *buffers, const d4r_log *log);
    /* Called on the hand-off thread once the tokens of the frame are complete (timeline >= A). Returns D4R_OK
     * when the head is written; an error; or D4R_PENDING when it will call d4r_network_complete later, from
     * any thread. */
    d4r_status (*run)(void *user, const d4r_network_job *job);
    /* The watchdog's bound passed or the engine is being destroyed: finish soon. Optional. Afterwards the
     * engine has given the frame up (B is signalled, the frame is failed), but keeps the buffers alive until
     * run has returned and a pending job was completed. */
    void (*cancel)(void *user, uint64_t frame);
    /* No job is active. Must release every import of the buffers. Optional. */
    void (*detach)(void *user);
    /* Called by d4r_network_destroy. Optional. */
    void (*destroy)(void *user);
    /* Memory held, in bytes. Optional. Any thread. */
    uint64_t (*memory)(void *user);
} d4r_network_callbacks;

D4R_API d4r_status d4r_network_create(const d4r_network_callbacks *callbacks, const d4r_log *log,
                                      d4r_network **network);

typedef struct d4r_cpu_network_params {
    uint32_t threads;     /* 0 = all cores */
    uint32_t watchdog_ms; /* 0 = 60000 */
} d4r_cpu_network_params;
/* The network on the CPU. params may be NULL. The model must outlive it. */
D4R_API d4r_status d4r_network_create_cpu(const d4r_model *model, const d4r_cpu_network_params *params,
                                          const d4r_log *log, d4r_network **network);

/* The network on a GPU through the HIP runtime, opened at run time. params may be NULL. The model must outlive it.
 * D4R_ERROR_NO_DEVICE: no runtime (every path tried is logged) or no device; later, when an engine attaches it,
 * FEATURE/NO_DEVICE/MODEL: no device that fits the engine's, no code object for its architecture, or a damaged one. */
D4R_API d4r_status d4r_network_create_hip(const d4r_model *model, const d4r_hip_network_params *params,
                                          const d4r_log *log, d4r_network **network);

/* Microseconds of each layer of the last frame, in the order of evaluation: fills up to `capacity`, returns the count
 * (0: not a HIP network, or without layer_times). Call while no frame is in flight. */
D4R_API uint32_t d4r_network_layer_times(d4r_network *network, float *microseconds, uint32_t capacity);

/* Not while attached to an engine (D4R_ERROR_STATE is logged and the call waits for the engine: destroy
 * engines first). NULL is fine; sets *network to NULL. */
D4R_API void d4r_network_destroy(d4r_network **network);

/* Ends a job for which run returned D4R_PENDING. Exactly once a job; thread safe; takes no lock that a HIP or
 * Vulkan call could hold. */
D4R_API void d4r_network_complete(void *completion, d4r_status status);

/* ---- engine
 * --------------------------------------------------------------------------------------------------- */

typedef struct d4r_engine_params {
    d4r_vulkan_device device;
    const d4r_model *model; /* must outlive the engine */
    d4r_network *network;   /* attached to this engine alone; must outlive it */
    d4r_size output;
    d4r_size max_render; /* 0, 0: output */
    d4r_conventions conventions;
    /* R16G16B16A16_SFLOAT, B10G11R11_UFLOAT, A2B10G10R10_UNORM or R8G8B8A8_UNORM; or B8G8R8A8_UNORM, *8_SRGB and
     * A2R10G10B10_UNORM, whose bits are written through a view of R8G8B8A8_UNORM or A2B10G10R10_UNORM (mutable images). */
    VkFormat output_format;
    bool exact_filter;
    /* Checks every frame's arguments and, with compute passes behind the input stage, its images; what is probably wrong
     * goes to the log as a warning, each once (docs/debugging.md). False: costs nothing. */
    bool validate;
    bool debug_view; /* frames may ask for a debug view (d4r_frame_images.debug_view) */
    uint32_t watchdog_ms; /* 0: the network's default */
    d4r_log log;
} d4r_engine_params;

D4R_API d4r_engine_params d4r_engine_params_default(void);

/* Allocates everything. The caller's queue need not be idle. Errors: ARGUMENT, FEATURE, MEMORY, DEVICE,
 * NETWORK. */
D4R_API d4r_status d4r_engine_create(const d4r_engine_params *params, d4r_engine **engine);
/* All command buffers with recorded frames must have completed or never be submitted again. Outstanding B
 * values are signalled first; then waits for the network (bounded by the watchdog). NULL is fine; sets
 * *engine to NULL. */
D4R_API void d4r_engine_destroy(d4r_engine **engine);

typedef struct d4r_image {
    VkImageView view; /* 2D, one mip, one layer; depth: the depth aspect */
    VkImage image;    /* of the view; used for layout-preserving barriers of the output only */
    VkImageLayout
        layout; /* inputs: layout while the front runs (GENERAL, SHADER_READ_ONLY, ...); output: GENERAL */
    d4r_size extent;             /* of the view's image */
    uint32_t origin_x, origin_y; /* of the rectangle inside the image */
} d4r_image;

/* Borrowed until the frame's command buffers have completed; views until the engine is destroyed or
 * d4r_engine_forget_view is called (descriptors are cached by view). Access rules: inputs are read by compute
 * shaders as sampled images in front and back; the output is written by back as a storage image. The caller
 * synchronises. */
typedef struct d4r_frame_images {
    d4r_image color, depth,
        motion;         /* rectangles of settings.render (motion: output size when motion_at_output) */
    d4r_image exposure; /* only for D4R_EXPOSURE_TEXTURE: float, texel (origin) is read */
    d4r_image output;   /* rectangle of the output size */
    /* Optional (view NULL: none), with params.debug_view: a picture of twelve tiles of what the frame's stages read and
     * decided (docs/debugging.md), written by back. R8G8B8A8_UNORM with storage usage in GENERAL, from the origin to the
     * image's end, at least 320x180. */
    d4r_image debug_view;
} d4r_frame_images;

/* A recorded frame; plain data, copy freely. */
typedef struct d4r_frame {
    d4r_engine *engine;
    uint64_t id;
    VkSemaphore timeline;  /* owned by the engine */
    uint64_t tokens_ready; /* A: signalled by the caller's submission of the front */
    uint64_t head_ready;   /* B: signalled by the network; waited for by the submission of the back */
} d4r_frame;

/* Records exposure and input stage. D4R_ERROR_ARGUMENT/INPUT: nothing recorded. */
D4R_API d4r_status d4r_engine_record_front(d4r_engine *engine, VkCommandBuffer commands,
                                           const d4r_frame_images *images, const d4r_frame_settings *settings,
                                           d4r_frame *frame);
/* Records expansion, reconstruction and downsample of the frame whose front was recorded last. */
D4R_API d4r_status d4r_engine_record_back(d4r_engine *engine, VkCommandBuffer commands,
                                          const d4r_frame *frame);

/* The caller has submitted (or is about to submit) the frame: the network will run once A is reached. */
D4R_API d4r_status d4r_network_submit(const d4r_frame *frame);
/* The recorded frame will never be submitted. The timeline moves past it; the next frame resets. */
D4R_API d4r_status d4r_frame_discard(const d4r_frame *frame);
/* D4R_PENDING until the network has finished; D4R_OK; else what went wrong (the next recorded frame resets).
 * Thread safe. Known for the 64 most recent frames; older: D4R_ERROR_STATE. */
D4R_API d4r_status d4r_frame_status(const d4r_frame *frame);

/* Drops cached descriptors of a view. No pending command buffer may use it. */
D4R_API void d4r_engine_forget_view(d4r_engine *engine, VkImageView view);

/* With params.validate: reads what completed frames have shown and fills up to `capacity` findings; *count is how many
 * there are. Never waits. Like recording, it must be serialised with other calls on the engine. */
D4R_API d4r_status d4r_engine_validation_report(d4r_engine *engine, d4r_finding *findings, uint32_t capacity,
                                                uint32_t *count);

D4R_API d4r_status d4r_engine_memory(const d4r_engine *engine, d4r_memory_info *info);

/* Called while recording, before the first and after each stage, with the stage's name ("begin", "exposure",
 * "input", "acquire", "expansion", "reconstruction", "downsample"; "validate" after "input" and "debug view" after
 * the last where asked for; preset K has no "expansion" and no "downsample"): record your own timestamps or labels. With
 * VK_EXT_debug_utils enabled on the instance, the library names its objects and labels the stages by itself. */
typedef void (*d4r_stage_marker_fn)(void *user, VkCommandBuffer commands, const char *stage);
D4R_API void d4r_engine_set_marker(d4r_engine *engine, d4r_stage_marker_fn marker, void *user);

#ifdef __cplusplus
}
#endif

#endif
