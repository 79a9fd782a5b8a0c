/* What an NVIDIA GPU takes for the network's instructions: products in f16 and e4m3, FP8 rounding and the way back, device
 * memory; and how exact its products and approximate functions are. One JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench/gpu.h"

enum { THREADS = 256, LOOPS = 4096, CHAINS = 8, FUNCTION_VALUES = 1 << 16 };

typedef struct rates {
    double f16, e4m3;               /* products: TFLOP/s */
    double round_trip, unpack, fma; /* instructions of a warp a microsecond and multiprocessor */
    double copy;                    /* GB/s */
    int sum_bits;                   /* below the largest addend that a product's sum keeps */
    bool truncates;                 /* the sum's last bit */
    double exp2_error, rsqrt_error; /* largest, in units of the last place */
} rates;

/* Instructions that one warp runs, times warps, over the time. */
static bool instruction_rate(bench_gpu *gpu, const char *function, double a_loop, double *rate)
{
    const unsigned blocks = gpu->device.multiprocessors * 8;
    void *out = bench_gpu_memory(gpu, (size_t)blocks * THREADS * 4, NULL);
    int loops = LOOPS;
    void *arguments[] = {&out, &loops};
    if (!out) return false;
    double seconds = bench_gpu_time(gpu, function, blocks, arguments);
    gpu->hip->device_free(out);
    *rate = a_loop * LOOPS * (THREADS / 32) * 8 / (seconds * 1e6);
    return seconds > 0;
}

static bool measure_rates(bench_gpu *gpu, rates *r)
{
    bench_gpu_peaks peaks;
    double f16, e4m3;
    if (!instruction_rate(gpu, "probe_mma_f16", CHAINS, &f16) ||
        !instruction_rate(gpu, "probe_mma_e4m3", CHAINS, &e4m3) ||
        !instruction_rate(gpu, "probe_round_trip", CHAINS, &r->round_trip) ||
        !instruction_rate(gpu, "probe_unpack", CHAINS, &r->unpack) ||
        !instruction_rate(gpu, "probe_fma", CHAINS, &r->fma) || !bench_gpu_measure_peaks(gpu, &peaks))
        return false;
    r->copy = peaks.copy_gb_s;
    r->f16 = f16 * gpu->device.multiprocessors * 2 * 16 * 8 * 16 * 1e-6;
    r->e4m3 = e4m3 * gpu->device.multiprocessors * 2 * 16 * 8 * 32 * 1e-6;
    return true;
}

/* ---- exactness ---- */

enum { SUM_CASES = 32 };

/* f16 bits of 2^-e, e 0 to 24. */
static unsigned short half_power(int e)
{
    return (unsigned short)(e <= 14 ? (15 - e) << 10 : 1 << (24 - e));
}

/* Case n: 1 (as c) + 2^-n of one product and as much of another: exact when the sum's width is n + 1 bits or more. A power
 * below 2^-24 is a product of two. */
static bool probe_sums(bench_gpu *gpu, rates *r)
{
    float c[SUM_CASES], d[SUM_CASES];
    unsigned short a[SUM_CASES][16] = {0}, b[SUM_CASES][16] = {0};
    for (int n = 0; n < SUM_CASES; n++) {
        c[n] = 1.0f;
        for (int k = 0; k < 2; k++) {
            a[n][k] = half_power(n / 2);
            b[n][k] = half_power(n - n / 2);
        }
    }
    void *dc = bench_gpu_memory(gpu, sizeof c, c), *dd = bench_gpu_memory(gpu, sizeof d, NULL);
    void *da = bench_gpu_memory(gpu, sizeof a, a), *db = bench_gpu_memory(gpu, sizeof b, b);
    int cases = SUM_CASES;
    void *arguments[] = {&dd, &dc, &da, &db, &cases};
    bool ok = dc && dd && da && db && bench_gpu_time(gpu, "probe_sum", 1, arguments) > 0 &&
              gpu->hip->copy(d, dd, sizeof d, D4R_HIP_MEMCPY_TO_HOST) == D4R_HIP_SUCCESS;
    for (int n = 0; ok && n < SUM_CASES; n++)
        if (d[n] != 1.0f) r->sum_bits = n;
    /* 1 + 2^-23 + 2^-24 is half way: nearest even gives 1 + 2^-22. */
    r->truncates = false;
    if (ok) {
        a[0][0] = half_power(11), b[0][0] = half_power(12), a[0][1] = half_power(12),
        b[0][1] = half_power(12);
        ok = gpu->hip->copy(da, a, sizeof a, D4R_HIP_MEMCPY_TO_DEVICE) == D4R_HIP_SUCCESS &&
             gpu->hip->copy(db, b, sizeof b, D4R_HIP_MEMCPY_TO_DEVICE) == D4R_HIP_SUCCESS &&
             bench_gpu_time(gpu, "probe_sum", 1, arguments) > 0 &&
             gpu->hip->copy(d, dd, sizeof d, D4R_HIP_MEMCPY_TO_HOST) == D4R_HIP_SUCCESS;
        r->truncates = ok && d[0] == 1.0f + 0x1p-23f;
    }
    gpu->hip->device_free(da), gpu->hip->device_free(db);
    gpu->hip->device_free(dc), gpu->hip->device_free(dd);
    return ok;
}

static double ulps(float got, double truth)
{
    int exponent;
    frexp(truth, &exponent);
    return fabs((double)got - truth) / ldexp(1.0, exponent - 24);
}

static bool probe_functions(bench_gpu *gpu, rates *r)
{
    const size_t bytes = FUNCTION_VALUES * sizeof(float);
    float *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes);
    bool ok = x && y && z;
    for (int i = 0; ok && i < FUNCTION_VALUES; i++)
        x[i] = 8.0f - 24.0f * ((float)i + 0.37f) / FUNCTION_VALUES;
    void *dx = ok ? bench_gpu_memory(gpu, bytes, x) : NULL, *dy = bench_gpu_memory(gpu, bytes, NULL),
         *dz = bench_gpu_memory(gpu, bytes, NULL);
    int count = FUNCTION_VALUES;
    void *arguments[] = {&dy, &dz, &dx, &count};
    ok = ok && dx && dy && dz && bench_gpu_time(gpu, "probe_functions", 64, arguments) > 0 &&
         gpu->hip->copy(y, dy, bytes, D4R_HIP_MEMCPY_TO_HOST) == D4R_HIP_SUCCESS &&
         gpu->hip->copy(z, dz, bytes, D4R_HIP_MEMCPY_TO_HOST) == D4R_HIP_SUCCESS;
    for (int i = 0; ok && i < FUNCTION_VALUES; i++) {
        r->exp2_error = fmax(r->exp2_error, ulps(y[i], exp2((double)x[i])));
        r->rsqrt_error = fmax(r->rsqrt_error, ulps(z[i], 1.0 / sqrt(fabs((double)x[i]))));
    }
    gpu->hip->device_free(dx), gpu->hip->device_free(dy), gpu->hip->device_free(dz);
    free(x), free(y), free(z);
    return ok;
}

/* ---- report ---- */

static void write_report(const bench_gpu *gpu, const rates *r, FILE *f)
{
    /* Lanes a clock: the multiply-add runs 128 a clock, which gives the clock of these runs. */
    const double clock = r->fma * 32 / 128, lanes = 32 / clock;
    fprintf(f, "{\n  \"bench\": \"bench_gpu\",\n");
    bench_gpu_json_header(gpu, f);
    fprintf(f, "  \"clock_mhz_from_fma\": %.0f,\n", clock);
    fprintf(f, "  \"mma_m16n8k16_f16_tflops\": %.1f,\n  \"mma_m16n8k32_e4m3_tflops\": %.1f,\n", r->f16,
            r->e4m3);
    fprintf(f, "  \"round_trip_lanes_a_clock\": %.1f,\n  \"unpack_lanes_a_clock\": %.1f,\n",
            r->round_trip * lanes, r->unpack * lanes);
    fprintf(f, "  \"round_lanes_a_clock\": %.1f,\n", 1 / (1 / r->round_trip - 1 / r->unpack) * lanes);
    fprintf(f, "  \"copy_gb_s\": %.0f,\n", r->copy);
    fprintf(f, "  \"product_sum_bits\": %d,\n  \"product_sum_truncates\": %s,\n", r->sum_bits,
            r->truncates ? "true" : "false");
    fprintf(f, "  \"exp2_error_ulp\": %.2f,\n  \"rsqrt_error_ulp\": %.2f\n}\n", r->exp2_error,
            r->rsqrt_error);
}

int main(int argc, char **argv)
{
    bench_gpu gpu;
    rates r = {0};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: bench_gpu PROBES.cubin [JSON]\n");
        return 2;
    }
    if (!bench_gpu_open(argv[1], &gpu)) return 3;
    bool ok = measure_rates(&gpu, &r) && probe_sums(&gpu, &r) && probe_functions(&gpu, &r);
    if (ok) write_report(&gpu, &r, stdout);
    FILE *file = ok && argc == 3 ? fopen(argv[2], "w") : NULL;
    if (file) write_report(&gpu, &r, file);
    if (ok && argc == 3 && (!file || fclose(file) != 0)) {
        fprintf(stderr, "bench_gpu: %s: cannot write\n", argv[2]);
        ok = false;
    }
    bench_gpu_close(&gpu);
    return ok ? 0 : 6;
}
