/* A preset's network on a HIP device: one stream, one code object, prepared weights, ten or eleven launches a frame.
 *
 * One thread at a time (the hand-off's), except where a function says otherwise. */
#ifndef D4R_HIP_KERNELS_HIP_NET_H
#define D4R_HIP_KERNELS_HIP_NET_H

#include "hip_kernels/net_desc.h"
#include "interop/hip.h"

typedef struct d4r_hip_net d4r_hip_net;

typedef struct d4r_hip_net_params {
    const d4r_net_desc *net; /* the preset's */
    const d4r_hip *hip;      /* must outlive the net */
    d4r_hip_device device;
    const uint8_t *network; /* hipnet.bin; read during create only */
    d4r_size max_grid;      /* tokens */
    d4r_hip_stream stream;  /* the embedder's, of the same device; NULL: one of the net's own */
    const char *kernels;    /* folder with one folder an architecture; NULL: searched (code_object.h) */
    d4r_hip_completion completion;
    d4r_hip_graphs graphs;
    bool timing; /* events between the layers; plain launches */
    d4r_log log;
} d4r_hip_net_params;

/* Loads and checks the code object, uploads the weights, creates the stream at the greatest priority. A stream that is
 * given stays its owner's: the net enqueues there, waits for nothing but its own work there, and never destroys it; it
 * must outlive the net. D4R_ERROR_ARGUMENT: it is of another device; FEATURE: the runtime cannot tell. */
d4r_status d4r_hip_net_create(const d4r_hip_net_params *params, d4r_hip_net **net);
/* Waits for the stream, at most `timeout_ms`. False: the device does not become idle; then the net's memory stays
 * allocated (logged), because the kernels may still write, and a thread of it may still use the HIP table, which must
 * not be unloaded. `done` is not called any more. */
bool d4r_hip_net_destroy(d4r_hip_net **net, uint32_t timeout_ms);

/* Called once when the launched work has ended, from a thread of the net or of the runtime: no HIP call
 * inside. */
typedef void (*d4r_hip_net_done_fn)(void *user, d4r_status status);

typedef struct d4r_hip_net_job {
    d4r_size grid;      /* tokens */
    uint32_t phase;     /* evaluations so far, modulo the preset's phases */
    const void *tokens; /* device addresses */
    void *head;
    void *marker; /* NULL, or a 32-bit word that the stream waits for to become >= marker_value */
    uint32_t marker_value;
    void
        *marker_host; /* the word's host address: written when the launch fails, so that the stream goes on */
    unsigned first,
        layers; /* run only so many layers from the first on, for tests and d4r-net; 0 layers: all */
    d4r_hip_net_done_fn done;
    void *user;
} d4r_hip_net_job;

/* Enqueues a frame. D4R_PENDING: `done` will be called. Anything else: nothing of this frame is or will be
 * running (after a failed launch the stream is drained, at most `timeout_ms` of create's watchdog). */
d4r_status d4r_hip_net_launch(d4r_hip_net *net, const d4r_hip_net_job *job);

/* Microseconds of each layer of the last completed frame; D4R_ERROR_STATE without params.timing. */
d4r_status d4r_hip_net_times(d4r_hip_net *net, float microseconds[D4R_NET_MAX_LAYERS]);
/* Copies a layer's output of the last frame to host memory, for tests and d4r-net: values of its whole grid.
 * Layers may share memory: ask right after a job whose last layer it was. Not for the last layer, which writes the head.
 */
d4r_status d4r_hip_net_read_layer(d4r_hip_net *net, unsigned layer, d4r_size grid, void *values);
/* The opposite, before a job that starts behind it: gives a layer known inputs. */
d4r_status d4r_hip_net_write_layer(d4r_hip_net *net, unsigned layer, d4r_size grid, const void *values);

/* The active job's frame was given up. Kernels that run are not stopped; but when the stream becomes idle, or the device
 * is lost, and the runtime does not call back, the job ends with an error. Any thread; makes no HIP call. */
void d4r_hip_net_cancel(d4r_hip_net *net);

uint64_t d4r_hip_net_memory(const d4r_hip_net *net);         /* any thread */
const char *d4r_hip_net_description(const d4r_hip_net *net); /* "gfx1201, plain launches, event" */
/* True when the stream has nothing of the net's left to do; bounded by timeout_ms. */
bool d4r_hip_net_drain(d4r_hip_net *net, uint32_t timeout_ms);

#endif
