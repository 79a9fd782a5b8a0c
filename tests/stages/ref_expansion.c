#include "tests/stages/ref.h"
#include <math.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void recurrent_of(const ref_frame *f, const double *v, int x, int y, const double *mv,
                         const ref_image *previous, double *out, double *slack)
{
    const d4r_size r = f->sizes.render, o = f->sizes.output;
    const float sx = (float)x + 0.5f + f->settings.jitter.x, sy = (float)y + 0.5f + f->settings.jitter.y;
    const float qx = ref_previous_position(sx, r.width, o.width, (float)mv[0]);
    const float qy = ref_previous_position(sy, r.height, o.height, (float)mv[1]);
    const bool seen = !f->reset && ref_on_screen(f, qx, qy);
    const d4r_size was = f->previous_render;
    const float px = ref_previous_render_position(qx, was.width, o.width, f->previous_jitter.x);
    const float py = ref_previous_render_position(qy, was.height, o.height, f->previous_jitter.y);
    for (int i = 0; i < 4; i++) {
        double moved = 0;
        const double before = seen ? ref_linear(previous, px, py, i, f->filter_step, &moved) : 0;
        const double g = sigmoid(v[6 + i]);
        out[i] = (1 - g) * before + g * tanh(v[2 + i]);
        slack[i] = (1 - g) * moved;
    }
}

typedef struct matrix {
    double weight[68][64];
    float bias[68];
} matrix;

static void values_of_pixel(const uint8_t *head, const matrix *m, int q, double v[17])
{
    double x[64];
    for (int k = 0; k < 64; k++) x[k] = ref_fp8_value(head[k]);
    for (int j = 0; j < 17; j++) {
        double sum = m->bias[17 * q + j];
        for (int k = 0; k < 64; k++) sum += m->weight[17 * q + j][k] * x[k];
        v[j] = ref_fp8_value(ref_fp8_nearest(sum));
    }
}

static void surfaces_of_pixel(const double v[17], double *gates, double *mix, double *covariance)
{
    gates[0] = sigmoid(v[0]);
    gates[1] = sigmoid(v[1]);
    gates[2] = sigmoid(v[10]);
    const double top = fmax(v[11], fmax(v[12], v[13]));
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += mix[i] = exp(v[11 + i] - top);
    for (int i = 0; i < 3; i++) mix[i] /= sum;
    const double a = 8 * sigmoid(fmin(fmax(v[14], -20), 20)), b = 8 * sigmoid(fmin(fmax(v[15], -20), 20));
    covariance[0] = a * a;
    covariance[1] = b * b;
    covariance[2] = a * b * tanh(0.07863 * v[16]);
}

void ref_expansion(const ref_frame *f, const uint8_t *head, const uint8_t *weights, const ref_image *mv_a,
                   const ref_image *recurrent_previous, ref_expanded *out)
{
    static matrix m;
    for (int i = 0; i < 68 * 64; i++) m.weight[i / 64][i % 64] = ref_fp8_value(weights[64 * 128 + i]);
    memcpy(m.bias, weights + 64 * 128 + 68 * 64 + 64 * 4, sizeof m.bias);
    for (int y = 0; y < (int)f->sizes.render.height; y++) {
        for (int x = 0; x < (int)f->sizes.render.width; x++) {
            const size_t token = (size_t)(y / 2) * f->sizes.token_grid.width + x / 2;
            double v[17];
            values_of_pixel(head + token * 64, &m, y % 2 * 2 + x % 2, v);
            recurrent_of(f, v, x, y, ref_at(mv_a, x, y), recurrent_previous, ref_at(&out->recurrent, x, y),
                         ref_at(&out->recurrent_slack, x, y));
            surfaces_of_pixel(v, ref_at(&out->gates, x, y), ref_at(&out->mix, x, y),
                              ref_at(&out->covariance, x, y));
        }
    }
}
