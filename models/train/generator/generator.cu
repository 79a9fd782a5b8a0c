/* Entry points of the generator. Built twice from this file: by nvcc for the GPU, by a C++ compiler for the CPU. Every
 * pointer is device memory in the first case. */
#include "build.h"

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int gen_scene_bytes(void) { return (int)sizeof(scene); }
EXPORT int gen_frame_bytes(void) { return (int)sizeof(frame); }
EXPORT int gen_view_bytes(void) { return (int)sizeof(view); }
EXPORT int gen_class_count(void) { return CLASS_COUNT; }

/* Host memory always. */
EXPORT void gen_build(uint64_t seed, int kind, int moving, int width, int height, void *out)
{
    scene_build(seed, kind, moving, width, height, (scene *)out);
}

#ifdef __CUDACC__

__global__ void prepare_kernel(const scene *scenes, const view *views, frame *frames)
{
    const view *v = &views[blockIdx.x];
    const scene *s = &scenes[v->scene];
    frame *f = &frames[blockIdx.x];
    if (threadIdx.x == 0) frame_lights(s, v, f);
    frame_prim(s, v, (int)threadIdx.x, f);
}

#define BLOCK_X 16
#define BLOCK_Y 8

__device__ uint32_t block_mask(const scene *s, const frame *f, int w, int h)
{
    __shared__ uint32_t mask;
    int lane = (int)(threadIdx.y * BLOCK_X + threadIdx.x);
    if (lane < 32) {
        /* half a pixel of jitter on either side */
        float x0 = ((float)(blockIdx.x * BLOCK_X) - 1.f) / (float)w, x1 = ((float)((blockIdx.x + 1) * BLOCK_X) + 1.f) / (float)w;
        float y0 = ((float)(blockIdx.y * BLOCK_Y) - 1.f) / (float)h, y1 = ((float)((blockIdx.y + 1) * BLOCK_Y) + 1.f) / (float)h;
        uint32_t m = __ballot_sync(0xffffffffu, meets_block(s, f, lane, x0, y0, x1, y1));
        if (lane == 0) mask = m;
    }
    __syncthreads();
    return mask;
}

__global__ void low_kernel(const scene *scenes, const frame *frames, const view *views, int w, int h, float *color, float *depth,
                           float *motion)
{
    const view *v = &views[blockIdx.z];
    const scene *s = &scenes[v->scene];
    const frame *f = &frames[blockIdx.z];
    uint32_t mask = block_mask(s, f, w, h);
    int x = (int)(blockIdx.x * BLOCK_X + threadIdx.x), y = (int)(blockIdx.y * BLOCK_Y + threadIdx.y);
    long n = (long)w * h, z = blockIdx.z;
    low_image im = {color + 3 * z * n, depth + z * n, motion + 2 * z * n, w, h};
    if (x < w && y < h) low_pixel(s, f, v, mask, &im, x, y);
}

/* The pixels of a block that need more samples are few and scattered: sixteen threads share each of them. */
__global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    ref_kernel(const scene *scenes, const frame *frames, const view *views, int w, int h, float *out)
{
    __shared__ vec3 sums[BLOCK_X * BLOCK_Y];
    __shared__ int list[BLOCK_X * BLOCK_Y], count;
    const scene *s = &scenes[views[blockIdx.z].scene];
    const frame *f = &frames[blockIdx.z];
    uint32_t mask = block_mask(s, f, w, h);
    int tid = (int)(threadIdx.y * BLOCK_X + threadIdx.x), x0 = (int)blockIdx.x * BLOCK_X, y0 = (int)blockIdx.y * BLOCK_Y;
    int x = x0 + (int)threadIdx.x, y = y0 + (int)threadIdx.y, inside = x < w && y < h, more = 0, prim;
    if (tid == 0) count = 0;
    __syncthreads();
    vec3 own = inside ? ref_first(s, f, mask, w, h, x, y, &more) : v3(0.f, 0.f, 0.f);
    if (more) list[atomicAdd(&count, 1)] = tid;
    __syncthreads();
    for (int k = tid; k < count * REF_MORE; k += BLOCK_X * BLOCK_Y) {
        int p = list[k / REF_MORE];
        vec3 c = ref_sample(s, f, mask, w, h, x0 + p % BLOCK_X, y0 + p / BLOCK_X, 4, k % REF_MORE, &prim);
        uint32_t lanes = 0xffffu << (tid & 16);
        for (int o = 8; o > 0; o >>= 1) {
            c.x += __shfl_xor_sync(lanes, c.x, o);
            c.y += __shfl_xor_sync(lanes, c.y, o);
            c.z += __shfl_xor_sync(lanes, c.z, o);
        }
        if (k % REF_MORE == 0) sums[p] = c;
    }
    __syncthreads();
    if (!inside) return;
    vec3 c = more ? v3_scale(v3_add(own, sums[tid]), 1.f / (4.f + REF_MORE)) : v3_scale(own, .25f);
    long n = (long)w * h;
    float *p = out + 3 * (long)blockIdx.z * n + (long)y * w + x;
    p[0] = c.x, p[n] = c.y, p[2 * n] = c.z;
}

EXPORT int gen_prepare(const void *scenes, const void *views, int count, void *frames, void *stream)
{
    prepare_kernel<<<count, SCENE_PRIMS, 0, (cudaStream_t)stream>>>((const scene *)scenes, (const view *)views, (frame *)frames);
    return (int)cudaGetLastError();
}

EXPORT int gen_low(const void *scenes, const void *frames, const void *views, int count, int w, int h, float *color, float *depth,
                   float *motion, void *stream)
{
    dim3 block(BLOCK_X, BLOCK_Y), grid((w + BLOCK_X - 1) / BLOCK_X, (h + BLOCK_Y - 1) / BLOCK_Y, count);
    low_kernel<<<grid, block, 0, (cudaStream_t)stream>>>((const scene *)scenes, (const frame *)frames, (const view *)views, w, h,
                                                         color, depth, motion);
    return (int)cudaGetLastError();
}

EXPORT int gen_ref(const void *scenes, const void *frames, const void *views, int count, int w, int h, float *out, void *stream)
{
    dim3 block(BLOCK_X, BLOCK_Y), grid((w + BLOCK_X - 1) / BLOCK_X, (h + BLOCK_Y - 1) / BLOCK_Y, count);
    ref_kernel<<<grid, block, 0, (cudaStream_t)stream>>>((const scene *)scenes, (const frame *)frames, (const view *)views, w, h, out);
    return (int)cudaGetLastError();
}

#else

EXPORT int gen_prepare(const void *scenes, const void *views, int count, void *frames, void *stream)
{
    (void)stream;
    for (int i = 0; i < count; i++) {
        const view *v = (const view *)views + i;
        const scene *s = (const scene *)scenes + v->scene;
        frame *f = (frame *)frames + i;
        frame_lights(s, v, f);
        for (int k = 0; k < SCENE_PRIMS; k++) frame_prim(s, v, k, f);
    }
    return 0;
}

EXPORT int gen_low(const void *scenes, const void *frames, const void *views, int count, int w, int h, float *color, float *depth,
                   float *motion, void *stream)
{
    (void)stream;
    long n = (long)w * h;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++) {
        const view *v = (const view *)views + i;
        const scene *s = (const scene *)scenes + v->scene;
        low_image im = {color + 3 * i * n, depth + i * n, motion + 2 * i * n, w, h};
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) low_pixel(s, (const frame *)frames + i, v, s->present, &im, x, y);
    }
    return 0;
}

EXPORT int gen_ref(const void *scenes, const void *frames, const void *views, int count, int w, int h, float *out, void *stream)
{
    (void)stream;
    long n = (long)w * h;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < count; i++) {
        const scene *s = (const scene *)scenes + ((const view *)views)[i].scene;
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                int more, prim;
                const frame *f = (const frame *)frames + i;
                vec3 c = ref_first(s, f, s->present, w, h, x, y, &more);
                for (int k = 0; more && k < REF_MORE; k++)
                    c = v3_add(c, ref_sample(s, f, s->present, w, h, x, y, 4, k, &prim));
                c = v3_scale(c, more ? 1.f / (4.f + REF_MORE) : .25f);
                float *p = out + 3 * i * n + (long)y * w + x;
                p[0] = c.x, p[n] = c.y, p[2 * n] = c.z;
            }
    }
    return 0;
}

#endif
