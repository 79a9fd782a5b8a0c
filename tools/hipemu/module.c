/* Modules: loading, kernels, symbols, static counts, occupancy. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ loading */

enum { DESCRIPTOR_SIZE = 64, DESCRIPTOR_KERNARG = 8, DESCRIPTOR_ENTRY = 16 };

static emu_status find_code(emu_module *module, size_t index, emu_error *error)
{
    emu_kernel *k = &module->kernels[index];
    const emu_elf *elf = &module->elf;
    const emu_symbol *kd = emu_elf_symbol(elf, k->symbol);
    if (!kd || kd->size < DESCRIPTOR_SIZE) {
        return emu_fail(error, EMU_MALFORMED, "kernel %s: no descriptor %s", k->name, k->symbol);
    }
    uint32_t kernarg;
    int64_t entry;
    memcpy(&kernarg, elf->memory + kd->address + DESCRIPTOR_KERNARG, sizeof(kernarg));
    memcpy(&entry, elf->memory + kd->address + DESCRIPTOR_ENTRY, sizeof(entry));
    uint64_t code = kd->address + (uint64_t)entry;
    if (code < elf->text || code - elf->text >= elf->text_size || (code - elf->text) % 4) {
        return emu_fail(error, EMU_MALFORMED, "kernel %s: its entry is not in the text", k->name);
    }
    if (kernarg > k->kernarg_size) {
        return emu_fail(error, EMU_MALFORMED,
                        "kernel %s: descriptor and metadata disagree about the kernarg size", k->name);
    }
    k->code_offset = (uint32_t)(code - elf->text);
    k->code_size = (uint32_t)(elf->text_size - k->code_offset);
    module->descriptors[index] = kd->address;
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const emu_symbol *s = &elf->symbols[i];
        if (s->is_function && s->address == code && s->size && s->size <= elf->text_size - k->code_offset) {
            k->code_size = (uint32_t)s->size;
        }
    }
    return EMU_OK;
}

static emu_status translate(emu_module *module, emu_error *error)
{
    const emu_elf *elf = &module->elf;
    size_t count = 0;
    uint32_t *starts = malloc((elf->symbol_count + module->kernel_count + 1) * sizeof(*starts));
    if (!starts) return emu_fail(error, EMU_NO_MEMORY, "no memory for the code");
    for (size_t i = 0; i < module->kernel_count; i++) starts[count++] = module->kernels[i].code_offset;
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const emu_symbol *s = &elf->symbols[i];
        if (s->is_function && s->address >= elf->text && s->address - elf->text < elf->text_size) {
            starts[count++] = (uint32_t)(s->address - elf->text);
        }
    }
    emu_status status =
        emu_translate(module->arch->cls, (const uint32_t *)(const void *)(elf->memory + elf->text),
                      (size_t)elf->text_size / 4, starts, count, &module->code);
    free(starts);
    return status ? emu_fail(error, status, "no memory for the code") : EMU_OK;
}

static emu_status load(emu_module *module, emu_error *error)
{
    module->arch = emu_arch_from_flags(module->elf.flags);
    emu_status status = emu_metadata_read(module, error);
    if (status) return status;
    module->descriptors = calloc(module->kernel_count + 1, sizeof(*module->descriptors));
    if (!module->descriptors) return emu_fail(error, EMU_NO_MEMORY, "no memory for the kernels");
    for (size_t i = 0; !status && i < module->kernel_count; i++) status = find_code(module, i, error);
    return status ? status : translate(module, error);
}

emu_status emu_module_load(const void *image, size_t size, const emu_arch *arch, emu_module **module,
                           emu_error *error)
{
    *module = NULL;
    emu_module *m = calloc(1, sizeof(*m));
    if (!m) return emu_fail(error, EMU_NO_MEMORY, "no memory for a module");
    emu_status status = emu_elf_load(image, size, arch, &m->elf, error);
    if (!status) status = load(m, error);
    if (status) {
        emu_module_destroy(&m);
        return status;
    }
    *module = m;
    return EMU_OK;
}

void emu_module_destroy(emu_module **module)
{
    emu_module *m = *module;
    *module = NULL;
    if (!m) return;
    for (size_t i = 0; i < m->kernel_count; i++) free((void *)(uintptr_t)m->kernels[i].args);
    for (size_t i = 0; i < m->string_count; i++) free(m->strings[i]);
    free(m->strings);
    free(m->kernels);
    free(m->descriptors);
    emu_code_free(&m->code);
    emu_elf_free(&m->elf);
    free(m);
}

/* ------------------------------------------------------------------ queries */

const emu_arch *emu_module_arch(const emu_module *module)
{
    return module->arch;
}

size_t emu_module_kernel_count(const emu_module *module)
{
    return module->kernel_count;
}

const emu_kernel *emu_module_kernel_at(const emu_module *module, size_t index)
{
    return index < module->kernel_count ? &module->kernels[index] : NULL;
}

const emu_kernel *emu_module_kernel(const emu_module *module, const char *name)
{
    for (size_t i = 0; i < module->kernel_count; i++) {
        if (strcmp(module->kernels[i].name, name) == 0) return &module->kernels[i];
    }
    return NULL;
}

bool emu_module_symbol(const emu_module *module, const char *name, void **address, size_t *size)
{
    const emu_symbol *s = emu_elf_symbol(&module->elf, name);
    if (!s || s->is_function) return false;
    *address = module->elf.memory + s->address;
    *size = (size_t)s->size;
    return true;
}

const emu_code *emu_module_code(const emu_module *module)
{
    return &module->code;
}

emu_range emu_module_range(const emu_module *module)
{
    uintptr_t base = (uintptr_t)module->elf.memory;
    return (emu_range){base, base + module->elf.size, NULL, false};
}

const uint8_t *emu_kernel_descriptor(const emu_kernel *kernel)
{
    const emu_module *m = kernel->module;
    return m->elf.memory + m->descriptors[kernel - m->kernels];
}

uintptr_t emu_module_text_address(const emu_module *module)
{
    return (uintptr_t)(module->elf.memory + module->elf.text);
}

uint32_t emu_disassemble(const emu_module *module, uint32_t offset, char *text, size_t size)
{
    const emu_elf *elf = &module->elf;
    if (offset % 4 || offset >= elf->text_size / 4 * 4) return 0;
    emu_inst inst, second;
    const uint32_t *words = (const uint32_t *)(const void *)(elf->memory + elf->text);
    emu_decode(module->arch->cls, words + offset / 4, (size_t)elf->text_size / 4 - offset / 4, &inst,
               &second);
    emu_print(module->arch->cls, &inst, &second, text, size);
    return inst.bytes;
}

/* ------------------------------------------------------------------ occupancy */

emu_occupancy emu_kernel_occupancy(const emu_kernel *kernel, uint32_t block_items, uint32_t dynamic_lds)
{
    enum { LDS_GRANULE = 1024, SIMDS = 4, MAX_GROUPS = 32 };
    const emu_arch *a = kernel->arch;
    emu_occupancy o = {0};
    uint32_t vgprs = kernel->vgprs ? kernel->vgprs : 1;
    o.vgprs_allocated = (vgprs + a->vgpr_granule - 1) / a->vgpr_granule * a->vgpr_granule;
    o.waves_by_limit = a->waves_per_simd;
    o.waves_by_vgprs = a->vgprs_per_lane / o.vgprs_allocated;
    if (o.waves_by_vgprs > o.waves_by_limit) o.waves_by_vgprs = o.waves_by_limit;
    uint32_t waves = (block_items + EMU_LANES - 1) / EMU_LANES;
    uint32_t lds = (kernel->lds_bytes + dynamic_lds + LDS_GRANULE - 1) / LDS_GRANULE * LDS_GRANULE;
    uint32_t groups = lds ? a->lds_per_wgp / lds : MAX_GROUPS * SIMDS;
    o.waves_by_lds = groups * waves / SIMDS;
    if (groups && !o.waves_by_lds) o.waves_by_lds = 1;
    if (o.waves_by_lds > o.waves_by_limit) o.waves_by_lds = o.waves_by_limit;
    o.waves = o.waves_by_vgprs < o.waves_by_lds ? o.waves_by_vgprs : o.waves_by_lds;
    return o;
}
