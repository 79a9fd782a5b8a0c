/* hipemu-info: what is in a code object: kernels, registers, LDS, spills, occupancy, instruction mix. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/utf8.h"

static const char help_text[] =
    "usage: hipemu-info [options] FILE.hsaco...\n"
    "Prints the kernels of gfx11/gfx12 code objects: registers, LDS, spills, occupancy, static instruction "
    "mix.\n"
    "\n"
    "  --block N       work-items of a workgroup for the occupancy (default: the kernel's maximum)\n"
    "  --shared BYTES  dynamic LDS for the occupancy\n"
    "  --mnemonics     how often each mnemonic occurs\n"
    "  --code          the instructions themselves, addresses from the start of the text\n"
    "  --args          the arguments\n"
    "  --json          one JSON object a file instead of text (no code)\n"
    "  --help\n"
    "\n"
    "Exit status: 0 good, 2 usage, 3 not emulated here, 4 bad code object, 5 bad file.\n";

typedef struct options {
    uint32_t block, shared;
    bool mnemonics, code, args, json;
} options;

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long length = ftell(f);
    rewind(f);
    void *data = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (data && fread(data, 1, (size_t)length, f) != (size_t)length) {
        free(data);
        data = NULL;
    }
    fclose(f);
    *size = length > 0 ? (size_t)length : 0;
    return data;
}

static uint32_t block_of(const emu_kernel *k, const options *o)
{
    return o->block ? o->block : k->max_workgroup;
}

/* ------------------------------------------------------------------ text */

static void print_args(const emu_kernel *k)
{
    for (uint32_t i = 0; i < k->arg_count; i++) {
        const emu_arg *a = &k->args[i];
        if (a->kind == EMU_ARG_HIDDEN) continue;
        printf("    %4u: %3u bytes  %-16s %s\n", a->offset, a->size, a->value_kind, a->name);
    }
}

static void print_mix(const emu_kernel *k, bool by_name)
{
    emu_counters c = {0};
    size_t count = emu_mnemonic_count();
    uint64_t *names = calloc(count, sizeof(*names));
    emu_kernel_mix(k, &c, names);
    printf("  instructions %llu:", (unsigned long long)c.instructions);
    for (int i = 0; i < EMU_COUNT_CLASSES; i++) {
        if (c.by_class[i])
            printf(" %s %llu", emu_count_name((emu_count)i), (unsigned long long)c.by_class[i]);
    }
    printf("\n");
    for (int i = 0; i < EMU_WMMA_KINDS; i++) {
        if (c.wmma[i]) {
            printf("  wmma %s: %llu, %.1f %% of the instructions\n", emu_wmma_kind_name((emu_wmma_kind)i),
                   (unsigned long long)c.wmma[i], 100.0 * (double)c.wmma[i] / (double)c.instructions);
        }
    }
    for (size_t i = 0; by_name && names && i < count; i++) {
        if (names[i]) printf("    %6llu %s\n", (unsigned long long)names[i], emu_mnemonic_name(i));
    }
    free(names);
}

static void print_code(const emu_kernel *k)
{
    char text[256];
    uint32_t at = k->code_offset, end = k->code_offset + k->code_size, size;
    while (at < end && (size = emu_disassemble(k->module, at, text, sizeof(text))) != 0) {
        printf("    %06x  %s\n", at, text);
        at += size;
    }
}

static void print_kernel(const emu_kernel *k, const options *o)
{
    emu_occupancy occupancy = emu_kernel_occupancy(k, block_of(k, o), o->shared);
    printf("kernel %s\n", k->name);
    printf("  vgprs %u (%u allocated), sgprs %u, spilled vgprs %u, sgprs %u\n", k->vgprs,
           occupancy.vgprs_allocated, k->sgprs, k->vgpr_spills, k->sgpr_spills);
    printf("  lds %u bytes, scratch %u bytes a lane%s, code %u bytes\n", k->lds_bytes, k->scratch_bytes,
           k->dynamic_stack ? " and a dynamic stack" : "", k->code_size);
    printf("  arguments %u bytes (%u explicit), workgroup at most %u", k->explicit_size, k->explicit_count,
           k->max_workgroup);
    if (k->required_block[0]) {
        printf(", exactly %u x %u x %u", k->required_block[0], k->required_block[1], k->required_block[2]);
    }
    printf("\n  occupancy with %u work-items: %u waves a SIMD (registers %u, LDS %u, limit %u)\n",
           block_of(k, o), occupancy.waves, occupancy.waves_by_vgprs, occupancy.waves_by_lds,
           occupancy.waves_by_limit);
    if (o->args) print_args(k);
    print_mix(k, o->mnemonics);
    if (o->code) print_code(k);
}

/* ------------------------------------------------------------------ JSON */

static void json_string(const char *text)
{
    putchar('"');
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = d4r_utf8_length(text);
        if (c == '"' || c == '\\') putchar('\\');
        if (c < 32)
            printf("\\u%04x", c);
        else if (!length)
            printf("\\\\x%02x", c); /* not UTF-8 */
        else
            fwrite(text, 1, length, stdout);
        text += length ? length : 1;
    }
    putchar('"');
}

static void json_kernel(const emu_kernel *k, const options *o)
{
    emu_counters c = {0};
    emu_occupancy occupancy = emu_kernel_occupancy(k, block_of(k, o), o->shared);
    emu_kernel_mix(k, &c, NULL);
    printf("{\"name\": ");
    json_string(k->name);
    printf(
        ", \"vgprs\": %u, \"vgprs_allocated\": %u, \"sgprs\": %u, \"vgpr_spills\": %u, \"sgpr_spills\": %u, ",
        k->vgprs, occupancy.vgprs_allocated, k->sgprs, k->vgpr_spills, k->sgpr_spills);
    printf(
        "\"lds\": %u, \"scratch\": %u, \"code\": %u, \"max_workgroup\": %u, \"block\": %u, \"waves\": %u, ",
        k->lds_bytes, k->scratch_bytes, k->code_size, k->max_workgroup, block_of(k, o), occupancy.waves);
    printf("\"instructions\": %llu, \"classes\": {", (unsigned long long)c.instructions);
    for (int i = 0; i < EMU_COUNT_CLASSES; i++) {
        printf("%s\"%s\": %llu", i ? ", " : "", emu_count_name((emu_count)i),
               (unsigned long long)c.by_class[i]);
    }
    printf("}, \"wmma\": {");
    for (int i = 0; i < EMU_WMMA_KINDS; i++) {
        printf("%s\"%s\": %llu", i ? ", " : "", emu_wmma_kind_name((emu_wmma_kind)i),
               (unsigned long long)c.wmma[i]);
    }
    printf("}}");
}

/* ------------------------------------------------------------------ files */

static void print_module(const char *path, const emu_module *module, const options *o)
{
    const emu_arch *arch = emu_module_arch(module);
    size_t count = emu_module_kernel_count(module);
    if (o->json) {
        printf("{\"file\": ");
        json_string(path);
        printf(", \"arch\": \"%s\", \"kernels\": [", arch->name);
    } else {
        printf("%s: %s, %zu kernel%s\n", path, arch->name, count, count == 1 ? "" : "s");
    }
    for (size_t i = 0; i < count; i++) {
        if (o->json) {
            if (i) printf(", ");
            json_kernel(emu_module_kernel_at(module, i), o);
        } else {
            print_kernel(emu_module_kernel_at(module, i), o);
        }
    }
    if (o->json) printf("]}\n");
}

static int show(const char *path, const options *o)
{
    size_t size;
    void *image = read_file(path, &size);
    if (!image) {
        fprintf(stderr, "hipemu-info: %s: cannot be read\n", path);
        return 5;
    }
    emu_module *module;
    emu_error error = {0};
    emu_status status = emu_module_load(image, size, NULL, &module, &error);
    free(image);
    if (status) {
        fprintf(stderr, "hipemu-info: %s: %s: %s\n", path, emu_status_name(status), error.text);
        return status == EMU_WRONG_ARCH || status == EMU_UNSUPPORTED ? 3 : 4;
    }
    print_module(path, module, o);
    emu_module_destroy(&module);
    return 0;
}

static bool take_number(int argc, char **argv, int *i, uint32_t *value)
{
    char *end = NULL;
    if (*i + 1 >= argc) return false;
    unsigned long v = strtoul(argv[++*i], &end, 0);
    *value = (uint32_t)v;
    return *end == 0 && end != argv[*i] && v <= 65536;
}

static int usage(const char *argument)
{
    fprintf(stderr, "hipemu-info: %s (--help lists the options)\n", argument);
    return 2;
}

int main(int argc, char **argv)
{
    options o = {0};
    int first = 1, result = 0;
    for (; first < argc && argv[first][0] == '-'; first++) {
        const char *a = argv[first];
        if (strcmp(a, "--help") == 0) {
            fputs(help_text, stdout);
            return 0;
        }
        if (strcmp(a, "--mnemonics") == 0) {
            o.mnemonics = true;
        } else if (strcmp(a, "--code") == 0) {
            o.code = true;
        } else if (strcmp(a, "--args") == 0) {
            o.args = true;
        } else if (strcmp(a, "--json") == 0) {
            o.json = true;
        } else if (strcmp(a, "--block") == 0) {
            if (!take_number(argc, argv, &first, &o.block) || o.block > 1024)
                return usage("--block: 1 to 1024");
        } else if (strcmp(a, "--shared") == 0) {
            if (!take_number(argc, argv, &first, &o.shared)) return usage("--shared: bytes, at most 65536");
        } else {
            fprintf(stderr, "hipemu-info: unknown option %s\n", a);
            return 2;
        }
    }
    if (first == argc) return usage("no file given");
    for (int i = first; i < argc; i++) {
        int r = show(argv[i], &o);
        if (r && !result) result = r;
    }
    return result;
}
