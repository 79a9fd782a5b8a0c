/* Text for instructions the tables do not know: LLVM's disassembler, opened at run time if it is installed. */
#include "wave.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct llvm_api {
    void (*target_info)(void);
    void (*target_mc)(void);
    void (*disassembler)(void);
    void *(*create)(const char *triple, const char *cpu, void *info, int tag, void *get_info, void *lookup);
    size_t (*disassemble)(void *context, uint8_t *bytes, uint64_t size, uint64_t pc, char *out,
                          size_t out_size);
    void (*dispose)(void *context);
} llvm_api;

static void *symbol(void *library, const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static bool open_llvm(llvm_api *api)
{
    static const char *const names[] = {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    *(void **)&api->target_info = symbol(library, "LLVMInitializeAMDGPUTargetInfo");
    *(void **)&api->target_mc = symbol(library, "LLVMInitializeAMDGPUTargetMC");
    *(void **)&api->disassembler = symbol(library, "LLVMInitializeAMDGPUDisassembler");
    *(void **)&api->create = symbol(library, "LLVMCreateDisasmCPU");
    *(void **)&api->disassemble = symbol(library, "LLVMDisasmInstruction");
    *(void **)&api->dispose = symbol(library, "LLVMDisasmDispose");
    /* The library stays open: LLVM does not survive being unloaded. */
    return api->target_info && api->target_mc && api->disassembler && api->create && api->disassemble &&
           api->dispose;
}

void emu_unknown_text(const emu_arch *arch, const uint32_t *words, size_t count, char *text, size_t size)
{
    llvm_api api;
    uint8_t bytes[16];
    char line[128] = "";
    size_t length = (count < 4 ? count : 4) * sizeof(uint32_t);
    memcpy(bytes, words, length);
    if (open_llvm(&api)) {
        api.target_info();
        api.target_mc();
        api.disassembler();
        void *context = api.create("amdgcn-amd-amdhsa", arch->name, NULL, 0, NULL, NULL);
        if (context) {
            if (!api.disassemble(context, bytes, length, 0, line, sizeof(line))) line[0] = 0;
            api.dispose(context);
        }
    }
    const char *start = line + strspn(line, " \t");
    int used = *start ? snprintf(text, size, "%s (", start) : snprintf(text, size, "(");
    for (size_t i = 0; i < length / 4 && used > 0 && (size_t)used < size; i++) {
        used += snprintf(text + used, size - (size_t)used, i ? " %08x" : "%08x", words[i]);
    }
    if (used > 0 && (size_t)used + 1 < size) strcat(text, ")");
}
