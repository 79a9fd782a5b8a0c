/* Loops and entry points of k_stages.h: nvcc builds the GPU library, a C++ compiler the CPU libraries (float and double). */
#ifdef __CUDACC__
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif
#include "k_stages.h"
#include "loops.h"

EXPORT int k_stage_features(const k_dims *dims, const k_feature_inputs *inputs, real *out, void *stream)
{
    k_dims d = *dims;
    k_feature_inputs in = *inputs;
    return FOR_ROWS(d.batch, d.gw, d.gh, stream, (BODY(int b, int x, int y) {
                        k_features(&in, &d, b, x, y,
                                   out + K_FEATURES * ((long)b * d.gw * d.gh + k_token(x, y, d.gw, 0)));
                    }));
}

EXPORT int k_stage_features_backward(const k_dims *dims, const k_feature_inputs *inputs, const real *g,
                                     real *g_history, real *g_recurrent, void *stream)
{
    k_dims d = *dims;
    k_feature_inputs in = *inputs;
    return for_pixels(
        d.batch, d.gw, d.gh, stream, BODY(int b, int x, int y) {
            k_features_backward(&in, &d, b, x, y,
                                g + K_FEATURES * ((long)b * d.gw * d.gh + k_token(x, y, d.gw, 0)), g_history,
                                g_recurrent);
        });
}

EXPORT int k_stage_reconstruct(const k_dims *dims, const k_post_inputs *inputs, real *history, real *shown,
                               void *stream)
{
    k_dims d = *dims;
    k_post_inputs in = *inputs;
    return FOR_ROWS(d.batch, d.ow, d.oh, stream,
                    (BODY(int b, int x, int y) { k_pixel_forward(&in, &d, b, x, y, history, shown); }));
}

#ifdef __CUDACC__

#define WARPS 4

/* A warp's sub-blocks mostly use the same four shapes: it adds them up first, group by group. */
__global__ void __launch_bounds__(32 * WARPS)
    reconstruct_backward_kernel(k_dims d, k_post_inputs in, k_post_gradients o)
{
    int lane = (int)threadIdx.x, x = (int)blockIdx.x * 32 + lane, y = (int)(blockIdx.y * WARPS + threadIdx.y),
        b = (int)blockIdx.z, first = -1;
    real shapes[12] = {0};
    if (x < (d.ow + 1) / 2 && y < (d.oh + 1) / 2) first = k_block_backward(&in, &d, &o, b, x, y, shapes);
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            int group = 4 * row + column;
            if (!__any_sync(0xffffffffu, first == group)) continue;
            for (int i = 0; i < 12; i++) {
                real sum = first == group ? shapes[i] : (real)0;
                for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, k);
                int shape = group + (i / 3 & 1) + 4 * (i / 6);
                if (lane == 0) atomicAdd(o.g_gaussians + (b * K_SHAPES + shape) * 3 + i % 3, sum);
            }
        }
}

EXPORT int k_stage_reconstruct_backward(const k_dims *dims, const k_post_inputs *inputs,
                                        const k_post_gradients *gradients, void *stream)
{
    dim3 block(32, WARPS),
        grid(((dims->ow + 1) / 2 + 31) / 32, ((dims->oh + 1) / 2 + WARPS - 1) / WARPS, dims->batch);
    reconstruct_backward_kernel<<<grid, block, 0, (cudaStream_t)stream>>>(*dims, *inputs, *gradients);
    return (int)cudaGetLastError();
}

#else

EXPORT int k_stage_reconstruct_backward(const k_dims *dims, const k_post_inputs *inputs,
                                        const k_post_gradients *gradients, void *stream)
{
    k_dims d = *dims;
    k_post_inputs in = *inputs;
    k_post_gradients o = *gradients;
    return for_pixels(
        d.batch, (d.ow + 1) / 2, (d.oh + 1) / 2, stream, BODY(int b, int x, int y) {
            real shapes[12] = {0};
            int first = k_block_backward(&in, &d, &o, b, x, y, shapes);
            for (int i = 0; i < 12; i++)
                o.g_gaussians[(b * K_SHAPES + first + (i / 3 & 1) + 4 * (i / 6)) * 3 + i % 3] += shapes[i];
        });
}

#endif
