#include "runtime/cli/hip_probe.h"

#include <stdio.h>
#include <string.h>
#include "hip_kernels/code_object.h"
#include "hip_kernels/net_desc.h"

_Static_assert(HIP_PRESETS == D4R_NET_COUNT, "code objects");

/* The last error that the library logged. */
typedef struct last_error {
    char text[512];
} last_error;

static void keep_error(void *user, d4r_log_level level, const char *line)
{
    last_error *last = user;
    if (level == D4R_LOG_ERROR) snprintf(last->text, sizeof last->text, "%s", line);
}

static bool probe_code_object(const char *arch, const d4r_net_desc *net, const d4r_log *log,
                              hip_code_object *found)
{
    d4r_code_object object = {0};
    const bool good = d4r_code_object_load(NULL, arch, net->kernels, log, &object) == D4R_OK;
    if (good) {
        found->preset = net->preset;
        snprintf(found->file, sizeof found->file, "%s", object.path);
        snprintf(found->sha256, sizeof found->sha256, "%s", object.sha256);
    }
    d4r_code_object_destroy(&object);
    return good;
}

static void probe_device(d4r_hip *hip, unsigned index, last_error *last, hip_device_report *report)
{
    const d4r_log log = {keep_error, last, D4R_LOG_ERROR};
    report->runnable = report->known = d4r_hip_device_info(hip, index, &report->device) == D4R_OK;
    for (unsigned i = 0; i < HIP_PRESETS && report->runnable; i++)
        report->runnable = probe_code_object(report->device.arch, d4r_nets[i], &log, &report->objects[i]);
    if (!report->runnable) snprintf(report->problem, sizeof report->problem, "%s", last->text);
}

static void probe_pair(d4r_hip *hip, const vk_device_info *vulkan, last_error *last, hip_pair *pair)
{
    const d4r_hip_match match = {.has_pci = vulkan->pci_known,
                                 .pci_domain = vulkan->pci_domain,
                                 .pci_bus = vulkan->pci_bus,
                                 .pci_device = vulkan->pci_device};
    d4r_hip_device device;
    pair->device = -1;
    if (d4r_hip_find(hip, &match, &device) == D4R_OK)
        pair->device = device.index;
    else
        snprintf(pair->problem, sizeof pair->problem, "%s", last->text);
}

void hip_probe(hip_probe_result *result, const vk_probe_result *vulkan)
{
    last_error last = {0};
    const d4r_log log = {keep_error, &last, D4R_LOG_ERROR};
    d4r_hip *hip;
    uint32_t count = 0;
    memset(result, 0, sizeof *result);
    for (unsigned i = 0; i < VK_MAX_DEVICES; i++) result->pairs[i].device = -1;
    if (d4r_hip_load_told(NULL, &log, &result->attempts, &hip) != D4R_OK) {
        snprintf(result->problem, sizeof result->problem, "%s", last.text);
        return;
    }
    result->loaded = true;
    result->named = hip->named;
    snprintf(result->path, sizeof result->path, "%s", hip->path);
    result->runtime_version = hip->version;
    result->can_graph = hip->can_graph;
    result->can_marker = hip->can_marker;
    result->can_take_stream = hip->stream_device != NULL;
    if (d4r_hip_devices(hip, &count) != D4R_OK)
        snprintf(result->problem, sizeof result->problem, "%s", last.text);
    result->device_count = count < HIP_MAX_DEVICES ? count : HIP_MAX_DEVICES;
    for (unsigned i = 0; i < result->device_count; i++) probe_device(hip, i, &last, &result->devices[i]);
    for (unsigned i = 0; count && i < vulkan->device_count; i++)
        probe_pair(hip, &vulkan->devices[i], &last, &result->pairs[i]);
    d4r_hip_unload(&hip);
}

bool hip_probe_usable(const hip_probe_result *result, const vk_probe_result *vulkan, char *reason,
                      size_t size)
{
    snprintf(reason, size, "%s", result->problem);
    for (unsigned i = 0; result->device_count && i < vulkan->device_count; i++) {
        const hip_pair *pair = &result->pairs[i];
        if (!vulkan->devices[i].usable) continue;
        if (!vulkan->devices[i].external_memory_fd)
            snprintf(reason, size, "Vulkan device %u cannot share memory by fd", i);
        else if (pair->device < 0 || pair->device >= (int)result->device_count)
            snprintf(reason, size, "%s", pair->problem);
        else if (result->devices[pair->device].runnable)
            return true;
        else
            snprintf(reason, size, "%s", result->devices[pair->device].problem);
    }
    return false;
}
