/* d4r-info: what this machine offers to d4r. */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/hip_probe.h"
#include "runtime/cli/json_read.h"
#include "runtime/cli/vk_probe.h"

static const char help_text[] =
    "Usage: d4r-info [options]\n"
    "Lists the Vulkan devices with the features that d4r needs and they lack, the HIP library (or every path "
    "that\n"
    "was tried), the HIP devices, which Vulkan device each belongs to (by PCI address), their code objects, "
    "and "
    "which\n"
    "networks could run. What it says of HIP comes from the library's own look-ups.\n"
    "\n"
    "  --json FILE    the same as JSON; '-' for standard output instead of the text\n"
    "  --help, --version\n"
    "\n"
    "Environment: D4R_HIP_LIBRARY names the HIP library to use; VK_ICD_FILENAMES the Vulkan drivers.\n"
    "Exit codes: 0 d4r can run on some device, 2 usage, 3 it cannot, 5 the JSON file cannot be written.\n";

enum { OPTION_JSON = 1, OPTION_HELP, OPTION_VERSION };

typedef struct machine {
    vk_probe_result vulkan;
    hip_probe_result hip;
} machine;

/* The first Vulkan device that would use this HIP device; -1: none. */
static int match(const machine *m, unsigned device)
{
    for (unsigned i = 0; i < m->vulkan.device_count; i++)
        if (m->hip.pairs[i].device == (int)device) return (int)i;
    return -1;
}

static bool any_usable(const machine *m)
{
    for (unsigned i = 0; i < m->vulkan.device_count; i++)
        if (m->vulkan.devices[i].usable) return true;
    return false;
}

/* Why the network cannot run; empty: it can. */
static void why_not(const machine *m, const char *network, char *reason, size_t size)
{
    reason[0] = 0;
    if (!any_usable(m))
        snprintf(reason, size, "%s",
                 m->vulkan.device_count ? "no Vulkan device has every needed feature" : m->vulkan.problem);
    else if (!strcmp(network, "vulkan"))
        snprintf(reason, size, "not part of this version");
    else if (!strcmp(network, "hip") && hip_probe_usable(&m->hip, &m->vulkan, reason, size))
        reason[0] = 0;
}

/* ---- text */

static void print_vulkan(const machine *m)
{
    printf("Vulkan: %s\n", m->vulkan.device_count ? m->vulkan.loader : m->vulkan.problem);
    for (unsigned i = 0; i < m->vulkan.device_count; i++) {
        const vk_device_info *d = &m->vulkan.devices[i];
        printf("  device %u: %s (%s)\n", i, d->name, d->type);
        printf("    driver %s %s, Vulkan %u.%u.%u, %.1f GiB device-local, images up to %u\n", d->driver,
               d->driver_details, d->api_version >> 22 & 127, d->api_version >> 12 & 1023,
               d->api_version & 4095, (double)d->local_bytes / (1 << 30), d->max_image);
        if (d->pci_known)
            printf("    PCI %04x:%02x:%02x.%x\n", d->pci_domain, d->pci_bus, d->pci_device, d->pci_function);
        else
            printf("    no PCI address\n");
        printf("    memory shared by fd: %s\n", d->external_memory_fd ? "yes" : "no");
        printf("    needed features: %s\n", d->usable ? "all there" : "missing");
        for (unsigned k = 0; k < d->missing_count; k++) printf("      %s\n", d->missing[k]);
    }
}

static void print_hip_device(const machine *m, unsigned index)
{
    const hip_device_report *r = &m->hip.devices[index];
    const int vulkan = match(m, index);
    printf("  device %u: %s", index, r->known ? r->device.name : "unknown");
    if (r->known)
        printf(", %s, %u multiprocessors, PCI %04x:%02x:%02x",
               r->device.arch[0] ? r->device.arch : "unknown architecture", r->device.multiprocessors,
               r->device.pci_domain, r->device.pci_bus, r->device.pci_device);
    if (vulkan >= 0)
        printf(", is Vulkan device %d\n", vulkan);
    else
        printf(", matches no Vulkan device\n");
    for (unsigned i = 0; i < HIP_PRESETS; i++)
        if (r->objects[i].preset)
            printf("    preset %s: code object %s\n", r->objects[i].preset, r->objects[i].file);
    if (!r->runnable) printf("    cannot run the network: %s\n", r->problem);
}

static void print_hip(const machine *m)
{
    const hip_probe_result *hip = &m->hip;
    printf("HIP: %s\n", hip->loaded ? hip->path : "no HIP library could be used");
    for (unsigned i = 0; i < hip->attempts.count; i++)
        if (hip->attempts.tried[i].reason[0])
            printf("  tried %s: %s\n", hip->attempts.tried[i].path, hip->attempts.tried[i].reason);
    if (hip->loaded) {
        if (hip->runtime_version) printf("  runtime version %d\n", hip->runtime_version);
        printf("  graphs: %s, marker hand-off: %s, streams of an embedder: %s\n",
               hip->can_graph ? "yes" : "no", hip->can_marker ? "yes" : "no",
               hip->can_take_stream ? "yes" : "no");
    }
    if (hip->problem[0] &&
        (hip->loaded || !hip->attempts.count || !hip->attempts.tried[hip->attempts.count - 1].reason[0]))
        printf("  %s\n", hip->problem);
    for (unsigned i = 0; i < hip->device_count; i++) print_hip_device(m, i);
    for (unsigned i = 0; hip->device_count && i < m->vulkan.device_count; i++)
        if (hip->pairs[i].device < 0) printf("  for Vulkan device %u: %s\n", i, hip->pairs[i].problem);
}

static void print_networks(const machine *m)
{
    static const char *const networks[] = {"cpu", "vulkan", "hip"};
    printf("Networks:\n");
    for (int i = 0; i < 3; i++) {
        char reason[512];
        why_not(m, networks[i], reason, sizeof reason);
        printf("  %-7s %s%s\n", networks[i], reason[0] ? "no: " : "yes", reason);
    }
}

/* ---- JSON */

static void add_pci(cJSON *entry, unsigned domain, unsigned bus, unsigned device)
{
    char text[32];
    snprintf(text, sizeof text, "%04x:%02x:%02x", domain, bus, device);
    cJSON_AddStringToObject(entry, "pci", text);
}

static cJSON *vulkan_json(const machine *m)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "loader", m->vulkan.loader);
    if (m->vulkan.problem[0]) cJSON_AddStringToObject(root, "problem", m->vulkan.problem);
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (unsigned i = 0; i < m->vulkan.device_count; i++) {
        const vk_device_info *d = &m->vulkan.devices[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "name", d->name);
        cJSON_AddStringToObject(entry, "type", d->type);
        cJSON_AddStringToObject(entry, "driver", d->driver);
        cJSON_AddStringToObject(entry, "driver_details", d->driver_details);
        cJSON_AddNumberToObject(entry, "api_version", d->api_version);
        cJSON_AddNumberToObject(entry, "device_local_bytes", (double)d->local_bytes);
        cJSON_AddNumberToObject(entry, "max_image", d->max_image);
        cJSON_AddBoolToObject(entry, "external_memory_fd", d->external_memory_fd);
        if (d->pci_known) add_pci(entry, d->pci_domain, d->pci_bus, d->pci_device);
        cJSON_AddBoolToObject(entry, "usable", d->usable);
        cJSON_AddNumberToObject(entry, "hip_device", m->hip.pairs[i].device);
        if (m->hip.pairs[i].problem[0])
            cJSON_AddStringToObject(entry, "hip_problem", m->hip.pairs[i].problem);
        cJSON *missing = cJSON_AddArrayToObject(entry, "missing");
        for (unsigned k = 0; k < d->missing_count; k++)
            cJSON_AddItemToArray(missing, cJSON_CreateString(d->missing[k]));
        cJSON_AddItemToArray(devices, entry);
    }
    return root;
}

static void add_device(const machine *m, unsigned index, cJSON *devices)
{
    const hip_device_report *r = &m->hip.devices[index];
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "name", r->device.name);
    cJSON_AddStringToObject(entry, "architecture", r->device.arch);
    cJSON_AddNumberToObject(entry, "multiprocessors", r->device.multiprocessors);
    if (r->known) add_pci(entry, r->device.pci_domain, r->device.pci_bus, r->device.pci_device);
    cJSON_AddNumberToObject(entry, "vulkan_device", match(m, index));
    cJSON *objects = cJSON_AddArrayToObject(entry, "code_objects");
    for (unsigned i = 0; i < HIP_PRESETS; i++) {
        if (!r->objects[i].preset) continue;
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "preset", r->objects[i].preset);
        cJSON_AddStringToObject(object, "file", r->objects[i].file);
        cJSON_AddStringToObject(object, "sha256", r->objects[i].sha256);
        cJSON_AddItemToArray(objects, object);
    }
    if (!r->runnable) cJSON_AddStringToObject(entry, "problem", r->problem);
    cJSON_AddItemToArray(devices, entry);
}

static cJSON *hip_json(const machine *m)
{
    const hip_probe_result *hip = &m->hip;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddBoolToObject(root, "loaded", hip->loaded);
    if (hip->loaded) cJSON_AddStringToObject(root, "library", hip->path);
    cJSON_AddNumberToObject(root, "runtime_version", hip->runtime_version);
    cJSON_AddBoolToObject(root, "graphs", hip->can_graph);
    cJSON_AddBoolToObject(root, "marker_handoff", hip->can_marker);
    cJSON_AddBoolToObject(root, "embedder_streams", hip->can_take_stream);
    if (hip->problem[0]) cJSON_AddStringToObject(root, "problem", hip->problem);
    cJSON *tried = cJSON_AddArrayToObject(root, "tried");
    for (unsigned i = 0; i < hip->attempts.count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "path", hip->attempts.tried[i].path);
        if (hip->attempts.tried[i].reason[0])
            cJSON_AddStringToObject(entry, "problem", hip->attempts.tried[i].reason);
        cJSON_AddItemToArray(tried, entry);
    }
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (unsigned i = 0; i < hip->device_count; i++) add_device(m, i, devices);
    return root;
}

static d4r_status write_json(const machine *m, const char *path)
{
    static const char *const networks[] = {"cpu", "vulkan", "hip"};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "tool", "d4r-info");
    cJSON_AddStringToObject(root, "version", d4r_version_string());
    cJSON_AddItemToObject(root, "vulkan", vulkan_json(m));
    cJSON_AddItemToObject(root, "hip", hip_json(m));
    cJSON *list = cJSON_AddObjectToObject(root, "networks");
    for (int i = 0; i < 3; i++) {
        char reason[512];
        why_not(m, networks[i], reason, sizeof reason);
        cJSON *entry = cJSON_AddObjectToObject(list, networks[i]);
        cJSON_AddBoolToObject(entry, "usable", !reason[0]);
        if (reason[0]) cJSON_AddStringToObject(entry, "why_not", reason);
    }
    if (strcmp(path, "-") != 0) return json_save(root, path, cli_log());
    char *text = json_text(root);
    if (!text) return D4R_ERROR_MEMORY;
    puts(text);
    free(text);
    return D4R_OK;
}

int main(int count, char **arguments)
{
    static const struct option long_options[] = {{"json", required_argument, NULL, OPTION_JSON},
                                                 {"help", no_argument, NULL, OPTION_HELP},
                                                 {"version", no_argument, NULL, OPTION_VERSION},
                                                 {NULL, 0, NULL, 0}};
    const char *json = NULL;
    int option;
    d4r_status status = D4R_OK;
    cli_start("d4r-info");
    opterr = 0;
    while ((option = getopt_long(count, arguments, "", long_options, NULL)) != -1) {
        if (option == OPTION_HELP) return fputs(help_text, stdout) < 0;
        if (option == OPTION_VERSION) return printf("d4r-info %s\n", d4r_version_string()) < 0;
        if (option != OPTION_JSON)
            return cli_usage_error("'%s': unknown option or missing value", arguments[optind - 1]);
        json = optarg;
    }
    if (count != optind) return cli_usage_error("'%s': no arguments are expected", arguments[optind]);
    machine *m = calloc(1, sizeof *m);
    if (!m) return CLI_DEVICE;
    vk_probe(&m->vulkan);
    hip_probe(&m->hip, &m->vulkan);
    if (!json || strcmp(json, "-") != 0) {
        printf("d4r %s\n", d4r_version_string());
        print_vulkan(m);
        print_hip(m);
        print_networks(m);
    }
    if (json) status = write_json(m, json);
    int code = status != D4R_OK ? cli_exit_code(status) : any_usable(m) ? CLI_OK : CLI_NO_DEVICE;
    free(m);
    return cli_finish(code);
}
