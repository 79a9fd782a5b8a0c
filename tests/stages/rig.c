#include "tests/stages/rig.h"
#include "models/format/m_layout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rig {
    vk_test *t;
    rig_params params;
    uint8_t weights[D4R_M_STAGE_BYTES];
    d4r_stages *stages;
    d4r_vk_image color, depth, motion, exposure, output;
    d4r_vk_buffer tokens, head;
    d4r_frame_images images;
    d4r_stage_frame frame; /* next or current one */
    ref_frame reference;
    float *stored_color, *stored_motion; /* as rounded to the formats */
    uint8_t *head_codes;
    uint64_t random;
    bool first;
    d4r_vec2 last_jitter;
    d4r_size last_render;
    double last_exposure;
    /* histories as the GPU holds them, read after the previous frame */
    ref_image mv_a, recurrent, history, half;
    void *output_pixels;
};

static void require(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "rig: %s\n", what);
    exit(1);
}

uint64_t rig_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

double rig_uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(rig_random(state) >> 11) / 9007199254740992.0;
}

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

/* ---- creation */

static d4r_vk_image input_image(rig *r, const char *name, VkFormat format, d4r_size size, uint32_t bytes)
{
    const uint32_t w = size.width + 2 * r->params.origin, h = size.height + 2 * r->params.origin;
    void *nan = malloc((size_t)w * h * bytes);
    memset(nan, 0xff, (size_t)w * h * bytes);
    d4r_vk_image image = vk_test_image(r->t, name, format, w, h, VK_IMAGE_USAGE_SAMPLED_BIT, nan, bytes);
    free(nan);
    return image;
}

static d4r_image described(const rig *r, const d4r_vk_image *image)
{
    return (d4r_image){.view = image->view,
                       .image = image->image,
                       .layout = VK_IMAGE_LAYOUT_GENERAL,
                       .extent = {image->extent.width, image->extent.height},
                       .origin_x = r->params.origin,
                       .origin_y = r->params.origin};
}

static void create_images(rig *r)
{
    const bool wide = r->params.f32_inputs;
    const d4r_size m = r->params.max_render, o = r->params.output;
    const d4r_size motion = r->params.conventions.motion_at_output ? o : m;
    r->color = input_image(r, "color", wide ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R16G16B16A16_SFLOAT,
                           m, wide ? 16 : 8);
    r->motion = input_image(r, "motion", wide ? VK_FORMAT_R32G32_SFLOAT : VK_FORMAT_R16G16_SFLOAT, motion,
                            wide ? 8 : 4);
    r->depth = input_image(r, "depth", VK_FORMAT_R32_SFLOAT, m, 4);
    r->exposure = input_image(r, "exposure", VK_FORMAT_R32_SFLOAT, (d4r_size){1, 1}, 4);
    const uint32_t ow = o.width + 2 * r->params.origin, oh = o.height + 2 * r->params.origin;
    r->output = vk_test_image(r->t, "output", r->params.output_format, ow, oh, VK_IMAGE_USAGE_STORAGE_BIT,
                              NULL, r->params.output_format == VK_FORMAT_R16G16B16A16_SFLOAT ? 8 : 4);
    r->images = (d4r_frame_images){.color = described(r, &r->color),
                                   .depth = described(r, &r->depth),
                                   .motion = described(r, &r->motion),
                                   .exposure = described(r, &r->exposure),
                                   .output = described(r, &r->output)};
}

rig *rig_create(vk_test *t, const rig_params *params, const uint8_t *weights)
{
    rig *r = calloc(1, sizeof *r);
    require(r != NULL, "memory");
    r->t = t;
    r->params = *params;
    r->random = 12345;
    r->first = true;
    memcpy(r->weights, weights, sizeof r->weights);
    const d4r_size m = params->max_render, o = params->output;
    const size_t bytes = (size_t)((m.width + 31) / 32 * 16) * ((m.height + 31) / 32 * 16) * 64;
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    require(d4r_vk_buffer_create(&t->vk, "tokens", bytes, usage, 0, 0, false, &r->tokens) == D4R_OK,
            "tokens");
    require(d4r_vk_buffer_create(&t->vk, "head", bytes, usage, 0, 0, false, &r->head) == D4R_OK, "head");
    create_images(r);
    const d4r_stages_desc desc = {.vk = &t->vk,
                                  .output = o,
                                  .max_render = m,
                                  .conventions = params->conventions,
                                  .output_format = params->output_format,
                                  .exact_filter = !params->hardware_filter,
                                  .weights = r->weights,
                                  .weight_bytes = sizeof r->weights,
                                  .tokens = r->tokens.buffer,
                                  .head = r->head.buffer,
                                  .token_bytes = bytes,
                                  .head_bytes = bytes};
    require(d4r_stages_create(&d4r_m_stages_ops, &desc, &r->stages) == D4R_OK, "d4r_m_stages_create failed");
    r->stored_color = malloc((size_t)m.width * m.height * 16);
    r->stored_motion = malloc((size_t)o.width * o.height * 8);
    r->head_codes = malloc(bytes);
    r->output_pixels = malloc((size_t)r->output.extent.width * r->output.extent.height * 8);
    r->reference.conventions = params->conventions;
    return r;
}

static void drop_histories(rig *r)
{
    ref_image_free(&r->mv_a);
    ref_image_free(&r->recurrent);
    ref_image_free(&r->history);
    ref_image_free(&r->half);
}

void rig_destroy(rig *r)
{
    d4r_stages_destroy(&r->stages);
    d4r_vk_image *images[] = {&r->color, &r->depth, &r->motion, &r->exposure, &r->output};
    for (int i = 0; i < 5; i++) d4r_vk_image_destroy(&r->t->vk, images[i]);
    d4r_vk_buffer_destroy(&r->t->vk, &r->tokens);
    d4r_vk_buffer_destroy(&r->t->vk, &r->head);
    drop_histories(r);
    free(r->stored_color);
    free(r->stored_motion);
    free(r->head_codes);
    free(r->output_pixels);
    free(r);
}

VkImageView rig_color_view(rig *r)
{
    return r->color.view;
}

d4r_stages *rig_stages(rig *r)
{
    return r->stages;
}

/* ---- a frame's input */

/* Writes a plane into its rectangle; `stored` receives the values as rounded to the format. */
static void upload_plane(rig *r, const d4r_vk_image *image, d4r_size size, int channels, bool half,
                         const float *data, float *stored)
{
    const uint32_t w = image->extent.width, h = image->extent.height, origin = r->params.origin;
    const size_t texel = (size_t)channels * (half ? 2 : 4);
    uint8_t *texels = malloc((size_t)w * h * texel);
    memset(texels, 0xff, (size_t)w * h * texel); /* NaN around the rectangle */
    for (uint32_t y = 0; y < size.height; y++) {
        for (uint32_t x = 0; x < size.width; x++) {
            uint8_t *to = texels + ((size_t)(y + origin) * w + x + origin) * texel;
            for (int c = 0; c < channels; c++) {
                const size_t at = ((size_t)y * size.width + x) * (size_t)channels + (size_t)c;
                float v = data[at];
                if (half) {
                    const uint16_t bits = ref_half_bits(v);
                    v = (float)ref_half_value(bits);
                    memcpy(to + 2 * c, &bits, 2);
                } else {
                    memcpy(to + 4 * c, &v, 4);
                }
                if (stored) stored[at] = v;
            }
        }
    }
    vk_test_write_image(r->t, image->image, w, h, (uint32_t)texel, texels);
    free(texels);
}

static const uint8_t *head_of(rig *r, const rig_input *in, size_t bytes)
{
    if (in->head) return in->head;
    for (size_t i = 0; i < bytes; i++)
        r->head_codes[i] = (uint8_t)(rig_random(&r->random) % 0x3c | (rig_random(&r->random) & 1) << 7);
    return r->head_codes;
}

static void next_frame(rig *r, const d4r_frame_settings *settings, bool reset)
{
    reset = reset || settings->reset || r->first;
    r->frame.images = &r->images;
    r->frame.settings = *settings;
    r->frame.reset = reset;
    r->frame.previous_jitter = reset ? settings->jitter : r->last_jitter;
    r->frame.previous_render = reset ? settings->render : r->last_render;
    r->first = false;
    r->last_jitter = settings->jitter;
    r->last_render = settings->render;
}

void rig_repeat_with(rig *r, const d4r_frame_settings *settings)
{
    next_frame(r, settings, false);
}

void rig_repeat(rig *r)
{
    const d4r_frame_settings settings = r->frame.settings;
    next_frame(r, &settings, false);
}

void rig_upload(rig *r, const rig_input *in)
{
    const bool half = !r->params.f32_inputs;
    const d4r_size render = in->settings.render, o = r->params.output;
    upload_plane(r, &r->color, render, 4, half, in->color, r->stored_color);
    upload_plane(r, &r->motion, r->params.conventions.motion_at_output ? o : render, 2, half, in->motion,
                 r->stored_motion);
    upload_plane(r, &r->depth, render, 1, false, in->depth, NULL);
    upload_plane(r, &r->exposure, (d4r_size){1, 1}, 1, false, &in->exposure_texel, NULL);
    next_frame(r, &in->settings, in->reset);
    ref_frame *f = &r->reference;
    ref_sizes(f, render, o);
    f->settings = in->settings;
    f->previous_jitter = r->frame.previous_jitter;
    f->previous_render = r->frame.previous_render;
    f->reset = r->frame.reset;
    f->index = (uint32_t)r->frame.index;
    f->color = r->stored_color;
    f->motion = r->stored_motion;
    f->depth = in->depth;
    f->exposure_texel = in->exposure_texel;
    const uint8_t *head = head_of(r, in, f->sizes.token_bytes);
    if (head != r->head_codes) memcpy(r->head_codes, head, f->sizes.token_bytes);
    vk_test_write_buffer(r->t, r->head.buffer, f->sizes.token_bytes, r->head_codes);
}

d4r_status rig_record_front(rig *r, VkCommandBuffer commands)
{
    return d4r_stages_record_front(r->stages, commands, &r->frame);
}

d4r_status rig_record_back(rig *r, VkCommandBuffer commands)
{
    d4r_status status = d4r_stages_record_back(r->stages, commands);
    r->frame.index++;
    return status;
}

/* ---- surfaces */

d4r_stage_resource rig_resource(rig *r, const char *name)
{
    d4r_stage_resource list[32];
    const uint32_t count = d4r_stages_resources(r->stages, list, 32);
    for (uint32_t i = 0; i < count && i < 32; i++)
        if (strcmp(list[i].name, name) == 0) return list[i];
    return (d4r_stage_resource){0};
}

static void read_raw(rig *r, const d4r_stage_resource *s, uint32_t bytes, void *out)
{
    if (s->image)
        vk_test_read_image(r->t, s->image, s->extent.width, s->extent.height, bytes, out);
    else
        vk_test_read_buffer(r->t, s->buffer, s->size, out);
}

/* An image resource as values. */
static ref_image read_surface(rig *r, const char *name)
{
    const d4r_stage_resource s = rig_resource(r, name);
    require(s.image != VK_NULL_HANDLE, name);
    const bool half = strcmp(s.dtype, "<f2") == 0, sign = strcmp(s.dtype, "|i1") == 0;
    ref_image image = ref_image_new((int)s.extent.width, (int)s.extent.height, (int)s.channels);
    const size_t count = (size_t)s.extent.width * s.extent.height * s.channels;
    void *raw = malloc(count * 2);
    read_raw(r, &s, s.channels * (half ? 2 : 1), raw);
    for (size_t i = 0; i < count; i++)
        image.v[i] = half   ? ref_half_value(((uint16_t *)raw)[i])
                     : sign ? fmax(((int8_t *)raw)[i] / 127.0, -1)
                            : ((uint8_t *)raw)[i] / 255.0;
    free(raw);
    return image;
}

const void *rig_read_output(rig *r)
{
    const uint32_t bytes = r->params.output_format == VK_FORMAT_R16G16B16A16_SFLOAT ? 8 : 4;
    const uint32_t w = r->output.extent.width, h = r->output.extent.height, o = r->params.origin;
    uint8_t *all = r->output_pixels;
    vk_test_read_image(r->t, r->output.image, w, h, bytes, all);
    const d4r_size size = r->params.output;
    for (uint32_t y = 0; y < size.height; y++)
        memmove(all + (size_t)y * size.width * bytes, all + ((size_t)(y + o) * w + o) * bytes,
                (size_t)size.width * bytes);
    return all;
}

void rig_reload_histories(rig *r)
{
    drop_histories(r);
    r->mv_a = read_surface(r, "mv_a");
    r->recurrent = read_surface(r, "recurrent");
    r->history = read_surface(r, "history");
    r->half = read_surface(r, "half");
}

/* ---- comparison */

static double half_ulp(double v)
{
    int exponent;
    frexp(v, &exponent);
    return ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
}

static void lower(double *worst, double share)
{
    if (share < *worst) *worst = share;
}

/* Share of values of `got` within 2 ulp of f16, 2e-6 and the slack of `want`. */
static double half_share(const ref_image *got, const ref_image *want, const ref_image *slack)
{
    size_t good = 0, count = (size_t)want->width * want->height * want->channels;
    for (int y = 0; y < want->height; y++)
        for (int x = 0; x < want->width; x++)
            for (int c = 0; c < want->channels; c++) {
                const double v = ref_at(want, x, y)[c], s = slack ? ref_at(slack, x, y)[c] : 0;
                if (fabs(ref_at(got, x, y)[c] - v) <= fmax(2 * half_ulp(v), 2e-6) + s) good++;
            }
    return (double)good / (double)count;
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

static bool all_finite(const ref_image *image)
{
    for (size_t i = 0; i < (size_t)image->width * image->height * image->channels; i++)
        if (!isfinite(image->v[i])) return false;
    return true;
}

static double check_exposure(rig *r, double *now)
{
    float state[4];
    const d4r_stage_resource s = rig_resource(r, "exposure");
    vk_test_read_buffer(r->t, s.buffer, sizeof state, state);
    const ref_exposure_result want = ref_exposure(&r->reference);
    const double before = r->reference.reset ? want.exposure : r->last_exposure;
    *now = state[0];
    r->last_exposure = r->reference.reset ? state[0] : r->last_exposure;
    double error = fabs(state[0] / want.exposure - 1);
    error = fmax(error, fabs(state[1] / before - 1));
    error = fmax(error, fabs(state[3] - want.count));
    return error;
}

/* Share of identical codes; with filter slack a code counts when a feature within its slack could have changed it,
 * which is not decidable here: the caller lowers the threshold instead. */
static double check_tokens(rig *r, const ref_input *in)
{
    const d4r_sizes *s = &r->reference.sizes;
    ref_image features = ref_image_new((int)s->render.width, (int)s->render.height, 20);
    ref_image slack = ref_image_new((int)s->render.width, (int)s->render.height, 20);
    uint8_t *want = malloc(s->token_bytes), *got = malloc(s->token_bytes);
    ref_features(&r->reference, in, &features, &slack);
    ref_tokens(&r->reference, &features, r->weights, want);
    vk_test_read_buffer(r->t, r->tokens.buffer, s->token_bytes, got);
    size_t good = 0;
    for (size_t i = 0; i < s->token_bytes; i++)
        good += (got[i] & 127 ? got[i] : 0) == (want[i] & 127 ? want[i] : 0);
    free(want);
    free(got);
    ref_image_free(&features);
    ref_image_free(&slack);
    return (double)good / (double)s->token_bytes;
}

static double motion_share(const ref_image *got, const ref_image *want)
{
    size_t good = 0, count = (size_t)want->width * want->height * 2;
    for (size_t i = 0; i < count; i++) good += got->v[i] == want->v[i];
    return (double)good / (double)count;
}

static void check_input(rig *r, ref_input *in, rig_result *result)
{
    const int w = (int)r->reference.sizes.render.width, h = (int)r->reference.sizes.render.height;
    ref_image a = ref_image_new(w, h, 2), b = ref_image_new(w, h, 2), c = ref_image_new(w, h, 2);
    ref_motion(&r->reference, &a, &b, &c);
    lower(&result->motion, motion_share(&in->mv_a, &a));
    lower(&result->motion, motion_share(&in->mv_b, &b));
    lower(&result->motion, motion_share(&in->mv_c, &c));
    lower(&result->tokens, check_tokens(r, in));
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
    ref_expansion(&r->reference, r->head_codes, r->weights, &in->mv_a, &in->recurrent_previous, &want);
    const ref_image *slack = r->params.hardware_filter ? &want.recurrent_slack : NULL;
    lower(&result->recurrent, code_share(recurrent, &want.recurrent, 127, slack));
    lower(&result->gates, code_share(gates, &want.gates, 255, NULL));
    lower(&result->mix, code_share(mix, &want.mix, 255, NULL));
    lower(&result->covariance, half_share(covariance, &want.covariance, NULL));
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
                const double slack =
                    r->params.hardware_filter ? ref_at(&want->history_slack, x, y)[c] / range * top[c] : 0;
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
    const bool hardware = r->params.hardware_filter;
    lower(&result->history, half_share(&r->history, &want.history, hardware ? &want.history_slack : NULL));
    lower(&result->half, half_share(&r->half, &want.half, hardware ? &half_slack : NULL));
    lower(&result->display, display_share(r, display, &want));
    ref_image_free(&want.history);
    ref_image_free(&want.history_slack);
    ref_image_free(&want.half);
    ref_image_free(&want.display);
    ref_image_free(&half_slack);
}

static void check_output(rig *r, const uint32_t *display, double exposure, rig_result *result)
{
    static const double top[4] = {1023, 1023, 1023, 3};
    const d4r_size o = r->params.output;
    const bool unorm = r->params.output_format != VK_FORMAT_R16G16B16A16_SFLOAT;
    ref_image want = ref_image_new((int)o.width, (int)o.height, 4);
    ref_downsample(&r->reference, display, exposure, unorm, &want);
    const void *pixels = rig_read_output(r);
    size_t good = 0;
    for (size_t i = 0; i < (size_t)o.width * o.height * 4; i++) {
        const double v = want.v[i];
        if (unorm) {
            const int c = (int)(i & 3);
            const double got = ((const uint32_t *)pixels)[i / 4] >> 10 * c & (uint32_t)top[c];
            good += fabs(got - nearbyint(v * top[c])) <= 1;
        } else {
            const double got = ref_half_value(((const uint16_t *)pixels)[i]);
            if (!isfinite(got)) result->finite = false;
            good += fabs(got - v) <= fmax(2 * half_ulp(v), 2e-6);
        }
    }
    lower(&result->output, (double)good / (double)(o.width * o.height * 4));
    ref_image_free(&want);
}

rig_result rig_result_start(void)
{
    return (rig_result){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true};
}

void rig_result_print(const char *name, const rig_result *s)
{
    printf(
        "%-22s mv %.5f tok %.5f rec %.5f gates %.5f mix %.5f cov %.5f hist %.5f half %.5f disp %.5f out %.5f "
        "exp %.1e%s\n",
        name, s->motion, s->tokens, s->recurrent, s->gates, s->mix, s->covariance, s->history, s->half,
        s->display, s->output, s->exposure_error, s->finite ? "" : " NOT FINITE");
}

static void compare(rig *r, rig_result *result)
{
    const ref_frame *f = &r->reference;
    double exposure;
    result->exposure_error = fmax(result->exposure_error, check_exposure(r, &exposure));
    ref_input in = {.color = ref_image_new((int)f->sizes.render.width, (int)f->sizes.render.height, 3),
                    .mv_a = read_surface(r, "mv_a"),
                    .mv_b = read_surface(r, "mv_b"),
                    .mv_c = read_surface(r, "mv_c"),
                    .mv_a_previous = r->mv_a,
                    .recurrent_previous = r->recurrent,
                    .half_previous = r->half,
                    .exposure = exposure,
                    .previous_exposure = r->last_exposure};
    ref_color(f, &in.color);
    check_input(r, &in, result);
    ref_image gates = read_surface(r, "gates"), mix = read_surface(r, "mix"),
              cov = read_surface(r, "covariance");
    ref_image recurrent = read_surface(r, "recurrent"), history_previous = r->history;
    check_expansion(r, &in, &recurrent, &gates, &mix, &cov, result);
    r->history = read_surface(r, "history");
    ref_image half_previous = r->half;
    r->half = read_surface(r, "half");
    const ref_reconstruct reconstruct = {
        in.color, gates, mix, cov, in.mv_a, in.mv_b, in.mv_c, history_previous, exposure, r->last_exposure};
    const d4r_stage_resource s = rig_resource(r, "display");
    uint32_t *display = malloc(s.size);
    vk_test_read_buffer(r->t, s.buffer, s.size, display);
    check_reconstruction(r, &reconstruct, display, result);
    check_output(r, display, exposure, result);
    result->finite &= all_finite(&r->history) && all_finite(&r->half) && all_finite(&cov) &&
                      all_finite(&in.mv_a) && all_finite(&in.mv_b) && all_finite(&in.mv_c);
    free(display);
    ref_image *old[] = {&in.color,      &in.mv_b,          &in.mv_c, &r->mv_a, &r->recurrent,
                        &half_previous, &history_previous, &gates,   &mix,     &cov};
    ref_image_free(&in.color);
    for (size_t i = 1; i < sizeof old / sizeof *old; i++) ref_image_free(old[i]);
    r->mv_a = in.mv_a;
    r->recurrent = recurrent;
    r->last_exposure = exposure;
}

void rig_run(rig *r, const rig_input *in, rig_result *result)
{
    rig_upload(r, in);
    VkCommandBuffer commands = vk_test_begin(r->t);
    require(rig_record_front(r, commands) == D4R_OK, "record_front failed");
    vk_test_submit(r->t, commands);
    commands = vk_test_begin(r->t);
    require(rig_record_back(r, commands) == D4R_OK, "record_back failed");
    vk_test_submit(r->t, commands);
    compare(r, result);
}
