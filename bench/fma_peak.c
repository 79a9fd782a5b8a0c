#include "bench/fma_peak.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define CHAINS \
    12 /* enough for two units of latency 4 or 5, and within 16 registers with the two constants \
                   */
#define SLICE 200000

typedef float vector16 __attribute__((vector_size(64)));
typedef float vector8 __attribute__((vector_size(32)));
typedef float vector4 __attribute__((vector_size(16)));

/* One step of a chain; the empty statement keeps the accumulator in a register and the loop alive. Named
 * variables rather than an array: gcc keeps an array that an assembler statement touches in memory. The file
 * is compiled with -ffp-contract=fast, so the step is one fused instruction where the target has it. */
#define STEP(a)    \
    a = a * x + y; \
    __asm__ volatile("" : "+" REGISTER(a));

/* One slice: SLICE steps of CHAINS independent multiply-adds. */
#define SLICE_FUNCTION(name, vector, lanes, attributes)                                                 \
    attributes static double name(void)                                                                 \
    {                                                                                                   \
        vector x = (vector){0} + 0.999f, y = (vector){0} + 1e-3f;                                       \
        vector a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, \
               a11 = y;                                                                                 \
        for (int n = 0; n < SLICE; n++) {                                                               \
            STEP(a0)                                                                                    \
            STEP(a1)                                                                                    \
            STEP(a2) STEP(a3) STEP(a4) STEP(a5) STEP(a6) STEP(a7) STEP(a8) STEP(a9) STEP(a10) STEP(a11) \
        }                                                                                               \
        return (double)SLICE * CHAINS * (lanes);                                                        \
    }

#if defined(__x86_64__)
#define REGISTER(v) "v"(v)
SLICE_FUNCTION(slice_avx512, vector16, 16, __attribute__((target("avx512f,fma"), noinline)))
#undef REGISTER
#define REGISTER(v) "x"(v)
SLICE_FUNCTION(slice_fma, vector8, 8, __attribute__((target("avx2,fma"), noinline)))
SLICE_FUNCTION(slice_baseline, vector4, 4, __attribute__((noinline)))
#else
#define REGISTER(v) "w"(v)
SLICE_FUNCTION(slice_baseline, vector4, 4, __attribute__((noinline)))
#endif

typedef double (*slice_fn)(void);

static slice_fn choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")) return slice_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return slice_fma;
#endif
    return slice_baseline;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct job {
    double seconds, best; /* best: multiply-adds a second of the best slice */
} job;

static void *work(void *argument)
{
    job *j = argument;
    slice_fn slice = choose();
    double end = now() + j->seconds;
    for (double start = now(); start < end;) {
        double count = slice(), stop = now();
        if (count / (stop - start) > j->best) j->best = count / (stop - start);
        start = stop;
    }
    return NULL;
}

double fma_peak_gmac(uint32_t threads, double seconds)
{
    job *jobs = calloc(threads, sizeof(*jobs));
    pthread_t *ids = calloc(threads, sizeof(*ids));
    uint32_t started = 0;
    double sum = 0;
    if (jobs && ids)
        for (; started < threads; started++) {
            jobs[started].seconds = seconds;
            if (pthread_create(&ids[started], NULL, work, &jobs[started]) != 0) break;
        }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(ids[i], NULL);
        sum += jobs[i].best;
    }
    free(jobs);
    free(ids);
    return sum / 1e9;
}
