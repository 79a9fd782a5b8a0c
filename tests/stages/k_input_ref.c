/* Preset K: sizes, numbers and the input stage. */
#include <math.h>
#include <string.h>
#include "tests/stages/k_ref.h"

void k_ref_sizes(ref_frame *f, d4r_size render, d4r_size output)
{
    d4r_sizes *s = &f->sizes;
    s->render = render;
    s->output = s->reconstruction = output;
    s->half = (d4r_size){(uint32_t)ceil(output.width / 2.0), (uint32_t)ceil(output.height / 2.0)};
    s->token_grid.width = (uint32_t)fmax(256, 32 * ceil(ceil(output.width / 4.0) / 32));
    s->token_grid.height = (uint32_t)fmax(256, 32 * ceil(ceil(output.height / 4.0) / 32));
    s->token_bytes = 64ull * s->token_grid.width * s->token_grid.height;
    f->settings.render = render;
}

double k_ref_head_value(uint16_t bits)
{
    const double v = ref_half_value(bits);
    return isfinite(v) ? v : 0;
}

double k_ref_expand(double compressed)
{
    return (pow(10, fmin(fmax(compressed, 0), 3) / 0.36) - 1) / 100;
}

int k_ref_table(const ref_frame *f)
{
    const d4r_size r = f->sizes.render, o = f->sizes.output;
    const double ratio = sqrt((double)o.width / r.width * o.height / r.height);
    int best = 0;
    for (int i = 0; i <= 14; i += 2)
        if (fabs(0.5 + i * 3.0 / 28 - ratio) < fabs(0.5 + best * 3.0 / 28 - ratio) - 1e-12) best = i;
    return best;
}

/* volatile: each operation is rounded to f32. */
float k_ref_render_position(float p, uint32_t render, uint32_t output, float jitter)
{
    const float scale = (float)((double)render / output);
    volatile float product = p * scale;
    return product - jitter;
}

void k_ref_exposed(const double read[4], double ratio, double out[4])
{
    for (int k = 0; k < 3; k++) out[k] = ref_compress(fmin(k_ref_expand(read[k]) * ratio, 32752));
    out[3] = fmin(fmax(read[3], 0), 64);
}

/* ---- a sub-block's surface */

static double nearness(const ref_frame *f, int x, int y)
{
    const float d = f->depth[(size_t)y * f->sizes.render.width + x];
    if (!isfinite(d)) return 0;
    const float turned = f->conventions.depth_regular ? 1 - d : d;
    return fmin(fmax(turned, 0), 1);
}

typedef struct surface {
    double motion[2], own[2];
    double low, high;
} surface;

static surface surface_at(const ref_frame *f, int x, int y)
{
    const int w = (int)f->sizes.render.width, h = (int)f->sizes.render.height;
    surface s;
    int nx = x, ny = y;
    s.low = s.high = nearness(f, x, y);
    for (int j = y - 1; j <= y + 1; j++) {
        for (int i = x - 1; i <= x + 1; i++) {
            if (i < 0 || j < 0 || i >= w || j >= h) continue; /* a clamped one is in the list anyway */
            const double d = nearness(f, i, j);
            if (d > s.high) s.high = d, nx = i, ny = j;
            s.low = fmin(s.low, d);
        }
    }
    ref_motion_at(f, 1, nx, ny, s.motion);
    ref_motion_at(f, 1, x, y, s.own);
    return s;
}

/* ---- features */

static double luma(const double *c)
{
    return 0.25 * c[0] + 0.5 * c[1] + 0.25 * c[2];
}

static double orange(const double *c)
{
    return (c[0] - c[2]) / 2;
}

static double green(const double *c)
{
    return c[1] / 2 - (c[0] + c[2]) / 4;
}

/* At q in output pixels, with the slack of every channel. */
static void history_at(const ref_frame *f, const k_ref_before *b, float qx, float qy, const double *own,
                       double out[4], double slack[4])
{
    double read[4], moved[4], spread[4], at[4];
    bool finite = true;
    memcpy(out, own, 3 * sizeof *out);
    out[3] = 0;
    memset(slack, 0, 4 * sizeof *slack);
    if (f->reset || !ref_on_screen(f, qx, qy)) return;
    for (int k = 0; k < 4; k++) {
        read[k] = ref_linear(&b->history, qx, qy, k, f->filter_step, &spread[k]);
        finite = finite && isfinite(read[k]);
    }
    if (!finite) return;
    const double ratio = b->exposure / b->previous_exposure;
    k_ref_exposed(read, ratio, out);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int k = 0; k < 4; k++) at[k] = read[k] + sign * spread[k];
        k_ref_exposed(at, ratio, moved);
        for (int k = 0; k < 4; k++) slack[k] = fmax(slack[k], fabs(moved[k] - out[k]));
    }
}

typedef struct token {
    double color[3], history[3], history_slack[3]; /* sums of four */
    double confidence, confidence_slack, change, low, high;
    double motion[2];
} token;

static void visit(const ref_frame *f, const ref_image *color, const k_ref_before *b, int column, int row,
                  int s, token *t, double *v, double *slack, ref_image *motion)
{
    const d4r_size r = f->sizes.render, o = f->sizes.output;
    const float jx = f->settings.jitter.x, jy = f->settings.jitter.y;
    const float px = fminf((float)(4 * column + 2 * (s & 1) + 1), (float)o.width);
    const float py = fminf((float)(4 * row + 2 * (s >> 1) + 1), (float)o.height);
    const int x = (int)fmin(fmax(floorf(k_ref_render_position(px, r.width, o.width, jx)), 0), r.width - 1);
    const int y = (int)fmin(fmax(floorf(k_ref_render_position(py, r.height, o.height, jy)), 0), r.height - 1);
    volatile float lx = ((float)x + 0.5f) + jx, ly = ((float)y + 0.5f) + jy;
    lx *= (float)((double)o.width / r.width);
    ly *= (float)((double)o.height / r.height);
    const surface m = surface_at(f, x, y);
    const int mx = 2 * column + (s & 1), my = 2 * row + (s >> 1);
    if (mx < motion->width && my < motion->height) memcpy(ref_at(motion, mx, my), m.motion, sizeof m.motion);
    double c[3], h[4], there[4], hs[4], ts[4];
    for (int k = 0; k < 3; k++) c[k] = ref_compress(fmin(ref_at(color, x, y)[k] * b->exposure, 32752));
    const float ax = (float)m.motion[0], ay = (float)m.motion[1];
    history_at(f, b, px + ax, py + ay, c, h, hs);
    history_at(f, b, lx + ax, ly + ay, c, there, ts);
    v[s] = luma(c);
    v[6 + s] = luma(h);
    slack[6 + s] = luma(hs);
    v[12 + s] = luma(c) - luma(there);
    slack[12 + s] = luma(ts);
    v[16 + (s & 1)] = fmin(fmax(((double)lx - px) / 2, -2), 2);
    v[18 + (s >> 1)] = fmin(fmax(((double)ly - py) / 2, -2), 2);
    for (int k = 0; k < 3; k++) {
        t->color[k] += c[k];
        t->history[k] += h[k];
        t->history_slack[k] += hs[k];
    }
    t->confidence += h[3] / (h[3] + 4);
    t->confidence_slack += hs[3] / 4;
    t->change = fmax(t->change, hypot(m.motion[0] - m.own[0], m.motion[1] - m.own[1]));
    if (m.high > t->high) t->high = m.high, memcpy(t->motion, m.motion, sizeof m.motion);
    t->low = fmin(t->low, m.low);
}

static void recurrent(const ref_frame *f, const k_ref_before *b, int column, int row, const double *motion,
                      double *v, double *slack)
{
    const float qx = (float)(4 * column + 2) + (float)motion[0];
    const float qy = (float)(4 * row + 2) + (float)motion[1];
    if (f->reset || !ref_on_screen(f, qx, qy)) return;
    for (int i = 0; i < 8; i++)
        v[i] = ref_linear(&b->recurrent[i / 4], qx / 4.0, qy / 4.0, i % 4, f->filter_step, &slack[i]);
}

static void features(const ref_frame *f, const ref_image *color, const k_ref_before *b, int column, int row,
                     double *v, double *slack, ref_image *motion)
{
    token t = {.high = -1, .low = 1};
    for (int s = 0; s < 4; s++) visit(f, color, b, column, row, s, &t, v, slack, motion);
    v[4] = orange(t.color) / 4;
    v[5] = green(t.color) / 4;
    v[10] = orange(t.history) / 4;
    v[11] = green(t.history) / 4;
    slack[10] = slack[11] = (t.history_slack[0] + t.history_slack[1] + t.history_slack[2]) / 8;
    recurrent(f, b, column, row, t.motion, v + 20, slack + 20);
    v[28] = 0.25 * log(1 + hypot(t.motion[0], t.motion[1]));
    v[29] = 0.25 * log(1 + t.change);
    v[30] = 1 - (t.low + 1e-6) / (t.high + 1e-6);
    v[31] = t.confidence / 4;
    slack[31] = t.confidence_slack / 4;
    for (int i = 0; i < K_REF_FEATURES; i++) {
        v[i] = isfinite(v[i]) ? fmin(fmax(v[i], -64), 64) : 0;
        if (!isfinite(slack[i])) slack[i] = 0;
    }
}

void k_ref_input(const ref_frame *f, const ref_image *color, const k_ref_before *before, ref_image *motion,
                 ref_image *tokens, ref_image *slack)
{
    const d4r_size o = f->sizes.output;
    for (int row = 0; row < tokens->height && 4 * row < (int)o.height; row++)
        for (int column = 0; column < tokens->width && 4 * column < (int)o.width; column++)
            features(f, color, before, column, row, ref_at(tokens, column, row), ref_at(slack, column, row),
                     motion);
}
