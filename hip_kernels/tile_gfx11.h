/* The tile vocabulary on gfx11 (RDNA 3, 3.5): v_wmma_f32_16x16x16_f16 on FP8-valued operands (every e4m3 value is exact
 * in f16), one wave of 32 lanes owns TILE_WINDOWS windows.
 *
 * Every product is weights x activations. An operand holds all 16 inner values of the lane's row in eight registers;
 * lanes 16-31 repeat lanes 0-15. An accumulator's register r of half h is row 2r + h. Prepared weights have their rows
 * permuted (row 2r + h is channel 8h + r), so that register r of half h is channel 8h + r as on gfx12, and rounding an
 * accumulator to an operand is: own eight values as f16 pairs, the other half's by permlanex16, half 0's first.
 * Scores keep rows 2r + h = key; rounding v and p puts the keys in their natural order.
 *
 * There are no FP8 conversions. tile_round_pairs() rounds once, in f32, by adding 1.5 * 2^20 times the power of two of
 * the value. NaN: codes 0x7f and 0xff read as +-480, and a NaN is stored as some finite code. */
#ifndef D4R_HIP_KERNELS_TILE_GFX11_H
#define D4R_HIP_KERNELS_TILE_GFX11_H

#ifndef TILE_PANEL_SCALE
#define TILE_PANEL_SCALE 2 /* f16; tile: [half of the inputs][row][8], D4R_M_GFX11_TILE_BYTE */
#endif

#include "hip_kernels/tile_gfx.h"

typedef _Float16 tile_v2h __attribute__((ext_vector_type(2)));
typedef unsigned short tile_v2u __attribute__((ext_vector_type(2)));
typedef _Float16 tile_v8h __attribute__((ext_vector_type(8)));
typedef _Float16 tile_v16h __attribute__((ext_vector_type(16)));
typedef int tile_v4i __attribute__((ext_vector_type(4)));
typedef int tile_v8i __attribute__((ext_vector_type(8)));

typedef struct tile_fp8 {
    tile_v8i v[TILE_WINDOWS];
} tile_fp8;
typedef tile_f32 tile_f32_t;
typedef struct tile_fp8_t {
    tile_v8i v[TILE_WINDOWS];
} tile_fp8_t;

TILE_FN void tile_start(void) {}

/* ---- FP8 ------------------------------------------------------------------------------------------------------ */

/* Two values, |x| < 480, to the e4m3 grid, as f16. The power comes from f16 rounded towards zero, which keeps the
 * exponent; the first fma rounds to three fraction bits, the second is exact. The sign of a zero is lost, which a
 * product does not notice. */
TILE_FN int tile_round_pair(float a, float b)
{
    const tile_v2u least = {0x2400, 0x2400}; /* 2^-6 */
    const int half = __builtin_bit_cast(int, __builtin_amdgcn_cvt_pkrtz(a, b));
    /* Compared as integers: f16 maxima would first quieten NaN. */
    const tile_v2h power = __builtin_bit_cast(
        tile_v2h, __builtin_elementwise_max(__builtin_bit_cast(tile_v2u, half & 0x7c007c00), least));
    const float x = __builtin_fmaf((float)power.x, 0x1.8p20f, a);
    const float y = __builtin_fmaf((float)power.y, 0x1.8p20f, b);
    tile_v2h d;
    d.x = (_Float16)__builtin_fmaf((float)power.x, -0x1.8p20f, x);
    d.y = (_Float16)__builtin_fmaf((float)power.y, -0x1.8p20f, y);
    return __builtin_bit_cast(int, d);
}
/* The same with the sign of zeros kept, for what is stored. */
TILE_FN int tile_round_pair_signed(float a, float b)
{
    const int half = __builtin_bit_cast(int, __builtin_amdgcn_cvt_pkrtz(a, b));
    return tile_round_pair(a, b) | (half & (int)0x80008000);
}
TILE_FN tile_v4i tile_round_pairs(tile_v8f v)
{
    const tile_v4i d = {tile_round_pair(v[0], v[1]), tile_round_pair(v[2], v[3]), tile_round_pair(v[4], v[5]),
                        tile_round_pair(v[6], v[7])};
    return d;
}
TILE_FN tile_v4i tile_round_pairs_signed(tile_v8f v)
{
    const tile_v4i d = {tile_round_pair_signed(v[0], v[1]), tile_round_pair_signed(v[2], v[3]),
                        tile_round_pair_signed(v[4], v[5]), tile_round_pair_signed(v[6], v[7])};
    return d;
}
TILE_FN tile_v8f tile_saturate(tile_v8f v)
{
    TILE_UNROLL
    for (int i = 0; i < 8; i++) v[i] = __builtin_amdgcn_fmed3f(v[i], -448.0f, 448.0f);
    return v;
}
TILE_FN tile_v8f tile_widen(tile_v4i pairs)
{
    return __builtin_convertvector(__builtin_bit_cast(tile_v8h, pairs), tile_v8f);
}
/* Eight codes to f16: the code's seven bits are an f16 with the exponent too small by 8. */
TILE_FN int tile_decode_pair(int codes_high) /* codes in bits 15..8 and 31..24 */
{
    const int bits = (codes_high >> 1 & 0x3f803f80) | (codes_high & (int)0x80008000);
    const tile_v2h scale = {256.0f, 256.0f};
    return __builtin_bit_cast(int, __builtin_bit_cast(tile_v2h, bits) * scale);
}
TILE_FN tile_v4i tile_decode(tile_v2i codes)
{
    /* v_perm_b32: bytes 1 and 3 of the result are codes, 0x0c selects zero. */
    const tile_v4i d = {tile_decode_pair((int)__builtin_amdgcn_perm(0, codes.x, 0x010c000c)),
                        tile_decode_pair((int)__builtin_amdgcn_perm(0, codes.x, 0x030c020c)),
                        tile_decode_pair((int)__builtin_amdgcn_perm(0, codes.y, 0x010c000c)),
                        tile_decode_pair((int)__builtin_amdgcn_perm(0, codes.y, 0x030c020c))};
    return d;
}
/* Rounded f16 pairs to codes in bits 7..0 and 23..16. */
TILE_FN int tile_encode_pair(int pair)
{
    const tile_v2h scale = {0x1p-8f, 0x1p-8f};
    const int bits = __builtin_bit_cast(int, __builtin_bit_cast(tile_v2h, pair) * scale);
    return (bits >> 7 & 0x007f007f) | (bits >> 8 & 0x00800080);
}
TILE_FN tile_v2i tile_encode(tile_v4i pairs)
{
    const tile_v2i d = {
        (int)__builtin_amdgcn_perm(tile_encode_pair(pairs.y), tile_encode_pair(pairs.x), 0x06040200),
        (int)__builtin_amdgcn_perm(tile_encode_pair(pairs.w), tile_encode_pair(pairs.z), 0x06040200)};
    return d;
}
/* The operand from both halves' pairs. */
TILE_FN tile_v8i tile_spread(const tile_group *g, tile_v4i own)
{
    tile_v8i d;
    TILE_UNROLL
    for (int i = 0; i < 4; i++) {
        const int other = tile_other_bits(own[i]);
        d[i] = g->half ? other : own[i];
        d[4 + i] = g->half ? own[i] : other;
    }
    return d;
}

/* The same where register r of half h is row 2r + h of the wave's product (keys): rows in their natural order. */
TILE_FN tile_v8i tile_spread_rows(const tile_group *g, tile_v4i own)
{
    /* v_perm_b32 on (own, other): bytes 0-3 are the second operand's, 4-7 the first's. Even row in the low half. */
    const unsigned low = g->half ? 0x05040100u : 0x01000504u, high = g->half ? 0x07060302u : 0x03020706u;
    tile_v8i d;
    TILE_UNROLL
    for (int i = 0; i < 4; i++) {
        const int other = tile_other_bits(own[i]);
        d[2 * i] = (int)__builtin_amdgcn_perm(own[i], other, low);
        d[2 * i + 1] = (int)__builtin_amdgcn_perm(own[i], other, high);
    }
    return d;
}

/* ---- tokens --------------------------------------------------------------------------------------------------- */

TILE_FN tile_v4i tile_load_token(const tile_group *g, const unsigned char *tokens, int index, int offset,
                                 int tiles, int k)
{
    return tile_decode(
        *(const tile_v2i *)(tokens + (unsigned)((index + offset) * (16 * tiles) + 8 * g->half) + 16 * k));
}
TILE_FN void tile_store_token(const tile_group *g, tile_v8f x, unsigned char *tokens, int index, int offset,
                              int tiles, int k)
{
    *(tile_v2i *)(tokens + (unsigned)((index + offset) * (16 * tiles) + 8 * g->half) + 16 * k) =
        tile_encode(tile_round_pairs_signed(tile_saturate(x)));
}
TILE_FN void tile_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    TILE_EACH_WINDOW(w) x->v[w] = tile_widen(tile_load_token(g, tokens, g->token[w], 0, tiles, k));
}
TILE_FN void tile_read_fine(const tile_group *g, tile_fp8 *d, const unsigned char *tokens, int tiles, int q,
                            int k)
{
    TILE_EACH_WINDOW(w)
    d->v[w] = tile_spread(g, tile_load_token(g, tokens, g->fine[w], tile_fine_offset(g, q), tiles, k));
}
TILE_FN void tile_add_fine(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int q,
                           int k)
{
    TILE_EACH_WINDOW(w)
    x->v[w] += tile_widen(tile_load_token(g, tokens, g->fine[w], tile_fine_offset(g, q), tiles, k));
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

/* ---- operands ------------------------------------------------------------------------------------------------- */

TILE_FN void tile_round(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_spread(g, tile_round_pairs(tile_saturate(x->v[w])));
}
TILE_FN void tile_round_positive(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_spread_rows(g, tile_round_pairs(x->v[w]));
}
TILE_FN void tile_round_scaled(const tile_group *g, tile_fp8 *d, const tile_f32 *x, const tile_row *scale)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_spread(g, tile_round_pairs(tile_saturate(x->v[w] * scale->v[w])));
}
TILE_FN void tile_round_scaled_small(const tile_group *g, tile_fp8 *d, const tile_f32 *x,
                                     const tile_row *scale)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_spread(g, tile_round_pairs(x->v[w] * scale->v[w]));
}
TILE_FN void tile_round_t(const tile_group *g, tile_fp8_t *d, const tile_f32_t *x)
{
    TILE_EACH_WINDOW(w) d->v[w] = tile_spread_rows(g, tile_round_pairs(tile_saturate(x->v[w])));
}
TILE_FN void tile_snap(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w) x->v[w] = tile_widen(tile_round_pairs_signed(tile_saturate(x->v[w])));
}

/* ---- products ------------------------------------------------------------------------------------------------- */

TILE_FN tile_v8f tile_wmma(tile_v8i a, tile_v8i b, tile_v8f c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(tile_v16h, a),
                                                      __builtin_bit_cast(tile_v16h, b), c);
}
TILE_FN tile_v8i tile_weights(const tile_group *g, const tile_matrix *w, int m, int k)
{
    const tile_v4i *p =
        (const tile_v4i *)(w->panels + (m * w->in_tiles + k) * 512 + (unsigned)(16 * (g->lane & 15)));
    const tile_v4i low = p[0], high = p[16];
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
/* Sequences of loads and products do not move across: without the fence the scheduler hoists more weights than there
 * are registers. */
TILE_FN void tile_mul(const tile_group *g, tile_f32 *acc, const tile_matrix *w, int m, int k0,
                      const tile_fp8 *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_v8i a = tile_weights(g, w, m, k0 + k);
        TILE_EACH_WINDOW(i) acc->v[i] = tile_wmma(a, x[k].v[i], acc->v[i]);
    }
}
TILE_FN void tile_mul_t(const tile_group *g, tile_f32_t *acc, const tile_matrix *w, int m, int k0,
                        const tile_fp8 *x, int tiles)
{
    __builtin_amdgcn_sched_barrier(TILE_FENCE);
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const tile_v8i b = tile_weights(g, w, m, k0 + k);
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

/* Swapped tiles: lane l holds the channel of weight row l & 15. */
TILE_FN int tile_swapped_channel(const tile_group *g)
{
    return 8 * (g->lane & 1) + (g->lane >> 1 & 7);
}
/* Row r of half h is key 2r + h. */
#define TILE_KEY_STEP 2
TILE_FN int tile_key(const tile_group *g, int r)
{
    return 2 * r + g->half;
}

/* Pairs of keys (one of each half), four pairs ascending, the other four, then the two: the order of every machine. */
TILE_FN void tile_row_sum(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    {
        tile_v8f v = s->v[w];
        TILE_UNROLL
        for (int r = 0; r < 8; r++) v[r] += tile_other(v[r]);
        d->v[w] = (((v[0] + v[1]) + v[2]) + v[3]) + (((v[4] + v[5]) + v[6]) + v[7]);
    }
}

#include "hip_kernels/tile_gfx_rows.h"

#endif
