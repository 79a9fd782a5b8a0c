/* The network on a HIP stream that the program has already: d4r enqueues its kernels there, in order with the program's
 * own work, and creates no stream of its own.
 *
 * A program that uses HIP links libamdhip64 and includes its header; this one opens the library at run time
 * ($D4R_HIP_LIBRARY, else libamdhip64.so), so that it is built where no ROCm is installed. */
#include "hip_stream.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*stream_create_fn)(void **stream);
typedef int (*stream_call_fn)(void *stream);

static struct {
    void *library, *stream;
    stream_call_fn query, synchronize, destroy;
} hip;

/* At exit, after the engine and the network: the stream is still ours, and idle. */
static void end(void)
{
    int idle = hip.query(hip.stream), destroyed = hip.synchronize(hip.stream) | hip.destroy(hip.stream);
    printf("hip stream: %s, destroyed %s\n", idle == 0 ? "idle" : "busy",
           destroyed == 0 ? "by its owner" : "with an error");
}

static void *symbol(const char *name)
{
    void *found = dlsym(hip.library, name);
    if (!found) fprintf(stderr, "hip_stream: %s is missing from the HIP library\n", name);
    return found;
}

d4r_status hip_stream_network(const d4r_model *model, const d4r_log *log, d4r_network **network)
{
    const char *path = getenv("D4R_HIP_LIBRARY");
    hip.library = dlopen(path ? path : "libamdhip64.so", RTLD_NOW);
    if (!hip.library) {
        fprintf(stderr, "hip_stream: %s\n", dlerror());
        return D4R_ERROR_NO_DEVICE;
    }
    stream_create_fn create = (stream_create_fn)symbol("hipStreamCreate");
    hip.query = (stream_call_fn)symbol("hipStreamQuery");
    hip.synchronize = (stream_call_fn)symbol("hipStreamSynchronize");
    hip.destroy = (stream_call_fn)symbol("hipStreamDestroy");
    if (!create || !hip.query || !hip.synchronize || !hip.destroy) return D4R_ERROR_NO_DEVICE;
    int error = create(&hip.stream);
    if (error != 0) {
        fprintf(stderr, "hip_stream: hipStreamCreate gave %d: no HIP device?\n", error);
        return D4R_ERROR_NO_DEVICE;
    }
    atexit(end);

    /* The bound is for the emulated device of the tests; the default of 2 s is right for a card. */
    const d4r_hip_network_params params = {
        .library = path ? path : "libamdhip64.so", .stream = hip.stream, .watchdog_ms = 60000};
    return d4r_network_create_hip(model, &params, log, network);
}
