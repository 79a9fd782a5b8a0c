/* Runs the host build of a conformance kernel: work-items are coroutines, so that barriers and lane moves work. */
#ifndef HIPEMU_HOST_RUN_H
#define HIPEMU_HOST_RUN_H

#include <stdint.h>

typedef void (*host_kernel)(const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t n);

void host_run(host_kernel kernel, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t n,
              uint32_t groups, uint32_t group_size);

/* FP8 by definition: nearest value, ties to the even code, in double precision. */
uint32_t host_f8_encode(float x, _Bool bf8, _Bool saturate);
float host_f8_decode(uint32_t code, _Bool bf8);

#endif
