/* Vector integer ALU. */
#include "vector.h"

#define CLAMPED (op->flags & EMU_OP_CLAMP)

static inline uint32_t reverse(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}

static inline int32_t signed24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

static inline uint32_t umin(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
static inline uint32_t umax(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}
static inline int32_t imin(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
static inline int32_t imax(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ moves and bits */

INT1(v_mov_b32, uint32_t, x)
INT1(v_not_b32, uint32_t, ~x)
INT1(v_bfrev_b32, uint32_t, reverse(x))
INT1(v_clz_i32_u32, uint32_t, x ? __builtin_clz(x) : -1)
INT1(v_ctz_i32_b32, uint32_t, x ? __builtin_ctz(x) : -1)

static inline int sign_run(uint32_t x)
{
    uint32_t y = (int32_t)x < 0 ? ~x : x;
    return y ? __builtin_clz(y) : -1;
}
INT1(v_cls_i32, uint32_t, sign_run(x))
INT2(v_and_b32, uint32_t, x &y)
INT2(v_or_b32, uint32_t, x | y)
INT2(v_xor_b32, uint32_t, x ^ y)
INT2(v_xnor_b32, uint32_t, ~(x ^ y))
INT3(v_or3_b32, uint32_t, x | y | z)
INT3(v_xor3_b32, uint32_t, x ^ y ^ z)
INT3(v_and_or_b32, uint32_t, (x & y) | z)
INT3(v_bfi_b32, uint32_t, (x & y) | (~x & z))
INT2(v_bfm_b32, uint32_t, ((1u << (x & 31)) - 1) << (y & 31))
INT2(v_bcnt_u32_b32, uint32_t, (uint32_t)__builtin_popcount(x) + y)
INT2(v_mbcnt_lo_u32_b32, uint32_t, (uint32_t)__builtin_popcount(x &((1u << i) - 1)) + y)
INT2(v_mbcnt_hi_u32_b32, uint32_t, y + 0 * x) /* wave32: no lane is above 31 */

static inline uint32_t extract_u32(uint32_t x, uint32_t offset, uint32_t width)
{
    return (x >> (offset & 31)) & ((1u << (width & 31)) - 1);
}

static inline uint32_t extract_i32(uint32_t x, uint32_t offset, uint32_t width)
{
    offset &= 31;
    width &= 31;
    if (!width) return 0;
    if (offset + width >= 32) return (uint32_t)((int32_t)x >> offset);
    return (uint32_t)((int32_t)(x << (32 - offset - width)) >> (32 - width));
}
INT3(v_bfe_u32, uint32_t, extract_u32(x, y, z))
INT3(v_bfe_i32, uint32_t, extract_i32(x, y, z))
INT3(v_alignbit_b32, uint32_t, ((uint64_t)x << 32 | y) >> (z & 31))
INT3(v_alignbyte_b32, uint32_t, ((uint64_t)x << 32 | y) >> (8 * (z & 3)))

static inline uint32_t select_byte(uint64_t in, uint32_t selector)
{
    selector &= 0xff;
    if (selector >= 13) return 0xff;
    if (selector == 12) return 0;
    if (selector >= 8) return in >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    return in >> (8 * selector) & 0xff;
}

static inline uint32_t permute_bytes(uint32_t x, uint32_t y, uint32_t selectors)
{
    uint64_t in = (uint64_t)x << 32 | y;
    uint32_t r = 0;
    for (int b = 0; b < 4; b++) r |= select_byte(in, selectors >> (8 * b)) << (8 * b);
    return r;
}
INT3(v_perm_b32, uint32_t, permute_bytes(x, y, z))

static inline uint32_t lerp_bytes(uint32_t x, uint32_t y, uint32_t round)
{
    uint32_t r = 0;
    for (int b = 0; b < 32; b += 8) {
        r |= (((x >> b & 0xff) + (y >> b & 0xff) + (round >> b & 1)) >> 1) << b;
    }
    return r;
}
INT3(v_lerp_u8, uint32_t, lerp_bytes(x, y, z))

/* Sums of absolute differences of fields of `bits` bits; masked: fields that are zero in y do not count. */
static inline uint32_t sad(uint32_t x, uint32_t y, unsigned bits, bool masked)
{
    uint32_t sum = 0, mask = bits == 32 ? 0xffffffff : (1u << bits) - 1;
    for (unsigned b = 0; b < 32; b += bits) {
        uint32_t p = x >> b & mask, q = y >> b & mask;
        if (!masked || q) sum += p > q ? p - q : q - p;
    }
    return sum;
}
INT3(v_sad_u8, uint32_t, sad(x, y, 8, false) + z)
INT3(v_sad_hi_u8, uint32_t, (sad(x, y, 8, false) << 16) + z)
INT3(v_sad_u16, uint32_t, sad(x, y, 16, false) + z)
INT3(v_sad_u32, uint32_t, sad(x, y, 32, false) + z)
INT3(v_msad_u8, uint32_t, sad(x, y, 8, true) + z)

HANDLER(v_cndmask_b32)
{
    const uint32_t *a = (const uint32_t *)(const void *)srcf(w, op, 0);
    const uint32_t *b = (const uint32_t *)(const void *)srcf(w, op, 1);
    uint32_t mask = scalar32(w, &op->src[2]);
    ALIGNED uint32_t r[EMU_LANES];
    LANES r[i] = mask >> i & 1 ? b[i] : a[i];
    put32(w, op, r);
}

HANDLER(v_swap_b32)
{
    ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES];
    uint32_t *source = w->vgpr[op->src[0].reg];
    memcpy(a, source, sizeof(a));
    memcpy(b, w->vgpr[op->dst], sizeof(b));
    store_lanes(w, source, b);
    put32(w, op, a);
}

static bool relative_vgpr(emu_wave *w, const emu_op *op, unsigned base, unsigned *reg)
{
    *reg = base + w->sgpr[EMU_S_M0];
    if (*reg < EMU_VGPRS) return true;
    emu_raise(w, op, EMU_FAULT_UNKNOWN_INSTRUCTION, EMU_LANES, *reg, 4, false);
    return false;
}

HANDLER(v_movrels_b32)
{
    unsigned reg;
    ALIGNED uint32_t r[EMU_LANES];
    if (!relative_vgpr(w, op, op->src[0].reg, &reg)) return;
    memcpy(r, w->vgpr[reg], sizeof(r));
    put32(w, op, r);
}

HANDLER(v_movreld_b32)
{
    unsigned reg;
    ALIGNED uint32_t r[EMU_LANES];
    if (!relative_vgpr(w, op, op->dst, &reg)) return;
    memcpy(r, src32(w, op, 0), sizeof(r));
    store_lanes(w, w->vgpr[reg], r);
}

/* ------------------------------------------------------------------ shifts */

INT2(v_lshlrev_b32, uint32_t, y << (x & 31))
INT2(v_lshrrev_b32, uint32_t, y >> (x & 31))
INT2(v_ashrrev_i32, uint32_t, (int32_t)y >> (x & 31))
INT3(v_lshl_add_u32, uint32_t, (x << (y & 31)) + z)
INT3(v_add_lshl_u32, uint32_t, (x + y) << (z & 31))
INT3(v_lshl_or_b32, uint32_t, (x << (y & 31)) | z)

#define SHIFT64(name, expression)                    \
    HANDLER(name)                                    \
    {                                                \
        const uint32_t *a = src32(w, op, 0);         \
        ALIGNED uint64_t b[EMU_LANES], r[EMU_LANES]; \
        srcq(w, op, 1, b);                           \
        LANES                                        \
        {                                            \
            uint32_t x = a[i] & 63;                  \
            uint64_t y = b[i];                       \
            r[i] = (uint64_t)(expression);           \
        }                                            \
        put64(w, op, r);                             \
    }
SHIFT64(v_lshlrev_b64, y << x)
SHIFT64(v_lshrrev_b64, y >> x)
SHIFT64(v_ashrrev_i64, (int64_t)y >> x)

/* ------------------------------------------------------------------ add, subtract */

static inline uint32_t add_u32(uint32_t x, uint32_t y, bool clamp)
{
    uint32_t r = x + y;
    return clamp && r < x ? 0xffffffff : r;
}

static inline uint32_t sub_u32(uint32_t x, uint32_t y, bool clamp)
{
    return clamp && y > x ? 0 : x - y;
}

static inline uint32_t saturate_i32(int64_t v, bool clamp)
{
    if (clamp && v > INT32_MAX) return 0x7fffffff;
    if (clamp && v < INT32_MIN) return 0x80000000;
    return (uint32_t)v;
}
INT2(v_add_nc_u32, uint32_t, add_u32(x, y, CLAMPED))
INT2(v_sub_nc_u32, uint32_t, sub_u32(x, y, CLAMPED))
INT2(v_subrev_nc_u32, uint32_t, sub_u32(y, x, CLAMPED))
INT2(v_add_nc_i32, int32_t, saturate_i32((int64_t)x + y, CLAMPED))
INT2(v_sub_nc_i32, int32_t, saturate_i32((int64_t)x - y, CLAMPED))
INT3(v_add3_u32, uint32_t, x + y + z)
INT3(v_xad_u32, uint32_t, (x ^ y) + z)

/* Carry in and out as lane masks. Inactive lanes' carry is 0. */
#define CARRY(name, has_carry_in, expression, carry_out)                                                \
    HANDLER(name)                                                                                       \
    {                                                                                                   \
        SRC_A(uint32_t)                                                                                 \
        SRC_B(uint32_t)                                                                                 \
        uint32_t mask = has_carry_in ? scalar32(w, &op->src[2]) : 0, out = 0;                           \
        ALIGNED uint32_t r[EMU_LANES];                                                                  \
        LANES                                                                                           \
        {                                                                                               \
            uint32_t x = a[i], y = b[i], carry = mask >> i & 1;                                         \
            r[i] = (expression);                                                                        \
            bool c = (carry_out);                                                                       \
            out |= (uint32_t)c << i;                                                                    \
            if (CLAMPED && c) r[i] = (expression) > x || (uint64_t)x + y > 0xffffffff ? 0xffffffff : 0; \
        }                                                                                               \
        put32(w, op, r);                                                                                \
        set_sgpr(w, op->sdst, out & w->exec);                                                           \
    }
CARRY(v_add_co_u32, false, x + y + carry, (uint64_t)x + y > 0xffffffff)
CARRY(v_sub_co_u32, false, x - y - carry, y > x)
CARRY(v_subrev_co_u32, false, y - x - carry, x > y)
CARRY(v_add_co_ci_u32, true, x + y + carry, (uint64_t)x + y + carry > 0xffffffff)
CARRY(v_sub_co_ci_u32, true, x - y - carry, (uint64_t)y + carry > x)
CARRY(v_subrev_co_ci_u32, true, y - x - carry, (uint64_t)x + carry > y)

/* ------------------------------------------------------------------ multiply */

INT2(v_mul_i32_i24, uint32_t, (int64_t)signed24(x) * signed24(y))
INT2(v_mul_hi_i32_i24, uint32_t, (int64_t)signed24(x) * signed24(y) >> 32)
INT2(v_mul_u32_u24, uint32_t, (x & 0xffffff) * (y & 0xffffff))
INT2(v_mul_hi_u32_u24, uint32_t, (uint64_t)(x & 0xffffff) * (y & 0xffffff) >> 32)
INT2(v_mul_lo_u32, uint32_t, x *y)
INT2(v_mul_hi_u32, uint32_t, (uint64_t)x *y >> 32)
INT2(v_mul_hi_i32, int32_t, (int64_t)x *y >> 32)

static inline uint32_t mad_i24(uint32_t x, uint32_t y, uint32_t z, bool clamp)
{
    return saturate_i32((int64_t)signed24(x) * signed24(y) + (int32_t)z, clamp);
}

static inline uint32_t saturate_u32(uint64_t v, bool clamp)
{
    return clamp && v > 0xffffffff ? 0xffffffff : (uint32_t)v;
}
INT3(v_mad_i32_i24, uint32_t, mad_i24(x, y, z, CLAMPED))
INT3(v_mad_u32_u24, uint32_t, saturate_u32((uint64_t)(x & 0xffffff) * (y & 0xffffff) + z, CLAMPED))

HANDLER(v_mad_u64_u32)
{
    SRC_A(uint32_t)
    SRC_B(uint32_t)
    ALIGNED uint64_t c[EMU_LANES], r[EMU_LANES];
    uint32_t out = 0;
    srcq(w, op, 2, c);
    LANES
    {
        r[i] = (uint64_t)a[i] * b[i] + c[i];
        out |= (uint32_t)(r[i] < c[i]) << i;
    }
    put64(w, op, r);
    set_sgpr(w, op->sdst, out & w->exec);
}

HANDLER(v_mad_i64_i32)
{
    SRC_A(int32_t)
    SRC_B(int32_t)
    ALIGNED uint64_t c[EMU_LANES], r[EMU_LANES];
    uint32_t out = 0;
    srcq(w, op, 2, c);
    LANES
    {
        int64_t sum;
        bool overflow = __builtin_add_overflow((int64_t)a[i] * b[i], (int64_t)c[i], &sum);
        r[i] = (uint64_t)sum;
        out |= (uint32_t)overflow << i;
    }
    put64(w, op, r);
    set_sgpr(w, op->sdst, out & w->exec);
}

/* ------------------------------------------------------------------ minimum, maximum */

INT2(v_min_u32, uint32_t, umin(x, y))
INT2(v_max_u32, uint32_t, umax(x, y))
INT2(v_min_i32, int32_t, imin(x, y))
INT2(v_max_i32, int32_t, imax(x, y))
INT3(v_min3_u32, uint32_t, umin(umin(x, y), z))
INT3(v_max3_u32, uint32_t, umax(umax(x, y), z))
INT3(v_med3_u32, uint32_t, umax(umin(x, y), umin(umax(x, y), z)))
INT3(v_min3_i32, int32_t, imin(imin(x, y), z))
INT3(v_max3_i32, int32_t, imax(imax(x, y), z))
INT3(v_med3_i32, int32_t, imax(imin(x, y), imin(imax(x, y), z)))
INT3(v_minmax_u32, uint32_t, umax(umin(x, y), z))
INT3(v_maxmin_u32, uint32_t, umin(umax(x, y), z))
INT3(v_minmax_i32, int32_t, imax(imin(x, y), z))
INT3(v_maxmin_i32, int32_t, imin(imax(x, y), z))

/* ------------------------------------------------------------------ 16 bits */

static inline uint32_t saturate_u16(int32_t v, bool clamp)
{
    if (clamp && v > 0xffff) return 0xffff;
    if (clamp && v < 0) return 0;
    return (uint32_t)v & 0xffff;
}

static inline uint32_t saturate_i16(int64_t v, bool clamp)
{
    if (clamp && v > 32767) return 0x7fff;
    if (clamp && v < -32768) return 0x8000;
    return (uint32_t)v & 0xffff;
}
SHORT1(v_mov_b16, uint16_t, x)
SHORT1(v_not_b16, uint16_t, ~x)
SHORT2(v_and_b16, uint16_t, x &y)
SHORT2(v_or_b16, uint16_t, x | y)
SHORT2(v_xor_b16, uint16_t, x ^ y)
SHORT2(v_lshlrev_b16, uint16_t, (uint32_t)y << (x & 15))
SHORT2(v_lshrrev_b16, uint16_t, y >> (x & 15))
SHORT2(v_ashrrev_i16, int16_t, y >> (x & 15))
SHORT2(v_add_nc_u16, uint16_t, saturate_u16(x + y, CLAMPED))
SHORT2(v_sub_nc_u16, uint16_t, saturate_u16(x - y, CLAMPED))
SHORT2(v_add_nc_i16, int16_t, saturate_i16(x + y, CLAMPED))
SHORT2(v_sub_nc_i16, int16_t, saturate_i16(x - y, CLAMPED))
SHORT2(v_mul_lo_u16, uint16_t, (uint32_t)x *y)
SHORT2(v_min_u16, uint16_t, x < y ? x : y)
SHORT2(v_max_u16, uint16_t, x > y ? x : y)
SHORT2(v_min_i16, int16_t, x < y ? x : y)
SHORT2(v_max_i16, int16_t, x > y ? x : y)
SHORT3(v_min3_u16, uint16_t, umin(umin(x, y), z))
SHORT3(v_max3_u16, uint16_t, umax(umax(x, y), z))
SHORT3(v_med3_u16, uint16_t, umax(umin(x, y), umin(umax(x, y), z)))
SHORT3(v_min3_i16, int16_t, imin(imin(x, y), z))
SHORT3(v_max3_i16, int16_t, imax(imax(x, y), z))
SHORT3(v_med3_i16, int16_t, imax(imin(x, y), imin(imax(x, y), z)))

static inline uint32_t mad_u16(uint32_t x, uint32_t y, uint32_t z, bool clamp)
{
    uint64_t v = (uint64_t)x * y + z;
    return clamp && v > 0xffff ? 0xffff : (uint32_t)v & 0xffff;
}
SHORT3(v_mad_u16, uint16_t, mad_u16(x, y, z, CLAMPED))
SHORT3(v_mad_i16, int16_t, saturate_i16((int64_t)x *y + z, CLAMPED))

HANDLER(v_cndmask_b16)
{
    ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES], r[EMU_LANES];
    uint32_t mask = scalar32(w, &op->src[2]);
    src16(w, op, 0, a);
    src16(w, op, 1, b);
    uint32_t keep0 = op->src[0].mods & EMU_MOD_ABS ? 0x7fff : 0xffff;
    uint32_t flip0 = op->src[0].mods & EMU_MOD_NEG ? 0x8000 : 0;
    uint32_t keep1 = op->src[1].mods & EMU_MOD_ABS ? 0x7fff : 0xffff;
    uint32_t flip1 = op->src[1].mods & EMU_MOD_NEG ? 0x8000 : 0;
    LANES r[i] = mask >> i & 1 ? (b[i] & keep1) ^ flip1 : (a[i] & keep0) ^ flip0;
    put16(w, op, r);
}

/* 16-bit factors, 32-bit addend. */
#define MAD_WIDE(name, type, wide, finish)                         \
    HANDLER(name)                                                  \
    {                                                              \
        ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES], r[EMU_LANES]; \
        src16(w, op, 0, a);                                        \
        src16(w, op, 1, b);                                        \
        SRC_C(uint32_t)                                            \
        LANES                                                      \
        {                                                          \
            wide v = (wide)(type)a[i] * (type)b[i];                \
            r[i] = finish;                                         \
        }                                                          \
        put32(w, op, r);                                           \
    }
MAD_WIDE(v_mad_u32_u16, uint16_t, int64_t, saturate_u32((uint64_t)v + c[i], CLAMPED))
MAD_WIDE(v_mad_i32_i16, int16_t, int64_t, saturate_i32(v + (int32_t)c[i], CLAMPED))

static inline uint32_t clamp_u8(uint32_t v)
{
    int32_t s = (int16_t)v;
    return s < 0 ? 0 : s > 255 ? 255 : (uint32_t)s;
}

HANDLER(v_sat_pk_u8_i16)
{
    SRC_A(uint32_t)
    ALIGNED uint32_t r[EMU_LANES];
    LANES r[i] = clamp_u8(a[i]) | clamp_u8(a[i] >> 16) << 8;
    put16(w, op, r);
}
