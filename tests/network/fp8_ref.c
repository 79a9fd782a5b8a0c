#include "tests/network/fp8_ref.h"

#include <math.h>

double fp8_ref_decode(uint8_t code)
{
    int exponent = code >> 3 & 15, fraction = code & 7;
    double value;
    if ((code & 0x7f) == 0x7f)
        value = NAN;
    else if (exponent == 0)
        value = ldexp(fraction, -9);
    else
        value = ldexp(8 + fraction, exponent - 10);
    return code & 0x80 ? -value : value;
}

uint8_t fp8_ref_encode(double value)
{
    uint8_t sign = signbit(value) ? 0x80 : 0;
    if (isnan(value)) return sign | 0x7f;
    double size = fabs(value);
    if (size >= 448.0) return sign | 0x7e;
    int exponent = size > 0 ? ilogb(size) : -6;
    if (exponent < -6) exponent = -6;
    /* In units of the last place; nearbyint rounds to nearest even (the default mode). */
    int units = (int)nearbyint(ldexp(size, 3 - exponent));
    if (units == 16) {
        units = 8;
        exponent++;
    }
    /* exponent + 7 is the stored exponent of a normal value (units >= 8); units < 8 is a subnormal. */
    int code = units < 8 ? units : (exponent + 7) * 8 + units - 8;
    return (uint8_t)(sign | code);
}
