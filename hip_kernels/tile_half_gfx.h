/* What preset K adds to the vocabulary on gfx11 and gfx12: f16 operands and windows of 64 tokens.
 *
 * The tokens of one place of the 2x2 groups (D4R_K_TOKEN_ROW) are a tile of 16; a wave owns TILE_WINDOWS (1, 2 or 4) places
 * of a window, and four, two or one waves own the window. Products are, as in preset M, weights x activations: register r
 * of half h of an accumulator is channel (or key) 8h + r of the lane's token. The waves of a workgroup read weights from
 * chunks that they bring into LDS together, and the keys and values of a head from 8 KiB of LDS a window; on gfx12 a wave
 * that owns the whole window keeps them in registers. A window that does not exist is worked on as the last one again and
 * not stored.
 *
 * gfx12: an operand is eight values a lane, half h the channels 8h .. 8h + 7. gfx11: all sixteen in every lane, lanes 16-31
 * repeat lanes 0-15; rows of prepared weights and of keys are permuted (tile_half_slot) so that accumulators come out as
 * above.
 *
 * Conversions to f16 go through v_fma_mix: f32 first, then f16, nearest even; tile_start_half() makes them saturate. */
#ifndef D4R_HIP_KERNELS_TILE_HALF_GFX_H
#define D4R_HIP_KERNELS_TILE_HALF_GFX_H

#include "models/format/k_layout.h"

typedef _Float16 tile_f16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 tile_f16x8 __attribute__((ext_vector_type(8)));
typedef int tile_words __attribute__((ext_vector_type(4)));

#if defined(__GFX11__)
typedef tile_v8i tile_operand;
#else
typedef tile_words tile_operand;
#endif
typedef struct tile_half {
    tile_operand v[TILE_WINDOWS];
} tile_half;
typedef tile_operand tile_coarse; /* the 16 coarser tokens are those of every place */
/* One place at a time: softmax. */
#define TILE_PARTS TILE_WINDOWS
typedef tile_v8f tile_part;
typedef tile_operand tile_part_half;
typedef float tile_part_row;

typedef struct tile_chunk {
    const unsigned char *base; /* uniform, in LDS */
} tile_chunk;
#if TILE_WINDOWS == 4 && !defined(__GFX11__)
#define TILE_KEYS_IN_REGISTERS
#endif
typedef struct tile_keys {
#ifdef TILE_KEYS_IN_REGISTERS
    tile_operand k[2][4], v[2][4];
#else
    int none; /* keys and values are in LDS */
#endif
} tile_keys;

/* Lets finite values saturate at 65504 (MODE.FP16_OVFL, bit 23). */
TILE_FN void tile_start_half(void)
{
    __builtin_amdgcn_s_setreg(1 | 23 << 6, 1);
}

/* ---- windows -------------------------------------------------------------------------------------------------- */

/* `wave`: number of the wave within its window. */
TILE_FN void tile_open_half(tile_group *g, const d4r_m_args *a, int window, int wave, unsigned char *memory,
                            unsigned char *keys)
{
    const int exists = window < a->windows, last = exists ? window : a->windows - 1;
    const int window_y = last / a->windows_x, window_x = last - window_y * a->windows_x;
    const int top = 8 * window_y - a->shift, left = 8 * window_x - a->shift;
    g->lane = (int)(__builtin_amdgcn_workitem_id_x() & 31);
    g->half = g->lane >> 4;
    g->place = wave * TILE_WINDOWS;
    g->fine_columns = 2 * a->columns;
    g->masked = top < 0 || left < 0 || top + 8 > a->rows || left + 8 > a->columns;
    g->memory = memory;
    g->keys = keys;
    g->staged = memory;
    g->matrices_first = g->matrices_end = g->vectors_first = g->vectors_end = 0;
    g->one = 1.0f;
    asm("" : "+s"(g->one));
    const int i = g->lane & 15, row0 = top + D4R_K_TOKEN_ROW(0, i), column0 = left + D4R_K_TOKEN_COLUMN(0, i);
    TILE_EACH_WINDOW(w)
    {
        const int place = g->place + w, row = row0 + (place >> 1), column = column0 + (place & 1);
        const int r = tile_clamp(row, a->rows - 1), c = tile_clamp(column, a->columns - 1);
        g->inside[w] = exists && r == row && c == column;
        g->token[w] = r * a->columns + c;
        g->fine[w] = 2 * r * g->fine_columns + 2 * c;
        if (w == 0) g->coarse = (r >> 1) * (a->columns >> 1) + (c >> 1);
    }
    g->outside_places[0] = g->outside_places[1] = g->outside_places[2] = g->outside_places[3] = 0;
    if (!g->masked) return;
    TILE_UNROLL
    for (int p = 0; p < 4; p++) {
        const int row = row0 + (p >> 1), column = column0 + (p & 1);
        const int in = row >= 0 && column >= 0 && row < a->rows && column < a->columns;
        g->outside_places[p] = ~__builtin_amdgcn_ballot_w32(in) & 0xffffu;
    }
}

/* ---- f16 ------------------------------------------------------------------------------------------------------ */

TILE_FN int tile_half_pair(float x, float y, float scale, float add_x, float add_y)
{
    tile_f16x2 d;
    d.x = (_Float16)__builtin_fmaf(x, scale, add_x);
    d.y = (_Float16)__builtin_fmaf(y, scale, add_y);
    return __builtin_bit_cast(int, d);
}
TILE_FN tile_words tile_half_pack(tile_v8f v, float scale)
{
    const tile_words d = {
        tile_half_pair(v[0], v[1], scale, 0.0f, 0.0f), tile_half_pair(v[2], v[3], scale, 0.0f, 0.0f),
        tile_half_pair(v[4], v[5], scale, 0.0f, 0.0f), tile_half_pair(v[6], v[7], scale, 0.0f, 0.0f)};
    return d;
}
/* Operand of the lane's own eight values. */
TILE_FN tile_operand tile_half_spread(const tile_group *g, tile_words own)
{
#if defined(__GFX11__)
    return tile_spread(g, own);
#else
    (void)g;
    return own;
#endif
}
TILE_FN void tile_half_round(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_half_spread(g, tile_half_pack(x->v[w], g->one));
}
TILE_FN void tile_half_round_scaled(const tile_group *g, tile_half *d, const tile_f32 *x,
                                    const tile_row *scale)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_half_spread(g, tile_half_pack(x->v[w], scale->v[w]));
}
/* act(x) */
TILE_FN void tile_half_act(const tile_group *g, tile_half *d, const tile_f32 *x)
{
    TILE_EACH_WINDOW(w)
    {
        tile_words own;
        TILE_UNROLL
        for (int i = 0; i < 4; i++) {
            tile_f16x2 pair;
            TILE_UNROLL
            for (int j = 0; j < 2; j++) {
                const float y = x->v[w][2 * i + j], c = __builtin_amdgcn_fmed3f(y, -2.4f, 2.4f);
                const float slope = __builtin_fmaf(__builtin_fabsf(c), -0.081f, 0.412f);
                pair[j] = (_Float16)__builtin_fmaf(y, __builtin_fmaf(c, slope, 0.5f), 0.0f);
            }
            own[i] = __builtin_bit_cast(int, pair);
        }
        d->v[w] = tile_half_spread(g, own);
    }
}

/* ---- tokens --------------------------------------------------------------------------------------------------- */

TILE_FN tile_words tile_half_load(const tile_group *g, const unsigned char *tokens, int index, int tiles,
                                  int k)
{
    return *(const tile_words *)(tokens + (unsigned)(index * (32 * tiles) + 16 * g->half) + 32 * k);
}
TILE_FN void tile_half_read_add(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles,
                                int k)
{
    TILE_EACH_WINDOW(w)
    {
        const tile_f16x8 v = __builtin_bit_cast(tile_f16x8, tile_half_load(g, tokens, g->token[w], tiles, k));
        TILE_UNROLL
        for (int i = 0; i < 8; i++) x->v[w][i] = __builtin_fmaf((float)v[i], g->one, x->v[w][i]);
    }
}
TILE_FN void tile_half_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    TILE_EACH_WINDOW(w) x->v[w] = (tile_v8f)0.0f;
    tile_half_read_add(g, x, tokens, tiles, k);
}
/* Operands: place q of the 2x2 finer tokens; the coarser token above. */
TILE_FN void tile_half_read_fine(const tile_group *g, tile_half *d, const unsigned char *tokens, int tiles,
                                 int q, int k)
{
    TILE_EACH_WINDOW(w)
    d->v[w] = tile_half_spread(g, tile_half_load(g, tokens, g->fine[w] + tile_fine_offset(g, q), tiles, k));
}
TILE_FN void tile_half_read_coarse(const tile_group *g, tile_coarse *d, const unsigned char *tokens,
                                   int tiles, int k)
{
    *d = tile_half_spread(g, tile_half_load(g, tokens, g->coarse, tiles, k));
}
/* Channels 16k .. of tokens of `channels` (a multiple of 8) values. */
TILE_FN void tile_half_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int channels,
                             int k)
{
    TILE_EACH_WINDOW(w)
    {
        const tile_words own = tile_half_pack(x->v[w], g->one);
        int d[4] = {own.x, own.y, own.z, own.w};
        /* Complete before the branch: the compiler would move products into it, where lanes are missing. */
        asm volatile("" : "+v"(d[0]), "+v"(d[1]), "+v"(d[2]), "+v"(d[3]));
        const tile_words out = {d[0], d[1], d[2], d[3]};
        if (g->inside[w] && (16 * k + 8 < channels || !g->half))
            *(tile_words *)(tokens + (unsigned)(g->token[w] * (2 * channels) + 16 * g->half) + 32 * k) = out;
    }
}

/* ---- the workgroup's memory ----------------------------------------------------------------------------------- */

TILE_FN void tile_half_barrier(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/* Replaces the chunk in LDS (and frees the keys): every wave of the workgroup, the same part of the layer's weights.
 * `bytes` is a literal multiple of 16. */
TILE_FN tile_chunk tile_bring(const tile_group *g, const d4r_m_args *a, int offset, const int bytes)
{
    enum { step = 16 * TILE_HALF_THREADS };
    const unsigned at = 16 * __builtin_amdgcn_workitem_id_x();
    const unsigned char *from = a->panels + offset;
    tile_words part[D4R_K_MAX_CHANNELS / 16 + 1];
    TILE_UNROLL
    for (int i = 0; i < bytes / step; i++) part[i] = *(const tile_words *)(from + i * step + at);
    if (bytes % step != 0 && (int)at < bytes % step)
        part[bytes / step] = *(const tile_words *)(from + bytes / step * step + at);
    tile_half_barrier();
    TILE_UNROLL
    for (int i = 0; i < bytes / step; i++) *(tile_words *)(g->memory + i * step + at) = part[i];
    if (bytes % step != 0 && (int)at < bytes % step)
        *(tile_words *)(g->memory + bytes / step * step + at) = part[bytes / step];
    tile_half_barrier();
    const tile_chunk chunk = {g->memory};
    return chunk;
}

/* ---- products ------------------------------------------------------------------------------------------------- */

#if defined(__GFX11__)
/* Row r of the wave's product is item 8 (r & 1) + r / 2; the slot of item i is where that row looks. */
TILE_FN int tile_half_slot(int item)
{
    return 2 * (item & 7) + (item >> 3);
}
TILE_FN tile_v8f tile_half_wmma(tile_operand a, tile_operand b, tile_v8f c)
{
    return tile_wmma(a, b, c);
}
TILE_FN tile_operand tile_half_rows(const tile_group *g, const unsigned char *tile)
{
    const tile_words *p = (const tile_words *)(tile + (unsigned)(16 * (g->lane & 15)));
    const tile_words low = p[0], high = p[16];
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
/* A product with the operands swapped: register r of half h is token 2r + h. To tokens 8h .. 8h + 7 in order. */
TILE_FN tile_words tile_half_values(const tile_group *g, tile_v8f v)
{
    const tile_words own = tile_half_pack(v, g->one);
    const int keep0 = g->half ? own[2] : own[0], keep1 = g->half ? own[3] : own[1];
    const int other0 = tile_other_bits(g->half ? own[0] : own[2]),
              other1 = tile_other_bits(g->half ? own[1] : own[3]);
    const int even0 = g->half ? other0 : keep0, even1 = g->half ? other1 : keep1;
    const int odd0 = g->half ? keep0 : other0, odd1 = g->half ? keep1 : other1;
    const tile_words d = {(int)__builtin_amdgcn_perm(odd0, even0, 0x05040100),
                          (int)__builtin_amdgcn_perm(odd0, even0, 0x07060302),
                          (int)__builtin_amdgcn_perm(odd1, even1, 0x05040100),
                          (int)__builtin_amdgcn_perm(odd1, even1, 0x07060302)};
    return d;
}
#else
TILE_FN int tile_half_slot(int item)
{
    return item;
}
TILE_FN tile_v8f tile_half_wmma(tile_operand a, tile_operand b, tile_v8f c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(tile_f16x8, a),
                                                            __builtin_bit_cast(tile_f16x8, b), c);
}
TILE_FN tile_operand tile_half_rows(const tile_group *g, const unsigned char *tile)
{
    return *(const tile_words *)(tile + (unsigned)(16 * g->lane));
}
TILE_FN tile_words tile_half_values(const tile_group *g, tile_v8f v)
{
    return tile_half_pack(v, g->one);
}
#endif

TILE_FN void tile_half_zero(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w) x->v[w] = (tile_v8f)0.0f;
}
/* acc += W x: tile (row, column) of the chunk's matrix at `offset`, `stride` tiles a row. */
TILE_FN void tile_half_mul(const tile_group *g, tile_f32 *acc, tile_chunk c, int offset, int stride, int row,
                           int column, const tile_half *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_operand a =
            tile_half_rows(g, c.base + offset + (row * stride + column + k) * D4R_K_TILE_BYTES);
        TILE_EACH_WINDOW(w) acc->v[w] = tile_half_wmma(a, x[k].v[w], acc->v[w]);
    }
}
/* The same for a matrix whose first rows depend on the place: row + place * rows. */
TILE_FN void tile_half_mul_place(const tile_group *g, tile_f32 *acc, tile_chunk c, int offset, int rows,
                                 int stride, int row, const tile_coarse *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_EACH_WINDOW(w)
    {
        const unsigned char *tile =
            c.base + offset + ((g->place + w) * rows + row) * stride * D4R_K_TILE_BYTES;
        TILE_UNROLL
        for (int k = 0; k < tiles; k++)
            acc->v[w] = tile_half_wmma(tile_half_rows(g, tile + k * D4R_K_TILE_BYTES), x[k], acc->v[w]);
    }
}
TILE_FN void tile_half_mul_t(const tile_group *g, tile_f32_t *acc, tile_chunk c, int offset, int stride,
                             int row, const tile_half *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_operand b = tile_half_rows(g, c.base + offset + (row * stride + k) * D4R_K_TILE_BYTES);
        TILE_EACH_WINDOW(w) acc->v[w] = tile_half_wmma(x[k].v[w], b, acc->v[w]);
    }
}
TILE_FN void tile_bias_place(const tile_group *g, tile_f32 *x, const unsigned char *bias, int rows, int row)
{
    TILE_EACH_WINDOW(w) x->v[w] = tile_bias_values(g, bias + 64 * (g->place + w) * rows, row);
}
/* A table of the layer that is not brought. */
TILE_FN const unsigned char *tile_table_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    (void)g;
    return a->panels + offset;
}
TILE_FN const unsigned char *tile_chunk_vector(tile_chunk c, int offset)
{
    return c.base + offset;
}
TILE_FN const unsigned char *tile_chunk_table(tile_chunk c, int offset)
{
    return c.base + offset;
}
TILE_FN tile_chunk tile_chunk_part(tile_chunk c, int offset)
{
    const tile_chunk part = {c.base + offset};
    return part;
}

/* ---- attention ------------------------------------------------------------------------------------------------ */

#ifdef TILE_KEYS_IN_REGISTERS
TILE_FN void tile_share_keys(const tile_group *g, tile_keys *keys, const tile_f32 *k, int m)
{
    TILE_EACH_WINDOW(w) keys->k[m][w] = tile_half_pack(k->v[w], g->one);
}
TILE_FN void tile_share_values(const tile_group *g, tile_keys *keys, const tile_f32_t *v, int m)
{
    TILE_EACH_WINDOW(w) keys->v[m][w] = tile_half_values(g, v->v[w]);
}
TILE_FN void tile_meet(const tile_group *g)
{
    (void)g;
}
TILE_FN tile_operand tile_keys_of(const tile_group *g, const tile_keys *keys, int j, int m)
{
    (void)g;
    return keys->k[m][j];
}
TILE_FN tile_operand tile_values_of(const tile_group *g, const tile_keys *keys, int j, int m)
{
    (void)g;
    return keys->v[m][j];
}
#else
/* Keys: tile (place, m) at 2 * place + m of the window's memory; values behind them. */
TILE_FN void tile_share_keys(const tile_group *g, tile_keys *keys, const tile_f32 *k, int m)
{
    unsigned char *own = g->keys + 256 * g->half + 16 * tile_half_slot(g->lane & 15);
    (void)keys;
    TILE_EACH_WINDOW(w) * (tile_words *)(own + (2 * (g->place + w) + m) * 512) =
        tile_half_pack(k->v[w], g->one);
}
TILE_FN void tile_share_values(const tile_group *g, tile_keys *keys, const tile_f32_t *v, int m)
{
    unsigned char *own = g->keys + 4096 + 16 * g->lane;
    (void)keys;
    TILE_EACH_WINDOW(w) * (tile_words *)(own + (2 * (g->place + w) + m) * 512) = tile_half_values(g, v->v[w]);
}
/* All waves of the window have shared theirs. */
TILE_FN void tile_meet(const tile_group *g)
{
    (void)g;
    tile_half_barrier();
}
TILE_FN tile_operand tile_keys_of(const tile_group *g, const tile_keys *keys, int j, int m)
{
    (void)keys;
    return tile_half_rows(g, g->keys + (2 * j + m) * 512);
}
TILE_FN tile_operand tile_values_of(const tile_group *g, const tile_keys *keys, int j, int m)
{
    (void)keys;
    return tile_half_rows(g, g->keys + 4096 + (2 * j + m) * 512);
}
#endif
/* s = relative bias + k q for the keys of place j and the queries of a part. */
TILE_FN void tile_half_scores(const tile_group *g, tile_part *s, const tile_keys *keys, int j,
                              const tile_half *q, int part, const unsigned char *rel_bias)
{
    if (j == 0) __builtin_amdgcn_sched_barrier(0); /* a part after the other */
    const tile_v4f *b =
        (const tile_v4f *)(rel_bias + (4 * (g->place + part) + j) * 1024 + (unsigned)(16 * g->lane));
    const tile_v4f low = b[0], high = b[32];
    *s = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    TILE_UNROLL
    for (int m = 0; m < 2; m++) *s = tile_half_wmma(tile_keys_of(g, keys, j, m), q[m].v[part], *s);
}
TILE_FN void tile_half_mask(const tile_group *g, tile_part *s)
{
    if (!g->masked) return;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) {
        unsigned outside = g->outside_places[j] >> (8 * g->half);
        asm volatile("" : "+v"(outside)); /* stays in the branch */
        TILE_UNROLL
        for (int r = 0; r < 8; r++)
            if (outside >> r & 1) s[j][r] = -__builtin_inff();
    }
}
TILE_FN void tile_half_row_max(const tile_group *g, tile_part_row *d, const tile_part *s)
{
    (void)g;
    float m = s[0][0];
    TILE_UNROLL
    for (int j = 0; j < 4; j++) TILE_UNROLL
    for (int r = j == 0; r < 8; r++) m = __builtin_fmaxf(m, s[j][r]);
    *d = __builtin_fmaxf(m, tile_other(m));
}
/* s = 256 * 2^(s - top) */
TILE_FN void tile_half_exp2(const tile_group *g, tile_part *s, const tile_part_row *top)
{
    const float zero = *top - 8.0f;
    (void)g;
    TILE_UNROLL
    for (int r = 0; r < 8; r++) (*s)[r] = __builtin_amdgcn_exp2f((*s)[r] - zero);
}
/* 1 / sum: each place's keys of the half in pairs, then the places, then the halves. */
TILE_FN void tile_half_row_reciprocal_sum(const tile_group *g, tile_part_row *d, const tile_part *s)
{
    (void)g;
    float t[4];
    TILE_UNROLL
    for (int j = 0; j < 4; j++) {
        const tile_v8f v = s[j];
        t[j] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    }
    const float sum = (t[0] + t[1]) + (t[2] + t[3]);
    *d = __builtin_amdgcn_rcpf(sum + tile_other(sum));
}
TILE_FN void tile_half_part_round(const tile_group *g, tile_part_half *d, const tile_part *s)
{
    *d = tile_half_spread(g, tile_half_pack(*s, g->one));
}
/* y = v p over all keys, channel tile m. */
TILE_FN void tile_half_weigh(const tile_group *g, tile_part *y, const tile_keys *keys, int m,
                             const tile_part_half *p)
{
    *y = (tile_v8f)0.0f;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) *y = tile_half_wmma(tile_values_of(g, keys, j, m), p[j], *y);
}
/* The part's operand: y * scale + bias. */
TILE_FN void tile_half_part_scaled_bias(const tile_group *g, tile_half *d, int part, const tile_part *y,
                                        const tile_part_row *scale, const unsigned char *bias, int m)
{
    const tile_v8f v = *y, b = tile_bias_values(g, bias, m);
    const float s = *scale;
    const tile_words own = {
        tile_half_pair(v[0], v[1], s, b[0], b[1]), tile_half_pair(v[2], v[3], s, b[2], b[3]),
        tile_half_pair(v[4], v[5], s, b[4], b[5]), tile_half_pair(v[6], v[7], s, b[6], b[7])};
    d->v[part] = tile_half_spread(g, own);
}

#endif
