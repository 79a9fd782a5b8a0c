/* The upscaler: GPU timestamps of the stages, the host's times of the network, put on one axis. */
#include <string.h>
#include "runtime/upscaler.h"

void d4r_upscaler_stamp_now(d4r_upscaler *u, VkCommandBuffer commands, const char *stage)
{
    d4r_upscaler_slot *slot = u->recording;
    if (!slot || !slot->queries || slot->stamp_count >= D4R_UPSCALER_STAMPS) return;
    u->vk.fn.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries,
                                 slot->stamp_count);
    slot->stamps[slot->stamp_count++].stage = stage;
}

/* The engine's "begin" ends what came before it: the upload. */
void d4r_upscaler_marker(void *user, VkCommandBuffer commands, const char *stage)
{
    d4r_upscaler_stamp_now(user, commands, strcmp(stage, "begin") == 0 ? "upload" : stage);
}

static void add_stage(d4r_frame_profile *profile, const char *name, double start, double end, bool host)
{
    if (profile->count >= D4R_MAX_STAGES) return;
    profile->stages[profile->count++] =
        (d4r_stage_time){.name = name, .start_us = start, .end_us = end, .host = host};
}

/* The device's and the host's clocks have no common origin. The network ran inside the gap between the two
 * command buffers; its time is shown in the middle of that gap. */
static void add_network(d4r_upscaler *u, const d4r_upscaler_slot *slot, double gap_start, double gap_end,
                        d4r_frame_profile *profile)
{
    uint64_t start_ns, end_ns;
    double duration, start;
    if (!d4r_handoff_times(u->engine->handoff, slot->frame.id, &start_ns, &end_ns)) return;
    duration = (double)(end_ns - start_ns) / 1000.0;
    start = gap_start + (gap_end - gap_start - duration) / 2;
    add_stage(profile, "network", start, start + duration, true);
}

void d4r_upscaler_collect_profile(d4r_upscaler *u, d4r_upscaler_slot *slot)
{
    uint64_t ticks[D4R_UPSCALER_STAMPS];
    double period = (double)u->vk.properties.limits.timestampPeriod / 1000.0; /* us */
    d4r_frame_profile *profile = &slot->profile;
    double previous = 0;
    VkResult result;
    memset(profile, 0, sizeof *profile);
    if (slot->stamp_count == 0) return;
    result = u->vk.fn.vkGetQueryPoolResults(u->vk.device, slot->queries, 0, slot->stamp_count, sizeof ticks,
                                            ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
    if (result != VK_SUCCESS) {
        d4r_vk_fail(&u->vk, result, "vkGetQueryPoolResults (profile)");
        return;
    }
    for (uint32_t i = 0; i < slot->stamp_count; i++) {
        double now = (double)(ticks[i] - ticks[0]) * period;
        if (i == slot->front_stamps) add_network(u, slot, previous, now, profile);
        if (slot->stamps[i].stage) add_stage(profile, slot->stamps[i].stage, previous, now, false);
        previous = now;
    }
    profile->frame_us = previous;
}
