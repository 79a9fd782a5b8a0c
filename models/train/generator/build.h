/* Random scenes. Sizes are chosen in render pixels of the view they are made for, so that every class has detail around
 * the pixel pitch whatever the distance. The same seed, class and view always give the same scene. */
#ifndef D4R_TRAIN_BUILD_H
#define D4R_TRAIN_BUILD_H

#include <string.h>

#include "scene.h"
#include "trace.h"

typedef struct {
    uint64_t state;
    scene *s;
    int kind, count;         /* class; primitives so far */
    int width, height;       /* render size in pixels */
    float pixel;             /* tangent units a render pixel */
    float speed, calm;       /* object motion scale; 1: nothing moves */
    float unfiltered;        /* share of point sampled textures */
} builder;

static uint32_t next(builder *b)
{
    b->state = b->state * 6364136223846793005ull + 1442695040888963407ull;
    return hash1((uint32_t)(b->state >> 29));
}
static float uniform(builder *b, float lo, float hi) { return lo + (hi - lo) * unit_float(next(b)); }
static float log_uniform(builder *b, float lo, float hi) { return expf(uniform(b, logf(lo), logf(hi))); }
static int chance(builder *b, float p) { return unit_float(next(b)) < p; }
static float normal(builder *b) { return gaussian_like(next(b)); }
static vec3 direction(builder *b) { return v3_norm(v3(normal(b), normal(b), normal(b))); }
static int pick(builder *b, const float *weights, int n)
{
    float total = 0.f;
    for (int i = 0; i < n; i++) total += weights[i];
    float r = uniform(b, 0.f, total);
    for (int i = 0; i < n; i++)
        if ((r -= weights[i]) < 0.f) return i;
    return n - 1;
}
static void store(float *p, vec3 v) { p[0] = v.x, p[1] = v.y, p[2] = v.z; }

static void random_color(builder *b, float *c, float lo, float hi)
{
    float hue = uniform(b, 0.f, 1.f), sat = powf(uniform(b, 0.f, 1.f), 1.7f), value = log_uniform(b, lo, hi);
    for (int i = 0; i < 3; i++) c[i] = clampf(value * (1.f - sat * (.5f + .5f * cosf(TAU * (hue + (float)i / 3.f)))), .004f, .97f);
}

static void palette(builder *b, prim *p)
{
    random_color(b, p->color[0], .03f, 1.f);
    random_color(b, p->color[1], .03f, 1.f);
    random_color(b, p->color[2], .03f, 1.f);
    if (chance(b, .3f)) /* little contrast is common */
        for (int i = 0; i < 3; i++) p->color[1][i] = clampf(p->color[0][i] * uniform(b, .6f, 1.7f), .004f, .97f);
    if (p->texture == TEX_TEXT || p->texture == TEX_ZONE_PLATE || p->texture == TEX_STAR || chance(b, .08f)) {
        float dark = uniform(b, .01f, .15f), light = uniform(b, .5f, .95f);
        int swap = chance(b, .5f);
        for (int i = 0; i < 3; i++) p->color[swap][i] = dark, p->color[1 - swap][i] = light;
        if (chance(b, .4f)) random_color(b, p->color[swap], .01f, .3f);
    }
}

/*                                     sol  fbm  chk  str  brk  dot  grd  txt  cel  mar  til  lmp  rng  gra  win  zon  sta  wat  hai  spk */
static const float tex_general[] =   {.08, .13, .09, .08, .09, .05, .06, .11, .06, .05, .06, .02, .02, .03, .03, .01, .01, .01, .02, .00};
static const float tex_text[] =      {.06, .03, .05, .05, .02, .03, .06, .50, .01, .01, .05, .00, .02, .02, .02, .01, .01, .00, .08, .00};
static const float tex_night[] =     {.15, .12, .06, .05, .08, .03, .03, .08, .03, .03, .04, .14, .00, .03, .10, .00, .00, .00, .03, .00};
static const float tex_water[] =     {.06, .15, .05, .05, .06, .03, .03, .04, .06, .08, .05, .02, .01, .05, .02, .00, .00, .22, .01, .00};
static const float tex_facade[] =    {.06, .06, .04, .10, .40, .02, .06, .05, .03, .02, .05, .01, .00, .02, .07, .00, .00, .00, .02, .00};
static const float tex_chart[] =     {.04, .02, .16, .14, .01, .06, .08, .14, .01, .01, .04, .04, .04, .02, .00, .06, .06, .00, .10, .00};

static const float *textures_of(int kind)
{
    switch (kind) {
    case CLASS_TEXT: return tex_text;
    case CLASS_NIGHT: return tex_night;
    case CLASS_WATER: return tex_water;
    case CLASS_FACADE: return tex_facade;
    case CLASS_CHART: return tex_chart;
    default: return tex_general;
    }
}

static void material(builder *b, prim *p, float unit)
{
    float period = unit * log_uniform(b, 1.1f, 40.f);
    p->texture = pick(b, textures_of(b->kind), TEX_COUNT);
    palette(b, p);
    if (p->texture == TEX_TEXT) period = unit * log_uniform(b, 5.f, 60.f);
    if (p->texture == TEX_BRICK || p->texture == TEX_WINDOWS || p->texture == TEX_CELLS) period *= 3.f;
    if (p->texture == TEX_LAMPS) period = unit * log_uniform(b, 2.f, 30.f);
    if (p->texture == TEX_ZONE_PLATE || p->texture == TEX_STAR) period = unit * log_uniform(b, 1.5f, 12.f);
    if (p->texture == TEX_HAIRLINES) period = unit * log_uniform(b, 3.f, 16.f);
    if (p->texture == TEX_WATER) period = unit * log_uniform(b, 4.f, 40.f);
    p->period = period, p->param = uniform(b, .1f, .9f);
    float angle = chance(b, .55f) ? 0.f : uniform(b, 0.f, TAU);
    p->cos_angle = cosf(angle), p->sin_angle = sinf(angle);
    if (chance(b, .4f)) p->detail = uniform(b, .1f, .7f), p->detail_period = unit * log_uniform(b, 1.5f, 30.f);
    if (chance(b, .3f)) p->specular = log_uniform(b, .1f, 8.f), p->gloss = log_uniform(b, 8.f, 300.f);
    if (chance(b, .3f)) p->bump = uniform(b, .1f, .8f), p->bump_period = unit * log_uniform(b, 2.f, 20.f);
    if (p->texture == TEX_LAMPS || p->texture == TEX_WINDOWS)
        p->emit = log_uniform(b, 2.f, b->kind == CLASS_NIGHT || b->kind == CLASS_CHART ? 110.f : 30.f);
    else if (p->texture == TEX_WATER)
        p->emit = chance(b, .5f) ? log_uniform(b, 1.f, 30.f) : 0.f;
    else if (chance(b, b->kind == CLASS_NIGHT ? .15f : .04f))
        p->emit = log_uniform(b, .5f, 40.f);
    if (p->texture == TEX_WATER) p->churn = b->calm < 1.f ? uniform(b, .02f, .25f) : 0.f;
    if (b->calm < 1.f && chance(b, b->kind == CLASS_WATER ? .3f : .03f))
        p->scroll[0] = 1.5f * unit * normal(b), p->scroll[1] = 1.5f * unit * normal(b);
    if (chance(b, b->unfiltered)) p->flags |= PRIM_UNFILTERED;
    if (b->kind == CLASS_CHART && chance(b, .5f)) p->flags |= PRIM_UNLIT;
}

/* Lamps, tracers, screens: bright things of the class that has them on dark ground. */
static void glow(builder *b, prim *p)
{
    if (b->kind != CLASS_EMITTERS || chance(b, .35f)) return;
    if (chance(b, .7f)) p->texture = TEX_SOLID;
    p->emit = log_uniform(b, 3.f, 110.f);
}

static void motion(builder *b, prim *p, float unit)
{
    vec3 d = direction(b);
    store(p->spin_axis, chance(b, .5f) ? v3(0.f, 1.f, 0.f) : direction(b));
    int fast = b->kind == CLASS_FAST || b->kind == CLASS_EMITTERS;
    if (b->calm >= 1.f || chance(b, fast ? .15f : .6f)) return;
    float speed = unit * b->speed * (fast ? log_uniform(b, 1.f, 16.f) : log_uniform(b, .05f, 5.f));
    d.z *= .5f;
    store(p->velocity, v3_scale(d, speed));
    if (chance(b, .4f)) p->spin = .06f * normal(b) * b->speed;
    if (chance(b, .3f)) {
        store(p->swing, v3_scale(direction(b), unit * log_uniform(b, .2f, 5.f) * b->speed));
        p->swing_rate = uniform(b, .1f, 1.2f), p->swing_phase = uniform(b, 0.f, TAU);
    }
}

static prim *add(builder *b, int shape)
{
    if (b->count >= SCENE_PRIMS) return 0;
    prim *p = &b->s->prims[b->count++];
    p->shape = shape, p->seed = next(b);
    p->detail_period = p->bump_period = p->cut_period = 1.f, p->gloss = 1.f;
    store(p->spin_axis, v3(0.f, 1.f, 0.f));
    return p;
}

/* A point of the view at a distance; returns the world size of a render pixel there. */
static float place(builder *b, prim *p, float distance, float margin)
{
    scene *s = b->s;
    p->center[0] = distance * (uniform(b, -margin, margin) * s->tan_x + s->offset_x);
    p->center[1] = distance * (uniform(b, -margin, margin) * s->tan_y + s->offset_y);
    p->center[2] = distance;
    return b->pixel * distance;
}

static void orient(builder *b, prim *p, float tilt)
{
    vec3 axis = chance(b, .5f) ? v3(0.f, 1.f, 0.f) : direction(b);
    rotation(axis, uniform(b, -tilt, tilt), p->rotation);
}

static void add_large(builder *b, vec3 center, vec3 axis, float angle, float sx, float sy, float unit)
{
    prim *p = add(b, SHAPE_QUAD);
    if (!p) return;
    store(p->center, center);
    rotation(axis, angle, p->rotation);
    p->size[0] = sx, p->size[1] = sy, p->size[2] = 1.f;
    material(b, p, unit);
    if (b->kind == CLASS_WATER && center.y > 0.f && chance(b, .6f)) {
        p->texture = TEX_WATER, p->churn = b->calm < 1.f ? uniform(b, .02f, .25f) : 0.f;
        p->emit = chance(b, .6f) ? log_uniform(b, 1.f, 40.f) : 0.f;
        p->period = unit * log_uniform(b, 4.f, 60.f);
    }
    if (chance(b, b->kind == CLASS_WATER ? .3f : .04f)) p->flags |= PRIM_MIRROR, p->opacity = uniform(b, .2f, .9f);
}

static void add_room(builder *b)
{
    scene *s = b->s;
    vec3 x = v3(1.f, 0.f, 0.f), y = v3(0.f, 1.f, 0.f);
    float near_unit = b->pixel * log_uniform(b, 3.f, 12.f), ground = uniform(b, .8f, 2.5f);
    int facade = b->kind == CLASS_FACADE, chart = b->kind == CLASS_CHART;
    if (chance(b, .7f)) add_large(b, v3(0.f, ground, 20.f), x, TAU / 4.f, 60.f, 60.f, near_unit);
    if (chance(b, .15f)) add_large(b, v3(0.f, -ground * uniform(b, 1.f, 2.f), 20.f), x, TAU / 4.f, 60.f, 60.f, near_unit);
    if (chance(b, facade || chart ? .95f : .45f)) {
        float z = log_uniform(b, facade ? 4.f : 8.f, facade ? 15.f : 40.f);
        vec3 axis = facade ? y : direction(b);
        add_large(b, v3(s->offset_x * z, s->offset_y * z, z), axis, uniform(b, -.45f, .45f), 50.f, 50.f, b->pixel * z);
    }
    if (chance(b, .3f)) {
        float side = chance(b, .5f) ? 1.f : -1.f;
        add_large(b, v3(s->offset_x * 6.f + side * uniform(b, 1.f, 4.f), 0.f, 15.f), y, TAU / 4.f + uniform(b, -.2f, .2f), 30.f,
                  log_uniform(b, 1.f, 20.f), b->pixel * 8.f);
    }
    if (chance(b, .35f)) {
        float z = log_uniform(b, 4.f, 15.f), w = z * s->tan_x;
        add_large(b, v3(s->offset_x * z + uniform(b, -1.5f, 1.5f) * w, s->offset_y * z + uniform(b, -1.f, 1.f) * w, z), direction(b),
                  uniform(b, -.7f, .7f), w * uniform(b, .5f, 2.f), w * uniform(b, .5f, 2.f), b->pixel * z);
    }
}

static void add_object(builder *b)
{
    static const float shapes[] = {.34f, .34f, .16f, .16f};
    float distance = log_uniform(b, 2.2f, 25.f), span = 2.f * b->s->tan_x * distance;
    prim *p = add(b, pick(b, shapes, 4));
    if (!p) return;
    float unit = place(b, p, distance, 1.15f), size = span * log_uniform(b, .03f, .35f);
    for (int i = 0; i < 3; i++) p->size[i] = size * log_uniform(b, .4f, 2.f);
    if (chance(b, .12f)) p->size[2] = p->size[1] = p->size[0];
    orient(b, p, p->shape == SHAPE_QUAD ? 1.f : .5f * TAU);
    material(b, p, unit);
    glow(b, p);
    motion(b, p, unit);
    if (chance(b, .05f)) p->flags |= PRIM_MIRROR, p->opacity = uniform(b, .2f, .9f);
}

/* A rod: wire, pole, bar; thickness around the pixel. */
static void add_rod(builder *b)
{
    float distance = log_uniform(b, 2.2f, 25.f), span = 2.f * b->s->tan_x * distance;
    prim *p = add(b, chance(b, .5f) ? SHAPE_BOX : SHAPE_CYLINDER);
    if (!p) return;
    float unit = place(b, p, distance, 1.f), thick = unit * log_uniform(b, .12f, 1.6f), length = span * uniform(b, .2f, 1.2f);
    p->size[0] = p->size[1] = thick, p->size[2] = length;
    if (p->shape == SHAPE_BOX && chance(b, .5f)) p->size[1] = length, p->size[2] = thick;
    vec3 axis = chance(b, .3f) ? v3(1.f, 0.f, 0.f) : direction(b);
    rotation(axis, chance(b, .3f) ? TAU / 4.f : uniform(b, -.5f * TAU, .5f * TAU), p->rotation);
    material(b, p, unit);
    if (chance(b, .6f)) p->texture = TEX_SOLID;
    glow(b, p);
    motion(b, p, unit);
}

static const float cut_general[] = {0, .12f, .18f, .12f, .12f, .12f, .12f, .08f, .05f, .05f, .04f};
static const float cut_foliage[] = {0, .10f, .00f, .00f, .00f, .00f, .45f, .33f, .00f, .00f, .12f};
static const float cut_fence[] = {0, .00f, .30f, .25f, .20f, .25f, .00f, .00f, .00f, .00f, .00f};

static void add_cutout(builder *b)
{
    int leafy = b->kind == CLASS_FOLIAGE || (b->kind == CLASS_WATER && chance(b, .7f));
    int fence = b->kind == CLASS_THIN || b->kind == CLASS_FACADE;
    float distance = log_uniform(b, 2.2f, 20.f), span = b->s->tan_x * distance;
    prim *p = add(b, SHAPE_QUAD);
    if (!p) return;
    float unit = place(b, p, distance, 1.f);
    p->size[0] = span * log_uniform(b, .15f, 1.2f), p->size[1] = span * log_uniform(b, .15f, .9f), p->size[2] = 1.f;
    orient(b, p, .6f);
    material(b, p, unit);
    p->cutout = pick(b, leafy ? cut_foliage : fence ? cut_fence : cut_general, CUT_COUNT);
    p->cut_period = unit * (leafy ? log_uniform(b, 1.5f, 16.f) : log_uniform(b, 2.f, 25.f)), p->cut_param = uniform(b, .15f, .95f);
    if (p->cutout == CUT_WIRES) p->cut_period = unit * log_uniform(b, 4.f, 25.f), p->cut_param = uniform(b, .1f, .5f);
    if (p->cutout == CUT_TEXT) p->cut_period = unit * log_uniform(b, 6.f, 60.f);
    if (leafy) {
        p->texture = chance(b, .5f) ? TEX_FBM : TEX_TILES;
        for (int k = 0; k < 2; k++) {
            float g = log_uniform(b, .05f, .6f);
            p->color[k][0] = g * uniform(b, .2f, .9f), p->color[k][1] = g, p->color[k][2] = g * uniform(b, .05f, .4f);
        }
        if (b->calm < 1.f && chance(b, .5f)) p->sway = uniform(b, .02f, .35f), p->sway_rate = uniform(b, .05f, .5f);
    } else if (chance(b, .5f)) {
        p->texture = TEX_SOLID;
    }
    motion(b, p, unit);
}

static void add_particles(builder *b)
{
    float distance = log_uniform(b, 1.5f, 15.f), span = b->s->tan_x * distance;
    prim *p = add(b, SHAPE_QUAD);
    if (!p) return;
    float unit = place(b, p, distance, .7f);
    p->size[0] = p->size[1] = span * log_uniform(b, .3f, 1.5f), p->size[2] = 1.f;
    rotation(v3(0.f, 1.f, 0.f), 0.f, p->rotation);
    material(b, p, unit);
    p->flags |= PRIM_BLENDED, p->opacity = uniform(b, .15f, .9f);
    if (chance(b, .55f)) {
        p->texture = TEX_SPARKS, p->period = unit * log_uniform(b, 5.f, 30.f), p->param = uniform(b, .2f, .9f);
        p->emit = chance(b, .5f) ? log_uniform(b, 1.f, 60.f) : .001f;
        if (b->calm < 1.f) p->scroll[0] = unit * 2.f * normal(b), p->scroll[1] = unit * 2.f * normal(b);
    } else {
        p->texture = chance(b, .7f) ? TEX_GRADIENT : TEX_FBM, p->period = unit * log_uniform(b, 4.f, 40.f);
        if (b->calm < 1.f) p->scroll[0] = unit * normal(b), p->scroll[1] = unit * normal(b);
    }
    motion(b, p, unit);
}

static void lights(builder *b)
{
    scene *s = b->s;
    int night = b->kind == CLASS_NIGHT, dark = b->kind == CLASS_DARK;
    vec3 d = direction(b);
    d.y = -fabsf(d.y) - .25f, d.z -= .3f;
    store(s->sun_dir, v3_norm(d));
    float level = night ? log_uniform(b, .003f, .2f) : b->kind == CLASS_EMITTERS ? log_uniform(b, .001f, .1f) : dark ? log_uniform(b, .01f, .15f) : 1.f, warm = uniform(b, .6f, 1.f);
    float sun = level * log_uniform(b, .3f, 5.f), amb = level * log_uniform(b, .05f, .9f), air = level * log_uniform(b, .1f, 2.f);
    store(s->sun, v3(sun, sun * (.5f + .5f * warm), sun * warm));
    for (int i = 0; i < 3; i++) {
        s->sky_light[i] = amb * uniform(b, .6f, 1.2f), s->ground_light[i] = s->sky_light[i] * uniform(b, .3f, 1.f);
        s->horizon[i] = air * uniform(b, .5f, 1.3f), s->fog_color[i] = s->horizon[i] * uniform(b, .4f, 1.f);
    }
    store(s->zenith, v3(air * uniform(b, .1f, .5f), air * uniform(b, .2f, .7f), air * uniform(b, .5f, 1.2f)));
    s->clouds = chance(b, .6f) ? uniform(b, .3f, 1.f) : 0.f, s->cloud_scale = log_uniform(b, .5f, 6.f);
    s->fog = chance(b, .25f) ? log_uniform(b, .003f, .08f) : 0.f;
    s->sun_disc = chance(b, .3f) ? uniform(b, 3.f, 30.f) : 0.f;
    if (night && chance(b, .6f)) s->stars = log_uniform(b, 1.f, 100.f), s->star_period = b->pixel * log_uniform(b, 4.f, 20.f);
    s->shadows = chance(b, .6f), s->seed = next(b), s->step_frame = 1e9f, s->step_sun = s->step_ambient = 1.f;
    if (b->calm >= 1.f) return;
    if (chance(b, .12f)) s->pulse = uniform(b, .1f, .6f), s->pulse_rate = uniform(b, .05f, 1.2f), s->pulse_phase = uniform(b, 0.f, TAU);
    if (chance(b, .06f)) s->step_frame = uniform(b, -3.f, 6.f), s->step_sun = uniform(b, .1f, 2.5f), s->step_ambient = uniform(b, .5f, 1.5f);
    if (chance(b, .12f)) s->flicker = uniform(b, .1f, 1.f);
}

static void camera(builder *b, int moving)
{
    scene *s = b->s;
    s->tan_x = (float)b->width * log_uniform(b, .0012f, .0065f) * .5f;
    s->tan_y = s->tan_x * (float)b->height / (float)b->width;
    s->offset_x = uniform(b, -.45f, .45f), s->offset_y = uniform(b, -.3f, .35f);
    b->pixel = 2.f * s->tan_x / (float)b->width;
    s->reach = log_uniform(b, 8.f, 60.f);
    if (!moving) return;
    float speed = b->pixel * (chance(b, .8f) ? log_uniform(b, .05f, 5.f) : log_uniform(b, 5.f, 22.f)), a = uniform(b, 0.f, TAU);
    float share = chance(b, .4f) ? (chance(b, .5f) ? 1.f : 0.f) : uniform(b, 0.f, 1.f), t = speed * 6.f * (1.f - share);
    s->turn[0] = .6f * speed * share * sinf(a), s->turn[1] = speed * share * cosf(a);
    if (chance(b, .2f)) s->roll = .012f * normal(b);
    a = uniform(b, 0.f, TAU);
    s->velocity[0] = t * cosf(a), s->velocity[1] = .5f * t * sinf(a), s->velocity[2] = .8f * t * normal(b);
    if (chance(b, .25f)) s->velocity[2] += uniform(b, -.25f, .4f);
    if (chance(b, .25f)) {
        s->shake = b->pixel * log_uniform(b, .1f, 2.f);
        for (int i = 0; i < 2; i++) s->shake_rate[i] = uniform(b, .3f, 2.5f), s->shake_phase[i] = uniform(b, 0.f, TAU);
    }
}

/* How many of each thing a class gets: objects, rods, cutouts, particle layers (upper bounds). */
static const int class_counts[CLASS_COUNT][4] = {
    [CLASS_GENERAL] = {22, 6, 4, 1}, [CLASS_THIN] = {6, 16, 7, 1},     [CLASS_TEXT] = {12, 3, 3, 1},   [CLASS_FOLIAGE] = {5, 4, 18, 1},
    [CLASS_PARTICLES] = {10, 4, 3, 7}, [CLASS_NIGHT] = {14, 5, 3, 2},  [CLASS_DARK] = {16, 5, 4, 1},   [CLASS_FAST] = {16, 7, 3, 1},
    [CLASS_WATER] = {10, 4, 8, 2},   [CLASS_FACADE] = {9, 9, 7, 1},    [CLASS_CHART] = {12, 8, 3, 0},
    [CLASS_EMITTERS] = {12, 6, 1, 1},
};

/* moving: 0 nothing moves, 1 objects only, 2 camera too. */
static void scene_build(uint64_t seed, int kind, int moving, int width, int height, scene *out)
{
    builder b;
    memset(out, 0, sizeof *out);
    memset(&b, 0, sizeof b);
    for (int i = 0; i < SCENE_PRIMS; i++) out->prims[i].shape = SHAPE_NONE;
    b.state = seed * 0x9e3779b97f4a7c15ull + 0x1234567ull, b.s = out, b.kind = kind, b.width = width, b.height = height;
    for (int i = 0; i < 4; i++) next(&b);
    b.calm = moving ? 0.f : 1.f, b.speed = 1.f;
    b.unfiltered = chance(&b, .45f) ? 1.f : uniform(&b, 0.f, .7f);
    camera(&b, moving == 2);
    lights(&b);
    add_room(&b);
    const int *counts = class_counts[kind];
    int particles = (int)uniform(&b, kind == CLASS_PARTICLES ? 1.f : -1.5f, (float)counts[3] + 1.f);
    for (int i = 0; i < particles; i++) add_particles(&b);
    int cutouts = (int)uniform(&b, kind == CLASS_FOLIAGE ? 6.f : -1.f, (float)counts[2] + 1.f);
    for (int i = 0; i < cutouts; i++) add_cutout(&b);
    int rods = (int)uniform(&b, kind == CLASS_THIN ? 4.f : -2.f, (float)counts[1] + 1.f);
    for (int i = 0; i < rods; i++) add_rod(&b);
    int objects = (int)uniform(&b, 1.f, (float)counts[0] + 1.f);
    for (int i = 0; i < objects; i++) add_object(&b);
    out->present = b.count >= 32 ? 0xffffffffu : (1u << b.count) - 1u;
    for (int i = 0, casters = 0; i < SCENE_PRIMS && casters < 8; i++) {
        const prim *p = &out->prims[i];
        if (p->shape == SHAPE_NONE || (p->flags & PRIM_BLENDED) || p->size[0] > 20.f) continue;
        out->casters |= 1u << i, casters++;
    }
}

#endif
