/* The tests' view of libhipemu: HIP's symbols by dlopen, nothing linked. */
#ifndef HIPEMU_TESTS_HIP_TABLE_H
#define HIPEMU_TESTS_HIP_TABLE_H

#include <stdbool.h>
#include "api/hip_abi.h"

#define HIP_TABLE(X)                                                                                       \
    X(hipInit, unsigned)                                                                                   \
    X(hipRuntimeGetVersion, int *)                                                                         \
    X(hipGetDeviceCount, int *)                                                                            \
    X(hipGetDevice, int *)                                                                                 \
    X(hipSetDevice, int)                                                                                   \
    X(hipDeviceGetAttribute, int *, int, int)                                                              \
    X(hipDeviceGetName, char *, int, int)                                                                  \
    X(hipDeviceGetPCIBusId, char *, int, int)                                                              \
    X(hipGetDevicePropertiesR0600, void *, int)                                                            \
    X(hipGetDeviceProperties, void *, int)                                                                 \
    X(hipDeviceGetStreamPriorityRange, int *, int *)                                                       \
    X(hipDeviceSynchronize, void)                                                                          \
    X(hipStreamCreate, hipStream_t *)                                                                      \
    X(hipStreamCreateWithFlags, hipStream_t *, unsigned)                                                   \
    X(hipStreamCreateWithPriority, hipStream_t *, unsigned, int)                                           \
    X(hipStreamGetPriority, hipStream_t, int *)                                                            \
    X(hipStreamGetFlags, hipStream_t, unsigned *)                                                          \
    X(hipStreamGetDevice, hipStream_t, int *)                                                              \
    X(hipStreamDestroy, hipStream_t)                                                                       \
    X(hipStreamSynchronize, hipStream_t)                                                                   \
    X(hipStreamQuery, hipStream_t)                                                                         \
    X(hipStreamWaitEvent, hipStream_t, hipEvent_t, unsigned)                                               \
    X(hipStreamAddCallback, hipStream_t, hipStreamCallback_t, void *, unsigned)                            \
    X(hipLaunchHostFunc, hipStream_t, hipHostFn_t, void *)                                                 \
    X(hipStreamWaitValue32, hipStream_t, void *, uint32_t, unsigned, uint32_t)                             \
    X(hipStreamWaitValue64, hipStream_t, void *, uint64_t, unsigned, uint64_t)                             \
    X(hipStreamWriteValue32, hipStream_t, void *, uint32_t, unsigned)                                      \
    X(hipStreamWriteValue64, hipStream_t, void *, uint64_t, unsigned)                                      \
    X(hipEventCreate, hipEvent_t *)                                                                        \
    X(hipEventCreateWithFlags, hipEvent_t *, unsigned)                                                     \
    X(hipEventDestroy, hipEvent_t)                                                                         \
    X(hipEventRecord, hipEvent_t, hipStream_t)                                                             \
    X(hipEventSynchronize, hipEvent_t)                                                                     \
    X(hipEventQuery, hipEvent_t)                                                                           \
    X(hipEventElapsedTime, float *, hipEvent_t, hipEvent_t)                                                \
    X(hipMalloc, void **, size_t)                                                                          \
    X(hipFree, void *)                                                                                     \
    X(hipHostMalloc, void **, size_t, unsigned)                                                            \
    X(hipHostFree, void *)                                                                                 \
    X(hipHostRegister, void *, size_t, unsigned)                                                           \
    X(hipHostUnregister, void *)                                                                           \
    X(hipHostGetDevicePointer, void **, void *, unsigned)                                                  \
    X(hipMemGetInfo, size_t *, size_t *)                                                                   \
    X(hipMemcpy, void *, const void *, size_t, int)                                                        \
    X(hipMemcpyAsync, void *, const void *, size_t, int, hipStream_t)                                      \
    X(hipMemset, void *, int, size_t)                                                                      \
    X(hipMemsetAsync, void *, int, size_t, hipStream_t)                                                    \
    X(hipMemsetD16Async, void *, unsigned short, size_t, hipStream_t)                                      \
    X(hipMemsetD32Async, void *, int, size_t, hipStream_t)                                                 \
    X(hipImportExternalMemory, hipExternalMemory_t *, const hipExternalMemoryHandleDesc *)                 \
    X(hipExternalMemoryGetMappedBuffer, void **, hipExternalMemory_t, const hipExternalMemoryBufferDesc *) \
    X(hipDestroyExternalMemory, hipExternalMemory_t)                                                       \
    X(hipImportExternalSemaphore, hipExternalSemaphore_t *, const void *)                                  \
    X(hipModuleLoadData, hipModule_t *, const void *)                                                      \
    X(hipModuleUnload, hipModule_t)                                                                        \
    X(hipModuleGetFunction, hipFunction_t *, hipModule_t, const char *)                                    \
    X(hipModuleGetGlobal, void **, size_t *, hipModule_t, const char *)                                    \
    X(hipModuleLaunchKernel, hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
      unsigned, hipStream_t, void **, void **)                                                             \
    X(hipFuncGetAttribute, int *, int, hipFunction_t)                                                      \
    X(hipGraphCreate, hipGraph_t *, unsigned)                                                              \
    X(hipGraphDestroy, hipGraph_t)                                                                         \
    X(hipGraphAddKernelNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,                 \
      const hipKernelNodeParams *)                                                                         \
    X(hipGraphAddHostNode, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t,                   \
      const hipHostNodeParams *)                                                                           \
    X(hipGraphAddMemcpyNode1D, hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, void *,       \
      const void *, size_t, int)                                                                           \
    X(hipGraphAddDependencies, hipGraph_t, const hipGraphNode_t *, const hipGraphNode_t *, size_t)         \
    X(hipGraphInstantiate, hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t)                 \
    X(hipGraphExecDestroy, hipGraphExec_t)                                                                 \
    X(hipGraphLaunch, hipGraphExec_t, hipStream_t)                                                         \
    X(hipStreamBeginCapture, hipStream_t, int)                                                             \
    X(hipStreamEndCapture, hipStream_t, hipGraph_t *)                                                      \
    X(hipGetLastError, void)

typedef struct hip_table {
#define HIP_MEMBER(name, ...) hipError_t (*name)(__VA_ARGS__);
    HIP_TABLE(HIP_MEMBER)
#undef HIP_MEMBER
    const char *(*hipGetErrorName)(hipError_t);
    const char *(*hipGetErrorString)(hipError_t);
    void (*hipemu_reset)(void);
    uint64_t (*hipemu_call_count)(void);
    uint64_t (*hipemu_live_objects)(void);
} hip_table;

extern hip_table hip;

/* Opens the library named by HIPEMU_LIBRARY (a compile definition); aborts the test with a message otherwise.
 */
void hip_table_load(void);
/* Sets "NAME=value" pairs (NULL ends), unsets every other D4R_HIPEMU_* variable, and starts the device anew.
 */
void hip_restart(const char *const *settings);
#define HIP_RESTART(...) hip_restart((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

#define HIP_OK(call)                                                                                        \
    do {                                                                                                    \
        hipError_t error_ = (call);                                                                         \
        if (error_ != hipSuccess)                                                                           \
            fail_msg("%s:%d: %s: %s (%d)", __FILE__, __LINE__, #call, hip.hipGetErrorName(error_), error_); \
    } while (0)
#define HIP_IS(expected, call)                                                     \
    do {                                                                           \
        hipError_t error_ = (call);                                                \
        if (error_ != (expected))                                                  \
            fail_msg("%s:%d: %s: %s (%d), expected %s", __FILE__, __LINE__, #call, \
                     hip.hipGetErrorName(error_), error_, #expected);              \
    } while (0)

#endif
