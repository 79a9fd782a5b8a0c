/* Many frames through the upscaler with three in flight and random delays in the emulated device, against the same
 * frames one at a time: every byte the same. 40 frames; 1,000 with D4R_LONG_TESTS=1. */
#include <setjmp.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/engine/content.h"
#include "tests/engine/test_model.h"
#include "tests/hip/hip_rig.h"

static d4r_model *model;
static const d4r_size size = {64, 64};

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (level <= D4R_LOG_WARNING || getenv("D4R_TEST_VERBOSE"))
        fprintf(stderr, "[%d] %s\n", (int)level, line);
}

/* A hash of each frame's output; a cut in the middle, as a sequence has. */
static void run(const hip_variant *variant, uint32_t flight, uint32_t frames, uint64_t *hashes)
{
    d4r_upscaler_params p = d4r_upscaler_params_default();
    d4r_upscaler *u = NULL;
    static uint8_t pixels[64 * 64 * 8];
    uint64_t ticket;
    p.model = model;
    p.max_render = p.output = size;
    p.network = variant ? D4R_NETWORK_HIP : D4R_NETWORK_CPU;
    p.cpu_threads = 2;
    p.frames_in_flight = flight;
    p.log = (d4r_log){on_log, NULL, D4R_LOG_INFO};
    if (variant)
        p.hip = (d4r_hip_network_params){.strategy = variant->strategy,
                                         .completion = variant->completion,
                                         .graphs = variant->graphs,
                                         .watchdog_ms = 60000};
    assert_int_equal(d4r_upscaler_create(&p, &u), D4R_OK);
    for (uint32_t n = 0; n < frames + flight; n++) {
        if (n >= flight) {
            uint64_t hash = 0xcbf29ce484222325u;
            assert_int_equal(d4r_upscaler_wait(u, n - flight, pixels, sizeof pixels, 0), D4R_OK);
            for (size_t i = 0; i < sizeof pixels; i++) hash = (hash ^ pixels[i]) * 0x100000001b3u;
            hashes[n - flight] = hash;
        }
        if (n >= frames) continue;
        test_content content;
        assert_true(test_content_create(&content, size, n, 3));
        d4r_upscaler_frame frame = test_content_frame(&content, n);
        frame.settings.reset = n == frames / 2;
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        test_content_destroy(&content);
    }
    d4r_upscaler_destroy(&u);
    assert_int_equal(env_live(), 0);
}

static void delays(unsigned seed)
{
    env_reset("gfx1201");
    env_set("DELAY_US", "2000");
    env_set("SEED", "%u", seed);
    env_apply();
}

static void in_flight(void **state)
{
    const uint32_t frames = env_long() ? 1000 : test_preset() == D4R_PRESET_K ? 10 : 40;
    uint64_t *one = calloc(frames, sizeof *one), *three = calloc(frames, sizeof *three),
             *cpu = calloc(frames, sizeof *cpu);
    (void)state;
    assert_true(one && three && cpu);
    hip_variant variant = hip_variant_at(0);
    env_reset("gfx1201");
    run(&variant, 1, frames, one);
    run(NULL, 3, frames, cpu);
    for (uint32_t n = 1; n < frames; n++) assert_true(one[n] != one[n - 1]); /* the frames do differ */
    for (unsigned i = test_preset() == D4R_PRESET_K; i < 2; i++) {
        hip_variant delayed = hip_variant_at(i ? 7 : 0);
        delays(i + 1);
        run(&delayed, 3, frames, three);
        assert_memory_equal(one, three, frames * sizeof *one);
        printf("%s: %u frames, three in flight, delayed: as one at a time\n", hip_variant_name(&delayed),
               frames);
    }
    unsigned same = 0;
    for (uint32_t n = 0; n < frames; n++) same += one[n] == cpu[n];
    printf("%u of %u frames are the CPU network's to the byte\n", same, frames);
    if (test_preset() == D4R_PRESET_K) assert_int_equal(same, frames);
    free(one);
    free(three);
    free(cpu);
}

/* A frame that fails in the middle: its wait says so, the upscaler goes on. */
static void continues_after_a_failure(void **state)
{
    d4r_upscaler_params p = d4r_upscaler_params_default();
    d4r_upscaler *u = NULL;
    (void)state;
    env_reset("gfx1201");
    env_set("FAIL", "hipModuleLaunchKernel:25");
    env_apply();
    p.model = model;
    p.max_render = p.output = size;
    p.network = D4R_NETWORK_HIP;
    p.hip.graphs = D4R_HIP_GRAPHS_OFF;
    p.hip.watchdog_ms = 60000;
    p.frames_in_flight = 1;
    assert_int_equal(d4r_upscaler_create(&p, &u), D4R_OK);
    for (uint32_t n = 0; n < 5; n++) {
        test_content content;
        uint64_t ticket;
        assert_true(test_content_create(&content, size, n, 3));
        d4r_upscaler_frame frame = test_content_frame(&content, n);
        assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
        assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 0), n == 2 ? D4R_ERROR_NETWORK : D4R_OK);
        test_content_destroy(&content);
    }
    d4r_upscaler_destroy(&u);
    assert_int_equal(env_live(), 0);
}

static char said[8192];

static void keep_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    (void)level;
    if (strlen(said) + strlen(line) + 2 < sizeof said) strcat(strcat(said, line), "\n");
}

/* AUTO: hip where it works, else cpu with the reason in the log. */
static void automatic(void **state)
{
    const struct {
        const char *arch, *fail, *kind, *reason;
    } cases[] = {{"gfx1201", NULL, "network auto: hip", ""},
                 {"none", NULL, "network auto: cpu, because: ", "no HIP device was found"},
                 {"gfx1201", "hipImportExternalMemory:1", "network auto: cpu, because: ", "tokens"},
                 {"gfx1201", "hipModuleLoadData:1",
                  "network auto: cpu, because: ", test_preset() == D4R_PRESET_K ? "k.hsaco" : "m.hsaco"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        d4r_upscaler_params p = d4r_upscaler_params_default();
        d4r_upscaler *u = NULL;
        env_reset(cases[i].arch);
        if (cases[i].fail) env_set("FAIL", "%s", cases[i].fail);
        env_apply();
        said[0] = 0;
        p.model = model;
        p.max_render = p.output = size;
        p.network = D4R_NETWORK_AUTO;
        p.log = (d4r_log){keep_log, NULL, D4R_LOG_INFO};
        assert_int_equal(d4r_upscaler_create(&p, &u), D4R_OK);
        assert_non_null(strstr(said, cases[i].kind));
        assert_non_null(strstr(said, cases[i].reason));
        assert_non_null(strstr(d4r_upscaler_description(u), i == 0 ? "hip network" : "cpu network"));
        d4r_upscaler_destroy(&u);
        assert_int_equal(env_live(), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_flight),
        cmocka_unit_test(continues_after_a_failure),
        cmocka_unit_test(automatic),
    };
    if (access("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", R_OK) != 0) {
        fprintf(stderr, "skipped: no lavapipe\n");
        return 77;
    }
    env_start();
    /* The loader unloads the driver with the last instance; a leak checker could then not name it any more. */
    dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_NODELETE);
    model = env_model(11);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    env_model_free(model);
    return failed;
}
