/* Every conformance kernel once: X(kernel, file, input a, input b, words a work-item writes (0: 64 words in all),
 * work-items, workgroup, comparison, tolerance, first class). */
#define CONFORMANCE_CASES(X)                                                             \
    X(int_arithmetic, integer, RANDOM, RANDOM, 16, 4096, 64, EXACT, 0, 11)               \
    X(int_wide, integer, RANDOM, RANDOM, 24, 2048, 64, EXACT, 0, 11)                     \
    X(int_fields, integer, RANDOM, RANDOM, 12, 4096, 128, EXACT, 0, 11)                  \
    X(int_narrow, integer, RANDOM, RANDOM, 12, 4096, 64, EXACT, 0, 11)                   \
    X(int_memory, integer, RANDOM, RANDOM, 12, 4096, 64, EXACT, 0, 11)                   \
    X(float_arithmetic, floating, FLOATS, FLOATS, 16, DENSE, 256, F32, 0, 11)            \
    X(float_rounding, floating, FLOATS, FLOATS, 12, DENSE, 64, F32, 0, 11)               \
    X(float_compare, floating, FLOATS, FLOATS, 2, DENSE, 64, EXACT, 0, 11)               \
    X(float_convert, floating, FLOATS, RANDOM, 12, DENSE, 64, EXACT, 0, 11)              \
    X(double_arithmetic, floating, FLOATS, FLOATS, 20, DENSE, 64, F64, 0, 11)            \
    X(float_approximate, floating, MODERATE, MODERATE, 6, DENSE, 64, RELATIVE, 3e-7, 11) \
    X(half_from_float, half, HALF_EDGES, FLOATS, 3, DENSE, 64, F16, 0, 11)               \
    X(half_all, half, COUNT, COUNT, 6, 65536, 256, HALF_ALL, 0, 11)                      \
    X(half_arithmetic, half, HALVES, HALVES, 6, DENSE, 64, F16, 0, 11)                   \
    X(half_packed, half, HALVES, HALVES, 6, DENSE, 64, F16, 0, 11)                       \
    X(half_mixed, half, HALVES, HALVES, 4, DENSE, 64, MIXED, 0, 11)                      \
    X(fp8_decode, fp8, COUNT, COUNT, 12, 256, 64, F32, 0, 12)                            \
    X(fp8_encode, fp8, FP8_EDGES, FLOATS, 2, DENSE, 64, EXACT, 0, 12)                    \
    X(fp8_saturate, fp8, FP8_EDGES, FLOATS, 3, DENSE, 64, EXACT, 0, 12)                  \
    X(cross_permute, cross, RANDOM, RANDOM, 10, 1024, 128, EXACT, 0, 11)                 \
    X(cross_dpp, cross, RANDOM, RANDOM, 12, 1024, 64, F32, 0, 11)                        \
    X(cross_partial, cross, RANDOM, RANDOM, 2, 1024, 64, EXACT, 0, 11)                   \
    X(lds_reduce, lds, RANDOM, RANDOM, 2, 1024, 256, EXACT, 0, 11)                       \
    X(lds_widths, lds, RANDOM, RANDOM, 12, 1024, 256, EXACT, 0, 11)                      \
    X(lds_atomics, lds, RANDOM, RANDOM, 5, 1024, 256, EXACT, 0, 11)                      \
    X(lds_pingpong, lds, RANDOM, RANDOM, 1, 1024, 64, EXACT, 0, 11)                      \
    X(flow_loops, flow, RANDOM, RANDOM, 2, 1024, 64, EXACT, 0, 11)                       \
    X(flow_switch, flow, RANDOM, RANDOM, 1, 4096, 64, EXACT, 0, 11)                      \
    X(flow_calls, flow, RANDOM, RANDOM, 1, 1024, 64, EXACT, 0, 11)                       \
    X(flow_scratch, flow, RANDOM, RANDOM, 2, 512, 64, EXACT, 0, 11)                      \
    X(flow_atomics, flow, RANDOM, RANDOM, 0, 1024, 64, EXACT, 0, 11)                     \
    X(wmma_f16_exact, wmma, RANDOM, RANDOM, 8, 256, 32, EXACT, 0, 11)                    \
    X(wmma_f16_random, wmma, RANDOM, RANDOM, 8, 256, 32, ABSOLUTE, 2e-5, 11)             \
    WMMA_FP8_CASES(X)

/* Sums of 17 terms: at most 17 * 2^-24 of the largest possible sum (17; 16 * 448^2 + 8) apart for any order. */
#if HIPEMU_CLASS == 12
#define WMMA_FP8_CASES(X)                                             \
    X(wmma_fp8_exact, wmma, RANDOM, RANDOM, 8, 256, 32, EXACT, 0, 12) \
    X(wmma_fp8_random, wmma, RANDOM, RANDOM, 8, 256, 32, ABSOLUTE, 3.3, 12)
#else
#define WMMA_FP8_CASES(X)
#endif
