/* Elementwise parts of the vocabulary, the same on gfx11 and gfx12; tile_key(), TILE_PANEL_SCALE and the
 * operand types are the machine's. Included at the end of tile_gfx11.h and tile_gfx12.h. */
#ifndef D4R_HIP_KERNELS_TILE_GFX_ROWS_H
#define D4R_HIP_KERNELS_TILE_GFX_ROWS_H

TILE_FN tile_v8f tile_bias_values(const tile_group *g, const unsigned char *bias, int m)
{
    const tile_v4f *p = (const tile_v4f *)(bias + 64 * m + (unsigned)(32 * g->half));
    const tile_v4f a = p[0], b = p[1];
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
TILE_FN void tile_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    const tile_v8f b = tile_bias_values(g, bias, m);
    TILE_EACH_WINDOW(w) x->v[w] = b;
}
TILE_FN void tile_add_bias(const tile_group *g, tile_f32 *x, const unsigned char *bias, int m)
{
    __builtin_amdgcn_sched_barrier(0);
    const tile_v8f b = tile_bias_values(g, bias, m);
    TILE_EACH_WINDOW(w) x->v[w] += b;
}
/* Swapped: the lane's own channel in every register. */
TILE_FN void tile_bias_t(const tile_group *g, tile_f32_t *x, const unsigned char *bias, int m)
{
    const float b = *(const float *)(bias + 64 * m + (unsigned)(4 * tile_swapped_channel(g)));
    TILE_EACH_WINDOW(w) x->v[w] = (tile_v8f)b;
}

TILE_FN void tile_act(const tile_group *g, tile_f32 *x)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int i = 0; i < 8; i++) {
        const float y = x->v[w][i], c = __builtin_amdgcn_fmed3f(y, -2.4f, 2.4f);
        const float slope = __builtin_fmaf(__builtin_fabsf(c), -0.081f, 0.412f);
        x->v[w][i] = y * __builtin_fmaf(c, slope, 0.5f);
    }
}

TILE_FN void tile_rel_bias_mask(const tile_group *g, tile_f32 *s, const unsigned char *table)
{
    const unsigned char *column = table + (unsigned)(4 * (g->lane & 15) + 64 * tile_key(g, 0));
    const int stride = 64 * TILE_KEY_STEP;
    TILE_UNROLL
    for (int r = 0; r < 8; r++) {
        const float b = *(const float *)(column + stride * r);
        TILE_EACH_WINDOW(w) s->v[w][r] = __builtin_fmaf(s->v[w][r], M_SCORE_SCALE, b);
    }
    if (!g->masked) return;
    TILE_EACH_WINDOW(w)
    TILE_UNROLL
    for (int r = 0; r < 8; r++)
        if (g->outside[w] >> tile_key(g, r) & 1) s->v[w][r] = -__builtin_inff();
}
TILE_FN void tile_exp2_256(const tile_group *g, tile_f32 *s, const tile_row *top)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    {
        const float zero = top->v[w] - 8.0f;
        TILE_UNROLL
        for (int r = 0; r < 8; r++) s->v[w][r] = __builtin_amdgcn_exp2f(s->v[w][r] - zero);
    }
}

TILE_FN void tile_row_max(const tile_group *g, tile_row *d, const tile_f32 *s)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    {
        float m = s->v[w][0];
        TILE_UNROLL
        for (int r = 1; r < 8; r++) m = __builtin_fmaxf(m, s->v[w][r]);
        d->v[w] = __builtin_fmaxf(m, tile_other(m));
    }
}
TILE_FN void tile_row_squares(const tile_group *g, tile_row *d, const tile_f32 *x, int tiles)
{
    (void)g;
    TILE_EACH_WINDOW(w)
    {
        float sum = 0.0f;
        TILE_UNROLL
        for (int k = 0; k < tiles; k++) TILE_UNROLL
        for (int r = 0; r < 8; r++) sum = __builtin_fmaf(x[k].v[w][r], x[k].v[w][r], sum);
        d->v[w] = sum + tile_other(sum);
    }
}
TILE_FN void tile_row_reciprocal(const tile_group *g, tile_row *d)
{
    (void)g;
    TILE_EACH_WINDOW(w) d->v[w] = __builtin_amdgcn_rcpf(d->v[w]);
}
TILE_FN void tile_row_rsqrt_mean(const tile_group *g, tile_row *d, float inverse_count, float eps)
{
    (void)g;
    TILE_EACH_WINDOW(w) d->v[w] = __builtin_amdgcn_rsqf(__builtin_fmaf(d->v[w], inverse_count, eps));
}

#endif
