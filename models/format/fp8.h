/* FP8 e4m3 (OCP: no infinity, NaN is 0x7f and 0xff, largest value 448) and the 16-bit formats weights may
 * come in. */
#ifndef D4R_MODELS_FORMAT_FP8_H
#define D4R_MODELS_FORMAT_FP8_H

#include <stdbool.h>
#include <stdint.h>

#define D4R_E4M3_MAX 448.0f

float d4r_e4m3_to_float(uint8_t code);
/* Round to nearest even, saturating: infinities become +-448. NaN becomes 0x7f or 0xff. */
uint8_t d4r_float_to_e4m3(float value);
static inline bool d4r_e4m3_is_nan(uint8_t code)
{
    return (code & 0x7f) == 0x7f;
}
float d4r_half_to_float(uint16_t bits);
float d4r_bfloat_to_float(uint16_t bits);

#endif
