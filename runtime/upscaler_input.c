/* The upscaler: planes from host memory into images. */
#include <stdio.h>
#include <string.h>
#include "runtime/base/log.h"
#include "runtime/settings.h"
#include "runtime/upscaler.h"

typedef struct input_spec {
    const char *name;
    d4r_pixel_format formats[2]; /* f16, f32; NONE: not possible */
    VkFormat vk_formats[2];
} input_spec;

static const input_spec specs[D4R_UPSCALER_INPUTS] = {
    [D4R_INPUT_COLOR] = {"color",
                         {D4R_FORMAT_RGBA16F, D4R_FORMAT_RGBA32F},
                         {VK_FORMAT_R16G16B16A16_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT}},
    [D4R_INPUT_MOTION] = {"motion",
                          {D4R_FORMAT_RG16F, D4R_FORMAT_RG32F},
                          {VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R32G32_SFLOAT}},
    [D4R_INPUT_DEPTH] = {"depth",
                         {D4R_FORMAT_NONE, D4R_FORMAT_R32F},
                         {VK_FORMAT_UNDEFINED, VK_FORMAT_R32_SFLOAT}},
    [D4R_INPUT_EXPOSURE] = {"exposure",
                            {D4R_FORMAT_NONE, D4R_FORMAT_R32F},
                            {VK_FORMAT_UNDEFINED, VK_FORMAT_R32_SFLOAT}},
};

static const d4r_plane *plane_of(const d4r_upscaler_frame *frame, d4r_input input)
{
    switch (input) {
    case D4R_INPUT_COLOR:
        return &frame->color;
    case D4R_INPUT_MOTION:
        return &frame->motion;
    case D4R_INPUT_DEPTH:
        return &frame->depth;
    default:
        return &frame->exposure;
    }
}

/* Whether the input is read, and the size that its plane must have. */
static bool input_size(const d4r_upscaler *u, const d4r_upscaler_frame *frame, d4r_input input,
                       d4r_size *size)
{
    *size = frame->settings.render;
    if (input == D4R_INPUT_MOTION)
        *size = d4r_motion_size(&u->params.conventions, frame->settings.render, u->params.output);
    if (input != D4R_INPUT_EXPOSURE) return true;
    *size = (d4r_size){1, 1};
    return d4r_uses_exposure_image(&u->params.conventions);
}

/* ---- checks ---- */

static unsigned variant_of(d4r_input input, d4r_pixel_format format)
{
    return format == specs[input].formats[1] ? 1 : 0;
}

static d4r_status check_plane(const d4r_upscaler *u, d4r_input input, const d4r_plane *plane, d4r_size needed)
{
    const d4r_log *log = &u->params.log;
    const char *name = specs[input].name;
    size_t row, pixel = d4r_pixel_format_bytes(plane->format);
    uint64_t bytes;
    if (!plane->data) return d4r_fail(log, D4R_ERROR_INPUT, "frame.%s.data is NULL", name);
    if (plane->format == D4R_FORMAT_NONE ||
        (plane->format != specs[input].formats[0] && plane->format != specs[input].formats[1]))
        return d4r_fail(log, D4R_ERROR_INPUT, "frame.%s.format is %d, which is not possible for this plane",
                        name, (int)plane->format);
    if (plane->extent.width != needed.width || plane->extent.height != needed.height)
        return d4r_fail(log, D4R_ERROR_INPUT, "frame.%s.extent is %ux%u; %ux%u is needed", name,
                        plane->extent.width, plane->extent.height, needed.width, needed.height);
    row = plane->row_bytes ? plane->row_bytes : pixel * needed.width;
    if (row < pixel * needed.width)
        return d4r_fail(log, D4R_ERROR_INPUT, "frame.%s.row_bytes is %zu; a row has %zu bytes", name, row,
                        pixel * needed.width);
    if (__builtin_mul_overflow((uint64_t)row, (uint64_t)(needed.height - 1), &bytes) ||
        __builtin_add_overflow(bytes, (uint64_t)pixel * needed.width, &bytes) || plane->size < bytes)
        return d4r_fail(log, D4R_ERROR_INPUT,
                        "frame.%s.size is %zu; %u rows of %zu bytes at a distance of %zu need more", name,
                        plane->size, needed.height, pixel * needed.width, row);
    return D4R_OK;
}

d4r_status d4r_upscaler_check_frame(d4r_upscaler *u, const d4r_upscaler_frame *frame)
{
    d4r_size max = u->params.max_render, render = frame->settings.render, needed;
    d4r_log errors = u->params.log;
    d4r_status status;
    /* Warnings come from the engine, which checks the settings again when it records. */
    if (errors.level > D4R_LOG_ERROR) errors.level = D4R_LOG_ERROR;
    status = d4r_frame_settings_check(&frame->settings, u->params.output, &errors);
    if (status != D4R_OK) return status;
    if (render.width > max.width || render.height > max.height)
        return d4r_fail(&errors, D4R_ERROR_ARGUMENT,
                        "settings.render is %ux%u, larger than params.max_render of %ux%u", render.width,
                        render.height, max.width, max.height);
    for (d4r_input input = 0; input < D4R_UPSCALER_INPUTS && status == D4R_OK; input++)
        if (input_size(u, frame, input, &needed))
            status = check_plane(u, input, plane_of(frame, input), needed);
    return status;
}

/* ---- images ---- */

/* Not every device can filter 32-bit floats, and the stages filter the colour. */
static d4r_status check_filtering(d4r_upscaler *u, VkFormat format)
{
    PFN_vkGetPhysicalDeviceFormatProperties get =
        (PFN_vkGetPhysicalDeviceFormatProperties)u->vk.get_instance_proc_addr(
            u->vk.instance, "vkGetPhysicalDeviceFormatProperties");
    VkFormatProperties properties;
    get(u->vk.physical_device, format, &properties);
    if (properties.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT) return D4R_OK;
    return d4r_fail(&u->params.log, D4R_ERROR_FEATURE,
                    "frame.color.format: %s cannot filter 32-bit floats; use RGBA16F", u->own.name);
}

static d4r_status ensure_image(d4r_upscaler *u, d4r_input input, unsigned variant)
{
    d4r_vk_image *image = &u->inputs[input].variants[variant];
    d4r_size size = u->params.max_render;
    d4r_status status = D4R_OK;
    if (image->image) return D4R_OK;
    if (input == D4R_INPUT_MOTION && u->params.conventions.motion_at_output) size = u->params.output;
    if (input == D4R_INPUT_EXPOSURE) size = (d4r_size){1, 1};
    if (input == D4R_INPUT_COLOR && variant == 1) status = check_filtering(u, specs[input].vk_formats[1]);
    if (status != D4R_OK) return status;
    return d4r_vk_image_create(&u->vk, specs[input].name, specs[input].vk_formats[variant],
                               (VkExtent2D){size.width, size.height},
                               VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, image);
}

/* ---- upload ---- */

static VkDeviceSize align16(VkDeviceSize size)
{
    return (size + 15) / 16 * 16;
}

static VkDeviceSize plane_bytes(const d4r_plane *plane)
{
    return (VkDeviceSize)plane->extent.width * plane->extent.height * d4r_pixel_format_bytes(plane->format);
}

/* The slot is idle, so its buffer may be replaced. */
static d4r_status ensure_buffer(d4r_upscaler *u, d4r_upscaler_slot *slot, VkDeviceSize size)
{
    if (slot->upload.size >= size) return D4R_OK;
    d4r_vk_buffer_destroy(&u->vk, &slot->upload);
    return d4r_vk_buffer_create(&u->vk, "d4r upload", size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                                VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0,
                                false, &slot->upload);
}

static void copy_rows(unsigned char *to, const d4r_plane *plane)
{
    size_t row = plane->extent.width * d4r_pixel_format_bytes(plane->format);
    size_t stride = plane->row_bytes ? plane->row_bytes : row;
    const unsigned char *from = plane->data;
    if (stride == row) {
        memcpy(to, from, row * plane->extent.height);
        return;
    }
    for (uint32_t y = 0; y < plane->extent.height; y++) memcpy(to + y * row, from + y * stride, row);
}

static VkImageMemoryBarrier barrier_for(VkImage image, bool before)
{
    return (VkImageMemoryBarrier){
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = before ? 0 : VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = before ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_SHADER_READ_BIT,
        .oldLayout = before ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
        .newLayout = before ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1}};
}

/* Reads of the frame before are over (first barrier) before the copy; the stages wait for the copy (second).
 */
static void record_copy(d4r_upscaler *u, d4r_upscaler_slot *slot, VkImage image, d4r_size size,
                        VkDeviceSize offset)
{
    VkImageMemoryBarrier before = barrier_for(image, true), after = barrier_for(image, false);
    VkBufferImageCopy copy = {.bufferOffset = offset,
                              .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
                              .imageExtent = {size.width, size.height, 1}};
    u->vk.fn.vkCmdPipelineBarrier(slot->front, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &before);
    u->vk.fn.vkCmdCopyBufferToImage(slot->front, slot->upload.buffer, image,
                                    VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &copy);
    u->vk.fn.vkCmdPipelineBarrier(slot->front, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 0, NULL, 1, &after);
}

static d4r_image *target_of(d4r_frame_images *images, d4r_input input)
{
    switch (input) {
    case D4R_INPUT_COLOR:
        return &images->color;
    case D4R_INPUT_MOTION:
        return &images->motion;
    case D4R_INPUT_DEPTH:
        return &images->depth;
    default:
        return &images->exposure;
    }
}

d4r_status d4r_upscaler_upload(d4r_upscaler *u, d4r_upscaler_slot *slot, const d4r_upscaler_frame *frame,
                               d4r_frame_images *images)
{
    VkDeviceSize total = 0, offset = 0;
    d4r_status status = D4R_OK;
    d4r_size size;
    for (d4r_input i = 0; i < D4R_UPSCALER_INPUTS && status == D4R_OK; i++) {
        if (!input_size(u, frame, i, &size)) continue;
        total += align16(plane_bytes(plane_of(frame, i)));
        status = ensure_image(u, i, variant_of(i, plane_of(frame, i)->format));
    }
    if (status == D4R_OK) status = ensure_buffer(u, slot, total);
    if (status != D4R_OK) return status;
    for (d4r_input i = 0; i < D4R_UPSCALER_INPUTS; i++) {
        const d4r_plane *plane = plane_of(frame, i);
        const d4r_vk_image *image = &u->inputs[i].variants[variant_of(i, plane->format)];
        if (!input_size(u, frame, i, &size)) continue;
        copy_rows((unsigned char *)slot->upload.map + offset, plane);
        record_copy(u, slot, image->image, size, offset);
        *target_of(images, i) = (d4r_image){.view = image->view,
                                            .image = image->image,
                                            .layout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                            .extent = {image->extent.width, image->extent.height}};
        offset += align16(plane_bytes(plane));
    }
    return D4R_OK;
}
