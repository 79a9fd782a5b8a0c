/* Picks the executor built for the best instruction set this processor has. */
#include "wave.h"

#include <stdlib.h>
#include <string.h>

#define LEVEL(level)                                                                           \
    extern const emu_fn emu_x_handlers_##level[];                                              \
    void emu_x_run_##level(emu_wave *w, uint64_t limit);                                       \
    void emu_x_dpp_##level(emu_wave *w, const emu_op *op);                                     \
    void emu_x_pair_##level(emu_wave *w, const emu_op *op);                                    \
    static const emu_level level_##level = {#level, emu_x_run_##level, emu_x_handlers_##level, \
                                            emu_x_dpp_##level, emu_x_pair_##level};
LEVEL(base)
#ifdef EMU_SINGLE_LEVEL /* fuzzers: only what every processor has */
#define level_v3 level_base
#define level_v4 level_base
#else
LEVEL(v3)
LEVEL(v4)
#endif

static const emu_level *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("lzcnt");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}

static void choose(void)
{
    const char *wish = getenv("HIPEMU_LEVEL");
    __builtin_cpu_init();
    bool v3 = has_v3(), v4 = has_v4();
    if (wish && strcmp(wish, "base") == 0) v3 = v4 = false;
    if (wish && strcmp(wish, "v3") == 0) v4 = false;
    chosen = v4 ? &level_v4 : v3 ? &level_v3 : &level_base;
}

const emu_level *emu_level_get(void)
{
    pthread_once(&once, choose);
    return chosen;
}
