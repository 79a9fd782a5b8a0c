/* What a d4r_network is inside: callbacks, and who is attached. */
#ifndef D4R_INTEROP_NETWORK_H
#define D4R_INTEROP_NETWORK_H

#include <pthread.h>
#include "d4r/d4r_vulkan.h"

/* Writes "cpu network: 2 threads, ..." for descriptions; valid while attached. */
typedef void (*d4r_network_describe_fn)(void *user, char *text, size_t size);

struct d4r_network {
    d4r_network_callbacks callbacks; /* name points to `name` */
    char name[64];
    d4r_log log;
    d4r_network_describe_fn describe; /* may be NULL: the name is used */
    pthread_mutex_t lock;             /* guards the rest; never held during a callback */
    pthread_cond_t changed;
    bool attached;
    bool abandoned;         /* the engine is gone, but a job has not come back: its thread detaches later */
    bool destroy_requested; /* while abandoned: whoever detaches also destroys */
};

/* Calls the network's attach; D4R_ERROR_STATE when it already belongs to an engine. */
d4r_status d4r_network_attach(d4r_network *network, const d4r_network_buffers *buffers, const d4r_log *log);
void d4r_network_detach(d4r_network *network);

/* The engine is being destroyed while a job still runs. The job's thread calls d4r_network_detach when it
 * returns; until then d4r_network_destroy only leaves a note. */
void d4r_network_abandon(d4r_network *network);

void d4r_network_describe(const d4r_network *network, char *text, size_t size);
uint64_t d4r_network_memory(const d4r_network *network);

#endif
