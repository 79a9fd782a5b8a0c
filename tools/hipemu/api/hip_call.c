/* What every entry point shares: first use, fault injection, last error, trace; and process-wide state. */
#include "hip_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

hipemu_state hipemu = {.lock = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER};

static _Thread_local hipError_t last_error;
static _Thread_local bool inside_callback;
static atomic_bool tracing;

/* ---- messages ---- */

bool hipemu_tracing(void)
{
    return atomic_load_explicit(&tracing, memory_order_relaxed);
}

static void trace_v(const char *format, va_list arguments)
{
    char line[768];
    vsnprintf(line, sizeof line, format, arguments);
    uint64_t us = hipemu_now_ns() / 1000u;
    FILE *file = hipemu.config.trace;
    fprintf(file, "%llu.%06llu %ld %s\n", (unsigned long long)(us / 1000000u),
            (unsigned long long)(us % 1000000u), syscall(SYS_gettid), line);
    fflush(file);
}

void hipemu_trace(const char *format, ...)
{
    if (!hipemu_tracing()) return;
    va_list arguments;
    va_start(arguments, format);
    trace_v(format, arguments);
    va_end(arguments);
}

void hipemu_message(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "hipemu: %s\n", line);
    hipemu_trace("message: %s", line);
}

/* ---- objects ---- */

void hipemu_object_add(hipemu_object *object, hipemu_kind kind)
{
    object->kind = kind;
    object->prev = NULL;
    object->next = hipemu.objects[kind];
    if (object->next) object->next->prev = object;
    hipemu.objects[kind] = object;
}

void hipemu_object_remove(hipemu_object *object)
{
    if (object->prev)
        object->prev->next = object->next;
    else
        hipemu.objects[object->kind] = object->next;
    if (object->next) object->next->prev = object->prev;
}

bool hipemu_object_valid(const void *handle, hipemu_kind kind)
{
    for (hipemu_object *o = hipemu.objects[kind]; o; o = o->next)
        if (o == handle) return true;
    return false;
}

/* ---- first use and shutdown ---- */

static bool start(void)
{
    if (hipemu.initialised) return true;
    if (!hipemu_config_read(&hipemu.config)) return false;
    hipemu_config *config = &hipemu.config;
    hipemu.memory = emu_memory_create(config->check_uninit);
    hipemu.pool = emu_pool_create((unsigned)config->threads);
    if (!hipemu.memory || !hipemu.pool) return false;
    for (int i = 0; i < config->device_count; i++) {
        hipemu_device *device = &hipemu.devices[i];
        memset(device, 0, sizeof *device);
        device->index = i;
        device->arch = emu_arch_find(config->arch[i]);
        device->memory_total = config->memory ? config->memory : (uint64_t)16 << 30;
    }
    hipemu.calls = hipemu.launches = 0;
    hipemu.random = config->delay_seed;
    atomic_store(&tracing, config->trace != NULL);
    hipemu.shutdown = false;
    hipemu.initialised = true;
    return true;
}

static void report_leaks(void)
{
    static const char *const names[HIPEMU_KIND_COUNT] = {"stream",          "event", "module",
                                                         "external memory", "graph", "graph exec"};
    for (int kind = 0; kind < HIPEMU_KIND_COUNT; kind++) {
        unsigned count = 0;
        for (hipemu_object *o = hipemu.objects[kind]; o; o = o->next) {
            hipemu_device *device = kind == HIPEMU_STREAM ? ((hipemu_stream *)o)->device : NULL;
            if (!device || device->null_stream != (hipemu_stream *)o) count++;
        }
        if (count) hipemu_message("leak: %u %s object(s) never destroyed", count, names[kind]);
    }
    size_t blocks = emu_memory_count(hipemu.memory);
    if (blocks) hipemu_message("leak: %zu memory range(s) never freed", blocks);
}

/* Ends all threads and frees everything; the next call starts anew and reads the environment again. */
static void stop(void)
{
    pthread_mutex_lock(&hipemu.lock);
    bool running = hipemu.initialised && !hipemu.shutdown;
    if (running) {
        hipemu_counts_write();
        if (hipemu.config.check_leak) report_leaks();
        hipemu.shutdown = true;
        for (int i = 0; i < hipemu.config.device_count; i++) atomic_store(&hipemu.devices[i].cancel, 1);
        pthread_cond_broadcast(&hipemu.progress);
    }
    pthread_mutex_unlock(&hipemu.lock);
    if (!running) return;
    hipemu_callback_stop();
    hipemu_stream_stop_all();
    hipemu_graph_free_all();
    hipemu_module_free_all();
    hipemu_external_free_all();
    hipemu_memory_free_all();
    pthread_mutex_lock(&hipemu.lock);
    emu_memory_destroy(&hipemu.memory);
    emu_pool_destroy(&hipemu.pool);
    atomic_store(&tracing, false);
    hipemu_config_close(&hipemu.config);
    hipemu.initialised = false;
    pthread_mutex_unlock(&hipemu.lock);
}

/* Extensions for tests, not part of HIP: start anew with the present environment; count calls and live
 * objects. */
HIPEMU_EXPORT void hipemu_reset(void);
void hipemu_reset(void)
{
    stop();
    last_error = hipSuccess;
}

HIPEMU_EXPORT uint64_t hipemu_call_count(void);
uint64_t hipemu_call_count(void)
{
    pthread_mutex_lock(&hipemu.lock);
    uint64_t calls = hipemu.calls;
    pthread_mutex_unlock(&hipemu.lock);
    return calls;
}

HIPEMU_EXPORT uint64_t hipemu_live_objects(void);
uint64_t hipemu_live_objects(void)
{
    pthread_mutex_lock(&hipemu.lock);
    uint64_t count = hipemu.initialised ? emu_memory_count(hipemu.memory) : 0;
    for (int kind = 0; kind < HIPEMU_KIND_COUNT; kind++)
        for (hipemu_object *o = hipemu.objects[kind]; o; o = o->next) count++;
    for (int i = 0; hipemu.initialised && i < hipemu.config.device_count; i++)
        count -= hipemu.devices[i].null_stream != NULL;
    pthread_mutex_unlock(&hipemu.lock);
    return count;
}

__attribute__((destructor)) static void at_exit(void)
{
    stop();
}

/* ---- entering and leaving ---- */

void hipemu_callback_mark(bool inside)
{
    inside_callback = inside;
}

static bool refuse_in_callback(hipemu_call *call)
{
    if (!inside_callback) return false;
    pthread_mutex_lock(&hipemu.lock);
    bool fatal = hipemu.config.callback_policy == HIPEMU_CALLBACK_ABORT;
    pthread_mutex_unlock(&hipemu.lock);
    hipemu_message("%s called inside a host function: this deadlocks on the real runtime%s", call->name,
                   fatal ? "; aborting" : "");
    if (fatal) abort();
    call->result = last_error = hipErrorNotSupported;
    return true;
}

static int injected(hipemu_call *call)
{
    for (int i = 0; i < hipemu.config.fail_count; i++) {
        hipemu_fail_rule *rule = &hipemu.config.fail[i];
        if (rule->name[0] && strcmp(rule->name, call->name) != 0) continue;
        if (++rule->count != rule->nth) continue;
        return rule->error ? rule->error : call->usual ? (int)call->usual : hipErrorUnknown;
    }
    return 0;
}

bool hipemu_enter(hipemu_call *call)
{
    if (refuse_in_callback(call)) return true;
    pthread_mutex_lock(&hipemu.lock);
    bool ready = start();
    if (ready) {
        call->number = ++hipemu.calls;
        call->forced = injected(call);
    }
    pthread_mutex_unlock(&hipemu.lock);
    if (ready && (!call->forced || call->release)) return false;
    call->result = last_error = ready ? call->forced : hipErrorNotInitialized;
    hipemu_trace("#%llu %s: failed by injection = %d", (unsigned long long)call->number, call->name,
                 call->result);
    return true;
}

hipError_t hipemu_leave(hipemu_call *call, hipError_t result, const char *format, ...)
{
    if (call->forced) result = call->forced;
    if (result && !(call->query && result == hipErrorNotReady)) last_error = result;
    if (hipemu_tracing()) {
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        hipemu_trace("#%llu %s(%s) = %d%s", (unsigned long long)call->number, call->name, text, result,
                     call->forced ? " by injection" : "");
    }
    return result;
}

/* ---- errors as text; allowed anywhere, host functions too ---- */

typedef struct error_text {
    hipError_t error;
    const char *name, *text;
} error_text;

#define ERROR_TEXT(name, text) \
    {                          \
        name, #name, text      \
    }
static const error_text error_texts[] = {
    ERROR_TEXT(hipSuccess, "no error"),
    ERROR_TEXT(hipErrorInvalidValue, "invalid argument"),
    ERROR_TEXT(hipErrorOutOfMemory, "out of memory"),
    ERROR_TEXT(hipErrorNotInitialized, "initialization error"),
    ERROR_TEXT(hipErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_TEXT(hipErrorInvalidSymbol, "invalid device symbol"),
    ERROR_TEXT(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR_TEXT(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR_TEXT(hipErrorInvalidDeviceFunction, "invalid device function"),
    ERROR_TEXT(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ERROR_TEXT(hipErrorInvalidDevice, "invalid device ordinal"),
    ERROR_TEXT(hipErrorInvalidImage, "device kernel image is invalid"),
    ERROR_TEXT(hipErrorInvalidContext, "invalid device context"),
    ERROR_TEXT(hipErrorMapFailed, "mapping of buffer object failed"),
    ERROR_TEXT(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ERROR_TEXT(hipErrorInvalidSource, "device kernel image is invalid"),
    ERROR_TEXT(hipErrorFileNotFound, "file not found"),
    ERROR_TEXT(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ERROR_TEXT(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    ERROR_TEXT(hipErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ERROR_TEXT(hipErrorInvalidHandle, "invalid resource handle"),
    ERROR_TEXT(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    ERROR_TEXT(hipErrorNotFound, "named symbol not found"),
    ERROR_TEXT(hipErrorNotReady, "device not ready"),
    ERROR_TEXT(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR_TEXT(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR_TEXT(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    ERROR_TEXT(hipErrorHostMemoryAlreadyRegistered, "host memory has already been registered"),
    ERROR_TEXT(hipErrorHostMemoryNotRegistered, "host memory was not registered"),
    ERROR_TEXT(hipErrorLaunchFailure, "unspecified launch failure"),
    ERROR_TEXT(hipErrorNotSupported, "operation not supported"),
    ERROR_TEXT(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ERROR_TEXT(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ERROR_TEXT(hipErrorStreamCaptureUnmatched, "capture was not initiated in this stream"),
    ERROR_TEXT(hipErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capture"),
    ERROR_TEXT(hipErrorUnknown, "unknown error"),
    ERROR_TEXT(hipErrorRuntimeOther, "runtime call other than memory returned error"),
};

static const error_text *find_error(hipError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++)
        if (error_texts[i].error == error) return &error_texts[i];
    return NULL;
}

HIPEMU_EXPORT const char *hipGetErrorName(hipError_t error);
const char *hipGetErrorName(hipError_t error)
{
    const error_text *found = find_error(error);
    return found ? found->name : "hipErrorUnknown";
}

HIPEMU_EXPORT const char *hipGetErrorString(hipError_t error);
const char *hipGetErrorString(hipError_t error)
{
    const error_text *found = find_error(error);
    return found ? found->text : "unknown error";
}

HIPEMU_EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char **text);
hipError_t hipDrvGetErrorString(hipError_t error, const char **text)
{
    const error_text *found = find_error(error);
    if (!text || !found) return hipErrorInvalidValue;
    *text = found->text;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char **name);
hipError_t hipDrvGetErrorName(hipError_t error, const char **name)
{
    const error_text *found = find_error(error);
    if (!name || !found) return hipErrorInvalidValue;
    *name = found->name;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipGetLastError(void);
hipError_t hipGetLastError(void)
{
    hipError_t error = last_error;
    last_error = hipSuccess;
    return error;
}

HIPEMU_EXPORT hipError_t hipPeekAtLastError(void);
hipError_t hipPeekAtLastError(void)
{
    return last_error;
}
