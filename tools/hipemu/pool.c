/* Worker threads shared by all launches of a device. */
#include "launch.h"

#include <stdlib.h>
#include <unistd.h>

struct emu_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    emu_run **runs; /* offered launches */
    size_t count, capacity;
    pthread_t *threads;
    unsigned thread_count;
    bool quit;
};

/* The first offered run that still has workgroups to hand out. */
static emu_run *next_run(const emu_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        emu_run *run = pool->runs[i];
        if (!atomic_load(&run->stop) && atomic_load(&run->next_group) < run->group_count) return run;
    }
    return NULL;
}

static void *work(void *argument)
{
    emu_pool *pool = argument;
    emu_worker worker = {0};
    pthread_mutex_lock(&pool->lock);
    while (!pool->quit) {
        emu_run *run = next_run(pool);
        if (!run) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        run->active++;
        pthread_mutex_unlock(&pool->lock);
        emu_worker_run(&worker, run);
        pthread_mutex_lock(&pool->lock);
        if (--run->active == 0) pthread_cond_broadcast(&pool->idle);
    }
    pthread_mutex_unlock(&pool->lock);
    emu_worker_free(&worker);
    return NULL;
}

emu_pool *emu_pool_create(unsigned threads)
{
    emu_pool *pool = calloc(1, sizeof(*pool));
    if (!pool) return NULL;
    if (!threads) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        threads = online > 0 ? (unsigned)online : 1;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    pool->threads = calloc(threads, sizeof(*pool->threads));
    /* The launching thread is one of them. */
    while (pool->threads && pool->thread_count + 1 < threads) {
        if (pthread_create(&pool->threads[pool->thread_count], NULL, work, pool)) break;
        pool->thread_count++;
    }
    if (!pool->threads) emu_pool_destroy(&pool);
    return pool;
}

void emu_pool_destroy(emu_pool **pool)
{
    emu_pool *p = *pool;
    *pool = NULL;
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->thread_count; i++) pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->idle);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p->runs);
    free(p);
}

void emu_pool_offer(emu_pool *pool, emu_run *run)
{
    if (!pool || !pool->thread_count) return;
    pthread_mutex_lock(&pool->lock);
    if (pool->count == pool->capacity) {
        size_t capacity = pool->capacity ? 2 * pool->capacity : 8;
        emu_run **grown = realloc(pool->runs, capacity * sizeof(*grown));
        if (grown) {
            pool->runs = grown;
            pool->capacity = capacity;
        }
    }
    /* Without memory for the offer the launching thread does it all. */
    if (pool->count < pool->capacity) pool->runs[pool->count++] = run;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void emu_pool_withdraw(emu_pool *pool, emu_run *run)
{
    if (!pool || !pool->thread_count) return;
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->runs[i] == run) {
            pool->runs[i] = pool->runs[--pool->count];
            break;
        }
    }
    while (run->active) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
