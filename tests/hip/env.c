#include "tests/hip/env.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/engine/test_model.h"
#include "tests/network/network_tensors.h"

extern char **environ;

static void *emulator;
static void (*reset)(void);
static uint64_t (*call_count)(void);
static uint64_t (*live_objects)(void);
static void (*mutate)(const char *what);
static unsigned (*late_calls)(void);

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (address) return address;
    fprintf(stderr, "%s: missing\n", name);
    exit(1);
}

void env_start(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* in order with stderr */
    if (access(KERNELS_FOLDER "/gfx1201/m.hsaco", R_OK) != 0) {
        fprintf(stderr, "skipped: no code objects in %s (target kernels)\n", KERNELS_FOLDER);
        exit(77);
    }
    emulator = dlopen(HIPEMU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *shim = emulator ? dlopen(HIPSHIM_LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!shim) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&reset = symbol(emulator, "hipemu_reset");
    *(void **)&call_count = symbol(emulator, "hipemu_call_count");
    *(void **)&live_objects = symbol(emulator, "hipemu_live_objects");
    *(void **)&mutate = symbol(shim, "hipshim_mutate");
    *(void **)&late_calls = symbol(shim, "hipshim_late_calls");
    setenv("D4R_HIP_LIBRARY", HIPSHIM_LIBRARY, 1);
    setenv("D4R_KERNELS", KERNELS_FOLDER, 1);
    env_reset("gfx1201");
}

static void clear_settings(void)
{
    static const char prefix[] = "D4R_HIPEMU_";
    char name[64];
    for (char **e = environ; *e;) {
        size_t length = strcspn(*e, "=");
        if (strncmp(*e, prefix, sizeof prefix - 1) != 0 || length >= sizeof name) {
            e++;
            continue;
        }
        memcpy(name, *e, length);
        name[length] = 0;
        unsetenv(name);
        e = environ;
    }
}

void env_reset(const char *arch)
{
    clear_settings();
    env_mutate(NULL);
    env_set("ARCH", "%s", arch);
    env_apply();
}

void env_set(const char *name, const char *format, ...)
{
    char full[64], value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    snprintf(full, sizeof full, "D4R_HIPEMU_%s", name);
    setenv(full, value, 1);
}

void env_apply(void)
{
    reset();
}

void env_mutate(const char *what)
{
    mutate(what);
}

void *env_hip(const char *name)
{
    return symbol(emulator, name);
}

unsigned env_late_calls(void)
{
    return late_calls();
}

uint64_t env_calls(void)
{
    return call_count();
}

uint64_t env_live(void)
{
    return live_objects();
}

unsigned env_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    if (!folder) return 0;
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

d4r_model *env_model(uint64_t seed)
{
    d4r_model *model = test_model_create((uint32_t)seed);
    network_tensors *tensors = network_tensors_random(seed, 1.0);
    if (model && test_preset() == D4R_PRESET_M) network_tensors_pack(tensors, model->network);
    network_tensors_free(tensors);
    return model;
}

void env_model_free(d4r_model *model)
{
    test_model_destroy(model);
}

bool env_long(void)
{
    const char *value = getenv("D4R_LONG_TESTS");
    return value && strcmp(value, "1") == 0;
}
