/* The part of HIP's binary interface that d4r calls: our own declarations, so that building needs no ROCm.
 *
 * Numbers and layouts hold for HIP 5.7 to 7 (docs/hip.md): external memory descriptors in the 6.0 layout
 * (zeroed, older runtimes read a prefix), no hipMemoryType, no hipMemsetParams, no hipGetDeviceProperties
 * structure. */
#ifndef D4R_INTEROP_HIP_API_H
#define D4R_INTEROP_HIP_API_H

#include <stddef.h>
#include <stdint.h>

typedef int d4r_hip_error;
enum {
    D4R_HIP_SUCCESS = 0,
    D4R_HIP_ERROR_OUT_OF_MEMORY = 2,
    D4R_HIP_ERROR_NO_DEVICE = 100,
    D4R_HIP_ERROR_INVALID_DEVICE = 101, /* what hipInit of Debian's 5.2 gives without a card */
    D4R_HIP_ERROR_INVALID_IMAGE = 200,
    D4R_HIP_ERROR_NO_BINARY = 209,
    D4R_HIP_ERROR_SHARED_OBJECT_INIT = 303, /* wrong architecture in older runtimes */
    D4R_HIP_ERROR_NOT_READY = 600,
    D4R_HIP_ERROR_NOT_SUPPORTED = 801
};

typedef enum d4r_hip_attribute {
    D4R_HIP_ATTRIBUTE_L2_BYTES = 19,
    D4R_HIP_ATTRIBUTE_MULTIPROCESSORS = 63,
    D4R_HIP_ATTRIBUTE_PCI_BUS = 67,
    D4R_HIP_ATTRIBUTE_PCI_DEVICE = 68,
    D4R_HIP_ATTRIBUTE_PCI_DOMAIN = 69,
    D4R_HIP_ATTRIBUTE_SHARED_MEMORY = 74,
    D4R_HIP_ATTRIBUTE_WARP_SIZE = 87
} d4r_hip_attribute;

typedef struct d4r_hip_stream_object *d4r_hip_stream;
typedef struct d4r_hip_event_object *d4r_hip_event;
typedef struct d4r_hip_module_object *d4r_hip_module;
typedef struct d4r_hip_function_object *d4r_hip_function;
typedef struct d4r_hip_external_object *d4r_hip_external;
typedef struct d4r_hip_graph_object *d4r_hip_graph;
typedef struct d4r_hip_node_object *d4r_hip_node;
typedef struct d4r_hip_exec_object *d4r_hip_exec;

enum { D4R_HIP_STREAM_NON_BLOCKING = 1 };
#define D4R_HIP_EVENT_BLOCKING_SYNC 0x1u
#define D4R_HIP_EVENT_DISABLE_TIMING 0x2u
enum { D4R_HIP_MEMCPY_TO_DEVICE = 1, D4R_HIP_MEMCPY_TO_HOST = 2 };
enum { D4R_HIP_WAIT_GEQUAL = 0 };
enum { D4R_HIP_HANDLE_OPAQUE_FD = 1 };
enum { D4R_HIP_HOST_REGISTER_MAPPED = 2 };

typedef void (*d4r_hip_host_fn)(void *user);
typedef void (*d4r_hip_callback)(d4r_hip_stream stream, d4r_hip_error error, void *user);

typedef struct d4r_hip_dim3 {
    uint32_t x, y, z;
} d4r_hip_dim3;

typedef struct d4r_hip_memory_handle {
    int type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
    } handle;
    unsigned long long size;
    unsigned int flags;
    unsigned int reserved[16];
} d4r_hip_memory_handle;

typedef struct d4r_hip_memory_range {
    unsigned long long offset, size;
    unsigned int flags;
    unsigned int reserved[16];
} d4r_hip_memory_range;

typedef struct d4r_hip_kernel_node {
    d4r_hip_dim3 block;
    void **extra;
    void *function;
    d4r_hip_dim3 grid;
    void **arguments;
    unsigned int shared_bytes;
} d4r_hip_kernel_node;

_Static_assert(sizeof(d4r_hip_memory_handle) == 104, "hipExternalMemoryHandleDesc, 6.0 layout");
_Static_assert(sizeof(d4r_hip_memory_range) == 88, "hipExternalMemoryBufferDesc, 6.0 layout");
_Static_assert(sizeof(d4r_hip_kernel_node) == 64, "hipKernelNodeParams");

#endif
