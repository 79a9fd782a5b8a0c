/* f16 in double precision: the truth that implementations are compared with. */
#ifndef D4R_TESTS_NETWORK_HALF_REF_H
#define D4R_TESTS_NETWORK_HALF_REF_H

#include <stddef.h>
#include <stdint.h>

double half_ref_decode(uint16_t bits);
/* Nearest even, finite values saturate at 65504; NaN gives 0x7e00, infinities stay. */
uint16_t half_ref_encode(double value);
double half_ref_round(double value);

typedef struct half_comparison {
    size_t count, different; /* values that are not equal; zeros of either sign are */
    size_t far;              /* differ by more than the tolerance given */
    size_t nan;              /* NaN or infinity in either */
    double rms, error_rms;   /* of a's finite values; of the differences */
} half_comparison;

/* A difference is far when it exceeds tolerance * (|a| + typical), typical: the rms of a. */
half_comparison half_compare(const uint16_t *a, const uint16_t *b, size_t count, double tolerance);

#endif
