/* The upscaler end to end on lavapipe with the CPU network, its own validation on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/engine/content.h"
#include "tests/engine/test_model.h"

#define LAVAPIPE "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"

static d4r_model *model;

/* ---- log ---- */

static atomic_uint errors, validation_messages;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[1024], infos[8192];

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (getenv("D4R_TEST_VERBOSE")) fprintf(stderr, "[%d] %s\n", (int)level, line);
    if (strncmp(line, "validation:", 11) == 0) {
        fprintf(stderr, "%s\n", line);
        atomic_fetch_add(&validation_messages, 1);
    }
    pthread_mutex_lock(&log_lock);
    if (level == D4R_LOG_ERROR) snprintf(last_error, sizeof last_error, "%s", line);
    if (level == D4R_LOG_INFO && strlen(infos) + strlen(line) + 2 < sizeof infos)
        strcat(strcat(infos, line), "\n");
    pthread_mutex_unlock(&log_lock);
    if (level == D4R_LOG_ERROR) atomic_fetch_add(&errors, 1);
}

static d4r_upscaler_params params_for(d4r_size render, d4r_size output)
{
    d4r_upscaler_params p = d4r_upscaler_params_default();
    p.model = model;
    p.max_render = render;
    p.output = output;
    p.validation = true;
    p.cpu_threads = 2;
    p.log = (d4r_log){on_log, NULL, D4R_LOG_INFO};
    return p;
}

static d4r_upscaler *create(const d4r_upscaler_params *params)
{
    d4r_upscaler *u = NULL;
    assert_int_equal(d4r_upscaler_create(params, &u), D4R_OK);
    return u;
}

static size_t output_bytes(const d4r_upscaler_params *p)
{
    return (size_t)p->output.width * p->output.height * d4r_pixel_format_bytes(p->output_format);
}

/* ---- sequences ---- */

/* Runs `frames` frames with the given depth of flight; all outputs one after the other. */
static uint8_t *run_sequence(const d4r_upscaler_params *params, uint32_t frames, uint32_t seed)
{
    d4r_upscaler *u = create(params);
    size_t bytes = output_bytes(params);
    uint8_t *out = malloc(bytes * frames);
    uint32_t flight = params->frames_in_flight;
    uint64_t ticket;
    assert_non_null(out);
    for (uint32_t n = 0; n < frames + flight; n++) {
        if (n >= flight)
            assert_int_equal(d4r_upscaler_wait(u, n - flight, out + bytes * (n - flight), bytes, 0), D4R_OK);
        if (n >= frames) continue;
        test_content content;
        assert_true(test_content_create(&content, params->max_render, n, seed));
        d4r_upscaler_frame frame = test_content_frame(&content, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(ticket, n);
        test_content_destroy(&content); /* planes may go at once */
    }
    d4r_upscaler_destroy(&u);
    assert_null(u);
    return out;
}

static void frames_in_flight(void **state)
{
    d4r_upscaler_params p = params_for((d4r_size){80, 72}, (d4r_size){160, 150});
    uint8_t *reference, *other;
    (void)state;
    p.frames_in_flight = 1;
    reference = run_sequence(&p, 8, 1);
    for (uint32_t flight = 3; flight <= 8; flight += 5) {
        p.frames_in_flight = flight;
        other = run_sequence(&p, 8, 1);
        assert_memory_equal(reference, other, output_bytes(&p) * 8);
        free(other);
    }
    other = run_sequence(&p, 8, 2);
    assert_memory_not_equal(reference, other, output_bytes(&p)); /* the output does depend on the input */
    free(other);
    free(reference);
    assert_int_equal(validation_messages, 0);
}

typedef struct job {
    d4r_upscaler_params params;
    uint32_t seed;
    uint8_t *out;
} job;

static void *run_job(void *argument)
{
    job *j = argument;
    j->out = run_sequence(&j->params, 6, j->seed);
    return NULL;
}

/* Two upscalers on one model, of different size, in two threads at the same time. */
static void two_at_once(void **state)
{
    job jobs[2] = {{.params = params_for((d4r_size){64, 64}, (d4r_size){128, 128}), .seed = 3},
                   {.params = params_for((d4r_size){97, 75}, (d4r_size){201, 165}), .seed = 4}};
    uint8_t *alone[2];
    pthread_t threads[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        jobs[i].params.frames_in_flight = 3;
        run_job(&jobs[i]);
        alone[i] = jobs[i].out;
    }
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_memory_equal(alone[i], jobs[i].out, 6 * output_bytes(&jobs[i].params));
        free(alone[i]);
        free(jobs[i].out);
    }
    assert_int_equal(validation_messages, 0);
}

/* ---- refusals ---- */

static void refuse_create(const d4r_upscaler_params *params, d4r_status status, const char *text)
{
    d4r_upscaler *u = (d4r_upscaler *)1;
    last_error[0] = 0;
    assert_int_equal(d4r_upscaler_create(params, &u), status);
    assert_null(u);
    if (!strstr(last_error, text)) fail_msg("\"%s\" not in \"%s\"", text, last_error);
}

static void create_refusals(void **state)
{
    const d4r_upscaler_params good = params_for((d4r_size){64, 64}, (d4r_size){128, 128});
    d4r_upscaler_params bad;
    (void)state;
#define REFUSE(change, status, text) \
    bad = good;                      \
    change;                          \
    refuse_create(&bad, status, text)
    REFUSE(bad.model = NULL, D4R_ERROR_ARGUMENT, "params.model");
    REFUSE(bad.output = ((d4r_size){32, 128}), D4R_ERROR_ARGUMENT, "params.output is 32x128");
    if (test_preset() == D4R_PRESET_M) { /* K has no image larger than the output */
        REFUSE(bad.output.width = 12000, D4R_ERROR_ARGUMENT, "maxImageDimension2D");
    }
    REFUSE(bad.max_render.width = 200, D4R_ERROR_ARGUMENT, "params.max_render is 200x64");
    REFUSE(bad.output_format = D4R_FORMAT_R32F, D4R_ERROR_ARGUMENT, "params.output_format");
    REFUSE(bad.frames_in_flight = 9, D4R_ERROR_ARGUMENT, "params.frames_in_flight is 9");
    REFUSE(bad.network = D4R_NETWORK_VULKAN, D4R_ERROR_FEATURE, "vulkan network");
    REFUSE(bad.network = 17, D4R_ERROR_ARGUMENT, "params.network is 17");
    REFUSE(bad.device = "no such card", D4R_ERROR_NO_DEVICE, "0 \"llvmpipe");
    REFUSE(bad.device = "7", D4R_ERROR_NO_DEVICE, "not the one asked for");
    assert_int_equal(d4r_upscaler_create(NULL, NULL), D4R_ERROR_ARGUMENT);
    d4r_upscaler_destroy(NULL);
    assert_int_equal(validation_messages, 0);
}

static void device_choice(void **state)
{
    d4r_upscaler_params p = params_for((d4r_size){64, 64}, (d4r_size){128, 128});
    const char *choices[] = {"0", "LLVMpipe", NULL};
    d4r_memory_info memory;
    (void)state;
    for (int i = 0; i < 3; i++) {
        d4r_upscaler *u;
        p.device = choices[i];
        p.network = i == 2 ? D4R_NETWORK_AUTO : D4R_NETWORK_CPU;
        u = create(&p);
        assert_non_null(strstr(d4r_upscaler_description(u), "llvmpipe"));
        assert_non_null(strstr(d4r_upscaler_description(u), "cpu network: 2 threads"));
        assert_int_equal(d4r_upscaler_memory(u, &memory), D4R_OK);
        assert_true(memory.device_bytes > 0 && memory.staging_bytes > 0 && memory.network_bytes > 0);
        d4r_upscaler_destroy(&u);
    }
    assert_non_null(strstr(infos, "network auto:"));
}

static d4r_upscaler *submitting;
static void refuse_frame(d4r_upscaler_frame frame, d4r_status status, const char *text)
{
    uint64_t ticket = 99;
    last_error[0] = 0;
    assert_int_equal(d4r_upscaler_submit(submitting, &frame, &ticket), status);
    assert_int_equal(ticket, 99);
    if (!strstr(last_error, text)) fail_msg("\"%s\" not in \"%s\"", text, last_error);
}

static void frame_refusals(void **state)
{
    d4r_upscaler_params p = params_for((d4r_size){80, 64}, (d4r_size){128, 128});
    test_content content;
    d4r_upscaler_frame good, bad;
    uint64_t ticket;
    void *pixels = malloc(output_bytes(&p));
    (void)state;
    submitting = create(&p);
    assert_true(test_content_create(&content, (d4r_size){80, 64}, 0, 1));
    good = test_content_frame(&content, 0);
#undef REFUSE
#define REFUSE(change, status, text) \
    bad = good;                      \
    change;                          \
    refuse_frame(bad, status, text)
    REFUSE(bad.color.data = NULL, D4R_ERROR_INPUT, "frame.color.data");
    REFUSE(bad.color.format = D4R_FORMAT_RG32F, D4R_ERROR_INPUT, "frame.color.format");
    REFUSE(bad.depth.format = D4R_FORMAT_NONE, D4R_ERROR_INPUT, "frame.depth.format");
    REFUSE(bad.color.size -= 1, D4R_ERROR_INPUT, "frame.color.size is 81919");
    REFUSE(bad.color.row_bytes = 1279, D4R_ERROR_INPUT, "frame.color.row_bytes is 1279");
    REFUSE(bad.motion.row_bytes = SIZE_MAX / 2, D4R_ERROR_INPUT, "frame.motion.size");
    REFUSE(bad.motion.extent.width = 128, D4R_ERROR_INPUT, "frame.motion.extent is 128x64; 80x64");
    REFUSE(bad.settings.render.height = 65, D4R_ERROR_ARGUMENT, "max_render of 80x64");
    REFUSE(bad.settings.render.width = 129, D4R_ERROR_ARGUMENT, "settings.render is 129x64");
    REFUSE(bad.settings.motion_scale.x = 0, D4R_ERROR_ARGUMENT, "settings.motion_scale");
    REFUSE(bad.settings.jitter.x = INFINITY, D4R_ERROR_ARGUMENT, "settings.jitter");
    assert_int_equal(d4r_upscaler_submit(submitting, NULL, &ticket), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_upscaler_submit(submitting, &good, &ticket), D4R_OK); /* still usable */
    assert_int_equal(ticket, 0);
    assert_int_equal(d4r_upscaler_wait(submitting, 1, pixels, output_bytes(&p), 0), D4R_ERROR_STATE);
    assert_int_equal(d4r_upscaler_wait(submitting, 0, pixels, output_bytes(&p) - 1, 0), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_upscaler_wait(submitting, 0, pixels, output_bytes(&p), 0), D4R_OK);
    assert_int_equal(d4r_upscaler_wait(submitting, 0, pixels, output_bytes(&p), 0), D4R_ERROR_STATE);
    assert_int_equal(d4r_upscaler_profile(submitting, 0, &(d4r_frame_profile){0}), D4R_ERROR_STATE);
    d4r_upscaler_destroy(&submitting);
    test_content_destroy(&content);
    free(pixels);
    assert_int_equal(validation_messages, 0);
}

/* ---- conventions and formats ---- */

static uint16_t half_of(float value)
{
    uint32_t bits;
    int exponent;
    memcpy(&bits, &value, 4);
    exponent = (int)(bits >> 23 & 255) - 112;
    if (exponent <= 0) return 0; /* small values do not matter here */
    return (uint16_t)((bits >> 16 & 0x8000) | (unsigned)exponent << 10 | (bits >> 13 & 0x3ff));
}

static bool all_finite(const uint16_t *halves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((halves[i] & 0x7c00) == 0x7c00) return false;
    return true;
}

/* Two frames with the given planes; the second output. */
static void *run_two(const d4r_upscaler_params *p, d4r_upscaler_frame frame)
{
    d4r_upscaler *u = create(p);
    void *pixels = malloc(output_bytes(p));
    uint64_t ticket;
    for (int n = 0; n < 2; n++) {
        frame.settings.jitter = d4r_jitter((uint64_t)n, 32);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d4r_upscaler_wait(u, ticket, pixels, output_bytes(p), 0), D4R_OK);
    }
    d4r_upscaler_destroy(&u);
    return pixels;
}

static void formats(void **state)
{
    const d4r_size render = {72, 64}, output = {129, 96};
    d4r_upscaler_params p = params_for(render, output);
    test_content content, large;
    d4r_upscaler_frame frame;
    uint16_t *color16 = malloc((size_t)72 * 64 * 8), *motion16 = malloc((size_t)72 * 64 * 4);
    float exposure = 0.7f;
    void *reference, *out;
    (void)state;
    assert_true(test_content_create(&content, render, 0, 5));
    assert_true(test_content_create(&large, output, 0, 5));
    frame = test_content_frame(&content, 0);
    reference = run_two(&p, frame);
    assert_true(all_finite(reference, output_bytes(&p) / 2));
    /* Rows with a gap: same bytes. */
    float *padded = calloc((size_t)100 * 64, 16);
    for (uint32_t y = 0; y < 64; y++)
        memcpy(padded + (size_t)y * 400, content.color + (size_t)y * 72 * 4, 72 * 16);
    frame.color.data = padded;
    frame.color.row_bytes = 1600;
    frame.color.size = (size_t)1600 * 64;
    out = run_two(&p, frame);
    assert_memory_equal(reference, out, output_bytes(&p));
    free(out);
    free(padded);
    /* f16 planes. */
    for (size_t i = 0; i < (size_t)72 * 64 * 4; i++) color16[i] = half_of(content.color[i]);
    for (size_t i = 0; i < (size_t)72 * 64 * 2; i++) motion16[i] = half_of(content.motion[i]);
    frame = test_content_frame(&content, 0);
    frame.color = (d4r_plane){color16, (size_t)72 * 64 * 8, 0, render, D4R_FORMAT_RGBA16F};
    frame.motion = (d4r_plane){motion16, (size_t)72 * 64 * 4, 0, render, D4R_FORMAT_RG16F};
    out = run_two(&p, frame);
    assert_true(all_finite(out, output_bytes(&p) / 2));
    assert_memory_not_equal(reference, out, output_bytes(&p));
    free(out);
    /* Motion at output size, exposure from an image, 10-bit output, LDR. */
    frame = test_content_frame(&content, 0);
    p.conventions.motion_at_output = true;
    p.conventions.exposure_mode = D4R_EXPOSURE_TEXTURE;
    frame.motion = test_content_frame(&large, 0).motion;
    frame.exposure = (d4r_plane){&exposure, 4, 0, {1, 1}, D4R_FORMAT_R32F};
    out = run_two(&p, frame);
    assert_true(all_finite(out, output_bytes(&p) / 2));
    free(out);
    p.conventions.ldr = true; /* the exposure image is not read then */
    frame.exposure.data = NULL;
    p.output_format = D4R_FORMAT_RGB10A2;
    free(run_two(&p, frame));
    free(reference);
    test_content_destroy(&content);
    test_content_destroy(&large);
    free(color16);
    free(motion16);
    assert_int_equal(validation_messages, 0);
}

/* Non-finite values in every plane: the output stays finite, then and later. Render sizes change on the way. */
static void bad_content(void **state)
{
    const float poison[] = {NAN, INFINITY, -INFINITY};
    const d4r_size renders[] = {{96, 96}, {64, 64}, {96, 70}, {96, 70}};
    d4r_upscaler_params p = params_for((d4r_size){96, 96}, (d4r_size){160, 128});
    d4r_upscaler *u = create(&p);
    uint16_t *pixels = malloc(output_bytes(&p));
    uint64_t ticket;
    (void)state;
    for (uint32_t n = 0; n < 4; n++) {
        test_content c;
        assert_true(test_content_create(&c, renders[n], n, 6));
        for (size_t i = 0; i < 60 && n < 3; i++) {
            size_t at = i * 67 % ((size_t)renders[n].width * renders[n].height);
            c.color[4 * at + i % 3] = poison[i % 3];
            c.motion[2 * at + i % 2] = poison[(i + 1) % 3];
            c.depth[at] = poison[(i + 2) % 3];
        }
        d4r_upscaler_frame frame = test_content_frame(&c, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d4r_upscaler_wait(u, ticket, pixels, output_bytes(&p), 0), D4R_OK);
        assert_true(all_finite(pixels, output_bytes(&p) / 2));
        test_content_destroy(&c);
    }
    d4r_upscaler_destroy(&u);
    free(pixels);
    assert_int_equal(validation_messages, 0);
}

/* ---- profile and dump ---- */

static void profile(void **state)
{
    static const char *const names_m[] = {"upload",    "exposure",       "input",      "network", "acquire",
                                          "expansion", "reconstruction", "downsample", "readback"};
    static const char *const names_k[] = {"upload",  "exposure",       "input",   "network",
                                          "acquire", "reconstruction", "readback"};
    const bool k = test_preset() == D4R_PRESET_K;
    const char *const *const names = k ? names_k : names_m;
    const size_t count = k ? sizeof names_k / sizeof *names_k : sizeof names_m / sizeof *names_m;
    d4r_upscaler_params p = params_for((d4r_size){64, 64}, (d4r_size){128, 128});
    d4r_upscaler *u;
    test_content c;
    d4r_frame_profile profile_data;
    uint64_t ticket;
    (void)state;
    p.profile = true;
    u = create(&p);
    assert_true(test_content_create(&c, (d4r_size){64, 64}, 0, 1));
    for (uint32_t n = 0; n < 3; n++) {
        double previous = 0;
        d4r_upscaler_frame frame = test_content_frame(&c, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 0), D4R_OK);
        assert_int_equal(d4r_upscaler_profile(u, ticket, &profile_data), D4R_OK);
        assert_int_equal(profile_data.count, count);
        for (uint32_t i = 0; i < profile_data.count; i++) {
            const d4r_stage_time *stage = &profile_data.stages[i];
            assert_string_equal(stage->name, names[i]);
            assert_true(stage->end_us >= stage->start_us);
            assert_int_equal(stage->host, strcmp(stage->name, "network") == 0);
            assert_true(stage->start_us >= previous); /* in order, without overlap */
            previous = stage->end_us;
        }
        assert_true(profile_data.frame_us >= previous);
    }
    d4r_upscaler_destroy(&u);
    test_content_destroy(&c);
    assert_int_equal(validation_messages, 0);
}

typedef struct dumped {
    unsigned items, frames;
    bool tokens, head, input, reconstruction;
    uint64_t last_frame;
} dumped;

static void on_dump(void *user, uint64_t frame, const d4r_dump_item *item)
{
    dumped *d = user;
    size_t bytes = 1;
    for (uint32_t i = 0; i < item->dimensions; i++) bytes *= item->shape[i];
    bytes *= (size_t)(item->dtype[2] - '0');
    assert_int_equal(bytes, item->size);
    assert_non_null(item->data);
    d->items++;
    d->last_frame = frame;
    if (strcmp(item->stage, "network") == 0) {
        assert_int_equal(item->dimensions, 3);
        const bool k = test_preset() == D4R_PRESET_K, head = strcmp(item->name, "head") == 0;
        assert_int_equal(item->shape[0], k ? 256 : 48); /* 96 / 2 */
        assert_int_equal(item->shape[1], k ? 256 : 32);
        assert_int_equal(item->shape[2], !k ? 64 : head ? 40 : 32);
        assert_string_equal(item->dtype, k ? "<f2" : "|u1");
        d->tokens = d->tokens || strcmp(item->name, "tokens") == 0;
        d->head = d->head || strcmp(item->name, "head") == 0;
    }
    d->input = d->input || strcmp(item->stage, "input") == 0;
    d->reconstruction = d->reconstruction || strcmp(item->stage, "reconstruction") == 0;
}

static void dump(void **state)
{
    d4r_upscaler_params p = params_for((d4r_size){64, 90}, (d4r_size){128, 128});
    dumped d = {0};
    test_content c;
    d4r_upscaler *u;
    uint64_t ticket;
    void *with = malloc(output_bytes(&p)), *without;
    (void)state;
    assert_true(test_content_create(&c, (d4r_size){64, 90}, 0, 1));
    without = run_two(&p, test_content_frame(&c, 0));
    p.dump = on_dump;
    p.dump_user = &d;
    u = create(&p);
    for (uint32_t n = 0; n < 2; n++) {
        d4r_upscaler_frame frame = test_content_frame(&c, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d.last_frame, n); /* delivered before submit returns */
        assert_int_equal(d4r_upscaler_wait(u, ticket, with, output_bytes(&p), 0), D4R_OK);
    }
    assert_true(d.tokens && d.head && d.input && d.reconstruction &&
                d.items > (test_preset() == D4R_PRESET_K ? 14 : 20));
    assert_memory_equal(with, without, output_bytes(&p)); /* looking changes nothing */
    d4r_upscaler_destroy(&u);
    test_content_destroy(&c);
    free(with);
    free(without);
    assert_int_equal(validation_messages, 0);
}

/* ---- failures while running ---- */

/* The CPU network takes longer than its bound: the frame fails, nothing hangs, the upscaler can still be used. */
static void network_too_slow(void **state)
{
    const d4r_size render = {512, 320};
    d4r_upscaler_params p = params_for(render, (d4r_size){576, 384});
    d4r_upscaler *u;
    test_content c;
    uint64_t ticket;
    (void)state;
    p.watchdog_ms = 1;
    u = create(&p);
    assert_true(test_content_create(&c, render, 0, 1));
    for (uint32_t n = 0; n < 3; n++) {
        d4r_upscaler_frame frame = test_content_frame(&c, n);
        d4r_status status;
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        status = d4r_upscaler_wait(u, ticket, NULL, 0, 0);
        assert_true(status == D4R_ERROR_TIMEOUT || status == D4R_ERROR_NETWORK);
    }
    d4r_upscaler_destroy(&u);
    /* Destroyed with frames under way. */
    p.watchdog_ms = 0;
    u = create(&p);
    for (uint32_t n = 0; n < 3; n++) {
        d4r_upscaler_frame frame = test_content_frame(&c, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
    }
    assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 1),
                     D4R_ERROR_TIMEOUT); /* the caller's own bound */
    assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 0), D4R_OK);
    d4r_upscaler_submit(u, &(d4r_upscaler_frame){0}, NULL);
    d4r_upscaler_destroy(&u);
    test_content_destroy(&c);
    assert_int_equal(validation_messages, 0);
}

/* ---- no device, no loader: in a process of its own, as the loader reads its environment once ---- */

static int child(const char *text)
{
    d4r_upscaler_params p = params_for((d4r_size){64, 64}, (d4r_size){128, 128});
    d4r_upscaler *u = NULL;
    d4r_status status;
    model = test_model_create(1);
    p.model = model;
    p.validation = false;
    status = d4r_upscaler_create(&p, &u);
    test_model_destroy(model);
    if (status == D4R_ERROR_NO_DEVICE && !u && strstr(last_error, text)) return 0;
    fprintf(stderr, "status %s: %s\n", d4r_status_name(status), last_error);
    return 1;
}

static char *self;
static int run_child(const char *variable, const char *value, const char *text)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        setenv(variable, value, 1);
        execl(self, self, "--child", text, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nothing_there(void **state)
{
    char folder[] = "/tmp/d4r-test-XXXXXX", path[64];
    FILE *file;
    (void)state;
    assert_int_equal(run_child("VK_ICD_FILENAMES", "/nonexistent.json", "no Vulkan driver"), 0);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libvulkan.so.1", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a library", file);
    fclose(file);
    assert_int_equal(run_child("LD_LIBRARY_PATH", folder, "no Vulkan loader"), 0);
    unlink(path);
    rmdir(folder);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(4);
    return model ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    test_model_destroy(model);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_in_flight),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(create_refusals),
        cmocka_unit_test(device_choice),
        cmocka_unit_test(frame_refusals),
        cmocka_unit_test(formats),
        cmocka_unit_test(bad_content),
        cmocka_unit_test(profile),
        cmocka_unit_test(dump),
        cmocka_unit_test(network_too_slow),
        cmocka_unit_test(nothing_there),
    };
    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "--child") == 0) return child(argv[2]);
    if (access(LAVAPIPE, R_OK) != 0) {
        fprintf(stderr, "skipped: no %s\n", LAVAPIPE);
        return 77;
    }
    /* The loader unloads driver and layer with the last instance; a leak checker could then not name them any more. */
    dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NODELETE);
    dlopen("libVkLayer_khronos_validation.so", RTLD_NOW | RTLD_NODELETE);
    setenv("VK_ICD_FILENAMES", LAVAPIPE, 0);
    setenv("VK_LAYER_ENABLES", "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 0);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, setup, teardown);
}
