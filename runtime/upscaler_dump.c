/* The upscaler: reads back what every stage of a frame read and wrote, for inspection. Slow on purpose: one
 * frame at a time, one resource at a time. */
#include <inttypes.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/upscaler.h"

#define MAX_RESOURCES 64u

static size_t element_bytes(const char *dtype)
{
    return (size_t)(dtype[strlen(dtype) - 1] - '0');
}

static VkDeviceSize resource_bytes(const d4r_stage_resource *r)
{
    if (r->buffer) return r->size;
    return (VkDeviceSize)r->extent.width * r->extent.height * r->channels * element_bytes(r->dtype);
}

static d4r_status ensure_dump_buffer(d4r_upscaler *u, VkDeviceSize size)
{
    if (u->dump_buffer.size >= size) return D4R_OK;
    d4r_vk_buffer_destroy(&u->vk, &u->dump_buffer);
    return d4r_vk_buffer_create(&u->vk, "d4r dump", size, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                VK_MEMORY_PROPERTY_HOST_CACHED_BIT, false, &u->dump_buffer);
}

static void record_dump(d4r_upscaler *u, const d4r_stage_resource *r, VkCommandBuffer commands)
{
    VkMemoryBarrier before = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
    /* Host reads come next, then the next frame's stages, or another copy into the same buffer. */
    VkMemoryBarrier after = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    VkBufferImageCopy image = {.imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
                               .imageExtent = {r->extent.width, r->extent.height, 1}};
    VkBufferCopy buffer = {.size = r->size};
    u->vk.fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                  VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &before, 0, NULL, 0, NULL);
    if (r->buffer)
        u->vk.fn.vkCmdCopyBuffer(commands, r->buffer, u->dump_buffer.buffer, 1, &buffer);
    else
        u->vk.fn.vkCmdCopyImageToBuffer(commands, r->image, VK_IMAGE_LAYOUT_GENERAL, u->dump_buffer.buffer, 1,
                                        &image);
    u->vk.fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                  VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                                  &after, 0, NULL, 0, NULL);
}

static d4r_status copy_resource(d4r_upscaler *u, const d4r_stage_resource *r)
{
    VkCommandBuffer commands = u->dump_slot.front;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    d4r_status status = ensure_dump_buffer(u, resource_bytes(r));
    VkResult result;
    if (status != D4R_OK) return status;
    result = u->vk.fn.vkResetCommandPool(u->vk.device, u->dump_slot.pool, 0);
    if (result == VK_SUCCESS) result = u->vk.fn.vkBeginCommandBuffer(commands, &begin);
    if (result != VK_SUCCESS) return d4r_vk_fail(&u->vk, result, "dump: vkBeginCommandBuffer");
    record_dump(u, r, commands);
    result = u->vk.fn.vkEndCommandBuffer(commands);
    if (result == VK_SUCCESS) result = u->vk.fn.vkQueueSubmit(u->own.queue, 1, &submit, VK_NULL_HANDLE);
    if (result == VK_SUCCESS) result = u->vk.fn.vkQueueWaitIdle(u->own.queue);
    return result == VK_SUCCESS ? D4R_OK : d4r_vk_fail(&u->vk, result, "dump: copy");
}

static void deliver(d4r_upscaler *u, uint64_t frame, d4r_dump_item *item)
{
    item->data = u->dump_buffer.map;
    u->params.dump(u->params.dump_user, frame, item);
}

static d4r_status dump_resource(d4r_upscaler *u, uint64_t frame, const d4r_stage_resource *r)
{
    d4r_dump_item item = {
        .stage = r->stage, .name = r->name, .dtype = r->dtype, .size = (size_t)resource_bytes(r)};
    d4r_status status = copy_resource(u, r);
    if (status != D4R_OK) return status;
    if (r->buffer) {
        item.dimensions = 1;
        item.shape[0] = r->size / element_bytes(r->dtype);
    } else {
        item.dimensions = 3;
        item.shape[0] = r->extent.height;
        item.shape[1] = r->extent.width;
        item.shape[2] = r->channels;
    }
    deliver(u, frame, &item);
    return D4R_OK;
}

/* Tokens and head belong to the engine, not to the stages. */
static d4r_status dump_shared(d4r_upscaler *u, uint64_t frame, const char *name, VkBuffer buffer,
                              d4r_size grid, uint64_t bytes)
{
    const d4r_net_desc *network = u->engine->preset->network;
    const uint64_t tokens = (uint64_t)grid.width * grid.height;
    d4r_stage_resource r = {.buffer = buffer, .size = bytes, .dtype = network->dtype};
    d4r_dump_item item = {.stage = "network",
                          .name = name,
                          .dtype = r.dtype,
                          .dimensions = 3,
                          .shape = {grid.height, grid.width, bytes / tokens / network->value_bytes},
                          .size = (size_t)r.size};
    d4r_status status = copy_resource(u, &r);
    if (status == D4R_OK) deliver(u, frame, &item);
    return status;
}

d4r_status d4r_upscaler_dump(d4r_upscaler *u, const d4r_upscaler_slot *slot)
{
    d4r_stage_resource resources[MAX_RESOURCES];
    d4r_sizes sizes;
    uint32_t count;
    d4r_status status = d4r_upscaler_wait_done(u, slot->ticket, 0);
    if (status != D4R_OK) return status;
    if (d4r_frame_status(&slot->frame) != D4R_OK) {
        d4r_log_print(&u->params.log, D4R_LOG_WARNING, "frame %" PRIu64 " failed: nothing dumped",
                      slot->ticket);
        return D4R_OK; /* d4r_upscaler_wait reports the failure */
    }
    d4r_preset_sizes(u->engine->preset->id, u->engine->last_render, u->params.output, &sizes);
    count = d4r_stages_resources(u->engine->stages, resources, MAX_RESOURCES);
    if (count > MAX_RESOURCES) count = MAX_RESOURCES;
    for (uint32_t i = 0; i < count && status == D4R_OK; i++)
        status = dump_resource(u, slot->ticket, &resources[i]);
    if (status == D4R_OK)
        status = dump_shared(u, slot->ticket, "tokens", u->engine->shared.tokens.buffer, sizes.token_grid,
                             sizes.token_bytes);
    if (status == D4R_OK)
        status = dump_shared(u, slot->ticket, "head", u->engine->shared.head.buffer, sizes.token_grid,
                             sizes.head_bytes);
    return status;
}
