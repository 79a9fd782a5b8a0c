#include "tests/network/network_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/network/fp8_ref.h"

#define MAX_CHANNELS 128

static double decode_table[256];

static void fill_table(void)
{
    if (decode_table[1] == 0)
        for (int i = 0; i < 256; i++) decode_table[i] = fp8_ref_decode((uint8_t)i);
}

/* out = W in + b */
static void linear(const linear_tensors *l, const double *in, double *out)
{
    for (int o = 0; o < l->out; o++) {
        double sum = l->bias[o];
        for (int i = 0; i < l->in; i++) sum += decode_table[l->weight[o * l->in + i]] * in[i];
        out[o] = sum;
    }
}
static void round_all(double *v, int count)
{
    for (int i = 0; i < count; i++) v[i] = fp8_ref_round(v[i]);
}
static void norm(const double *x, int c, double *n)
{
    double mean = 0;
    for (int i = 0; i < c; i++) mean += x[i] * x[i] / c;
    for (int i = 0; i < c; i++) n[i] = fp8_ref_round(x[i] / sqrt(mean + 1e-5));
}
static double act(double y)
{
    double c = y > 2.4 ? 2.4 : y < -2.4 ? -2.4 : y; /* a NaN stays one */
    return y * (0.5 + c * (0.412 - 0.081 * fabs(c)));
}

/* o of one head and query: keys with inside[key] false take no part. */
static void attend(const block_tensors *b, int head, int query, double qkv[16][3 * MAX_CHANNELS],
                   const bool *inside, double *o)
{
    int c = b->channels;
    double s[16], p[16], top = -INFINITY, sum = 0;
    for (int key = 0; key < 16; key++) {
        int dy = key / 4 - query / 4, dx = key % 4 - query % 4;
        s[key] = 0;
        for (int i = 0; i < 32; i++) s[key] += qkv[key][c + 32 * head + i] * qkv[query][32 * head + i];
        s[key] = s[key] / sqrt(32) + b->rel_bias[head * 49 + 7 * (dy + 3) + dx + 3];
        if (inside[key]) top = fmax(top, s[key]);
    }
    for (int key = 0; key < 16; key++) {
        p[key] = inside[key] ? 256 * exp(s[key] - top) : 0;
        sum += p[key];
    }
    round_all(p, 16);
    for (int i = 0; i < 32; i++) {
        double value = 0;
        for (int key = 0; key < 16; key++) value += p[key] * qkv[key][2 * c + 32 * head + i];
        o[32 * head + i] = fp8_ref_round(value / sum);
    }
}

/* The block on one window of tokens x[16][c]; tokens outside are zero and masked. */
static void block_window(const block_tensors *b, double x[16][MAX_CHANNELS], const bool *inside)
{
    static _Thread_local double qkv[16][3 * MAX_CHANNELS], o[16][MAX_CHANNELS];
    double n[MAX_CHANNELS], u[2 * MAX_CHANNELS], y[MAX_CHANNELS];
    int c = b->channels;
    for (int t = 0; t < 16; t++) {
        norm(x[t], c, n);
        linear(&b->qkv, n, qkv[t]);
        round_all(qkv[t], 3 * c);
    }
    for (int h = 0; h < c / 32; h++)
        for (int t = 0; t < 16; t++) attend(b, h, t, qkv, inside, o[t]);
    for (int t = 0; t < 16; t++) {
        linear(&b->proj, o[t], y);
        for (int i = 0; i < c; i++) x[t][i] += y[i];
        norm(x[t], c, n);
        linear(&b->mlp1, n, u);
        for (int i = 0; i < 2 * c; i++) u[i] = fp8_ref_round(act(u[i]));
        linear(&b->mlp2, u, y);
        for (int i = 0; i < c; i++) x[t][i] += y[i];
    }
}

/* The block on a whole grid of values, not rounded. */
static void block(const block_tensors *b, int columns, int rows, int shift, double *grid)
{
    int c = b->channels;
    for (int wy = -shift; wy < rows; wy += 4)
        for (int wx = -shift; wx < columns; wx += 4) {
            double x[16][MAX_CHANNELS];
            bool inside[16];
            memset(x, 0, sizeof(x));
            for (int t = 0; t < 16; t++) {
                int row = wy + t / 4, column = wx + t % 4;
                inside[t] = row >= 0 && column >= 0 && row < rows && column < columns;
                if (inside[t]) memcpy(x[t], grid + (size_t)(row * columns + column) * c, sizeof(double) * c);
            }
            block_window(b, x, inside);
            for (int t = 0; t < 16; t++)
                if (inside[t])
                    memcpy(grid + (size_t)((wy + t / 4) * columns + wx + t % 4) * c, x[t],
                           sizeof(double) * c);
        }
}

/* Values of the block's grid: the input tokens, or the merge of their 2x2 groups, rounded. */
static void read_input(const linear_tensors *merge, const d4r_m_layer_info *l, int columns, int rows,
                       const uint8_t *input, double *grid)
{
    int c = (int)l->channels, ci = (int)l->in_channels;
    if (!merge) {
        for (size_t i = 0; i < (size_t)columns * rows * c; i++) grid[i] = decode_table[input[i]];
        return;
    }
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            double in[4 * MAX_CHANNELS], *out = grid + (size_t)(row * columns + column) * c;
            for (int q = 0; q < 4; q++)
                for (int i = 0; i < ci; i++) {
                    size_t token = (size_t)(2 * row + q / 2) * (2 * columns) + 2 * column + q % 2;
                    in[q * ci + i] = decode_table[input[token * ci + i]];
                }
            linear(merge, in, out);
            round_all(out, c);
        }
}

static void write_output(const linear_tensors *expand, const d4r_m_layer_info *l, int columns, int rows,
                         const double *grid, const uint8_t *skip, uint8_t *output)
{
    int c = (int)l->channels, co = (int)l->out_channels;
    if (!expand) {
        for (size_t i = 0; i < (size_t)columns * rows * c; i++) output[i] = fp8_ref_encode(grid[i]);
        return;
    }
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            double in[MAX_CHANNELS], out[4 * MAX_CHANNELS];
            for (int i = 0; i < c; i++) in[i] = fp8_ref_round(grid[(size_t)(row * columns + column) * c + i]);
            linear(expand, in, out);
            for (int q = 0; q < 4; q++)
                for (int i = 0; i < co; i++) {
                    size_t at = ((size_t)(2 * row + q / 2) * (2 * columns) + 2 * column + q % 2) * co + i;
                    output[at] = fp8_ref_encode(fp8_ref_round(out[q * co + i]) + decode_table[skip[at]]);
                }
        }
}

void network_ref_layer(const network_tensors *tensors, d4r_m_layer layer, uint32_t columns, uint32_t rows,
                       const uint8_t *input, const uint8_t *skip, uint8_t *output)
{
    const d4r_m_layer_info *l = &d4r_m_layers[layer];
    const linear_tensors *merge = NULL, *expand = NULL;
    if (layer == D4R_M_LAYER_ENC2) merge = &tensors->linears[LINEAR_MERGE1];
    if (layer == D4R_M_LAYER_MID0) merge = &tensors->linears[LINEAR_MERGE2];
    if (layer == D4R_M_LAYER_MID5) expand = &tensors->linears[LINEAR_EXPAND2];
    if (layer == D4R_M_LAYER_DEC2) expand = &tensors->linears[LINEAR_EXPAND1];
    fill_table();
    int c = (int)(columns >> l->level), r = (int)(rows >> l->level);
    double *grid = malloc(sizeof(double) * (size_t)c * r * l->channels);
    if (!grid) abort();
    read_input(merge, l, c, r, input, grid);
    block(&tensors->blocks[layer], c, r, (int)l->shift, grid);
    write_output(expand, l, c, r, grid, skip, output);
    free(grid);
}
