#include "runtime/cli/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SSIM_RADIUS 5
#define SSIM_TAPS (2 * SSIM_RADIUS + 1)

static float srgb(float v)
{
    return v <= 0.0031308f ? 12.92f * v : 1.055f * powf(v, 1 / 2.4f) - 0.055f;
}

float cli_display_value(float value, bool ldr)
{
    if (!(value > 0)) return 0;
    if (ldr) return value < 1 ? value : 1;
    return isinf(value) ? 1 : srgb(value / (1 + value));
}

void cli_display_free(cli_display *display)
{
    free(display->rgb);
    memset(display, 0, sizeof *display);
}

d4r_status cli_display_make(const cli_image *image, bool ldr, const d4r_log *log, cli_display *display)
{
    size_t pixels = (size_t)image->size.width * image->size.height;
    *display = (cli_display){image->size, malloc(pixels * 3 * sizeof(float)), 0};
    if (!display->rgb) return d4r_fail(log, D4R_ERROR_MEMORY, "no memory for a picture");
    float *out = display->rgb;
    for (uint32_t y = 0; y < image->size.height; y++)
        for (uint32_t x = 0; x < image->size.width; x++) {
            bool finite = true;
            for (uint32_t c = 0; c < 3; c++) {
                float value = cli_image_get(image, x, y, c);
                finite = finite && isfinite(value);
                *out++ = cli_display_value(value, ldr);
            }
            display->not_finite += !finite;
        }
    return D4R_OK;
}

static double to_db(double mean_square)
{
    return mean_square > 1e-10 ? -10 * log10(mean_square) : CLI_PSNR_CAP;
}

double cli_psnr(const cli_display *a, const cli_display *b, const uint32_t rect[4])
{
    uint32_t all[4] = {0, 0, a->size.width, a->size.height};
    const uint32_t *r = rect && rect[2] ? rect : all;
    double sum = 0;
    for (uint32_t y = r[1]; y < r[1] + r[3]; y++) {
        size_t start = 3 * ((size_t)y * a->size.width + r[0]);
        for (size_t i = start; i < start + 3 * (size_t)r[2]; i++) {
            double error = (double)a->rgb[i] - (double)b->rgb[i];
            sum += error * error;
        }
    }
    return to_db(sum / (3.0 * r[2] * r[3]));
}

double cli_tpsnr(const cli_display *a, const cli_display *a_before, const cli_display *b,
                 const cli_display *b_before)
{
    size_t count = 3 * (size_t)a->size.width * a->size.height;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double error =
            ((double)a->rgb[i] - (double)a_before->rgb[i]) - ((double)b->rgb[i] - (double)b_before->rgb[i]);
        sum += error * error;
    }
    return to_db(sum / (double)count);
}

/* ---- SSIM */

/* Moments that SSIM needs, filtered separably: E[a], E[b], E[aa], E[bb], E[ab]. */
#define MOMENTS 5

static void gaussian(double taps[SSIM_TAPS])
{
    double sum = 0;
    for (int i = 0; i < SSIM_TAPS; i++)
        sum += taps[i] = exp(-(i - SSIM_RADIUS) * (i - SSIM_RADIUS) / (2 * 1.5 * 1.5));
    for (int i = 0; i < SSIM_TAPS; i++) taps[i] /= sum;
}

static double luma(const float *rgb)
{
    return 0.2126 * (double)rgb[0] + 0.7152 * (double)rgb[1] + 0.0722 * (double)rgb[2];
}

/* Filters one row horizontally: out[x][moment] for the windows that fit. */
static void filter_row(const float *a, const float *b, uint32_t width, const double *taps, double *raw,
                       double *out)
{
    for (uint32_t x = 0; x < width; x++) {
        double va = luma(a + 3 * (size_t)x), vb = luma(b + 3 * (size_t)x);
        double moments[MOMENTS] = {va, vb, va * va, vb * vb, va * vb};
        memcpy(raw + (size_t)x * MOMENTS, moments, sizeof moments);
    }
    for (uint32_t x = 0; x + SSIM_TAPS <= width; x++)
        for (int m = 0; m < MOMENTS; m++) {
            double sum = 0;
            for (int t = 0; t < SSIM_TAPS; t++)
                sum += taps[t] * raw[((size_t)x + (size_t)t) * MOMENTS + (size_t)m];
            out[(size_t)x * MOMENTS + (size_t)m] = sum;
        }
}

static double similarity(const double *m)
{
    const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    double va = m[2] - m[0] * m[0], vb = m[3] - m[1] * m[1], cov = m[4] - m[0] * m[1];
    return (2 * m[0] * m[1] + c1) * (2 * cov + c2) / ((m[0] * m[0] + m[1] * m[1] + c1) * (va + vb + c2));
}

double cli_ssim(const cli_display *a, const cli_display *b)
{
    uint32_t width = a->size.width, height = a->size.height;
    if (width < SSIM_TAPS || height < SSIM_TAPS) return NAN;
    size_t columns = width - SSIM_TAPS + 1, line = columns * MOMENTS;
    double taps[SSIM_TAPS], sum = 0;
    double *raw = malloc((size_t)width * MOMENTS * sizeof *raw);
    double *ring = malloc(SSIM_TAPS * line * sizeof *ring); /* the last 11 filtered rows */
    gaussian(taps);
    for (uint32_t y = 0; raw && ring && y < height; y++) {
        size_t at = 3 * (size_t)y * width;
        filter_row(a->rgb + at, b->rgb + at, width, taps, raw, ring + y % SSIM_TAPS * line);
        if (y + 1 < SSIM_TAPS) continue;
        for (size_t x = 0; x < columns; x++) {
            double moments[MOMENTS] = {0};
            for (uint32_t t = 0; t < SSIM_TAPS; t++) {
                const double *row = ring + (y + 1 + t) % SSIM_TAPS * line + x * MOMENTS;
                for (int m = 0; m < MOMENTS; m++) moments[m] += taps[t] * row[m];
            }
            sum += similarity(moments);
        }
    }
    bool good = raw && ring;
    free(raw);
    free(ring);
    return good ? sum / ((double)columns * (height - SSIM_TAPS + 1)) : (double)NAN;
}
