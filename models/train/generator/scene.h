/* A procedural scene: everything that does not depend on the frame. Motion is a function of time, so that a clip can be
 * as long as training wants it without storing frames. Camera: x right, y down, z forward. */
#ifndef D4R_TRAIN_SCENE_H
#define D4R_TRAIN_SCENE_H

#include "vec.h"

#define SCENE_PRIMS 32 /* one bit each in a tile's candidate mask */

enum shape { SHAPE_NONE = -1, SHAPE_QUAD, SHAPE_BOX, SHAPE_SPHERE, SHAPE_CYLINDER };

enum texture {
    TEX_SOLID,
    TEX_FBM,
    TEX_CHECKER,
    TEX_STRIPES,
    TEX_BRICK,
    TEX_DOTS,
    TEX_GRID,
    TEX_TEXT,
    TEX_CELLS,
    TEX_MARBLE,
    TEX_TILES,
    TEX_LAMPS,
    TEX_RINGS,
    TEX_GRADIENT,
    TEX_WINDOWS,
    TEX_ZONE_PLATE,
    TEX_STAR,
    TEX_WATER,
    TEX_HAIRLINES,
    TEX_SPARKS,
    TEX_COUNT
};

enum cutout {
    CUT_NONE,
    CUT_HOLES,
    CUT_MESH,
    CUT_PICKETS,
    CUT_CHAIN,
    CUT_WIRES,
    CUT_LEAVES,
    CUT_GRASS,
    CUT_TEXT,
    CUT_DISCS,
    CUT_TWIGS,
    CUT_COUNT
};

enum scene_class {
    CLASS_GENERAL,
    CLASS_THIN,
    CLASS_TEXT,
    CLASS_FOLIAGE,
    CLASS_PARTICLES,
    CLASS_NIGHT,
    CLASS_DARK,
    CLASS_FAST,
    CLASS_WATER,
    CLASS_FACADE,
    CLASS_CHART,
    CLASS_EMITTERS,
    CLASS_COUNT
};

#define PRIM_UNFILTERED 1u  /* texture is point sampled in the low resolution frame (no mip map) */
#define PRIM_BLENDED 2u     /* transparent: writes neither depth nor motion */
#define PRIM_MIRROR 4u      /* reflects; the vectors stay those of the mirror */
#define PRIM_UNLIT 8u      /* its colour is emitted */

typedef struct {
    int32_t shape, texture, cutout;
    uint32_t flags, seed;
    float size[3];
    float color[3][3];
    float period, param, cos_angle, sin_angle; /* texture: world units a period, shape parameter, rotation */
    float detail, detail_period;               /* brightness variation on top */
    float specular, gloss, emit;
    float cut_period, cut_param;
    float bump, bump_period;
    float scroll[2], churn;                    /* texture motion without vectors, per frame */
    float sway, sway_rate;                     /* cutouts blown about without vectors */
    float opacity;
    float center[3], velocity[3], spin_axis[3], spin, rotation[9];
    float swing[3], swing_rate, swing_phase;
} prim;

typedef struct {
    prim prims[SCENE_PRIMS];
    float tan_x, tan_y, offset_x, offset_y; /* the crop of a wider view */
    float velocity[3], turn[3], roll;       /* camera, per frame */
    float shake, shake_rate[2], shake_phase[2];
    float reach;                            /* frames after which motion slows down and returns (keeps clips bounded) */
    float sun_dir[3], sun[3], sky_light[3], ground_light[3];
    float horizon[3], zenith[3], clouds, cloud_scale, sun_disc, stars, star_period;
    float fog, fog_color[3];
    float pulse, pulse_rate, pulse_phase, step_frame, step_sun, step_ambient, flicker;
    uint32_t seed, shadows, present, casters; /* the last two: a bit a primitive */
} scene;

/* One frame of one clip: what a view needs at its time and at the frame before. */
typedef struct {
    float to_object[12], to_world[12], to_world_prev[12];
    float center[3], radius;
} pose;

typedef struct {
    float pos[3], rot[9], pos_prev[3], rot_prev[9];
    float sun, ambient, emit, time;
    pose poses[SCENE_PRIMS];
} frame;

/* What the caller asks for: a scene at a time. Four-byte members only: Python fills it as one array. */
typedef struct {
    int32_t scene;
    float time, previous; /* frame numbers; equal for a frozen clip */
    float jitter[2];
    float footprint;      /* texture filter of the low resolution frame in render pixels; 0: point sampled */
    float noise;          /* relative shading noise of the low resolution frame */
    uint32_t noise_seed;
} view;

#endif
