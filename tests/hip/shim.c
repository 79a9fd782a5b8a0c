/* libhipshim.so: stands in front of the emulated HIP runtime and leaves out, or changes, one kind of call. d4r opens it
 * like any runtime; what is not defined here is found in libhipemu.so, which this library needs.
 *
 * Each mutation is what d4r would do without one of its own waits, events or edges. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "interop/hip_api.h"

#define EXPORT __attribute__((visibility("default")))

static const char *const names[] = {
    "none",              /* */
    "wait-value",        /* hipStreamWaitValue32 does not wait */
    "event-record",      /* hipEventRecord records nothing, so waiting for the event ends at once */
    "event-synchronize", /* hipEventSynchronize does not wait */
    "callback-early",    /* hipStreamAddCallback calls at once */
    "callback-never",    /* it never calls: a runtime that forgets the callbacks of a lost device */
    "callback-late",     /* it calls two seconds later, from a thread of its own */
    "graph-edges",       /* hipGraphAddKernelNode forgets the dependencies */
};
enum {
    NONE,
    WAIT_VALUE,
    EVENT_RECORD,
    EVENT_SYNCHRONIZE,
    CALLBACK_EARLY,
    CALLBACK_NEVER,
    CALLBACK_LATE,
    GRAPH_EDGES,
    MUTATIONS
};

static atomic_int mutation;

EXPORT void hipshim_mutate(const char *what);
void hipshim_mutate(const char *what)
{
    int found = NONE;
    for (int i = 0; what && i < MUTATIONS; i++)
        if (strcmp(what, names[i]) == 0) found = i;
    atomic_store(&mutation, found);
}

static bool mutated(int which)
{
    return atomic_load(&mutation) == which;
}

static void *real(const char *name)
{
    static _Atomic(void *) library;
    void *l = atomic_load(&library);
    if (!l) {
        l = dlopen(HIPEMU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        atomic_store(&library, l);
    }
    return dlsym(l, name);
}

#define REAL(name) ((__typeof__(&name))real(#name))

EXPORT d4r_hip_error hipStreamWaitValue32(d4r_hip_stream stream, void *pointer, uint32_t value,
                                          unsigned flags, uint32_t mask);
d4r_hip_error hipStreamWaitValue32(d4r_hip_stream stream, void *pointer, uint32_t value, unsigned flags,
                                   uint32_t mask)
{
    if (mutated(WAIT_VALUE)) return D4R_HIP_SUCCESS;
    return REAL(hipStreamWaitValue32)(stream, pointer, value, flags, mask);
}

EXPORT d4r_hip_error hipEventRecord(d4r_hip_event event, d4r_hip_stream stream);
d4r_hip_error hipEventRecord(d4r_hip_event event, d4r_hip_stream stream)
{
    return mutated(EVENT_RECORD) ? D4R_HIP_SUCCESS : REAL(hipEventRecord)(event, stream);
}

EXPORT d4r_hip_error hipEventSynchronize(d4r_hip_event event);
d4r_hip_error hipEventSynchronize(d4r_hip_event event)
{
    return mutated(EVENT_SYNCHRONIZE) ? D4R_HIP_SUCCESS : REAL(hipEventSynchronize)(event);
}

typedef struct late_call {
    d4r_hip_stream stream;
    d4r_hip_callback callback;
    void *user;
} late_call;

static atomic_uint late_calls;

EXPORT unsigned hipshim_late_calls(void);
unsigned hipshim_late_calls(void)
{
    return atomic_load(&late_calls);
}

static void *call_late(void *argument)
{
    late_call call = *(late_call *)argument;
    free(argument);
    sleep(2);
    call.callback(call.stream, D4R_HIP_SUCCESS, call.user);
    atomic_fetch_add(&late_calls, 1);
    return NULL;
}

static d4r_hip_error start_late_call(d4r_hip_stream stream, d4r_hip_callback callback, void *user)
{
    pthread_t thread;
    late_call *call = malloc(sizeof *call);
    if (!call) return D4R_HIP_ERROR_OUT_OF_MEMORY;
    *call = (late_call){stream, callback, user};
    if (pthread_create(&thread, NULL, call_late, call) != 0) {
        free(call);
        return D4R_HIP_ERROR_OUT_OF_MEMORY;
    }
    pthread_detach(thread);
    return D4R_HIP_SUCCESS;
}

EXPORT d4r_hip_error hipStreamAddCallback(d4r_hip_stream stream, d4r_hip_callback callback, void *user,
                                          unsigned flags);
d4r_hip_error hipStreamAddCallback(d4r_hip_stream stream, d4r_hip_callback callback, void *user,
                                   unsigned flags)
{
    if (mutated(CALLBACK_LATE)) return start_late_call(stream, callback, user);
    if (mutated(CALLBACK_EARLY)) callback(stream, D4R_HIP_SUCCESS, user);
    if (mutated(CALLBACK_EARLY) || mutated(CALLBACK_NEVER)) return D4R_HIP_SUCCESS;
    return REAL(hipStreamAddCallback)(stream, callback, user, flags);
}

EXPORT d4r_hip_error hipGraphAddKernelNode(d4r_hip_node *node, d4r_hip_graph graph,
                                           const d4r_hip_node *dependencies, size_t count,
                                           const d4r_hip_kernel_node *kernel);
d4r_hip_error hipGraphAddKernelNode(d4r_hip_node *node, d4r_hip_graph graph, const d4r_hip_node *dependencies,
                                    size_t count, const d4r_hip_kernel_node *kernel)
{
    bool cut = mutated(GRAPH_EDGES);
    return REAL(hipGraphAddKernelNode)(node, graph, cut ? NULL : dependencies, cut ? 0 : count, kernel);
}
