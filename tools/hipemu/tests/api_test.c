/* libhipemu without kernels: devices, streams, events, host functions, memory, external memory, graphs,
 * faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hip_table.h"

static void nap_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* ---- devices ---- */

static void test_devices(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_ARCH=gfx1201,gfx1100", "D4R_HIPEMU_PCI=0000:03:00.0,0001:c4:1f.0");
    HIP_OK(hip.hipInit(0));
    int value = 0, device = -1;
    HIP_OK(hip.hipGetDeviceCount(&value));
    assert_int_equal(value, 2);
    HIP_OK(hip.hipGetDevice(&device));
    assert_int_equal(device, 0);
    HIP_OK(hip.hipDeviceGetAttribute(&value, 67, 1)); /* bus */
    assert_int_equal(value, 0xc4);
    HIP_OK(hip.hipDeviceGetAttribute(&value, 68, 1)); /* device */
    assert_int_equal(value, 0x1f);
    HIP_OK(hip.hipDeviceGetAttribute(&value, 69, 1)); /* domain */
    assert_int_equal(value, 1);
    HIP_OK(hip.hipDeviceGetAttribute(&value, 10013, 0)); /* stream wait value */
    assert_int_equal(value, 1);
    HIP_IS(hipErrorInvalidDevice, hip.hipDeviceGetAttribute(&value, 67, 2));
    HIP_IS(hipErrorInvalidValue, hip.hipDeviceGetAttribute(&value, 123456, 0));
    char text[4096];
    HIP_OK(hip.hipDeviceGetPCIBusId(text, 64, 1));
    assert_string_equal(text, "0001:c4:1f.0");
    HIP_OK(hip.hipDeviceGetName(text, 256, 0));
    assert_non_null(strstr(text, "emulated"));
    memset(text, 0, sizeof text);
    HIP_OK(hip.hipGetDevicePropertiesR0600(text, 0));
    assert_string_equal(text + 1160, "gfx1201");
    memset(text, 0, sizeof text);
    HIP_OK(hip.hipGetDeviceProperties(text, 1));
    assert_string_equal(text + 396, "gfx1100");
    HIP_OK(hip.hipSetDevice(1));
    HIP_OK(hip.hipGetDevice(&device));
    assert_int_equal(device, 1);
    HIP_IS(hipErrorInvalidDevice, hip.hipSetDevice(2));
    assert_int_equal(hip.hipGetLastError(), hipErrorInvalidDevice);
    assert_int_equal(hip.hipGetLastError(), hipSuccess);
    HIP_OK(hip.hipSetDevice(0));
    assert_string_equal(hip.hipGetErrorName(hipErrorNoBinaryForGpu), "hipErrorNoBinaryForGpu");
}

static void test_no_device(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_ARCH=none");
    int count = -1;
    HIP_IS(hipErrorInvalidDevice, hip.hipInit(0));
    HIP_IS(hipErrorNoDevice, hip.hipGetDeviceCount(&count));
    assert_int_equal(count, 0);
    hipStream_t stream;
    HIP_IS(hipErrorNoDevice, hip.hipStreamCreate(&stream));
    HIP_RESTART("D4R_HIPEMU_ARCH=gfx906"); /* malformed: everything fails, nothing crashes */
    HIP_IS(hipErrorNotInitialized, hip.hipInit(0));
}

/* ---- order within and between streams ---- */

typedef struct order_log {
    pthread_mutex_t lock;
    int entries[64], count;
} order_log;
typedef struct order_item {
    order_log *log;
    int id;
    unsigned ms;
} order_item;

static void log_item(void *user)
{
    order_item *item = user;
    if (item->ms) nap_ms(item->ms);
    pthread_mutex_lock(&item->log->lock);
    item->log->entries[item->log->count++] = item->id;
    pthread_mutex_unlock(&item->log->lock);
}

static void log_callback(hipStream_t stream, hipError_t status, void *user)
{
    (void)stream;
    assert_int_equal(status, hipSuccess);
    log_item(user);
}

static void test_streams(void **state)
{
    (void)state;
    HIP_RESTART();
    int least, greatest, priority;
    unsigned flags;
    HIP_OK(hip.hipDeviceGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 1);
    assert_int_equal(greatest, -1);
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -7));
    HIP_OK(hip.hipStreamGetPriority(stream, &priority));
    assert_int_equal(priority, -1);
    HIP_OK(hip.hipStreamGetFlags(stream, &flags));
    assert_int_equal(flags, hipStreamNonBlocking);
    int device = -1;
    HIP_OK(hip.hipStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    HIP_IS(hipErrorInvalidValue, hip.hipStreamGetDevice(stream, NULL));
    assert_int_equal(hip.hipGetLastError(), hipErrorInvalidValue);
    order_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    order_item items[3] = {{&log, 0, 20}, {&log, 1, 0}, {&log, 2, 0}};
    HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &items[0]));
    HIP_OK(hip.hipStreamAddCallback(stream, log_callback, &items[1], 0));
    HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &items[2]));
    HIP_IS(hipErrorNotReady, hip.hipStreamQuery(stream));
    assert_int_equal(hip.hipGetLastError(), hipSuccess);
    HIP_OK(hip.hipStreamSynchronize(stream));
    HIP_OK(hip.hipStreamQuery(stream));
    assert_int_equal(log.count, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(log.entries[i], i);
    HIP_OK(hip.hipStreamDestroy(stream));
    HIP_IS(hipErrorInvalidHandle, hip.hipStreamDestroy(stream));
    HIP_IS(hipErrorInvalidHandle, hip.hipStreamSynchronize(stream));
    HIP_IS(hipErrorInvalidValue, hip.hipStreamCreateWithFlags(&stream, 8));
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

/* A copy behind a slow one: the null stream and blocking streams wait for each other, non-blocking ones do
 * not. */
static bool null_stream_waits(unsigned flags)
{
    hipStream_t stream;
    uint32_t *gate, *cell, seen = 0;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, flags));
    HIP_OK(hip.hipHostMalloc((void **)&gate, 4096, 0));
    HIP_OK(hip.hipMalloc((void **)&cell, 4));
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    HIP_OK(hip.hipMemset(cell, 0, 4));
    HIP_OK(hip.hipDeviceSynchronize());
    HIP_OK(hip.hipStreamWaitValue32(stream, gate, 1, hipStreamWaitValueEq, ~0u));
    HIP_OK(hip.hipMemsetD32Async(cell, 77, 1, stream));
    HIP_OK(hip.hipMemcpyAsync(&seen, cell, 4, hipMemcpyDeviceToHost, NULL)); /* null stream */
    nap_ms(30);
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    HIP_OK(hip.hipDeviceSynchronize());
    HIP_OK(hip.hipStreamDestroy(stream));
    HIP_OK(hip.hipFree(cell));
    HIP_OK(hip.hipHostFree(gate));
    return seen == 77;
}

static void test_null_stream(void **state)
{
    (void)state;
    HIP_RESTART();
    assert_true(null_stream_waits(hipStreamDefault));
    assert_false(null_stream_waits(hipStreamNonBlocking));
    /* The other direction: a blocking stream waits for earlier work of the null stream. */
    order_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    uint32_t *gate;
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreate(&stream));
    HIP_OK(hip.hipHostMalloc((void **)&gate, 4096, 0));
    *gate = 0;
    order_item item = {&log, 5, 0};
    HIP_OK(hip.hipStreamWaitValue32(NULL, gate, 1, hipStreamWaitValueGte, ~0u));
    HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &item));
    nap_ms(20);
    pthread_mutex_lock(&log.lock);
    int early = log.count;
    pthread_mutex_unlock(&log.lock);
    assert_int_equal(early, 0);
    __atomic_store_n(gate, 2, __ATOMIC_RELEASE);
    HIP_OK(hip.hipStreamSynchronize(stream));
    assert_int_equal(log.count, 1);
    HIP_OK(hip.hipStreamDestroy(stream));
    HIP_OK(hip.hipHostFree(gate));
}

static void test_events(void **state)
{
    (void)state;
    HIP_RESTART();
    hipStream_t a, b;
    hipEvent_t start, end, plain;
    HIP_OK(hip.hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP_OK(hip.hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    HIP_OK(hip.hipEventCreate(&start));
    HIP_OK(hip.hipEventCreate(&end));
    HIP_OK(hip.hipEventCreateWithFlags(&plain, hipEventDisableTiming));
    float ms;
    HIP_OK(hip.hipEventQuery(start)); /* never recorded counts as done */
    HIP_IS(hipErrorInvalidHandle, hip.hipEventElapsedTime(&ms, start, end));
    order_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    order_item slow = {&log, 1, 40};
    HIP_OK(hip.hipEventRecord(start, a));
    HIP_OK(hip.hipLaunchHostFunc(a, log_item, &slow));
    HIP_OK(hip.hipEventRecord(end, a));
    HIP_IS(hipErrorNotReady, hip.hipEventQuery(end));
    HIP_IS(hipErrorNotReady, hip.hipEventElapsedTime(&ms, start, end));
    HIP_OK(hip.hipStreamWaitEvent(b, end, 0));
    HIP_OK(hip.hipEventRecord(plain, b));
    HIP_OK(hip.hipEventSynchronize(plain));
    assert_int_equal(log.count, 1); /* b waited for a */
    HIP_OK(hip.hipEventElapsedTime(&ms, start, end));
    assert_true(ms >= 39.0f && ms < 10000.0f);
    HIP_IS(hipErrorInvalidHandle, hip.hipEventElapsedTime(&ms, start, plain));
    HIP_IS(hipErrorInvalidValue, hip.hipEventCreateWithFlags(&plain, 0x100));
    HIP_OK(hip.hipEventDestroy(start));
    HIP_IS(hipErrorInvalidHandle, hip.hipEventRecord(start, a));
    HIP_OK(hip.hipEventDestroy(end));
    HIP_OK(hip.hipEventDestroy(plain));
    HIP_OK(hip.hipStreamDestroy(a));
    HIP_OK(hip.hipStreamDestroy(b));
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

/* ---- host functions ---- */

static atomic_int callback_error;

static void calls_hip(void *user)
{
    (void)user;
    atomic_store(&callback_error, (int)hip.hipStreamQuery(NULL));
}

/* Runs fn in a child and tells whether it ended by abort(). */
static bool aborts(void (*fn)(void))
{
    hip.hipemu_reset(); /* no threads while forking */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        fn();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void hip_call_in_callback(void)
{
    hipStream_t stream;
    if (hip.hipStreamCreate(&stream) || hip.hipLaunchHostFunc(stream, calls_hip, NULL)) return;
    hip.hipStreamSynchronize(stream);
}

static void import_semaphore(void)
{
    hipExternalSemaphore_t semaphore;
    hip.hipImportExternalSemaphore(&semaphore, NULL);
}

static void test_callbacks(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_CALLBACK=error");
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreate(&stream));
    HIP_OK(hip.hipLaunchHostFunc(stream, calls_hip, NULL));
    HIP_OK(hip.hipStreamSynchronize(stream));
    assert_int_equal(atomic_load(&callback_error), hipErrorNotSupported);
    HIP_IS(hipErrorInvalidValue, hip.hipLaunchHostFunc(stream, NULL, NULL));
    HIP_OK(hip.hipStreamDestroy(stream));
    HIP_RESTART();
#if defined(__SANITIZE_THREAD__)
    (void)hip_call_in_callback; /* threads in a forked child are beyond the thread sanitizer */
#else
    assert_true(aborts(hip_call_in_callback));
#endif
    assert_true(aborts(import_semaphore));
}

/* ---- memory ---- */

static void test_memory(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_MEMORY=1048576");
    size_t left, total;
    HIP_OK(hip.hipMemGetInfo(&left, &total));
    assert_int_equal(total, 1048576);
    char *a, *b, host[256];
    HIP_OK(hip.hipMalloc((void **)&a, 1000000));
    HIP_OK(hip.hipMemGetInfo(&left, &total));
    assert_int_equal(left, 48576);
    HIP_IS(hipErrorOutOfMemory, hip.hipMalloc((void **)&b, 48577));
    assert_null(b);
    HIP_OK(hip.hipMalloc((void **)&b, 256));
    for (int i = 0; i < 256; i++) host[i] = (char)i;
    HIP_OK(hip.hipMemcpy(b, host, 256, hipMemcpyHostToDevice));
    HIP_OK(hip.hipMemcpy(a + 17, b, 256, hipMemcpyDeviceToDevice));
    memset(host, 0, sizeof host);
    HIP_OK(hip.hipMemcpy(host, a + 17, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) assert_int_equal(host[i], (char)i);
    HIP_OK(hip.hipMemsetD16Async(b, 0x1234, 128, NULL));
    HIP_OK(hip.hipMemcpy(host, b, 256, hipMemcpyDefault));
    for (int i = 0; i < 256; i++) assert_int_equal(host[i], i % 2 ? 0x12 : 0x34);
    /* Past the end, from nowhere, host memory given as device memory. */
    HIP_IS(hipErrorInvalidValue, hip.hipMemcpy(b + 1, host, 256, hipMemcpyHostToDevice));
    HIP_IS(hipErrorInvalidValue, hip.hipMemcpy(host, b + 1, 256, hipMemcpyDeviceToHost));
    HIP_IS(hipErrorInvalidValue, hip.hipMemcpy(host, host + 8, 8, hipMemcpyDeviceToHost));
    HIP_IS(hipErrorInvalidValue, hip.hipMemset(host, 0, 8));
    HIP_IS(hipErrorInvalidValue, hip.hipFree(b + 1));
    HIP_OK(hip.hipFree(NULL));
    HIP_OK(hip.hipFree(a));
    HIP_IS(hipErrorInvalidValue, hip.hipFree(a));
    HIP_OK(hip.hipFree(b));
    HIP_OK(hip.hipMemGetInfo(&left, &total));
    assert_int_equal(left, total);
}

static void test_host_memory(void **state)
{
    (void)state;
    HIP_RESTART();
    char *page = aligned_alloc(4096, 8192), *pinned;
    void *device;
    HIP_IS(hipErrorInvalidValue, hip.hipHostGetDevicePointer(&device, page, 0));
    HIP_OK(hip.hipHostRegister(page, 8192, 0));
    HIP_IS(hipErrorHostMemoryAlreadyRegistered, hip.hipHostRegister(page + 4096, 4096, 0));
    HIP_OK(hip.hipHostGetDevicePointer(&device, page + 5, 0));
    HIP_OK(hip.hipMemset(device, 3, 4));
    HIP_OK(hip.hipDeviceSynchronize());
    assert_int_equal(page[8], 3);
    HIP_IS(hipErrorInvalidValue, hip.hipFree(page));
    HIP_OK(hip.hipHostUnregister(page));
    HIP_IS(hipErrorHostMemoryNotRegistered, hip.hipHostUnregister(page));
    HIP_OK(hip.hipHostMalloc((void **)&pinned, 100, 0));
    HIP_IS(hipErrorInvalidValue, hip.hipFree(pinned));
    HIP_OK(hip.hipHostFree(pinned));
    free(page);
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

/* Copies are asynchronous: a copy behind an open wait has not happened yet. */
static void test_asynchronous(void **state)
{
    (void)state;
    HIP_RESTART();
    hipStream_t stream;
    uint64_t *gate;
    int *cell, host = 41;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hip.hipHostMalloc((void **)&gate, 64, 0));
    HIP_OK(hip.hipMalloc((void **)&cell, 4));
    *gate = 0;
    HIP_OK(hip.hipStreamWaitValue64(stream, gate, 0x10, hipStreamWaitValueAnd, ~0ull));
    HIP_OK(hip.hipMemcpyAsync(cell, &host, 4, hipMemcpyHostToDevice, stream));
    HIP_OK(hip.hipMemcpyAsync(&host, cell, 4, hipMemcpyDeviceToHost, stream));
    HIP_OK(hip.hipStreamWriteValue64(stream, gate + 1, 99, 0));
    __atomic_store_n(&gate[0], 0x30, __ATOMIC_RELEASE);
    HIP_OK(hip.hipStreamSynchronize(stream));
    assert_int_equal(host, 41);
    assert_int_equal(gate[1], 99);
    HIP_IS(hipErrorInvalidValue,
           hip.hipStreamWaitValue32(stream, &host, 1, 0, ~0u)); /* memory HIP does not know */
    HIP_IS(hipErrorInvalidValue, hip.hipStreamWaitValue32(stream, (char *)gate + 2, 1, 0, ~0u));
    HIP_OK(hip.hipFree(cell));
    HIP_OK(hip.hipHostFree(gate));
    HIP_OK(hip.hipStreamDestroy(stream));
}

static void test_external(void **state)
{
    (void)state;
    HIP_RESTART();
    int fd = memfd_create("memory", 0);
    /* A header before the memory, as lavapipe has: the memory is the file's end, page aligned. */
    const size_t size = 10000, file = 4096 + 12288;
    assert_int_equal(ftruncate(fd, (off_t)file), 0);
    char *host = mmap(NULL, file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    size_t offset = (file - size) & ~(size_t)4095;
    hipExternalMemoryHandleDesc desc = {.type = 1, .handle.fd = fd, .size = size};
    hipExternalMemory_t memory;
    hipExternalMemoryBufferDesc range = {.offset = 256, .size = 4096};
    void *mapped, *other;
    HIP_OK(hip.hipImportExternalMemory(&memory, &desc));
    assert_int_not_equal(fcntl(fd, F_GETFD), -1); /* the descriptor stays ours */
    HIP_OK(hip.hipExternalMemoryGetMappedBuffer(&mapped, memory, &range));
    HIP_OK(hip.hipMemset(mapped, 0x5a, 4096));
    HIP_OK(hip.hipDeviceSynchronize());
    assert_int_equal(host[offset + 256], 0x5a);
    assert_int_equal(host[offset + 255], 0);
    assert_int_equal(host[offset + 256 + 4095], 0x5a);
    assert_int_equal(host[offset + 256 + 4096], 0);
    range.flags = 1;
    HIP_IS(hipErrorInvalidValue, hip.hipExternalMemoryGetMappedBuffer(&other, memory, &range));
    range = (hipExternalMemoryBufferDesc){.offset = 8192, .size = 4096}; /* past the end */
    HIP_IS(hipErrorInvalidValue, hip.hipExternalMemoryGetMappedBuffer(&other, memory, &range));
    HIP_IS(hipErrorInvalidValue, hip.hipDestroyExternalMemory(memory)); /* mapped pointer first */
    HIP_OK(hip.hipFree(mapped));
    HIP_OK(hip.hipDestroyExternalMemory(memory));
    assert_int_not_equal(fcntl(fd, F_GETFD), -1);
    desc.size = 0;
    HIP_IS(hipErrorInvalidValue, hip.hipImportExternalMemory(&memory, &desc));
    desc.size = file + 1;
    HIP_IS(hipErrorOutOfMemory, hip.hipImportExternalMemory(&memory, &desc));
    desc.size = size;
    desc.flags = 2;
    HIP_IS(hipErrorInvalidValue, hip.hipImportExternalMemory(&memory, &desc));
    desc.flags = 1;
    desc.type = 2;
    HIP_IS(hipErrorOutOfMemory, hip.hipImportExternalMemory(&memory, &desc));
    HIP_RESTART("D4R_HIPEMU_IMPORT=refuse");
    desc.type = 1;
    HIP_IS(hipErrorOutOfMemory, hip.hipImportExternalMemory(&memory, &desc));
    assert_int_equal(hip.hipemu_live_objects(), 0);
    munmap(host, file);
    close(fd);
}

/* ---- graphs ---- */

static void add_host_node(hipGraph_t graph, order_item *item, const hipGraphNode_t *from, size_t count,
                          hipGraphNode_t *node)
{
    hipHostNodeParams params = {log_item, item};
    HIP_OK(hip.hipGraphAddHostNode(node, graph, from, count, &params));
}

static void launch_twice(hipGraph_t graph, hipStream_t stream)
{
    hipGraphExec_t exec;
    HIP_OK(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    HIP_OK(hip.hipGraphLaunch(exec, stream));
    HIP_OK(hip.hipGraphLaunch(exec, stream));
    HIP_OK(hip.hipGraphExecDestroy(exec)); /* queued launches keep it alive */
    HIP_OK(hip.hipStreamSynchronize(stream));
}

static void test_graphs(void **state)
{
    (void)state;
    HIP_RESTART();
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    order_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    order_item items[4] = {{&log, 0, 0}, {&log, 1, 0}, {&log, 2, 0}, {&log, 3, 0}};
    for (int edges = 0; edges < 2; edges++) {
        hipGraph_t graph;
        hipGraphNode_t nodes[4];
        HIP_OK(hip.hipGraphCreate(&graph, 0));
        for (int i = 0; i < 4; i++) add_host_node(graph, &items[i], nodes + i - 1, edges && i, &nodes[i]);
        log.count = 0;
        launch_twice(graph, stream);
        assert_int_equal(log.count, 8);
        /* With edges in order; without them in the order that shows that they are missing. */
        for (int i = 0; i < 8; i++) assert_int_equal(log.entries[i], edges ? i % 4 : 3 - i % 4);
        HIP_OK(hip.hipGraphAddDependencies(graph, &nodes[3], &nodes[0], 1));
        hipGraphExec_t exec;
        HIP_IS(edges ? hipErrorInvalidValue : hipSuccess,
               hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
        if (!edges) HIP_OK(hip.hipGraphExecDestroy(exec));
        HIP_OK(hip.hipGraphDestroy(graph));
        HIP_IS(hipErrorInvalidValue, hip.hipGraphDestroy(graph));
    }
    /* Capture: nothing runs until the launch. */
    hipGraph_t graph;
    log.count = 0;
    HIP_OK(hip.hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < 4; i++) HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &items[i]));
    HIP_OK(hip.hipStreamEndCapture(stream, &graph));
    HIP_OK(hip.hipStreamSynchronize(stream));
    assert_int_equal(log.count, 0);
    launch_twice(graph, stream);
    for (int i = 0; i < 8; i++) assert_int_equal(log.entries[i], i % 4);
    HIP_OK(hip.hipGraphDestroy(graph));
    HIP_OK(hip.hipStreamBeginCapture(stream, 0));
    HIP_IS(hipErrorStreamCaptureUnsupported, hip.hipStreamSynchronize(stream));
    HIP_IS(hipErrorStreamCaptureInvalidated, hip.hipStreamEndCapture(stream, &graph));
    HIP_OK(hip.hipStreamDestroy(stream));
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

/* ---- faults ---- */

static void test_injection(void **state)
{
    (void)state;
    void *a = NULL, *b = NULL;
    HIP_RESTART("D4R_HIPEMU_FAIL=hipMalloc:2,hipFree:1:719");
    HIP_OK(hip.hipMalloc(&a, 16));
    HIP_IS(hipErrorOutOfMemory, hip.hipMalloc(&b, 16));
    HIP_OK(hip.hipMalloc(&b, 16));
    HIP_IS(hipErrorLaunchFailure, hip.hipFree(a)); /* a destroying call does its work even so */
    assert_int_equal(hip.hipemu_live_objects(), 1);
    HIP_OK(hip.hipFree(b));
    HIP_RESTART("D4R_HIPEMU_FAIL=2");
    HIP_OK(hip.hipInit(0));
    HIP_IS(hipErrorUnknown, hip.hipMemGetInfo((size_t[1]){0}, (size_t[1]){0}));
    HIP_OK(hip.hipMemGetInfo((size_t[1]){0}, (size_t[1]){0}));
    assert_int_equal(hip.hipemu_call_count(), 3);
    HIP_RESTART("D4R_HIPEMU_FAIL=hipMalloc");
    HIP_IS(hipErrorNotInitialized, hip.hipInit(0));
    HIP_RESTART("D4R_HIPEMU_VERSION=50731921");
    int version;
    HIP_OK(hip.hipRuntimeGetVersion(&version));
    assert_int_equal(version, 50731921);
}

/* A sync on one thread holds up submits to that stream from another (option). */
static void *synchronise(void *stream)
{
    hip.hipStreamSynchronize(stream);
    return NULL;
}

static double submit_during_sync(void)
{
    hipStream_t stream;
    HIP_OK(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    order_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    order_item slow = {&log, 0, 150}, quick = {&log, 1, 0};
    HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &slow));
    pthread_t thread;
    pthread_create(&thread, NULL, synchronise, stream);
    nap_ms(50);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    HIP_OK(hip.hipLaunchHostFunc(stream, log_item, &quick));
    clock_gettime(CLOCK_MONOTONIC, &after);
    pthread_join(thread, NULL);
    HIP_OK(hip.hipStreamDestroy(stream));
    return (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

static void test_sync_blocks(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_SYNC_BLOCKS=1");
    assert_true(submit_during_sync() > 0.03);
}

/* Many threads, streams, events and random delays: counts add up and nothing is left. */
typedef struct storm {
    int *cells; /* device memory, one a stage */
    unsigned seed;
} storm;

static void *storm_thread(void *user)
{
    storm *s = user;
    hipStream_t a, b;
    hipEvent_t event;
    int one = 1, seen = 0;
    hipError_t e = hip.hipStreamCreateWithFlags(&a, hipStreamNonBlocking);
    e = e ? e : hip.hipStreamCreateWithFlags(&b, hipStreamNonBlocking);
    e = e ? e : hip.hipEventCreateWithFlags(&event, hipEventDisableTiming);
    for (int i = 0; !e && i < 20; i++) {
        one = i;
        e = hip.hipMemcpyAsync(s->cells, &one, 4, hipMemcpyHostToDevice, a);
        e = e ? e : hip.hipEventRecord(event, a);
        e = e ? e : hip.hipStreamWaitEvent(b, event, 0);
        e = e ? e : hip.hipMemcpyAsync(s->cells + 1, s->cells, 4, hipMemcpyDeviceToDevice, b);
        e = e ? e : hip.hipMemcpyAsync(&seen, s->cells + 1, 4, hipMemcpyDeviceToHost, b);
        e = e ? e : hip.hipStreamSynchronize(b);
        if (!e && seen != i) e = hipErrorUnknown;
    }
    e = e ? e : hip.hipEventDestroy(event);
    e = e ? e : hip.hipStreamDestroy(a);
    e = e ? e : hip.hipStreamDestroy(b);
    return (void *)(uintptr_t)e;
}

static void test_storm(void **state)
{
    (void)state;
    HIP_RESTART("D4R_HIPEMU_DELAY_US=300", "D4R_HIPEMU_SEED=7");
    pthread_t threads[6];
    storm storms[6];
    int *cells;
    HIP_OK(hip.hipMalloc((void **)&cells, 4096));
    for (int i = 0; i < 6; i++) {
        storms[i] = (storm){cells + 2 * i, (unsigned)i};
        assert_int_equal(pthread_create(&threads[i], NULL, storm_thread, &storms[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_int_equal((uintptr_t)result, hipSuccess);
    }
    HIP_OK(hip.hipFree(cells));
    assert_int_equal(hip.hipemu_live_objects(), 0);
}

int main(void)
{
    hip_table_load();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),      cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_streams),      cmocka_unit_test(test_null_stream),
        cmocka_unit_test(test_events),       cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_asynchronous), cmocka_unit_test(test_external),
        cmocka_unit_test(test_graphs),       cmocka_unit_test(test_injection),
        cmocka_unit_test(test_sync_blocks),  cmocka_unit_test(test_storm),
    };
    return cmocka_run_group_tests_name("hipemu_api", tests, NULL, NULL);
}
