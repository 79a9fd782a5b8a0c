/* Workgroups: initial registers, waves taking turns, barriers, LDS and scratch. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLICE = 1 << 14,     /* instructions a wave runs before the next gets its turn */
    POISON = 0x7fa5a5a5, /* registers and LDS before anything is written: a signalling NaN */

};

/* Kernel descriptor fields. */
enum { KD_RSRC1 = 48, KD_RSRC2 = 52, KD_PROPERTIES = 56 };

static uint32_t descriptor_u32(const uint8_t *kd, unsigned offset)
{
    uint32_t value;
    memcpy(&value, kd + offset, 4);
    return value;
}

/* ------------------------------------------------------------------ registers of a new wave */

static unsigned put_pointer(emu_wave *w, unsigned reg, uint64_t value)
{
    w->sgpr[reg] = (uint32_t)value;
    w->sgpr[reg + 1] = (uint32_t)(value >> 32);
    return reg + 2;
}

/* User SGPRs in the order of the enable bits, then workgroup ids; gfx12 keeps those in TTMP registers. */
static void init_scalars(emu_wave *w, const uint8_t *kd)
{
    const emu_run *run = w->group->run;
    uint32_t rsrc2 = descriptor_u32(kd, KD_RSRC2), enable = descriptor_u32(kd, KD_PROPERTIES) & 0xffff;
    unsigned reg = 0;
    for (int i = 0; i < EMU_SGPRS; i++) w->sgpr[i] = POISON;
    if (enable & 1) reg += 4; /* private segment buffer: not used by these machines */
    if (enable & 2) reg = put_pointer(w, reg, (uint64_t)(uintptr_t)run->dispatch);
    if (enable & 4) reg = put_pointer(w, reg, 0); /* queue */
    if (enable & 8) reg = put_pointer(w, reg, (uint64_t)(uintptr_t)run->kernarg);
    if (enable & 16) reg = put_pointer(w, reg, 1); /* dispatch id */
    if (enable & 32) reg = put_pointer(w, reg, 0); /* flat scratch init */
    if (enable & 64) w->sgpr[reg++] = w->scratch_size;
    const uint32_t *id = w->group->id;
    if (run->gfx12) {
        w->sgpr[EMU_S_TTMP0 + 9] = id[0];
        w->sgpr[EMU_S_TTMP0 + 7] = (id[1] & 0xffff) | id[2] << 16;
    }
    reg = rsrc2 >> 1 & 31; /* system SGPRs follow the user ones */
    for (int i = 0; i < 3 && !run->gfx12; i++) {
        if (rsrc2 >> (7 + i) & 1) w->sgpr[reg++] = id[i];
    }
    w->sgpr[EMU_S_NULL] = 0;
}

static void init_mode(emu_wave *w, const uint8_t *kd)
{
    uint32_t rsrc1 = descriptor_u32(kd, KD_RSRC1);
    uint32_t mode = rsrc1 >> 12 & 0xff;
    bool gfx12 = w->group->run->gfx12;
    if (!gfx12 && (rsrc1 >> 21 & 1)) mode |= EMU_MODE_DX10_CLAMP;
    if (!gfx12 && (rsrc1 >> 23 & 1)) mode |= EMU_MODE_IEEE;
    if (rsrc1 >> 26 & 1) mode |= EMU_MODE_FP16_OVFL;
    w->special_mode = false;
    w->mode = 0;
    emu_set_mode(w, mode);
}

static void init_vectors(emu_wave *w)
{
    const emu_run *run = w->group->run;
    const uint32_t *block = run->params->block;
    unsigned used = run->kernel->vgprs ? run->kernel->vgprs : 1;
    if (used > EMU_VGPRS) used = EMU_VGPRS;
    for (unsigned r = 0; r < used; r++) {
        for (int i = 0; i < EMU_LANES; i++) w->vgpr[r][i] = POISON;
    }
    uint32_t exec = 0;
    for (unsigned i = 0; i < EMU_LANES; i++) {
        uint32_t item = w->index * EMU_LANES + i;
        if (item >= run->group_items) break;
        exec |= 1u << i;
        uint32_t x = item % block[0], y = item / block[0] % block[1], z = item / block[0] / block[1];
        w->vgpr[0][i] = x | y << 10 | z << 20;
    }
    w->sgpr[EMU_S_EXEC] = exec;
    w->sgpr[EMU_S_EXEC + 1] = 0;
    w->exec = exec;
    for (int i = 0; i < EMU_LANES; i++) w->lane_mask[i] = 0u - (exec >> i & 1);
}

static void init_wave(emu_wave *w, emu_group *group, unsigned index)
{
    const emu_run *run = group->run;
    const uint8_t *kd = emu_kernel_descriptor(run->kernel);
    w->group = group;
    w->worker = group->worker;
    w->code = run->code;
    w->index = index;
    w->pc = run->code->index[run->kernel->code_offset / 4];
    w->stop = EMU_RUNNING;
    w->scc = false;
    w->executed = 0;
    w->barrier_target = 0;
    w->scratch_size = run->scratch_size;
    w->scratch = group->worker->scratch + (size_t)index * run->scratch_size * EMU_LANES;
    init_scalars(w, kd);
    init_mode(w, kd);
    init_vectors(w);
    w->stop = EMU_RUNNING;
}

/* ------------------------------------------------------------------ buffers of a worker */

static bool grow(void **buffer, size_t *capacity, size_t needed, size_t alignment)
{
    if (*capacity >= needed) return true;
    free(*buffer);
    *capacity = 0;
    *buffer = aligned_alloc(alignment, (needed + alignment - 1) / alignment * alignment);
    if (*buffer) *capacity = needed;
    return *buffer != NULL;
}

static bool prepare(emu_worker *worker, emu_run *run)
{
    size_t lds = run->lds_size ? run->lds_size : 1;
    size_t scratch = (size_t)run->scratch_size * EMU_LANES * run->wave_count;
    size_t bytes = worker->wave_capacity * sizeof(emu_wave);
    if (!grow((void **)&worker->waves, &bytes, run->wave_count * sizeof(emu_wave), 64)) {
        worker->wave_capacity = 0;
        return false;
    }
    worker->wave_capacity = bytes / sizeof(emu_wave);
    if (!grow((void **)&worker->scratch, &worker->scratch_capacity, scratch ? scratch : 1, 64)) return false;
    if (worker->lds_capacity < lds) {
        free(worker->lds_cells);
        free(worker->lds_written);
        worker->lds_cells = NULL;
        worker->lds_written = NULL;
        if (!grow((void **)&worker->lds, &worker->lds_capacity, lds, 64)) return false;
    }
    if (run->check_uninitialised && !worker->lds_written) worker->lds_written = malloc(worker->lds_capacity);
    if (run->check_races && !worker->lds_cells) {
        worker->lds_cells = calloc(worker->lds_capacity, sizeof(*worker->lds_cells));
        worker->epoch = 0;
    }
    if (run->check_uninitialised && !worker->lds_written) return false;
    return !run->check_races || worker->lds_cells;
}

void emu_worker_free(emu_worker *worker)
{
    free(worker->waves);
    free(worker->lds);
    free(worker->lds_written);
    free(worker->lds_cells);
    free(worker->scratch);
    memset(worker, 0, sizeof(*worker));
}

/* ------------------------------------------------------------------ running */

static bool interrupted(emu_run *run, emu_wave *w)
{
    const emu_launch_options *o = &run->params->options;
    if (atomic_load_explicit(&run->stop, memory_order_relaxed)) return true;
    const emu_op *op = &run->code->ops[w->pc];
    if (o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed)) {
        emu_raise(w, op, EMU_FAULT_CANCELLED, EMU_LANES, op->pc, 0, false);
        return true;
    }
    if (o->max_instructions && w->executed >= o->max_instructions) {
        emu_raise(w, op, EMU_FAULT_HANG, EMU_LANES, op->pc, 0, false);
        return true;
    }
    return false;
}

static uint64_t slice(const emu_run *run, const emu_wave *w)
{
    uint64_t bound = run->params->options.max_instructions;
    return bound && bound - w->executed < SLICE ? bound - w->executed : SLICE;
}

/* Turns until every wave has ended. */
static bool run_waves(emu_group *group, unsigned count)
{
    emu_run *run = group->run;
    emu_run_fn step = emu_level_get()->run;
    emu_wave *waves = group->worker->waves;
    unsigned ended = 0;
    while (ended < count) {
        bool progress = false;
        for (unsigned i = 0; i < count; i++) {
            emu_wave *w = &waves[i];
            bool waiting = w->stop == EMU_STOP_BARRIER && group->generation < w->barrier_target;
            if (w->stop == EMU_STOP_END || waiting) continue;
            progress = true;
            do {
                if (interrupted(run, w)) return false;
                step(w, slice(run, w));
            } while (w->stop == EMU_STOP_SLICE && count == 1);
            if (w->stop == EMU_STOP_FAULT) return false;
            if (w->stop == EMU_STOP_END) ended++;
        }
        if (!progress) {
            emu_raise(&waves[0], &run->code->ops[waves[0].pc], EMU_FAULT_BARRIER, EMU_LANES, 0, 0, false);
            return false;
        }
    }
    return true;
}

bool emu_group_run(emu_worker *worker, uint64_t index)
{
    emu_run *run = worker->run;
    const uint32_t *grid = run->params->grid;
    emu_group group = {.run = run, .worker = worker, .lds = worker->lds, .lds_size = run->lds_size};
    group.lds_written = run->check_uninitialised ? worker->lds_written : NULL;
    group.lds_cells = run->check_races ? worker->lds_cells : NULL;
    group.epoch = ++worker->epoch;
    group.id[0] = (uint32_t)(index % grid[0]);
    group.id[1] = (uint32_t)(index / grid[0] % grid[1]);
    group.id[2] = (uint32_t)(index / grid[0] / grid[1]);
    group.wave_count = run->wave_count;
    memset(worker->lds, 0xa5, run->lds_size);
    if (group.lds_written) memset(worker->lds_written, 0, run->lds_size);
    for (unsigned i = 0; i < run->wave_count; i++) init_wave(&worker->waves[i], &group, i);
    bool ok = run_waves(&group, run->wave_count);
    worker->epoch = group.epoch;
    worker->counters.workgroups++;
    worker->counters.waves += run->wave_count;
    return ok;
}

static void merge(emu_worker *worker, emu_run *run)
{
    pthread_mutex_lock(&run->lock);
    for (size_t i = 0; i < run->code->count; i++) run->counts[i] += worker->counts[i];
    emu_counters_add(&run->counters, &worker->counters);
    pthread_mutex_unlock(&run->lock);
}

static void out_of_memory(emu_run *run)
{
    pthread_mutex_lock(&run->lock);
    if (!run->status) run->status = EMU_NO_MEMORY;
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

void emu_worker_run(emu_worker *worker, emu_run *run)
{
    worker->run = run;
    worker->generation = 0;
    memset(worker->ranges, 0, sizeof(worker->ranges));
    memset(&worker->counters, 0, sizeof(worker->counters));
    worker->counts = calloc(run->code->count, sizeof(*worker->counts));
    if (!worker->counts || !prepare(worker, run)) {
        free(worker->counts);
        worker->counts = NULL;
        out_of_memory(run);
        return;
    }
    for (;;) {
        uint64_t index = atomic_fetch_add(&run->next_group, 1);
        if (index >= run->group_count || atomic_load(&run->stop)) break;
        if (!emu_group_run(worker, index)) break;
    }
    merge(worker, run);
    free(worker->counts);
    worker->counts = NULL;
}
