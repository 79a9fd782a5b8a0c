/* Vector compares. The result is a lane mask with zeros for inactive lanes; v_cmpx writes it to EXEC. */
#include "vector.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

uint32_t EX(lane_bits)(const uint32_t *words)
{
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    uint32_t low = _mm512_movepi32_mask(_mm512_loadu_si512(words));
    return low | (uint32_t)_mm512_movepi32_mask(_mm512_loadu_si512(words + 16)) << 16;
#else
    uint32_t r = 0;
    for (int i = 0; i < EMU_LANES; i += 4) {
        r |= (uint32_t)_mm_movemask_ps(_mm_loadu_ps((const float *)(const void *)(words + i))) << i;
    }
    return r;
#endif
}

static inline void finish(emu_wave *w, const emu_op *op, const uint32_t *r)
{
    set_sgpr(w, op->dst, EX(lane_bits)(r) & w->exec);
}

#define TRUTH(condition) ((condition) ? 0xffffffffu : 0)

/* The operands' declarations come last: they contain commas. */
#define COMPARE(name, condition, ...)              \
    HANDLER(name)                                  \
    {                                              \
        ALIGNED uint32_t r[EMU_LANES];             \
        __VA_ARGS__ LANES r[i] = TRUTH(condition); \
        finish(w, op, r);                          \
    }
#define BOTH(suffix, condition, ...)                \
    COMPARE(v_cmp_##suffix, condition, __VA_ARGS__) \
    COMPARE(v_cmpx_##suffix, condition, __VA_ARGS__)

/* ------------------------------------------------------------------ integers */

#define INT32_OPERANDS(type) SRC_A(type) SRC_B(type)
#define INTS(suffix, ...)                        \
    BOTH(lt_##suffix, a[i] < b[i], __VA_ARGS__)  \
    BOTH(eq_##suffix, a[i] == b[i], __VA_ARGS__) \
    BOTH(le_##suffix, a[i] <= b[i], __VA_ARGS__) \
    BOTH(gt_##suffix, a[i] > b[i], __VA_ARGS__)  \
    BOTH(ne_##suffix, a[i] != b[i], __VA_ARGS__) \
    BOTH(ge_##suffix, a[i] >= b[i], __VA_ARGS__)
#define CONSTANTS(suffix)     \
    BOTH(f_##suffix, false, ) \
    BOTH(t_##suffix, true, )
INTS(i32, INT32_OPERANDS(int32_t))
INTS(u32, INT32_OPERANDS(uint32_t))
CONSTANTS(i32)
CONSTANTS(u32)
CONSTANTS(i64)
CONSTANTS(u64)

#define SHORT_OPERANDS(type)                       \
    ALIGNED uint32_t wa[EMU_LANES], wb[EMU_LANES]; \
    ALIGNED type a[EMU_LANES], b[EMU_LANES];       \
    src16(w, op, 0, wa);                           \
    src16(w, op, 1, wb);                           \
    LANES a[i] = (type)wa[i];                      \
    LANES b[i] = (type)wb[i];
INTS(i16, SHORT_OPERANDS(int16_t))
INTS(u16, SHORT_OPERANDS(uint16_t))

#define LONG_OPERANDS(type)                        \
    ALIGNED uint64_t wa[EMU_LANES], wb[EMU_LANES]; \
    srcq(w, op, 0, wa);                            \
    srcq(w, op, 1, wb);                            \
    const type *a = (const type *)(const void *)wa, *b = (const type *)(const void *)wb;
INTS(i64, LONG_OPERANDS(int64_t))
INTS(u64, LONG_OPERANDS(uint64_t))

/* ------------------------------------------------------------------ floats */

#define FLOATS(suffix, ...)                                        \
    BOTH(lt_##suffix, a[i] < b[i], __VA_ARGS__)                    \
    BOTH(eq_##suffix, a[i] == b[i], __VA_ARGS__)                   \
    BOTH(le_##suffix, a[i] <= b[i], __VA_ARGS__)                   \
    BOTH(gt_##suffix, a[i] > b[i], __VA_ARGS__)                    \
    BOTH(lg_##suffix, a[i]<b[i] || a[i]> b[i], __VA_ARGS__)        \
    BOTH(ge_##suffix, a[i] >= b[i], __VA_ARGS__)                   \
    BOTH(o_##suffix, a[i] == a[i] && b[i] == b[i], __VA_ARGS__)    \
    BOTH(u_##suffix, a[i] != a[i] || b[i] != b[i], __VA_ARGS__)    \
    BOTH(nge_##suffix, !(a[i] >= b[i]), __VA_ARGS__)               \
    BOTH(nlg_##suffix, !(a[i] < b[i] || a[i] > b[i]), __VA_ARGS__) \
    BOTH(ngt_##suffix, !(a[i] > b[i]), __VA_ARGS__)                \
    BOTH(nle_##suffix, !(a[i] <= b[i]), __VA_ARGS__)               \
    BOTH(neq_##suffix, !(a[i] == b[i]), __VA_ARGS__)               \
    BOTH(nlt_##suffix, !(a[i] < b[i]), __VA_ARGS__)                \
    CONSTANTS(suffix)

#define FLOAT_OPERANDS const float *a = srcf(w, op, 0), *b = srcf(w, op, 1);
FLOATS(f32, FLOAT_OPERANDS)

#define HALF_OPERANDS                         \
    ALIGNED float a[EMU_LANES], b[EMU_LANES]; \
    EX(half_source)(w, op, 0, a);             \
    EX(half_source)(w, op, 1, b);
FLOATS(f16, HALF_OPERANDS)

#define DOUBLE_OPERANDS                        \
    ALIGNED double a[EMU_LANES], b[EMU_LANES]; \
    srcd(w, op, 0, a);                         \
    srcd(w, op, 1, b);
FLOATS(f64, DOUBLE_OPERANDS)

/* ------------------------------------------------------------------ classes */

#define CLASS_F32                                                       \
    const uint32_t *a = (const uint32_t *)(const void *)srcf(w, op, 0); \
    SRC_B(uint32_t)
BOTH(class_f32, class_f32(a[i]) & b[i], CLASS_F32)

#define CLASS_F16                                          \
    ALIGNED uint32_t a[EMU_LANES];                         \
    SRC_B(uint32_t)                                        \
    src16(w, op, 0, a);                                    \
    LANES                                                  \
    {                                                      \
        if (op->src[0].mods & EMU_MOD_ABS) a[i] &= 0x7fff; \
        if (op->src[0].mods & EMU_MOD_NEG) a[i] ^= 0x8000; \
    }
BOTH(class_f16, class_f16(a[i]) & b[i], CLASS_F16)

#define CLASS_F64                \
    ALIGNED double a[EMU_LANES]; \
    SRC_B(uint32_t)              \
    srcd(w, op, 0, a);
BOTH(class_f64, class_f64(as_u64(a[i])) & b[i], CLASS_F64)
