#include "core_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *core_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

void core_open(core_machine *m, const char *name, const char *arch, bool track_writes)
{
    char path[512];
    size_t size;
    emu_error error = {0};
    memset(m, 0, sizeof(*m));
    snprintf(path, sizeof(path), "%s/%s-%s.hsaco", KERNELS_DIR, name, arch);
    void *image = core_file(path, &size);
    if (emu_module_load(image, size, emu_arch_find(arch), &m->module, &error))
        fail_msg("%s: %s", path, error.text);
    free(image);
    m->memory = emu_memory_create(track_writes);
    assert_non_null(m->memory);
}

void core_close(core_machine *m)
{
    emu_module_destroy(&m->module);
    emu_memory_destroy(&m->memory);
}

void *core_buffer(core_machine *m, size_t size, uint32_t flags)
{
    void *buffer = aligned_alloc(256, (size + 255) / 256 * 256);
    assert_non_null(buffer);
    memset(buffer, 0, (size + 255) / 256 * 256);
    assert_int_equal(emu_memory_add(m->memory, buffer, size, flags, NULL), EMU_OK);
    return buffer;
}

void core_free(core_machine *m, void *buffer)
{
    assert_int_equal(emu_memory_remove(m->memory, buffer), EMU_OK);
    free(buffer);
}

emu_status core_launch(core_machine *m, const char *kernel, uint32_t groups, uint32_t items, const void *args,
                       size_t size)
{
    emu_launch_params p = {
        .kernel = emu_module_kernel(m->module, kernel),
        .memory = m->memory,
        .grid = {groups, 1, 1},
        .block = {items, 1, 1},
        .dynamic_lds = m->dynamic_lds,
        .kernarg = args,
        .kernarg_size = size,
        .options = m->options,
    };
    if (!p.kernel) fail_msg("no kernel %s", kernel);
    return emu_launch(&p, &m->counters, m->mnemonics, &m->fault);
}

void core_run(core_machine *m, const char *kernel, uint32_t groups, uint32_t items, const void *args,
              size_t size)
{
    emu_status status = core_launch(m, kernel, groups, items, args, size);
    if (status) fail_msg("%s: %s", emu_status_name(status), m->fault.text);
}

uint32_t core_random(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20);
}
