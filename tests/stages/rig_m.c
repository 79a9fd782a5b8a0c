/* Preset M in the rig: its surfaces against the references. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "models/format/m_layout.h"
#include "tests/stages/rig_internal.h"

void rig_random_weights(uint64_t seed, uint8_t *weights)
{
    uint64_t s = seed;
    for (int i = 0; i < 64 * 128; i++) weights[i] = ref_fp8_nearest(rig_uniform(&s, -0.5, 0.5));
    for (int i = 0; i < 68 * 64; i++) weights[64 * 128 + i] = ref_fp8_nearest(rig_uniform(&s, -0.3, 0.3));
    float bias[64 + 68];
    for (int i = 0; i < 64; i++) bias[i] = (float)rig_uniform(&s, -1, 1);
    for (int i = 0; i < 68; i++) {
        const int j = i % 17;
        /* precisions of about 3, gates of all sizes */
        bias[64 + i] = (float)(rig_uniform(&s, -1, 1) + (j == 14 || j == 15 ? -0.8 : j == 0 ? -1 : 0));
    }
    memcpy(weights + 64 * 128 + 68 * 64, bias, sizeof bias);
}

static void fill_head(uint64_t *random, void *head, size_t bytes)
{
    uint8_t *codes = head;
    for (size_t i = 0; i < bytes; i++)
        codes[i] = (uint8_t)(rig_random(random) % 0x3c | (rig_random(random) & 1) << 7);
}

static void read_histories(rig *r)
{
    r->mv_a = rig_read_surface(r, "mv_a");
    r->recurrent = rig_read_surface(r, "recurrent");
    r->history = rig_read_surface(r, "history");
    r->half = rig_read_surface(r, "half");
}

/* Share within one code of `top` steps. */
static double code_share(const ref_image *got, const ref_image *want, double top, const ref_image *slack)
{
    size_t good = 0, count = (size_t)want->width * want->height * want->channels;
    for (int y = 0; y < want->height; y++)
        for (int x = 0; x < want->width; x++)
            for (int c = 0; c < want->channels; c++) {
                const double code = nearbyint(ref_at(want, x, y)[c] * top);
                const double s = slack ? ref_at(slack, x, y)[c] * top : 0;
                if (fabs(ref_at(got, x, y)[c] * top - code) <= 1.001 + s) good++;
            }
    return (double)good / (double)count;
}

/* Codes in the order of their values; both zeros are one. */
static int code_order(uint8_t code)
{
    return code & 128 ? -(code & 127) : code;
}

/* Share of identical codes; and of those that neither a feature's slack nor f32's rounding explains: each token has a range of
 * its own, which is one code unless a rounding border is within reach. */
static void check_tokens(rig *r, const ref_input *in, rig_result *result)
{
    const d4r_sizes *s = &r->reference.sizes;
    ref_image features = ref_image_new((int)s->render.width, (int)s->render.height, 20);
    ref_image slack = ref_image_new((int)s->render.width, (int)s->render.height, 20);
    uint8_t *got = malloc(4 * s->token_bytes), *want = got + s->token_bytes, *low = want + s->token_bytes,
            *high = low + s->token_bytes;
    ref_features(&r->reference, in, &features, &slack);
    ref_tokens(&r->reference, &features, &slack, r->model, want, low, high);
    vk_test_read_buffer(r->t, r->tokens.buffer, s->token_bytes, got);
    size_t good = 0, outside = 0, wide = 0;
    for (size_t i = 0; i < s->token_bytes; i++) {
        const int code = code_order(got[i]);
        good += code == code_order(want[i]);
        outside += code < code_order(low[i]) || code > code_order(high[i]);
        wide += code_order(low[i]) != code_order(high[i]);
    }
    rig_lower(&result->tokens, (double)good / (double)s->token_bytes);
    result->outside = fmax(result->outside, (double)outside / (double)s->token_bytes);
    result->ambiguous = fmax(result->ambiguous, (double)wide / (double)s->token_bytes);
    free(got);
    ref_image_free(&features);
    ref_image_free(&slack);
}

static void check_input(rig *r, ref_input *in, rig_result *result)
{
    const int w = (int)r->reference.sizes.render.width, h = (int)r->reference.sizes.render.height;
    ref_image a = ref_image_new(w, h, 2), b = ref_image_new(w, h, 2), c = ref_image_new(w, h, 2);
    ref_motion(&r->reference, &a, &b, &c);
    rig_lower(&result->motion, rig_identical(&in->mv_a, &a));
    rig_lower(&result->motion, rig_identical(&in->mv_b, &b));
    rig_lower(&result->motion, rig_identical(&in->mv_c, &c));
    check_tokens(r, in, result);
    ref_image_free(&a);
    ref_image_free(&b);
    ref_image_free(&c);
}

static void check_expansion(rig *r, const ref_input *in, const ref_image *recurrent, const ref_image *gates,
                            const ref_image *mix, const ref_image *covariance, rig_result *result)
{
    const int w = (int)r->reference.sizes.render.width, h = (int)r->reference.sizes.render.height;
    ref_expanded want = {ref_image_new(w, h, 4), ref_image_new(w, h, 4), ref_image_new(w, h, 4),
                         ref_image_new(w, h, 4), ref_image_new(w, h, 4)};
    ref_expansion(&r->reference, r->head_values, r->model, &in->mv_a, &in->recurrent_previous, &want);
    rig_lower(&result->recurrent, code_share(recurrent, &want.recurrent, 127, &want.recurrent_slack));
    rig_lower(&result->gates, code_share(gates, &want.gates, 255, NULL));
    rig_lower(&result->mix, code_share(mix, &want.mix, 255, NULL));
    rig_lower(&result->covariance, rig_half_share(covariance, &want.covariance, NULL));
    ref_image_free(&want.recurrent);
    ref_image_free(&want.gates);
    ref_image_free(&want.mix);
    ref_image_free(&want.covariance);
    ref_image_free(&want.recurrent_slack);
}

static double display_share(rig *r, const uint32_t *codes, const ref_reconstructed *want)
{
    static const uint32_t top[3] = {2047, 2047, 1023};
    size_t good = 0;
    const int w = want->display.width, h = want->display.height;
    const double range = r->params.conventions.ldr ? 0.36 * log10(101) : 2.45;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint32_t code = ref_pack(ref_at(&want->display, x, y), r->params.conventions.ldr);
            for (int c = 0; c < 3; c++) {
                const int got = (int)(codes[(size_t)y * w + x] >> 11 * c & top[c]);
                const double slack = ref_at(&want->history_slack, x, y)[c] / range * top[c];
                good += abs(got - (int)(code >> 11 * c & top[c])) <= 1 + slack;
            }
        }
    return (double)good / (3.0 * w * h);
}

static void check_reconstruction(rig *r, const ref_reconstruct *in, const uint32_t *display,
                                 rig_result *result)
{
    const int w = (int)r->reference.sizes.reconstruction.width,
              h = (int)r->reference.sizes.reconstruction.height;
    const int hw = (int)r->reference.sizes.half.width, hh = (int)r->reference.sizes.half.height;
    ref_reconstructed want = {ref_image_new(w, h, 3), ref_image_new(w, h, 3), ref_image_new(hw, hh, 3),
                              ref_image_new(w, h, 3)};
    ref_reconstruction(&r->reference, in, &want);
    ref_image half_slack = ref_image_new(hw, hh, 3);
    for (int y = 0; y < hh; y++)
        for (int x = 0; x < hw; x++)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < 4; k++)
                    ref_at(&half_slack, x, y)[c] =
                        fmax(ref_at(&half_slack, x, y)[c],
                             ref_at(&want.history_slack, 2 * x + (k & 1), 2 * y + (k >> 1))[c]);
    rig_lower(&result->history, rig_half_share(&r->history, &want.history, &want.history_slack));
    rig_lower(&result->half, rig_half_share(&r->half, &want.half, &half_slack));
    rig_lower(&result->display, display_share(r, display, &want));
    ref_image_free(&want.history);
    ref_image_free(&want.history_slack);
    ref_image_free(&want.half);
    ref_image_free(&want.display);
    ref_image_free(&half_slack);
}

static void check_output(rig *r, const uint32_t *display, double exposure, rig_result *result)
{
    const d4r_size o = r->params.output;
    const bool unorm = r->params.output_format != VK_FORMAT_R16G16B16A16_SFLOAT;
    ref_image want = ref_image_new((int)o.width, (int)o.height, 4);
    ref_downsample(&r->reference, display, exposure, unorm, &want);
    rig_lower(&result->output, rig_output_share(r, &want, NULL, &result->finite));
    ref_image_free(&want);
}

static void compare(rig *r, rig_result *result)
{
    const ref_frame *f = &r->reference;
    double exposure;
    result->exposure_error = fmax(result->exposure_error, rig_check_exposure(r, false, &exposure));
    ref_input in = {.color = ref_image_new((int)f->sizes.render.width, (int)f->sizes.render.height, 3),
                    .mv_a = rig_read_surface(r, "mv_a"),
                    .mv_b = rig_read_surface(r, "mv_b"),
                    .mv_c = rig_read_surface(r, "mv_c"),
                    .mv_a_previous = r->mv_a,
                    .recurrent_previous = r->recurrent,
                    .half_previous = r->half,
                    .exposure = exposure,
                    .previous_exposure = r->last_exposure};
    ref_color(f, &in.color);
    check_input(r, &in, result);
    ref_image gates = rig_read_surface(r, "gates"), mix = rig_read_surface(r, "mix"),
              cov = rig_read_surface(r, "covariance");
    ref_image recurrent = rig_read_surface(r, "recurrent"), history_previous = r->history;
    check_expansion(r, &in, &recurrent, &gates, &mix, &cov, result);
    r->history = rig_read_surface(r, "history");
    ref_image half_previous = r->half;
    r->half = rig_read_surface(r, "half");
    const ref_reconstruct reconstruct = {
        in.color, gates, mix, cov, in.mv_a, in.mv_b, in.mv_c, history_previous, exposure, r->last_exposure};
    const d4r_stage_resource s = rig_resource(r, "display");
    uint32_t *display = malloc(s.size);
    vk_test_read_buffer(r->t, s.buffer, s.size, display);
    check_reconstruction(r, &reconstruct, display, result);
    check_output(r, display, exposure, result);
    result->finite &= rig_all_finite(&r->history) && rig_all_finite(&r->half) && rig_all_finite(&cov) &&
                      rig_all_finite(&in.mv_a) && rig_all_finite(&in.mv_b) && rig_all_finite(&in.mv_c);
    free(display);
    ref_image *old[] = {&in.color,      &in.mv_b,          &in.mv_c, &r->mv_a, &r->recurrent,
                        &half_previous, &history_previous, &gates,   &mix,     &cov};
    ref_image_free(&in.color);
    for (size_t i = 1; i < sizeof old / sizeof *old; i++) ref_image_free(old[i]);
    r->mv_a = in.mv_a;
    r->recurrent = recurrent;
    r->last_exposure = exposure;
}

const rig_preset rig_m = {.ops = &d4r_m_stages_ops,
                          .token_bytes = 64,
                          .head_bytes = 64,
                          .weight_bytes = D4R_M_STAGE_BYTES,
                          .sizes = ref_sizes,
                          .fill_head = fill_head,
                          .read_histories = read_histories,
                          .compare = compare};
