/* Text of decoded instructions, in LLVM's syntax so that a test can compare it word for word. */
#include "decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct printer {
    char *text;
    size_t size, used;
    emu_class cls;
    bool first;          /* no operand printed yet */
    bool short_literals; /* 16-bit operands show the 16 bits they see */
    bool hex_floats;     /* float constants of 16-bit operands as their bits */
    bool halves;         /* registers of 16-bit operands show which half */
} printer;

static void put(printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(printer *p, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (p->used < p->size) {
        int n = vsnprintf(p->text + p->used, p->size - p->used, format, list);
        if (n > 0) p->used += (size_t)n;
    }
    va_end(list);
}

/* ------------------------------------------------------------------ operands */

static void separator(printer *p)
{
    put(p, p->first ? " " : ", ");
    p->first = false;
}

static void put_register_range(printer *p, const char *prefix, unsigned reg, unsigned dwords)
{
    if (dwords > 1) {
        put(p, "%s[%u:%u]", prefix, reg, reg + dwords - 1);
    } else {
        put(p, "%s%u", prefix, reg);
    }
}

static void put_scalar(printer *p, unsigned reg, unsigned dwords)
{
    if (reg < EMU_S_VCC) {
        put_register_range(p, "s", reg, dwords);
    } else if (reg < EMU_S_TTMP0) {
        put(p, dwords == 2 ? "vcc" : reg == EMU_S_VCC ? "vcc_lo" : "vcc_hi");
    } else if (reg < EMU_S_NULL) {
        put_register_range(p, "ttmp", reg - EMU_S_TTMP0, dwords);
    } else if (reg == EMU_S_NULL) {
        put(p, "null");
    } else if (reg == EMU_S_M0) {
        put(p, "m0");
    } else {
        put(p, dwords == 2 ? "exec" : reg == EMU_S_EXEC ? "exec_lo" : "exec_hi");
    }
}

static bool is_16_bit(const emu_operand *o)
{
    return o->type == EMU_T_B16 || o->type == EMU_T_F16 || o->type == EMU_T_BF16;
}

static void put_inline(printer *p, const emu_operand *o)
{
    static const char *const floats[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                         "-2.0", "4.0",  "-4.0", "0.15915494"};
    bool wide = o->type == EMU_T_F64 || o->type == EMU_T_B64 || o->type == EMU_T_I64;
    if (o->reg >= 240 && is_16_bit(o) && p->hex_floats) {
        put(p, "0x%x", (unsigned)o->value);
    } else if (o->reg == 248 && wide) {
        put(p, "0.15915494309189532");
    } else if (o->reg == 248 && (o->type == EMU_T_F16 || o->type == EMU_T_PK16)) {
        put(p, "0.15915494");
    } else if (o->reg >= 240) {
        put(p, "%s", floats[o->reg - 240]);
    } else {
        put(p, "%d", o->reg <= 192 ? o->reg - 128 : 192 - (int)o->reg);
    }
}

/* LLVM prints a literal that could have been an inline constant as one. */
static void put_literal(printer *p, uint32_t literal)
{
    static const struct {
        uint32_t bits;
        const char *text;
    } floats[] = {{0x3f000000, "0.5"}, {0xbf000000, "-0.5"}, {0x3f800000, "1.0"}, {0xbf800000, "-1.0"},
                  {0x40000000, "2.0"}, {0xc0000000, "-2.0"}, {0x40800000, "4.0"}, {0xc0800000, "-4.0"}};
    int32_t number = (int32_t)literal;
    if (number >= -16 && number <= 64) {
        put(p, "%d", number);
        return;
    }
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++) {
        if (floats[i].bits == literal) {
            put(p, "%s", floats[i].text);
            return;
        }
    }
    put(p, "0x%x", literal);
}

/* The 16 bits of a literal that a vector instruction sees. */
static void put_literal16(printer *p, const emu_operand *o)
{
    static const struct {
        uint16_t bits;
        const char *text;
    } floats[] = {{0x3800, "0.5"}, {0xb800, "-0.5"}, {0x3c00, "1.0"}, {0xbc00, "-1.0"},
                  {0x4000, "2.0"}, {0xc000, "-2.0"}, {0x4400, "4.0"}, {0xc400, "-4.0"}};
    int16_t number = (int16_t)o->literal;
    if (o->type == EMU_T_F16 && !p->hex_floats && number >= -16 && number <= 64) {
        put(p, "%d", number);
        return;
    }
    for (size_t i = 0; o->type == EMU_T_F16 && !p->hex_floats && i < sizeof(floats) / sizeof(floats[0]);
         i++) {
        if (floats[i].bits == (uint16_t)number) {
            put(p, "%s", floats[i].text);
            return;
        }
    }
    put(p, "0x%x", (unsigned)(uint16_t)number);
}

static void put_special(printer *p, unsigned reg)
{
    switch (reg) {
    case EMU_S_SHARED_BASE:
        put(p, "src_shared_base");
        break;
    case EMU_S_SHARED_LIMIT:
        put(p, "src_shared_limit");
        break;
    case EMU_S_PRIVATE_BASE:
        put(p, "src_private_base");
        break;
    case EMU_S_PRIVATE_LIMIT:
        put(p, "src_private_limit");
        break;
    default:
        put(p, "src_scc");
        break;
    }
}

static void put_bare(printer *p, const emu_operand *o)
{
    switch (o->kind) {
    case EMU_O_VGPR:
        put_register_range(p, "v", o->reg, o->dwords);
        if (p->halves && is_16_bit(o)) put(p, o->hi ? ".h" : ".l");
        break;
    case EMU_O_SGPR:
        put_scalar(p, o->reg, o->dwords);
        break;
    case EMU_O_SPECIAL:
        put_special(p, o->reg);
        break;
    case EMU_O_INLINE:
        put_inline(p, o);
        break;
    case EMU_O_LITERAL:
        if (is_16_bit(o) && o->type != EMU_T_BF16 && p->short_literals) {
            put_literal16(p, o);
        } else {
            put_literal(p, o->literal);
        }
        break;
    default:
        put(p, "off");
        break;
    }
}

static void put_operand(printer *p, const emu_operand *o)
{
    separator(p);
    /* LLVM writes neg of a constant as neg(...), of a register as a minus sign. */
    bool constant = o->kind == EMU_O_INLINE || o->kind == EMU_O_LITERAL;
    if (o->neg) put(p, constant && !o->abs ? "neg(" : "-");
    if (o->abs) put(p, "|");
    put_bare(p, o);
    if (o->abs) put(p, "|");
    if (o->neg && constant && !o->abs) put(p, ")");
}

static void put_bits(printer *p, const char *name, unsigned bits, unsigned count)
{
    put(p, " %s:[", name);
    for (unsigned i = 0; i < count; i++) put(p, i ? ",%u" : "%u", bits >> i & 1);
    put(p, "]");
}

/* ------------------------------------------------------------------ vector */

static void put_dpp(printer *p, const emu_inst *inst)
{
    unsigned c = inst->dpp_control;
    if (inst->dpp == EMU_DPP_8) {
        put(p, " dpp8:[");
        for (unsigned i = 0; i < 8; i++) put(p, i ? ",%u" : "%u", c >> (3 * i) & 7);
        put(p, "]");
        if (inst->fetch_inactive) put(p, " fi:1");
        return;
    }
    if (c < 0x100) {
        put(p, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6 & 3);
    } else if (c > 0x100 && c < 0x110) {
        put(p, " row_shl:%u", c & 15);
    } else if (c > 0x110 && c < 0x120) {
        put(p, " row_shr:%u", c & 15);
    } else if (c > 0x120 && c < 0x130) {
        put(p, " row_ror:%u", c & 15);
    } else if (c == 0x140) {
        put(p, " row_mirror");
    } else if (c == 0x141) {
        put(p, " row_half_mirror");
    } else if (c >= 0x150 && c < 0x160) {
        put(p, " row_share:%u", c & 15);
    } else if (c >= 0x160 && c < 0x170) {
        put(p, " row_xmask:%u", c & 15);
    } else {
        put(p, " /* dpp_ctrl 0x%x */", c);
    }
    put(p, " row_mask:0x%x bank_mask:0x%x", inst->row_mask, inst->bank_mask);
    if (inst->bound_control) put(p, " bound_ctrl:1");
    if (inst->fetch_inactive) put(p, " fi:1");
}

static void put_vector_name(printer *p, const emu_inst *inst, const emu_row *row)
{
    /* Names that never take a suffix: one encoding only. */
    static const char *const plain[] = {"v_fmamk",         "v_fmaak",   "v_swap",   "v_permlane64",
                                        "v_readfirstlane", "v_dot2acc", "v_pk_fmac"};
    bool e32 =
        inst->encoding == EMU_FMT_VOP1 || inst->encoding == EMU_FMT_VOP2 || inst->encoding == EMU_FMT_VOPC;
    bool no_suffix = row->format == EMU_FMT_VOP3 || row->format == EMU_FMT_VOP3P;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strncmp(row->name, plain[i], strlen(plain[i])) == 0) no_suffix = true;
    }
    put(p, "%s", row->name);
    if (inst->dpp != EMU_DPP_NONE) {
        /* LLVM leaves the suffix off compares with DPP. */
        if (row->format == EMU_FMT_VOPC && e32) return;
        if (inst->encoding == EMU_FMT_VOP3P) {
            put(p, "_dpp");
        } else {
            put(p, inst->encoding == EMU_FMT_VOP3 ? "_e64_dpp" : "_dpp");
        }
    } else if (!no_suffix) {
        put(p, e32 ? "_e32" : "_e64");
    }
}

/* op_sel as LLVM prints it for VOP3: source bits, then the destination's; nothing when all are zero. */
static void put_op_sel(printer *p, const emu_inst *inst, const emu_row *row)
{
    if (!inst->op_sel) return;
    if (strstr(row->name, "f32_fp8") || strstr(row->name, "f32_bf8")) {
        if (strncmp(row->name, "v_cvt_f32", 9) == 0) {
            put(p, " byte_sel:%u", (inst->op_sel & 1) << 1 | (inst->op_sel >> 1 & 1));
            return;
        }
        put(p, " op_sel:[%u,0]", inst->op_sel & 1);
        return;
    }
    if (strstr(row->name, "v_cvt_sr_")) {
        put(p, " byte_sel:%u", inst->op_sel >> 2);
        return;
    }
    if (strstr(row->name, "v_permlane")) {
        put_bits(p, "op_sel", inst->op_sel, 2);
        return;
    }
    unsigned bits = inst->op_sel & ((1u << inst->src_count) - 1);
    put_bits(p, "op_sel", bits | (unsigned)(inst->op_sel >> 3) << inst->src_count, inst->src_count + 1u);
}

static void put_packed_modifiers(printer *p, const emu_inst *inst, const emu_row *row)
{
    unsigned n = inst->src_count, all = (1u << n) - 1;
    bool mix = strncmp(row->name, "v_fma_mix", 9) == 0;
    bool wmma = row->count == EMU_COUNT_WMMA;
    bool no_hi = wmma || strncmp(row->name, "v_dot4_f32", 10) == 0;
    if (inst->op_sel & all) put_bits(p, "op_sel", inst->op_sel, n);
    if (no_hi) {
        /* Matrix instructions have no op_sel_hi to show. */
    } else if (mix ? (inst->op_sel_hi & all) != 0 : (inst->op_sel_hi & all) != all) {
        put_bits(p, "op_sel_hi", inst->op_sel_hi, n);
    }
    if (!mix && (inst->neg_lo & all)) put_bits(p, "neg_lo", inst->neg_lo, n);
    if (!mix && (inst->neg_hi & all)) put_bits(p, "neg_hi", inst->neg_hi, n);
}

static void put_vector(printer *p, const emu_inst *inst, const emu_row *row)
{
    bool mix = strncmp(row->name, "v_fma_mix", 9) == 0;
    /* The constant of fmaak and fmamk is shown whole. */
    bool with_constant = strstr(row->name, "fmaak") || strstr(row->name, "fmamk");
    put_vector_name(p, inst, row);
    p->halves = strcmp(row->name, "v_mov_b16") == 0;
    bool b16 = strcmp(row->name, "v_cndmask_b16") == 0, ldexp16 = strcmp(row->name, "v_ldexp_f16") == 0;
    bool cmpx = strncmp(row->name, "v_cmpx_", 7) == 0;
    for (unsigned i = 0; i < inst->dst_count && !cmpx; i++) put_operand(p, &inst->dst[i]);
    for (unsigned i = 0; i < inst->src_count; i++) {
        emu_operand o = inst->src[i];
        if (mix) { /* neg_lo and neg_hi are neg and abs here */
            o.neg = inst->neg_lo >> i & 1;
            o.abs = inst->neg_hi >> i & 1;
        }
        p->short_literals = !with_constant || i == 0;
        p->hex_floats = b16 || (o.type == EMU_T_B16 && !ldexp16);
        if (b16 && o.kind == EMU_O_LITERAL) o.type = EMU_T_B16;
        put_operand(p, &o);
    }
    if (inst->encoding == EMU_FMT_VOP3) put_op_sel(p, inst, row);
    if (inst->encoding == EMU_FMT_VOP3P) put_packed_modifiers(p, inst, row);
    if (inst->clamp) put(p, " clamp");
    if (inst->omod) put(p, " %s", inst->omod == 1 ? "mul:2" : inst->omod == 2 ? "mul:4" : "div:2");
    if (inst->dpp != EMU_DPP_NONE) put_dpp(p, inst);
}

static void put_half(printer *p, const emu_inst *inst)
{
    const emu_row *row = emu_isa_row((size_t)inst->row);
    p->first = true;
    put(p, "%s", row->name);
    put_operand(p, &inst->dst[0]);
    for (unsigned i = 0; i < inst->src_count; i++) {
        if (inst->src[i].type != EMU_T_MASK) put_operand(p, &inst->src[i]);
    }
}

/* ------------------------------------------------------------------ scalar */

static void put_waitcnt(printer *p, unsigned value)
{
    unsigned vm = value >> 10 & 63, exp = value & 7, lgkm = value >> 4 & 63;
    bool all = value == 0;
    const char *gap = " ";
    if (vm != 63 || all) put(p, "%svmcnt(%u)", gap, vm);
    if (exp != 7 || all) put(p, "%sexpcnt(%u)", gap, exp);
    if (lgkm != 63 || all) put(p, "%slgkmcnt(%u)", gap, lgkm);
    if (vm == 63 && exp == 7 && lgkm == 63) put(p, " vmcnt(63) expcnt(7) lgkmcnt(63)");
}

static void put_delay(printer *p, unsigned value)
{
    static const char *const ids[] = {"NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",
                                      "VALU_DEP_3",    "VALU_DEP_4",    "TRANS32_DEP_1",
                                      "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1",
                                      "SALU_CYCLE_1",  "SALU_CYCLE_2",  "SALU_CYCLE_3"};
    static const char *const skips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
    unsigned id0 = value & 15, skip = value >> 4 & 7, id1 = value >> 7 & 15;
    if (id0 > 11 || skip > 5 || id1 > 11) {
        put(p, " 0x%x", value);
        return;
    }
    const char *gap = " ";
    if (id0) {
        put(p, "%sinstid0(%s)", gap, ids[id0]);
        gap = " | ";
    }
    if (skip) {
        put(p, "%sinstskip(%s)", gap, skips[skip]);
        gap = " | ";
    }
    if (id1) put(p, "%sinstid1(%s)", gap, ids[id1]);
    if (!id0 && !skip && !id1) put(p, " 0");
}

/* s_waitcnt_depctr, s_wait_alu: fields that differ from their defaults. */
static void put_depctr(printer *p, unsigned value)
{
    static const struct {
        const char *name;
        uint8_t shift, width;
    } fields[] = {{"hold_cnt", 7, 1}, {"sa_sdst", 0, 1}, {"va_vdst", 12, 4}, {"va_sdst", 9, 3},
                  {"va_ssrc", 8, 1},  {"va_vcc", 1, 1},  {"vm_vsrc", 2, 3}};
    enum { COUNT = sizeof(fields) / sizeof(fields[0]), UNUSED = 0x60 };
    unsigned defaults = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned mask = (1u << fields[i].width) - 1;
        if ((value >> fields[i].shift & mask) == mask) defaults++;
    }
    if (value & UNUSED) {
        put(p, " 0x%x", value);
        return;
    }
    bool any = false;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned mask = (1u << fields[i].width) - 1, field = value >> fields[i].shift & mask;
        if (defaults == COUNT || field != mask) {
            put(p, " depctr_%s(%u)", fields[i].name, field);
            any = true;
        }
    }
    if (!any) put(p, " 0x%x", value);
}

static const char *hwreg_name(unsigned id, emu_class cls)
{
    switch (id) {
    case 1:
        return "HW_REG_MODE";
    case 2:
        return "HW_REG_STATUS";
    case 3:
        return cls == EMU_GFX12 ? NULL : "HW_REG_TRAPSTS";
    case 4:
        return cls == EMU_GFX12 ? "HW_REG_STATE_PRIV" : NULL;
    case 5:
        return "HW_REG_GPR_ALLOC";
    case 6:
        return "HW_REG_LDS_ALLOC";
    case 7:
        return "HW_REG_IB_STS";
    case 15:
        return cls == EMU_GFX12 ? NULL : "HW_REG_SH_MEM_BASES";
    case 20:
        return cls == EMU_GFX12 ? NULL : "HW_REG_FLAT_SCR_LO";
    case 21:
        return cls == EMU_GFX12 ? NULL : "HW_REG_FLAT_SCR_HI";
    case 23:
        return "HW_REG_HW_ID1";
    case 24:
        return "HW_REG_HW_ID2";
    case 29:
        return cls == EMU_GFX12 ? NULL : "HW_REG_SHADER_CYCLES";
    default:
        return NULL;
    }
}

static void put_hwreg(printer *p, unsigned value)
{
    unsigned id = value & 63, offset = value >> 6 & 31, width = (value >> 11 & 31) + 1;
    const char *name = hwreg_name(id, p->cls);
    separator(p);
    if (name) {
        put(p, "hwreg(%s", name);
    } else {
        put(p, "hwreg(%u", id);
    }
    if (offset || width != 32) put(p, ", %u, %u", offset, width);
    put(p, ")");
}

static void put_sendmsg(printer *p, unsigned value)
{
    switch (value) {
    case 3:
        put(p, " sendmsg(MSG_DEALLOC_VGPRS)");
        break;
    case 1:
        put(p, " sendmsg(MSG_INTERRUPT)");
        break;
    case 128:
        put(p, " sendmsg(MSG_RTN_GET_DOORBELL)");
        break;
    case 129:
        put(p, " sendmsg(MSG_RTN_GET_DDID)");
        break;
    case 130:
        put(p, " sendmsg(MSG_RTN_GET_TMA)");
        break;
    case 131:
        put(p, " sendmsg(MSG_RTN_GET_REALTIME)");
        break;
    case 132:
        put(p, " sendmsg(MSG_RTN_SAVE_WAVE)");
        break;
    case 133:
        put(p, " sendmsg(MSG_RTN_GET_TBA)");
        break;
    default:
        put(p, " sendmsg(%u, 0, 0)", value);
        break;
    }
}

static void put_sopp(printer *p, const emu_inst *inst, const emu_row *row)
{
    const char *name = row->name;
    unsigned value = inst->simm16;
    put(p, "%s", name);
    if (!strcmp(name, "s_endpgm") || !strcmp(name, "s_code_end") || !strcmp(name, "s_barrier") ||
        !strcmp(name, "s_wakeup") || !strcmp(name, "s_icache_inv") || !strcmp(name, "s_wait_idle")) {
        if (!strcmp(name, "s_endpgm") && value) put(p, " %u", value);
    } else if (row->count == EMU_COUNT_BRANCH) {
        put(p, " %u", value);
    } else if (!strcmp(name, "s_waitcnt")) {
        put_waitcnt(p, value);
    } else if (!strcmp(name, "s_delay_alu")) {
        put_delay(p, value);
    } else if (!strcmp(name, "s_waitcnt_depctr") || !strcmp(name, "s_wait_alu")) {
        put_depctr(p, value);
    } else if (!strcmp(name, "s_sendmsg")) {
        put_sendmsg(p, value);
    } else if (!strcmp(name, "s_barrier_wait")) {
        put(p, value & 0x8000 ? " 0x%x" : " %u", value);
    } else if (!strcmp(name, "s_nop") || !strcmp(name, "s_sethalt") || !strcmp(name, "s_sleep") ||
               !strcmp(name, "s_trap") || !strcmp(name, "s_setprio") || !strcmp(name, "s_denorm_mode")) {
        put(p, value < 10 ? " %u" : " 0x%x", value);
    } else {
        put(p, " 0x%x", value);
    }
}

static void put_scalar_inst(printer *p, const emu_inst *inst, const emu_row *row)
{
    if (inst->encoding == EMU_FMT_SOPP) {
        put_sopp(p, inst, row);
        return;
    }
    put(p, "%s", row->name);
    bool set_hwreg = strncmp(row->name, "s_setreg", 8) == 0;
    p->short_literals = inst->encoding != EMU_FMT_SOP1;
    p->hex_floats = strncmp(row->name, "s_cmp_", 6) == 0;
    for (unsigned i = 0; i < inst->dst_count; i++) put_operand(p, &inst->dst[i]);
    if (set_hwreg) put_hwreg(p, inst->simm16);
    for (unsigned i = 0; i < inst->src_count; i++) put_operand(p, &inst->src[i]);
    if (inst->encoding == EMU_FMT_SOPK) {
        if (!strcmp(row->name, "s_getreg_b32")) {
            put_hwreg(p, inst->simm16);
        } else if (!strcmp(row->name, "s_call_b64")) {
            separator(p);
            put(p, "%u", inst->simm16);
        } else if (!set_hwreg) {
            separator(p);
            put(p, "0x%x", inst->simm16);
        }
    } else if (!strncmp(row->name, "s_sendmsg_rtn", 13)) {
        put(p, ",");
        put_sendmsg(p, inst->simm16);
    }
}

/* ------------------------------------------------------------------ memory */

static void put_cache(printer *p, const emu_inst *inst, const emu_row *row)
{
    static const char *const loads[] = {"RT", "NT", "HT", "BYPASS", "NT_RT", "RT_NT", "NT_HT", "RESERVED"};
    static const char *const stores[] = {"RT", "NT", "HT", "BYPASS", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
    static const char *const atomics[] = {"",           "RETURN", "NT",         "NT_RETURN",
                                          "CASCADE_RT", "",       "CASCADE_NT", ""};
    static const char *const scopes[] = {"CU", "SE", "DEV", "SYS"};
    unsigned th = inst->cache & 7, scope = inst->cache >> 3;
    if (p->cls != EMU_GFX12) {
        if (inst->cache & 1) put(p, " glc");
        if (inst->cache & 2) put(p, " slc");
        if (inst->cache & 4) put(p, " dlc");
        return;
    }
    if (th) {
        bool store = strstr(row->name, "_store_") != NULL;
        if (row->count == EMU_COUNT_VMEM_ATOMIC) {
            put(p, " th:TH_ATOMIC_%s", atomics[th]);
        } else if (th == 3) {
            put(p, " th:TH_%s_%s", store ? "STORE" : "LOAD", scope == 3 ? "BYPASS" : store ? "RT_WB" : "LU");
        } else {
            put(p, store ? " th:TH_STORE_%s" : " th:TH_LOAD_%s", store ? stores[th] : loads[th]);
        }
    }
    if (scope) put(p, " scope:SCOPE_%s", scopes[scope]);
}

static void put_smem(printer *p, const emu_inst *inst, const emu_row *row)
{
    bool offset_first = inst->saddr.kind == EMU_O_OFF;
    put(p, "%s", row->name);
    if (!strcmp(row->name, "s_dcache_inv") || !strcmp(row->name, "s_gl1_inv")) return;
    if (row->dst_count) put_operand(p, &inst->dst[0]);
    if (!strstr(row->name, "pc_rel")) put_operand(p, &inst->src[0]);
    separator(p);
    if (strstr(row->name, "prefetch")) {
        put(p, "%s0x%x, ", inst->offset < 0 ? "-" : "",
            (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset));
        put_scalar(p, inst->saddr.reg, 1);
        put(p, ", %u", inst->simm16);
        return;
    }
    unsigned magnitude = (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset);
    const char *sign = inst->offset < 0 ? "-" : "";
    if (offset_first && (magnitude || p->cls == EMU_GFX12)) {
        put(p, "%s0x%x", sign, magnitude);
    } else if (offset_first) {
        put(p, "null");
    } else {
        put_bare(p, &inst->saddr);
        if (magnitude || p->cls == EMU_GFX12) put(p, " offset:%s0x%x", sign, magnitude);
    }
    put_cache(p, inst, row);
}

static void put_swizzle(printer *p, unsigned offset)
{
    if (!offset) return;
    if ((offset & 0xff00) == 0x8000) {
        put(p, " offset:swizzle(QUAD_PERM,%u,%u,%u,%u)", offset & 3, offset >> 2 & 3, offset >> 4 & 3,
            offset >> 6 & 3);
        return;
    }
    if (offset & 0x8000) {
        put(p, " offset:%u", offset);
        return;
    }
    unsigned and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
    if (and_mask == 31 && or_mask == 0 && xor_mask && !(xor_mask & (xor_mask - 1))) {
        put(p, " offset:swizzle(SWAP,%u)", xor_mask);
    } else if (and_mask == 31 && or_mask == 0 && xor_mask && !(xor_mask & (xor_mask + 1))) {
        put(p, " offset:swizzle(REVERSE,%u)", xor_mask + 1);
    } else {
        unsigned group = 32 - and_mask;
        if (xor_mask == 0 && group > 1 && !(group & (group - 1)) && or_mask < group) {
            put(p, " offset:swizzle(BROADCAST,%u,%u)", group, or_mask);
            return;
        }
        put(p, " offset:swizzle(BITMASK_PERM,\"");
        for (unsigned bit = 16; bit; bit >>= 1) {
            bool p0 = ((0 & and_mask) | or_mask) & bit, p1 = ((31 & and_mask) | or_mask) & bit;
            bool flip = xor_mask & bit;
            if (p0 == p1) {
                put(p, p0 != flip ? "1" : "0");
            } else {
                put(p, flip ? "i" : "p");
            }
        }
        put(p, "\")");
    }
}

static void put_ds(printer *p, const emu_inst *inst, const emu_row *row)
{
    put(p, "%s", row->name);
    if (row->dst_count) put_operand(p, &inst->dst[0]);
    for (unsigned i = 0; i < inst->src_count; i++) put_operand(p, &inst->src[i]);
    if (!strcmp(row->name, "ds_swizzle_b32")) {
        put_swizzle(p, (unsigned)inst->offset);
    } else if (strstr(row->name, "2addr")) {
        if (inst->offset0) put(p, " offset0:%u", inst->offset0);
        if (inst->offset1) put(p, " offset1:%u", inst->offset1);
    } else if (inst->offset) {
        put(p, " offset:%d", inst->offset);
    }
}

static void put_flat(printer *p, const emu_inst *inst, const emu_row *row)
{
    put(p, "%s", row->name);
    if (row->src_count) {
        bool load = inst->src_count == 1;
        if (inst->dst_count) put_operand(p, &inst->dst[0]);
        put_operand(p, &inst->src[0]);
        if (!load) put_operand(p, &inst->src[1]);
        if (inst->encoding != EMU_FMT_FLAT) put_operand(p, &inst->saddr);
        if (inst->offset) put(p, " offset:%d", inst->offset);
    }
    put_cache(p, inst, row);
}

/* ------------------------------------------------------------------ entry */

void emu_print(emu_class cls, const emu_inst *inst, const emu_inst *second, char *text, size_t size)
{
    printer p = {.text = text, .size = size, .cls = cls, .first = true};
    if (size) text[0] = 0;
    if (inst->row < 0) {
        put(&p, ".long 0x%08x", inst->words[0]);
        return;
    }
    const emu_row *row = emu_isa_row((size_t)inst->row);
    switch (inst->encoding) {
    case EMU_FMT_VOP1:
    case EMU_FMT_VOP2:
    case EMU_FMT_VOPC:
    case EMU_FMT_VOP3:
    case EMU_FMT_VOP3P:
        put_vector(&p, inst, row);
        break;
    case EMU_FMT_VOPD:
        put_half(&p, inst);
        put(&p, " :: ");
        put_half(&p, second);
        break;
    case EMU_FMT_SMEM:
        put_smem(&p, inst, row);
        break;
    case EMU_FMT_DS:
        put_ds(&p, inst, row);
        break;
    case EMU_FMT_FLAT:
    case EMU_FMT_GLOBAL:
    case EMU_FMT_SCRATCH:
        put_flat(&p, inst, row);
        break;
    case EMU_FMT_MUBUF:
        put(&p, "%s", row->name);
        break;
    default:
        put_scalar_inst(&p, inst, row);
        break;
    }
}
