/* Moves between lanes with chosen EXEC masks, and dual issue. One wave. */
#include "kernel.h"

/* Runs one instruction on registers d (kept) and s under an EXEC mask. */
#define MASKED(text, d, s, ...)                                                     \
    __asm__ volatile("s_mov_b32 exec_lo, %[e]\n\t" text "\n\ts_mov_b32 exec_lo, -1" \
                     : [d] "+&v"(d)                                                 \
                     : [e] "s"(exec), [s] "v"(s), ##__VA_ARGS__)

#define DPP_FORMS(X)                                             \
    X("quad_perm:[3,1,2,0] row_mask:0xf bank_mask:0xf")          \
    X("quad_perm:[1,1,0,0] row_mask:0x1 bank_mask:0x6")          \
    X("row_shl:1 row_mask:0xf bank_mask:0xf")                    \
    X("row_shl:5 row_mask:0xf bank_mask:0xf bound_ctrl:1")       \
    X("row_shr:1 row_mask:0xf bank_mask:0xf")                    \
    X("row_shr:7 row_mask:0x2 bank_mask:0xf bound_ctrl:1")       \
    X("row_ror:4 row_mask:0xf bank_mask:0xf")                    \
    X("row_ror:15 row_mask:0xf bank_mask:0x9 fi:1")              \
    X("row_mirror row_mask:0xf bank_mask:0xf")                   \
    X("row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1") \
    X("row_share:9 row_mask:0xf bank_mask:0xf")                  \
    X("row_xmask:6 row_mask:0xf bank_mask:0xf")                  \
    X("row_xmask:15 row_mask:0x3 bank_mask:0xf fi:1")            \
    X("dpp8:[7,6,5,4,3,2,1,0]")                                  \
    X("dpp8:[1,0,3,3,5,4,7,6] fi:1")

/* out: 32 words a form, in the order above. */
KERNEL void dpp_moves(const u32 *a, const u32 *old, u32 *out, u32 exec)
{
    u32 s = a[lane()], form = 0;
#define MOVE(text)                                      \
    {                                                   \
        u32 d = old[lane()];                            \
        MASKED("v_mov_b32_dpp %[d], %[s] " text, d, s); \
        out[form++ * 32 + lane()] = d;                  \
    }
    DPP_FORMS(MOVE)
}

/* The same on an addition whose first source moves, in VOP2 and VOP3 form. */
KERNEL void dpp_adds(const f32 *a, const f32 *b, const f32 *old, f32 *out, u32 exec)
{
    f32 s = a[lane()], t = b[lane()], d = old[lane()];
    MASKED("v_add_f32_dpp %[d], -%[s], |%[t]| row_ror:3 row_mask:0xf bank_mask:0xf", d, s, [t] "v"(t));
    out[lane()] = d;
    d = old[lane()];
    MASKED("v_fma_f32_e64_dpp %[d], %[s], %[t], %[t] row_xmask:1 row_mask:0xf bank_mask:0xf", d,
           s, [t] "v"(t));
    out[32 + lane()] = d;
}

/* Selectors: scalar registers, then a literal; op_sel[0] reads inactive lanes, op_sel[1] zeroes them. */
KERNEL void permlanes(const u32 *a, const u32 *old, u32 *out, u32 exec, u32 low, u32 high)
{
    u32 s = a[lane()], form = 0;
#define PERMUTE(text)                                    \
    {                                                    \
        u32 d = old[lane()];                             \
        MASKED(text, d, s, [l] "s"(low), [h] "s"(high)); \
        out[form++ * 32 + lane()] = d;                   \
    }
    PERMUTE("v_permlane16_b32 %[d], %[s], %[l], %[h]")
    PERMUTE("v_permlanex16_b32 %[d], %[s], %[l], %[h]")
    PERMUTE("v_permlane16_b32 %[d], %[s], %[l], %[h] op_sel:[1,0]")
    PERMUTE("v_permlanex16_b32 %[d], %[s], %[l], %[h] op_sel:[0,1]")
    PERMUTE("v_permlanex16_b32 %[d], %[s], 0x76543210, %[h]")
    PERMUTE("v_permlanex16_b32 %[d], %[s], %[l], 0xfedcba98 op_sel:[1,1]")
    PERMUTE("v_permlane16_b32 %[d], %[s], 0, -1")
}

/* Both halves of a pair read before either writes. out: 32 words a case. */
KERNEL void pairs(const f32 *a, const f32 *b, f32 *out)
{
    f32 x = a[lane()], y = b[lane()];
    f32 p, q;
#define PAIR(text)                                                                                \
    __asm__ volatile(                                                                             \
        "v_mov_b32 v4, %2\n\tv_mov_b32 v5, %3\n\tv_mov_b32 v6, 2.0\n\tv_mov_b32 v7, 4.0\n\t" text \
        "\n\tv_mov_b32 %0, v4\n\tv_mov_b32 %1, v5"                                                \
        : "=&v"(p), "=&v"(q)                                                                      \
        : "v"(x), "v"(y)                                                                          \
        : "v4", "v5", "v6", "v7");                                                                \
    out[lane()] = p, out[32 + lane()] = q, out += 64;
    PAIR("v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4")
    PAIR("v_dual_add_f32 v4, v5, v6 :: v_dual_mul_f32 v5, v4, v7")
    PAIR("v_dual_fmac_f32 v4, v5, v6 :: v_dual_fmac_f32 v5, v4, v7")
    PAIR("v_dual_mul_f32 v4, v4, v6 :: v_dual_add_f32 v5, v7, v4")
    PAIR("v_dual_fmamk_f32 v4, v5, 0x40400000, v6 :: v_dual_subrev_f32 v5, v4, v7")
}
