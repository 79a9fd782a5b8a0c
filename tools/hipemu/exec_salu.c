/* Scalar ALU: SOP1, SOP2, SOPC, SOPK. */
#include "exec.h"
#include "fmath.h"

#define S32(i) scalar32(w, &op->src[i])
#define S64(i) scalar64(w, &op->src[i])
#define D32(value) set_sgpr(w, op->dst, value)
#define D64(value) set_sgpr64(w, op->dst, value)
#define OLD32 (w->sgpr[op->dst])
#define OLD64 ((uint64_t)w->sgpr[op->dst + 1] << 32 | w->sgpr[op->dst])

/* x, y: sources; r: result; scc_ an expression over them, or w->scc to leave SCC alone. */
#define OP1_32(name, expression, scc_)                   \
    HANDLER(name)                                        \
    {                                                    \
        uint32_t x = S32(0), r = (uint32_t)(expression); \
        bool c = scc_;                                   \
        (void)x;                                         \
        D32(r);                                          \
        w->scc = c;                                      \
    }
#define OP1_64(name, expression, scc_)                   \
    HANDLER(name)                                        \
    {                                                    \
        uint64_t x = S64(0), r = (uint64_t)(expression); \
        bool c = scc_;                                   \
        D64(r);                                          \
        w->scc = c;                                      \
    }
#define OP1_64_32(name, expression, scc_)    \
    HANDLER(name)                            \
    {                                        \
        uint64_t x = S64(0);                 \
        uint32_t r = (uint32_t)(expression); \
        bool c = scc_;                       \
        D32(r);                              \
        w->scc = c;                          \
    }
#define OP2_32(name, expression, scc_)                               \
    HANDLER(name)                                                    \
    {                                                                \
        uint32_t x = S32(0), y = S32(1), r = (uint32_t)(expression); \
        bool c = scc_;                                               \
        (void)x;                                                     \
        (void)y;                                                     \
        D32(r);                                                      \
        w->scc = c;                                                  \
    }
#define OP2_64(name, expression, scc_)                               \
    HANDLER(name)                                                    \
    {                                                                \
        uint64_t x = S64(0), y = S64(1), r = (uint64_t)(expression); \
        bool c = scc_;                                               \
        D64(r);                                                      \
        w->scc = c;                                                  \
    }
/* 64-bit value, 32-bit second source. */
#define OP2_64_32(name, expression, scc_)    \
    HANDLER(name)                            \
    {                                        \
        uint64_t x = S64(0);                 \
        uint32_t y = S32(1);                 \
        uint64_t r = (uint64_t)(expression); \
        bool c = scc_;                       \
        D64(r);                              \
        w->scc = c;                          \
    }
#define KEEP w->scc
#define NONZERO r != 0

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static inline int sign_run32(uint32_t x) /* leading bits equal to the sign; -1 when all are */
{
    uint32_t y = (int32_t)x < 0 ? ~x : x;
    return y ? __builtin_clz(y) : -1;
}

static inline int sign_run64(uint64_t x)
{
    uint64_t y = (int64_t)x < 0 ? ~x : x;
    return y ? __builtin_clzll(y) : -1;
}

/* ------------------------------------------------------------------ moves and bits */

OP1_32(s_mov_b32, x, KEEP)
OP1_64(s_mov_b64, x, KEEP)
OP1_32(s_cmov_b32, w->scc ? x : OLD32, KEEP)
OP1_64(s_cmov_b64, w->scc ? x : OLD64, KEEP)
OP1_32(s_brev_b32, reverse32(x), KEEP)
OP1_64(s_brev_b64, (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32)), KEEP)
OP1_32(s_ctz_i32_b32, x ? __builtin_ctz(x) : -1, KEEP)
OP1_64_32(s_ctz_i32_b64, x ? __builtin_ctzll(x) : -1, KEEP)
OP1_32(s_clz_i32_u32, x ? __builtin_clz(x) : -1, KEEP)
OP1_64_32(s_clz_i32_u64, x ? __builtin_clzll(x) : -1, KEEP)
OP1_32(s_cls_i32, sign_run32(x), KEEP)
OP1_64_32(s_cls_i32_i64, sign_run64(x), KEEP)
OP1_32(s_sext_i32_i8, (int32_t)(int8_t)x, KEEP)
OP1_32(s_sext_i32_i16, (int32_t)(int16_t)x, KEEP)
OP1_32(s_bitset0_b32, OLD32 & ~(1u << (x & 31)), KEEP)
OP1_32(s_bitset1_b32, OLD32 | 1u << (x & 31), KEEP)
OP1_64(s_bitset0_b64, OLD64 & ~(1ull << (x & 63)), KEEP)
OP1_64(s_bitset1_b64, OLD64 | 1ull << (x & 63), KEEP)
OP1_32(s_abs_i32, (int32_t)x < 0 ? 0u - x : x, NONZERO)
OP1_32(s_bcnt0_i32_b32, __builtin_popcount(~x), NONZERO)
OP1_64_32(s_bcnt0_i32_b64, __builtin_popcountll(~x), NONZERO)
OP1_32(s_bcnt1_i32_b32, __builtin_popcount(x), NONZERO)
OP1_64_32(s_bcnt1_i32_b64, __builtin_popcountll(x), NONZERO)
OP1_32(s_not_b32, ~x, NONZERO)
OP1_64(s_not_b64, ~x, NONZERO)

/* ------------------------------------------------------------------ EXEC */

/* Wave32: the source (mask) combines with EXEC; the destination takes the old EXEC. SCC: new EXEC non-zero.
 */
#define SAVEEXEC(name, expression)        \
    HANDLER(name)                         \
    {                                     \
        uint32_t x = S32(0), e = w->exec; \
        uint32_t r = (expression);        \
        D32(e);                           \
        set_sgpr(w, EMU_S_EXEC, r);       \
        w->scc = r != 0;                  \
    }
#define WREXEC(name, expression)          \
    HANDLER(name)                         \
    {                                     \
        uint32_t x = S32(0), e = w->exec; \
        uint32_t r = (expression);        \
        set_sgpr(w, EMU_S_EXEC, r);       \
        D32(r);                           \
        w->scc = r != 0;                  \
    }
SAVEEXEC(s_and_saveexec_b32, x &e)
SAVEEXEC(s_or_saveexec_b32, x | e)
SAVEEXEC(s_xor_saveexec_b32, x ^ e)
SAVEEXEC(s_nand_saveexec_b32, ~(x &e))
SAVEEXEC(s_nor_saveexec_b32, ~(x | e))
SAVEEXEC(s_xnor_saveexec_b32, ~(x ^ e))
SAVEEXEC(s_and_not0_saveexec_b32, ~x &e)
SAVEEXEC(s_or_not0_saveexec_b32, ~x | e)
SAVEEXEC(s_and_not1_saveexec_b32, x & ~e)
SAVEEXEC(s_or_not1_saveexec_b32, x | ~e)
WREXEC(s_and_not0_wrexec_b32, ~x &e)
WREXEC(s_and_not1_wrexec_b32, x & ~e)

/* ------------------------------------------------------------------ integer arithmetic */

static inline bool add_overflows(uint32_t x, uint32_t y)
{
    int32_t r;
    return __builtin_add_overflow((int32_t)x, (int32_t)y, &r);
}

static inline bool sub_overflows(uint32_t x, uint32_t y)
{
    int32_t r;
    return __builtin_sub_overflow((int32_t)x, (int32_t)y, &r);
}

OP2_32(s_add_u32, x + y, r < x)
OP2_32(s_sub_u32, x - y, y > x)
OP2_32(s_add_i32, x + y, add_overflows(x, y))
OP2_32(s_sub_i32, x - y, sub_overflows(x, y))
OP2_32(s_addc_u32, x + y + w->scc, ((uint64_t)x + y + w->scc) >> 32)
OP2_32(s_subb_u32, x - y - w->scc, (uint64_t)y + w->scc > x)
OP2_32(s_absdiff_i32, (int32_t)x > (int32_t)y ? x - y : y - x, NONZERO)
OP2_32(s_lshl1_add_u32, (x << 1) + y, ((uint64_t)x << 1) + y > 0xffffffff)
OP2_32(s_lshl2_add_u32, (x << 2) + y, ((uint64_t)x << 2) + y > 0xffffffff)
OP2_32(s_lshl3_add_u32, (x << 3) + y, ((uint64_t)x << 3) + y > 0xffffffff)
OP2_32(s_lshl4_add_u32, (x << 4) + y, ((uint64_t)x << 4) + y > 0xffffffff)
OP2_32(s_min_i32, (int32_t)x < (int32_t)y ? x : y, (int32_t)x < (int32_t)y)
OP2_32(s_min_u32, x < y ? x : y, x < y)
OP2_32(s_max_i32, (int32_t)x >= (int32_t)y ? x : y, (int32_t)x >= (int32_t)y)
OP2_32(s_max_u32, x >= y ? x : y, x >= y)
OP2_32(s_mul_i32, x *y, KEEP)
OP2_32(s_mul_hi_u32, (uint64_t)x *y >> 32, KEEP)
OP2_32(s_mul_hi_i32, (int64_t)(int32_t)x *(int32_t)y >> 32, KEEP)
OP2_64(s_add_nc_u64, x + y, KEEP)
OP2_64(s_sub_nc_u64, x - y, KEEP)
OP2_64(s_mul_u64, x *y, KEEP)

/* ------------------------------------------------------------------ shifts and logic */

OP2_32(s_lshl_b32, x << (y & 31), NONZERO)
OP2_32(s_lshr_b32, x >> (y & 31), NONZERO)
OP2_32(s_ashr_i32, (int32_t)x >> (y & 31), NONZERO)
OP2_64_32(s_lshl_b64, x << (y & 63), NONZERO)
OP2_64_32(s_lshr_b64, x >> (y & 63), NONZERO)
OP2_64_32(s_ashr_i64, (int64_t)x >> (y & 63), NONZERO)
#define LOGIC(name, expression) \
    OP2_32(s_##name##_b32, expression, NONZERO) OP2_64(s_##name##_b64, expression, NONZERO)
LOGIC(and, x &y)
LOGIC(or, x | y)
LOGIC(xor, x ^ y)
LOGIC(nand, ~(x &y))
LOGIC(nor, ~(x | y))
LOGIC(xnor, ~(x ^ y))
LOGIC(and_not1, x & ~y)
LOGIC(or_not1, x | ~y)

static inline uint64_t field_u64(uint64_t x, unsigned offset, unsigned width)
{
    return width >= 64 ? x >> offset : (x >> offset) & ((1ull << width) - 1);
}

static inline int64_t field_i64(uint64_t x, unsigned bits, unsigned offset, unsigned width)
{
    if (!width) return 0;
    uint64_t v = bits == 32 ? (uint64_t)(int64_t)(int32_t)x : x;
    if (offset + width > bits) width = bits - offset;
    return (int64_t)(v << (64 - offset - width)) >> (64 - width);
}

OP2_32(s_bfe_u32, field_u64(x, y & 31, y >> 16 & 0x7f), NONZERO)
OP2_32(s_bfe_i32, field_i64(x, 32, y & 31, y >> 16 & 0x7f), NONZERO)
OP2_64_32(s_bfe_u64, field_u64(x, y & 63, y >> 16 & 0x7f), NONZERO)
OP2_64_32(s_bfe_i64, field_i64(x, 64, y & 63, y >> 16 & 0x7f), NONZERO)
OP2_32(s_bfm_b32, ((1u << (x & 31)) - 1) << (y & 31), KEEP)
HANDLER(s_bfm_b64)
{
    uint32_t x = S32(0), y = S32(1);
    D64(((1ull << (x & 63)) - 1) << (y & 63));
}
OP2_32(s_cselect_b32, w->scc ? x : y, KEEP)
OP2_64(s_cselect_b64, w->scc ? x : y, KEEP)
OP2_32(s_pack_ll_b32_b16, (x & 0xffff) | y << 16, KEEP)
OP2_32(s_pack_lh_b32_b16, (x & 0xffff) | (y & 0xffff0000), KEEP)
OP2_32(s_pack_hh_b32_b16, x >> 16 | (y & 0xffff0000), KEEP)
OP2_32(s_pack_hl_b32_b16, x >> 16 | y << 16, KEEP)

/* ------------------------------------------------------------------ compares */

#define COMPARE(name, type, bits, operator)                  \
    HANDLER(name)                                            \
    {                                                        \
        w->scc = (type)S##bits(0) operator(type) S##bits(1); \
    }
#define COMPARE_SET(type, suffix)            \
    COMPARE(s_cmp_eq_##suffix, type, 32, ==) \
    COMPARE(s_cmp_lg_##suffix, type, 32, !=) \
    COMPARE(s_cmp_gt_##suffix, type, 32, >)  \
    COMPARE(s_cmp_ge_##suffix, type, 32, >=) \
    COMPARE(s_cmp_lt_##suffix, type, 32, <)  \
    COMPARE(s_cmp_le_##suffix, type, 32, <=)
COMPARE_SET(int32_t, i32)
COMPARE_SET(uint32_t, u32)
COMPARE(s_cmp_eq_u64, uint64_t, 64, ==)
COMPARE(s_cmp_lg_u64, uint64_t, 64, !=)
HANDLER(s_bitcmp0_b32)
{
    w->scc = !(S32(0) >> (S32(1) & 31) & 1);
}
HANDLER(s_bitcmp1_b32)
{
    w->scc = S32(0) >> (S32(1) & 31) & 1;
}
HANDLER(s_bitcmp0_b64)
{
    w->scc = !(S64(0) >> (S32(1) & 63) & 1);
}
HANDLER(s_bitcmp1_b64)
{
    w->scc = S64(0) >> (S32(1) & 63) & 1;
}

/* ------------------------------------------------------------------ SOPK */

#define K_SIGNED ((int32_t)(int16_t)op->imm)
#define K_UNSIGNED ((uint32_t)(uint16_t)op->imm)
HANDLER(s_movk_i32)
{
    D32((uint32_t)K_SIGNED);
}
HANDLER(s_cmovk_i32)
{
    if (w->scc) D32((uint32_t)K_SIGNED);
}
HANDLER(s_addk_i32)
{
    uint32_t x = OLD32, k = (uint32_t)K_SIGNED;
    D32(x + k);
    w->scc = add_overflows(x, k);
}
HANDLER(s_mulk_i32)
{
    D32(OLD32 * (uint32_t)K_SIGNED);
}
#define COMPARE_K(name, type, k, operator)      \
    HANDLER(name)                               \
    {                                           \
        w->scc = (type)S32(0) operator(type) k; \
    }
COMPARE_K(s_cmpk_eq_i32, int32_t, K_SIGNED, ==)
COMPARE_K(s_cmpk_lg_i32, int32_t, K_SIGNED, !=)
COMPARE_K(s_cmpk_gt_i32, int32_t, K_SIGNED, >)
COMPARE_K(s_cmpk_ge_i32, int32_t, K_SIGNED, >=)
COMPARE_K(s_cmpk_lt_i32, int32_t, K_SIGNED, <)
COMPARE_K(s_cmpk_le_i32, int32_t, K_SIGNED, <=)
COMPARE_K(s_cmpk_eq_u32, uint32_t, K_UNSIGNED, ==)
COMPARE_K(s_cmpk_lg_u32, uint32_t, K_UNSIGNED, !=)
COMPARE_K(s_cmpk_gt_u32, uint32_t, K_UNSIGNED, >)
COMPARE_K(s_cmpk_ge_u32, uint32_t, K_UNSIGNED, >=)
COMPARE_K(s_cmpk_lt_u32, uint32_t, K_UNSIGNED, <)
COMPARE_K(s_cmpk_le_u32, uint32_t, K_UNSIGNED, <=)

/* ------------------------------------------------------------------ register files */

static bool relative_register(emu_wave *w, const emu_op *op, unsigned base, unsigned count, unsigned *reg)
{
    *reg = base + w->sgpr[EMU_S_M0];
    if (*reg < EMU_S_VCC && *reg + count <= EMU_S_VCC) return true;
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, *reg, 4 * count, false);
    return false;
}

HANDLER(s_movrels_b32)
{
    unsigned reg;
    if (relative_register(w, op, op->src[0].reg, 1, &reg)) D32(w->sgpr[reg]);
}
HANDLER(s_movrels_b64)
{
    unsigned reg;
    if (relative_register(w, op, op->src[0].reg, 2, &reg)) {
        D64((uint64_t)w->sgpr[reg + 1] << 32 | w->sgpr[reg]);
    }
}
HANDLER(s_movreld_b32)
{
    unsigned reg;
    if (relative_register(w, op, op->dst, 1, &reg)) set_sgpr(w, reg, S32(0));
}
HANDLER(s_movreld_b64)
{
    unsigned reg;
    if (relative_register(w, op, op->dst, 2, &reg)) set_sgpr64(w, reg, S64(0));
}

/* ------------------------------------------------------------------ hardware registers */

static inline uint32_t field_mask(unsigned width)
{
    return width >= 32 ? 0xffffffff : (1u << width) - 1;
}

HANDLER(s_getreg_b32)
{
    unsigned id = op->imm & 63, offset = op->imm >> 6 & 31, width = (op->imm >> 11 & 31) + 1;
    D32((uint32_t)(emu_hwreg_read(w, id) >> offset) & field_mask(width));
}

static void set_register(emu_wave *w, const emu_op *op, uint32_t value)
{
    unsigned id = op->imm & 63, offset = op->imm >> 6 & 31, width = (op->imm >> 11 & 31) + 1;
    if (id != 1) return; /* MODE is the only one that changes what a kernel computes */
    uint32_t mask = field_mask(width) << offset;
    emu_set_mode(w, (w->mode & ~mask) | (value << offset & mask));
}

HANDLER(s_setreg_b32)
{
    set_register(w, op, S32(0));
}
HANDLER(s_setreg_imm32_b32)
{
    set_register(w, op, S32(0));
}
HANDLER(s_round_mode)
{
    emu_set_mode(w, (w->mode & ~15u) | (op->imm & 15));
}
HANDLER(s_denorm_mode)
{
    emu_set_mode(w, (w->mode & ~0xf0u) | (op->imm & 15) << 4);
}

/* ------------------------------------------------------------------ float (gfx11.5, gfx12) */

#define F(i) as_f32(S32(i))
#define H(i) emu_half_to_float(S32(i) & 0xffff)
#define FLOAT1(name, expression) \
    HANDLER(name)                \
    {                            \
        float x = F(0);          \
        D32(as_u32(expression)); \
    }
#define FLOAT2(name, expression)  \
    HANDLER(name)                 \
    {                             \
        float x = F(0), y = F(1); \
        D32(as_u32(expression));  \
    }
#define HALF_OUT(value) emu_float_to_half(value, w->mode >> 2 & 3, w->mode & EMU_MODE_FP16_OVFL)
#define HALF1(name, expression)    \
    HANDLER(name)                  \
    {                              \
        float x = H(0);            \
        D32(HALF_OUT(expression)); \
    }
#define HALF2(name, expression)    \
    HANDLER(name)                  \
    {                              \
        float x = H(0), y = H(1);  \
        D32(HALF_OUT(expression)); \
    }

FLOAT2(s_add_f32, x + y)
FLOAT2(s_sub_f32, x - y)
FLOAT2(s_mul_f32, x *y)
FLOAT2(s_min_f32, number_min(x, y))
FLOAT2(s_max_f32, number_max(x, y))
FLOAT2(s_minimum_f32, nan_min(x, y))
FLOAT2(s_maximum_f32, nan_max(x, y))
FLOAT2(s_fmac_f32, fmaf(x, y, as_f32(OLD32)))
FLOAT2(s_fmaak_f32, fmaf(x, y, F(2)))
FLOAT2(s_fmamk_f32, fmaf(x, y, F(2)))
FLOAT1(s_ceil_f32, ceilf(x))
FLOAT1(s_floor_f32, floorf(x))
FLOAT1(s_trunc_f32, truncf(x))
FLOAT1(s_rndne_f32, roundevenf(x))
HALF2(s_add_f16, fma_odd(x, 1.0f, y, DOWN16))
HALF2(s_sub_f16, fma_odd(y, -1.0f, x, DOWN16))
HALF2(s_mul_f16, x *y)
HALF2(s_min_f16, number_min(x, y))
HALF2(s_max_f16, number_max(x, y))
HALF2(s_minimum_f16, nan_min(x, y))
HALF2(s_maximum_f16, nan_max(x, y))
HALF1(s_ceil_f16, ceilf(x))
HALF1(s_floor_f16, floorf(x))
HALF1(s_trunc_f16, truncf(x))
HALF1(s_rndne_f16, roundevenf(x))
HANDLER(s_fmac_f16)
{
    float r = fma_odd(H(0), H(1), emu_half_to_float(OLD32 & 0xffff), DOWN16);
    D32(HALF_OUT(r));
}

OP1_32(s_cvt_f32_i32, as_u32((float)(int32_t)x), KEEP)
OP1_32(s_cvt_f32_u32, as_u32((float)x), KEEP)
OP1_32(s_cvt_i32_f32, float_to_i32(as_f32(x)), KEEP)
OP1_32(s_cvt_u32_f32, float_to_u32(as_f32(x)), KEEP)
OP1_32(s_cvt_f16_f32, HALF_OUT(as_f32(x)), KEEP)
OP1_32(s_cvt_f32_f16, as_u32(emu_half_to_float(x & 0xffff)), KEEP)
OP1_32(s_cvt_hi_f32_f16, as_u32(emu_half_to_float(x >> 16)), KEEP)
OP2_32(s_cvt_pk_rtz_f16_f32,
       emu_float_to_half(as_f32(x), EMU_ROUND_ZERO, false) |
           emu_float_to_half(as_f32(y), EMU_ROUND_ZERO, false) << 16,
       KEEP)

#define FCOMPARE(suffix, fetch, type)                           \
    HANDLER(s_cmp_lt_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) < fetch(1);                           \
    }                                                           \
    HANDLER(s_cmp_eq_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) == fetch(1);                          \
    }                                                           \
    HANDLER(s_cmp_le_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) <= fetch(1);                          \
    }                                                           \
    HANDLER(s_cmp_gt_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) > fetch(1);                           \
    }                                                           \
    HANDLER(s_cmp_lg_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) < fetch(1) || fetch(0) > fetch(1);    \
    }                                                           \
    HANDLER(s_cmp_ge_##suffix)                                  \
    {                                                           \
        w->scc = fetch(0) >= fetch(1);                          \
    }                                                           \
    HANDLER(s_cmp_o_##suffix)                                   \
    {                                                           \
        w->scc = fetch(0) == fetch(0) && fetch(1) == fetch(1);  \
    }                                                           \
    HANDLER(s_cmp_u_##suffix)                                   \
    {                                                           \
        w->scc = fetch(0) != fetch(0) || fetch(1) != fetch(1);  \
    }                                                           \
    HANDLER(s_cmp_nge_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) >= fetch(1));                       \
    }                                                           \
    HANDLER(s_cmp_nlg_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) < fetch(1) || fetch(0) > fetch(1)); \
    }                                                           \
    HANDLER(s_cmp_ngt_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) > fetch(1));                        \
    }                                                           \
    HANDLER(s_cmp_nle_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) <= fetch(1));                       \
    }                                                           \
    HANDLER(s_cmp_neq_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) == fetch(1));                       \
    }                                                           \
    HANDLER(s_cmp_nlt_##suffix)                                 \
    {                                                           \
        w->scc = !(fetch(0) < fetch(1));                        \
    }
FCOMPARE(f32, F, float)
FCOMPARE(f16, H, float)
