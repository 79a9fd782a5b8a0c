/* Code objects taken apart. Private. */
#ifndef HIPEMU_MODULE_H
#define HIPEMU_MODULE_H

#include "wave.h"

typedef struct emu_symbol {
    const char *name; /* in the image's string table */
    uint64_t address; /* offset in the loaded image */
    uint64_t size;
    bool is_function;
} emu_symbol;

/* The loaded image of an ELF file: its segments at their addresses, relocated. */
typedef struct emu_elf {
    uint32_t flags;
    void *block;     /* what was allocated */
    uint8_t *memory; /* page-aligned, within it */
    size_t size;
    uint64_t text, text_size; /* the executable segment, offsets in memory */
    uint8_t *file;            /* a copy of the file: names and notes point into it */
    size_t file_size;
    emu_symbol *symbols;
    size_t symbol_count;
    const uint8_t *note; /* the metadata */
    size_t note_size;
} emu_elf;

struct emu_module {
    const emu_arch *arch;
    emu_elf elf;
    emu_code code;
    emu_kernel *kernels;
    uint64_t *descriptors; /* offsets in elf.memory, by kernel */
    size_t kernel_count;
    char **strings; /* what kernels' names point to */
    size_t string_count, string_capacity;
};

emu_status emu_fail(emu_error *error, emu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Parses and loads; on failure everything is freed. */
emu_status emu_elf_load(const void *image, size_t size, const emu_arch *wanted, emu_elf *elf,
                        emu_error *error);
void emu_elf_free(emu_elf *elf);
const emu_symbol *emu_elf_symbol(const emu_elf *elf, const char *name);

/* Fills module->kernels from the note: everything but code_offset and code_size. */
emu_status emu_metadata_read(emu_module *module, emu_error *error);

#endif
