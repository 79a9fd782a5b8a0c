/* Loops and entry points of stages.h: nvcc builds the GPU library, a C++ compiler the CPU libraries (float and double). */
#ifdef __CUDACC__
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif
#include "stages.h"
#include "loops.h"

EXPORT int stage_real_bytes(void) { return (int)sizeof(real); }

EXPORT int stage_candidates(const stage_dims *dims, const real *depth, const real *motion, real *a, real *b, void *stream)
{
    stage_dims d = *dims;
    return FOR_ROWS(d.batch, d.w, d.h, stream, (BODY(int s, int x, int y) {
        long n = (long)d.w * d.h, i = (long)y * d.w + x;
        real va[2], vb[2];
        motion_candidates(depth + s * n, motion + 2 * s * n, d.w, d.h, x, y, va, vb);
        a[2 * s * n + i] = va[0], a[(2 * s + 1) * n + i] = va[1];
        b[2 * s * n + i] = vb[0], b[(2 * s + 1) * n + i] = vb[1];
    }));
}

/* out [B][h][w][20], recurrent [B][4][h][w] */
EXPORT int stage_features(const stage_dims *dims, const feature_inputs *inputs, real *out, real *recurrent, void *stream)
{
    stage_dims d = *dims;
    feature_inputs in = *inputs;
    return FOR_ROWS(d.batch, d.w, d.h, stream, (BODY(int b, int x, int y) {
        long n = (long)d.w * d.h, i = (long)y * d.w + x;
        features_pixel(&in, &d, b, x, y, out + FEATURES * (b * n + i), recurrent + 4 * b * n + i);
    }));
}

EXPORT int stage_features_backward(const stage_dims *dims, const feature_inputs *inputs, const real *g, const real *g_recurrent,
                                   real *g_half, real *g_feature, void *stream)
{
    stage_dims d = *dims;
    feature_inputs in = *inputs;
    return for_pixels(d.batch, d.w, d.h, stream, BODY(int b, int x, int y) {
        long n = (long)d.w * d.h, i = (long)y * d.w + x;
        features_pixel_backward(&in, &d, b, x, y, g + FEATURES * (b * n + i), g_recurrent + 4 * b * n + i, g_half, g_feature);
    });
}

EXPORT int stage_reconstruct(const stage_dims *dims, const post_inputs *inputs, real *out_a, real *out_b, real *half, void *stream)
{
    stage_dims d = *dims;
    post_inputs in = *inputs;
    int r = FOR_ROWS(d.batch, d.rw, d.rh, stream, (BODY(int b, int x, int y) { post_pixel_forward(&in, &d, b, x, y, out_a, out_b); }));
    if (r) return r;
    return FOR_ROWS(d.batch, d.hw, d.hh, stream, (BODY(int b, int x, int y) { half_pixel(out_a, &d, b, x, y, half); }));
}

EXPORT int stage_reconstruct_backward(const stage_dims *dims, const post_inputs *inputs, const post_gradients *gradients, void *stream)
{
    stage_dims d = *dims;
    post_inputs in = *inputs;
    post_gradients g = *gradients;
    int r = for_pixels(d.batch, d.rw, d.rh, stream, BODY(int b, int x, int y) { post_pixel_backward(&in, &d, &g, b, x, y); });
    if (r) return r;
    return FOR_ROWS(d.batch, d.w, d.h, stream, (BODY(int b, int x, int y) { post_texel_backward(&in, &d, &g, b, x, y); }));
}

/* in [planes][rh][rw] -> out [planes][oh][ow] */
EXPORT int stage_downsample(int planes, int rw, int rh, int ow, int oh, const real *in, real *out, void *stream)
{
    return FOR_ROWS(planes, ow, oh, stream, (BODY(int b, int x, int y) {
        out[((long)b * oh + y) * ow + x] = down_pixel(in + (long)b * rw * rh, rw, rh, x, y);
    }));
}

EXPORT int stage_downsample_backward(int planes, int rw, int rh, int ow, int oh, const real *g, real *g_in, void *stream)
{
    return FOR_ROWS(planes, rw, rh, stream, (BODY(int b, int x, int y) {
        g_in[((long)b * rh + y) * rw + x] = down_pixel_backward(g + (long)b * ow * oh, rw, rh, ow, oh, x, y);
    }));
}
