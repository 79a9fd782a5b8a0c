/* hipemu-run: executes one kernel of a code object on raw buffers. */
#include "counts.h"
#include "run_args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "usage: hipemu-run FILE.hsaco KERNEL --grid X[,Y[,Z]] --block X[,Y[,Z]] [--arg KIND:VALUE ...] "
    "[options]\n"
    "Runs a gfx11/gfx12 kernel on the CPU, instruction by instruction.\n"
    "\n"
    "  --grid X[,Y[,Z]]     workgroups (default 1,1,1)\n"
    "  --block X[,Y[,Z]]    work-items of a workgroup (default 32,1,1)\n"
    "  --shared BYTES       dynamic LDS after the kernel's own\n"
    "  --arg KIND:VALUE     one argument; give them in order. They are laid out as C lays out a struct, so "
    "the\n"
    "                       members of a struct passed by value are given one by one:\n"
    "                         i8 u8 i16 u16 i32 u32 i64 u64 f32 f64   a scalar: i32:-5, f32:0.5\n"
    "                         in:FILE          a buffer with the file's bytes (.npy: its data)\n"
    "                         zeros:BYTES      a buffer of zeros\n"
    "                         random:BYTES[:SEED]  a buffer of random bytes\n"
    "                         empty:BYTES      a buffer that counts as never written\n"
    "                       A buffer followed by '>FILE' is written there after the run (quote the '>');\n"
    "                       '>FILE.npy:f32' names the element type (u8 i8 u16 i16 f16 u32 i32 f32 u64 i64 "
    "f64).\n"
    "  --check LIST         uninit (reads of never-written LDS and buffers), race (LDS); comma separated\n"
    "  --misaligned         do not report misaligned loads and stores (the hardware takes them)\n"
    "  --counts FILE.json   dynamic instructions, bytes, LDS conflicts, mnemonics, the estimate\n"
    "  --estimate           print the throughput model's estimate for a named card\n"
    "  --threads N          worker threads (default: all processors)\n"
    "  --max-instructions N a wave that executes more counts as hung (default: no bound)\n"
    "  --help\n"
    "\n"
    "Exit status: 0 good, 2 usage, 3 architecture or feature not emulated, 4 bad code object, 5 bad file,\n"
    "6 the kernel faulted.\n";

typedef struct run_options {
    const char *file, *kernel, *counts;
    uint32_t grid[3], block[3], shared;
    unsigned threads;
    uint64_t max_instructions;
    bool check_uninit, check_race, allow_misaligned, estimate;
} run_options;

static int usage(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "hipemu-run: %s %s: expected %s (see --help)\n", option, value, expected);
    return RUN_USAGE;
}

static bool parse_number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text || *end || text[0] == '-' || value < minimum || value > maximum) return false;
    *out = value;
    return true;
}

static bool parse_dim(const char *text, uint32_t dim[3])
{
    dim[0] = dim[1] = dim[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long value = strtoul(text, &end, 10);
        if (end == text || !value || value > 0x7fffffff || text[0] == '-') return false;
        dim[i] = (uint32_t)value;
        if (!*end) return true;
        if (*end != ',') return false;
        text = end + 1;
    }
    return false;
}

static bool parse_check(const char *text, run_options *options)
{
    char copy[64];
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    char *save = NULL;
    for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        if (strcmp(item, "uninit") == 0)
            options->check_uninit = true;
        else if (strcmp(item, "race") == 0)
            options->check_race = true;
        else
            return false;
    }
    return true;
}

static int parse_option(int option, const char *value, run_options *options, run_args *args)
{
    uint64_t number = 0;
    switch (option) {
    case 'g':
        return parse_dim(value, options->grid) ? RUN_OK
                                               : usage("--grid", value, "X[,Y[,Z]], each at least 1");
    case 'b':
        return parse_dim(value, options->block) ? RUN_OK
                                                : usage("--block", value, "X[,Y[,Z]], each at least 1");
    case 's':
        if (!parse_number(value, 0, 65536, &number)) return usage("--shared", value, "0 to 65536");
        options->shared = (uint32_t)number;
        return RUN_OK;
    case 'a':
        return run_args_add(args, value);
    case 'k':
        return parse_check(value, options) ? RUN_OK : usage("--check", value, "uninit, race or both");
    case 'c':
        options->counts = value;
        return RUN_OK;
    case 'e':
        options->estimate = true;
        return RUN_OK;
    case 't':
        if (!parse_number(value, 1, 1024, &number)) return usage("--threads", value, "1 to 1024");
        options->threads = (unsigned)number;
        return RUN_OK;
    case 'm':
        return parse_number(value, 1, UINT64_MAX, &options->max_instructions)
                   ? RUN_OK
                   : usage("--max-instructions", value, "a number from 1");
    default:
        return RUN_USAGE;
    }
}

static int parse(int argc, char **argv, run_options *options, run_args *args)
{
    static const struct option table[] = {
        {"grid", required_argument, NULL, 'g'},    {"block", required_argument, NULL, 'b'},
        {"shared", required_argument, NULL, 's'},  {"arg", required_argument, NULL, 'a'},
        {"check", required_argument, NULL, 'k'},   {"counts", required_argument, NULL, 'c'},
        {"misaligned", no_argument, NULL, 'i'},    {"estimate", no_argument, NULL, 'e'},
        {"threads", required_argument, NULL, 't'}, {"max-instructions", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (option == 'h') {
            fputs(help_text, stdout);
            run_args_free(args);
            exit(RUN_OK);
        }
        int status = parse_option(option, optarg, options, args);
        if (status) return status;
    }
    if (argc - optind != 2) {
        fprintf(stderr, "hipemu-run: expected FILE.hsaco and KERNEL (see --help)\n");
        return RUN_USAGE;
    }
    options->file = argv[optind];
    options->kernel = argv[optind + 1];
    return RUN_OK;
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    void *data = length > 0 ? malloc((size_t)length) : NULL;
    rewind(file);
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    fclose(file);
    *size = data ? (size_t)length : 0;
    return data;
}

static int load(const run_options *options, emu_module **module, const emu_kernel **kernel)
{
    size_t size;
    void *image = read_file(options->file, &size);
    if (!image) {
        fprintf(stderr, "hipemu-run: %s: cannot be read, or is empty\n", options->file);
        return RUN_BAD_INPUT;
    }
    emu_error error = {0};
    emu_status status = emu_module_load(image, size, NULL, module, &error);
    free(image);
    if (status != EMU_OK) {
        fprintf(stderr, "hipemu-run: %s: %s\n", options->file, error.text);
        return status == EMU_UNSUPPORTED || status == EMU_WRONG_ARCH ? RUN_NO_DEVICE : RUN_BAD_CODE;
    }
    *kernel = emu_module_kernel(*module, options->kernel);
    if (*kernel) return RUN_OK;
    fprintf(stderr, "hipemu-run: %s: has no kernel \"%s\"; it has:", options->file, options->kernel);
    for (size_t i = 0; i < emu_module_kernel_count(*module); i++)
        fprintf(stderr, " %s", emu_module_kernel_at(*module, i)->name);
    fputc('\n', stderr);
    return RUN_USAGE;
}

static int check_arguments(const run_args *args, const emu_kernel *kernel)
{
    size_t wanted = kernel->explicit_size, given = args->size;
    if (given >= wanted && given - wanted < 8) return RUN_OK;
    fprintf(stderr,
            "hipemu-run: %s takes %zu argument bytes, the --arg options give %zu; it takes:", kernel->name,
            wanted, given);
    for (uint32_t i = 0; i < kernel->explicit_count; i++)
        fprintf(stderr, " %s (%s, %u bytes)", kernel->args[i].name, kernel->args[i].value_kind,
                kernel->args[i].size);
    fputc('\n', stderr);
    return RUN_USAGE;
}

static int report(const run_options *options, hipemu_kernel_counts *entry)
{
    if (options->estimate) hipemu_estimate_print(stdout, entry);
    if (!options->counts || hipemu_counts_json_file(options->counts, entry)) return RUN_OK;
    fprintf(stderr, "hipemu-run: %s: cannot be written\n", options->counts);
    return RUN_BAD_INPUT;
}

static int launch(const run_options *options, run_args *args, const emu_kernel *kernel, emu_memory *memory,
                  emu_pool *pool, hipemu_kernel_counts *entry)
{
    for (size_t i = 0; i < args->buffer_count; i++) {
        run_buffer *buffer = &args->buffers[i];
        unsigned flags = buffer->written ? EMU_MEMORY_WRITTEN : EMU_MEMORY_DEFAULT;
        if (emu_memory_add(memory, buffer->data, buffer->size, flags, NULL) != EMU_OK) return RUN_FAILURE;
    }
    emu_launch_params params = {
        .kernel = kernel,
        .memory = memory,
        .pool = pool,
        .dynamic_lds = options->shared,
        .kernarg = args->kernarg,
        .kernarg_size = args->size,
        .options = {options->check_uninit, options->check_race, options->max_instructions, NULL,
                    options->allow_misaligned},
    };
    memcpy(params.grid, options->grid, sizeof params.grid);
    memcpy(params.block, options->block, sizeof params.block);
    emu_counters counters = {0};
    emu_fault fault;
    memset(&fault, 0, sizeof fault);
    bool counting = options->counts || options->estimate;
    emu_status status =
        emu_launch(&params, counting ? &counters : NULL, counting ? entry->mnemonics : NULL, &fault);
    if (status != EMU_OK) {
        fprintf(stderr, "hipemu-run: %s: %s\n", kernel->name,
                fault.text[0] ? fault.text : emu_status_name(status));
        return status == EMU_INVALID ? RUN_USAGE : RUN_FAILURE;
    }
    uint32_t items = options->block[0] * options->block[1] * options->block[2];
    entry->waves_per_simd = emu_kernel_occupancy(kernel, items, options->shared).waves;
    hipemu_counts_add(entry, &counters, NULL, hipemu_buffer_bytes(memory, args->kernarg, args->size));
    return RUN_OK;
}

static int run(const run_options *options, run_args *args)
{
    emu_module *module = NULL;
    const emu_kernel *kernel = NULL;
    int status = load(options, &module, &kernel);
    if (!status) status = check_arguments(args, kernel);
    if (status) {
        emu_module_destroy(&module);
        return status;
    }
    emu_memory *memory = emu_memory_create(options->check_uninit);
    emu_pool *pool = emu_pool_create(options->threads);
    hipemu_kernel_counts *entry = hipemu_counts_new(kernel);
    if (!memory || !pool || !entry) {
        fprintf(stderr, "hipemu-run: out of memory\n");
        status = RUN_FAILURE;
    }
    if (!status) status = launch(options, args, kernel, memory, pool, entry);
    if (!status) status = run_args_write(args);
    if (!status) status = report(options, entry);
    hipemu_counts_free(&entry);
    emu_pool_destroy(&pool);
    emu_memory_destroy(&memory);
    emu_module_destroy(&module);
    return status;
}

int main(int argc, char **argv)
{
    run_options options = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    run_args *args = calloc(1, sizeof *args);
    if (!args) return RUN_FAILURE;
    int status = parse(argc, argv, &options, args);
    if (!status) status = run(&options, args);
    run_args_free(args);
    free(args);
    return status;
}
