/* A small game for the adapter's tests: images of any format, usage, layout and origin, filled on the queue itself, so
 * that frames can be queued; outputs are copied out by the frame's own command buffer. */
#ifndef D4R_TESTS_GAME_GAME_RIG_H
#define D4R_TESTS_GAME_GAME_RIG_H

#include "d4r/d4r_game.h"
#include "models/format/model.h"
#include "tests/engine/rig.h"

#define GAME_FRAMES 8 /* the dither's period: every case begins at the same phase */
#define GAME_SETS 3   /* of images that rotate */

typedef struct game_format {
    const char *name;
    VkFormat format;
    uint32_t bytes; /* a texel of the depth or colour aspect in a buffer */
    int kind;       /* formats of one kind hold the same values here, so they give the same output */
} game_format;

#define GAME_COLORS 8
#define GAME_MOTIONS 3
#define GAME_DEPTHS 5
#define GAME_OUTPUTS 9
extern const game_format game_colors[GAME_COLORS], game_motions[GAME_MOTIONS], game_depths[GAME_DEPTHS],
    game_outputs[GAME_OUTPUTS];

/* How an image is given. */
typedef struct game_access {
    bool copied; /* usage without SAMPLED (STORAGE): the adapter has to copy */
    bool give_view;
    VkImageUsageFlags extra_usage, hidden_usage; /* created with besides; not told to the adapter */
    VkImageLayout layout, final_layout;
    uint32_t origin_x, origin_y; /* and as much behind the rectangle */
} game_access;

typedef struct game_case {
    int color, motion, depth, output; /* indices of the tables above */
    game_access color_access, motion_access, depth_access, output_access;
    bool rotating;                /* other images every frame */
    bool queued;                  /* all frames are submitted before anything is waited for */
    d4r_size render[GAME_FRAMES]; /* 0, 0: the rig's */
    bool damage;                  /* NaN and infinities in colour, depth and motion */
    uint32_t skip_reset;          /* the first frame does not ask for one */
    uint32_t frames;              /* 0: GAME_FRAMES */
} game_case;

typedef struct game_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view; /* only with give_view */
    d4r_size extent;
    VkFormat format;
    VkImageUsageFlags usage;
    VkImageCreateFlags flags;
    VkImageLayout now; /* as of the commands recorded so far */
} game_image;

typedef struct game_rig {
    vk_test *t;
    d4r_size render, output;
    d4r_game *game;
    d4r_network *network;
    script script;
    VkCommandPool pool;
    VkCommandBuffer front[GAME_FRAMES], back[GAME_FRAMES];
    VkSemaphore done;
    uint64_t queued;
    d4r_vk_buffer staging[GAME_FRAMES], readback[GAME_FRAMES];
    uint32_t seed;
    d4r_vk_image debug_view; /* in layout GENERAL; none unless a test makes it */
} game_rig;

typedef struct game_rig_params {
    const d4r_model *model;
    d4r_size render, output;
    d4r_conventions conventions;
    VkFormat output_format; /* 0: RGBA16F */
    uint32_t view_budget;
    d4r_size reserve_render;
    bool copy_inputs;
    const VkAllocationCallbacks *allocator;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
} game_rig_params;

d4r_game_params game_rig_game_params(game_rig *r, vk_test *t, const game_rig_params *params);
void game_rig_create(game_rig *r, vk_test *t, const game_rig_params *params);
void game_rig_destroy(game_rig *r);

/* One image with memory, undefined content. */
game_image game_image_create(game_rig *r, VkFormat format, VkImageUsageFlags usage, VkImageCreateFlags flags,
                             d4r_size extent);
void game_image_destroy(game_rig *r, game_image *image); /* tells the adapter */
d4r_game_image game_image_describe(const game_image *image, const game_access *access);

/* A whole case: images, frames, readback. outputs: GAME_FRAMES tightly packed output rectangles, freed by the caller.
 * Also checks that nothing beyond the output's rectangle was touched. */
uint8_t *game_rig_run_case(game_rig *r, const game_case *c, size_t *frame_bytes);
game_case game_case_plain(void); /* RGBA16F, RG16F, D32F, direct, immediate */

/* Image sets that the caller keeps over several runs. */
typedef struct game_images_set {
    game_image color[GAME_SETS], motion[GAME_SETS], depth[GAME_SETS], output[GAME_SETS];
} game_images_set;
void game_rig_create_set(game_rig *r, const game_case *c, game_images_set *set);
void game_rig_destroy_set(game_rig *r, game_images_set *set);
/* Uploads, records, submits frame `n` of the case (content n, slot n). */
d4r_frame game_rig_frame(game_rig *r, const game_case *c, game_images_set *set, uint32_t n);
void game_rig_fill(game_rig *r, const game_case *c, uint32_t n); /* the host's part of the upload */
void game_rig_wait(game_rig *r);
/* Frame `n`'s output as read back. */
const uint8_t *game_rig_output(game_rig *r, const game_case *c, uint32_t n, size_t *bytes);
#endif
