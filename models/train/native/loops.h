/* Loops over pixels, on a GPU or on the host. Included by the .cu files only. */
#ifndef D4R_TRAIN_LOOPS_H
#define D4R_TRAIN_LOOPS_H

#define EXPORT extern "C" __attribute__((visibility("default")))

/* Calls `body` with b, x, y in scope for every pixel of `batch` images of w x h. */
#ifdef __CUDACC__
template <typename F> __global__ void __launch_bounds__(128) for_pixels_kernel(int w, int h, F body)
{
    int x = (int)(blockIdx.x * 32 + threadIdx.x), y = (int)(blockIdx.y * 4 + threadIdx.y);
    if (x < w && y < h) body((int)blockIdx.z, x, y);
}
template <typename F> static int for_pixels(int batch, int w, int h, void *stream, F body)
{
    dim3 block(32, 4), grid((w + 31) / 32, (h + 3) / 4, batch);
    for_pixels_kernel<<<grid, block, 0, (cudaStream_t)stream>>>(w, h, body);
    return (int)cudaGetLastError();
}
#define BODY [=] __device__
#else
template <typename F> static int for_pixels(int batch, int w, int h, void *, F body)
{
#pragma omp parallel for
    for (int b = 0; b < batch; b++) /* gradients are scattered within a sample only */
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) body(b, x, y);
    return 0;
}
template <typename F> static int for_rows(int batch, int w, int h, void *, F body)
{
#pragma omp parallel for collapse(2)
    for (int b = 0; b < batch; b++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) body(b, x, y);
    return 0;
}
#define BODY [=]
#endif
/* Without scattering, rows are independent as well. */
#ifdef __CUDACC__
#define FOR_ROWS(batch, w, h, stream, body) for_pixels(batch, w, h, stream, body)
#else
#define FOR_ROWS(batch, w, h, stream, body) for_rows(batch, w, h, stream, body)
#endif

#endif
