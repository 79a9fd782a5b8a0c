/* The part of HIP's binary interface that this library serves: our own declarations, numbers as in HIP 5.7
 * to 7. Structures follow the 6.0 layouts (external memory descriptors with reserved fields). */
#ifndef HIPEMU_HIP_ABI_H
#define HIPEMU_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidSymbol = 13,
    hipErrorInvalidDevicePointer = 17,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorInvalidDeviceFunction = 98,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorInvalidContext = 201,
    hipErrorMapFailed = 205,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidSource = 300,
    hipErrorFileNotFound = 301,
    hipErrorSharedObjectSymbolNotFound = 302,
    hipErrorSharedObjectInitFailed = 303,
    hipErrorOperatingSystem = 304,
    hipErrorInvalidHandle = 400,
    hipErrorIllegalState = 401,
    hipErrorNotFound = 500,
    hipErrorNotReady = 600,
    hipErrorIllegalAddress = 700,
    hipErrorLaunchOutOfResources = 701,
    hipErrorLaunchTimeOut = 702,
    hipErrorHostMemoryAlreadyRegistered = 712,
    hipErrorHostMemoryNotRegistered = 713,
    hipErrorLaunchFailure = 719,
    hipErrorNotSupported = 801,
    hipErrorStreamCaptureUnsupported = 900,
    hipErrorStreamCaptureInvalidated = 901,
    hipErrorStreamCaptureUnmatched = 903,
    hipErrorStreamCaptureImplicit = 906,
    hipErrorUnknown = 999,
    hipErrorRuntimeOther = 1053
} hipError_t;

typedef enum hipDeviceAttribute_t {
    hipDeviceAttributeAsyncEngineCount = 2,
    hipDeviceAttributeCanMapHostMemory = 3,
    hipDeviceAttributeClockRate = 5,
    hipDeviceAttributeConcurrentKernels = 8,
    hipDeviceAttributeIntegrated = 16,
    hipDeviceAttributeL2CacheSize = 19,
    hipDeviceAttributeComputeCapabilityMajor = 23,
    hipDeviceAttributeMaxBlockDimX = 26,
    hipDeviceAttributeMaxBlockDimY = 27,
    hipDeviceAttributeMaxBlockDimZ = 28,
    hipDeviceAttributeMaxGridDimX = 29,
    hipDeviceAttributeMaxGridDimY = 30,
    hipDeviceAttributeMaxGridDimZ = 31,
    hipDeviceAttributeMaxThreadsPerBlock = 56,
    hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
    hipDeviceAttributeMemoryBusWidth = 59,
    hipDeviceAttributeMemoryClockRate = 60,
    hipDeviceAttributeComputeCapabilityMinor = 61,
    hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributePciBusId = 67,
    hipDeviceAttributePciDeviceId = 68,
    hipDeviceAttributePciDomainID = 69,
    hipDeviceAttributeMaxRegistersPerBlock = 71,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
    hipDeviceAttributeStreamPrioritiesSupported = 78,
    hipDeviceAttributeTotalConstantMemory = 83,
    hipDeviceAttributeUnifiedAddressing = 85,
    hipDeviceAttributeWarpSize = 87,
    hipDeviceAttributeMemoryPoolsSupported = 88,
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002,
    hipDeviceAttributeIsLargeBar = 10011,
    hipDeviceAttributeAsicRevision = 10012,
    hipDeviceAttributeCanUseStreamWaitValue = 10013,
    hipDeviceAttributePhysicalMultiProcessorCount = 10015,
    hipDeviceAttributeFineGrainSupport = 10016
} hipDeviceAttribute_t;

/* Offsets of the two property layouts; the rest of either structure is zero. */
enum {
    HIPEMU_PROP_OLD_SIZE = 792,
    HIPEMU_PROP_OLD_TOTAL_MEM = 256,
    HIPEMU_PROP_OLD_WARP_SIZE = 276,
    HIPEMU_PROP_OLD_ARCH_NAME = 396,
    HIPEMU_PROP_R0600_SIZE = 1472,
    HIPEMU_PROP_R0600_TOTAL_MEM = 288,
    HIPEMU_PROP_R0600_WARP_SIZE = 308,
    HIPEMU_PROP_R0600_ARCH_NAME = 1160,
};

typedef int hipDevice_t;
typedef struct hipemu_stream hipemu_stream;
typedef struct hipemu_event hipemu_event;
typedef struct hipemu_graph hipemu_graph;
typedef struct hipemu_node hipemu_node;
typedef struct hipemu_graph_exec hipemu_graph_exec;
typedef hipemu_stream *hipStream_t;
typedef hipemu_event *hipEvent_t;
typedef struct hipemu_module hipemu_module;
typedef struct hipemu_function hipemu_function;
typedef hipemu_module *hipModule_t;
typedef hipemu_function *hipFunction_t;
typedef struct hipemu_external hipemu_external;
typedef hipemu_external *hipExternalMemory_t;
typedef hipemu_graph *hipGraph_t;
typedef hipemu_node *hipGraphNode_t;
typedef hipemu_graph_exec *hipGraphExec_t;
typedef void *hipDeviceptr_t;
typedef void *hipExternalSemaphore_t;

/* Legacy and per-thread default streams; the latter is served by the former. */
#define HIPEMU_STREAM_LEGACY ((hipStream_t)1)
#define HIPEMU_STREAM_PER_THREAD ((hipStream_t)2)

enum { hipStreamDefault = 0, hipStreamNonBlocking = 1 };

#define hipEventBlockingSync 0x1u
#define hipEventDisableTiming 0x2u
#define hipEventInterprocess 0x4u
#define hipEventDisableSystemFence 0x20000000u
#define hipEventReleaseToDevice 0x40000000u
#define hipEventReleaseToSystem 0x80000000u

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4
} hipMemcpyKind;

enum { hipHostMallocValidFlags = 0x7 };
enum { hipHostRegisterValidFlags = 0xf };
#define HIPEMU_HOST_MALLOC_HIGH_FLAGS 0xe0000000u

enum {
    hipStreamWaitValueGte = 0,
    hipStreamWaitValueEq = 1,
    hipStreamWaitValueAnd = 2,
    hipStreamWaitValueNor = 3
};

#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)
#define HIP_LAUNCH_PARAM_END ((void *)0x03)

typedef struct dim3 {
    uint32_t x, y, z;
} dim3;

typedef void (*hipHostFn_t)(void *user_data);
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *user_data);

enum { hipExternalMemoryHandleTypeOpaqueFd = 1, hipExternalMemoryDedicated = 1 };

typedef struct hipExternalMemoryHandleDesc {
    int type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
    unsigned int flags;
    unsigned int reserved[16];
} hipExternalMemoryHandleDesc;

typedef struct hipExternalMemoryBufferDesc {
    unsigned long long offset;
    unsigned long long size;
    unsigned int flags;
    unsigned int reserved[16];
} hipExternalMemoryBufferDesc;

typedef struct hipKernelNodeParams {
    dim3 blockDim;
    void **extra;
    void *func;
    dim3 gridDim;
    void **kernelParams;
    unsigned int sharedMemBytes;
} hipKernelNodeParams;

typedef struct hipHostNodeParams {
    hipHostFn_t fn;
    void *userData;
} hipHostNodeParams;

enum { hipStreamCaptureModeGlobal = 0, hipStreamCaptureModeThreadLocal = 1, hipStreamCaptureModeRelaxed = 2 };
enum {
    hipStreamCaptureStatusNone = 0,
    hipStreamCaptureStatusActive = 1,
    hipStreamCaptureStatusInvalidated = 2
};

_Static_assert(sizeof(hipExternalMemoryHandleDesc) == 104, "6.0 layout");
_Static_assert(sizeof(hipExternalMemoryBufferDesc) == 88, "6.0 layout");
_Static_assert(sizeof(hipKernelNodeParams) == 64, "layout");

#endif
