/* Decoded instructions: what the words say, before anything is bound to an executor. */
#ifndef HIPEMU_DECODE_H
#define HIPEMU_DECODE_H

#include "isa.h"

/* Scalar operand numbers of the encodings. */
enum {
    EMU_S_VCC = 106,
    EMU_S_TTMP0 = 108,
    EMU_S_NULL = 124,
    EMU_S_M0 = 125,
    EMU_S_EXEC = 126,
    EMU_S_SHARED_BASE = 235,
    EMU_S_SHARED_LIMIT = 236,
    EMU_S_PRIVATE_BASE = 237,
    EMU_S_PRIVATE_LIMIT = 238,
    EMU_S_SCC = 253,
    EMU_S_LITERAL = 255,
};

typedef enum emu_operand_kind {
    EMU_O_NONE,
    EMU_O_VGPR,
    EMU_O_SGPR,    /* reg 0..127: SGPRs, VCC, TTMP, NULL, M0, EXEC */
    EMU_O_SPECIAL, /* reg: aperture registers, SCC */
    EMU_O_INLINE,  /* reg: the operand number 128..248; value: its bits */
    EMU_O_LITERAL, /* value: the bits after extension to the operand's size; literal: the 32-bit word */
    EMU_O_OFF,     /* an address part that is absent */
} emu_operand_kind;

typedef struct emu_operand {
    uint8_t kind;   /* emu_operand_kind */
    uint8_t type;   /* emu_type */
    uint8_t dwords; /* registers */
    bool neg, abs;
    bool hi; /* the upper half of a register, true 16-bit forms */
    uint16_t reg;
    uint32_t literal;
    uint64_t value;
} emu_operand;

typedef enum emu_dpp { EMU_DPP_NONE, EMU_DPP_16, EMU_DPP_8 } emu_dpp;

typedef struct emu_inst {
    int row;          /* -1: not an instruction the tables know; words then holds what was read */
    uint8_t encoding; /* emu_format as encoded: a VOP2 row in VOP3 form has EMU_FMT_VOP3 */
    uint8_t bytes;    /* the whole instruction with literal and DPP words */
    uint32_t words[4];
    uint8_t dst_count, src_count;
    emu_operand dst[EMU_MAX_DST], src[EMU_MAX_SRC];
    /* VOP3, VOP3P */
    bool clamp;
    uint8_t omod;              /* 1: *2, 2: *4, 3: /2 */
    uint8_t op_sel, op_sel_hi; /* bit i: source i, bit 3 of op_sel: destination */
    uint8_t neg_lo, neg_hi;
    /* DPP of source 0 */
    emu_dpp dpp;
    uint32_t dpp_control; /* DPP16: dpp_ctrl, DPP8: eight selectors of 3 bits */
    uint8_t row_mask, bank_mask;
    bool bound_control, fetch_inactive;
    /* memory */
    emu_operand saddr;        /* SGPR base or offset */
    int32_t offset;           /* flat, global, scratch, scalar memory, DS with one address */
    uint8_t offset0, offset1; /* DS with two */
    uint8_t cache;            /* gfx11: glc 1, slc 2, dlc 4; gfx12: th in bits 2:0, scope in bits 4:3 */
    bool gds;
    bool returns; /* an atomic that returns the old value */
    /* SOPP, SOPK */
    uint16_t simm16;
} emu_inst;

/* Decodes one instruction from `count` words (>= 1) of code for an architecture class. VOPD pairs fill
 * `second` with the Y half (row -1 otherwise). Returns the number of words used; an unknown word gives row -1
 * and 1. Never reads past `count`: a truncated instruction is unknown. */
unsigned emu_decode(emu_class cls, const uint32_t *words, size_t count, emu_inst *inst, emu_inst *second);

/* Text in LLVM's syntax; `pc` (of the instruction) only matters to relative branches, which print their word
 * offset as llvm-mc does. */
void emu_print(emu_class cls, const emu_inst *inst, const emu_inst *second, char *text, size_t size);

/* ---- shared by the decoder's files */

typedef struct emu_reader {
    emu_class cls;
    const uint32_t *words;
    size_t count;
    unsigned used;    /* words consumed so far */
    bool failed;      /* ran out of words or met an operand that is not allowed */
    bool has_literal; /* a literal has been read: all literal operands share it */
    uint32_t literal;
} emu_reader;

/* A 9-bit (or with the VGPR bit clear 8-bit) source field. VOP1/VOP2/VOPC e32 16-bit operands keep their half
 * in bit 7 of the register: true16. */
emu_operand emu_source(emu_reader *reader, unsigned field, emu_type type, bool true16);
emu_operand emu_vgpr(unsigned reg, emu_type type);
emu_operand emu_sgpr(unsigned reg, emu_type type);

bool emu_decode_vector(emu_reader *reader, emu_inst *inst, emu_inst *second);
bool emu_decode_memory(emu_reader *reader, emu_inst *inst);

#endif
