/* ELF64 code objects: header, segments, dynamic table, symbols, relocations, notes. Nothing in the file is believed
 * before its bounds are checked. */
#include "module.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_AMDGPU = 224,
    OSABI_AMDGPU_HSA = 64,
    NOTE_METADATA = 32,
    RELOC_ABS64 = 3,
    RELOC_RELATIVE64 = 13,
    MAX_IMAGE = 1 << 26,
    PAGE = 4096,
};

emu_status emu_fail(emu_error *error, emu_status status, const char *format, ...)
{
    if (error) {
        va_list list;
        va_start(list, format);
        error->status = status;
        vsnprintf(error->text, sizeof(error->text), format, list);
        va_end(list);
    }
    return status;
}

static bool inside(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

/* ------------------------------------------------------------------ header */

static emu_status check_header(const Elf64_Ehdr *h, size_t size, const emu_arch *wanted, emu_error *error)
{
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0) return emu_fail(error, EMU_MALFORMED, "not an ELF file");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB) {
        return emu_fail(error, EMU_MALFORMED, "not a 64-bit little-endian ELF file");
    }
    if (h->e_machine != MACHINE_AMDGPU || h->e_ident[EI_OSABI] != OSABI_AMDGPU_HSA) {
        return emu_fail(error, EMU_MALFORMED, "not an AMDGPU HSA code object (machine %u, OS ABI %u)",
                        h->e_machine, h->e_ident[EI_OSABI]);
    }
    if (h->e_type != ET_DYN)
        return emu_fail(error, EMU_MALFORMED, "e_type %u: not a linked code object", h->e_type);
    if (h->e_ident[EI_ABIVERSION] < 2 || h->e_ident[EI_ABIVERSION] > 4) {
        return emu_fail(error, EMU_UNSUPPORTED,
                        "code object ABI version %u (known: 2 to 4, code objects v4 to v6)",
                        h->e_ident[EI_ABIVERSION]);
    }
    if (h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_phnum ||
        !inside(h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), size)) {
        return emu_fail(error, EMU_MALFORMED, "the program headers lie outside the file");
    }
    const emu_arch *arch = emu_arch_from_flags(h->e_flags);
    if (!arch)
        return emu_fail(error, EMU_WRONG_ARCH, "built for e_flags 0x%x, an architecture not known here",
                        h->e_flags);
    if (wanted && wanted != arch) {
        return emu_fail(error, EMU_WRONG_ARCH, "built for %s, the device is %s", arch->name, wanted->name);
    }
    return EMU_OK;
}

/* ------------------------------------------------------------------ segments */

static Elf64_Phdr segment(const emu_elf *elf, uint64_t table, unsigned index)
{
    Elf64_Phdr p;
    memcpy(&p, elf->file + table + index * sizeof(p), sizeof(p));
    return p;
}

static emu_status measure(emu_elf *elf, const Elf64_Ehdr *h, emu_error *error)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p = segment(elf, h->e_phoff, i);
        if (p.p_type != PT_LOAD) continue;
        if (!inside(p.p_offset, p.p_filesz, elf->file_size) || p.p_filesz > p.p_memsz ||
            !inside(p.p_vaddr, p.p_memsz, MAX_IMAGE)) {
            return emu_fail(error, EMU_MALFORMED, "segment %u lies outside the file or is too large", i);
        }
        if (p.p_vaddr + p.p_memsz > end) end = p.p_vaddr + p.p_memsz;
        if ((p.p_flags & PF_X) && !elf->text_size) {
            elf->text = p.p_vaddr;
            elf->text_size = p.p_filesz;
        }
    }
    if (!end || !elf->text_size) return emu_fail(error, EMU_MALFORMED, "no executable segment");
    if (elf->text % 4) return emu_fail(error, EMU_MALFORMED, "the executable segment is misaligned");
    elf->size = (size_t)(end + PAGE - 1) / PAGE * PAGE;
    return EMU_OK;
}

static emu_status load_segments(emu_elf *elf, const Elf64_Ehdr *h, emu_error *error)
{
    emu_status status = measure(elf, h, error);
    if (status) return status;
    /* calloc: a large image that is mostly .bss costs nothing until it is touched. */
    elf->block = calloc(1, elf->size + PAGE);
    if (!elf->block) return emu_fail(error, EMU_NO_MEMORY, "no memory for an image of %zu bytes", elf->size);
    elf->memory = (uint8_t *)(((uintptr_t)elf->block + PAGE - 1) / PAGE * PAGE);
    for (unsigned i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr p = segment(elf, h->e_phoff, i);
        if (p.p_type == PT_LOAD) memcpy(elf->memory + p.p_vaddr, elf->file + p.p_offset, p.p_filesz);
    }
    return EMU_OK;
}

/* ------------------------------------------------------------------ symbols */

/* A NUL-terminated name inside a table, or NULL. */
static const char *name_at(const uint8_t *table, uint64_t table_size, uint64_t offset)
{
    if (offset >= table_size || !memchr(table + offset, 0, table_size - offset)) return NULL;
    return (const char *)table + offset;
}

static emu_status add_symbols(emu_elf *elf, const uint8_t *table, uint64_t count, const uint8_t *names,
                              uint64_t names_size, emu_error *error)
{
    emu_symbol *grown = realloc(elf->symbols, (elf->symbol_count + count + 1) * sizeof(*grown));
    if (!grown)
        return emu_fail(error, EMU_NO_MEMORY, "no memory for %llu symbols", (unsigned long long)count);
    elf->symbols = grown;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym s;
        memcpy(&s, table + i * sizeof(s), sizeof(s));
        unsigned type = ELF64_ST_TYPE(s.st_info);
        if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) continue;
        const char *name = name_at(names, names_size, s.st_name);
        if (!name || !inside(s.st_value, s.st_size, elf->size)) {
            return emu_fail(error, EMU_MALFORMED, "symbol %llu lies outside the image",
                            (unsigned long long)i);
        }
        elf->symbols[elf->symbol_count++] = (emu_symbol){name, s.st_value, s.st_size, type == STT_FUNC};
    }
    return EMU_OK;
}

typedef struct dynamic_table {
    uint64_t symbols, names, names_size, hash, relocations, relocations_size;
} dynamic_table;

static emu_status read_dynamic(const emu_elf *elf, const Elf64_Phdr *p, dynamic_table *d, emu_error *error)
{
    if (!inside(p->p_vaddr, p->p_memsz, elf->size)) {
        return emu_fail(error, EMU_MALFORMED, "the dynamic table lies outside the image");
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= p->p_memsz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, elf->memory + p->p_vaddr + at, sizeof(entry));
        switch (entry.d_tag) {
        case DT_NULL:
            return EMU_OK;
        case DT_SYMTAB:
            d->symbols = entry.d_un.d_ptr;
            break;
        case DT_STRTAB:
            d->names = entry.d_un.d_ptr;
            break;
        case DT_STRSZ:
            d->names_size = entry.d_un.d_val;
            break;
        case DT_HASH:
            d->hash = entry.d_un.d_ptr;
            break;
        case DT_RELA:
            d->relocations = entry.d_un.d_ptr;
            break;
        case DT_RELASZ:
            d->relocations_size = entry.d_un.d_val;
            break;
        case DT_REL:
        case DT_JMPREL:
            return emu_fail(error, EMU_UNSUPPORTED, "relocations of a form not known here");
        default:
            break;
        }
    }
    return EMU_OK;
}

/* The hash table's chain count is the number of dynamic symbols. */
static emu_status dynamic_symbols(emu_elf *elf, const dynamic_table *d, uint64_t *count, emu_error *error)
{
    *count = 0;
    if (!d->symbols || !d->hash) return EMU_OK;
    uint32_t chains;
    if (!inside(d->hash, 8, elf->size) || !inside(d->names, d->names_size, elf->size)) {
        return emu_fail(error, EMU_MALFORMED, "the symbol tables lie outside the image");
    }
    memcpy(&chains, elf->memory + d->hash + 4, 4);
    if (!inside(d->symbols, (uint64_t)chains * sizeof(Elf64_Sym), elf->size)) {
        return emu_fail(error, EMU_MALFORMED, "%u dynamic symbols do not fit the image", chains);
    }
    *count = chains;
    return add_symbols(elf, elf->memory + d->symbols, chains, elf->memory + d->names, d->names_size, error);
}

static emu_status relocate(emu_elf *elf, const dynamic_table *d, uint64_t symbol_count, emu_error *error)
{
    if (!inside(d->relocations, d->relocations_size, elf->size)) {
        return emu_fail(error, EMU_MALFORMED, "the relocations lie outside the image");
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= d->relocations_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, elf->memory + d->relocations + at, sizeof(r));
        uint64_t value = (uint64_t)(uintptr_t)elf->memory + (uint64_t)r.r_addend;
        uint32_t index = (uint32_t)ELF64_R_SYM(r.r_info), type = (uint32_t)ELF64_R_TYPE(r.r_info);
        if (!inside(r.r_offset, 8, elf->size)) {
            return emu_fail(error, EMU_MALFORMED, "a relocation at 0x%llx lies outside the image",
                            (unsigned long long)r.r_offset);
        }
        if (type == RELOC_ABS64) {
            Elf64_Sym s;
            if (index >= symbol_count)
                return emu_fail(error, EMU_MALFORMED, "a relocation names symbol %u", index);
            memcpy(&s, elf->memory + d->symbols + index * sizeof(s), sizeof(s));
            if (s.st_shndx == SHN_UNDEF) {
                const char *name = name_at(elf->memory + d->names, d->names_size, s.st_name);
                return emu_fail(error, EMU_MALFORMED, "undefined symbol %s", name ? name : "?");
            }
            value += s.st_value;
        } else if (type != RELOC_RELATIVE64) {
            return emu_fail(error, EMU_UNSUPPORTED, "relocation type %u", type);
        }
        memcpy(elf->memory + r.r_offset, &value, 8);
    }
    return EMU_OK;
}

/* The full symbol table also has local functions; stripped files have none, which is fine. */
static emu_status static_symbols(emu_elf *elf, const Elf64_Ehdr *h, emu_error *error)
{
    if (!h->e_shnum || h->e_shentsize != sizeof(Elf64_Shdr)) return EMU_OK;
    if (!inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), elf->file_size)) {
        return emu_fail(error, EMU_MALFORMED, "the section headers lie outside the file");
    }
    for (unsigned i = 0; i < h->e_shnum; i++) {
        Elf64_Shdr table, names;
        memcpy(&table, elf->file + h->e_shoff + i * sizeof(table), sizeof(table));
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= h->e_shnum) continue;
        memcpy(&names, elf->file + h->e_shoff + table.sh_link * sizeof(names), sizeof(names));
        if (!inside(table.sh_offset, table.sh_size, elf->file_size) ||
            !inside(names.sh_offset, names.sh_size, elf->file_size)) {
            return emu_fail(error, EMU_MALFORMED, "the symbol table lies outside the file");
        }
        return add_symbols(elf, elf->file + table.sh_offset, table.sh_size / sizeof(Elf64_Sym),
                           elf->file + names.sh_offset, names.sh_size, error);
    }
    return EMU_OK;
}

/* ------------------------------------------------------------------ notes */

static void find_note(emu_elf *elf, const Elf64_Phdr *p)
{
    if (!inside(p->p_offset, p->p_filesz, elf->file_size)) return;
    const uint8_t *base = elf->file + p->p_offset;
    uint64_t at = 0;
    while (inside(at, sizeof(Elf64_Nhdr), p->p_filesz)) {
        Elf64_Nhdr n;
        memcpy(&n, base + at, sizeof(n));
        uint64_t name = at + sizeof(n), text = name + ((uint64_t)n.n_namesz + 3) / 4 * 4;
        uint64_t next = text + ((uint64_t)n.n_descsz + 3) / 4 * 4;
        if (!inside(name, n.n_namesz, p->p_filesz) || !inside(text, n.n_descsz, p->p_filesz)) return;
        if (n.n_type == NOTE_METADATA && n.n_namesz == 7 && memcmp(base + name, "AMDGPU", 7) == 0) {
            elf->note = base + text;
            elf->note_size = n.n_descsz;
        }
        at = next;
    }
}

/* ------------------------------------------------------------------ entry */

static emu_status load(emu_elf *elf, const Elf64_Ehdr *h, emu_error *error)
{
    dynamic_table d = {0};
    uint64_t count = 0;
    emu_status status = load_segments(elf, h, error);
    for (unsigned i = 0; !status && i < h->e_phnum; i++) {
        Elf64_Phdr p = segment(elf, h->e_phoff, i);
        if (p.p_type == PT_NOTE) find_note(elf, &p);
        if (p.p_type == PT_DYNAMIC) status = read_dynamic(elf, &p, &d, error);
    }
    if (!status) status = dynamic_symbols(elf, &d, &count, error);
    if (!status) status = relocate(elf, &d, count, error);
    if (!status) status = static_symbols(elf, h, error);
    if (!status && !elf->note) status = emu_fail(error, EMU_MALFORMED, "no AMDGPU metadata note");
    return status;
}

emu_status emu_elf_load(const void *image, size_t size, const emu_arch *wanted, emu_elf *elf,
                        emu_error *error)
{
    static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";
    Elf64_Ehdr h;
    memset(elf, 0, sizeof(*elf));
    if (size >= sizeof(bundle) - 1 && memcmp(image, bundle, sizeof(bundle) - 1) == 0) {
        return emu_fail(error, EMU_UNSUPPORTED, "a clang offload bundle: build with --no-gpu-bundle-output");
    }
    if (size < sizeof(h))
        return emu_fail(error, EMU_MALFORMED, "%zu bytes are too few for an ELF file", size);
    memcpy(&h, image, sizeof(h));
    emu_status status = check_header(&h, size, wanted, error);
    if (status) return status;
    elf->flags = h.e_flags;
    elf->file_size = size;
    elf->file = malloc(size);
    if (!elf->file) return emu_fail(error, EMU_NO_MEMORY, "no memory for a file of %zu bytes", size);
    memcpy(elf->file, image, size);
    status = load(elf, &h, error);
    if (status) emu_elf_free(elf);
    return status;
}

void emu_elf_free(emu_elf *elf)
{
    free(elf->file);
    free(elf->block);
    free(elf->symbols);
    memset(elf, 0, sizeof(*elf));
}

const emu_symbol *emu_elf_symbol(const emu_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->symbol_count; i++) {
        if (strcmp(elf->symbols[i].name, name) == 0) return &elf->symbols[i];
    }
    return NULL;
}

size_t emu_module_image_size(const void *image)
{
    Elf64_Ehdr h;
    memcpy(&h, image, EI_NIDENT);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64) return 0;
    memcpy(&h, image, sizeof(h));
    const uint8_t *bytes = image;
    uint64_t end = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
    for (unsigned i = 0; h.e_phentsize == sizeof(Elf64_Phdr) && i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, bytes + h.e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_offset + p.p_filesz > end) end = p.p_offset + p.p_filesz;
    }
    for (unsigned i = 0; h.e_shentsize == sizeof(Elf64_Shdr) && i < h.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, bytes + h.e_shoff + i * sizeof(s), sizeof(s));
        if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > end) end = s.sh_offset + s.sh_size;
    }
    return (size_t)end;
}
