#include "runtime/cli/scene/scene.h"

#include <math.h>
#include <string.h>

void scene_begin(scene *s, uint64_t seed)
{
    *s = (scene){0};
    s->random = seed * 2862933555777941757u + 3037000493u;
    s->shadow = true;
    s->object_count = 1;
    for (int i = 0; i < 3; i++) s->objects[0].now[i][i] = s->objects[0].previous[i][i] = 1;
}

double scene_random(scene *s, double low, double high)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(s->random >> 40) / 16777216.0;
}

/* Rows of R = yaw(y) * pitch(x) * roll(z), and the position. */
static void rows_of(const pose *p, float rows[3][4])
{
    double cy = cos(p->yaw), sy = sin(p->yaw), cp = cos(p->pitch), sp = sin(p->pitch);
    double cr = cos(p->roll), sr = sin(p->roll);
    const double r[3][4] = {{cy * cr + sy * sp * sr, -cy * sr + sy * sp * cr, sy * cp, p->position.x},
                            {cp * sr, cp * cr, -sp, p->position.y},
                            {-sy * cr + cy * sp * sr, sy * sr + cy * sp * cr, cy * cp, p->position.z}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) rows[i][k] = (float)r[i][k];
}

void scene_moving(scene *s, pose now, pose previous)
{
    if (s->object_count == SCENE_MAX_OBJECTS) {
        s->full = true;
        return;
    }
    s->object = s->object_count++;
    rows_of(&now, s->objects[s->object].now);
    rows_of(&previous, s->objects[s->object].previous);
}

void scene_still(scene *s)
{
    s->object = 0;
}

static void set3(float to[4], vec3 v)
{
    to[0] = (float)v.x;
    to[1] = (float)v.y;
    to[2] = (float)v.z;
}

scene_material *scene_paint(scene *s, enum scene_pattern pattern, vec3 color0, vec3 color1)
{
    if (s->material_count == SCENE_MAX_MATERIALS) {
        s->full = true;
        s->material_count--;
    }
    s->material = s->material_count++;
    scene_material *m = &s->materials[s->material];
    *m = (scene_material){.pattern = pattern, .size = {1, 1, 0.01f, 0.5f}, .more = {1, 1, 0.3f, 0.3f}};
    set3(m->color0, color0);
    set3(m->color1, color1);
    m->color2[3] = 20;
    return m;
}

scene_material *scene_glow(scene *s, vec3 color, double emission)
{
    scene_material *m = scene_paint(s, SCENE_PLAIN, color, color);
    m->color0[3] = (float)emission;
    return m;
}

scene_material *scene_letters(scene *s, const char *text, double pixel, vec3 background, vec3 ink,
                              double emission)
{
    scene_material *m = scene_paint(s, SCENE_TEXT, background, ink);
    uint32_t columns = 1, rows = 1, column = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '|') {
            rows++;
            column = 0;
        } else if (++column > columns) {
            columns = column;
        }
    }
    if (s->text_count + columns * rows > SCENE_MAX_TEXT) {
        s->full = true;
        return m;
    }
    m->color0[3] = (float)emission;
    m->size[0] = m->size[1] = (float)pixel;
    m->text = s->text_count;
    m->columns = columns;
    m->rows = rows;
    s->text_count += columns * rows;
    uint32_t at = m->text;
    for (const char *c = text; *c; c++) {
        if (*c == '|')
            at = m->text + ((at - m->text) / columns + ((at - m->text) % columns != 0)) * columns;
        else
            s->text[at++] = scene_glyph(*c);
    }
    return m;
}

static scene_primitive *add(scene *s, enum scene_kind kind)
{
    if (s->primitive_count == SCENE_MAX_PRIMITIVES) {
        s->full = true;
        s->primitive_count--;
    }
    scene_primitive *k = &s->primitives[s->primitive_count];
    if (kind == SCENE_LEAVES && s->object) s->full = true;
    *k = (scene_primitive){.material = s->material, .object = s->object, .kind = kind};
    s->casts[s->primitive_count] = s->shadow;
    s->primitive_count++;
    return k;
}

void scene_box(scene *s, vec3 low, vec3 high)
{
    scene_primitive *k = add(s, SCENE_BOX);
    set3(k->a, (vec3){(low.x + high.x) / 2, (low.y + high.y) / 2, (low.z + high.z) / 2});
    set3(k->b, (vec3){(high.x - low.x) / 2, (high.y - low.y) / 2, (high.z - low.z) / 2});
}

void scene_quad(scene *s, vec3 centre, vec3 half_u, vec3 half_v, enum scene_kind kind, double p0, double p1,
                double p2, double p3)
{
    scene_primitive *k = add(s, kind);
    set3(k->a, centre);
    set3(k->b, half_u);
    set3(k->c, half_v);
    k->p[0] = (float)p0;
    k->p[1] = (float)p1;
    k->p[2] = (float)p2;
    k->p[3] = (float)p3;
}

void scene_rod(scene *s, vec3 a, vec3 b, double radius)
{
    scene_primitive *k = add(s, SCENE_CAPSULE);
    set3(k->a, a);
    set3(k->b, b);
    k->a[3] = (float)radius;
}

void scene_ball(scene *s, vec3 centre, double radius)
{
    scene_primitive *k = add(s, SCENE_SPHERE);
    set3(k->a, centre);
    k->a[3] = (float)radius;
}

void scene_wire(scene *s, vec3 a, vec3 b, double sag, double radius, int pieces)
{
    vec3 last = a;
    for (int i = 1; i <= pieces; i++) {
        double f = (double)i / pieces;
        vec3 next = {a.x + (b.x - a.x) * f, a.y + (b.y - a.y) * f - sag * 4 * f * (1 - f),
                     a.z + (b.z - a.z) * f};
        scene_rod(s, last, next, radius);
        last = next;
    }
}

void scene_light(scene *s, int index, vec3 position, vec3 color)
{
    set3(s->frame.light_position[index], position);
    set3(s->frame.light_color[index], color);
}

void scene_sun(scene *s, double azimuth, double elevation, vec3 color, double disc)
{
    set3(s->frame.sun_direction,
         (vec3){sin(azimuth) * cos(elevation), sin(elevation), -cos(azimuth) * cos(elevation)});
    s->frame.sun_direction[3] =
        (float)cos(0.014); /* about three times the sun's size: it should be visible */
    set3(s->frame.sun_color, color);
    s->frame.sun_color[3] = (float)disc;
}

static vec3 cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec3 unit(vec3 v)
{
    double length = sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
    return (vec3){v.x / length, v.y / length, v.z / length};
}

void scene_camera_set(scene_camera *camera, const camera_pose *p, double near, d4r_size output)
{
    vec3 forward =
        unit((vec3){p->target.x - p->position.x, p->target.y - p->position.y, p->target.z - p->position.z});
    vec3 right = unit(cross(forward, (vec3){sin(p->roll), cos(p->roll), 0}));
    vec3 up = cross(right, forward);
    double tan_x = tan(p->fov_x / 2);
    *camera = (scene_camera){0};
    set3(camera->position, p->position);
    set3(camera->right, right);
    set3(camera->up, up);
    set3(camera->forward, forward);
    camera->position[3] = (float)near;
    camera->right[3] = (float)tan_x;
    camera->up[3] = (float)(tan_x * output.height / output.width);
}
