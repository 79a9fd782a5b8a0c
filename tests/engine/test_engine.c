/* The recording level: arguments, resets, two engines, both ways to the shared memory, clean-up after failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/engine.h"
#include "tests/engine/hook.h"
#include "tests/engine/rig.h"
#include "tests/engine/test_model.h"
#include "vk_stages/stages_internal.h"

static vk_test device;
static d4r_model *model;

static unsigned open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static d4r_network *cpu_network(void)
{
    d4r_network *network = NULL;
    d4r_cpu_network_params params = {.threads = 2};
    assert_int_equal(d4r_network_create_cpu(model, &params, NULL, &network), D4R_OK);
    return network;
}

/* ---- arguments ---- */

static void expect_refusal(const d4r_engine_params *params, d4r_status status, const char *field)
{
    d4r_engine *engine = (d4r_engine *)1;
    rig_last_error();
    assert_int_equal(d4r_engine_create(params, &engine), status);
    assert_null(engine);
    assert_non_null(strstr(rig_last_error(), field));
}

static void create_arguments(void **state)
{
    d4r_network *network = cpu_network();
    rig_params rp = {.model = model, .network = network, .render = {64, 64}, .output = {128, 96}};
    const d4r_engine_params good = rig_engine_params(&device, &rp);
    d4r_engine_params bad;
    (void)state;
#define REFUSE(change, status, field)        \
    do {                                     \
        bad = good;                          \
        change;                              \
        expect_refusal(&bad, status, field); \
    } while (0)
    REFUSE(bad.model = NULL, D4R_ERROR_ARGUMENT, "model");
    REFUSE(bad.network = NULL, D4R_ERROR_ARGUMENT, "network");
    REFUSE(bad.output_format = VK_FORMAT_R32G32B32A32_SFLOAT, D4R_ERROR_ARGUMENT, "output_format");
    REFUSE(bad.output = ((d4r_size){63, 96}), D4R_ERROR_ARGUMENT, "output is 63x96");
    REFUSE(bad.output = ((d4r_size){128, 16385}), D4R_ERROR_ARGUMENT, "output is 128x16385");
    if (test_preset() == D4R_PRESET_M) /* K has no image larger than the output */
        REFUSE(bad.output = ((d4r_size){16384, 96}), D4R_ERROR_ARGUMENT, "maxImageDimension2D");
    REFUSE(bad.max_render = ((d4r_size){129, 96}), D4R_ERROR_ARGUMENT, "max_render is 129x96");
    REFUSE(bad.max_render = ((d4r_size){128, 63}), D4R_ERROR_ARGUMENT, "max_render is 128x63");
    REFUSE(bad.conventions.motion_unit = 9, D4R_ERROR_ARGUMENT, "motion_unit");
    REFUSE(bad.conventions.exposure_mode = 9, D4R_ERROR_ARGUMENT, "exposure_mode");
    REFUSE(bad.device.queue_family = 99, D4R_ERROR_ARGUMENT, "queue_family");
    REFUSE(bad.device.device = VK_NULL_HANDLE, D4R_ERROR_ARGUMENT, "device");
    REFUSE(bad.device.get_instance_proc_addr = NULL, D4R_ERROR_ARGUMENT, "get_instance_proc_addr");
    assert_int_equal(d4r_engine_create(NULL, NULL), D4R_ERROR_ARGUMENT);
    d4r_engine_destroy(NULL);
    d4r_network_destroy(&network);
    assert_int_equal(device.messages, 0);
}

static rig *current;
static void expect_front(d4r_frame_images images, d4r_frame_settings settings, const char *field)
{
    d4r_frame frame;
    VkCommandBuffer commands = vk_test_begin(&device);
    rig_last_error();
    assert_int_equal(d4r_engine_record_front(current->engine, commands, &images, &settings, &frame),
                     D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(rig_last_error(), field));
    vk_test_submit(&device, commands); /* nothing was recorded into it */
}

static void record_arguments(void **state)
{
    d4r_network *network = cpu_network();
    rig_params params = {.model = model, .network = network, .render = {80, 64}, .output = {128, 96}};
    rig r;
    d4r_frame_images good, images;
    d4r_frame_settings fine, settings;
    d4r_frame frame = {0};
    (void)state;
    rig_create(&r, &device, &params);
    current = &r;
    good = rig_images(&r);
    fine = rig_settings(&r, 0);
#define REFUSE_FRONT(change, field) \
    images = good;                  \
    settings = fine;                \
    change;                         \
    expect_front(images, settings, field)
    REFUSE_FRONT(images.color.view = VK_NULL_HANDLE, "images.color.view");
    REFUSE_FRONT(images.depth.layout = VK_IMAGE_LAYOUT_UNDEFINED, "images.depth.layout");
    REFUSE_FRONT(images.output.layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, "images.output.layout");
    REFUSE_FRONT(images.motion.origin_x = 1, "images.motion");
    REFUSE_FRONT(images.motion.origin_y = UINT32_MAX, "images.motion");
    REFUSE_FRONT(images.output.extent.height = 95, "images.output");
    REFUSE_FRONT(settings.render.width = 63, "settings.render is 63x64");
    REFUSE_FRONT(settings.render.width = 129, "settings.render is 129x64");
    REFUSE_FRONT(settings.render.width = 81, "max_render of 80x64");
    REFUSE_FRONT(settings.jitter.x = NAN, "settings.jitter");
    REFUSE_FRONT(settings.motion_scale.y = 0, "settings.motion_scale");
    REFUSE_FRONT(settings.motion_scale.x = INFINITY, "settings.motion_scale");
    REFUSE_FRONT(settings.pre_exposure = 0, "settings.pre_exposure");
    assert_int_equal(d4r_engine_record_front(r.engine, NULL, &good, &fine, &frame), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_engine_record_back(r.engine, r.back[0], &frame), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_engine_record_back(NULL, r.back[0], &frame), D4R_ERROR_ARGUMENT);
    assert_int_equal(rig_run(&r, 0), D4R_OK); /* none of it did any harm */
    rig_destroy(&r);
    d4r_network_destroy(&network);
    assert_int_equal(device.messages, 0);
}

/* ---- resets ---- */

static d4r_stage_frame run_with(rig *r, uint32_t n, d4r_frame_settings settings)
{
    const struct VolkDeviceTable *fn = &device.vk.fn;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    d4r_frame_images images = rig_images(r);
    VkCommandBuffer front = r->front[n % RIG_SLOTS], back = r->back[n % RIG_SLOTS];
    d4r_frame frame;
    fn->vkBeginCommandBuffer(front, &begin);
    assert_int_equal(d4r_engine_record_front(r->engine, front, &images, &settings, &frame), D4R_OK);
    fn->vkEndCommandBuffer(front);
    fn->vkBeginCommandBuffer(back, &begin);
    assert_int_equal(d4r_engine_record_back(r->engine, back, &frame), D4R_OK);
    fn->vkEndCommandBuffer(back);
    rig_queue(r, n, &frame);
    assert_int_equal(d4r_network_submit(&frame), D4R_OK);
    assert_true(rig_wait(r, RIG_PATIENCE_MS));
    assert_int_equal(d4r_frame_status(&frame), D4R_OK);
    return r->engine->stages->frame;
}

static void resets(void **state)
{
    script s;
    rig r;
    rig_params params = {.model = model, .render = {96, 80}, .output = {128, 96}};
    d4r_frame_settings settings;
    d4r_stage_frame seen;
    d4r_vec2 before;
    (void)state;
    script_init(&s);
    params.network = script_network(&s, 5000);
    rig_create(&r, &device, &params);
    settings = rig_settings(&r, 3);
    seen = run_with(&r, 0, settings);
    assert_true(seen.reset); /* the first frame, which has no previous jitter */
    assert_memory_equal(&seen.previous_jitter, &settings.jitter, sizeof(d4r_vec2));
    settings = rig_settings(&r, 4);
    seen = run_with(&r, 1, settings);
    assert_false(seen.reset);
    before = d4r_jitter(3, 32);
    assert_memory_equal(&seen.previous_jitter, &before, sizeof before);
    settings.render = (d4r_size){64, 64};
    seen = run_with(&r, 2, settings);
    assert_false(seen.reset); /* another render size does not */
    assert_int_equal(seen.previous_render.width, 96);
    assert_int_equal(seen.previous_render.height, 80);
    assert_false(run_with(&r, 3, settings).reset);
    settings.reset = true;
    seen = run_with(&r, 4, settings);
    assert_true(seen.reset);
    assert_memory_equal(&seen.previous_jitter, &settings.jitter, sizeof(d4r_vec2));
    assert_int_equal(seen.index, 4);
    d4r_engine_forget_view(r.engine, r.color.view);
    settings.reset = false;
    assert_false(run_with(&r, 5, settings).reset);
    rig_destroy(&r);
    d4r_network_destroy(&params.network);
    script_end(&s);
    assert_int_equal(device.messages, 0);
}

/* ---- networks ---- */

static void one_network_one_engine(void **state)
{
    d4r_network *network = cpu_network();
    rig_params params = {.model = model, .network = network, .render = {64, 64}, .output = {128, 96}};
    d4r_engine_params second = rig_engine_params(&device, &params);
    d4r_engine *engine = NULL;
    d4r_memory_info memory;
    char text[256];
    rig r;
    (void)state;
    rig_create(&r, &device, &params);
    assert_int_equal(d4r_engine_create(&second, &engine), D4R_ERROR_STATE);
    assert_int_equal(d4r_engine_memory(r.engine, &memory), D4R_OK);
    assert_true(memory.device_bytes > memory.shared_bytes && memory.weight_bytes > 0);
    d4r_sizes sizes;
    assert_int_equal(d4r_preset_sizes(test_preset(), params.render, params.output, &sizes), D4R_OK);
    assert_true(memory.shared_bytes >= sizes.token_bytes + sizes.head_bytes && memory.network_bytes > 0);
    d4r_network_describe(network, text, sizeof text);
    assert_non_null(strstr(text, "mapped by fd")); /* lavapipe's fds are memfds */
    rig_destroy(&r);
    assert_int_equal(d4r_engine_create(&second, &engine), D4R_OK); /* free again */
    d4r_engine_destroy(&engine);
    d4r_network_destroy(&network);
    assert_int_equal(device.messages, 0);
}

/* Without exported fds the CPU network uses the driver's mapping: same bytes. */
static void by_fd_and_by_mapping(void **state)
{
    void *outputs[2];
    size_t size = 0;
    (void)state;
    hook_init(&device);
    for (int i = 0; i < 2; i++) {
        d4r_network *network = cpu_network();
        rig_params params = {.model = model,
                             .network = network,
                             .render = {64, 64},
                             .output = {128, 96},
                             .get_instance_proc_addr = hook_get_instance_proc_addr};
        char text[256];
        rig r;
        hook_hide(i ? "vkGetMemoryFdKHR" : NULL);
        rig_create(&r, &device, &params);
        assert_int_equal(r.status, D4R_OK);
        d4r_network_describe(network, text, sizeof text);
        assert_non_null(strstr(text, i ? "mapped memory" : "mapped by fd"));
        assert_int_equal(r.engine->shared.info.tokens_fd == -1, i);
        for (uint32_t n = 0; n < 3; n++) assert_int_equal(rig_run(&r, n), D4R_OK);
        outputs[i] = rig_read(&r, &size);
        rig_destroy(&r);
        d4r_network_destroy(&network);
    }
    assert_memory_equal(outputs[0], outputs[1], size);
    free(outputs[0]);
    free(outputs[1]);
    assert_int_equal(device.messages, 0);
}

/* Two engines of different size on one model and one queue, frames interleaved: each as if it were alone. */
static void two_engines(void **state)
{
    const d4r_size renders[2] = {{64, 64}, {97, 75}}, targets[2] = {{128, 96}, {161, 130}};
    void *alone[2], *together[2];
    d4r_network *networks[2];
    size_t sizes[2];
    rig rigs[2];
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        int first = pass < 2 ? pass : 0, last = pass < 2 ? pass : 1;
        for (int i = first; i <= last; i++) {
            networks[i] = cpu_network();
            rig_create(&rigs[i], &device,
                       &(rig_params){.model = model,
                                     .network = networks[i],
                                     .render = renders[i],
                                     .output = targets[i],
                                     .seed = (uint32_t)i});
            assert_int_equal(rigs[i].status, D4R_OK);
        }
        for (uint32_t n = 0; n < 4; n++)
            for (int i = first; i <= last; i++) rig_frame(&rigs[i], n);
        for (int i = first; i <= last; i++) {
            assert_true(rig_wait(&rigs[i], RIG_PATIENCE_MS));
            *(pass < 2 ? &alone[i] : &together[i]) = rig_read(&rigs[i], &sizes[i]);
        }
        for (int i = first; i <= last; i++) {
            rig_destroy(&rigs[i]);
            d4r_network_destroy(&networks[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(alone[i], together[i], sizes[i]);
        free(alone[i]);
        free(together[i]);
    }
    assert_int_equal(device.messages, 0);
}

/* ---- failures while creating ---- */

static void creation_failures(void **state)
{
    d4r_network *network = cpu_network();
    rig_params params = {.model = model,
                         .network = network,
                         .render = {64, 64},
                         .output = {128, 96},
                         .validate = true,
                         .debug_view = true,
                         .get_instance_proc_addr = hook_get_instance_proc_addr};
    d4r_engine_params engine_params = rig_engine_params(&device, &params);
    d4r_engine *engine = NULL;
    unsigned fds = open_fds();
    /* Sanitizer builds take some of the calls, the long runs all. */
    const uint32_t step = getenv("D4R_LONG_TESTS")        ? 1
                          : test_preset() == D4R_PRESET_M ? CREATION_STEP
                                                          : 4 * CREATION_STEP;
    uint32_t calls = 0;
    (void)state;
    hook_init(&device);
    for (;; calls += step) {
        d4r_status status;
        hook_fail_at(calls);
        rig_last_error();
        status = d4r_engine_create(&engine_params, &engine);
        if (!hook_failed()) {
            assert_int_equal(status, D4R_OK);
            break;
        }
        assert_int_equal(status, D4R_ERROR_MEMORY);
        assert_null(engine);
        assert_true(strlen(rig_last_error()) > 0);
        assert_int_equal(open_fds(), fds);
    }
    assert_true(calls >
                (test_preset() == D4R_PRESET_M ? 40 : 25)); /* every image, buffer, pipeline was tried */
    d4r_engine_destroy(&engine);
    assert_int_equal(open_fds(), fds);
    d4r_network_destroy(&network);
    assert_int_equal(device.messages, 0); /* and the device's end finds nothing left */
}

/* A network that refuses the buffers. */
static d4r_status refuse(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    (void)user;
    (void)buffers;
    (void)log;
    return D4R_ERROR_FEATURE;
}

static d4r_status never_run(void *user, const d4r_network_job *job)
{
    (void)user;
    (void)job;
    return D4R_ERROR_NETWORK;
}

static void refused_attach(void **state)
{
    d4r_network_callbacks callbacks = {.attach = refuse, .run = never_run, .needs_fd = true};
    d4r_network *network = NULL;
    rig_params params = {.model = model,
                         .render = {64, 64},
                         .output = {128, 96},
                         .get_instance_proc_addr = hook_get_instance_proc_addr};
    d4r_engine_params engine_params;
    d4r_engine *engine = NULL;
    (void)state;
    assert_int_equal(d4r_network_create(&callbacks, NULL, &network), D4R_OK);
    params.network = network;
    engine_params = rig_engine_params(&device, &params);
    hook_init(&device);
    assert_int_equal(d4r_engine_create(&engine_params, &engine), D4R_ERROR_FEATURE);
    assert_non_null(strstr(rig_last_error(), "external network"));
    hook_hide("vkGetMemoryFdKHR");
    assert_int_equal(d4r_engine_create(&engine_params, &engine), D4R_ERROR_FEATURE);
    assert_non_null(strstr(rig_last_error(), "VK_KHR_external_memory_fd"));
    d4r_network_destroy(&network);
    callbacks.run = NULL;
    assert_int_equal(d4r_network_create(&callbacks, NULL, &network), D4R_ERROR_ARGUMENT);
    assert_int_equal(device.messages, 0);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(2);
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
        cmocka_unit_test(create_arguments),
        cmocka_unit_test(record_arguments),
        cmocka_unit_test(resets),
        cmocka_unit_test(one_network_one_engine),
        cmocka_unit_test(by_fd_and_by_mapping),
        cmocka_unit_test(two_engines),
        cmocka_unit_test(creation_failures),
        cmocka_unit_test(refused_attach),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
