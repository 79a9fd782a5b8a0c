/* hipemu-coverage: does every mnemonic in the given code objects occur among those executed?
 * usage: hipemu-coverage COUNTS.json... -- FILE.hsaco...
 * Exit status: 0 all executed, 1 some not (named), 2 usage, 4 bad code object, 5 bad counts. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

typedef struct tally {
    uint64_t *present, *executed; /* by mnemonic */
    const char **example;         /* a file that holds it */
} tally;

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *data = length >= 0 ? calloc(1, (size_t)length + 1) : NULL;
    if (file) rewind(file);
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    if (file) fclose(file);
    *size = data ? (size_t)length : 0;
    return data;
}

static void add_executed(tally *t, const cJSON *kernel)
{
    const cJSON *mnemonics = cJSON_GetObjectItem(kernel, "mnemonics"), *item;
    cJSON_ArrayForEach(item, mnemonics)
    {
        for (size_t i = 0; i < emu_mnemonic_count(); i++)
            if (strcmp(emu_mnemonic_name(i), item->string) == 0)
                t->executed[i] += (uint64_t)item->valuedouble;
    }
}

static int add_counts(tally *t, const char *path)
{
    size_t size;
    char *text = read_file(path, &size);
    cJSON *root = text ? cJSON_Parse(text) : NULL;
    free(text);
    const cJSON *kernels = cJSON_GetObjectItem(root, "kernels"), *kernel;
    if (!cJSON_IsArray(kernels)) {
        fprintf(stderr, "hipemu-coverage: %s: no hipemu counts\n", path);
        cJSON_Delete(root);
        return 5;
    }
    cJSON_ArrayForEach(kernel, kernels) add_executed(t, kernel);
    cJSON_Delete(root);
    return 0;
}

static int add_code(tally *t, const char *path)
{
    size_t size;
    char *image = read_file(path, &size);
    emu_module *module = NULL;
    emu_error error = {.text = "cannot be read"};
    if (image) emu_module_load(image, size, NULL, &module, &error);
    free(image);
    if (!module) {
        fprintf(stderr, "hipemu-coverage: %s: %s\n", path, error.text);
        return 4;
    }
    uint64_t *mix = calloc(emu_mnemonic_count() + 1, sizeof *mix);
    emu_counters counters = {0};
    for (size_t k = 0; mix && k < emu_module_kernel_count(module); k++)
        emu_kernel_mix(emu_module_kernel_at(module, k), &counters, mix);
    for (size_t i = 0; mix && i < emu_mnemonic_count(); i++) {
        if (!mix[i]) continue;
        t->present[i] += mix[i];
        t->example[i] = path;
    }
    free(mix);
    emu_module_destroy(&module);
    return 0;
}

static int report(const tally *t)
{
    size_t present = 0, covered = 0;
    for (size_t i = 0; i < emu_mnemonic_count(); i++) {
        if (!t->present[i]) continue;
        present++;
        covered += t->executed[i] != 0;
        if (!t->executed[i]) printf("not executed: %s (in %s)\n", emu_mnemonic_name(i), t->example[i]);
    }
    printf("%zu of %zu mnemonics executed\n", covered, present);
    return covered != present || !present;
}

int main(int argc, char **argv)
{
    int split = 1, status = 0;
    while (split < argc && strcmp(argv[split], "--") != 0) split++;
    if (split < 2 || split + 1 >= argc) {
        fprintf(stderr, "usage: hipemu-coverage COUNTS.json... -- FILE.hsaco...\n");
        return 2;
    }
    size_t n = emu_mnemonic_count() + 1;
    tally t = {calloc(n, sizeof *t.present), calloc(n, sizeof *t.executed), calloc(n, sizeof *t.example)};
    if (!t.present || !t.executed || !t.example) return 6;
    for (int i = 1; !status && i < split; i++) status = add_counts(&t, argv[i]);
    for (int i = split + 1; !status && i < argc; i++) status = add_code(&t, argv[i]);
    if (!status) status = report(&t);
    free(t.present);
    free(t.executed);
    free(t.example);
    return status;
}
