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
    "was tried), the HIP devices, which Vulkan device each belongs to (by PCI address), and which networks "
    "could run.\n"
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

/* The Vulkan device at the same PCI address; -1: none. */
static int match(const machine *m, const hip_device_info *device)
{
    for (unsigned i = 0; device->pci_known && i < m->vulkan.device_count; i++) {
        const vk_device_info *info = &m->vulkan.devices[i];
        if (info->pci_known && (int)info->pci_domain == device->pci_domain &&
            (int)info->pci_bus == device->pci_bus && (int)info->pci_device == device->pci_device)
            return (int)i;
    }
    return -1;
}

static bool any_usable(const machine *m)
{
    for (unsigned i = 0; i < m->vulkan.device_count; i++)
        if (m->vulkan.devices[i].usable) return true;
    return false;
}

/* Whether a HIP device belongs to a Vulkan device that d4r can use. */
static bool any_hip_match(const machine *m)
{
    for (int i = 0; i < m->hip.device_count; i++) {
        int vulkan = match(m, &m->hip.devices[i]);
        if (vulkan >= 0 && m->vulkan.devices[vulkan].usable) return true;
    }
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
    else if (!strcmp(network, "hip") && !m->hip.device_count)
        snprintf(reason, size, "%s", m->hip.problem);
    else if (!strcmp(network, "hip") && !any_hip_match(m))
        snprintf(reason, size,
                 "no HIP device has the PCI address of a usable Vulkan device (d4r-m --hip-device can "
                 "still name one, such as an emulator)");
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

static void print_hip(const machine *m)
{
    const hip_probe_result *hip = &m->hip;
    printf("HIP: %s\n", hip->loaded ? hip->attempts[hip->attempt_count - 1].path : hip->problem);
    for (int i = 0; i < hip->attempt_count; i++)
        if (hip->attempts[i].problem[0])
            printf("  tried %s: %s\n", hip->attempts[i].path, hip->attempts[i].problem);
    if (hip->runtime_version) printf("  runtime version %d\n", hip->runtime_version);
    if (hip->loaded && hip->problem[0]) printf("  %s\n", hip->problem);
    for (int i = 0; i < hip->device_count; i++) {
        const hip_device_info *d = &hip->devices[i];
        int vulkan = match(m, d);
        printf("  device %d: %s", i, d->architecture[0] ? d->architecture : "unknown architecture");
        if (d->pci_known) printf(", PCI %04x:%02x:%02x", d->pci_domain, d->pci_bus, d->pci_device);
        if (vulkan >= 0)
            printf(", is Vulkan device %d\n", vulkan);
        else
            printf(", matches no Vulkan device\n");
    }
}

static void print_networks(const machine *m)
{
    static const char *const networks[] = {"cpu", "vulkan", "hip"};
    printf("Networks:\n");
    for (int i = 0; i < 3; i++) {
        char reason[320];
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
        cJSON *missing = cJSON_AddArrayToObject(entry, "missing");
        for (unsigned k = 0; k < d->missing_count; k++)
            cJSON_AddItemToArray(missing, cJSON_CreateString(d->missing[k]));
        cJSON_AddItemToArray(devices, entry);
    }
    return root;
}

static cJSON *hip_json(const machine *m)
{
    const hip_probe_result *hip = &m->hip;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddBoolToObject(root, "loaded", hip->loaded);
    cJSON_AddNumberToObject(root, "runtime_version", hip->runtime_version);
    if (hip->problem[0]) cJSON_AddStringToObject(root, "problem", hip->problem);
    cJSON *tried = cJSON_AddArrayToObject(root, "tried");
    for (int i = 0; i < hip->attempt_count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "path", hip->attempts[i].path);
        if (hip->attempts[i].problem[0]) cJSON_AddStringToObject(entry, "problem", hip->attempts[i].problem);
        cJSON_AddItemToArray(tried, entry);
    }
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (int i = 0; i < hip->device_count; i++) {
        const hip_device_info *d = &hip->devices[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "architecture", d->architecture);
        if (d->pci_known)
            add_pci(entry, (unsigned)d->pci_domain, (unsigned)d->pci_bus, (unsigned)d->pci_device);
        cJSON_AddNumberToObject(entry, "vulkan_device", match(m, d));
        cJSON_AddItemToArray(devices, entry);
    }
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
        char reason[320];
        why_not(m, networks[i], reason, sizeof reason);
        cJSON *entry = cJSON_AddObjectToObject(list, networks[i]);
        cJSON_AddBoolToObject(entry, "usable", !reason[0]);
        if (reason[0]) cJSON_AddStringToObject(entry, "why_not", reason);
    }
    if (strcmp(path, "-") != 0) return json_save(root, path, cli_log());
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (!text) return D4R_ERROR_MEMORY;
    puts(text);
    cJSON_free(text);
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
    hip_probe(&m->hip);
    if (!json || strcmp(json, "-") != 0) {
        printf("d4r %s\n", d4r_version_string());
        print_vulkan(m);
        print_hip(m);
        print_networks(m);
    }
    if (json) status = write_json(m, json);
    int code = status != D4R_OK ? cli_exit_code(status) : any_usable(m) ? CLI_OK : CLI_NO_DEVICE;
    free(m);
    return code;
}
