/* Coroutines for the host build of conformance kernels, and number formats by their definition.
 * Built without sanitizers: they do not follow swapped stacks. */
#include "host_run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MAX_ITEMS = 256, STACK_SIZE = 65536, WAVE = 32, SLOT = 256 };

typedef struct work_item {
    ucontext_t context;
    char *stack;
    bool ended;
    uint32_t barriers, exchanges; /* how many it has reached */
} work_item;

static struct {
    work_item items[MAX_ITEMS];
    ucontext_t scheduler;
    uint32_t current, group, size;
    host_kernel kernel;
    const uint32_t *a, *b;
    uint32_t *out, n;
    uint8_t slots[2][MAX_ITEMS / WAVE][WAVE][SLOT] __attribute__((aligned(64)));
} host;

uint32_t host_local_id(void);
uint32_t host_local_id(void)
{
    return host.current;
}

uint32_t host_group_id(void);
uint32_t host_group_id(void)
{
    return host.group;
}

uint32_t host_group_size(void);
uint32_t host_group_size(void)
{
    return host.size;
}

static void yield(void)
{
    swapcontext(&host.items[host.current].context, &host.scheduler);
}

void host_barrier(void);
void host_barrier(void)
{
    uint32_t mine = ++host.items[host.current].barriers;
    for (;;) {
        bool all = true;
        for (uint32_t i = 0; i < host.size; i++) all &= host.items[i].ended || host.items[i].barriers >= mine;
        if (all) return;
        yield();
    }
}

const uint8_t *host_exchange(const void *value, uint32_t size, uint32_t *live);
const uint8_t *host_exchange(const void *value, uint32_t size, uint32_t *live)
{
    uint32_t me = host.current, wave = me / WAVE, first = wave * WAVE;
    uint32_t mine = ++host.items[me].exchanges;
    memcpy(host.slots[mine & 1][wave][me % WAVE], value, size);
    for (;;) {
        bool all = true;
        *live = 0;
        for (uint32_t i = first; i < first + WAVE && i < host.size; i++) {
            const work_item *item = &host.items[i];
            all &= item->ended || item->exchanges >= mine;
            *live |= (uint32_t)!item->ended << (i - first);
        }
        if (all) break;
        yield();
    }
    return host.slots[mine & 1][wave][0];
}

static void work(void)
{
    host.kernel(host.a, host.b, host.out, host.n);
    host.items[host.current].ended = true;
    yield();
}

static void run_group(void)
{
    for (uint32_t i = 0; i < host.size; i++) {
        work_item *item = &host.items[i];
        item->ended = false;
        item->barriers = item->exchanges = 0;
        getcontext(&item->context);
        item->context.uc_stack.ss_sp = item->stack;
        item->context.uc_stack.ss_size = STACK_SIZE;
        item->context.uc_link = &host.scheduler;
        makecontext(&item->context, work, 0);
    }
    for (bool running = true; running;) {
        running = false;
        for (uint32_t i = 0; i < host.size; i++) {
            if (host.items[i].ended) continue;
            running = true;
            host.current = i;
            swapcontext(&host.scheduler, &host.items[i].context);
        }
    }
}

void host_run(host_kernel kernel, const uint32_t *a, const uint32_t *b, uint32_t *out, uint32_t n,
              uint32_t groups, uint32_t group_size)
{
    host.kernel = kernel;
    host.a = a;
    host.b = b;
    host.out = out;
    host.n = n;
    host.size = group_size;
    char *stacks = malloc((size_t)group_size * STACK_SIZE);
    if (!stacks || group_size > MAX_ITEMS) abort();
    for (uint32_t i = 0; i < group_size; i++) host.items[i].stack = stacks + (size_t)i * STACK_SIZE;
    for (host.group = 0; host.group < groups; host.group++) run_group();
    free(stacks);
}

/* ---- number formats ---- */

float host_exp2(float x);
float host_exp2(float x)
{
    return (float)exp2((double)x);
}

float host_log2(float x);
float host_log2(float x)
{
    return (float)log2((double)x);
}

float host_sqrt(float x);
float host_sqrt(float x)
{
    return (float)sqrt((double)x);
}

/* The f16 value next to x on the side of zero. */
float host_round_f16_rtz(float x);
float host_round_f16_rtz(float x)
{
    double m = fabs((double)x), step;
    int exponent;
    if (m == 0) return x;
    frexp(m, &exponent);
    step = ldexp(1.0, exponent < -13 ? -24 : exponent - 11);
    double cut = floor(m / step) * step;
    if (cut > 65504.0) cut = 65504.0;
    return copysignf((float)cut, x);
}

float host_f8_decode(uint32_t code, bool bf8)
{
    int mantissa_bits = bf8 ? 2 : 3, bias = bf8 ? 15 : 7;
    int mantissa = (int)(code & ((1u << mantissa_bits) - 1)), exponent = (int)(code & 0x7f) >> mantissa_bits;
    double value;
    if (bf8 && exponent == 31)
        value = mantissa ? NAN : INFINITY;
    else if (!bf8 && (code & 0x7f) == 0x7f)
        value = NAN;
    else
        value = exponent ? ldexp(1.0 + ldexp(mantissa, -mantissa_bits), exponent - bias)
                         : ldexp(mantissa, 1 - bias - mantissa_bits);
    return (float)(code & 0x80 ? -value : value);
}

uint32_t host_f8_encode(float x, bool bf8, bool saturate)
{
    uint32_t sign = signbit(x) ? 0x80 : 0;
    if (isnan(x) || (isinf(x) && !bf8)) return sign | 0x7f;
    if (isinf(x)) return sign | 0x7c;
    int mantissa_bits = bf8 ? 2 : 3;
    uint32_t largest = bf8 ? 0x7b : 0x7e;
    double m = fabs((double)x);
    int exponent;
    frexp(m, &exponent); /* m = f * 2^exponent, f in [0.5, 1) */
    int lowest = (bf8 ? -14 : -6) - mantissa_bits;
    int step_exponent = exponent - 1 - mantissa_bits < lowest ? lowest : exponent - 1 - mantissa_bits;
    double steps = nearbyint(ldexp(m, -step_exponent)); /* ties to even */
    double rounded = ldexp(steps, step_exponent);
    if (rounded > (double)host_f8_decode(largest, bf8))
        return sign | (saturate ? largest : bf8 ? 0x7c : 0x7f);
    for (uint32_t code = 0; code <= largest; code++)
        if ((double)host_f8_decode(code, bf8) == rounded) return sign | code;
    abort();
}
