/* Runs tile_nv.h on the CPU: 32 lanes as fibres of one thread, in lockstep at every operation of the whole warp.
 *
 * A lane puts its operands into its slot, gives way until all lanes have done the same, and then computes its own part
 * from everybody's slots. Two sets of slots alternate, so one meeting an operation is enough. */
#ifndef D4R_TESTS_TILE_NV_LOCKSTEP_H
#define D4R_TESTS_TILE_NV_LOCKSTEP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define D4R_TILE_NV_HOST
#define __device__
#define __forceinline__ inline __attribute__((always_inline, unused))

typedef struct uint4 {
    uint32_t x, y, z, w;
} uint4;
typedef struct uint2 {
    uint32_t x, y;
} uint2;
typedef struct float4 {
    float x, y, z, w;
} float4;
typedef struct dim {
    unsigned x;
} dim;

extern dim threadIdx; /* of the lane that runs */

/* One operand set of a lane. */
typedef struct slot {
    uint32_t a[4], b[2];
    float f;
    int i;
} slot;
/* The slot of this lane for the next operation, the meeting, and anybody's slot afterwards. */
slot *warp_slot(void);
void warp_meet(void);
const slot *warp_other(int lane);

typedef void (*warp_fn)(void *user);
/* Runs fn on all lanes of one warp; of up to four warps of a block, which then meet at every warp's operations. */
void warp_run(warp_fn fn, void *user);
void warps_run(unsigned warps, warp_fn fn, void *user);

#define __ldg(p) (*(p))
#define __syncthreads() warp_meet()
#define __int_as_float(i) lockstep_float(i)
static inline float lockstep_float(int bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline float tile_larger(float a, float b)
{
    return a != a || a > b ? a : b;
}
static inline void tile_copy_16(unsigned char *to, const unsigned char *from)
{
    memcpy(to, from, 16);
}
#define tile_copies_end() warp_meet()
#define rsqrtf(x) (1.0f / sqrtf(x))
#define __frcp_rn(x) (1.0f / (x))

static inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
    uint32_t bits = 0;
    (void)mask;
    warp_slot()->i = predicate != 0;
    warp_meet();
    for (int lane = 0; lane < 32; lane++) bits |= (uint32_t)warp_other(lane)->i << lane;
    return bits;
}
static inline float __shfl_xor_sync(uint32_t mask, float x, int distance)
{
    (void)mask;
    warp_slot()->f = x;
    warp_meet();
    return warp_other((int)(threadIdx.x & 31) ^ distance)->f;
}

/* The GPU's own instructions, by their definition. */
uint32_t tile_codes(float a, float b);
uint32_t tile_codes_to_halves(uint32_t codes);
uint32_t tile_half_pair(float a, float b);
float tile_half_low(uint32_t halves);
float tile_half_high(uint32_t halves);
void tile_mma(float *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1);
static inline uint32_t tile_round_pair(float a, float b)
{
    return tile_codes_to_halves(tile_codes(a, b));
}
static inline float tile_exp2(float x)
{
    return exp2f(x);
}

#endif
