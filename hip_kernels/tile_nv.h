/* The tile vocabulary on NVIDIA sm_89 and later: mma.sync m16n8k16 in f16 on FP8-valued operands, f32
 * accumulation.
 *
 * One warp owns TILE_WINDOWS windows of 16 tokens. Activations are the A operand: accumulators are [16 tokens
 * x 16 channels] and become the next product's A operand register for register; k and v become B operands
 * likewise, v from the swapped product (weights as A). With g = lane / 4 and t = lane % 4, register i of an
 * m16n8 accumulator holds row g + 8 (i / 2), column 2t + (i & 1).
 *
 * Column 2t + i of half j (0, 1) of a tile stands for channel 4t + 2j + i, so that a thread owns four
 * neighbouring channels: one 4-byte access a token row. Any order of the inner index is right when both
 * operands agree on it.
 *
 * A prepared weight tile is 512 bytes: lane-major, four words of two f16 each: word 2j + b holds
 * W[4 (g / 2) + 2j + (g & 1)][4t + 2b + {0, 1}]. Read as (word 2j, word 2j + 1) it is the B operand of half
 * j, read as (0, 2, 1, 3) the A operand of the swapped product. */
#ifndef D4R_HIP_KERNELS_TILE_NV_H
#define D4R_HIP_KERNELS_TILE_NV_H

#include <stdint.h>
#include "hip_kernels/m_args.h"
#include "models/format/m_layout.h"

#ifndef TILE_WINDOWS
#define TILE_WINDOWS 1
#endif
#define TILE_FN static __device__ __forceinline__
#define TILE_UNROLL _Pragma("unroll")
#define TILE_ROLL _Pragma("unroll 1")
#define TILE_PANEL_SCALE 2

typedef struct tile_f32 {
    float v[TILE_WINDOWS][8]; /* half j at 4j: (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1) */
} tile_f32;
typedef struct tile_fp8 {
    uint32_t v[TILE_WINDOWS]
              [4]; /* A operand: (g, half 0) (g + 8, half 0) (g, half 1) (g + 8, half 1), two f16 each */
} tile_fp8;
/* Swapped: rows are channels (g: half 0, g + 8: half 1), halves of columns are tokens 0-7 and 8-15. */
typedef tile_f32 tile_f32_t;
typedef struct tile_fp8_t {
    uint32_t v[TILE_WINDOWS]
              [4]; /* word 2j + h: channel half j, token half h: the B operand of channel half j */
} tile_fp8_t;
typedef struct tile_row {
    float v[TILE_WINDOWS][2]; /* tokens g and g + 8; equal in the four lanes of a row */
} tile_row;
typedef struct tile_matrix {
    const uint4 *panels;
    int in_tiles;
    int staged;  /* in shared memory */
    int outside; /* every mma's result is added outside the tensor core */
} tile_matrix;
typedef struct tile_group {
    int lane, g, t;
    int fine_columns;
    int masked;
    int token[TILE_WINDOWS][2];     /* tokens g and g + 8: index in the block's grid; -1: outside */
    int fine[TILE_WINDOWS][2];      /* index of the 2x2 finer tokens' first one; -1: outside */
    uint32_t outside[TILE_WINDOWS]; /* bit k: key k lies outside the grid */
    /* What the block has staged in shared memory: parts of the layer's matrices and vectors, by offset in its weights.
     * All of it is constant after inlining. */
    const unsigned char *staged;
    int matrices_first, matrices_end, vectors_first, vectors_end;
    /* Matrices whose products leave the tensor core after every mma, by offset, constant too. A tensor core cuts what it adds to an
     * accumulator some bits below the largest term, and its sum towards 0: a sum that lies on a border of FP8 but for its bias goes
     * the wrong way, and so do the codes that depend on it. Added in f32, with rounding, it does not. */
    int outside_first, outside_end;
#ifdef TILE_HALF /* 8x8 windows: tile_half_nv.h */
    int place;
    int coarse[TILE_WINDOWS][2];
    uint32_t outside_places[4]; /* as `outside`, of each place's tokens */
    unsigned char *keys;
#endif
} tile_group;

#define TILE_EACH_WINDOW(w) TILE_UNROLL for (int w = 0; w < TILE_WINDOWS; w++)

/* ---- what only the GPU has ------------------------------------------------------------------------------------ */

/* tests/tile_nv runs this file on the CPU, 32 lanes in lockstep, and brings these functions itself. */
#ifndef D4R_TILE_NV_HOST

/* ---- rounding
 * ------------------------------------------------------------------------------------------------- */

/* Two f32 to e4m3 (nearest even, saturating; NaN stays NaN) and back, as f16 values: low half a, high half b.
 */
TILE_FN uint32_t tile_round_pair(float a, float b)
{
    uint32_t halves;
    asm("{ .reg .b16 code; cvt.rn.satfinite.e4m3x2.f32 code, %2, %1; cvt.rn.f16x2.e4m3x2 %0, code; }"
        : "=r"(halves)
        : "f"(a), "f"(b));
    return halves;
}
TILE_FN uint32_t tile_codes(float a, float b)
{
    uint16_t code;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %2, %1;" : "=h"(code) : "f"(a), "f"(b));
    return code;
}
TILE_FN uint32_t tile_codes_to_halves(uint32_t codes)
{
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((uint16_t)codes));
    return halves;
}
TILE_FN float tile_half_low(uint32_t halves)
{
    float x;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(x) : "r"(halves));
    return x;
}
TILE_FN float tile_half_high(uint32_t halves)
{
    float x;
    asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(halves));
    return x;
}

/* The larger one; NaN if one of them is. */
TILE_FN float tile_larger(float a, float b)
{
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
/* 16 bytes from global to shared memory, in the background. */
TILE_FN void tile_copy_16(unsigned char *to, const unsigned char *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory");
}
TILE_FN void tile_copies_end(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

TILE_FN float tile_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
TILE_FN void tile_mma(float *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

#endif

/* ---- windows and tokens
 * --------------------------------------------------------------------------------------- */

TILE_FN int tile_inside(const d4r_m_args *a, int window, int token, int *row, int *column)
{
    *column = window % a->windows_x * 4 - a->shift + (token & 3);
    *row = window / a->windows_x * 4 - a->shift + (token >> 2);
    return window < a->windows && *column >= 0 && *row >= 0 && *column < a->columns && *row < a->rows;
}
/* False: the wave has no window. Uniform. */
TILE_FN int tile_open(tile_group *g, const d4r_m_args *a, int index)
{
    g->lane = (int)(threadIdx.x & 31);
    g->g = g->lane >> 2;
    g->t = g->lane & 3;
    g->fine_columns = 2 * a->columns;
    g->masked = 0;
    TILE_EACH_WINDOW(w)
    {
        const int window = index * TILE_WINDOWS + w;
        int row, column;
        const int inside = tile_inside(a, window, g->lane & 15, &row, &column);
        g->outside[w] = ~__ballot_sync(0xffffffffu, inside) & 0xffffu;
        /* A window that does not exist must not turn into NaN (-inf - -inf); it is never stored. */
        if (window >= a->windows) g->outside[w] = 0;
        g->masked |= g->outside[w] != 0;
        TILE_UNROLL
        for (int i = 0; i < 2; i++) {
            const int in = tile_inside(a, window, g->g + 8 * i, &row, &column);
            g->token[w][i] = in ? row * a->columns + column : -1;
            g->fine[w][i] = in ? 2 * row * g->fine_columns + 2 * column : -1;
        }
    }
    return index * TILE_WINDOWS < a->windows;
}
TILE_FN int tile_fine_offset(const tile_group *g, int q)
{
    return (q >> 1) * g->fine_columns + (q & 1);
}
/* Four codes of one token: channels 16k + 4t .. + 3. */
TILE_FN uint32_t tile_load_codes(const unsigned char *tokens, int index, int offset, int bytes, int channel)
{
    if (index < 0) return 0;
    return *(const uint32_t *)(tokens + (size_t)(index + offset) * (size_t)bytes + channel);
}
TILE_FN void tile_decode(float *half0, float *half1, uint32_t codes)
{
    const uint32_t low = tile_codes_to_halves(codes), high = tile_codes_to_halves(codes >> 16);
    half0[0] = tile_half_low(low);
    half0[1] = tile_half_high(low);
    half1[0] = tile_half_low(high);
    half1[1] = tile_half_high(high);
}
TILE_FN void tile_get(const tile_group *g, tile_f32 *x, const unsigned char *tokens, const int (*index)[2],
                      int offset, int bytes, int k)
{
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++)
        tile_decode(&x->v[w][2 * i], &x->v[w][4 + 2 * i],
                    tile_load_codes(tokens, index[w][i], offset, bytes, 16 * k + 4 * g->t));
}
TILE_FN void tile_put(const tile_group *g, const tile_f32 *x, unsigned char *tokens, const int (*index)[2],
                      int offset, int bytes, int k)
{
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t codes = tile_codes(x->v[w][2 * i], x->v[w][2 * i + 1]) |
                               tile_codes(x->v[w][4 + 2 * i], x->v[w][5 + 2 * i]) << 16;
        if (index[w][i] >= 0)
            *(uint32_t *)(tokens + (size_t)(index[w][i] + offset) * (size_t)bytes + 16 * k + 4 * g->t) =
                codes;
    }
}
TILE_FN void tile_read(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int k)
{
    tile_get(g, x, tokens, g->token, 0, 16 * tiles, k);
}
TILE_FN void tile_write(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int k)
{
    tile_put(g, x, tokens, g->token, 0, 16 * tiles, k);
}
TILE_FN void tile_write_fine(const tile_group *g, const tile_f32 *x, unsigned char *tokens, int tiles, int q,
                             int k)
{
    tile_put(g, x, tokens, g->fine, tile_fine_offset(g, q), 16 * tiles, k);
}
TILE_FN void tile_add_fine(const tile_group *g, tile_f32 *x, const unsigned char *tokens, int tiles, int q,
                           int k)
{
    tile_f32 y;
    tile_get(g, &y, tokens, g->fine, tile_fine_offset(g, q), 16 * tiles, k);
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 8; i++) x->v[w][i] += y.v[w][i];
}
TILE_FN void tile_read_fine(const tile_group *g, tile_fp8 *d, const unsigned char *tokens, int tiles, int q,
                            int k)
{
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t codes =
            tile_load_codes(tokens, g->fine[w][i], tile_fine_offset(g, q), 16 * tiles, 16 * k + 4 * g->t);
        d->v[w][i] = tile_codes_to_halves(codes);
        d->v[w][2 + i] = tile_codes_to_halves(codes >> 16);
    }
}

/* ---- operands
 * ------------------------------------------------------------------------------------------------- */

TILE_FN void tile_round(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int j = 0; j < 2; j++) TILE_UNROLL
    for (int i = 0; i < 2; i++)
        d->v[w][2 * j + i] = tile_round_pair(x->v[w][4 * j + 2 * i], x->v[w][4 * j + 2 * i + 1]);
}
TILE_FN void tile_round_positive(const tile_group *g, tile_fp8 *d, const tile_f32 *x)
{
    tile_round(g, d, x);
}
TILE_FN void tile_round_scaled(const tile_group *g, tile_fp8 *d, const tile_f32 *x, const tile_row *scale)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int j = 0; j < 2; j++) TILE_UNROLL
    for (int i = 0; i < 2; i++)
        d->v[w][2 * j + i] = tile_round_pair(x->v[w][4 * j + 2 * i] * scale->v[w][i],
                                             x->v[w][4 * j + 2 * i + 1] * scale->v[w][i]);
}
TILE_FN void tile_round_scaled_small(const tile_group *g, tile_fp8 *d, const tile_f32 *x,
                                     const tile_row *scale)
{
    tile_round_scaled(g, d, x, scale);
}
TILE_FN void tile_round_t(const tile_group *g, tile_fp8_t *d, const tile_f32_t *x)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int j = 0; j < 2; j++) TILE_UNROLL
    for (int h = 0; h < 2; h++)
        d->v[w][2 * j + h] = tile_round_pair(x->v[w][4 * h + 2 * j], x->v[w][4 * h + 2 * j + 1]);
}
TILE_FN void tile_snap(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 8; i += 2) {
        const uint32_t halves = tile_round_pair(x->v[w][i], x->v[w][i + 1]);
        x->v[w][i] = tile_half_low(halves);
        x->v[w][i + 1] = tile_half_high(halves);
    }
}

/* ---- weights ---------------------------------------------------------------------------------------------------- */

TILE_FN void tile_copy(unsigned char *to, const unsigned char *from, int bytes, int threads)
{
    for (int i = 16 * (int)threadIdx.x; i < bytes; i += 16 * threads) tile_copy_16(to + i, from + i);
}
/* Copies a part of the layer's matrices and vectors to shared memory, once for all windows of the block. Offsets and
 * sizes are multiples of 16 bytes. */
TILE_FN void tile_stage(tile_group *g, const d4r_m_args *a, unsigned char *memory, int matrices_first,
                        int matrices_end, int vectors_first, int vectors_end, int threads)
{
    const int matrix_bytes = (matrices_end - matrices_first) * TILE_PANEL_SCALE;
    tile_copy(memory, a->panels + (size_t)matrices_first * TILE_PANEL_SCALE, matrix_bytes, threads);
    tile_copy(memory + matrix_bytes, a->weights + vectors_first, vectors_end - vectors_first, threads);
    tile_copies_end();
    g->staged = memory;
    g->matrices_first = matrices_first;
    g->matrices_end = matrices_end;
    g->vectors_first = vectors_first;
    g->vectors_end = vectors_end;
    g->outside_first = g->outside_end = 0;
}
/* For a block that stages nothing. */
TILE_FN void tile_stage_nothing(tile_group *g)
{
    g->staged = 0;
    g->matrices_first = g->matrices_end = g->vectors_first = g->vectors_end = 0;
    g->outside_first = g->outside_end = 0;
}
TILE_FN tile_matrix tile_matrix_at(const tile_group *g, const d4r_m_args *a, int offset, int in_tiles)
{
    tile_matrix matrix;
    matrix.staged = offset >= g->matrices_first && offset < g->matrices_end;
    matrix.panels =
        (const uint4 *)(matrix.staged ? g->staged + (offset - g->matrices_first) * TILE_PANEL_SCALE
                                      : a->panels + (size_t)offset * TILE_PANEL_SCALE) +
        g->lane;
    matrix.in_tiles = in_tiles;
    matrix.outside = offset >= g->outside_first && offset < g->outside_end;
    return matrix;
}
TILE_FN const unsigned char *tile_vector_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    if (offset >= g->vectors_first && offset < g->vectors_end)
        return g->staged + (g->matrices_end - g->matrices_first) * TILE_PANEL_SCALE +
               (offset - g->vectors_first);
    return a->weights + offset;
}
TILE_FN uint4 tile_panel(const tile_matrix *w, int tile)
{
    return w->staged ? w->panels[tile * 32] : __ldg(w->panels + tile * 32);
}

/* ---- products
 * ------------------------------------------------------------------------------------------------- */

/* acc += d, for every window. */
TILE_FN void tile_add(tile_f32 *acc, const tile_f32 *d)
{
    TILE_EACH_WINDOW(i)
    TILE_UNROLL
    for (int j = 0; j < 8; j++) acc->v[i][j] += d->v[i][j];
}
TILE_FN void tile_clear(tile_f32 *x)
{
    TILE_EACH_WINDOW(i)
    TILE_UNROLL
    for (int j = 0; j < 8; j++) x->v[i][j] = 0.0f;
}
TILE_FN void tile_mul(const tile_group *g, tile_f32 *acc, const tile_matrix *w, int m, int k0,
                      const tile_fp8 *x, int tiles)
{
    (void)g;
    tile_f32 sum;
    tile_f32 *d = w->outside ? &sum : acc;
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const uint4 b = tile_panel(w, m * w->in_tiles + k0 + k);
        if (w->outside) tile_clear(d);
        TILE_EACH_WINDOW(i)
        {
            const uint32_t *a = x[k].v[i];
            tile_mma(&d->v[i][0], a[0], a[1], a[2], a[3], b.x, b.y);
            tile_mma(&d->v[i][4], a[0], a[1], a[2], a[3], b.z, b.w);
        }
        if (w->outside) tile_add(acc, d);
    }
}
TILE_FN void tile_mul_t(const tile_group *g, tile_f32_t *acc, const tile_matrix *w, int m, int k0,
                        const tile_fp8 *x, int tiles)
{
    (void)g;
    tile_f32_t sum;
    tile_f32_t *d = w->outside ? &sum : acc;
    TILE_UNROLL
    for (int k = 0; k < tiles; k++) {
        const uint4 a = tile_panel(w, m * w->in_tiles + k0 + k);
        if (w->outside) tile_clear(d);
        TILE_EACH_WINDOW(i)
        {
            const uint32_t *b = x[k].v[i];
            tile_mma(&d->v[i][0], a.x, a.z, a.y, a.w, b[0], b[2]);
            tile_mma(&d->v[i][4], a.x, a.z, a.y, a.w, b[1], b[3]);
        }
        if (w->outside) tile_add(acc, d);
    }
}
/* s: rows are queries, columns keys in their natural order (half h: keys 8h .. 8h + 7). */
TILE_FN void tile_scores(const tile_group *g, tile_f32 *s, const tile_fp8 *k, const tile_fp8 *q)
{
    (void)g;
    TILE_EACH_WINDOW(i)
    {
        TILE_UNROLL
        for (int j = 0; j < 8; j++) s->v[i][j] = 0.0f;
        TILE_UNROLL
        for (int m = 0; m < 2; m++) {
            const uint32_t *a = q[m].v[i], *b = k[m].v[i];
            tile_mma(&s->v[i][0], a[0], a[1], a[2], a[3], b[0], b[2]);
            tile_mma(&s->v[i][4], a[0], a[1], a[2], a[3], b[1], b[3]);
        }
    }
}
TILE_FN void tile_values(const tile_group *g, tile_f32 *o, const tile_fp8_t *v, const tile_fp8 *p)
{
    (void)g;
    TILE_EACH_WINDOW(i)
    {
        const uint32_t *a = p->v[i], *b = v->v[i];
        TILE_UNROLL
        for (int j = 0; j < 8; j++) o->v[i][j] = 0.0f;
        tile_mma(&o->v[i][0], a[0], a[1], a[2], a[3], b[0], b[1]);
        tile_mma(&o->v[i][4], a[0], a[1], a[2], a[3], b[2], b[3]);
    }
}

/* ---- elementwise
 * ---------------------------------------------------------------------------------------------- */

TILE_FN float4 tile_bias_values(const tile_group *g, const unsigned char *bias, int m)
{
    return ((const float4 *)(bias + 64 * m))[g->t];
}
TILE_FN void tile_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    const float4 b = tile_bias_values(g, bias, m);
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 4; i += 2) {
        x->v[w][i] = b.x;
        x->v[w][i + 1] = b.y;
        x->v[w][4 + i] = b.z;
        x->v[w][5 + i] = b.w;
    }
}
TILE_FN void tile_add_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    const float4 b = tile_bias_values(g, bias, m);
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 4; i += 2) {
        x->v[w][i] += b.x;
        x->v[w][i + 1] += b.y;
        x->v[w][4 + i] += b.z;
        x->v[w][5 + i] += b.w;
    }
}
TILE_FN void tile_bias_t(const tile_group *g, tile_f32_t *x, const unsigned char *bias, int m)
{
    const float *b = (const float *)(bias + 64 * m) + 4 * (g->g >> 1) + (g->g & 1);
    const float low = b[0], high = b[2];
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int h = 0; h < 8; h += 4) {
        x->v[w][h] = x->v[w][h + 1] = low;
        x->v[w][h + 2] = x->v[w][h + 3] = high;
    }
}
TILE_FN void tile_act(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 8; i++) {
        const float y = x->v[w][i];
        const float c = fminf(fmaxf(y, -2.4f), 2.4f);
        x->v[w][i] = y * (0.5f + c * (0.412f - 0.081f * fabsf(c)));
    }
}
TILE_FN void tile_rel_bias_mask(const tile_group *g, tile_f32 *s, const unsigned char *table)
{
    TILE_UNROLL
    for (int i = 0; i < 8; i++) {
        const int key = 8 * (i >> 2) + 2 * g->t + (i & 1), query = g->g + 8 * ((i >> 1) & 1);
        const float b = ((const float *)table)[16 * key + query];
        TILE_EACH_WINDOW(w)
        {
            s->v[w][i] = s->v[w][i] * M_SCORE_SCALE + b;
            if (g->masked && (g->outside[w] >> key & 1)) s->v[w][i] = -__int_as_float(0x7f800000);
        }
    }
}
TILE_FN void tile_exp2_256(const tile_group *g, tile_f32 *s, const tile_row *top)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 8; i++) {
        const float x = s->v[w][i] - (top->v[w][(i >> 1) & 1] - 8.0f);
        s->v[w][i] = tile_exp2(x);
    }
}
TILE_FN float tile_quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
TILE_FN void tile_row_max(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const float *v = &s->v[w][2 * i];
        float x = tile_larger(tile_larger(v[0], v[1]), tile_larger(v[4], v[5]));
        x = tile_larger(x, __shfl_xor_sync(0xffffffffu, x, 1));
        d->v[w][i] = tile_larger(x, __shfl_xor_sync(0xffffffffu, x, 2));
    }
}
TILE_FN void tile_row_sum(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        const float *v = &s->v[w][2 * i];
        d->v[w][i] = tile_quad_sum((v[0] + v[1]) + (v[4] + v[5]));
    }
}
TILE_FN void tile_row_reciprocal(const tile_group *g, tile_row *d)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) d->v[w][i] = __frcp_rn(d->v[w][i]);
}
TILE_FN void tile_row_squares(const tile_group *g, tile_row *d, const tile_f32 *x, int tiles)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) {
        float sum = 0.0f;
        TILE_UNROLL
        for (int k = 0; k < tiles; k++) {
            const float *v = &x[k].v[w][2 * i];
            sum += (v[0] * v[0] + v[1] * v[1]) + (v[4] * v[4] + v[5] * v[5]);
        }
        d->v[w][i] = tile_quad_sum(sum);
    }
}
TILE_FN void tile_row_rsqrt_mean(const tile_group *g, tile_row *d, float inverse_count, float eps)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 2; i++) d->v[w][i] = rsqrtf(d->v[w][i] * inverse_count + eps);
}

#endif
