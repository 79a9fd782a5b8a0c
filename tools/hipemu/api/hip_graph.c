/* Graphs: nodes share their operations with the executable graph made from them. */
#include "hip_internal.h"

#include <stdlib.h>
#include <string.h>

struct hipemu_node {
    hipemu_graph *graph;
    hipemu_op *op; /* NULL: an empty node */
    size_t index;
    size_t dependency_count;
    hipemu_node **dependencies;
};

struct hipemu_graph {
    hipemu_object object;
    hipemu_node **nodes;
    size_t count, capacity;
};

/* Immutable once made; a queued launch keeps it alive. */
struct hipemu_graph_exec {
    hipemu_object object;
    int refs;
    size_t count;
    hipemu_op **ops; /* in the order in which they run */
};

/* ---- building; all with the lock ---- */

static bool node_of(const hipemu_graph *graph, const hipemu_node *node)
{
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i] == node) return true;
    return false;
}

static hipError_t add_dependencies(hipemu_node *node, hipemu_node *const *from, size_t count)
{
    if (!count) return hipSuccess;
    hipemu_node **all = realloc(node->dependencies, (node->dependency_count + count) * sizeof *all);
    if (!all) return hipErrorOutOfMemory;
    memcpy(all + node->dependency_count, from, count * sizeof *all);
    node->dependencies = all;
    node->dependency_count += count;
    return hipSuccess;
}

/* Takes op over, also on failure. */
static hipError_t add_node(hipemu_graph *graph, hipemu_op *op, hipemu_node *const *from, size_t count,
                           hipemu_node **out)
{
    hipError_t status = count && !from ? hipErrorInvalidValue : hipSuccess;
    for (size_t i = 0; !status && i < count; i++)
        if (!node_of(graph, from[i])) status = hipErrorInvalidValue;
    hipemu_node *node = status ? NULL : calloc(1, sizeof *node);
    if (!status && graph->count == graph->capacity) {
        size_t capacity = graph->capacity ? graph->capacity * 2 : 16;
        hipemu_node **nodes = realloc(graph->nodes, capacity * sizeof *nodes);
        if (nodes) {
            graph->nodes = nodes;
            graph->capacity = capacity;
        } else {
            status = hipErrorOutOfMemory;
        }
    }
    if (!status) status = node ? add_dependencies(node, from, count) : hipErrorOutOfMemory;
    if (status) {
        free(node);
        if (op) hipemu_op_unref(op);
        return status;
    }
    node->graph = graph;
    node->op = op;
    node->index = graph->count;
    graph->nodes[graph->count++] = node;
    if (out) *out = node;
    return hipSuccess;
}

static void graph_free(hipemu_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i]->op) hipemu_op_unref(graph->nodes[i]->op);
        free(graph->nodes[i]->dependencies);
        free(graph->nodes[i]);
    }
    free(graph->nodes);
    free(graph);
}

static void exec_unref(hipemu_graph_exec *exec)
{
    if (--exec->refs) return;
    for (size_t i = 0; i < exec->count; i++) hipemu_op_unref(exec->ops[i]);
    free(exec->ops);
    free(exec);
}

void hipemu_graph_free_all(void)
{
    pthread_mutex_lock(&hipemu.lock);
    while (hipemu.objects[HIPEMU_GRAPH_EXEC]) {
        hipemu_graph_exec *exec = (hipemu_graph_exec *)hipemu.objects[HIPEMU_GRAPH_EXEC];
        hipemu_object_remove(&exec->object);
        exec_unref(exec);
    }
    while (hipemu.objects[HIPEMU_GRAPH]) {
        hipemu_graph *graph = (hipemu_graph *)hipemu.objects[HIPEMU_GRAPH];
        hipemu_object_remove(&graph->object);
        graph_free(graph);
    }
    pthread_mutex_unlock(&hipemu.lock);
}

static hipError_t graph_new(hipGraph_t *out)
{
    hipemu_graph *graph = calloc(1, sizeof *graph);
    if (!graph) return hipErrorOutOfMemory;
    hipemu_object_add(&graph->object, HIPEMU_GRAPH);
    *out = graph;
    return hipSuccess;
}

/* ---- executing ---- */

typedef struct graph_op {
    hipemu_op op;
    hipemu_graph_exec *exec;
} graph_op;

static hipError_t graph_run(hipemu_op *op, hipemu_stream *stream)
{
    const hipemu_graph_exec *exec = ((graph_op *)op)->exec;
    hipError_t status = hipSuccess;
    for (size_t i = 0; !status && i < exec->count; i++) status = hipemu_op_run(exec->ops[i], stream);
    return status;
}

static void graph_op_destroy(hipemu_op *op)
{
    exec_unref(((graph_op *)op)->exec);
}

/* A topological order in which, among the nodes that are free to run, the last one added goes first: two
 * nodes without an edge between them run in the order that the builder least expects, so that a missing edge
 * shows. */
static bool sort_nodes(const hipemu_graph *graph, hipemu_node **order)
{
    size_t n = graph->count, done = 0;
    bool *ran = calloc(n + 1, sizeof *ran);
    if (!ran) return false;
    bool progress = true;
    while (done < n && progress) {
        progress = false;
        for (size_t i = n; i-- && !progress;) {
            const hipemu_node *node = graph->nodes[i];
            bool ready = !ran[i];
            for (size_t d = 0; ready && d < node->dependency_count; d++)
                ready = ran[node->dependencies[d]->index];
            if (!ready) continue;
            ran[i] = progress = true;
            order[done++] = graph->nodes[i];
        }
    }
    free(ran);
    return done == n; /* else there is a cycle */
}

static hipError_t instantiate_locked(hipGraphExec_t *out, hipGraph_t graph)
{
    if (!hipemu_object_valid(graph, HIPEMU_GRAPH)) return hipErrorInvalidValue;
    hipemu_graph_exec *exec = calloc(1, sizeof *exec);
    hipemu_node **order = calloc(graph->count + 1, sizeof *order);
    hipemu_op **ops = calloc(graph->count + 1, sizeof *ops);
    if (!exec || !order || !ops || !sort_nodes(graph, order)) {
        bool memory = exec && order && ops;
        free(exec);
        free(order);
        free(ops);
        return memory ? hipErrorInvalidValue : hipErrorOutOfMemory;
    }
    exec->refs = 1;
    exec->ops = ops;
    for (size_t i = 0; i < graph->count; i++) {
        if (!order[i]->op) continue;
        order[i]->op->refs++;
        ops[exec->count++] = order[i]->op;
    }
    free(order);
    hipemu_object_add(&exec->object, HIPEMU_GRAPH_EXEC);
    *out = exec;
    return hipSuccess;
}

static hipError_t instantiate(hipGraphExec_t *out, hipGraph_t graph)
{
    if (!out) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = instantiate_locked(out, graph);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

static hipError_t graph_launch_locked(hipGraphExec_t exec, hipStream_t handle)
{
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (!hipemu_object_valid(exec, HIPEMU_GRAPH_EXEC)) return hipErrorInvalidValue;
    graph_op *op = hipemu_op_new(sizeof *op, "graph", graph_run);
    if (!op) return hipErrorOutOfMemory;
    op->op.destroy = graph_op_destroy;
    op->exec = exec;
    exec->refs++;
    return hipemu_submit(stream, &op->op);
}

/* ---- HIP calls: building ---- */

static hipError_t graph_create(hipGraph_t *out, unsigned flags)
{
    if (!out || flags) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = graph_new(out);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipGraphCreate(hipGraph_t *out, unsigned flags);
hipError_t hipGraphCreate(hipGraph_t *out, unsigned flags)
{
    HIPEMU_CALL_AS(.usual = hipErrorOutOfMemory, graph_create(out, flags), " ");
}

static hipError_t graph_destroy(hipGraph_t graph)
{
    pthread_mutex_lock(&hipemu.lock);
    bool valid = hipemu_object_valid(graph, HIPEMU_GRAPH);
    if (valid) {
        hipemu_object_remove(&graph->object);
        graph_free(graph);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return valid ? hipSuccess : hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph);
hipError_t hipGraphDestroy(hipGraph_t graph)
{
    HIPEMU_CALL_AS(.release = true, graph_destroy(graph), "%p", (void *)graph);
}

typedef struct node_request {
    enum { NODE_EMPTY, NODE_KERNEL, NODE_COPY, NODE_HOST } kind;
    const hipKernelNodeParams *kernel;
    void *dst;
    const void *src;
    size_t size;
    int copy_kind;
    const hipHostNodeParams *host;
} node_request;

/* With the lock. Arguments are copied here, as the real runtime does. */
static hipError_t build_op(const node_request *request, hipemu_op **op)
{
    *op = NULL;
    if (request->kind == NODE_KERNEL) {
        const hipKernelNodeParams *p = request->kernel;
        if (!p || !p->func) return hipErrorInvalidValue;
        hipemu_launch launch = {p->func,           p->gridDim,      p->blockDim,
                                p->sharedMemBytes, p->kernelParams, p->extra};
        return hipemu_launch_op(&launch, op);
    }
    if (request->kind == NODE_COPY)
        return request->size
                   ? hipemu_memcpy_op(request->dst, request->src, request->size, request->copy_kind, op)
                   : hipErrorInvalidValue;
    if (request->kind == NODE_HOST)
        return request->host && request->host->fn
                   ? hipemu_host_op(request->host->fn, request->host->userData, op)
                   : hipErrorInvalidValue;
    return hipSuccess;
}

static hipError_t graph_add(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *from, size_t count,
                            const node_request *request)
{
    if (!out) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_op *op = NULL;
    hipError_t status =
        hipemu_object_valid(graph, HIPEMU_GRAPH) ? build_op(request, &op) : hipErrorInvalidValue;
    if (!status) status = add_node(graph, op, from, count, out);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipGraphAddKernelNode(hipGraphNode_t *out, hipGraph_t graph,
                                               const hipGraphNode_t *from, size_t count,
                                               const hipKernelNodeParams *params);
hipError_t hipGraphAddKernelNode(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *from,
                                 size_t count, const hipKernelNodeParams *params)
{
    node_request request = {.kind = NODE_KERNEL, .kernel = params};
    HIPEMU_CALL(graph_add(out, graph, from, count, &request), "%p, %zu dependencies", (void *)graph, count);
}

HIPEMU_EXPORT hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *out, hipGraph_t graph,
                                                 const hipGraphNode_t *from, size_t count, void *dst,
                                                 const void *src, size_t size, int kind);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *from,
                                   size_t count, void *dst, const void *src, size_t size, int kind)
{
    node_request request = {.kind = NODE_COPY, .dst = dst, .src = src, .size = size, .copy_kind = kind};
    HIPEMU_CALL(graph_add(out, graph, from, count, &request), "%p, %zu dependencies", (void *)graph, count);
}

HIPEMU_EXPORT hipError_t hipGraphAddHostNode(hipGraphNode_t *out, hipGraph_t graph,
                                             const hipGraphNode_t *from, size_t count,
                                             const hipHostNodeParams *params);
hipError_t hipGraphAddHostNode(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *from,
                               size_t count, const hipHostNodeParams *params)
{
    node_request request = {.kind = NODE_HOST, .host = params};
    HIPEMU_CALL(graph_add(out, graph, from, count, &request), "%p, %zu dependencies", (void *)graph, count);
}

HIPEMU_EXPORT hipError_t hipGraphAddEmptyNode(hipGraphNode_t *out, hipGraph_t graph,
                                              const hipGraphNode_t *from, size_t count);
hipError_t hipGraphAddEmptyNode(hipGraphNode_t *out, hipGraph_t graph, const hipGraphNode_t *from,
                                size_t count)
{
    node_request request = {.kind = NODE_EMPTY};
    HIPEMU_CALL(graph_add(out, graph, from, count, &request), "%p, %zu dependencies", (void *)graph, count);
}

static hipError_t graph_add_edges(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                  size_t count)
{
    if (count && (!from || !to)) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipemu_object_valid(graph, HIPEMU_GRAPH) ? hipSuccess : hipErrorInvalidValue;
    for (size_t i = 0; !status && i < count; i++) {
        bool known = node_of(graph, from[i]) && node_of(graph, to[i]) && from[i] != to[i];
        status = known ? add_dependencies(to[i], &from[i], 1) : hipErrorInvalidValue;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                                 const hipGraphNode_t *to, size_t count);
hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from, const hipGraphNode_t *to,
                                   size_t count)
{
    HIPEMU_CALL(graph_add_edges(graph, from, to, count), "%p, %zu edges", (void *)graph, count);
}

static hipError_t graph_get_nodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    if (!count) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    bool valid = hipemu_object_valid(graph, HIPEMU_GRAPH);
    if (valid) {
        size_t n = nodes && *count < graph->count ? *count : graph->count;
        if (nodes && n) memcpy(nodes, graph->nodes, n * sizeof *nodes);
        *count = n;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return valid ? hipSuccess : hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count);
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    HIPEMU_CALL(graph_get_nodes(graph, nodes, count), "%p", (void *)graph);
}

/* ---- HIP calls: executing ---- */

HIPEMU_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t *out, hipGraph_t graph,
                                             hipGraphNode_t *error_node, char *log, size_t log_size);
hipError_t hipGraphInstantiate(hipGraphExec_t *out, hipGraph_t graph, hipGraphNode_t *error_node, char *log,
                               size_t log_size)
{
    if (error_node) *error_node = NULL;
    if (log && log_size) log[0] = 0;
    HIPEMU_CALL(instantiate(out, graph), "%p", (void *)graph);
}

HIPEMU_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out, hipGraph_t graph,
                                                      unsigned long long flags);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *out, hipGraph_t graph, unsigned long long flags)
{
    HIPEMU_CALL(flags ? hipErrorInvalidValue : instantiate(out, graph), "%p, flags %llu", (void *)graph,
                flags);
}

static hipError_t exec_destroy(hipGraphExec_t exec)
{
    pthread_mutex_lock(&hipemu.lock);
    bool valid = hipemu_object_valid(exec, HIPEMU_GRAPH_EXEC);
    if (valid) {
        hipemu_object_remove(&exec->object);
        exec_unref(exec);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return valid ? hipSuccess : hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec);
hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    HIPEMU_CALL_AS(.release = true, exec_destroy(exec), "%p", (void *)exec);
}

static hipError_t graph_launch(hipGraphExec_t exec, hipStream_t stream)
{
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = graph_launch_locked(exec, stream);
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    HIPEMU_CALL_AS(.usual = hipErrorLaunchFailure, graph_launch(exec, stream), "%p, stream %p", (void *)exec,
                   (void *)stream);
}

static hipError_t graph_upload(hipGraphExec_t exec, hipStream_t handle)
{
    pthread_mutex_lock(&hipemu.lock);
    bool good = hipemu_object_valid(exec, HIPEMU_GRAPH_EXEC) && hipemu_stream_get(handle);
    pthread_mutex_unlock(&hipemu.lock);
    return good ? hipSuccess : hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream);
hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    HIPEMU_CALL(graph_upload(exec, stream), "%p, stream %p", (void *)exec, (void *)stream);
}

/* ---- capture: one stream, a chain of nodes; forks by events are refused ---- */

bool hipemu_capture_take(hipemu_stream *stream, hipemu_op *op, hipError_t *result)
{
    if (!stream->capture) return false;
    if (stream->capture_status == hipStreamCaptureStatusInvalidated) {
        hipemu_op_unref(op);
        *result = hipErrorStreamCaptureInvalidated;
        return true;
    }
    hipemu_node *last = stream->capture_last;
    *result = add_node(stream->capture, op, &last, last != NULL, &stream->capture_last);
    return true;
}

static hipError_t begin_capture(hipStream_t handle, int mode)
{
    if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = hipErrorInvalidHandle;
    if (stream && (stream == stream->device->null_stream))
        status = hipErrorStreamCaptureUnsupported;
    else if (stream && stream->capture)
        status = hipErrorIllegalState;
    else if (stream)
        status = graph_new(&stream->capture);
    if (!status) {
        stream->capture_last = NULL;
        stream->capture_status = hipStreamCaptureStatusActive;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, int mode);
hipError_t hipStreamBeginCapture(hipStream_t stream, int mode)
{
    HIPEMU_CALL(begin_capture(stream, mode), "stream %p, mode %d", (void *)stream, mode);
}

static hipError_t end_capture(hipStream_t handle, hipGraph_t *out)
{
    if (!out) return hipErrorInvalidValue;
    *out = NULL;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipError_t status = !stream ? hipErrorInvalidHandle : stream->capture ? hipSuccess : hipErrorIllegalState;
    if (!status) {
        if (stream->capture_status == hipStreamCaptureStatusActive) {
            *out = stream->capture;
        } else {
            hipemu_object_remove(&stream->capture->object);
            graph_free(stream->capture);
            status = hipErrorStreamCaptureInvalidated;
        }
        stream->capture = NULL;
        stream->capture_status = hipStreamCaptureStatusNone;
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *out);
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *out)
{
    HIPEMU_CALL(end_capture(stream, out), "stream %p", (void *)stream);
}

static hipError_t is_capturing(hipStream_t handle, int *out)
{
    if (!out) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    if (stream) *out = stream->capture_status;
    pthread_mutex_unlock(&hipemu.lock);
    return stream ? hipSuccess : hipErrorInvalidHandle;
}

HIPEMU_EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, int *status);
hipError_t hipStreamIsCapturing(hipStream_t stream, int *status)
{
    HIPEMU_CALL(is_capturing(stream, status), "stream %p", (void *)stream);
}
