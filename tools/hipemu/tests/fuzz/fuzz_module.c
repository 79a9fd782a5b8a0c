/* libFuzzer target: the code object reader (ELF, symbols, relocations, notes, MessagePack metadata) with everything that
 * loading does, and the queries that walk what was loaded. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const emu_module *module)
{
    char text[200];
    for (size_t i = 0; i < emu_module_kernel_count(module); i++) {
        const emu_kernel *k = emu_module_kernel_at(module, i);
        emu_counters c = {0};
        void *address;
        size_t bytes;
        if (emu_module_kernel(module, k->name) == NULL) abort();
        emu_module_symbol(module, k->symbol, &address, &bytes);
        emu_kernel_mix(k, &c, NULL);
        emu_kernel_occupancy(k, k->max_workgroup, 0);
        emu_disassemble(module, k->code_offset, text, sizeof(text));
        for (uint32_t a = 0; a < k->arg_count; a++) {
            if (k->args[a].offset + k->args[a].size > k->kernarg_size) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    emu_module *module;
    emu_error error = {0};
    emu_status status = emu_module_load(data, size, NULL, &module, &error);
    if (status) {
        if (module || !error.text[0] || strlen(error.text) >= sizeof(error.text)) abort();
        return 0;
    }
    walk(module);
    emu_module_destroy(&module);
    return 0;
}
