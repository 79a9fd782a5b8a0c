#include "tests/tile_nv/lockstep.h"

#include <stdlib.h>
#include <ucontext.h>
#include "tests/network/fp8_ref.h"
#include "tests/network/half_ref.h"

enum { WARP = 32, MAX_LANES = 4 * WARP, STACK = 256 * 1024 };

dim threadIdx;
static ucontext_t lanes[MAX_LANES], home;
static slot slots[2][MAX_LANES];
static int parity[MAX_LANES];
static unsigned finished, lane_count;
static warp_fn running;
static void *running_user;

slot *warp_slot(void)
{
    return &slots[parity[threadIdx.x]][threadIdx.x];
}

static void go(unsigned from, unsigned to)
{
    threadIdx.x = to;
    swapcontext(&lanes[from], &lanes[to]);
}

/* Lanes run in turn, each up to the next meeting: when lane 0 has its turn again, all have arrived. */
void warp_meet(void)
{
    unsigned self = threadIdx.x;
    parity[self] ^= 1;
    go(self, (self + 1) % lane_count);
}

const slot *warp_other(int lane)
{
    return &slots[parity[threadIdx.x] ^ 1][threadIdx.x / WARP * WARP + (unsigned)lane];
}

static void lane_main(void)
{
    unsigned self = threadIdx.x;
    running(running_user);
    finished++;
    if (self + 1 == lane_count) setcontext(&home);
    threadIdx.x = self + 1;
    setcontext(&lanes[self + 1]);
}

void warps_run(unsigned warps, warp_fn fn, void *user)
{
    static char *stacks;
    if (!stacks) stacks = malloc((size_t)MAX_LANES * STACK);
    if (!stacks || warps * WARP > MAX_LANES) abort();
    lane_count = warps * WARP;
    running = fn;
    running_user = user;
    finished = 0;
    for (unsigned i = 0; i < lane_count; i++) {
        getcontext(&lanes[i]);
        lanes[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
        lanes[i].uc_stack.ss_size = STACK;
        lanes[i].uc_link = &home;
        makecontext(&lanes[i], lane_main, 0);
        parity[i] = 0;
    }
    threadIdx.x = 0;
    swapcontext(&home, &lanes[0]);
    if (finished != lane_count) abort();
}

void warp_run(warp_fn fn, void *user)
{
    warps_run(1, fn, user);
}

/* ---- instructions ---- */

uint32_t tile_codes(float a, float b)
{
    return fp8_ref_encode(a) | (uint32_t)fp8_ref_encode(b) << 8;
}

static uint32_t half_bits(uint8_t code)
{
    _Float16 half = (_Float16)fp8_ref_decode(code); /* every e4m3 value is exact in f16 */
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
}

uint32_t tile_codes_to_halves(uint32_t codes)
{
    return half_bits((uint8_t)codes) | half_bits((uint8_t)(codes >> 8)) << 16;
}

uint32_t tile_half_pair(float a, float b)
{
    return half_ref_encode(a) | (uint32_t)half_ref_encode(b) << 16;
}

static float half_value(uint16_t bits)
{
    _Float16 half;
    memcpy(&half, &bits, 2);
    return (float)half;
}
float tile_half_low(uint32_t halves)
{
    return half_value((uint16_t)halves);
}
float tile_half_high(uint32_t halves)
{
    return half_value((uint16_t)(halves >> 16));
}

static float pick(const uint32_t *words, int k)
{
    return half_value((uint16_t)(words[k >> 1] >> (16 * (k & 1))));
}

/* d[row][column] += sum over k of a[row][k] b[k][column]; PTX ISA, m16n8k16: lane 4g + t holds rows g, g + 8 and k
 * 2t, 2t + 1, 2t + 8, 2t + 9 of A, the same k of column g of B, columns 2t, 2t + 1 of D. */
void tile_mma(float *d, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    const slot mine = {.a = {a0, a1, a2, a3}, .b = {b0, b1}};
    *warp_slot() = mine;
    warp_meet();
    const int g = (int)(threadIdx.x & 31) >> 2, t = (int)threadIdx.x & 3;
    for (int i = 0; i < 4; i++) {
        const int row = g + 8 * (i >> 1), column = 2 * t + (i & 1);
        double sum = d[i];
        for (int k = 0; k < 16; k++) {
            const slot *a = warp_other(4 * (row & 7) + ((k & 7) >> 1));
            const slot *b = warp_other(4 * column + ((k & 7) >> 1));
            const uint32_t *words = &a->a[(row >> 3) + 2 * (k >> 3)];
            sum += (double)pick(words, k & 1) * (double)pick(&b->b[k >> 3], k & 1);
        }
        d[i] = (float)sum;
    }
}
