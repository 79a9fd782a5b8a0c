/* Procedural textures and cutouts. Coordinates are world units on the surface; `footprint` is the filter width there. */
#ifndef D4R_TRAIN_TEXTURE_H
#define D4R_TRAIN_TEXTURE_H

#include "scene.h"

/* Letter-like marks on cells of 6 x 9, strokes chosen by a hash. */
HD int glyph(float u, float v, uint32_t seed)
{
    float column = floorf(u / 6.f), row = floorf(v / 9.f);
    uint32_t cell = hash2((int)column, (int)row, seed);
    float x = u - 6.f * column, y = v - 9.f * row;
    if (cell % 6u == 0u || x >= 5.f || y >= 7.f) return 0;
    uint32_t s = hash1((cell >> 8) % 44u + (seed & 7u) * 64u);
    const float t = 1.1f;
    int on = 0;
    if (s & 1u) on |= x < t;
    if (s & 2u) on |= x > 5.f - t;
    if (s & 4u) on |= y < t;
    if (s & 8u) on |= y > 7.f - t;
    if (s & 16u) on |= fabsf(y - 3.5f) < .5f * t;
    if (s & 32u) on |= fabsf(x - 2.5f) < .5f * t;
    if ((s & 192u) == 64u) on |= fabsf(y * (5.f / 7.f) - x) < .62f;
    if ((s & 192u) == 128u) on |= fabsf((7.f - y) * (5.f / 7.f) - x) < .62f;
    if ((s & 768u) == 256u) {
        float a = (x - 2.5f) / 2.5f, b = (y - 3.5f) / 3.5f, r = a * a + b * b;
        on |= r < 1.f && r > .38f;
    }
    if (!(s & 1023u)) on = x < t;
    return on;
}

typedef struct {
    float first, second; /* squared distances to the nearest two points */
    uint32_t id;
} cells_hit;

HD cells_hit cells(float u, float v, uint32_t seed)
{
    cells_hit r;
    r.first = r.second = 9.f, r.id = 0;
    int i0 = (int)floorf(u), j0 = (int)floorf(v);
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            uint32_t h = hash2(i0 + i, j0 + j, seed);
            float a = (float)(i0 + i) + unit_float(h) - u, b = (float)(j0 + j) + unit_float(hash1(h)) - v;
            float d = a * a + b * b;
            if (d < r.first)
                r.second = r.first, r.first = d, r.id = h;
            else if (d < r.second)
                r.second = d;
        }
    return r;
}

HD int leaf(float u, float v, float size, uint32_t seed)
{
    int i0 = (int)floorf(u), j0 = (int)floorf(v);
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            uint32_t h = hash2(i0 + i, j0 + j, seed), g = hash1(h);
            float a = (float)(i0 + i) + unit_float(h) - u, b = (float)(j0 + j) + unit_float(g) - v;
            float angle = unit_float(hash1(g)) * TAU, c = cosf(angle), s = sinf(angle);
            float x = c * a + s * b, y = c * b - s * a;
            if (fabsf(y) < .35f * size * (1.f - x * x / (size * size))) return 1;
        }
    return 0;
}

HD int grass(float u, float v, float width, uint32_t seed)
{
    int i0 = (int)floorf(u);
    float height = fract(v), row = floorf(v);
    for (int i = -2; i <= 2; i++) {
        uint32_t h = hash2(i0 + i, (int)row, seed);
        float tip = .4f + .6f * unit_float(h), up = 1.f - height;
        if (up > tip) continue;
        float lean = (unit_float(hash1(h)) - .5f) * 2.f * up * up;
        if (fabsf((float)(i0 + i) + .5f + lean - u) < width * (1.f - up / tip)) return 1;
    }
    return 0;
}

/* Whether the surface exists at (u, v). */
HD int opaque_at(const prim *p, float u, float v, float time)
{
    if (p->cutout == CUT_NONE) return 1;
    uint32_t seed = p->seed * 31u + 7u;
    float w = p->cut_param, k = 1.f / p->cut_period;
    u *= k, v *= k;
    if (p->sway > 0.f) u += p->sway * sinf(p->sway_rate * time + 1.7f * noise2(u * .3f, v * .3f, seed) * TAU);
    switch (p->cutout) {
    case CUT_HOLES: return fbm(u, v, seed, 3, 0.f) > .35f + .25f * w;
    case CUT_MESH: return fract(u) < .6f * w || fract(v) < .6f * w;
    case CUT_PICKETS: return fract(u) < w || fract(v * .2f) < .08f;
    case CUT_CHAIN: return fract(u + v) < .5f * w || fract(u - v) < .5f * w;
    case CUT_WIRES: {
        float span = fract(u * .05f) - .5f, line = v + 4.f * span * span;
        return fract(line) < .3f * w && unit_float(hash2((int)floorf(line), 3, seed)) < .7f;
    }
    case CUT_LEAVES: return leaf(u, v, .35f + .5f * w, seed);
    case CUT_GRASS: return grass(u, v * .15f, .2f + .4f * w, seed);
    case CUT_TEXT: return glyph(u * 6.f, v * 6.f, seed);
    case CUT_DISCS: {
        float a = fract(u) - .5f, b = fract(v) - .5f;
        return a * a + b * b < .22f * w;
    }
    case CUT_TWIGS: return fabsf(fbm(u * .5f, v * .5f, seed, 3, 0.f) - .5f) < .05f * w;
    default: return 1;
    }
}

HD float water_height(float u, float v, float time, uint32_t seed)
{
    float a = noise2(u + .7f * time, v + .3f * time, seed), b = noise2(2.1f * u - .8f * time, 2.3f * v + time, seed + 1u);
    float c = noise2(4.7f * u + 1.1f * time, 4.1f * v - 1.3f * time, seed + 2u);
    return .5f * a + .3f * b + .2f * c;
}

typedef struct {
    vec3 albedo;
    float emit;
} surface;

HD void texture_pattern(const prim *p, float u, float v, float fp, float time, surface *s)
{
    vec3 a = v3_load(p->color[0]), b = v3_load(p->color[1]), c = v3_load(p->color[2]);
    uint32_t seed = p->seed;
    float w = p->param, keep = survives(1.f, fp);
    s->albedo = a, s->emit = p->emit;
    switch (p->texture) {
    case TEX_FBM: s->albedo = v3_mix(a, b, smooth(.3f, .7f, fbm(u, v, seed, 5, fp))); break;
    case TEX_CHECKER:
        s->albedo = v3_mix(a, b, mixf(.5f, (float)(((int)floorf(u) + (int)floorf(v)) & 1), keep));
        break;
    case TEX_STRIPES: s->albedo = v3_mix(a, b, mixf(w, fract(u) < w ? 1.f : 0.f, keep)); break;
    case TEX_BRICK: {
        float row = floorf(v * 2.f), x = u + .5f * (float)((int)row & 1), joint = .03f + .06f * w;
        float hit = fract(x) < joint || fract(v * 2.f) < 2.f * joint ? 1.f : 0.f;
        float shade = unit_float(hash2((int)floorf(x), (int)row, seed));
        s->albedo = v3_mix(a, b, mixf(.5f, shade, keep));
        s->albedo = v3_mix(s->albedo, c, mixf(3.f * joint, hit, survives(.5f, fp)));
        break;
    }
    case TEX_DOTS: {
        float x = fract(u) - .5f, y = fract(v) - .5f;
        s->albedo = v3_mix(a, b, mixf(.63f * w * w, x * x + y * y < .2f * w * w ? 1.f : 0.f, keep));
        break;
    }
    case TEX_GRID: {
        float t = .02f + .1f * w;
        s->albedo = v3_mix(a, b, mixf(2.f * t, fract(u) < t || fract(v) < t ? 1.f : 0.f, keep));
        break;
    }
    case TEX_TEXT:
        s->albedo = v3_mix(a, b, mixf(.3f, (float)glyph(u * 6.f, v * 6.f, seed), survives(.33f, fp)));
        break;
    case TEX_CELLS: {
        cells_hit h = cells(u, v, seed);
        s->albedo = v3_mix(a, b, mixf(.5f, unit_float(hash1(h.id + 5u)), keep));
        if (w > .5f && sqrtf(h.second) - sqrtf(h.first) < .08f) s->albedo = v3_mix(s->albedo, c, keep);
        break;
    }
    case TEX_MARBLE: {
        float n = .5f + .5f * sinf(3.f * u + 8.f * fbm(u, v, seed, 4, fp));
        s->albedo = v3_mix(a, b, mixf(.5f, n, keep));
        break;
    }
    case TEX_TILES: {
        uint32_t h = hash2((int)floorf(u), (int)floorf(v), seed);
        vec3 t = v3_mix(v3_mix(a, b, unit_float(h)), c, unit_float(hash1(h)) * w);
        s->albedo = v3_mix(v3_mix(a, b, .5f), t, keep);
        break;
    }
    case TEX_LAMPS: {
        uint32_t h = hash2((int)floorf(u), (int)floorf(v), seed);
        float x = fract(u) - .5f, y = fract(v) - .5f;
        int on = unit_float(h) < .35f && x * x + y * y < .004f + .12f * w * w;
        if (on) s->albedo = b;
        s->emit = on ? p->emit * (.2f + .8f * unit_float(hash1(h + 3u))) : 0.f;
        break;
    }
    case TEX_RINGS: s->albedo = v3_mix(a, b, mixf(.5f, fract(sqrtf(u * u + v * v)) < .5f ? 1.f : 0.f, keep)); break;
    case TEX_GRADIENT: s->albedo = v3_mix(a, b, noise2(.2f * u, .2f * v, seed)); break;
    case TEX_WINDOWS: {
        float x = fract(u), y = fract(v);
        int pane = x > .25f && x < .75f && y > .2f && y < .8f;
        int lit = unit_float(hash2((int)floorf(u), (int)floorf(v), seed)) < w;
        vec3 t = pane ? (lit ? c : b) : a;
        if (pane && (fabsf(x - .5f) < .025f || fabsf(y - .5f) < .025f)) t = a;
        s->emit = pane && lit ? p->emit : 0.f;
        s->albedo = v3_mix(v3_mix(a, b, .3f), t, keep);
        break;
    }
    case TEX_ZONE_PLATE: {
        float x = fract(u * .04f) - .5f, y = fract(v * .04f) - .5f, r2 = (x * x + y * y) * 625.f;
        float local = sqrtf(r2) * (.12f + .12f * w) * fp; /* periods a filter width */
        s->albedo = v3_mix(a, b, .5f + .5f * cosf(TAU * r2 * (.06f + .06f * w)) * saturate(1.5f - 2.f * local));
        break;
    }
    case TEX_STAR: {
        float x = fract(u * .04f) - .5f, y = fract(v * .04f) - .5f;
        float ray = atan2f(y, x) * floorf(12.f + 36.f * w) / TAU;
        s->albedo = v3_mix(a, b, fract(ray) < .5f ? 1.f : 0.f);
        break;
    }
    case TEX_WATER: {
        float h = water_height(u, v, time, seed), e = .2f;
        float dx = (water_height(u + e, v, time, seed) - h) / e, dy = (water_height(u, v + e, time, seed) - h) / e;
        s->albedo = v3_mix(a, b, saturate(.5f + 2.f * (h - .5f) + dy));
        float glint = smooth(.05f, .0f, fabsf(dx - .25f)) * smooth(.08f, .0f, fabsf(dy + .3f));
        s->albedo = v3_madd(s->albedo, v3(1.f, .95f, .85f), glint * w * 3.f);
        s->emit = p->emit * glint;
        break;
    }
    case TEX_HAIRLINES: {
        float line = floorf(v), slope = (unit_float(hash2((int)line, 1, seed)) - .5f) * .6f;
        float d = fabsf(fract(v) - .5f - slope * (fract(u * .05f) - .5f));
        s->albedo = v3_mix(a, b, d < .02f + .1f * w ? 1.f : 0.f);
        break;
    }
    case TEX_SPARKS: {
        uint32_t h = hash2((int)floorf(u), (int)floorf(v), seed);
        float x = fract(u) - .2f - .6f * unit_float(h), y = fract(v) - .2f - .6f * unit_float(hash1(h));
        int on = x * x + y * y < .002f + .03f * w * w * unit_float(hash1(h + 9u));
        s->albedo = on ? b : v3(0.f, 0.f, 0.f);
        s->emit = on ? p->emit : 0.f;
        break;
    }
    default: break;
    }
}

HD surface texture_at(const prim *p, float u, float v, float footprint, float time)
{
    surface s;
    float k = 1.f / p->period;
    if (p->flags & PRIM_UNFILTERED) footprint = 0.f;
    texture_pattern(p, (u + p->scroll[0] * time) * k, (v + p->scroll[1] * time) * k, footprint * k, time * p->churn, &s);
    if (p->detail > 0.f) {
        float q = 1.f / p->detail_period;
        float n = fbm(u * q, v * q, p->seed + 77u, 3, footprint * q);
        s.albedo = v3_scale(s.albedo, fmaxf(1.f + 2.f * p->detail * (n - .5f), 0.f));
    }
    return s;
}

#endif
