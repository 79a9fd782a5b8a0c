/* hipemu-run's kernel arguments: text to bytes, buffers from and to files. */
#ifndef HIPEMU_RUN_ARGS_H
#define HIPEMU_RUN_ARGS_H

#include "core.h"

enum { RUN_MAX_ARGS = 64, RUN_MAX_KERNARG = 4096 };

typedef struct run_buffer {
    void *data;
    size_t size;
    bool written;       /* contents are input */
    const char *source; /* text of the argument */
    char *output;       /* file to write after the run, NULL: none */
    char type[8];       /* element type of a .npy output: "<f4" */
} run_buffer;

typedef struct run_args {
    unsigned char kernarg[RUN_MAX_KERNARG];
    size_t size;
    run_buffer buffers[RUN_MAX_ARGS];
    size_t buffer_count;
} run_args;

/* Appends one --arg at its natural alignment. Returns an exit status (0: good) after a message on stderr. */
int run_args_add(run_args *args, const char *text);
/* Writes the buffers that have an output, each to a temporary name that is then renamed. */
int run_args_write(const run_args *args);
void run_args_free(run_args *args);

/* Exit statuses, the same in all of d4r's tools. */
enum { RUN_OK = 0, RUN_USAGE = 2, RUN_NO_DEVICE = 3, RUN_BAD_CODE = 4, RUN_BAD_INPUT = 5, RUN_FAILURE = 6 };

#endif
