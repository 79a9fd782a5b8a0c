/* hipemu_bench: wave-instructions a second a core on the Swin block; processor time, one thread.
 * usage: hipemu_bench [FILE.hsaco] (default: the gfx1201 block at -O3). HIPEMU_LEVEL=base|v3 picks a slower executor. */
#include "core_run.h"
#include "swin_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOWS = 1000, ROUNDS = 7 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : KERNELS_DIR "/swin_O3-gfx1201.hsaco";
    size_t size, bytes = (size_t)WINDOWS * SWIN_TOKENS * SWIN_C;
    void *image = core_file(path, &size);
    core_machine m = {.memory = emu_memory_create(false)};
    emu_error error = {0};
    if (emu_module_load(image, size, NULL, &m.module, &error)) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        return 4;
    }
    bool gfx12 = emu_module_arch(m.module)->cls == EMU_GFX12;
    static swin_weights w;
    uint8_t *x = core_buffer(&m, bytes, 0), *y = core_buffer(&m, bytes, 0);
    uint8_t *tiles = core_buffer(&m, SWIN_TILES * swin_tile_bytes(gfx12), 0);
    float *bias = core_buffer(&m, sizeof(w.bias), 0);
    swin_random(&w, x, WINDOWS, core_random);
    memcpy(bias, w.bias, sizeof(w.bias));
    swin_pack(&w, gfx12, tiles);
    swin_arguments args = {x, y, tiles, bias};
    double best = 0;
    for (int r = 0; r < ROUNDS; r++) {
        memset(&m.counters, 0, sizeof(m.counters));
        double start = cpu_seconds();
        core_run(&m, "swin", WINDOWS, 32, &args, sizeof(args));
        double rate = (double)m.counters.instructions / (cpu_seconds() - start);
        if (rate > best) best = rate;
    }
    printf("%s: %llu instructions a window, %.1f %% WMMA, %.1f million wave-instructions a second a core\n",
           path, (unsigned long long)(m.counters.instructions / WINDOWS),
           100.0 * (double)m.counters.by_class[EMU_COUNT_WMMA] / (double)m.counters.instructions,
           best * 1e-6);
    core_free(&m, x);
    core_free(&m, y);
    core_free(&m, tiles);
    core_free(&m, bias);
    core_close(&m);
    free(image);
    return 0;
}
