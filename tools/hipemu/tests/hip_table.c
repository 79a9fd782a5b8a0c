#include "hip_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hip_table hip;

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (address) return address;
    fprintf(stderr, "%s: %s\n", name, dlerror());
    exit(1);
}

void hip_table_load(void)
{
    const char *path = getenv("D4R_HIP_LIBRARY");
    if (!path) path = HIPEMU_LIBRARY;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define HIP_LOAD(name, ...) hip.name = (hipError_t(*)(__VA_ARGS__))symbol(library, #name);
    HIP_TABLE(HIP_LOAD)
#undef HIP_LOAD
    hip.hipGetErrorName = (const char *(*)(hipError_t))symbol(library, "hipGetErrorName");
    hip.hipGetErrorString = (const char *(*)(hipError_t))symbol(library, "hipGetErrorString");
    hip.hipemu_reset = (void (*)(void))symbol(library, "hipemu_reset");
    hip.hipemu_call_count = (uint64_t(*)(void))symbol(library, "hipemu_call_count");
    hip.hipemu_live_objects = (uint64_t(*)(void))symbol(library, "hipemu_live_objects");
}

void hip_restart(const char *const *settings)
{
    static const char *const known[] = {"D4R_HIPEMU_ARCH",
                                        "D4R_HIPEMU_PCI",
                                        "D4R_HIPEMU_FAIL",
                                        "D4R_HIPEMU_CHECK",
                                        "D4R_HIPEMU_CALLBACK",
                                        "D4R_HIPEMU_IMPORT",
                                        "D4R_HIPEMU_VERSION",
                                        "D4R_HIPEMU_MODULE_ERROR",
                                        "D4R_HIPEMU_THREADS",
                                        "D4R_HIPEMU_MEMORY",
                                        "D4R_HIPEMU_LOST",
                                        "D4R_HIPEMU_HANG",
                                        "D4R_HIPEMU_HANG_MS",
                                        "D4R_HIPEMU_SEED",
                                        "D4R_HIPEMU_SLOW_MS",
                                        "D4R_HIPEMU_DELAY_US",
                                        "D4R_HIPEMU_COUNTS",
                                        "D4R_HIPEMU_TRACE",
                                        "D4R_HIPEMU_SYNC_BLOCKS",
                                        "D4R_HIPEMU_LOST_CALLBACKS",
                                        "D4R_HIPEMU_MAX_INSTRUCTIONS",
                                        "D4R_HIPEMU_MISALIGNED"};
    hip.hipemu_reset();
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) unsetenv(known[i]);
    for (; *settings; settings++) {
        char *copy = strdup(*settings);
        char *equals = strchr(copy, '=');
        *equals = 0;
        setenv(copy, equals + 1, 1);
        free(copy);
    }
    hip.hipGetLastError();
}
