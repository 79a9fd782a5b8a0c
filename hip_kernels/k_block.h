/* Preset K's network, written once for every machine: plain C in the tile vocabulary (docs/preset_k.md), which the
 * machine's tile_half_*.h completes with f16 operands and windows of 64 tokens. `nt` is a literal number of 16-channel
 * tiles. Order of every sum: bias (and residual) first, then the inputs ascending. */
#ifndef D4R_HIP_KERNELS_K_BLOCK_H
#define D4R_HIP_KERNELS_K_BLOCK_H

#include "hip_kernels/m_args.h"
#include "models/format/k_layout.h"

#define K_MAX_TILES (D4R_K_MAX_CHANNELS / 16)

/* n = f16(x * rsqrt(mean(x^2) + eps)) */
TILE_FN void k_norm(const tile_group *g, const tile_f32 *x, tile_half *n, const int nt)
{
    tile_row scale;
    tile_row_squares(g, &scale, x, nt);
    tile_row_rsqrt_mean(g, &scale, 1.0f / (float)(16 * nt), D4R_K_NORM_EPS);
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_half_round_scaled(g, &n[k], &x[k], &scale);
}

/* The head's keys and values, for the whole window. */
TILE_FN void k_share(const tile_group *g, const tile_chunk w, const tile_half *n, tile_keys *keys,
                     const int nt)
{
    TILE_UNROLL
    for (int m = 0; m < 2; m++) {
        tile_f32 k;
        tile_f32_t v;
        tile_half_zero(g, &k);
        tile_half_mul(g, &k, w, 0, nt, 2 + m, 0, n, nt);
        tile_share_keys(g, keys, &k, m);
        tile_half_zero(g, &v);
        tile_half_mul_t(g, &v, w, 0, nt, 4 + m, n, nt);
        tile_share_values(g, keys, &v, m);
    }
}

/* o = attention of a part's queries over the window's 64 keys. */
TILE_FN void k_attend(const tile_group *g, const tile_keys *keys, const tile_half *q, const int part,
                      const unsigned char *rel_bias, const unsigned char *v_bias, tile_half *o)
{
    tile_part s[4], y;
    tile_part_half p[4];
    tile_part_row top, scale;
    TILE_UNROLL
    for (int j = 0; j < 4; j++) tile_half_scores(g, &s[j], keys, j, q, part, rel_bias);
    tile_half_mask(g, s);
    tile_half_row_max(g, &top, s);
    TILE_UNROLL
    for (int j = 0; j < 4; j++) tile_half_exp2(g, &s[j], &top);
    tile_half_row_reciprocal_sum(g, &scale, s);
    TILE_UNROLL
    for (int j = 0; j < 4; j++) tile_half_part_round(g, &p[j], &s[j]);
    TILE_UNROLL
    for (int m = 0; m < 2; m++) {
        tile_half_weigh(g, &y, keys, m, p);
        tile_half_part_scaled_bias(g, &o[m], part, &y, &scale, v_bias, m);
    }
}

/* x += Wo attention(n), one head of 32 channels, whose chunk is w. */
TILE_FN void k_attention(const tile_group *g, const tile_chunk w, const unsigned char *rel_bias,
                         const tile_half *n, tile_f32 *x, const int nt)
{
    const int c = 16 * nt;
    const unsigned char *q_bias = tile_chunk_vector(w, D4R_K_HEAD_TILES(c)), *v_bias = q_bias + 128;
    tile_keys keys;
    tile_half q[2], o[2];
    k_share(g, w, n, &keys, nt);
    TILE_UNROLL
    for (int m = 0; m < 2; m++) {
        tile_f32 y;
        tile_bias(g, &y, q_bias, m);
        tile_half_mul(g, &y, w, 0, nt, m, 0, n, nt);
        tile_half_round(g, &q[m], &y);
    }
    tile_meet(g);
    TILE_UNROLL
    for (int part = 0; part < TILE_PARTS; part++) k_attend(g, &keys, q, part, rel_bias, v_bias, o);
    TILE_UNROLL
    for (int m = 0; m < nt; m++) tile_half_mul(g, &x[m], w, D4R_K_TILES(96, c), 2, m, 0, o, 2);
}

/* x += W2 f16(act(W1 n + b1)), a step of 16 * st hidden channels, 32 at a time. */
TILE_FN void k_mlp(const tile_group *g, const tile_chunk w, const tile_half *n, tile_f32 *x, const int nt,
                   const int st)
{
    const unsigned char *bias = tile_chunk_vector(w, 2 * D4R_K_TILES(16 * st, 16 * nt));
    TILE_UNROLL
    for (int i = 0; i < st; i += 2) {
        tile_half u[2];
        TILE_UNROLL
        for (int m = 0; m < 2; m++) {
            tile_f32 y;
            tile_bias(g, &y, bias, i + m);
            tile_half_mul(g, &y, w, 0, nt, i + m, 0, n, nt);
            tile_half_act(g, &u[m], &y);
        }
        TILE_UNROLL
        for (int m = 0; m < nt; m++)
            tile_half_mul(g, &x[m], w, D4R_K_TILES(16 * st, 16 * nt), st, m, i, u, 2);
    }
}

/* The Swin block of width c with h hidden channels on x, without the rounding of its result. `block` is its offset in
 * the layer's weights. */
TILE_FN void k_block(const tile_group *g, const d4r_m_args *a, const int block, tile_f32 *x, const int c,
                     const int h)
{
    const int nt = c / 16, st = D4R_K_MLP_STEP(h) / 16;
    tile_half n[K_MAX_TILES];
    k_norm(g, x, n, nt);
    if (c == 32) { /* everything at once */
        const tile_chunk w = tile_bring(g, a, block, D4R_K_BLOCK_BYTES(c, h));
        k_attention(g, w, tile_chunk_table(w, D4R_K_BLOCK_REL(c, h)), n, x, nt);
        k_norm(g, x, n, nt);
        TILE_UNROLL
        for (int j = 0; j < h / (16 * st); j++)
            k_mlp(g, tile_chunk_part(w, D4R_K_BLOCK_MLP(c, h, j)), n, x, nt, st);
        return;
    }
    TILE_ROLL
    for (int j = 0; j < D4R_K_HEADS(c); j++)
        k_attention(g, tile_bring(g, a, block + D4R_K_BLOCK_HEAD(c, j), D4R_K_HEAD_BYTES_OF(c)),
                    tile_table_at(g, a, block + D4R_K_BLOCK_REL(c, h) + j * D4R_K_REL_BYTES), n, x, nt);
    k_norm(g, x, n, nt);
    TILE_ROLL
    for (int j = 0; j < h / (16 * st); j++)
        k_mlp(g, tile_bring(g, a, block + D4R_K_BLOCK_MLP(c, h, j), D4R_K_MLP_BYTES(c, h)), n, x, nt, st);
}

/* x = W f + b, f the 2x2 finer tokens under each token. */
TILE_FN void k_merge(const tile_group *g, const d4r_m_args *a, tile_f32 *x, const int nt, const int nt_in)
{
    const unsigned char *bias = tile_vector_at(g, a, D4R_K_MERGE_BIAS(16 * nt, 16 * nt_in));
    TILE_UNROLL
    for (int m = 0; m < nt; m++) tile_bias(g, &x[m], bias, m);
    TILE_ROLL
    for (int q = 0; q < 4; q++) {
        tile_half f[K_MAX_TILES];
        TILE_UNROLL
        for (int k = 0; k < nt_in; k++) tile_half_read_fine(g, &f[k], a->input, nt_in, q, k);
        const tile_chunk w =
            tile_bring(g, a, D4R_K_MERGE_PLACE(16 * nt, 16 * nt_in, q), D4R_K_TILES(16 * nt, 16 * nt_in));
        TILE_UNROLL
        for (int m = 0; m < nt; m++) tile_half_mul(g, &x[m], w, 0, nt_in, m, 0, f, nt_in);
    }
}

/* x = W c + b + skip, c the coarser token above each token, W's rows those of the token's place. */
TILE_FN void k_expand(const tile_group *g, const d4r_m_args *a, tile_f32 *x, const int nt, const int nt_in)
{
    const unsigned char *bias = tile_vector_at(g, a, D4R_K_EXPAND_BIAS(16 * nt, 16 * nt_in));
    TILE_UNROLL
    for (int m = 0; m < nt; m++) tile_bias_place(g, &x[m], bias, nt, m);
    TILE_ROLL
    for (int s = 0; s < nt_in / 2; s++) {
        tile_coarse c[2];
        TILE_UNROLL
        for (int k = 0; k < 2; k++) tile_half_read_coarse(g, &c[k], a->input, nt_in, 2 * s + k);
        const tile_chunk w = tile_bring(g, a, D4R_K_EXPAND_STEP(16 * nt, s), D4R_K_TILES(64 * nt, 32));
        TILE_UNROLL
        for (int m = 0; m < nt; m++) tile_half_mul_place(g, &x[m], w, 0, nt, 2, m, c, 2);
    }
    TILE_UNROLL
    for (int m = 0; m < nt; m++) tile_half_read_add(g, &x[m], a->skip, nt, m);
}

TILE_FN void k_write(const tile_group *g, const d4r_m_args *a, const tile_f32 *x, const int nt)
{
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_half_write(g, &x[k], a->output, 16 * nt, k);
}

/* The head of 40 values: f16(W f16(x) + b). `part` is the matrix's offset. */
TILE_FN void k_head(const tile_group *g, const d4r_m_args *a, const int part, const tile_f32 *x, const int nt)
{
    tile_half b[K_MAX_TILES];
    TILE_UNROLL
    for (int k = 0; k < nt; k++) tile_half_round(g, &b[k], &x[k]);
    const tile_chunk w = tile_bring(g, a, part, D4R_K_HEAD_BYTES);
    const unsigned char *bias = tile_chunk_vector(w, D4R_K_TILES(D4R_K_HEAD_ROWS, 16 * nt));
    TILE_UNROLL
    for (int m = 0; m < D4R_K_HEAD_ROWS / 16; m++) {
        tile_f32 y;
        tile_bias(g, &y, bias, m);
        tile_half_mul(g, &y, w, 0, nt, m, 0, b, nt);
        tile_half_write(g, &y, a->output, D4R_K_HEAD, m);
    }
}

/* The kernels: what a group of tokens does. `c`, `h`: width and hidden channels of the layer; `in`: width of what it
 * reads. */

/* enc0 */
TILE_FN void k_first(const tile_group *g, const d4r_m_args *a, const int c, const int h)
{
    tile_f32 x[K_MAX_TILES];
    TILE_UNROLL
    for (int k = 0; k < c / 16; k++) tile_half_read(g, &x[k], a->input, c / 16, k);
    k_block(g, a, 0, x, c, h);
    k_write(g, a, x, c / 16);
}
/* enc1 .. enc4, dec5 */
TILE_FN void k_encode(const tile_group *g, const d4r_m_args *a, const int c, const int h, const int in)
{
    tile_f32 x[K_MAX_TILES];
    k_merge(g, a, x, c / 16, in / 16);
    k_block(g, a, D4R_K_MERGE_BYTES(c, in), x, c, h);
    k_write(g, a, x, c / 16);
}
/* dec4 .. dec1 */
TILE_FN void k_decode(const tile_group *g, const d4r_m_args *a, const int c, const int h, const int in)
{
    tile_f32 x[K_MAX_TILES];
    k_expand(g, a, x, c / 16, in / 16);
    k_block(g, a, D4R_K_EXPAND_BYTES(c, in), x, c, h);
    k_write(g, a, x, c / 16);
}
/* dec0 */
TILE_FN void k_last(const tile_group *g, const d4r_m_args *a, const int c, const int h, const int in)
{
    tile_f32 x[K_MAX_TILES];
    k_expand(g, a, x, c / 16, in / 16);
    k_block(g, a, D4R_K_EXPAND_BYTES(c, in), x, c, h);
    k_head(g, a, D4R_K_DEC_BYTES(c, h, in), x, c / 16);
}

TILE_FN void k_enc0(const tile_group *g, const d4r_m_args *a)
{
    k_first(g, a, D4R_K_C0, D4R_K_H0);
}
#define K_LAYER(name, kind, level, in)                              \
    TILE_FN void k_##name(const tile_group *g, const d4r_m_args *a) \
    {                                                               \
        kind(g, a, D4R_K_C##level, D4R_K_H##level, D4R_K_C##in);    \
    }
K_LAYER(enc1, k_encode, 1, 0)
K_LAYER(enc2, k_encode, 2, 1)
K_LAYER(enc3, k_encode, 3, 2)
K_LAYER(enc4, k_encode, 4, 3)
K_LAYER(dec5, k_encode, 5, 4)
K_LAYER(dec4, k_decode, 4, 5)
K_LAYER(dec3, k_decode, 3, 4)
K_LAYER(dec2, k_decode, 2, 3)
K_LAYER(dec1, k_decode, 1, 2)
K_LAYER(dec0, k_last, 0, 1)

#endif
