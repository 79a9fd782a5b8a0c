/* What d4r-info tells about HIP: the library and its devices. Only plain calls that exist in every version. */
#ifndef D4R_RUNTIME_CLI_HIP_PROBE_H
#define D4R_RUNTIME_CLI_HIP_PROBE_H

#include <stdbool.h>

#define HIP_MAX_PATHS 5
#define HIP_MAX_DEVICES 16

typedef struct hip_attempt {
    char path[256];
    char problem[256]; /* empty: it was opened */
} hip_attempt;

typedef struct hip_device_info {
    char architecture[64]; /* "gfx1201"; empty: unknown */
    bool pci_known;
    int pci_domain, pci_bus, pci_device;
} hip_device_info;

typedef struct hip_probe_result {
    bool named; /* by D4R_HIP_LIBRARY */
    int attempt_count;
    hip_attempt attempts[HIP_MAX_PATHS];
    bool loaded;
    int runtime_version; /* 0: unknown */
    char problem[256];   /* why there are no devices */
    int device_count;
    hip_device_info devices[HIP_MAX_DEVICES];
} hip_probe_result;

void hip_probe(hip_probe_result *result);

#endif
