/* No growth over 200 create / run / destroy cycles: file descriptors exactly, threads exactly, memory with a
 * tolerance.
 *
 * Memory: the driver compiles in threads of its own, so resident memory goes up and down by 2 MiB between cycles, and
 * it fills its pools by 5 MiB over the first forty cycles or so. The mean over the second half is therefore compared
 * with the mean over the first half, after a warm-up. In 400 cycles these differ by 5 to 10 KiB a cycle; the tolerance,
 * 32 KiB a cycle, is half of what the smallest forgotten object would cost (a shared buffer has 64 KiB at least). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/own_device.h"
#include "tests/engine/content.h"
#include "tests/engine/test_model.h"

#define LAVAPIPE "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
#define CYCLES 200
#define ENGINE_CYCLES \
    40 /* compiling the pipelines takes nearly all of a cycle: the upscaler's 200 include it too */
#define WARM_UP 40
#define TOLERANCE_KIB_A_CYCLE 32
#define SAMPLES 20 /* of resident memory, in each half */

static d4r_model *model;

static unsigned entries(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0, resident = 0;
    malloc_trim(0);
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Resident memory, the mean while `count` cycles run, from cycle `first` on. */
static long mean_over(unsigned first, unsigned count, void (*cycle)(unsigned n))
{
    long sum = 0;
    for (unsigned n = 0; n < count; n++) {
        cycle(first + n);
        if ((n + 1) % (count / SAMPLES) == 0) sum += resident_kib();
    }
    return sum / SAMPLES;
}

static void run_cycles(const char *name, unsigned cycles, void (*cycle)(unsigned n))
{
    unsigned fds, threads;
    long first, second;
    for (unsigned n = 0; n < WARM_UP; n++) cycle(n);
    fds = entries("/proc/self/fd");
    threads = entries("/proc/self/task");
    first = mean_over(0, cycles / 2, cycle);
    second = mean_over(cycles / 2, cycles / 2, cycle);
    printf("%s: %u fds, %u threads, %ld KiB in the first half of %u cycles, %ld KiB in the second\n", name,
           fds, threads, first, cycles, second);
    assert_int_equal(entries("/proc/self/fd"), fds);
    assert_int_equal(entries("/proc/self/task"), threads);
    assert_true(second - first < (long)(cycles / 2) * TOLERANCE_KIB_A_CYCLE);
}

/* Two sizes in turn; a frame that is waited for, or one that is still under way when everything goes. */
static void upscaler_cycle(unsigned n)
{
    d4r_upscaler_params p = d4r_upscaler_params_default();
    d4r_size render = n % 2 ? (d4r_size){64, 64} : (d4r_size){96, 64};
    d4r_upscaler *u = NULL;
    d4r_upscaler_frame frame;
    test_content c;
    uint64_t ticket;
    p.model = model;
    p.max_render = render;
    p.output = (d4r_size){128, 96};
    p.cpu_threads = 2;
    assert_int_equal(d4r_upscaler_create(&p, &u), D4R_OK);
    assert_true(test_content_create(&c, render, n, 1));
    frame = test_content_frame(&c, n);
    assert_int_equal(d4r_upscaler_submit(u, &frame, &ticket), D4R_OK);
    if (n % 3) assert_int_equal(d4r_upscaler_wait(u, ticket, NULL, 0, 0), D4R_OK);
    test_content_destroy(&c);
    d4r_upscaler_destroy(&u);
}

static void upscalers(void **state)
{
    (void)state;
    run_cycles("upscaler", CYCLES, upscaler_cycle);
}

static d4r_own_device own;
static d4r_vk vk;

/* lavapipe frees destroyed pipelines with the queue's next submission, 16 MiB a cycle. */
static void empty_submission(void)
{
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    assert_int_equal(vk.fn.vkQueueSubmit(own.queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    assert_int_equal(vk.fn.vkQueueWaitIdle(own.queue), VK_SUCCESS);
}

/* An engine and its network on a device that stays, as when a game changes its resolution. */
static void engine_cycle(unsigned n)
{
    d4r_cpu_network_params cpu = {.threads = 2};
    d4r_engine_params p = d4r_engine_params_default();
    d4r_engine *engine = NULL;
    p.model = model;
    p.output = n % 2 ? (d4r_size){128, 96} : (d4r_size){160, 128};
    p.device = (d4r_vulkan_device){.get_instance_proc_addr = own.get_instance_proc_addr,
                                   .instance = own.instance,
                                   .physical_device = own.physical_device,
                                   .device = own.device,
                                   .queue_family = own.queue_family};
    assert_int_equal(d4r_network_create_cpu(model, &cpu, NULL, &p.network), D4R_OK);
    assert_int_equal(d4r_engine_create(&p, &engine), D4R_OK);
    d4r_engine_destroy(&engine);
    d4r_network_destroy(&p.network);
    empty_submission();
}

static void engines(void **state)
{
    (void)state;
    assert_int_equal(d4r_own_device_create("llvmpipe", false, NULL, &own), D4R_OK);
    assert_int_equal(d4r_vk_init(&vk, own.get_instance_proc_addr, own.instance, own.physical_device,
                                 own.device, own.queue_family, NULL, NULL),
                     D4R_OK);
    run_cycles("engine", ENGINE_CYCLES, engine_cycle);
    d4r_own_device_destroy(&own);
}

static int setup(void **state)
{
    (void)state;
    model = test_model_create(5);
    return model ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    test_model_destroy(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(upscalers), cmocka_unit_test(engines)};
    if (access(LAVAPIPE, R_OK) != 0) {
        fprintf(stderr, "skipped: no %s\n", LAVAPIPE);
        return 77;
    }
    setenv("VK_ICD_FILENAMES", LAVAPIPE, 0);
    return cmocka_run_group_tests(tests, setup, teardown);
}
