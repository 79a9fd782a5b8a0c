/* Preset K's stages, differentiable: features of a token, reconstruction of an output pixel (docs/stages_k.md). One token or
 * sub-block a function, host or device; k_stages.cu loops.
 *
 * Tokens lie in an order in which the four children of a coarser token follow one another at every level: tiles of 32x32
 * tokens row by row, inside a tile the bits of column and row interleaved. So merges and expands are views. */
#ifndef D4R_TRAIN_K_STAGES_H
#define D4R_TRAIN_K_STAGES_H

#include "stages.h"

#define K_FEATURES 32
#define K_RECURRENT 8
#define K_HEAD 40
#define K_GATES 8 /* head values of a sub-block */
#define K_SHAPES 16
#define K_CONFIDENCE_MAX ((real)64)
#define K_TABLE (64 * K_SHAPES * 16) /* values of a ratio's table */

typedef struct {
    int batch, w, h, ow, oh; /* render, output */
    int gw, gh;              /* token grid: multiples of 32 */
    real sx, sy;             /* S: render / output */
    real rho;                /* ratio of the frame's table */
    int round_half;          /* f16 rounding of what is stored as f16 */
} k_dims;

typedef struct {
    const real *color;             /* [B][3][h][w] compressed, exposed */
    const real *motion_a, *motion; /* [B][2][h][w] output pixels: of the nearest of 3x3, own */
    const real *range;             /* [B][2][h][w] least and greatest nearness of 3x3 */
    const real *history;           /* [B][4][oh][ow] compressed colour, confidence */
    const real *recurrent;         /* [B][tokens][8] */
    const sample_params *params;
} k_feature_inputs;

/* expand of this preset: black stays black. */
HD real k_expand(real v)
{
    return ((real)exp(rclamp(v, 0, EXPAND_MAX) / COMPRESS_SCALE) - 1) * (real)0.01;
}
HD real k_expand_slope(real v)
{
    if (v < 0 || v >= EXPAND_MAX) return 0;
    return (real)exp(v / COMPRESS_SCALE) * ((real)0.01 / COMPRESS_SCALE);
}

HD int spread_bits(int v) /* 5 bits to the even places */
{
    v = (v | v << 4) & 0x10f;
    v = (v | v << 2) & 0x133;
    return (v | v << 1) & 0x155;
}
/* Index of the token at column x, row y of a level's grid; `columns` is the width of level 0. */
HD long k_token(int x, int y, int columns, int level)
{
    int bits = 5 - level, mask = (1 << bits) - 1;
    long tile = (long)(y >> bits) * (columns >> 5) + (x >> bits);
    return (tile << 2 * bits) + (spread_bits(y & mask) << 1 | spread_bits(x & mask));
}

/* Where a sub-block's sample lies. */
typedef struct {
    real p[2]; /* centre, output pixels */
    real s[2]; /* P: the nearest sample, output pixels */
    long at;   /* its texel */
} k_site;

HD int k_nearest(real position, real scale, real jitter, int size)
{
    return iclamp((int)floor(position * scale - jitter), 0, size - 1);
}

HD k_site k_site_at(const k_dims *d, const sample_params *p, int bx, int by)
{
    k_site s;
    s.p[0] = rmin((real)(2 * bx + 1), (real)d->ow), s.p[1] = rmin((real)(2 * by + 1), (real)d->oh);
    int x = k_nearest(s.p[0], d->sx, p->jitter[0], d->w), y = k_nearest(s.p[1], d->sy, p->jitter[1], d->h);
    s.s[0] = ((real)x + (real).5 + p->jitter[0]) / d->sx,
    s.s[1] = ((real)y + (real).5 + p->jitter[1]) / d->sy;
    s.at = (long)y * d->w + x;
    return s;
}

HD int k_on_screen(const k_dims *d, const sample_params *p, real x, real y)
{
    return p->history > 0 && x >= 0 && y >= 0 && x <= d->ow && y <= d->oh;
}

/* A stored history colour in this frame's exposure, and the slope of that. */
HD real k_carry(const sample_params *p, real stored)
{
    return compress(rmin(k_expand(stored) * (p->e1 / p->e2), EXPOSED_MAX));
}
HD real k_carry_slope(const sample_params *p, real stored)
{
    real ratio = p->e1 / p->e2, v = ratio * k_expand(stored);
    return v < EXPOSED_MAX ? compress_slope(v) * ratio * k_expand_slope(stored) : 0;
}

HD real luma_of(const real *c)
{
    return (real).25 * c[0] + (real).5 * c[1] + (real).25 * c[2];
}
HD void chroma_of(const real *c, real *co, real *cg)
{
    *co += (c[0] - c[2]) * (real).5, *cg += c[1] * (real).5 - (c[0] + c[2]) * (real).25;
}

/* h(q): colour in this frame's exposure and confidence; `fallback` and 0 where there is no history. */
HD int k_history(const k_feature_inputs *in, const k_dims *d, int b, real x, real y, const real *fallback,
                 real *out)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->ow * d->oh;
    int on = k_on_screen(d, p, x, y);
    for (int c = 0; c < 3; c++) out[c] = fallback[c];
    out[3] = 0;
    if (!on) return 0;
    bilinear t = bilinear_at(x, y, d->ow, d->oh);
    for (int c = 0; c < 3; c++) out[c] = k_carry(p, bilinear_read(in->history + (4 * b + c) * n, &t));
    out[3] = bilinear_read(in->history + (4 * b + 3) * n, &t);
    return 1;
}

/* Gradient of h(q) to the stored history: g holds colour and confidence. */
HD void k_history_backward(const k_feature_inputs *in, const k_dims *d, int b, real x, real y, const real *g,
                           real *g_history)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->ow * d->oh;
    if (!k_on_screen(d, p, x, y)) return;
    bilinear t = bilinear_at(x, y, d->ow, d->oh);
    for (int c = 0; c < 3; c++) {
        real stored = bilinear_read(in->history + (4 * b + c) * n, &t);
        bilinear_add(g_history + (4 * b + c) * n, &t, g[c] * k_carry_slope(p, stored));
    }
    bilinear_add(g_history + (4 * b + 3) * n, &t, g[3]);
}

/* Four sites, and the sub-block whose motion is the token's: the one with the nearest surface. */
HD int k_sites(const k_feature_inputs *in, const k_dims *d, int b, int x, int y, k_site *s)
{
    const real *hi = in->range + (2 * (long)b + 1) * d->w * d->h;
    int best = 0;
    for (int i = 0; i < 4; i++) {
        s[i] = k_site_at(d, &in->params[b], 2 * x + (i & 1), 2 * y + (i >> 1));
        if (hi[s[i].at] > hi[s[best].at]) best = i;
    }
    return best;
}

HD int k_outside(const k_dims *d, int x, int y)
{
    return 4 * x >= d->ow || 4 * y >= d->oh;
}

/* Where the token's recurrent features were. `fetch` holds token indices. */
HD int k_recurrent_at(const k_dims *d, const sample_params *p, int x, int y, const real *m, bilinear *fetch)
{
    real qx = (real)(4 * x + 2) + m[0], qy = (real)(4 * y + 2) + m[1];
    int tw = (d->ow + 3) / 4, th = (d->oh + 3) / 4;
    if (!k_on_screen(d, p, qx, qy)) return 0;
    *fetch = bilinear_at(qx * (real).25, qy * (real).25, tw, th);
    for (int i = 0; i < 4; i++)
        fetch->at[i] = k_token((int)(fetch->at[i] % tw), (int)(fetch->at[i] / tw), d->gw, 0) * K_RECURRENT;
    return 1;
}

HD void k_features(const k_feature_inputs *in, const k_dims *d, int b, int x, int y, real *out)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h;
    k_site s[4];
    for (int i = 0; i < K_FEATURES; i++) out[i] = 0;
    if (k_outside(d, x, y)) return;
    const real *m = in->motion_a + 2 * b * n + s[k_sites(in, d, b, x, y, s)].at;
    real lo = 1, hi = 0, parallax = 0;
    for (int i = 0; i < 4; i++) {
        real color[3], h[4], ax = in->motion_a[2 * b * n + s[i].at],
                             ay = in->motion_a[(2 * b + 1) * n + s[i].at];
        for (int c = 0; c < 3; c++) color[c] = in->color[(3 * b + c) * n + s[i].at];
        out[i] = luma_of(color);
        chroma_of(color, out + 4, out + 5);
        k_history(in, d, b, s[i].p[0] + ax, s[i].p[1] + ay, color, h);
        out[6 + i] = luma_of(h);
        chroma_of(h, out + 10, out + 11);
        out[31] += h[3] / (h[3] + 4) * (real).25;
        k_history(in, d, b, s[i].s[0] + ax, s[i].s[1] + ay, color, h);
        out[12 + i] = out[i] - luma_of(h);
        lo = rmin(lo, in->range[2 * b * n + s[i].at]), hi = rmax(hi, in->range[(2 * b + 1) * n + s[i].at]);
        real dx = ax - in->motion[2 * b * n + s[i].at], dy = ay - in->motion[(2 * b + 1) * n + s[i].at];
        parallax = rmax(parallax, dx * dx + dy * dy);
    }
    for (int i = 0; i < 2; i++) {
        out[4 + i] *= (real).25, out[10 + i] *= (real).25;
        out[16 + i] = rclamp((s[i].s[0] - s[i].p[0]) * (real).5, -2, 2),
                 out[18 + i] = rclamp((s[2 * i].s[1] - s[2 * i].p[1]) * (real).5, -2, 2);
    }
    bilinear f;
    real mv[2] = {m[0], m[n]};
    if (k_recurrent_at(d, p, x, y, mv, &f))
        for (int c = 0; c < K_RECURRENT; c++)
            out[20 + c] = bilinear_read(in->recurrent + (long)b * d->gw * d->gh * K_RECURRENT + c, &f);
    out[28] = (real).25 * (real)log(1 + (real)sqrt(mv[0] * mv[0] + mv[1] * mv[1])),
    out[29] = (real).25 * (real)log(1 + (real)sqrt(parallax));
    out[30] = 1 - (lo + (real)1e-6) / (hi + (real)1e-6);
    for (int i = 0; i < K_FEATURES; i++) out[i] = rclamp(out[i], -64, 64);
}

HD void color_gradient(real gy, real gco, real gcg, real *g)
{
    g[0] = gy * (real).25 + gco * (real).5 - gcg * (real).25, g[1] = gy * (real).5 + gcg * (real).5;
    g[2] = gy * (real).25 - gco * (real).5 - gcg * (real).25;
}

/* Gradients to the history and to the recurrent features. */
HD void k_features_backward(const k_feature_inputs *in, const k_dims *d, int b, int x, int y, const real *g,
                            real *g_history, real *g_recurrent)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h;
    k_site s[4];
    if (k_outside(d, x, y) || !(p->history > 0)) return;
    const real *m = in->motion_a + 2 * b * n + s[k_sites(in, d, b, x, y, s)].at;
    for (int i = 0; i < 4; i++) {
        real gh[4], h[4], none[3] = {0}, ax = in->motion_a[2 * b * n + s[i].at],
                          ay = in->motion_a[(2 * b + 1) * n + s[i].at];
        k_history(in, d, b, s[i].p[0] + ax, s[i].p[1] + ay, none, h);
        color_gradient(g[6 + i], g[10] * (real).25, g[11] * (real).25, gh);
        gh[3] = g[31] / ((h[3] + 4) * (h[3] + 4));
        k_history_backward(in, d, b, s[i].p[0] + ax, s[i].p[1] + ay, gh, g_history);
        color_gradient(-g[12 + i], 0, 0, gh);
        gh[3] = 0;
        k_history_backward(in, d, b, s[i].s[0] + ax, s[i].s[1] + ay, gh, g_history);
    }
    bilinear f;
    real mv[2] = {m[0], m[n]};
    if (k_recurrent_at(d, p, x, y, mv, &f))
        for (int c = 0; c < K_RECURRENT; c++)
            bilinear_add(g_recurrent + (long)b * d->gw * d->gh * K_RECURRENT + c, &f, g[20 + c]);
}

/* ---- reconstruction ---- */

typedef struct {
    const real *color;
    const real *head;              /* [B][tokens][40] */
    const real *motion_a, *motion; /* output pixels */
    const real *history;
    const real *gaussians; /* [16][3]: A, B, C */
    const real *table;     /* [64][16][16], or null: computed from the Gaussians */
    const sample_params *params;
} k_post_inputs;

/* A sub-block's head values after their sigmoids. */
typedef struct {
    real a, b, gain, keep, show, own, clip, box;
    real u[K_GATES]; /* sigmoids */
    int first;       /* lower shape */
    real ta, tb;     /* position between the four shapes */
} k_gates;

HD k_gates k_gates_of(const real *v)
{
    k_gates g;
    for (int i = 0; i < K_GATES; i++) g.u[i] = 1 / (1 + (real)exp(-v[i]));
    g.a = 3 * g.u[0], g.b = 3 * g.u[1], g.gain = 4 * g.u[2], g.keep = g.u[3], g.show = g.u[4], g.own = g.u[5],
    g.clip = g.u[6], g.box = 4 * g.u[7];
    int ia = iclamp((int)floor(g.a), 0, 2), ib = iclamp((int)floor(g.b), 0, 2);
    g.first = 4 * ib + ia, g.ta = g.a - ia, g.tb = g.b - ib;
    return g;
}
/* Shape of corner i (column i & 1, row i >> 1), and its share. */
HD int k_shape(const k_gates *g, int i)
{
    return g->first + (i & 1) + 4 * (i >> 1);
}
HD real k_share(const k_gates *g, int i)
{
    return (i & 1 ? g->ta : 1 - g->ta) * (i >> 1 ? g->tb : 1 - g->tb);
}

typedef struct {
    int on;
    catrom taps;
    real stored[4]; /* colour in the previous frame's exposure, confidence; as read */
} k_sample;

typedef struct {
    int bx, by, px, py; /* first of the inner texels, phase */
    real phi[2];
    real weight, cur[3], mean[3], deviation[3];
    k_sample s[2]; /* nearest surface, own motion */
    int use[2];
    real share; /* of the second */
    real h[3], n, moved[3];
    int side[3]; /* -1, 1: the box's lower, upper face holds; 0: inside */
    real w, k, a, past[3], now[3], kept[3], shown[3];
} k_pixel;

HD real k_weight(const k_post_inputs *in, const k_dims *d, const k_pixel *r, int shape, int i, int j)
{
    if (in->table) return in->table[((8 * r->py + r->px) * K_SHAPES + shape) * 16 + 4 * j + i];
    const real *q = in->gaussians + 3 * shape;
    real dx = (real)(i - 1) - ((real)r->px + (real).5) / 8, dy = (real)(j - 1) - ((real)r->py + (real).5) / 8;
    return (real)exp(-(q[0] * dx * dx + q[1] * dy * dy + 2 * q[2] * dx * dy) * d->rho / 4);
}

HD long k_texel(const k_dims *d, const k_pixel *r, int i, int j)
{
    return (long)iclamp(r->by + j - 1, 0, d->h - 1) * d->w + iclamp(r->bx + i - 1, 0, d->w - 1);
}

/* Weighted mean and statistics of the 4x4 texels. */
HD void k_resample(const k_post_inputs *in, const k_dims *d, int b, const k_gates *g, k_pixel *r)
{
    const real *color = in->color + 3 * (long)b * d->w * d->h;
    real square[3] = {0}, total = 0;
    long own =
        k_texel(d, r, r->phi[0] < (real).5 ? 1 : 2, r->phi[1] < (real).5 ? 1 : 2); /* moments about it */
    r->weight = 0;
    for (int c = 0; c < 3; c++) r->cur[c] = r->mean[c] = 0;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            real w = 0, dx = (real)(i - 1) - r->phi[0], dy = (real)(j - 1) - r->phi[1],
                 e = (real)exp(-(dx * dx + dy * dy) / (real)1.125);
            for (int k = 0; k < 4; k++) w += k_share(g, k) * k_weight(in, d, r, k_shape(g, k), i, j);
            long at = k_texel(d, r, i, j);
            r->weight += w, total += e;
            for (int c = 0; c < 3; c++) {
                real v = color[(long)c * d->w * d->h + at];
                real from = v - color[(long)c * d->w * d->h + own];
                r->cur[c] += w * v, r->mean[c] += e * from, square[c] += e * from * from;
            }
        }
    for (int c = 0; c < 3; c++) {
        r->cur[c] /= rmax(r->weight, (real)1e-12), r->mean[c] /= total;
        r->deviation[c] = (real)sqrt(rmax(square[c] / total - r->mean[c] * r->mean[c], 0));
        r->mean[c] += color[(long)c * d->w * d->h + own];
    }
}

HD void k_read_history(const k_post_inputs *in, const k_dims *d, int b, int x, int y, real mx, real my,
                       k_sample *s)
{
    long n = (long)d->ow * d->oh;
    real qx = (real)x + (real).5 + mx, qy = (real)y + (real).5 + my;
    s->on = k_on_screen(d, &in->params[b], qx, qy);
    if (!s->on) return;
    s->taps = catrom_at(qx, qy);
    for (int c = 0; c < 4; c++) s->stored[c] = 0;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            if (is_corner(i, j)) continue;
            real w = s->taps.wx[i] * s->taps.wy[j];
            long at = catrom_texel(&s->taps, i, j, d->ow, d->oh);
            for (int c = 0; c < 4; c++) s->stored[c] += w * in->history[(4 * b + c) * n + at];
        }
}

/* Value of a candidate's channel; without history the current colour and no confidence. */
HD real k_candidate(const k_post_inputs *in, int b, const k_pixel *r, const k_sample *s, int c)
{
    if (c == 3) return s->on ? rclamp(s->stored[3], 0, K_CONFIDENCE_MAX) : 0;
    return s->on ? k_carry(&in->params[b], s->stored[c]) : r->cur[c];
}

HD void k_choose(const k_post_inputs *in, const k_dims *d, int b, int x, int y, const k_gates *g, k_pixel *r)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h, at = k_site_at(d, p, x / 2, y / 2).at;
    long own = (long)k_nearest((real)y + (real).5, d->sy, p->jitter[1], d->h) * d->w +
               k_nearest((real)x + (real).5, d->sx, p->jitter[0], d->w);
    real a[2] = {in->motion_a[2 * b * n + at], in->motion_a[(2 * b + 1) * n + at]},
         m[2] = {in->motion[2 * b * n + own], in->motion[(2 * b + 1) * n + own]};
    r->share = g->own > (real)254 / 255 ? 1 : g->own;
    if (g->own < (real)1 / 255 || (a[0] == m[0] && a[1] == m[1])) r->share = 0;
    r->use[0] = r->share<1, r->use[1] = r->share> 0;
    if (r->use[0]) k_read_history(in, d, b, x, y, a[0], a[1], &r->s[0]);
    if (r->use[1]) k_read_history(in, d, b, x, y, m[0], m[1], &r->s[1]);
    for (int c = 0; c < 4; c++) {
        real v = 0;
        if (r->use[0]) v += (1 - r->share) * k_candidate(in, b, r, &r->s[0], c);
        if (r->use[1]) v += r->share * k_candidate(in, b, r, &r->s[1], c);
        if (c < 3)
            r->h[c] = v;
        else
            r->n = v;
    }
}

HD void k_evaluate(const k_post_inputs *in, const k_dims *d, int b, int x, int y, const k_gates *g,
                   k_pixel *r)
{
    const sample_params *p = &in->params[b];
    real f[2] = {((real)x + (real).5) * d->sx - p->jitter[0], ((real)y + (real).5) * d->sy - p->jitter[1]};
    r->bx = (int)floor(f[0] - (real).5), r->by = (int)floor(f[1] - (real).5);
    r->phi[0] = f[0] - (real).5 - r->bx, r->phi[1] = f[1] - (real).5 - r->by;
    r->px = iclamp((int)floor(8 * r->phi[0]), 0, 7), r->py = iclamp((int)floor(8 * r->phi[1]), 0, 7);
    k_resample(in, d, b, g, r);
    k_choose(in, d, b, x, y, g, r);
    r->w = r->weight * g->gain, r->k = r->n * g->keep;
    r->a = r->w / rmax(r->k + r->w, (real)1e-6);
    real show = r->a + (1 - r->a) * g->show;
    for (int c = 0; c < 3; c++) {
        real lo = r->mean[c] - g->box * r->deviation[c], hi = r->mean[c] + g->box * r->deviation[c];
        r->side[c] = r->h[c] < lo ? -1 : r->h[c] > hi ? 1 : 0;
        r->moved[c] = r->h[c] + g->clip * (rclamp(r->h[c], lo, hi) - r->h[c]);
        r->past[c] = k_expand(r->moved[c]), r->now[c] = k_expand(r->cur[c]);
        r->kept[c] = r->past[c] + (r->now[c] - r->past[c]) * r->a,
        r->shown[c] = r->past[c] + (r->now[c] - r->past[c]) * show;
    }
}

HD const real *k_head_of(const k_post_inputs *in, const k_dims *d, int b, int bx, int by)
{
    return in->head + ((long)b * d->gw * d->gh + k_token(bx / 2, by / 2, d->gw, 0)) * K_HEAD +
           K_GATES * (2 * (by & 1) + (bx & 1));
}

/* history [B][4][oh][ow], shown [B][3][oh][ow] (compressed) */
HD void k_pixel_forward(const k_post_inputs *in, const k_dims *d, int b, int x, int y, real *history,
                        real *shown)
{
    k_pixel r;
    long n = (long)d->ow * d->oh, i = (long)y * d->ow + x;
    k_gates g = k_gates_of(k_head_of(in, d, b, x / 2, y / 2));
    k_evaluate(in, d, b, x, y, &g, &r);
    for (int c = 0; c < 3; c++) {
        real v = compress(r.kept[c]);
        history[(4 * b + c) * n + i] = d->round_half ? round_f16(v) : v;
        shown[(3 * b + c) * n + i] = compress(r.shown[c]);
    }
    real v = rmin(r.k + r.w, K_CONFIDENCE_MAX);
    history[(4 * b + 3) * n + i] = d->round_half ? round_f16(v) : v;
}

typedef struct {
    const real *g_history, *g_shown; /* gradients of the results */
    real *g_before;                  /* [B][4][oh][ow] of the previous history, accumulated */
    real *g_head;                    /* [B][tokens][40]: gates written, recurrent values left alone */
    real *g_gaussians;               /* [B][16][3], accumulated */
} k_post_gradients;

HD void k_sample_backward(const k_post_inputs *in, const k_dims *d, int b, const k_sample *s, real share,
                          const real *g_h, real g_n, real *g_before)
{
    long n = (long)d->ow * d->oh;
    real g[4];
    for (int c = 0; c < 3; c++) g[c] = share * g_h[c] * k_carry_slope(&in->params[b], s->stored[c]);
    g[3] = s->stored[3] > 0 && s->stored[3] < K_CONFIDENCE_MAX ? share * g_n : 0;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            real w = s->taps.wx[i] * s->taps.wy[j];
            if (is_corner(i, j) || w == 0) continue;
            real *p = g_before + 4 * b * n + catrom_texel(&s->taps, i, j, d->ow, d->oh);
            for (int c = 0; c < 4; c++) add_to(p + c * n, w * g[c]);
        }
}

/* Through the resampling: gradients of the mean colour and of the weight to the shapes' position and to the Gaussians. */
HD void k_resample_backward(const k_post_inputs *in, const k_dims *d, int b, const k_gates *g,
                            const k_pixel *r, const real *g_cur, real g_weight, real *g_a, real *g_b,
                            real *g_shapes)
{
    const real *color = in->color + 3 * (long)b * d->w * d->h;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            long at = k_texel(d, r, i, j);
            real gw = g_weight, dx = (real)(i - 1) - ((real)r->px + (real).5) / 8,
                 dy = (real)(j - 1) - ((real)r->py + (real).5) / 8;
            for (int c = 0; c < 3; c++)
                gw +=
                    g_cur[c] * (color[(long)c * d->w * d->h + at] - r->cur[c]) / rmax(r->weight, (real)1e-12);
            for (int k = 0; k < 4; k++) {
                real w = k_weight(in, d, r, k_shape(g, k), i, j), along = gw * w,
                     e = -along * k_share(g, k) * d->rho / 4;
                *g_a += (k & 1 ? along : -along) * (k >> 1 ? g->tb : 1 - g->tb),
                    *g_b += (k >> 1 ? along : -along) * (k & 1 ? g->ta : 1 - g->ta);
                g_shapes[3 * k] += e * dx * dx, g_shapes[3 * k + 1] += e * dy * dy,
                    g_shapes[3 * k + 2] += 2 * e * dx * dy;
            }
        }
}

/* Adds a pixel's gradients: gates (after the sigmoids) in the order of the head's values, four shapes. */
HD void k_pixel_backward(const k_post_inputs *in, const k_dims *d, const k_post_gradients *o, int b, int x,
                         int y, const k_gates *g, real *gates, real *shapes)
{
    k_pixel r;
    long n = (long)d->ow * d->oh, at = (long)y * d->ow + x;
    real g_cur[3], g_h[3], ga = 0, show;
    k_evaluate(in, d, b, x, y, g, &r);
    show = r.a + (1 - r.a) * g->show;
    for (int c = 0; c < 3; c++) {
        real gk = o->g_history[(4 * b + c) * n + at] * compress_slope(r.kept[c]),
             gs = o->g_shown[(3 * b + c) * n + at] * compress_slope(r.shown[c]);
        real step = r.now[c] - r.past[c],
             gm = (gk * (1 - r.a) + gs * (1 - show)) * k_expand_slope(r.moved[c]);
        ga += (gk + gs * (1 - g->show)) * step, gates[4] += gs * step * (1 - r.a);
        g_cur[c] = (gk * r.a + gs * show) * k_expand_slope(r.cur[c]);
        real face = r.mean[c] + (real)r.side[c] * g->box * r.deviation[c];
        g_h[c] = r.side[c] ? gm * (1 - g->clip) : gm;
        if (r.side[c])
            gates[6] += gm * (face - r.h[c]), gates[7] += gm * g->clip * (real)r.side[c] * r.deviation[c];
    }
    real sum = r.k + r.w, gc = sum < K_CONFIDENCE_MAX ? o->g_history[(4 * b + 3) * n + at] : 0, gw = gc,
         gk = gc;
    if (sum > (real)1e-6)
        gw += ga * r.k / (sum * sum), gk -= ga * r.w / (sum * sum);
    else
        gw += ga * (real)1e6;
    gates[2] += gw * r.weight, gates[3] += gk * r.n;
    real g_n = gk * g->keep;
    for (int i = 0; i < 2; i++) {
        real share = i ? r.share : 1 - r.share;
        if (!r.use[i]) continue;
        if (r.s[i].on)
            k_sample_backward(in, d, b, &r.s[i], share, g_h, g_n, o->g_before);
        else
            for (int c = 0; c < 3; c++) g_cur[c] += share * g_h[c];
    }
    if (r.use[0] && r.use[1])
        for (int c = 0; c < 4; c++)
            gates[5] += (c < 3 ? g_h[c] : g_n) *
                        (k_candidate(in, b, &r, &r.s[1], c) - k_candidate(in, b, &r, &r.s[0], c));
    k_resample_backward(in, d, b, g, &r, g_cur, gw * g->gain, gates, gates + 1, shapes);
}

/* A sub-block: gradients of its eight head values (written), of the four shapes it used (returned in `shapes`, zero on entry)
 * and of the history. -> the first of the four shapes */
HD int k_block_backward(const k_post_inputs *in, const k_dims *d, const k_post_gradients *o, int b, int bx,
                        int by, real *shapes)
{
    const real *v = k_head_of(in, d, b, bx, by);
    const real range[K_GATES] = {3, 3, 4, 1, 1, 1, 1, 4};
    k_gates g = k_gates_of(v);
    real gates[K_GATES] = {0};
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++)
            if (2 * bx + i < d->ow && 2 * by + j < d->oh)
                k_pixel_backward(in, d, o, b, 2 * bx + i, 2 * by + j, &g, gates, shapes);
    for (int i = 0; i < K_GATES; i++)
        o->g_head[v - in->head + i] = gates[i] * range[i] * g.u[i] * (1 - g.u[i]);
    return g.first;
}

#endif
