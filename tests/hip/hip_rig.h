/* The engine tests' caller with the HIP network on the emulated device. */
#ifndef D4R_TESTS_HIP_HIP_RIG_H
#define D4R_TESTS_HIP_HIP_RIG_H

#include "tests/engine/rig.h"
#include "tests/hip/env.h"
#include "tests/hip/watch.h"

typedef struct hip_variant {
    d4r_handoff_strategy strategy;
    d4r_hip_completion completion;
    d4r_hip_graphs graphs;
} hip_variant;

#define HIP_VARIANTS 8u
hip_variant hip_variant_at(unsigned index);
/* "marker, callback, graphs" */
const char *hip_variant_name(const hip_variant *variant);

typedef struct hip_rig {
    d4r_network *network;
    rig r;
} hip_rig;

/* D4R_OK, or what creating the network or the engine returned; then nothing is left to close. */
d4r_status hip_rig_open(hip_rig *h, vk_test *t, const d4r_model *model, const hip_variant *variant,
                        uint32_t watchdog_ms);
/* The same with the embedder's own stream, NULL for none. */
d4r_status hip_rig_open_on(hip_rig *h, vk_test *t, const d4r_model *model, const hip_variant *variant,
                           uint32_t watchdog_ms, void *stream);
void hip_rig_close(hip_rig *h);

/* The last error line of the network or engine since the last call; "" when none. */
const char *hip_rig_error(void);
/* Whether any error or warning line since the last hip_rig_error contains `text`. */
bool hip_rig_said(const char *text);

#endif
