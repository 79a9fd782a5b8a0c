/* The validation mode: checks a frame's arguments while it is recorded and its images on the GPU, and says in one
 * sentence what is probably wrong. */
#ifndef D4R_RUNTIME_VALIDATE_H
#define D4R_RUNTIME_VALIDATE_H

#include "d4r/d4r_vulkan.h"
#include "vk_stages/validate.h"

#define D4R_VALIDATE_FINDINGS 32

/* How a reading of the motion vectors differs from the declared one. */
typedef enum d4r_reading_kind {
    D4R_READING_DECLARED,
    D4R_READING_ZERO,
    D4R_READING_SIGN, /* sx, sy */
    D4R_READING_SCALE,
    D4R_READING_UNIT /* unit, sx, sy */
} d4r_reading_kind;

typedef struct d4r_reading {
    d4r_reading_kind kind;
    d4r_motion_unit unit;
    int sx, sy;
    double scale;
} d4r_reading;

/* What must be known of a recorded frame when its statistics arrive. */
typedef struct d4r_validate_record {
    uint64_t id;
    bool waiting; /* recorded, statistics not read */
    bool pair;    /* compared with the frame before */
    d4r_size render;
    double dx, dy; /* jitter - previous jitter */
    d4r_frame_settings settings;
} d4r_validate_record;

/* Sums over frames. Halved together when they get long, so that old frames fade. */
typedef struct d4r_evidence {
    /* motion */
    double gain[D4R_V_HYPOTHESES]; /* dB against the declared reading, summed */
    double against_zero[D4R_V_HYPOTHESES];
    double wins[D4R_V_HYPOTHESES], motion_frames;
    /* jitter: normal equations of (a_x, a_y, b_x, b_y): shift left = a * jitter change + b */
    double normal[4][4], right[4], squares, pixels, jitter_pairs;
    /* depth */
    double zeros, ones, above_half, depth_pixels, depth_sum, nearer_before, farther_before, depth_frames;
    double depth_high;
    /* exposure and colour */
    double level_frames, level_low, level_high;
    double encoded_frames, geometric;
    double ldr_frames;
    /* rectangle: dead lines at top, bottom, left, right */
    double lines_frames, band_low[4];
    /* values that are not finite */
    double bad_frames[3];
} d4r_evidence;

typedef struct d4r_validate_arguments_state {
    uint64_t frames, constant_jitter, resets, size_changes, since_size_change;
    d4r_vec2 last_jitter;
    d4r_size last_render;
} d4r_validate_arguments_state;

typedef struct d4r_validate {
    d4r_log log;
    const d4r_vk *vk;
    VkSemaphore timeline;
    d4r_v_passes *passes;
    d4r_conventions conventions;
    d4r_size output, max_render;
    /* recording */
    bool has_previous;
    d4r_size previous_render;
    d4r_reading readings[D4R_V_HYPOTHESES];
    uint32_t reading_count;
    d4r_validate_record ring[D4R_V_RING];
    uint64_t next_read; /* id */
    uint64_t next_id;
    d4r_validate_arguments_state arguments;
    /* evidence */
    d4r_evidence evidence;
    double match[8]; /* correlations of the latest pairs, newest first */
    uint32_t matches;
    bool cut_suspected;
    uint64_t cut_frame;
    double cut_match, cut_before;
    /* findings */
    d4r_finding findings[D4R_VALIDATE_FINDINGS];
    uint32_t finding_count;
} d4r_validate;

d4r_status d4r_validate_create(const d4r_vk *vk, d4r_stages *stages, VkSemaphore timeline,
                               const d4r_engine_params *params, d4r_validate **validate);
void d4r_validate_destroy(d4r_validate **validate);

/* The arguments of a frame that the engine accepted. */
void d4r_validate_arguments(d4r_validate *v, const d4r_frame_images *images,
                            const d4r_frame_settings *settings, bool reset);
/* Records the passes behind the stages' front; reads what earlier frames have left. */
void d4r_validate_record_front(d4r_validate *v, VkCommandBuffer commands, uint64_t id,
                               const d4r_stage_frame *frame);
/* Reads the statistics of the frames that have completed. */
void d4r_validate_poll(d4r_validate *v);

bool d4r_validate_known(const d4r_validate *v, d4r_finding_code code);
/* Adds a finding, or counts a frame more of one that is known. `strength`: evidence / threshold, 1 or more. */
__attribute__((format(printf, 5, 6))) void d4r_validate_find(d4r_validate *v, d4r_finding_code code,
                                                             uint64_t frame, double strength,
                                                             const char *format, ...);

/* validate_evidence.c: the statistics of a frame (D4R_V_SLOT_SLICES * 8 numbers) are taken into account. */
void d4r_validate_take(d4r_validate *v, const d4r_validate_record *record, const float *slot);

/* validate_motion.c */
void d4r_validate_readings(d4r_validate *v, d4r_size render, const d4r_frame_settings *settings,
                           d4r_v_params *params);
void d4r_validate_motion(d4r_validate *v, const d4r_validate_record *record, const float *slot);
/* Solves for the measured share of the declared jitter per axis; false without enough evidence. `error`: standard
 * errors; `explained`: share of the squared difference of the frames that the shifts explain. */
bool d4r_validate_jitter_share(const d4r_evidence *e, double share[2], double error[2], double *explained);
void d4r_validate_jitter(d4r_validate *v, const d4r_validate_record *record, const float *slot);

#endif
