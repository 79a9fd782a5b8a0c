/* Program flow, barriers, messages and scalar memory. */
#include "exec.h"

HANDLER(s_nothing)
{
    (void)w;
    (void)op;
}

HANDLER(s_code_end)
{
    emu_raise(w, op, EMU_FAULT_BAD_JUMP, EMU_LANES, op->pc, 0, false);
}

HANDLER(s_trap)
{
    emu_raise(w, op, EMU_FAULT_TRAP, EMU_LANES, op->pc, 0, false);
}

HANDLER(s_sendmsg)
{
    (void)w; /* MSG_DEALLOC_VGPRS and interrupts change nothing that a kernel computes */
    (void)op;
}

HANDLER(s_sendmsg_rtn_b32)
{
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, op->imm, 0, false);
}

HANDLER(s_sendmsg_rtn_b64)
{
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, op->imm, 0, false);
}

/* ------------------------------------------------------------------ branches */

#define BRANCH(name, condition)            \
    HANDLER(name)                          \
    {                                      \
        if (condition) w->pc = op->target; \
    }
BRANCH(s_branch, true)
BRANCH(s_cbranch_scc0, !w->scc)
BRANCH(s_cbranch_scc1, w->scc)
BRANCH(s_cbranch_vccz, w->sgpr[EMU_S_VCC] == 0)
BRANCH(s_cbranch_vccnz, w->sgpr[EMU_S_VCC] != 0)
BRANCH(s_cbranch_execz, w->exec == 0)
BRANCH(s_cbranch_execnz, w->exec != 0)

static uint64_t text_address(const emu_wave *w)
{
    return emu_module_text_address(w->group->run->kernel->module);
}

static void jump(emu_wave *w, const emu_op *op, uint64_t address)
{
    uint64_t offset = address - text_address(w);
    if (offset % 4 == 0 && offset / 4 < w->code->words && w->code->index[offset / 4] != UINT32_MAX) {
        w->pc = w->code->index[offset / 4];
    } else {
        emu_raise(w, op, EMU_FAULT_BAD_JUMP, EMU_LANES, address, 0, false);
    }
}

HANDLER(s_getpc_b64)
{
    set_sgpr64(w, op->dst, text_address(w) + op->pc + op->bytes);
}

HANDLER(s_setpc_b64)
{
    jump(w, op, scalar64(w, &op->src[0]));
}

HANDLER(s_swappc_b64)
{
    uint64_t target = scalar64(w, &op->src[0]);
    set_sgpr64(w, op->dst, text_address(w) + op->pc + op->bytes);
    jump(w, op, target);
}

HANDLER(s_call_b64)
{
    set_sgpr64(w, op->dst, text_address(w) + op->pc + op->bytes);
    w->pc = op->target;
}

/* ------------------------------------------------------------------ barriers and the end */

/* The barrier completes when every wave that has not ended has signalled. */
static void complete_barrier(emu_group *group)
{
    if (group->wave_count && group->signalled >= group->wave_count) {
        group->signalled = 0;
        group->generation++;
        group->epoch++;
    }
}

HANDLER(s_endpgm)
{
    (void)op;
    w->stop = EMU_STOP_END;
    w->group->wave_count--;
    complete_barrier(w->group);
}

HANDLER(s_barrier)
{
    (void)op;
    w->barrier_target = w->group->generation + 1;
    w->group->signalled++;
    complete_barrier(w->group);
    if (w->group->generation < w->barrier_target) w->stop = EMU_STOP_BARRIER;
}

/* Only the workgroup's own barrier (-1) exists here; named barriers are gfx12.5's. */
static bool own_barrier(emu_wave *w, const emu_op *op, int32_t id)
{
    if (id == -1) return true;
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, (uint64_t)(int64_t)id, 0, false);
    return false;
}

HANDLER(s_barrier_signal)
{
    if (!own_barrier(w, op, (int32_t)scalar32(w, &op->src[0]))) return;
    w->barrier_target = w->group->generation + 1;
    w->group->signalled++;
    complete_barrier(w->group);
}

HANDLER(s_barrier_signal_isfirst)
{
    if (!own_barrier(w, op, (int32_t)scalar32(w, &op->src[0]))) return;
    w->scc = w->group->signalled == 0;
    w->barrier_target = w->group->generation + 1;
    w->group->signalled++;
    complete_barrier(w->group);
}

HANDLER(s_barrier_wait)
{
    if (!own_barrier(w, op, (int16_t)op->imm)) return;
    if (w->group->generation < w->barrier_target) w->stop = EMU_STOP_BARRIER;
}

/* ------------------------------------------------------------------ scalar memory */

/* The compiler loads 12 bytes as 16 when they start an aligned block of 16: what lies past the end of an allocation
 * is then not used. */
static const emu_range *widened_range(emu_wave *w, uint64_t address, uint32_t *bytes)
{
    if (*bytes != 16 || address % 16) return NULL;
    *bytes = 12;
    return emu_worker_range(w->worker, address, *bytes);
}

/* Finds *bytes bytes at a scalar address, fewer if only those exist; NULL after raising a fault. */
static const uint8_t *scalar_address(emu_wave *w, const emu_op *op, uint32_t *bytes, uint32_t alignment)
{
    uint64_t address = scalar64(w, &op->src[0]) + (uint64_t)(int64_t)op->offset;
    if (op->src[1].kind != EMU_SRC_OFF) address += scalar32(w, &op->src[1]);
    if (address % alignment) {
        emu_raise(w, op, EMU_FAULT_MISALIGNED, EMU_LANES, address, *bytes, false);
        return NULL;
    }
    const emu_range *range = emu_worker_range(w->worker, address, *bytes);
    if (!range) range = widened_range(w, address, bytes);
    if (!range) {
        emu_raise(w, op, EMU_FAULT_OUT_OF_BOUNDS, EMU_LANES, address, *bytes, false);
        return NULL;
    }
    if (range->shadow && w->group->run->check_uninitialised) {
        for (uint32_t i = 0; i < *bytes; i++) {
            if (!__atomic_load_n(&range->shadow[address - range->lo + i], __ATOMIC_RELAXED)) {
                emu_raise(w, op, EMU_FAULT_UNINITIALISED_MEMORY, EMU_LANES, address + i, *bytes, false);
                return NULL;
            }
        }
    }
    w->worker->counters.bytes_read[EMU_SPACE_SCALAR] += *bytes;
    return (const uint8_t *)(uintptr_t)address;
}

static void load_dwords(emu_wave *w, const emu_op *op, uint32_t count)
{
    uint32_t bytes = 4 * count;
    const uint8_t *p = scalar_address(w, op, &bytes, 4);
    if (!p || op->dst == EMU_SGPR_SINK) return;
    for (uint32_t i = 0; i < bytes / 4; i++) {
        uint32_t value;
        memcpy(&value, p + 4 * i, 4);
        set_sgpr(w, op->dst + i, value);
    }
}

#define LOAD(bits)                     \
    HANDLER(s_load_b##bits)            \
    {                                  \
        load_dwords(w, op, bits / 32); \
    }
LOAD(32)
LOAD(64)
LOAD(96)
LOAD(128)
LOAD(256)
LOAD(512)

#define LOAD_SMALL(name, type, cast)                                    \
    HANDLER(name)                                                       \
    {                                                                   \
        uint32_t bytes = sizeof(type);                                  \
        const uint8_t *p = scalar_address(w, op, &bytes, sizeof(type)); \
        if (!p) return;                                                 \
        type value;                                                     \
        memcpy(&value, p, sizeof(value));                               \
        set_sgpr(w, op->dst, (uint32_t)(cast)value);                    \
    }
LOAD_SMALL(s_load_u8, uint8_t, uint32_t)
LOAD_SMALL(s_load_i8, int8_t, int32_t)
LOAD_SMALL(s_load_u16, uint16_t, uint32_t)
LOAD_SMALL(s_load_i16, int16_t, int32_t)
