/* Decoding of the memory encodings: SMEM, DS, FLAT/GLOBAL/SCRATCH (gfx11: 64 bits, gfx12: 96), cache control.
 */
#include "decode.h"

#include <string.h>

static bool set_row(emu_reader *reader, emu_inst *inst, emu_format format, unsigned opcode)
{
    inst->encoding = (uint8_t)format;
    inst->row = emu_isa_find(reader->cls, format, opcode);
    if (inst->row < 0) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->dst_count = row->dst_count;
    inst->src_count = row->src_count;
    return true;
}

static int32_t sign_extend(uint32_t value, unsigned bits)
{
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static emu_operand vgpr(emu_reader *reader, unsigned reg, emu_type type)
{
    emu_operand o = emu_vgpr(reg, type);
    if (reg + o.dwords > 256) reader->failed = true;
    return o;
}

/* ------------------------------------------------------------------ SMEM */

static bool decode_smem(emu_reader *reader, emu_inst *inst)
{
    if (reader->count < 2) return false;
    uint32_t w = reader->words[0], w1 = reader->words[1];
    bool gfx12 = reader->cls == EMU_GFX12;
    reader->used = 2;
    if (!set_row(reader, inst, EMU_FMT_SMEM, gfx12 ? w >> 13 & 0x3f : w >> 18 & 0xff)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    if (gfx12) {
        inst->cache = (uint8_t)((w >> 21 & 3) << 3 | (w >> 23 & 3)); /* scope, th */
        inst->offset = sign_extend(w1 & 0xffffff, 24);
    } else {
        inst->cache = (uint8_t)((w >> 14 & 1) | (w >> 13 & 1) << 2); /* glc, dlc */
        inst->offset = sign_extend(w1 & 0x1fffff, 21);
    }
    inst->simm16 = w >> 6 & 0x7f; /* prefetch length */
    if (row->dst_count) {
        inst->dst[0] = emu_sgpr(w >> 6 & 0x7f, row->dst[0]);
        if (inst->dst[0].reg + inst->dst[0].dwords > 128) return false;
    }
    inst->src[0] = emu_sgpr((w & 0x3f) << 1, EMU_T_B64); /* base */
    unsigned soffset = w1 >> 25 & 0x7f;
    inst->saddr = emu_sgpr(soffset, EMU_T_B32);
    if (soffset == EMU_S_NULL) inst->saddr.kind = EMU_O_OFF;
    return true;
}

/* ------------------------------------------------------------------ DS */

static bool is_two_address(const emu_row *row)
{
    return strstr(row->name, "2addr") != NULL;
}

static bool decode_ds(emu_reader *reader, emu_inst *inst)
{
    if (reader->count < 2) return false;
    uint32_t w = reader->words[0], w1 = reader->words[1];
    reader->used = 2;
    if (!set_row(reader, inst, EMU_FMT_DS, w >> 18 & 0xff)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->gds = w >> 17 & 1;
    if (inst->gds || (w >> 16 & 1)) return false; /* GDS: not on these machines' compute path */
    inst->offset = (int32_t)(w & 0xffff);
    inst->offset0 = (uint8_t)w;
    inst->offset1 = (uint8_t)(w >> 8);
    if (is_two_address(row)) inst->offset = 0;
    const unsigned fields[3] = {w1 & 0xff, w1 >> 8 & 0xff, w1 >> 16 & 0xff};
    for (unsigned i = 0; i < row->src_count; i++) {
        emu_type type = row->src[i] == EMU_T_ADDR ? EMU_T_B32 : row->src[i];
        inst->src[i] = vgpr(reader, fields[i], type);
    }
    if (row->dst_count) inst->dst[0] = vgpr(reader, w1 >> 24, row->dst[0]);
    inst->returns = row->dst_count != 0;
    return true;
}

/* ------------------------------------------------------------------ FLAT, GLOBAL, SCRATCH */

typedef struct flat_fields {
    unsigned opcode, segment, vaddr, vdata, vdst, saddr;
    int32_t offset;
    uint8_t cache;
    bool returns, vaddr_valid; /* vaddr_valid: SVE, scratch alone */
} flat_fields;

static flat_fields fields_gfx11(const uint32_t *words)
{
    uint32_t w = words[0], w1 = words[1];
    flat_fields f = {.opcode = w >> 18 & 0x7f, .segment = w >> 16 & 3};
    f.offset = sign_extend(w & 0x1fff, 13);
    f.cache = (uint8_t)((w >> 14 & 1) | (w >> 15 & 1) << 1 | (w >> 13 & 1) << 2);
    f.returns = w >> 14 & 1;
    f.vaddr = w1 & 0xff;
    f.vdata = w1 >> 8 & 0xff;
    f.saddr = w1 >> 16 & 0x7f;
    f.vaddr_valid = w1 >> 23 & 1;
    f.vdst = w1 >> 24;
    return f;
}

static flat_fields fields_gfx12(const uint32_t *words)
{
    uint32_t w = words[0], w1 = words[1], w2 = words[2];
    flat_fields f = {.opcode = w >> 14 & 0xff, .segment = w >> 24 & 3, .saddr = w & 0x7f};
    f.vdst = w1 & 0xff;
    f.vaddr_valid = w1 >> 17 & 1;
    f.cache = (uint8_t)((w1 >> 18 & 3) << 3 | (w1 >> 20 & 7));
    f.returns = w1 >> 20 & 1; /* TH bit 0 of an atomic */
    f.vdata = w1 >> 23 & 0xff;
    f.vaddr = w2 & 0xff;
    f.offset = sign_extend(w2 >> 8, 24);
    return f;
}

static void flat_address(emu_reader *reader, emu_inst *inst, const flat_fields *f)
{
    bool has_saddr = f->saddr != EMU_S_NULL;
    inst->saddr = emu_sgpr(f->saddr, inst->encoding == EMU_FMT_SCRATCH ? EMU_T_B32 : EMU_T_B64);
    if (!has_saddr || inst->encoding == EMU_FMT_FLAT) inst->saddr.kind = EMU_O_OFF;
    if (has_saddr && f->saddr + inst->saddr.dwords > 128) reader->failed = true;
    if (inst->encoding == EMU_FMT_SCRATCH) {
        inst->src[0] = vgpr(reader, f->vaddr, EMU_T_B32);
        if (!f->vaddr_valid) inst->src[0].kind = EMU_O_OFF;
    } else {
        /* GLOBAL with an SGPR base: the VGPR is a 32-bit offset. */
        bool offset32 = inst->encoding == EMU_FMT_GLOBAL && has_saddr;
        inst->src[0] = vgpr(reader, f->vaddr, offset32 ? EMU_T_B32 : EMU_T_B64);
    }
}

static bool decode_flat(emu_reader *reader, emu_inst *inst)
{
    static const uint8_t formats[3] = {EMU_FMT_FLAT, EMU_FMT_SCRATCH, EMU_FMT_GLOBAL};
    bool gfx12 = reader->cls == EMU_GFX12;
    unsigned size = gfx12 ? 3 : 2;
    if (reader->count < size) return false;
    reader->used = size;
    flat_fields f = gfx12 ? fields_gfx12(reader->words) : fields_gfx11(reader->words);
    if (f.segment == 3 || !set_row(reader, inst, formats[f.segment], f.opcode)) return false;
    const emu_row *row = emu_isa_row((size_t)inst->row);
    inst->offset = f.offset;
    inst->cache = f.cache;
    if (!row->src_count) { /* global_inv, global_wb: no operands */
        inst->dst_count = 0;
        return true;
    }
    flat_address(reader, inst, &f);
    inst->returns = row->dst_count != 0;
    if (row->count == EMU_COUNT_VMEM_ATOMIC) {
        inst->returns = f.returns;
        if (!f.returns) inst->dst_count = 0;
    }
    if (row->src_count > 1) inst->src[1] = vgpr(reader, f.vdata, row->src[1]);
    if (inst->dst_count) inst->dst[0] = vgpr(reader, f.vdst, row->dst[0]);
    return true;
}

/* ------------------------------------------------------------------ entry */

bool emu_decode_memory(emu_reader *reader, emu_inst *inst)
{
    uint32_t w = reader->words[0];
    switch (w >> 26) {
    case 0x36:
        return decode_ds(reader, inst);
    case 0x37:
        return reader->cls != EMU_GFX12 && decode_flat(reader, inst);
    case 0x3b:
        return reader->cls == EMU_GFX12 && decode_flat(reader, inst);
    case 0x3d:
        return decode_smem(reader, inst);
    case 0x38: /* gfx11 MUBUF: the cache invalidations alone */
        if (reader->cls == EMU_GFX12 || reader->count < 2) return false;
        reader->used = 2;
        return set_row(reader, inst, EMU_FMT_MUBUF, w >> 18 & 0xff);
    default:
        return false;
    }
}
