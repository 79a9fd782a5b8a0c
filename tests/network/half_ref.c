#include "tests/network/half_ref.h"

#include <math.h>

double half_ref_decode(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

uint16_t half_ref_encode(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value)) return 0x7e00;
    if (isinf(value)) return sign | 0x7c00;
    double size = fabs(value);
    if (size >= 65504.0) return sign | 0x7bff;
    int exponent = size > 0 ? ilogb(size) : -14;
    if (exponent < -14) exponent = -14;
    /* In units of the last place; nearbyint rounds to nearest even (the default mode). A carry into the next power of two
     * is the right code by itself. */
    int units = (int)nearbyint(ldexp(size, 10 - exponent));
    return (uint16_t)(sign | (units < 1024 ? units : (exponent + 14) * 1024 + units));
}

double half_ref_round(double value)
{
    return half_ref_decode(half_ref_encode(value));
}

half_comparison half_compare(const uint16_t *a, const uint16_t *b, size_t count, double tolerance)
{
    half_comparison c = {.count = count};
    double squares = 0, errors = 0;
    for (size_t i = 0; i < count; i++) {
        double x = half_ref_decode(a[i]);
        if (isfinite(x)) squares += x * x;
    }
    c.rms = count ? sqrt(squares / (double)count) : 0;
    for (size_t i = 0; i < count; i++) {
        double x = half_ref_decode(a[i]), y = half_ref_decode(b[i]);
        if (!isfinite(x) || !isfinite(y)) {
            c.nan++;
            continue;
        }
        if (x != y) c.different++;
        if (fabs(x - y) > tolerance * (fabs(x) + c.rms)) c.far++;
        errors += (x - y) * (x - y);
    }
    c.error_rms = count ? sqrt(errors / (double)count) : 0;
    return c;
}
