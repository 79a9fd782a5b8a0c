/* What preset K adds to the vocabulary on the CPU: f16 operands and windows of 64 tokens. Included after tile_cpu.h, which
 * TILE_WINDOWS 4 and TILE_HALF give 64 token lanes and f32 operands.
 *
 * A group is a whole window: lane 16p + i is token i of place p (D4R_K_TOKEN_ROW). Operands hold values that are exact in
 * f16, as f32: products of two are exact in f32. Conversions go through f32, then to f16, nearest even, saturating. */
#ifndef D4R_HIP_KERNELS_TILE_HALF_CPU_H
#define D4R_HIP_KERNELS_TILE_HALF_CPU_H

#include "models/format/k_layout.h"

typedef tile_fp8 tile_half; /* f32 [16][lanes] */
typedef tile_half tile_coarse;
/* Softmax: all places at once. */
#define TILE_PARTS 1
typedef tile_f32 tile_part;
typedef tile_half tile_part_half;
typedef tile_row tile_part_row;
typedef struct tile_chunk {
    const unsigned char *panels;  /* 16x16 panels [input][output] f32, 1024 bytes a tile */
    const unsigned char *vectors; /* the chunk in the image */
} tile_chunk;
typedef struct tile_keys {
    tile_half k[2], v[2];
} tile_keys;

#define TILE_HALF_PANEL_SCALE 2 /* bytes of the prepared image for each byte of the image */
#define TILE_EACH_ROW(r, t)      \
    for (int r = 0; r < 16; r++) \
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)

/* ---- f16 ------------------------------------------------------------------------------------------------------ */

/* To the f16 grid; a NaN stays one, the sign of a zero may be lost. */
TILE_FN tile_vf tile_half_value(tile_vf x)
{
    x = tile_at_least(tile_at_most(x, tile_splat(D4R_K_HALF_MAX)), tile_splat(-D4R_K_HALF_MAX));
    tile_vf power = (tile_vf)((tile_vi)x & tile_splat_i(TILE_INF));
    tile_vf magic = tile_at_least(power, tile_splat(0x1p-14f)) * tile_splat(0x1.8p13f);
    return (x + magic) - magic;
}
/* Bits in the low halves of 32-bit lanes to values. */
TILE_FN tile_vf tile_half_decode(tile_vi bits)
{
    tile_vi a = (bits & 0x7fff) << 13;
    tile_vf v = (tile_vf)a * tile_splat(0x1p112f);
    tile_vi special = (a >= (0x7c00 << 13)) & tile_splat_i(TILE_INF);
    return (tile_vf)((tile_vi)v | special | ((bits & 0x8000) << 16));
}
/* The bits of the nearest f16 value, saturating; NaN gives 0x7e00. */
TILE_FN tile_vi tile_half_encode(tile_vf x)
{
    tile_vi a = (tile_vi)tile_half_value(x) & TILE_ABS;
    tile_vi normal = (a >> 13) - (112 << 10);
    tile_vi small = (tile_vi)((tile_vf)a + tile_splat(0.5f)) - (tile_vi)tile_splat(0.5f);
    tile_vi is_small = a<(113 << 23), is_nan = a> TILE_INF;
    tile_vi code = (is_small & small) | (~is_small & normal);
    code = (is_nan & 0x7e00) | (~is_nan & code);
    return code | (((tile_vi)x >> 16) & 0x8000);
}

/* ---- windows and tokens --------------------------------------------------------------------------------------- */

TILE_FN void tile_open_half(tile_group *g, const d4r_m_args *a, int window)
{
    const int top = window / a->windows_x * 8 - a->shift, left = window % a->windows_x * 8 - a->shift;
    g->masked = 0;
    g->fine_columns = 2 * a->columns;
    for (int t = 0; t < TILE_LANES; t++) {
        const int row = top + D4R_K_TOKEN_ROW(t / 16, t % 16),
                  column = left + D4R_K_TOKEN_COLUMN(t / 16, t % 16);
        const int inside = column >= 0 && row >= 0 && column < a->columns && row < a->rows;
        g->token[t] = inside ? row * a->columns + column : -1;
        g->fine[t] = inside ? 2 * row * g->fine_columns + 2 * column : -1;
        g->coarse[t] = inside ? row / 2 * (a->columns / 2) + column / 2 : -1;
        g->key_mask[t] = inside ? 0.0f : -__builtin_inff();
        g->masked |= !inside;
    }
}
/* Sixteen channels of each lane's token as eight words of two values. index < 0: zeros. */
TILE_FN void tile_half_gather(float *rows[16], const unsigned char *tokens, const int32_t *index, int offset,
                              int tiles, int k)
{
    uint32_t words[8][TILE_LANES] TILE_ALIGNED;
    for (int t = 0; t < TILE_LANES; t++) {
        uint32_t w[8] = {0};
        if (index[t] >= 0)
            memcpy(w, tokens + (size_t)(index[t] + offset) * (size_t)(32 * tiles) + 32 * k, 32);
        for (int i = 0; i < 8; i++) words[i][t] = w[i];
    }
    for (int i = 0; i < 8; i++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vi w = *(const tile_vi *)&words[i][t];
            tile_store(rows[2 * i] + t, tile_half_decode(w & 0xffff));
            tile_store(rows[2 * i + 1] + t, tile_half_decode(w >> 16 & 0xffff));
        }
}
TILE_FN void tile_half_get(float v[16][TILE_LANES], const unsigned char *tokens, const int32_t *index,
                           int offset, int tiles, int k)
{
    float *rows[16];
    for (int r = 0; r < 16; r++) rows[r] = v[r];
    tile_half_gather(rows, tokens, index, offset, tiles, k);
}
TILE_FN void tile_half_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    tile_half_get(x->v, tokens, g->token, 0, tiles, k);
}
TILE_FN void tile_half_read_add(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles,
                                int k)
{
    tile_f32 y;
    tile_half_get(y.v, tokens, g->token, 0, tiles, k);
    TILE_EACH_ROW(r, t) tile_store(&x->v[r][t], tile_load(&x->v[r][t]) + tile_load(&y.v[r][t]));
}
TILE_FN void tile_half_read_fine(const tile_group *g, tile_half *d, const unsigned char *tokens, int tiles,
                                 int q, int k)
{
    tile_half_get(d->v, tokens, g->fine, tile_fine_offset(g, q), tiles, k);
}
TILE_FN void tile_half_read_coarse(const tile_group *g, tile_half *d, const unsigned char *tokens, int tiles,
                                   int k)
{
    tile_half_get(d->v, tokens, g->coarse, 0, tiles, k);
}
TILE_FN void tile_half_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int channels,
                             int k)
{
    uint32_t words[8][TILE_LANES] TILE_ALIGNED;
    const size_t bytes = (size_t)(channels - 16 * k < 16 ? 2 * (channels - 16 * k) : 32);
    for (int i = 0; i < 8; i++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
            *(tile_vi *)&words[i][t] = tile_half_encode(tile_load(&x->v[2 * i][t])) |
                                       tile_half_encode(tile_load(&x->v[2 * i + 1][t])) << 16;
    for (int t = 0; t < TILE_LANES; t++) {
        uint32_t w[8];
        if (g->token[t] < 0) continue;
        for (int i = 0; i < 8; i++) w[i] = words[i][t];
        memcpy(tokens + (size_t)g->token[t] * (size_t)(2 * channels) + 32 * k, w, bytes);
    }
}

/* ---- operands ------------------------------------------------------------------------------------------------- */

TILE_FN void tile_half_round(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    (void)g;
    TILE_EACH_ROW(r, t) tile_store(&d->v[r][t], tile_half_value(tile_load(&x->v[r][t])));
}
TILE_FN void tile_half_round_scaled(const tile_group *g, tile_half *d, const tile_f32 *x,
                                    const tile_row *scale)
{
    (void)g;
    TILE_EACH_ROW(r, t)
    tile_store(&d->v[r][t], tile_half_value(tile_load(&x->v[r][t]) * tile_load(&scale->v[t])));
}
TILE_FN void tile_half_act(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    tile_f32 y = *x;
    tile_act(g, &y);
    tile_half_round(g, d, &y);
}

/* ---- products ------------------------------------------------------------------------------------------------- */

TILE_FN tile_chunk tile_bring(const tile_group *g, const d4r_m_args *a, int offset, int bytes)
{
    (void)g;
    (void)bytes;
    return (tile_chunk){a->panels + (size_t)offset * TILE_HALF_PANEL_SCALE, a->weights + offset};
}
TILE_FN const unsigned char *tile_chunk_vector(tile_chunk c, int offset)
{
    return c.vectors + offset;
}
TILE_FN const unsigned char *tile_chunk_table(tile_chunk c, int offset)
{
    return c.panels + (size_t)offset * TILE_HALF_PANEL_SCALE;
}
TILE_FN tile_chunk tile_chunk_part(tile_chunk c, int offset)
{
    return (tile_chunk){c.panels + (size_t)offset * TILE_HALF_PANEL_SCALE, c.vectors + offset};
}
TILE_FN const unsigned char *tile_table_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    (void)g;
    return a->panels + (size_t)offset * TILE_HALF_PANEL_SCALE;
}
TILE_FN void tile_half_zero(const tile_group *g, tile_f32 *x)
{
    (void)g;
    memset(x, 0, sizeof(*x));
}
TILE_FN const unsigned char *tile_half_panel(tile_chunk w, int offset, int tile)
{
    return w.panels + (size_t)TILE_HALF_PANEL_SCALE * (size_t)(offset + tile * D4R_K_TILE_BYTES);
}
TILE_FN void tile_half_mul(const tile_group *g, tile_f32 *acc, tile_chunk w, int offset, int stride, int row,
                           int column, const tile_half *x, int tiles)
{
    (void)g;
    tile_mul_rows(acc, tile_half_panel(w, offset, row * stride + column), x, tiles);
}
TILE_FN void tile_half_mul_t(const tile_group *g, tile_f32_t *acc, tile_chunk w, int offset, int stride,
                             int row, const tile_half *x, int tiles)
{
    tile_half_mul(g, acc, w, offset, stride, row, 0, x, tiles);
}
/* Each place's lanes have their own rows. */
TILE_FN void tile_half_mul_place(const tile_group *g, tile_f32 *acc, tile_chunk w, int offset, int rows,
                                 int stride, int row, const tile_coarse *x, int tiles)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        const unsigned char *tile = tile_half_panel(w, offset, (t / 16 * rows + row) * stride);
        const float *panel = (const float *)(const void *)tile;
        tile_vf sum[16];
        for (int r = 0; r < 16; r++) sum[r] = tile_load(&acc->v[r][t]);
        for (int k = 0; k < tiles; k++)
            for (int c = 0; c < 16; c++) {
                const tile_vf in = tile_load(&x[k].v[c][t]);
                const float *column = panel + (k * 16 + c) * 16;
                for (int r = 0; r < 16; r++) sum[r] = tile_fma_exact(tile_splat(column[r]), in, sum[r]);
            }
        for (int r = 0; r < 16; r++) tile_store(&acc->v[r][t], sum[r]);
    }
}
TILE_FN void tile_bias_place(const tile_group *g, tile_f32 *x, const unsigned char *bias, int rows, int row)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
        for (int r = 0; r < 16; r++) {
            float b;
            memcpy(&b, bias + 64 * (t / 16 * rows + row) + 4 * r, 4);
            tile_store(&x->v[r][t], tile_splat(b));
        }
}

/* ---- attention ------------------------------------------------------------------------------------------------ */

TILE_FN void tile_share_keys(const tile_group *g, tile_keys *keys, const tile_f32 *k, int m)
{
    tile_half_round(g, &keys->k[m], k);
}
TILE_FN void tile_share_values(const tile_group *g, tile_keys *keys, const tile_f32_t *v, int m)
{
    tile_half_round(g, &keys->v[m], v);
}
TILE_FN void tile_meet(const tile_group *g)
{
    (void)g;
}
/* s[key][query] += k q for the keys of place j, eight at a time; y = v p. */
static __attribute__((noinline)) void tile_half_keys_by_queries(tile_f32 *s, const tile_half *k,
                                                                const tile_half *q, int j)
{
    for (int r = 0; r < 16; r += 8)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf a[8];
            for (int i = 0; i < 8; i++) a[i] = tile_load(&s->v[r + i][t]);
            for (int m = 0; m < 2; m++)
                for (int c = 0; c < 16; c++) {
                    const tile_vf x = tile_load(&q[m].v[c][t]);
                    const float *row = &k[m].v[c][16 * j + r];
                    for (int i = 0; i < 8; i++) a[i] = tile_fma_exact(tile_splat(row[i]), x, a[i]);
                }
            for (int i = 0; i < 8; i++) tile_store(&s->v[r + i][t], a[i]);
        }
}
static __attribute__((noinline)) void tile_half_values_by_queries(tile_f32 *y, const tile_half *v,
                                                                  const tile_half *p)
{
    for (int r = 0; r < 16; r += 8)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf a[8] = {{0}};
            for (int j = 0; j < 4; j++)
                for (int c = 0; c < 16; c++) {
                    const tile_vf x = tile_load(&p[j].v[c][t]);
                    for (int i = 0; i < 8; i++)
                        a[i] = tile_fma_exact(tile_splat(v->v[r + i][16 * j + c]), x, a[i]);
                }
            for (int i = 0; i < 8; i++) tile_store(&y->v[r + i][t], a[i]);
        }
}
/* The prepared relative bias of a head: [key's place][key][query lane]. */
TILE_FN void tile_half_scores(const tile_group *g, tile_part *s, const tile_keys *keys, int j,
                              const tile_half *q, int part, const unsigned char *rel_bias)
{
    (void)g;
    (void)part;
    memcpy(s->v, rel_bias + (size_t)j * sizeof(s->v), sizeof(s->v));
    tile_half_keys_by_queries(s, keys->k, q, j);
}
TILE_FN void tile_half_mask(const tile_group *g, tile_f32 *s)
{
    if (!g->masked) return;
    for (int j = 0; j < 4; j++) TILE_EACH_ROW(r, t)
    tile_store(&s[j].v[r][t], tile_load(&s[j].v[r][t]) + tile_splat(g->key_mask[16 * j + r]));
}
TILE_FN void tile_half_row_max(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        tile_vf m = tile_load(&s[0].v[0][t]);
        for (int i = 1; i < 64; i++) m = tile_at_least(tile_load(&s[i / 16].v[i % 16][t]), m);
        tile_store(&d->v[t], m);
    }
}
/* 2^x in double precision, below one part in 2^41, then rounded to f32: the correctly rounded value but for one case in
 * some thousands. Multiplications and additions stay separate, so that every level gives the same bits. */
TILE_FN tile_vf tile_half_exp2_value(tile_vf x)
{
    typedef double wide __attribute__((vector_size(8 * TILE_VECTOR)));
    static const double c[] = {1.0,
                               0.69314718055994530942,
                               0.24022650695910071233,
                               0.055504108664821579953,
                               0.0096181291076284771620,
                               0.0013333558146428443423,
                               1.5403530393381609954e-4,
                               1.5252733804059840280e-5,
                               1.3215486790144309488e-6,
                               1.0178086009239699728e-7,
                               7.0549116208011233299e-9};
    const tile_vf magic = tile_splat(0x1.8p23f), z = x + magic; /* the nearest integer in the low bits */
    const wide f = __builtin_convertvector(x - (z - magic), wide);
    wide p = f * c[10] + c[9];
    for (int i = 8; i >= 0; i--) p = p * f + c[i];
    const tile_vi power = ((tile_vi)z << 23) + tile_splat_i(127 << 23);
    return __builtin_convertvector(p, tile_vf) * (tile_vf)power;
}
/* s = 256 * 2^(s - top) */
TILE_FN void tile_half_exp2(const tile_group *g, tile_f32 *s, const tile_row *top)
{
    (void)g;
    TILE_EACH_ROW(r, t)
    {
        tile_vf x = tile_load(&s->v[r][t]) - (tile_load(&top->v[t]) - tile_splat(8.0f));
        tile_store(&s->v[r][t], tile_half_exp2_value(tile_at_least(x, tile_splat(-126.0f))));
    }
}
/* 1 / sum: each place's keys of a half in pairs, then the places, then the halves: the order of every machine. */
TILE_FN void tile_half_row_reciprocal_sum(const tile_group *g, tile_part_row *d, const tile_part *s)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        tile_vf half[2];
        for (int h = 0; h < 2; h++) {
            tile_vf place[4];
            for (int j = 0; j < 4; j++) {
                tile_vf v[8];
                for (int r = 0; r < 8; r++) v[r] = tile_load(&s[j].v[8 * h + r][t]);
                place[j] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
            }
            half[h] = (place[0] + place[1]) + (place[2] + place[3]);
        }
        tile_store(&d->v[t], tile_splat(1.0f) / (half[0] + half[1]));
    }
}
TILE_FN void tile_half_part_round(const tile_group *g, tile_part_half *d, const tile_part *s)
{
    tile_half_round(g, d, s);
}
TILE_FN void tile_half_weigh(const tile_group *g, tile_part *y, const tile_keys *keys, int m,
                             const tile_part_half *p)
{
    (void)g;
    tile_half_values_by_queries(y, &keys->v[m], p);
}
TILE_FN void tile_half_part_scaled_bias(const tile_group *g, tile_half *d, int part, const tile_part *y,
                                        const tile_part_row *scale, const unsigned char *bias, int m)
{
    tile_f32 b;
    (void)part;
    tile_bias(g, &b, bias, m);
    TILE_EACH_ROW(r, t)
    {
        const tile_vf x = tile_fma(tile_load(&y->v[r][t]), tile_load(&scale->v[t]), tile_load(&b.v[r][t]));
        tile_store(&d->v[r][t], tile_half_value(x));
    }
}

#endif
