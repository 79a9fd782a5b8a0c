/* Preset M's stages in double precision, written from docs/stages.md: they share nothing with the shaders.
 *
 * Each stage takes what the stage before it delivered (on the GPU), so that errors do not add up. f16, 8-bit
 * and FP8 inputs are given as values. Results are unrounded doubles, except FP8 and packed codes and the
 * motion surfaces, which are exact by definition. A `slack` image, where there is one, says by how much the
 * sampler may change a result: ref_linear's slack, carried through; 0 for exact filtering. */
#ifndef D4R_TESTS_STAGES_REF_H
#define D4R_TESTS_STAGES_REF_H

#include "d4r/d4r.h"

typedef struct ref_image {
    int width, height, channels;
    double *v; /* [height][width][channels] */
} ref_image;

ref_image ref_image_new(int width, int height, int channels);
void ref_image_free(ref_image *image);
double *ref_at(const ref_image *image, int x, int y); /* clamped to the image */
/* Bilinear, clamped. *slack (may be NULL): by how much a sampler's value may differ. step: how far its position may lie
 * from (x, y) on each axis: 2^-n where it keeps n fraction bits of a position (VkPhysicalDeviceLimits::subTexelPrecisionBits;
 * whether it rounds or cuts is not said); 0: no sampler, slack 0. */
double ref_linear(const ref_image *image, double x, double y, int channel, double step, double *slack);

typedef struct ref_frame {
    d4r_sizes sizes; /* of d4r.h; ref_sizes fills it on its own */
    d4r_conventions conventions;
    d4r_frame_settings settings;
    d4r_vec2 previous_jitter;
    d4r_size previous_render; /* of the frame before; equal to settings.render after a reset */
    bool reset;
    uint32_t index;
    const float *color;  /* [h][w][4] as stored */
    const float *depth;  /* [h][w] */
    const float *motion; /* [h][w][2], output size when motion_at_output */
    float exposure_texel;
    double filter_step; /* ref_linear's step for all reads of histories and motion */
} ref_frame;

void ref_sizes(ref_frame *f, d4r_size render, d4r_size output);

/* ---- numbers */
double ref_compress(double linear);
double ref_expand(double compressed);
double ref_half_value(uint16_t bits);
uint16_t ref_half_bits(float value); /* nearest even */
double ref_fp8_value(uint8_t code);  /* NaN codes: 0 */
uint8_t ref_fp8_nearest(double v);
uint8_t ref_fp8_dithered(double v, unsigned n);
unsigned ref_dither_bits(unsigned x, unsigned y, unsigned frame);
bool ref_on_screen(const ref_frame *f, double x, double y);
/* Position of a reconstruction pixel in render texels, with its fixed roundings. */
float ref_render_position(float pixel, uint32_t render, uint32_t output, float jitter);
/* Previous position in reconstruction pixels of a render position, likewise. */
float ref_previous_position(float position, uint32_t render, uint32_t output, float motion);

/* Where a previous position lies in the previous render image, likewise. */
float ref_previous_render_position(float q, uint32_t render, uint32_t output, float previous_jitter);

/* ---- stages */
typedef struct ref_exposure_result {
    double exposure, mean, count;
} ref_exposure_result;
ref_exposure_result ref_exposure(const ref_frame *f);

void ref_color(const ref_frame *f, ref_image *color);
/* A render pixel's vector in history pixels, of which an output pixel has `scale`. */
void ref_motion_at(const ref_frame *f, double scale, int x, int y, double out[2]);
void ref_motion(const ref_frame *f, ref_image *a, ref_image *b, ref_image *c);
/* The five-read history at q; false: reset, off screen or not finite. slack: as everywhere. */
bool ref_catmull_rom(const ref_frame *f, const ref_image *history, double qx, double qy, int channels,
                     double *out, double *slack);

typedef struct ref_input {
    ref_image color, mv_a, mv_b, mv_c; /* of this frame */
    ref_image mv_a_previous, recurrent_previous, half_previous;
    double exposure, previous_exposure;
} ref_input;
/* [h][w][20], and the slack of each feature. */
void ref_features(const ref_frame *f, const ref_input *in, ref_image *features, ref_image *slack);
/* weights.bin; codes [grid height][grid width][64]. low, high (may be NULL): the least and greatest code, as values rise, that a
 * token may have where each feature lies within its slack and the arithmetic of f32. */
void ref_tokens(const ref_frame *f, const ref_image *features, const ref_image *slack, const uint8_t *weights,
                uint8_t *codes, uint8_t *low, uint8_t *high);

typedef struct ref_expanded {
    ref_image recurrent, gates, mix, covariance;
    ref_image recurrent_slack;
} ref_expanded;
void ref_expansion(const ref_frame *f, const uint8_t *head, const uint8_t *weights, const ref_image *mv_a,
                   const ref_image *recurrent_previous, ref_expanded *out);

typedef struct ref_reconstruct {
    ref_image color, gates, mix, covariance, mv_a, mv_b, mv_c, history_previous;
    double exposure, previous_exposure;
} ref_reconstruct;
typedef struct ref_reconstructed {
    ref_image history, history_slack; /* compressed; slack of `kept` and `shown` alike */
    ref_image half;                   /* compressed */
    ref_image display;                /* compressed `shown` */
} ref_reconstructed;
void ref_reconstruction(const ref_frame *f, const ref_reconstruct *in, ref_reconstructed *out);
uint32_t ref_pack(const double *compressed, bool ldr);

/* [output height][output width][4], before rounding to the output format. */
void ref_downsample(const ref_frame *f, const uint32_t *display, double exposure, bool unorm, ref_image *out);

#endif
