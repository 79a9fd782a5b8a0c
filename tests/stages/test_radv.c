/* The stages as RADV compiles them for Radeons: nothing spilled, and no dearer than they were. Its null device compiles and never
 * runs, and gives no buffers, so that nothing can be recorded for it either: values are for the other tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "bench/stage_counts.h"

/* Some 4 % and 4 registers above what Mesa 22.3 gives: the dearest output format of each, RDNA2 or RDNA3. Other versions of the
 * compiler may differ, so only there they bind. */
static const struct bound {
    const char *preset, *name;
    const char *range;
    unsigned instructions, vgprs;
} bounds[] = {
    {"M", "exposure_sum", "HDR", 220, 20},
    {"M", "exposure", "HDR", 120, 16},
    {"M", "input", "HDR", 4160, 100},
    {"M", "expansion", "HDR", 2840, 100},
    {"M", "reconstruction 10", "HDR", 1120, 52},
    {"M", "reconstruction 11", "HDR", 1120, 64},
    {"M", "reconstruction 15", "HDR", 1120, 76},
    {"M", "downsample", "HDR", 270, 28},
    {"M", "exposure_sum", "LDR", 220, 20},
    {"M", "exposure", "LDR", 120, 16},
    {"M", "input", "LDR", 4200, 100},
    {"M", "expansion", "LDR", 2840, 100},
    {"M", "reconstruction 10", "LDR", 1160, 52},
    {"M", "reconstruction 11", "LDR", 1160, 64},
    {"M", "reconstruction 15", "LDR", 1160, 76},
    {"M", "downsample", "LDR", 245, 28},
    {"K", "exposure_sum", "HDR", 220, 20},
    {"K", "exposure", "HDR", 120, 16},
    {"K", "k_input", "HDR", 3600, 76},
    {"K", "k_reconstruction 12", "HDR", 1930, 88},
    {"K", "k_reconstruction 15", "HDR", 1930, 88},
    {"K", "k_reconstruction 20", "HDR", 2080, 88},
    {"K", "exposure_sum", "LDR", 220, 20},
    {"K", "exposure", "LDR", 120, 16},
    {"K", "k_input", "LDR", 3740, 76},
    {"K", "k_reconstruction 12", "LDR", 1930, 88},
    {"K", "k_reconstruction 15", "LDR", 1930, 88},
    {"K", "k_reconstruction 20", "LDR", 2120, 88},
};

static const struct bound *find_bound(const stage_counts *s)
{
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (strcmp(bounds[i].preset, s->preset) == 0 && strcmp(bounds[i].name, s->name) == 0 &&
            strcmp(bounds[i].range, s->range) == 0)
            return &bounds[i];
    return NULL;
}

static unsigned check(const char *family, const stage_counts *s, bool bounded)
{
    const struct bound *b = find_bound(s);
    unsigned wrong = 0;
    if (!b) {
        print_error("%s: %s %s %s has no bound\n", family, s->preset, s->name, s->range);
        return 1;
    }
    if (s->spilled_vgprs || s->spilled_sgprs || s->scratch_bytes) wrong++;
    if (bounded && (s->instructions > b->instructions || s->vgprs > b->vgprs)) wrong++;
    if (wrong)
        print_error(
            "%s: %s %s %s %s: %u instructions (%u), %u VGPRs (%u), spilled %u and %u, %u bytes of scratch\n",
            family, s->preset, s->name, s->output, s->range, (unsigned)s->instructions, b->instructions,
            (unsigned)s->vgprs, b->vgprs, (unsigned)s->spilled_vgprs, (unsigned)s->spilled_sgprs,
            (unsigned)s->scratch_bytes);
    return wrong;
}

static void check_family(const char *family, bool print)
{
    stage_counts_list list;
    char why[512];
    unsigned wrong = 0;
    const stage_counts_result result = stage_counts_collect(family, &list, why, sizeof why);
    if (result == STAGE_COUNTS_NO_DEVICE) {
        print_message("skipped: %s\n", why);
        stage_counts_free(&list);
        skip();
    }
    if (result != STAGE_COUNTS_OK) fail_msg("%s", why);
    const bool bounded = list.driver_version[0] == 22 && list.driver_version[1] == 3;
    if (!bounded)
        print_message("Mesa %u.%u, not 22.3: only spills are checked\n", list.driver_version[0],
                      list.driver_version[1]);
    assert_int_equal(list.count, 44); /* 20 of M, 24 of K */
    for (size_t i = 0; i < list.count; i++) {
        if (print)
            print_message("%s %s %s %s: %u %u\n", list.items[i].preset, list.items[i].name,
                          list.items[i].output, list.items[i].range, (unsigned)list.items[i].instructions,
                          (unsigned)list.items[i].vgprs);
        wrong += check(family, &list.items[i], bounded);
    }
    stage_counts_free(&list);
    assert_int_equal(wrong, 0);
}

static void test_gfx1100(void **state)
{
    (void)state;
    check_family("gfx1100", true);
}

static void test_gfx1030(void **state)
{
    (void)state;
    check_family("navi21", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gfx1100), cmocka_unit_test(test_gfx1030)};
    return cmocka_run_group_tests_name("stages by RADV", tests, NULL, NULL);
}
