#include "tests/network/compare.h"

#include <math.h>
#include <stdlib.h>
#include "tests/network/fp8_ref.h"

/* Codes in the order of their values. */
static int rank(uint8_t code)
{
    return code & 0x80 ? -(code & 0x7f) : code;
}

code_comparison compare_codes(const uint8_t *a, const uint8_t *b, size_t count)
{
    code_comparison c = {.count = count};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double v = fp8_ref_decode(a[i]);
        if (isnan(v))
            c.nan++;
        else
            squares += v * v;
        if (fp8_ref_same(a[i], b[i])) continue;
        c.different++;
        if (abs(rank(a[i]) - rank(b[i])) > 1) c.far++;
    }
    c.rms = count > c.nan ? sqrt(squares / (double)(count - c.nan)) : 0;
    return c;
}

double compare_same_percent(const code_comparison *c)
{
    return c->count ? 100.0 * (double)(c->count - c->different) / (double)c->count : 100.0;
}
