/* Attention of 4x4-token windows, one kernel forward and one backward, with the runtime's FP8 roundings (straight
 * through in the gradient). Tokens [B][h][w][3C] (q, k, v by heads of 32) -> [B][h][w][C]. Windows of a shifted block start
 * at -2; keys outside the grid are masked, queries there do not exist.
 *
 * A window and head is the work of sixteen threads, one a query (then, in the backward pass, one a key). The CPU build runs
 * the same steps one after the other. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#define HD __host__ __device__ __forceinline__
#define ALIGNED __align__(16)
#define UNROLL _Pragma("unroll")
typedef float real;
#else
#define HD static inline
#define ALIGNED
#define UNROLL
#ifndef REAL
#define REAL float
#endif
typedef REAL real;
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))
#define TOKENS 16
#define WIDTH 32
#define ROW (WIDTH + 4) /* padding against bank conflicts; rows stay aligned to 16 bytes */

typedef struct {
    int batch, h, w, heads, shift, exact; /* exact: no FP8 rounding (gradient checks) */
} attention_dims;

HD int windows_x(const attention_dims *d) { return (d->w + 2 * d->shift) / 4; }
HD int windows_y(const attention_dims *d) { return (d->h + 2 * d->shift) / 4; }

/* Nearest even E4M3 value of a finite v. */
HD real nearest_fp8(real v)
{
    union {
        float f;
        uint32_t u;
    } a, step;
    a.f = fabsf((float)v);
    a.f = a.f > 448.f ? 448.f : a.f;
    int e = (int)(a.u >> 23) - 127;
    step.u = (uint32_t)((e < -6 ? -6 : e) + 124) << 23;
    float r = rintf(a.f / step.f) * step.f;
    return v < 0 ? (real)-r : (real)r;
}

/* Token of a window's position, or -1 outside the grid. */
HD long window_token(const attention_dims *d, int window, int i)
{
    int per = windows_x(d) * windows_y(d), b = window / per, at = window % per;
    int y = at / windows_x(d) * 4 - d->shift + i / 4, x = at % windows_x(d) * 4 - d->shift + i % 4;
    if (x < 0 || y < 0 || x >= d->w || y >= d->h) return -1;
    return ((long)b * d->h + y) * d->w + x;
}

/* A row into registers: in shared memory four values a read, since every product below needs one operand from there. */
HD void load_row(const real *row, real *to)
{
#ifdef __CUDACC__
    UNROLL for (int c = 0; c < WIDTH / 4; c++)
    {
        float4 v = ((const float4 *)row)[c];
        to[4 * c] = v.x, to[4 * c + 1] = v.y, to[4 * c + 2] = v.z, to[4 * c + 3] = v.w;
    }
#else
    memcpy(to, row, WIDTH * sizeof(real));
#endif
}

/* Key weights of a query: p[j] = 256 exp(s - max), its rounding, and the sum before rounding. */
HD real query_weights(const real *q, const real (*k)[ROW], const real *bias, const int *inside, int exact, real *p, real *rounded)
{
    real top = (real)-1e30, sum = 0;
    real own[WIDTH], row[WIDTH];
    load_row(q, own);
    UNROLL for (int j = 0; j < TOKENS; j++) {
        real s = 0;
        load_row(k[j], row);
        UNROLL for (int c = 0; c < WIDTH; c++) s += own[c] * row[c];
        p[j] = inside[j] ? s * (real)0.17677669529663687 + bias[j] : (real)-1e30;
        top = p[j] > top ? p[j] : top;
    }
    UNROLL for (int j = 0; j < TOKENS; j++) {
        p[j] = inside[j] ? (real)256 * (real)exp(p[j] - top) : 0;
        rounded[j] = exact ? p[j] : nearest_fp8(p[j]);
        sum += p[j];
    }
    return sum;
}

typedef struct ALIGNED {
    real q[TOKENS][ROW], k[TOKENS][ROW], v[TOKENS][ROW], g[TOKENS][ROW];
    real p[TOKENS][TOKENS + 1], ds[TOKENS][TOKENS + 1];
    int inside[TOKENS];
} shared_window;

/* Output of query i, in place of the query. */
HD void forward_query(const attention_dims *d, int head, int i, const real *bias, shared_window *s)
{
    real p[TOKENS], rounded[TOKENS];
    real inverse = 1 / query_weights(s->q[i], s->k, bias + (head * TOKENS + i) * TOKENS, s->inside, d->exact, p, rounded);
    real o[WIDTH] = {0}, row[WIDTH];
    UNROLL for (int j = 0; j < TOKENS; j++) {
        load_row(s->v[j], row);
        UNROLL for (int c = 0; c < WIDTH; c++) o[c] += rounded[j] * row[c];
    }
    UNROLL for (int c = 0; c < WIDTH; c++) {
        o[c] *= inverse;
        s->q[i][c] = d->exact ? o[c] : nearest_fp8(o[c]);
    }
}

/* Gradient of the scores of query i into s->ds, its weights into s->p. Queries outside the grid have a gradient of 0. */
HD void backward_query(const attention_dims *d, int head, int i, const real *bias, shared_window *s, real *bias_sum)
{
    real p[TOKENS], rounded[TOKENS], mean = 0, along[TOKENS];
    real inverse = 1 / query_weights(s->q[i], s->k, bias + (head * TOKENS + i) * TOKENS, s->inside, d->exact, p, rounded);
    real own[WIDTH], row[WIDTH];
    load_row(s->g[i], own);
    UNROLL for (int j = 0; j < TOKENS; j++) {
        along[j] = 0;
        load_row(s->v[j], row);
        UNROLL for (int c = 0; c < WIDTH; c++) along[j] += own[c] * row[c];
        mean += rounded[j] * along[j];
    }
    mean *= inverse;
    UNROLL for (int j = 0; j < TOKENS; j++) {
        real ds = p[j] * inverse * (along[j] - mean);
        s->p[i][j] = rounded[j] * inverse, s->ds[i][j] = ds * (real)0.17677669529663687;
        bias_sum[j] += ds;
    }
}

HD void backward_rows(const shared_window *s, int i, real *gq, real *gv)
{
    UNROLL for (int c = 0; c < WIDTH; c++) gq[c] = gv[c] = 0;
    real k[WIDTH], g[WIDTH];
    for (int j = 0; j < TOKENS; j++) {
        real a = s->ds[i][j], b = s->p[j][i];
        load_row(s->k[j], k);
        load_row(s->g[j], g);
        UNROLL for (int c = 0; c < WIDTH; c++) gq[c] += a * k[c], gv[c] += b * g[c];
    }
}

HD void backward_keys(const shared_window *s, int j, real *gk)
{
    UNROLL for (int c = 0; c < WIDTH; c++) gk[c] = 0;
    real q[WIDTH];
    for (int i = 0; i < TOKENS; i++) {
        real a = s->ds[i][j];
        load_row(s->q[i], q);
        UNROLL for (int c = 0; c < WIDTH; c++) gk[c] += a * q[c];
    }
}

#ifdef __CUDACC__

#define SLOTS 4 /* windows a block */
typedef __nv_bfloat16 elem;

/* Sixteen threads move a row of 32 channels, two each, so that rows are read and written whole. */
__device__ void fetch(const attention_dims *d, int window, int head, int lane, const elem *qkv, const elem *grad, shared_window *s)
{
    long n = (long)d->heads * WIDTH;
    UNROLL for (int i = 0; i < TOKENS; i++) {
        long t = window_token(d, window, i);
        const __nv_bfloat162 *row = (const __nv_bfloat162 *)(qkv + t * 3 * n + head * WIDTH) + lane;
        float2 q = make_float2(0.f, 0.f), k = q, v = q, g = q;
        if (t >= 0) {
            q = __bfloat1622float2(row[0]), k = __bfloat1622float2(row[n / 2]), v = __bfloat1622float2(row[n]);
            if (grad) g = __bfloat1622float2(((const __nv_bfloat162 *)(grad + t * n + head * WIDTH))[lane]);
        }
        s->q[i][2 * lane] = q.x, s->q[i][2 * lane + 1] = q.y, s->k[i][2 * lane] = k.x, s->k[i][2 * lane + 1] = k.y;
        s->v[i][2 * lane] = v.x, s->v[i][2 * lane + 1] = v.y;
        if (grad) s->g[i][2 * lane] = g.x, s->g[i][2 * lane + 1] = g.y;
        if (lane == 0) s->inside[i] = t >= 0;
    }
}

__device__ void store(elem *row, int lane, const real *from)
{
    ((__nv_bfloat162 *)row)[lane] = __floats2bfloat162_rn(from[2 * lane], from[2 * lane + 1]);
}

__global__ void __launch_bounds__(SLOTS *TOKENS) forward_kernel(attention_dims d, int windows, const elem *qkv, const real *bias, elem *out)
{
    __shared__ shared_window s[SLOTS];
    int slot = (int)threadIdx.x / TOKENS, lane = (int)threadIdx.x % TOKENS, head = (int)blockIdx.y;
    int window = (int)blockIdx.x * SLOTS + slot, valid = window < windows;
    if (valid) fetch(&d, window, head, lane, qkv, 0, &s[slot]);
    __syncthreads();
    if (valid) forward_query(&d, head, lane, bias, &s[slot]);
    __syncthreads();
    for (int i = 0; valid && i < TOKENS; i++) {
        long t = window_token(&d, window, i);
        if (t >= 0) store(out + (t * d.heads + head) * WIDTH, lane, s[slot].q[i]);
    }
}

__global__ void __launch_bounds__(SLOTS *TOKENS)
    backward_kernel(attention_dims d, int windows, const elem *qkv, const real *bias, const elem *grad, elem *g_qkv, real *g_bias)
{
    __shared__ shared_window all[SLOTS];
    int lane = (int)threadIdx.x % TOKENS, head = (int)blockIdx.y;
    shared_window *s = &all[threadIdx.x / TOKENS];
    real bias_sum[TOKENS] = {0}, a[WIDTH], b[WIDTH];
    for (int first = (int)blockIdx.x * SLOTS; first < windows; first += (int)gridDim.x * SLOTS) {
        int window = first + (int)threadIdx.x / TOKENS, valid = window < windows;
        if (valid) fetch(&d, window, head, lane, qkv, grad, s);
        __syncthreads();
        if (valid) backward_query(&d, head, lane, bias, s, bias_sum);
        __syncthreads();
        if (valid) backward_rows(s, lane, a, b);
        __syncthreads();
        if (valid) {
            UNROLL for (int c = 0; c < WIDTH; c++) s->k[lane][c] = a[c], s->v[lane][c] = b[c];
            backward_keys(s, lane, a);
        }
        __syncthreads();
        if (valid) {
            UNROLL for (int c = 0; c < WIDTH; c++) s->q[lane][c] = a[c];
        }
        __syncthreads();
        for (int i = 0; valid && i < TOKENS; i++) {
            long t = window_token(&d, window, i), n = (long)d.heads * WIDTH;
            if (t < 0) continue;
            elem *row = g_qkv + t * 3 * n + head * WIDTH;
            store(row, lane, s->k[i]);
            store(row + n, lane, s->q[i]);
            store(row + 2 * n, lane, s->v[i]);
        }
        __syncthreads();
    }
    UNROLL for (int j = 0; j < TOKENS; j++) atomicAdd(g_bias + (head * TOKENS + lane) * TOKENS + j, bias_sum[j]);
}

EXPORT int attention_forward(const attention_dims *dims, const void *qkv, const real *bias, void *out, void *stream)
{
    int windows = dims->batch * windows_x(dims) * windows_y(dims);
    dim3 grid((windows + SLOTS - 1) / SLOTS, dims->heads);
    forward_kernel<<<grid, SLOTS * TOKENS, 0, (cudaStream_t)stream>>>(*dims, windows, (const elem *)qkv, bias, (elem *)out);
    return (int)cudaGetLastError();
}

EXPORT int attention_backward(const attention_dims *dims, const void *qkv, const real *bias, const void *grad, void *g_qkv, real *g_bias,
                              void *stream)
{
    int windows = dims->batch * windows_x(dims) * windows_y(dims), blocks = (windows + SLOTS - 1) / SLOTS;
    dim3 grid(blocks < 528 ? blocks : 528, dims->heads); /* what a device of 132 multiprocessors holds at once; each block adds its bias sums once */
    backward_kernel<<<grid, SLOTS * TOKENS, 0, (cudaStream_t)stream>>>(*dims, windows, (const elem *)qkv, bias, (const elem *)grad,
                                                                       (elem *)g_qkv, g_bias);
    return (int)cudaGetLastError();
}

#else

static void fetch(const attention_dims *d, int window, int head, const real *qkv, const real *grad, shared_window *s)
{
    long n = (long)d->heads * WIDTH;
    for (int i = 0; i < TOKENS; i++) {
        long t = window_token(d, window, i);
        s->inside[i] = t >= 0;
        for (int c = 0; c < WIDTH; c++) {
            const real *row = qkv + t * 3 * n + head * WIDTH + c;
            s->q[i][c] = t >= 0 ? row[0] : 0, s->k[i][c] = t >= 0 ? row[n] : 0, s->v[i][c] = t >= 0 ? row[2 * n] : 0;
            s->g[i][c] = grad && t >= 0 ? grad[t * n + head * WIDTH + c] : 0;
        }
    }
}

EXPORT void round_fp8(long n, const real *in, real *out)
{
#pragma omp parallel for simd
    for (long i = 0; i < n; i++) out[i] = nearest_fp8(in[i]);
}

EXPORT int attention_forward(const attention_dims *d, const real *qkv, const real *bias, real *out, void *)
{
    int windows = d->batch * windows_x(d) * windows_y(d);
#pragma omp parallel for
    for (int window = 0; window < windows; window++)
        for (int head = 0; head < d->heads; head++) {
            shared_window s;
            fetch(d, window, head, qkv, 0, &s);
            for (int i = 0; i < TOKENS; i++) {
                long t = window_token(d, window, i);
                if (t < 0) continue;
                forward_query(d, head, i, bias, &s);
                memcpy(out + (t * d->heads + head) * WIDTH, s.q[i], WIDTH * sizeof(real));
            }
        }
    return 0;
}

EXPORT int attention_backward(const attention_dims *d, const real *qkv, const real *bias, const real *grad, real *g_qkv, real *g_bias, void *)
{
    int windows = d->batch * windows_x(d) * windows_y(d);
    long n = (long)d->heads * WIDTH;
    for (int window = 0; window < windows; window++)
        for (int head = 0; head < d->heads; head++) {
            shared_window s;
            fetch(d, window, head, qkv, grad, &s);
            for (int i = 0; i < TOKENS; i++) {
                real sums[TOKENS] = {0};
                backward_query(d, head, i, bias, &s, sums);
                for (int j = 0; j < TOKENS; j++) g_bias[(head * TOKENS + i) * TOKENS + j] += sums[j];
            }
            for (int i = 0; i < TOKENS; i++) {
                long t = window_token(d, window, i);
                real *row = g_qkv + t * 3 * n + head * WIDTH, keys[WIDTH];
                if (t < 0) continue;
                backward_rows(&s, i, row, row + 2 * n);
                backward_keys(&s, i, keys);
                memcpy(row + n, keys, sizeof keys);
            }
        }
    return 0;
}

#endif
