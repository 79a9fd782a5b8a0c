/* What d4r-info tells about HIP: what the library itself would open, find and load, asked through the library's own
 * table and checks (interop/hip.h, hip_kernels/code_object.h). */
#ifndef D4R_RUNTIME_CLI_HIP_PROBE_H
#define D4R_RUNTIME_CLI_HIP_PROBE_H

#include "interop/hip.h"
#include "runtime/cli/vk_probe.h"

#define HIP_MAX_DEVICES 16
#define HIP_PRESETS 2

typedef struct hip_code_object {
    const char *preset; /* "M"; NULL: not looked for */
    char file[512];
    char sha256[65];
} hip_code_object;

typedef struct hip_device_report {
    d4r_hip_device device;
    bool known;    /* its attributes could be read */
    bool runnable; /* every preset's code object of its architecture was found and is sound */
    hip_code_object objects[HIP_PRESETS]; /* those found, in the order of the presets */
    char problem[512];                    /* why it cannot run the networks */
} hip_device_report;

/* A Vulkan device's view: which HIP device the network would run on. */
typedef struct hip_pair {
    int device; /* -1: none */
    char problem[512];
} hip_pair;

typedef struct hip_probe_result {
    d4r_hip_attempts attempts;
    bool loaded, named; /* named: by D4R_HIP_LIBRARY */
    char path[256];
    int runtime_version; /* 0: unknown */
    bool can_graph, can_marker, can_take_stream;
    char problem[512]; /* why there are no devices */
    unsigned device_count;
    hip_device_report devices[HIP_MAX_DEVICES];
    hip_pair pairs[VK_MAX_DEVICES]; /* of the Vulkan devices, in their order */
} hip_probe_result;

void hip_probe(hip_probe_result *result, const vk_probe_result *vulkan);

/* Whether the HIP network could run beside a Vulkan device that d4r can use; else `reason` says why not. */
bool hip_probe_usable(const hip_probe_result *result, const vk_probe_result *vulkan, char *reason,
                      size_t size);

#endif
