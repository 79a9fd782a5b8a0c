#include "tests/stages/ref.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

ref_image ref_image_new(int width, int height, int channels)
{
    ref_image image = {width, height, channels, NULL};
    image.v = calloc((size_t)width * height * channels, sizeof *image.v);
    if (!image.v) abort();
    return image;
}

void ref_image_free(ref_image *image)
{
    free(image->v);
    memset(image, 0, sizeof *image);
}

static int clamp_index(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

double *ref_at(const ref_image *image, int x, int y)
{
    x = clamp_index(x, image->width);
    y = clamp_index(y, image->height);
    return image->v + ((size_t)y * image->width + x) * image->channels;
}

static double bilinear(const ref_image *image, double x, double y, int channel)
{
    x = fmin(fmax(x, 0.5), image->width - 0.5) - 0.5;
    y = fmin(fmax(y, 0.5), image->height - 0.5) - 0.5;
    const int i = (int)floor(x), j = (int)floor(y);
    const double s = x - i, t = y - j;
    return (ref_at(image, i, j)[channel] * (1 - s) + ref_at(image, i + 1, j)[channel] * s) * (1 - t) +
           (ref_at(image, i, j + 1)[channel] * (1 - s) + ref_at(image, i + 1, j + 1)[channel] * s) * t;
}

/* Where a read at x may go: both ends, and the texel centre between them, if any. The shader stays 2^-10 inside the last
 * centre; a normalised coordinate is rounded to f32 twice by it, and once more where the device scales it back. */
static void reach(double x, int size, double step, double out[3])
{
    const double most = step + 3 * size * ldexp(1, -24), last = size - 0.5 - ldexp(1, -10);
    out[0] = fmin(x, last) - most;
    out[2] = x + most;
    out[1] = fmin(floor(out[0] - 0.5) + 1.5, out[2]);
}

double ref_linear(const ref_image *image, double x, double y, int channel, double step, double *slack)
{
    const double v = bilinear(image, x, y, channel);
    if (!slack) return v;
    *slack = 0;
    if (step <= 0) return v;
    double xs[3], ys[3];
    reach(x, image->width, step, xs);
    reach(y, image->height, step, ys);
    /* Bilinear in each of the parts: the extremes are at their corners. */
    for (int k = 0; k < 9; k++)
        *slack = fmax(*slack, fabs(bilinear(image, xs[k % 3], ys[k / 3], channel) - v));
    *slack += fmax(fabs(v) * ldexp(1, -11), ldexp(1, -25)); /* a result of f16 is enough for these formats */
    return v;
}

void ref_sizes(ref_frame *f, d4r_size render, d4r_size output)
{
    d4r_sizes *s = &f->sizes;
    s->render = render;
    s->output = output;
    s->reconstruction.width = (uint32_t)ceil(1.5 * output.width);
    s->reconstruction.height = (uint32_t)ceil(1.5 * output.height);
    s->half.width = (uint32_t)ceil(s->reconstruction.width / 2.0);
    s->half.height = (uint32_t)ceil(s->reconstruction.height / 2.0);
    s->token_grid.width = (uint32_t)ceil(render.width / 32.0) * 16;
    s->token_grid.height = (uint32_t)ceil(render.height / 32.0) * 16;
    s->token_bytes = 64ull * s->token_grid.width * s->token_grid.height;
    s->render_scale_x = (float)(render.width / (1.5 * output.width));
    s->render_scale_y = (float)(render.height / (1.5 * output.height));
    f->settings.render = render;
}

double ref_compress(double linear)
{
    return 0.36 * log10(fmax(100 * linear + 1, 1e-4));
}

double ref_expand(double compressed)
{
    return (pow(10, fmin(fmax(compressed, 1e-4), 3) / 0.36) - 1) / 100;
}

double ref_half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double v = exponent == 31  ? (mantissa ? NAN : INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

uint16_t ref_half_bits(float value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double a = fabs((double)value);
    if (isnan(value)) return sign | 0x7e00;
    if (a >= 65520) return sign | 0x7c00;
    if (a < ldexp(1, -14)) return sign | (uint16_t)nearbyint(a * ldexp(1, 24));
    int exponent;
    frexp(a, &exponent);                                          /* a = m 2^exponent, m in [0.5, 1) */
    const int mantissa = (int)nearbyint(ldexp(a, 11 - exponent)); /* 1024 .. 2048 */
    return sign | (uint16_t)(((exponent + 14) << 10) + mantissa - 1024);
}

static double fp8_by_definition(int code)
{
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if ((code & 127) == 127) return 0;
    const double v = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);
    return code & 128 ? -v : v;
}

double ref_fp8_value(uint8_t code)
{
    static double table[256];
    static bool ready;
    for (int i = 0; i < 256 && !ready; i++) table[i] = fp8_by_definition(i);
    ready = true;
    return table[code];
}

/* Largest code whose value does not exceed a >= 0. */
static int code_below(double a)
{
    int low = 0, high = 126;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (ref_fp8_value((uint8_t)middle) <= a)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

uint8_t ref_fp8_nearest(double v)
{
    const double a = fabs(v);
    int code = code_below(a);
    if (code < 126) {
        const double down = a - ref_fp8_value((uint8_t)code), up = ref_fp8_value((uint8_t)(code + 1)) - a;
        if (up < down || (up == down && (code & 1))) code++;
    }
    return (uint8_t)(v < 0 ? code | 128 : code);
}

uint8_t ref_fp8_dithered(double v, unsigned n)
{
    if (!isfinite(v)) v = 0;
    const double a = fmin(fabs(v), 448);
    const int code = code_below(a);
    /* The step of the binade that holds a: to the next code, except that 448 has none. */
    const double step = code == 126 ? 32 : ref_fp8_value((uint8_t)(code + 1)) - ref_fp8_value((uint8_t)code);
    const int result = code_below(fmin(a + n / 128.0 * step, 448));
    return (uint8_t)(v < 0 ? result | 128 : result);
}

unsigned ref_dither_bits(unsigned x, unsigned y, unsigned frame)
{
    static const unsigned multiplier[3] = {1281, 1087, 769}, shift[3] = {5, 6, 5};
    unsigned i = x % 16 + 16 * (y % 16) + 256 * (frame % 8);
    for (int k = 0; k < 3; k++) {
        i = i * multiplier[k] % 2048;
        i ^= i >> shift[k];
    }
    return i / 16;
}

bool ref_on_screen(const ref_frame *f, double x, double y)
{
    return x >= 0 && x <= f->sizes.reconstruction.width && y >= 0 && y <= f->sizes.reconstruction.height;
}

/* volatile: each operation is rounded to f32, whatever the compiler may contract. */
float ref_render_position(float pixel, uint32_t render, uint32_t output, float jitter)
{
    const float scale = (float)(render / (1.5 * output));
    volatile float product = (pixel + 0.5f) * scale;
    return product - jitter;
}

float ref_previous_position(float position, uint32_t render, uint32_t output, float motion)
{
    const float scale = (float)(1.5 * output / render);
    volatile float product = position * scale;
    return product + motion;
}

float ref_previous_render_position(float q, uint32_t render, uint32_t output, float previous_jitter)
{
    const float scale = (float)(render / (1.5 * output));
    volatile float product = q * scale;
    return product - previous_jitter;
}
