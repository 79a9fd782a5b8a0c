/* The upscaler's inside, shared by its source files. */
#ifndef D4R_RUNTIME_UPSCALER_H
#define D4R_RUNTIME_UPSCALER_H

#include "runtime/engine.h"
#include "runtime/own_device.h"

#define D4R_UPSCALER_MAX_FRAMES 8u
/* Timestamps: one at the start of either command buffer, and one a stage. */
#define D4R_UPSCALER_STAMPS (D4R_MAX_STAGES + 2)

/* Input images come in at most two formats each (f16 and f32), created when first needed. */
typedef enum d4r_input { D4R_INPUT_COLOR, D4R_INPUT_MOTION, D4R_INPUT_DEPTH, D4R_INPUT_EXPOSURE } d4r_input;
#define D4R_UPSCALER_INPUTS 4u

typedef struct d4r_upscaler_input {
    d4r_vk_image variants[2]; /* f16, f32 */
} d4r_upscaler_input;

typedef struct d4r_upscaler_stamp {
    const char *stage; /* that ends here; NULL: only a start */
} d4r_upscaler_stamp;

typedef enum d4r_slot_state { D4R_SLOT_FREE = 0, D4R_SLOT_SUBMITTED, D4R_SLOT_WAITED } d4r_slot_state;

typedef struct d4r_upscaler_slot {
    d4r_slot_state state;
    uint64_t ticket;
    d4r_frame frame;
    VkCommandPool pool;
    VkCommandBuffer front, back;
    d4r_vk_buffer upload; /* grows */
    d4r_vk_buffer readback;
    VkQueryPool queries;
    uint32_t stamp_count;
    uint32_t front_stamps; /* stamps before the network */
    d4r_upscaler_stamp stamps[D4R_UPSCALER_STAMPS];
    d4r_frame_profile profile;
} d4r_upscaler_slot;

struct d4r_upscaler {
    d4r_upscaler_params params; /* defaults resolved; `device` is not kept */
    d4r_own_device own;
    d4r_vk vk;
    d4r_network *network;
    d4r_engine *engine;
    VkSemaphore done; /* timeline: ticket + 1 when a frame's back has completed */
    uint32_t watchdog_ms;
    d4r_upscaler_input inputs[D4R_UPSCALER_INPUTS];
    d4r_vk_image output;
    bool output_ready; /* its first layout transition was recorded */
    d4r_upscaler_slot slots[D4R_UPSCALER_MAX_FRAMES];
    d4r_upscaler_slot *recording; /* of the frame being recorded, for the stage marker */
    uint64_t next_ticket;
    d4r_vk_buffer dump_buffer;
    d4r_upscaler_slot dump_slot; /* command pool of the dumps */
    char description[544];
};

/* upscaler.c */
d4r_status d4r_upscaler_commands_create(d4r_upscaler *u, d4r_upscaler_slot *slot);
/* Waits until the frame has left the device; TIMEOUT, DEVICE. Does not look at whether the network failed. */
d4r_status d4r_upscaler_wait_done(d4r_upscaler *u, uint64_t ticket, uint32_t timeout_ms);

/* upscaler_network.c */
/* Creates u->network and u->engine. */
d4r_status d4r_upscaler_create_network(d4r_upscaler *u);

/* upscaler_input.c */
/* Checks planes against settings and conventions; D4R_ERROR_INPUT or _ARGUMENT with the plane's name. */
d4r_status d4r_upscaler_check_frame(d4r_upscaler *u, const d4r_upscaler_frame *frame);
/* Copies the planes into the slot's upload buffer, and records their way into the input images. */
d4r_status d4r_upscaler_upload(d4r_upscaler *u, d4r_upscaler_slot *slot, const d4r_upscaler_frame *frame,
                               d4r_frame_images *images);

/* upscaler_profile.c */
void d4r_upscaler_marker(void *user, VkCommandBuffer commands, const char *stage);
/* A timestamp that ends `stage` (NULL: starts a command buffer); nothing without params.profile. */
void d4r_upscaler_stamp_now(d4r_upscaler *u, VkCommandBuffer commands, const char *stage);
void d4r_upscaler_collect_profile(d4r_upscaler *u, d4r_upscaler_slot *slot);

/* upscaler_dump.c */
d4r_status d4r_upscaler_dump(d4r_upscaler *u, const d4r_upscaler_slot *slot);

#endif
