#include "runtime/cli/hip_probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that have not changed between HIP 5 and 7. */
enum { ATTRIBUTE_PCI_BUS = 67, ATTRIBUTE_PCI_DEVICE = 68, ATTRIBUTE_PCI_DOMAIN = 69 };

/* The properties structure changed in HIP 6: only the architecture's name is taken, at its known offset. */
#define PROPERTIES_BYTES 8192
#define NAME_OFFSET_R0600 1160
#define NAME_OFFSET_OLD 396
#define NAME_BYTES 256

typedef int (*init_fn)(unsigned flags);
typedef int (*count_fn)(int *count);
typedef int (*attribute_fn)(int *value, int attribute, int device);
typedef int (*properties_fn)(void *properties, int device);
typedef int (*version_fn)(int *version);

static void *open_library(hip_probe_result *result)
{
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so"};
    const char *named = getenv("D4R_HIP_LIBRARY");
    result->named = named && *named;
    int count = result->named ? 1 : 4;
    for (int i = 0; i < count; i++) {
        hip_attempt *attempt = &result->attempts[result->attempt_count++];
        snprintf(attempt->path, sizeof attempt->path, "%s", result->named ? named : names[i]);
        void *library = dlopen(result->named ? named : names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        const char *reason = dlerror();
        snprintf(attempt->problem, sizeof attempt->problem, "%s", reason ? reason : "cannot be opened");
    }
    snprintf(result->problem, sizeof result->problem, "no HIP library was found");
    return NULL;
}

/* dlsym gives an object pointer; the copy avoids a cast that ISO C does not define. */
static bool find_symbol(void *library, const char *name, void *target)
{
    void *symbol = dlsym(library, name);
    memcpy(target, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void read_architecture(void *library, int device, hip_device_info *info)
{
    static const struct {
        const char *name;
        size_t offset;
    } layouts[] = {{"hipGetDevicePropertiesR0600", NAME_OFFSET_R0600},
                   {"hipGetDeviceProperties", NAME_OFFSET_OLD}};
    for (int i = 0; i < 2; i++) {
        properties_fn properties;
        if (!find_symbol(library, layouts[i].name, &properties)) continue;
        char *bytes = calloc(1, PROPERTIES_BYTES);
        if (bytes && properties(bytes, device) == 0) {
            const char *name = bytes + layouts[i].offset;
            size_t length = strnlen(name, NAME_BYTES);
            const char *colon = memchr(name, ':', length); /* "gfx90a:sramecc+:xnack-" */
            if (colon) length = (size_t)(colon - name);
            if (length < sizeof info->architecture && !memcmp(name, "gfx", length < 3 ? length : 3))
                memcpy(info->architecture, name, length);
        }
        free(bytes);
        return;
    }
}

static void read_devices(void *library, hip_probe_result *result)
{
    attribute_fn attribute;
    if (!find_symbol(library, "hipDeviceGetAttribute", &attribute)) attribute = NULL;
    for (int i = 0; i < result->device_count; i++) {
        hip_device_info *info = &result->devices[i];
        info->pci_known = attribute && attribute(&info->pci_domain, ATTRIBUTE_PCI_DOMAIN, i) == 0 &&
                          attribute(&info->pci_bus, ATTRIBUTE_PCI_BUS, i) == 0 &&
                          attribute(&info->pci_device, ATTRIBUTE_PCI_DEVICE, i) == 0;
        read_architecture(library, i, info);
    }
}

void hip_probe(hip_probe_result *result)
{
    init_fn init;
    count_fn count;
    version_fn version;
    memset(result, 0, sizeof *result);
    void *library = open_library(result);
    if (!library) return;
    result->loaded = true;
    if (find_symbol(library, "hipRuntimeGetVersion", &version) && version(&result->runtime_version) != 0)
        result->runtime_version = 0;
    if (!find_symbol(library, "hipInit", &init) || !find_symbol(library, "hipGetDeviceCount", &count)) {
        snprintf(result->problem, sizeof result->problem, "the library has no hipInit or hipGetDeviceCount");
        return;
    }
    int code = init(0);
    if (code) {
        snprintf(result->problem, sizeof result->problem, "hipInit returned %d%s", code,
                 code == 101 || code == 100 ? " (no device)" : "");
        return;
    }
    code = count(&result->device_count);
    if (code || result->device_count < 1) {
        result->device_count = 0;
        snprintf(result->problem, sizeof result->problem, "hipGetDeviceCount returned %d%s", code,
                 code == 100 || code == 0 ? " (no device)" : "");
        return;
    }
    if (result->device_count > HIP_MAX_DEVICES) result->device_count = HIP_MAX_DEVICES;
    read_devices(library, result);
    /* The library stays open: unloading HIP leaks fds and threads in several versions. */
}
