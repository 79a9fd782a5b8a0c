/* Modules, kernels and launches; the counters they gather. */
#include "hip_internal.h"
#include "counts.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct hipemu_function {
    hipemu_module *module;
    const emu_kernel *kernel;
};

struct hipemu_module {
    hipemu_object object;
    int refs; /* the handle's and one a queued launch or graph node */
    hipemu_device *device;
    emu_module *code;
    const void *image; /* the caller's, which must stay alive */
    size_t image_size;
    uint64_t image_hash;
    size_t count;
    hipemu_function functions[];
};

/* ---- counters, kept beyond their module; under hipemu.lock ---- */

static hipemu_kernel_counts *counts;

static hipemu_kernel_counts *counts_for(const emu_kernel *kernel)
{
    for (hipemu_kernel_counts *entry = counts; entry; entry = entry->next)
        if (entry->arch == kernel->arch && strcmp(entry->kernel, kernel->name) == 0) return entry;
    hipemu_kernel_counts *entry = hipemu_counts_new(kernel);
    if (entry) {
        entry->next = counts;
        counts = entry;
    }
    return entry;
}

void hipemu_counts_write(void)
{
    const char *path = hipemu.config.counts_path;
    if (path[0] && !hipemu_counts_json_file(path, counts))
        hipemu_message("%s: cannot be written; counts are lost (D4R_HIPEMU_COUNTS)", path);
}

/* ---- reading an image whose size nobody tells ---- */

/* Copies caller memory that may not be there: the kernel checks the addresses, no signal is raised. */
static bool read_caller(int fd, const char *from, size_t size, void *to)
{
    for (size_t at = 0; at < size;) {
        long n = syscall(SYS_pwrite64, fd, from + at, size - at, (long)0);
        if (n <= 0 || pread(fd, (char *)to + at, (size_t)n, 0) != n) return false;
        at += (size_t)n;
    }
    return true;
}

static void extend(uint64_t offset, uint64_t size, uint64_t *end)
{
    const uint64_t limit = (uint64_t)1 << 30;
    if (offset > limit || size > limit)
        *end = UINT64_MAX;
    else if (*end < offset + size)
        *end = offset + size;
}

/* The end of everything that the ELF header and its tables name; 0 when it is no ELF64 file. */
static uint64_t image_end(int fd, const char *image)
{
    Elf64_Ehdr header;
    if (!read_caller(fd, image, sizeof header, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) ||
        (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)))
        return 0;
    uint64_t end = sizeof header;
    extend(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), &end);
    extend(header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr), &end);
    if (end == UINT64_MAX) return 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_caller(fd, image + header.e_phoff + i * sizeof segment, sizeof segment, &segment)) return 0;
        extend(segment.p_offset, segment.p_filesz, &end);
    }
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        if (!read_caller(fd, image + header.e_shoff + i * sizeof section, sizeof section, &section)) return 0;
        if (section.sh_type != SHT_NOBITS) extend(section.sh_offset, section.sh_size, &end);
    }
    return end == UINT64_MAX ? 0 : end;
}

/* A copy of the caller's image, NULL if it is not wholly there. */
static void *copy_image(const void *image, size_t known_size, size_t *size)
{
    int fd = memfd_create("image", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    uint64_t end = known_size ? known_size : image_end(fd, image);
    void *copy = end ? malloc(end) : NULL;
    if (copy && !read_caller(fd, image, end, copy)) {
        free(copy);
        copy = NULL;
    }
    close(fd);
    *size = end;
    return copy;
}

static uint64_t hash(const void *data, size_t size)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) h = (h ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return h;
}

/* The real runtime may go back to the caller's image until the module is unloaded. */
static bool image_alive(const hipemu_module *module)
{
    if (!module->image) return true;
    size_t size;
    void *copy = copy_image(module->image, module->image_size, &size);
    bool alive = copy && hash(copy, size) == module->image_hash;
    free(copy);
    if (!alive)
        hipemu_message("a module's image was changed or freed while the module is loaded; keep it alive");
    return alive;
}

/* ---- loading ---- */

static hipError_t load_error(emu_status status)
{
    switch (status) {
    case EMU_OK:
        return hipSuccess;
    case EMU_NO_MEMORY:
        return hipErrorOutOfMemory;
    case EMU_WRONG_ARCH:
        return (hipError_t)hipemu.config.module_error;
    default:
        return hipErrorInvalidImage;
    }
}

static hipError_t load_copy(hipModule_t *out, const void *copy, size_t size, const void *image)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_device *device = hipemu_device_current();
    hipError_t status = !device ? hipErrorNoDevice : device->lost ? device->sticky : hipSuccess;
    const emu_arch *arch = device ? device->arch : NULL;
    pthread_mutex_unlock(&hipemu.lock);
    if (status) return status;
    emu_module *code = NULL;
    emu_error error = {0};
    status = load_error(emu_module_load(copy, size, arch, &code, &error));
    if (status) {
        hipemu_message("module refused: %s", error.text);
        return status;
    }
    size_t count = emu_module_kernel_count(code);
    hipemu_module *module = calloc(1, sizeof *module + count * sizeof module->functions[0]);
    if (!module) {
        emu_module_destroy(&code);
        return hipErrorOutOfMemory;
    }
    module->refs = 1;
    module->device = device;
    module->code = code;
    module->image = image;
    module->image_size = size;
    module->image_hash = hash(copy, size);
    module->count = count;
    for (size_t i = 0; i < count; i++)
        module->functions[i] = (hipemu_function){module, emu_module_kernel_at(code, i)};
    pthread_mutex_lock(&hipemu.lock);
    hipemu_object_add(&module->object, HIPEMU_MODULE);
    pthread_mutex_unlock(&hipemu.lock);
    *out = module;
    return hipSuccess;
}

static hipError_t load_data(hipModule_t *out, const void *image)
{
    if (!out || !image) return hipErrorInvalidValue;
    size_t size;
    void *copy = copy_image(image, 0, &size);
    if (!copy) return hipErrorInvalidImage;
    hipError_t status = load_copy(out, copy, size, image);
    free(copy);
    return status;
}

HIPEMU_EXPORT hipError_t hipModuleLoadData(hipModule_t *out, const void *image);
hipError_t hipModuleLoadData(hipModule_t *out, const void *image)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidImage, load_data(out, image), "%p", image);
}

HIPEMU_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *out, const void *image, unsigned count,
                                             int *options, void **values);
hipError_t hipModuleLoadDataEx(hipModule_t *out, const void *image, unsigned count, int *options,
                               void **values)
{
    (void)options, (void)values; /* the real runtime ignores them too */
    HIPEMU_CALL_AS(.usual = hipErrorInvalidImage, load_data(out, image), "%p, %u options", image, count);
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return NULL;
    char *data = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        data = length > 0 ? malloc((size_t)length) : NULL;
        if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
            free(data);
            data = NULL;
        }
        *size = data ? (size_t)length : 0;
    }
    fclose(file);
    return data;
}

static hipError_t load_file(hipModule_t *out, const char *path)
{
    if (!out || !path) return hipErrorInvalidValue;
    size_t size = 0;
    void *data = read_file(path, &size);
    if (!data) return hipErrorFileNotFound;
    hipError_t status = load_copy(out, data, size, NULL);
    free(data);
    return status;
}

HIPEMU_EXPORT hipError_t hipModuleLoad(hipModule_t *out, const char *path);
hipError_t hipModuleLoad(hipModule_t *out, const char *path)
{
    HIPEMU_CALL_AS(.usual = hipErrorFileNotFound, load_file(out, path), "%s", path ? path : "(null)");
}

static void module_unref(hipemu_module *module)
{
    if (--module->refs) return;
    emu_module_destroy(&module->code);
    free(module);
}

static hipError_t unload(hipModule_t module)
{
    pthread_mutex_lock(&hipemu.lock);
    bool valid = hipemu_object_valid(module, HIPEMU_MODULE);
    if (valid) {
        image_alive(module);
        hipemu_object_remove(&module->object);
        hipemu_counts_write();
        module_unref(module);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return valid ? hipSuccess : hipErrorInvalidHandle;
}

HIPEMU_EXPORT hipError_t hipModuleUnload(hipModule_t module);
hipError_t hipModuleUnload(hipModule_t module)
{
    HIPEMU_CALL_AS(.release = true, unload(module), "%p", (void *)module);
}

void hipemu_module_free_all(void)
{
    pthread_mutex_lock(&hipemu.lock);
    while (hipemu.objects[HIPEMU_MODULE]) {
        hipemu_module *module = (hipemu_module *)hipemu.objects[HIPEMU_MODULE];
        hipemu_object_remove(&module->object);
        module_unref(module);
    }
    hipemu_counts_free(&counts);
    pthread_mutex_unlock(&hipemu.lock);
}

static hipError_t get_function(hipFunction_t *out, hipModule_t module, const char *name)
{
    if (!out || !name) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipError_t status = hipErrorInvalidHandle;
    if (hipemu_object_valid(module, HIPEMU_MODULE)) {
        status = image_alive(module) ? hipErrorNotFound : hipErrorInvalidImage;
        for (size_t i = 0; status == hipErrorNotFound && i < module->count; i++) {
            if (strcmp(module->functions[i].kernel->name, name) != 0) continue;
            *out = &module->functions[i];
            status = hipSuccess;
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name);
hipError_t hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name)
{
    HIPEMU_CALL_AS(.usual = hipErrorNotFound, get_function(out, module, name), "%p, %s", (void *)module,
                   name ? name : "(null)");
}

static hipError_t get_global(hipDeviceptr_t *address, size_t *size, hipModule_t module, const char *name)
{
    if (!name) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    void *found = NULL;
    size_t bytes = 0;
    bool valid = hipemu_object_valid(module, HIPEMU_MODULE);
    bool known = valid && emu_module_symbol(module->code, name, &found, &bytes);
    pthread_mutex_unlock(&hipemu.lock);
    if (!known) return valid ? hipErrorNotFound : hipErrorInvalidHandle;
    if (address) *address = found;
    if (size) *size = bytes;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *size, hipModule_t module,
                                            const char *name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *size, hipModule_t module, const char *name)
{
    HIPEMU_CALL_AS(.usual = hipErrorNotFound, get_global(address, size, module, name), "%p, %s",
                   (void *)module, name ? name : "(null)");
}

static hipemu_function *function_find(const void *handle)
{
    for (hipemu_object *o = hipemu.objects[HIPEMU_MODULE]; o; o = o->next) {
        hipemu_module *module = (hipemu_module *)o;
        for (size_t i = 0; i < module->count; i++)
            if (&module->functions[i] == handle) return &module->functions[i];
    }
    return NULL;
}

/* ---- launching ---- */

typedef struct kernel_op {
    hipemu_op op;
    hipemu_module *module;
    const emu_kernel *kernel;
    dim3 grid, block;
    unsigned shared;
    size_t size;
    char *arguments;
} kernel_op;

static void kernel_destroy(hipemu_op *op)
{
    kernel_op *launch = (kernel_op *)op;
    module_unref(launch->module);
    free(launch->arguments);
}

/* Sleeps unless the device is lost meanwhile. */
static void nap(hipemu_device *device, uint64_t ms)
{
    const uint64_t end = hipemu_now_ns() + ms * 1000000u; /* slices oversleep on a busy machine */
    while (hipemu_now_ns() < end && !hipemu_must_stop(device)) hipemu_sleep_ns(1000000);
}

/* Faults by configuration; true: the kernel does not run. */
static bool planned_fault(hipemu_device *device)
{
    pthread_mutex_lock(&hipemu.lock);
    uint64_t number = ++hipemu.launches;
    const hipemu_config *config = &hipemu.config;
    bool hang = number == config->hang_at;
    bool lose = number > config->lost_after;
    unsigned slow = config->slow_ms, hang_ms = config->hang_ms;
    if (lose) hipemu_device_lose(device, hipErrorLaunchFailure, "as D4R_HIPEMU_LOST asks");
    pthread_mutex_unlock(&hipemu.lock);
    if (lose) return true;
    if (!hang) {
        nap(device, slow);
        return hipemu_must_stop(device);
    }
    hipemu_message("launch %" PRIu64 " hangs, as D4R_HIPEMU_HANG asks", number);
    if (hang_ms) {
        nap(device, hang_ms);
    } else {
        while (!hipemu_must_stop(device)) hipemu_sleep_ns(1000000);
    }
    pthread_mutex_lock(&hipemu.lock);
    if (!hipemu.shutdown) hipemu_device_lose(device, hipErrorLaunchFailure, "reset after a hang");
    pthread_mutex_unlock(&hipemu.lock);
    return true;
}

static hipError_t finish(hipemu_device *device, const kernel_op *launch, emu_status status,
                         const emu_fault *fault, const emu_counters *counters, const uint64_t *mnemonics)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu.running--;
    if (status == EMU_FAULT || status == EMU_INVALID) {
        if (!device->lost) hipemu_message("%s", fault->text);
        hipemu_device_lose(device, hipErrorLaunchFailure,
                           status == EMU_FAULT ? emu_fault_kind_name(fault->kind) : "launch refused");
    } else if (status != EMU_OK && !hipemu.shutdown) {
        hipemu_device_lose(device, hipErrorLaunchFailure, emu_status_name(status));
    }
    hipemu_kernel_counts *entry = counters ? counts_for(launch->kernel) : NULL;
    if (entry) {
        uint64_t buffers = hipemu_buffer_bytes(hipemu.memory, launch->arguments, launch->size);
        uint32_t items = launch->block.x * launch->block.y * launch->block.z;
        entry->waves_per_simd = emu_kernel_occupancy(launch->kernel, items, launch->shared).waves;
        hipemu_counts_add(entry, counters, mnemonics, buffers);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status == EMU_OK ? hipSuccess : hipErrorLaunchFailure;
}

static hipError_t kernel_run(hipemu_op *op, hipemu_stream *stream)
{
    kernel_op *launch = (kernel_op *)op;
    hipemu_device *device = stream->device;
    if (planned_fault(device)) return hipErrorLaunchFailure;
    pthread_mutex_lock(&hipemu.lock);
    hipemu.running++;
    const hipemu_config *config = &hipemu.config;
    emu_launch_params params = {
        .kernel = launch->kernel,
        .memory = hipemu.memory,
        .pool = hipemu.pool,
        .grid = {launch->grid.x, launch->grid.y, launch->grid.z},
        .block = {launch->block.x, launch->block.y, launch->block.z},
        .dynamic_lds = launch->shared,
        .kernarg = launch->arguments,
        .kernarg_size = launch->size,
        .options = {config->check_uninit, config->check_race, config->max_instructions, &device->cancel,
                    config->allow_misaligned},
    };
    bool counting = config->counts_path[0] != 0;
    pthread_mutex_unlock(&hipemu.lock);
    emu_counters counters = {0};
    uint64_t *mnemonics = counting ? calloc(emu_mnemonic_count() + 1, sizeof *mnemonics) : NULL;
    emu_fault fault;
    memset(&fault, 0, sizeof fault);
    emu_status status = emu_launch(&params, counting ? &counters : NULL, mnemonics, &fault);
    hipError_t result = finish(device, launch, status, &fault, counting ? &counters : NULL, mnemonics);
    free(mnemonics);
    return result;
}

/* The `extra` form: {BUFFER_POINTER, p, BUFFER_SIZE, &n, END}. */
static hipError_t read_extra(void **extra, const void **buffer, size_t *size)
{
    *buffer = NULL;
    *size = 0;
    for (int i = 0; extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
        if (i > 2) return hipErrorInvalidValue;
        if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[i + 1];
        else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            *size = *(const size_t *)extra[i + 1];
        else
            return hipErrorInvalidValue;
    }
    return *buffer ? hipSuccess : hipErrorInvalidValue;
}

static hipError_t check_shape(const hipemu_launch *launch, const emu_kernel *kernel)
{
    dim3 g = launch->grid, b = launch->block;
    if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z) return hipErrorInvalidConfiguration;
    uint64_t items = (uint64_t)b.x * b.y * b.z;
    if (b.x > 1024 || b.y > 1024 || b.z > 1024 || items > 1024) return hipErrorInvalidConfiguration;
    if (kernel->max_workgroup && items > kernel->max_workgroup) return hipErrorLaunchFailure;
    if ((uint64_t)g.x * b.x > UINT32_MAX || (uint64_t)g.y * b.y > UINT32_MAX ||
        (uint64_t)g.z * b.z > UINT32_MAX)
        return hipErrorInvalidConfiguration;
    if ((uint64_t)launch->shared + kernel->lds_bytes > 65536) return hipErrorInvalidValue;
    return hipSuccess;
}

static hipError_t pack_arguments(const hipemu_launch *launch, kernel_op *op)
{
    const emu_kernel *kernel = op->kernel;
    const void *buffer = NULL;
    op->size = kernel->explicit_size;
    if (launch->params && launch->extra) return hipErrorInvalidValue;
    if (launch->extra) {
        hipError_t status = read_extra(launch->extra, &buffer, &op->size);
        if (status) return status;
        if (op->size < kernel->explicit_size) return hipErrorInvalidValue;
    } else if (!launch->params && kernel->explicit_count) {
        return hipErrorInvalidValue;
    }
    op->arguments = calloc(1, op->size + 1);
    if (!op->arguments) return hipErrorOutOfMemory;
    if (buffer)
        memcpy(op->arguments, buffer, op->size);
    else if (kernel->explicit_count)
        emu_kernarg_pack(kernel, launch->params, op->arguments);
    return hipSuccess;
}

hipError_t hipemu_launch_op(const hipemu_launch *launch, hipemu_op **out)
{
    hipemu_function *function = function_find(launch->function);
    if (!function) return hipErrorInvalidHandle;
    hipError_t status = check_shape(launch, function->kernel);
    if (status) return status;
    kernel_op *op = hipemu_op_new(sizeof *op, function->kernel->name, kernel_run);
    if (!op) return hipErrorOutOfMemory;
    op->op.kernel = true;
    op->op.destroy = kernel_destroy;
    op->module = function->module;
    op->module->refs++;
    op->kernel = function->kernel;
    op->grid = launch->grid;
    op->block = launch->block;
    op->shared = launch->shared;
    status = pack_arguments(launch, op);
    if (status)
        hipemu_op_unref(&op->op);
    else
        *out = &op->op;
    return status;
}

static hipError_t launch_kernel(const hipemu_launch *launch, hipStream_t handle)
{
    pthread_mutex_lock(&hipemu.lock);
    hipemu_stream *stream = hipemu_stream_get(handle);
    hipemu_op *op = NULL;
    hipError_t status = stream ? hipemu_launch_op(launch, &op) : hipErrorInvalidHandle;
    if (!status && ((kernel_op *)op)->module->device != stream->device) {
        hipemu_op_unref(op);
        status = hipErrorInvalidHandle;
    } else if (!status) {
        status = hipemu_submit(stream, op);
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                               unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                               hipStream_t stream, void **params, void **extra);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, hipStream_t stream, void **params,
                                 void **extra)
{
    hipemu_launch launch = {function, {gx, gy, gz}, {bx, by, bz}, shared, params, extra};
    HIPEMU_CALL_AS(.usual = hipErrorLaunchFailure, launch_kernel(&launch, stream),
                   "%p, grid %u %u %u, block %u %u %u, shared %u, stream %p", (void *)function, gx, gy, gz,
                   bx, by, bz, shared, (void *)stream);
}

/* HIP_FUNC_ATTRIBUTE_*: the resource figures that the metadata gives. */
static hipError_t function_attribute(int *value, int which, hipFunction_t handle)
{
    if (!value) return hipErrorInvalidValue;
    pthread_mutex_lock(&hipemu.lock);
    hipemu_function *function = function_find(handle);
    hipError_t status = function ? hipSuccess : hipErrorInvalidDeviceFunction;
    if (function) {
        const emu_kernel *kernel = function->kernel;
        switch (which) {
        case 0:
            *value = (int)kernel->max_workgroup;
            break;
        case 1:
            *value = (int)kernel->lds_bytes;
            break;
        case 2:
            *value = 0;
            break;
        case 3:
            *value = (int)kernel->scratch_bytes;
            break;
        case 4:
            *value = (int)kernel->vgprs;
            break;
        default:
            status = hipErrorInvalidValue;
        }
    }
    pthread_mutex_unlock(&hipemu.lock);
    return status;
}

HIPEMU_EXPORT hipError_t hipFuncGetAttribute(int *value, int which, hipFunction_t function);
hipError_t hipFuncGetAttribute(int *value, int which, hipFunction_t function)
{
    HIPEMU_CALL(function_attribute(value, which, function), "%d, %p", which, (void *)function);
}

/* Module functions are refused by many versions: callers must stay within 64 KiB of static LDS. */
HIPEMU_EXPORT hipError_t hipFuncSetAttribute(const void *function, int which, int value);
hipError_t hipFuncSetAttribute(const void *function, int which, int value)
{
    HIPEMU_CALL(hipErrorInvalidDeviceFunction, "%p, %d, %d", function, which, value);
}
