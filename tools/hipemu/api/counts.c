/* Counters as JSON. */
#include "counts.h"
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hipemu_kernel_counts *hipemu_counts_new(const emu_kernel *kernel)
{
    hipemu_kernel_counts *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->arch = kernel->arch;
    entry->kernel = strdup(kernel->name);
    entry->mnemonics = calloc(emu_mnemonic_count() + 1, sizeof *entry->mnemonics);
    if (!entry->kernel || !entry->mnemonics) {
        hipemu_counts_free(&entry);
        return NULL;
    }
    entry->vgprs = kernel->vgprs;
    entry->sgprs = kernel->sgprs;
    entry->lds_bytes = kernel->lds_bytes;
    entry->scratch_bytes = kernel->scratch_bytes;
    entry->vgpr_spills = kernel->vgpr_spills;
    entry->sgpr_spills = kernel->sgpr_spills;
    return entry;
}

static uint64_t global_bytes(const emu_counters *c)
{
    return c->bytes_read[EMU_SPACE_GLOBAL] + c->bytes_written[EMU_SPACE_GLOBAL] +
           c->bytes_read[EMU_SPACE_SCALAR];
}

void hipemu_counts_add(hipemu_kernel_counts *entry, const emu_counters *counters, const uint64_t *mnemonics,
                       uint64_t buffer_bytes)
{
    emu_counters_add(&entry->counters, counters);
    uint64_t moved = global_bytes(counters);
    entry->memory_bytes += buffer_bytes < moved ? buffer_bytes : moved;
    for (size_t i = 0; mnemonics && i < emu_mnemonic_count(); i++) entry->mnemonics[i] += mnemonics[i];
}

void hipemu_counts_free(hipemu_kernel_counts **list)
{
    while (*list) {
        hipemu_kernel_counts *entry = *list;
        *list = entry->next;
        free(entry->kernel);
        free(entry->mnemonics);
        free(entry);
    }
}

uint64_t hipemu_buffer_bytes(emu_memory *memory, const void *kernarg, size_t size)
{
    uint64_t ids[64], sum = 0;
    size_t known = 0;
    for (size_t at = 0; at + 8 <= size && known < 64; at += 8) {
        uint64_t word;
        emu_allocation found;
        memcpy(&word, (const char *)kernarg + at, 8);
        if (!word || !emu_memory_find(memory, (const void *)(uintptr_t)word, 1, &found)) continue;
        bool seen = false;
        for (size_t i = 0; i < known; i++) seen |= ids[i] == found.id;
        if (seen) continue;
        ids[known++] = found.id;
        sum += found.size;
    }
    return sum;
}

/* ---- JSON ---- */

static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void put_map(FILE *file, const char *name, const uint64_t *values, size_t count,
                    const char *(*key)(size_t index))
{
    fprintf(file, "      \"%s\": {", name);
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!values[i]) continue;
        fprintf(file, "%s\"%s\": %" PRIu64, first ? "" : ", ", key(i), values[i]);
        first = false;
    }
    fprintf(file, "},\n");
}

static const char *class_key(size_t index)
{
    return emu_count_name((emu_count)index);
}
static const char *wmma_key(size_t index)
{
    return emu_wmma_kind_name((emu_wmma_kind)index);
}
static const char *space_key(size_t index)
{
    return emu_space_name((emu_space)index);
}

static void put_estimate(FILE *file, const hipemu_kernel_counts *entry)
{
    const hipemu_card *card = hipemu_card_for(entry->arch);
    hipemu_estimate e = hipemu_model_estimate(card, &entry->counters, (double)entry->memory_bytes);
    fprintf(file,
            "      \"estimate\": {\"kind\": \"estimate by the serial model, not a measurement\", \"card\": ");
    put_string(file, card->name);
    fprintf(file, ", \"microseconds\": %.3f, \"launch\": %.3f, \"wmma\": %.3f, \"bound\": \"%s\"",
            e.seconds * 1e6, e.launch * 1e6, e.wmma * 1e6, hipemu_bound_name(e.bound));
    for (int i = 0; i < HIPEMU_BOUND_COUNT; i++)
        fprintf(file, ", \"%s\": %.3f", hipemu_bound_name((hipemu_bound)i), e.part[i] * 1e6);
    fprintf(file, "},\n");
}

static void put_entry(FILE *file, const hipemu_kernel_counts *entry)
{
    const emu_counters *c = &entry->counters;
    fprintf(file, "    {\n      \"kernel\": ");
    put_string(file, entry->kernel);
    fprintf(file, ",\n      \"arch\": \"%s\",\n", entry->arch->name);
    fprintf(file, "      \"vgprs\": %u, \"sgprs\": %u, \"lds_bytes\": %u, \"scratch_bytes\": %u,\n",
            entry->vgprs, entry->sgprs, entry->lds_bytes, entry->scratch_bytes);
    fprintf(file, "      \"vgpr_spills\": %u, \"sgpr_spills\": %u, \"waves_per_simd\": %u,\n",
            entry->vgpr_spills, entry->sgpr_spills, entry->waves_per_simd);
    fprintf(file, "      \"launches\": %" PRIu64 ", \"workgroups\": %" PRIu64 ", \"waves\": %" PRIu64 ",\n",
            c->launches, c->workgroups, c->waves);
    fprintf(file, "      \"instructions\": %" PRIu64 ", \"valu_ops\": %" PRIu64 ",\n", c->instructions,
            c->valu_ops);
    fprintf(file,
            "      \"cache_lines\": %" PRIu64 ", \"cache_pieces\": %" PRIu64 ", \"lds_accesses\": %" PRIu64
            ", \"lds_conflict_cycles\": %" PRIu64 ", \"memory_bytes\": %" PRIu64 ",\n",
            c->cache_lines, c->cache_pieces, c->lds_accesses, c->lds_conflict_cycles, entry->memory_bytes);
    put_map(file, "classes", c->by_class, EMU_COUNT_CLASSES, class_key);
    put_map(file, "wmma", c->wmma, EMU_WMMA_KINDS, wmma_key);
    put_map(file, "bytes_read", c->bytes_read, EMU_SPACES, space_key);
    put_map(file, "bytes_written", c->bytes_written, EMU_SPACES, space_key);
    put_estimate(file, entry);
    fprintf(file, "      \"mnemonics\": {");
    bool first = true;
    for (size_t i = 0; i < emu_mnemonic_count(); i++) {
        if (!entry->mnemonics[i]) continue;
        fprintf(file, "%s\"%s\": %" PRIu64, first ? "" : ", ", emu_mnemonic_name(i), entry->mnemonics[i]);
        first = false;
    }
    fprintf(file, "}\n    }");
}

bool hipemu_counts_json_file(const char *path, const hipemu_kernel_counts *list)
{
    size_t length = strlen(path) + 32;
    char *temporary = malloc(length);
    if (!temporary) return false;
    snprintf(temporary, length, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(temporary, "we");
    bool good = file != NULL;
    if (file) {
        fprintf(file, "{\n  \"format\": \"hipemu-counts 1\",\n  \"kernels\": [");
        for (const hipemu_kernel_counts *entry = list; entry; entry = entry->next) {
            fprintf(file, "%s\n", entry == list ? "" : ",");
            put_entry(file, entry);
        }
        fprintf(file, "\n  ]\n}\n");
        good = !ferror(file);
        good = fclose(file) == 0 && good;
        good = good && rename(temporary, path) == 0;
        if (!good) unlink(temporary);
    }
    free(temporary);
    return good;
}

void hipemu_estimate_print(FILE *file, const hipemu_kernel_counts *entry)
{
    const hipemu_card *card = hipemu_card_for(entry->arch);
    hipemu_estimate e = hipemu_model_estimate(card, &entry->counters, (double)entry->memory_bytes);
    fprintf(file,
            "estimate (serial model, not a measurement), %s: %.2f us = launch %.2f + %s; alone: issue %.2f "
            "(WMMA %.2f), "
            "LDS %.2f, L2 %.2f, memory %.2f\n",
            card->name, e.seconds * 1e6, e.launch * 1e6, hipemu_bound_name(e.bound),
            e.part[HIPEMU_BOUND_ISSUE] * 1e6, e.wmma * 1e6, e.part[HIPEMU_BOUND_LDS] * 1e6,
            e.part[HIPEMU_BOUND_L2] * 1e6, e.part[HIPEMU_BOUND_MEMORY] * 1e6);
}
