/* d4r, game adapter: the recording level (d4r_vulkan.h) for images as a game has them.
 *
 * The caller describes its images (format, usage, layout, rectangle); the adapter samples them directly where it can,
 * copies them where it cannot, makes and caches views, does the layout transitions, and writes the output format that
 * the game wants. Frames are recorded, submitted and handed to the network exactly as in d4r_vulkan.h:
 *
 *     d4r_game_record_front(game, cmd1, &images, &settings, &frame);
 *     d4r_game_record_back(game, cmd2, &frame);
 *     submit cmd1, signalling frame.timeline = frame.tokens_ready
 *     submit cmd2, waiting for frame.timeline >= frame.head_ready, stage ALL_COMMANDS
 *     d4r_network_submit(&frame);                            (or d4r_frame_discard, as there)
 *
 * docs/game_adapter.md says what is read directly, what is copied, and what each change of size costs and resets.
 * One adapter is used by one thread at a time; different adapters are independent.
 */
#ifndef D4R_D4R_GAME_H
#define D4R_D4R_GAME_H

#include "d4r_vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct d4r_game d4r_game;

#define D4R_GAME_VIEW_BUDGET 64u     /* default of view_budget */
#define D4R_GAME_MIN_VIEW_BUDGET 16u /* smallest */

typedef struct d4r_game_params {
    d4r_engine_params
        engine; /* as for d4r_engine_create, except output_format: see d4r_game_output_format_supported */
    d4r_size
        reserve_render; /* token memory is made for this render size; a later d4r_game_configure with a larger
                                 max_render waits for the network. 0, 0: engine.max_render. Preset K, whose tokens follow from
                                 the output: an output of this size is reserved */
    uint32_t view_budget; /* image views and descriptor sets kept, each; 0 = D4R_GAME_VIEW_BUDGET */
    bool copy_inputs;     /* copy every input although it could be read directly (needs TRANSFER_SRC) */
} d4r_game_params;

D4R_API d4r_game_params d4r_game_params_default(void);

/* Errors: those of d4r_engine_create. On error *game is NULL. */
D4R_API d4r_status d4r_game_create(const d4r_game_params *params, d4r_game **game);
/* All command buffers with recorded frames must have completed or never be submitted again. Otherwise as
 * d4r_engine_destroy. NULL is fine; sets *game to NULL. */
D4R_API void d4r_game_destroy(d4r_game **game);

/* One mip level and array layer of a 2D image with one sample, owned by the family of engine.device.queue_family. */
typedef struct d4r_game_image {
    VkImage image; /* required */
    VkImageView
        view; /* optional: a 2D view of exactly this level, layer and format, depth aspect for depth. The
                                 adapter makes its own otherwise. Not used where the image is copied */
    VkFormat format;          /* with which the image was created */
    VkImageUsageFlags usage;  /* likewise */
    VkImageCreateFlags flags; /* likewise; only MUTABLE_FORMAT counts (sRGB and BGRA without a copy) */
    VkImageLayout
        layout; /* when the front begins. Output: may be UNDEFINED, then what lies beyond the rectangle is
                                 lost */
    VkImageLayout
        final_layout; /* when the back has ended; UNDEFINED (0): `layout`. An output whose `layout` is
                                    UNDEFINED must name one */
    d4r_size extent;  /* of the mip level */
    uint32_t origin_x, origin_y; /* of the rectangle */
    uint32_t mip_level, array_layer;
} d4r_game_image;

typedef struct d4r_game_images {
    d4r_game_image color, depth,
        motion;              /* rectangles of settings.render (motion: output size when motion_at_output) */
    d4r_game_image exposure; /* only for D4R_EXPOSURE_TEXTURE: the texel at its origin is read */
    d4r_game_image output;   /* rectangle of the output size */
    d4r_image debug_view;    /* optional, handed on as it is: see d4r_frame_images.debug_view */
} d4r_game_images;

/* Records whatever conversion the inputs need, and the front. The images must have been written (or be read) by
 * commands that were submitted earlier on the same queue, or that a semaphore orders before; no barrier of the caller's is
 * needed. From here to the end of the back they belong to the adapter. D4R_ERROR_ARGUMENT: nothing recorded, the log
 * names the image and what is wrong. */
D4R_API d4r_status d4r_game_record_front(d4r_game *game, VkCommandBuffer commands,
                                         const d4r_game_images *images, const d4r_frame_settings *settings,
                                         d4r_frame *frame);
/* Records the back, the output's conversion, and the transitions to the final layouts; whatever is recorded or submitted
 * afterwards on the queue may use the images without a barrier of its own. */
D4R_API d4r_status d4r_game_record_back(d4r_game *game, VkCommandBuffer commands, const d4r_frame *frame);

/* ---- changes between frames (docs/game_adapter.md has the costs) */

typedef struct d4r_game_config {
    d4r_size output;
    d4r_size max_render; /* 0, 0: output */
    d4r_conventions conventions;
    VkFormat output_format;
} d4r_game_config;

D4R_API d4r_status d4r_game_get_config(const d4r_game *game, d4r_game_config *config);
/* Another output size, largest render size, set of conventions (HDR and LDR) or output format, from the next recorded
 * front on, which resets. Between frames only (the back of the last one is recorded). Frames under way keep what they use
 * until they have completed. An unchanged configuration costs nothing and resets nothing. On error the old configuration
 * stays in force. */
D4R_API d4r_status d4r_game_configure(d4r_game *game, const d4r_game_config *config);

/* The caller is about to destroy this image (or a view of it that it passed in): drops everything made for it. No pending
 * command buffer may use it. Forgetting this call for a destroyed image is a fault in the caller: Vulkan may give a new
 * image the same handle. */
D4R_API void d4r_game_forget_image(d4r_game *game, VkImage image);

/* Frees conversion images, views and whatever earlier configurations left behind, for a pause. No pending command buffer
 * may hold a frame. The histories stay: nothing resets. */
D4R_API void d4r_game_trim(d4r_game *game);

/* ---- queries */

/* Whether the device can deliver this output format, and how: DIRECT into images with STORAGE usage (others by a copy). */
typedef enum d4r_game_route {
    D4R_GAME_UNUSED = 0,
    D4R_GAME_DIRECT = 1,   /* read or written in place */
    D4R_GAME_COPIED = 2,   /* bit for bit through an image of the adapter's */
    D4R_GAME_CONVERTED = 3 /* by a blit, which converts the format */
} d4r_game_route;
D4R_API d4r_game_route d4r_game_output_format_supported(const d4r_vulkan_device *device, VkFormat format);

typedef struct d4r_game_info {
    d4r_game_route color, depth, motion, exposure, output; /* of the frame recorded last */
    uint32_t views, view_budget;                           /* cached now; at most */
    uint32_t descriptor_sets;                              /* in use, inputs and outputs */
    uint32_t retired;          /* objects of earlier configurations not yet freed */
    uint64_t conversion_bytes; /* device memory of images for copies */
    uint64_t retired_bytes;    /* device memory of what is retired */
} d4r_game_info;
D4R_API d4r_status d4r_game_get_info(const d4r_game *game, d4r_game_info *info);

/* The engine inside, for d4r_engine_memory, d4r_engine_set_marker and the like; the same for the adapter's whole life.
 * Frames of an adapter are recorded through the adapter only. */
D4R_API d4r_engine *d4r_game_engine(d4r_game *game);

#ifdef __cplusplus
}
#endif

#endif
