/* The decoder against LLVM's disassembler on words that no kernel here contains: every opcode of the tables, for each
 * architecture class, with random operands, constants, literals, modifiers and DPP controls. Same text wherever both
 * decode; where LLVM decodes what the tables hold, the decoder must too. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

enum { FILLS = 60, SHOWN = 30, WORDS = 4 };

static uint64_t state = 0x853c49e6748fea9b;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 24);
}

static uint32_t below(uint32_t n)
{
    return random32() % n;
}

/* ------------------------------------------------------------------ fields */

/* An aligned SGPR range of the type's size, sometimes VCC or EXEC, or the null register. */
static uint32_t sgpr(unsigned dwords)
{
    uint32_t align = dwords > 2 ? 4 : dwords == 2 ? 2 : 1, pick = below(12);
    if (pick == 0 && dwords <= 2) return 106;
    if (pick == 1 && dwords <= 2) return 126;
    if (pick == 2 && dwords <= 2) return 124;
    return below((104 - dwords) / align) * align;
}

static uint32_t scalar_source(unsigned dwords, bool literal)
{
    switch (below(6)) {
    case 0:
        return 128 + below(81);
    case 1:
        return 240 + below(9);
    case 2:
        return literal ? 255 : 128;
    default:
        return sgpr(dwords);
    }
}

static uint32_t vgpr(unsigned dwords, bool half)
{
    return below((half ? 128 : 256) - dwords);
}

static bool is_half(emu_type type)
{
    return type == EMU_T_B16 || type == EMU_T_F16;
}

/* A 9-bit source field. */
static uint32_t source(emu_type type, bool half_registers)
{
    unsigned dwords = emu_type_dwords(type);
    if (below(3)) return 256 + vgpr(dwords, half_registers && is_half(type));
    return scalar_source(dwords, true);
}

static uint32_t dpp_word(bool e32)
{
    static const uint32_t controls[] = {0x1b,  0xe4,  0x101, 0x10f, 0x111, 0x11e,
                                        0x121, 0x12d, 0x140, 0x141, 0x155, 0x16a};
    uint32_t w = below(128) | controls[below(12)] << 8 | below(2) << 18 | below(2) << 19 | random32() << 24;
    return e32 ? w : w & ~0xf00000u;
}

/* ------------------------------------------------------------------ one instruction */

static unsigned fill_scalar(const emu_row *row, uint32_t op, uint32_t *w)
{
    uint32_t dst = row->dst_count ? sgpr(emu_type_dwords(row->dst[0])) : 0;
    uint32_t s0 = row->src_count ? scalar_source(emu_type_dwords(row->src[0]), true) : 0;
    uint32_t s1 = row->src_count > 1 ? scalar_source(emu_type_dwords(row->src[1]), s0 != 255) : 0;
    w[1] = random32();
    switch (row->format) {
    case EMU_FMT_SOP1:
        w[0] = 0xbe800000 | dst << 16 | op << 8 | s0;
        if (strstr(row->name, "sendmsg") || strstr(row->name, "barrier")) return 0; /* other operands */
        break;
    case EMU_FMT_SOP2:
        w[0] = 0x80000000 | op << 23 | dst << 16 | s1 << 8 | s0;
        break;
    case EMU_FMT_SOPC:
        w[0] = 0xbf000000 | op << 16 | s1 << 8 | s0;
        break;
    case EMU_FMT_SOPK:
        if (strstr(row->name, "reg") || strstr(row->name, "version") || strstr(row->name, "call")) return 0;
        w[0] = 0xb0000000 | op << 23 | (row->src_count ? sgpr(1) : dst) << 16 | (random32() & 0xffff);
        break;
    default:
        return 0;
    }
    return 2;
}

static void fill_vop3(const emu_row *row, uint32_t op, uint32_t *w)
{
    bool sd = row->dst_count == 2;
    uint32_t f[3] = {0, 0, 0}, neg = 0, abs = 0;
    for (unsigned i = 0; i < row->src_count; i++) {
        emu_type t = row->src[i];
        bool is_float = t == EMU_T_F32 || t == EMU_T_F64 || t == EMU_T_F16;
        f[i] = t == EMU_T_MASK ? sgpr(1) : source(t, false);
        if (f[i] == 255 && emu_type_dwords(t) == 2) f[i] = 256; /* 64-bit literals print apart */
        if (is_float && below(3) == 0) neg |= 1u << i;
        if (is_float && !sd && below(3) == 0) abs |= 1u << i;
    }
    bool scalar_dst = row->dst[0] == EMU_T_SGPR || row->dst[0] == EMU_T_MASK;
    uint32_t dst = scalar_dst ? sgpr(1) : vgpr(row->dst_count ? emu_type_dwords(row->dst[0]) : 1, false);
    if (strncmp(row->name, "v_cmpx", 6) == 0) dst = 126;
    w[0] = 0xd4000000 | op << 16 | dst | (sd ? sgpr(1) << 8 : abs << 8);
    w[1] = f[0] | f[1] << 9 | f[2] << 18 | neg << 29;
    w[2] = random32();
}

static unsigned fill_vector(const emu_row *row, uint32_t op, uint32_t *w)
{
    emu_type t0 = row->src_count ? row->src[0] : EMU_T_B32, t1 = row->src_count > 1 ? row->src[1] : EMU_T_B32;
    emu_type td = row->dst_count ? row->dst[0] : EMU_T_B32;
    bool dpp =
        below(5) == 0 && emu_type_dwords(t0) == 1 && emu_type_dwords(t1) == 1 && emu_type_dwords(td) == 1;
    uint32_t s0 = dpp ? 250 : source(t0, true), v1 = vgpr(emu_type_dwords(t1), is_half(t1));
    uint32_t dst = td == EMU_T_SGPR ? sgpr(1) : vgpr(emu_type_dwords(td), is_half(td));
    w[1] = dpp ? dpp_word(true) & ~0xf00000u : random32();
    switch (row->format) {
    case EMU_FMT_VOP1:
        w[0] = 0x7e000000 | dst << 17 | op << 9 | s0;
        break;
    case EMU_FMT_VOP2:
        w[0] = op << 25 | dst << 17 | v1 << 9 | s0;
        break;
    case EMU_FMT_VOPC:
        w[0] = 0x7c000000 | op << 17 | v1 << 9 | s0;
        break;
    case EMU_FMT_VOP3:
        fill_vop3(row, op, w);
        return 3;
    default:
        return 0;
    }
    return 2;
}

static unsigned fill_memory(const emu_row *row, uint32_t op, emu_class cls, uint32_t *w)
{
    unsigned data = row->src_count > 1 ? emu_type_dwords(row->src[1]) : 1;
    unsigned out = row->dst_count ? emu_type_dwords(row->dst[0]) : 1;
    bool atomic = row->count == EMU_COUNT_VMEM_ATOMIC, returns = atomic ? below(2) : row->dst_count != 0;
    uint32_t vdata = row->src_count > 1 ? vgpr(data, false) : 0, vdst = returns ? vgpr(out, false) : 0;
    if (row->format == EMU_FMT_DS) {
        uint32_t third = row->src_count > 2 ? vgpr(data, false) : 0;
        w[0] = 0xd8000000 | op << 18 | (random32() & 0xffff);
        w[1] = vgpr(1, false) | vdata << 8 | third << 16 | vdst << 24;
        return strstr(row->name, "swizzle") ? 0 : 2;
    }
    if (!row->src_count) return 0;
    uint32_t segment = row->format == EMU_FMT_FLAT ? 0 : row->format == EMU_FMT_SCRATCH ? 1 : 2;
    uint32_t saddr = segment == 0 || below(2) ? 124 : below(50) * 2;
    bool sve = segment == 1 && below(2);
    uint32_t vaddr = segment == 1 && !sve ? 0 : vgpr(2, false);
    if (cls == EMU_GFX12) {
        uint32_t th = atomic ? returns : below(2);
        w[0] = 0xec000000 | segment << 24 | op << 14 | saddr;
        w[1] = vdst | (uint32_t)sve << 17 | below(4) << 18 | th << 20 | vdata << 23;
        w[2] = vaddr | (segment == 0 ? random32() & 0x7fffff00 : random32() & 0xffffff00);
        return 3;
    }
    uint32_t glc = atomic ? returns : below(2);
    w[0] = 0xdc000000 | segment << 16 | op << 18 | (random32() & (segment == 0 ? 0xfff : 0x1fff)) |
           below(2) << 13 | glc << 14 | below(2) << 15;
    if (segment == 0) w[0] &= ~0x1000u;
    w[1] = vaddr | vdata << 8 | saddr << 16 | (uint32_t)sve << 23 | vdst << 24;
    return 2;
}

static unsigned fill(const emu_row *row, uint32_t op, emu_class cls, uint32_t *w)
{
    memset(w, 0, WORDS * sizeof(*w));
    switch (row->format) {
    case EMU_FMT_SOP1:
    case EMU_FMT_SOP2:
    case EMU_FMT_SOPC:
    case EMU_FMT_SOPK:
        return fill_scalar(row, op, w);
    case EMU_FMT_VOP1:
    case EMU_FMT_VOP2:
    case EMU_FMT_VOPC:
        if (below(2)) {
            uint32_t base = row->format == EMU_FMT_VOPC ? 0 : row->format == EMU_FMT_VOP2 ? 0x100 : 0x180;
            fill_vop3(row, base + op, w);
            return 3;
        }
        return fill_vector(row, op, w);
    case EMU_FMT_VOP3:
        return fill_vector(row, op, w);
    case EMU_FMT_DS:
    case EMU_FMT_FLAT:
    case EMU_FMT_GLOBAL:
    case EMU_FMT_SCRATCH:
        return fill_memory(row, op, cls, w);
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------ comparing */

static char *tidy(char *text)
{
    char *start = text + strspn(text, " \t");
    for (char *c = start; *c; c++) {
        if (*c == '\t') *c = ' ';
    }
    for (char *end = start + strlen(start); end > start && end[-1] == ' ';) *--end = 0;
    return start;
}

static size_t compared, differences;

static void compare(LLVMDisasmContextRef llvm, emu_class cls, const emu_row *row, uint32_t *w, unsigned count)
{
    emu_inst inst, second;
    char mine[300], theirs[300];
    size_t size = LLVMDisasmInstruction(llvm, (uint8_t *)w, 4 * WORDS, 0, theirs, sizeof(theirs));
    if (!size || strstr(theirs, "Invalid ")) return; /* LLVM has stricter operand rules */
    unsigned used = emu_decode(cls, w, WORDS, &inst, &second);
    emu_print(cls, &inst, &second, mine, sizeof(mine));
    const char *text = tidy(theirs);
    compared++;
    if (4 * used == size && strcmp(mine, text) == 0) return;
    if (differences++ < SHOWN) {
        printf("%s, words %08x %08x %08x (%u): \"%s\" %u, LLVM: \"%s\" %zu\n", row->name, w[0], w[1], w[2],
               count, mine, 4 * used, text, size);
    }
}

int main(void)
{
    static const struct {
        emu_class cls;
        const char *cpu;
    } machines[] = {{EMU_GFX11, "gfx1100"}, {EMU_GFX11_5, "gfx1151"}, {EMU_GFX12, "gfx1201"}};
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    for (int m = 0; m < 3; m++) {
        LLVMDisasmContextRef llvm = LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", machines[m].cpu,
                                                                "+wavefrontsize32", NULL, 0, NULL, NULL);
        for (size_t i = 0; i < emu_isa_count(); i++) {
            const emu_row *row = emu_isa_row(i);
            int op = machines[m].cls == EMU_GFX12 ? row->op12 : row->op11;
            if (op < 0 || ((op & EMU_OPCODE_11_5) && machines[m].cls != EMU_GFX11_5)) continue;
            for (int k = 0; k < FILLS; k++) {
                uint32_t w[WORDS];
                unsigned count = fill(row, (uint32_t)op & ~(uint32_t)EMU_OPCODE_11_5, machines[m].cls, w);
                if (count) compare(llvm, machines[m].cls, row, w, count);
            }
        }
        LLVMDisasmDispose(llvm);
    }
    printf("%zu instructions compared, %zu differ\n", compared, differences);
    return differences || compared < 10000;
}
