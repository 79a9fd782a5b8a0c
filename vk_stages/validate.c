/* The passes of the validation mode: objects and recording. */
#include "vk_stages/validate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"
#include "vk_stages/stages_base.h"

#define MAX_SAMPLES 65536u /* pixels looked at a frame and slice, about */
#define READING_STRIDE 2   /* readings of the vectors look at every other, per axis */

_Static_assert(sizeof(d4r_v_params) == D4R_V_HYPOTHESES * 16 + 48 &&
                   offsetof(d4r_v_params, hypothesis_count) == D4R_V_HYPOTHESES * 16 + 16,
               "std140 layout of validate_params.h");

#define SHADER(name)              \
    extern const uint32_t name[]; \
    extern const size_t name##_size;
SHADER(d4r_spv_validate_prepare)
SHADER(d4r_spv_validate_measure)
SHADER(d4r_spv_validate_lines)
SHADER(d4r_spv_validate_reduce)

enum pass { PREPARE, MEASURE, LINES, REDUCE, PASS_COUNT };
enum own_buffer { OWN, PARTIALS, LINE_COUNTS, RING, BUFFER_COUNT };

struct d4r_v_passes {
    const d4r_vk *vk;
    d4r_stages *stages;
    d4r_vk_image analysis[2]; /* by frame parity */
    d4r_vk_buffer buffers[BUFFER_COUNT];
    VkDescriptorSetLayout own_layout, input_layout; /* input_layout: defined as the stages' set of inputs */
    VkDescriptorPool pool;
    VkDescriptorSet sets[2];
    VkPipelineLayout pipeline_layout;
    VkPipeline pipelines[PASS_COUNT];
};

/* ---- memory ---- */

static uint32_t step_of(uint32_t width, uint32_t height)
{
    uint32_t step = 1;
    while ((uint64_t)(width / step) * (height / step) > MAX_SAMPLES) step++;
    return step;
}

static uint32_t groups_along(uint32_t size, uint32_t step)
{
    return (size + step * D4R_V_GROUP - 1) / (step * D4R_V_GROUP);
}

static d4r_status create_memory(d4r_v_passes *v)
{
    /* A smaller rectangle is sampled more densely: MAX_SAMPLES pixels and ragged groups bound all of them. */
    const uint32_t groups = 4 * MAX_SAMPLES / (D4R_V_GROUP * D4R_V_GROUP) + 4 * 64;
    const d4r_size m = v->stages->desc.max_render;
    const VkBufferUsageFlags storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const struct {
        const char *name;
        VkDeviceSize size;
        VkBufferUsageFlags usage;
        VkMemoryPropertyFlags required, preferred;
    } table[BUFFER_COUNT] = {
        [OWN] = {"validation parameters", sizeof(d4r_v_params),
                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                 VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
        [PARTIALS] = {"validation sums", (VkDeviceSize)groups * D4R_V_SLICES * 32, storage,
                      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
        [LINE_COUNTS] = {"validation lines", 4ull * (m.width + m.height), storage,
                         VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
        [RING] = {"validation ring", (VkDeviceSize)D4R_V_RING * D4R_V_SLOT_SLICES * 32, storage, host,
                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT},
    };
    d4r_status status = D4R_OK;
    for (int i = 0; i < BUFFER_COUNT && status == D4R_OK; i++)
        status = d4r_vk_buffer_create(v->vk, table[i].name, table[i].size, table[i].usage, table[i].required,
                                      table[i].preferred, false, &v->buffers[i]);
    if (status == D4R_OK) memset(v->buffers[RING].map, 0, v->buffers[RING].size);
    for (int i = 0; i < 2 && status == D4R_OK; i++)
        status =
            d4r_vk_image_create(v->vk, i ? "validation analysis odd" : "validation analysis even",
                                VK_FORMAT_R32G32B32A32_SFLOAT, (VkExtent2D){m.width, m.height},
                                VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT, &v->analysis[i]);
    return status;
}

/* ---- descriptors ---- */

static const struct {
    uint32_t binding;
    VkDescriptorType type;
} own_bindings[] = {{D4R_V_BIND_PARAMS, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
                    {D4R_V_BIND_OWN, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
                    {D4R_V_BIND_EXPOSURE, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
                    {D4R_V_BIND_OUT, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE},
                    {D4R_V_BIND_NOW, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE},
                    {D4R_V_BIND_PREVIOUS, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE},
                    {D4R_V_BIND_PARTIALS, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
                    {D4R_V_BIND_LINES, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
                    {D4R_V_BIND_RING, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER}};
#define OWN_BINDINGS (sizeof own_bindings / sizeof *own_bindings)

static d4r_status create_layout(d4r_v_passes *v, const char *name,
                                const VkDescriptorSetLayoutBinding *bindings, uint32_t count,
                                VkDescriptorSetLayout *layout)
{
    const VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .bindingCount = count,
                                                  .pBindings = bindings};
    VkResult result = v->vk->fn.vkCreateDescriptorSetLayout(v->vk->device, &info, v->vk->allocator, layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(v->vk, result, name);
    d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)*layout, name);
    return D4R_OK;
}

static d4r_status create_layouts(d4r_v_passes *v)
{
    VkDescriptorSetLayoutBinding own[OWN_BINDINGS], inputs[D4R_INPUT_COUNT];
    for (uint32_t i = 0; i < OWN_BINDINGS; i++)
        own[i] = (VkDescriptorSetLayoutBinding){own_bindings[i].binding, own_bindings[i].type, 1,
                                                VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    for (uint32_t i = 0; i < D4R_INPUT_COUNT; i++)
        inputs[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 1,
                                                   VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    d4r_status status = create_layout(v, "validation set layout", own, OWN_BINDINGS, &v->own_layout);
    if (status == D4R_OK)
        status = create_layout(v, "validation input layout", inputs, D4R_INPUT_COUNT, &v->input_layout);
    return status;
}

static void write_set(d4r_v_passes *v, int parity)
{
    const VkBuffer buffers[] = {[D4R_V_BIND_PARAMS] = v->stages->params_buffer,
                                [D4R_V_BIND_OWN] = v->buffers[OWN].buffer,
                                [D4R_V_BIND_EXPOSURE] = v->stages->exposure_buffer,
                                [D4R_V_BIND_PARTIALS] = v->buffers[PARTIALS].buffer,
                                [D4R_V_BIND_LINES] = v->buffers[LINE_COUNTS].buffer,
                                [D4R_V_BIND_RING] = v->buffers[RING].buffer};
    VkWriteDescriptorSet writes[OWN_BINDINGS];
    VkDescriptorBufferInfo buffer_infos[OWN_BINDINGS];
    VkDescriptorImageInfo image_infos[OWN_BINDINGS];
    for (uint32_t i = 0; i < OWN_BINDINGS; i++) {
        const uint32_t binding = own_bindings[i].binding;
        const bool image = own_bindings[i].type != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER &&
                           own_bindings[i].type != VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        const int which = binding == D4R_V_BIND_PREVIOUS ? 1 - parity : parity;
        if (image)
            image_infos[i] =
                (VkDescriptorImageInfo){VK_NULL_HANDLE, v->analysis[which].view, VK_IMAGE_LAYOUT_GENERAL};
        else
            buffer_infos[i] = (VkDescriptorBufferInfo){buffers[binding], 0, VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = v->sets[parity],
                                           .dstBinding = binding,
                                           .descriptorCount = 1,
                                           .descriptorType = own_bindings[i].type,
                                           .pImageInfo = image ? &image_infos[i] : NULL,
                                           .pBufferInfo = image ? NULL : &buffer_infos[i]};
    }
    v->vk->fn.vkUpdateDescriptorSets(v->vk->device, OWN_BINDINGS, writes, 0, NULL);
}

static d4r_status create_sets(d4r_v_passes *v)
{
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 4},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8},
                                          {VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, 4},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 2}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 2,
                                             .poolSizeCount = 4,
                                             .pPoolSizes = sizes};
    const VkDescriptorSetLayout layouts[] = {v->own_layout, v->own_layout};
    VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorSetCount = 2,
                                        .pSetLayouts = layouts};
    VkResult result = v->vk->fn.vkCreateDescriptorPool(v->vk->device, &pool, v->vk->allocator, &v->pool);
    if (result != VK_SUCCESS) return d4r_vk_fail(v->vk, result, "validation descriptor pool");
    d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)v->pool, "validation descriptor pool");
    info.descriptorPool = v->pool;
    result = v->vk->fn.vkAllocateDescriptorSets(v->vk->device, &info, v->sets);
    if (result != VK_SUCCESS) return d4r_vk_fail(v->vk, result, "validation descriptor sets");
    for (int i = 0; i < 2; i++) {
        d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)v->sets[i],
                        i ? "validation set odd" : "validation set even");
        write_set(v, i);
    }
    return D4R_OK;
}

/* ---- pipelines ---- */

static d4r_status create_pipeline(d4r_v_passes *v, enum pass which)
{
    const struct {
        const char *name;
        const uint32_t *words;
        size_t bytes;
    } table[PASS_COUNT] = {
        [PREPARE] = {"validate_prepare", d4r_spv_validate_prepare, d4r_spv_validate_prepare_size},
        [MEASURE] = {"validate_measure", d4r_spv_validate_measure, d4r_spv_validate_measure_size},
        [LINES] = {"validate_lines", d4r_spv_validate_lines, d4r_spv_validate_lines_size},
        [REDUCE] = {"validate_reduce", d4r_spv_validate_reduce, d4r_spv_validate_reduce_size}};
    const d4r_vk *vk = v->vk;
    const uint32_t ldr = v->stages->desc.conventions.ldr;
    const VkSpecializationMapEntry entry = {D4R_SPEC_LDR, 0, 4};
    const VkSpecializationInfo constants = {1, &entry, sizeof ldr, &ldr};
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = table[which].bytes,
                                           .pCode = table[which].words};
    VkShaderModule module;
    VkResult result = vk->fn.vkCreateShaderModule(vk->device, &code, vk->allocator, &module);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, table[which].name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, table[which].name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = v->pipeline_layout};
    result = vk->fn.vkCreateComputePipelines(vk->device, VK_NULL_HANDLE, 1, &info, vk->allocator,
                                             &v->pipelines[which]);
    vk->fn.vkDestroyShaderModule(vk->device, module, vk->allocator);
    if (result != VK_SUCCESS) return d4r_vk_fail(vk, result, table[which].name);
    d4r_vk_set_name(vk, VK_OBJECT_TYPE_PIPELINE, (uint64_t)v->pipelines[which], table[which].name);
    return D4R_OK;
}

static d4r_status create_pipelines(d4r_v_passes *v)
{
    const VkDescriptorSetLayout layouts[] = {v->own_layout, v->input_layout};
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 8};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 2,
                                             .pSetLayouts = layouts,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &range};
    VkResult result =
        v->vk->fn.vkCreatePipelineLayout(v->vk->device, &info, v->vk->allocator, &v->pipeline_layout);
    if (result != VK_SUCCESS) return d4r_vk_fail(v->vk, result, "validation pipeline layout");
    d4r_vk_set_name(v->vk, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)v->pipeline_layout,
                    "validation pipeline layout");
    for (int i = 0; i < PASS_COUNT; i++) {
        d4r_status status = create_pipeline(v, i);
        if (status != D4R_OK) return status;
    }
    return D4R_OK;
}

/* ---- creation ---- */

d4r_status d4r_v_passes_create(const d4r_vk *vk, d4r_stages *stages, d4r_v_passes **passes)
{
    d4r_v_passes *v = calloc(1, sizeof *v);
    *passes = NULL;
    if (!v) return d4r_fail(&vk->log, D4R_ERROR_MEMORY, "validation: out of memory");
    v->vk = vk;
    v->stages = stages;
    d4r_status status = create_memory(v);
    if (status == D4R_OK) status = create_layouts(v);
    if (status == D4R_OK) status = create_sets(v);
    if (status == D4R_OK) status = create_pipelines(v);
    if (status != D4R_OK) d4r_v_passes_destroy(&v);
    *passes = v;
    return status;
}

void d4r_v_passes_destroy(d4r_v_passes **passes)
{
    d4r_v_passes *v = *passes;
    if (!v) return;
    const d4r_vk *vk = v->vk;
    for (int i = 0; i < PASS_COUNT; i++)
        if (v->pipelines[i]) vk->fn.vkDestroyPipeline(vk->device, v->pipelines[i], vk->allocator);
    if (v->pipeline_layout) vk->fn.vkDestroyPipelineLayout(vk->device, v->pipeline_layout, vk->allocator);
    if (v->pool) vk->fn.vkDestroyDescriptorPool(vk->device, v->pool, vk->allocator);
    if (v->own_layout) vk->fn.vkDestroyDescriptorSetLayout(vk->device, v->own_layout, vk->allocator);
    if (v->input_layout) vk->fn.vkDestroyDescriptorSetLayout(vk->device, v->input_layout, vk->allocator);
    for (int i = 0; i < 2; i++) d4r_vk_image_destroy(vk, &v->analysis[i]);
    for (int i = 0; i < BUFFER_COUNT; i++) d4r_vk_buffer_destroy(vk, &v->buffers[i]);
    free(v);
    *passes = NULL;
}

/* ---- recording ---- */

static void order(const d4r_v_passes *v, VkCommandBuffer commands, VkPipelineStageFlags from,
                  VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags uses)
{
    const VkMemoryBarrier memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, wrote, uses};
    v->vk->fn.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void next_pass(const d4r_v_passes *v, VkCommandBuffer commands)
{
    order(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

static void dispatch(const d4r_v_passes *v, VkCommandBuffer commands, enum pass pass, uint32_t x, uint32_t y,
                     uint32_t z)
{
    v->vk->fn.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, v->pipelines[pass]);
    v->vk->fn.vkCmdDispatch(commands, x, y, z);
}

static void measure(const d4r_v_passes *v, VkCommandBuffer commands, uint32_t first_slice, uint32_t stride,
                    uint32_t columns, uint32_t rows, uint32_t slices)
{
    const uint32_t push[] = {first_slice, stride};
    v->vk->fn.vkCmdPushConstants(commands, v->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                                 push);
    dispatch(v, commands, MEASURE, columns, rows, slices);
}

void d4r_v_passes_record(d4r_v_passes *v, VkCommandBuffer commands, d4r_v_params *params)
{
    const d4r_size r = v->stages->frame.settings.render;
    const VkDescriptorSet sets[] = {v->sets[v->stages->frame.index & 1], v->stages->input_set};
    const uint32_t step = step_of(r.width, r.height), few = step * READING_STRIDE;
    const uint32_t columns = groups_along(r.width, step), rows = groups_along(r.height, step);
    const uint32_t few_columns = groups_along(r.width, few), few_rows = groups_along(r.height, few);
    params->step = step;
    params->groups = columns * rows;
    params->reading_groups = few_columns * few_rows;
    params->phase = params->sequence * 7;
    /* Earlier frames' reads are over: the stages' first barrier of the front ordered them before all that follows. */
    if (!params->has_previous) d4r_restart_images(v->vk, commands, v->analysis);
    v->vk->fn.vkCmdUpdateBuffer(commands, v->buffers[OWN].buffer, 0, sizeof *params, params);
    order(v, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_UNIFORM_READ_BIT);
    v->vk->fn.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, v->pipeline_layout, 0, 2,
                                      sets, 0, NULL);
    dispatch(v, commands, PREPARE, (r.width + D4R_V_GROUP - 1) / D4R_V_GROUP,
             (r.height + D4R_V_GROUP - 1) / D4R_V_GROUP, 1);
    next_pass(v, commands);
    if (params->has_previous)
        measure(v, commands, 0, READING_STRIDE, few_columns, few_rows, params->hypothesis_count);
    measure(v, commands, D4R_V_HYPOTHESES, 1, columns, rows, D4R_V_SLICES - D4R_V_HYPOTHESES);
    dispatch(v, commands, LINES, (r.width + r.height + 63) / 64, 1, 1);
    next_pass(v, commands);
    dispatch(v, commands, REDUCE, D4R_V_SLICES + 1, 1, 1);
    order(v, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    d4r_stages_mark(v->stages, commands, "validate");
}

const float *d4r_v_passes_slot(const d4r_v_passes *v, uint32_t slot)
{
    return (const float *)v->buffers[RING].map + (size_t)slot * D4R_V_SLOT_SLICES * 8;
}

uint64_t d4r_v_passes_device_bytes(const d4r_v_passes *v)
{
    uint64_t sum = v->analysis[0].allocation + v->analysis[1].allocation;
    for (int i = 0; i < BUFFER_COUNT; i++) sum += v->buffers[i].allocation;
    return sum;
}
