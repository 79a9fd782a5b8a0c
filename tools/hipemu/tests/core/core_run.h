/* Running test kernels on the core: files, buffers, launches. */
#ifndef HIPEMU_CORE_RUN_H
#define HIPEMU_CORE_RUN_H

#include "core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct core_machine {
    emu_memory *memory;
    emu_module *module;
    emu_fault fault; /* of the last launch */
    emu_counters counters;
    emu_launch_options options; /* of the next launches */
    uint32_t dynamic_lds;
    uint64_t *mnemonics; /* executions by mnemonic, added to; may be NULL */
} core_machine;

/* Loads KERNELS_DIR/name-arch.hsaco; the test fails when it cannot. */
void core_open(core_machine *m, const char *name, const char *arch, bool track_writes);
void core_close(core_machine *m);
void *core_file(const char *path, size_t *size);

/* A zeroed buffer the kernels may use; flags: emu_memory_flags. */
void *core_buffer(core_machine *m, size_t size, uint32_t flags);
void core_free(core_machine *m, void *buffer);

/* args: the explicit arguments as a struct. */
emu_status core_launch(core_machine *m, const char *kernel, uint32_t groups, uint32_t items, const void *args,
                       size_t size);
/* As above, and a fault fails the test with its text. */
void core_run(core_machine *m, const char *kernel, uint32_t groups, uint32_t items, const void *args,
              size_t size);

/* xorshift; the same sequence in every run. */
uint32_t core_random(void);

#endif
