/* Ray casting of a scene: poses at a time, intersections, shading, and the two kinds of pixel (low resolution with depth
 * and motion; supersampled reference). */
#ifndef D4R_TRAIN_TRACE_H
#define D4R_TRAIN_TRACE_H

#include "texture.h"

#define NEAR_PLANE .05f
#define FAR_DISTANCE 1e9f
#define COLOR_MAX 1000.f

/* Motion that starts linear and stays within the reach. */
HD float bounded(float t, float reach) { return reach * sinf(t / reach); }

HD void camera_at(const scene *s, float t, float *pos, float *rot)
{
    float b = bounded(t, s->reach);
    vec3 w = v3(s->turn[0] * b, s->turn[1] * b, s->roll * b);
    w.x += s->shake * sinf(s->shake_rate[0] * t + s->shake_phase[0]);
    w.y += s->shake * sinf(s->shake_rate[1] * t + s->shake_phase[1]);
    float angle = sqrtf(v3_dot(w, w));
    rotation(angle > 1e-9f ? v3_scale(w, 1.f / angle) : v3(0.f, 0.f, 1.f), angle, rot);
    for (int i = 0; i < 3; i++) pos[i] = s->velocity[i] * b;
}

HD void prim_transform(const scene *s, const prim *p, float t, float *m, float *inverse)
{
    float b = bounded(t, s->reach), spin[9], r[9];
    rotation(v3_load(p->spin_axis), p->spin * t, spin);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            r[3 * i + j] = spin[3 * i] * p->rotation[j] + spin[3 * i + 1] * p->rotation[3 + j] +
                           spin[3 * i + 2] * p->rotation[6 + j];
    float swing = sinf(p->swing_rate * t + p->swing_phase);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) m[4 * i + j] = r[3 * i + j] * p->size[j];
        m[4 * i + 3] = p->center[i] + p->velocity[i] * b + p->swing[i] * swing;
    }
    if (!inverse) return;
    for (int i = 0; i < 3; i++) {
        float k = 1.f / p->size[i], d = 0.f;
        for (int j = 0; j < 3; j++) {
            inverse[4 * i + j] = r[3 * j + i] * k;
            d += inverse[4 * i + j] * m[4 * j + 3];
        }
        inverse[4 * i + 3] = -d;
    }
}

HD float prim_radius(const prim *p)
{
    float x = p->size[0], y = p->size[1], z = p->shape == SHAPE_QUAD ? 0.f : p->size[2];
    if (p->shape == SHAPE_SPHERE) return 1.001f * fmaxf(x, fmaxf(y, z));
    if (p->shape == SHAPE_CYLINDER) return 1.001f * sqrtf(fmaxf(x, y) * fmaxf(x, y) + z * z);
    return 1.001f * sqrtf(x * x + y * y + z * z);
}

HD void frame_prim(const scene *s, const view *v, int i, frame *f)
{
    const prim *p = &s->prims[i];
    pose *q = &f->poses[i];
    if (p->shape == SHAPE_NONE) return;
    prim_transform(s, p, v->time, q->to_world, q->to_object);
    prim_transform(s, p, v->previous, q->to_world_prev, 0);
    for (int k = 0; k < 3; k++) q->center[k] = q->to_world[4 * k + 3];
    q->radius = prim_radius(p);
}

HD void frame_lights(const scene *s, const view *v, frame *f)
{
    camera_at(s, v->time, f->pos, f->rot);
    camera_at(s, v->previous, f->pos_prev, f->rot_prev);
    float stepped = v->time >= s->step_frame ? 1.f : 0.f;
    f->sun = (1.f + s->pulse * sinf(s->pulse_rate * v->time + s->pulse_phase)) * mixf(1.f, s->step_sun, stepped);
    f->ambient = mixf(1.f, s->step_ambient, stepped);
    uint32_t h = hash2((int)floorf(v->time), 77, s->seed);
    f->emit = unit_float(h) < .5f ? 1.f : 1.f - s->flicker;
    f->time = v->time;
}

HD int hit_quad(vec3 o, vec3 d, float lo, float hi, float *t, vec3 *n)
{
    if (fabsf(d.z) < 1e-9f) return 0;
    *t = -o.z / d.z;
    *n = v3(0.f, 0.f, 1.f);
    return *t > lo && *t < hi && fabsf(o.x + *t * d.x) <= 1.f && fabsf(o.y + *t * d.y) <= 1.f;
}

HD float safe_inverse(float x) { return 1.f / (fabsf(x) < 1e-9f ? 1e-9f : x); }

HD int hit_box(vec3 o, vec3 d, float lo, float hi, float *t, vec3 *n)
{
    float ix = safe_inverse(d.x), iy = safe_inverse(d.y), iz = safe_inverse(d.z);
    float ax = (-1.f - o.x) * ix, bx = (1.f - o.x) * ix, ay = (-1.f - o.y) * iy, by = (1.f - o.y) * iy;
    float az = (-1.f - o.z) * iz, bz = (1.f - o.z) * iz;
    float nx = fminf(ax, bx), ny = fminf(ay, by), nz = fminf(az, bz);
    float enter = fmaxf(nx, fmaxf(ny, nz)), leave = fminf(fmaxf(ax, bx), fminf(fmaxf(ay, by), fmaxf(az, bz)));
    if (enter > leave || enter <= lo || enter >= hi) return 0;
    *t = enter;
    *n = enter == nx ? v3(1.f, 0.f, 0.f) : enter == ny ? v3(0.f, 1.f, 0.f) : v3(0.f, 0.f, 1.f);
    return 1;
}

HD int hit_sphere(vec3 o, vec3 d, float lo, float hi, float *t, vec3 *n)
{
    float a = v3_dot(d, d), b = v3_dot(o, d), q = b * b - a * (v3_dot(o, o) - 1.f);
    if (q < 0.f) return 0;
    *t = (-b - sqrtf(q)) / a;
    *n = v3_madd(o, d, *t);
    return *t > lo && *t < hi;
}

/* Open tube along z. */
HD int hit_cylinder(vec3 o, vec3 d, float lo, float hi, float *t, vec3 *n)
{
    float a = d.x * d.x + d.y * d.y, b = o.x * d.x + o.y * d.y;
    float q = b * b - a * (o.x * o.x + o.y * o.y - 1.f);
    if (a < 1e-12f || q < 0.f) return 0;
    q = sqrtf(q);
    for (int side = 0; side < 2; side++) {
        *t = (side ? -b + q : -b - q) / a;
        *n = v3(o.x + *t * d.x, o.y + *t * d.y, 0.f);
        if (*t > lo && *t < hi && fabsf(o.z + *t * d.z) <= 1.f) return 1;
    }
    return 0;
}

typedef struct {
    float t, u, v;
    int prim;
    vec3 normal, object; /* object space */
} hit;

/* Box mapping on the dominant face of the object space normal, in world units. */
HD void surface_uv(const prim *p, vec3 at, vec3 n, float *u, float *v)
{
    float x = fabsf(n.x), y = fabsf(n.y), z = fabsf(n.z), a, b;
    at = v3_mul(at, v3_load(p->size));
    if (z >= x && z >= y)
        a = at.x, b = at.y;
    else if (x >= y)
        a = at.z, b = at.y;
    else
        a = at.x, b = at.z;
    *u = p->cos_angle * a - p->sin_angle * b, *v = p->sin_angle * a + p->cos_angle * b;
}

/* True if the ray certainly misses the sphere around the primitive. */
HD int misses(const pose *q, vec3 o, vec3 d, float dd)
{
    vec3 c = v3_sub(v3_load(q->center), o);
    float b = v3_dot(c, d), c2 = v3_dot(c, c), r2 = q->radius * q->radius;
    if (c2 < r2) return 0;
    return b < 0.f || c2 - b * b / dd > r2;
}

HD int trace_prim(const scene *s, const frame *f, int i, vec3 o, vec3 d, float lo, float hi, hit *h)
{
    const prim *p = &s->prims[i];
    vec3 oo = xf_point(f->poses[i].to_object, o), od = xf_dir(f->poses[i].to_object, d), n;
    float t, u, v;
    int found = p->shape == SHAPE_QUAD     ? hit_quad(oo, od, lo, hi, &t, &n)
                : p->shape == SHAPE_BOX    ? hit_box(oo, od, lo, hi, &t, &n)
                : p->shape == SHAPE_SPHERE ? hit_sphere(oo, od, lo, hi, &t, &n)
                                           : hit_cylinder(oo, od, lo, hi, &t, &n);
    if (!found) return 0;
    vec3 at = v3_madd(oo, od, t);
    surface_uv(p, at, n, &u, &v);
    if (!opaque_at(p, u, v, f->time)) return 0;
    h->t = t, h->u = u, h->v = v, h->prim = i, h->normal = n, h->object = at;
    return 1;
}

#ifdef __CUDACC__
HD int lowest_bit(uint32_t m)
{
#ifdef __CUDA_ARCH__
    return __ffs((int)m) - 1;
#else
    return __builtin_ctz(m);
#endif
}
#else
HD int lowest_bit(uint32_t m) { return __builtin_ctz(m); }
#endif

/* Nearest opaque hit among the candidates; the nearest blended one in front of it separately. */
HD void trace(const scene *s, const frame *f, uint32_t mask, vec3 o, vec3 d, hit *solid, hit *blended)
{
    float dd = v3_dot(d, d);
    hit h;
    solid->prim = blended->prim = -1, solid->t = blended->t = FAR_DISTANCE;
    while (mask) {
        int i = lowest_bit(mask);
        mask &= mask - 1u;
        if (misses(&f->poses[i], o, d, dd)) continue;
        int is_blended = (s->prims[i].flags & PRIM_BLENDED) != 0;
        float far = is_blended ? fminf(blended->t, solid->t) : solid->t;
        if (!trace_prim(s, f, i, o, d, NEAR_PLANE, far, &h)) continue;
        if (is_blended)
            *blended = h;
        else
            *solid = h;
    }
    if (blended->t > solid->t) blended->prim = -1;
}

HD int shadowed(const scene *s, const frame *f, vec3 o, vec3 d)
{
    hit h;
    for (uint32_t mask = s->casters; mask; mask &= mask - 1u) {
        int i = lowest_bit(mask);
        if (misses(&f->poses[i], o, d, 1.f)) continue;
        if (trace_prim(s, f, i, o, d, 1e-3f, FAR_DISTANCE, &h)) return 1;
    }
    return 0;
}

HD vec3 sky(const scene *s, const frame *f, vec3 d, float footprint)
{
    d = v3_norm(d);
    float up = -d.y;
    vec3 c = v3_mix(v3_load(s->horizon), v3_load(s->zenith), sqrtf(saturate(up)));
    if (s->clouds > 0.f) {
        float k = s->cloud_scale / (fmaxf(up, 0.f) + .15f);
        float n = fbm(d.x * k, d.z * k, s->seed, 4, footprint * k);
        float grey = .45f * (s->horizon[0] + s->horizon[1] + s->horizon[2]);
        c = v3_mix(c, v3(1.1f * grey, 1.08f * grey, 1.05f * grey), smooth(.45f, .75f, n) * s->clouds);
    }
    if (s->stars > 0.f) {
        float u = d.x / (fabsf(d.z) + .3f) / s->star_period, v = d.y / (fabsf(d.z) + .3f) / s->star_period;
        uint32_t h = hash2((int)floorf(u), (int)floorf(v), s->seed + 5u);
        float x = fract(u) - .5f, y = fract(v) - .5f;
        if (h % 3u == 0u && x * x + y * y < .02f * unit_float(hash1(h)))
            c = v3_add(c, v3_scale(v3(1.f, .95f, .9f), s->stars * unit_float(hash1(h + 1u)) * f->emit));
    }
    if (s->sun_disc > 0.f && v3_dot(d, v3_load(s->sun_dir)) > .9985f)
        c = v3_madd(c, v3_load(s->sun), s->sun_disc);
    return up < 0.f ? v3_mix(c, v3_load(s->ground_light), saturate(20.f * d.y)) : c;
}

HD vec3 bumped(const prim *p, const hit *h, vec3 n, float footprint)
{
    float k = 1.f / p->bump_period, w = survives(1.f, p->flags & PRIM_UNFILTERED ? 0.f : footprint * k), e = .15f;
    if (w <= 0.f) return n;
    float u = h->u * k, v = h->v * k, base = noise2(u, v, p->seed + 55u);
    float a = noise2(u + e, v, p->seed + 55u) - base, b = noise2(u, v + e, p->seed + 55u) - base;
    vec3 tangent = v3_norm(v3(n.y + .3f * n.z, -n.x, -.3f * n.x + 1e-4f));
    vec3 side = v3_cross(n, tangent);
    vec3 slope = v3_add(v3_scale(tangent, a), v3_scale(side, b));
    return v3_norm(v3_madd(n, slope, p->bump * w / e));
}

/* `pixel` is the angle of the filter footprint. The mirror direction is returned for the one bounce that is traced. */
HD vec3 shade(const scene *s, const frame *f, const hit *h, vec3 o, vec3 d, float pixel, vec3 *mirror)
{
    const prim *p = &s->prims[h->prim];
    vec3 view_dir = v3_norm(d);
    float distance = h->t * sqrtf(v3_dot(d, d));
    vec3 n = v3_norm(xf_normal(f->poses[h->prim].to_object, h->normal));
    if (v3_dot(n, view_dir) > 0.f) n = v3_scale(n, -1.f);
    float footprint = distance * pixel / fmaxf(-v3_dot(n, view_dir), .2f);
    surface t = texture_at(p, h->u, h->v, footprint, f->time);
    vec3 c = v3_scale(t.albedo, t.emit * f->emit);
    if (p->flags & PRIM_UNLIT) {
        c = v3_add(c, t.albedo);
    } else {
        if (p->bump > 0.f) n = bumped(p, h, n, footprint);
        vec3 sun_dir = v3_load(s->sun_dir), sun = v3_scale(v3_load(s->sun), f->sun);
        float facing = v3_dot(n, sun_dir), lit = facing > 0.f ? 1.f : 0.f;
        vec3 at = v3_madd(o, d, h->t);
        if (lit > 0.f && s->shadows) {
            vec3 from = v3_madd(v3_madd(at, view_dir, -1e-3f * distance), n, 1e-3f * distance);
            if (shadowed(s, f, from, sun_dir)) lit = 0.f;
        }
        vec3 ambient = v3_mix(v3_load(s->ground_light), v3_load(s->sky_light), .5f - .5f * n.y);
        vec3 light = v3_madd(v3_scale(ambient, f->ambient), sun, fmaxf(facing, 0.f) * lit);
        c = v3_add(c, v3_mul(t.albedo, light));
        if (p->specular > 0.f && lit > 0.f) {
            vec3 half_way = v3_norm(v3_sub(sun_dir, view_dir));
            c = v3_madd(c, sun, powf(fmaxf(v3_dot(n, half_way), 0.f), p->gloss) * p->specular);
        }
    }
    if (s->fog > 0.f) c = v3_mix(c, v3_load(s->fog_color), 1.f - expf(-distance * s->fog));
    *mirror = v3_madd(view_dir, n, -2.f * v3_dot(n, view_dir));
    return c;
}

/* The blended layer over a colour; returns how much of what lies behind is seen. */
HD float blend_layer(const scene *s, const frame *f, const hit *h, float pixel, vec3 *c)
{
    const prim *p = &s->prims[h->prim];
    surface t = texture_at(p, h->u, h->v, 2.f * pixel * h->t, f->time);
    float soft = p->shape == SHAPE_QUAD ? saturate(1.3f - v3_dot(h->object, h->object)) : 1.f;
    float a = p->opacity * soft;
    if (p->texture == TEX_SPARKS) a = t.emit > 0.f ? 1.f : 0.f;
    *c = v3_add(v3_scale(*c, 1.f - a), v3_scale(t.albedo, a * (1.f + t.emit * f->emit)));
    return 1.f - a;
}

/* Linear colour at screen position (x, y) in 0..1. `solid` tells depth and motion; mirrors get one bounce. */
HD vec3 radiance(const scene *s, const frame *f, uint32_t mask, float x, float y, float pixel, hit *solid, vec3 *dir)
{
    float cx = (2.f * x - 1.f) * s->tan_x + s->offset_x, cy = (2.f * y - 1.f) * s->tan_y + s->offset_y;
    const float *r = f->rot;
    vec3 o = v3_load(f->pos), sum = v3(0.f, 0.f, 0.f);
    vec3 d = v3(r[0] * cx + r[1] * cy + r[2], r[3] * cx + r[4] * cy + r[5], r[6] * cx + r[7] * cy + r[8]);
    float weight = 1.f;
    *dir = d;
    for (int bounce = 0; bounce < 2; bounce++) {
        hit h, blended;
        vec3 mirror = d;
        trace(s, f, mask, o, d, &h, &blended);
        vec3 c = h.prim < 0 ? sky(s, f, d, pixel) : shade(s, f, &h, o, d, pixel, &mirror);
        float share = bounce == 0 && h.prim >= 0 && (s->prims[h.prim].flags & PRIM_MIRROR) ? s->prims[h.prim].opacity : 0.f;
        c = v3_scale(c, 1.f - share);
        float through = blended.prim >= 0 ? blend_layer(s, f, &blended, pixel, &c) : 1.f;
        sum = v3_madd(sum, c, weight);
        if (bounce == 0) *solid = h;
        if (share <= 0.f) break;
        weight = share * through;
        o = v3_madd(v3_madd(o, d, h.t), mirror, 1e-3f * h.t), d = mirror, pixel *= 2.f;
        mask = s->present & ~(1u << h.prim);
    }
    return v3(clampf(sum.x, 0.f, COLOR_MAX), clampf(sum.y, 0.f, COLOR_MAX), clampf(sum.z, 0.f, COLOR_MAX));
}

HD float gaussian_like(uint32_t h)
{
    return (unit_float(h) + unit_float(hash1(h)) + unit_float(hash1(h + 1u)) + unit_float(hash1(h + 2u)) - 2.f) * 1.73f;
}

typedef struct {
    float *color, *depth, *motion; /* planes of this view */
    int width, height;
} low_image;

HD void low_pixel(const scene *s, const frame *f, const view *v, uint32_t mask, const low_image *im, int x, int y)
{
    float px = (float)x + .5f + v->jitter[0], py = (float)y + .5f + v->jitter[1];
    float w = (float)im->width, h = (float)im->height, pixel = 2.f * s->tan_x / w * v->footprint;
    hit solid;
    vec3 d, p, c = radiance(s, f, mask, px / w, py / h, pixel, &solid, &d);
    long n = (long)im->width * im->height, i = (long)y * im->width + x;
    if (v->noise > 0.f) {
        uint32_t k = hash2(x, y, v->noise_seed);
        float g = fmaxf(1.f + v->noise * gaussian_like(k), 0.f);
        c = v3_scale(c, k % 997u == 0u ? 1.f + 20.f * v->noise : g);
    }
    im->color[i] = c.x, im->color[n + i] = c.y, im->color[2 * n + i] = c.z;
    im->depth[i] = solid.prim < 0 ? 0.f : NEAR_PLANE / solid.t;
    if (solid.prim < 0)
        p = d;
    else
        p = v3_sub(xf_point(f->poses[solid.prim].to_world_prev, solid.object), v3_load(f->pos_prev));
    const float *r = f->rot_prev; /* its transpose takes world to camera */
    float cx = r[0] * p.x + r[3] * p.y + r[6] * p.z, cy = r[1] * p.x + r[4] * p.y + r[7] * p.z;
    float cz = fmaxf(r[2] * p.x + r[5] * p.y + r[8] * p.z, 1e-3f);
    float qx = ((cx / cz - s->offset_x) / s->tan_x * .5f + .5f) * w;
    float qy = ((cy / cz - s->offset_y) / s->tan_y * .5f + .5f) * h;
    int frozen = v->time == v->previous;
    im->motion[i] = frozen ? 0.f : clampf(qx - px, -500.f, 500.f);
    im->motion[n + i] = frozen ? 0.f : clampf(qy - py, -500.f, 500.f);
}

/* One sample of an output pixel's box filter, on a jittered grid of side x side. The pattern depends on the pixel only, so
 * that a still scene has a still reference. */
HD vec3 ref_sample(const scene *s, const frame *f, uint32_t mask, int w, int h, int x, int y, int side, int cell, int *prim)
{
    uint32_t r = hash2(x * side + cell % side, y * side + cell / side, 17u + (uint32_t)side);
    float pixel = 2.f * s->tan_x / (float)w, inv = 1.f / (float)side;
    float sx = ((float)x + ((float)(cell % side) + unit_float(r)) * inv) / (float)w;
    float sy = ((float)y + ((float)(cell / side) + unit_float(hash1(r + 1u))) * inv) / (float)h;
    hit solid;
    vec3 d, c = radiance(s, f, mask, sx, sy, pixel, &solid, &d);
    *prim = solid.prim;
    return c;
}

#define REF_MORE 16 /* samples added where the first four differ */

/* The first four samples: their sum, and whether more are needed. */
HD vec3 ref_first(const scene *s, const frame *f, uint32_t mask, int w, int h, int x, int y, int *more)
{
    float lo = 1e9f, hi = 0.f;
    int prim, first = -2, mixed = 0;
    vec3 sum = v3(0.f, 0.f, 0.f);
    for (int k = 0; k < 4; k++) {
        vec3 c = ref_sample(s, f, mask, w, h, x, y, 2, k, &prim);
        float l = .25f * c.x + .5f * c.y + .25f * c.z;
        l = l / (.3f + l);
        lo = fminf(lo, l), hi = fmaxf(hi, l);
        mixed |= first != -2 && first != prim;
        first = prim;
        sum = v3_add(sum, c);
    }
    *more = mixed || hi - lo > .02f;
    return sum;
}

/* Candidates of a block of pixels: primitives whose sphere meets the cone around it. */
HD int meets_block(const scene *s, const frame *f, int i, float x0, float y0, float x1, float y1)
{
    if (s->prims[i].shape == SHAPE_NONE) return 0;
    float mx = (x0 + x1 - 1.f) * s->tan_x + s->offset_x, my = (y0 + y1 - 1.f) * s->tan_y + s->offset_y;
    float hx = (x1 - x0) * s->tan_x, hy = (y1 - y0) * s->tan_y;
    const float *r = f->rot;
    vec3 d = v3(r[0] * mx + r[1] * my + r[2], r[3] * mx + r[4] * my + r[5], r[6] * mx + r[7] * my + r[8]);
    vec3 c = v3_sub(v3_load(f->poses[i].center), v3_load(f->pos));
    float len = sqrtf(v3_dot(d, d)), dist = sqrtf(v3_dot(c, c)), radius = f->poses[i].radius;
    if (dist <= radius) return 1;
    float spread = atanf(sqrtf(hx * hx + hy * hy) * 1.1f) + asinf(fminf(radius / dist, 1.f)) + .002f;
    if (spread > 3.f) return 1;
    return v3_dot(c, d) > cosf(spread) * len * dist;
}

#endif
