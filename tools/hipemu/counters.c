/* Counters: names, sums, and classes from executions of instructions. */
#include "launch.h"

#include <string.h>

static const char *const count_names[EMU_COUNT_CLASSES] = {
    [EMU_COUNT_VALU] = "valu",
    [EMU_COUNT_VALU_DUAL] = "valu_dual",
    [EMU_COUNT_VALU_TRANS] = "valu_trans",
    [EMU_COUNT_VALU_F64] = "valu_f64",
    [EMU_COUNT_CONVERT] = "convert",
    [EMU_COUNT_CROSSLANE] = "crosslane",
    [EMU_COUNT_WMMA] = "wmma",
    [EMU_COUNT_SALU] = "salu",
    [EMU_COUNT_SMEM] = "smem",
    [EMU_COUNT_VMEM_LOAD] = "vmem_load",
    [EMU_COUNT_VMEM_STORE] = "vmem_store",
    [EMU_COUNT_VMEM_ATOMIC] = "vmem_atomic",
    [EMU_COUNT_SCRATCH] = "scratch",
    [EMU_COUNT_LDS] = "lds",
    [EMU_COUNT_BRANCH] = "branch",
    [EMU_COUNT_BARRIER] = "barrier",
    [EMU_COUNT_WAIT] = "wait",
    [EMU_COUNT_DELAY] = "delay",
    [EMU_COUNT_OTHER] = "other",
};

static const char *const wmma_names[EMU_WMMA_KINDS] = {"f16", "bf16", "iu8", "iu4", "fp8"};
static const char *const space_names[EMU_SPACES] = {"global", "lds", "scratch", "scalar"};
static const char *const status_names[] = {
    "ok",          "invalid argument",  "out of memory", "malformed code object", "wrong architecture",
    "unsupported", "fault in a kernel", "cancelled"};

const char *emu_count_name(emu_count count)
{
    return (size_t)count < EMU_COUNT_CLASSES ? count_names[count] : "?";
}

const char *emu_wmma_kind_name(emu_wmma_kind kind)
{
    return (size_t)kind < EMU_WMMA_KINDS ? wmma_names[kind] : "?";
}

const char *emu_space_name(emu_space space)
{
    return (size_t)space < EMU_SPACES ? space_names[space] : "?";
}

const char *emu_status_name(emu_status status)
{
    return (size_t)status < sizeof(status_names) / sizeof(status_names[0]) ? status_names[status] : "?";
}

/* Every member is a uint64_t. */
void emu_counters_add(emu_counters *sum, const emu_counters *more)
{
    uint64_t *s = (uint64_t *)(void *)sum;
    const uint64_t *m = (const uint64_t *)(const void *)more;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*s); i++) s[i] += m[i];
}
_Static_assert(sizeof(emu_counters) % sizeof(uint64_t) == 0, "only uint64_t members");

size_t emu_mnemonic_count(void)
{
    return emu_isa_count();
}

const char *emu_mnemonic_name(size_t index)
{
    const emu_row *row = emu_isa_row(index);
    return row ? row->name : NULL;
}

/* ------------------------------------------------------------------ classes */

static emu_wmma_kind wmma_kind(const char *name)
{
    if (strstr(name, "iu8")) return EMU_WMMA_IU8;
    if (strstr(name, "iu4")) return EMU_WMMA_IU4;
    if (strstr(name, "fp8") || strstr(name, "_bf8")) return EMU_WMMA_FP8;
    return strstr(name, "bf16") ? EMU_WMMA_BF16 : EMU_WMMA_F16;
}

static bool is_vector(emu_count count)
{
    return count <= EMU_COUNT_CROSSLANE;
}

static void count_op(const emu_op *op, uint64_t n, emu_counters *c, uint64_t *mnemonics)
{
    const emu_row *row = emu_isa_row(op->row);
    emu_count count = op->dpp != EMU_DPP_NONE ? EMU_COUNT_CROSSLANE : (emu_count)row->count;
    c->instructions += n;
    c->by_class[count] += n;
    if (count == EMU_COUNT_WMMA) c->wmma[wmma_kind(row->name)] += n;
    if (is_vector(count)) c->valu_ops += count == EMU_COUNT_VALU_DUAL ? 2 * n : n;
    if (!mnemonics) return;
    if (row->format == EMU_FMT_VOPD) { /* the halves follow the pair */
        mnemonics[op[1].row] += n;
        mnemonics[op[2].row] += n;
    } else {
        mnemonics[op->row] += n;
    }
}

void emu_counters_from_ops(const emu_code *code, const uint64_t *counts, emu_counters *counters,
                           uint64_t *mnemonics)
{
    for (size_t i = 0; i < code->count; i++) {
        if (counts[i] && code->ops[i].row != UINT16_MAX)
            count_op(&code->ops[i], counts[i], counters, mnemonics);
    }
}

void emu_kernel_mix(const emu_kernel *kernel, emu_counters *counters, uint64_t *mnemonics)
{
    const emu_code *code = emu_module_code(kernel->module);
    for (size_t i = 0; i < code->count; i++) {
        const emu_op *op = &code->ops[i];
        bool inside = op->pc >= kernel->code_offset && op->pc - kernel->code_offset < kernel->code_size;
        if (!inside || op->row == UINT16_MAX) continue;
        count_op(op, 1, counters, mnemonics);
        if (emu_isa_row(op->row)->format == EMU_FMT_VOPD) i += 2;
    }
}
