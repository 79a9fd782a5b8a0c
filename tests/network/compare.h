/* Comparison of two fields of FP8 codes. */
#ifndef D4R_TESTS_NETWORK_COMPARE_H
#define D4R_TESTS_NETWORK_COMPARE_H

#include <stddef.h>
#include <stdint.h>

typedef struct code_comparison {
    size_t count, different;
    size_t far; /* more than one step apart */
    size_t nan; /* NaN codes in `a` */
    double rms; /* of the finite values of `a` */
} code_comparison;

code_comparison compare_codes(const uint8_t *a, const uint8_t *b, size_t count);
/* Share of identical codes, in percent; NaN codes count as identical to each other. */
double compare_same_percent(const code_comparison *c);

#endif
