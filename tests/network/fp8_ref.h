/* FP8 e4m3 (OCP: no infinities, S.1111.111 is NaN) in double precision, one value at a time. */
#ifndef D4R_TESTS_NETWORK_FP8_REF_H
#define D4R_TESTS_NETWORK_FP8_REF_H

#include <stdint.h>

double fp8_ref_decode(uint8_t code);
/* Nearest even, saturating at 448, infinities too; NaN gives 0x7f or 0xff. The sign of zero is kept. */
uint8_t fp8_ref_encode(double value);
static inline double fp8_ref_round(double value)
{
    return fp8_ref_decode(fp8_ref_encode(value));
}
/* True when both are NaN codes or the codes are equal. */
static inline int fp8_ref_same(uint8_t a, uint8_t b)
{
    return a == b || ((a & 0x7f) == 0x7f && (b & 0x7f) == 0x7f);
}

#endif
