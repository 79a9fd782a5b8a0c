/* Surroundings of the HIP tests: the emulated device's library and settings, a random model, counts of what is held.
 *
 * The emulator reads its environment at the first call after a reset, so: set, reset, run. */
#ifndef D4R_TESTS_HIP_ENV_H
#define D4R_TESTS_HIP_ENV_H

#include "models/format/model.h"

/* Opens the emulator through the shim (shim.c), names both to d4r, and resets to an idle gfx1201. */
void env_start(void);
/* Clears all settings of the emulator and the shim, sets `arch`, and starts anew. */
void env_reset(const char *arch);
/* A setting of the emulator, "SLOW_MS": takes effect with the next env_apply. */
void env_set(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void env_apply(void);
/* What the shim does to calls: see shim.c; NULL: nothing. */
void env_mutate(const char *what);
void *
env_hip(const char *name);     /* an entry point of the emulated runtime, for what an embedder does itself */
unsigned env_late_calls(void); /* callbacks that the mutation "callback-late" has called */
uint64_t env_calls(void);      /* HIP calls since the last reset */
uint64_t env_live(void);       /* HIP objects not destroyed */
unsigned env_fds(void);        /* open descriptors of the process */

/* The engine tests' random stages with a random network of sane activations. */
d4r_model *env_model(uint64_t seed);
void env_model_free(d4r_model *model);

/* D4R_LONG_TESTS=1 */
bool env_long(void);

#endif
