#include "hip_kernels/hip_net.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hip_kernels/code_object.h"
#include "runtime/base/log.h"

enum { GRIDS_KEPT = 4, TICKETS = 4, DRAIN_MS = 5000, CALLBACK_MS = 100 };

typedef struct graph_entry {
    d4r_size grid;
    uint32_t phase;
    const void *tokens;
    void *head;
    d4r_hip_graph graph;
    d4r_hip_exec exec;
    uint64_t used; /* for eviction */
} graph_entry;

/* What a stream callback is given: a late one of a job that was given up must not end another job. */
typedef struct ticket {
    d4r_hip_net *net;
    uint64_t job;
} ticket;

struct d4r_hip_net {
    const d4r_net_desc *desc;
    const d4r_hip *hip;
    d4r_log log;
    int device;
    unsigned multiprocessors;
    d4r_m_machine machine;
    d4r_code_object object; /* HIP may read the image later: kept as long as the module */
    d4r_hip_module module;
    d4r_hip_function functions[D4R_NET_MAX_LAYERS];
    d4r_hip_stream stream;
    bool owns_stream; /* else the embedder's, on which other work may be queued */
    atomic_bool
        unmarked; /* done_event could not be recorded behind the net's work on a stream of the embedder's */
    d4r_hip_event done_event, layer_events[D4R_NET_MAX_LAYERS + 1];
    uint8_t *weights, *panels; /* device; the same when one form holds all that the kernels read */
    uint8_t *buffers[D4R_NET_MAX_BUFFERS];
    size_t max_tokens;
    uint64_t bytes;
    bool use_graphs, timing, timed, stuck;
    d4r_hip_completion completion;
    graph_entry *graphs; /* for the phases of GRIDS_KEPT grids */
    unsigned graph_count;
    uint64_t frames;
    char description[256];

    /* One job at a time: frames of an engine are serial. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t worker;
    bool has_worker, stop, active, waiting; /* waiting: the worker has an event to wait for */
    bool orphan;                            /* destroyed while the device was busy */
    bool kept;                              /* destroyed, but for callbacks that may come yet */
    d4r_hip_net *next_kept;
    bool given_up;      /* the worker looks after the active job (callback mode) */
    uint64_t job;       /* of the active or last job */
    unsigned callbacks; /* of the stream, not called yet */
    ticket tickets[TICKETS];
    d4r_hip_net_done_fn done;
    void *user;
};

/* ---- kernels and weights ---- */

static bool machine_of(const char *arch, d4r_m_machine *machine)
{
    if (strncmp(arch, "gfx12", 5) == 0)
        *machine = D4R_M_MACHINE_GFX12;
    else if (strncmp(arch, "gfx11", 5) == 0)
        *machine = D4R_M_MACHINE_GFX11;
    else if (strncmp(arch, "sm_", 3) == 0)
        *machine = D4R_M_MACHINE_NV;
    else
        return false;
    return true;
}

/* The runtime's ways to say that it was not the device's fault. */
static bool image_refused(d4r_hip_error error)
{
    return error == D4R_HIP_ERROR_INVALID_IMAGE || error == D4R_HIP_ERROR_NO_BINARY ||
           error == D4R_HIP_ERROR_SHARED_OBJECT_INIT;
}

static d4r_status load_kernels(d4r_hip_net *n, const d4r_hip_net_params *p)
{
    d4r_status status =
        d4r_code_object_load(p->kernels, p->device.arch, n->desc->kernels, &n->log, &n->object);
    if (status != D4R_OK) return status;
    d4r_hip_error error = n->hip->module_load(&n->module, n->object.image);
    if (error != D4R_HIP_SUCCESS) {
        n->module = NULL;
        status = d4r_hip_fail(n->hip, error, n->object.path);
        return image_refused(error) ? D4R_ERROR_NO_DEVICE : status;
    }
    if (n->machine == D4R_M_MACHINE_NV && !n->object.ptx && !strcmp(p->device.arch, "sm_90"))
        n->machine = D4R_M_MACHINE_SM90;
    for (unsigned i = 0; i < n->desc->layer_count; i++) {
        const char *name = n->desc->kernel(n->machine, i)->function;
        error = n->hip->module_function(&n->functions[i], n->module, name);
        if (error != D4R_HIP_SUCCESS) {
            d4r_hip_fail(n->hip, error, name);
            return d4r_fail(&n->log, D4R_ERROR_NO_DEVICE, "%s: kernel %s is missing: rebuild the kernels",
                            n->object.path, name);
        }
    }
    return D4R_OK;
}

static d4r_status allocate(d4r_hip_net *n, size_t size, const char *what, uint8_t **pointer)
{
    void *memory = NULL;
    d4r_hip_error error = n->hip->device_malloc(&memory, size);
    if (error != D4R_HIP_SUCCESS) {
        d4r_hip_fail(n->hip, error, what);
        return d4r_fail(&n->log, D4R_ERROR_MEMORY, "%s: cannot allocate %zu bytes of device memory", what,
                        size);
    }
    *pointer = memory;
    n->bytes += size;
    return D4R_OK;
}

static d4r_status upload(d4r_hip_net *n, uint8_t *to, const uint8_t *from, size_t size)
{
    d4r_hip_error error = n->hip->copy(to, from, size, D4R_HIP_MEMCPY_TO_DEVICE);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(n->hip, error, "upload of the network's weights");
}

static d4r_status upload_image(d4r_hip_net *n, const uint8_t *image, size_t size, const char *what,
                               uint8_t **to)
{
    d4r_status status = allocate(n, size, what, to);
    return status == D4R_OK ? upload(n, *to, image, size) : status;
}

static d4r_status upload_weights(d4r_hip_net *n, const uint8_t *network)
{
    const d4r_net_desc *desc = n->desc;
    const bool as_it_is = n->machine == D4R_M_MACHINE_GFX12;
    d4r_status status = D4R_OK;
    if (as_it_is || !desc->panels_hold_all)
        status = upload_image(n, network, desc->image_bytes, "network weights", &n->weights);
    if (as_it_is) n->panels = n->weights;
    if (as_it_is || status != D4R_OK) return status;
    size_t size = desc->image_bytes * desc->panel_scale(n->machine);
    uint8_t *panels = malloc(size);
    if (!panels) return d4r_fail(&n->log, D4R_ERROR_MEMORY, "network weights: out of memory");
    desc->prepare(n->machine, network, panels);
    status = upload_image(n, panels, size, "prepared network weights", &n->panels);
    free(panels);
    if (desc->panels_hold_all) n->weights = n->panels;
    return status;
}

static d4r_status allocate_buffers(d4r_hip_net *n)
{
    d4r_status status = D4R_OK;
    for (unsigned i = 0; i < n->desc->layer_count && status == D4R_OK; i++) {
        const d4r_net_layer layer = n->desc->layer(i);
        if (layer.buffer < 0 || n->buffers[layer.buffer]) continue;
        size_t size = (n->max_tokens >> (2 * layer.out_level)) * layer.out_channels * n->desc->value_bytes;
        status = allocate(n, size, layer.name, &n->buffers[layer.buffer]);
    }
    return status;
}

/* ---- stream and completion ---- */

/* Small numbers are the runtimes' names for default streams, of which one means another stream on each thread. */
static d4r_status take_stream(d4r_hip_net *n, d4r_hip_stream stream)
{
    int device = -1;
    if ((uintptr_t)stream <= 2)
        return d4r_fail(&n->log, D4R_ERROR_ARGUMENT,
                        "the given stream %p is a default stream: create one with hipStreamCreate",
                        (void *)stream);
    if (!n->hip->stream_device)
        return d4r_fail(&n->log, D4R_ERROR_FEATURE,
                        "%s has no hipStreamGetDevice, so that the given stream's device cannot be checked: "
                        "give no stream",
                        n->hip->path);
    d4r_hip_error error = n->hip->stream_device(stream, &device);
    if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(n->hip, error, "device of the given stream");
    if (device != n->device)
        return d4r_fail(
            &n->log, D4R_ERROR_ARGUMENT,
            "the given stream is of HIP device %d, the engine's Vulkan device is HIP device %d: give a "
            "stream of that device",
            device, n->device);
    n->stream = stream;
    return D4R_OK;
}

static d4r_hip_error own_stream(d4r_hip_net *n)
{
    int least = 0, greatest = 0;
    const d4r_hip *hip = n->hip;
    if (hip->stream_priority_range(&least, &greatest) != D4R_HIP_SUCCESS) greatest = 0;
    d4r_hip_error error = hip->stream_create(&n->stream, D4R_HIP_STREAM_NON_BLOCKING, greatest);
    n->owns_stream = error == D4R_HIP_SUCCESS;
    if (!n->owns_stream) n->stream = NULL;
    return error;
}

static d4r_status create_stream(d4r_hip_net *n, d4r_hip_stream given)
{
    const d4r_hip *hip = n->hip;
    d4r_hip_error error = D4R_HIP_SUCCESS;
    d4r_status status = given ? take_stream(n, given) : D4R_OK;
    if (status != D4R_OK) return status;
    if (!given) error = own_stream(n);
    if (error == D4R_HIP_SUCCESS) error = hip->event_create(&n->done_event, D4R_HIP_EVENT_DISABLE_TIMING);
    for (unsigned i = 0; n->timing && i <= n->desc->layer_count && error == D4R_HIP_SUCCESS; i++)
        error = hip->event_create(&n->layer_events[i], 0);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(hip, error, "stream and events of the network");
}

/* Ends the job, unless that has happened. Takes only the net's own lock and makes no HIP call: may run on the
 * runtime's own thread. */
static void finish(d4r_hip_net *n, uint64_t job, d4r_status status)
{
    pthread_mutex_lock(&n->lock);
    bool current = n->active && n->job == job;
    d4r_hip_net_done_fn done = current && !n->orphan ? n->done : NULL;
    void *user = n->user;
    if (current) n->active = false;
    if (current && status != D4R_OK) n->timed = false;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    if (done) done(user, status);
}

/* ---- destroyed nets that a callback may still name ---- */

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static d4r_hip_net *kept_nets; /* a runtime that forgets a callback leaves its net here for good */

static void free_net(d4r_hip_net *n)
{
    pthread_cond_destroy(&n->changed);
    pthread_mutex_destroy(&n->lock);
    free(n->graphs);
    free(n);
}

static void keep_for_callbacks(d4r_hip_net *n)
{
    pthread_mutex_lock(&kept_lock);
    pthread_mutex_lock(&n->lock);
    n->kept = n->callbacks != 0; /* else it has come just now */
    const bool keep = n->kept;
    pthread_mutex_unlock(&n->lock);
    if (keep) {
        n->next_kept = kept_nets;
        kept_nets = n;
    }
    pthread_mutex_unlock(&kept_lock);
    if (!keep) free_net(n);
}

/* The last callback has come; on the runtime's thread, no HIP call. */
static void free_kept(d4r_hip_net *n)
{
    pthread_mutex_lock(&kept_lock);
    d4r_hip_net **at = &kept_nets;
    while (*at && *at != n) at = &(*at)->next_kept;
    if (*at) *at = n->next_kept;
    pthread_mutex_unlock(&kept_lock);
    free_net(n);
}

static void stream_ended(d4r_hip_stream stream, d4r_hip_error error, void *user)
{
    const ticket *t = user;
    d4r_hip_net *n = t->net;
    (void)stream;
    finish(n, t->job, error == D4R_HIP_SUCCESS ? D4R_OK : D4R_ERROR_DEVICE);
    pthread_mutex_lock(&n->lock);
    bool last = --n->callbacks == 0 && n->kept;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    if (last) free_kept(n);
}

/* NOT_READY while anything of the net's is left on the stream. Of the embedder's stream only what lies before the last
 * done_event counts. */
static d4r_hip_error stream_state(const d4r_hip_net *n)
{
    return n->owns_stream || atomic_load(&n->unmarked) ? n->hip->stream_query(n->stream)
                                                       : n->hip->event_query(n->done_event);
}

/* Behind everything that the net has put on the embedder's stream. */
static void mark_end(d4r_hip_net *n)
{
    if (n->owns_stream) return;
    d4r_hip_error error = n->hip->event_record(n->done_event, n->stream);
    atomic_store(&n->unmarked, error != D4R_HIP_SUCCESS);
}

static void sleep_us(long microseconds)
{
    struct timespec duration = {.tv_nsec = microseconds * 1000};
    nanosleep(&duration, NULL);
}

/* Whether everything that is owed to the job has come: its end, and in callback mode the call itself. */
static bool settled(d4r_hip_net *n)
{
    pthread_mutex_lock(&n->lock);
    bool owed = n->active || n->callbacks;
    pthread_mutex_unlock(&n->lock);
    return !owed;
}

/* A callback comes before its stream is idle; one that is still missing then may be just on its way, or never come. */
static bool settles(d4r_hip_net *n)
{
    for (int waited_us = 0; !settled(n); waited_us += 500) {
        if (waited_us >= CALLBACK_MS * 1000) return false;
        sleep_us(500);
    }
    return true;
}

/* A frame was given up: ends its job once the stream is idle or lost, in case the runtime has forgotten the callback. */
static void watch_given_up(d4r_hip_net *n, uint64_t job)
{
    for (;;) {
        pthread_mutex_lock(&n->lock);
        bool ended = n->stop || n->orphan || !n->active || n->job != job;
        pthread_mutex_unlock(&n->lock);
        if (ended) return;
        d4r_hip_error error = stream_state(n);
        if (error == D4R_HIP_ERROR_NOT_READY) {
            sleep_us(2000);
            continue;
        }
        if (settles(n)) return;
        if (error == D4R_HIP_SUCCESS)
            d4r_fail(&n->log, D4R_ERROR_DEVICE, "%s: the stream is idle, but its callback has not come",
                     n->hip->path);
        else
            d4r_hip_fail(n->hip, error, "the network's stream");
        finish(n, job, D4R_ERROR_DEVICE);
        return;
    }
}

static void wait_for_event(d4r_hip_net *n, uint64_t job)
{
    d4r_hip_error error = n->hip->event_synchronize(n->done_event);
    pthread_mutex_lock(&n->lock);
    bool orphan = n->orphan; /* the log may be gone */
    pthread_mutex_unlock(&n->lock);
    if (error != D4R_HIP_SUCCESS && !orphan) d4r_hip_fail(n->hip, error, "waiting for the network");
    finish(n, job, error == D4R_HIP_SUCCESS ? D4R_OK : D4R_ERROR_DEVICE);
}

static void *worker_main(void *argument)
{
    d4r_hip_net *n = argument;
    n->hip->set_device(n->device);
    pthread_mutex_lock(&n->lock);
    while (!n->stop) {
        bool waiting = n->waiting, given_up = n->given_up;
        uint64_t job = n->job;
        if (!waiting && !given_up) {
            pthread_cond_wait(&n->changed, &n->lock);
            continue;
        }
        n->waiting = n->given_up = false;
        pthread_mutex_unlock(&n->lock);
        if (waiting)
            wait_for_event(n, job);
        else
            watch_given_up(n, job);
        pthread_mutex_lock(&n->lock);
    }
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

/* ---- create and destroy ---- */

/* Versions are major * 10^7 + minor * 10^5 + patch. 7.2 replays graphs with stale externally written buffers;
 * before 6 there was no gain (docs/hip.md). NVIDIA's driver has neither fault. */
static bool graphs_by_version(const d4r_hip *hip)
{
    if (hip->platform == D4R_HIP_NVIDIA) return true;
    int release = hip->version / 100000;
    return release >= 600 && release != 702;
}

static d4r_status choose_graphs(d4r_hip_net *n, d4r_hip_graphs wanted)
{
    if (wanted == D4R_HIP_GRAPHS_ON && !n->hip->can_graph)
        return d4r_fail(&n->log, D4R_ERROR_FEATURE, "%s has no graphs: choose plain launches", n->hip->path);
    if (wanted == D4R_HIP_GRAPHS_ON && n->timing)
        return d4r_fail(&n->log, D4R_ERROR_ARGUMENT, "per-layer timing needs plain launches, not graphs");
    n->use_graphs = wanted == D4R_HIP_GRAPHS_ON || (wanted == D4R_HIP_GRAPHS_AUTO && n->hip->can_graph &&
                                                    !n->timing && graphs_by_version(n->hip));
    if (!n->use_graphs) return D4R_OK;
    n->graphs = calloc(GRIDS_KEPT * n->desc->phases, sizeof *n->graphs);
    if (!n->graphs) return d4r_fail(&n->log, D4R_ERROR_MEMORY, "HIP network: out of memory");
    n->graph_count = GRIDS_KEPT * n->desc->phases;
    return D4R_OK;
}

static d4r_status start_worker(d4r_hip_net *n)
{
    n->has_worker = pthread_create(&n->worker, NULL, worker_main, n) == 0;
    return n->has_worker ? D4R_OK : d4r_fail(&n->log, D4R_ERROR_MEMORY, "HIP network: cannot start a thread");
}

static d4r_status create_on_device(d4r_hip_net *n, const d4r_hip_net_params *p)
{
    d4r_status status = choose_graphs(n, p->graphs);
    if (status == D4R_OK) status = load_kernels(n, p);
    if (status == D4R_OK) status = upload_weights(n, p->network);
    if (status == D4R_OK) status = allocate_buffers(n);
    if (status == D4R_OK) status = create_stream(n, p->stream);
    if (status == D4R_OK) status = start_worker(n);
    return status;
}

d4r_status d4r_hip_net_create(const d4r_hip_net_params *p, d4r_hip_net **out)
{
    *out = NULL;
    d4r_hip_net *n = calloc(1, sizeof *n);
    if (!n) return d4r_fail(&p->log, D4R_ERROR_MEMORY, "HIP network: out of memory");
    n->desc = p->net;
    n->hip = p->hip;
    n->log = p->log;
    n->device = p->device.index;
    n->multiprocessors = p->device.multiprocessors;
    n->completion = p->completion;
    n->timing = p->timing;
    n->max_tokens = (size_t)p->max_grid.width * p->max_grid.height;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->changed, NULL);
    int previous;
    d4r_status status = D4R_ERROR_FEATURE;
    if (!machine_of(p->device.arch, &n->machine))
        d4r_fail(&n->log, status, "%s: architecture \"%s\" has no kernels", p->device.name, p->device.arch);
    else
        status = d4r_hip_enter(n->hip, n->device, &previous);
    if (status == D4R_OK) {
        status = create_on_device(n, p);
        d4r_hip_leave(n->hip, previous);
    }
    if (status != D4R_OK) {
        d4r_hip_net_destroy(&n, DRAIN_MS);
        return status;
    }
    snprintf(n->description, sizeof n->description, "%s %s, %s, %s%s", p->device.arch, p->device.name,
             n->use_graphs ? "graphs" : "plain launches",
             n->completion == D4R_HIP_COMPLETION_EVENT ? "event" : "callback",
             n->owns_stream ? "" : ", given stream");
    *out = n;
    return D4R_OK;
}

static void free_graph(d4r_hip_net *n, graph_entry *entry)
{
    if (entry->exec) n->hip->graph_exec_destroy(entry->exec);
    if (entry->graph) n->hip->graph_destroy(entry->graph);
    memset(entry, 0, sizeof *entry);
}

static void free_device_objects(d4r_hip_net *n)
{
    const d4r_hip *hip = n->hip;
    for (unsigned i = 0; i < n->graph_count; i++) free_graph(n, &n->graphs[i]);
    for (int i = 0; i <= D4R_NET_MAX_LAYERS; i++)
        if (n->layer_events[i]) hip->event_destroy(n->layer_events[i]);
    if (n->done_event) hip->event_destroy(n->done_event);
    if (n->owns_stream) hip->stream_destroy(n->stream);
    for (int i = 0; i < D4R_NET_MAX_BUFFERS; i++)
        if (n->buffers[i]) hip->device_free(n->buffers[i]);
    if (n->panels && n->panels != n->weights) hip->device_free(n->panels);
    if (n->weights) hip->device_free(n->weights);
    if (n->module) hip->module_unload(n->module);
}

bool d4r_hip_net_drain(d4r_hip_net *n, uint32_t timeout_ms)
{
    if (!n->stream) return true;
    for (uint64_t waited_us = 0;; waited_us += 500) {
        d4r_hip_error error = stream_state(n);
        bool busy = error == D4R_HIP_ERROR_NOT_READY;
        /* A lost device may never call back; its stream reports the error instead. */
        if (!busy && (settled(n) || error != D4R_HIP_SUCCESS)) return true;
        if (!busy && n->completion == D4R_HIP_COMPLETION_CALLBACK) {
            settles(n);
            return true;
        }
        if (waited_us >= (uint64_t)timeout_ms * 1000) return false;
        sleep_us(500);
    }
}

bool d4r_hip_net_destroy(d4r_hip_net **net, uint32_t timeout_ms)
{
    d4r_hip_net *n = net ? *net : NULL;
    int previous;
    if (!n) return true;
    *net = NULL;
    bool entered = d4r_hip_enter(n->hip, n->device, &previous) == D4R_OK;
    if (!d4r_hip_net_drain(n, timeout_ms)) {
        d4r_fail(&n->log, D4R_ERROR_TIMEOUT,
                 "the network's stream did not become idle within %u ms: its memory stays allocated",
                 timeout_ms);
        if (entered) d4r_hip_leave(n->hip, previous);
        pthread_mutex_lock(&n->lock);
        n->orphan = true;
        pthread_mutex_unlock(&n->lock);
        return false;
    }
    if (n->has_worker) {
        pthread_mutex_lock(&n->lock);
        n->stop = true;
        pthread_cond_broadcast(&n->changed);
        pthread_mutex_unlock(&n->lock);
        pthread_join(n->worker, NULL);
    }
    free_device_objects(n);
    if (entered) d4r_hip_leave(n->hip, previous);
    d4r_code_object_destroy(&n->object);
    pthread_mutex_lock(&n->lock);
    n->orphan = true;
    pthread_mutex_unlock(&n->lock);
    if (settles(n))
        free_net(n);
    else
        keep_for_callbacks(n);
    return true;
}

/* ---- launching ---- */

static void layer_args(const d4r_hip_net *n, const d4r_hip_net_job *job, unsigned index, d4r_m_args *args)
{
    const d4r_net_layer layer = n->desc->layer(index);
    *args = n->desc->shape(index, job->grid, job->phase);
    args->input = layer.input == D4R_NET_NO_LAYER ? job->tokens
                                                  : n->buffers[n->desc->layer((unsigned)layer.input).buffer];
    args->skip =
        layer.skip == D4R_NET_NO_LAYER ? NULL : n->buffers[n->desc->layer((unsigned)layer.skip).buffer];
    args->output = layer.buffer < 0 ? job->head : n->buffers[layer.buffer];
    args->weights = n->weights + layer.weights;
    args->panels = n->panels + layer.weights * n->desc->panel_scale(n->machine);
}

static unsigned groups_of(const d4r_hip_net *n, const d4r_m_kernel *kernel, const d4r_m_args *args)
{
    const unsigned groups = ((unsigned)args->windows + kernel->windows - 1) / kernel->windows;
    const unsigned resident = kernel->resident * n->multiprocessors;
    return resident && resident < groups ? resident : groups;
}

static d4r_status launch_plain(d4r_hip_net *n, const d4r_hip_net_job *job)
{
    const d4r_hip *hip = n->hip;
    const unsigned end = job->layers ? job->first + job->layers : n->desc->layer_count;
    d4r_hip_error error = n->timing ? hip->event_record(n->layer_events[0], n->stream) : D4R_HIP_SUCCESS;
    for (unsigned i = job->first; i < end && error == D4R_HIP_SUCCESS; i++) {
        const d4r_m_kernel *kernel = n->desc->kernel(n->machine, i);
        d4r_m_args args;
        void *arguments[] = {&args};
        layer_args(n, job, i, &args);
        error = hip->launch(n->functions[i], groups_of(n, kernel, &args), 1, 1, kernel->threads, 1, 1,
                            kernel->shared_bytes, n->stream, arguments, NULL);
        if (error == D4R_HIP_SUCCESS && n->timing)
            error = hip->event_record(n->layer_events[i + 1], n->stream);
        if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(hip, error, n->desc->layer(i).name);
    }
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(hip, error, "hipEventRecord");
}

static d4r_status build_graph(d4r_hip_net *n, const d4r_hip_net_job *job, graph_entry *entry)
{
    const d4r_hip *hip = n->hip;
    d4r_hip_node node = NULL;
    d4r_hip_error error = hip->graph_create(&entry->graph, 0);
    for (unsigned i = 0; i < n->desc->layer_count && error == D4R_HIP_SUCCESS; i++) {
        const d4r_m_kernel *kernel = n->desc->kernel(n->machine, i);
        d4r_m_args args;
        void *arguments[] = {&args};
        layer_args(n, job, i, &args);
        const d4r_hip_kernel_node parameters = {.block = {kernel->threads, 1, 1},
                                                .function = n->functions[i],
                                                .grid = {groups_of(n, kernel, &args), 1, 1},
                                                .shared_bytes = kernel->shared_bytes,
                                                .arguments = arguments};
        d4r_hip_node before = node;
        error = hip->graph_add_kernel(&node, entry->graph, i ? &before : NULL, i ? 1 : 0, &parameters);
    }
    if (error == D4R_HIP_SUCCESS) error = hip->graph_instantiate(&entry->exec, entry->graph, NULL, NULL, 0);
    if (error != D4R_HIP_SUCCESS) {
        entry->exec = NULL;
        free_graph(n, entry);
        return d4r_hip_fail(hip, error, "graph of the network");
    }
    entry->grid = job->grid;
    entry->phase = job->phase;
    entry->tokens = job->tokens;
    entry->head = job->head;
    return D4R_OK;
}

/* Graphs are immutable: one for each grid, phase and pair of buffers, the least recently used one makes room. The
 * stream is idle here, because frames are serial. */
static d4r_status launch_graph(d4r_hip_net *n, const d4r_hip_net_job *job)
{
    graph_entry *entry = NULL, *oldest = &n->graphs[0];
    for (unsigned i = 0; i < n->graph_count; i++) {
        graph_entry *g = &n->graphs[i];
        if (g->exec && g->grid.width == job->grid.width && g->grid.height == job->grid.height &&
            g->phase == job->phase && g->tokens == job->tokens && g->head == job->head)
            entry = g;
        if (g->used < oldest->used) oldest = g;
    }
    if (!entry) {
        entry = oldest;
        free_graph(n, entry);
        d4r_status status = build_graph(n, job, entry);
        if (status != D4R_OK) return status;
    }
    entry->used = ++n->frames;
    d4r_hip_error error = n->hip->graph_launch(entry->exec, n->stream);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(n->hip, error, "hipGraphLaunch");
}

/* Not hipLaunchHostFunc, which does not tell of errors. */
static d4r_hip_error add_callback(d4r_hip_net *n)
{
    pthread_mutex_lock(&n->lock);
    ticket *t = &n->tickets[n->job % TICKETS];
    *t = (ticket){n, n->job};
    n->callbacks++;
    pthread_mutex_unlock(&n->lock);
    d4r_hip_error error = n->hip->stream_callback(n->stream, stream_ended, t, 0);
    if (error == D4R_HIP_SUCCESS) return error;
    pthread_mutex_lock(&n->lock);
    n->callbacks--;
    pthread_mutex_unlock(&n->lock);
    return error;
}

static d4r_status enqueue(d4r_hip_net *n, const d4r_hip_net_job *job)
{
    const d4r_hip *hip = n->hip;
    d4r_hip_error error = D4R_HIP_SUCCESS;
    if (job->marker)
        error = hip->stream_wait_value(n->stream, job->marker, job->marker_value, D4R_HIP_WAIT_GEQUAL,
                                       UINT32_MAX);
    if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(hip, error, "hipStreamWaitValue32");
    d4r_status status = n->use_graphs && !job->layers ? launch_graph(n, job) : launch_plain(n, job);
    if (status != D4R_OK) return status;
    if (n->completion == D4R_HIP_COMPLETION_EVENT) {
        error = hip->event_record(n->done_event, n->stream);
        atomic_store(&n->unmarked, error != D4R_HIP_SUCCESS);
    } else {
        error = add_callback(n);
        if (error == D4R_HIP_SUCCESS) mark_end(n);
    }
    if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(hip, error, "completion of the network");
    return D4R_OK;
}

static bool grid_fits(const d4r_hip_net *n, d4r_size grid)
{
    return d4r_net_grid_valid(n->desc, grid) && (size_t)grid.width * grid.height <= n->max_tokens;
}

d4r_status d4r_hip_net_launch(d4r_hip_net *n, const d4r_hip_net_job *job)
{
    int previous;
    if (!grid_fits(n, job->grid) || !job->tokens || !job->head || !job->done)
        return d4r_fail(&n->log, D4R_ERROR_ARGUMENT, "HIP network: grid %ux%u does not fit", job->grid.width,
                        job->grid.height);
    if (job->phase >= n->desc->phases)
        return d4r_fail(&n->log, D4R_ERROR_ARGUMENT, "HIP network: preset %s has no phase %u",
                        n->desc->preset, job->phase);
    if (job->first + job->layers > n->desc->layer_count || (job->first && !job->layers))
        return d4r_fail(&n->log, D4R_ERROR_ARGUMENT, "HIP network: layers %u + %u do not exist", job->first,
                        job->layers);
    if (n->stuck) n->stuck = !d4r_hip_net_drain(n, 0);
    pthread_mutex_lock(&n->lock);
    bool refuse = n->active || n->stuck || n->callbacks >= TICKETS;
    if (!refuse) {
        n->active = true;
        n->job++;
        n->timed = n->timing && !job->layers;
        n->done = job->done;
        n->user = job->user;
    }
    pthread_mutex_unlock(&n->lock);
    if (refuse) return d4r_fail(&n->log, D4R_ERROR_STATE, "HIP network: an earlier frame has not ended");
    d4r_status status = d4r_hip_enter(n->hip, n->device, &previous);
    if (status == D4R_OK) {
        status = enqueue(n, job);
        if (status != D4R_OK) mark_end(n);
        d4r_hip_leave(n->hip, previous);
    }
    pthread_mutex_lock(&n->lock);
    if (status == D4R_OK && n->completion == D4R_HIP_COMPLETION_EVENT) n->waiting = true;
    if (status != D4R_OK) n->active = n->timed = false;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
    if (status == D4R_OK) return D4R_PENDING;
    /* Layers before the failed call may be running and writing, or wait for a marker that a failed frame needs not. */
    if (job->marker_host) atomic_store((_Atomic uint32_t *)job->marker_host, job->marker_value);
    if (!d4r_hip_net_drain(n, DRAIN_MS)) n->stuck = true;
    return status;
}

/* ---- queries ---- */

d4r_status d4r_hip_net_times(d4r_hip_net *n, float microseconds[D4R_NET_MAX_LAYERS])
{
    pthread_mutex_lock(&n->lock);
    bool ready = n->timed && !n->active;
    pthread_mutex_unlock(&n->lock);
    if (!ready) return D4R_ERROR_STATE;
    for (unsigned i = 0; i < n->desc->layer_count; i++) {
        float milliseconds = 0;
        d4r_hip_error error =
            n->hip->event_elapsed(&milliseconds, n->layer_events[i], n->layer_events[i + 1]);
        if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(n->hip, error, "hipEventElapsedTime");
        microseconds[i] = milliseconds * 1000.0f;
    }
    return D4R_OK;
}

/* Exactly one of `to` and `from` is given. */
static d4r_status copy_layer(d4r_hip_net *n, unsigned index, d4r_size grid, void *to, const void *from)
{
    int previous;
    if (index >= n->desc->layer_count || !grid_fits(n, grid)) return D4R_ERROR_ARGUMENT;
    const d4r_net_layer layer = n->desc->layer(index);
    if (layer.buffer < 0) return D4R_ERROR_ARGUMENT;
    d4r_status status = d4r_hip_enter(n->hip, n->device, &previous);
    if (status != D4R_OK) return status;
    size_t size = d4r_net_layer_bytes(n->desc, index, grid);
    d4r_hip_error error = to ? n->hip->copy(to, n->buffers[layer.buffer], size, D4R_HIP_MEMCPY_TO_HOST)
                             : n->hip->copy(n->buffers[layer.buffer], from, size, D4R_HIP_MEMCPY_TO_DEVICE);
    d4r_hip_leave(n->hip, previous);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(n->hip, error, layer.name);
}

d4r_status d4r_hip_net_read_layer(d4r_hip_net *n, unsigned layer, d4r_size grid, void *values)
{
    return copy_layer(n, layer, grid, values, NULL);
}

d4r_status d4r_hip_net_write_layer(d4r_hip_net *n, unsigned layer, d4r_size grid, const void *values)
{
    return copy_layer(n, layer, grid, NULL, values);
}

void d4r_hip_net_cancel(d4r_hip_net *n)
{
    /* Whoever waits for an event hears of a lost device by itself. */
    if (n->completion == D4R_HIP_COMPLETION_EVENT) return;
    pthread_mutex_lock(&n->lock);
    n->given_up = n->active;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&n->lock);
}

uint64_t d4r_hip_net_memory(const d4r_hip_net *n)
{
    return n->bytes;
}

const char *d4r_hip_net_description(const d4r_hip_net *n)
{
    return n->description;
}
