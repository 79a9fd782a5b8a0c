/* HIP's NVIDIA platform: the table of hip_symbols.h over the CUDA driver API, one thin adaptor an entry
 * point.
 *
 * Differences that the adaptors hide: contexts (hipSetDevice makes the device's primary context current),
 * attribute numbers, argument order of node parameters. Differences that they do not hide: a successful
 * import owns the fd (d4r_hip.import_owns_fd), and code objects are PTX or cubins. The driver API's
 * declarations are ours: building needs no CUDA toolkit. */
#include "interop/hip_nvidia.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interop/hip.h"
#include "runtime/base/log.h"

typedef int cu_result;
typedef unsigned long long cu_pointer;
typedef struct cu_context_object *cu_context;

enum { CU_NOT_SUPPORTED = 801, CU_INVALID_VALUE = 1, CU_INVALID_CONTEXT = 201 };
enum { CU_ATTRIBUTE_SHARED_OPTIN = 97, CU_FUNCTION_SHARED_BYTES = 1, CU_FUNCTION_DYNAMIC_SHARED = 8 };
enum { CU_ATTRIBUTE_MAJOR = 75, CU_ATTRIBUTE_MINOR = 76, MAX_DEVICES = 64 };

typedef struct cu_kernel_node {
    void *function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **arguments, **extra;
} cu_kernel_node;

/* member, symbol, parameters */
#define CU_SYMBOLS(X)                                                                                       \
    X(init, "cuInit", (unsigned flags))                                                                     \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                 \
    X(device_count, "cuDeviceGetCount", (int *count))                                                       \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                                   \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                    \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (cu_context * context, int device))                       \
    X(context_set, "cuCtxSetCurrent", (cu_context context))                                                 \
    X(context_get, "cuCtxGetCurrent", (cu_context * context))                                               \
    X(context_device, "cuCtxGetDevice", (int *device))                                                      \
    X(context_push, "cuCtxPushCurrent_v2", (cu_context context))                                            \
    X(context_pop, "cuCtxPopCurrent_v2", (cu_context * context))                                            \
    X(stream_context, "cuStreamGetCtx", (d4r_hip_stream stream, cu_context * context))                      \
    X(priority_range, "cuCtxGetStreamPriorityRange", (int *least, int *greatest))                           \
    X(stream_create, "cuStreamCreateWithPriority", (d4r_hip_stream * stream, unsigned flags, int priority)) \
    X(stream_destroy, "cuStreamDestroy_v2", (d4r_hip_stream stream))                                        \
    X(stream_synchronize, "cuStreamSynchronize", (d4r_hip_stream stream))                                   \
    X(stream_query, "cuStreamQuery", (d4r_hip_stream stream))                                               \
    X(stream_wait_event, "cuStreamWaitEvent", (d4r_hip_stream stream, d4r_hip_event event, unsigned flags)) \
    X(stream_callback, "cuStreamAddCallback",                                                               \
      (d4r_hip_stream stream, d4r_hip_callback callback, void *user, unsigned flags))                       \
    X(event_create, "cuEventCreate", (d4r_hip_event * event, unsigned flags))                               \
    X(event_destroy, "cuEventDestroy_v2", (d4r_hip_event event))                                            \
    X(event_record, "cuEventRecord", (d4r_hip_event event, d4r_hip_stream stream))                          \
    X(event_synchronize, "cuEventSynchronize", (d4r_hip_event event))                                       \
    X(event_query, "cuEventQuery", (d4r_hip_event event))                                                   \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, d4r_hip_event start, d4r_hip_event end))   \
    X(module_load, "cuModuleLoadData", (d4r_hip_module * module, const void *image))                        \
    X(module_unload, "cuModuleUnload", (d4r_hip_module module))                                             \
    X(module_function, "cuModuleGetFunction",                                                               \
      (d4r_hip_function * function, d4r_hip_module module, const char *name))                               \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, d4r_hip_function function))     \
    X(set_function_attribute, "cuFuncSetAttribute", (d4r_hip_function function, int attribute, int value))  \
    X(launch, "cuLaunchKernel",                                                                             \
      (d4r_hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,      \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, d4r_hip_stream stream, void **arguments,  \
       void **extra))                                                                                       \
    X(device_malloc, "cuMemAlloc_v2", (cu_pointer * pointer, size_t size))                                  \
    X(device_free, "cuMemFree_v2", (cu_pointer pointer))                                                    \
    X(copy_to_device, "cuMemcpyHtoD_v2", (cu_pointer to, const void *from, size_t size))                    \
    X(copy_to_host, "cuMemcpyDtoH_v2", (void *to, cu_pointer from, size_t size))                            \
    X(memset_async, "cuMemsetD8Async",                                                                      \
      (cu_pointer to, unsigned char value, size_t size, d4r_hip_stream stream))                             \
    X(import_memory, "cuImportExternalMemory",                                                              \
      (d4r_hip_external * memory, const d4r_hip_memory_handle *handle))                                     \
    X(map_memory, "cuExternalMemoryGetMappedBuffer",                                                        \
      (cu_pointer * pointer, d4r_hip_external memory, const d4r_hip_memory_range *range))                   \
    X(destroy_memory, "cuDestroyExternalMemory", (d4r_hip_external memory))                                 \
    X(host_function, "cuLaunchHostFunc", (d4r_hip_stream stream, d4r_hip_host_fn function, void *user))     \
    X(host_register, "cuMemHostRegister_v2", (void *pointer, size_t size, unsigned flags))                  \
    X(host_unregister, "cuMemHostUnregister", (void *pointer))                                              \
    X(host_device_pointer, "cuMemHostGetDevicePointer_v2",                                                  \
      (cu_pointer * device, void *host, unsigned flags))                                                    \
    X(stream_wait_value, "cuStreamWaitValue32_v2",                                                          \
      (d4r_hip_stream stream, cu_pointer pointer, uint32_t value, unsigned flags))                          \
    X(graph_create, "cuGraphCreate", (d4r_hip_graph * graph, unsigned flags))                               \
    X(graph_add_kernel, "cuGraphAddKernelNode",                                                             \
      (d4r_hip_node * node, d4r_hip_graph graph, const d4r_hip_node *dependencies, size_t count,            \
       const cu_kernel_node *kernel))                                                                       \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                                     \
      (d4r_hip_exec * exec, d4r_hip_graph graph, unsigned long long flags))                                 \
    X(graph_launch, "cuGraphLaunch", (d4r_hip_exec exec, d4r_hip_stream stream))                            \
    X(graph_exec_destroy, "cuGraphExecDestroy", (d4r_hip_exec exec))                                        \
    X(graph_destroy, "cuGraphDestroy", (d4r_hip_graph graph))                                               \
    X(error_text, "cuGetErrorString", (cu_result error, const char **text))

/* One driver a process: the table's entry points carry no context, so the driver's are kept here. Written
 * once under the lock, read-only afterwards. */
static struct {
#define CU_MEMBER(member, symbol, parameters) cu_result(*member) parameters;
    CU_SYMBOLS(CU_MEMBER)
    void *library;
    cu_context contexts[MAX_DEVICES];
} cu;
static pthread_mutex_t cu_lock = PTHREAD_MUTEX_INITIALIZER;

static cu_pointer to_device(const void *pointer)
{
    return (cu_pointer)(uintptr_t)pointer;
}

/* A thread without a context is nothing to ask the driver about: its checker counts the failure as an error. */
static d4r_hip_error get_device(int *device)
{
    cu_context context = NULL;
    cu_result result = cu.context_get(&context);
    if (result != 0) return result;
    return context ? cu.context_device(device) : CU_INVALID_CONTEXT;
}

static d4r_hip_error set_device(int ordinal)
{
    int device;
    if (ordinal < 0 || ordinal >= MAX_DEVICES) return CU_INVALID_VALUE;
    cu_result result = cu.device_get(&device, ordinal);
    pthread_mutex_lock(&cu_lock);
    /* The primary context is retained once and kept: other users of the driver in this process share it. */
    if (result == 0 && !cu.contexts[ordinal]) result = cu.primary_retain(&cu.contexts[ordinal], device);
    cu_context context = cu.contexts[ordinal];
    pthread_mutex_unlock(&cu_lock);
    return result == 0 ? cu.context_set(context) : result;
}

static d4r_hip_error stream_device(d4r_hip_stream stream, int *device)
{
    cu_context context, popped;
    cu_result result = cu.stream_context(stream, &context);
    if (result == 0) result = cu.context_push(context);
    if (result != 0) return result;
    result = cu.context_device(device);
    cu.context_pop(&popped);
    return result;
}

static d4r_hip_error device_attribute(int *value, int attribute, int ordinal)
{
    static const int table[][2] = {
        {D4R_HIP_ATTRIBUTE_L2_BYTES, 38},   {D4R_HIP_ATTRIBUTE_MULTIPROCESSORS, 16},
        {D4R_HIP_ATTRIBUTE_PCI_BUS, 33},    {D4R_HIP_ATTRIBUTE_PCI_DEVICE, 34},
        {D4R_HIP_ATTRIBUTE_PCI_DOMAIN, 50}, {D4R_HIP_ATTRIBUTE_SHARED_MEMORY, 8},
        {D4R_HIP_ATTRIBUTE_WARP_SIZE, 10},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i][0] == attribute) return cu.device_attribute(value, table[i][1], ordinal);
    return CU_INVALID_VALUE;
}

/* Any part of a multiprocessor's shared memory may be asked for at the launch. */
static d4r_hip_error module_function(d4r_hip_function *function, d4r_hip_module module, const char *name)
{
    int device, most, own;
    cu_result result = cu.module_function(function, module, name);
    if (result == 0) result = cu.context_device(&device);
    if (result == 0) result = cu.device_attribute(&most, CU_ATTRIBUTE_SHARED_OPTIN, device);
    if (result == 0) result = cu.function_attribute(&own, CU_FUNCTION_SHARED_BYTES, *function);
    if (result == 0) result = cu.set_function_attribute(*function, CU_FUNCTION_DYNAMIC_SHARED, most - own);
    return result;
}

static d4r_hip_error device_malloc(void **pointer, size_t size)
{
    cu_pointer device = 0;
    cu_result result = cu.device_malloc(&device, size);
    *pointer = (void *)(uintptr_t)device;
    return result;
}

static d4r_hip_error device_free(void *pointer)
{
    return pointer ? cu.device_free(to_device(pointer)) : 0;
}

static d4r_hip_error copy(void *to, const void *from, size_t size, int kind)
{
    if (kind == D4R_HIP_MEMCPY_TO_DEVICE) return cu.copy_to_device(to_device(to), from, size);
    if (kind == D4R_HIP_MEMCPY_TO_HOST) return cu.copy_to_host(to, to_device(from), size);
    return CU_INVALID_VALUE;
}

static d4r_hip_error memset_async(void *to, int value, size_t size, d4r_hip_stream stream)
{
    return cu.memset_async(to_device(to), (unsigned char)value, size, stream);
}

static d4r_hip_error map_memory(void **pointer, d4r_hip_external memory, const d4r_hip_memory_range *range)
{
    cu_pointer device = 0;
    cu_result result = cu.map_memory(&device, memory, range);
    *pointer = (void *)(uintptr_t)device;
    return result;
}

static d4r_hip_error host_device_pointer(void **device, void *host, unsigned flags)
{
    cu_pointer pointer = 0;
    cu_result result = cu.host_device_pointer(&pointer, host, flags);
    *device = (void *)(uintptr_t)pointer;
    return result;
}

static d4r_hip_error stream_wait_value(d4r_hip_stream stream, void *pointer, uint32_t value, unsigned flags,
                                       uint32_t mask)
{
    if (mask != UINT32_MAX) return CU_NOT_SUPPORTED; /* the driver API has no mask */
    return cu.stream_wait_value(stream, to_device(pointer), value, flags);
}

static d4r_hip_error graph_add_kernel(d4r_hip_node *node, d4r_hip_graph graph,
                                      const d4r_hip_node *dependencies, size_t count,
                                      const d4r_hip_kernel_node *kernel)
{
    const cu_kernel_node parameters = {
        .function = kernel->function,
        .grid_x = kernel->grid.x,
        .grid_y = kernel->grid.y,
        .grid_z = kernel->grid.z,
        .block_x = kernel->block.x,
        .block_y = kernel->block.y,
        .block_z = kernel->block.z,
        .shared_bytes = kernel->shared_bytes,
        .arguments = kernel->arguments,
        .extra = kernel->extra,
    };
    return cu.graph_add_kernel(node, graph, dependencies, count, &parameters);
}

static d4r_hip_error graph_instantiate(d4r_hip_exec *exec, d4r_hip_graph graph, d4r_hip_node *error_node,
                                       char *log, size_t log_size)
{
    (void)error_node;
    if (log && log_size) *log = 0;
    return cu.graph_instantiate(exec, graph, 0);
}

static const char *error_string(d4r_hip_error error)
{
    const char *text = NULL;
    return cu.error_text(error, &text) == 0 ? text : NULL;
}

void d4r_hip_nvidia_arch(int device, char *arch, size_t size)
{
    int major, minor;
    arch[0] = 0;
    if (cu.device_attribute(&major, CU_ATTRIBUTE_MAJOR, device) == 0 &&
        cu.device_attribute(&minor, CU_ATTRIBUTE_MINOR, device) == 0)
        snprintf(arch, size, "sm_%d%d", major, minor);
}

static void fill(d4r_hip *hip)
{
    hip->platform = D4R_HIP_NVIDIA;
    hip->import_owns_fd = true;
    hip->can_graph = hip->can_marker = true;
    hip->init = cu.init;
    hip->runtime_version = cu.driver_version;
    hip->device_count = cu.device_count;
    hip->get_device = get_device;
    hip->set_device = set_device;
    hip->device_attribute = device_attribute;
    hip->device_name = cu.device_name;
    hip->stream_device = stream_device;
    hip->stream_priority_range = cu.priority_range;
    hip->stream_create = cu.stream_create;
    hip->stream_destroy = cu.stream_destroy;
    hip->stream_synchronize = cu.stream_synchronize;
    hip->stream_query = cu.stream_query;
    hip->stream_wait_event = cu.stream_wait_event;
    hip->stream_callback = cu.stream_callback;
    hip->event_create = cu.event_create;
    hip->event_destroy = cu.event_destroy;
    hip->event_record = cu.event_record;
    hip->event_synchronize = cu.event_synchronize;
    hip->event_query = cu.event_query;
    hip->event_elapsed = cu.event_elapsed;
    hip->module_load = cu.module_load;
    hip->module_unload = cu.module_unload;
    hip->module_function = module_function;
    hip->launch = cu.launch;
    hip->device_malloc = device_malloc;
    hip->device_free = device_free;
    hip->copy = copy;
    hip->memset_async = memset_async;
    hip->import_memory = cu.import_memory;
    hip->map_memory = map_memory;
    hip->destroy_memory = cu.destroy_memory;
    hip->host_function = cu.host_function;
    hip->host_register = cu.host_register;
    hip->host_unregister = cu.host_unregister;
    hip->host_device_pointer = host_device_pointer;
    hip->stream_wait_value = stream_wait_value;
    hip->graph_create = cu.graph_create;
    hip->graph_add_kernel = graph_add_kernel;
    hip->graph_instantiate = graph_instantiate;
    hip->graph_launch = cu.graph_launch;
    hip->graph_exec_destroy = cu.graph_exec_destroy;
    hip->graph_destroy = cu.graph_destroy;
    hip->error_string = error_string;
}

/* Opens the driver once; later calls reuse it. */
static d4r_status open_driver(const char *name, const d4r_log *log)
{
    if (cu.library) return D4R_OK;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return d4r_fail(log, D4R_ERROR_NO_DEVICE, "NVIDIA driver not found; tried %s (%s)", name,
                        reason ? reason : "?");
    }
    void *address;
#define CU_RESOLVE(member, symbol, parameters)    \
    address = dlsym(library, symbol);             \
    memcpy(&cu.member, &address, sizeof address); \
    if (!address)                                 \
        return d4r_fail(log, D4R_ERROR_NO_DEVICE, "%s: symbol %s is missing: driver too old", name, symbol);
    CU_SYMBOLS(CU_RESOLVE)
    cu.library = library;
    return D4R_OK;
}

d4r_status d4r_hip_load_nvidia(const char *path, const d4r_log *log, d4r_hip **out)
{
    *out = NULL;
    const char *environment = getenv("D4R_CUDA_LIBRARY");
    const char *name = path ? path : (environment && *environment ? environment : "libcuda.so.1");
    d4r_hip *hip = calloc(1, sizeof *hip);
    if (!hip) return d4r_fail(log, D4R_ERROR_MEMORY, "HIP table: out of memory");
    if (log) hip->log = *log;
    pthread_mutex_lock(&cu_lock);
    d4r_status status = open_driver(name, log);
    pthread_mutex_unlock(&cu_lock);
    if (status != D4R_OK) {
        free(hip);
        return status;
    }
    snprintf(hip->path, sizeof hip->path, "%s", name);
    hip->library = cu.library;
    fill(hip);
    if (hip->runtime_version(&hip->version) != 0) hip->version = 0;
    *out = hip;
    return D4R_OK;
}
