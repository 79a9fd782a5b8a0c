/* Every word of every code object given, decoded here and by LLVM's disassembler: same length, same text.
 * usage: hipemu_decode_test FILE.hsaco... */
#include "core.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

enum { SHOWN = 20 };

typedef struct image {
    uint8_t *data;
    size_t size, text, text_size;
} image;

static int read_image(const char *path, image *out)
{
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    fseek(f, 0, SEEK_END);
    out->size = (size_t)ftell(f);
    rewind(f);
    out->data = malloc(out->size + 1);
    int ok = out->data && fread(out->data, 1, out->size, f) == out->size;
    fclose(f);
    return ok;
}

/* The executable segment: the loader has checked the file before this runs. */
static void find_text(image *i)
{
    Elf64_Ehdr h;
    memcpy(&h, i->data, sizeof(h));
    for (int k = 0; k < h.e_phnum && !i->text_size; k++) {
        Elf64_Phdr p;
        memcpy(&p, i->data + h.e_phoff + (size_t)k * sizeof(p), sizeof(p));
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X)) {
            i->text = p.p_offset;
            i->text_size = p.p_filesz;
        }
    }
}

/* Leading blanks off, tabs to blanks, trailing blanks off. */
static char *tidy(char *text)
{
    char *start = text + strspn(text, " \t");
    for (char *c = start; *c; c++) {
        if (*c == '\t') *c = ' ';
    }
    for (char *end = start + strlen(start); end > start && end[-1] == ' ';) *--end = 0;
    return start;
}

static size_t compare(const char *path, const image *i, const emu_module *module, size_t *differences)
{
    LLVMDisasmContextRef llvm = LLVMCreateDisasmCPUFeatures(
        "amdgcn-amd-amdhsa", emu_module_arch(module)->name, "+wavefrontsize32", NULL, 0, NULL, NULL);
    size_t count = 0;
    for (uint32_t at = 0; at < i->text_size; count++) {
        char mine[320], theirs[320];
        uint32_t size = emu_disassemble(module, at, mine, sizeof(mine));
        size_t llvm_size = LLVMDisasmInstruction(llvm, i->data + i->text + at, i->text_size - at, at, theirs,
                                                 sizeof(theirs));
        const char *text = llvm_size ? tidy(theirs) : "not an instruction";
        /* What neither knows is data between functions; images are not emulated (a test plants one). */
        int unknown = strncmp(mine, ".long", 5) == 0;
        int image_word = unknown && strncmp(text, "image_", 6) == 0;
        if (image_word) {
            llvm_size = size;
        } else if (llvm_size ? size != llvm_size || strcmp(mine, text) != 0 : !unknown) {
            if ((*differences)++ < SHOWN) printf("%s+0x%x: \"%s\", LLVM: \"%s\"\n", path, at, mine, text);
        }
        at += llvm_size ? (uint32_t)llvm_size : 4;
    }
    LLVMDisasmDispose(llvm);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0, differences = 0;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    for (int k = 1; k < argc; k++) {
        image i = {0};
        emu_module *module = NULL;
        emu_error error = {0};
        if (!read_image(argv[k], &i) || emu_module_load(i.data, i.size, NULL, &module, &error)) {
            printf("%s: %s\n", argv[k], error.text);
            return 1;
        }
        find_text(&i);
        count += compare(argv[k], &i, module, &differences);
        emu_module_destroy(&module);
        free(i.data);
    }
    printf("%zu instructions of %d code objects, %zu differ\n", count, argc - 1, differences);
    return differences || !count;
}
