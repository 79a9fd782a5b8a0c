/* The stages around the network, differentiable: features (input stage without the embedding), reconstruction, downsample.
 * One pixel a function, host or device; stages.cu loops. `real` is float, or double in the build that checks gradients. */
#ifndef D4R_TRAIN_STAGES_H
#define D4R_TRAIN_STAGES_H

#include <math.h>
#include <stdint.h>

#ifndef REAL
#define REAL float
#endif
typedef REAL real;

#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
#else
#define HD static inline
#endif

#define FEATURES 20
#define COMPRESS_SCALE ((real)0.15634601348517065)  /* 0.36 / ln 10 */
#define WEIGHT_GAIN ((real)2.75301)
#define EXPAND_MIN ((real)1e-4)
#define EXPAND_MAX ((real)3)
#define EXPOSED_MAX ((real)32752)

/* A sample of the batch: what a frame's parameters are to the runtime. */
typedef struct {
    real jitter[2], previous_jitter[2];
    real e1, e2;  /* exposures of this and the previous frame */
    real history; /* 0: reset */
    real frame;   /* counter, for the dither */
} sample_params;

typedef struct {
    int batch, w, h;         /* render */
    int rw, rh;              /* reconstruction: ceil(1.5 output) */
    int hw, hh;              /* half image: ceil(r / 2) */
    real sx, sy;             /* render -> reconstruction: 1.5 output / render */
    int dither, round_half;  /* options: FP8 features; f16 rounding of what is stored as f16 */
} stage_dims;

HD real rmin(real a, real b) { return a < b ? a : b; }
HD real rmax(real a, real b) { return a > b ? a : b; }
HD real rclamp(real x, real lo, real hi) { return rmin(rmax(x, lo), hi); }
HD int iclamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }
HD real compress(real x) { return (real)log(rmax((real)100 * x + 1, EXPAND_MIN)) * COMPRESS_SCALE; }
HD real compress_slope(real x) { return COMPRESS_SCALE * 100 / rmax((real)100 * x + 1, EXPAND_MIN); }
HD real expand(real v) { return ((real)exp(rclamp(v, EXPAND_MIN, EXPAND_MAX) / COMPRESS_SCALE) - 1) * (real)0.01; }
HD real expand_slope(real v)
{
    if (v <= EXPAND_MIN || v >= EXPAND_MAX) return 0;
    return (real)exp(v / COMPRESS_SCALE) * ((real)0.01 / COMPRESS_SCALE);
}

HD void add_to(real *p, real v)
{
#ifdef __CUDA_ARCH__
    atomicAdd(p, v);
#else
    *p += v;
#endif
}

/* Four texels and weights of a bilinear fetch at texel coordinates (centres at + .5), clamped to the edge. */
typedef struct {
    long at[4];
    real w[4];
} bilinear;

HD bilinear bilinear_at(real x, real y, int w, int h)
{
    bilinear b;
    x = rclamp(x, (real)-4, (real)(w + 4)) - (real).5, y = rclamp(y, (real)-4, (real)(h + 4)) - (real).5;
    real fx = (real)floor(x), fy = (real)floor(y), tx = x - fx, ty = y - fy;
    int x0 = iclamp((int)fx, 0, w - 1), x1 = iclamp((int)fx + 1, 0, w - 1);
    int y0 = iclamp((int)fy, 0, h - 1), y1 = iclamp((int)fy + 1, 0, h - 1);
    b.at[0] = (long)y0 * w + x0, b.at[1] = (long)y0 * w + x1, b.at[2] = (long)y1 * w + x0, b.at[3] = (long)y1 * w + x1;
    b.w[0] = (1 - tx) * (1 - ty), b.w[1] = tx * (1 - ty), b.w[2] = (1 - tx) * ty, b.w[3] = tx * ty;
    return b;
}
HD real bilinear_read(const real *p, const bilinear *b)
{
    return b->w[0] * p[b->at[0]] + b->w[1] * p[b->at[1]] + b->w[2] * p[b->at[2]] + b->w[3] * p[b->at[3]];
}
HD void bilinear_add(real *p, const bilinear *b, real g)
{
    for (int i = 0; i < 4; i++)
        if (b->w[i] != 0) add_to(p + b->at[i], b->w[i] * g);
}

/* ---- features ---- */

typedef struct {
    const real *color;                 /* [B][3][h][w] compressed, exposed */
    const real *motion_a, *motion_b, *motion_c; /* [B][2][h][w] render pixels */
    const real *half;                  /* [B][3][hh][hw] stored values */
    const real *feature;               /* [B][4][h][w] recurrent */
    const real *previous_a;            /* [B][2][h][w] */
    const sample_params *params;
} feature_inputs;

/* The three motion candidates: nearest and farthest depth of 3x3 (depth: larger is nearer), own. Centre first, rows after. */
HD void motion_candidates(const real *depth, const real *motion, int w, int h, int x, int y, real *a, real *b)
{
    long n = (long)w * h, best = (long)y * w + x, worst = best;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            long k = (long)iclamp(y + j, 0, h - 1) * w + iclamp(x + i, 0, w - 1);
            if (depth[k] > depth[best]) best = k;
            if (depth[k] < depth[worst]) worst = k;
        }
    a[0] = motion[best], a[1] = motion[n + best], b[0] = motion[worst], b[1] = motion[n + worst];
}

/* Seven bits for the dither: vk_stages/dither.glsl. */
HD uint32_t dither_bits(uint32_t x, uint32_t y, uint32_t frame)
{
    uint32_t i = (x & 15u) | (y & 15u) << 4 | (frame & 7u) << 8;
    i = i * 1281u & 2047u, i ^= i >> 5;
    i = i * 1087u & 2047u, i ^= i >> 6;
    i = i * 769u & 2047u, i ^= i >> 5;
    return i >> 4;
}

/* |v| + n/128 of a step, truncated to the E4M3 grid. */
HD real dither_fp8(real v, uint32_t n)
{
    union {
        float f;
        uint32_t u;
    } a, step;
    a.f = (float)rmin((real)fabs(v), (real)448);
    int e = (int)(a.u >> 23) - 127;
    step.u = (uint32_t)((e < -6 ? -6 : e) - 3 + 127) << 23;
    float t = floorf(a.f / step.f + (float)n * (1.f / 128.f)) * step.f;
    t = t > 448.f ? 448.f : t;
    return v < 0 ? -t : t;
}

typedef struct {
    real x, y;  /* reconstruction pixels */
    int on;
} history_position;

HD history_position history_at(const stage_dims *d, const sample_params *p, int x, int y, const real *m, int jitter)
{
    history_position q;
    real jx = jitter ? p->jitter[0] : 0, jy = jitter ? p->jitter[1] : 0;
    q.x = ((real)x + (real).5 + jx + m[0]) * d->sx, q.y = ((real)y + (real).5 + jy + m[1]) * d->sy;
    q.on = p->history > 0 && q.x >= 0 && q.y >= 0 && q.x <= d->rw && q.y <= d->rh;
    return q;
}

HD bilinear half_fetch(const stage_dims *d, const history_position *q)
{
    return bilinear_at(q->x * (real).5, q->y * (real).5, d->hw, d->hh);
}
HD bilinear feature_fetch(const stage_dims *d, const sample_params *p, const history_position *q)
{
    return bilinear_at(q->x / d->sx - p->previous_jitter[0], q->y / d->sy - p->previous_jitter[1], d->w, d->h);
}

HD void pixel_motions(const feature_inputs *in, const stage_dims *d, int b, long i, real m[4][2])
{
    long n = (long)d->w * d->h, o = 2 * b * n + i;
    m[0][0] = in->motion_a[o], m[0][1] = in->motion_a[o + n];
    m[1][0] = m[3][0] = in->motion_c[o], m[1][1] = m[3][1] = in->motion_c[o + n];
    m[2][0] = in->motion_b[o], m[2][1] = in->motion_b[o + n];
}

HD real motion_change(const feature_inputs *in, const stage_dims *d, const sample_params *p, int b, int x, int y, const real *a)
{
    if (!(p->history > 0)) return 0;
    long n = (long)d->w * d->h;
    real ux = (real)x + (real).5 + p->jitter[0] - p->previous_jitter[0] + a[0];
    real uy = (real)y + (real).5 + p->jitter[1] - p->previous_jitter[1] + a[1];
    bilinear f = bilinear_at(rclamp(ux, 0, (real)d->w), rclamp(uy, 0, (real)d->h), d->w, d->h);
    const real *prev = in->previous_a + 2 * b * n;
    real dx = a[0] - bilinear_read(prev, &f), dy = a[1] - bilinear_read(prev + n, &f);
    return (real)0.22357 * (real)log(1 + (real)9.045 * ((real)540 / d->h) * (real)sqrt(dx * dx + dy * dy));
}

/* The features of a pixel [20] and its reprojected recurrent feature [4]. */
HD void features_pixel(const feature_inputs *in, const stage_dims *d, int b, int x, int y, real *out, real *recurrent)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h, hn = (long)d->hw * d->hh, i = (long)y * d->w + x;
    real m[4][2], f[FEATURES];
    pixel_motions(in, d, b, i, m);
    for (int c = 0; c < 3; c++) f[c] = in->color[(3 * b + c) * n + i];
    for (int k = 0; k < 4; k++) {
        history_position q = history_at(d, p, x, y, m[k], k < 3);
        bilinear t = half_fetch(d, &q);
        for (int c = 0; c < 3; c++) {
            f[3 + 3 * k + c] = f[c];
            if (!q.on) continue;
            real s = expand(bilinear_read(in->half + (3 * b + c) * hn, &t));
            f[3 + 3 * k + c] = compress(rmin(s * (p->e1 / p->e2), EXPOSED_MAX));
        }
    }
    history_position q = history_at(d, p, x, y, m[0], 1);
    bilinear t = feature_fetch(d, p, &q);
    for (int c = 0; c < 4; c++) {
        recurrent[c * n] = f[15 + c] = q.on ? bilinear_read(in->feature + (4 * b + c) * n, &t) : 0;
    }
    f[19] = motion_change(in, d, p, b, x, y, m[0]);
    uint32_t noise = dither_bits((uint32_t)x, (uint32_t)y, (uint32_t)p->frame);
    for (int k = 0; k < FEATURES; k++) {
        real v = f[k];
        out[k] = d->dither ? dither_fp8(rmin(v, (real)1024), noise) : v;
    }
}

/* Gradients to the half image and the recurrent feature. */
HD void features_pixel_backward(const feature_inputs *in, const stage_dims *d, int b, int x, int y, const real *g, const real *g_rec,
                                real *g_half, real *g_feature)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h, hn = (long)d->hw * d->hh, i = (long)y * d->w + x;
    real m[4][2];
    if (!(p->history > 0)) return;
    pixel_motions(in, d, b, i, m);
    for (int k = 0; k < 4; k++) {
        history_position q = history_at(d, p, x, y, m[k], k < 3);
        if (!q.on) continue;
        bilinear t = half_fetch(d, &q);
        for (int c = 0; c < 3; c++) {
            const real *plane = in->half + (3 * b + c) * hn;
            real stored = bilinear_read(plane, &t), ratio = p->e1 / p->e2;
            real slope = compress_slope(ratio * expand(stored)) * ratio * expand_slope(stored);
            bilinear_add(g_half + (3 * b + c) * hn, &t, g[3 + 3 * k + c] * slope);
        }
    }
    history_position q = history_at(d, p, x, y, m[0], 1);
    if (!q.on) return;
    bilinear t = feature_fetch(d, p, &q);
    for (int c = 0; c < 4; c++) bilinear_add(g_feature + (4 * b + c) * n, &t, g[15 + c] + g_rec[c * n]);
}

/* ---- reconstruction ---- */

/* Channels of the tile: mix (A, C, B), gates, covariance (a^2, b^2, a b rho). */
#define TILE 9
#define ACCUMULATED 9 /* colour, mix, gates */

typedef struct {
    const real *color;  /* [B][3][h][w] compressed */
    const real *tile;   /* [B][9][h][w] */
    const real *motion_a, *motion_b, *motion_c;
    const real *history; /* [B][3][rh][rw] compressed */
    const sample_params *params;
} post_inputs;

/* The five bilinear taps of the Catmull-Rom cross, as their twelve texels: 4x4 without the corners. */
typedef struct {
    int x0, y0;
    real wx[4], wy[4]; /* wx includes the normalisation */
} catrom;

HD void catrom_weights(real t, real *w)
{
    real t2 = t * t, t3 = t2 * t;
    w[0] = t2 - (t + t3) / 2, w[1] = (real)1.5 * t3 - (real)2.5 * t2 + 1, w[3] = (t3 - t2) / 2;
    w[2] = 1 - w[0] - w[1] - w[3];
}

HD catrom catrom_at(real x, real y)
{
    catrom c;
    real bx = (real)floor(x - (real).5) + (real).5, by = (real)floor(y - (real).5) + (real).5;
    c.x0 = (int)floor(bx) - 1, c.y0 = (int)floor(by) - 1;
    catrom_weights(rclamp(x - bx, 0, 1), c.wx);
    catrom_weights(rclamp(y - by, 0, 1), c.wy);
    real sum = 1 - (c.wx[0] + c.wx[3]) * (c.wy[0] + c.wy[3]);
    for (int i = 0; i < 4; i++) c.wx[i] /= sum;
    return c;
}
HD int is_corner(int i, int j) { return (i == 0 || i == 3) && (j == 0 || j == 3); }
HD long catrom_texel(const catrom *c, int i, int j, int w, int h)
{
    return (long)iclamp(c->y0 + j, 0, h - 1) * w + iclamp(c->x0 + i, 0, w - 1);
}

typedef struct {
    int on;
    catrom taps;
    real color[3]; /* compressed, in the previous frame's exposure */
} history_sample;

typedef struct {
    real fx, fy;       /* render position */
    int bx, by;
    real weight;       /* sum of the Gaussian weights */
    real q[ACCUMULATED];
    int first, second; /* candidates kept: 0 A, 1 C, 2 B */
    real k1, k2, b1, b2;
    history_sample h[2];
    real hist[3], hist_linear[3], cur_linear[3];
    real a0, a1, a2;
    real out_a[3], out_b[3]; /* linear */
} post_pixel;

HD real tap_exponent(const real *cov, long n, real dx, real dy)
{
    return (real)-.5 * (cov[0] * dx * dx + cov[n] * dy * dy) - cov[2 * n] * dx * dy;
}

HD void post_resample(const post_inputs *in, const stage_dims *d, int b, post_pixel *r)
{
    long n = (long)d->w * d->h;
    const real *color = in->color + 3 * b * n, *tile = in->tile + TILE * b * n;
    r->weight = 0;
    for (int k = 0; k < ACCUMULATED; k++) r->q[k] = 0;
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++) {
            long at = (long)iclamp(r->by + j, 0, d->h - 1) * d->w + iclamp(r->bx + i, 0, d->w - 1);
            real dx = (real)(r->bx + i) + (real).5 - r->fx, dy = (real)(r->by + j) + (real).5 - r->fy;
            real w = (real)exp(tap_exponent(tile + 6 * n + at, n, dx, dy));
            r->weight += w;
            for (int c = 0; c < 3; c++) r->q[c] += w * color[c * n + at];
            for (int c = 0; c < 6; c++) r->q[3 + c] += w * tile[c * n + at];
        }
    for (int k = 0; k < ACCUMULATED; k++) r->q[k] /= r->weight;
}

HD void candidate_motion(const post_inputs *in, const stage_dims *d, int b, const post_pixel *r, int which, real *m)
{
    long n = (long)d->w * d->h, o = 2 * b * n;
    long at = (long)iclamp(r->by, 0, d->h - 1) * d->w + iclamp(r->bx, 0, d->w - 1);
    if (which == 1) {
        bilinear t = bilinear_at(r->fx, r->fy, d->w, d->h);
        m[0] = bilinear_read(in->motion_c + o, &t), m[1] = bilinear_read(in->motion_c + o + n, &t);
    } else {
        const real *p = which == 0 ? in->motion_a : in->motion_b;
        m[0] = p[o + at], m[1] = p[o + n + at];
    }
}

HD void sample_history(const post_inputs *in, const stage_dims *d, int b, int x, int y, const post_pixel *r, int which, history_sample *h)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h, rn = (long)d->rw * d->rh;
    real m[2];
    candidate_motion(in, d, b, r, which, m);
    real qx = (real)x + (real).5 + m[0] * d->sx, qy = (real)y + (real).5 + m[1] * d->sy;
    h->on = p->history > 0 && qx >= 0 && qy >= 0 && qx <= d->rw && qy <= d->rh;
    if (h->on) {
        const real *plane = in->history + 3 * b * rn;
        h->taps = catrom_at(qx, qy);
        h->color[0] = h->color[1] = h->color[2] = 0;
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 4; i++) {
                if (is_corner(i, j)) continue;
                real w = h->taps.wx[i] * h->taps.wy[j];
                long at = catrom_texel(&h->taps, i, j, d->rw, d->rh);
                for (int c = 0; c < 3; c++) h->color[c] += w * plane[c * rn + at];
            }
        return;
    }
    long at = (long)iclamp(r->by, 0, d->h - 1) * d->w + iclamp(r->bx, 0, d->w - 1);
    for (int c = 0; c < 3; c++) h->color[c] = compress(p->e2 / p->e1 * expand(in->color[(3 * b + c) * n + at]));
}

/* The two heaviest candidates (A, C, B = 0, 1, 2), in the order in which ties are decided. */
HD void keep_two(real ma, real mc, real mb, post_pixel *r)
{
    int swap = ma < mc, other;
    real big = swap ? mc : ma, small = swap ? ma : mc, s;
    r->first = swap ? 1 : 0, other = 1 - r->first;
    r->second = !(small < mb) ? other : 2, s = !(small < mb) ? small : mb;
    if (big < s) {
        int t = r->first;
        real v = big;
        r->first = r->second, r->second = t, big = s, s = v;
    }
    r->k1 = rclamp((real)1.1 * big - (real).05, 0, 1), r->k2 = rclamp((real)1.1 * s - (real).05, 0, 1);
    r->b2 = r->k2 / rmax(r->k1 + r->k2, (real)1e-10);
    if (r->b2 < (real)1 / 255) r->b2 = 0;
    r->b1 = 1 - r->b2;
}

HD void post_evaluate(const post_inputs *in, const stage_dims *d, int b, int x, int y, post_pixel *r)
{
    const sample_params *p = &in->params[b];
    r->fx = ((real)x + (real).5) / d->sx - p->jitter[0], r->fy = ((real)y + (real).5) / d->sy - p->jitter[1];
    r->bx = (int)floor(r->fx), r->by = (int)floor(r->fy);
    post_resample(in, d, b, r);
    keep_two(r->q[3], r->q[4], r->q[5], r);
    sample_history(in, d, b, x, y, r, r->first, &r->h[0]);
    if (r->b2 > 0) sample_history(in, d, b, x, y, r, r->second, &r->h[1]);
    const real *g = r->q + 6;
    r->a0 = rclamp(WEIGHT_GAIN * r->weight * g[0], 0, 1);
    r->a1 = r->a0 * (1 - g[1]) + g[1], r->a2 = r->a0 * (1 - g[2]) + g[2];
    for (int c = 0; c < 3; c++) {
        r->hist[c] = r->b1 * r->h[0].color[c] + (r->b2 > 0 ? r->b2 * r->h[1].color[c] : 0);
        r->hist_linear[c] = p->e1 / p->e2 * expand(r->hist[c]), r->cur_linear[c] = expand(r->q[c]);
        real step = r->cur_linear[c] - r->hist_linear[c];
        r->out_a[c] = r->hist_linear[c] + step * r->a1, r->out_b[c] = r->hist_linear[c] + step * r->a2;
    }
}

HD real round_f16(real v)
{
#if defined(__CUDA_ARCH__)
    return (real)__half2float(__float2half_rn((float)v));
#else
    return (real)(_Float16)(float)v;
#endif
}

HD void post_pixel_forward(const post_inputs *in, const stage_dims *d, int b, int x, int y, real *out_a, real *out_b)
{
    post_pixel r;
    long rn = (long)d->rw * d->rh, i = (long)y * d->rw + x;
    post_evaluate(in, d, b, x, y, &r);
    for (int c = 0; c < 3; c++) {
        real a = compress(r.out_a[c]), o = compress(r.out_b[c]);
        out_a[(3 * b + c) * rn + i] = d->round_half ? round_f16(a) : a;
        out_b[(3 * b + c) * rn + i] = o;
    }
}

/* Mean of the existing pixels of a 2x2 cell, linear. */
HD real half_mean(const stage_dims *d, const real *plane, int x, int y, int *count)
{
    real sum = 0;
    *count = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++)
            if (2 * x + i < d->rw && 2 * y + j < d->rh)
                sum += expand(plane[(long)(2 * y + j) * d->rw + 2 * x + i]), (*count)++;
    return sum / *count;
}

HD void half_pixel(const real *out_a, const stage_dims *d, int b, int x, int y, real *half)
{
    long rn = (long)d->rw * d->rh, hn = (long)d->hw * d->hh;
    int count;
    for (int c = 0; c < 3; c++) {
        real v = compress(half_mean(d, out_a + (3 * b + c) * rn, x, y, &count));
        half[(3 * b + c) * hn + (long)y * d->hw + x] = d->round_half ? round_f16(v) : v;
    }
}

typedef struct {
    const real *out_a;                  /* forward result */
    const real *g_a, *g_b, *g_half;     /* gradients of out_a, out_b, half */
    real *g_history;                    /* [B][3][rh][rw], accumulated */
    real *scratch;                      /* [B][10][rh][rw]: of the numerators and of the weight sum */
    real *g_tile;                       /* [B][9][h][w] */
} post_gradients;

HD void history_backward(const stage_dims *d, int b, const history_sample *h, real share, const real *g_hist, real *g_history)
{
    long rn = (long)d->rw * d->rh;
    if (!h->on) return;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            real w = share * h->taps.wx[i] * h->taps.wy[j];
            if (is_corner(i, j) || w == 0) continue;
            real *p = g_history + 3 * b * rn + catrom_texel(&h->taps, i, j, d->rw, d->rh);
            for (int c = 0; c < 3; c++) add_to(p + c * rn, w * g_hist[c]);
        }
}

/* Gradients of the pixel's resampled quantities q[9] and of its weight sum. */
HD void post_pixel_backward(const post_inputs *in, const stage_dims *d, const post_gradients *g, int b, int x, int y)
{
    const sample_params *p = &in->params[b];
    post_pixel r;
    long rn = (long)d->rw * d->rh, hn = (long)d->hw * d->hh, i = (long)y * d->rw + x;
    real gq[ACCUMULATED] = {0}, g_hist[3], g_weight = 0, g_a1 = 0, g_a2 = 0, g_b2 = 0;
    post_evaluate(in, d, b, x, y, &r);
    for (int c = 0; c < 3; c++) {
        long plane = (3 * b + c) * rn;
        int count;
        real stored = g->out_a[plane + i], mean = half_mean(d, g->out_a + plane, x / 2, y / 2, &count);
        real from_half = g->g_half[(3 * b + c) * hn + (long)(y / 2) * d->hw + x / 2] * compress_slope(mean) / count;
        real ga = (g->g_a[plane + i] + from_half * expand_slope(stored)) * compress_slope(r.out_a[c]);
        real gb = g->g_b[plane + i] * compress_slope(r.out_b[c]);
        real step = r.cur_linear[c] - r.hist_linear[c];
        g_a1 += ga * step, g_a2 += gb * step;
        gq[c] = (ga * r.a1 + gb * r.a2) * expand_slope(r.q[c]);
        g_hist[c] = (ga * (1 - r.a1) + gb * (1 - r.a2)) * (p->e1 / p->e2) * expand_slope(r.hist[c]);
        if (r.b2 > 0) g_b2 += g_hist[c] * (r.h[1].color[c] - r.h[0].color[c]);
    }
    const real *gate = r.q + 6;
    real g_a0 = g_a1 * (1 - gate[1]) + g_a2 * (1 - gate[2]);
    gq[7] = g_a1 * (1 - r.a0), gq[8] = g_a2 * (1 - r.a0);
    if (r.a0 > 0 && r.a0 < 1) {
        gq[6] = g_a0 * WEIGHT_GAIN * r.weight;
        g_weight = g_a0 * WEIGHT_GAIN * gate[0];
    }
    if (r.b2 > 0) {
        real s = r.k1 + r.k2, k = g_b2 / (s * s) * (real)1.1;
        real g1 = r.k1 < 1 ? -k * r.k2 : 0, g2 = r.k2 < 1 ? k * r.k1 : 0;
        for (int c = 0; c < 3; c++) gq[3 + c] = (c == r.first ? g1 : 0) + (c == r.second ? g2 : 0);
    }
    history_backward(d, b, &r.h[0], r.b1, g_hist, g->g_history);
    if (r.b2 > 0) history_backward(d, b, &r.h[1], r.b2, g_hist, g->g_history);
    real *out = g->scratch + 10 * b * rn + i;
    for (int k = 0; k < ACCUMULATED; k++) {
        out[k * rn] = gq[k] / r.weight;
        g_weight -= gq[k] * r.q[k] / r.weight;
    }
    out[9 * rn] = g_weight;
}

/* Offsets i in -1..1 with clamp(base + i) = t. */
HD void matching_offsets(int base, int t, int n, int *lo, int *hi)
{
    *lo = *hi = t - base;
    if (t == 0) *lo = -1;
    if (t == n - 1) *hi = 1;
    *lo = *lo < -1 ? -1 : *lo, *hi = *hi > 1 ? 1 : *hi;
}

/* First reconstruction pixel whose base is >= v (rounding aside: callers test again). */
HD int first_with_base(int v, real jitter, real scale) { return (int)floor(((real)v + jitter) * scale - (real)1.5); }

/* A render texel collects from every pixel that used it. */
HD void post_texel_backward(const post_inputs *in, const stage_dims *d, const post_gradients *g, int b, int x, int y)
{
    const sample_params *p = &in->params[b];
    long n = (long)d->w * d->h, rn = (long)d->rw * d->rh, at = (long)y * d->w + x;
    const real *tile = in->tile + TILE * b * n + at, *color = in->color + 3 * b * n + at;
    real own[ACCUMULATED], sum[TILE] = {0}, cov[3] = {tile[6 * n], tile[7 * n], tile[8 * n]};
    for (int c = 0; c < 3; c++) own[c] = color[c * n];
    for (int c = 0; c < 6; c++) own[3 + c] = tile[c * n];
    int y0 = y == 0 ? 0 : first_with_base(y - 1, p->jitter[1], d->sy), y1 = y == d->h - 1 ? d->rh : first_with_base(y + 2, p->jitter[1], d->sy) + 3;
    int x0 = x == 0 ? 0 : first_with_base(x - 1, p->jitter[0], d->sx), x1 = x == d->w - 1 ? d->rw : first_with_base(x + 2, p->jitter[0], d->sx) + 3;
    y0 = y0 < 0 ? 0 : y0, x0 = x0 < 0 ? 0 : x0, y1 = y1 > d->rh ? d->rh : y1, x1 = x1 > d->rw ? d->rw : x1;
    for (int py = y0; py < y1; py++) {
        real fy = ((real)py + (real).5) / d->sy - p->jitter[1];
        int by = (int)floor(fy), j0, j1;
        matching_offsets(by, y, d->h, &j0, &j1);
        for (int px = x0; j0 <= j1 && px < x1; px++) {
            real fx = ((real)px + (real).5) / d->sx - p->jitter[0];
            int bx = (int)floor(fx), i0, i1;
            matching_offsets(bx, x, d->w, &i0, &i1);
            if (i0 > i1) continue;
            const real *s = g->scratch + 10 * b * rn + (long)py * d->rw + px;
            real gq[ACCUMULATED], gw = s[9 * rn];
            for (int k = 0; k < ACCUMULATED; k++) gq[k] = s[k * rn], gw += gq[k] * own[k];
            for (int j = j0; j <= j1; j++)
                for (int i = i0; i <= i1; i++) {
                    real dx = (real)(bx + i) + (real).5 - fx, dy = (real)(by + j) + (real).5 - fy;
                    real w = (real)exp((real)-.5 * (cov[0] * dx * dx + cov[1] * dy * dy) - cov[2] * dx * dy);
                    for (int k = 0; k < 6; k++) sum[k] += w * gq[3 + k];
                    sum[6] -= (real).5 * gw * w * dx * dx, sum[7] -= (real).5 * gw * w * dy * dy, sum[8] -= gw * w * dx * dy;
                }
        }
    }
    for (int k = 0; k < TILE; k++) g->g_tile[(TILE * b + k) * n + at] = sum[k];
}

/* ---- downsample 3 -> 2 ---- */

/* The two source columns (or rows) of an output pixel and their weights. */
HD void down_taps(int x, int n, int *at, real *w)
{
    int base = 3 * (x / 2) + (x & 1);
    at[0] = iclamp(base, 0, n - 1), at[1] = iclamp(base + 1, 0, n - 1);
    w[0] = x & 1 ? (real).25 : (real).75, w[1] = 1 - w[0];
}

HD real down_pixel(const real *plane, int rw, int rh, int x, int y)
{
    int ax[2], ay[2];
    real wx[2], wy[2];
    down_taps(x, rw, ax, wx);
    down_taps(y, rh, ay, wy);
    return wy[0] * (wx[0] * plane[(long)ay[0] * rw + ax[0]] + wx[1] * plane[(long)ay[0] * rw + ax[1]]) +
           wy[1] * (wx[0] * plane[(long)ay[1] * rw + ax[0]] + wx[1] * plane[(long)ay[1] * rw + ax[1]]);
}

/* Output pixels that read source s: x with weights. At most two, and more at a clamped edge. */
HD int down_users(int s, int n, int out, int *at, real *w)
{
    int count = 0, first = 2 * (s / 3) - 1;
    for (int x = first < 0 ? 0 : first; x < out && x <= first + 4; x++) {
        int a[2];
        real v[2], total = 0;
        down_taps(x, n, a, v);
        for (int k = 0; k < 2; k++) total += a[k] == s ? v[k] : 0;
        if (total > 0 && count < 4) at[count] = x, w[count++] = total;
    }
    return count;
}

HD real down_pixel_backward(const real *g, int rw, int rh, int ow, int oh, int x, int y)
{
    int ax[4], ay[4];
    real wx[4], wy[4], sum = 0;
    int nx = down_users(x, rw, ow, ax, wx), ny = down_users(y, rh, oh, ay, wy);
    for (int j = 0; j < ny; j++)
        for (int i = 0; i < nx; i++) sum += wx[i] * wy[j] * g[(long)ay[j] * ow + ax[i]];
    return sum;
}

#endif
