/* Moves between lanes, DPP, and dual issue. */
#include "vector.h"

/* ------------------------------------------------------------------ lanes and scalars */

/* A scalar operand of a vector instruction: SGPR or constant. */
static inline uint32_t lane_operand(emu_wave *w, const emu_op *op, int i)
{
    return op->src[i].kind == EMU_SRC_CONST ? op->src[i].row[0] : scalar32(w, &op->src[i]);
}

HANDLER(v_readfirstlane_b32)
{
    unsigned lane = w->exec ? (unsigned)__builtin_ctz(w->exec) : 0;
    set_sgpr(w, op->dst, src32(w, op, 0)[lane]);
}

HANDLER(v_readlane_b32)
{
    set_sgpr(w, op->dst, src32(w, op, 0)[lane_operand(w, op, 1) & 31]);
}

/* Writes whatever EXEC says. */
HANDLER(v_writelane_b32)
{
    w->vgpr[op->dst][lane_operand(w, op, 1) & 31] = lane_operand(w, op, 0);
}

/* ------------------------------------------------------------------ permutes */

/* op_sel[0]: inactive lanes may be read; op_sel[1]: they give 0 otherwise (else the lane is left alone). */
static void permute(emu_wave *w, const emu_op *op, const uint8_t source[EMU_LANES])
{
    const uint32_t *a = src32(w, op, 0);
    bool fetch_inactive = op->op_sel & 1, bound = op->op_sel & 2;
    ALIGNED uint32_t r[EMU_LANES];
    LANES
    {
        bool active = w->exec >> source[i] & 1;
        r[i] = active || fetch_inactive ? a[source[i]] : bound ? 0 : w->vgpr[op->dst][i];
    }
    put32(w, op, r);
}

static void permute_by_nibbles(emu_wave *w, const emu_op *op, unsigned flip)
{
    uint64_t selectors = (uint64_t)lane_operand(w, op, 2) << 32 | lane_operand(w, op, 1);
    uint8_t source[EMU_LANES];
    LANES source[i] = (uint8_t)(((unsigned)i & 16) ^ flip) | (uint8_t)(selectors >> (4 * (i & 15)) & 15);
    permute(w, op, source);
}

HANDLER(v_permlane16_b32)
{
    permute_by_nibbles(w, op, 0);
}

HANDLER(v_permlanex16_b32)
{
    permute_by_nibbles(w, op, 16);
}

static void permute_by_lanes(emu_wave *w, const emu_op *op, unsigned flip)
{
    const uint32_t *b = src32(w, op, 1);
    uint8_t source[EMU_LANES];
    LANES source[i] = (uint8_t)(((unsigned)i & 16) ^ flip) | (uint8_t)(b[i] & 15);
    permute(w, op, source);
}

HANDLER(v_permlane16_var_b32)
{
    permute_by_lanes(w, op, 0);
}

HANDLER(v_permlanex16_var_b32)
{
    permute_by_lanes(w, op, 16);
}

/* Exchanges the halves of a wave64; does nothing in wave32. */
HANDLER(v_permlane64_b32)
{
    (void)w;
    (void)op;
}

/* ------------------------------------------------------------------ DPP */

/* Source lane of lane i, or -1 when it lies outside the row. */
static int dpp16_source(unsigned control, int i)
{
    int row = i & 16, lane = i & 15, n = (int)(control & 15);
    if (control < 0x100) return (i & ~3) | (int)(control >> (2 * (i & 3)) & 3);
    switch (control >> 4) {
    case 0x10:
        return lane + n < 16 ? row + lane + n : -1;
    case 0x11:
        return lane - n >= 0 ? row + lane - n : -1;
    case 0x12:
        return row + ((lane - n) & 15);
    case 0x14:
        return control == 0x140 ? row + 15 - lane : control == 0x141 ? (i & ~7) + 7 - (i & 7) : -1;
    case 0x15:
        return row + n;
    case 0x16:
        return row + (lane ^ n);
    default:
        return -1;
    }
}

static bool dpp_lane_enabled(const emu_op *op, int i)
{
    return (op->dpp_masks >> ((i & 15) >> 2) & 1) && (op->dpp_masks >> (4 + (i >> 4)) & 1);
}

/* Source 0 permuted into w->saved[0]; lanes that DPP disables are taken out of EXEC for the inner handler. */
void EX(dpp)(emu_wave *w, const emu_op *op)
{
    const uint32_t *a = src32(w, op, 0);
    uint32_t *moved = w->saved[0], enabled = 0;
    bool inactive_ok = op->flags & EMU_OP_INACTIVE, bound = op->flags & EMU_OP_BOUND;
    ALIGNED uint32_t r[EMU_LANES];
    LANES
    {
        bool is8 = op->dpp == EMU_DPP_8;
        int source = is8 ? (i & ~7) | (int)(op->imm >> (3 * (i & 7)) & 7) : dpp16_source(op->imm, i);
        bool valid = source >= 0 && (inactive_ok || (w->exec >> source & 1));
        r[i] = valid ? a[source] : 0;
        if (dpp_lane_enabled(op, i) && (valid || bound || is8)) enabled |= 1u << i;
    }
    memcpy(moved, r, sizeof(r));
    emu_op inner = *op;
    inner.fn = op->inner;
    inner.src[0].kind = EMU_SRC_CONST;
    inner.src[0].row = moved;
    uint32_t exec = w->exec;
    set_sgpr(w, EMU_S_EXEC, exec & enabled);
    inner.fn(w, &inner);
    if (!(op->flags & EMU_OP_CMPX)) set_sgpr(w, EMU_S_EXEC, exec);
}

/* ------------------------------------------------------------------ dual issue
 *
 * Both halves read before either writes. Translation has found an order in which running them one after the
 * other gives that; only when each overwrites what the other reads is a copy needed. */
void EX(pair)(emu_wave *w, const emu_op *op)
{
    const emu_op *x = op + 1, *y = op + 2;
    w->pc += 2;
    if (op->order == EMU_PAIR_XY) {
        x->fn(w, x);
        y->fn(w, y);
        return;
    }
    if (op->order == EMU_PAIR_YX) {
        y->fn(w, y);
        x->fn(w, x);
        return;
    }
    emu_op late = *y;
    for (int i = 0; i < EMU_MAX_SRC; i++) {
        if (late.src[i].kind == EMU_SRC_VGPR && late.src[i].reg == x->dst) {
            memcpy(w->saved[i], w->vgpr[x->dst], sizeof(w->saved[i]));
            late.src[i].kind = EMU_SRC_CONST;
            late.src[i].row = w->saved[i];
        }
    }
    x->fn(w, x);
    late.fn(w, &late);
}
