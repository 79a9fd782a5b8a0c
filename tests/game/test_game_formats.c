/* The adapter's matrix: every input and output format, direct or copied, rectangle origins, rotating images, queued or
 * immediate. All ways to give the same values must give the same bytes. By default there are four rows of input
 * formats, and for each every pair of choices of two other axes; D4R_LONG_TESTS=1 runs the whole product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/engine/test_model.h"
#include "tests/game/game_rig.h"

static vk_test device;
static d4r_model *model;
static game_rig rig_of_all;
static unsigned long frames_run, cases_run, cases_compared;

enum axis {
    COLOR,
    MOTION,
    DEPTH,
    OUTPUT,
    COLOR_COPIED,
    MOTION_COPIED,
    DEPTH_COPIED,
    OUTPUT_COPIED,
    ORIGINS,
    LAYOUTS,
    ROTATING,
    QUEUED,
    VIEWS,
    AXES
};
#define GAME_LAYOUTS 4
static const int choices[AXES] = {
    GAME_COLORS, GAME_MOTIONS, GAME_DEPTHS, GAME_OUTPUTS, 2, 2, 2, 2, 2, 4, 2, 2, 2};

static void set_layouts(game_case *c, int choice)
{
    game_access *color[2] = {&c->color_access, &c->motion_access};
    const bool depth = c->depth < 3;
    switch (choice) {
    case 1: /* everything general */
        c->color_access.layout = c->motion_access.layout = c->depth_access.layout = VK_IMAGE_LAYOUT_GENERAL;
        break;
    case 2: /* as the copy left them, returned in another */
        for (int i = 0; i < 2; i++) {
            color[i]->layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
            color[i]->final_layout = VK_IMAGE_LAYOUT_GENERAL;
        }
        c->depth_access.layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
        c->depth_access.final_layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
        c->output_access.final_layout = VK_IMAGE_LAYOUT_GENERAL;
        break;
    case 3: /* ready for a copy */
        for (int i = 0; i < 2; i++)
            if (color[i]->copied) color[i]->layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        break;
    default:
        break;
    }
    if (!depth && c->depth_access.layout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL)
        c->depth_access.layout = VK_IMAGE_LAYOUT_GENERAL;
    /* SHADER_READ_ONLY needs a usage that reads in shaders. */
    for (int i = 0; i < 2; i++)
        if (color[i]->copied && color[i]->layout == VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL)
            color[i]->layout = VK_IMAGE_LAYOUT_GENERAL;
    if (c->depth_access.copied && c->depth_access.layout == VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL)
        c->depth_access.layout = VK_IMAGE_LAYOUT_GENERAL;
}

static game_case case_of(const int *choice)
{
    game_case c = game_case_plain();
    c.color = choice[COLOR];
    c.motion = choice[MOTION];
    c.depth = choice[DEPTH];
    c.output = choice[OUTPUT];
    c.color_access.copied = choice[COLOR_COPIED];
    c.motion_access.copied = choice[MOTION_COPIED];
    c.depth_access.copied = choice[DEPTH_COPIED];
    c.output_access.copied = choice[OUTPUT_COPIED];
    c.rotating = choice[ROTATING];
    c.queued = choice[QUEUED];
    c.color_access.give_view = c.motion_access.give_view = c.depth_access.give_view =
        c.output_access.give_view = choice[VIEWS];
    if (choice[ORIGINS]) {
        c.color_access.origin_x = 3, c.color_access.origin_y = 5;
        c.motion_access.origin_x = 7, c.motion_access.origin_y = 1;
        c.depth_access.origin_x = 2, c.depth_access.origin_y = 6;
        c.output_access.origin_x = 5, c.output_access.origin_y = 3;
    }
    set_layouts(&c, choice[LAYOUTS]);
    return c;
}

/* ---- references: one a kind of values ---- */

#define KINDS_COLOR 5
#define KINDS_DEPTH 2
static uint8_t *references[KINDS_COLOR][KINDS_DEPTH][GAME_OUTPUTS];

static void configure_output(int output)
{
    d4r_game_config config;
    assert_int_equal(d4r_game_get_config(rig_of_all.game, &config), D4R_OK);
    config.output_format = game_outputs[output].format;
    assert_int_equal(d4r_game_configure(rig_of_all.game, &config), D4R_OK);
}

static uint8_t *run(const game_case *c, size_t *bytes)
{
    configure_output(c->output);
    frames_run += GAME_FRAMES;
    cases_run++;
    return game_rig_run_case(&rig_of_all, c, bytes);
}

/* The first formats of a kind that come, plain: direct, no origins, nothing queued. */
static const uint8_t *reference_of(const game_case *wanted)
{
    const int color = game_colors[wanted->color].kind, depth = game_depths[wanted->depth].kind;
    uint8_t **reference = &references[color][depth][wanted->output];
    size_t bytes;
    if (!*reference) {
        int choice[AXES] = {wanted->color, wanted->motion, wanted->depth, wanted->output};
        const game_case c = case_of(choice);
        *reference = run(&c, &bytes);
    }
    return *reference;
}

static void describe(const game_case *c)
{
    fprintf(stderr,
            "%s%s, motion %s%s, depth %s%s, output %s%s, origins %d, rotating %d, queued %d, view %d, layout "
            "%d\n",
            game_colors[c->color].name, c->color_access.copied ? " copied" : "", game_motions[c->motion].name,
            c->motion_access.copied ? " copied" : "", game_depths[c->depth].name,
            c->depth_access.copied ? " copied" : "", game_outputs[c->output].name,
            c->output_access.copied ? " copied" : "", c->color_access.origin_x > 0, c->rotating, c->queued,
            c->color_access.give_view, (int)c->color_access.layout);
}

static void check_routes(const game_case *c)
{
    d4r_game_info info;
    assert_int_equal(d4r_game_get_info(rig_of_all.game, &info), D4R_OK);
    assert_int_equal(info.color, c->color_access.copied ? D4R_GAME_COPIED : D4R_GAME_DIRECT);
    assert_int_equal(info.motion, c->motion_access.copied ? D4R_GAME_COPIED : D4R_GAME_DIRECT);
    assert_int_equal(info.depth, c->depth_access.copied ? D4R_GAME_COPIED : D4R_GAME_DIRECT);
    assert_int_equal(info.exposure, D4R_GAME_UNUSED);
    assert_int_equal(info.output, c->output == GAME_OUTPUTS - 1 ? D4R_GAME_CONVERTED
                                  : c->output_access.copied     ? D4R_GAME_COPIED
                                                                : D4R_GAME_DIRECT);
}

static void try_case(const int *choice)
{
    const game_case c = case_of(choice);
    const uint8_t *want = reference_of(&c);
    size_t bytes = 0;
    const uint64_t start = test_now_ms();
    uint8_t *got = run(&c, &bytes);
    if (getenv("D4R_TEST_VERBOSE"))
        fprintf(stderr, "%5llu ms ", (unsigned long long)(test_now_ms() - start)), describe(&c);
    check_routes(&c);
    cases_compared++;
    if (device.messages || memcmp(got, want, bytes * GAME_FRAMES) != 0) describe(&c);
    assert_memory_equal(got, want, bytes * GAME_FRAMES);
    assert_int_equal(device.messages, 0);
    free(got);
}

/* ---- formats by rows, ways by pairs ---- */

/* The software driver compiles the stages anew for every combination of input formats, which takes ten seconds; so the
 * short run has four. */
#define ROWS 4
static const int rows[ROWS][4] = {{0, 0, 0, 0}, {2, 2, 2, 2}, {4, 1, 3, 3}, {7, 0, 1, 6}};
#define WAYS (AXES - COLOR_COPIED)

static bool covered[WAYS][4][WAYS][4];

static int gain(const int *way, int axis, int value, unsigned known)
{
    int open = 0;
    for (int a = 0; a < WAYS; a++) {
        if (a == axis || !(known >> a & 1)) continue;
        open += a < axis ? !covered[a][way[a]][axis][value] : !covered[axis][value][a][way[a]];
    }
    return open;
}

static bool first_open(int pair[4])
{
    const int *count = choices + COLOR_COPIED;
    for (pair[0] = 0; pair[0] < WAYS; pair[0]++)
        for (pair[1] = 0; pair[1] < count[pair[0]]; pair[1]++)
            for (pair[2] = pair[0] + 1; pair[2] < WAYS; pair[2]++)
                for (pair[3] = 0; pair[3] < count[pair[2]]; pair[3]++)
                    if (!covered[pair[0]][pair[1]][pair[2]][pair[3]]) return true;
    return false;
}

/* Greedy: begins with a pair that is open, adds to each axis the choice with the most open pairs. */
static bool next_way(int *way)
{
    const int *count = choices + COLOR_COPIED;
    unsigned known;
    int pair[4];
    if (!first_open(pair)) return false;
    way[pair[0]] = pair[1];
    way[pair[2]] = pair[3];
    known = 1u << pair[0] | 1u << pair[2];
    for (int axis = 0; axis < WAYS; axis++) {
        int best = -1;
        if (known >> axis & 1) continue;
        for (int value = 0; value < count[axis]; value++) {
            const int g = gain(way, axis, value, known);
            if (g > best) best = g, way[axis] = value;
        }
        known |= 1u << axis;
    }
    for (int a = 0; a < WAYS; a++)
        for (int b = a + 1; b < WAYS; b++) covered[a][way[a]][b][way[b]] = true;
    return true;
}

static void all_pairs(void **state)
{
    const uint64_t start = test_now_ms();
    unsigned ways = 0;
    (void)state;
    for (int row = 0; row < ROWS; row++) {
        int choice[AXES];
        memcpy(choice, rows[row], sizeof rows[row]);
        memset(covered, 0, sizeof covered);
        for (ways = 0; next_way(choice + COLOR_COPIED); ways++) try_case(choice);
    }
    printf("%d rows of formats, %u ways each: %lu cases, %lu frames, %.1f s\n", ROWS, ways, cases_compared,
           frames_run, (double)(test_now_ms() - start) / 1000);
    assert_in_range(ways, 8, 24);
}

/* The other outputs, directly and through a copy. */
static void other_outputs(void **state)
{
    int choice[AXES] = {0};
    (void)state;
    for (choice[OUTPUT] = 0; choice[OUTPUT] < GAME_OUTPUTS; choice[OUTPUT]++)
        for (choice[OUTPUT_COPIED] = 0; choice[OUTPUT_COPIED] < 2; choice[OUTPUT_COPIED]++) {
            choice[ROTATING] = choice[ORIGINS] = choice[OUTPUT_COPIED];
            try_case(choice);
        }
}

/* ---- the whole product ---- */

/* Inputs: all direct or all copied. Outputs: with every layout. */
static void whole_product(void **state)
{
    const uint64_t start = test_now_ms();
    int choice[AXES] = {0};
    (void)state;
    if (!getenv("D4R_LONG_TESTS")) {
        print_message("set D4R_LONG_TESTS=1 for the whole product\n");
        skip();
    }
    for (int i = 0; i < GAME_COLORS * GAME_MOTIONS * GAME_DEPTHS; i++) {
        for (int k = 0; k < 16; k++) {
            choice[COLOR] =
                i % GAME_COLORS; /* every format is met among the first GAME_COLORS combinations */
            choice[MOTION] = (i % GAME_COLORS + i / GAME_COLORS) % GAME_MOTIONS;
            choice[DEPTH] = (i % GAME_COLORS + i / GAME_COLORS) % GAME_DEPTHS;
            choice[COLOR_COPIED] = choice[MOTION_COPIED] = choice[DEPTH_COPIED] = k & 1;
            choice[ORIGINS] = k >> 1 & 1;
            choice[ROTATING] = k >> 2 & 1;
            choice[QUEUED] = k >> 3 & 1;
            try_case(choice);
        }
        printf("%d of %d combinations of input formats: %lu comparisons, %lu frames, %.1f s\n", i + 1,
               GAME_COLORS * GAME_MOTIONS * GAME_DEPTHS, cases_compared, frames_run,
               (double)(test_now_ms() - start) / 1000);
        fflush(stdout);
    }
    memset(choice, 0, sizeof choice);
    for (int k = 0; k < GAME_OUTPUTS * GAME_LAYOUTS * 16; k++) {
        choice[OUTPUT] = k / (GAME_LAYOUTS * 16);
        choice[LAYOUTS] = k / 16 % GAME_LAYOUTS;
        choice[OUTPUT_COPIED] = k & 1;
        choice[ORIGINS] = k >> 1 & 1;
        choice[ROTATING] = k >> 2 & 1;
        choice[QUEUED] = k >> 3 & 1;
        try_case(choice);
    }
}

static int setup(void **state)
{
    const game_rig_params params = {0};
    game_rig_params p = params;
    (void)state;
    model = test_model_create(5);
    if (!model) return -1;
    p.model = model;
    p.render = (d4r_size){68, 66}; /* no powers of two: the driver compiles for those apart */
    p.output = (d4r_size){132, 130};
    game_rig_create(&rig_of_all, &device, &p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    game_rig_destroy(&rig_of_all);
    for (int i = 0; i < KINDS_COLOR * KINDS_DEPTH * GAME_OUTPUTS; i++) free(((uint8_t **)references)[i]);
    test_model_destroy(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs),
        cmocka_unit_test(other_outputs),
        cmocka_unit_test(whole_product),
    };
    int failed;
    if (!vk_test_create(&device)) return 77;
    failed = cmocka_run_group_tests(tests, setup, teardown);
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
