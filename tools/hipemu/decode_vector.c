/* Decoding of the vector ALU encodings: VOP1, VOP2, VOPC, VOP3, VOP3P, VOPD, with DPP and literals. */
#include "decode.h"

#include <string.h>

enum { SRC_DPP16 = 250, SRC_DPP8 = 233, SRC_DPP8_FI = 234 };

static bool is_float(emu_type type)
{
    return type == EMU_T_F16 || type == EMU_T_F32 || type == EMU_T_F64 || type == EMU_T_BF16;
}

static bool is_16(emu_type type)
{
    return type == EMU_T_F16 || type == EMU_T_B16 || type == EMU_T_BF16;
}

/* An EXEC-writing compare: its destination is EXEC and is not printed. */
static bool is_cmpx(const emu_row *row)
{
    return strncmp(row->name, "v_cmpx_", 7) == 0;
}

static bool set_row(emu_reader *reader, emu_inst *inst, emu_format table, unsigned opcode,
                    emu_format encoding)
{
    inst->encoding = (uint8_t)encoding;
    inst->row = emu_isa_find(reader->cls, table, opcode);
    if (inst->row < 0) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->dst_count = row->dst_count;
    inst->src_count = row->src_count;
    return true;
}

static emu_operand vector_dst(emu_reader *reader, unsigned reg, emu_type type)
{
    if (type == EMU_T_SGPR || type == EMU_T_MASK) {
        emu_operand o = emu_sgpr(reg, type);
        if (reg >= 128) reader->failed = true;
        return o;
    }
    emu_operand o = emu_vgpr(reg, type);
    if (reg + o.dwords > 256) reader->failed = true;
    return o;
}

/* The DPP word: replaces source 0's register. */
static emu_operand take_dpp(emu_reader *reader, emu_inst *inst, unsigned field, emu_type type, bool e32)
{
    if (reader->used >= reader->count || reader->has_literal) {
        reader->failed = true;
        return (emu_operand){0};
    }
    uint32_t w = reader->words[reader->used++];
    reader->has_literal = true; /* a literal cannot follow */
    emu_operand o = emu_source(reader, 256 + (w & 0xff), type, e32);
    if (field == SRC_DPP16) {
        inst->dpp = EMU_DPP_16;
        inst->dpp_control = w >> 8 & 0x1ff;
        inst->fetch_inactive = w >> 18 & 1;
        inst->bound_control = w >> 19 & 1;
        if (e32) {
            inst->src[0].neg = w >> 20 & 1; /* taken over by the caller */
            inst->src[0].abs = w >> 21 & 1;
            inst->src[1].neg = w >> 22 & 1;
            inst->src[1].abs = w >> 23 & 1;
        }
        inst->bank_mask = w >> 24 & 0xf;
        inst->row_mask = w >> 28 & 0xf;
    } else {
        inst->dpp = EMU_DPP_8;
        inst->dpp_control = w >> 8;
        inst->fetch_inactive = field == SRC_DPP8_FI;
        inst->bank_mask = inst->row_mask = 0xf;
    }
    if (o.dwords != 1) reader->failed = true;
    return o;
}

static void source0(emu_reader *reader, emu_inst *inst, unsigned field, emu_type type, bool e32)
{
    if (field == SRC_DPP16 || field == SRC_DPP8 || field == SRC_DPP8_FI) {
        emu_operand o = take_dpp(reader, inst, field, type, e32);
        o.neg = inst->src[0].neg;
        o.abs = inst->src[0].abs;
        inst->src[0] = o;
    } else {
        inst->src[0] = emu_source(reader, field, type, e32);
    }
}

/* fmaak: the literal is source 2; fmamk: source 1. */
static bool takes_literal(const emu_row *row, bool *is_amk)
{
    *is_amk = strstr(row->name, "fmamk") != NULL;
    return *is_amk || strstr(row->name, "fmaak") != NULL;
}

static void check_modifiers(emu_reader *reader, const emu_inst *inst)
{
    for (unsigned i = 0; i < inst->src_count; i++) {
        if ((inst->src[i].neg || inst->src[i].abs) && !is_float(inst->src[i].type)) reader->failed = true;
    }
}

/* ------------------------------------------------------------------ 32-bit encodings */

static bool decode_vop1(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!set_row(reader, inst, EMU_FMT_VOP1, w >> 9 & 0xff, EMU_FMT_VOP1)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    unsigned dst = w >> 17 & 0xff;
    if (row->src_count) source0(reader, inst, w & 0x1ff, row->src[0], true);
    if (row->dst_count) {
        bool hi = is_16(row->dst[0]) && dst >= 128;
        inst->dst[0] = vector_dst(reader, hi ? dst - 128 : dst, row->dst[0]);
        inst->dst[0].hi = hi;
    }
    check_modifiers(reader, inst);
    return true;
}

static void vop2_implied(emu_inst *inst, const emu_row *row)
{
    if (row->dst_count == 2) inst->dst[1] = emu_sgpr(EMU_S_VCC, EMU_T_MASK);
    if (row->src_count == 3 && row->src[2] == EMU_T_MASK) inst->src[2] = emu_sgpr(EMU_S_VCC, EMU_T_MASK);
}

static bool decode_vop2(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!set_row(reader, inst, EMU_FMT_VOP2, w >> 25 & 0x3f, EMU_FMT_VOP2)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    unsigned dst = w >> 17 & 0xff;
    bool hi = is_16(row->dst[0]) && dst >= 128, is_amk;
    emu_operand literal = {0};
    bool with_literal = takes_literal(row, &is_amk);
    if (with_literal) literal = emu_source(reader, EMU_S_LITERAL, row->src[is_amk ? 1 : 2], false);
    source0(reader, inst, w & 0x1ff, row->src[0], true);
    bool neg1 = inst->src[1].neg, abs1 = inst->src[1].abs;
    emu_operand vsrc1 = emu_source(reader, 256 + (w >> 9 & 0xff), row->src[is_amk ? 2 : 1], true);
    if (is_amk) {
        inst->src[1] = literal;
        inst->src[2] = vsrc1;
    } else {
        inst->src[1] = vsrc1;
        inst->src[1].neg = neg1;
        inst->src[1].abs = abs1;
        if (with_literal) inst->src[2] = literal;
    }
    inst->dst[0] = vector_dst(reader, hi ? dst - 128 : dst, row->dst[0]);
    inst->dst[0].hi = hi;
    vop2_implied(inst, row);
    check_modifiers(reader, inst);
    return true;
}

static bool decode_vopc(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!set_row(reader, inst, EMU_FMT_VOPC, w >> 17 & 0xff, EMU_FMT_VOPC)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    source0(reader, inst, w & 0x1ff, row->src[0], true);
    bool neg1 = inst->src[1].neg, abs1 = inst->src[1].abs;
    inst->src[1] = emu_source(reader, 256 + (w >> 9 & 0xff), row->src[1], true);
    inst->src[1].neg = neg1;
    inst->src[1].abs = abs1;
    inst->dst[0] = emu_sgpr(is_cmpx(row) ? EMU_S_EXEC : EMU_S_VCC, EMU_T_MASK);
    check_modifiers(reader, inst);
    return true;
}

/* ------------------------------------------------------------------ 64-bit encodings */

static bool vop3_row(emu_reader *reader, emu_inst *inst, unsigned opcode)
{
    if (opcode < 0x100) return set_row(reader, inst, EMU_FMT_VOPC, opcode, EMU_FMT_VOP3);
    if (opcode < 0x140) {
        if (!set_row(reader, inst, EMU_FMT_VOP2, opcode - 0x100, EMU_FMT_VOP3)) return false;
        bool is_amk;
        const char *name = emu_isa_row((size_t)inst->row)->name;
        return !takes_literal(emu_isa_row((size_t)inst->row), &is_amk) &&
               strncmp(name, "v_pk_fmac", 9) != 0 && strncmp(name, "v_dot2acc", 9) != 0;
    }
    if (opcode >= 0x180 && opcode < 0x200) {
        if (!set_row(reader, inst, EMU_FMT_VOP1, opcode - 0x180, EMU_FMT_VOP3)) return false;
        const char *name = emu_isa_row((size_t)inst->row)->name;
        return strcmp(name, "v_swap_b32") != 0 && strcmp(name, "v_permlane64_b32") != 0 &&
               strcmp(name, "v_readfirstlane_b32") != 0;
    }
    return set_row(reader, inst, EMU_FMT_VOP3, opcode, EMU_FMT_VOP3);
}

static bool decode_vop3(emu_reader *reader, emu_inst *inst)
{
    if (reader->count < 2) return false;
    uint32_t w = reader->words[0], w1 = reader->words[1];
    reader->used = 2;
    if (!vop3_row(reader, inst, w >> 16 & 0x3ff)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    bool has_sdst = row->dst_count == 2; /* VOP3SD: a scalar destination in place of abs and op_sel */
    inst->clamp = w >> 15 & 1;
    inst->omod = w1 >> 27 & 3;
    if (!has_sdst) inst->op_sel = w >> 11 & 0xf;
    const unsigned fields[3] = {w1 & 0x1ff, w1 >> 9 & 0x1ff, w1 >> 18 & 0x1ff};
    for (unsigned i = 0; i < row->src_count; i++) {
        if (i == 0) {
            source0(reader, inst, fields[0], row->src[0], false);
        } else {
            inst->src[i] = emu_source(reader, fields[i], row->src[i], false);
        }
        inst->src[i].neg = w1 >> (29 + i) & 1;
        if (!has_sdst) {
            inst->src[i].abs = w >> (8 + i) & 1;
            if (is_16(row->src[i])) inst->src[i].hi = inst->op_sel >> i & 1;
        }
        if (row->src[i] == EMU_T_MASK && inst->src[i].kind != EMU_O_SGPR) return false;
    }
    if (row->dst_count) {
        inst->dst[0] = vector_dst(reader, is_cmpx(row) ? EMU_S_EXEC : w & 0xff, row->dst[0]);
        if (is_16(row->dst[0])) inst->dst[0].hi = inst->op_sel >> 3;
    }
    if (has_sdst) inst->dst[1] = vector_dst(reader, w >> 8 & 0x7f, EMU_T_MASK);
    check_modifiers(reader, inst);
    return true;
}

static bool decode_vop3p(emu_reader *reader, emu_inst *inst)
{
    if (reader->count < 2) return false;
    uint32_t w = reader->words[0], w1 = reader->words[1];
    reader->used = 2;
    if (w >> 23 != 0x198 || !set_row(reader, inst, EMU_FMT_VOP3P, w >> 16 & 0x7f, EMU_FMT_VOP3P))
        return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->clamp = w >> 15 & 1;
    inst->op_sel = w >> 11 & 7;
    inst->op_sel_hi = (uint8_t)((w1 >> 27 & 3) | (w >> 14 & 1) << 2);
    inst->neg_hi = w >> 8 & 7;
    inst->neg_lo = w1 >> 29 & 7;
    const unsigned fields[3] = {w1 & 0x1ff, w1 >> 9 & 0x1ff, w1 >> 18 & 0x1ff};
    for (unsigned i = 0; i < row->src_count; i++) {
        if (i == 0) {
            source0(reader, inst, fields[0], row->src[0], false);
        } else {
            inst->src[i] = emu_source(reader, fields[i], row->src[i], false);
        }
        /* Matrix operands: A and B are registers, C a register or an integer constant or (f32) a float. */
        if (row->count == EMU_COUNT_WMMA && inst->src[i].kind != EMU_O_VGPR &&
            (i < 2 || inst->src[i].kind != EMU_O_INLINE ||
             (inst->src[i].reg >= 240 && strncmp(row->name, "v_wmma_f32", 10) != 0))) {
            return false;
        }
    }
    /* What a float constant means as an f16 source of a mixed instruction is not written down: not accepted. */
    if (strncmp(row->name, "v_fma_mix", 9) == 0) {
        for (unsigned i = 0; i < 3; i++) {
            bool number = inst->src[i].kind == EMU_O_LITERAL || inst->src[i].kind == EMU_O_INLINE;
            if ((inst->op_sel_hi >> i & 1) && number && inst->src[i].value != 0) return false;
        }
    }
    inst->dst[0] = vector_dst(reader, w & 0xff, row->dst[0]);
    return true;
}

/* ------------------------------------------------------------------ VOPD */

static bool decode_half(emu_reader *reader, emu_inst *inst, unsigned opcode, unsigned field0, unsigned reg1,
                        unsigned dst)
{
    if (!set_row(reader, inst, EMU_FMT_VOPD, opcode, EMU_FMT_VOPD)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    bool is_amk;
    bool with_literal = takes_literal(row, &is_amk);
    if (field0 == SRC_DPP16 || field0 == SRC_DPP8 || field0 == SRC_DPP8_FI) return false;
    inst->src[0] = emu_source(reader, field0, row->src[0], false);
    if (with_literal) inst->src[is_amk ? 1 : 2] = emu_source(reader, EMU_S_LITERAL, EMU_T_F32, false);
    if (row->src_count > 1) {
        unsigned index = is_amk ? 2 : 1;
        inst->src[index] = emu_vgpr(reg1, row->src[index]);
    }
    if (row->src_count == 3 && row->src[2] == EMU_T_MASK) inst->src[2] = emu_sgpr(EMU_S_VCC, EMU_T_MASK);
    inst->dst[0] = emu_vgpr(dst, row->dst[0]);
    return true;
}

static bool decode_vopd(emu_reader *reader, emu_inst *inst, emu_inst *second)
{
    if (reader->count < 2) return false;
    uint32_t w = reader->words[0], w1 = reader->words[1];
    reader->used = 2;
    unsigned opx = w >> 22 & 0xf, opy = w >> 17 & 0x1f;
    unsigned dst_x = w1 >> 24 & 0xff, dst_y = (w1 >> 17 & 0x7f) << 1 | (~dst_x & 1);
    if (opx > 15 || !decode_half(reader, inst, opx, w & 0x1ff, w >> 9 & 0xff, dst_x)) return false;
    return decode_half(reader, second, opy, w1 & 0x1ff, w1 >> 9 & 0xff, dst_y);
}

bool emu_decode_vector(emu_reader *reader, emu_inst *inst, emu_inst *second)
{
    uint32_t w = reader->words[0];
    if (!(w >> 31)) {
        if (w >> 25 == 0x3f) return decode_vop1(reader, inst);
        if (w >> 25 == 0x3e) return decode_vopc(reader, inst);
        return decode_vop2(reader, inst);
    }
    switch (w >> 26) {
    case 0x32:
        return decode_vopd(reader, inst, second);
    case 0x33:
        return decode_vop3p(reader, inst);
    default:
        return decode_vop3(reader, inst);
    }
}
