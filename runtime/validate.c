/* The validation mode: life, recording, reading, findings. */
#include "runtime/validate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interop/handoff.h"
#include "runtime/base/log.h"

d4r_status d4r_validate_create(const d4r_vk *vk, d4r_stages *stages, VkSemaphore timeline,
                               const d4r_engine_params *params, d4r_validate **validate)
{
    d4r_validate *v = calloc(1, sizeof *v);
    d4r_status status;
    *validate = NULL;
    if (!v) return d4r_fail(&vk->log, D4R_ERROR_MEMORY, "validation: out of memory");
    v->log = params->log;
    v->vk = vk;
    v->timeline = timeline;
    v->conventions = params->conventions;
    v->output = params->output;
    v->max_render = params->max_render;
    status = d4r_v_passes_create(vk, stages, &v->passes);
    if (status != D4R_OK) d4r_validate_destroy(&v);
    *validate = v;
    return status;
}

void d4r_validate_destroy(d4r_validate **validate)
{
    d4r_validate *v = *validate;
    if (!v) return;
    d4r_v_passes_destroy(&v->passes);
    free(v);
    *validate = NULL;
}

/* ---- findings ---- */

static d4r_finding *known(d4r_validate *v, d4r_finding_code code)
{
    for (uint32_t i = 0; i < v->finding_count; i++)
        if (v->findings[i].code == code) return &v->findings[i];
    return NULL;
}

bool d4r_validate_known(const d4r_validate *v, d4r_finding_code code)
{
    for (uint32_t i = 0; i < v->finding_count; i++)
        if (v->findings[i].code == code) return true;
    return false;
}

void d4r_validate_find(d4r_validate *v, d4r_finding_code code, uint64_t frame, double strength,
                       const char *format, ...)
{
    d4r_finding *finding = known(v, code);
    float confidence = (float)(1 - 0.5 / (strength < 1 ? 1 : strength));
    va_list arguments;
    if (finding) {
        finding->frames++;
        if (confidence > finding->confidence) finding->confidence = confidence;
        return;
    }
    if (v->finding_count == D4R_VALIDATE_FINDINGS) return;
    finding = &v->findings[v->finding_count++];
    *finding = (d4r_finding){.code = code, .confidence = confidence, .frame = frame, .frames = 1};
    va_start(arguments, format);
    vsnprintf(finding->sentence, sizeof finding->sentence, format, arguments);
    va_end(arguments);
    d4r_log_print(&v->log, D4R_LOG_WARNING, "validation: %s", finding->sentence);
}

/* ---- recording ---- */

/* What a slot is marked with: exact as a float, and never 0, which a slot holds that was not written yet. */
static uint32_t sequence_of(uint64_t id)
{
    return (uint32_t)(id & 0x7fffff) + 1;
}

void d4r_validate_record_front(d4r_validate *v, VkCommandBuffer commands, uint64_t id,
                               const d4r_stage_frame *frame)
{
    const d4r_frame_settings *s = &frame->settings;
    bool same = v->previous_render.width == s->render.width && v->previous_render.height == s->render.height;
    d4r_validate_record *record = &v->ring[id % D4R_V_RING];
    d4r_v_params params = {.slot = (uint32_t)(id % D4R_V_RING), .sequence = sequence_of(id)};
    d4r_validate_poll(v);
    *record = (d4r_validate_record){.id = id,
                                    .waiting = true,
                                    .pair = v->has_previous && same && !frame->reset,
                                    .render = s->render,
                                    .settings = *s};
    if (record->pair) {
        record->dx = (double)s->jitter.x - (double)frame->previous_jitter.x;
        record->dy = (double)s->jitter.y - (double)frame->previous_jitter.y;
    }
    params.has_previous = record->pair;
    params.shift.x = (float)record->dx;
    params.shift.y = (float)record->dy;
    if (v->conventions.motion_jittered) {
        params.shift.z = -params.shift.x;
        params.shift.w = -params.shift.y;
    }
    d4r_validate_readings(v, s->render, s, &params);
    d4r_v_passes_record(v->passes, commands, &params);
    v->has_previous = true;
    v->previous_render = s->render;
    v->next_id = id + 1;
}

/* ---- reading ---- */

void d4r_validate_poll(d4r_validate *v)
{
    uint64_t reached = 0;
    if (v->vk->fn.vkGetSemaphoreCounterValue(v->vk->device, v->timeline, &reached) != VK_SUCCESS) return;
    if (v->next_id > D4R_V_RING && v->next_read < v->next_id - D4R_V_RING)
        v->next_read = v->next_id - D4R_V_RING;
    for (; v->next_read < v->next_id && d4r_handoff_a(v->next_read) <= reached; v->next_read++) {
        d4r_validate_record *record = &v->ring[v->next_read % D4R_V_RING];
        const float *slot = d4r_v_passes_slot(v->passes, (uint32_t)(v->next_read % D4R_V_RING));
        if (!record->waiting || record->id != v->next_read) continue;
        record->waiting = false;
        /* A discarded frame wrote nothing. */
        if (slot[D4R_V_SLICE_HEADER * 8] != (float)sequence_of(record->id)) continue;
        d4r_validate_take(v, record, slot);
    }
}
