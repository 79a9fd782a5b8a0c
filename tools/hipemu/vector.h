/* Patterns of vector handlers: fetch sources, compute 32 lanes, store. x, y, z: the sources of one lane. */
#ifndef HIPEMU_VECTOR_H
#define HIPEMU_VECTOR_H

#include "fmath.h"

#define SRC_A(type) const type *a = (const type *)(const void *)src32(w, op, 0);
#define SRC_B(type) const type *b = (const type *)(const void *)src32(w, op, 1);
#define SRC_C(type) const type *c = (const type *)(const void *)src32(w, op, 2);

#define INT1(name, type, expression)       \
    HANDLER(name)                          \
    {                                      \
        SRC_A(type)                        \
        ALIGNED uint32_t r[EMU_LANES];     \
        LANES                              \
        {                                  \
            type x = a[i];                 \
            r[i] = (uint32_t)(expression); \
        }                                  \
        put32(w, op, r);                   \
    }
#define INT2(name, type, expression)       \
    HANDLER(name)                          \
    {                                      \
        SRC_A(type)                        \
        SRC_B(type)                        \
        ALIGNED uint32_t r[EMU_LANES];     \
        LANES                              \
        {                                  \
            type x = a[i], y = b[i];       \
            r[i] = (uint32_t)(expression); \
        }                                  \
        put32(w, op, r);                   \
    }
#define INT3(name, type, expression)           \
    HANDLER(name)                              \
    {                                          \
        SRC_A(type)                            \
        SRC_B(type)                            \
        SRC_C(type)                            \
        ALIGNED uint32_t r[EMU_LANES];         \
        LANES                                  \
        {                                      \
            type x = a[i], y = b[i], z = c[i]; \
            r[i] = (uint32_t)(expression);     \
        }                                      \
        put32(w, op, r);                       \
    }

#define FLOAT1(name, expression)         \
    HANDLER(name)                        \
    {                                    \
        const float *a = srcf(w, op, 0); \
        ALIGNED float r[EMU_LANES];      \
        LANES                            \
        {                                \
            float x = a[i];              \
            r[i] = (expression);         \
        }                                \
        putf(w, op, r);                  \
    }
#define FLOAT2(name, expression)                              \
    HANDLER(name)                                             \
    {                                                         \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1); \
        ALIGNED float r[EMU_LANES];                           \
        LANES                                                 \
        {                                                     \
            float x = a[i], y = b[i];                         \
            r[i] = (expression);                              \
        }                                                     \
        putf(w, op, r);                                       \
    }
#define FLOAT3(name, expression)                                                   \
    HANDLER(name)                                                                  \
    {                                                                              \
        const float *a = srcf(w, op, 0), *b = srcf(w, op, 1), *c = srcf(w, op, 2); \
        ALIGNED float r[EMU_LANES];                                                \
        LANES                                                                      \
        {                                                                          \
            float x = a[i], y = b[i], z = c[i];                                    \
            r[i] = (expression);                                                   \
        }                                                                          \
        putf(w, op, r);                                                            \
    }

/* 16-bit integers: halves by op_sel. */
#define SHORT1(name, type, expression)               \
    HANDLER(name)                                    \
    {                                                \
        ALIGNED uint32_t a[EMU_LANES], r[EMU_LANES]; \
        src16(w, op, 0, a);                          \
        LANES                                        \
        {                                            \
            type x = (type)a[i];                     \
            r[i] = (uint32_t)(expression)&0xffff;    \
        }                                            \
        put16(w, op, r);                             \
    }
#define SHORT2(name, type, expression)                             \
    HANDLER(name)                                                  \
    {                                                              \
        ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES], r[EMU_LANES]; \
        src16(w, op, 0, a);                                        \
        src16(w, op, 1, b);                                        \
        LANES                                                      \
        {                                                          \
            type x = (type)a[i], y = (type)b[i];                   \
            r[i] = (uint32_t)(expression)&0xffff;                  \
        }                                                          \
        put16(w, op, r);                                           \
    }
#define SHORT3(name, type, expression)                                           \
    HANDLER(name)                                                                \
    {                                                                            \
        ALIGNED uint32_t a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES]; \
        src16(w, op, 0, a);                                                      \
        src16(w, op, 1, b);                                                      \
        src16(w, op, 2, c);                                                      \
        LANES                                                                    \
        {                                                                        \
            type x = (type)a[i], y = (type)b[i], z = (type)c[i];                 \
            r[i] = (uint32_t)(expression)&0xffff;                                \
        }                                                                        \
        put16(w, op, r);                                                         \
    }

/* f16: halves as f32, result rounded once to f16. */
void EX(half_source)(emu_wave *w, const emu_op *op, int i, float out[EMU_LANES]);
void EX(half_result)(emu_wave *w, const emu_op *op, float r[EMU_LANES]);
/* Rounds 32 floats to f16 codes as MODE says, with omod and clamp. */
void EX(half_round)(emu_wave *w, const emu_op *op, const float r[EMU_LANES], uint32_t out[EMU_LANES]);
/* f16 codes to floats, flushing denormals if MODE says so. */
void EX(half_expand)(emu_wave *w, const uint32_t h[EMU_LANES], float out[EMU_LANES]);

#define HALF1(name, expression)                   \
    HANDLER(name)                                 \
    {                                             \
        ALIGNED float a[EMU_LANES], r[EMU_LANES]; \
        EX(half_source)(w, op, 0, a);             \
        LANES                                     \
        {                                         \
            float x = a[i];                       \
            r[i] = (expression);                  \
        }                                         \
        EX(half_result)(w, op, r);                \
    }
#define HALF2(name, expression)                                 \
    HANDLER(name)                                               \
    {                                                           \
        ALIGNED float a[EMU_LANES], b[EMU_LANES], r[EMU_LANES]; \
        EX(half_source)(w, op, 0, a);                           \
        EX(half_source)(w, op, 1, b);                           \
        LANES                                                   \
        {                                                       \
            float x = a[i], y = b[i];                           \
            r[i] = (expression);                                \
        }                                                       \
        EX(half_result)(w, op, r);                              \
    }
#define HALF3(name, expression)                                               \
    HANDLER(name)                                                             \
    {                                                                         \
        ALIGNED float a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], r[EMU_LANES]; \
        EX(half_source)(w, op, 0, a);                                         \
        EX(half_source)(w, op, 1, b);                                         \
        EX(half_source)(w, op, 2, c);                                         \
        LANES                                                                 \
        {                                                                     \
            float x = a[i], y = b[i], z = c[i];                               \
            r[i] = (expression);                                              \
        }                                                                     \
        EX(half_result)(w, op, r);                                            \
    }

#endif
