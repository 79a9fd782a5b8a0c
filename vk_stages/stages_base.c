/* The part of the stages that is the same for every preset: the table's functions, the frame, pieces of recording. */
#include "vk_stages/stages_base.h"
#include "runtime/base/log.h"

/* ---- the table's functions */

d4r_status d4r_stages_create(const d4r_stages_ops *ops, const d4r_stages_desc *desc, d4r_stages **stages)
{
    *stages = NULL;
    if (d4r_stages_output_storage(desc->output_format) == VK_FORMAT_UNDEFINED)
        return d4r_fail(&desc->vk->log, D4R_ERROR_ARGUMENT,
                        "output_format: RGBA16F, R11G11B10F, 10- and 8-bit UNORM and sRGB are supported, not "
                        "VkFormat %d",
                        (int)desc->output_format);
    return ops->create(desc, stages);
}

void d4r_stages_destroy(d4r_stages **stages)
{
    if (*stages) (*stages)->ops->destroy(*stages);
    *stages = NULL;
}

d4r_status d4r_stages_record_front(d4r_stages *stages, VkCommandBuffer commands, const d4r_stage_frame *frame)
{
    return stages->ops->record_front(stages, commands, frame);
}

d4r_status d4r_stages_record_back(d4r_stages *stages, VkCommandBuffer commands)
{
    if (!stages->has_frame)
        return d4r_fail(&stages->desc.vk->log, D4R_ERROR_STATE, "back: no front has been recorded");
    return stages->ops->record_back(stages, commands);
}

uint64_t d4r_stages_device_bytes(const d4r_stages *stages)
{
    return stages->ops->device_bytes(stages);
}

uint64_t d4r_stages_weight_bytes(const d4r_stages *stages)
{
    return stages->ops->weight_bytes(stages);
}

uint32_t d4r_stages_resources(const d4r_stages *stages, d4r_stage_resource *resources, uint32_t capacity)
{
    return stages->has_frame ? stages->ops->resources(stages, resources, capacity) : 0;
}

/* ---- the structure's beginning */

void d4r_stages_init(d4r_stages *stages, const d4r_stages_ops *ops, const d4r_stages_desc *desc)
{
    stages->ops = ops;
    stages->desc = *desc;
    stages->desc.weights = stages->desc.tables = NULL;
    stages->desc.share = NULL;
}

d4r_status d4r_stages_check_limits(const d4r_stages *stages, const char *preset,
                                   const d4r_stages_limit *limits, size_t count)
{
    const d4r_vk *vk = stages->desc.vk;
    for (size_t i = 0; i < count; i++)
        if (limits[i].limit < limits[i].need)
            return d4r_fail(&vk->log, D4R_ERROR_FEATURE, "%s: %s is %llu, the stages of preset %s need %llu",
                            vk->properties.deviceName, limits[i].name, (unsigned long long)limits[i].limit,
                            preset, (unsigned long long)limits[i].need);
    return D4R_OK;
}

d4r_status d4r_stages_begin(d4r_stages *stages, const d4r_stage_frame *frame)
{
    const d4r_size r = frame->settings.render, m = stages->desc.max_render;
    stages->has_frame = false;
    if (r.width > m.width || r.height > m.height)
        return d4r_fail(&stages->desc.vk->log, D4R_ERROR_ARGUMENT,
                        "render: %ux%u is larger than max_render, %ux%u", r.width, r.height, m.width,
                        m.height);
    stages->frame = *frame;
    stages->frame_images = *frame->images;
    stages->frame.images = &stages->frame_images;
    return D4R_OK;
}

d4r_size d4r_stage_previous_render(const d4r_stage_frame *frame)
{
    const d4r_size before = frame->previous_render;
    return frame->reset || before.width == 0 || before.height == 0 ? frame->settings.render : before;
}

void d4r_stages_set_completed(d4r_stages *stages, uint64_t index)
{
    stages->completed = index;
}

/* ---- marks */

void d4r_stages_set_marker(d4r_stages *stages, d4r_stage_marker_fn marker, void *user)
{
    stages->marker = marker;
    stages->marker_user = user;
}

void d4r_stages_copy_marker(d4r_stages *stages, const d4r_stages *from)
{
    d4r_stages_set_marker(stages, from->marker, from->marker_user);
}

void d4r_stages_mark(d4r_stages *stages, VkCommandBuffer commands, const char *stage)
{
    if (stages->marker) stages->marker(stages->marker_user, commands, stage);
}

/* ---- recording */

void d4r_stages_barrier(const d4r_stages *stages, VkCommandBuffer commands, VkPipelineStageFlags from,
                        VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags uses)
{
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, wrote, uses};
    stages->desc.vk->fn.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

void d4r_stages_stage_barrier(const d4r_stages *stages, VkCommandBuffer commands)
{
    d4r_stages_barrier(stages, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

/* Content is dropped. */
static VkImageMemoryBarrier restart_barrier(const d4r_vk_image *image)
{
    return (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                                  .oldLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                  .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = image->image,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
}

void d4r_stages_begin_images(const d4r_stages *stages, VkCommandBuffer commands, const d4r_vk_image *images,
                             uint32_t count)
{
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_SHADER_WRITE_BIT,
                                    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    VkImageMemoryBarrier barriers[16];
    const uint32_t restarted = stages->frame.reset ? count : 0;
    for (uint32_t i = 0; i < restarted; i++) barriers[i] = restart_barrier(&images[i]);
    stages->desc.vk->fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                             VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                                                 VK_PIPELINE_STAGE_TRANSFER_BIT,
                                             0, 1, &memory, 0, NULL, restarted, barriers);
}

void d4r_restart_images(const d4r_vk *vk, VkCommandBuffer commands, const d4r_vk_image images[2])
{
    const VkImageMemoryBarrier barriers[2] = {restart_barrier(&images[0]), restart_barrier(&images[1])};
    vk->fn.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 0, NULL, 2, barriers);
}

/* ---- resources */

static void add(d4r_resource_list *list, const d4r_stage_resource *resource)
{
    if (list->count < list->capacity) list->items[list->count] = *resource;
    list->count++;
}

void d4r_resource_image(d4r_resource_list *list, const d4r_vk_image *image, const char *stage,
                        const char *name, bool input, d4r_size extent)
{
    const VkFormat format = image->format;
    add(list, &(d4r_stage_resource){.stage = stage,
                                    .name = name,
                                    .input = input,
                                    .image = image->image,
                                    .format = format,
                                    .extent = extent,
                                    .dtype = format == VK_FORMAT_R8G8B8A8_SNORM   ? "|i1"
                                             : format == VK_FORMAT_R8G8B8A8_UNORM ? "|u1"
                                                                                  : "<f2",
                                    .channels = format == VK_FORMAT_R16_SFLOAT      ? 1
                                                : format == VK_FORMAT_R16G16_SFLOAT ? 2
                                                                                    : 4});
}

void d4r_resource_buffer(d4r_resource_list *list, VkBuffer buffer, const char *stage, const char *name,
                         bool input, d4r_size extent, uint32_t channels, const char *dtype)
{
    const VkDeviceSize element = (VkDeviceSize)(dtype[2] - '0');
    add(list, &(d4r_stage_resource){.stage = stage,
                                    .name = name,
                                    .input = input,
                                    .buffer = buffer,
                                    .extent = extent,
                                    .size = (VkDeviceSize)extent.width * extent.height * channels * element,
                                    .dtype = dtype,
                                    .channels = channels});
}
