/* The HIP runtime, opened at run time: symbol table, devices, matching with a Vulkan device.
 *
 * A d4r_hip is immutable once loaded; its functions follow HIP's own thread safety. hipSetDevice is per
 * thread: code that changes it on a caller's thread restores it (d4r_hip_enter / d4r_hip_leave). */
#ifndef D4R_INTEROP_HIP_H
#define D4R_INTEROP_HIP_H

#include "d4r/d4r.h"
#include "interop/hip_api.h"

/* `platform` says who is behind the table: AMD's runtime (or an emulator of it), or NVIDIA's driver through the adaptors
 * of hip_nvidia.c, which is HIP's own idea of its NVIDIA platform. */
typedef struct d4r_hip {
    d4r_hip_platform platform;
    bool import_owns_fd; /* a successful import owns the fd (NVIDIA); HIP proper never closes it */
    void *library;  /* dlopen handle; kept open for the life of the process (HIP does not survive dlclose) */
    char path[256]; /* what was opened */
    bool
        named; /* by the caller or the environment, so a Vulkan device without PCI address may pair with it */
    int version;     /* hipRuntimeGetVersion, e.g. 60342131; 0 when the call failed */
    bool can_graph;  /* every graph entry point exists */
    bool can_marker; /* host_register, host_device_pointer and stream_wait_value exist */
    d4r_log log;
#define D4R_HIP_REQUIRED(member, symbol, parameters) d4r_hip_error(*member) parameters;
#define D4R_HIP_OPTIONAL(member, symbol, parameters) d4r_hip_error(*member) parameters;
#include "interop/hip_symbols.h"
    const char *(*error_string)(d4r_hip_error error); /* hipGetErrorString, or NULL */
} d4r_hip;

typedef struct d4r_hip_device {
    int index;
    char name[128];
    char arch[32]; /* "gfx1201": gcnArchName up to ':', or "sm_90"; "" when the runtime does not tell */
    uint32_t pci_domain, pci_bus, pci_device;
    uint32_t multiprocessors;
} d4r_hip_device;

/* The names that were tried to open the runtime, each with the loader's reason, "" for the one that was opened. */
typedef struct d4r_hip_attempts {
    uint32_t count;
    struct {
        char path[256], reason[256];
    } tried[4];
} d4r_hip_attempts;

/* Opens the runtime: `path`, else $D4R_HIP_LIBRARY, else libamdhip64.so.7, .6, .5, libamdhip64.so. A path
 * that is given (either way) is the only one tried. D4R_ERROR_NO_DEVICE: not found (the log lists every path
 * tried with the loader's reason) or a required symbol is missing (named). hipInit is not called yet. */
d4r_status d4r_hip_load(const char *path, const d4r_log *log, d4r_hip **hip);
/* The same, and tells what was tried. */
d4r_status d4r_hip_load_told(const char *path, const d4r_log *log, d4r_hip_attempts *attempts, d4r_hip **hip);
/* The same table over NVIDIA's driver: `path`, else $D4R_CUDA_LIBRARY, else libcuda.so.1. */
d4r_status d4r_hip_load_nvidia(const char *path, const d4r_log *log, d4r_hip **hip);
void d4r_hip_unload(d4r_hip **hip); /* frees the table; the library itself stays loaded */

/* Calls hipInit and counts devices. D4R_ERROR_NO_DEVICE: "no HIP device was found" with the library's path
 * and HIP's error number. */
d4r_status d4r_hip_devices(d4r_hip *hip, uint32_t *count);
d4r_status d4r_hip_device_info(d4r_hip *hip, uint32_t index, d4r_hip_device *device);

/* What a Vulkan device says of itself. */
typedef struct d4r_hip_match {
    bool has_pci;
    uint32_t pci_domain, pci_bus, pci_device;
    const char *select; /* NULL: match by PCI address; else a device index ("0") or "pci:0000:03:00.0" */
} d4r_hip_match;
/* Finds the HIP device of a Vulkan device. Without a PCI address (a CPU device such as lavapipe) only an
 * explicit `select` or a library that was named on purpose (an emulator) pairs: then device 0.
 * D4R_ERROR_NO_DEVICE lists the devices and their addresses. */
d4r_status d4r_hip_find(d4r_hip *hip, const d4r_hip_match *match, d4r_hip_device *device);

/* Makes a device current on this thread and remembers the previous one (restored by leave). */
d4r_status d4r_hip_enter(const d4r_hip *hip, int device, int *previous);
void d4r_hip_leave(const d4r_hip *hip, int previous);

/* Logs "what: hipError 2 (out of memory)" and maps to a status: OUT_OF_MEMORY to MEMORY, the rest to DEVICE.
 */
d4r_status d4r_hip_fail(const d4r_hip *hip, d4r_hip_error error, const char *what);

/* A buffer imported by fd. */
typedef struct d4r_hip_import {
    d4r_hip_external memory;
    void *pointer; /* device address */
    uint64_t size;
} d4r_hip_import;
/* Imports `size` bytes of an opaque fd whose allocation has `allocation` bytes. Works on a duplicate of the
 * fd, which it closes itself: HIP never does. Any failure in HIP reads "out of memory": the message says
 * type, size, device. */
d4r_status d4r_hip_import_fd(const d4r_hip *hip, const char *name, int fd, uint64_t allocation, uint64_t size,
                             d4r_hip_import *import);
/* The stream that uses it must be idle. Frees the mapping, then the memory object. Zeroed content is fine. */
void d4r_hip_import_destroy(const d4r_hip *hip, d4r_hip_import *import);

#endif
