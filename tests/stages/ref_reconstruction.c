#include "tests/stages/ref.h"
#include <math.h>
#include <string.h>

typedef struct resampled {
    double color[3], mix[3], gates[3], weight, nearest[3];
} resampled;

static resampled resample(const ref_reconstruct *in, float fx, float fy)
{
    resampled r;
    memset(&r, 0, sizeof r);
    const int bx = (int)floorf(fx), by = (int)floorf(fy);
    for (int y = by - 1; y <= by + 1; y++) {
        for (int x = bx - 1; x <= bx + 1; x++) {
            const double dx = x + 0.5 - fx, dy = y + 0.5 - fy;
            const double *cov = ref_at(&in->covariance, x, y);
            const double w = exp(-0.5 * (cov[0] * dx * dx + cov[1] * dy * dy + 2 * cov[2] * dx * dy));
            r.weight += w;
            for (int k = 0; k < 3; k++) {
                r.color[k] += w * ref_compress(fmin(ref_at(&in->color, x, y)[k] * in->exposure, 32752));
                r.mix[k] += w * ref_at(&in->mix, x, y)[k];
                r.gates[k] += w * ref_at(&in->gates, x, y)[k];
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        r.color[k] /= r.weight;
        r.mix[k] /= r.weight;
        r.gates[k] /= r.weight;
        r.nearest[k] = ref_compress(fmin(ref_at(&in->color, bx, by)[k] * in->exposure, 32752));
    }
    return r;
}

/* ---- history */

typedef struct axis {
    double at[3], weight[3]; /* reads before, in the centre, after */
} axis;

static axis cubic(double q)
{
    const double base = floor(q - 0.5) + 0.5, t = q - base;
    const double w0 = t * t - (t + t * t * t) / 2, w1 = 1.5 * t * t * t - 2.5 * t * t + 1;
    const double w3 = (t * t * t - t * t) / 2, w2 = 1 - w0 - w1 - w3;
    return (axis){{base - 1, base + w2 / (w1 + w2), base + 2}, {w0, w1 + w2, w3}};
}

bool ref_catmull_rom(const ref_frame *f, const ref_image *history, double qx, double qy, int channels,
                     double *out, double *slack)
{
    static const int reads[5][2] = {{0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}};
    if (f->reset || !ref_on_screen(f, qx, qy)) return false;
    const axis x = cubic(qx), y = cubic(qy);
    bool finite = true;
    for (int k = 0; k < channels; k++) {
        double total = 0, moved;
        out[k] = slack[k] = 0;
        for (int i = 0; i < 5; i++) {
            const double w = x.weight[reads[i][0]] * y.weight[reads[i][1]];
            out[k] +=
                w * ref_linear(history, x.at[reads[i][0]], y.at[reads[i][1]], k, f->filter_step, &moved);
            slack[k] += fabs(w) * moved;
            total += w;
        }
        out[k] /= total;
        slack[k] /= total;
        finite = finite && isfinite(out[k]);
    }
    return finite;
}

typedef struct candidate {
    double x, y, weight;
} candidate;

/* The two of largest weight; *share is the second one's part. */
static void choose(const ref_frame *f, const ref_reconstruct *in, float fx, float fy, const double *mix,
                   candidate best[2], double *share, double *spread)
{
    const int x = (int)floorf(fx), y = (int)floorf(fy);
    double sx, sy;
    const candidate a = {ref_at(&in->mv_a, x, y)[0], ref_at(&in->mv_a, x, y)[1], mix[0]};
    const candidate c = {ref_linear(&in->mv_c, fx, fy, 0, f->filter_step, &sx),
                         ref_linear(&in->mv_c, fx, fy, 1, f->filter_step, &sy), mix[1]};
    const candidate b = {ref_at(&in->mv_b, x, y)[0], ref_at(&in->mv_b, x, y)[1], mix[2]};
    candidate big = a.weight < c.weight ? c : a, small = a.weight < c.weight ? a : c;
    if (small.weight < b.weight) small = b;
    if (big.weight < small.weight) {
        const candidate t = big;
        big = small;
        small = t;
    }
    best[0] = big;
    best[1] = small;
    const double k1 = fmin(fmax(1.1 * big.weight - 0.05, 0), 1),
                 k2 = fmin(fmax(1.1 * small.weight - 0.05, 0), 1);
    *share = k2 / fmax(k1 + k2, 1e-10);
    if (*share < 1.0 / 255) *share = 0;
    *spread = hypot(sx, sy);
}

static void history_of(const ref_frame *f, const ref_reconstruct *in, int x, int y, const resampled *r,
                       float fx, float fy, double out[3], double slack[3])
{
    candidate best[2];
    double share, spread, h[2][3], s[2][3];
    choose(f, in, fx, fy, r->mix, best, &share, &spread);
    for (int i = 0; i < 2; i++) {
        const double qx = x + 0.5 + best[i].x, qy = y + 0.5 + best[i].y;
        if (ref_catmull_rom(f, &in->history_previous, qx, qy, 3, h[i], s[i])) continue;
        for (int k = 0; k < 3; k++) {
            h[i][k] = ref_compress(ref_expand(r->nearest[k]) * in->previous_exposure / in->exposure);
            s[i][k] = 0;
        }
    }
    for (int k = 0; k < 3; k++) {
        out[k] = (1 - share) * h[0][k] + share * h[1][k];
        slack[k] = (1 - share) * s[0][k] + share * s[1][k];
        /* A vector that is off by `spread` moves the read: bounded by the steepest slope of the history, 1.
         */
        slack[k] += spread;
    }
}

/* ---- blends */

static void pixel(const ref_frame *f, const ref_reconstruct *in, int x, int y, double *kept, double *shown,
                  double *slack)
{
    const float fx =
        ref_render_position((float)x, f->sizes.render.width, f->sizes.output.width, f->settings.jitter.x);
    const float fy =
        ref_render_position((float)y, f->sizes.render.height, f->sizes.output.height, f->settings.jitter.y);
    const resampled r = resample(in, fx, fy);
    double h[3], s[3];
    history_of(f, in, x, y, &r, fx, fy, h, s);
    const double a0 = fmin(fmax(2.75301 * r.weight * r.gates[0], 0), 1);
    const double keep = a0 * (1 - r.gates[1]) + r.gates[1], show = a0 * (1 - r.gates[2]) + r.gates[2];
    for (int k = 0; k < 3; k++) {
        const double ratio = in->exposure / in->previous_exposure;
        const double history = ref_expand(h[k]) * ratio, current = ref_expand(r.color[k]);
        kept[k] = history + (current - history) * keep;
        shown[k] = history + (current - history) * show;
        const double moved = (ref_expand(h[k] + s[k]) * ratio - history) * (1 - fmin(keep, show));
        const double low = fmin(kept[k], shown[k]);
        slack[k] = fabs(ref_compress(low + moved) - ref_compress(low));
    }
}

void ref_reconstruction(const ref_frame *f, const ref_reconstruct *in, ref_reconstructed *out)
{
    ref_image linear = ref_image_new(out->history.width, out->history.height, 3);
    for (int y = 0; y < linear.height; y++) {
        for (int x = 0; x < linear.width; x++) {
            double *kept = ref_at(&linear, x, y), shown[3];
            pixel(f, in, x, y, kept, shown, ref_at(&out->history_slack, x, y));
            for (int k = 0; k < 3; k++) {
                ref_at(&out->history, x, y)[k] = ref_compress(kept[k]);
                ref_at(&out->display, x, y)[k] = ref_compress(shown[k]);
            }
        }
    }
    for (int y = 0; y < out->half.height; y++) {
        for (int x = 0; x < out->half.width; x++) {
            double sum[3] = {0, 0, 0};
            int count = 0;
            for (int j = 2 * y; j < 2 * y + 2 && j < linear.height; j++)
                for (int i = 2 * x; i < 2 * x + 2 && i < linear.width; i++, count++)
                    for (int k = 0; k < 3; k++) sum[k] += ref_at(&linear, i, j)[k];
            for (int k = 0; k < 3; k++) ref_at(&out->half, x, y)[k] = ref_compress(sum[k] / count);
        }
    }
    ref_image_free(&linear);
}

uint32_t ref_pack(const double *compressed, bool ldr)
{
    static const double top[3] = {2047, 2047, 1023};
    uint32_t code = 0;
    for (int k = 0; k < 3; k++) {
        const double v = compressed[k] / (ldr ? 0.36 * log10(101) : 2.45);
        code |= (uint32_t)floor(fmin(fmax(v, 0), 1) * top[k] + 0.5) << 11 * k;
    }
    return code;
}
