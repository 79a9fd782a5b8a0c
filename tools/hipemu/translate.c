/* Decoded instructions bound to handlers: the internal form that waves execute. */
#include "wave.h"

#include <stdlib.h>
#include <string.h>

typedef struct translator {
    emu_class cls;
    const emu_level *level;
    const uint32_t *text;
    size_t words;
    emu_code *code;
    size_t op_capacity, constant_capacity;
    uint32_t *slots; /* a hash of constant pairs: index + 1 */
    size_t slot_count;
    bool failed;
} translator;

/* ------------------------------------------------------------------ constants */

/* Two rows: the value's low word in 32 lanes, then its high word. Rows may move while more are added, so sources
 * keep the index until the end. */
static size_t constant_rows(translator *t, uint64_t value)
{
    if (t->slot_count) {
        size_t hash = (size_t)((value * 0x9e3779b97f4a7c15ull) >> 32) % t->slot_count;
        while (t->slots[hash]) {
            const uint32_t(*rows)[EMU_LANES] =
                (const uint32_t(*)[EMU_LANES])t->code->constants + 2 * (t->slots[hash] - 1);
            if (rows[0][0] == (uint32_t)value && rows[1][0] == (uint32_t)(value >> 32))
                return t->slots[hash] - 1;
            hash = (hash + 1) % t->slot_count;
        }
    }
    emu_code *code = t->code;
    if (code->constant_count == t->constant_capacity) {
        size_t capacity = t->constant_capacity ? 2 * t->constant_capacity : 64;
        uint32_t(*rows)[EMU_LANES] = aligned_alloc(64, 2 * capacity * sizeof(*rows));
        uint32_t *slots = calloc(4 * capacity, sizeof(*slots));
        if (!rows || !slots) {
            free(rows);
            free(slots);
            t->failed = true;
            return 0;
        }
        if (code->constant_count) memcpy(rows, code->constants, 2 * code->constant_count * sizeof(*rows));
        free(code->constants);
        free(t->slots);
        code->constants = rows;
        t->slots = slots;
        t->slot_count = 4 * capacity;
        t->constant_capacity = capacity;
        for (size_t i = 0; i < code->constant_count; i++) {
            uint64_t v = (uint64_t)rows[2 * i + 1][0] << 32 | rows[2 * i][0];
            size_t hash = (size_t)((v * 0x9e3779b97f4a7c15ull) >> 32) % t->slot_count;
            while (t->slots[hash]) hash = (hash + 1) % t->slot_count;
            t->slots[hash] = (uint32_t)i + 1;
        }
    }
    size_t index = code->constant_count++;
    for (int i = 0; i < EMU_LANES; i++) code->constants[2 * index][i] = (uint32_t)value;
    for (int i = 0; i < EMU_LANES; i++) code->constants[2 * index + 1][i] = (uint32_t)(value >> 32);
    size_t hash = (size_t)((value * 0x9e3779b97f4a7c15ull) >> 32) % t->slot_count;
    while (t->slots[hash]) hash = (hash + 1) % t->slot_count;
    t->slots[hash] = (uint32_t)index + 1;
    return index;
}

/* ------------------------------------------------------------------ operands */

static uint64_t special_value(unsigned reg)
{
    switch (reg) {
    case EMU_S_SHARED_BASE:
        return 0x0001000000000000;
    case EMU_S_SHARED_LIMIT:
        return 0x00010000ffffffff;
    case EMU_S_PRIVATE_BASE:
        return 0x0002000000000000;
    default:
        return 0x00020000ffffffff;
    }
}

static bool is_vector(const emu_inst *inst)
{
    switch (inst->encoding) {
    case EMU_FMT_VOP1:
    case EMU_FMT_VOP2:
    case EMU_FMT_VOPC:
    case EMU_FMT_VOP3:
    case EMU_FMT_VOP3P:
    case EMU_FMT_VOPD:
        return true;
    default:
        return false;
    }
}

static void bind_source(translator *t, emu_src *s, const emu_operand *o, bool vector)
{
    s->reg = o->reg;
    s->mods = (uint8_t)((o->neg ? EMU_MOD_NEG : 0) | (o->abs ? EMU_MOD_ABS : 0) | (o->hi ? EMU_MOD_HI : 0));
    uint64_t value = o->value;
    switch (o->kind) {
    case EMU_O_VGPR:
        s->kind = EMU_SRC_VGPR;
        return;
    case EMU_O_SGPR:
        s->kind = EMU_SRC_SGPR;
        return;
    case EMU_O_OFF:
    case EMU_O_NONE:
        s->kind = EMU_SRC_OFF;
        return;
    case EMU_O_SPECIAL:
        if (o->reg == EMU_S_SCC) {
            s->kind = EMU_SRC_SCC;
            return;
        }
        /* A 32-bit read of an aperture register gives its upper half. */
        value = special_value(o->reg);
        if (o->dwords < 2) value >>= 32;
        break;
    default:
        break;
    }
    s->kind = EMU_SRC_CONST;
    /* 16-bit operands see the literal's low half; op_sel may ask for the high one. */
    s->value = vector ? constant_rows(t, value) : value;
}

static uint16_t scalar_dst(const emu_operand *o)
{
    return o->reg == EMU_S_NULL ? EMU_SGPR_SINK : o->reg;
}

static bool is_coherent(emu_class cls, const emu_inst *inst)
{
    return cls == EMU_GFX12 ? inst->cache >> 3 != 0 : (inst->cache & 1) != 0;
}

/* ------------------------------------------------------------------ one instruction */

static void bind_common(translator *t, emu_op *op, const emu_inst *inst, const emu_row *row)
{
    bool vector = is_vector(inst);
    op->row = (uint16_t)inst->row;
    op->bytes = inst->bytes;
    op->precision = row->precision;
    op->fn = t->level->handlers[inst->row];
    op->offset = inst->offset;
    op->imm = inst->simm16;
    op->omod = inst->omod;
    op->op_sel = inst->op_sel;
    op->op_sel_hi = inst->op_sel_hi;
    op->neg_lo = inst->neg_lo;
    op->neg_hi = inst->neg_hi;
    op->cache = inst->cache;
    op->space = inst->encoding;
    op->offset0 = inst->offset0;
    op->offset1 = inst->offset1;
    if (inst->clamp) op->flags |= EMU_OP_CLAMP;
    if (inst->returns) op->flags |= EMU_OP_RETURNS;
    if (row->stride64) op->flags |= EMU_OP_STRIDE64;
    if (row->cmpx) op->flags |= EMU_OP_CMPX;
    for (unsigned i = 0; i < EMU_MAX_SRC; i++) {
        op->src[i].kind = EMU_SRC_OFF;
        if (i < inst->src_count) bind_source(t, &op->src[i], &inst->src[i], vector);
    }
    if (inst->dst_count) {
        const emu_operand *d = &inst->dst[0];
        op->dst = d->kind == EMU_O_SGPR ? scalar_dst(d) : d->reg;
        op->dst_hi = d->hi;
    }
    if (inst->dst_count > 1) op->sdst = scalar_dst(&inst->dst[1]);
}

static void bind_memory(translator *t, emu_op *op, const emu_inst *inst)
{
    switch (inst->encoding) {
    case EMU_FMT_SMEM:
        bind_source(t, &op->src[0], &inst->src[0], false);
        bind_source(t, &op->src[1], &inst->saddr, false);
        break;
    case EMU_FMT_FLAT:
    case EMU_FMT_GLOBAL:
    case EMU_FMT_SCRATCH:
        if (inst->saddr.kind == EMU_O_SGPR) {
            op->flags |= EMU_OP_SADDR;
            bind_source(t, &op->src[2], &inst->saddr, false);
        }
        if (is_coherent(t->cls, inst)) op->flags |= EMU_OP_COHERENT;
        break;
    default:
        break;
    }
}

static void bind_dpp(translator *t, emu_op *op, const emu_inst *inst)
{
    if (inst->dpp == EMU_DPP_NONE) return;
    op->inner = op->fn;
    op->fn = t->level->dpp;
    op->dpp = (uint8_t)inst->dpp;
    op->imm = inst->dpp_control;
    op->dpp_masks = (uint8_t)(inst->bank_mask | inst->row_mask << 4);
    if (inst->bound_control) op->flags |= EMU_OP_BOUND;
    if (inst->fetch_inactive) op->flags |= EMU_OP_INACTIVE;
}

static emu_op *append(translator *t, uint32_t pc)
{
    emu_code *code = t->code;
    if (code->count == t->op_capacity) {
        size_t capacity = t->op_capacity ? 2 * t->op_capacity : 1024;
        emu_op *grown = realloc(code->ops, capacity * sizeof(*grown));
        if (!grown) {
            t->failed = true;
            return NULL;
        }
        code->ops = grown;
        t->op_capacity = capacity;
    }
    emu_op *op = &code->ops[code->count++];
    memset(op, 0, sizeof(*op));
    op->pc = pc;
    return op;
}

static void unknown(emu_wave *w, const emu_op *op)
{
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, op->pc, 0, false);
}

static void past_end(emu_wave *w, const emu_op *op)
{
    emu_raise(w, op, EMU_FAULT_BAD_JUMP, EMU_LANES, op->pc, 0, false);
}

static bool reads_register(const emu_op *op, const emu_row *row, unsigned reg)
{
    for (int i = 0; i < EMU_MAX_SRC; i++) {
        if (op->src[i].kind == EMU_SRC_VGPR && op->src[i].reg == reg) return true;
    }
    return row->accumulates && op->dst == reg;
}

static bool translate_pair(translator *t, uint32_t pc, const emu_inst *x, const emu_inst *y)
{
    emu_op *op = append(t, pc);
    if (!op) return false;
    op->row = (uint16_t)x->row;
    op->bytes = x->bytes;
    op->fn = t->level->pair;
    const emu_inst *halves[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        emu_op *half = append(t, pc);
        if (!half) return false;
        bind_common(t, half, halves[i], emu_isa_row((size_t)halves[i]->row));
    }
    emu_op *ops = &t->code->ops[t->code->count - 3];
    bool x_hits_y = reads_register(&ops[2], emu_isa_row((size_t)y->row), ops[1].dst);
    bool y_hits_x = reads_register(&ops[1], emu_isa_row((size_t)x->row), ops[2].dst);
    ops[0].order = !x_hits_y ? EMU_PAIR_XY : !y_hits_x ? EMU_PAIR_YX : EMU_PAIR_SAVE;
    /* The pair runs under f32's controls: every float half is f32. */
    ops[0].precision = EMU_PRECISION_32;
    return true;
}

/* Translates the instruction at a word; returns the words used, 0 when out of memory. */
static unsigned translate_one(translator *t, size_t word)
{
    emu_inst inst, second;
    unsigned used = emu_decode(t->cls, t->text + word, t->words - word, &inst, &second);
    uint32_t pc = (uint32_t)(4 * word);
    t->code->index[word] = (uint32_t)t->code->count;
    if (inst.row >= 0 && inst.encoding == EMU_FMT_VOPD)
        return translate_pair(t, pc, &inst, &second) ? used : 0;
    emu_op *op = append(t, pc);
    if (!op) return 0;
    if (inst.row < 0) {
        op->fn = unknown;
        op->row = UINT16_MAX;
        op->bytes = 4;
        return used;
    }
    bind_common(t, op, &inst, emu_isa_row((size_t)inst.row));
    bind_memory(t, op, &inst);
    bind_dpp(t, op, &inst);
    return used;
}

/* ------------------------------------------------------------------ the whole text */

static bool is_relative_branch(const emu_op *op)
{
    const emu_row *row = op->row == UINT16_MAX ? NULL : emu_isa_row(op->row);
    return row && row->count == EMU_COUNT_BRANCH &&
           (row->format == EMU_FMT_SOPP || strcmp(row->name, "s_call_b64") == 0);
}

static int64_t branch_word(const emu_op *op)
{
    return (int64_t)(op->pc / 4) + 1 + (int16_t)op->imm;
}

/* Decodes on from a word until the end of the text, known code, or code that cannot be reached by falling through. */
static bool translate_from(translator *t, size_t word)
{
    while (word < t->words && t->code->index[word] == UINT32_MAX) {
        unsigned used = translate_one(t, word);
        if (!used || t->failed) return false;
        word += used;
    }
    /* Running into code that another start has translated: continue there. */
    emu_op *op = append(t, (uint32_t)(4 * (word < t->words ? word : t->words)));
    if (!op) return false;
    op->row = UINT16_MAX;
    op->fn = past_end;
    if (word < t->words) {
        int row = emu_isa_find(t->cls, EMU_FMT_SOPP, 0x20); /* s_branch, without counting as one */
        op->fn = t->level->handlers[row];
        op->target = t->code->index[word];
    }
    return true;
}

/* Branch targets that no start covers (code between functions) are starts as well. */
static bool translate_targets(translator *t)
{
    for (size_t i = 0; i < t->code->count; i++) {
        if (!is_relative_branch(&t->code->ops[i])) continue;
        int64_t word = branch_word(&t->code->ops[i]);
        if (word >= 0 && (size_t)word < t->words && t->code->index[word] == UINT32_MAX) {
            if (!translate_from(t, (size_t)word)) return false;
        }
    }
    return true;
}

static void resolve(translator *t, size_t bad_target)
{
    emu_code *code = t->code;
    for (size_t i = 0; i < code->count; i++) {
        emu_op *op = &code->ops[i];
        if (is_relative_branch(op)) {
            int64_t word = branch_word(op);
            bool valid = word >= 0 && (size_t)word < t->words;
            op->target = valid ? code->index[word] : (uint32_t)bad_target;
        }
        if (op->row == UINT16_MAX) continue;
        uint8_t format = emu_isa_row(op->row)->format;
        bool vector = format >= EMU_FMT_VOP1 && format <= EMU_FMT_VOPD;
        for (int k = 0; vector && k < EMU_MAX_SRC; k++) {
            if (op->src[k].kind == EMU_SRC_CONST) op->src[k].row = code->constants[2 * op->src[k].value];
        }
    }
}

static bool translate_all(translator *t, const uint32_t *starts, size_t start_count)
{
    memset(t->code->index, 0xff, t->words * sizeof(uint32_t));
    for (size_t i = 0; i < start_count; i++) {
        size_t word = starts[i] / 4;
        if (starts[i] % 4 == 0 && word < t->words && t->code->index[word] == UINT32_MAX &&
            !translate_from(t, word)) {
            return false;
        }
    }
    if (!translate_targets(t)) return false;
    size_t bad_target = t->code->count;
    emu_op *op = append(t, 0);
    if (!op) return false;
    op->row = UINT16_MAX;
    op->fn = past_end;
    resolve(t, bad_target);
    return true;
}

emu_status emu_translate(emu_class cls, const uint32_t *text, size_t words, const uint32_t *starts,
                         size_t start_count, emu_code *code)
{
    memset(code, 0, sizeof(*code));
    translator t = {.cls = cls, .level = emu_level_get(), .text = text, .words = words, .code = code};
    code->words = words;
    code->index = malloc((words ? words : 1) * sizeof(uint32_t));
    bool ok = code->index && translate_all(&t, starts, start_count) && !t.failed;
    free(t.slots);
    if (ok) return EMU_OK;
    emu_code_free(code);
    return EMU_NO_MEMORY;
}

void emu_code_free(emu_code *code)
{
    free(code->ops);
    free(code->index);
    free(code->constants);
    memset(code, 0, sizeof(*code));
}
