/* What bench_gpu and bench_net_gpu measure an NVIDIA GPU with: products, conversions, copies; and the arithmetic of one product.
 *
 * Each warp runs chains that do not depend on each other; what they compute is written, so that nothing is left out. */
#include <stdint.h>

#define CHAINS 8
#define EACH_CHAIN(i) _Pragma("unroll") for (int i = 0; i < CHAINS; i++)
#define KERNEL extern "C" __global__ void __launch_bounds__(256)

static __device__ __forceinline__ void product_f16(float *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void product_e4m3(float *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* 8 products a loop and warp. Operands are small values, different in every lane, chain and loop: sm_90 has no e4m3 product
 * for a warp, and what the compiler makes of it could be taken out of the loop otherwise. */
#define PRODUCT_KERNEL(name, product)                                                                   \
    KERNEL probe_##name(float *out, int loops)                                                          \
    {                                                                                                   \
        float d[CHAINS][4];                                                                             \
        uint32_t a[4], b[CHAINS][2];                                                                    \
        for (int i = 0; i < 4; i++) a[i] = 0x2c302e31u + (threadIdx.x & 31) * 0x00010001u * i;          \
        EACH_CHAIN(i)                                                                                   \
        for (int j = 0; j < 2; j++) b[i][j] = 0x30312c33u + (threadIdx.x & 31) * 0x00010001u * (i + j); \
        EACH_CHAIN(i) for (int j = 0; j < 4; j++) d[i][j] = 0.0f;                                       \
        for (int l = 0; l < loops; l++) {                                                               \
            const uint32_t x[4] = {a[0] ^ (l & 7) * 0x00010001u, a[1], a[2], a[3]};                     \
            EACH_CHAIN(i) product(d[i], x, b[i]);                                                       \
        }                                                                                               \
        float sum = 0.0f;                                                                               \
        EACH_CHAIN(i) for (int j = 0; j < 4; j++) sum += d[i][j];                                       \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                               \
    }
PRODUCT_KERNEL(mma_f16, product_f16)
PRODUCT_KERNEL(mma_e4m3, product_e4m3)

/* Two f32 to e4m3 and back to two f16, whose bits are the next f32: 8 times a loop and lane. */
KERNEL probe_round_trip(float *out, int loops)
{
    uint32_t x[CHAINS];
    EACH_CHAIN(i) x[i] = 0x3f000000u + threadIdx.x * 4099u + i * 77777u;
    for (int l = 0; l < loops; l++) EACH_CHAIN(i)
    asm volatile("{ .reg .b16 code; .reg .f32 v; mov.b32 v, %0; "
                 "cvt.rn.satfinite.e4m3x2.f32 code, v, v; cvt.rn.f16x2.e4m3x2 %0, code; }"
                 : "+r"(x[i]));
    uint32_t sum = 0;
    EACH_CHAIN(i) sum ^= x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = __uint_as_float(sum);
}
/* The way back alone. */
KERNEL probe_unpack(float *out, int loops)
{
    uint32_t x[CHAINS];
    EACH_CHAIN(i) x[i] = 0x38303432u + threadIdx.x * 4099u + i * 77777u;
    for (int l = 0; l < loops; l++) EACH_CHAIN(i)
    asm volatile("{ .reg .b16 low, high; mov.b32 {low, high}, %0; cvt.rn.f16x2.e4m3x2 %0, low; }"
                 : "+r"(x[i]));
    uint32_t sum = 0;
    EACH_CHAIN(i) sum ^= x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = __uint_as_float(sum);
}
/* For comparison: f32 multiply-adds. */
KERNEL probe_fma(float *out, int loops)
{
    float x[CHAINS];
    EACH_CHAIN(i) x[i] = (float)threadIdx.x + (float)i;
    for (int l = 0; l < loops; l++) EACH_CHAIN(i) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[i]));
    float sum = 0.0f;
    EACH_CHAIN(i) sum += x[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

KERNEL probe_copy(uint4 *to, const uint4 *from, unsigned long long count)
{
    const unsigned long long all = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += all)
        to[i] = from[i];
}

/* d[case] = c[case] + the sum of a[case][k] b[case][k], k 0 to 15, f16 bits: one warp, row 0 and column 0. */
KERNEL probe_sum(float *d, const float *c, const unsigned short *a, const unsigned short *b, int cases)
{
    const int g = (int)(threadIdx.x & 31) >> 2, t = (int)threadIdx.x & 3;
    for (int n = 0; n < cases; n++) {
        uint32_t x[4] = {0, 0, 0, 0}, y[2] = {0, 0};
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (g == 0)
            for (int h = 0; h < 2; h++) {
                const int k = 16 * n + 8 * h + 2 * t;
                x[2 * h] = a[k] | (uint32_t)a[k + 1] << 16;
                y[h] = b[k] | (uint32_t)b[k + 1] << 16;
            }
        if (threadIdx.x == 0) sum[0] = c[n];
        product_f16(sum, x, y);
        if (threadIdx.x == 0) d[n] = sum[0];
    }
}
/* The kernel's own approximations: y[i] = 2^x[i], z[i] = x[i]^-1/2. */
KERNEL probe_functions(float *y, float *z, const float *x, int count)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < count;
         i += (int)(gridDim.x * blockDim.x)) {
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y[i]) : "f"(x[i]));
        z[i] = rsqrtf(fabsf(x[i]));
    }
}
KERNEL probe_nothing(void) {}
