/* Reference arithmetic that shares nothing with the emulator: exact values in __float128, rounded once. */
#ifndef HIPEMU_NUMBERS_H
#define HIPEMU_NUMBERS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef __float128 exact;

typedef struct format {
    int mantissa, bias, exponent_bits;
} format;

static const format format_f32 = {23, 127, 8}, format_f16 = {10, 15, 5};

static inline float bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* 2^n by repeated multiplication: exact in __float128 over the range used here. */
static inline exact power(int n)
{
    exact r = 1;
    for (; n > 0; n--) r *= 2;
    for (; n < 0; n++) r /= 2;
    return r;
}

/* The value of a code of a format; infinities and NaN are the caller's business. */
static inline exact value_of(uint32_t code, format f)
{
    uint32_t fraction = code & ((1u << f.mantissa) - 1),
             e = code >> f.mantissa & ((1u << f.exponent_bits) - 1);
    bool negative = code >> (f.mantissa + f.exponent_bits) & 1;
    exact v = e ? ((exact)(int)(fraction | 1u << f.mantissa)) * power((int)e - f.bias - f.mantissa)
                : (exact)(int)fraction * power(1 - f.bias - f.mantissa);
    return negative ? -v : v;
}

static inline bool is_special(uint32_t code, format f)
{
    return (code >> f.mantissa & ((1u << f.exponent_bits) - 1)) == (1u << f.exponent_bits) - 1;
}

/* Rounds by searching the neighbours: modes 0 even, 1 up, 2 down, 3 to zero. negative_zero: sign of a zero sum. */
static inline uint32_t round_to(exact v, format f, unsigned mode, bool negative_zero)
{
    uint32_t sign = v < 0 || (v == 0 && negative_zero) ? 1u << (f.mantissa + f.exponent_bits) : 0;
    exact m = v < 0 ? -v : v;
    uint32_t low = 0, high = ((1u << f.exponent_bits) - 1) << f.mantissa; /* infinity's code */
    exact limit = power((1 << f.exponent_bits) - 1 - f.bias); /* what would follow the largest number */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (value_of(middle, f) <= m) {
            low = middle;
        } else {
            high = middle;
        }
    }
    exact below = value_of(low, f), above = is_special(high, f) ? limit : value_of(high, f);
    if (m == below) return sign | low;
    bool up = false;
    switch (mode) {
    case 0:
        up = m - below > above - m || (m - below == above - m && (low & 1));
        break;
    case 1:
        up = !sign;
        break;
    case 2:
        up = sign != 0;
        break;
    default:
        break;
    }
    return sign | (up ? high : low);
}

/* A denormal code becomes a zero of its sign. */
static inline uint32_t flush_code(uint32_t code, format f)
{
    uint32_t magnitude = code & ((1u << (f.mantissa + f.exponent_bits)) - 1);
    return magnitude < 1u << f.mantissa ? code - magnitude : code;
}

#endif
