#include "swin_block.h"

#include <math.h>
#include <string.h>

double swin_value(uint8_t code)
{
    int e = code >> 3 & 15, m = code & 7;
    double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);
    return code & 0x80 ? -v : v;
}

/* Nearest code, ties to even, saturating. */
static uint8_t fp8(double v)
{
    double m = fabs(v);
    uint8_t low = 0, high = 0x7e;
    if (m >= 448) return (uint8_t)(0x7e | (v < 0 ? 0x80 : 0));
    while (high - low > 1) {
        uint8_t middle = (uint8_t)((low + high) / 2);
        if (swin_value(middle) <= m) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double down = m - swin_value(low), up = swin_value(high) - m;
    uint8_t code = down < up || (down == up && !(low & 1)) ? low : high;
    return (uint8_t)(code | (signbit(v) ? 0x80 : 0));
}

static double rounded(double v)
{
    return swin_value(fp8(v));
}

/* ------------------------------------------------------------------ inputs */

static uint8_t random_code(uint32_t r, unsigned lowest, unsigned span)
{
    return (uint8_t)((lowest + r % span) | (r >> 8 & 0x80));
}

static void fill(uint8_t *codes, int count, uint32_t (*random)(void))
{
    for (int i = 0; i < count; i++) codes[i] = random_code(random(), 0, 0x28); /* up to 0.25 */
}

void swin_random(swin_weights *w, uint8_t *tokens, int windows, uint32_t (*random)(void))
{
    fill(&w->q[0][0], sizeof(w->q), random);
    fill(&w->k[0][0], sizeof(w->k), random);
    fill(&w->v[0][0], sizeof(w->v), random);
    fill(&w->o[0][0], sizeof(w->o), random);
    fill(&w->w1[0][0], sizeof(w->w1), random);
    fill(&w->w2[0][0], sizeof(w->w2), random);
    for (int i = 0; i < 2 * 16 * 16; i++) (&w->bias[0][0][0])[i] = (float)(int32_t)random() * 0x1p-31f;
    for (int i = 0; i < windows * SWIN_TOKENS * SWIN_C; i++) tokens[i] = random_code(random(), 0x18, 0x30);
}

/* ------------------------------------------------------------------ packing */

static uint16_t half_of(uint8_t code)
{
    int e = code >> 3 & 15, m = code & 7, sign = (code & 0x80) << 8;
    if (e) return (uint16_t)(sign | (e + 8) << 10 | m << 7);
    if (!m) return (uint16_t)sign;
    int shift = m >= 4 ? 0 : m >= 2 ? 1 : 2; /* m / 8 * 2^-6 = 1.f * 2^-(7 + shift) */
    return (uint16_t)(sign | (15 - 7 - shift) << 10 | ((m << (shift + 1)) & 7) << 7);
}

uint32_t swin_tile_bytes(bool gfx12)
{
    return gfx12 ? 256 : 512;
}

static void pack_tile(const uint8_t *w, int in, int m, int k, bool gfx12, uint8_t *out)
{
    for (int row = 0; row < 16; row++) {
        for (int column = 0; column < 16; column++) {
            uint8_t code = w[(16 * m + row) * in + 16 * k + column];
            if (gfx12) {
                out[(row + 16 * (column / 8)) * 8 + column % 8] = code;
            } else {
                uint16_t half = half_of(code);
                memcpy(out + row * 32 + column * 2, &half, 2);
            }
        }
    }
}

static uint8_t *pack_matrix(const uint8_t *w, int rows, int columns, bool gfx12, uint8_t *out)
{
    for (int m = 0; m < rows / 16; m++) {
        for (int k = 0; k < columns / 16; k++) {
            pack_tile(w, columns, m, k, gfx12, out);
            out += swin_tile_bytes(gfx12);
        }
    }
    return out;
}

void swin_pack(const swin_weights *w, bool gfx12, uint8_t *out)
{
    out = pack_matrix(&w->q[0][0], 64, 64, gfx12, out);
    out = pack_matrix(&w->k[0][0], 64, 64, gfx12, out);
    out = pack_matrix(&w->v[0][0], 64, 64, gfx12, out);
    out = pack_matrix(&w->o[0][0], 64, 64, gfx12, out);
    out = pack_matrix(&w->w1[0][0], 128, 64, gfx12, out);
    pack_matrix(&w->w2[0][0], 64, 128, gfx12, out);
}

/* ------------------------------------------------------------------ truth */

typedef double matrix[SWIN_TOKENS][SWIN_HIDDEN];

static void normalise(matrix x, matrix n)
{
    for (int t = 0; t < 16; t++) {
        double sum = 0;
        for (int c = 0; c < 64; c++) sum += x[t][c] * x[t][c];
        for (int c = 0; c < 64; c++) n[t][c] = rounded(x[t][c] / sqrt(sum / 64 + 1e-6));
    }
}

static void linear(const uint8_t *w, int out, int in, matrix x, matrix y)
{
    for (int t = 0; t < 16; t++) {
        for (int o = 0; o < out; o++) {
            y[t][o] = 0;
            for (int i = 0; i < in; i++) y[t][o] += swin_value(w[o * in + i]) * x[t][i];
        }
    }
}

static void round_all(matrix x, int columns)
{
    for (int t = 0; t < 16; t++) {
        for (int c = 0; c < columns; c++) x[t][c] = rounded(x[t][c]);
    }
}

static void attend(const swin_weights *w, int head, matrix q, matrix k, matrix v, matrix out)
{
    for (int query = 0; query < 16; query++) {
        double s[16], top = -INFINITY, sum = 0;
        for (int key = 0; key < 16; key++) {
            s[key] = w->bias[head][key][query];
            for (int c = 32 * head; c < 32 * head + 32; c++) s[key] += k[key][c] * q[query][c];
            top = fmax(top, s[key]);
        }
        for (int key = 0; key < 16; key++) {
            s[key] = exp2(s[key] - top);
            sum += s[key];
        }
        for (int c = 32 * head; c < 32 * head + 32; c++) {
            double value = 0;
            for (int key = 0; key < 16; key++) value += rounded(256 * s[key]) * v[key][c];
            out[query][c] = rounded(value / sum / 256);
        }
    }
}

static double activate(double y)
{
    double c = fmin(fmax(y, -2.4), 2.4);
    return y * (0.5 + c * (0.412 - 0.081 * fabs(c)));
}

void swin_reference(const swin_weights *w, const uint8_t *tokens, uint8_t *y)
{
    matrix x, n, q, k, v, o, u;
    for (int t = 0; t < 16; t++) {
        for (int c = 0; c < 64; c++) x[t][c] = swin_value(tokens[t * 64 + c]);
    }
    normalise(x, n);
    linear(&w->q[0][0], 64, 64, n, q);
    linear(&w->k[0][0], 64, 64, n, k);
    linear(&w->v[0][0], 64, 64, n, v);
    round_all(q, 64);
    round_all(k, 64);
    round_all(v, 64);
    for (int head = 0; head < SWIN_HEADS; head++) attend(w, head, q, k, v, o);
    linear(&w->o[0][0], 64, 64, o, u);
    for (int t = 0; t < 16; t++) {
        for (int c = 0; c < 64; c++) x[t][c] += u[t][c];
    }
    normalise(x, n);
    linear(&w->w1[0][0], 128, 64, n, u);
    for (int t = 0; t < 16; t++) {
        for (int c = 0; c < 128; c++) u[t][c] = rounded(activate(u[t][c]));
    }
    linear(&w->w2[0][0], 64, 128, u, o);
    for (int t = 0; t < 16; t++) {
        for (int c = 0; c < 64; c++) y[t * 64 + c] = fp8(x[t][c] + o[t][c]);
    }
}
