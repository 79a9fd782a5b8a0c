/* DPP, permlane16 and permlanex16 under several EXEC masks, and pairs whose halves overwrite each other's sources. */
#include "core_run.h"
#include "numbers.h"

#include <stdlib.h>

enum { LANES = 32, DPP_FORMS = 15, PERMUTES = 7, PAIRS = 5 };

static const char *arch;
static const uint32_t masks[] = {0xffffffff, 0x0000ffff, 0xaaaaaaaa, 0x80000001, 0x12345678, 0};
enum { MASKS = sizeof(masks) / sizeof(masks[0]) };

/* The forms of lanes.hip: which lane each lane reads (-1: none), masks and flags. */
typedef enum kind { QUAD, SHL, SHR, ROR, MIRROR, HALF_MIRROR, SHARE, XMASK, DPP8 } kind;
typedef struct dpp_form {
    kind kind;
    int parameter[8];
    unsigned row_mask, bank_mask;
    bool bound, inactive;
} dpp_form;

static const dpp_form forms[DPP_FORMS] = {{QUAD, {3, 1, 2, 0}, 15, 15, false, false},
                                          {QUAD, {1, 1, 0, 0}, 1, 6, false, false},
                                          {SHL, {1}, 15, 15, false, false},
                                          {SHL, {5}, 15, 15, true, false},
                                          {SHR, {1}, 15, 15, false, false},
                                          {SHR, {7}, 2, 15, true, false},
                                          {ROR, {4}, 15, 15, false, false},
                                          {ROR, {15}, 15, 9, false, true},
                                          {MIRROR, {0}, 15, 15, false, false},
                                          {HALF_MIRROR, {0}, 15, 15, true, false},
                                          {SHARE, {9}, 15, 15, false, false},
                                          {XMASK, {6}, 15, 15, false, false},
                                          {XMASK, {15}, 3, 15, false, true},
                                          {DPP8, {7, 6, 5, 4, 3, 2, 1, 0}, 15, 15, false, false},
                                          {DPP8, {1, 0, 3, 3, 5, 4, 7, 6}, 15, 15, false, true}};

static int source_lane(const dpp_form *f, int lane)
{
    int row = lane / 16 * 16, in_row = lane % 16, n = f->parameter[0];
    switch (f->kind) {
    case QUAD:
        return lane / 4 * 4 + f->parameter[lane % 4];
    case SHL:
        return in_row + n <= 15 ? lane + n : -1;
    case SHR:
        return in_row - n >= 0 ? lane - n : -1;
    case ROR:
        return row + (in_row + 16 - n) % 16;
    case MIRROR:
        return row + 15 - in_row;
    case HALF_MIRROR:
        return lane / 8 * 8 + 7 - lane % 8;
    case SHARE:
        return row + n;
    case XMASK:
        return row + (in_row ^ n);
    default:
        return lane / 8 * 8 + f->parameter[lane % 8];
    }
}

/* The value a lane reads; false when the lane is not written at all. */
static bool dpp_read(const dpp_form *f, int lane, uint32_t exec, const uint32_t *a, uint32_t *value)
{
    if (!(exec >> lane & 1)) return false;
    if (!(f->row_mask >> (lane / 16) & 1) || !(f->bank_mask >> (lane % 16 / 4) & 1)) return false;
    int source = source_lane(f, lane);
    bool valid = source >= 0 && ((exec >> source & 1) || f->inactive);
    *value = valid ? a[source] : 0;
    return valid || f->bound || f->kind == DPP8;
}

static void test_dpp(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "lanes", arch, false);
    struct {
        uint32_t *a, *old, *out, exec;
    } args = {core_buffer(&m, 128, 0), core_buffer(&m, 128, 0), core_buffer(&m, 128 * DPP_FORMS, 0), 0};
    for (int k = 0; k < MASKS; k++) {
        for (int i = 0; i < LANES; i++) {
            args.a[i] = core_random();
            args.old[i] = core_random();
        }
        args.exec = masks[k];
        core_run(&m, "dpp_moves", 1, 32, &args, sizeof(args));
        for (int f = 0; f < DPP_FORMS; f++) {
            for (int i = 0; i < LANES; i++) {
                uint32_t want = args.old[i], value;
                if (dpp_read(&forms[f], i, masks[k], args.a, &value)) want = value;
                if (args.out[f * LANES + i] != want) {
                    fail_msg("DPP form %d, EXEC %08x, lane %d: %08x, not %08x", f, masks[k], i,
                             args.out[f * LANES + i], want);
                }
            }
        }
    }
    core_free(&m, args.a);
    core_free(&m, args.old);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_dpp_adds(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "lanes", arch, false);
    struct {
        float *a, *b, *old, *out;
        uint32_t exec;
    } args = {core_buffer(&m, 128, 0), core_buffer(&m, 128, 0), core_buffer(&m, 128, 0),
              core_buffer(&m, 256, 0), 0};
    const dpp_form ror = {ROR, {3}, 15, 15, false, false}, xmask = {XMASK, {1}, 15, 15, false, false};
    for (int i = 0; i < LANES; i++) {
        args.a[i] = (float)(i - 9);
        args.b[i] = (float)(i * i - 200);
        args.old[i] = 0.5f;
    }
    for (int k = 0; k < MASKS; k++) {
        args.exec = masks[k];
        core_run(&m, "dpp_adds", 1, 32, &args, sizeof(args));
        for (int i = 0; i < LANES; i++) {
            uint32_t bits;
            float add = 0.5f, fma = 0.5f;
            if (dpp_read(&ror, i, masks[k], (const uint32_t *)args.a, &bits))
                add = -bits_float(bits) + fabsf(args.b[i]);
            if (dpp_read(&xmask, i, masks[k], (const uint32_t *)args.a, &bits)) {
                fma = bits_float(bits) * args.b[i] + args.b[i];
            }
            assert_true(args.out[i] == add);
            assert_true(args.out[LANES + i] == fma);
        }
    }
    core_free(&m, args.a);
    core_free(&m, args.b);
    core_free(&m, args.old);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_permlanes(void **state)
{
    (void)state;
    static const struct {
        bool cross, inactive, bound;
        int low, high; /* 0: the register, 1: a literal */
        uint32_t low_value, high_value;
    } kinds[PERMUTES] = {{false, false, false, 0, 0, 0, 0},         {true, false, false, 0, 0, 0, 0},
                         {false, true, false, 0, 0, 0, 0},          {true, false, true, 0, 0, 0, 0},
                         {true, false, false, 1, 0, 0x76543210, 0}, {true, true, true, 0, 1, 0, 0xfedcba98},
                         {false, false, false, 1, 1, 0, 0xffffffff}};
    core_machine m;
    core_open(&m, "lanes", arch, false);
    struct {
        uint32_t *a, *old, *out, exec, low, high;
    } args = {core_buffer(&m, 128, 0), core_buffer(&m, 128, 0), core_buffer(&m, 128 * PERMUTES, 0), 0, 0, 0};
    for (int round = 0; round < MASKS * 4; round++) {
        args.exec = masks[round % MASKS];
        args.low = core_random();
        args.high = core_random();
        for (int i = 0; i < LANES; i++) {
            args.a[i] = core_random();
            args.old[i] = core_random();
        }
        core_run(&m, "permlanes", 1, 32, &args, sizeof(args));
        for (int k = 0; k < PERMUTES; k++) {
            uint32_t low = kinds[k].low ? kinds[k].low_value : args.low;
            uint32_t high = kinds[k].high ? kinds[k].high_value : args.high;
            for (int i = 0; i < LANES; i++) {
                uint32_t selector = (i % 16 < 8 ? low : high) >> (4 * (i % 8)) & 15;
                uint32_t source = ((uint32_t)i / 16 ^ (kinds[k].cross ? 1u : 0u)) * 16 + selector;
                bool readable = (args.exec >> source & 1) || kinds[k].inactive;
                uint32_t want = args.old[i];
                if (args.exec >> i & 1) want = readable ? args.a[source] : kinds[k].bound ? 0 : want;
                if (args.out[k * LANES + i] != want) {
                    fail_msg("permlane %d, EXEC %08x, lane %d: %08x, not %08x", k, args.exec, i,
                             args.out[k * LANES + i], want);
                }
            }
        }
    }
    core_free(&m, args.a);
    core_free(&m, args.old);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_pairs(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "lanes", arch, false);
    struct {
        float *a, *b, *out;
    } args = {core_buffer(&m, 128, 0), core_buffer(&m, 128, 0), core_buffer(&m, 256 * PAIRS, 0)};
    for (int i = 0; i < LANES; i++) {
        args.a[i] = (float)i + 1;
        args.b[i] = (float)(i * 3) - 40;
    }
    core_run(&m, "pairs", 1, 32, &args, sizeof(args));
    for (int i = 0; i < LANES; i++) {
        float x = args.a[i], y = args.b[i];
        const float want[PAIRS][2] = {
            {y, x}, {y + 2, x * 4}, {y * 2 + x, x * 4 + y}, {x * 2, 4 + x}, {y * 3 + 2, 4 - x}};
        for (int k = 0; k < PAIRS; k++) {
            assert_true(args.out[64 * k + i] == want[k][0]);
            assert_true(args.out[64 * k + 32 + i] == want[k][1]);
        }
    }
    assert_true(m.counters.by_class[EMU_COUNT_VALU_DUAL] >= PAIRS);
    core_free(&m, args.a);
    core_free(&m, args.b);
    core_free(&m, args.out);
    core_close(&m);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dpp), cmocka_unit_test(test_dpp_adds),
                                       cmocka_unit_test(test_permlanes), cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
