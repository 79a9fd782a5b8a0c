/* Matrix multiply-accumulate: D = A * B + C, 16x16.
 *
 * Accumulation order (the hardware's is not published): every element starts from C and adds the products by
 * rising k, one fused multiply-add in f32, round to nearest even, a step. Products of f16, bf16 and FP8 values
 * are exact (bf16: unless they leave f32's range). f16 and bf16 accumulators are widened, accumulated in f32 and
 * rounded once at the end. Integers accumulate exactly and wrap, or saturate with clamp. Denormals are kept.
 *
 * Layouts, wave32. gfx12: A lane m + 16 * (k / 8 of 16 k, in eights), element k % 8; B the same with n;
 * D lane n + 16 * (m / 8), element m % 8. gfx11: A and B hold all k of row m (column n) in lane m, repeated in
 * lane m + 16; D register r of lane l is row 2 r + l / 16, column l % 16. */
#include "vector.h"

typedef float matrix[16][16];

typedef enum element { ELEMENT_F16, ELEMENT_BF16, ELEMENT_FP8, ELEMENT_BF8 } element;

/* Codes of `bits` bits from the registers of one operand: out[lane-row][k]. */
static inline void gather_codes(const uint32_t (*v)[EMU_LANES], unsigned bits, bool gfx11,
                                uint32_t out[16][16])
{
    unsigned per_reg = 32 / bits, per_lane = gfx11 ? 16 : 8;
    uint32_t mask = bits == 32 ? 0xffffffff : (1u << bits) - 1;
    for (unsigned half = 0; half < (gfx11 ? 1 : 2); half++) {
        for (unsigned j = 0; j < per_lane; j++) {
            const uint32_t *reg = v[j / per_reg] + 16 * half;
            unsigned shift = bits * (j % per_reg);
            for (unsigned row = 0; row < 16; row++) out[half * 8 + j][row] = reg[row] >> shift & mask;
        }
    }
}

/* [k][row] codes to floats. */
static inline void widen(const uint32_t codes[16][16], element type, matrix out)
{
    const uint32_t *c = &codes[0][0];
    float *f = &out[0][0];
    switch (type) {
    case ELEMENT_F16:
        for (int i = 0; i < 256; i++) {
            uint32_t body = c[i] & 0x7fff;
            /* As in the FP8 case: move, then scale by an exact power of two. */
            uint32_t bits = as_u32(as_f32(body << 13) * 0x1p112f);
            bits = body >= 0x7c00 ? 0x7f800000 | (body & 0x3ff) << 13 | (body > 0x7c00) << 22 : bits;
            f[i] = as_f32(bits | (c[i] & 0x8000) << 16);
        }
        break;
    case ELEMENT_BF16:
        for (int i = 0; i < 256; i++) f[i] = as_f32(c[i] << 16);
        break;
    case ELEMENT_FP8:
        for (int i = 0; i < 256; i++) {
            uint32_t body = c[i] & 0x7f, bits = as_u32(as_f32(body << 20) * 0x1p120f);
            bits = body == 0x7f ? 0x7fc00000 : bits;
            f[i] = as_f32(bits | (c[i] & 0x80) << 24);
        }
        break;
    case ELEMENT_BF8:
        for (int i = 0; i < 256; i++) {
            uint32_t body = c[i] & 0x7f, bits = as_u32(as_f32(body << 21) * 0x1p112f);
            bits = body >= 0x7c ? 0x7f800000 | (body & 3) << 21 | (body > 0x7c) << 22 : bits;
            f[i] = as_f32(bits | (c[i] & 0x80) << 24);
        }
        break;
    }
}

/* Without a fused instruction the exact products of f16 and FP8 give the same sum from a product and an addition. */
static inline float accumulate(float x, float y, float sum, bool exact)
{
#ifdef __FMA__
    (void)exact;
    return fmaf(x, y, sum);
#else
    return exact ? x * y + sum : fmaf(x, y, sum);
#endif
}

/* d[m][n] += a[k][m] * b[k][n], k rising. Four rows at a time keep their sums in registers. */
static inline void multiply(const matrix a, const matrix b, matrix d, bool exact)
{
    for (int m = 0; m < 16; m += 4) {
        ALIGNED float s0[16], s1[16], s2[16], s3[16];
        for (int n = 0; n < 16; n++) {
            s0[n] = d[m][n];
            s1[n] = d[m + 1][n];
            s2[n] = d[m + 2][n];
            s3[n] = d[m + 3][n];
        }
        for (int k = 0; k < 16; k++) {
            const float *row = b[k];
            float a0 = a[k][m], a1 = a[k][m + 1], a2 = a[k][m + 2], a3 = a[k][m + 3];
            for (int n = 0; n < 16; n++) {
                s0[n] = accumulate(a0, row[n], s0[n], exact);
                s1[n] = accumulate(a1, row[n], s1[n], exact);
                s2[n] = accumulate(a2, row[n], s2[n], exact);
                s3[n] = accumulate(a3, row[n], s3[n], exact);
            }
        }
        for (int n = 0; n < 16; n++) {
            d[m][n] = s0[n];
            d[m + 1][n] = s1[n];
            d[m + 2][n] = s2[n];
            d[m + 3][n] = s3[n];
        }
    }
}

/* Row and column of register r, lane l of a 32-bit accumulator. */
static inline unsigned row_of(bool gfx11, unsigned r, unsigned l)
{
    return gfx11 ? 2 * r + l / 16 : r + 8 * (l / 16);
}

/* The hardware needs every lane, and on gfx11 both halves of the wave with the same operand. */
static bool operands_ok(emu_wave *w, const emu_op *op, unsigned registers, bool gfx11)
{
    if (w->exec != 0xffffffff) {
        emu_raise(w, op, EMU_FAULT_WMMA, EMU_LANES, w->exec, 0, false);
        return false;
    }
    for (int s = 0; gfx11 && s < 2; s++) {
        for (unsigned r = 0; r < registers; r++) {
            const uint32_t *v = w->vgpr[op->src[s].reg + r];
            if (memcmp(v, v + 16, 16 * sizeof(uint32_t))) {
                emu_raise(w, op, EMU_FAULT_WMMA, 16, op->src[s].reg + r, 0, false);
                return false;
            }
        }
    }
    return true;
}

/* C register r; constants are the same in every element. */
static inline const uint32_t *c_register(emu_wave *w, const emu_op *op, unsigned r)
{
    const emu_src *s = &op->src[2];
    return s->kind == EMU_SRC_VGPR ? w->vgpr[s->reg + r] : s->row;
}

/* neg_lo, neg_hi bits 0 and 1 negate the even and odd elements of A and B (f16, bf16). */
static void negate(const emu_op *op, int s, matrix x)
{
    bool even = op->neg_lo >> s & 1, odd = op->neg_hi >> s & 1;
    if (!even && !odd) return;
    for (int k = 0; k < 16; k++) {
        if (k & 1 ? odd : even) {
            for (int i = 0; i < 16; i++) x[k][i] = -x[k][i];
        }
    }
}

static inline void load_ab(emu_wave *w, const emu_op *op, element type_a, element type_b, bool gfx11,
                           matrix a, matrix b)
{
    ALIGNED uint32_t codes[16][16];
    unsigned bits = type_a == ELEMENT_F16 || type_a == ELEMENT_BF16 ? 16 : 8;
    gather_codes((const uint32_t(*)[EMU_LANES])w->vgpr[op->src[0].reg], bits, gfx11, codes);
    widen((const uint32_t(*)[16])codes, type_a, a);
    gather_codes((const uint32_t(*)[EMU_LANES])w->vgpr[op->src[1].reg], bits, gfx11, codes);
    widen((const uint32_t(*)[16])codes, type_b, b);
    if (bits == 16) {
        negate(op, 0, a);
        negate(op, 1, b);
    }
}

static inline float c_modifiers(const emu_op *op, float x)
{
    if (op->neg_hi & 4) x = fabsf(x);
    return op->neg_lo & 4 ? -x : x;
}

static inline void wmma_f32(emu_wave *w, const emu_op *op, element type_a, element type_b, bool gfx11)
{
    ALIGNED matrix a, b, d;
    if (!operands_ok(w, op, 8, gfx11)) return;
    load_ab(w, op, type_a, type_b, gfx11, a, b);
    for (unsigned r = 0; r < 8; r++) {
        const float *c = (const float *)(const void *)c_register(w, op, r);
        for (unsigned n = 0; n < 16; n++) d[row_of(gfx11, r, 0)][n] = c[n];
        for (unsigned n = 0; n < 16; n++) d[row_of(gfx11, r, 16)][n] = c[n + 16];
    }
    if (UNLIKELY((op->neg_lo | op->neg_hi) & 4)) {
        for (int i = 0; i < 256; i++) d[i / 16][i % 16] = c_modifiers(op, d[i / 16][i % 16]);
    }
    multiply(a, b, d, type_a != ELEMENT_BF16);
    for (unsigned r = 0; r < 8; r++) {
        float *out = (float *)(void *)w->vgpr[op->dst + r];
        for (unsigned n = 0; n < 16; n++) out[n] = d[row_of(gfx11, r, 0)][n];
        for (unsigned n = 0; n < 16; n++) out[n + 16] = d[row_of(gfx11, r, 16)][n];
    }
}

#define WMMA_F32(name, type_a, type_b, gfx11)   \
    HANDLER(name)                               \
    {                                           \
        wmma_f32(w, op, type_a, type_b, gfx11); \
    }
WMMA_F32(v_wmma_f32_16x16x16_f16, ELEMENT_F16, ELEMENT_F16, false)
WMMA_F32(v_wmma_f32_16x16x16_bf16, ELEMENT_BF16, ELEMENT_BF16, false)
WMMA_F32(v_wmma_f32_16x16x16_f16_gfx11, ELEMENT_F16, ELEMENT_F16, true)
WMMA_F32(v_wmma_f32_16x16x16_bf16_gfx11, ELEMENT_BF16, ELEMENT_BF16, true)
WMMA_F32(v_wmma_f32_16x16x16_fp8_fp8, ELEMENT_FP8, ELEMENT_FP8, false)
WMMA_F32(v_wmma_f32_16x16x16_fp8_bf8, ELEMENT_FP8, ELEMENT_BF8, false)
WMMA_F32(v_wmma_f32_16x16x16_bf8_fp8, ELEMENT_BF8, ELEMENT_FP8, false)
WMMA_F32(v_wmma_f32_16x16x16_bf8_bf8, ELEMENT_BF8, ELEMENT_BF8, false)

/* ------------------------------------------------------------------ 16-bit accumulators
 *
 * gfx12 packs rows 2r and 2r + 1 of a half's eight into register r; gfx11 keeps one row a register in the half
 * that op_sel bit 2 names and leaves the other half as it was. */

typedef struct place {
    unsigned reg, lane, shift;
} place;

static inline place place_of(const emu_op *op, bool gfx11, unsigned m, unsigned n)
{
    if (gfx11) return (place){m / 2, n + 16 * (m % 2), op->op_sel & 4 ? 16 : 0};
    return (place){m % 8 / 2, n + 16 * (m / 8), 16 * (m % 2)};
}

static void wmma_16(emu_wave *w, const emu_op *op, element type, bool gfx11)
{
    ALIGNED matrix a, b, d;
    if (!operands_ok(w, op, 8, gfx11)) return;
    load_ab(w, op, type, type, gfx11, a, b);
    for (unsigned m = 0; m < 16; m++) {
        for (unsigned n = 0; n < 16; n++) {
            place p = place_of(op, gfx11, m, n);
            bool constant = op->src[2].kind != EMU_SRC_VGPR;
            uint32_t code = c_register(w, op, p.reg)[p.lane] >> (constant ? 0 : p.shift) & 0xffff;
            float c = type == ELEMENT_F16 ? emu_half_to_float(code) : emu_bf16_to_float(code);
            d[m][n] = c_modifiers(op, c);
        }
    }
    multiply(a, b, d, type != ELEMENT_BF16);
    bool saturate = w->mode & EMU_MODE_FP16_OVFL;
    for (unsigned m = 0; m < 16; m++) {
        for (unsigned n = 0; n < 16; n++) {
            place p = place_of(op, gfx11, m, n);
            uint32_t code = type == ELEMENT_F16 ? emu_float_to_half(d[m][n], EMU_ROUND_EVEN, saturate)
                                                : emu_float_to_bf16(d[m][n]);
            uint32_t *out = &w->vgpr[op->dst + p.reg][p.lane];
            *out = (*out & ~(0xffffu << p.shift)) | code << p.shift;
        }
    }
}

#define WMMA_16(name, type, gfx11)   \
    HANDLER(name)                    \
    {                                \
        wmma_16(w, op, type, gfx11); \
    }
WMMA_16(v_wmma_f16_16x16x16_f16, ELEMENT_F16, false)
WMMA_16(v_wmma_bf16_16x16x16_bf16, ELEMENT_BF16, false)
WMMA_16(v_wmma_f16_16x16x16_f16_gfx11, ELEMENT_F16, true)
WMMA_16(v_wmma_bf16_16x16x16_bf16_gfx11, ELEMENT_BF16, true)

/* ------------------------------------------------------------------ integers
 *
 * neg_lo bit 0: A is signed, bit 1: B is signed. */

static inline int32_t integer_code(const uint32_t (*v)[EMU_LANES], unsigned lane, unsigned k, unsigned bits,
                                   bool is_signed)
{
    unsigned per_reg = 32 / bits;
    uint32_t code = v[k / per_reg][lane] << (32 - bits - bits * (k % per_reg));
    return is_signed ? (int32_t)code >> (32 - bits) : (int32_t)(code >> (32 - bits));
}

static void wmma_int(emu_wave *w, const emu_op *op, unsigned bits, unsigned depth, bool gfx11)
{
    unsigned per_lane = gfx11 ? depth : depth / 2;
    if (!operands_ok(w, op, depth * bits / 32, gfx11)) return;
    ALIGNED uint32_t out[8][EMU_LANES];
    const uint32_t(*va)[EMU_LANES] = (const uint32_t(*)[EMU_LANES])w->vgpr[op->src[0].reg];
    const uint32_t(*vb)[EMU_LANES] = (const uint32_t(*)[EMU_LANES])w->vgpr[op->src[1].reg];
    for (unsigned r = 0; r < 8; r++) {
        for (unsigned l = 0; l < EMU_LANES; l++) {
            unsigned m = row_of(gfx11, r, l), n = l % 16;
            int64_t sum = (int32_t)c_register(w, op, r)[l];
            for (unsigned k = 0; k < depth; k++) {
                unsigned half = gfx11 ? 0 : 16 * (k / per_lane);
                sum += (int64_t)integer_code(va, m + half, k % per_lane, bits, op->neg_lo & 1) *
                       integer_code(vb, n + half, k % per_lane, bits, op->neg_lo & 2);
            }
            if (op->flags & EMU_OP_CLAMP)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            out[r][l] = (uint32_t)sum;
        }
    }
    for (unsigned r = 0; r < 8; r++) memcpy(w->vgpr[op->dst + r], out[r], sizeof(out[r]));
}

#define WMMA_INT(name, bits, depth, gfx11)   \
    HANDLER(name)                            \
    {                                        \
        wmma_int(w, op, bits, depth, gfx11); \
    }
WMMA_INT(v_wmma_i32_16x16x16_iu8, 8, 16, false)
WMMA_INT(v_wmma_i32_16x16x16_iu4, 4, 16, false)
WMMA_INT(v_wmma_i32_16x16x32_iu4, 4, 32, false)
WMMA_INT(v_wmma_i32_16x16x16_iu8_gfx11, 8, 16, true)
WMMA_INT(v_wmma_i32_16x16x16_iu4_gfx11, 4, 16, true)
