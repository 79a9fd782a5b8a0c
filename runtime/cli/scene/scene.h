/* A procedural scene: primitives on moving objects, materials, light, a camera path. Built on the host for one frame at
 * a time, rendered by the GPU (scene_gpu.h). The structures at the top are read by scene.glsl as they are. */
#ifndef D4R_SCENE_SCENE_H
#define D4R_SCENE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "d4r/d4r.h"

typedef struct scene_primitive {
    float a[4], b[4], c[4], p[4];
    uint32_t material, object, kind, unused;
} scene_primitive;

typedef struct scene_material {
    float color0[4], color1[4], color2[4]; /* rgb; w: emission, specular, gloss */
    float size[4], more[4];
    uint32_t pattern, text, columns, rows;
} scene_material;

typedef struct scene_object {
    float now[3][4], previous[3][4]; /* rows of object -> world */
} scene_object;

typedef struct scene_camera {
    float position[4], right[4], up[4], forward[4]; /* w: near, tan of half the field of view x, y, 0 */
} scene_camera;

typedef struct scene_frame {
    scene_camera now, previous;
    float sun_direction[4], sun_color[4];
    float zenith[4], horizon[4], bounce[4];
    float light_position[4][4], light_color[4][4];
} scene_frame;

_Static_assert(sizeof(scene_primitive) == 80 && sizeof(scene_material) == 96 && sizeof(scene_object) == 96 &&
                   sizeof(scene_frame) == 2 * 64 + 5 * 16 + 8 * 16,
               "the layouts of scene.glsl");

enum scene_kind {
    SCENE_BOX,
    SCENE_SHEET,  /* the three kinds of quad: whole or a mesh, */
    SCENE_WHEEL,  /* a rim with spokes, */
    SCENE_LEAVES, /* leaves; these cannot be part of a moving object */
    SCENE_CAPSULE,
    SCENE_SPHERE,
    SCENE_KINDS
};
enum scene_pattern {
    SCENE_PLAIN,
    SCENE_BRICK,
    SCENE_TILES,
    SCENE_STRIPES,
    SCENE_FACADE,
    SCENE_TEXT,
    SCENE_PRINT,
    SCENE_ZONES,
    SCENE_STAR
};

#define SCENE_MAX_PRIMITIVES 1024
#define SCENE_MAX_MATERIALS 192
#define SCENE_MAX_OBJECTS 64
#define SCENE_MAX_TEXT 1024

typedef struct scene {
    scene_frame frame;
    scene_primitive primitives[SCENE_MAX_PRIMITIVES];
    bool casts[SCENE_MAX_PRIMITIVES]; /* casts a shadow */
    uint32_t primitive_count;
    scene_material materials[SCENE_MAX_MATERIALS];
    uint32_t material_count;
    scene_object objects[SCENE_MAX_OBJECTS]; /* 0 stands still */
    uint32_t object_count;
    uint32_t text[SCENE_MAX_TEXT]; /* glyph numbers */
    uint32_t text_count;
    uint32_t object, material; /* of what is added next */
    bool shadow;
    uint64_t random;
    bool full; /* something did not fit: a bug in the scene */
} scene;

typedef struct vec3 {
    double x, y, z;
} vec3;

/* A motion: where an object is at time `seconds`. */
typedef struct pose {
    vec3 position;
    double yaw, pitch, roll; /* radians; about y, then x, then z */
} pose;

typedef struct camera_pose {
    vec3 position, target;
    double roll, fov_x; /* radians */
} camera_pose;

/* ---- building (scene_build.c) */

void scene_begin(scene *s, uint64_t seed);
double scene_random(scene *s, double low, double high);
/* Makes what is added next part of an object that moves from `previous` to `now`. scene_still returns to the ground. */
void scene_moving(scene *s, pose now, pose previous);
void scene_still(scene *s);
/* A new material with two colours; it is what is used next. The caller may fill in more. */
scene_material *scene_paint(scene *s, enum scene_pattern pattern, vec3 color0, vec3 color1);
scene_material *scene_glow(scene *s, vec3 color, double emission);
/* Letters, '|' ends a line; `pixel` metres a dot of the 5x7 matrix. */
scene_material *scene_letters(scene *s, const char *text, double pixel, vec3 background, vec3 ink,
                              double emission);
void scene_box(scene *s, vec3 low, vec3 high);
/* A quad: centre and half axes; its four parameters are those of mesh_solid(), wheel_solid() or leaves_solid() in
 * scene.glsl; all zero: whole. */
void scene_quad(scene *s, vec3 centre, vec3 half_u, vec3 half_v, enum scene_kind kind, double p0, double p1,
                double p2, double p3);
void scene_rod(scene *s, vec3 a, vec3 b, double radius);
void scene_ball(scene *s, vec3 centre, double radius);
/* A hanging wire from a to b in straight pieces. */
void scene_wire(scene *s, vec3 a, vec3 b, double sag, double radius, int pieces);
void scene_light(scene *s, int index, vec3 position, vec3 color);
void scene_sun(scene *s, double azimuth, double elevation, vec3 color, double disc);
void scene_camera_set(scene_camera *camera, const camera_pose *pose, double near, d4r_size output);

/* Glyph number of a character; 0 is the blank. Words of the font: two a glyph (font.c). */
uint32_t scene_glyph(char character);
#define SCENE_GLYPHS 44
extern const uint32_t scene_font[SCENE_GLYPHS][2];

/* ---- scenes: build frame `seconds`, `step` seconds after the one before */

typedef void scene_function(scene *s, double seconds, double step, d4r_size output);
scene_function scene_street, scene_gallery, scene_chart;

/* ---- lists of what a tile of 8x8 pixels may see (scene_lists.c) */

#define SCENE_TILE 8
typedef struct scene_lists {
    uint32_t *words; /* a list a tile, the shadow casters' list, then indices */
    size_t count;
    uint32_t shadow_list;
    uint32_t tiles_x, tiles_y;
} scene_lists;

/* Tiles of an image of this size; `slack` pixels around every tile are covered too. False: no memory. */
bool scene_lists_make(const scene *s, d4r_size size, double slack, scene_lists *lists);
void scene_lists_free(scene_lists *lists);

#endif
