/* What preset K adds to the vocabulary on NVIDIA: f16 operands and windows of 64 tokens. Included after tile_nv.h, with
 * TILE_WINDOWS 1: a warp owns the 16 tokens of one place (D4R_K_TOKEN_ROW), four warps a window.
 *
 * Layouts are those of tile_nv.h. Weights are read through the caches; keys and values of a head go through 8 KiB of shared
 * memory a window: lane-major, the four words of the operand that the reading lane needs. A window that does not exist is
 * worked on with zeros and not stored. Conversions to f16 round to nearest even and saturate. */
#ifndef D4R_HIP_KERNELS_TILE_HALF_NV_H
#define D4R_HIP_KERNELS_TILE_HALF_NV_H

#include "models/format/k_layout.h"

typedef tile_fp8 tile_half; /* two f16 a word; the values are not FP8 ones here */
typedef tile_half tile_coarse;
#define TILE_PARTS 1
typedef tile_f32 tile_part;
typedef tile_half tile_part_half;
typedef tile_row tile_part_row;
typedef struct tile_chunk {
    const unsigned char *base;
} tile_chunk;
typedef struct tile_keys {
    int none; /* in shared memory */
} tile_keys;

#ifndef D4R_TILE_NV_HOST
/* Low half a, high half b. */
TILE_FN uint32_t tile_half_pair(float a, float b)
{
    uint32_t halves;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %2, %1;" : "=r"(halves) : "f"(a), "f"(b));
    return halves;
}
#endif

/* ---- windows and tokens --------------------------------------------------------------------------------------- */

/* `wave`: number of the warp within its window. */
TILE_FN void tile_open_half(tile_group *g, const d4r_m_args *a, int window, int wave, unsigned char *keys)
{
    const int exists = window < a->windows, last = exists ? window : a->windows - 1;
    const int top = 8 * (last / a->windows_x) - a->shift, left = 8 * (last % a->windows_x) - a->shift;
    tile_stage_nothing(g);
    g->lane = (int)(threadIdx.x & 31);
    g->g = g->lane >> 2;
    g->t = g->lane & 3;
    g->fine_columns = 2 * a->columns;
    g->place = wave;
    g->keys = keys;
    g->masked = 0;
    TILE_UNROLL
    for (int p = 0; p < 4; p++) {
        const int row = top + D4R_K_TOKEN_ROW(p, g->lane & 15),
                  column = left + D4R_K_TOKEN_COLUMN(p, g->lane & 15);
        const int inside = row >= 0 && column >= 0 && row < a->rows && column < a->columns;
        g->outside_places[p] = ~__ballot_sync(0xffffffffu, inside) & 0xffffu;
        g->masked |= g->outside_places[p] != 0;
    }
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const int row = top + D4R_K_TOKEN_ROW(wave, g->g + 8 * i),
                  column = left + D4R_K_TOKEN_COLUMN(wave, g->g + 8 * i);
        const int in = exists && row >= 0 && column >= 0 && row < a->rows && column < a->columns;
        g->token[0][i] = in ? row * a->columns + column : -1;
        g->fine[0][i] = in ? 2 * row * g->fine_columns + 2 * column : -1;
        g->coarse[0][i] = in ? (row >> 1) * (a->columns >> 1) + (column >> 1) : -1;
    }
}
/* Four values of one token: channels 16k + 4t .. + 3. */
TILE_FN uint2 tile_half_load(const tile_group *g, const unsigned char *tokens, int index, int offset,
                             int tiles, int k)
{
    uint2 zero;
    zero.x = zero.y = 0;
    if (index < 0) return zero;
    return *(const uint2 *)(tokens + (size_t)(index + offset) * (size_t)(32 * tiles) + 32 * k + 8 * g->t);
}
TILE_FN void tile_half_read_add(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles,
                                int k)
{
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint2 v = tile_half_load(g, tokens, g->token[0][i], 0, tiles, k);
        x->v[0][2 * i] += tile_half_low(v.x);
        x->v[0][2 * i + 1] += tile_half_high(v.x);
        x->v[0][4 + 2 * i] += tile_half_low(v.y);
        x->v[0][5 + 2 * i] += tile_half_high(v.y);
    }
}
TILE_FN void tile_half_zero(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_UNROLL
    for (int i = 0; i < 8; i++) x->v[0][i] = 0.0f;
}
TILE_FN void tile_half_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    tile_half_zero(g, x);
    tile_half_read_add(g, x, tokens, tiles, k);
}
TILE_FN void tile_half_get(const tile_group *g, tile_half *d, const unsigned char *tokens,
                           const int (*index)[2], int offset, int tiles, int k)
{
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint2 v = tile_half_load(g, tokens, index[0][i], offset, tiles, k);
        d->v[0][i] = v.x;
        d->v[0][2 + i] = v.y;
    }
}
TILE_FN void tile_half_read_fine(const tile_group *g, tile_half *d, const unsigned char *tokens, int tiles,
                                 int q, int k)
{
    tile_half_get(g, d, tokens, g->fine, tile_fine_offset(g, q), tiles, k);
}
TILE_FN void tile_half_read_coarse(const tile_group *g, tile_coarse *d, const unsigned char *tokens,
                                   int tiles, int k)
{
    tile_half_get(g, d, tokens, g->coarse, 0, tiles, k);
}
TILE_FN void tile_half_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int channels,
                             int k)
{
    const float *v = x->v[0];
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        uint2 d;
        d.x = tile_half_pair(v[2 * i], v[2 * i + 1]);
        d.y = tile_half_pair(v[4 + 2 * i], v[5 + 2 * i]);
        if (g->token[0][i] >= 0 && 16 * k + 4 * g->t < channels)
            *(uint2 *)(tokens + (size_t)g->token[0][i] * (size_t)(2 * channels) + 32 * k + 8 * g->t) = d;
    }
}

/* ---- operands ------------------------------------------------------------------------------------------------- */

TILE_FN void tile_half_round(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    (void)g;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) d->v[0][j] = tile_half_pair(x->v[0][2 * j], x->v[0][2 * j + 1]);
}
TILE_FN void tile_half_round_scaled(const tile_group *g, tile_half *d, const tile_f32 *x,
                                    const tile_row *scale)
{
    (void)g;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) {
        const float s = scale->v[0][j & 1];
        d->v[0][j] = tile_half_pair(x->v[0][2 * j] * s, x->v[0][2 * j + 1] * s);
    }
}
TILE_FN void tile_half_act(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    tile_f32 y = *x;
    tile_act(g, &y);
    tile_half_round(g, d, &y);
}

/* ---- products ------------------------------------------------------------------------------------------------- */

/* Nothing is copied; the barrier frees the keys of the head before. */
TILE_FN tile_chunk tile_bring(const tile_group *g, const d4r_m_args *a, int offset, int bytes)
{
    tile_chunk c;
    (void)g;
    (void)bytes;
    __syncthreads();
    c.base = a->panels + offset;
    return c;
}
TILE_FN tile_chunk tile_chunk_part(tile_chunk c, int offset)
{
    tile_chunk part;
    part.base = c.base + offset;
    return part;
}
TILE_FN const unsigned char *tile_chunk_vector(tile_chunk c, int offset)
{
    return c.base + offset;
}
TILE_FN const unsigned char *tile_chunk_table(tile_chunk c, int offset)
{
    return c.base + offset;
}
TILE_FN const unsigned char *tile_table_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    (void)g;
    return a->panels + offset;
}
TILE_FN uint4 tile_half_weights(const tile_group *g, tile_chunk c, int offset, int tile)
{
    return __ldg((const uint4 *)(c.base + offset + tile * D4R_K_TILE_BYTES) + g->lane);
}
TILE_FN void tile_half_product(tile_f32 *acc, const uint32_t *a, uint4 b)
{
    tile_mma(&acc->v[0][0], a[0], a[1], a[2], a[3], b.x, b.y);
    tile_mma(&acc->v[0][4], a[0], a[1], a[2], a[3], b.z, b.w);
}
TILE_FN void tile_half_mul(const tile_group *g, tile_f32 *acc, tile_chunk c, int offset, int stride, int row,
                           int column, const tile_half *x, int tiles)
{
    TILE_UNROLL
    for (int k = 0; k < tiles; k++)
        tile_half_product(acc, x[k].v[0], tile_half_weights(g, c, offset, row * stride + column + k));
}
TILE_FN void tile_half_mul_place(const tile_group *g, tile_f32 *acc, tile_chunk c, int offset, int rows,
                                 int stride, int row, const tile_coarse *x, int tiles)
{
    tile_half_mul(g, acc, c, offset, stride, g->place * rows + row, 0, x, tiles);
}
TILE_FN void tile_half_mul_t(const tile_group *g, tile_f32_t *acc, tile_chunk c, int offset, int stride,
                             int row, const tile_half *x, int tiles)
{
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const uint4 a = tile_half_weights(g, c, offset, row * stride + k);
        const uint32_t *b = x[k].v[0];
        tile_mma(&acc->v[0][0], a.x, a.z, a.y, a.w, b[0], b[2]);
        tile_mma(&acc->v[0][4], a.x, a.z, a.y, a.w, b[1], b[3]);
    }
}
TILE_FN void tile_bias_place(const tile_group *g, tile_f32 *x, const unsigned char *bias, int rows, int row)
{
    tile_bias(g, x, bias + 64 * g->place * rows, row);
}

/* ---- attention ------------------------------------------------------------------------------------------------ */

/* Keys: tile (place, m) at 2 * place + m of the window's memory; values behind them. */
TILE_FN void tile_share_keys(const tile_group *g, tile_keys *keys, const tile_f32 *k, int m)
{
    tile_half own;
    uint4 words;
    (void)keys;
    tile_half_round(g, &own, k);
    words.x = own.v[0][0];
    words.y = own.v[0][1];
    words.z = own.v[0][2];
    words.w = own.v[0][3];
    *((uint4 *)(g->keys + (2 * g->place + m) * 512) + g->lane) = words;
}
TILE_FN void tile_share_values(const tile_group *g, tile_keys *keys, const tile_f32_t *v, int m)
{
    const float *x = v->v[0]; /* half of tokens at 4h, half of channels at 2j */
    uint4 words;
    (void)keys;
    words.x = tile_half_pair(x[0], x[1]);
    words.y = tile_half_pair(x[4], x[5]);
    words.z = tile_half_pair(x[2], x[3]);
    words.w = tile_half_pair(x[6], x[7]);
    *((uint4 *)(g->keys + 4096 + (2 * g->place + m) * 512) + g->lane) = words;
}
TILE_FN void tile_meet(const tile_group *g)
{
    (void)g;
    __syncthreads();
}
/* s: rows are queries, columns keys: register 4h + 2i + c is query g + 8i, key 8h + 2t + c. */
TILE_FN void tile_half_scores(const tile_group *g, tile_part *s, const tile_keys *keys, int j,
                              const tile_half *q, int part, const unsigned char *rel_bias)
{
    const float *table = (const float *)(rel_bias + (4 * g->place + j) * 1024);
    (void)keys;
    (void)part;
    TILE_UNROLL
    for (int i = 0; i < 8; i++)
        s->v[0][i] =
            __ldg(table + D4R_K_REL_INDEX(8 * (i >> 2) + 2 * g->t + (i & 1), g->g + 8 * ((i >> 1) & 1)));
    TILE_UNROLL
    for (int m = 0; m < 2; m++) {
        const uint4 k = *((const uint4 *)(g->keys + (2 * j + m) * 512) + g->lane);
        const uint32_t *a = q[m].v[0];
        tile_mma(&s->v[0][0], a[0], a[1], a[2], a[3], k.x, k.z);
        tile_mma(&s->v[0][4], a[0], a[1], a[2], a[3], k.y, k.w);
    }
}
TILE_FN void tile_half_mask(const tile_group *g, tile_part *s)
{
    if (!g->masked) return;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) TILE_UNROLL
    for (int i = 0; i < 8; i++)
        if (g->outside_places[j] >> (8 * (i >> 2) + 2 * g->t + (i & 1)) & 1)
            s[j].v[0][i] = -__int_as_float(0x7f800000);
}
TILE_FN void tile_half_row_max(const tile_group *g, tile_part_row *d, const tile_part *s)
{
    (void)g;
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        float x = s[0].v[0][2 * i];
        TILE_UNROLL
        for (int j = 0; j < 4; j++) {
            const float *v = &s[j].v[0][2 * i];
            x = tile_larger(tile_larger(x, tile_larger(v[0], v[1])), tile_larger(v[4], v[5]));
        }
        x = tile_larger(x, __shfl_xor_sync(0xffffffffu, x, 1));
        d->v[0][i] = tile_larger(x, __shfl_xor_sync(0xffffffffu, x, 2));
    }
}
TILE_FN void tile_half_exp2(const tile_group *g, tile_part *s, const tile_part_row *top)
{
    tile_exp2_256(g, s, top);
}
TILE_FN void tile_half_row_reciprocal_sum(const tile_group *g, tile_part_row *d, const tile_part *s)
{
    (void)g;
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        float sum = 0.0f;
        TILE_UNROLL
        for (int j = 0; j < 4; j++) {
            const float *v = &s[j].v[0][2 * i];
            sum += (v[0] + v[1]) + (v[4] + v[5]);
        }
        d->v[0][i] = __frcp_rn(tile_quad_sum(sum));
    }
}
TILE_FN void tile_half_part_round(const tile_group *g, tile_part_half *d, const tile_part *s)
{
    tile_half_round(g, d, s);
}
TILE_FN void tile_half_weigh(const tile_group *g, tile_part *y, const tile_keys *keys, int m,
                             const tile_part_half *p)
{
    (void)keys;
    tile_half_zero(g, y);
    TILE_UNROLL
    for (int j = 0; j < 4; j++)
        tile_half_product(y, p[j].v[0], *((const uint4 *)(g->keys + 4096 + (2 * j + m) * 512) + g->lane));
}
TILE_FN void tile_half_part_scaled_bias(const tile_group *g, tile_half *d, int part, const tile_part *y,
                                        const tile_part_row *scale, const unsigned char *bias, int m)
{
    tile_f32 x = *y;
    (void)part;
    TILE_UNROLL
    for (int i = 0; i < 8; i++) x.v[0][i] *= scale->v[0][(i >> 1) & 1];
    tile_add_bias(g, &x, bias, m);
    tile_half_round(g, d, &x);
}

#endif
