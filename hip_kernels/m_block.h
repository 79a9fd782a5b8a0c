/* Preset M's network, written once for every machine.
 *
 * Plain C in the tile vocabulary; the machine's tile_*.h is included first. A tile is 16 channels (or 16
 * keys) by the tokens of the group of windows that is worked on; `nt` is always a literal number of
 * 16-channel tiles at the call. docs/network.md states the arithmetic. Order of every sum: bias (and
 * residual) first, then the inputs in the machine's order, heads and hidden channels ascending. */
#ifndef D4R_HIP_KERNELS_M_BLOCK_H
#define D4R_HIP_KERNELS_M_BLOCK_H

#include "hip_kernels/m_args.h"
#include "models/format/m_layout.h"

#define M_MAX_TILES (D4R_M_C3 / 16)
#define M_LINEAR(out_tiles, in_tiles) D4R_M_LINEAR_BYTES(16 * (out_tiles), 16 * (in_tiles))

/* n = fp8(x * rsqrt(mean(x^2) + eps)); |n| <= sqrt(C), so nothing saturates. */
TILE_FN void m_norm(const tile_group *g, const tile_f32 *x, tile_fp8 *n, const int nt)
{
    tile_row scale;
    tile_row_squares(g, &scale, x, nt);
    tile_row_rsqrt_mean(g, &scale, 1.0f / (float)(16 * nt), D4R_M_NORM_EPS);
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_round_scaled_small(g, &n[k], &x[k], &scale);
}

/* p = fp8(256 softmax numerator) of one head, and the reciprocal of its sum, from the window's q and k. */
TILE_FN void m_softmax(const tile_group *g, const tile_fp8 *q, const tile_fp8 *k,
                       const unsigned char *rel_bias, tile_fp8 *p, tile_row *scale)
{
    tile_f32 s;
    tile_row top;
    tile_scores(g, &s, k, q);
    tile_rel_bias_mask(g, &s, rel_bias);
    tile_row_max(g, &top, &s);
    tile_exp2_256(g, &s, &top);
    tile_row_sum(g, scale, &s);
    tile_row_reciprocal(g, scale);
    tile_round_positive(g, p, &s);
}

/* d = fp8(W n + b), row tile m. */
TILE_FN void m_project(const tile_group *g, const tile_matrix *w, const unsigned char *bias, const int m,
                       const tile_fp8 *n, const int nt, tile_fp8 *d)
{
    tile_f32 a;
    tile_bias(g, &a, bias, m);
    tile_mul(g, &a, w, m, 0, n, nt);
    tile_round(g, d, &a);
}

/* x += Wo attention(n) + bo, one head of 32 channels at a time; the values come last, so that few tiles are
 * alive. */
TILE_FN void m_attention(const tile_group *g, const d4r_m_args *a, const int block, const tile_fp8 *n,
                         tile_f32 *x, const int nt)
{
    const int c = 16 * nt;
    const tile_matrix qkv = tile_matrix_at(g, a, block + D4R_M_BLOCK_QKV(c), nt);
    const tile_matrix proj = tile_matrix_at(g, a, block + D4R_M_BLOCK_PROJ(c), nt);
    const unsigned char *bias = tile_vector_at(g, a, block + D4R_M_BLOCK_QKV_BIAS(c));
    TILE_UNROLL
    for (int m = 0; m < nt; m++)
        tile_add_bias(g, &x[m], tile_vector_at(g, a, block + D4R_M_BLOCK_PROJ_BIAS(c)), m);
    TILE_ROLL
    for (int h = 0; h < nt / 2; h++) {
        tile_fp8 q[2], k[2], o[2], p;
        tile_row scale;
        TILE_UNROLL
        for (int m = 0; m < 2; m++) {
            m_project(g, &qkv, bias, 2 * h + m, n, nt, &q[m]);
            m_project(g, &qkv, bias, nt + 2 * h + m, n, nt, &k[m]);
        }
        m_softmax(g, q, k, tile_vector_at(g, a, block + D4R_M_BLOCK_REL_BIAS(c)) + 1024 * h, &p, &scale);
        TILE_UNROLL
        for (int m = 0; m < 2; m++) {
            tile_f32_t b;
            tile_fp8_t v;
            tile_f32 y;
            tile_bias_t(g, &b, bias, 2 * nt + 2 * h + m);
            tile_mul_t(g, &b, &qkv, 2 * nt + 2 * h + m, 0, n, nt);
            tile_round_t(g, &v, &b);
            tile_values(g, &y, &v, &p);
            tile_round_scaled(g, &o[m], &y, &scale);
        }
        TILE_UNROLL
        for (int m = 0; m < nt; m++) tile_mul(g, &x[m], &proj, m, 2 * h, o, 2);
    }
}

/* x += W2 fp8(act(W1 n + b1)) + b2, 32 hidden channels at a time. */
TILE_FN void m_mlp(const tile_group *g, const d4r_m_args *a, const int block, const tile_fp8 *n, tile_f32 *x,
                   const int nt)
{
    const int c = 16 * nt;
    const tile_matrix w1 = tile_matrix_at(g, a, block + D4R_M_BLOCK_MLP1(c), nt);
    const tile_matrix w2 = tile_matrix_at(g, a, block + D4R_M_BLOCK_MLP2(c), 2 * nt);
    TILE_UNROLL
    for (int m = 0; m < nt; m++)
        tile_add_bias(g, &x[m], tile_vector_at(g, a, block + D4R_M_BLOCK_MLP2_BIAS(c)), m);
    TILE_ROLL
    for (int j = 0; j < nt; j++) {
        tile_fp8 u[2];
        TILE_UNROLL
        for (int m = 0; m < 2; m++) {
            tile_f32 y;
            tile_bias(g, &y, tile_vector_at(g, a, block + D4R_M_BLOCK_MLP1_BIAS(c)), 2 * j + m);
            tile_mul(g, &y, &w1, 2 * j + m, 0, n, nt);
            tile_act(g, &y);
            tile_round(g, &u[m], &y);
        }
        TILE_UNROLL
        for (int m = 0; m < nt; m++) tile_mul(g, &x[m], &w2, m, 2 * j, u, 2);
    }
}

/* The Swin block on x, without the rounding of its result. `block` is its offset in the layer's weights. */
TILE_FN void m_block(const tile_group *g, const d4r_m_args *a, const int block, tile_f32 *x, const int nt)
{
    tile_fp8 n[M_MAX_TILES];
    m_norm(g, x, n, nt);
    m_attention(g, a, block, n, x, nt);
    m_norm(g, x, n, nt);
    m_mlp(g, a, block, n, x, nt);
}

/* x = the layer's input tokens. */
TILE_FN void m_read(const tile_group *g, const d4r_m_args *a, tile_f32 *x, const int nt)
{
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_read(g, &x[k], a->input, nt, k);
}

/* x = fp8(W f + b), f the 2x2 finer tokens under each token. The matrix is the layer's first part. */
TILE_FN void m_merge(const tile_group *g, const d4r_m_args *a, tile_f32 *x, const int nt, const int nt_in)
{
    const tile_matrix w = tile_matrix_at(g, a, 0, 4 * nt_in);
    TILE_UNROLL
    for (int m = 0; m < nt; m++)
        tile_bias(g, &x[m], tile_vector_at(g, a, D4R_M_LINEAR_BIAS(16 * nt, 64 * nt_in)), m);
    TILE_ROLL
    for (int q = 0; q < 4; q++) {
        tile_fp8 f[M_MAX_TILES];
        TILE_UNROLL
        for (int k = 0; k < nt_in; k++) tile_read_fine(g, &f[k], a->input, nt_in, q, k);
        TILE_UNROLL
        for (int m = 0; m < nt; m++) tile_mul(g, &x[m], &w, m, q * nt_in, f, nt_in);
    }
    TILE_UNROLL
    for (int m = 0; m < nt; m++) tile_snap(g, &x[m]);
}

TILE_FN void m_write(const tile_group *g, const d4r_m_args *a, const tile_f32 *x, const int nt)
{
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_write(g, &x[k], a->output, nt, k);
}

/* The 2x2 finer tokens under each token: fp8(fp8(W fp8(x) + b) + skip). `part` is the matrix's offset. */
TILE_FN void m_expand(const tile_group *g, const d4r_m_args *a, const int part, const tile_f32 *x,
                      const int nt, const int nt_out)
{
    const tile_matrix w = tile_matrix_at(g, a, part, nt);
    const unsigned char *bias = tile_vector_at(g, a, part + D4R_M_LINEAR_BIAS(64 * nt_out, 16 * nt));
    tile_fp8 b[M_MAX_TILES];
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_round(g, &b[k], &x[k]);
    TILE_ROLL
    for (int q = 0; q < 4; q++) {
        TILE_UNROLL
        for (int m = 0; m < nt_out; m++) {
            tile_f32 y;
            tile_bias(g, &y, bias, q * nt_out + m);
            tile_mul(g, &y, &w, q * nt_out + m, 0, b, nt);
            tile_snap(g, &y);
            tile_add_fine(g, &y, a->skip, nt_out, q, m);
            tile_write_fine(g, &y, a->output, nt_out, q, m);
        }
    }
}

/* The kernels: what one group of windows does. */

/* enc1, dec1 */
TILE_FN void m_block64(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_read(g, a, x, 4);
    m_block(g, a, 0, x, 4);
    m_write(g, a, x, 4);
}

/* enc2 */
TILE_FN void m_merge_block96(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_merge(g, a, x, 6, 4);
    m_block(g, a, M_LINEAR(6, 16), x, 6);
    m_write(g, a, x, 6);
}

/* mid0 */
TILE_FN void m_merge_block128(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_merge(g, a, x, 8, 6);
    m_block(g, a, M_LINEAR(8, 24), x, 8);
    m_write(g, a, x, 8);
}

/* mid1 .. mid4 */
TILE_FN void m_block128(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_read(g, a, x, 8);
    m_block(g, a, 0, x, 8);
    m_write(g, a, x, 8);
}

/* mid5 */
TILE_FN void m_block128_expand(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_read(g, a, x, 8);
    m_block(g, a, 0, x, 8);
    m_expand(g, a, D4R_M_BLOCK_BYTES(128), x, 8, 6);
}

/* dec2 */
TILE_FN void m_block96_expand(const tile_group *g, const d4r_m_args *a)
{
    tile_f32 x[M_MAX_TILES];
    m_read(g, a, x, 6);
    m_block(g, a, 0, x, 6);
    m_expand(g, a, D4R_M_BLOCK_BYTES(96), x, 6, 4);
}

#endif
