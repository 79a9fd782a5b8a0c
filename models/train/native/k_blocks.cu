/* What preset K's blocks do between their matrix products, bfloat16, on a GPU: norms, activation, attention of 64-token
 * windows; forward and backward. k_blocks.py has the same in PyTorch for the CPU. Tokens lie in the order of k_stages.h. */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdint.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef __nv_bfloat16 elem;
typedef __nv_bfloat162 pair;

/* ---- rows ---- */

#define LANES 16 /* threads a token */
#define ROWS 8   /* tokens a block */

__device__ __forceinline__ float row_sum(float v)
{
    for (int k = LANES / 2; k > 0; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
    return v;
}

/* P pairs of channels a thread: C = 32 P. */
template <int P>
__global__ void __launch_bounds__(LANES *ROWS) norm_kernel(int tokens, const pair *x, pair *out)
{
    int token = (int)blockIdx.x * ROWS + (int)threadIdx.y, lane = (int)threadIdx.x;
    long at = (long)token * LANES * P + lane;
    float2 v[P];
    float sum = 0;
    for (int i = 0; i < P; i++) {
        v[i] = token < tokens ? __bfloat1622float2(x[at + i * LANES]) : make_float2(0.f, 0.f);
        sum += v[i].x * v[i].x + v[i].y * v[i].y;
    }
    float r = rsqrtf(row_sum(sum) / (32 * P) + 1e-5f);
    for (int i = 0; token < tokens && i < P; i++)
        out[at + i * LANES] = __floats2bfloat162_rn(v[i].x * r, v[i].y * r);
}

/* out = residual + gradient of the norm. Where a token is nearly nothing (black, or outside the output) the true gradient is
 * its own times up to 316, layer after layer: the factor ends at 10. */
#define SMALLEST_MEAN .01f
template <int P>
__global__ void __launch_bounds__(LANES *ROWS)
    norm_backward_kernel(int tokens, const pair *x, const pair *g, const pair *residual, pair *out)
{
    int token = (int)blockIdx.x * ROWS + (int)threadIdx.y, lane = (int)threadIdx.x;
    long at = (long)token * LANES * P + lane;
    float2 v[P], gv[P];
    float sum = 0, along = 0;
    for (int i = 0; i < P; i++) {
        v[i] = token < tokens ? __bfloat1622float2(x[at + i * LANES]) : make_float2(0.f, 0.f);
        gv[i] = token < tokens ? __bfloat1622float2(g[at + i * LANES]) : make_float2(0.f, 0.f);
        sum += v[i].x * v[i].x + v[i].y * v[i].y, along += v[i].x * gv[i].x + v[i].y * gv[i].y;
    }
    float r = rsqrtf(fmaxf(row_sum(sum) / (32 * P) + 1e-5f, SMALLEST_MEAN)), k = r * r * row_sum(along) / (32 * P);
    for (int i = 0; token < tokens && i < P; i++) {
        float2 e = __bfloat1622float2(residual[at + i * LANES]);
        out[at + i * LANES] =
            __floats2bfloat162_rn(e.x + r * (gv[i].x - k * v[i].x), e.y + r * (gv[i].y - k * v[i].y));
    }
}

#define FOR_CHANNELS(channels, call) \
    switch (channels) {              \
    case 32: {                       \
        constexpr int P = 1;         \
        call;                        \
        break;                       \
    }                                \
    case 64: {                       \
        constexpr int P = 2;         \
        call;                        \
        break;                       \
    }                                \
    case 96: {                       \
        constexpr int P = 3;         \
        call;                        \
        break;                       \
    }                                \
    case 128: {                      \
        constexpr int P = 4;         \
        call;                        \
        break;                       \
    }                                \
    default:                         \
        return -1;                   \
    }

EXPORT int k_norm(int tokens, int channels, const void *x, void *out, void *stream)
{
    dim3 block(LANES, ROWS);
    int grid = (tokens + ROWS - 1) / ROWS;
    FOR_CHANNELS(channels, (norm_kernel<P>
                            <<<grid, block, 0, (cudaStream_t)stream>>>(tokens, (const pair *)x, (pair *)out)))
    return (int)cudaGetLastError();
}

EXPORT int k_norm_backward(int tokens, int channels, const void *x, const void *g, const void *residual,
                           void *out, void *stream)
{
    dim3 block(LANES, ROWS);
    int grid = (tokens + ROWS - 1) / ROWS;
    FOR_CHANNELS(channels,
                 (norm_backward_kernel<P><<<grid, block, 0, (cudaStream_t)stream>>>(
                     tokens, (const pair *)x, (const pair *)g, (const pair *)residual, (pair *)out)))
    return (int)cudaGetLastError();
}

/* ---- activation ---- */

__device__ __forceinline__ float act(float y)
{
    float c = fminf(fmaxf(y, -2.4f), 2.4f);
    return y * (.5f + c * (.412f - .081f * fabsf(c)));
}
__device__ __forceinline__ float act_slope(float y)
{
    float c = fminf(fmaxf(y, -2.4f), 2.4f), f = .5f + c * (.412f - .081f * fabsf(c));
    return fabsf(y) < 2.4f ? f + y * (.412f - .162f * fabsf(y)) : f;
}

__global__ void act_kernel(long pairs, const pair *y, pair *out)
{
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    if (i >= pairs) return;
    float2 v = __bfloat1622float2(y[i]);
    out[i] = __floats2bfloat162_rn(act(v.x), act(v.y));
}
__global__ void act_backward_kernel(long pairs, const pair *y, const pair *g, pair *out)
{
    long i = (long)blockIdx.x * 256 + threadIdx.x;
    if (i >= pairs) return;
    float2 v = __bfloat1622float2(y[i]), e = __bfloat1622float2(g[i]);
    out[i] = __floats2bfloat162_rn(e.x * act_slope(v.x), e.y * act_slope(v.y));
}

EXPORT int k_act(long values, const void *y, void *out, void *stream)
{
    act_kernel<<<(unsigned)((values / 2 + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        values / 2, (const pair *)y, (pair *)out);
    return (int)cudaGetLastError();
}
EXPORT int k_act_backward(long values, const void *y, const void *g, void *out, void *stream)
{
    act_backward_kernel<<<(unsigned)((values / 2 + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
        values / 2, (const pair *)y, (const pair *)g, (pair *)out);
    return (int)cudaGetLastError();
}

/* ---- attention ---- */

/* A window and head is a block of four warps; a warp has 16 of the queries, two threads a query's row of 64 keys. Scores are
 * base-2 logarithms: 2^(bias + q k). */
#define TOKENS 64
#define WIDTH 32
#define THREADS 128
#define LD 40       /* of q, k, v, g in shared memory */
#define SCORE_LD 68 /* floats; weights reuse a row as 136 elements */
#define WEIGHT_LD 136
#define LN2 .6931471805599453f

typedef struct {
    int batch, gw, gh, level, heads, shift; /* gw, gh: tokens of level 0 */
} attention_dims;

__device__ __forceinline__ int windows_x(const attention_dims *d)
{
    return ((d->gw >> d->level) + d->shift + 7) / 8;
}
__device__ __forceinline__ int windows_y(const attention_dims *d)
{
    return ((d->gh >> d->level) + d->shift + 7) / 8;
}

__device__ __forceinline__ int spread_bits(int v)
{
    v = (v | v << 4) & 0x10f;
    v = (v | v << 2) & 0x133;
    return (v | v << 1) & 0x155;
}

/* Token of a window's position, or -1 outside the grid. */
__device__ long window_token(const attention_dims *d, int window, int i)
{
    int per = windows_x(d) * windows_y(d), b = window / per, at = window % per, bits = 5 - d->level,
        mask = (1 << bits) - 1;
    int y = at / windows_x(d) * 8 - d->shift + i / 8, x = at % windows_x(d) * 8 - d->shift + i % 8;
    if (x < 0 || y < 0 || x >= d->gw >> d->level || y >= d->gh >> d->level) return -1;
    long tile = (long)(y >> bits) * (d->gw >> 5) + (x >> bits);
    return (((long)b * (d->gw >> 5) * (d->gh >> 5) + tile) << 2 * bits) +
           (spread_bits(y & mask) << 1 | spread_bits(x & mask));
}

struct shared_window {
    elem q[TOKENS * LD], k[TOKENS * LD], v[TOKENS * LD], g[TOKENS * LD];
    float s[TOKENS * SCORE_LD], t[TOKENS * SCORE_LD];
    long at[TOKENS];
};

/* 64 rows of 32 channels, four threads a row. */
__device__ __forceinline__ void fetch(const elem *from, long stride, const long *at, elem *to)
{
    for (int k = (int)threadIdx.x; k < TOKENS * 4; k += THREADS) {
        long token = at[k / 4];
        uint4 v = token >= 0 ? ((const uint4 *)(from + token * stride))[k % 4] : make_uint4(0, 0, 0, 0);
        *(uint4 *)(to + k / 4 * LD + k % 4 * 8) = v;
    }
}

__device__ __forceinline__ void store(elem *to, long stride, const long *at, const float *from)
{
    for (int k = (int)threadIdx.x; k < TOKENS * 4; k += THREADS) {
        long token = at[k / 4];
        const float *f = from + k / 4 * SCORE_LD + k % 4 * 8;
        if (token < 0) continue;
        pair *p = (pair *)(to + token * stride) + k % 4 * 4;
        for (int i = 0; i < 4; i++) p[i] = __floats2bfloat162_rn(f[2 * i], f[2 * i + 1]);
    }
}

using namespace nvcuda::wmma;
typedef fragment<matrix_a, 16, 16, 16, elem, row_major> rows_a;
typedef fragment<matrix_a, 16, 16, 16, elem, col_major> columns_a;
typedef fragment<matrix_b, 16, 16, 16, elem, row_major> rows_b;
typedef fragment<matrix_b, 16, 16, 16, elem, col_major> columns_b;
typedef fragment<accumulator, 16, 16, 16, float> sums;

/* out[16 rows of this warp][64] = a[rows][32] . b[64][32] transposed */
__device__ __forceinline__ void scores(const elem *a, const elem *b, float *out, int warp)
{
    for (int column = 0; column < 4; column++) {
        sums acc;
        fill_fragment(acc, 0.f);
        for (int k = 0; k < 2; k++) {
            rows_a fa;
            columns_b fb;
            load_matrix_sync(fa, a + warp * 16 * LD + 16 * k, LD);
            load_matrix_sync(fb, b + column * 16 * LD + 16 * k, LD);
            mma_sync(acc, fa, fb, acc);
        }
        store_matrix_sync(out + warp * 16 * SCORE_LD + 16 * column, acc, SCORE_LD, mem_row_major);
    }
}

/* acc[2] = 16 rows of this warp of w . b: w [64][64] weights, or their transpose, b [64][32] */
template <typename A>
__device__ __forceinline__ void weigh(const elem *w, int step, int row, const elem *b, int warp, sums *acc)
{
    fill_fragment(acc[0], 0.f);
    fill_fragment(acc[1], 0.f);
    for (int k = 0; k < 4; k++) {
        A fa;
        load_matrix_sync(fa, w + warp * row + k * step, WEIGHT_LD);
        for (int c = 0; c < 2; c++) {
            rows_b fb;
            load_matrix_sync(fb, b + k * 16 * LD + 16 * c, LD);
            mma_sync(acc[c], fa, fb, acc[c]);
        }
    }
}

/* A thread's half row of scores -> 2^(s - max), unnormalised; -> the row's sum. */
__device__ __forceinline__ float row_weights(const float *scores, const float *bias, const long *at, float *p)
{
    float top = -1e30f, sum = 0;
#pragma unroll
    for (int j = 0; j < 32; j++) {
        p[j] = at[j] >= 0 ? scores[j] + bias[j] : -1e30f;
        top = fmaxf(top, p[j]);
    }
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
#pragma unroll
    for (int j = 0; j < 32; j++) {
        p[j] = p[j] > -1e29f ? exp2f(p[j] - top) : 0.f;
        sum += p[j];
    }
    return sum + __shfl_xor_sync(0xffffffffu, sum, 1);
}

/* qkv [B][tokens][3C], bias [heads][query][key], out [B][tokens][C] */
__global__ void __launch_bounds__(THREADS)
    attention_kernel(attention_dims d, const elem *qkv, const float *bias, elem *out)
{
    extern __shared__ __align__(128) unsigned char bytes[];
    shared_window *s = (shared_window *)bytes;
    int head = (int)blockIdx.y, warp = (int)threadIdx.x / 32, row = (int)threadIdx.x / 2,
        half = (int)threadIdx.x & 1;
    long n = (long)d.heads * WIDTH;
    if (threadIdx.x < TOKENS) s->at[threadIdx.x] = window_token(&d, (int)blockIdx.x, (int)threadIdx.x);
    __syncthreads();
    fetch(qkv + head * WIDTH, 3 * n, s->at, s->q);
    fetch(qkv + n + head * WIDTH, 3 * n, s->at, s->k);
    fetch(qkv + 2 * n + head * WIDTH, 3 * n, s->at, s->v);
    __syncthreads();
    scores(s->q, s->k, s->s, warp);
    __syncwarp();
    float p[32],
        inverse = 1 / row_weights(s->s + row * SCORE_LD + 32 * half,
                                  bias + (head * TOKENS + row) * TOKENS + 32 * half, s->at + 32 * half, p);
    __syncwarp();
    pair *w = (pair *)((elem *)s->s + row * WEIGHT_LD + 32 * half);
#pragma unroll
    for (int j = 0; j < 16; j++) w[j] = __floats2bfloat162_rn(p[2 * j] * inverse, p[2 * j + 1] * inverse);
    __syncwarp();
    sums acc[2];
    weigh<rows_a>((const elem *)s->s, 16, 16 * WEIGHT_LD, s->v, warp, acc);
    __syncwarp();
    for (int c = 0; c < 2; c++)
        store_matrix_sync(s->s + warp * 16 * SCORE_LD + 16 * c, acc[c], SCORE_LD, mem_row_major);
    __syncthreads();
    store(out + head * WIDTH, n, s->at, s->s);
}

/* Blocks take several windows of a head, so that the bias sums leave them once. */
__global__ void __launch_bounds__(THREADS)
    attention_backward_kernel(attention_dims d, int windows, const elem *qkv, const float *bias,
                              const elem *grad, elem *g_qkv, float *g_bias)
{
    extern __shared__ __align__(128) unsigned char bytes[];
    shared_window *s = (shared_window *)bytes;
    int head = (int)blockIdx.y, warp = (int)threadIdx.x / 32, row = (int)threadIdx.x / 2,
        half = (int)threadIdx.x & 1;
    long n = (long)d.heads * WIDTH;
    float bias_sum[32];
#pragma unroll
    for (int j = 0; j < 32; j++) bias_sum[j] = 0;
    for (int window = (int)blockIdx.x; window < windows; window += (int)gridDim.x) {
        if (threadIdx.x < TOKENS) s->at[threadIdx.x] = window_token(&d, window, (int)threadIdx.x);
        __syncthreads();
        fetch(qkv + head * WIDTH, 3 * n, s->at, s->q);
        fetch(qkv + n + head * WIDTH, 3 * n, s->at, s->k);
        fetch(qkv + 2 * n + head * WIDTH, 3 * n, s->at, s->v);
        fetch(grad + head * WIDTH, n, s->at, s->g);
        __syncthreads();
        scores(s->q, s->k, s->s, warp);
        scores(s->g, s->v, s->t, warp);
        __syncwarp();
        float p[32], along[32], mean = 0;
        float inverse =
            1 / row_weights(s->s + row * SCORE_LD + 32 * half,
                            bias + (head * TOKENS + row) * TOKENS + 32 * half, s->at + 32 * half, p);
#pragma unroll
        for (int j = 0; j < 32; j++) {
            p[j] *= inverse, along[j] = s->t[row * SCORE_LD + 32 * half + j];
            mean += p[j] * along[j];
        }
        mean += __shfl_xor_sync(0xffffffffu, mean, 1);
        __syncwarp();
        pair *w = (pair *)((elem *)s->s + row * WEIGHT_LD + 32 * half),
             *ds = (pair *)((elem *)s->t + row * WEIGHT_LD + 32 * half);
#pragma unroll
        for (int j = 0; j < 16; j++) {
            float a = p[2 * j] * (along[2 * j] - mean) * LN2,
                  b = p[2 * j + 1] * (along[2 * j + 1] - mean) * LN2;
            bias_sum[2 * j] += a, bias_sum[2 * j + 1] += b;
            w[j] = __floats2bfloat162_rn(p[2 * j], p[2 * j + 1]), ds[j] = __floats2bfloat162_rn(a, b);
        }
        __syncthreads();
        sums gq[2], gk[2], gv[2];
        weigh<rows_a>((const elem *)s->t, 16, 16 * WEIGHT_LD, s->k, warp, gq);
        weigh<columns_a>((const elem *)s->t, 16 * WEIGHT_LD, 16, s->q, warp, gk);
        weigh<columns_a>((const elem *)s->s, 16 * WEIGHT_LD, 16, s->g, warp, gv);
        __syncthreads();
        for (int c = 0; c < 2; c++) {
            store_matrix_sync(s->s + warp * 16 * SCORE_LD + 16 * c, gq[c], SCORE_LD, mem_row_major);
            store_matrix_sync(s->s + warp * 16 * SCORE_LD + 32 + 16 * c, gk[c], SCORE_LD, mem_row_major);
            store_matrix_sync(s->t + warp * 16 * SCORE_LD + 16 * c, gv[c], SCORE_LD, mem_row_major);
        }
        __syncthreads();
        store(g_qkv + head * WIDTH, 3 * n, s->at, s->s);
        store(g_qkv + n + head * WIDTH, 3 * n, s->at, s->s + 32);
        store(g_qkv + 2 * n + head * WIDTH, 3 * n, s->at, s->t);
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 32; j++)
        atomicAdd(g_bias + (head * TOKENS + row) * TOKENS + 32 * half + j, bias_sum[j]);
}

static int window_count(const attention_dims *d)
{
    int x = ((d->gw >> d->level) + d->shift + 7) / 8, y = ((d->gh >> d->level) + d->shift + 7) / 8;
    return d->batch * x * y;
}

/* Before the first call, outside a graph's capture. */
EXPORT int k_attention_setup(void)
{
    int bytes = (int)sizeof(shared_window);
    int r = (int)cudaFuncSetAttribute((const void *)attention_kernel,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return r ? r
             : (int)cudaFuncSetAttribute((const void *)attention_backward_kernel,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

EXPORT int k_attention(const attention_dims *dims, const void *qkv, const float *bias, void *out,
                       void *stream)
{
    dim3 grid(window_count(dims), dims->heads);
    attention_kernel<<<grid, THREADS, sizeof(shared_window), (cudaStream_t)stream>>>(*dims, (const elem *)qkv,
                                                                                     bias, (elem *)out);
    return (int)cudaGetLastError();
}

EXPORT int k_attention_backward(const attention_dims *dims, const void *qkv, const float *bias,
                                const void *grad, void *g_qkv, float *g_bias, void *stream)
{
    int windows = window_count(dims);
    dim3 grid(windows < 400 ? windows : 400, dims->heads);
    attention_backward_kernel<<<grid, THREADS, sizeof(shared_window), (cudaStream_t)stream>>>(
        *dims, windows, (const elem *)qkv, bias, (const elem *)grad, (elem *)g_qkv, g_bias);
    return (int)cudaGetLastError();
}
