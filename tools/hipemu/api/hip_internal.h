/* Inside libhipemu: objects, the stream engine, configuration. Only the hip_*.c files include this.
 *
 * Locking: one lock (hipemu.lock) guards every table, queue and counter. Work itself (kernels, copies, host
 * functions) runs without it. `hipemu.progress` is broadcast whenever an operation completes or a device is
 * lost. */
#ifndef HIPEMU_HIP_INTERNAL_H
#define HIPEMU_HIP_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdatomic.h>
#include "core.h"
#include "hip_abi.h"

#define HIPEMU_EXPORT __attribute__((visibility("default")))

/* ---- configuration (hip_config.c): read once from the environment, see docs/hipemu.md ---- */

enum { HIPEMU_MAX_DEVICES = 8, HIPEMU_MAX_FAILS = 16 };

typedef struct hipemu_fail_rule {
    char name[48];  /* empty: every call counts */
    uint64_t nth;   /* 1-based */
    int error;      /* 0: the call's usual failure */
    uint64_t count; /* calls seen */
} hipemu_fail_rule;

typedef enum hipemu_callback_policy {
    HIPEMU_CALLBACK_ABORT, /* a HIP call inside a host function: message, abort() */
    HIPEMU_CALLBACK_ERROR, /* message, the call fails */
} hipemu_callback_policy;

typedef struct hipemu_config {
    atomic_int device_count; /* read without the lock by a thread that ends while a test starts anew */
    char arch[HIPEMU_MAX_DEVICES][32];
    int pci[HIPEMU_MAX_DEVICES][3]; /* domain, bus, device */
    int version;
    uint64_t memory; /* bytes a device; 0: the card's own */
    hipemu_fail_rule fail[HIPEMU_MAX_FAILS];
    int fail_count;
    uint64_t lost_after;       /* launches; UINT64_MAX: never */
    uint64_t hang_at;          /* launch number, 0: never */
    uint64_t max_instructions; /* a wave; 0: no bound */
    unsigned hang_ms;          /* then the device is lost; 0: hangs for ever */
    unsigned slow_ms;          /* before every kernel */
    unsigned delay_us;         /* up to this before every operation */
    uint64_t delay_seed;
    bool refuse_import;
    bool lost_callbacks; /* host functions still run on a lost device */
    bool sync_blocks;    /* rs#11678: a sync on one thread blocks submits on that stream from others */
    int module_error;    /* wrong architecture: 209, or 303 as old versions */
    hipemu_callback_policy callback_policy;
    bool check_uninit, check_race, check_leak;
    bool allow_misaligned;
    int threads; /* worker threads of the executor, 0: all cores */
    char counts_path[512];
    FILE *trace;
} hipemu_config;

/* Reads the environment; returns false (after a message on stderr) if a variable is malformed. */
bool hipemu_config_read(hipemu_config *config);
void hipemu_config_close(hipemu_config *config);

/* ---- objects ---- */

typedef enum hipemu_kind {
    HIPEMU_STREAM,
    HIPEMU_EVENT,
    HIPEMU_MODULE,
    HIPEMU_EXTERNAL,
    HIPEMU_GRAPH,
    HIPEMU_GRAPH_EXEC,
    HIPEMU_KIND_COUNT
} hipemu_kind;

/* First member of every handle; linked into hipemu.objects[kind] so that stale handles are recognised. */
typedef struct hipemu_object {
    struct hipemu_object *next, *prev;
    hipemu_kind kind;
} hipemu_object;

typedef struct hipemu_device hipemu_device;
typedef struct hipemu_op hipemu_op;

/* A point in a stream, shared by the event that names it and the operations that wait for it. */
typedef struct hipemu_marker {
    int refs;
    bool done;
    hipError_t status;
    uint64_t time_ns;
} hipemu_marker;

/* One unit of work. A stream owns a queued operation; graph nodes share theirs, so that `run` must not change
 * it. */
struct hipemu_op {
    int refs;
    const char *name;
    bool kernel;
    hipError_t (*run)(hipemu_op *op, hipemu_stream *stream);               /* without the lock */
    void (*done)(hipemu_op *op, hipError_t status);                        /* with the lock; may be NULL */
    void (*lost)(hipemu_op *op, hipemu_stream *stream, hipError_t status); /* instead of run; may be NULL */
    void (*destroy)(hipemu_op *op);                                        /* with the lock; may be NULL */
};

typedef struct hipemu_entry {
    struct hipemu_entry *next;
    hipemu_op *op;
    uint64_t seq;
} hipemu_entry;

struct hipemu_stream {
    hipemu_object object;
    hipemu_device *device;
    unsigned flags;
    int priority;
    int refs;
    bool quit;
    pthread_t thread;
    pthread_cond_t wake;
    hipemu_entry *head, *tail;
    uint64_t submitted, completed;
    int syncing; /* threads inside a stream synchronise */
    pthread_t sync_thread;
    hipemu_graph *capture;
    hipemu_node *capture_last;
    int capture_status;
};

struct hipemu_event {
    hipemu_object object;
    hipemu_device *device;
    unsigned flags;
    hipemu_marker *marker; /* NULL: never recorded */
};

struct hipemu_device {
    int index;
    hipemu_stream *null_stream;
    bool lost;
    hipError_t sticky; /* what every call on a lost device returns */
    atomic_int cancel; /* polled by running kernels */
    const emu_arch *arch;
    uint64_t memory_used, memory_total;
};

typedef struct hipemu_state {
    pthread_mutex_t lock;
    pthread_cond_t progress;
    bool initialised, shutdown;
    hipemu_config config;
    hipemu_device devices[HIPEMU_MAX_DEVICES];
    hipemu_object *objects[HIPEMU_KIND_COUNT];
    uint64_t calls;    /* API calls seen */
    uint64_t launches; /* kernels started */
    int running;       /* kernels and copies inside memory right now */
    emu_memory *memory;
    emu_pool *pool;
    uint64_t random;
} hipemu_state;

extern hipemu_state hipemu;

void hipemu_object_add(hipemu_object *object, hipemu_kind kind); /* with the lock */
void hipemu_object_remove(hipemu_object *object);                /* with the lock */
bool hipemu_object_valid(const void *handle, hipemu_kind kind);  /* with the lock */

/* ---- calls (hip_call.c) ---- */

typedef struct hipemu_call {
    const char *name;
    hipError_t usual;  /* what this call returns when it fails by injection */
    bool release;      /* a destroying call: does its work even when told to fail */
    bool query;        /* NotReady is no error */
    hipError_t forced; /* injected into a releasing call */
    hipError_t result;
    uint64_t number;
} hipemu_call;

/* True: return call->result at once. */
bool hipemu_enter(hipemu_call *call);
hipError_t hipemu_leave(hipemu_call *call, hipError_t result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One line on stderr, prefixed; also into the trace. */
void hipemu_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hipemu_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool hipemu_tracing(void);
/* The thread that runs host functions marks itself. */
void hipemu_callback_mark(bool inside);

/* The body of an entry point: HIPEMU_CALL(kinds, expression, "format", ...). */
#define HIPEMU_CALL_AS(fields, expression, ...)            \
    do {                                                   \
        hipemu_call call_ = {.name = __func__, fields};    \
        if (hipemu_enter(&call_)) return call_.result;     \
        hipError_t result_ = (expression);                 \
        return hipemu_leave(&call_, result_, __VA_ARGS__); \
    } while (0)
#define HIPEMU_CALL(expression, ...) HIPEMU_CALL_AS(.usual = hipErrorUnknown, expression, __VA_ARGS__)

/* ---- devices (hip_device.c) ---- */

int hipemu_current_device(void);
hipemu_device *hipemu_device_current(void); /* NULL: no device */
/* Marks the device lost and wakes everyone. With the lock. */
void hipemu_device_lose(hipemu_device *device, hipError_t error, const char *why);

/* ---- streams (hip_stream.c) ---- */

/* Valid stream for a handle (0 and the two special handles give the null stream), else NULL. With the lock.
 */
hipemu_stream *hipemu_stream_get(hipStream_t handle);
/* Appends to the stream, with the null stream's rules. Takes the operation over, also on failure. With the
 * lock. */
hipError_t hipemu_submit(hipemu_stream *stream, hipemu_op *op);
/* Submits and waits. Takes and drops the lock itself. */
hipError_t hipemu_submit_wait(hipStream_t stream, hipemu_op *op);
/* Waits until everything submitted so far to the stream has completed. With the lock. */
hipError_t hipemu_stream_drain(hipemu_stream *stream);
hipError_t hipemu_device_drain(hipemu_device *device); /* every stream of the device; with the lock */
void hipemu_stream_stop_all(void);                     /* at shutdown; without the lock */
/* A zeroed structure that starts with a hipemu_op, one reference; NULL when out of memory. */
void *hipemu_op_new(size_t size, const char *name, hipError_t (*run)(hipemu_op *, hipemu_stream *));
void hipemu_op_unref(hipemu_op *op); /* with the lock */
/* Runs an operation as the stream's thread does: delays, trace, lost device. Without the lock. */
hipError_t hipemu_op_run(hipemu_op *op, hipemu_stream *stream);
/* True when a waiting operation must give up: library going down or device lost. Without the lock. */
bool hipemu_must_stop(const hipemu_device *device);
void hipemu_sleep_ns(uint64_t ns);
uint64_t hipemu_now_ns(void);

void hipemu_marker_unref(hipemu_marker *marker); /* with the lock */

/* ---- capture and graphs (hip_graph.c) ---- */

/* If the stream is capturing, takes the operation over as a node and returns true with *result set. With the
 * lock. */
bool hipemu_capture_take(hipemu_stream *stream, hipemu_op *op, hipError_t *result);
void hipemu_graph_free_all(void);

/* ---- memory (hip_memory.c, hip_external.c) ---- */

typedef enum hipemu_block_kind {
    HIPEMU_BLOCK_DEVICE,
    HIPEMU_BLOCK_HOST,
    HIPEMU_BLOCK_REGISTERED,
    HIPEMU_BLOCK_MAPPED
} hipemu_block_kind;

/* One range that kernels may touch. */
typedef struct hipemu_block {
    struct hipemu_block *next;
    hipemu_block_kind kind;
    char *base;
    size_t size;
    hipemu_device *device;
    hipemu_external *external; /* HIPEMU_BLOCK_MAPPED */
} hipemu_block;

/* All with the lock. */
hipError_t hipemu_block_add(hipemu_block_kind kind, void *base, size_t size, hipemu_device *device,
                            hipemu_external *external);
hipemu_block *hipemu_block_find(const void *base); /* exact start */
/* Forgets the range (kernels that still touch it fault) without freeing its memory. */
void hipemu_block_remove(hipemu_block *block);
/* Frees or unmaps memory once no kernel or copy is running. */
void hipemu_bury(void *base, size_t size, bool mapped);
void hipemu_memory_free_all(void);
hipError_t hipemu_external_unmapped(hipemu_external *external); /* a mapped pointer was freed */
void hipemu_external_free_all(void);

hipError_t hipemu_memcpy_op(void *dst, const void *src, size_t size, int kind, hipemu_op **op);
hipError_t hipemu_memset_op(void *dst, uint32_t value, unsigned width, size_t count, hipemu_op **op);

/* ---- modules and launches (hip_module.c) ---- */

typedef struct hipemu_launch {
    hipFunction_t function;
    dim3 grid, block;
    unsigned shared;
    void **params, **extra;
} hipemu_launch;

hipError_t hipemu_launch_op(const hipemu_launch *launch, hipemu_op **op); /* with the lock */
void hipemu_module_free_all(void);
void hipemu_counts_write(void); /* with the lock */

/* ---- host functions (hip_callback.c) ---- */

hipError_t hipemu_host_op(hipHostFn_t fn, void *user, hipemu_op **op);
void hipemu_callback_stop(void);

#endif
