/* Preset M's entry points with nothing in them: what is left of a frame with these is the hand-off (bench_handoff). */
#include "hip_kernels/m_args.h"
#define EMPTY(name)                                     \
    extern "C" __global__ void d4r_##name(d4r_m_args a) \
    {                                                   \
        (void)a;                                        \
    }
EMPTY(block64)
EMPTY(merge_block96)
EMPTY(block96_expand)
EMPTY(merge_block128)
EMPTY(block128)
EMPTY(block128_expand)
