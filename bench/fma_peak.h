/* What this machine's cores reach with f32 multiply-adds in registers alone. */
#ifndef D4R_BENCH_FMA_PEAK_H
#define D4R_BENCH_FMA_PEAK_H

#include <stdint.h>

/* Multiply-adds a second, in 1e9, of `threads` threads together: the best vector width that the CPU has
 * (AVX-512, AVX2 + FMA, else the compiler's baseline), independent chains, the best of several slices within
 * `seconds`. */
double fma_peak_gmac(uint32_t threads, double seconds);

#endif
