/* The hand-off between Vulkan and a HIP device (NVIDIA's platform), host clock from before the front's submission until the
 * back has ended, against bare floors of the same run:
 *   submits      two submissions, the second waits for the first
 *   empty kernel the same with an empty kernel between them: the host waits for the first, launches, waits, signals
 *   ten kernels  likewise with ten
 *   ours         the library's hand-off and network on kernels that do nothing (empty_kernels.cu), every strategy,
 *                completion and kind of launch
 * The front hands the token buffers over, the back takes them back; they do nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench/gpu.h"
#include "d4r/d4r_vulkan.h"
#include "interop/handoff.h"
#include "interop/marker.h"
#include "interop/shared.h"
#include "interop/timeline.h"
#include "models/format/m_layout.h"
#include "runtime/own_device.h"

enum { REPEATS = 300, WARM_UP = 30, GRID_WIDTH = 960, GRID_HEIGHT = 544, WAIT_MS = 5000 };

typedef struct rig {
    bench_gpu gpu;
    d4r_own_device own;
    d4r_vk vk;
    d4r_log log;
    d4r_model *model;
    const char *kernels;
    VkCommandPool pool;
    VkCommandBuffer front, back;
    VkSemaphore timeline, done; /* A and B; the back's end */
    uint64_t ended;
    d4r_shared shared;
    d4r_marker marker;
    double times[REPEATS];
} rig;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void on_log(void *user, d4r_log_level level, const char *text)
{
    (void)user;
    if (level <= D4R_LOG_WARNING) fprintf(stderr, "%s\n", text);
}

/* ---- set-up ---- */

static bool create_commands(rig *r)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = r->own.queue_family};
    if (r->vk.fn.vkCreateCommandPool(r->vk.device, &pool, NULL, &r->pool) != VK_SUCCESS) return false;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = r->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 2};
    VkCommandBuffer buffers[2];
    if (r->vk.fn.vkAllocateCommandBuffers(r->vk.device, &info, buffers) != VK_SUCCESS) return false;
    r->front = buffers[0];
    r->back = buffers[1];
    return true;
}

static bool create_rig(rig *r, const char *probes, const char *model)
{
    const size_t tokens = (size_t)GRID_WIDTH * GRID_HEIGHT;
    r->log = (d4r_log){on_log, NULL, D4R_LOG_WARNING};
    if (!bench_gpu_open(probes, &r->gpu)) return false;
    if (d4r_model_load(model, &r->log, &r->model) != D4R_OK) return false;
    if (d4r_own_device_create(NULL, false, &r->log, &r->own) != D4R_OK) return false;
    const d4r_shared_desc shared = {.vk = &r->vk,
                                    .preset = D4R_PRESET_M,
                                    .max_token_grid = {GRID_WIDTH, GRID_HEIGHT},
                                    .token_bytes = tokens * D4R_M_TOKEN_CHANNELS,
                                    .head_bytes = tokens * D4R_M_TOKEN_CHANNELS,
                                    .needs_fd = true};
    return d4r_vk_init(&r->vk, r->own.get_instance_proc_addr, r->own.instance, r->own.physical_device,
                       r->own.device, r->own.queue_family, NULL, &r->log) == D4R_OK &&
           create_commands(r) && d4r_timeline_create(&r->vk, "done", &r->done) == D4R_OK &&
           d4r_shared_create(&shared, &r->shared) == D4R_OK;
}

static void destroy_rig(rig *r)
{
    if (r->vk.device) {
        r->vk.fn.vkDeviceWaitIdle(r->vk.device);
        d4r_marker_destroy(&r->vk, &r->marker);
        d4r_shared_destroy(&r->vk, &r->shared);
        if (r->done) r->vk.fn.vkDestroySemaphore(r->vk.device, r->done, NULL);
        if (r->pool) r->vk.fn.vkDestroyCommandPool(r->vk.device, r->pool, NULL);
    }
    d4r_own_device_destroy(&r->own);
    d4r_model_destroy(&r->model);
    bench_gpu_close(&r->gpu);
}

/* ---- one frame ---- */

/* marker: 0, or the value that the front writes. */
static bool record(rig *r, uint32_t marker)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    bool ok = r->vk.fn.vkBeginCommandBuffer(r->front, &begin) == VK_SUCCESS;
    d4r_shared_record_release(&r->vk, &r->shared, r->front);
    if (marker) d4r_marker_record(&r->vk, &r->marker, r->front, marker);
    ok = r->vk.fn.vkEndCommandBuffer(r->front) == VK_SUCCESS && ok;
    ok = r->vk.fn.vkBeginCommandBuffer(r->back, &begin) == VK_SUCCESS && ok;
    d4r_shared_record_acquire(&r->vk, &r->shared, r->back);
    return r->vk.fn.vkEndCommandBuffer(r->back) == VK_SUCCESS && ok;
}

static bool submit(rig *r, VkCommandBuffer commands, uint64_t wait, VkSemaphore signal, uint64_t value)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait ? 1 : 0,
                                                  .pWaitSemaphoreValues = &wait,
                                                  .signalSemaphoreValueCount = 1,
                                                  .pSignalSemaphoreValues = &value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait ? 1 : 0,
                               .pWaitSemaphores = &r->timeline,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = 1,
                               .pSignalSemaphores = &signal};
    return r->vk.fn.vkQueueSubmit(r->own.queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS;
}

/* The front signals a, the back waits for b. */
static bool submit_both(rig *r, uint64_t a, uint64_t b)
{
    return submit(r, r->front, 0, r->timeline, a) && submit(r, r->back, b, r->done, ++r->ended);
}

static bool wait_back(rig *r)
{
    return d4r_timeline_wait(&r->vk, r->done, r->ended, WAIT_MS * 1000000ull) == VK_SUCCESS;
}

/* ---- floors ---- */

/* kernels: how many empty ones between the submissions; -1: the second follows the first directly. */
static bool floor_frame(rig *r, int n, int kernels, d4r_hip_function empty)
{
    const uint64_t a = 2 * (uint64_t)n + 1, b = a + 1;
    if (kernels < 0) return submit_both(r, b, b) && wait_back(r);
    d4r_hip_error error = 0;
    if (!submit_both(r, a, b)) return false;
    if (d4r_timeline_wait(&r->vk, r->timeline, a, WAIT_MS * 1000000ull) != VK_SUCCESS) return false;
    for (int i = 0; i < kernels && !error; i++)
        error = r->gpu.hip->launch(empty, 1, 1, 1, 32, 1, 1, 0, r->gpu.stream, NULL, NULL);
    if (!error) error = r->gpu.hip->stream_synchronize(r->gpu.stream);
    return !error && d4r_timeline_signal(&r->vk, r->timeline, b) == VK_SUCCESS && wait_back(r);
}

static bool measure_floor(rig *r, int kernels)
{
    d4r_hip_function empty;
    bool ok = r->gpu.hip->module_function(&empty, r->gpu.probes, "probe_nothing") == 0 &&
              d4r_timeline_create(&r->vk, "floor", &r->timeline) == D4R_OK && record(r, 0);
    for (int n = 0; ok && n < WARM_UP + REPEATS; n++) {
        const double start = now_us();
        ok = floor_frame(r, n, kernels, empty);
        if (n >= WARM_UP) r->times[n - WARM_UP] = now_us() - start;
    }
    r->vk.fn.vkDestroySemaphore(r->vk.device, r->timeline, NULL);
    return ok;
}

/* ---- the library's ---- */

static bool our_frames(rig *r, d4r_handoff *handoff, bool marker)
{
    for (int n = 0; n < WARM_UP + REPEATS; n++) {
        uint64_t id;
        const d4r_sizes sizes = {.token_grid = {GRID_WIDTH, GRID_HEIGHT}};
        if (d4r_handoff_begin(handoff, &sizes, &id) != D4R_OK) return false;
        if (!record(r, marker ? (uint32_t)d4r_handoff_a(id) : 0)) return false;
        const double start = now_us();
        if (!submit_both(r, d4r_handoff_a(id), d4r_handoff_b(id))) return false;
        if (d4r_handoff_submit(handoff, id) != D4R_OK || !wait_back(r)) return false;
        if (n >= WARM_UP) r->times[n - WARM_UP] = now_us() - start;
        if (d4r_handoff_status(handoff, id) != D4R_OK) return false;
    }
    return true;
}

static bool measure_ours(rig *r, const d4r_hip_network_params *params)
{
    d4r_network *network = NULL;
    d4r_handoff *handoff = NULL;
    const bool marker = params->strategy == D4R_HANDOFF_MARKER;
    bool ok = d4r_network_create_hip(r->model, params, &r->log, &network) == D4R_OK &&
              d4r_timeline_create(&r->vk, "hand-off", &r->timeline) == D4R_OK;
    if (ok && marker && !r->marker.page) ok = d4r_marker_create(&r->vk, &r->marker) == D4R_OK;
    r->shared.info.marker = marker ? r->marker.page : NULL;
    r->shared.info.marker_bytes = marker ? r->marker.bytes : 0;
    if (ok && marker) atomic_store(r->marker.word, 0);
    ok = ok && d4r_network_attach(network, &r->shared.info, &r->log) == D4R_OK;
    const d4r_handoff_desc desc = {.vk = &r->vk,
                                   .network = network,
                                   .timeline = r->timeline,
                                   .watchdog_ms = 2000,
                                   .strategy = params->strategy};
    if (ok && d4r_handoff_create(&desc, &handoff) != D4R_OK) {
        d4r_network_detach(network);
        ok = false;
    }
    ok = ok && our_frames(r, handoff, marker);
    if (handoff) d4r_handoff_destroy(&handoff);
    r->vk.fn.vkDestroySemaphore(r->vk.device, r->timeline, NULL);
    d4r_network_destroy(&network);
    return ok;
}

/* ---- report ---- */

static void report(rig *r, FILE *f, const char *name, double floor, double *median)
{
    bench_sort(r->times, REPEATS);
    *median = r->times[REPEATS / 2];
    printf("%-34s %7.1f us (10 %%: %.1f, 90 %%: %.1f)", name, *median, r->times[REPEATS / 10],
           r->times[REPEATS * 9 / 10]);
    printf(floor > 0 ? ", %+.0f %% of the floor\n" : "\n", floor > 0 ? 100 * (*median / floor - 1) : 0.0);
    fprintf(f, "%s\n    {\"name\": \"%s\", \"median_us\": %.2f, \"p10_us\": %.2f, \"p90_us\": %.2f}",
            ftell(f) > 0 ? "," : "", name, *median, r->times[REPEATS / 10], r->times[REPEATS * 9 / 10]);
}

static bool measure_all(rig *r, FILE *f)
{
    static const char *const strategies[] = {"host", "marker"}, *const completions[] = {"event", "callback"},
                             *const launches[] = {"graph", "plain"};
    double floor, unused;
    if (!measure_floor(r, -1)) return false;
    report(r, f, "floor: two submits", 0, &unused);
    if (!measure_floor(r, 1)) return false;
    report(r, f, "floor: empty kernel between", 0, &floor);
    if (!measure_floor(r, 10)) return false;
    report(r, f, "floor: ten empty kernels between", 0, &unused);
    for (int i = 0; i < 8; i++) {
        char name[64];
        const d4r_hip_network_params params = {.platform = D4R_HIP_NVIDIA,
                                               .kernels = r->kernels,
                                               .strategy = i & 1 ? D4R_HANDOFF_MARKER : D4R_HANDOFF_HOST,
                                               .completion = i & 2 ? D4R_HIP_COMPLETION_CALLBACK
                                                                   : D4R_HIP_COMPLETION_EVENT,
                                               .graphs = i & 4 ? D4R_HIP_GRAPHS_OFF : D4R_HIP_GRAPHS_ON};
        snprintf(name, sizeof name, "ours: %s, %s, %s", strategies[i & 1], completions[i >> 1 & 1],
                 launches[i >> 2]);
        if (!measure_ours(r, &params)) {
            fprintf(stderr, "bench_handoff: %s failed\n", name);
            return false;
        }
        report(r, f, name, floor, &unused);
    }
    return true;
}

static bool write_json(const rig *r, const char *path, const char *results)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fprintf(f, "{\n  \"bench\": \"bench_handoff\",\n");
    bench_gpu_json_header(&r->gpu, f);
    fprintf(f, "  \"repeats\": %d,\n  \"results\": [%s\n  ]\n}\n", REPEATS, results);
    return fclose(f) == 0;
}

int main(int argc, char **argv)
{
    static rig r;
    char *results = NULL;
    size_t size;
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: bench_handoff PROBES.cubin EMPTY_KERNELS_DIR MODEL [JSON]\n");
        return 2;
    }
    r.kernels = argv[2];
    FILE *f = open_memstream(&results, &size);
    if (!f || !create_rig(&r, argv[1], argv[3])) {
        destroy_rig(&r);
        return 3;
    }
    bool ok = measure_all(&r, f);
    fclose(f);
    if (ok && argc == 5 && !write_json(&r, argv[4], results)) {
        fprintf(stderr, "bench_handoff: %s: cannot write\n", argv[4]);
        ok = false;
    }
    free(results);
    destroy_rig(&r);
    return ok ? 0 : 6;
}
