/* Images, compute passes, and what is recorded with them. */
#include "gpu.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

static VkDeviceMemory allocate(const gpu *g, VkMemoryRequirements needs, VkMemoryPropertyFlags flags)
{
    VkPhysicalDeviceMemoryProperties types;
    VkDeviceMemory memory;
    vkGetPhysicalDeviceMemoryProperties(g->physical, &types);
    for (uint32_t i = 0; i < types.memoryTypeCount; i++) {
        if (!(needs.memoryTypeBits >> i & 1) || (types.memoryTypes[i].propertyFlags & flags) != flags)
            continue;
        VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size, i};
        gpu_check(vkAllocateMemory(g->device, &info, NULL, &memory), "vkAllocateMemory");
        return memory;
    }
    gpu_fail(6, "no memory type fits");
    return VK_NULL_HANDLE;
}

gpu_image gpu_image_create(const gpu *g, VkFormat format, d4r_size size, VkImageUsageFlags usage)
{
    gpu_image made = {.format = format, .usage = usage, .size = size};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {size.width, size.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = usage};
    gpu_check(vkCreateImage(g->device, &info, NULL, &made.image), "vkCreateImage");
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(g->device, made.image, &needs);
    made.memory = allocate(g, needs, 0);
    gpu_check(vkBindImageMemory(g->device, made.image, made.memory, 0), "vkBindImageMemory");
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = made.image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    gpu_check(vkCreateImageView(g->device, &view, NULL, &made.view), "vkCreateImageView");
    return made;
}

void gpu_image_destroy(const gpu *g, gpu_image *image)
{
    vkDestroyImageView(g->device, image->view, NULL);
    vkDestroyImage(g->device, image->image, NULL);
    vkFreeMemory(g->device, image->memory, NULL);
    *image = (gpu_image){0};
}

static void bind_images(const gpu *g, gpu_pass *pass, uint32_t count, const VkDescriptorType *types,
                        const gpu_image *const *images)
{
    VkDescriptorSetAllocateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, g->descriptors,
                                        1, &pass->set_layout};
    gpu_check(vkAllocateDescriptorSets(g->device, &info, &pass->set), "vkAllocateDescriptorSets");
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorImageInfo image = {g->sampler, images[i]->view, VK_IMAGE_LAYOUT_GENERAL};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = pass->set,
                                      .dstBinding = i,
                                      .descriptorCount = 1,
                                      .descriptorType = types[i],
                                      .pImageInfo = &image};
        vkUpdateDescriptorSets(g->device, 1, &write, 0, NULL);
    }
}

gpu_pass gpu_pass_create(const gpu *g, const uint32_t *code, size_t code_size, uint32_t push_size,
                         uint32_t count, const VkDescriptorType *types, const gpu_image *const *images)
{
    gpu_pass pass;
    VkDescriptorSetLayoutBinding bindings[4];
    for (uint32_t i = 0; i < count; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, types[i], 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0,
                                           count, bindings};
    gpu_check(vkCreateDescriptorSetLayout(g->device, &set, NULL, &pass.set_layout),
              "vkCreateDescriptorSetLayout");
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_size};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pSetLayouts = &pass.set_layout,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &range};
    gpu_check(vkCreatePipelineLayout(g->device, &layout, NULL, &pass.layout), "vkCreatePipelineLayout");
    VkShaderModuleCreateInfo source = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL, 0, code_size, code};
    VkShaderModule module;
    gpu_check(vkCreateShaderModule(g->device, &source, NULL, &module), "vkCreateShaderModule");
    VkComputePipelineCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = pass.layout};
    gpu_check(vkCreateComputePipelines(g->device, VK_NULL_HANDLE, 1, &create, NULL, &pass.pipeline),
              "vkCreateComputePipelines");
    vkDestroyShaderModule(g->device, module, NULL);
    bind_images(g, &pass, count, types, images);
    return pass;
}

void gpu_pass_destroy(const gpu *g, gpu_pass *pass)
{
    vkDestroyPipeline(g->device, pass->pipeline, NULL);
    vkDestroyPipelineLayout(g->device, pass->layout, NULL);
    vkDestroyDescriptorSetLayout(g->device, pass->set_layout, NULL);
}

void gpu_pass_record(const gpu_pass *pass, VkCommandBuffer commands, d4r_size size, const void *push,
                     uint32_t push_size)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pass->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pass->layout, 0, 1, &pass->set, 0,
                            NULL);
    vkCmdPushConstants(commands, pass->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_size, push);
    vkCmdDispatch(commands, (size.width + 7) / 8, (size.height + 7) / 8, 1);
}

void gpu_barrier(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    VkImageMemoryBarrier b = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                              .srcAccessMask = all,
                              .dstAccessMask = all,
                              .oldLayout = from,
                              .newLayout = to,
                              .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                              .image = image,
                              .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                         0, NULL, 0, NULL, 1, &b);
}

void gpu_begin(VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL,
                                     VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, NULL};
    gpu_check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
}

void gpu_record_show(const gpu *g, VkCommandBuffer commands, const gpu_image *picture, uint32_t index)
{
    gpu_barrier(commands, picture->image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    gpu_barrier(commands, g->swap[index], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    VkImageBlit region = {
        .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .srcOffsets = {{0, 0, 0}, {(int32_t)picture->size.width, (int32_t)picture->size.height, 1}},
        .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .dstOffsets = {{0, 0, 0}, {(int32_t)g->swap_size.width, (int32_t)g->swap_size.height, 1}}};
    vkCmdBlitImage(commands, picture->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, g->swap[index],
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region, VK_FILTER_NEAREST);
    gpu_barrier(commands, g->swap[index], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
}

static bool write_png(const char *path, d4r_size size, const void *pixels)
{
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = size.width, .height = size.height, .format = PNG_FORMAT_RGB};
    size_t count = (size_t)size.width * size.height;
    uint8_t *opaque = malloc(3 * count);
    if (!opaque) return false;
    for (size_t i = 0; i < count; i++) memcpy(opaque + 3 * i, (const uint8_t *)pixels + 4 * i, 3);
    bool written = png_image_write_to_file(&png, path, 0, opaque, 0, NULL) != 0;
    free(opaque);
    return written;
}

bool gpu_screenshot(const gpu *g, const gpu_image *picture, const char *path)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = (VkDeviceSize)picture->size.width * picture->size.height * 4,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    VkMemoryRequirements needs;
    void *pixels;
    vkDeviceWaitIdle(g->device);
    gpu_check(vkCreateBuffer(g->device, &info, NULL, &buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(g->device, buffer, &needs);
    VkDeviceMemory memory =
        allocate(g, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    gpu_check(vkBindBufferMemory(g->device, buffer, memory, 0), "vkBindBufferMemory");
    gpu_check(vkMapMemory(g->device, memory, 0, VK_WHOLE_SIZE, 0, &pixels), "vkMapMemory");
    VkCommandBuffer commands = g->slots[0].front;
    gpu_begin(commands);
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {picture->size.width, picture->size.height, 1}};
    vkCmdCopyImageToBuffer(commands, picture->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1,
                           &region);
    VkMemoryBarrier to_host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_TRANSFER_WRITE_BIT,
                               VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                         0, NULL, 0, NULL);
    gpu_check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    gpu_check(vkQueueSubmit(g->queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    gpu_check(vkQueueWaitIdle(g->queue), "vkQueueWaitIdle");
    bool written = write_png(path, picture->size, pixels);
    vkDestroyBuffer(g->device, buffer, NULL);
    vkFreeMemory(g->device, memory, NULL);
    return written;
}
