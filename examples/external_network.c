/* A d4r_network that is not d4r's: whoever embeds the library computes the head, here on a thread of its own, with
 * nothing but the public header.
 *
 * What it computes stands for a real network: the head is the mean of 3x3 tokens, or nothing (EXTERNAL_HEAD=zero), which
 * leaves the decision to the biases of the model's expansion. A real one would be trained together with the model's
 * embedding and expansion, which stay d4r's; tokens and head are FP8 e4m3, [row][column][64].
 *
 * Who calls what: d4r calls attach, run and cancel on its hand-off and watchdog threads; run hands the job to the worker
 * and returns D4R_PENDING at once; the worker ends it with d4r_network_complete. */
#include "external_network.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 64

typedef struct state {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    d4r_network_job job;
    bool has_job, quit, zero;
    atomic_bool cancelled;
    const uint8_t *tokens; /* mapped by the engine, from attach to detach */
    uint8_t *head;
    unsigned frames;
    float value[256]; /* of each code */
} state;

static float decode(unsigned code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    if ((code & 127) == 127) return 0; /* NaN */
    float v = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
    return code & 128 ? -v : v;
}

/* The code of the largest value that is not above |v|: codes ascend with their values. */
static uint8_t encode(const state *s, float v)
{
    float size = fabsf(v);
    unsigned low = 0, high = 126;
    while (low < high) {
        unsigned middle = (low + high + 1) / 2;
        if (s->value[middle] <= size)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint8_t)(low | (v < 0 ? 128 : 0));
}

/* False when it was told to stop. */
static bool compute(state *s, const d4r_network_job *job)
{
    uint32_t width = job->token_grid.width, height = job->token_grid.height;
    if (s->zero) {
        memset(s->head, 0, job->bytes);
        return true;
    }
    for (uint32_t y = 0; y < height; y++) {
        if (atomic_load(&s->cancelled)) return false;
        for (uint32_t x = 0; x < width; x++) {
            float sum[CHANNELS] = {0};
            int count = 0;
            for (uint32_t v = y ? y - 1 : 0; v <= y + 1 && v < height; v++)
                for (uint32_t u = x ? x - 1 : 0; u <= x + 1 && u < width; u++, count++)
                    for (int c = 0; c < CHANNELS; c++)
                        sum[c] += s->value[s->tokens[((size_t)v * width + u) * CHANNELS + (size_t)c]];
            for (int c = 0; c < CHANNELS; c++)
                s->head[((size_t)y * width + x) * CHANNELS + (size_t)c] = encode(s, sum[c] / (float)count);
        }
    }
    return true;
}

static void *work(void *user)
{
    state *s = user;
    pthread_mutex_lock(&s->lock);
    while (!s->quit) {
        if (!s->has_job) {
            pthread_cond_wait(&s->wake, &s->lock);
            continue;
        }
        d4r_network_job job = s->job;
        s->has_job = false;
        pthread_mutex_unlock(&s->lock);
        bool done = compute(s, &job);
        s->frames += done;
        /* From here on d4r may call run for the next frame: nothing of this job may be touched any more. */
        d4r_network_complete(job.completion, done ? D4R_OK : D4R_ERROR_TIMEOUT);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static d4r_status attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    (void)log;
    state *s = user;
    s->tokens = buffers->tokens_map; /* not NULL: needs_host_map */
    s->head = buffers->head_map;
    return D4R_OK;
}

static d4r_status run(void *user, const d4r_network_job *job)
{
    state *s = user;
    atomic_store(&s->cancelled, false);
    pthread_mutex_lock(&s->lock);
    s->job = *job;
    s->has_job = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return D4R_PENDING;
}

static void cancel(void *user, uint64_t frame)
{
    (void)frame;
    state *s = user;
    atomic_store(&s->cancelled, true);
}

static void destroy(void *user)
{
    state *s = user;
    pthread_mutex_lock(&s->lock);
    s->quit = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    printf("external network: %u frames computed\n", s->frames);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

d4r_status external_network(const d4r_log *log, d4r_network **network)
{
    const char *head = getenv("EXTERNAL_HEAD");
    state *s = calloc(1, sizeof *s);
    if (!s) return D4R_ERROR_MEMORY;
    s->zero = head && strcmp(head, "zero") == 0;
    for (unsigned i = 0; i < 256; i++) s->value[i] = decode(i);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, NULL);
    if (pthread_create(&s->thread, NULL, work, s) != 0) {
        free(s);
        return D4R_ERROR_MEMORY;
    }
    const d4r_network_callbacks callbacks = {.user = s,
                                             .name = "example",
                                             .needs_host_map = true,
                                             .watchdog_ms = 60000, /* a busy machine is slow */
                                             .attach = attach,
                                             .run = run,
                                             .cancel = cancel,
                                             .destroy = destroy};
    d4r_status status = d4r_network_create(&callbacks, log, network);
    if (status != D4R_OK) destroy(s);
    return status;
}
