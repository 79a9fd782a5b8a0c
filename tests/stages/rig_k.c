/* Preset K in the rig: its surfaces against the references. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/stages/k_ref.h"
#include "tests/stages/rig_internal.h"

void rig_random_tables(uint64_t seed, uint8_t *tables)
{
    uint64_t s = seed;
    for (size_t i = 0; i < (size_t)K_REF_TABLES * K_REF_TABLE_VALUES; i++) {
        const uint16_t bits = ref_half_bits((float)rig_uniform(&s, 0.002, 1));
        memcpy(tables + 2 * i, &bits, 2);
    }
}

/* In [-8, 8], most of them small: every gate comes near both of its ends. */
static void fill_head(uint64_t *random, void *head, size_t bytes)
{
    uint16_t *values = head, steps[4096];
    for (int i = 0; i < 4096; i++) {
        const double x = (i - 2047.5) / 2047.5;
        steps[i] = ref_half_bits((float)(8 * x * x * x));
    }
    for (size_t i = 0; i < bytes / 2; i += 4) {
        const uint64_t bits = rig_random(random);
        for (size_t k = 0; k < 4; k++) values[i + k] = steps[bits >> 16 * k & 4095];
    }
}

static void read_histories(rig *r)
{
    r->recurrent = rig_read_surface(r, "recurrent_low");
    r->recurrent_high = rig_read_surface(r, "recurrent_high");
    r->history = rig_read_surface(r, "history");
}

/* The tokens of the output; those beyond it must be 0 to the bit. */
static ref_image read_tokens(rig *r, bool *zeros)
{
    const d4r_size grid = r->reference.sizes.token_grid, o = r->params.output;
    ref_image image = ref_image_new(((int)o.width + 3) / 4, ((int)o.height + 3) / 4, K_REF_FEATURES);
    const size_t count = (size_t)grid.width * grid.height * K_REF_FEATURES;
    uint16_t *raw = malloc(count * 2);
    vk_test_read_buffer(r->t, r->tokens.buffer, count * 2, raw);
    *zeros = true;
    for (size_t i = 0; i < count; i++) {
        const int token = (int)(i / K_REF_FEATURES), feature = (int)(i % K_REF_FEATURES);
        const int x = token % (int)grid.width, y = token / (int)grid.width;
        if (x < image.width && y < image.height)
            ref_at(&image, x, y)[feature] = ref_half_value(raw[i]);
        else if (raw[i] != 0)
            *zeros = false;
    }
    free(raw);
    return image;
}

static void check_input(rig *r, const ref_image *color, const k_ref_before *before, const ref_image *motion,
                        rig_result *result)
{
    const d4r_sizes *s = &r->reference.sizes;
    ref_image want_motion = ref_image_new((int)s->half.width, (int)s->half.height, 2);
    bool zeros;
    ref_image got = read_tokens(r, &zeros), want = ref_image_new(got.width, got.height, K_REF_FEATURES);
    ref_image slack = ref_image_new(got.width, got.height, K_REF_FEATURES);
    k_ref_input(&r->reference, color, before, &want_motion, &want, &slack);
    rig_lower(&result->motion, rig_identical(motion, &want_motion));
    if (!zeros) result->tokens = 0;
    rig_lower(&result->tokens, rig_half_share(&got, &want, &slack));
    result->finite &= rig_all_finite(&got);
    ref_image *images[] = {&want_motion, &got, &want, &slack};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) ref_image_free(images[i]);
}

static void check_reconstruction(rig *r, const ref_image *color, const k_ref_before *before,
                                 const ref_image *motion, rig_result *result)
{
    const d4r_size o = r->params.output;
    const int w = (int)o.width, h = (int)o.height, tw = (w + 3) / 4, th = (h + 3) / 4;
    const bool unorm = r->params.output_format != VK_FORMAT_R16G16B16A16_SFLOAT;
    k_ref_result want = {{ref_image_new(tw, th, 4), ref_image_new(tw, th, 4)},
                         ref_image_new(w, h, 4),
                         ref_image_new(w, h, 4),
                         ref_image_new(w, h, 4),
                         ref_image_new(w, h, 4)};
    k_ref_reconstruction(&r->reference, color, before, motion, r->head_values, (const uint16_t *)r->model,
                         unorm, &want);
    rig_lower(&result->recurrent, rig_half_share(&r->recurrent, &want.recurrent[0], NULL));
    rig_lower(&result->recurrent, rig_half_share(&r->recurrent_high, &want.recurrent[1], NULL));
    rig_lower(&result->history, rig_half_share(&r->history, &want.history, &want.history_slack));
    rig_lower(&result->output, rig_output_share(r, &want.output, &want.output_slack, &result->finite));
    ref_image *images[] = {&want.recurrent[0],  &want.recurrent[1], &want.history,
                           &want.history_slack, &want.output,       &want.output_slack};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) ref_image_free(images[i]);
}

/* Automatic exposure: only even frames and resets measure. */
static bool exposure_kept(const rig *r)
{
    const ref_frame *f = &r->reference;
    return f->conventions.exposure_mode == D4R_EXPOSURE_AUTO && !f->conventions.ldr && f->index % 2 == 1 &&
           !f->reset;
}

static void compare(rig *r, rig_result *result)
{
    const ref_frame *f = &r->reference;
    double exposure;
    result->exposure_error = fmax(result->exposure_error, rig_check_exposure(r, exposure_kept(r), &exposure));
    k_ref_before before = {.history = r->history,
                           .recurrent = {r->recurrent, r->recurrent_high},
                           .exposure = exposure,
                           .previous_exposure = r->last_exposure};
    ref_image color = ref_image_new((int)f->sizes.render.width, (int)f->sizes.render.height, 3);
    ref_image motion = rig_read_surface(r, "motion");
    ref_color(f, &color);
    check_input(r, &color, &before, &motion, result);
    read_histories(r);
    check_reconstruction(r, &color, &before, &motion, result);
    result->finite &= rig_all_finite(&r->history) && rig_all_finite(&r->recurrent) &&
                      rig_all_finite(&r->recurrent_high) && rig_all_finite(&motion);
    ref_image *old[] = {&color, &motion, &before.history, &before.recurrent[0], &before.recurrent[1]};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) ref_image_free(old[i]);
    r->last_exposure = exposure;
}

const rig_preset rig_k = {.ops = &d4r_k_stages_ops,
                          .token_bytes = 2 * K_REF_FEATURES,
                          .head_bytes = 2 * K_REF_HEAD,
                          .table_bytes = 2ull * K_REF_TABLES * K_REF_TABLE_VALUES,
                          .sizes = k_ref_sizes,
                          .fill_head = fill_head,
                          .read_histories = read_histories,
                          .compare = compare};
