/* Rendering a scene: the two passes on a device. */
#ifndef D4R_SCENE_GPU_H
#define D4R_SCENE_GPU_H

#include "runtime/cli/scene/scene.h"
#include "runtime/cli/scene/scene_device.h"

enum { SCENE_BUFFER_COUNT = 9, SCENE_COLOR = 6, SCENE_DEPTH = 7, SCENE_MOTION = 8 };

typedef struct scene_gpu {
    scene_device device;
    d4r_vk_buffer buffers[SCENE_BUFFER_COUNT]; /* host visible, grown when needed */
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline frame_pipeline, reference_pipeline;
    VkCommandPool command_pool;
    VkCommandBuffer commands;
    VkFence fence;
} scene_gpu;

typedef struct scene_pass {
    d4r_size size;
    d4r_vec2 jitter;
    uint32_t samples; /* 0: the game's frame, else the reference with so many samples a pixel */
    bool wide_motion; /* f32 vectors */
    /* Called between dispatches with the share done; false stops. May be NULL. */
    bool (*progress)(void *user, double done);
    void *user;
} scene_pass;

d4r_status scene_gpu_create(const char *device, bool validation, const d4r_log *log, scene_gpu *gpu);
void scene_gpu_destroy(scene_gpu *gpu);

/* Renders and waits. Results are in buffers[SCENE_COLOR] (f16 RGBA), and for a frame in [SCENE_DEPTH] (f32) and
 * [SCENE_MOTION] (two f16 or f32), mapped, until the next call. D4R_PENDING when progress stopped it. */
d4r_status scene_gpu_render(scene_gpu *gpu, const scene *s, const scene_pass *pass);

#endif
