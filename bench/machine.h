/* What a benchmark's JSON says of the machine. */
#ifndef D4R_BENCH_MACHINE_H
#define D4R_BENCH_MACHINE_H

#include <stddef.h>

/* The processor's name, fit for JSON; "unknown". */
void bench_cpu_model(char *name, size_t size);

#endif
