/* Throughput model: what a kernel's counters would cost on a named card. An estimate, never a measurement. */
#ifndef HIPEMU_MODEL_H
#define HIPEMU_MODEL_H

#include "core.h"

/* One card's constants; each has its source beside it in model.c. */
typedef struct hipemu_card {
    const char *name, *key; /* "Radeon RX 9070 XT", "9070xt" */
    emu_class cls;          /* kernels of this class only */
    double wave_rate;       /* wave instructions a second, all SIMDs together */
    double wmma_extra;      /* issue slots an f16, bf16 or integer WMMA costs beyond its own */
    double wmma_fp8_extra;  /* the same for FP8 */
    double lds_rate;        /* 32-lane passes a second, all compute units together */
    double l2_rate;         /* bytes a second */
    double memory_rate;     /* bytes a second */
    double launch_seconds;
} hipemu_card;

typedef enum hipemu_bound {
    HIPEMU_BOUND_ISSUE, /* instructions plus WMMA cycles */
    HIPEMU_BOUND_LDS,
    HIPEMU_BOUND_L2,
    HIPEMU_BOUND_MEMORY,
    HIPEMU_BOUND_COUNT
} hipemu_bound;

typedef struct hipemu_estimate {
    const hipemu_card *card;
    double seconds;                  /* launches + the largest part */
    double launch;                   /* all launches */
    double part[HIPEMU_BOUND_COUNT]; /* each resource alone */
    hipemu_bound bound;              /* the part that binds */
    double wmma;                     /* seconds of part[ISSUE] in which the SIMDs do WMMA */
} hipemu_estimate;

/* Cards in order; NULL past the end. */
const hipemu_card *hipemu_card_at(size_t index);
const hipemu_card *hipemu_card_find(const char *key);
/* The card that an estimate for this architecture is given for: the largest of its generation. */
const hipemu_card *hipemu_card_for(const emu_arch *arch);
const char *hipemu_bound_name(hipemu_bound bound);

/* memory_bytes: what must come from or go to memory at least once (0 when not known). */
hipemu_estimate hipemu_model_estimate(const hipemu_card *card, const emu_counters *counters,
                                      double memory_bytes);

#endif
