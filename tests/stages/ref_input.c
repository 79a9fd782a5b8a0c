/* Exposure and input stage. */
#include "tests/stages/ref.h"
#include <float.h>
#include <math.h>
#include <string.h>

static bool finite3(const float *v)
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

ref_exposure_result ref_exposure(const ref_frame *f)
{
    ref_exposure_result r = {1, 0, 0};
    const d4r_size size = f->sizes.render;
    const float inverse = (float)(1.0 / f->settings.pre_exposure);
    double e = f->settings.exposure, sum = 0;
    if (f->conventions.ldr) return r;
    if (f->conventions.exposure_mode == D4R_EXPOSURE_TEXTURE) e = f->exposure_texel;
    if (f->conventions.exposure_mode == D4R_EXPOSURE_AUTO) {
        for (size_t i = 0; i < (size_t)size.width * size.height; i++) {
            const float *v = f->color + 4 * i;
            const float scaled[3] = {v[0] * inverse, v[1] * inverse, v[2] * inverse};
            const double luma = 0.25 * scaled[0] + 0.5 * scaled[1] + 0.25 * scaled[2];
            if (!finite3(scaled) || !(fabs(luma) <= FLT_MAX)) continue;
            sum += fmin(fmax(luma, 0), 10000);
            r.count++;
        }
        r.mean = r.count ? sum / r.count : 0;
        e = 0.23547077 / fmax(r.mean, 0.005);
    }
    r.exposure = e >= 1e-18 && e <= 1e18 ? e : 1;
    return r;
}

static double loaded(const ref_frame *f, float stored)
{
    if (f->conventions.ldr) return pow(fmin(fmax(stored, 0), 1), 2.2);
    const float inverse = (float)(1.0 / f->settings.pre_exposure);
    return fmin(fmax((double)stored * inverse, 0), 65504);
}

void ref_color(const ref_frame *f, ref_image *color)
{
    const int w = (int)f->sizes.render.width, h = (int)f->sizes.render.height;
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            double sum[3] = {0, 0, 0};
            int count = 0;
            const bool fine = finite3(f->color + 4 * ((size_t)y * w + x));
            const int reach = fine ? 0 : 1;
            for (int j = y - reach; j <= y + reach; j++) {
                for (int i = x - reach; i <= x + reach; i++) {
                    if (i < 0 || j < 0 || i >= w || j >= h) continue;
                    const float *v = f->color + 4 * ((size_t)j * w + i);
                    if (!finite3(v)) continue;
                    for (int k = 0; k < 3; k++) sum[k] += loaded(f, v[k]);
                    count++;
                }
            }
            for (int k = 0; k < 3; k++) ref_at(color, x, y)[k] = count ? sum[k] / count : 0;
        }
    }
}

/* ---- motion */

static float motion_axis(const ref_frame *f, double scale, float stored, bool vertical)
{
    const d4r_conventions *c = &f->conventions;
    const double r = vertical ? f->sizes.render.height : f->sizes.render.width;
    const double o = vertical ? f->sizes.output.height : f->sizes.output.width;
    double k = vertical ? f->settings.motion_scale.y : f->settings.motion_scale.x;
    if (c->motion_reversed) k = -k;
    if (vertical && c->motion_flip_y) k = -k;
    const double units[] = {[D4R_MOTION_RENDER_PIXELS] = scale * o / r,
                            [D4R_MOTION_OUTPUT_PIXELS] = scale,
                            [D4R_MOTION_UV] = scale * o,
                            [D4R_MOTION_NDC] = scale / 2 * o};
    const double before = vertical ? f->previous_jitter.y : f->previous_jitter.x;
    const double now = vertical ? f->settings.jitter.y : f->settings.jitter.x;
    const double was = vertical ? f->previous_render.height : f->previous_render.width;
    const float offset = c->motion_jittered ? (float)((before * r / was - now) * scale * o / r) : 0;
    volatile float product = stored * (float)(k * units[c->motion_unit]);
    return product + offset;
}

void ref_motion_at(const ref_frame *f, double scale, int x, int y, double out[2])
{
    const uint32_t w = f->sizes.render.width, h = f->sizes.render.height;
    const uint32_t ow = f->sizes.output.width, oh = f->sizes.output.height;
    size_t at = (size_t)y * w + x;
    if (f->conventions.motion_at_output) {
        const double tx = floor((x + 0.5) * ow / w + 1e-9), ty = floor((y + 0.5) * oh / h + 1e-9);
        at = (size_t)fmin(ty, oh - 1) * ow + (size_t)fmin(tx, ow - 1);
    }
    const float mx = motion_axis(f, scale, f->motion[2 * at], false),
                my = motion_axis(f, scale, f->motion[2 * at + 1], true);
    const bool fine = isfinite(mx) && isfinite(my);
    out[0] = fine ? ref_half_value(ref_half_bits(fminf(fmaxf(mx, -65504), 65504))) : 0;
    out[1] = fine ? ref_half_value(ref_half_bits(fminf(fmaxf(my, -65504), 65504))) : 0;
}

static double nearness(const ref_frame *f, int x, int y)
{
    const float d = f->depth[(size_t)y * f->sizes.render.width + x];
    if (f->conventions.depth_regular) return isfinite(d) ? -d : -FLT_MAX;
    return isfinite(d) ? d : 0;
}

void ref_motion(const ref_frame *f, ref_image *a, ref_image *b, ref_image *c)
{
    static const int order[9][2] = {{0, 0}, {-1, -1}, {0, -1}, {1, -1}, {-1, 0},
                                    {1, 0}, {-1, 1},  {0, 1},  {1, 1}};
    const int w = (int)f->sizes.render.width, h = (int)f->sizes.render.height;
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            int near[2] = {x, y}, far[2] = {x, y};
            for (int k = 1; k < 9; k++) {
                const int i = x + order[k][0], j = y + order[k][1];
                if (i < 0 || j < 0 || i >= w || j >= h) continue; /* a clamped one is in the list anyway */
                const double d = nearness(f, i, j);
                if (d > nearness(f, near[0], near[1])) near[0] = i, near[1] = j;
                if (d < nearness(f, far[0], far[1])) far[0] = i, far[1] = j;
            }
            ref_motion_at(f, 1.5, near[0], near[1], ref_at(a, x, y));
            ref_motion_at(f, 1.5, far[0], far[1], ref_at(b, x, y));
            ref_motion_at(f, 1.5, x, y, ref_at(c, x, y));
        }
    }
}

/* ---- features */

typedef struct position {
    float x, y;
} position;

static position previous(const ref_frame *f, float x, float y, const double *mv)
{
    const d4r_size r = f->sizes.render, o = f->sizes.output;
    return (position){ref_previous_position(x, r.width, o.width, (float)mv[0]),
                      ref_previous_position(y, r.height, o.height, (float)mv[1])};
}

static void history_feature(const ref_frame *f, const ref_input *in, position q, const double *own,
                            double *out, double *slack)
{
    double h[3], moved[3];
    memcpy(out, own, 3 * sizeof *out);
    slack[0] = slack[1] = slack[2] = 0;
    if (f->reset || !ref_on_screen(f, q.x, q.y)) return;
    for (int k = 0; k < 3; k++)
        h[k] = ref_linear(&in->half_previous, q.x / 2.0, q.y / 2.0, k, f->filter_step, &moved[k]);
    if (!isfinite(h[0]) || !isfinite(h[1]) || !isfinite(h[2])) return;
    const double ratio = in->exposure / in->previous_exposure;
    for (int k = 0; k < 3; k++) {
        out[k] = ref_compress(fmin(ref_expand(h[k]) * ratio, 32752));
        for (int sign = -1; sign <= 1; sign += 2)
            slack[k] =
                fmax(slack[k],
                     fabs(ref_compress(fmin(ref_expand(h[k] + sign * moved[k]) * ratio, 32752)) - out[k]));
    }
}

static void recurrent_feature(const ref_frame *f, const ref_image *recurrent, position q, double out[4],
                              double slack[4])
{
    memset(out, 0, 4 * sizeof *out);
    memset(slack, 0, 4 * sizeof *slack);
    if (f->reset || !ref_on_screen(f, q.x, q.y)) return;
    const d4r_size r = f->previous_render, o = f->sizes.output;
    const float x = ref_previous_render_position(q.x, r.width, o.width, f->previous_jitter.x);
    const float y = ref_previous_render_position(q.y, r.height, o.height, f->previous_jitter.y);
    for (int k = 0; k < 4; k++) out[k] = ref_linear(recurrent, x, y, k, f->filter_step, &slack[k]);
}

static double motion_change(const ref_frame *f, const ref_input *in, float x, float y, const double *mv,
                            double *slack)
{
    *slack = 0;
    if (f->reset) return 0;
    const float sx = f->sizes.render_scale_x, sy = f->sizes.render_scale_y;
    const d4r_size r = f->sizes.render, was = f->previous_render, o = f->sizes.output;
    const float jx = (float)((double)f->settings.jitter.x * was.width / r.width - f->previous_jitter.x);
    const float jy = (float)((double)f->settings.jitter.y * was.height / r.height - f->previous_jitter.y);
    volatile float mx = (float)mv[0] * (float)(was.width / (1.5 * o.width));
    volatile float my = (float)mv[1] * (float)(was.height / (1.5 * o.height));
    volatile float px = x * (float)((double)was.width / r.width);
    volatile float py = y * (float)((double)was.height / r.height);
    px += jx;
    py += jy;
    px += mx;
    py += my;
    double moved[2];
    const double bx = ref_linear(&in->mv_a_previous, px, py, 0, f->filter_step, &moved[0]);
    const double by = ref_linear(&in->mv_a_previous, px, py, 1, f->filter_step, &moved[1]);
    /* Large vectors that are nearly equal: the difference has the error of f32 lerps of their size. */
    moved[0] += (fabs(mv[0]) + fabs(bx)) * ldexp(1, -22);
    moved[1] += (fabs(mv[1]) + fabs(by)) * ldexp(1, -22);
    const double scale = 9.045 * 540.0 / f->sizes.render.height;
    const double d = hypot((mv[0] - bx) * sx, (mv[1] - by) * sy);
    const double wide = hypot(moved[0] * sx, moved[1] * sy);
    const double value = 0.22357 * log(1 + scale * d);
    *slack = fmax(value - 0.22357 * log(1 + scale * fmax(d - wide, 0)),
                  0.22357 * log(1 + scale * (d + wide)) - value);
    return value;
}

static void pixel_features(const ref_frame *f, const ref_input *in, int x, int y, double *out, double *slack)
{
    const float cx = (float)x + 0.5f, cy = (float)y + 0.5f;
    const float sx = cx + f->settings.jitter.x, sy = cy + f->settings.jitter.y;
    const double *a = ref_at(&in->mv_a, x, y), *b = ref_at(&in->mv_b, x, y), *c = ref_at(&in->mv_c, x, y);
    for (int k = 0; k < 3; k++)
        out[k] = ref_compress(fmin(ref_at(&in->color, x, y)[k] * in->exposure, 32752));
    const position qa = previous(f, sx, sy, a);
    history_feature(f, in, qa, out, out + 3, slack + 3);
    history_feature(f, in, previous(f, sx, sy, c), out, out + 6, slack + 6);
    history_feature(f, in, previous(f, sx, sy, b), out, out + 9, slack + 9);
    history_feature(f, in, previous(f, cx, cy, c), out, out + 12, slack + 12);
    recurrent_feature(f, &in->recurrent_previous, qa, out + 15, slack + 15);
    out[19] = motion_change(f, in, cx, cy, a, slack + 19);
}

void ref_features(const ref_frame *f, const ref_input *in, ref_image *features, ref_image *slack)
{
    for (int y = 0; y < features->height; y++)
        for (int x = 0; x < features->width; x++)
            pixel_features(f, in, x, y, ref_at(features, x, y), ref_at(slack, x, y));
}

/* ---- tokens */

static int mirrored(int i, int n)
{
    return i < n ? i : 2 * n - 2 - i;
}

typedef struct embedding {
    double weight[64][4][20];
    float bias[64];
} embedding;

/* What a token is made of: four pixels' features as FP8 values, and the range that each may have. */
typedef struct token_input {
    double value[80], low[80], high[80];
} token_input;

static void add_pixel(const ref_frame *f, const ref_image *features, const ref_image *slack, int x, int y,
                      int q, token_input *in)
{
    const unsigned n = ref_dither_bits((unsigned)x, (unsigned)y, f->index);
    for (int s = 0; s < 20; s++) {
        const double v = ref_at(features, x, y)[s];
        const double moved =
            (slack ? ref_at(slack, x, y)[s] : 0) + 2e-6 * (1 + fabs(v)); /* log2 and exp2 in f32 */
        in->value[20 * q + s] = ref_fp8_value(ref_fp8_dithered(v, n));
        in->low[20 * q + s] = ref_fp8_value(ref_fp8_dithered(v - moved, n));
        in->high[20 * q + s] = ref_fp8_value(ref_fp8_dithered(v + moved, n));
    }
}

static uint8_t token_code(double sum)
{
    const double bound = 6.28318530717958647692;
    return ref_fp8_nearest(fmin(fmax(sum, -bound), bound));
}

static void codes_of(const token_input *in, const embedding *m, int channel, uint8_t codes[3])
{
    double sum = m->bias[channel], least = sum, most = sum, size = fabs(sum);
    const double *w = m->weight[channel][0];
    for (int i = 0; i < 80; i++) {
        sum += w[i] * in->value[i];
        least += fmin(w[i] * in->low[i], w[i] * in->high[i]);
        most += fmax(w[i] * in->low[i], w[i] * in->high[i]);
        size += fabs(w[i]) * fmax(fabs(in->low[i]), fabs(in->high[i]));
    }
    const double rounding = 81 * ldexp(size, -24); /* f32, in any order */
    codes[0] = token_code(sum);
    codes[1] = token_code(least - rounding);
    codes[2] = token_code(most + rounding);
}

void ref_tokens(const ref_frame *f, const ref_image *features, const ref_image *slack, const uint8_t *weights,
                uint8_t *codes, uint8_t *low, uint8_t *high)
{
    const int gw = (int)f->sizes.token_grid.width, gh = (int)f->sizes.token_grid.height;
    static embedding m;
    for (int c = 0; c < 64; c++)
        for (int q = 0; q < 4; q++)
            for (int s = 0; s < 20; s++) m.weight[c][q][s] = ref_fp8_value(weights[c * 128 + q * 32 + s]);
    memcpy(m.bias, weights + 64 * 128 + 68 * 64, sizeof m.bias);
    for (int row = 0; row < gh; row++) {
        for (int column = 0; column < gw; column++) {
            token_input in;
            for (int q = 0; q < 4; q++)
                add_pixel(f, features, slack, mirrored(2 * column + q % 2, features->width),
                          mirrored(2 * row + q / 2, features->height), q, &in);
            for (int c = 0; c < 64; c++) {
                const size_t at = ((size_t)row * gw + column) * 64 + (size_t)c;
                uint8_t three[3];
                codes_of(&in, &m, c, three);
                codes[at] = three[0];
                if (low) low[at] = three[1];
                if (high) high[at] = three[2];
            }
        }
    }
}
