/* Interruption, and the unfinished outputs that an ending process must not leave behind. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cli/cli.h"

#define MAX_TEMPORARIES 16

static atomic_bool interrupted;
static sigset_t watched;

static struct {
    pthread_mutex_t lock;
    char *paths[MAX_TEMPORARIES];
} temporaries = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cli_temporary_add(const char *path)
{
    pthread_mutex_lock(&temporaries.lock);
    for (int i = 0; i < MAX_TEMPORARIES; i++) {
        if (temporaries.paths[i]) continue;
        temporaries.paths[i] = strdup(path);
        break;
    }
    pthread_mutex_unlock(&temporaries.lock);
}

void cli_temporary_drop(const char *path)
{
    pthread_mutex_lock(&temporaries.lock);
    for (int i = 0; i < MAX_TEMPORARIES; i++) {
        if (!temporaries.paths[i] || strcmp(temporaries.paths[i], path)) continue;
        free(temporaries.paths[i]);
        temporaries.paths[i] = NULL;
    }
    pthread_mutex_unlock(&temporaries.lock);
}

void cli_commit_lock(void)
{
    pthread_mutex_lock(&temporaries.lock);
}

void cli_commit_unlock(void)
{
    pthread_mutex_unlock(&temporaries.lock);
}

/* The process ends here: the lock stays, so that nothing is published any more. */
static void remove_temporaries(void)
{
    pthread_mutex_lock(&temporaries.lock);
    for (int attempt = 0; attempt < 3; attempt++) /* another thread may still be writing into a folder */
        for (int i = 0; i < MAX_TEMPORARIES; i++)
            if (temporaries.paths[i]) cli_remove_tree(temporaries.paths[i]);
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        int number;
        if (sigwait(&watched, &number)) continue;
        if (!atomic_exchange(&interrupted, true)) continue;
        remove_temporaries();
        _exit(CLI_INTERRUPTED);
    }
    return NULL;
}

void cli_catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    struct sigaction action = {.sa_handler = SIG_DFL}, old;
    pthread_t thread;
    sigemptyset(&action.sa_mask);
    sigemptyset(&watched);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a failed write like any other */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* nohup: a hang-up that the caller ignores stays ignored. */
        if (numbers[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) && old.sa_handler == SIG_IGN) continue;
        sigaction(numbers[i], &action, NULL);
        sigaddset(&watched, numbers[i]);
    }
    /* Blocked in every thread, taken by one: it may then do more than a handler may. */
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    if (pthread_create(&thread, NULL, watch, NULL))
        pthread_sigmask(SIG_UNBLOCK, &watched, NULL);
    else
        pthread_detach(thread);
}

bool cli_interrupted(void)
{
    return atomic_load(&interrupted);
}
