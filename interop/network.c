#include "interop/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

d4r_status d4r_network_create(const d4r_network_callbacks *callbacks, const d4r_log *log,
                              d4r_network **network)
{
    d4r_network *n;
    if (!network) return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create: network is NULL");
    *network = NULL;
    if (!callbacks || !callbacks->attach || !callbacks->run)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "d4r_network_create: %s is NULL",
                        !callbacks           ? "callbacks"
                        : !callbacks->attach ? "callbacks.attach"
                                             : "callbacks.run");
    n = calloc(1, sizeof *n);
    if (!n) return d4r_fail(log, D4R_ERROR_MEMORY, "d4r_network_create: out of memory");
    n->callbacks = *callbacks;
    snprintf(n->name, sizeof n->name, "%s", callbacks->name ? callbacks->name : "external");
    n->callbacks.name = n->name;
    if (log) n->log = *log;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->changed, NULL);
    *network = n;
    return D4R_OK;
}

static void free_network(d4r_network *network)
{
    if (network->callbacks.destroy) network->callbacks.destroy(network->callbacks.user);
    pthread_cond_destroy(&network->changed);
    pthread_mutex_destroy(&network->lock);
    free(network);
}

void d4r_network_destroy(d4r_network **network)
{
    d4r_network *n = network ? *network : NULL;
    bool later;
    if (!n) return;
    *network = NULL;
    pthread_mutex_lock(&n->lock);
    if (n->attached && !n->abandoned)
        d4r_fail(&n->log, D4R_ERROR_STATE,
                 "d4r_network_destroy: the %s network is attached to an engine; waiting for it", n->name);
    while (n->attached && !n->abandoned) pthread_cond_wait(&n->changed, &n->lock);
    later = n->attached;
    n->destroy_requested = later;
    pthread_mutex_unlock(&n->lock);
    if (!later) free_network(n);
}

d4r_status d4r_network_attach(d4r_network *network, const d4r_network_buffers *buffers, const d4r_log *log)
{
    d4r_status status;
    bool taken;
    pthread_mutex_lock(&network->lock);
    taken = network->attached;
    network->attached = true;
    pthread_mutex_unlock(&network->lock);
    if (taken)
        return d4r_fail(log, D4R_ERROR_STATE, "the %s network is attached to another engine", network->name);
    status = network->callbacks.attach(network->callbacks.user, buffers, log);
    if (status == D4R_OK) return D4R_OK;
    pthread_mutex_lock(&network->lock);
    network->attached = false;
    pthread_cond_broadcast(&network->changed);
    pthread_mutex_unlock(&network->lock);
    if (status > 0) status = D4R_ERROR_NETWORK; /* attach has no pending state */
    return d4r_fail(log, status, "the %s network cannot be attached to this engine: %s", network->name,
                    d4r_status_name(status));
}

void d4r_network_detach(d4r_network *network)
{
    bool destroy;
    if (network->callbacks.detach) network->callbacks.detach(network->callbacks.user);
    pthread_mutex_lock(&network->lock);
    network->attached = network->abandoned = false;
    destroy = network->destroy_requested;
    pthread_cond_broadcast(&network->changed);
    pthread_mutex_unlock(&network->lock);
    if (destroy) free_network(network);
}

void d4r_network_abandon(d4r_network *network)
{
    pthread_mutex_lock(&network->lock);
    network->abandoned = true;
    network->log = (d4r_log){0}; /* the log's owner may be gone before the job comes back */
    pthread_cond_broadcast(&network->changed);
    pthread_mutex_unlock(&network->lock);
}

void d4r_network_describe(const d4r_network *network, char *text, size_t size)
{
    if (network->describe)
        network->describe(network->callbacks.user, text, size);
    else
        snprintf(text, size, "%s network", network->name);
}

uint64_t d4r_network_memory(const d4r_network *network)
{
    return network->callbacks.memory ? network->callbacks.memory(network->callbacks.user) : 0;
}
