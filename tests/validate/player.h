/* Plays frames of sequences, as they are or with a planted integration mistake, through an engine in validation mode. */
#ifndef D4R_TESTS_VALIDATE_PLAYER_H
#define D4R_TESTS_VALIDATE_PLAYER_H

#include "runtime/cli/sequence.h"
#include "runtime/engine.h"
#include "tests/engine/rig.h"

/* One frame as a game would hand it over. Planes are f32 and belong to the frame. */
typedef struct play_frame {
    float *color, *motion, *depth; /* 4, 2, 1 channels */
    d4r_size image,
        motion_image; /* of the planes; the rectangle of settings.render lies at the origin below */
    uint32_t origin_x, origin_y;
    d4r_frame_settings settings;
} play_frame;

/* Frames in order and the conventions that are declared for them. */
typedef struct play_list {
    char name[64];
    d4r_size output;
    d4r_conventions conventions;
    play_frame *frames;
    size_t count;
} play_list;

/* False with a message when it cannot be read. At most `limit` frames. */
bool play_load(const char *path, size_t limit, play_list *list);
/* Appends the frames of another list; both must have the same sizes. */
void play_append(play_list *list, const play_list *other);
/* The middle of the top of every frame (vectors of render size only), for 2x: what a test plays in less time. */
void play_crop(play_list *list, uint32_t width, uint32_t height);
void play_free(play_list *list);

typedef enum plant {
    PLANT_NONE,
    PLANT_JITTER_SIGN,
    PLANT_JITTER_SIGN_Y,
    PLANT_JITTER_DOUBLE,
    PLANT_JITTER_HALF,
    PLANT_JITTER_UV,
    PLANT_MOTION_SIGN,
    PLANT_MOTION_FLIP_Y,
    PLANT_MOTION_DOUBLE,
    PLANT_MOTION_HALF,
    PLANT_MOTION_NDC,
    PLANT_MOTION_UV,
    PLANT_MOTION_STALE,
    PLANT_DEPTH,
    PLANT_DEPTH_REGULAR, /* 1 - depth, declared as inverted */
    PLANT_RECTANGLE_ORIGIN,
    PLANT_RECTANGLE_SIZE,
    PLANT_EXPOSURE_HIGH,
    PLANT_EXPOSURE_LOW,
    PLANT_PRE_EXPOSURE,
    PLANT_SRGB,
    PLANT_SRGB_TONE,
    PLANT_LDR,
    PLANT_JITTER_ABSENT,
    PLANT_JITTERED, /* vectors declared with a jitter that they do not contain */
    PLANT_NAN,
    PLANT_COUNT
} plant;

const char *plant_name(plant p);
d4r_finding_code plant_code(plant p); /* what should be found */
void plant_apply(plant p, play_list *list);

typedef struct play_result {
    d4r_finding findings[D4R_VALIDATE_FINDINGS];
    uint32_t count;
    d4r_evidence evidence;
    double least_match; /* smallest correlation of a pair */
} play_result;

/* The debug view of the last frame, RGBA8; `pixels` is for the caller to free. */
typedef struct play_view {
    d4r_size size;
    uint8_t *pixels;
    void (*look)(void *user, uint32_t frame, const uint8_t *pixels, d4r_size size); /* may be NULL */
    void *user;
    const d4r_model *network_model; /* not NULL: the CPU network instead of the scripted one */
} play_view;
void play_with_view(vk_test *t, const d4r_model *model, const play_list *list, play_view *view,
                    play_result *result);

/* Plays the list on a new engine. */
void play(vk_test *t, const d4r_model *model, const play_list *list, play_result *result);
const d4r_finding *play_found(const play_result *result, d4r_finding_code code);

#endif
