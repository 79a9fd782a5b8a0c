/* The tile vocabulary on gfx12 (RDNA 4): v_wmma_f32_16x16x16_fp8_fp8, one wave of 32 lanes owns TILE_WINDOWS
 * windows.
 *
 * Every product is weights x activations. Lane l holds token t = l & 15; half h = l >> 4 of the wave holds
 * channels (or keys) 8h .. 8h + 7 of a tile: as f32 accumulator in eight registers, as FP8 operand in two.
 * The two layouts agree, so a rounded accumulator is the next product's B operand. Values of attention are
 * computed with the operands swapped (lane = channel, register = token) and so come out as the A operand of
 * the product with p.
 *
 * Lanes of tokens outside the grid read the nearest token inside, which is in the same window, are masked as
 * keys, and are never stored. A wave whose last window does not exist works on its first one again.
 *
 * tile_start() must run first: it makes conversions to FP8 saturate (MODE.FP16_OVFL). */
#ifndef D4R_HIP_KERNELS_TILE_GFX12_H
#define D4R_HIP_KERNELS_TILE_GFX12_H

#define TILE_PANEL_SCALE 1

#include "hip_kernels/tile_gfx.h"

typedef struct tile_fp8 {
    tile_v2i v[TILE_WINDOWS];
} tile_fp8;
typedef tile_f32 tile_f32_t;
typedef struct tile_fp8_t {
    tile_v2i v[TILE_WINDOWS];
} tile_fp8_t;

/* FP16_OVFL is bit 23 of MODE (hardware register 1): one bit wide. The write drains the wave, so once a
 * kernel. */
TILE_FN void tile_start(void)
{
    __builtin_amdgcn_s_setreg(1 | 23 << 6, 1);
}

/* ---- FP8
 * ------------------------------------------------------------------------------------------------------ */

TILE_FN tile_v2i tile_pack(tile_v8f v)
{
    tile_v2i d;
    d.x = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], 0, 0);
    d.x = __builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], d.x, 1);
    d.y = __builtin_amdgcn_cvt_pk_fp8_f32(v[4], v[5], 0, 0);
    d.y = __builtin_amdgcn_cvt_pk_fp8_f32(v[6], v[7], d.y, 1);
    return d;
}
TILE_FN tile_v8f tile_unpack(tile_v2i v)
{
    const tile_v2f a = __builtin_amdgcn_cvt_pk_f32_fp8(v.x, 0), b = __builtin_amdgcn_cvt_pk_f32_fp8(v.x, 1),
                   c = __builtin_amdgcn_cvt_pk_f32_fp8(v.y, 0), d = __builtin_amdgcn_cvt_pk_f32_fp8(v.y, 1);
    const tile_v8f x = {a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y};
    return x;
}

/* ---- tokens
 * --------------------------------------------------------------------------------------------------- */

TILE_FN tile_v2i tile_load_token(const tile_group *g, const unsigned char *tokens, int index, int offset,
                                 int tiles, int k)
{
    return *(const tile_v2i *)(tokens + (unsigned)((index + offset) * (16 * tiles) + 8 * g->half) + 16 * k);
}
TILE_FN void tile_store_token(const tile_group *g, tile_v8f x, unsigned char *tokens, int index, int offset,
                              int tiles, int k)
{
    *(tile_v2i *)(tokens + (unsigned)((index + offset) * (16 * tiles) + 8 * g->half) + 16 * k) = tile_pack(x);
}
TILE_FN void tile_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    TILE_EACH_WINDOW(w) x->v[w] = tile_unpack(tile_load_token(g, tokens, g->token[w], 0, tiles, k));
}
TILE_FN void tile_read_fine(const tile_group *g, tile_fp8 *d, const unsigned char *tokens, int tiles, int q,
                            int k)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_load_token(g, tokens, g->fine[w], tile_fine_offset(g, q), tiles, k);
}
TILE_FN void tile_add_fine(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int q,
                           int k)
{
    TILE_EACH_WINDOW(w)
    x->v[w] += tile_unpack(tile_load_token(g, tokens, g->fine[w], tile_fine_offset(g, q), tiles, k));
}
TILE_FN void tile_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int k)
{
    TILE_EACH_WINDOW(w)
    if (g->inside[w]) tile_store_token(g, x->v[w], tokens, g->token[w], 0, tiles, k);
}
/* Expands follow unshifted blocks, whose tokens are all inside; a window that is worked on twice is stored twice. */
TILE_FN void tile_write_fine(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int q,
                             int k)
{
    TILE_EACH_WINDOW(w) tile_store_token(g, x->v[w], tokens, g->fine[w], tile_fine_offset(g, q), tiles, k);
}

/* ---- operands
 * ------------------------------------------------------------------------------------------------- */

TILE_FN void tile_round(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w) d->v[w] = tile_pack(x->v[w]);
}
TILE_FN void tile_round_positive(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    tile_round(g, d, x);
}
TILE_FN void tile_round_scaled(const tile_group *g, tile_fp8 *d, const tile_f32 *x, const tile_row *scale)
{
    (void)g;
    TILE_EACH_WINDOW(w) d->v[w] = tile_pack(x->v[w] * scale->v[w]);
}
TILE_FN void tile_round_scaled_small(const tile_group *g, tile_fp8 *d, const tile_f32 *x,
                                     const tile_row *scale)
{
    tile_round_scaled(g, d, x, scale);
}
TILE_FN void tile_round_t(const tile_group *g, tile_fp8_t *d, const tile_f32_t *x)
{
    (void)g;
    TILE_EACH_WINDOW(w) d->v[w] = tile_pack(x->v[w]);
}
TILE_FN void tile_snap(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w) x->v[w] = tile_unpack(tile_pack(x->v[w]));
}

/* ---- products
 * ------------------------------------------------------------------------------------------------- */

TILE_FN tile_v8f tile_wmma(tile_v2i a, tile_v2i b, tile_v8f c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c);
}
TILE_FN tile_v2i tile_weights(const tile_group *g, const tile_matrix *w, int m, int k)
{
    return *(const tile_v2i *)(w->panels + (m * w->in_tiles + k) * 256 + (unsigned)(8 * g->lane));
}
/* Sequences of loads and products do not move across: without the fence the scheduler hoists more weights than there
 * are registers. */
TILE_FN void tile_mul(const tile_group *g, tile_f32 *acc, const tile_matrix *w, int m, int k0,
                      const tile_fp8 *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_v2i a = tile_weights(g, w, m, k0 + k);
        TILE_EACH_WINDOW(i) acc->v[i] = tile_wmma(a, x[k].v[i], acc->v[i]);
    }
}
TILE_FN void tile_mul_t(const tile_group *g, tile_f32_t *acc, const tile_matrix *w, int m, int k0,
                        const tile_fp8 *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_v2i b = tile_weights(g, w, m, k0 + k);
        TILE_EACH_WINDOW(i) acc->v[i] = tile_wmma(x[k].v[i], b, acc->v[i]);
    }
}
TILE_FN void tile_scores(const tile_group *g, tile_f32 *s, const tile_fp8 *k, const tile_fp8 *q)
{
    (void)g;
    TILE_EACH_WINDOW(i)
    s->v[i] = tile_wmma(k[1].v[i], q[1].v[i], tile_wmma(k[0].v[i], q[0].v[i], (tile_v8f)0.0f));
}
TILE_FN void tile_values(const tile_group *g, tile_f32 *o, const tile_fp8_t *v, const tile_fp8 *p)
{
    (void)g;
    TILE_EACH_WINDOW(i) o->v[i] = tile_wmma(v->v[i], p->v[i], (tile_v8f)0.0f);
}

/* Swapped tiles: lane l holds channel l & 15. */
TILE_FN int tile_swapped_channel(const tile_group *g)
{
    return g->lane & 15;
}
/* Row r of half h is key 8h + r. */
#define TILE_KEY_STEP 1
TILE_FN int tile_key(const tile_group *g, int r)
{
    return 8 * g->half + r;
}

/* Pairs of keys, four pairs ascending in each half, then the halves: the order of every machine. */
TILE_FN void tile_row_sum(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    {
        const tile_v8f v = s->v[w];
        const float sum = (((v[0] + v[1]) + (v[2] + v[3])) + (v[4] + v[5])) + (v[6] + v[7]);
        d->v[w] = sum + tile_other(sum);
    }
}

#include "hip_kernels/tile_gfx_rows.h"

#endif
