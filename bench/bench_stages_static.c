/* What the stages' pipelines cost on a Radeon by RADV's own compiler: registers, instructions, memory accesses. Nothing
 * runs: these are counts, not times. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/stage_counts.h"

#define FAMILIES_MAX 16

static const char usage[] =
    "usage: bench_stages_static [--family NAME]... [--json FILE]\n"
    "Compiles the stages for Radeons that are not there and prints what the compiler says.\n"
    "NAME: gfx1100 (RX 7900), navi21 (gfx1030, RX 6800/6900), and others that RADV's null device knows. "
    "Default:\n"
    "these two, gfx1102, navi23 and gfx1036.\n";

static void print_table(const char *family, const stage_counts_list *list)
{
    printf("%s: %s\n%-2s %-20s %-11s %-4s %5s %5s %6s %6s %6s %6s %6s %7s %6s %6s %7s %6s\n", family,
           list->device, "", "pipeline", "output", "", "VGPR", "waves", "LDS", "instr", "VALU", "transc",
           "LDSld", "bytes", "sample", "fetch", "latency", "invthr");
    for (size_t i = 0; i < list->count; i++) {
        const stage_counts *s = &list->items[i];
        printf("%-2s %-20s %-11s %-4s %5llu %5llu %6llu %6llu %6u %6u %6u %7u %6u %6u %7llu %6llu\n",
               s->preset, s->name, s->output, s->range, (unsigned long long)s->vgprs,
               (unsigned long long)s->subgroups_per_simd, (unsigned long long)s->lds_bytes,
               (unsigned long long)s->instructions, s->valu, s->transcendental, s->lds_loads,
               s->lds_load_bytes, s->samples, s->image_loads, (unsigned long long)s->latency,
               (unsigned long long)s->inverse_throughput);
    }
}

static void write_pipeline(FILE *f, const stage_counts *s, bool last)
{
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {{"subgroup_size", s->subgroup_size},
                  {"vgprs", s->vgprs},
                  {"sgprs", s->sgprs},
                  {"spilled_vgprs", s->spilled_vgprs},
                  {"spilled_sgprs", s->spilled_sgprs},
                  {"scratch_bytes", s->scratch_bytes},
                  {"lds_bytes", s->lds_bytes},
                  {"subgroups_per_simd", s->subgroups_per_simd},
                  {"code_bytes", s->code_bytes},
                  {"instructions", s->instructions},
                  {"copies", s->copies},
                  {"branches", s->branches},
                  {"latency", s->latency},
                  {"inverse_throughput", s->inverse_throughput},
                  {"vmem_clauses", s->vmem_clauses},
                  {"smem_clauses", s->smem_clauses},
                  {"valu", s->valu},
                  {"transcendental", s->transcendental},
                  {"lds_loads", s->lds_loads},
                  {"lds_load_bytes", s->lds_load_bytes},
                  {"lds_stores", s->lds_stores},
                  {"lds_store_bytes", s->lds_store_bytes},
                  {"samples", s->samples},
                  {"image_loads", s->image_loads},
                  {"image_stores", s->image_stores},
                  {"buffer_loads", s->buffer_loads},
                  {"buffer_stores", s->buffer_stores},
                  {"scalar_loads", s->scalar_loads}};
    fprintf(f, "        {\"preset\": \"%s\", \"pipeline\": \"%s\", \"output\": \"%s\", \"range\": \"%s\"",
            s->preset, s->name, s->output, s->range);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fprintf(f, ", \"%s\": %llu", values[i].name, (unsigned long long)values[i].value);
    fprintf(f, "}%s\n", last ? "" : ",");
}

static bool write_json(const char *path, const char *const *families, const stage_counts_list *lists,
                       size_t count)
{
    char date[32], temporary[1024];
    const time_t now = time(NULL);
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) return false;
    FILE *f = fopen(temporary, "w");
    if (!f) return false;
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(
        f,
        "{\n  \"bench\": \"bench_stages_static\",\n  \"date\": \"%s\",\n  \"machine\": \"RADV null device, "
        "static\",\n  \"method\": \"the compiler's statistics and counts of its assembly, each instruction "
        "once; "
        "nothing ran\",\n  \"families\": [\n",
        date);
    for (size_t i = 0; i < count; i++) {
        fprintf(f, "    {\n      \"family\": \"%s\",\n      \"device\": \"%s\",\n      \"pipelines\": [\n",
                families[i], lists[i].device);
        for (size_t k = 0; k < lists[i].count; k++)
            write_pipeline(f, &lists[i].items[k], k + 1 == lists[i].count);
        fprintf(f, "      ]\n    }%s\n", i + 1 < count ? "," : "");
    }
    fprintf(f, "  ]\n}\n");
    const bool written = !ferror(f);
    if (fclose(f) == 0 && written && rename(temporary, path) == 0) return true;
    remove(temporary);
    return false;
}

int main(int argc, char **argv)
{
    static const char *families[FAMILIES_MAX] = {"gfx1100", "navi21", "gfx1102", "navi23", "gfx1036"};
    static stage_counts_list lists[FAMILIES_MAX];
    size_t count = 0, defaults = 5, done = 0;
    const char *json = NULL;
    char why[512] = "";
    int code = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--family") == 0 && i + 1 < argc && count < FAMILIES_MAX)
            families[count++] = argv[++i];
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            json = argv[++i];
        else {
            const bool asked = strcmp(argv[i], "--help") == 0;
            fputs(usage, asked ? stdout : stderr);
            return asked ? 0 : 2;
        }
    }
    if (count == 0) count = defaults;
    for (; done < count && code == 0; done++) {
        const stage_counts_result result =
            stage_counts_collect(families[done], &lists[done], why, sizeof why);
        if (result == STAGE_COUNTS_OK)
            print_table(families[done], &lists[done]);
        else
            code = result == STAGE_COUNTS_NO_DEVICE ? 3 : 6;
    }
    if (code) fprintf(stderr, "bench_stages_static: %s\n", why);
    if (code == 0 && json && !write_json(json, families, lists, count)) {
        fprintf(stderr, "bench_stages_static: cannot write %s\n", json);
        code = 5;
    }
    for (size_t i = 0; i < done; i++) stage_counts_free(&lists[i]);
    return code;
}
