/* Planted faults are found, and named: kernel, address, lane, wave, workgroup, instruction. */
#include "core_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *arch;

typedef struct load_args {
    uint32_t *p, *out, index, lane;
} load_args;

static void expect(const core_machine *m, emu_status status, emu_fault_kind kind, const char *kernel)
{
    if (status != EMU_FAULT || m->fault.kind != kind) {
        fail_msg("%s: status %s, fault %s (%s)", kernel, emu_status_name(status),
                 emu_fault_kind_name(m->fault.kind), m->fault.text);
    }
    assert_string_equal(m->fault.kernel, kernel);
    char start[128];
    snprintf(start, sizeof(start), "kernel %s: %s", kernel, emu_fault_kind_name(kind));
    assert_memory_equal(m->fault.text, start, strlen(start));
}

static void test_bounds(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    load_args args = {core_buffer(&m, 4 * 40, 0), core_buffer(&m, 128, 0), 39, 9};
    core_run(&m, "load_at", 1, 32, &args, sizeof(args));
    args.index = 40;
    emu_status status = core_launch(&m, "load_at", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_OUT_OF_BOUNDS, "load_at");
    assert_int_equal(m.fault.lane, 9);
    assert_true(m.fault.address == (uint64_t)(uintptr_t)(args.p + 40));
    assert_false(m.fault.is_store);
    assert_non_null(strstr(m.fault.instruction, "global_load"));
    assert_non_null(strstr(m.fault.text, "0 bytes past the end of allocation 1 of 160 bytes"));
    args.index = 0xffffffff; /* 16 GiB on */
    status = core_launch(&m, "load_at", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_OUT_OF_BOUNDS, "load_at");

    struct {
        uint32_t *p, index;
    } store = {args.p, 41};
    status = core_launch(&m, "store_at", 3, 32, &store, sizeof(store));
    expect(&m, status, EMU_FAULT_OUT_OF_BOUNDS, "store_at");
    assert_true(m.fault.is_store);
    assert_int_equal(m.fault.lane, 5);

    struct {
        uint32_t *p, *out, index;
    } scalar = {args.p, args.out, 38};
    core_run(&m, "scalar_load_at", 2, 32, &scalar, sizeof(scalar));
    status = core_launch(&m, "scalar_load_at", 4, 32, &scalar, sizeof(scalar));
    expect(&m, status, EMU_FAULT_OUT_OF_BOUNDS, "scalar_load_at");
    assert_int_equal(m.fault.workgroup[0], 2);
    core_free(&m, args.p);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_freed_and_read_only(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    uint32_t *freed = core_buffer(&m, 4096, 0);
    load_args args = {freed, core_buffer(&m, 128, 0), 3, 0};
    assert_int_equal(emu_memory_remove(m.memory, freed), EMU_OK);
    emu_status status = core_launch(&m, "load_at", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_OUT_OF_BOUNDS, "load_at");
    assert_non_null(strstr(m.fault.text, "into freed allocation 1 of 4096 bytes"));
    free(freed);

    struct {
        uint32_t *p, index;
    } store = {core_buffer(&m, 4096, EMU_MEMORY_READ_ONLY), 8};
    status = core_launch(&m, "store_at", 1, 32, &store, sizeof(store));
    expect(&m, status, EMU_FAULT_READ_ONLY, "store_at");
    core_free(&m, store.p);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_misaligned(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    struct {
        uint8_t *p;
        uint32_t *out, offset;
    } args = {core_buffer(&m, 4096, 0), core_buffer(&m, 128, 0), 4};
    core_run(&m, "misaligned", 1, 32, &args, sizeof(args));
    args.offset = 6;
    emu_status status = core_launch(&m, "misaligned", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_MISALIGNED, "misaligned");
    assert_true(m.fault.address % 4 == 2);
    /* With the permission it runs and loads the right bytes. */
    for (int i = 0; i < 4096; i++) args.p[i] = (uint8_t)(i * 7);
    m.options.allow_misaligned = true;
    core_run(&m, "misaligned", 1, 32, &args, sizeof(args));
    for (int i = 0; i < 32; i++) assert_memory_equal(&args.out[i], args.p + 6 + 4 * i, 4);
    struct {
        uint8_t *p;
        uint32_t *out;
    } packed = {args.p, args.out};
    core_run(&m, "packed_fields", 1, 32, &packed, sizeof(packed));
    for (int i = 0; i < 32; i++) {
        uint32_t value;
        memcpy(&value, args.p + 5 * i + 1, 4);
        assert_int_equal(args.out[i], value + args.p[5 * i]);
    }
    /* Atomics need their alignment whatever is allowed. */
    status = core_launch(&m, "misaligned_atomic", 1, 32, &packed, sizeof(packed.p));
    expect(&m, status, EMU_FAULT_MISALIGNED, "misaligned_atomic");
    core_free(&m, args.p);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_lds(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    struct {
        uint32_t *out, index;
    } args = {core_buffer(&m, 256, 0), 0};
    core_run(&m, "lds_index", 1, 64, &args, sizeof(args));
    args.index = 1;
    emu_status status = core_launch(&m, "lds_index", 1, 64, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_LDS_BOUNDS, "lds_index");
    assert_int_equal(m.fault.wave, 1);
    assert_int_equal(m.fault.lane, 31);
    assert_true(m.fault.address == 256);
    m.dynamic_lds = 4; /* 64 words and one more */
    core_run(&m, "lds_index", 1, 64, &args, sizeof(args));
    m.dynamic_lds = 0;

    core_run(&m, "lds_never_written", 1, 64, &args, 8);
    m.options.check_uninitialised = true;
    status = core_launch(&m, "lds_never_written", 1, 64, &args, 8);
    expect(&m, status, EMU_FAULT_UNINITIALISED_LDS, "lds_never_written");
    assert_int_equal(m.fault.lane, 7);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_race(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    struct {
        uint32_t *out, with_barrier;
    } args = {core_buffer(&m, 256, 0), 0};
    core_run(&m, "lds_race", 1, 64, &args, sizeof(args));
    m.options.lds_race_check = true;
    emu_status status = core_launch(&m, "lds_race", 1, 64, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_LDS_RACE, "lds_race");
    args.with_barrier = 1;
    core_run(&m, "lds_race", 5, 64, &args, sizeof(args));
    core_run(&m, "lds_atomics", 1, 64, &args, 8);
    for (int i = 0; i < 64; i++) assert_int_equal(args.out[i], 64 * 63 / 2);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_never_written(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, true);
    load_args args = {core_buffer(&m, 256, 0), core_buffer(&m, 128, 0), 0, 32};
    m.options.check_uninitialised = true;
    emu_memory_mark_written(m.memory, args.p, 100);
    emu_status status = core_launch(&m, "load_at", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_UNINITIALISED_MEMORY, "load_at");
    assert_true(m.fault.address == (uint64_t)(uintptr_t)args.p + 100);
    assert_int_equal(m.fault.lane, 25);
    emu_memory_mark_written(m.memory, args.p, 128);
    core_run(&m, "load_at", 1, 32, &args, sizeof(args));
    uint32_t *first = args.p;
    args.p = args.out; /* what a kernel has written counts as written */
    core_run(&m, "load_at", 1, 32, &args, sizeof(args));
    core_free(&m, first);
    core_free(&m, args.out);
    core_close(&m);
}

static void test_scratch(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    struct {
        uint32_t *out, index;
    } args = {core_buffer(&m, 128, 0), 7};
    core_run(&m, "scratch_index", 1, 32, &args, sizeof(args));
    assert_int_equal(args.out[3], 7);
    args.index = 100000;
    emu_status status = core_launch(&m, "scratch_index", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_SCRATCH_BOUNDS, "scratch_index");
    core_free(&m, args.out);
    core_close(&m);
}

static void test_flow(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    struct {
        uint32_t *out;
    } args = {core_buffer(&m, 128, 0)};
    emu_status status = core_launch(&m, "traps", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_TRAP, "traps");
    assert_int_equal(args.out[1], 0);
    m.options.max_instructions = 100000;
    status = core_launch(&m, "spins", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_HANG, "spins");
    m.options.max_instructions = 0;
    atomic_int cancel = 1;
    m.options.cancel = &cancel;
    assert_int_equal(core_launch(&m, "spins", 1, 32, &args, sizeof(args)), EMU_CANCELLED);
    m.options.cancel = NULL;
    status = core_launch(&m, "unknown", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_UNKNOWN_INSTRUCTION, "unknown");
    assert_non_null(strstr(m.fault.instruction, "f0040f00"));
    assert_int_equal(args.out[0], 0);
    args.out[0] = 0x1234;
    status = core_launch(&m, "jumps_nowhere", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_BAD_JUMP, "jumps_nowhere");
    status = core_launch(&m, "half_wave_wmma", 1, 32, &args, sizeof(args));
    expect(&m, status, EMU_FAULT_WMMA, "half_wave_wmma");
    core_free(&m, args.out);
    core_close(&m);
}

/* Launches that cannot be: refused before anything runs. */
static void test_invalid(void **state)
{
    (void)state;
    core_machine m;
    core_open(&m, "faults", arch, false);
    load_args args = {core_buffer(&m, 256, 0), core_buffer(&m, 128, 0), 0, 32};
    assert_int_equal(core_launch(&m, "load_at", 0, 32, &args, sizeof(args)), EMU_INVALID);
    assert_int_equal(core_launch(&m, "load_at", 1, 1025, &args, sizeof(args)), EMU_INVALID);
    assert_int_equal(core_launch(&m, "load_at", 1, 32, &args, 20), EMU_INVALID);
    m.dynamic_lds = 65537;
    assert_int_equal(core_launch(&m, "load_at", 1, 32, &args, sizeof(args)), EMU_INVALID);
    assert_true(m.fault.text[0] != 0);
    core_free(&m, args.p);
    core_free(&m, args.out);
    core_close(&m);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    arch = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),     cmocka_unit_test(test_freed_and_read_only),
        cmocka_unit_test(test_misaligned), cmocka_unit_test(test_lds),
        cmocka_unit_test(test_race),       cmocka_unit_test(test_never_written),
        cmocka_unit_test(test_scratch),    cmocka_unit_test(test_flow),
        cmocka_unit_test(test_invalid),
    };
    return cmocka_run_group_tests_name(arch, tests, NULL, NULL);
}
