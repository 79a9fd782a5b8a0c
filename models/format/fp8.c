#include "models/format/fp8.h"

#include <math.h>
#include <string.h>

static float bits_to_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float d4r_e4m3_to_float(uint8_t code)
{
    uint32_t sign = (uint32_t)(code & 0x80) << 24;
    uint32_t exponent = (code >> 3) & 15, mantissa = code & 7;
    if (d4r_e4m3_is_nan(code)) return bits_to_float(sign | 0x7fc00000u);
    if (exponent == 0) {
        float value = (float)mantissa * 0x1p-9f;
        return sign ? -value : value;
    }
    return bits_to_float(sign | (exponent + 120) << 23 | mantissa << 20);
}

uint8_t d4r_float_to_e4m3(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7f;
    float magnitude = bits_to_float(bits);
    if (magnitude >= D4R_E4M3_MAX) return sign | 0x7e;
    if (magnitude < 0x1p-6f) {
        /* Subnormal: steps of 2^-9. A carry into 8 is the smallest normal code, which is what it should be.
         */
        float scaled = magnitude * 512.0f;
        uint32_t step = (uint32_t)scaled;
        float rest = scaled - (float)step;
        if (rest > 0.5f || (rest == 0.5f && (step & 1))) step++;
        return sign | (uint8_t)step;
    }
    bits += 0x7ffffu + (bits >> 20 & 1);
    return sign | (uint8_t)((bits >> 20) - (120u << 3));
}

float d4r_half_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 31) return bits_to_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

float d4r_bfloat_to_float(uint16_t bits)
{
    return bits_to_float((uint32_t)bits << 16);
}
