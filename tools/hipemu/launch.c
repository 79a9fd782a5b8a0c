/* Launches: checks, kernel arguments, faults. */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LDS = 65536, MAX_ITEMS = 1024, DYNAMIC_STACK = 16384, KERNARG_ALIGN = 64, PACKET_SIZE = 64 };

/* ------------------------------------------------------------------ memory as a worker sees it */

static bool holds(const emu_range *r, uintptr_t address, size_t size)
{
    return address >= r->lo && address < r->hi && size <= r->hi - address;
}

const emu_range *emu_worker_range(emu_worker *worker, uintptr_t address, size_t size)
{
    emu_run *run = worker->run;
    uint64_t generation = emu_memory_generation(run->memory);
    if (generation != worker->generation) {
        memset(worker->ranges, 0, sizeof(worker->ranges));
        worker->generation = generation;
    }
    for (unsigned i = 0; i < EMU_RANGE_CACHE; i++) {
        if (holds(&worker->ranges[i], address, size)) return &worker->ranges[i];
    }
    emu_range found;
    bool ok = false;
    for (unsigned i = 0; i < 3 && !ok; i++) {
        ok = holds(&run->local[i], address, size);
        if (ok) found = run->local[i];
    }
    if (!ok && !emu_memory_range(run->memory, address, size, &found)) return NULL;
    emu_range *slot = &worker->ranges[worker->next_range++ % EMU_RANGE_CACHE];
    *slot = found;
    return slot;
}

/* ------------------------------------------------------------------ state that handlers change rarely */

void emu_set_mode(emu_wave *w, uint32_t mode)
{
    bool special = (mode & EMU_MODE_FP) != EMU_MODE_DEFAULT;
    w->mode = mode;
    w->clamp_nan = w->group->run->gfx12 || (mode & EMU_MODE_DX10_CLAMP);
    w->ieee = mode & EMU_MODE_IEEE;
    if (special != w->special_mode) w->stop = EMU_STOP_SLICE; /* the other loop takes over */
    w->special_mode = special;
}

uint64_t emu_hwreg_read(const emu_wave *w, unsigned id)
{
    enum { MODE = 1, STATUS = 2, SHADER_CYCLES = 29 };
    switch (id) {
    case MODE:
        return w->mode;
    case STATUS:
        return w->scc;
    case SHADER_CYCLES:
        return w->executed;
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------ faults */

static const char *const fault_names[] = {
    [EMU_FAULT_NONE] = "none",
    [EMU_FAULT_OUT_OF_BOUNDS] = "out of bounds",
    [EMU_FAULT_LDS_BOUNDS] = "outside the LDS",
    [EMU_FAULT_SCRATCH_BOUNDS] = "outside the scratch memory",
    [EMU_FAULT_READ_ONLY] = "read-only memory",
    [EMU_FAULT_MISALIGNED] = "misaligned",
    [EMU_FAULT_UNINITIALISED_LDS] = "LDS never written",
    [EMU_FAULT_UNINITIALISED_MEMORY] = "memory never written",
    [EMU_FAULT_LDS_RACE] = "LDS race between waves",
    [EMU_FAULT_UNKNOWN_INSTRUCTION] = "unknown instruction",
    [EMU_FAULT_BAD_JUMP] = "jump to where no instruction starts",
    [EMU_FAULT_TRAP] = "trap",
    [EMU_FAULT_HANG] = "instruction bound exceeded",
    [EMU_FAULT_CANCELLED] = "cancelled",
    [EMU_FAULT_BARRIER] = "waves wait at a barrier for ever",
    [EMU_FAULT_WMMA] = "matrix operands: inactive lanes, or lanes 16..31 differ from 0..15",
};

const char *emu_fault_kind_name(emu_fault_kind kind)
{
    return (size_t)kind < sizeof(fault_names) / sizeof(fault_names[0]) ? fault_names[kind] : "?";
}

static bool is_access(emu_fault_kind kind)
{
    return kind >= EMU_FAULT_OUT_OF_BOUNDS && kind <= EMU_FAULT_LDS_RACE;
}

static void describe(const emu_run *run, emu_fault *f)
{
    char access[96] = "", place[160] = "", lane[24] = "";
    bool in_memory = f->kind == EMU_FAULT_OUT_OF_BOUNDS || f->kind == EMU_FAULT_READ_ONLY ||
                     f->kind == EMU_FAULT_UNINITIALISED_MEMORY ||
                     (f->kind == EMU_FAULT_MISALIGNED && f->address > MAX_LDS);
    if (is_access(f->kind)) {
        snprintf(access, sizeof(access), ": %s of %u bytes at 0x%llx", f->is_store ? "store" : "load",
                 f->bytes, (unsigned long long)f->address);
    }
    if (in_memory) {
        char where[128];
        emu_memory_describe(run->memory, (uintptr_t)f->address, where, sizeof(where));
        snprintf(place, sizeof(place), ", %s", where);
    }
    if (f->lane < EMU_LANES) snprintf(lane, sizeof(lane), "lane %u, ", f->lane);
    snprintf(f->text, sizeof(f->text),
             "kernel %s: %s%s%s; %swave %u of workgroup (%u, %u, %u), pc 0x%llx: %s", f->kernel,
             emu_fault_kind_name(f->kind), access, place, lane, f->wave, f->workgroup[0], f->workgroup[1],
             f->workgroup[2], (unsigned long long)f->pc, f->instruction);
}

static void instruction_text(const emu_run *run, emu_fault *f)
{
    const emu_module *module = run->kernel->module;
    if (f->kind != EMU_FAULT_UNKNOWN_INSTRUCTION) {
        emu_disassemble(module, (uint32_t)f->pc, f->instruction, sizeof(f->instruction));
        return;
    }
    const uint32_t *words = (const uint32_t *)emu_module_text_address(module) + f->pc / 4;
    size_t left = run->code->words - (size_t)f->pc / 4;
    emu_unknown_text(run->kernel->arch, words, left, f->instruction, sizeof(f->instruction));
}

void emu_raise(emu_wave *w, const emu_op *op, emu_fault_kind kind, unsigned lane, uint64_t address,
               uint32_t bytes, bool is_store)
{
    emu_run *run = w->group->run;
    w->stop = EMU_STOP_FAULT;
    pthread_mutex_lock(&run->lock);
    if (run->fault.kind == EMU_FAULT_NONE) {
        emu_fault *f = &run->fault;
        f->kind = kind;
        snprintf(f->kernel, sizeof(f->kernel), "%s", run->kernel->name);
        memcpy(f->workgroup, w->group->id, sizeof(f->workgroup));
        f->wave = w->index;
        f->lane = lane;
        f->pc = op->pc;
        f->address = address;
        f->bytes = bytes;
        f->is_store = is_store;
        instruction_text(run, f);
        describe(run, f);
        run->status = kind == EMU_FAULT_CANCELLED ? EMU_CANCELLED : EMU_FAULT;
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

/* ------------------------------------------------------------------ arguments */

void emu_kernarg_pack(const emu_kernel *kernel, void *const *arguments, void *kernarg)
{
    memset(kernarg, 0, kernel->explicit_size);
    for (uint32_t i = 0; i < kernel->explicit_count; i++) {
        memcpy((uint8_t *)kernarg + kernel->args[i].offset, arguments[i], kernel->args[i].size);
    }
}

static uint64_t hidden_value(const char *kind, const emu_launch_params *p)
{
    static const char axes[] = "xyz";
    for (int i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof(name), "hidden_block_count_%c", axes[i]);
        if (strcmp(kind, name) == 0) return p->grid[i];
        snprintf(name, sizeof(name), "hidden_group_size_%c", axes[i]);
        if (strcmp(kind, name) == 0) return p->block[i];
    }
    if (strcmp(kind, "hidden_grid_dims") == 0) {
        bool z = p->grid[2] > 1 || p->block[2] > 1, y = p->grid[1] > 1 || p->block[1] > 1;
        return z ? 3 : y ? 2 : 1;
    }
    if (strcmp(kind, "hidden_dynamic_lds_size") == 0) return p->dynamic_lds;
    if (strcmp(kind, "hidden_shared_base") == 0) return 0x00010000;
    if (strcmp(kind, "hidden_private_base") == 0) return 0x00020000;
    /* Remainders and global offsets are 0; printf, host call, heap and queue pointers are null here. */
    return 0;
}

/* The segment is allocated in multiples of 16 bytes, and compilers load beyond its end up to there. */
static size_t padded_size(const emu_kernel *k)
{
    return ((size_t)k->kernarg_size + 15) & ~(size_t)15;
}

static size_t segment_size(const emu_kernel *kernel)
{
    return (kernel->kernarg_size + KERNARG_ALIGN) / KERNARG_ALIGN * KERNARG_ALIGN;
}

static void fill_kernarg(uint8_t *kernarg, const emu_launch_params *p)
{
    const emu_kernel *k = p->kernel;
    size_t given = p->kernarg_size < k->kernarg_size ? p->kernarg_size : k->kernarg_size;
    memset(kernarg, 0, padded_size(k));
    if (given) memcpy(kernarg, p->kernarg, given);
    for (uint32_t i = k->explicit_count; i < k->arg_count; i++) {
        uint64_t value = hidden_value(k->args[i].value_kind, p);
        size_t size = k->args[i].size < sizeof(value) ? k->args[i].size : sizeof(value);
        memset(kernarg + k->args[i].offset, 0, k->args[i].size);
        memcpy(kernarg + k->args[i].offset, &value, size);
    }
}

/* The dispatch packet that kernels with a dispatch pointer read their sizes from. */
static void fill_packet(uint8_t *packet, const emu_launch_params *p)
{
    memset(packet, 0, PACKET_SIZE);
    for (int i = 0; i < 3; i++) {
        uint16_t size = (uint16_t)p->block[i];
        uint32_t total = p->grid[i] * p->block[i];
        memcpy(packet + 4 + 2 * i, &size, 2);
        memcpy(packet + 12 + 4 * i, &total, 4);
    }
}

/* ------------------------------------------------------------------ launching */

static emu_status invalid(emu_fault *fault, const char *kernel, const char *text)
{
    if (fault) snprintf(fault->text, sizeof(fault->text), "kernel %s: %s", kernel, text);
    return EMU_INVALID;
}

static emu_status check(const emu_launch_params *p, emu_fault *fault)
{
    const emu_kernel *k = p->kernel;
    for (int i = 0; i < 3; i++) {
        if (!p->grid[i] || !p->block[i]) return invalid(fault, k->name, "a grid or block size is zero");
        if (p->block[i] > MAX_ITEMS)
            return invalid(fault, k->name, "a workgroup has at most 1024 work-items");
        if (k->required_block[0] && k->required_block[i] != p->block[i]) {
            return invalid(fault, k->name, "the workgroup size is not the one the kernel requires");
        }
    }
    uint64_t items = (uint64_t)p->block[0] * p->block[1] * p->block[2];
    if (items > k->max_workgroup || items > MAX_ITEMS) {
        return invalid(fault, k->name, "the workgroup is larger than the kernel was built for");
    }
    if ((uint64_t)k->lds_bytes + p->dynamic_lds > MAX_LDS)
        return invalid(fault, k->name, "more than 64 KiB of LDS");
    if (p->kernarg_size < k->explicit_size || (k->explicit_size && !p->kernarg)) {
        return invalid(fault, k->name, "the arguments are shorter than the kernel's");
    }
    if (!p->memory) return invalid(fault, k->name, "no memory map");
    return EMU_OK;
}

static void start(emu_run *run, const emu_launch_params *p, uint8_t *kernarg, uint8_t *packet)
{
    const emu_kernel *k = p->kernel;
    run->params = p;
    run->kernel = k;
    run->code = emu_module_code(k->module);
    run->memory = p->memory;
    run->kernarg = kernarg;
    run->dispatch = packet;
    run->local[0] = (emu_range){(uintptr_t)kernarg, (uintptr_t)kernarg + padded_size(k), NULL, true};
    run->local[1] = emu_module_range(k->module);
    run->local[2] = (emu_range){(uintptr_t)packet, (uintptr_t)packet + PACKET_SIZE, NULL, true};
    run->gfx12 = k->arch->cls == EMU_GFX12;
    run->check_uninitialised = p->options.check_uninitialised;
    run->check_races = p->options.lds_race_check;
    run->group_items = p->block[0] * p->block[1] * p->block[2];
    run->wave_count = (run->group_items + EMU_LANES - 1) / EMU_LANES;
    run->lds_size = k->lds_bytes + p->dynamic_lds;
    run->scratch_size = (k->scratch_bytes + (k->dynamic_stack ? DYNAMIC_STACK : 0) + 15) / 16 * 16;
    run->group_count = (uint64_t)p->grid[0] * p->grid[1] * p->grid[2];
    fill_kernarg(kernarg, p);
    fill_packet(packet, p);
}

emu_status emu_launch(const emu_launch_params *params, emu_counters *counters, uint64_t *mnemonics,
                      emu_fault *fault)
{
    if (fault) memset(fault, 0, sizeof(*fault));
    emu_status status = check(params, fault);
    if (status) return status;
    emu_run *run = calloc(1, sizeof(*run));
    size_t kernarg_size = segment_size(params->kernel);
    uint8_t *kernarg = aligned_alloc(KERNARG_ALIGN, kernarg_size + PACKET_SIZE);
    if (run) run->counts = calloc(emu_module_code(params->kernel->module)->count, sizeof(*run->counts));
    if (!run || !kernarg || !run->counts) {
        status = EMU_NO_MEMORY;
        goto out;
    }
    pthread_mutex_init(&run->lock, NULL);
    start(run, params, kernarg, kernarg + kernarg_size);
    emu_pool_offer(params->pool, run);
    emu_worker worker = {0};
    emu_worker_run(&worker, run);
    emu_worker_free(&worker);
    emu_pool_withdraw(params->pool, run);
    pthread_mutex_destroy(&run->lock);
    status = run->status;
    if (fault) *fault = run->fault;
    emu_counters sum = run->counters;
    sum.launches = 1;
    emu_counters_from_ops(run->code, run->counts, &sum, mnemonics);
    if (counters) emu_counters_add(counters, &sum);
out:
    free(kernarg);
    if (run) free(run->counts);
    free(run);
    return status;
}
