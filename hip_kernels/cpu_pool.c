#include "hip_kernels/cpu_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define MAX_THREADS 1024

struct d4r_cpu_pool {
    pthread_mutex_t mutex; /* guards job, working, stop; the job's description is written under it */
    pthread_cond_t start, done;
    uint64_t job;     /* number of the current job: a worker runs each number once */
    uint32_t working; /* workers that have not finished the current job */
    bool stop;
    d4r_cpu_pool_fn fn;
    void *user;
    int count, chunk;
    const atomic_bool *cancel;
    atomic_int next;
    uint32_t threads; /* caller included */
    uint32_t started; /* workers that exist */
    pthread_t workers[];
};

static void take_chunks(d4r_cpu_pool *pool)
{
    while (!pool->cancel || !atomic_load_explicit(pool->cancel, memory_order_relaxed)) {
        int first = atomic_fetch_add(&pool->next, pool->chunk);
        if (first >= pool->count) return;
        int last = first + pool->chunk < pool->count ? first + pool->chunk : pool->count;
        pool->fn(pool->user, first, last);
    }
}

static void *worker(void *argument)
{
    d4r_cpu_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stop && pool->job == seen) pthread_cond_wait(&pool->start, &pool->mutex);
        if (pool->stop) break;
        seen = pool->job;
        pthread_mutex_unlock(&pool->mutex);
        take_chunks(pool);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->working == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static uint32_t usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : (uint32_t)count;
}

d4r_status d4r_cpu_pool_create(uint32_t threads, d4r_cpu_pool **pool)
{
    *pool = NULL;
    if (threads == 0) threads = usable_cores();
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    d4r_cpu_pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->workers[0]));
    if (!p) return D4R_ERROR_MEMORY;
    p->threads = threads;
    atomic_init(&p->next, 0);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    for (; p->started + 1 < threads; p->started++)
        if (pthread_create(&p->workers[p->started], NULL, worker, p) != 0) {
            d4r_cpu_pool_destroy(&p);
            return D4R_ERROR_IO;
        }
    *pool = p;
    return D4R_OK;
}

void d4r_cpu_pool_destroy(d4r_cpu_pool **pool)
{
    d4r_cpu_pool *p = pool ? *pool : NULL;
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->mutex);
    for (uint32_t i = 0; i < p->started; i++) pthread_join(p->workers[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->start);
    pthread_mutex_destroy(&p->mutex);
    free(p);
    *pool = NULL;
}

bool d4r_cpu_pool_run(d4r_cpu_pool *p, d4r_cpu_pool_fn fn, void *user, int count, int chunk,
                      const atomic_bool *cancel)
{
    pthread_mutex_lock(&p->mutex);
    p->fn = fn;
    p->user = user;
    p->count = count;
    p->chunk = chunk;
    p->cancel = cancel;
    atomic_store(&p->next, 0);
    p->working = p->started;
    p->job++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->mutex);
    take_chunks(p);
    pthread_mutex_lock(&p->mutex);
    while (p->working != 0) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    return !cancel || !atomic_load_explicit(cancel, memory_order_relaxed);
}

uint32_t d4r_cpu_pool_threads(const d4r_cpu_pool *pool)
{
    return pool->threads;
}
