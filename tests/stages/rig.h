/* Runs a preset's stages on a test device and compares every surface with the double-precision reference, which is fed
 * with the GPU's own surfaces stage by stage, frame after frame. */
#ifndef D4R_TESTS_STAGES_RIG_H
#define D4R_TESTS_STAGES_RIG_H

#include "tests/stages/ref.h"
#include "tests/vk_test.h"
#include "vk_stages/preset_stages.h"

typedef struct rig_preset rig_preset;

typedef struct rig_params {
    const rig_preset *preset; /* NULL: M */
    d4r_size output, max_render;
    d4r_conventions conventions;
    VkFormat output_format;
    bool hardware_filter;
    uint32_t
        filter_bits; /* not 0: reads at positions cut to so many fraction bits, checked as a sampler of 8 */
    const d4r_stages *share; /* pipelines from these where they fit; may be NULL */
    bool f32_inputs;         /* RGBA32F and RG32F; else RGBA16F and RG16F */
    uint32_t origin; /* of every rectangle, in images that are larger by twice that and hold NaN around it */
} rig_params;

/* A frame's input: arrays of the sizes that settings and conventions ask for. */
typedef struct rig_input {
    d4r_frame_settings settings;
    const float *color, *depth, *motion;
    float exposure_texel;
    const void *head; /* NULL: random values */
    bool reset;       /* besides settings.reset and the first frame */
} rig_input;

/* Shares of values within tolerance, worst over the frames; see rig_run. */
typedef struct rig_result {
    double motion, tokens, recurrent, gates, mix, covariance, history, half, display, output;
    double exposure_error; /* relative */
    bool finite;           /* no NaN or infinity in any surface or the output */
    double outside; /* M: share of tokens that are none of the codes which they may have, the worst frame's */
    double ambiguous; /* M: share of tokens that may have more than one */
} rig_result;

typedef struct rig rig;

/* What the rig knows of a preset. */
struct rig_preset {
    const d4r_stages_ops *ops;
    uint32_t token_bytes, head_bytes; /* a token */
    size_t weight_bytes, table_bytes; /* of the model: one of them */
    void (*sizes)(ref_frame *f, d4r_size render, d4r_size output);
    void (*fill_head)(uint64_t *random, void *head, size_t bytes);
    void (*read_histories)(rig *r);
    void (*compare)(rig *r, rig_result *result);
};
extern const rig_preset rig_m, rig_k;

/* model: the stage weights (M) or tables (K); copied. */
rig *rig_create(vk_test *t, const rig_params *params, const uint8_t *model);
void rig_destroy(rig *r);
/* Uploads the frame's input, rounded to the image formats. */
void rig_upload(rig *r, const rig_input *in);
/* The images keep their content for another frame, with the same or with other settings; nothing is uploaded. */
void rig_repeat(rig *r);
void rig_repeat_with(rig *r, const d4r_frame_settings *settings);
/* Records the frame that was uploaded (front or back) and advances the frame counter after the back. */
d4r_status rig_record_front(rig *r, VkCommandBuffer commands);
d4r_status rig_record_back(rig *r, VkCommandBuffer commands);
/* Uploads, runs and compares a frame: 2 ulp or 2e-6 for f16, one code for 8 bits, 11-11-10 and RGB10A2, identity for
 * motion and tokens; with the hardware filter plus ref_linear's slack for the device's number of fraction bits. */
void rig_run(rig *r, const rig_input *in, rig_result *result);
rig_result rig_result_start(void);
void rig_result_print(const char *name, const rig_result *result);

d4r_stages *rig_stages(rig *r);
VkImageView rig_color_view(rig *r);
/* Image of a resource of the frame recorded last ("history", ...); NULL handle when absent. */
d4r_stage_resource rig_resource(rig *r, const char *name);
/* Output as stored, output size; owned by the rig. */
const void *rig_read_output(rig *r);
/* The reference reads the histories from the GPU again: after a test wrote to them. */
void rig_reload_histories(rig *r);

/* Random stage weights (weights.bin) of moderate size. */
void rig_random_weights(uint64_t seed, uint8_t *weights);
/* Random tables (lut.bin): every weight differs from its neighbours. */
void rig_random_tables(uint64_t seed, uint8_t *tables);
uint64_t rig_random(uint64_t *state);
double rig_uniform(uint64_t *state, double low, double high);

#endif
