#include "tests/engine/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "interop/timeline.h"
#include "tests/engine/content.h"

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "rig: %s\n", what);
    exit(1);
}

uint64_t test_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void test_sleep_ms(uint32_t ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&ts, NULL);
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[1024];

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user;
    if (getenv("D4R_TEST_VERBOSE")) fprintf(stderr, "[%d] %s\n", (int)level, line);
    if (level != D4R_LOG_ERROR) return;
    pthread_mutex_lock(&log_lock);
    snprintf(last_error, sizeof last_error, "%s", line);
    pthread_mutex_unlock(&log_lock);
}

const char *rig_last_error(void)
{
    static char copy[1024];
    pthread_mutex_lock(&log_lock);
    memcpy(copy, last_error, sizeof copy);
    last_error[0] = 0;
    pthread_mutex_unlock(&log_lock);
    return copy;
}

d4r_engine_params rig_engine_params(vk_test *t, const rig_params *p)
{
    d4r_engine_params e = d4r_engine_params_default();
    e.device =
        (d4r_vulkan_device){.get_instance_proc_addr = p->get_instance_proc_addr ? p->get_instance_proc_addr
                                                                                : t->get_instance_proc_addr,
                            .instance = t->instance,
                            .physical_device = t->physical_device,
                            .device = t->device,
                            .queue_family = t->family,
                            .allocator = p->allocator};
    e.model = p->model;
    e.network = p->network;
    e.output = p->output;
    e.max_render = p->render;
    e.watchdog_ms = p->watchdog_ms;
    if (p->conventions) e.conventions = *p->conventions;
    e.validate = p->validate;
    e.debug_view = p->debug_view;
    e.log = p->log.fn ? p->log : (d4r_log){on_log, NULL, D4R_LOG_DEBUG};
    return e;
}

static void create_images(rig *r, uint32_t seed)
{
    const VkImageUsageFlags sampled = VK_IMAGE_USAGE_SAMPLED_BIT;
    uint32_t w = r->render.width, h = r->render.height;
    test_content c;
    must(test_content_create(&c, r->render, 0, seed), "out of memory");
    r->color = vk_test_image(r->t, "color", VK_FORMAT_R32G32B32A32_SFLOAT, w, h, sampled, c.color, 16);
    r->motion = vk_test_image(r->t, "motion", VK_FORMAT_R32G32_SFLOAT, w, h, sampled, c.motion, 8);
    r->depth = vk_test_image(r->t, "depth", VK_FORMAT_R32_SFLOAT, w, h, sampled, c.depth, 4);
    r->target = vk_test_image(r->t, "target", VK_FORMAT_R16G16B16A16_SFLOAT, r->output.width,
                              r->output.height, VK_IMAGE_USAGE_STORAGE_BIT, NULL, 8);
    test_content_destroy(&c);
}

void rig_create(rig *r, vk_test *t, const rig_params *params)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = t->family};
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = RIG_SLOTS};
    d4r_engine_params engine = rig_engine_params(t, params);
    memset(r, 0, sizeof *r);
    r->t = t;
    r->render = params->render;
    r->output = params->output;
    create_images(r, params->seed);
    if (params->debug_view)
        r->view =
            vk_test_image(t, "view", VK_FORMAT_R8G8B8A8_UNORM, 320, 180, VK_IMAGE_USAGE_STORAGE_BIT, NULL, 4);
    must(t->vk.fn.vkCreateCommandPool(t->device, &pool, NULL, &r->pool) == VK_SUCCESS, "no command pool");
    buffers.commandPool = r->pool;
    must(t->vk.fn.vkAllocateCommandBuffers(t->device, &buffers, r->front) == VK_SUCCESS, "no buffers");
    must(t->vk.fn.vkAllocateCommandBuffers(t->device, &buffers, r->back) == VK_SUCCESS, "no buffers");
    must(d4r_timeline_create(&t->vk, "rig", &r->done) == D4R_OK, "no timeline");
    r->status = d4r_engine_create(&engine, &r->engine);
}

void rig_destroy(rig *r)
{
    must(rig_wait(r, RIG_PATIENCE_MS), "the queue has not finished");
    d4r_engine_destroy(&r->engine);
    r->t->vk.fn.vkDestroySemaphore(r->t->device, r->done, NULL);
    r->t->vk.fn.vkDestroyCommandPool(r->t->device, r->pool, NULL);
    d4r_vk_image_destroy(&r->t->vk, &r->color);
    d4r_vk_image_destroy(&r->t->vk, &r->motion);
    d4r_vk_image_destroy(&r->t->vk, &r->depth);
    d4r_vk_image_destroy(&r->t->vk, &r->target);
    d4r_vk_image_destroy(&r->t->vk, &r->view);
}

static d4r_image borrowed(const d4r_vk_image *image)
{
    return (d4r_image){.view = image->view,
                       .image = image->image,
                       .layout = VK_IMAGE_LAYOUT_GENERAL,
                       .extent = {image->extent.width, image->extent.height}};
}

d4r_frame_images rig_images(const rig *r)
{
    return (d4r_frame_images){.color = borrowed(&r->color),
                              .depth = borrowed(&r->depth),
                              .motion = borrowed(&r->motion),
                              .output = borrowed(&r->target),
                              .debug_view = borrowed(&r->view)};
}

d4r_frame_settings rig_settings(const rig *r, uint32_t n)
{
    d4r_frame_settings settings = d4r_frame_settings_default(r->render);
    settings.jitter = d4r_jitter(n, 32);
    return settings;
}

/* The target is written by one frame after the other. */
static void order_target(rig *r, VkCommandBuffer commands)
{
    VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_SHADER_WRITE_BIT};
    r->t->vk.fn.vkCmdPipelineBarrier(commands,
                                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                     VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, NULL, 0, NULL);
}

d4r_frame rig_record(rig *r, uint32_t n)
{
    const struct VolkDeviceTable *fn = &r->t->vk.fn;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    d4r_frame_images images = rig_images(r);
    d4r_frame_settings settings = rig_settings(r, n);
    VkCommandBuffer front = r->front[n % RIG_SLOTS], back = r->back[n % RIG_SLOTS];
    d4r_frame frame;
    must(fn->vkBeginCommandBuffer(front, &begin) == VK_SUCCESS, "vkBeginCommandBuffer");
    must(d4r_engine_record_front(r->engine, front, &images, &settings, &frame) == D4R_OK, "record_front");
    must(fn->vkEndCommandBuffer(front) == VK_SUCCESS, "vkEndCommandBuffer");
    must(fn->vkBeginCommandBuffer(back, &begin) == VK_SUCCESS, "vkBeginCommandBuffer");
    order_target(r, back);
    must(d4r_engine_record_back(r->engine, back, &frame) == D4R_OK, "record_back");
    must(fn->vkEndCommandBuffer(back) == VK_SUCCESS, "vkEndCommandBuffer");
    return frame;
}

void rig_queue(rig *r, uint32_t n, const d4r_frame *frame)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    uint64_t done = ++r->queued;
    VkTimelineSemaphoreSubmitInfo values[2] = {{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &frame->tokens_ready},
                                               {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = 1,
                                                .pWaitSemaphoreValues = &frame->head_ready,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &done}};
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[0],
                                .commandBufferCount = 1,
                                .pCommandBuffers = &r->front[n % RIG_SLOTS],
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &frame->timeline},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[1],
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &frame->timeline,
                                .pWaitDstStageMask = &stage,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &r->back[n % RIG_SLOTS],
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &r->done}};
    must(r->t->vk.fn.vkQueueSubmit(r->t->queue, 2, submits, VK_NULL_HANDLE) == VK_SUCCESS, "vkQueueSubmit");
}

bool rig_wait(rig *r, uint32_t timeout_ms)
{
    return d4r_timeline_wait(&r->t->vk, r->done, r->queued, timeout_ms * 1000000ull) == VK_SUCCESS;
}

d4r_frame rig_frame(rig *r, uint32_t n)
{
    d4r_frame frame = rig_record(r, n);
    rig_queue(r, n, &frame);
    must(d4r_network_submit(&frame) == D4R_OK, "d4r_network_submit");
    return frame;
}

d4r_status rig_run(rig *r, uint32_t n)
{
    d4r_frame frame = rig_frame(r, n);
    must(rig_wait(r, RIG_PATIENCE_MS), "the frame has not finished");
    return d4r_frame_status(&frame);
}

void *rig_read(rig *r, size_t *size)
{
    void *data;
    *size = (size_t)r->output.width * r->output.height * 8;
    data = malloc(*size);
    must(data != NULL, "out of memory");
    vk_test_read_image(r->t, r->target.image, r->output.width, r->output.height, 8, data);
    return data;
}

uint64_t rig_counter(const rig *r, const d4r_frame *frame)
{
    uint64_t value = 0;
    r->t->vk.fn.vkGetSemaphoreCounterValue(r->t->device, frame->timeline, &value);
    return value;
}
