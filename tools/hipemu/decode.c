/* Decoding: which encoding a word belongs to, scalar encodings, operand fields.
 *
 * Sources: AMD's RDNA3, RDNA3.5 and RDNA4 instruction set references. */
#include "decode.h"

#include <string.h>

/* ------------------------------------------------------------------ operands */

static uint64_t inline_float(unsigned field, emu_type type)
{
    /* 240..248: +-0.5, +-1, +-2, +-4, 1/(2 pi). */
    static const uint16_t half[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
    static const uint16_t brain[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e23};
    static const uint32_t single[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                      0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    static const uint64_t twice[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                     0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                     0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};
    switch (type) {
    case EMU_T_F16:
    case EMU_T_B16:
    case EMU_T_PK16:
        return half[field - 240];
    case EMU_T_BF16:
        return brain[field - 240];
    case EMU_T_B64:
    case EMU_T_I64:
    case EMU_T_F64:
        return twice[field - 240];
    default:
        return single[field - 240];
    }
}

static uint64_t extend_literal(uint32_t literal, emu_type type)
{
    switch (type) {
    case EMU_T_F64:
        return (uint64_t)literal << 32;
    case EMU_T_I64:
        return (uint64_t)(int64_t)(int32_t)literal;
    default:
        return literal;
    }
}

static uint32_t take_literal(emu_reader *reader)
{
    if (!reader->has_literal) {
        if (reader->used >= reader->count) {
            reader->failed = true;
            return 0;
        }
        reader->literal = reader->words[reader->used++];
        reader->has_literal = true;
    }
    return reader->literal;
}

emu_operand emu_vgpr(unsigned reg, emu_type type)
{
    emu_operand o = {.kind = EMU_O_VGPR, .type = (uint8_t)type, .reg = (uint16_t)reg};
    o.dwords = (uint8_t)emu_type_dwords(type);
    return o;
}

emu_operand emu_sgpr(unsigned reg, emu_type type)
{
    emu_operand o = {.kind = EMU_O_SGPR, .type = (uint8_t)type, .reg = (uint16_t)reg};
    o.dwords = (uint8_t)emu_type_dwords(type);
    return o;
}

emu_operand emu_source(emu_reader *reader, unsigned field, emu_type type, bool true16)
{
    emu_operand o = {.type = (uint8_t)type, .dwords = (uint8_t)emu_type_dwords(type), .reg = (uint16_t)field};
    if (field >= 256) {
        o.kind = EMU_O_VGPR;
        o.reg = (uint16_t)(field - 256);
        if (true16 && (type == EMU_T_B16 || type == EMU_T_F16 || type == EMU_T_BF16)) {
            o.hi = o.reg >> 7;
            o.reg &= 0x7f;
        }
        if (o.reg + o.dwords > 256) reader->failed = true;
    } else if (field < 128) {
        o.kind = EMU_O_SGPR;
        if (o.reg + o.dwords > 128 && o.reg != EMU_S_NULL) reader->failed = true;
    } else if (field <= 208) {
        o.kind = EMU_O_INLINE;
        o.value = (uint64_t)(int64_t)(field <= 192 ? (int)field - 128 : 192 - (int)field);
        if (o.dwords < 2) o.value &= 0xffffffff;
        /* A 16-bit operand sees the low half only; a packed one, all 32 bits. */
        if (type == EMU_T_B16 || type == EMU_T_F16 || type == EMU_T_BF16) o.value &= 0xffff;
    } else if (field >= 240 && field <= 248) {
        o.kind = EMU_O_INLINE;
        o.value = inline_float(field, type);
    } else if ((field >= EMU_S_SHARED_BASE && field <= EMU_S_PRIVATE_LIMIT) || field == EMU_S_SCC) {
        o.kind = EMU_O_SPECIAL;
    } else if (field == EMU_S_LITERAL) {
        o.kind = EMU_O_LITERAL;
        o.literal = take_literal(reader);
        o.value = extend_literal(o.literal, type);
    } else {
        reader->failed = true;
    }
    return o;
}

/* ------------------------------------------------------------------ scalar encodings */

static emu_operand scalar_dst(emu_reader *reader, unsigned field, emu_type type)
{
    emu_operand o = emu_sgpr(field, type);
    if (field >= 128 || (field + o.dwords > 128 && field != EMU_S_NULL)) reader->failed = true;
    return o;
}

static bool find_row(emu_reader *reader, emu_inst *inst, emu_format format, unsigned opcode)
{
    inst->encoding = (uint8_t)format;
    inst->row = emu_isa_find(reader->cls, format, opcode);
    if (inst->row < 0) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->dst_count = row->dst_count;
    inst->src_count = row->src_count;
    return true;
}

static bool decode_sop1(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!find_row(reader, inst, EMU_FMT_SOP1, w >> 8 & 0xff)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    if (row->dst_count) inst->dst[0] = scalar_dst(reader, w >> 16 & 0x7f, row->dst[0]);
    if (strncmp(row->name, "s_movrels", 9) == 0 && (w & 0xff) >= 128) reader->failed = true; /* SGPRs alone */
    inst->simm16 = (uint16_t)(w & 0xff); /* the message of s_sendmsg_rtn */
    if (strncmp(row->name, "s_sendmsg_rtn", 13) == 0) {
        inst->src_count = 0;
    } else if (row->src_count) {
        inst->src[0] = emu_source(reader, w & 0xff, row->src[0], false);
    }
    return !reader->failed;
}

static bool decode_sop2(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!find_row(reader, inst, EMU_FMT_SOP2, w >> 23 & 0x7f)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->dst[0] = scalar_dst(reader, w >> 16 & 0x7f, row->dst[0]);
    inst->src[0] = emu_source(reader, w & 0xff, row->src[0], false);
    inst->src[1] = emu_source(reader, w >> 8 & 0xff, row->src[1], false);
    if (row->src_count == 3) { /* s_fmaak, s_fmamk: the literal is operand 2 or 1 */
        inst->src[2] = emu_source(reader, EMU_S_LITERAL, EMU_T_F32, false);
        if (strcmp(row->name, "s_fmamk_f32") == 0) {
            emu_operand literal = inst->src[2];
            inst->src[2] = inst->src[1];
            inst->src[1] = literal;
        }
    }
    return !reader->failed;
}

static bool decode_sopc(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!find_row(reader, inst, EMU_FMT_SOPC, w >> 16 & 0x7f)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->src[0] = emu_source(reader, w & 0xff, row->src[0], false);
    inst->src[1] = emu_source(reader, w >> 8 & 0xff, row->src[1], false);
    return !reader->failed;
}

static bool decode_sopk(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    if (!find_row(reader, inst, EMU_FMT_SOPK, w >> 23 & 0x1f)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->simm16 = (uint16_t)w;
    if (row->dst_count) inst->dst[0] = scalar_dst(reader, w >> 16 & 0x7f, row->dst[0]);
    if (row->src_count) inst->src[0] = emu_source(reader, w >> 16 & 0x7f, row->src[0], false);
    if (strcmp(row->name, "s_setreg_imm32_b32") == 0) {
        inst->src[0] = emu_source(reader, EMU_S_LITERAL, EMU_T_B32, false);
        inst->src_count = 1;
    }
    return !reader->failed;
}

static bool decode_sopp(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    inst->simm16 = (uint16_t)w;
    return find_row(reader, inst, EMU_FMT_SOPP, w >> 16 & 0x7f);
}

static bool decode_scalar(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    switch (w >> 23 & 0x7f) { /* bits 31:30 are 10 */
    case 0x7d:
        return decode_sop1(reader, inst);
    case 0x7e:
        return decode_sopc(reader, inst);
    case 0x7f:
        return decode_sopp(reader, inst);
    default:
        break;
    }
    return (w >> 28 & 7) == 3 ? decode_sopk(reader, inst) : decode_sop2(reader, inst);
}

/* ------------------------------------------------------------------ entry */

static bool decode_any(emu_reader *reader, emu_inst *inst, emu_inst *second)
{
    uint32_t w = reader->words[0];
    if (!(w >> 31)) return emu_decode_vector(reader, inst, second);
    if (w >> 30 == 2) return decode_scalar(reader, inst);
    switch (w >> 26) {
    case 0x32: /* VOPD */
    case 0x33: /* VOP3P */
    case 0x35: /* VOP3 */
        return emu_decode_vector(reader, inst, second);
    default:
        return emu_decode_memory(reader, inst);
    }
}

unsigned emu_decode(emu_class cls, const uint32_t *words, size_t count, emu_inst *inst, emu_inst *second)
{
    emu_reader reader = {.cls = cls, .words = words, .count = count, .used = 1};
    memset(inst, 0, sizeof(*inst));
    memset(second, 0, sizeof(*second));
    second->row = -1;
    if (!decode_any(&reader, inst, second) || reader.failed) {
        memset(inst, 0, sizeof(*inst));
        inst->row = -1;
        second->row = -1;
        reader.used = 1;
    }
    for (unsigned i = 0; i < reader.used && i < 4; i++) inst->words[i] = words[i];
    inst->bytes = (uint8_t)(reader.used * 4);
    return reader.used;
}
