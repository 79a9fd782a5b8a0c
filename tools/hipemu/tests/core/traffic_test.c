/* What a load is counted as: bytes of its lanes, 128-byte lines and 64-byte pieces of memory that it touches. */
#include "core_run.h"

#include <stdio.h>
#include <stdlib.h>

enum { LANES = 32, BYTES = 8192 };

static const char *arch;

typedef struct pattern {
    const char *name;
    int stride, duplicate, reverse, first,
        lanes; /* offset = first + stride * (lane % duplicate); lanes load */
    unsigned pieces, lines;
} pattern;

static const pattern patterns[] = {
    {"broadcast", 0, 32, 0, 0, 32, 1, 1},
    {"broadcast over a piece's end", 0, 32, 0, 56, 32, 2, 1},
    {"broadcast over a line's end", 0, 32, 0, 120, 32, 2, 2},
    {"contiguous", 16, 32, 0, 0, 32, 8, 4},
    {"contiguous, descending", 16, 32, 1, 0, 32, 8, 4},
    {"contiguous from the middle of a piece", 16, 32, 0, 32, 32, 9, 5},
    {"second half repeats the first", 16, 16, 0, 0, 32, 4, 2},
    {"second half repeats the first, some lanes off", 16, 16, 0, 0, 20, 4, 2},
    {"eight lanes, four times", 16, 8, 0, 0, 32, 2, 1},
    {"stride 32", 32, 32, 0, 0, 32, 16, 8},
    {"stride 64", 64, 32, 0, 0, 32, 32, 16},
    {"stride 96, second half repeats", 96, 16, 0, 0, 32, 16, 12},
    {"stride 128, descending", 128, 32, 1, 0, 32, 32, 32},
    {"stride 128, three lanes", 128, 32, 0, 0, 3, 3, 3},
    {"nothing", 128, 32, 0, 0, 0, 0, 0},
};

static emu_counters run(core_machine *m, void *in, int *offsets, void *out)
{
    const struct {
        void *in, *offsets, *out;
    } args = {in, offsets, out};
    m->counters = (emu_counters){0};
    core_run(m, "gather", 1, LANES, &args, sizeof args);
    return m->counters;
}

static void test_patterns(void **state)
{
    core_machine m;
    (void)state;
    core_open(&m, "traffic", arch, false);
    uint8_t *memory = core_buffer(&m, BYTES + 128, 0);
    uint8_t *in = memory + (-(uintptr_t)memory & 127);
    int *offsets = core_buffer(&m, 256, 0), *aligned = offsets + (-(uintptr_t)offsets & 127) / 4;
    uint32_t *out = core_buffer(&m, 256, 0), *to = out + (-(uintptr_t)out & 127) / 4;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const pattern *p = &patterns[i];
        for (int lane = 0; lane < LANES; lane++) {
            int place = lane % p->duplicate;
            if (p->reverse) place = p->duplicate - 1 - place;
            aligned[lane] = lane < p->lanes ? p->first + p->stride * place : -1;
        }
        emu_counters c = run(&m, in, aligned, to);
        printf("%s, %s: %u pieces, %u lines\n", arch, p->name, (unsigned)c.cache_pieces - 4,
               (unsigned)c.cache_lines - 2);
        /* The offsets and the result are 128 bytes each: two pieces, one line. */
        assert_int_equal(c.cache_pieces, p->pieces + 4);
        assert_int_equal(c.cache_lines, p->lines + 2);
        assert_int_equal(c.bytes_read[EMU_SPACE_GLOBAL], 128 + 16 * p->lanes);
        assert_int_equal(c.bytes_written[EMU_SPACE_GLOBAL], 128);
    }
    core_free(&m, memory);
    core_free(&m, offsets);
    core_free(&m, out);
    core_close(&m);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
