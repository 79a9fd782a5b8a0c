/* Preset K: the reconstruction. */
#include <math.h>
#include <string.h>
#include "tests/stages/k_ref.h"

/* ---- the head */

typedef struct gates {
    double column, row, gain, keep, show, own, clip, box;
} gates;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const uint16_t *token_of(const ref_frame *f, const uint16_t *head, int column, int row)
{
    return head + ((size_t)row * f->sizes.token_grid.width + column) * K_REF_HEAD;
}

/* Of the sub-block that holds an output pixel. */
static gates gates_of(const ref_frame *f, const uint16_t *head, int x, int y)
{
    const uint16_t *v = token_of(f, head, x / 4, y / 4) + 8 * (2 * (y / 2 % 2) + x / 2 % 2);
    double g[8];
    for (int i = 0; i < 8; i++) g[i] = sigmoid(k_ref_head_value(v[i]));
    return (gates){3 * g[0], 3 * g[1], 4 * g[2], g[3], g[4], g[5], g[6], 4 * g[7]};
}

static void fill_recurrent(const ref_frame *f, const uint16_t *head, k_ref_result *out)
{
    for (int row = 0; row < out->recurrent[0].height; row++)
        for (int column = 0; column < out->recurrent[0].width; column++)
            for (int i = 0; i < 8; i++)
                ref_at(&out->recurrent[i / 4], column, row)[i % 4] =
                    tanh(k_ref_head_value(token_of(f, head, column, row)[32 + i]));
}

/* ---- the current frame */

typedef struct axis {
    int base;
    float phi;
} axis;

static axis axis_of(int x, uint32_t render, uint32_t output, float jitter)
{
    const float f = k_ref_render_position((float)x + 0.5f, render, output, jitter);
    volatile float g = f - 0.5f;
    const float base = floorf(g);
    return (axis){(int)base, g - base};
}

typedef struct resampled {
    double color[3], mean[3], deviation[3], weight, alpha;
} resampled;

/* f16 weights of the taps of the kernel at (column, row). */
static void kernel(const uint16_t *table, const gates *g, axis ax, axis ay, double w[4][4])
{
    const int px = (int)fmin(floor(8 * (double)ax.phi), 7), py = (int)fmin(floor(8 * (double)ay.phi), 7);
    const int column = (int)fmin(floor(g->column), 2), row = (int)fmin(floor(g->row), 2);
    const uint16_t *phase = table + (8 * py + px) * 256;
    memset(w, 0, 16 * sizeof(double));
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 2; i++) {
            const double share =
                (i ? g->column - column : 1 - (g->column - column)) * (j ? g->row - row : 1 - (g->row - row));
            const uint16_t *taps = phase + (4 * (row + j) + column + i) * 16;
            for (int k = 0; k < 16; k++) w[k / 4][k % 4] += share * ref_half_value(taps[k]);
        }
    }
}

static void moments(const ref_image *c, axis ax, axis ay, double mean[3], double deviation[3])
{
    double total = 0, first[3] = {0}, second[3] = {0};
    for (int pass = 0; pass < 2; pass++) { /* the deviation in a pass of its own: about the mean */
        for (int j = -1; j <= 2; j++) {
            for (int i = -1; i <= 2; i++) {
                const double dx = i - (double)ax.phi, dy = j - (double)ay.phi;
                const double g = exp(-(dx * dx + dy * dy) / (2 * 0.75 * 0.75));
                const double *v = ref_at(c, ax.base + i, ay.base + j);
                if (pass == 0) total += g;
                for (int k = 0; k < 3; k++) {
                    if (pass == 0) first[k] += g * v[k];
                    if (pass == 1) second[k] += g * (v[k] - mean[k]) * (v[k] - mean[k]);
                }
            }
        }
        for (int k = 0; k < 3; k++) {
            mean[k] = first[k] / total;
            deviation[k] = sqrt(second[k] / total);
        }
    }
}

static double alpha_at(const ref_frame *f, axis ax, axis ay)
{
    const int w = (int)f->sizes.render.width, h = (int)f->sizes.render.height;
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const int x = (int)fmin(fmax(ax.base + (k & 1), 0), w - 1);
        const int y = (int)fmin(fmax(ay.base + (k >> 1), 0), h - 1);
        const float a = f->color[4 * ((size_t)y * w + x) + 3];
        sum += (k & 1 ? ax.phi : 1 - (double)ax.phi) * (k >> 1 ? ay.phi : 1 - (double)ay.phi) *
               (isfinite(a) ? fmin(fmax(a, 0), 65504) : 1);
    }
    return sum;
}

/* c: exposed colour. */
static resampled resample(const ref_frame *f, const ref_image *c, const uint16_t *table, const gates *g,
                          axis ax, axis ay)
{
    resampled r;
    double w[4][4];
    memset(&r, 0, sizeof r);
    kernel(table, g, ax, ay, w);
    for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 4; i++) {
            r.weight += w[j][i];
            for (int k = 0; k < 3; k++)
                r.color[k] += w[j][i] * ref_at(c, ax.base + i - 1, ay.base + j - 1)[k];
        }
    }
    for (int k = 0; k < 3; k++) r.color[k] /= r.weight;
    moments(c, ax, ay, r.mean, r.deviation);
    r.alpha = alpha_at(f, ax, ay);
    return r;
}

/* ---- history */

static void history_along(const ref_frame *f, const k_ref_before *b, int x, int y, const double *motion,
                          const double *current, double out[4], double slack[4])
{
    double read[4], moved[4], spread[4];
    memcpy(out, current, 3 * sizeof *out);
    out[3] = 0;
    memset(slack, 0, 4 * sizeof *slack);
    if (!ref_catmull_rom(f, &b->history, x + 0.5f + (float)motion[0], y + 0.5f + (float)motion[1], 4, read,
                         spread))
        return;
    const double ratio = b->exposure / b->previous_exposure;
    k_ref_exposed(read, ratio, out);
    for (int sign = -1; sign <= 1; sign += 2) {
        double at[4];
        for (int k = 0; k < 4; k++) at[k] = read[k] + sign * spread[k];
        k_ref_exposed(at, ratio, moved);
        for (int k = 0; k < 4; k++) slack[k] = fmax(slack[k], fabs(moved[k] - out[k]));
    }
}

static void history_of(const ref_frame *f, const k_ref_before *b, int x, int y, const double *nearest,
                       const double *own, double share, const double *current, double out[4], double slack[4])
{
    double h[2][4], s[2][4];
    history_along(f, b, x, y, nearest, current, h[0], s[0]);
    history_along(f, b, x, y, own, current, h[1], s[1]);
    if (share < 1.0 / 255 || (nearest[0] == own[0] && nearest[1] == own[1])) share = 0;
    if (share > 254.0 / 255) share = 1;
    for (int k = 0; k < 4; k++) {
        out[k] = (1 - share) * h[0][k] + share * h[1][k];
        slack[k] = (1 - share) * s[0][k] + share * s[1][k];
    }
}

/* ---- the average */

typedef struct blended {
    double history[4], output[3];
} blended;

static blended blend(const ref_frame *f, const resampled *r, const gates *g, const double h[4],
                     double exposure)
{
    const double now = r->weight * g->gain, before = h[3] * g->keep;
    const double a = now / fmax(before + now, 1e-6), shown = a + (1 - a) * g->show;
    blended out;
    out.history[3] = fmin(before + now, 64);
    for (int k = 0; k < 3; k++) {
        const double box = g->box * r->deviation[k];
        const double inside = fmin(fmax(h[k], r->mean[k] - box), r->mean[k] + box);
        const double past = k_ref_expand(h[k] + g->clip * (inside - h[k])),
                     current = k_ref_expand(r->color[k]);
        out.history[k] = ref_compress(past + (current - past) * a);
        const double v = past + (current - past) * shown;
        out.output[k] = f->conventions.ldr ? pow(fmin(fmax(v, 0), 1), 1 / 2.2)
                                           : fmin(fmax(v * f->settings.pre_exposure / exposure, 0), 65504);
    }
    return out;
}

/* How far the result moves when colour or confidence of the history move by their slack. */
static void blend_slack(const ref_frame *f, const resampled *r, const gates *g, const double h[4],
                        const double slack[4], double exposure, double *history_slack, double *output_slack)
{
    memset(history_slack, 0, 4 * sizeof *history_slack);
    memset(output_slack, 0, 4 * sizeof *output_slack);
    if (slack[0] + slack[1] + slack[2] + slack[3] == 0) return;
    const blended plain = blend(f, r, g, h, exposure);
    for (int i = 0; i < 4; i++) {
        double at[4];
        for (int k = 0; k < 3; k++) at[k] = h[k] + (i & 1 ? slack[k] : -slack[k]);
        at[3] = fmax(h[3] + (i & 2 ? slack[3] : -slack[3]), 0);
        const blended moved = blend(f, r, g, at, exposure);
        for (int k = 0; k < 4; k++)
            history_slack[k] = fmax(history_slack[k], fabs(moved.history[k] - plain.history[k]));
        for (int k = 0; k < 3; k++)
            output_slack[k] = fmax(output_slack[k], fabs(moved.output[k] - plain.output[k]));
    }
}

/* exp2(x) - 1 in f32 is off by 6e-8 near 0, 6e-10 in linear light and a few times that after the blend, which the inverse
 * gamma of LDR makes large in the dark. */
static double dark_slack(const ref_frame *f, double output)
{
    if (!f->conventions.ldr) return 0;
    const double linear = pow(output, 2.2);
    return pow(linear + 3e-9, 1 / 2.2) - output;
}

static void pixel(const ref_frame *f, const ref_image *c, const k_ref_before *b, const ref_image *motion,
                  const uint16_t *head, const uint16_t *table, bool unorm, int x, int y, k_ref_result *out)
{
    const d4r_size r = f->sizes.render, o = f->sizes.output;
    const axis ax = axis_of(x, r.width, o.width, f->settings.jitter.x);
    const axis ay = axis_of(y, r.height, o.height, f->settings.jitter.y);
    const int tx = ax.base + (ax.phi >= 0.5f), ty = ay.base + (ay.phi >= 0.5f);
    const gates g = gates_of(f, head, x, y);
    const resampled now = resample(f, c, table, &g, ax, ay);
    double own[2], h[4], slack[4];
    ref_motion_at(f, 1, (int)fmin(fmax(tx, 0), r.width - 1), (int)fmin(fmax(ty, 0), r.height - 1), own);
    history_of(f, b, x, y, ref_at(motion, x / 2, y / 2), own, g.own, now.color, h, slack);
    const blended result = blend(f, &now, &g, h, b->exposure);
    double *v = ref_at(&out->output, x, y), *s = ref_at(&out->output_slack, x, y);
    blend_slack(f, &now, &g, h, slack, b->exposure, ref_at(&out->history_slack, x, y), s);
    memcpy(ref_at(&out->history, x, y), result.history, sizeof result.history);
    for (int k = 0; k < 3; k++) {
        v[k] = result.output[k];
        s[k] += dark_slack(f, v[k]);
    }
    v[3] = now.alpha;
    for (int k = 0; k < 4 && unorm; k++) v[k] = fmin(fmax(v[k], 0), 1);
}

void k_ref_reconstruction(const ref_frame *f, const ref_image *color, const k_ref_before *before,
                          const ref_image *motion, const uint16_t *head, const uint16_t *tables, bool unorm,
                          k_ref_result *out)
{
    ref_image exposed = ref_image_new(color->width, color->height, 3);
    for (size_t i = 0; i < (size_t)color->width * color->height * 3; i++)
        exposed.v[i] = ref_compress(fmin(color->v[i] * before->exposure, 32752));
    const uint16_t *table = tables + (size_t)k_ref_table(f) * K_REF_TABLE_VALUES;
    for (int y = 0; y < out->output.height; y++)
        for (int x = 0; x < out->output.width; x++)
            pixel(f, &exposed, before, motion, head, table, unorm, x, y, out);
    fill_recurrent(f, head, out);
    ref_image_free(&exposed);
}
