/* IEEE binary16 <-> binary32, round to nearest even. */
#ifndef D4R_RUNTIME_CLI_HALF_H
#define D4R_RUNTIME_CLI_HALF_H

#include <stdint.h>
#include <string.h>

static inline float cli_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31, mantissa = half & 1023u,
             bits;
    float value;
    if (exponent == 0) {
        value = (float)mantissa * 0x1p-24f;
        memcpy(&bits, &value, 4);
        bits |= sign;
    } else if (exponent == 31) {
        bits = sign | 0x7f800000u | mantissa << 13;
    } else {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    }
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint16_t cli_float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u); /* NaN */
    if (magnitude >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u); /* rounds to 65536 or beyond, or infinite */
    if (magnitude < 0x38800000u) {         /* subnormal in binary16 */
        float scaled, size;
        memcpy(&size, &magnitude, 4);
        scaled = size * 0x1p24f + 0x1p23f; /* the addition rounds to an integer, ties to even */
        memcpy(&magnitude, &scaled, 4);
        return (uint16_t)(sign | (magnitude & 0x7fffffu));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

#endif
