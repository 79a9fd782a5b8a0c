#include "runtime/cli/scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIST_WORDS (1 + 2 * SCENE_KINDS) /* as scene.glsl: trace() */

/* A primitive's reach on the screen, in tiles; x0 > x1: not visible. */
struct reach {
    int x0, y0, x1, y1;
};

static vec3 to_camera(const scene *s, const scene_object *o, vec3 p)
{
    const scene_camera *c = &s->frame.now;
    double w[3], v[3];
    for (int i = 0; i < 3; i++)
        w[i] = o->now[i][0] * p.x + o->now[i][1] * p.y + o->now[i][2] * p.z + o->now[i][3] - c->position[i];
    const float *axes[3] = {c->right, c->up, c->forward};
    for (int i = 0; i < 3; i++) v[i] = axes[i][0] * w[0] + axes[i][1] * w[1] + axes[i][2] * w[2];
    return (vec3){v[0], v[1], v[2]};
}

/* Centre and three half axes of a box around the primitive, in object space. */
static void bounds(const scene_primitive *k, enum scene_kind kind, vec3 *centre, vec3 axes[3])
{
    double r = k->a[3];
    *centre = (vec3){k->a[0], k->a[1], k->a[2]};
    axes[0] = (vec3){kind == SCENE_BOX ? k->b[0] : r, 0, 0};
    axes[1] = (vec3){0, kind == SCENE_BOX ? k->b[1] : r, 0};
    axes[2] = (vec3){0, 0, kind == SCENE_BOX ? k->b[2] : r};
    if (kind >= SCENE_SHEET && kind <= SCENE_LEAVES) {
        axes[0] = (vec3){k->b[0], k->b[1], k->b[2]};
        axes[1] = (vec3){k->c[0], k->c[1], k->c[2]};
        axes[2] = (vec3){0, 0, 0};
    }
    if (kind == SCENE_CAPSULE) {
        /* Rods are thin and often slanted: a box along the rod, one radius longer and wider. */
        vec3 d = {(k->b[0] - k->a[0]) / 2, (k->b[1] - k->a[1]) / 2, (k->b[2] - k->a[2]) / 2};
        double length = sqrt(d.x * d.x + d.y * d.y + d.z * d.z) + 1e-9, grow = 1 + r / length;
        vec3 side = fabs(d.y) < 0.9 * length ? (vec3){d.z, 0, -d.x} : (vec3){0, d.z, -d.y};
        double n = sqrt(side.x * side.x + side.y * side.y + side.z * side.z) + 1e-9;
        side = (vec3){side.x / n, side.y / n, side.z / n};
        vec3 other = {(d.y * side.z - d.z * side.y) / length, (d.z * side.x - d.x * side.z) / length,
                      (d.x * side.y - d.y * side.x) / length};
        *centre = (vec3){centre->x + d.x, centre->y + d.y, centre->z + d.z};
        axes[0] = (vec3){d.x * grow, d.y * grow, d.z * grow};
        axes[1] = (vec3){side.x * r, side.y * r, side.z * r};
        axes[2] = (vec3){other.x * r, other.y * r, other.z * r};
    }
}

static void grow(const scene *s, vec3 v, d4r_size size, double box[4])
{
    double x = (v.x / (v.z * s->frame.now.right[3]) * 0.5 + 0.5) * size.width;
    double y = (-v.y / (v.z * s->frame.now.up[3]) * 0.5 + 0.5) * size.height;
    box[0] = fmin(box[0], x);
    box[1] = fmin(box[1], y);
    box[2] = fmax(box[2], x);
    box[3] = fmax(box[3], y);
}

/* The rectangle around the projection of the box's edges in front of the camera. */
static struct reach reach_of(const scene *s, uint32_t index, d4r_size size, double slack,
                             const scene_lists *lists)
{
    const double closest = 1e-3;
    const scene_primitive *k = &s->primitives[index];
    vec3 centre, axes[3], corner[8];
    double box[4] = {1e9, 1e9, -1e9, -1e9};
    bounds(k, (enum scene_kind)k->kind, &centre, axes);
    for (int i = 0; i < 8; i++) {
        double u = i & 1 ? 1 : -1, v = i & 2 ? 1 : -1, w = i & 4 ? 1 : -1;
        corner[i] = to_camera(s, &s->objects[k->object],
                              (vec3){centre.x + u * axes[0].x + v * axes[1].x + w * axes[2].x,
                                     centre.y + u * axes[0].y + v * axes[1].y + w * axes[2].y,
                                     centre.z + u * axes[0].z + v * axes[1].z + w * axes[2].z});
    }
    for (int i = 0; i < 8; i++) {
        if (corner[i].z >= closest) grow(s, corner[i], size, box);
        for (int bit = 1; bit < 8; bit *= 2) {
            vec3 a = corner[i], b = corner[i ^ bit];
            if (a.z >= closest || b.z < closest) continue;
            double f = (closest - a.z) / (b.z - a.z);
            grow(s, (vec3){a.x + (b.x - a.x) * f, a.y + (b.y - a.y) * f, closest}, size, box);
        }
    }
    if (box[0] > box[2]) return (struct reach){1, 1, 0, 0};
    return (struct reach){(int)floor(fmax(box[0] - slack, 0) / SCENE_TILE),
                          (int)floor(fmax(box[1] - slack, 0) / SCENE_TILE),
                          (int)floor(fmin((box[2] + slack) / SCENE_TILE, lists->tiles_x - 1.0)),
                          (int)floor(fmin((box[3] + slack) / SCENE_TILE, lists->tiles_y - 1.0))};
}

/* One list: header at words[header], indices from words[at]; returns the end. */
static size_t write_list(const scene *s, const struct reach *reaches, int x, int y, uint32_t *words,
                         size_t header, size_t at)
{
    words[header] = (uint32_t)at;
    for (uint32_t slot = 0; slot < 2 * SCENE_KINDS; slot++) {
        size_t start = at;
        for (uint32_t i = 0; i < s->primitive_count; i++) {
            const struct reach *r = reaches ? &reaches[i] : NULL;
            const scene_primitive *k = &s->primitives[i];
            if (k->kind + (k->object ? SCENE_KINDS : 0) != slot) continue;
            if (r ? x >= r->x0 && x <= r->x1 && y >= r->y0 && y <= r->y1 : s->casts[i]) words[at++] = i;
        }
        words[header + 1 + slot] = (uint32_t)(at - start);
    }
    return at;
}

bool scene_lists_make(const scene *s, d4r_size size, double slack, scene_lists *lists)
{
    *lists = (scene_lists){.tiles_x = (size.width + SCENE_TILE - 1) / SCENE_TILE,
                           .tiles_y = (size.height + SCENE_TILE - 1) / SCENE_TILE};
    struct reach *reaches = calloc(s->primitive_count + 1, sizeof *reaches);
    size_t tiles = (size_t)lists->tiles_x * lists->tiles_y,
           words = (tiles + 1) * LIST_WORDS + s->primitive_count;
    if (!reaches) return false;
    for (uint32_t i = 0; i < s->primitive_count; i++) {
        reaches[i] = reach_of(s, i, size, slack, lists);
        if (reaches[i].x0 <= reaches[i].x1 && reaches[i].y0 <= reaches[i].y1)
            words +=
                (size_t)(reaches[i].x1 - reaches[i].x0 + 1) * (size_t)(reaches[i].y1 - reaches[i].y0 + 1);
    }
    lists->words = malloc(words * sizeof *lists->words);
    if (lists->words) {
        size_t at = (tiles + 1) * LIST_WORDS;
        for (size_t t = 0; t < tiles; t++)
            at = write_list(s, reaches, (int)(t % lists->tiles_x), (int)(t / lists->tiles_x), lists->words,
                            LIST_WORDS * t, at);
        lists->shadow_list = (uint32_t)(LIST_WORDS * tiles);
        lists->count = write_list(s, NULL, 0, 0, lists->words, LIST_WORDS * tiles, at);
    }
    free(reaches);
    return lists->words != NULL;
}

void scene_lists_free(scene_lists *lists)
{
    free(lists->words);
    *lists = (scene_lists){0};
}
