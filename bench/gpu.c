#include "bench/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 256, BLOCKS_PER_MULTIPROCESSOR = 8, REPEATS = 5 };

static void print_log(void *user, d4r_log_level level, const char *text)
{
    (void)user;
    if (level <= D4R_LOG_WARNING) fprintf(stderr, "%s\n", text);
}

static bool check(const bench_gpu *gpu, d4r_hip_error error, const char *what)
{
    if (error == D4R_HIP_SUCCESS) return true;
    d4r_hip_fail(gpu->hip, error, what);
    return false;
}

static bool load_probes(bench_gpu *gpu, const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size > 0) {
        rewind(file);
        gpu->image = calloc(1, (size_t)size + 1);
        if (gpu->image && fread(gpu->image, 1, (size_t)size, file) != (size_t)size) size = -1;
    }
    if (file) fclose(file);
    if (size <= 0 || !gpu->image) {
        fprintf(stderr, "%s: cannot read the probes\n", path);
        return false;
    }
    return check(gpu, gpu->hip->module_load(&gpu->probes, gpu->image), path);
}

bool bench_gpu_open(const char *probes, bench_gpu *gpu)
{
    const d4r_log log = {print_log, NULL, D4R_LOG_WARNING};
    const d4r_hip_match match = {.select = "0"};
    memset(gpu, 0, sizeof *gpu);
    if (d4r_hip_load_nvidia(NULL, &log, &gpu->hip) != D4R_OK) return false;
    if (d4r_hip_find(gpu->hip, &match, &gpu->device) != D4R_OK) return false;
    const d4r_hip *hip = gpu->hip;
    if (!check(gpu, hip->set_device(gpu->device.index), "device")) return false;
    if (!check(gpu, hip->stream_create(&gpu->stream, D4R_HIP_STREAM_NON_BLOCKING, 0), "stream")) return false;
    if (!check(gpu, hip->event_create(&gpu->start, 0), "event")) return false;
    if (!check(gpu, hip->event_create(&gpu->end, 0), "event")) return false;
    return !probes || load_probes(gpu, probes);
}

void bench_gpu_close(bench_gpu *gpu)
{
    if (!gpu->hip) return;
    if (gpu->probes) gpu->hip->module_unload(gpu->probes);
    if (gpu->start) gpu->hip->event_destroy(gpu->start);
    if (gpu->end) gpu->hip->event_destroy(gpu->end);
    if (gpu->stream) gpu->hip->stream_destroy(gpu->stream);
    free(gpu->image);
    d4r_hip_unload(&gpu->hip);
}

void *bench_gpu_memory(bench_gpu *gpu, size_t bytes, const void *from)
{
    void *memory = NULL;
    if (!check(gpu, gpu->hip->device_malloc(&memory, bytes), "device memory")) return NULL;
    if (from && !check(gpu, gpu->hip->copy(memory, from, bytes, D4R_HIP_MEMCPY_TO_DEVICE), "upload"))
        return NULL;
    return memory;
}

double bench_gpu_time(bench_gpu *gpu, const char *function, unsigned blocks, void **arguments)
{
    const d4r_hip *hip = gpu->hip;
    d4r_hip_function f;
    double best = -1.0;
    if (!check(gpu, hip->module_function(&f, gpu->probes, function), function)) return -1.0;
    for (int i = 0; i <= REPEATS; i++) { /* the first one warms up */
        float ms = 0;
        d4r_hip_error error = hip->event_record(gpu->start, gpu->stream);
        if (!error) error = hip->launch(f, blocks, 1, 1, THREADS, 1, 1, 0, gpu->stream, arguments, NULL);
        if (!error) error = hip->event_record(gpu->end, gpu->stream);
        if (!error) error = hip->stream_synchronize(gpu->stream);
        if (!error) error = hip->event_elapsed(&ms, gpu->start, gpu->end);
        if (!check(gpu, error, function)) return -1.0;
        if (i > 0 && (best < 0 || ms * 1e-3 < best)) best = ms * 1e-3;
    }
    return best;
}

bool bench_gpu_measure_peaks(bench_gpu *gpu, bench_gpu_peaks *peaks)
{
    const unsigned blocks = gpu->device.multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    const size_t bytes = (size_t)1 << 30;
    void *out = bench_gpu_memory(gpu, (size_t)blocks * THREADS * 4, NULL);
    void *from = bench_gpu_memory(gpu, bytes, NULL), *to = bench_gpu_memory(gpu, bytes, NULL);
    bool ok = out && from && to;
    if (ok) ok = gpu->hip->memset_async(from, 0x35, bytes, gpu->stream) == D4R_HIP_SUCCESS;
    if (ok) {
        int loops = 4096;
        unsigned long long count = bytes / 16;
        void *mma[] = {&out, &loops}, *copy[] = {&to, &from, &count};
        double seconds = bench_gpu_time(gpu, "probe_mma_f16", blocks, mma);
        peaks->mma_tflops = 2.0 * 16 * 8 * 16 * 8 * loops * blocks * (THREADS / 32) / seconds / 1e12;
        double copying = bench_gpu_time(gpu, "probe_copy", blocks, copy);
        peaks->copy_gb_s = 2.0 * (double)bytes / copying / 1e9;
        ok = seconds > 0 && copying > 0;
    }
    gpu->hip->device_free(out);
    gpu->hip->device_free(from);
    gpu->hip->device_free(to);
    return ok;
}

void bench_gpu_json_header(const bench_gpu *gpu, FILE *file)
{
    char date[32];
    time_t t = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&t));
    fprintf(file, "  \"device\": \"%s\",\n  \"architecture\": \"%s\",\n  \"multiprocessors\": %u,\n",
            gpu->device.name, gpu->device.arch, gpu->device.multiprocessors);
    fprintf(file, "  \"driver\": %d,\n  \"date\": \"%s\",\n", gpu->hip->version, date);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}
