/* Launches, order between streams with mutants, graphs of kernels, faults and checkers, through dlopen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hip_table.h"

enum { N = 256 };

static void *code_1201, *code_1100;
static size_t size_1201;

static void nap_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *read_code(const char *arch, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/plain-%s-O2.hsaco", CONFORMANCE_DIR, arch);
    FILE *f = fopen(path, "rbe");
    if (!f) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(*size);
    if (!data || fread(data, 1, *size, f) != *size) exit(1);
    fclose(f);
    return data;
}

typedef struct fixture {
    hipModule_t module;
    uint32_t *a, *b, *c; /* device buffers of N words */
    uint32_t host[N];
} fixture;

static void open_fixture(fixture *f)
{
    HIP_OK(hip.hipModuleLoadData(&f->module, code_1201));
    HIP_OK(hip.hipMalloc((void **)&f->a, 4 * N));
    HIP_OK(hip.hipMalloc((void **)&f->b, 4 * N));
    HIP_OK(hip.hipMalloc((void **)&f->c, 4 * N));
    for (uint32_t i = 0; i < N; i++) f->host[i] = i * 7 + 1;
    HIP_OK(hip.hipMemcpy(f->a, f->host, 4 * N, hipMemcpyHostToDevice));
}

static void close_fixture(fixture *f)
{
    HIP_OK(hip.hipFree(f->a));
    HIP_OK(hip.hipFree(f->b));
    HIP_OK(hip.hipFree(f->c));
    HIP_OK(hip.hipModuleUnload(f->module));
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

static hipFunction_t function(const fixture *f, const char *name)
{
    hipFunction_t found;
    HIP_OK(hip.hipModuleGetFunction(&found, f->module, name));
    return found;
}

static hipError_t scale_add(hipFunction_t fn, hipStream_t stream, uint32_t *in, uint32_t *out,
                            uint32_t factor, uint32_t add)
{
    uint32_t n = N;
    return hip.hipModuleLaunchKernel(fn, N / 64, 1, 1, 64, 1, 1, 0, stream,
                                     (void *[]){&in, &out, &n, &factor, &add}, NULL);
}

static bool holds(fixture *f, const uint32_t *device, uint32_t factor, uint32_t add)
{
    uint32_t got[N];
    HIP_OK(hip.hipMemcpy(got, device, sizeof got, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < N; i++)
        if (got[i] != f->host[i] * factor + add) return false;
    return true;
}

/* ---- launching ---- */

static void test_launch(void **state)
{
    (void)state;
    HIP_RESTART();
    fixture f;
    open_fixture(&f);
    hipFunction_t fn = function(&f, "scale_add"), missing;
    HIP_OK(scale_add(fn, NULL, f.a, f.b, 3, 5));
    assert_true(holds(&f, f.b, 3, 5));
    HIP_IS(hipErrorNotFound, hip.hipModuleGetFunction(&missing, f.module, "nothing"));
    /* The other form of passing arguments, and a structure by value. */
    struct {
        const uint32_t *in;
        uint32_t *out;
        uint32_t n, unused;
    } params = {f.a, f.c, N, 0};
    size_t size = sizeof params;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &params, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    hipFunction_t by_struct = function(&f, "by_struct");
    HIP_OK(hip.hipModuleLaunchKernel(by_struct, N / 64, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    assert_true(holds(&f, f.c, ~0u, ~0u)); /* ~x = -x - 1 */
    void *pointers[] = {&params};
    HIP_IS(hipErrorInvalidValue,
           hip.hipModuleLaunchKernel(by_struct, 1, 1, 1, 64, 1, 1, 0, NULL, pointers, extra));
    HIP_IS(hipErrorInvalidValue,
           hip.hipModuleLaunchKernel(by_struct, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    HIP_IS(hipErrorInvalidConfiguration,
           hip.hipModuleLaunchKernel(by_struct, 0, 1, 1, 64, 1, 1, 0, NULL, pointers, NULL));
    HIP_IS(hipErrorInvalidConfiguration,
           hip.hipModuleLaunchKernel(by_struct, 1, 1, 1, 2048, 1, 1, 0, NULL, pointers, NULL));
    HIP_IS(hipErrorInvalidValue,
           hip.hipModuleLaunchKernel(by_struct, 1, 1, 1, 64, 1, 1, 65537, NULL, pointers, NULL));
    HIP_IS(hipErrorInvalidHandle,
           hip.hipModuleLaunchKernel((hipFunction_t)&f, 1, 1, 1, 64, 1, 1, 0, NULL, pointers, NULL));
    HIP_OK(hip.hipModuleLaunchKernel(function(&f, "dynamic_lds"), 1, 1, 1, 128, 1, 1, 512, NULL,
                                     (void *[]){&f.b}, NULL));
    uint32_t got[128];
    HIP_OK(hip.hipMemcpy(got, f.b, sizeof got, hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < 128; i++) assert_int_equal(got[i], (127 - i) * 3);
    close_fixture(&f);
}

static void test_modules(void **state)
{
    (void)state;
    hipModule_t module;
    HIP_RESTART("D4R_HIPEMU_ARCH=gfx1100");
    HIP_IS(hipErrorNoBinaryForGpu, hip.hipModuleLoadData(&module, code_1201));
    HIP_OK(hip.hipModuleLoadData(&module, code_1100));
    HIP_OK(hip.hipModuleUnload(module));
    HIP_IS(hipErrorInvalidHandle, hip.hipModuleUnload(module));
    HIP_RESTART("D4R_HIPEMU_MODULE_ERROR=303");
    HIP_IS(hipErrorSharedObjectInitFailed, hip.hipModuleLoadData(&module, code_1100));
    char garbage[256] = "this is no code object";
    HIP_IS(hipErrorInvalidImage, hip.hipModuleLoadData(&module, garbage));
    HIP_IS(hipErrorInvalidValue, hip.hipModuleLoadData(&module, NULL));
    /* Truncated at many lengths and with flipped bytes: an error or a module, never a crash. */
    for (size_t cut = 1; cut < size_1201; cut += size_1201 / 60 + 1) {
        unsigned char *copy = calloc(1, size_1201);
        memcpy(copy, code_1201, cut);
        if (hip.hipModuleLoadData(&module, copy) == hipSuccess) HIP_OK(hip.hipModuleUnload(module));
        memcpy(copy, code_1201, size_1201);
        copy[cut] ^= 0x55;
        copy[cut * 7 % 64] ^= 0x10; /* and the header */
        if (hip.hipModuleLoadData(&module, copy) == hipSuccess) HIP_OK(hip.hipModuleUnload(module));
        free(copy);
    }
    /* The image has to stay as it is while the module is loaded. */
    unsigned char *copy = malloc(size_1201);
    memcpy(copy, code_1201, size_1201);
    hipFunction_t fn;
    HIP_OK(hip.hipModuleLoadData(&module, copy));
    HIP_OK(hip.hipModuleGetFunction(&fn, module, "scale_add"));
    memset(copy, 0, size_1201);
    HIP_IS(hipErrorInvalidImage, hip.hipModuleGetFunction(&fn, module, "scale_add"));
    HIP_OK(hip.hipModuleUnload(module));
    free(copy);
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

/* ---- order between streams; each wait killed once ---- */

typedef enum mutant { NO_MUTANT, NO_EVENT_WAIT, NO_CALLBACK_WAIT } mutant;

static void raise_flag(void *flag)
{
    atomic_store((atomic_int *)flag, 1);
}

/* Producer on one stream behind a closed gate, consumer on another, a host function at the end that tells the host that
 * the result is there. True: the result is right. */
static bool pipeline(mutant killed)
{
    fixture f;
    open_fixture(&f);
    hipFunction_t fn = function(&f, "scale_add");
    hipStream_t producer, consumer;
    hipEvent_t produced;
    uint32_t *gate;
    atomic_int flag = 0;
    HIP_OK(hip.hipHostMalloc((void **)&gate, 64, 0));
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    HIP_OK(hip.hipMemset(f.b, 0, 4 * N));
    HIP_OK(hip.hipMemset(f.c, 0, 4 * N));
    HIP_OK(hip.hipDeviceSynchronize());
    HIP_OK(hip.hipStreamCreateWithFlags(&producer, hipStreamNonBlocking));
    HIP_OK(hip.hipStreamCreateWithPriority(&consumer, hipStreamNonBlocking, -1));
    HIP_OK(hip.hipEventCreateWithFlags(&produced, hipEventDisableTiming));
    HIP_OK(hip.hipStreamWaitValue32(producer, gate, 1, hipStreamWaitValueGte, ~0u));
    HIP_OK(scale_add(fn, producer, f.a, f.b, 5, 2));
    HIP_OK(hip.hipEventRecord(produced, producer));
    if (killed != NO_EVENT_WAIT) HIP_OK(hip.hipStreamWaitEvent(consumer, produced, 0));
    HIP_OK(scale_add(fn, consumer, f.b, f.c, 3, 1));
    HIP_OK(hip.hipLaunchHostFunc(consumer, raise_flag, &flag));
    /* Without its wait the consumer ends before the gate opens; with it, it cannot. */
    if (killed == NO_EVENT_WAIT) HIP_OK(hip.hipStreamSynchronize(consumer));
    uint32_t result[N] = {0};
    if (killed == NO_CALLBACK_WAIT)
        HIP_OK(hip.hipMemcpyAsync(result, f.c, sizeof result, hipMemcpyDeviceToHost, producer));
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    if (killed == NO_CALLBACK_WAIT) {
        HIP_OK(hip.hipStreamSynchronize(producer));
    } else {
        while (!atomic_load(&flag)) nap_ms(1);
        HIP_OK(hip.hipMemcpyAsync(result, f.c, sizeof result, hipMemcpyDeviceToHost, producer));
        HIP_OK(hip.hipStreamSynchronize(producer));
    }
    bool right = true;
    for (uint32_t i = 0; i < N; i++) right &= result[i] == (f.host[i] * 5 + 2) * 3 + 1;
    HIP_OK(hip.hipStreamDestroy(consumer));
    HIP_OK(hip.hipStreamDestroy(producer));
    HIP_OK(hip.hipEventDestroy(produced));
    HIP_OK(hip.hipHostFree(gate));
    close_fixture(&f);
    return right;
}

static void test_order(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_DELAY_US=500", "D4R_HIPEMU_SEED=3");
    for (int i = 0; i < 5; i++) assert_true(pipeline(NO_MUTANT));
    /* The consumer is slow: who does not wait for it reads what was there before. */
    HIP_RESTART("D4R_HIPEMU_SLOW_MS=40");
    assert_true(pipeline(NO_MUTANT));
    assert_false(pipeline(NO_EVENT_WAIT));
    assert_false(pipeline(NO_CALLBACK_WAIT));
}

/* Two streams that nothing orders run at the same time: the second ends while the first is held up. */
static void test_concurrent(void **state)
{
    (void)state;
    HIP_RESTART();
    fixture f;
    open_fixture(&f);
    hipFunction_t fn = function(&f, "scale_add");
    hipStream_t a, b;
    uint32_t *gate;
    HIP_OK(hip.hipHostMalloc((void **)&gate, 64, 0));
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    HIP_OK(hip.hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP_OK(hip.hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    HIP_OK(hip.hipStreamWaitValue32(a, gate, 1, hipStreamWaitValueEq, ~0u));
    HIP_OK(scale_add(fn, a, f.a, f.b, 2, 0));
    HIP_OK(scale_add(fn, b, f.a, f.c, 4, 0));
    HIP_OK(hip.hipStreamSynchronize(b));
    HIP_IS(hipErrorNotReady, hip.hipStreamQuery(a));
    /* The kernel itself can be waited for by nobody but memory: a device-side spin ends when the host writes. */
    HIP_OK(hip.hipModuleLaunchKernel(function(&f, "never_ends"), 1, 1, 1, 32, 1, 1, 0, b, (void *[]){&gate},
                                     NULL));
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    HIP_OK(hip.hipStreamSynchronize(a));
    HIP_OK(hip.hipStreamSynchronize(b));
    assert_true(holds(&f, f.b, 2, 0));
    assert_true(holds(&f, f.c, 4, 0));
    HIP_OK(hip.hipStreamDestroy(a));
    HIP_OK(hip.hipStreamDestroy(b));
    HIP_OK(hip.hipHostFree(gate));
    close_fixture(&f);
}

/* b = 3a + 1, c = 2b: right with the edge, wrong without it. */
static bool graph_chain(bool edge)
{
    fixture f;
    open_fixture(&f);
    hipFunction_t fn = function(&f, "scale_add");
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    hipGraphNode_t first, second;
    uint32_t n = N, three = 3, one = 1, two = 2, zero = 0;
    hipKernelNodeParams params = {.blockDim = {64, 1, 1}, .gridDim = {N / 64, 1, 1}, .func = fn};
    HIP_OK(hip.hipMemset(f.b, 0, 4 * N));
    HIP_OK(hip.hipStreamCreate(&stream));
    HIP_OK(hip.hipGraphCreate(&graph, 0));
    params.kernelParams = (void *[]){&f.a, &f.b, &n, &three, &one};
    HIP_OK(hip.hipGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params.kernelParams = (void *[]){&f.b, &f.c, &n, &two, &zero};
    HIP_OK(hip.hipGraphAddKernelNode(&second, graph, &first, edge, &params));
    three = one = two = 77; /* arguments were copied */
    HIP_OK(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    HIP_OK(hip.hipGraphDestroy(graph));
    HIP_OK(hip.hipGraphLaunch(exec, stream));
    HIP_OK(hip.hipStreamSynchronize(stream));
    bool right = holds(&f, f.c, 6, 2);
    HIP_OK(hip.hipGraphExecDestroy(exec));
    HIP_OK(hip.hipStreamDestroy(stream));
    close_fixture(&f);
    return right;
}

static void test_graph(void **state)
{
    (void)state;
    HIP_RESTART();
    assert_true(graph_chain(true));
    assert_false(graph_chain(false));
}

/* ---- faults and checkers ---- */

/* Launches a kernel that must fault: everything after it fails, teardown works, nothing leaks. */
static void expect_fault(const char *setting, const char *kernel, bool with_input)
{
    HIP_RESTART("D4R_HIPEMU_ARCH=gfx1201");
    if (setting) hip_restart((const char *const[]){setting, NULL});
    fixture f;
    open_fixture(&f);
    hipStream_t stream;
    hipEvent_t event;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hip.hipEventCreate(&event));
    HIP_OK(hip.hipMemset(f.b, 0, 4 * N));
    HIP_OK(hip.hipDeviceSynchronize()); /* the stream below does not wait for the null stream */
    uint32_t n = N;
    void *plain[] = {&f.b, &n}, *input[] = {&f.c, &f.b};
    HIP_OK(hip.hipModuleLaunchKernel(function(&f, kernel), 1, 1, 1, 64, 1, 1, 0, stream,
                                     with_input ? input : plain, NULL));
    hipError_t recorded = hip.hipEventRecord(event, stream);
    assert_true(recorded == hipSuccess || recorded == hipErrorLaunchFailure);
    HIP_IS(hipErrorLaunchFailure, hip.hipStreamSynchronize(stream));
    if (!recorded) HIP_IS(hipErrorLaunchFailure, hip.hipEventSynchronize(event));
    HIP_IS(hipErrorLaunchFailure, scale_add(function(&f, "scale_add"), stream, f.a, f.b, 1, 1));
    void *more;
    HIP_IS(hipErrorLaunchFailure, hip.hipMalloc(&more, 16));
    HIP_OK(hip.hipEventDestroy(event));
    HIP_OK(hip.hipStreamDestroy(stream));
    close_fixture(&f);
}

static void test_faults(void **state)
{
    (void)state;
    expect_fault(NULL, "out_of_bounds", false);
    expect_fault(NULL, "misaligned", false);
    expect_fault("D4R_HIPEMU_CHECK=uninit", "reads_memory", true);
    expect_fault("D4R_HIPEMU_CHECK=uninit", "reads_lds", false);
    expect_fault("D4R_HIPEMU_CHECK=race", "races", false);
    expect_fault("D4R_HIPEMU_MAX_INSTRUCTIONS=100000", "never_ends", false);
}

static void test_misaligned_allowed(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_MISALIGNED=allow");
    fixture f;
    open_fixture(&f);
    HIP_OK(hip.hipModuleLaunchKernel(function(&f, "misaligned"), 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&f.b},
                                     NULL));
    unsigned char got[320];
    HIP_OK(hip.hipMemcpy(got, f.b, sizeof got, hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < 64; i++) assert_int_equal(got[i * 5], i);
    close_fixture(&f);
}

/* The report on stderr names the kernel, the address and the wave. */
static void test_report(void **state)
{
    (void)state;
    char path[] = "/tmp/hipemu-report-XXXXXX";
    int file = mkstemp(path), old = dup(2);
    fflush(stderr);
    dup2(file, 2);
    expect_fault(NULL, "out_of_bounds", false);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    char text[4096] = {0};
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    close(file);
    unlink(path);
    assert_non_null(strstr(text, "out_of_bounds"));
    assert_non_null(strstr(text, "wave"));
    assert_non_null(strstr(text, "store"));
}

/* A hang: for ever until the library is reset, or until the device is. */
static void test_hang(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_HANG=2", "D4R_HIPEMU_HANG_MS=80");
    fixture f;
    open_fixture(&f);
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    hipFunction_t fn = function(&f, "scale_add");
    HIP_OK(scale_add(fn, stream, f.a, f.b, 1, 1));
    HIP_OK(hip.hipStreamSynchronize(stream));
    double start = now();
    HIP_OK(scale_add(fn, stream, f.a, f.b, 1, 1));
    HIP_IS(hipErrorNotReady, hip.hipStreamQuery(stream));
    HIP_IS(hipErrorLaunchFailure, hip.hipStreamSynchronize(stream));
    assert_true(now() - start > 0.07);
    HIP_OK(hip.hipStreamDestroy(stream));
    close_fixture(&f);
    HIP_RESTART("D4R_HIPEMU_HANG=1");
    open_fixture(&f);
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(scale_add(function(&f, "scale_add"), stream, f.a, f.b, 1, 1));
    nap_ms(50);
    HIP_IS(hipErrorNotReady, hip.hipStreamQuery(stream));
    HIP_RESTART(); /* ends in bounded time although the kernel never does */
    HIP_IS(hipErrorInvalidHandle, hip.hipStreamQuery(stream));
}

static atomic_int callback_status;

static void note_status(hipStream_t stream, hipError_t status, void *count)
{
    (void)stream;
    atomic_store(&callback_status, (int)status);
    atomic_fetch_add((atomic_int *)count, 1);
}

static void count_up(void *count)
{
    atomic_fetch_add((atomic_int *)count, 1);
}

/* On a lost device a host function is never reached (option: it is); a stream callback is told the error. */
static void test_lost_callbacks(void **state)
{
    (void)state;
    for (int option = 0; option < 2; option++) {
        HIP_RESTART("D4R_HIPEMU_LOST=0",
                    option ? "D4R_HIPEMU_LOST_CALLBACKS=1" : "D4R_HIPEMU_LOST_CALLBACKS=0");
        fixture f;
        open_fixture(&f);
        hipStream_t stream;
        uint32_t *gate;
        atomic_int functions = 0, callbacks = 0;
        HIP_OK(hip.hipHostMalloc((void **)&gate, 64, 0));
        __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
        HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        HIP_OK(hip.hipStreamWaitValue32(stream, gate, 1, 0, ~0u));
        HIP_OK(scale_add(function(&f, "scale_add"), stream, f.a, f.b, 1, 1));
        HIP_OK(hip.hipLaunchHostFunc(stream, count_up, &functions));
        HIP_OK(hip.hipStreamAddCallback(stream, note_status, &callbacks, 0));
        __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
        HIP_IS(hipErrorLaunchFailure, hip.hipStreamSynchronize(stream));
        assert_int_equal(atomic_load(&functions), option);
        assert_int_equal(atomic_load(&callbacks), 1);
        assert_int_equal(atomic_load(&callback_status), hipErrorLaunchFailure);
        HIP_OK(hip.hipStreamDestroy(stream));
        HIP_OK(hip.hipHostFree(gate));
        close_fixture(&f);
    }
}

/* A small program with error handling as a user writes it; fails once at every call in turn. */
static hipError_t small_program(void)
{
    hipModule_t module = NULL;
    hipFunction_t fn = NULL;
    hipStream_t stream = NULL;
    hipEvent_t event = NULL;
    uint32_t *a = NULL, *b = NULL, host[N] = {0};
    hipError_t e = hip.hipInit(0);
    if (!e) e = hip.hipSetDevice(0);
    if (!e) e = hip.hipModuleLoadData(&module, code_1201);
    if (!e) e = hip.hipModuleGetFunction(&fn, module, "scale_add");
    if (!e) e = hip.hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -1);
    if (!e) e = hip.hipEventCreateWithFlags(&event, hipEventDisableTiming);
    if (!e) e = hip.hipMalloc((void **)&a, 4 * N);
    if (!e) e = hip.hipMalloc((void **)&b, 4 * N);
    if (!e) e = hip.hipMemcpy(a, host, 4 * N, hipMemcpyHostToDevice);
    if (!e) e = scale_add(fn, stream, a, b, 2, 9);
    if (!e) e = hip.hipEventRecord(event, stream);
    if (!e) e = hip.hipEventSynchronize(event);
    if (!e) e = hip.hipMemcpy(host, b, 4 * N, hipMemcpyDeviceToHost);
    for (uint32_t i = 0; !e && i < N; i++)
        if (host[i] != 9) e = hipErrorRuntimeOther;
    if (stream) hip.hipStreamSynchronize(stream);
    hipError_t last = hipSuccess, r;
    if (b && (r = hip.hipFree(b))) last = r;
    if (a && (r = hip.hipFree(a))) last = r;
    if (event && (r = hip.hipEventDestroy(event))) last = r;
    if (stream && (r = hip.hipStreamDestroy(stream))) last = r;
    if (module && (r = hip.hipModuleUnload(module))) last = r;
    return e ? e : last;
}

static void test_fail_everywhere(void **state)
{
    (void)state;
    HIP_RESTART();
    HIP_OK(small_program());
    uint64_t calls = hip.hipemu_call_count();
    assert_true(calls > 15);
    uint64_t noticed = 0;
    for (uint64_t i = 1; i <= calls; i++) {
        char setting[64];
        snprintf(setting, sizeof setting, "D4R_HIPEMU_FAIL=%llu:719", (unsigned long long)i);
        hip_restart((const char *const[]){setting, NULL});
        hipError_t e = small_program();
        assert_int_not_equal(e, hipErrorRuntimeOther);
        noticed += e == hipErrorLaunchFailure;
        assert_int_equal(hip.hipemu_live_objects(), 0);
    }
    assert_int_equal(noticed,
                     calls - 1); /* all but the synchronise of the clean-up, whose result it ignores */
}

/* ---- counts ---- */

static void test_counts(void **state)
{
    (void)state;
    char path[] = "/tmp/hipemu-counts-XXXXXX", setting[128];
    close(mkstemp(path));
    snprintf(setting, sizeof setting, "D4R_HIPEMU_COUNTS=%s", path);
    hip_restart((const char *const[]){setting, NULL});
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < 3; i++) HIP_OK(scale_add(function(&f, "scale_add"), NULL, f.a, f.b, 3, 5));
    HIP_OK(hip.hipDeviceSynchronize());
    close_fixture(&f);
    hip.hipemu_reset();
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    static char text[65536];
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    unlink(path);
    text[size] = 0;
    cJSON *root = cJSON_Parse(text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "format")), "hipemu-counts 1");
    cJSON *kernels = cJSON_GetObjectItem(root, "kernels");
    assert_int_equal(cJSON_GetArraySize(kernels), 1);
    cJSON *kernel = cJSON_GetArrayItem(kernels, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(kernel, "kernel")), "scale_add");
    assert_int_equal((int)cJSON_GetNumberValue(cJSON_GetObjectItem(kernel, "launches")), 3);
    assert_int_equal((int)cJSON_GetNumberValue(cJSON_GetObjectItem(kernel, "workgroups")), 3 * N / 64);
    assert_int_equal((int)cJSON_GetNumberValue(cJSON_GetObjectItem(kernel, "waves")), 3 * N / 32);
    /* Every work-item loads and stores one word; classes sum up to the instructions issued. */
    cJSON *read = cJSON_GetObjectItem(kernel, "bytes_read"),
          *written = cJSON_GetObjectItem(kernel, "bytes_written");
    assert_int_equal((int)cJSON_GetNumberValue(cJSON_GetObjectItem(read, "global")), 3 * N * 4);
    assert_int_equal((int)cJSON_GetNumberValue(cJSON_GetObjectItem(written, "global")), 3 * N * 4);
    double sum = 0;
    for (cJSON *c = cJSON_GetObjectItem(kernel, "classes")->child; c; c = c->next) sum += c->valuedouble;
    assert_true(sum > 0 && sum == cJSON_GetNumberValue(cJSON_GetObjectItem(kernel, "instructions")));
    double mnemonics = 0;
    for (cJSON *m = cJSON_GetObjectItem(kernel, "mnemonics")->child; m; m = m->next)
        mnemonics += m->valuedouble;
    assert_true(mnemonics >= sum); /* VOPD halves count one by one */
    cJSON *estimate = cJSON_GetObjectItem(kernel, "estimate");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(estimate, "microseconds")) >= 15.0);
    assert_non_null(strstr(cJSON_GetStringValue(cJSON_GetObjectItem(estimate, "kind")), "not a measurement"));
    cJSON_Delete(root);
}

int main(void)
{
    hip_table_load();
    size_t size;
    code_1201 = read_code("gfx1201", &size_1201);
    code_1100 = read_code("gfx1100", &size);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch), cmocka_unit_test(test_modules),
        cmocka_unit_test(test_order),  cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_graph),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_report), cmocka_unit_test(test_misaligned_allowed),
        cmocka_unit_test(test_hang),   cmocka_unit_test(test_lost_callbacks),
        cmocka_unit_test(test_counts), cmocka_unit_test(test_fail_everywhere),
    };
    int failed = cmocka_run_group_tests_name("hipemu_launch", tests, NULL, NULL);
    free(code_1201);
    free(code_1100);
    return failed;
}
