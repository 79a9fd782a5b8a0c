/* The instruction tables: which opcode of which encoding is which instruction, and what its operands are. */
#ifndef HIPEMU_ISA_H
#define HIPEMU_ISA_H

#include "core.h"

/* Encodings. VOP1, VOP2 and VOPC rows are reached from the VOP3 encoding too. */
typedef enum emu_format {
    EMU_FMT_SOP1,
    EMU_FMT_SOP2,
    EMU_FMT_SOPC,
    EMU_FMT_SOPK,
    EMU_FMT_SOPP,
    EMU_FMT_SMEM,
    EMU_FMT_VOP1,
    EMU_FMT_VOP2,
    EMU_FMT_VOPC,
    EMU_FMT_VOP3,
    EMU_FMT_VOP3P,
    EMU_FMT_VOPD,
    EMU_FMT_DS,
    EMU_FMT_FLAT,
    EMU_FMT_GLOBAL,
    EMU_FMT_SCRATCH,
    EMU_FMT_MUBUF,
    EMU_FORMATS
} emu_format;

/* Which rounding and denormal controls a handler runs under when MODE is not the default. EXACT: the host's
 * default; the handler applies MODE itself, or MODE has no say. */
typedef enum emu_precision { EMU_PRECISION_32, EMU_PRECISION_16_64, EMU_PRECISION_EXACT } emu_precision;

/* Operand types. The size and the meaning of inline constants follow from them. */
typedef enum emu_type {
    EMU_T_NONE,
    EMU_T_B16, /* 16 bits, integer constants */
    EMU_T_F16,
    EMU_T_BF16,
    EMU_T_B32,
    EMU_T_F32,
    EMU_T_B64,
    EMU_T_I64, /* a literal is sign-extended; B64 zero-extends */
    EMU_T_F64,
    EMU_T_B96,
    EMU_T_B128,
    EMU_T_B256,
    EMU_T_B512,
    EMU_T_PK16, /* two f16 in a register */
    EMU_T_PKB,  /* two bf16 in a register */
    EMU_T_PKI,  /* two 16-bit integers in a register */
    EMU_T_MASK, /* a lane mask: one scalar register in wave32 */
    EMU_T_SGPR, /* a 32-bit scalar destination of a vector instruction */
    EMU_T_ADDR, /* the address of a memory instruction */
} emu_type;

enum { EMU_MAX_DST = 2, EMU_MAX_SRC = 3, EMU_OPCODE_ABSENT = -1, EMU_OPCODE_11_5 = 0x4000 };

typedef struct emu_row {
    const char *name;   /* mnemonic without suffix */
    int16_t op11, op12; /* EMU_OPCODE_ABSENT; op11 | EMU_OPCODE_11_5: on gfx11.5 alone */
    uint8_t format;     /* emu_format */
    uint8_t count;      /* emu_count */
    uint8_t dst_count, src_count;
    uint8_t dst[EMU_MAX_DST], src[EMU_MAX_SRC]; /* emu_type */
    uint8_t precision;                          /* emu_precision */
    bool stride64, cmpx, accumulates;           /* accumulates: reads its destination */
} emu_row;

/* Row ids, in table order: EMU_ROW_<format>_<n> have no names; use emu_isa_find. */
size_t emu_isa_count(void);
const emu_row *emu_isa_row(size_t index);

/* Row of an opcode in an encoding; -1 when there is none. */
int emu_isa_find(emu_class cls, emu_format format, unsigned opcode);

unsigned emu_type_dwords(emu_type type); /* registers; 16-bit types take 1 */

#endif
