#include "tests/network/k_truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/network/half_ref.h"

#define MAX_CHANNELS 128
#define TOKENS 64

static double table[65536];

static void fill_table(void)
{
    if (table[1] == 0)
        for (int i = 0; i < 65536; i++) table[i] = half_ref_decode((uint16_t)i);
}
static void round_all(double *v, int count)
{
    for (int i = 0; i < count; i++) v[i] = half_ref_round(v[i]);
}
/* out = W in + b */
static void linear(const k_linear *l, const double *in, double *out)
{
    for (int o = 0; o < l->out; o++) {
        double sum = l->bias ? l->bias[o] : 0;
        for (int i = 0; i < l->in; i++) sum += table[l->weight[o * l->in + i]] * in[i];
        out[o] = sum;
    }
}
static void norm(const double *x, int c, double *n)
{
    double mean = 0;
    for (int i = 0; i < c; i++) mean += x[i] * x[i] / c;
    for (int i = 0; i < c; i++) n[i] = half_ref_round(x[i] / sqrt(mean + 1e-5));
}
static double act(double y)
{
    double c = y > 2.4 ? 2.4 : y < -2.4 ? -2.4 : y;
    return y * (0.5 + c * (0.412 - 0.081 * fabs(c)));
}

typedef struct window {
    double x[TOKENS][MAX_CHANNELS], qkv[TOKENS][3 * MAX_CHANNELS], o[TOKENS][MAX_CHANNELS];
    bool inside[TOKENS];
} window;

/* o of one head and query, tokens row by row. Keys outside take no part. */
static void attend(const k_layer_tensors *l, int head, int query, window *w)
{
    const int c = l->channels;
    double s[TOKENS], top = -INFINITY, sum = 0;
    for (int key = 0; key < TOKENS; key++) {
        const int dy = key / 8 - query / 8, dx = key % 8 - query % 8;
        s[key] = l->rel_bias[head * 225 + 15 * (dy + 7) + dx + 7];
        for (int i = 0; i < 32; i++) s[key] += w->qkv[key][c + 32 * head + i] * w->qkv[query][32 * head + i];
        if (w->inside[key]) top = fmax(top, s[key]);
    }
    for (int key = 0; key < TOKENS; key++) {
        s[key] = w->inside[key] ? 256 * exp2(s[key] - top) : 0;
        sum += s[key];
    }
    round_all(s, TOKENS);
    for (int i = 0; i < 32; i++) {
        double value = 0;
        for (int key = 0; key < TOKENS; key++) value += s[key] * w->qkv[key][2 * c + 32 * head + i];
        w->o[query][32 * head + i] = half_ref_round(value / sum + l->qv_bias[c + 32 * head + i]);
    }
}

static void block_window(const k_layer_tensors *l, window *w)
{
    double n[MAX_CHANNELS], u[2 * MAX_CHANNELS], y[MAX_CHANNELS];
    const int c = l->channels;
    for (int t = 0; t < TOKENS; t++) {
        norm(w->x[t], c, n);
        linear(&l->qkv, n, w->qkv[t]);
        for (int i = 0; i < c; i++) w->qkv[t][i] += l->qv_bias[i];
        round_all(w->qkv[t], 3 * c);
    }
    for (int h = 0; h < c / 32; h++)
        for (int t = 0; t < TOKENS; t++) attend(l, h, t, w);
    for (int t = 0; t < TOKENS; t++) {
        linear(&l->proj, w->o[t], y);
        for (int i = 0; i < c; i++) w->x[t][i] += y[i];
        norm(w->x[t], c, n);
        linear(&l->mlp1, n, u);
        for (int i = 0; i < l->mlp1.out; i++) u[i] = half_ref_round(act(u[i]));
        linear(&l->mlp2, u, y);
        for (int i = 0; i < c; i++) w->x[t][i] += y[i];
    }
}

/* The block on a whole grid of values, in place, not rounded. */
static void block(const k_layer_tensors *l, int columns, int rows, int shift, double *grid)
{
    const int c = l->channels;
    window *w = malloc(sizeof(*w));
    if (!w) abort();
    for (int wy = -shift; wy < rows; wy += 8)
        for (int wx = -shift; wx < columns; wx += 8) {
            memset(w, 0, sizeof(*w));
            for (int t = 0; t < TOKENS; t++) {
                const int row = wy + t / 8, column = wx + t % 8;
                w->inside[t] = row >= 0 && column >= 0 && row < rows && column < columns;
                if (w->inside[t])
                    memcpy(w->x[t], grid + (size_t)(row * columns + column) * c, sizeof(double) * c);
            }
            block_window(l, w);
            for (int t = 0; t < TOKENS; t++)
                if (w->inside[t])
                    memcpy(grid + (size_t)((wy + t / 8) * columns + wx + t % 8) * c, w->x[t],
                           sizeof(double) * c);
        }
    free(w);
}

/* x of one token: the input itself, the merge of its 2x2 finer tokens, or the expand of the coarser one plus the skip. */
static void read_token(const k_layer_tensors *l, const d4r_k_layer_info *info, int columns, int row,
                       int column, const uint16_t *input, const uint16_t *skip, double *x)
{
    const int c = l->channels, ci = (int)info->in_channels;
    double in[4 * MAX_CHANNELS], out[4 * MAX_CHANNELS];
    const size_t token = (size_t)row * columns + column;
    if (!l->between.out) {
        for (int i = 0; i < c; i++) x[i] = table[input[token * c + i]];
    } else if (info->in_level < info->level) {
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < ci; i++)
                in[q * ci + i] =
                    table[input[((size_t)(2 * row + q / 2) * (2 * columns) + 2 * column + q % 2) * ci + i]];
        linear(&l->between, in, x);
    } else {
        const int place = 2 * (row & 1) + (column & 1);
        for (int i = 0; i < ci; i++)
            in[i] = table[input[((size_t)(row / 2) * (columns / 2) + column / 2) * ci + i]];
        linear(&l->between, in, out);
        for (int i = 0; i < c; i++) x[i] = out[place * c + i] + table[skip[token * c + i]];
    }
}

static void write_token(const k_tensors *t, d4r_k_layer layer, int c, const double *x, uint16_t *output)
{
    double rounded[MAX_CHANNELS], head[D4R_K_HEAD];
    for (int i = 0; i < c; i++) rounded[i] = half_ref_round(x[i]);
    if (layer != D4R_K_LAYER_DEC0) {
        for (int i = 0; i < c; i++) output[i] = half_ref_encode(x[i]);
        return;
    }
    linear(&t->head, rounded, head);
    for (int i = 0; i < D4R_K_HEAD; i++) output[i] = half_ref_encode(head[i]);
}

void k_truth_layer(const k_tensors *tensors, d4r_k_layer layer, uint32_t columns, uint32_t rows,
                   uint32_t phase, const uint16_t *input, const uint16_t *skip, uint16_t *output)
{
    const d4r_k_layer_info *info = &d4r_k_layers[layer];
    const k_layer_tensors *l = &tensors->layers[layer];
    const int c = l->channels, gc = (int)(columns >> info->level), gr = (int)(rows >> info->level);
    /* The cycle written out (docs/preset_k.md), the bottleneck last. */
    static const int shifts[8][D4R_K_LEVELS] = {{4, 4, 4, 4, 4, 0}, {4, 4, 4, 0, 6, 5}, {4, 4, 4, 4, 0, 2},
                                                {4, 4, 4, 0, 2, 7}, {4, 4, 4, 4, 4, 4}, {4, 4, 4, 0, 6, 1},
                                                {4, 4, 4, 4, 0, 6}, {4, 4, 4, 0, 2, 3}};
    double *grid = malloc(sizeof(double) * (size_t)gc * gr * c);
    if (!grid) abort();
    fill_table();
    for (int row = 0; row < gr; row++)
        for (int column = 0; column < gc; column++)
            read_token(l, info, gc, row, column, input, skip, grid + ((size_t)row * gc + column) * c);
    block(l, gc, gr, shifts[phase][info->level], grid);
    for (size_t i = 0; i < (size_t)gc * gr; i++)
        write_token(tensors, layer, c, grid + i * c, output + i * info->out_channels);
    free(grid);
}
