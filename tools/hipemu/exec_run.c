/* The loop that runs a wave, and the table of handlers by row. */
#include "exec.h"

#include <xmmintrin.h>

#define ROW(format, op11, op12, name, operands, handler, count) EX(handler),
#define F115 0
const emu_fn EX(handlers)[] = {
#include "isa_all.def"
};
#undef F115
#undef ROW

enum { MXCSR_DEFAULT = 0x1f80, MXCSR_FTZ = 1 << 15, MXCSR_DAZ = 1 << 6 };

/* MODE's rounding (even, up, down, zero) as MXCSR counts it (even, down, up, zero), and its denormal controls. */
static unsigned control_word(uint32_t round, uint32_t denormals)
{
    static const unsigned rounding[4] = {0, 2, 1, 3};
    unsigned word = MXCSR_DEFAULT | rounding[round & 3] << 13;
    if (!(denormals & 1)) word |= MXCSR_DAZ;
    if (!(denormals & 2)) word |= MXCSR_FTZ;
    return word;
}

/* MODE differs from its default: each instruction under its own controls. */
static void run_special(emu_wave *w, uint64_t limit)
{
    const emu_op *ops = w->code->ops;
    uint64_t *counts = w->worker->counts, left = limit;
    while (left && !w->stop && w->special_mode) {
        const emu_op *op = &ops[w->pc];
        unsigned word = MXCSR_DEFAULT;
        if (op->precision == EMU_PRECISION_32) word = control_word(w->mode, w->mode >> 4);
        if (op->precision == EMU_PRECISION_16_64) word = control_word(w->mode >> 2, w->mode >> 6);
        counts[w->pc++]++;
        _mm_setcsr(word);
        op->fn(w, op);
        left--;
    }
    _mm_setcsr(MXCSR_DEFAULT);
    w->executed += limit - left;
}

void EX(run)(emu_wave *w, uint64_t limit)
{
    unsigned saved = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
    w->stop = EMU_RUNNING;
    if (w->special_mode) {
        run_special(w, limit);
    } else {
        const emu_op *ops = w->code->ops;
        uint64_t *counts = w->worker->counts, left = limit;
        while (left) {
            const emu_op *op = &ops[w->pc];
            counts[w->pc++]++;
            op->fn(w, op);
            left--;
            if (UNLIKELY(w->stop)) break;
        }
        w->executed += limit - left;
    }
    if (!w->stop) w->stop = EMU_STOP_SLICE;
    _mm_setcsr(saved);
}
