#include "tests/stages/rig_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rig_require(bool ok, const char *what)
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
    r->output = vk_test_image(r->t, "output", d4r_stages_output_storage(r->params.output_format), ow, oh,
                              VK_IMAGE_USAGE_STORAGE_BIT, NULL,
                              r->params.output_format == VK_FORMAT_R16G16B16A16_SFLOAT ? 8 : 4);
    r->images = (d4r_frame_images){.color = described(r, &r->color),
                                   .depth = described(r, &r->depth),
                                   .motion = described(r, &r->motion),
                                   .exposure = described(r, &r->exposure),
                                   .output = described(r, &r->output)};
}

rig *rig_create(vk_test *t, const rig_params *params, const uint8_t *model)
{
    rig *r = calloc(1, sizeof *r);
    rig_require(r != NULL, "memory");
    r->t = t;
    r->params = *params;
    r->preset = params->preset ? params->preset : &rig_m;
    r->random = 12345;
    r->first = true;
    const size_t model_bytes = r->preset->weight_bytes + r->preset->table_bytes;
    r->model = malloc(model_bytes);
    memcpy(r->model, model, model_bytes);
    const d4r_size m = params->max_render, o = params->output;
    r->preset->sizes(&r->reference, m, o);
    const d4r_size grid = r->reference.sizes.token_grid;
    const size_t tokens = (size_t)grid.width * grid.height * r->preset->token_bytes;
    const size_t head = (size_t)grid.width * grid.height * r->preset->head_bytes;
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    rig_require(d4r_vk_buffer_create(&t->vk, "tokens", tokens, usage, 0, 0, false, &r->tokens) == D4R_OK,
                "tokens");
    rig_require(d4r_vk_buffer_create(&t->vk, "head", head, usage, 0, 0, false, &r->head) == D4R_OK, "head");
    create_images(r);
    const d4r_stages_desc desc = {.vk = &t->vk,
                                  .output = o,
                                  .max_render = m,
                                  .conventions = params->conventions,
                                  .output_format = params->output_format,
                                  .exact_filter = !params->hardware_filter,
                                  .weights = r->preset->weight_bytes ? r->model : NULL,
                                  .weight_bytes = r->preset->weight_bytes,
                                  .tables = r->preset->table_bytes ? r->model : NULL,
                                  .table_bytes = r->preset->table_bytes,
                                  .tokens = r->tokens.buffer,
                                  .head = r->head.buffer,
                                  .token_bytes = tokens,
                                  .head_bytes = head,
                                  .share = params->share};
    rig_filter_begin(r);
    rig_require(d4r_stages_create(r->preset->ops, &desc, &r->stages) == D4R_OK, "d4r_stages_create failed");
    r->stored_color = malloc((size_t)m.width * m.height * 16);
    r->stored_motion = malloc((size_t)o.width * o.height * 8);
    r->head_values = malloc(head);
    r->output_pixels = malloc((size_t)r->output.extent.width * r->output.extent.height * 8);
    r->reference.conventions = params->conventions;
    if (params->hardware_filter)
        r->reference.filter_step = ldexp(1, -(int)t->vk.properties.limits.subTexelPrecisionBits);
    if (params->filter_bits) r->reference.filter_step = ldexp(1, -8);
    return r;
}

void rig_drop_histories(rig *r)
{
    ref_image_free(&r->mv_a);
    ref_image_free(&r->recurrent);
    ref_image_free(&r->recurrent_high);
    ref_image_free(&r->history);
    ref_image_free(&r->half);
}

void rig_destroy(rig *r)
{
    d4r_stages_destroy(&r->stages);
    rig_filter_end(r);
    d4r_vk_image *images[] = {&r->color, &r->depth, &r->motion, &r->exposure, &r->output};
    for (int i = 0; i < 5; i++) d4r_vk_image_destroy(&r->t->vk, images[i]);
    d4r_vk_buffer_destroy(&r->t->vk, &r->tokens);
    d4r_vk_buffer_destroy(&r->t->vk, &r->head);
    rig_drop_histories(r);
    free(r->stored_color);
    free(r->stored_motion);
    free(r->head_values);
    free(r->model);
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
    r->preset->sizes(f, render, o);
    f->settings = in->settings;
    f->previous_jitter = r->frame.previous_jitter;
    f->previous_render = r->frame.previous_render;
    f->reset = r->frame.reset;
    f->index = (uint32_t)r->frame.index;
    f->color = r->stored_color;
    f->motion = r->stored_motion;
    f->depth = in->depth;
    f->exposure_texel = in->exposure_texel;
    const d4r_size grid = f->sizes.token_grid;
    const size_t bytes = (size_t)grid.width * grid.height * r->preset->head_bytes;
    if (in->head)
        memcpy(r->head_values, in->head, bytes);
    else
        r->preset->fill_head(&r->random, r->head_values, bytes);
    vk_test_write_buffer(r->t, r->head.buffer, bytes, r->head_values);
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
ref_image rig_read_surface(rig *r, const char *name)
{
    const d4r_stage_resource s = rig_resource(r, name);
    rig_require(s.image != VK_NULL_HANDLE, name);
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
    rig_drop_histories(r);
    r->preset->read_histories(r);
}

/* ---- comparison */

double rig_half_ulp(double v)
{
    int exponent;
    frexp(v, &exponent);
    return ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
}

void rig_lower(double *worst, double share)
{
    if (share < *worst) *worst = share;
}

/* Share of values of `got` within 2 ulp of f16, 2e-6 and the slack of `want`. */
double rig_half_share(const ref_image *got, const ref_image *want, const ref_image *slack)
{
    size_t good = 0, count = (size_t)want->width * want->height * want->channels;
    for (int y = 0; y < want->height; y++)
        for (int x = 0; x < want->width; x++)
            for (int c = 0; c < want->channels; c++) {
                const double v = ref_at(want, x, y)[c], s = slack ? ref_at(slack, x, y)[c] : 0;
                if (fabs(ref_at(got, x, y)[c] - v) <= fmax(2 * rig_half_ulp(v), 2e-6) + s) good++;
            }
    return (double)good / (double)count;
}

bool rig_all_finite(const ref_image *image)
{
    for (size_t i = 0; i < (size_t)image->width * image->height * image->channels; i++)
        if (!isfinite(image->v[i])) return false;
    return true;
}

double rig_check_exposure(rig *r, bool kept, double *now)
{
    float state[4];
    const d4r_stage_resource s = rig_resource(r, "exposure");
    vk_test_read_buffer(r->t, s.buffer, sizeof state, state);
    const ref_exposure_result want = ref_exposure(&r->reference);
    const double wanted = kept ? r->last_exposure : want.exposure;
    const double before = r->reference.reset ? wanted : r->last_exposure;
    *now = state[0];
    r->last_exposure = r->reference.reset ? state[0] : r->last_exposure;
    double error = fabs(state[0] / wanted - 1);
    error = fmax(error, fabs(state[1] / before - 1));
    if (!kept) r->last_count = want.count;
    return fmax(error, fabs(state[3] - r->last_count));
}

double rig_identical(const ref_image *got, const ref_image *want)
{
    size_t good = 0, count = (size_t)want->width * want->height * 2;
    for (size_t i = 0; i < count; i++) good += got->v[i] == want->v[i];
    return (double)good / (double)count;
}

/* Share within one code of RGB10A2, or 2 ulp or 2e-6 of f16, and the slack of `want`. */
double rig_output_share(rig *r, const ref_image *want, const ref_image *slack, bool *finite)
{
    static const double top[4] = {1023, 1023, 1023, 3};
    const d4r_size o = r->params.output;
    const bool unorm = r->params.output_format != VK_FORMAT_R16G16B16A16_SFLOAT;
    const void *pixels = rig_read_output(r);
    size_t good = 0;
    for (size_t i = 0; i < (size_t)o.width * o.height * 4; i++) {
        const double v = want->v[i], s = slack ? slack->v[i] : 0;
        if (unorm) {
            const int c = (int)(i & 3);
            const double got = ((const uint32_t *)pixels)[i / 4] >> 10 * c & (uint32_t)top[c];
            good += fabs(got - nearbyint(v * top[c])) <= 1 + s * top[c];
        } else {
            const double got = ref_half_value(((const uint16_t *)pixels)[i]);
            if (!isfinite(got)) *finite = false;
            good += fabs(got - v) <= fmax(2 * rig_half_ulp(v), 2e-6) + s;
        }
    }
    return (double)good / (double)(o.width * o.height * 4);
}

rig_result rig_result_start(void)
{
    return (rig_result){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true, 0, 0};
}

void rig_result_print(const char *name, const rig_result *s)
{
    printf(
        "%-22s mv %.5f tok %.5f rec %.5f gates %.5f mix %.5f cov %.5f hist %.5f half %.5f disp %.5f out %.5f "
        "exp %.1e outside %.5f of %.5f%s\n",
        name, s->motion, s->tokens, s->recurrent, s->gates, s->mix, s->covariance, s->history, s->half,
        s->display, s->output, s->exposure_error, s->outside, s->ambiguous, s->finite ? "" : " NOT FINITE");
}

void rig_run(rig *r, const rig_input *in, rig_result *result)
{
    rig_upload(r, in);
    VkCommandBuffer commands = vk_test_begin(r->t);
    rig_require(rig_record_front(r, commands) == D4R_OK, "record_front failed");
    vk_test_submit(r->t, commands);
    commands = vk_test_begin(r->t);
    rig_require(rig_record_back(r, commands) == D4R_OK, "record_back failed");
    vk_test_submit(r->t, commands);
    r->preset->compare(r, result);
}
