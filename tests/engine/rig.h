/* A caller of the recording level for tests: device, images, command buffers, and a scripted external network. */
#ifndef D4R_TESTS_ENGINE_RIG_H
#define D4R_TESTS_ENGINE_RIG_H

#include <pthread.h>
#include <stdatomic.h>
#include "d4r/d4r_vulkan.h"
#include "tests/vk_test.h"

#define RIG_SLOTS 4

/* ---- a network that does as it is told ---- */

typedef enum script_action {
    SCRIPT_OK = 0,  /* writes a head made from the tokens */
    SCRIPT_FAIL,    /* returns D4R_ERROR_NETWORK */
    SCRIPT_PENDING, /* completes from another thread */
    SCRIPT_HANG     /* blocks until script_release, or until cancel when heeds_cancel */
} script_action;

typedef struct script {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    script_action actions[64]; /* by frame id modulo 64 */
    bool heeds_cancel;
    uint32_t late_ms; /* how long a hanging run still takes once it was let go */
    bool released;
    d4r_network_buffers buffers;
    d4r_network_job pending; /* what the worker completes */
    bool has_worker;
    pthread_t worker;
    unsigned attached, detached, destroyed, runs, returned, cancels;
    uint64_t cancelled_frame, last_frame;
} script;

void script_init(script *s);
void script_end(script *s);
d4r_network *script_network(script *s, uint32_t watchdog_ms);
void script_release(script *s); /* lets a hanging run return */
/* Waits up to 5 s for that many runs to have begun. */
bool script_wait_runs(script *s, unsigned runs);
unsigned script_count(script *s, const unsigned *counter);

/* ---- the caller ---- */

typedef struct rig_params {
    const d4r_model *model;
    d4r_network *network;
    d4r_size render, output;
    const VkAllocationCallbacks *allocator;
    uint32_t watchdog_ms;
    uint32_t seed;
    const d4r_conventions *conventions; /* NULL: all zero */
    bool validate, debug_view;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr; /* NULL: the device's own */
    d4r_log log;                                      /* fn NULL: kept for rig_last_error */
} rig_params;

typedef struct rig {
    vk_test *t;
    d4r_size render, output;
    d4r_vk_image color, depth, motion, target;
    d4r_vk_image view; /* only with rig_params.debug_view */
    d4r_engine *engine;
    d4r_status status; /* of the engine's creation */
    VkCommandPool pool;
    VkCommandBuffer front[RIG_SLOTS], back[RIG_SLOTS];
    VkSemaphore done; /* timeline */
    uint64_t queued;
} rig;

d4r_engine_params rig_engine_params(vk_test *t, const rig_params *params);
/* The engine may fail to be created (rig.status); everything else must work. */
void rig_create(rig *r, vk_test *t, const rig_params *params);
void rig_destroy(rig *r); /* waits for the queue, then destroys the engine first */
d4r_frame_images rig_images(const rig *r);
/* Settings of frame number `n`: default with the jitter of n. */
d4r_frame_settings rig_settings(const rig *r, uint32_t n);
/* Records both parts into slot n % RIG_SLOTS, whose earlier frame must have finished. */
d4r_frame rig_record(rig *r, uint32_t n);
void rig_queue(rig *r, uint32_t n, const d4r_frame *frame); /* submits both command buffers */
/* Waits until every queued back has completed. False after timeout_ms. */
/* Generous: the first use of the stages compiles them, which takes lavapipe 11 s of an idle machine without its cache. */
#define RIG_PATIENCE_MS 240000u

bool rig_wait(rig *r, uint32_t timeout_ms);
d4r_frame rig_frame(rig *r, uint32_t n); /* record, queue, d4r_network_submit */
/* rig_frame, wait; the frame's status. */
d4r_status rig_run(rig *r, uint32_t n);
/* Output as rgba16f, tightly packed; freed by the caller. */
void *rig_read(rig *r, size_t *size);
uint64_t rig_counter(const rig *r, const d4r_frame *frame); /* the timeline's value */

/* The last line that any engine of a rig logged as an error; "" when none since the last call. Valid until the next. */
const char *rig_last_error(void);

uint64_t test_now_ms(void);
void test_sleep_ms(uint32_t ms);

#endif
