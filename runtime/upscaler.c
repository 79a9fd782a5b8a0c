/* The upscaler: creation, submission, waiting. Uploads, profiles and dumps are in files of their own. */
#include "runtime/upscaler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interop/timeline.h"
#include "runtime/base/log.h"
#include "runtime/settings.h"

#define DEFAULT_FRAMES_IN_FLIGHT 3u
/* On top of the watchdog's bounds: what the stages themselves may take on a slow device. */
#define STAGE_GRACE_MS 30000u

d4r_upscaler_params d4r_upscaler_params_default(void)
{
    return (d4r_upscaler_params){
        .output_format = D4R_FORMAT_RGBA16F, .readback = true, .log = {.level = D4R_LOG_WARNING}};
}

/* ---- creation ---- */

static d4r_status resolve_params(d4r_upscaler_params *p)
{
    d4r_status status;
    if (!p->model) return d4r_fail(&p->log, D4R_ERROR_ARGUMENT, "params.model is NULL");
    if (p->output_format == D4R_FORMAT_NONE) p->output_format = D4R_FORMAT_RGBA16F;
    if (p->output_format != D4R_FORMAT_RGBA16F && p->output_format != D4R_FORMAT_RGB10A2)
        return d4r_fail(&p->log, D4R_ERROR_ARGUMENT,
                        "params.output_format is %d; RGBA16F or RGB10A2 is needed", (int)p->output_format);
    if (p->frames_in_flight == 0) p->frames_in_flight = DEFAULT_FRAMES_IN_FLIGHT;
    if (p->frames_in_flight > D4R_UPSCALER_MAX_FRAMES)
        return d4r_fail(&p->log, D4R_ERROR_ARGUMENT, "params.frames_in_flight is %u; 1 to %u is possible",
                        p->frames_in_flight, D4R_UPSCALER_MAX_FRAMES);
    status = d4r_check_sizes("params", p->output, &p->max_render, &p->log);
    return status == D4R_OK ? d4r_check_conventions("params", &p->conventions, &p->log) : status;
}

d4r_status d4r_upscaler_commands_create(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = u->own.queue_family};
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 2};
    VkCommandBuffer commands[2];
    VkResult result = u->vk.fn.vkCreateCommandPool(u->vk.device, &pool, NULL, &slot->pool);
    if (result != VK_SUCCESS) {
        slot->pool = VK_NULL_HANDLE;
        return d4r_vk_fail(&u->vk, result, "vkCreateCommandPool");
    }
    d4r_vk_set_name(&u->vk, VK_OBJECT_TYPE_COMMAND_POOL, (uint64_t)slot->pool, "d4r frame");
    buffers.commandPool = slot->pool;
    result = u->vk.fn.vkAllocateCommandBuffers(u->vk.device, &buffers, commands);
    if (result != VK_SUCCESS) return d4r_vk_fail(&u->vk, result, "vkAllocateCommandBuffers");
    slot->front = commands[0];
    slot->back = commands[1];
    d4r_vk_set_name(&u->vk, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)slot->front, "d4r front");
    d4r_vk_set_name(&u->vk, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)slot->back, "d4r back");
    return D4R_OK;
}

static d4r_status create_slot(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    VkDeviceSize bytes = (VkDeviceSize)u->params.output.width * u->params.output.height *
                         d4r_pixel_format_bytes(u->params.output_format);
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = D4R_UPSCALER_STAMPS};
    d4r_status status = d4r_upscaler_commands_create(u, slot);
    VkResult result;
    if (status == D4R_OK && u->params.readback)
        status =
            d4r_vk_buffer_create(&u->vk, "d4r readback", bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                 VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                 VK_MEMORY_PROPERTY_HOST_CACHED_BIT, false, &slot->readback);
    if (status != D4R_OK || !u->params.profile) return status;
    result = u->vk.fn.vkCreateQueryPool(u->vk.device, &queries, NULL, &slot->queries);
    if (result != VK_SUCCESS) {
        slot->queries = VK_NULL_HANDLE;
        return d4r_vk_fail(&u->vk, result, "vkCreateQueryPool");
    }
    d4r_vk_set_name(&u->vk, VK_OBJECT_TYPE_QUERY_POOL, (uint64_t)slot->queries, "d4r timestamps");
    return D4R_OK;
}

static void describe(d4r_upscaler *u)
{
    char network[256];
    d4r_network_describe(u->network, network, sizeof network);
    snprintf(u->description, sizeof u->description, "%s, %s", u->own.name, network);
}

static d4r_status start(d4r_upscaler *u)
{
    const d4r_upscaler_params *p = &u->params;
    VkExtent2D output = {p->output.width, p->output.height};
    VkFormat format = p->output_format == D4R_FORMAT_RGB10A2 ? VK_FORMAT_A2B10G10R10_UNORM_PACK32
                                                             : VK_FORMAT_R16G16B16A16_SFLOAT;
    d4r_status status = d4r_own_device_create(p->device, p->validation, &p->log, &u->own);
    if (status != D4R_OK) return status;
    if (p->profile && !u->own.timestamps)
        return d4r_fail(&p->log, D4R_ERROR_FEATURE, "params.profile: the queue of %s has no timestamps",
                        u->own.name);
    status = d4r_vk_init(&u->vk, u->own.get_instance_proc_addr, u->own.instance, u->own.physical_device,
                         u->own.device, u->own.queue_family, NULL, &p->log);
    if (status == D4R_OK) status = d4r_upscaler_create_network(u);
    if (status == D4R_OK) status = d4r_timeline_create(&u->vk, "d4r upscaler timeline", &u->done);
    if (status == D4R_OK)
        status =
            d4r_vk_image_create(&u->vk, "d4r output", format, output,
                                VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, &u->output);
    for (uint32_t i = 0; i < p->frames_in_flight && status == D4R_OK; i++)
        status = create_slot(u, &u->slots[i]);
    if (status == D4R_OK && p->dump) status = d4r_upscaler_commands_create(u, &u->dump_slot);
    if (status == D4R_OK) describe(u);
    return status;
}

d4r_status d4r_upscaler_create(const d4r_upscaler_params *params, d4r_upscaler **upscaler)
{
    d4r_upscaler_params resolved;
    d4r_upscaler *u;
    d4r_status status;
    if (upscaler) *upscaler = NULL;
    if (!upscaler || !params)
        return d4r_fail(params ? &params->log : NULL, D4R_ERROR_ARGUMENT, "d4r_upscaler_create: %s is NULL",
                        params ? "upscaler" : "params");
    resolved = *params;
    status = resolve_params(&resolved);
    if (status != D4R_OK) return status;
    u = calloc(1, sizeof *u);
    if (!u) return d4r_fail(&params->log, D4R_ERROR_MEMORY, "d4r_upscaler_create: out of memory");
    u->params = resolved;
    status = start(u);
    u->params.device = NULL;
    if (status != D4R_OK)
        d4r_upscaler_destroy(&u);
    else
        *upscaler = u;
    return status;
}

/* ---- destruction ---- */

static void destroy_slot(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    if (slot->queries) u->vk.fn.vkDestroyQueryPool(u->vk.device, slot->queries, NULL);
    if (slot->pool) u->vk.fn.vkDestroyCommandPool(u->vk.device, slot->pool, NULL);
    d4r_vk_buffer_destroy(&u->vk, &slot->upload);
    d4r_vk_buffer_destroy(&u->vk, &slot->readback);
}

static void destroy_objects(d4r_upscaler *u)
{
    for (uint32_t i = 0; i < D4R_UPSCALER_MAX_FRAMES; i++) destroy_slot(u, &u->slots[i]);
    destroy_slot(u, &u->dump_slot);
    for (uint32_t i = 0; i < D4R_UPSCALER_INPUTS; i++)
        for (uint32_t j = 0; j < 2; j++) d4r_vk_image_destroy(&u->vk, &u->inputs[i].variants[j]);
    d4r_vk_image_destroy(&u->vk, &u->output);
    d4r_vk_buffer_destroy(&u->vk, &u->dump_buffer);
    if (u->done) u->vk.fn.vkDestroySemaphore(u->vk.device, u->done, NULL);
}

void d4r_upscaler_destroy(d4r_upscaler **upscaler)
{
    d4r_upscaler *u = upscaler ? *upscaler : NULL;
    d4r_handoff_end end;
    bool hung;
    if (!u) return;
    *upscaler = NULL;
    hung = u->next_ticket > 0 && d4r_upscaler_wait_done(u, u->next_ticket - 1, 0) == D4R_ERROR_TIMEOUT;
    end = d4r_engine_end(&u->engine);
    if (hung) hung = d4r_upscaler_wait_done(u, u->next_ticket - 1, 0) == D4R_ERROR_TIMEOUT;
    d4r_network_destroy(&u->network);
    if (hung || end == D4R_HANDOFF_ABANDONED) {
        /* Freeing what a device or a network still uses would be worse than keeping it. */
        d4r_fail(&u->params.log, D4R_ERROR_TIMEOUT,
                 "d4r_upscaler_destroy: %s is still busy; its device and memory stay allocated",
                 hung ? "the device" : "the network");
        u->own.log = (d4r_log){0};
        return;
    }
    if (u->own.device && u->vk.device) destroy_objects(u);
    if (u->own.validation_messages > 0)
        d4r_log_print(&u->params.log, D4R_LOG_ERROR, "%u validation messages", u->own.validation_messages);
    d4r_own_device_destroy(&u->own);
    free(u);
}

/* ---- submission ---- */

static d4r_status begin_commands(d4r_upscaler *u, VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = u->vk.fn.vkBeginCommandBuffer(commands, &info);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(&u->vk, result, "vkBeginCommandBuffer");
}

static d4r_status end_commands(d4r_upscaler *u, VkCommandBuffer commands)
{
    VkResult result = u->vk.fn.vkEndCommandBuffer(commands);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(&u->vk, result, "vkEndCommandBuffer");
}

static void record_readback(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    d4r_size output = u->params.output;
    VkImageMemoryBarrier written = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_GENERAL,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = u->output.image,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    VkMemoryBarrier copied = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkBufferImageCopy copy = {.imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
                              .imageExtent = {output.width, output.height, 1}};
    u->vk.fn.vkCmdPipelineBarrier(slot->back, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &written);
    u->vk.fn.vkCmdCopyImageToBuffer(slot->back, u->output.image, VK_IMAGE_LAYOUT_GENERAL,
                                    slot->readback.buffer, 1, &copy);
    u->vk.fn.vkCmdPipelineBarrier(slot->back, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                                  1, &copied, 0, NULL, 0, NULL);
}

/* The output image: its first transition; later, the copy of the frame before is over before it is written
 * again. */
static void record_output_ready(d4r_upscaler *u, VkCommandBuffer commands)
{
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .oldLayout = u->output_ready ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_UNDEFINED,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = u->output.image,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
    u->vk.fn.vkCmdPipelineBarrier(commands,
                                  VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static d4r_status record_back(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    d4r_status status = begin_commands(u, slot->back);
    if (status != D4R_OK) return status;
    d4r_upscaler_stamp_now(u, slot->back, NULL);
    status = d4r_engine_record_back(u->engine, slot->back, &slot->frame);
    if (status != D4R_OK) return status;
    if (u->params.readback) {
        record_readback(u, slot);
        d4r_upscaler_stamp_now(u, slot->back, "readback");
    }
    return end_commands(u, slot->back);
}

static d4r_status record_front(d4r_upscaler *u, d4r_upscaler_slot *slot, const d4r_upscaler_frame *frame)
{
    d4r_frame_images images = {0};
    d4r_status status = begin_commands(u, slot->front);
    if (status != D4R_OK) return status;
    if (slot->queries) u->vk.fn.vkCmdResetQueryPool(slot->front, slot->queries, 0, D4R_UPSCALER_STAMPS);
    d4r_upscaler_stamp_now(u, slot->front, NULL);
    record_output_ready(u, slot->front);
    status = d4r_upscaler_upload(u, slot, frame, &images);
    if (status != D4R_OK) return status;
    images.output = (d4r_image){.view = u->output.view,
                                .image = u->output.image,
                                .layout = VK_IMAGE_LAYOUT_GENERAL,
                                .extent = u->params.output};
    return d4r_engine_record_front(u->engine, slot->front, &images, &frame->settings, &slot->frame);
}

static d4r_status record_frame(d4r_upscaler *u, d4r_upscaler_slot *slot, const d4r_upscaler_frame *frame)
{
    VkResult result = u->vk.fn.vkResetCommandPool(u->vk.device, slot->pool, 0);
    d4r_status status;
    if (result != VK_SUCCESS) return d4r_vk_fail(&u->vk, result, "vkResetCommandPool");
    slot->stamp_count = 0;
    u->recording = slot;
    status = record_front(u, slot, frame);
    if (status == D4R_OK) {
        slot->front_stamps = slot->stamp_count;
        status = end_commands(u, slot->front);
        if (status == D4R_OK) status = record_back(u, slot);
        if (status != D4R_OK) d4r_frame_discard(&slot->frame);
    }
    u->recording = NULL;
    return status;
}

static d4r_status submit_commands(d4r_upscaler *u, d4r_upscaler_slot *slot, uint64_t ticket)
{
    static const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    uint64_t done = ticket + 1;
    VkTimelineSemaphoreSubmitInfo values[2] = {{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &slot->frame.tokens_ready},
                                               {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = 1,
                                                .pWaitSemaphoreValues = &slot->frame.head_ready,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &done}};
    VkSubmitInfo submits[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[0],
                                .commandBufferCount = 1,
                                .pCommandBuffers = &slot->front,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &slot->frame.timeline},
                               {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .pNext = &values[1],
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &slot->frame.timeline,
                                .pWaitDstStageMask = &stages,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &slot->back,
                                .signalSemaphoreCount = 1,
                                .pSignalSemaphores = &u->done}};
    VkResult result = u->vk.fn.vkQueueSubmit(u->own.queue, 2, submits, VK_NULL_HANDLE);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(&u->vk, result, "vkQueueSubmit");
}

d4r_status d4r_upscaler_submit(d4r_upscaler *u, const d4r_upscaler_frame *frame, uint64_t *ticket)
{
    d4r_upscaler_slot *slot;
    d4r_status status;
    if (!u) return D4R_ERROR_ARGUMENT;
    if (!frame) return d4r_fail(&u->params.log, D4R_ERROR_ARGUMENT, "d4r_upscaler_submit: frame is NULL");
    status = d4r_upscaler_check_frame(u, frame);
    if (status != D4R_OK) return status;
    slot = &u->slots[u->next_ticket % u->params.frames_in_flight];
    if (slot->state != D4R_SLOT_FREE) status = d4r_upscaler_wait_done(u, slot->ticket, 0);
    if (status != D4R_OK) return status;
    slot->state = D4R_SLOT_FREE;
    status = record_frame(u, slot, frame);
    if (status != D4R_OK) return status;
    status = submit_commands(u, slot, u->next_ticket);
    if (status != D4R_OK) {
        d4r_frame_discard(&slot->frame);
        return status;
    }
    u->output_ready = true;
    slot->state = D4R_SLOT_SUBMITTED;
    slot->ticket = u->next_ticket++;
    if (ticket) *ticket = slot->ticket;
    status = d4r_network_submit(&slot->frame);
    if (status == D4R_OK && u->params.dump) status = d4r_upscaler_dump(u, slot);
    return status;
}

/* ---- waiting ---- */

d4r_status d4r_upscaler_wait_done(d4r_upscaler *u, uint64_t ticket, uint32_t timeout_ms)
{
    uint64_t bound = (uint64_t)u->watchdog_ms * u->params.frames_in_flight + STAGE_GRACE_MS;
    VkResult result =
        d4r_timeline_wait(&u->vk, u->done, ticket + 1, (timeout_ms ? timeout_ms : bound) * 1000000ull);
    if (result == VK_SUCCESS) return D4R_OK;
    if (result != VK_TIMEOUT) return d4r_vk_fail(&u->vk, result, "vkWaitSemaphores (frame)");
    return d4r_fail(&u->params.log, D4R_ERROR_TIMEOUT,
                    "frame %" PRIu64 " has not finished after %" PRIu64 " ms", ticket,
                    timeout_ms ? timeout_ms : bound);
}

static d4r_status check_pixels(const d4r_upscaler *u, const void *pixels, size_t size)
{
    size_t bytes = (size_t)u->params.output.width * u->params.output.height *
                   d4r_pixel_format_bytes(u->params.output_format);
    if (!pixels) return D4R_OK;
    if (!u->params.readback)
        return d4r_fail(&u->params.log, D4R_ERROR_STATE, "d4r_upscaler_wait: params.readback is false");
    if (size < bytes)
        return d4r_fail(&u->params.log, D4R_ERROR_ARGUMENT,
                        "d4r_upscaler_wait: size is %zu; the output has %zu bytes", size, bytes);
    return D4R_OK;
}

d4r_status d4r_upscaler_wait(d4r_upscaler *u, uint64_t ticket, void *pixels, size_t size, uint32_t timeout_ms)
{
    d4r_upscaler_slot *slot;
    d4r_status status;
    if (!u) return D4R_ERROR_ARGUMENT;
    slot = &u->slots[ticket % u->params.frames_in_flight];
    if (slot->state != D4R_SLOT_SUBMITTED || slot->ticket != ticket)
        return d4r_fail(&u->params.log, D4R_ERROR_STATE,
                        "d4r_upscaler_wait: ticket %" PRIu64 " was never given out, waited for before, or is "
                        "too old",
                        ticket);
    status = check_pixels(u, pixels, size);
    if (status == D4R_OK) status = d4r_upscaler_wait_done(u, ticket, timeout_ms);
    if (status != D4R_OK) return status;
    slot->state = D4R_SLOT_WAITED;
    if (u->params.profile) d4r_upscaler_collect_profile(u, slot);
    if (u->engine->validate) d4r_validate_poll(u->engine->validate);
    status = d4r_frame_status(&slot->frame);
    if (status == D4R_OK && pixels)
        memcpy(pixels, slot->readback.map,
               (size_t)u->params.output.width * u->params.output.height *
                   d4r_pixel_format_bytes(u->params.output_format));
    return status;
}

/* ---- queries ---- */

d4r_status d4r_upscaler_profile(d4r_upscaler *u, uint64_t ticket, d4r_frame_profile *profile)
{
    d4r_upscaler_slot *slot;
    if (!u || !profile) return D4R_ERROR_ARGUMENT;
    slot = &u->slots[ticket % u->params.frames_in_flight];
    if (!u->params.profile || slot->state != D4R_SLOT_WAITED || slot->ticket != ticket)
        return d4r_fail(&u->params.log, D4R_ERROR_STATE, "d4r_upscaler_profile: %s",
                        u->params.profile ? "the ticket was not waited for, or is too old"
                                          : "params.profile is false");
    *profile = slot->profile;
    return D4R_OK;
}

static uint64_t staging_bytes(const d4r_upscaler *u)
{
    uint64_t bytes = u->dump_buffer.allocation;
    for (uint32_t i = 0; i < D4R_UPSCALER_MAX_FRAMES; i++)
        bytes += u->slots[i].upload.allocation + u->slots[i].readback.allocation;
    return bytes;
}

d4r_status d4r_upscaler_memory(const d4r_upscaler *u, d4r_memory_info *info)
{
    d4r_status status;
    if (!u || !info) return D4R_ERROR_ARGUMENT;
    status = d4r_engine_memory(u->engine, info);
    if (status != D4R_OK) return status;
    info->staging_bytes = staging_bytes(u);
    return D4R_OK;
}

d4r_status d4r_upscaler_validation_report(d4r_upscaler *u, d4r_finding *findings, uint32_t capacity,
                                          uint32_t *count)
{
    return u ? d4r_engine_validation_report(u->engine, findings, capacity, count) : D4R_ERROR_ARGUMENT;
}

const char *d4r_upscaler_description(const d4r_upscaler *u)
{
    return u ? u->description : "";
}
