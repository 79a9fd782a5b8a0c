/* The tile vocabulary on the CPU, in the compiler's vector types.
 *
 * A tile holds two windows: 32 token lanes. f32 tiles are [16 rows][32 lanes]. FP8 operands hold rounded
 * values, as f32 or (TILE_BF16) as pairs of bf16 along the rows: every e4m3 value is exact in both. Lanes of
 * missing windows and of tokens outside the grid read as zero and are never stored.
 *
 * Every product sum adds its inputs in ascending order. AVX512-BF16's instruction adds the high element of a pair
 * first, then the low one, each rounded: so the first input of a pair lies in the high half. Products of FP8 values
 * are exact in f32, so fused and separate multiply-adds agree there; elsewhere tile_fma() is exactly fused at every
 * level. So all levels give the same bits; the file is compiled with -ffp-contract=off to keep it so. */
#ifndef D4R_HIP_KERNELS_TILE_CPU_H
#define D4R_HIP_KERNELS_TILE_CPU_H

#include <stdint.h>
#include <string.h>
#include "hip_kernels/m_args.h"
#include "models/format/m_layout.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define TILE_FN static inline __attribute__((always_inline))
#define TILE_UNROLL
#define TILE_ROLL
#ifndef TILE_WINDOWS
#define TILE_WINDOWS 2
#endif
#define TILE_LANES (16 * TILE_WINDOWS)

#if defined(__AVX512F__)
#define TILE_VECTOR 16 /* f32 lanes of a vector register */
#define TILE_ROWS \
    8 /* accumulator block: TILE_ROWS x 2 vectors must fit the registers and hide the latency \
       */
#elif defined(__AVX__)
#define TILE_VECTOR 8
#define TILE_ROWS 4
#else
#define TILE_VECTOR 4
#define TILE_ROWS 4
#endif
#define TILE_VECTORS (TILE_LANES / TILE_VECTOR)

#if defined(__AVX512BF16__) && !defined(TILE_HALF)
#define TILE_BF16 1
#define TILE_PANEL_SCALE 2 /* bytes of a prepared weight */
#else
#define TILE_BF16 0
#define TILE_PANEL_SCALE 4
#endif

typedef float tile_vf __attribute__((vector_size(4 * TILE_VECTOR), may_alias));
typedef int32_t tile_vi __attribute__((vector_size(4 * TILE_VECTOR), may_alias));
#define TILE_ALIGNED __attribute__((aligned(64)))

typedef struct tile_f32 {
    float v[16][TILE_LANES] TILE_ALIGNED;
} tile_f32;

typedef struct tile_fp8 {
#if TILE_BF16
    int32_t v[8][TILE_LANES] TILE_ALIGNED; /* row 2i in the high half, 2i + 1 in the low half */
#else
    float v[16][TILE_LANES] TILE_ALIGNED;
#endif
} tile_fp8;

/* The swapped form that the values of attention need on machines whose products are oriented; here only the
 * pairing differs: along the lanes. */
typedef tile_f32 tile_f32_t;
typedef struct tile_fp8_t {
#if TILE_BF16
    uint16_t v[16][TILE_LANES] TILE_ALIGNED;
#else
    float v[16][TILE_LANES] TILE_ALIGNED;
#endif
} tile_fp8_t;

typedef struct tile_row {
    float v[TILE_LANES] TILE_ALIGNED;
} tile_row;

typedef struct tile_matrix {
    const unsigned char *panels; /* 16x16 panels, [input][output] f32 or [input pair][output][2] bf16 */
    int in_tiles;
} tile_matrix;

typedef struct tile_group {
    int32_t token[TILE_LANES]; /* index in the block's grid; -1: outside */
    int32_t fine[TILE_LANES];  /* index of the 2x2 finer tokens' first one in the finer grid */
    int32_t fine_columns;
    int32_t masked;             /* some token of the group is outside */
    float key_mask[TILE_LANES]; /* 0, or -infinity for keys outside the grid */
#ifdef TILE_HALF                /* 8x8 windows: tile_half_cpu.h */
    int32_t coarse[TILE_LANES];
#endif
} tile_group;

/* ---- vectors
 * -------------------------------------------------------------------------------------------------- */

TILE_FN tile_vf tile_splat(float x)
{
    return x - (tile_vf){0};
}
TILE_FN tile_vi tile_splat_i(int32_t x)
{
    return x - (tile_vi){0};
}
TILE_FN tile_vf tile_load(const float *p)
{
    return *(const tile_vf *)p;
}
TILE_FN void tile_store(float *p, tile_vf v)
{
    *(tile_vf *)p = v;
}
/* mask ? a : b; comparisons give all-ones or zero. */
TILE_FN tile_vf tile_select(tile_vi mask, tile_vf a, tile_vf b)
{
    return (tile_vf)((mask & (tile_vi)a) | (~mask & (tile_vi)b));
}
/* The smaller or larger value; x when x is a NaN. */
TILE_FN tile_vf tile_at_most(tile_vf x, tile_vf limit)
{
#if defined(__AVX512F__)
    return (tile_vf)_mm512_min_ps((__m512)limit, (__m512)x);
#elif defined(__AVX__)
    return (tile_vf)_mm256_min_ps((__m256)limit, (__m256)x);
#else
    return tile_select(limit < x, limit, x);
#endif
}
TILE_FN tile_vf tile_at_least(tile_vf x, tile_vf limit)
{
#if defined(__AVX512F__)
    return (tile_vf)_mm512_max_ps((__m512)limit, (__m512)x);
#elif defined(__AVX__)
    return (tile_vf)_mm256_max_ps((__m256)limit, (__m256)x);
#else
    return tile_select(limit > x, limit, x);
#endif
}
/* a * b + c where a * b is exact, so fusing changes nothing. */
TILE_FN tile_vf tile_fma_exact(tile_vf a, tile_vf b, tile_vf c)
{
#if defined(__AVX512F__)
    return (tile_vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (tile_vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

/* a * b + c rounded once. Without the instruction: in double precision, where the product is exact, rounded to odd
 * (the error of the addition decides), so that the second rounding, to f32, is the only one that counts. */
TILE_FN tile_vf tile_fma(tile_vf a, tile_vf b, tile_vf c)
{
#if defined(__FMA__)
    return tile_fma_exact(a, b, c);
#elif defined(__FP_FAST_FMAF)
    for (int i = 0; i < TILE_VECTOR; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    typedef double wide __attribute__((vector_size(8 * TILE_VECTOR)));
    typedef int64_t wide_bits __attribute__((vector_size(8 * TILE_VECTOR)));
    wide p = __builtin_convertvector(a, wide) * __builtin_convertvector(b, wide);
    wide d = __builtin_convertvector(c, wide), sum = p + d, t = sum - p, error = (p - (sum - t)) + (d - t);
    wide_bits bits = (wide_bits)sum;
    wide_bits inexact =
        ((error < 0) | (error > 0)) & ((bits & 1) == 0); /* false for a NaN, so for infinite sums */
    wide_bits away = (error < 0) == (sum < 0);
    bits += inexact & ((away & 1) | ~away);
    return __builtin_convertvector((wide)bits, tile_vf);
#endif
}

/* ---- FP8 e4m3
 * ------------------------------------------------------------------------------------------------- */

#define TILE_FP8_MAX 448.0f
#define TILE_ABS 0x7fffffff
#define TILE_SIGN ((int32_t)0x80000000)
#define TILE_INF 0x7f800000

/* To the e4m3 grid, nearest even, for |x| < 480; a NaN stays one. Adding 1.5 * 2^20 times the power of two of
 * |x| (at least 2^-6, where the subnormals begin) leaves three fraction bits. The sign of a zero is lost. */
TILE_FN tile_vf tile_round_small(tile_vf x)
{
    tile_vf power = (tile_vf)((tile_vi)x & tile_splat_i(TILE_INF));
    tile_vf magic = tile_at_least(power, tile_splat(0x1p-6f)) * tile_splat(0x1.8p20f);
    return (x + magic) - magic;
}
TILE_FN tile_vf tile_saturate(tile_vf x)
{
    return tile_at_least(tile_at_most(x, tile_splat(TILE_FP8_MAX)), tile_splat(-TILE_FP8_MAX));
}
TILE_FN tile_vf tile_round_value(tile_vf x)
{
    return tile_round_small(tile_saturate(x));
}

/* Codes in the low bytes of 32-bit lanes to values; 0x7f and 0xff are NaN. */
TILE_FN tile_vf tile_decode(tile_vi code)
{
    tile_vi a = (code & 0x7f) << 20;
    tile_vf normal = (tile_vf)(a + tile_splat_i(120 << 23));
    tile_vf small = (tile_vf)(a + tile_splat_i(121 << 23)) - tile_splat(0x1p-6f);
    tile_vf v = tile_select(a < (8 << 20), small, normal);
    tile_vi nan = (a == (0x7f << 20)) & tile_splat_i(0x7fc00000);
    return (tile_vf)((tile_vi)v | nan | ((code & 0x80) << 24));
}
/* The code of the nearest value, saturating, sign of zero kept; NaN gives 0x7f with its sign. */
TILE_FN tile_vi tile_encode(tile_vf x)
{
    tile_vi a = (tile_vi)tile_round_value(x) & TILE_ABS;
    tile_vi normal = (a >> 20) - (120 << 3);
    tile_vi small = (tile_vi)((tile_vf)a + tile_splat(0x1p14f)) - (tile_vi)tile_splat(0x1p14f);
    tile_vi is_small = a<(121 << 23), is_nan = a> TILE_INF;
    tile_vi code = (is_small & small) | (~is_small & normal);
    code = (is_nan & 0x7f) | (~is_nan & code);
    return code | (((tile_vi)x >> 24) & 0x80);
}

/* ---- windows and tokens
 * --------------------------------------------------------------------------------------- */

/* The group's windows: 2 * index and the next one, if there is one. */
TILE_FN void tile_open(tile_group *g, const d4r_m_args *a, int index)
{
    g->masked = 0;
    g->fine_columns = 2 * a->columns;
    for (int t = 0; t < TILE_LANES; t++) {
        int window = index * TILE_WINDOWS + t / 16;
        int column = window % a->windows_x * 4 - a->shift + (t & 3);
        int row = window / a->windows_x * 4 - a->shift + (t >> 2 & 3);
        int inside = window < a->windows && column >= 0 && row >= 0 && column < a->columns && row < a->rows;
        g->token[t] = inside ? row * a->columns + column : -1;
        g->fine[t] = inside ? 2 * row * g->fine_columns + 2 * column : -1;
        g->key_mask[t] = inside ? 0.0f : -__builtin_inff();
        g->masked |= !inside;
    }
    /* A window that does not exist must not turn its lanes into NaN (-inf - -inf); they are not stored
     * anyway. */
    for (int w = 0; w < TILE_WINDOWS; w++)
        if (index * TILE_WINDOWS + w >= a->windows)
            for (int t = 0; t < 16; t++) g->key_mask[16 * w + t] = 0.0f;
}

/* Sixteen channels of each lane's token as four words of four codes. index < 0: zeros. */
TILE_FN void tile_gather(uint32_t words[4][TILE_LANES], const unsigned char *tokens, const int32_t *index,
                         int offset, int bytes, int k)
{
    for (int t = 0; t < TILE_LANES; t++) {
        uint32_t w[4] = {0, 0, 0, 0};
        if (index[t] >= 0) memcpy(w, tokens + (size_t)(index[t] + offset) * (size_t)bytes + 16 * k, 16);
        for (int i = 0; i < 4; i++) words[i][t] = w[i];
    }
}
TILE_FN void tile_decode_words(tile_f32 *x, const uint32_t words[4][TILE_LANES])
{
    for (int i = 0; i < 4; i++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vi w = *(const tile_vi *)&words[i][t];
            for (int b = 0; b < 4; b++) tile_store(&x->v[4 * i + b][t], tile_decode(w >> (8 * b) & 0xff));
        }
}
TILE_FN void tile_put(const tile_f32 *x, unsigned char *tokens, const int32_t *index, int offset, int bytes,
                      int k)
{
    uint32_t words[4][TILE_LANES] TILE_ALIGNED;
    for (int i = 0; i < 4; i++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vi w = tile_encode(tile_load(&x->v[4 * i][t]));
            for (int b = 1; b < 4; b++) w |= tile_encode(tile_load(&x->v[4 * i + b][t])) << (8 * b);
            *(tile_vi *)&words[i][t] = w;
        }
    for (int t = 0; t < TILE_LANES; t++) {
        if (index[t] < 0) continue;
        uint32_t w[4] = {words[0][t], words[1][t], words[2][t], words[3][t]};
        memcpy(tokens + (size_t)(index[t] + offset) * (size_t)bytes + 16 * k, w, 16);
    }
}
/* Offset of the 2x2 place q = 2 * (row & 1) + (column & 1) in the finer grid. */
TILE_FN int tile_fine_offset(const tile_group *g, int q)
{
    return (q >> 1) * g->fine_columns + (q & 1);
}

TILE_FN void tile_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    uint32_t words[4][TILE_LANES] TILE_ALIGNED;
    tile_gather(words, tokens, g->token, 0, 16 * tiles, k);
    tile_decode_words(x, (const uint32_t(*)[TILE_LANES])words);
}
TILE_FN void tile_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int k)
{
    tile_put(x, tokens, g->token, 0, 16 * tiles, k);
}
TILE_FN void tile_write_fine(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int q,
                             int k)
{
    tile_put(x, tokens, g->fine, tile_fine_offset(g, q), 16 * tiles, k);
}
TILE_FN void tile_add_fine(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int q,
                           int k)
{
    uint32_t words[4][TILE_LANES] TILE_ALIGNED;
    tile_f32 y;
    tile_gather(words, tokens, g->fine, tile_fine_offset(g, q), 16 * tiles, k);
    tile_decode_words(&y, (const uint32_t(*)[TILE_LANES])words);
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
            tile_store(&x->v[r][t], tile_load(&x->v[r][t]) + tile_load(&y.v[r][t]));
}

/* ---- operands
 * ------------------------------------------------------------------------------------------------- */

/* Packs rows 2i and 2i + 1 of already rounded values. */
TILE_FN void tile_set_rows(tile_fp8 *d, int i, int t, tile_vf even, tile_vf odd)
{
#if TILE_BF16
    tile_vi low = (tile_vi)(((tile_vi)odd >> 16) & 0xffff);
    *(tile_vi *)&d->v[i][t] = low | ((tile_vi)even & (int32_t)0xffff0000);
#else
    tile_store(&d->v[2 * i][t], even);
    tile_store(&d->v[2 * i + 1][t], odd);
#endif
}
#define TILE_EACH_PAIR(i, t)    \
    for (int i = 0; i < 8; i++) \
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)

TILE_FN void tile_round(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    (void)g;
    TILE_EACH_PAIR(i, t)
    tile_set_rows(d, i, t, tile_round_value(tile_load(&x->v[2 * i][t])),
                  tile_round_value(tile_load(&x->v[2 * i + 1][t])));
}
/* Values in [0, 256]. */
TILE_FN void tile_round_positive(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    (void)g;
    TILE_EACH_PAIR(i, t)
    tile_set_rows(d, i, t, tile_round_small(tile_load(&x->v[2 * i][t])),
                  tile_round_small(tile_load(&x->v[2 * i + 1][t])));
}
TILE_FN void tile_round_scaled(const tile_group *g, tile_fp8 *d, const tile_f32 *x, const tile_row *scale)
{
    (void)g;
    TILE_EACH_PAIR(i, t)
    {
        tile_vf s = tile_load(&scale->v[t]);
        tile_set_rows(d, i, t, tile_round_value(tile_load(&x->v[2 * i][t]) * s),
                      tile_round_value(tile_load(&x->v[2 * i + 1][t]) * s));
    }
}
/* The same where no product can leave the FP8 range. */
TILE_FN void tile_round_scaled_small(const tile_group *g, tile_fp8 *d, const tile_f32 *x,
                                     const tile_row *scale)
{
    (void)g;
    TILE_EACH_PAIR(i, t)
    {
        tile_vf s = tile_load(&scale->v[t]);
        tile_set_rows(d, i, t, tile_round_small(tile_load(&x->v[2 * i][t]) * s),
                      tile_round_small(tile_load(&x->v[2 * i + 1][t]) * s));
    }
}
TILE_FN void tile_round_t(const tile_group *g, tile_fp8_t *d, const tile_f32_t *x)
{
    (void)g;
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf v = tile_round_value(tile_load(&x->v[r][t]));
#if TILE_BF16
            typedef uint16_t half_vector __attribute__((vector_size(2 * TILE_VECTOR), may_alias));
            typedef uint32_t word_vector __attribute__((vector_size(4 * TILE_VECTOR)));
            typedef uint32_t pair_vector __attribute__((vector_size(2 * TILE_VECTOR)));
            pair_vector pairs = (pair_vector) __builtin_convertvector((word_vector)v >> 16, half_vector);
            *(half_vector *)&d->v[r][t] =
                (half_vector)(pairs << 16 | pairs >> 16); /* the even lane in the high half */
#else
            tile_store(&d->v[r][t], v);
#endif
        }
}
/* x = fp8(x), kept as f32, sign of zero kept. */
TILE_FN void tile_snap(const tile_group *g, tile_f32 *x)
{
    (void)g;
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf v = tile_load(&x->v[r][t]);
            tile_store(&x->v[r][t], (tile_vf)((tile_vi)tile_round_value(v) | ((tile_vi)v & TILE_SIGN)));
        }
}
/* The operand of channel tile k of the finer tokens at place q. */
TILE_FN void tile_read_fine(const tile_group *g, tile_fp8 *d, const unsigned char *tokens, int tiles, int q,
                            int k)
{
    uint32_t words[4][TILE_LANES] TILE_ALIGNED;
    tile_f32 x;
    tile_gather(words, tokens, g->fine, tile_fine_offset(g, q), 16 * tiles, k);
    tile_decode_words(&x, (const uint32_t(*)[TILE_LANES])words);
    TILE_EACH_PAIR(i, t)
    tile_set_rows(d, i, t, tile_load(&x.v[2 * i][t]), tile_load(&x.v[2 * i + 1][t]));
}

/* ---- products
 * ------------------------------------------------------------------------------------------------- */

TILE_FN tile_matrix tile_matrix_at(const tile_group *g, const d4r_m_args *a, int offset, int in_tiles)
{
    (void)g;
    return (tile_matrix){a->panels + (size_t)offset * TILE_PANEL_SCALE, in_tiles};
}

/* Where the f32 vector at an offset of the layer's weights is. */
TILE_FN const unsigned char *tile_vector_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    (void)g;
    return a->weights + offset;
}

#if TILE_BF16
/* acc += the two products of a pair, the high one first; `pair` is broadcast. */
TILE_FN tile_vf tile_dot(const void *pair, tile_vf x, tile_vf acc)
{
    int32_t w;
    memcpy(&w, pair, 4);
    return (tile_vf)_mm512_dpbf16_ps((__m512)acc, (__m512bh)(__m512)x, (__m512bh)_mm512_set1_epi32(w));
}
#endif

/* acc[r][t..] += sum over k of w[k][r] * x[k][t..] for TILE_ROWS rows and two vectors of lanes. `w` and `x`
 * point at row pairs; strides in elements of the machine's form. */
TILE_FN void tile_mul_block(float *acc, const unsigned char *w, const tile_fp8 *x, int tiles, int t)
{
    tile_vf a[TILE_ROWS][2];
    for (int r = 0; r < TILE_ROWS; r++)
        for (int j = 0; j < 2; j++) a[r][j] = tile_load(acc + r * TILE_LANES + j * TILE_VECTOR);
    for (int k = 0; k < tiles; k++)
        for (int i = 0; i < 8; i++) {
#if TILE_BF16
            const unsigned char *row = w + (k * 8 + i) * 64;
            tile_vf x0 = tile_load((const float *)&x[k].v[i][t]);
            tile_vf x1 = tile_load((const float *)&x[k].v[i][t + TILE_VECTOR]);
            for (int r = 0; r < TILE_ROWS; r++) {
                a[r][0] = tile_dot(row + 4 * r, x0, a[r][0]);
                a[r][1] = tile_dot(row + 4 * r, x1, a[r][1]);
            }
#else
            for (int odd = 0; odd < 2; odd++) {
                const float *row = (const float *)(const void *)w + (k * 16 + 2 * i + odd) * 16;
                tile_vf x0 = tile_load(&x[k].v[2 * i + odd][t]);
                tile_vf x1 = tile_load(&x[k].v[2 * i + odd][t + TILE_VECTOR]);
                for (int r = 0; r < TILE_ROWS; r++) {
                    tile_vf weight = tile_splat(row[r]);
                    a[r][0] = tile_fma_exact(weight, x0, a[r][0]);
                    a[r][1] = tile_fma_exact(weight, x1, a[r][1]);
                }
            }
#endif
        }
    for (int r = 0; r < TILE_ROWS; r++)
        for (int j = 0; j < 2; j++) tile_store(acc + r * TILE_LANES + j * TILE_VECTOR, a[r][j]);
}

/* acc += W[row tile m][column tiles k0 .. k0 + tiles - 1] x. One function, not inlined: it is the whole cost.
 */
static __attribute__((noinline)) void tile_mul_rows(tile_f32 *acc, const unsigned char *panels,
                                                    const tile_fp8 *x, int tiles)
{
    for (int r = 0; r < 16; r += TILE_ROWS)
        for (int t = 0; t < TILE_LANES; t += 2 * TILE_VECTOR)
            tile_mul_block(&acc->v[r][t], panels + r * 4, x, tiles, t);
}
TILE_FN void tile_mul(const tile_group *g, tile_f32 *acc, const tile_matrix *w, int m, int k0,
                      const tile_fp8 *x, int tiles)
{
    (void)g;
    tile_mul_rows(acc, w->panels + (size_t)(m * w->in_tiles + k0) * 256 * TILE_PANEL_SCALE, x, tiles);
}
TILE_FN void tile_mul_t(const tile_group *g, tile_f32_t *acc, const tile_matrix *w, int m, int k0,
                        const tile_fp8 *x, int tiles)
{
    tile_mul(g, acc, w, m, k0, x, tiles);
}

/* s[key][query] = sum over the head's 32 channels of k[channel][key] * q[channel][query]. */
TILE_FN void tile_scores(const tile_group *g, tile_f32 *s, const tile_fp8 *k, const tile_fp8 *q)
{
    (void)g;
    for (int w = 0; w < TILE_LANES; w += 16)
        for (int r = 0; r < 16; r += 8)
            for (int t = w; t < w + 16; t += TILE_VECTOR) {
                tile_vf a[8] = {{0}};
                for (int m = 0; m < 2; m++)
                    for (int i = 0; i < 8; i++) {
#if TILE_BF16
                        tile_vf x = tile_load((const float *)&q[m].v[i][t]);
                        for (int j = 0; j < 8; j++) a[j] = tile_dot(&k[m].v[i][w + r + j], x, a[j]);
#else
                        for (int odd = 0; odd < 2; odd++) {
                            tile_vf x = tile_load(&q[m].v[2 * i + odd][t]);
                            for (int j = 0; j < 8; j++)
                                a[j] = tile_fma_exact(tile_splat(k[m].v[2 * i + odd][w + r + j]), x, a[j]);
                        }
#endif
                    }
                for (int j = 0; j < 8; j++) tile_store(&s->v[r + j][t], a[j]);
            }
}
/* o[channel][query] = sum over keys of v[channel][key] * p[key][query]. */
TILE_FN void tile_values(const tile_group *g, tile_f32 *o, const tile_fp8_t *v, const tile_fp8 *p)
{
    (void)g;
    for (int w = 0; w < TILE_LANES; w += 16)
        for (int r = 0; r < 16; r += 8)
            for (int t = w; t < w + 16; t += TILE_VECTOR) {
                tile_vf a[8] = {{0}};
                for (int i = 0; i < 8; i++) {
#if TILE_BF16
                    tile_vf x = tile_load((const float *)&p->v[i][t]);
                    for (int j = 0; j < 8; j++) a[j] = tile_dot(&v->v[r + j][w + 2 * i], x, a[j]);
#else
                    for (int odd = 0; odd < 2; odd++) {
                        tile_vf x = tile_load(&p->v[2 * i + odd][t]);
                        for (int j = 0; j < 8; j++)
                            a[j] = tile_fma_exact(tile_splat(v->v[r + j][w + 2 * i + odd]), x, a[j]);
                    }
#endif
                }
                for (int j = 0; j < 8; j++) tile_store(&o->v[r + j][t], a[j]);
            }
}

/* ---- elementwise
 * ---------------------------------------------------------------------------------------------- */

/* `bias` points at the vector of the whole matrix, `m` is the row tile. */
TILE_FN void tile_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    (void)g;
    for (int r = 0; r < 16; r++) {
        float b;
        memcpy(&b, bias + 64 * m + 4 * r, 4);
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) tile_store(&x->v[r][t], tile_splat(b));
    }
}
TILE_FN void tile_bias_t(const tile_group *g, tile_f32_t *x, const unsigned char *bias, int m)
{
    tile_bias(g, x, bias, m);
}
TILE_FN void tile_add_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    (void)g;
    for (int r = 0; r < 16; r++) {
        float b;
        memcpy(&b, bias + 64 * m + 4 * r, 4);
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
            tile_store(&x->v[r][t], tile_load(&x->v[r][t]) + tile_splat(b));
    }
}

/* act(y) = y * (0.5 + c * (0.412 - 0.081 |c|)), c = clamp(y, -2.4, 2.4) */
TILE_FN void tile_act(const tile_group *g, tile_f32 *x)
{
    (void)g;
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf y = tile_load(&x->v[r][t]);
            tile_vf c = tile_at_least(tile_at_most(y, tile_splat(2.4f)), tile_splat(-2.4f));
            tile_vf size = (tile_vf)((tile_vi)c & TILE_ABS);
            tile_vf slope = tile_fma(size, tile_splat(-0.081f), tile_splat(0.412f));
            tile_store(&x->v[r][t], y * tile_fma(c, slope, tile_splat(0.5f)));
        }
}

/* s = s * 32^-1/2 * log2(e) + relative bias (already in log2); keys outside the grid become -infinity. */
TILE_FN void tile_rel_bias_mask(const tile_group *g, tile_f32 *s, const unsigned char *table)
{
    const tile_vf scale = tile_splat(M_SCORE_SCALE);
    for (int key = 0; key < 16; key++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf b;
            memcpy(&b, table + 64 * key + 4 * (t & 15), sizeof(b));
            tile_store(&s->v[key][t], tile_fma(tile_load(&s->v[key][t]), scale, b));
        }
    if (!g->masked) return;
    for (int key = 0; key < 16; key++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf mask = tile_splat(g->key_mask[(t & ~15) + key]);
            tile_store(&s->v[key][t], tile_load(&s->v[key][t]) + mask);
        }
}

/* s = 256 * 2^(s - top); 0 below 2^-126. Written as 2^(s - (top - 8)). */
TILE_FN void tile_exp2_256(const tile_group *g, tile_f32 *s, const tile_row *top)
{
    (void)g;
    const tile_vf magic = tile_splat(0x1.8p23f);
    for (int r = 0; r < 16; r++)
        for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
            tile_vf x = tile_load(&s->v[r][t]) - (tile_load(&top->v[t]) - tile_splat(8.0f));
            x = tile_at_least(x, tile_splat(-126.0f));
            tile_vf z = x + magic; /* the nearest integer in the low bits */
            tile_vf f = x - (z - magic);
            tile_vf p = tile_splat(1.5403530394e-4f);
            p = tile_fma(p, f, tile_splat(1.3333558147e-3f));
            p = tile_fma(p, f, tile_splat(9.6181291076e-3f));
            p = tile_fma(p, f, tile_splat(5.5504108665e-2f));
            p = tile_fma(p, f, tile_splat(2.4022650696e-1f));
            p = tile_fma(p, f, tile_splat(6.9314718056e-1f));
            p = tile_fma(p, f, tile_splat(1.0f));
            tile_vi power = ((tile_vi)z << 23) + tile_splat_i(127 << 23);
            tile_store(&s->v[r][t], p * (tile_vf)power);
        }
}

TILE_FN void tile_row_max(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        tile_vf m = tile_load(&s->v[0][t]);
        for (int r = 1; r < 16; r++) m = tile_at_least(tile_load(&s->v[r][t]), m);
        tile_store(&d->v[t], m);
    }
}
/* Pairs of rows, four pairs ascending, the other four, then the two: the order of every machine. */
TILE_FN void tile_row_sum(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        tile_vf half[2];
        for (int h = 0; h < 2; h++) {
            half[h] = tile_load(&s->v[8 * h][t]) + tile_load(&s->v[8 * h + 1][t]);
            for (int r = 8 * h + 2; r < 8 * h + 8; r += 2)
                half[h] += tile_load(&s->v[r][t]) + tile_load(&s->v[r + 1][t]);
        }
        tile_store(&d->v[t], half[0] + half[1]);
    }
}
TILE_FN void tile_row_reciprocal(const tile_group *g, tile_row *d)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
        tile_store(&d->v[t], tile_splat(1.0f) / tile_load(&d->v[t]));
}
/* Sum of x^2 over all channels: rows 0-7 of all tiles ascending, rows 8-15 of all tiles, then the two sums. */
TILE_FN void tile_row_squares(const tile_group *g, tile_row *d, const tile_f32 *x, int tiles)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR) {
        tile_vf low = {0}, high = {0};
        for (int k = 0; k < tiles; k++)
            for (int r = 0; r < 8; r++) {
                tile_vf a = tile_load(&x[k].v[r][t]), b = tile_load(&x[k].v[8 + r][t]);
                low = tile_fma(a, a, low);
                high = tile_fma(b, b, high);
            }
        tile_store(&d->v[t], low + high);
    }
}
/* 1 / sqrt(sum / count + eps), through double precision: correctly rounded but for one case in 2^29. */
TILE_FN void tile_row_rsqrt_mean(const tile_group *g, tile_row *d, float inverse_count, float eps)
{
    (void)g;
    for (int t = 0; t < TILE_LANES; t += TILE_VECTOR)
        tile_store(&d->v[t], tile_fma(tile_load(&d->v[t]), tile_splat(inverse_count), tile_splat(eps)));
    for (int t = 0; t < TILE_LANES; t++) d->v[t] = (float)(1.0 / __builtin_sqrt((double)d->v[t]));
}

#endif
