#include "tests/stages/ref.h"
#include <math.h>

static double decode(uint32_t code, int channel, bool ldr)
{
    const double top = channel == 2 ? 1023 : 2047;
    return (code >> 11 * channel & (channel == 2 ? 1023 : 2047)) / top * (ldr ? 0.36 * log10(101) : 2.45);
}

/* Weights of reconstruction pixels 3 i, 3 i + 1, 3 i + 2 for output pixel 2 i or 2 i + 1. */
static double tap(int odd, int k)
{
    static const double weights[2][3] = {{0.75, 0.25, 0}, {0, 0.25, 0.75}};
    return weights[odd][k];
}

static double alpha_of(const ref_frame *f, int x, int y)
{
    const int w = (int)f->sizes.render.width, h = (int)f->sizes.render.height;
    ref_image alpha = ref_image_new(2, 2, 1);
    double px = (x + 0.5) * w / f->sizes.output.width - f->settings.jitter.x;
    double py = (y + 0.5) * h / f->sizes.output.height - f->settings.jitter.y;
    px = fmin(fmax(px, 0.5), w - 0.5);
    py = fmin(fmax(py, 0.5), h - 0.5);
    const int bx = (int)floor(px - 0.5), by = (int)floor(py - 0.5);
    for (int j = 0; j < 2; j++) {
        for (int i = 0; i < 2; i++) {
            const int tx = bx + i < w ? bx + i : w - 1, ty = by + j < h ? by + j : h - 1;
            const float a = f->color[4 * ((size_t)ty * w + tx) + 3];
            *ref_at(&alpha, i, j) = isfinite(a) ? fmin(fmax(a, 0), 65504) : 1;
        }
    }
    const double v = ref_linear(&alpha, px - bx, py - by, 0, 0, NULL);
    ref_image_free(&alpha);
    return v;
}

void ref_downsample(const ref_frame *f, const uint32_t *display, double exposure, bool unorm, ref_image *out)
{
    const int rw = (int)f->sizes.reconstruction.width, rh = (int)f->sizes.reconstruction.height;
    const bool ldr = f->conventions.ldr;
    for (int y = 0; y < out->height; y++) {
        for (int x = 0; x < out->width; x++) {
            double *v = ref_at(out, x, y);
            for (int c = 0; c < 3; c++) {
                double sum = 0;
                for (int j = 0; j < 3; j++) {
                    for (int i = 0; i < 3; i++) {
                        const int tx = x / 2 * 3 + i, ty = y / 2 * 3 + j;
                        if (tx >= rw || ty >= rh) continue; /* weight 0 */
                        sum += tap(x % 2, i) * tap(y % 2, j) *
                               pow(10, decode(display[(size_t)ty * rw + tx], c, ldr) / (3 * 0.36));
                    }
                }
                const double linear = (pow(sum, 3) - 1) / 100;
                v[c] = ldr ? pow(fmin(fmax(linear, 0), 1), 1 / 2.2)
                           : fmin(fmax(linear * f->settings.pre_exposure / exposure, 0), 65504);
            }
            v[3] = alpha_of(f, x, y);
            for (int c = 0; c < 4 && unorm; c++) v[c] = fmin(fmax(v[c], 0), 1);
        }
    }
}
