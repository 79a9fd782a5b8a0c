/* The smallest complete host: a headless Vulkan program with its own instance, device, images and command buffers that
 * upscales a moving pattern and writes the last frame.
 *
 *   minimal MODEL OUT [FRAMES]      OUT: RGBA16F, output size, no header
 *
 * One frame is in flight, to keep it short. The parts that concern d4r are marked with [d4r]. */
#include <stdio.h>
#include <string.h>
#include <vulkan/vulkan.h>

#include "d4r/d4r_vulkan.h"
#include "pattern.h"

/* [d4r] who computes the network; the examples beside this one put theirs here. */
#ifndef NETWORK
#define NETWORK(model, log, network) d4r_network_create_cpu(model, NULL, log, network)
#endif

static const d4r_size render = {320, 180}, output = {640, 360};

typedef struct image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
} image;

typedef struct app {
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands[2]; /* front, back */
    VkBuffer staging;            /* colour, motion and depth in, the output back */
    VkDeviceMemory staging_memory;
    uint8_t *mapped;
    image color, motion, depth, result;
    d4r_log log;
} app;

#define COLOR_BYTES ((VkDeviceSize)render.width * render.height * 16)
#define MOTION_BYTES ((VkDeviceSize)render.width * render.height * 8)
#define INPUT_BYTES ((VkDeviceSize)render.width * render.height * 28)
#define INPUT (VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT)
#define OUTPUT_BYTES ((VkDeviceSize)output.width * output.height * 8)

static void check(int result, const char *what)
{
    if (result == 0) return;
    fprintf(stderr, "minimal: %s failed (%d)\n", what, result);
    exit(1);
}

static void on_log(void *user, d4r_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "d4r: %s\n", line);
}

static void create_device(app *a)
{
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &info};
    check(vkCreateInstance(&instance, NULL, &a->instance), "vkCreateInstance");
    uint32_t count = 1;
    if (vkEnumeratePhysicalDevices(a->instance, &count, &a->gpu) < 0 || count == 0) {
        fprintf(stderr, "minimal: no Vulkan device\n");
        exit(3);
    }
    /* [d4r] what the device must have enabled: features, chained, and extensions. A game adds its own. */
    d4r_vulkan_requirements needed;
    if (d4r_vulkan_get_requirements(vkGetInstanceProcAddr, a->instance, a->gpu, &a->log, &needed) != D4R_OK)
        exit(3);
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .pNext = &needed.features,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = needed.extension_count,
                                 .ppEnabledExtensionNames = needed.extensions};
    check(vkCreateDevice(a->gpu, &device, NULL, &a->device), "vkCreateDevice");
    vkGetDeviceQueue(a->device, 0, 0, &a->queue);
    VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                    VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 0};
    check(vkCreateCommandPool(a->device, &pool, NULL, &a->pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo buffers = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, a->pool,
                                           VK_COMMAND_BUFFER_LEVEL_PRIMARY, 2};
    check(vkAllocateCommandBuffers(a->device, &buffers, a->commands), "vkAllocateCommandBuffers");
}

static VkDeviceMemory allocate(const app *a, VkMemoryRequirements needs, VkMemoryPropertyFlags flags)
{
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(a->gpu, &types);
    uint32_t type = 0;
    while (type < types.memoryTypeCount &&
           (!(needs.memoryTypeBits >> type & 1) || (types.memoryTypes[type].propertyFlags & flags) != flags))
        type++;
    VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size, type};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    check(type == types.memoryTypeCount ? -1 : vkAllocateMemory(a->device, &info, NULL, &memory),
          "vkAllocateMemory");
    return memory;
}

static void create_staging(app *a)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = INPUT_BYTES + OUTPUT_BYTES,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    check(vkCreateBuffer(a->device, &info, NULL, &a->staging), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(a->device, a->staging, &needs);
    a->staging_memory =
        allocate(a, needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    check(vkBindBufferMemory(a->device, a->staging, a->staging_memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(a->device, a->staging_memory, 0, VK_WHOLE_SIZE, 0, (void **)&a->mapped), "vkMapMemory");
}

static image create_image(const app *a, VkFormat format, d4r_size size, VkImageUsageFlags usage)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {size.width, size.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = usage};
    image result;
    check(vkCreateImage(a->device, &info, NULL, &result.image), "vkCreateImage");
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(a->device, result.image, &needs);
    result.memory = allocate(a, needs, 0);
    check(vkBindImageMemory(a->device, result.image, result.memory, 0), "vkBindImageMemory");
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = result.image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    check(vkCreateImageView(a->device, &view, NULL, &result.view), "vkCreateImageView");
    return result;
}

/* A full barrier: short, and right; a game orders its own passes more finely. */
static void barrier(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to)
{
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    VkImageMemoryBarrier b = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                              .srcAccessMask = all,
                              .dstAccessMask = all,
                              .oldLayout = from,
                              .newLayout = to,
                              .image = image,
                              .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                         0, NULL, 0, NULL, 1, &b);
}

static VkBufferImageCopy whole(VkDeviceSize offset, d4r_size size)
{
    return (VkBufferImageCopy){.bufferOffset = offset,
                               .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                               .imageExtent = {size.width, size.height, 1}};
}

/* Stands for the game's render pass. */
static void draw(const app *a, VkCommandBuffer commands, unsigned frame, d4r_vec2 jitter)
{
    const image *images[3] = {&a->color, &a->motion, &a->depth};
    const VkImageLayout copied = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkDeviceSize offsets[3] = {0, COLOR_BYTES, COLOR_BYTES + MOTION_BYTES};
    pattern_render(frame, render, jitter, (float *)(void *)a->mapped,
                   (float *)(void *)(a->mapped + offsets[1]), (float *)(void *)(a->mapped + offsets[2]));
    for (int i = 0; i < 3; i++) {
        VkBufferImageCopy region = whole(offsets[i], render);
        barrier(commands, images[i]->image, VK_IMAGE_LAYOUT_UNDEFINED, copied);
        vkCmdCopyBufferToImage(commands, a->staging, images[i]->image, copied, 1, &region);
        barrier(commands, images[i]->image, copied, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    }
}

/* [d4r] front and back around the network: A is signalled after the front, the back waits for B. */
static void submit(const app *a, const d4r_frame *frame)
{
    VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkStructureType type = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    VkTimelineSemaphoreSubmitInfo values[2] = {{type, NULL, 0, NULL, 1, &frame->tokens_ready},
                                               {type, NULL, 1, &frame->head_ready, 0, NULL}};
    VkSubmitInfo submits[2] = {
        {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values[0], 0, NULL, NULL, 1, &a->commands[0], 1, &frame->timeline},
        {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values[1], 1, &frame->timeline, &all, 1, &a->commands[1], 0, NULL}};
    check(vkEndCommandBuffer(a->commands[0]) | vkEndCommandBuffer(a->commands[1]), "vkEndCommandBuffer");
    check(vkQueueSubmit(a->queue, 2, submits, VK_NULL_HANDLE), "vkQueueSubmit");
    check(d4r_network_submit(frame), "d4r_network_submit");
    check(vkQueueWaitIdle(a->queue), "vkQueueWaitIdle");
    check(d4r_frame_status(frame), "d4r_frame_status");
}

static d4r_image as_input(const image *i)
{
    return (d4r_image){i->view, i->image, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, render, 0, 0};
}

static void upscale_frame(const app *a, d4r_engine *engine, unsigned index)
{
    VkCommandBuffer front = a->commands[0], back = a->commands[1];
    /* [d4r] the frame's settings; everything else has the default: inverted depth, HDR, motion in render pixels,
     * previous = current + motion, measured exposure. */
    d4r_frame_settings settings = d4r_frame_settings_default(render);
    settings.jitter = d4r_jitter(index, d4r_jitter_phase_count(render, output));
    d4r_frame_images images = {
        .color = as_input(&a->color),
        .motion = as_input(&a->motion),
        .depth = as_input(&a->depth),
        .output = {a->result.view, a->result.image, VK_IMAGE_LAYOUT_GENERAL, output, 0, 0}};
    d4r_frame frame;
    VkCommandBufferBeginInfo once = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL,
                                     VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, NULL};
    check(vkBeginCommandBuffer(front, &once) | vkBeginCommandBuffer(back, &once), "vkBeginCommandBuffer");
    draw(a, front, index, settings.jitter);
    barrier(back, a->result.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    check(d4r_engine_record_front(engine, front, &images, &settings, &frame), "d4r_engine_record_front");
    check(d4r_engine_record_back(engine, back, &frame), "d4r_engine_record_back");
    VkBufferImageCopy region = whole(INPUT_BYTES, output);
    barrier(back, a->result.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(back, a->result.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, a->staging, 1,
                           &region);
    VkMemoryBarrier to_host = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, VK_ACCESS_TRANSFER_WRITE_BIT,
                               VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(back, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                         NULL, 0, NULL);
    submit(a, &frame);
}

static void destroy(app *a)
{
    const image images[4] = {a->color, a->motion, a->depth, a->result};
    for (int i = 0; i < 4; i++) {
        vkDestroyImageView(a->device, images[i].view, NULL);
        vkDestroyImage(a->device, images[i].image, NULL);
        vkFreeMemory(a->device, images[i].memory, NULL);
    }
    vkDestroyBuffer(a->device, a->staging, NULL);
    vkFreeMemory(a->device, a->staging_memory, NULL);
    vkDestroyCommandPool(a->device, a->pool, NULL);
    vkDestroyDevice(a->device, NULL);
    vkDestroyInstance(a->instance, NULL);
}

int main(int argc, char **argv)
{
    app a = {.log = {.fn = on_log, .level = D4R_LOG_WARNING}};
    unsigned frames = argc == 4 ? (unsigned)atoi(argv[3]) : 16;
    if (argc < 3 || argc > 4 || frames == 0) {
        fprintf(stderr, "usage: minimal MODEL OUT [FRAMES]\n");
        return 2;
    }
    create_device(&a);
    create_staging(&a);
    a.color = create_image(&a, VK_FORMAT_R32G32B32A32_SFLOAT, render, INPUT);
    a.motion = create_image(&a, VK_FORMAT_R32G32_SFLOAT, render, INPUT);
    a.depth = create_image(&a, VK_FORMAT_R32_SFLOAT, render, INPUT);
    a.result = create_image(&a, VK_FORMAT_R16G16B16A16_SFLOAT, output,
                            VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);

    /* [d4r] model, network, engine: once. */
    d4r_model *model;
    d4r_network *network;
    d4r_engine *engine;
    if (d4r_model_load(argv[1], &a.log, &model) != D4R_OK) return 4;
    if (NETWORK(model, &a.log, &network) != D4R_OK) return 3;
    d4r_engine_params params = d4r_engine_params_default();
    params.device = (d4r_vulkan_device){vkGetInstanceProcAddr, a.instance, a.gpu, a.device, 0, NULL};
    params.model = model;
    params.network = network;
    params.output = output;
    params.max_render = render;
    params.log = a.log;
    check(d4r_engine_create(&params, &engine), "d4r_engine_create");

    for (unsigned i = 0; i < frames; i++) upscale_frame(&a, engine, i);
    const uint16_t *pixels = (const uint16_t *)(const void *)(a.mapped + INPUT_BYTES);
    printf("minimal: %u frames, PSNR of the last %.2f dB\n", frames,
           pattern_psnr(frames - 1, output, pixels));
    FILE *file = fopen(argv[2], "wb");
    bool written = file && fwrite(pixels, OUTPUT_BYTES, 1, file) == 1;
    if (file && fclose(file) != 0) written = false;
    if (!written) fprintf(stderr, "minimal: cannot write %s\n", argv[2]);

    /* [d4r] the engine first, then what it uses. */
    d4r_engine_destroy(&engine);
    d4r_network_destroy(&network);
    d4r_model_destroy(&model);
    destroy(&a);
    return written ? 0 : 5;
}
