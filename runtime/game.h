/* The game adapter's inside. */
#ifndef D4R_RUNTIME_GAME_H
#define D4R_RUNTIME_GAME_H

#include "d4r/d4r_game.h"
#include "runtime/engine.h"

enum d4r_game_slot {
    D4R_SLOT_COLOR,
    D4R_SLOT_DEPTH,
    D4R_SLOT_MOTION,
    D4R_SLOT_EXPOSURE,
    D4R_SLOT_OUTPUT,
    D4R_SLOTS
};
#define D4R_GAME_INPUTS D4R_SLOT_OUTPUT

/* A cached view: the adapter's, or one that the caller passed in (remembered so that the image can be forgotten). */
typedef struct d4r_game_view {
    VkImage image; /* NULL: free */
    VkImageView view;
    bool owned;
    VkFormat format;
    VkImageUsageFlags usage;
    uint32_t mip_level, array_layer;
    uint64_t last_use; /* index of a frame */
} d4r_game_view;

/* Freed once the frames below `until` have completed. */
typedef struct d4r_game_retired {
    struct d4r_game_retired *next;
    uint64_t until;
    d4r_engine_leftovers leftovers;
    d4r_vk_image image;
} d4r_game_retired;

/* What happens to one image of a frame. */
typedef struct d4r_game_plan {
    d4r_game_image image; /* as the caller described it */
    d4r_size rectangle;
    d4r_game_route route;
    VkFormat read_format; /* inputs: of the view or of the copy; output: of the storage view */
} d4r_game_plan;

/* One mip level and layer that the frame uses, perhaps twice. */
typedef struct d4r_game_subresource {
    VkImage image;
    uint32_t mip_level, array_layer;
    VkImageAspectFlags aspects;
    VkImageLayout before, after; /* as the caller has it */
    VkImageLayout read, write;   /* as an input and as the output; UNDEFINED: it is not */
} d4r_game_subresource;

typedef struct d4r_game_frame {
    bool open; /* the front was recorded, the back not yet */
    uint64_t id;
    d4r_game_plan plans[D4R_SLOTS];
    d4r_game_subresource subresources[D4R_SLOTS];
    uint32_t subresource_count;
} d4r_game_frame;

/* What the device can do with the formats, asked once. */
typedef struct d4r_game_formats {
    uint32_t sampled, blit_source; /* bits: the table of game_formats.c */
    bool wide;                     /* RGBA32F can be blitted to and sampled */
    d4r_game_route output_route;   /* of the configured output format, for images without STORAGE usage */
    VkFormat output_storage;       /* the format that the back writes */
} d4r_game_formats;

struct d4r_game {
    d4r_engine *engine;
    d4r_engine_params params; /* of the engine, but output_format is the caller's */
    uint32_t view_budget;
    bool copy_inputs;
    d4r_game_formats formats;
    d4r_game_view *views; /* view_budget */
    d4r_vk_image copies[D4R_SLOTS];
    d4r_game_retired *retired;
    uint64_t completed;   /* frames with a smaller index have completed */
    d4r_game_frame frame; /* recorded last */
};

/* Size of the rectangle that a slot needs; of the image for its copies when `largest`. */
d4r_size d4r_game_rectangle(const d4r_game *game, enum d4r_game_slot slot, d4r_size render);

/* game_formats.c */
const char *d4r_game_slot_name(enum d4r_game_slot slot);
void d4r_game_query_inputs(const d4r_vk *vk, d4r_game_formats *formats);
typedef struct d4r_game_input {
    VkFormat read_format; /* of the same bits, whose values d4r reads: sRGB colour in LDR is read undecoded */
    bool sampled;         /* read_format can be */
    bool blit_source;     /* the image's own format can be */
} d4r_game_input;
/* Whether images of this format can be given for an input. */
bool d4r_game_input_format(const d4r_game_formats *formats, enum d4r_game_slot slot, VkFormat format,
                           bool ldr, d4r_game_input *input);
/* The engine's output format for the caller's; *route: of images without STORAGE usage. UNDEFINED: not possible. */
VkFormat d4r_game_engine_format(const d4r_vk *vk, VkFormat output_format, d4r_game_route *route);

/* game_plan.c: checks the images and decides; nothing is created or recorded. */
d4r_status d4r_game_plan_frame(d4r_game *game, const d4r_game_images *images,
                               const d4r_frame_settings *settings, d4r_game_frame *frame);

/* game_memory.c */
uint64_t d4r_game_next_frame(const d4r_game *game);
/* Frees what no frame under way uses. */
void d4r_game_reclaim(d4r_game *game);
void d4r_game_free_retired(d4r_game *game); /* all of it */
/* An empty entry for what the frames recorded so far may still use; NULL: out of memory (logged). */
d4r_game_retired *d4r_game_retire(d4r_game *game);
/* The view of a plan's image: the caller's, a cached or a new one. */
d4r_status d4r_game_get_view(d4r_game *game, enum d4r_game_slot slot, const d4r_game_plan *plan,
                             VkImageView *view);
/* The image for a slot's copies, with at least this content. */
d4r_status d4r_game_get_copy(d4r_game *game, enum d4r_game_slot slot, VkFormat format, d4r_size extent);
void d4r_game_drop_views(d4r_game *game, VkImage image); /* VK_NULL_HANDLE: all */
void d4r_game_drop_copies(d4r_game *game);

#endif
