/* Ordering, of the preset named by the first argument (M): synchronisation validation is silent over frames in one command buffer and in separate submissions, and
 * reports when any one barrier is left out; frames recorded ahead equal frames run one by one; nothing is allocated
 * once every set of views has been seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/stages/content.h"
#include "tests/stages/k_ref.h"

static vk_test device;
static uint8_t model[2 * K_REF_TABLES * K_REF_TABLE_VALUES]; /* or the weights of M, which are fewer */
static rig_params params = {
    .output = {96, 96}, .max_render = {64, 64}, .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};

/* What a preset's frames have. */
static const struct expectation {
    const rig_preset *preset;
    void (*fill)(uint64_t seed, uint8_t *model);
    int frames;   /* so many that the last one measures the exposure */
    int barriers; /* of such a frame */
    const char *marks;
    uint64_t device_bytes, weight_bytes; /* at least */
} presets[2] = {{&rig_m, rig_random_weights, 2, 7,
                 "begin exposure input acquire expansion reconstruction downsample ", 2 * 144 * 144 * 8,
                 41536},
                {&rig_k, rig_random_tables, 3, 5, "begin exposure input acquire reconstruction ",
                 2 * 96 * 96 * 8, 196608}},
  *expected;

/* ---- leaving out one barrier */

static int barrier_count, barrier_dropped;
static PFN_vkCmdPipelineBarrier real_barrier;

static VKAPI_ATTR void VKAPI_CALL counting_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                                   VkPipelineStageFlags to, VkDependencyFlags flags,
                                                   uint32_t memory_count, const VkMemoryBarrier *memory,
                                                   uint32_t buffer_count,
                                                   const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                                                   const VkImageMemoryBarrier *images)
{
    if (barrier_count++ == barrier_dropped) return;
    real_barrier(commands, from, to, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

/* Records frames, in one command buffer or in two submissions each without waits between them. Barrier `drop` of the
 * last frame is left out (-1: none). Returns the number of its barriers. */
static int run_frames(bool together, int drop)
{
    rig *r = rig_create(&device, &params, model);
    VkCommandBuffer commands[6] = {0};
    int used = 0;
    for (int i = 0; i < expected->frames; i++) {
        content c = content_random(&params, (d4r_size){64, 64}, 0);
        if (i == 0)
            rig_upload(r, &c.input); /* all frames read the same images: no upload in between */
        else
            rig_repeat(r);
        content_free(&c);
        if (i == expected->frames - 1) {
            real_barrier = device.vk.fn.vkCmdPipelineBarrier;
            device.vk.fn.vkCmdPipelineBarrier = counting_barrier;
            barrier_count = 0;
            barrier_dropped = drop;
        }
        for (int half = 0; half < 2; half++) {
            if (!together || used == 0) commands[used++] = vk_test_begin(&device);
            const d4r_status status =
                half == 0 ? rig_record_front(r, commands[used - 1]) : rig_record_back(r, commands[used - 1]);
            assert_int_equal(status, D4R_OK);
        }
    }
    device.vk.fn.vkCmdPipelineBarrier = real_barrier;
    vk_test_submit_all(&device, commands, (uint32_t)used);
    rig_destroy(r);
    return barrier_count;
}

static void barriers_are_exact(bool together)
{
    const unsigned before = device.messages;
    const int count = run_frames(together, -1);
    assert_int_equal(count, expected->barriers); /* docs/stages.md, docs/stages_k.md */
    assert_int_equal(device.messages, before);
    device.quiet = true;
    for (int i = 0; i < count; i++) {
        const unsigned start = device.messages;
        run_frames(together, i);
        printf("%s, without barrier %d: %u messages\n", together ? "one command buffer" : "submissions", i,
               device.messages - start);
        assert_true(device.messages > start);
        assert_non_null(strstr(device.last, "SYNC-HAZARD"));
    }
    device.quiet = false;
    device.messages = before;
}

static void test_barriers_in_one_command_buffer(void **state)
{
    (void)state;
    barriers_are_exact(true);
}

static void test_barriers_between_submissions(void **state)
{
    (void)state;
    barriers_are_exact(false);
}

/* ---- frames ahead */

/* Three frames with different settings; recorded ahead: all before the first is submitted. */
static void run_three(bool ahead, uint16_t *out)
{
    rig *r = rig_create(&device, &params, model);
    VkCommandBuffer commands[3];
    content c = content_random(&params, (d4r_size){64, 64}, 0);
    rig_upload(r, &c.input);
    for (int i = 0; i < 3; i++) {
        c.input.settings.jitter = (d4r_vec2){0.1f * (float)i, -0.2f * (float)i};
        c.input.settings.pre_exposure = 1.0f + (float)i;
        if (i > 0) rig_repeat_with(r, &c.input.settings);
        commands[i] = vk_test_begin(&device);
        assert_int_equal(rig_record_front(r, commands[i]), D4R_OK);
        assert_int_equal(rig_record_back(r, commands[i]), D4R_OK);
        if (!ahead) vk_test_submit(&device, commands[i]);
    }
    if (ahead) vk_test_submit_all(&device, commands, 3);
    memcpy(out, rig_read_output(r), 96 * 96 * 8);
    content_free(&c);
    rig_destroy(r);
}

static void test_frames_recorded_ahead(void **state)
{
    (void)state;
    static uint16_t one_by_one[96 * 96 * 4], ahead[96 * 96 * 4];
    run_three(false, one_by_one);
    run_three(true, ahead);
    assert_memory_equal(one_by_one, ahead, sizeof ahead);
    assert_int_equal(device.messages, 0);
}

/* ---- no allocation */

static int allocations;
static PFN_vkAllocateDescriptorSets real_allocate;
static PFN_vkAllocateMemory real_memory;

static VKAPI_ATTR VkResult VKAPI_CALL counting_sets(VkDevice d, const VkDescriptorSetAllocateInfo *info,
                                                    VkDescriptorSet *sets)
{
    allocations++;
    return real_allocate(d, info, sets);
}

static VKAPI_ATTR VkResult VKAPI_CALL counting_memory(VkDevice d, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *a, VkDeviceMemory *memory)
{
    allocations++;
    return real_memory(d, info, a, memory);
}

static void record_and_run(rig *r)
{
    VkCommandBuffer commands = vk_test_begin(&device);
    assert_int_equal(rig_record_front(r, commands), D4R_OK);
    assert_int_equal(rig_record_back(r, commands), D4R_OK);
    vk_test_submit(&device, commands);
    rig_repeat(r);
}

static void test_views_are_cached(void **state)
{
    (void)state;
    rig *r = rig_create(&device, &params, model);
    content c = content_random(&params, (d4r_size){64, 64}, 0);
    rig_upload(r, &c.input);
    real_allocate = device.vk.fn.vkAllocateDescriptorSets;
    real_memory = device.vk.fn.vkAllocateMemory;
    device.vk.fn.vkAllocateDescriptorSets = counting_sets;
    device.vk.fn.vkAllocateMemory = counting_memory;
    allocations = 0;
    record_and_run(r);
    assert_int_equal(allocations, 2); /* a set of the inputs, one of the output */
    for (int i = 0; i < 4; i++) record_and_run(r);
    assert_int_equal(allocations, 2);
    /* A forgotten view is set up again, in the room that it left. */
    for (int i = 0; i < 40; i++) {
        d4r_stages_forget_view(rig_stages(r), rig_color_view(r));
        record_and_run(r);
    }
    assert_int_equal(allocations, 42);
    device.vk.fn.vkAllocateDescriptorSets = real_allocate;
    device.vk.fn.vkAllocateMemory = real_memory;
    content_free(&c);
    rig_destroy(r);
    assert_int_equal(device.messages, 0);
}

/* ---- errors */

static void test_refusals(void **state)
{
    (void)state;
    rig *r = rig_create(&device, &params, model);
    content c = content_random(&params, (d4r_size){64, 64}, 0);
    VkCommandBuffer commands = vk_test_begin(&device);
    assert_int_equal(rig_record_back(r, commands), D4R_ERROR_STATE); /* no front yet */
    rig_upload(r, &c.input);
    c.input.settings.render = (d4r_size){64, 65};
    rig_repeat_with(r, &c.input.settings);
    assert_int_equal(rig_record_front(r, commands), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(device.last_log, "64x65"));
    assert_int_equal(rig_record_back(r, commands), D4R_ERROR_STATE);
    vk_test_submit(&device, commands);
    content_free(&c);
    rig_destroy(r);
    d4r_stages *stages;
    d4r_stages_desc desc = {.vk = &device.vk,
                            .output = {16384, 16384},
                            .max_render = {64, 64},
                            .weights = model,
                            .weight_bytes = expected->preset->weight_bytes,
                            .tables = model,
                            .table_bytes = expected->preset->table_bytes,
                            .output_format = VK_FORMAT_R16G16B16A16_SFLOAT};
    const d4r_stages_ops *ops = expected->preset->ops;
    desc.output.width = device.vk.properties.limits.maxImageDimension2D + 4;
    assert_int_equal(d4r_stages_create(ops, &desc, &stages), D4R_ERROR_FEATURE);
    assert_null(stages);
    assert_non_null(strstr(device.last_log, "need"));
    desc.output = (d4r_size){64, 64};
    desc.output_format = VK_FORMAT_R32G32B32A32_UINT;
    assert_int_equal(d4r_stages_create(ops, &desc, &stages), D4R_ERROR_ARGUMENT);
    assert_null(stages);
    if (expected->preset->table_bytes == 0) return;
    params.max_render.height = 97;
    r = rig_create(&device, &params, model);
    c = content_random(&params, (d4r_size){64, 64}, 0);
    rig_upload(r, &c.input);
    c.input.settings.render = (d4r_size){64, 97};
    rig_repeat_with(r, &c.input.settings);
    commands = vk_test_begin(&device);
    assert_int_equal(rig_record_front(r, commands), D4R_ERROR_ARGUMENT);
    assert_non_null(strstr(device.last_log, "larger than the output"));
    vk_test_submit(&device, commands);
    content_free(&c);
    rig_destroy(r);
    params.max_render.height = 64;
    desc.output_format = VK_FORMAT_R16G16B16A16_SFLOAT;
    desc.table_bytes--;
    assert_int_equal(d4r_stages_create(ops, &desc, &stages), D4R_ERROR_ARGUMENT);
    assert_null(stages);
    assert_non_null(strstr(device.last_log, "524287"));
    assert_int_equal(device.messages, 0);
}

/* ---- marker, resources, memory */

static char seen[256];

static void note(void *user, VkCommandBuffer commands, const char *stage)
{
    (void)user;
    (void)commands;
    strcat(seen, stage);
    strcat(seen, " ");
}

static void test_marker_and_resources(void **state)
{
    (void)state;
    rig *r = rig_create(&device, &params, model);
    d4r_stages *stages = rig_stages(r);
    d4r_stage_resource list[32];
    assert_int_equal(d4r_stages_resources(stages, list, 32), 0);
    content c = content_random(&params, (d4r_size){64, 64}, 0);
    rig_upload(r, &c.input);
    d4r_stages_set_marker(stages, note, NULL);
    record_and_run(r);
    assert_string_equal(seen, expected->marks);
    const uint32_t count = d4r_stages_resources(stages, list, 32);
    assert_int_equal(d4r_stages_resources(stages, list, 1),
                     count); /* the count does not depend on the room */
    for (uint32_t i = 0; i < count; i++) {
        assert_true((list[i].image != VK_NULL_HANDLE) != (list[i].buffer != VK_NULL_HANDLE));
        assert_true(list[i].extent.width > 0 && list[i].extent.height > 0 && list[i].channels > 0);
    }
    assert_true(d4r_stages_device_bytes(stages) > expected->device_bytes);
    assert_true(d4r_stages_weight_bytes(stages) >= expected->weight_bytes);
    content_free(&c);
    rig_destroy(r);
    assert_int_equal(device.messages, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers_in_one_command_buffer),
        cmocka_unit_test(test_barriers_between_submissions),
        cmocka_unit_test(test_frames_recorded_ahead),
        cmocka_unit_test(test_views_are_cached),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_marker_and_resources),
    };
    if (!vk_test_create(&device)) return 77;
    expected = &presets[argc > 1 && strcmp(argv[1], "k") == 0];
    params.preset = expected->preset;
    expected->fill(8, model);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vk_test_destroy(&device);
    return failed;
}
