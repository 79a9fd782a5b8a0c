#include "interop/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "interop/hip_nvidia.h"
#include "runtime/base/log.h"

/* gcnArchName in the two layouts of hipDeviceProp_t, and a buffer that holds either. */
enum { ARCH_OFFSET_R0600 = 1160, ARCH_OFFSET_OLD = 396, PROPERTIES_BYTES = 8192 };

static const char *const default_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                            "libamdhip64.so"};

/* Appends to a fixed buffer; what does not fit is cut. */
static void append(char *text, size_t size, const char *format, const char *a, const char *b)
{
    size_t used = strlen(text);
    if (used < size) snprintf(text + used, size - used, format, a, b);
}

/* NULL when none of the names can be opened. */
static void *open_library(const char *path, bool *named, d4r_hip_attempts *attempts)
{
    const char *environment = getenv("D4R_HIP_LIBRARY");
    const char *only = path ? path : (environment && *environment ? environment : NULL);
    const char *const *names = only ? &only : default_names;
    size_t count = only ? 1 : sizeof default_names / sizeof *default_names;
    *named = only != NULL;
    memset(attempts, 0, sizeof *attempts);
    for (size_t i = 0; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *reason = library ? "" : dlerror();
        /* glibc repeats the name in front of the reason. */
        const char *colon = library || !reason ? NULL : strstr(reason, ": ");
        snprintf(attempts->tried[i].path, sizeof attempts->tried[i].path, "%s", names[i]);
        snprintf(attempts->tried[i].reason, sizeof attempts->tried[i].reason, "%s",
                 colon ? colon + 2 : (reason ? reason : "?"));
        attempts->count++;
        if (library) return library;
    }
    return NULL;
}

static d4r_status not_found(const d4r_log *log, const d4r_hip_attempts *attempts)
{
    char tried[768] = "";
    for (uint32_t i = 0; i < attempts->count; i++) {
        append(tried, sizeof tried, "%s%s", i ? "; " : "", attempts->tried[i].path);
        append(tried, sizeof tried, " (%s)%s", attempts->tried[i].reason, "");
    }
    return d4r_fail(
        log, D4R_ERROR_NO_DEVICE,
        "HIP runtime not found; tried %s. Install ROCm's HIP runtime or set D4R_HIP_LIBRARY to its "
        "file",
        tried);
}

/* dlsym gives void *; ISO C has no conversion to a function pointer, POSIX guarantees the representation. */
static bool resolve(void *library, const char *symbol, void *member, size_t member_size)
{
    void *address = dlsym(library, symbol);
    memcpy(member, &address, member_size);
    return address != NULL;
}

static const char *resolve_all(d4r_hip *hip)
{
    const char *missing = NULL;
#define D4R_HIP_REQUIRED(member, symbol, parameters) \
    if (!resolve(hip->library, symbol, &hip->member, sizeof hip->member) && !missing) missing = symbol;
#define D4R_HIP_OPTIONAL(member, symbol, parameters)                      \
    if (!resolve(hip->library, symbol, &hip->member, sizeof hip->member)) \
        d4r_log_print(&hip->log, D4R_LOG_DEBUG, "%s: optional symbol %s is missing", hip->path, symbol);
#include "interop/hip_symbols.h"
    resolve(hip->library, "hipGetErrorString", &hip->error_string, sizeof hip->error_string);
    hip->can_graph = hip->graph_create && hip->graph_add_kernel && hip->graph_instantiate &&
                     hip->graph_launch && hip->graph_exec_destroy && hip->graph_destroy;
    hip->can_marker =
        hip->host_register && hip->host_unregister && hip->host_device_pointer && hip->stream_wait_value;
    return missing;
}

d4r_status d4r_hip_load(const char *path, const d4r_log *log, d4r_hip **out)
{
    d4r_hip_attempts attempts;
    return d4r_hip_load_told(path, log, &attempts, out);
}

d4r_status d4r_hip_load_told(const char *path, const d4r_log *log, d4r_hip_attempts *attempts, d4r_hip **out)
{
    *out = NULL;
    d4r_hip *hip = calloc(1, sizeof *hip);
    if (!hip) return d4r_fail(log, D4R_ERROR_MEMORY, "HIP table: out of memory");
    if (log) hip->log = *log;
    hip->library = open_library(path, &hip->named, attempts);
    if (!hip->library) {
        free(hip);
        return not_found(log, attempts);
    }
    snprintf(hip->path, sizeof hip->path, "%s", attempts->tried[attempts->count - 1].path);
    const char *missing = resolve_all(hip);
    if (missing) {
        d4r_fail(log, D4R_ERROR_NO_DEVICE,
                 "%s: symbol %s is missing: not a HIP runtime of version 5.2 or later", hip->path, missing);
        d4r_hip_unload(&hip);
        return D4R_ERROR_NO_DEVICE;
    }
    if (hip->runtime_version(&hip->version) != D4R_HIP_SUCCESS) hip->version = 0;
    *out = hip;
    return D4R_OK;
}

void d4r_hip_unload(d4r_hip **hip)
{
    if (!hip || !*hip) return;
    /* The handle stays open on purpose: HIP's own threads and atexit handlers do not survive dlclose. */
    free(*hip);
    *hip = NULL;
}

d4r_status d4r_hip_devices(d4r_hip *hip, uint32_t *count)
{
    int devices = 0;
    *count = 0;
    d4r_hip_error error = hip->init(0);
    if (error == D4R_HIP_SUCCESS) error = hip->device_count(&devices);
    if (error == D4R_HIP_SUCCESS && devices > 0) {
        *count = (uint32_t)devices;
        return D4R_OK;
    }
    const char *text = hip->error_string ? hip->error_string(error) : NULL;
    return d4r_fail(&hip->log, D4R_ERROR_NO_DEVICE, "no HIP device was found by %s (error %d%s%s): is %s?",
                    hip->path, error, text ? ", " : "", text ? text : "",
                    hip->platform == D4R_HIP_NVIDIA ? "an NVIDIA GPU present"
                                                    : "an AMD GPU present and /dev/kfd accessible");
}

static void read_arch(const d4r_hip *hip, int device, char *arch, size_t size)
{
    char *properties = calloc(1, PROPERTIES_BYTES);
    arch[0] = 0;
    if (!properties) return;
    const char *name = NULL;
    if (hip->properties_r0600 && hip->properties_r0600(properties, device) == D4R_HIP_SUCCESS)
        name = properties + ARCH_OFFSET_R0600;
    else if (hip->properties_old && hip->properties_old(properties, device) == D4R_HIP_SUCCESS)
        name = properties + ARCH_OFFSET_OLD;
    /* "gfx1201:sramecc-:xnack-"; anything else there means an unknown layout. */
    if (name && strncmp(name, "gfx", 3) == 0) snprintf(arch, size, "%.*s", (int)strcspn(name, ":"), name);
    free(properties);
}

d4r_status d4r_hip_device_info(d4r_hip *hip, uint32_t index, d4r_hip_device *device)
{
    static const int attributes[4] = {D4R_HIP_ATTRIBUTE_PCI_DOMAIN, D4R_HIP_ATTRIBUTE_PCI_BUS,
                                      D4R_HIP_ATTRIBUTE_PCI_DEVICE, D4R_HIP_ATTRIBUTE_MULTIPROCESSORS};
    int values[4];
    memset(device, 0, sizeof *device);
    device->index = (int)index;
    d4r_hip_error error = hip->device_name(device->name, sizeof device->name, (int)index);
    for (size_t i = 0; i < 4 && error == D4R_HIP_SUCCESS; i++)
        error = hip->device_attribute(&values[i], attributes[i], (int)index);
    if (error != D4R_HIP_SUCCESS) return d4r_hip_fail(hip, error, "HIP device attributes");
    device->name[sizeof device->name - 1] = 0;
    device->pci_domain = (uint32_t)values[0];
    device->pci_bus = (uint32_t)values[1];
    device->pci_device = (uint32_t)values[2];
    device->multiprocessors = (uint32_t)values[3];
    if (hip->platform == D4R_HIP_NVIDIA)
        d4r_hip_nvidia_arch((int)index, device->arch, sizeof device->arch);
    else
        read_arch(hip, (int)index, device->arch, sizeof device->arch);
    return D4R_OK;
}

static bool selected(const char *select, const d4r_hip_device *device)
{
    unsigned domain, bus, slot, function;
    if (sscanf(select, "pci:%x:%x:%x.%u", &domain, &bus, &slot, &function) == 4)
        return domain == device->pci_domain && bus == device->pci_bus && slot == device->pci_device;
    char *end;
    long index = strtol(select, &end, 10);
    return *select && !*end && index == device->index;
}

static bool matches(const d4r_hip *hip, const d4r_hip_match *match, const d4r_hip_device *device)
{
    if (match->select) return selected(match->select, device);
    if (match->has_pci)
        return match->pci_domain == device->pci_domain && match->pci_bus == device->pci_bus &&
               match->pci_device == device->pci_device;
    /* A CPU Vulkan device has no address: it pairs with a library that was named on purpose, an emulator. */
    return hip->named && device->index == 0;
}

d4r_status d4r_hip_find(d4r_hip *hip, const d4r_hip_match *match, d4r_hip_device *device)
{
    char list[512] = "", wanted[64];
    uint32_t count;
    d4r_status status = d4r_hip_devices(hip, &count);
    for (uint32_t i = 0; status == D4R_OK && i < count; i++) {
        status = d4r_hip_device_info(hip, i, device);
        if (status != D4R_OK) return status;
        if (matches(hip, match, device)) return D4R_OK;
        char address[48];
        snprintf(address, sizeof address, "%u: %04x:%02x:%02x.0", i, device->pci_domain, device->pci_bus,
                 device->pci_device);
        append(list, sizeof list, "%s%s", i ? ", " : "", address);
        append(list, sizeof list, " %s%s", device->name, "");
    }
    if (status != D4R_OK) return status;
    if (match->select)
        snprintf(wanted, sizeof wanted, "\"%.40s\"", match->select);
    else if (match->has_pci)
        snprintf(wanted, sizeof wanted, "PCI address %04x:%02x:%02x.0", match->pci_domain, match->pci_bus,
                 match->pci_device);
    else
        snprintf(wanted, sizeof wanted, "a Vulkan device without PCI address");
    return d4r_fail(&hip->log, D4R_ERROR_NO_DEVICE, "no HIP device fits %s; found %s. Choose one by option",
                    wanted, list);
}

d4r_status d4r_hip_enter(const d4r_hip *hip, int device, int *previous)
{
    if (hip->get_device(previous) != D4R_HIP_SUCCESS) *previous = device;
    d4r_hip_error error = hip->set_device(device);
    return error == D4R_HIP_SUCCESS ? D4R_OK : d4r_hip_fail(hip, error, "hipSetDevice");
}

void d4r_hip_leave(const d4r_hip *hip, int previous)
{
    hip->set_device(previous);
}

d4r_status d4r_hip_fail(const d4r_hip *hip, d4r_hip_error error, const char *what)
{
    const char *text = hip->error_string ? hip->error_string(error) : NULL;
    return d4r_fail(&hip->log, error == D4R_HIP_ERROR_OUT_OF_MEMORY ? D4R_ERROR_MEMORY : D4R_ERROR_DEVICE,
                    "%s: HIP error %d%s%s", what, error, text ? ", " : "", text ? text : "");
}

d4r_status d4r_hip_import_fd(const d4r_hip *hip, const char *name, int fd, uint64_t allocation, uint64_t size,
                             d4r_hip_import *import)
{
    memset(import, 0, sizeof *import);
    if (fd < 0 || size == 0 || size > allocation)
        return d4r_fail(&hip->log, D4R_ERROR_ARGUMENT, "%s: cannot import fd %d, %llu of %llu bytes", name,
                        fd, (unsigned long long)size, (unsigned long long)allocation);
    int copy = dup(fd);
    if (copy < 0) return d4r_fail(&hip->log, D4R_ERROR_IO, "%s: dup of fd %d failed", name, fd);
    d4r_hip_memory_handle handle = {.type = D4R_HIP_HANDLE_OPAQUE_FD, .handle.fd = copy, .size = allocation};
    d4r_hip_error error = hip->import_memory(&import->memory, &handle);
    if (error != D4R_HIP_SUCCESS || !hip->import_owns_fd) close(copy);
    if (error != D4R_HIP_SUCCESS) {
        import->memory = NULL;
        d4r_hip_fail(hip, error, name);
        return d4r_fail(
            &hip->log, D4R_ERROR_DEVICE,
            "%s: HIP refused to import %llu bytes by opaque fd (it says \"out of memory\" for any reason): "
            "is the Vulkan device the same GPU?",
            name, (unsigned long long)allocation);
    }
    d4r_hip_memory_range range = {.size = size};
    error = hip->map_memory(&import->pointer, import->memory, &range);
    if (error != D4R_HIP_SUCCESS) {
        import->pointer = NULL;
        d4r_hip_import_destroy(hip, import);
        return d4r_hip_fail(hip, error, name);
    }
    import->size = size;
    return D4R_OK;
}

void d4r_hip_import_destroy(const d4r_hip *hip, d4r_hip_import *import)
{
    /* HIP 6 and later want the mapping freed first; 5.7 tolerates it. */
    if (import->pointer) hip->device_free(import->pointer);
    if (import->memory) hip->destroy_memory(import->memory);
    memset(import, 0, sizeof *import);
}
