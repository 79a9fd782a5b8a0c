/* CPU cost of recording a frame: front and back into command buffers, by the engine and by the game adapter. Prints the
 * median time of frames that are recorded, submitted and waited for (only the recording is timed), and, with valgrind at
 * hand, the instructions of frames that are only recorded, split into the library's own and the driver's. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "bench/machine.h"
#include "d4r/d4r_game.h"
#include "runtime/base/vk.h"
#include "tests/engine/test_model.h"

#define COUNTED_FRAMES 40 /* fewer than a hand-off remembers: none of them is ever submitted */
#define WARM_FRAMES 8
#define IMAGES 3 /* that rotate */
#define FUNCTION "bench_record_frame"

static const d4r_size render_size = {64, 64}, output_size = {128, 128};

typedef enum way { ENGINE, ADAPTER_DIRECT, ADAPTER_COPIED, WAYS } way;
static const char *const way_names[WAYS] = {"engine", "adapter, direct", "adapter, copied"};

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "bench_record: %s\n", what);
    exit(3);
}

/* ---- device ---- */

typedef struct bench {
    d4r_vk vk;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer front, back;
    d4r_vk_image color[IMAGES], depth[IMAGES], motion[IMAGES], output[IMAGES];
    d4r_network *network;
    d4r_network_buffers buffers;
    d4r_engine *engine;
    d4r_game *game;
    way way;
    bool started; /* images are in their layouts */
} bench;

static void open_device(bench *b)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    must(library != NULL, "no libvulkan.so.1");
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance;
    VkPhysicalDevice devices[16];
    VkDevice device;
    uint32_t count = 16, family = 0;
    d4r_vulkan_requirements needs;
    const d4r_log log = {.level = D4R_LOG_ERROR};
    must(((PFN_vkCreateInstance)get(NULL, "vkCreateInstance"))(&info, NULL, &instance) == VK_SUCCESS,
         "no Vulkan instance");
    ((PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices"))(instance, &count, devices);
    must(count > 0, "no Vulkan device");
    must(d4r_vulkan_get_requirements(get, instance, devices[0], &log, &needs) == D4R_OK,
         "the device lacks a feature");
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    needs.features.pNext = &needs.features11;
    needs.features11.pNext = &needs.features12;
    const VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .pNext = &needs.features,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue,
                                       .enabledExtensionCount = needs.extension_count,
                                       .ppEnabledExtensionNames = needs.extensions};
    must(((PFN_vkCreateDevice)get(instance, "vkCreateDevice"))(devices[0], &create, NULL, &device) ==
             VK_SUCCESS,
         "vkCreateDevice failed");
    must(d4r_vk_init(&b->vk, get, instance, devices[0], device, family, NULL, &log) == D4R_OK,
         "d4r_vk_init failed");
    b->vk.fn.vkGetDeviceQueue(device, family, 0, &b->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = family};
    must(b->vk.fn.vkCreateCommandPool(device, &pool, NULL, &b->pool) == VK_SUCCESS, "no command pool");
    const VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = b->pool,
                                                 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                 .commandBufferCount = 1};
    must(b->vk.fn.vkAllocateCommandBuffers(device, &buffers, &b->front) == VK_SUCCESS, "no command buffer");
    must(b->vk.fn.vkAllocateCommandBuffers(device, &buffers, &b->back) == VK_SUCCESS, "no command buffer");
}

static void create_images(bench *b)
{
    const VkImageUsageFlags in = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    const VkImageUsageFlags out = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    const VkExtent2D r = {render_size.width, render_size.height}, o = {output_size.width, output_size.height};
    for (int i = 0; i < IMAGES; i++) {
        d4r_status status =
            d4r_vk_image_create(&b->vk, "color", VK_FORMAT_R16G16B16A16_SFLOAT, r, in, &b->color[i]);
        if (status == D4R_OK)
            status = d4r_vk_image_create(&b->vk, "depth", VK_FORMAT_D32_SFLOAT, r, in, &b->depth[i]);
        if (status == D4R_OK)
            status = d4r_vk_image_create(&b->vk, "motion", VK_FORMAT_R16G16_SFLOAT, r, in, &b->motion[i]);
        if (status == D4R_OK)
            status =
                d4r_vk_image_create(&b->vk, "output", VK_FORMAT_R16G16B16A16_SFLOAT, o, out, &b->output[i]);
        must(status == D4R_OK, "no image");
    }
}

/* ---- network: an empty head ---- */

static d4r_status attach(void *user, const d4r_network_buffers *buffers, const d4r_log *log)
{
    (void)log;
    ((bench *)user)->buffers = *buffers;
    return D4R_OK;
}

static d4r_status run(void *user, const d4r_network_job *job)
{
    memset(((bench *)user)->buffers.head_map, 0, job->head_bytes);
    return D4R_OK;
}

static void create(bench *b, way w, const d4r_model *model)
{
    const d4r_network_callbacks callbacks = {.user = b,
                                             .name = "empty",
                                             .needs_host_map = true,
                                             .watchdog_ms = 60000,
                                             .attach = attach,
                                             .run = run};
    d4r_game_params params = d4r_game_params_default();
    b->way = w;
    must(d4r_network_create(&callbacks, NULL, &b->network) == D4R_OK, "no network");
    params.engine.device = (d4r_vulkan_device){.get_instance_proc_addr = b->vk.get_instance_proc_addr,
                                               .instance = b->vk.instance,
                                               .physical_device = b->vk.physical_device,
                                               .device = b->vk.device,
                                               .queue_family = b->vk.queue_family};
    params.engine.model = model;
    params.engine.network = b->network;
    params.engine.output = output_size;
    params.engine.max_render = render_size;
    params.copy_inputs = w == ADAPTER_COPIED;
    must((w == ENGINE ? d4r_engine_create(&params.engine, &b->engine) : d4r_game_create(&params, &b->game)) ==
             D4R_OK,
         "cannot create the engine");
}

static void destroy(bench *b)
{
    d4r_game_destroy(&b->game);
    d4r_engine_destroy(&b->engine);
    d4r_network_destroy(&b->network);
}

/* ---- a frame ---- */

static d4r_image engine_image(const d4r_vk_image *i)
{
    return (d4r_image){.view = i->view,
                       .image = i->image,
                       .layout = VK_IMAGE_LAYOUT_GENERAL,
                       .extent = {i->extent.width, i->extent.height}};
}

static d4r_game_image game_image(const d4r_vk_image *i, VkImageUsageFlags usage, VkImageLayout layout)
{
    return (d4r_game_image){.image = i->image,
                            .format = i->format,
                            .usage = usage,
                            .layout = layout,
                            .extent = {i->extent.width, i->extent.height}};
}

/* What is measured. Its name is what callgrind counts from. */
__attribute__((noinline)) d4r_frame bench_record_frame(bench *b, uint32_t n);
__attribute__((noinline)) d4r_frame bench_record_frame(bench *b, uint32_t n)
{
    const uint32_t i = n % IMAGES;
    d4r_frame_settings settings = d4r_frame_settings_default(render_size);
    d4r_frame frame;
    d4r_status status;
    settings.jitter = d4r_jitter(n, 32);
    if (b->way == ENGINE) {
        const d4r_frame_images images = {.color = engine_image(&b->color[i]),
                                         .depth = engine_image(&b->depth[i]),
                                         .motion = engine_image(&b->motion[i]),
                                         .output = engine_image(&b->output[i])};
        status = d4r_engine_record_front(b->engine, b->front, &images, &settings, &frame);
        if (status == D4R_OK) status = d4r_engine_record_back(b->engine, b->back, &frame);
    } else {
        const VkImageUsageFlags in = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        const VkImageUsageFlags out =
            VK_IMAGE_USAGE_TRANSFER_DST_BIT | (b->way == ADAPTER_COPIED ? 0 : VK_IMAGE_USAGE_STORAGE_BIT);
        const VkImageLayout layout =
            VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL; /* needs a transition there and back */
        const d4r_game_images images = {.color = game_image(&b->color[i], in, layout),
                                        .depth = game_image(&b->depth[i], in, layout),
                                        .motion = game_image(&b->motion[i], in, layout),
                                        .output = game_image(&b->output[i], out, VK_IMAGE_LAYOUT_GENERAL)};
        status = d4r_game_record_front(b->game, b->front, &images, &settings, &frame);
        if (status == D4R_OK) status = d4r_game_record_back(b->game, b->back, &frame);
    }
    must(status == D4R_OK, "recording failed");
    return frame;
}

static void bring_images(bench *b, VkCommandBuffer commands)
{
    VkImageMemoryBarrier barriers[4 * IMAGES];
    uint32_t count = 0;
    for (int i = 0; i < IMAGES; i++) {
        const d4r_vk_image *images[] = {&b->color[i], &b->depth[i], &b->motion[i], &b->output[i]};
        for (int k = 0; k < 4; k++)
            barriers[count++] = (VkImageMemoryBarrier){
                .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                .newLayout = k == 3 || b->way == ENGINE ? VK_IMAGE_LAYOUT_GENERAL
                                                        : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                .image = images[k]->image,
                .subresourceRange = {d4r_vk_aspects(images[k]->format), 0, 1, 0, 1}};
    }
    b->vk.fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, count, barriers);
}

static void submit_and_wait(bench *b, const d4r_frame *frame)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values[2] = {
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .signalSemaphoreValueCount = 1,
         .pSignalSemaphoreValues = &frame->tokens_ready},
        {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = 1,
         .pWaitSemaphoreValues = &frame->head_ready}};
    const VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                      .pNext = &values[0],
                                      .commandBufferCount = 1,
                                      .pCommandBuffers = &b->front,
                                      .signalSemaphoreCount = 1,
                                      .pSignalSemaphores = &frame->timeline},
                                     {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                      .pNext = &values[1],
                                      .waitSemaphoreCount = 1,
                                      .pWaitSemaphores = &frame->timeline,
                                      .pWaitDstStageMask = &stage,
                                      .commandBufferCount = 1,
                                      .pCommandBuffers = &b->back}};
    must(b->vk.fn.vkQueueSubmit(b->queue, 2, submits, VK_NULL_HANDLE) == VK_SUCCESS, "vkQueueSubmit failed");
    must(d4r_network_submit(frame) == D4R_OK, "d4r_network_submit failed");
    must(b->vk.fn.vkQueueWaitIdle(b->queue) == VK_SUCCESS, "vkQueueWaitIdle failed");
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Records frame n; microseconds of recording alone. */
static double frame(bench *b, uint32_t n, bool submit)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    must(b->vk.fn.vkBeginCommandBuffer(b->front, &begin) == VK_SUCCESS, "vkBeginCommandBuffer failed");
    must(b->vk.fn.vkBeginCommandBuffer(b->back, &begin) == VK_SUCCESS, "vkBeginCommandBuffer failed");
    if (!b->started) bring_images(b, b->front);
    b->started = true;
    const double start = now_us();
    const d4r_frame recorded = bench_record_frame(b, n);
    const double took = now_us() - start;
    must(b->vk.fn.vkEndCommandBuffer(b->front) == VK_SUCCESS, "vkEndCommandBuffer failed");
    must(b->vk.fn.vkEndCommandBuffer(b->back) == VK_SUCCESS, "vkEndCommandBuffer failed");
    if (submit) submit_and_wait(b, &recorded);
    return took;
}

/* ---- results ---- */

typedef struct result {
    double median_us, least_us;
    double instructions, own_instructions; /* a frame; 0: not counted */
} result;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(way w, const d4r_model *model, uint32_t frames, result *r)
{
    bench b = {0};
    double *times = malloc(frames * sizeof *times);
    must(times != NULL, "out of memory");
    open_device(&b);
    create_images(&b);
    create(&b, w, model);
    for (uint32_t n = 0; n < WARM_FRAMES; n++) frame(&b, n, true);
    for (uint32_t n = 0; n < frames; n++) times[n] = frame(&b, WARM_FRAMES + n, true);
    qsort(times, frames, sizeof *times, compare);
    r->median_us = times[frames / 2];
    r->least_us = times[0];
    destroy(&b);
    free(times);
}

/* Under callgrind: frames that nobody submits. The warm ones are let go uncounted, by another name. */
static int record_only(way w, const d4r_model *model)
{
    bench b = {0};
    open_device(&b);
    create_images(&b);
    create(&b, w, model);
    for (uint32_t n = 0; n < COUNTED_FRAMES; n++) frame(&b, n, false);
    return 0; /* the process ends here: destroying would wait for frames that never come */
}

/* Sums of callgrind's output: all, and of functions in objects that are not the library's. */
static bool count_instructions(const char *self, const char *preset, way w, result *r)
{
    char command[1024], line[1024], file[] = P_tmpdir "/bench_record.XXXXXX";
    const int fd = mkstemp(file);
    double all = 0, own = 0;
    FILE *out;
    if (fd < 0) return false;
    close(fd);
    snprintf(
        command, sizeof command,
        "valgrind -q --tool=callgrind --callgrind-out-file=%s --collect-atstart=no --toggle-collect=" FUNCTION
        " '%s' --preset %s --record-only %d >/dev/null 2>&1 && callgrind_annotate --auto=no --threshold=100 "
        "--show-percs=no %s "
        "2>/dev/null",
        file, self, preset, (int)w, file);
    out = popen(command, "r");
    while (out && fgets(line, sizeof line, out)) {
        char *at = line;
        double value = 0;
        bool digits = false;
        for (; *at == ' ' || *at == ',' || (*at >= '0' && *at <= '9'); at++)
            if (*at >= '0' && *at <= '9') value = value * 10 + (*at - '0'), digits = true;
        if (!digits) continue;
        if (strstr(at, "PROGRAM TOTALS"))
            all = value;
        else if (strchr(at, ':') &&
                 (strstr(at, "d4r_") || strstr(at, "/runtime/") || strstr(at, "/vk_stages/") ||
                  strstr(at, "/interop/") || strstr(at, "bench_record")))
            own += value;
    }
    if (out) pclose(out);
    unlink(file);
    r->instructions = all / COUNTED_FRAMES;
    r->own_instructions = own / COUNTED_FRAMES;
    return all > 0;
}

static bool write_json(const char *path, const char *preset, uint32_t frames, const char *device,
                       const result *results)
{
    char cpu[128];
    struct utsname system;
    char date[32];
    const time_t now = time(NULL);
    FILE *f = fopen(path, "w");
    if (!f) return false;
    bench_cpu_model(cpu, sizeof cpu);
    uname(&system);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(f,
            "{\n  \"benchmark\": \"bench_record\",\n  \"date\": \"%s\",\n  \"cpu\": \"%s\",\n  \"system\": "
            "\"%s %s\",\n",
            date, cpu, system.sysname, system.release);
    fprintf(f, "  \"preset\": \"%s\",\n", preset);
    fprintf(f, "  \"device\": \"%s\",\n  \"frames\": %u,\n  \"counted_frames\": %d,\n  \"ways\": [\n", device,
            frames, COUNTED_FRAMES);
    for (int w = 0; w < WAYS; w++)
        fprintf(f,
                "    {\"way\": \"%s\", \"median_us\": %.1f, \"least_us\": %.1f, \"instructions\": %.0f, "
                "\"own_instructions\": %.0f}%s\n",
                way_names[w], results[w].median_us, results[w].least_us, results[w].instructions,
                results[w].own_instructions, w + 1 < WAYS ? "," : "");
    fprintf(f, "  ]\n}\n");
    return fclose(f) == 0;
}

static const char usage[] = "usage: bench_record [--preset M|K] [--frames N] [--no-count] [--json FILE]\n"
                            "CPU cost of recording a frame; --no-count: without valgrind.\n";

int main(int argc, char **argv)
{
    uint32_t frames = 200;
    bool count = true;
    const char *json = NULL;
    result results[WAYS] = {0};
    char device[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE], self[512];
    const char *preset = "M";
    int recorded = -1; /* way to record only */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--record-only") == 0 && i + 1 < argc)
            recorded = atoi(argv[++i]);
        else if (strcmp(argv[i], "--preset") == 0 && i + 1 < argc &&
                 (strcmp(argv[i + 1], "M") == 0 || strcmp(argv[i + 1], "K") == 0))
            preset = argv[++i];
        else if (strcmp(argv[i], "--no-count") == 0)
            count = false;
        else if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            frames = (uint32_t)atoi(argv[++i]);
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else {
            fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    d4r_model *model = test_model_create_of(*preset == 'K' ? D4R_PRESET_K : D4R_PRESET_M, 1);
    must(model != NULL, "out of memory");
    if (recorded >= 0) return record_only(recorded, model);
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    bench b = {0};
    open_device(&b);
    snprintf(device, sizeof device, "%s", b.vk.properties.deviceName);
    printf("preset %s, %s, %u frames\n%-18s %12s %12s %16s %16s\n", preset, device, frames, "", "median us",
           "least us", "instructions", "of them ours");
    for (int w = 0; w < WAYS; w++) {
        measure(w, model, frames, &results[w]);
        if (count && !count_instructions(self, preset, w, &results[w])) {
            fprintf(stderr, "bench_record: valgrind did not run; no instructions are counted\n");
            count = false;
        }
        printf("%-18s %12.1f %12.1f %16.0f %16.0f\n", way_names[w], results[w].median_us, results[w].least_us,
               results[w].instructions, results[w].own_instructions);
    }
    if (json && !write_json(json, preset, frames, device, results)) {
        fprintf(stderr, "bench_record: cannot write %s\n", json);
        return 5;
    }
    return 0;
}
