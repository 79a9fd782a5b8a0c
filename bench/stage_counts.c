#include "bench/stage_counts.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "d4r/d4r_vulkan.h"
#include "vk_stages/k_stages_internal.h"
#include "vk_stages/stages_internal.h"

#define RADV_ICD "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"

/* The device's table is the library's way to Vulkan, so its entries are where to listen; they have no user pointer. */
static struct collector {
    d4r_vk vk;
    stage_counts_list *list;
    char preset[2], output[24], range[4], module[64];
    PFN_vkCreateComputePipelines create;
    PFN_vkGetPipelineExecutablePropertiesKHR properties;
    PFN_vkGetPipelineExecutableStatisticsKHR statistics;
    PFN_vkGetPipelineExecutableInternalRepresentationsKHR representations;
    bool failed;
} c;

/* ---- the disassembly */

static uint32_t lds_bytes_of(const char *op)
{
    const uint32_t times = strncmp(op, "load_2addr", 10) == 0 || strncmp(op, "store_2addr", 11) == 0 ||
                                   strncmp(op, "read2", 5) == 0 || strncmp(op, "write2", 6) == 0
                               ? 2
                               : 1;
    uint32_t bytes = 4;
    if (strstr(op, "b128"))
        bytes = 16;
    else if (strstr(op, "b96"))
        bytes = 12;
    else if (strstr(op, "b64"))
        bytes = 8;
    else if (strstr(op, "16"))
        bytes = 2;
    else if (strstr(op, "8"))
        bytes = 1;
    return times * bytes;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void count_memory(stage_counts *s, const char *op)
{
    if (starts(op, "ds_load") || starts(op, "ds_read")) {
        s->lds_loads++;
        s->lds_load_bytes += lds_bytes_of(op + 3);
    } else if (starts(op, "ds_store") || starts(op, "ds_write")) {
        s->lds_stores++;
        s->lds_store_bytes += lds_bytes_of(op + 3);
    } else if (starts(op, "image_sample")) {
        s->samples++;
    } else if (starts(op, "image_load")) {
        s->image_loads++;
    } else if (starts(op, "image_store")) {
        s->image_stores++;
    } else if (starts(op, "buffer_load") || starts(op, "global_load")) {
        s->buffer_loads++;
    } else if (starts(op, "buffer_store") || starts(op, "global_store")) {
        s->buffer_stores++;
    } else if (starts(op, "s_load") || starts(op, "s_buffer_load")) {
        s->scalar_loads++;
    }
}

static void count_line(stage_counts *s, const char *line)
{
    static const char *const slow[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"};
    while (*line == ' ' || *line == '\t') line++;
    if (starts(line, "v_")) {
        s->valu++;
        for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) s->transcendental += starts(line, slow[i]);
    } else {
        count_memory(s, line);
    }
}

static void count_assembly(stage_counts *s, char *text)
{
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        count_line(s, line);
}

static bool read_assembly(stage_counts *s, VkPipeline pipeline)
{
    VkPipelineExecutableInternalRepresentationKHR all[8];
    const VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                              .pipeline = pipeline};
    uint32_t count = 8;
    for (int i = 0; i < 8; i++)
        all[i] = (VkPipelineExecutableInternalRepresentationKHR){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR};
    if (c.representations(c.vk.device, &info, &count, all) < 0) return false;
    for (uint32_t i = 0; i < count; i++) {
        all[i].pData = NULL;
        if (strstr(all[i].name, "ssembly")) all[i].pData = malloc(all[i].dataSize + 1);
    }
    bool ok = c.representations(c.vk.device, &info, &count, all) >= 0, found = false;
    for (uint32_t i = 0; i < count; i++) {
        char *text = all[i].pData;
        if (text && ok && all[i].isText) {
            text[all[i].dataSize] = 0;
            count_assembly(s, text);
            found = true;
        }
        free(text);
    }
    return found;
}

/* ---- the driver's statistics */

static void set_statistic(stage_counts *s, const VkPipelineExecutableStatisticKHR *from)
{
    const struct {
        const char *name;
        uint64_t *to;
    } known[] = {{"SGPRs", &s->sgprs},
                 {"VGPRs", &s->vgprs},
                 {"Spilled SGPRs", &s->spilled_sgprs},
                 {"Spilled VGPRs", &s->spilled_vgprs},
                 {"Code size", &s->code_bytes},
                 {"LDS size", &s->lds_bytes},
                 {"Scratch size", &s->scratch_bytes},
                 {"Subgroups per SIMD", &s->subgroups_per_simd},
                 {"Instructions", &s->instructions},
                 {"Copies", &s->copies},
                 {"Branches", &s->branches},
                 {"Latency", &s->latency},
                 {"Inverse Throughput", &s->inverse_throughput},
                 {"VMEM Clause", &s->vmem_clauses},
                 {"SMEM Clause", &s->smem_clauses}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(from->name, known[i].name) == 0)
            *known[i].to =
                from->format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR ? from->value.u64 : 0;
}

static bool read_statistics(stage_counts *s, VkPipeline pipeline)
{
    VkPipelineExecutablePropertiesKHR executable = {.sType =
                                                        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    const VkPipelineInfoKHR of = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    const VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                              .pipeline = pipeline};
    VkPipelineExecutableStatisticKHR all[32];
    uint32_t executables = 1, count = 32;
    for (int i = 0; i < 32; i++)
        all[i] =
            (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    if (c.properties(c.vk.device, &of, &executables, &executable) < 0 || executables != 1) return false;
    if (c.statistics(c.vk.device, &info, &count, all) < 0) return false;
    s->subgroup_size = executable.subgroupSize;
    for (uint32_t i = 0; i < count; i++) set_statistic(s, &all[i]);
    return s->instructions > 0;
}

/* ---- listening */

static void add_pipeline(VkPipeline pipeline)
{
    stage_counts_list *list = c.list;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        stage_counts *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            c.failed = true;
            return;
        }
        list->items = items;
        list->capacity = capacity;
    }
    stage_counts *s = &list->items[list->count++];
    *s = (stage_counts){0};
    memcpy(s->preset, c.preset, sizeof s->preset);
    memcpy(s->name, c.module, sizeof s->name);
    memcpy(s->range, c.range, sizeof s->range);
    if (strstr(s->name, "downsample") || strstr(s->name, "k_reconstruction"))
        memcpy(s->output, c.output, sizeof s->output);
    if (!read_statistics(s, pipeline) || !read_assembly(s, pipeline)) c.failed = true;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_and_read(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo *infos,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkPipeline *pipelines)
{
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        VkComputePipelineCreateInfo info = infos[i];
        info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                      VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
        result = c.create(device, cache, 1, &info, allocator, &pipelines[i]);
        if (result == VK_SUCCESS) add_pipeline(pipelines[i]);
    }
    return result;
}

/* A stage's shader module is named just before its pipeline is made. */
static VKAPI_ATTR VkResult VKAPI_CALL note_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *name)
{
    (void)device;
    if (name->objectType == VK_OBJECT_TYPE_SHADER_MODULE)
        snprintf(c.module, sizeof c.module, "%s", name->pObjectName);
    return VK_SUCCESS;
}

/* ---- device */

static stage_counts_result say(char *why, size_t size, stage_counts_result result, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static stage_counts_result say(char *why, size_t size, stage_counts_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, size, format, arguments);
    va_end(arguments);
    return result;
}

static VkInstance create_instance(PFN_vkGetInstanceProcAddr get, const char *family)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance;
    setenv("RADV_FORCE_FAMILY", family, 1);
    setenv("VK_ICD_FILENAMES", RADV_ICD, 1);
    setenv("VK_DRIVER_FILES", RADV_ICD, 1);
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    return create && create(&info, NULL, &instance) == VK_SUCCESS ? instance : VK_NULL_HANDLE;
}

static VkPhysicalDevice find_device(PFN_vkGetInstanceProcAddr get, VkInstance instance)
{
    VkPhysicalDevice devices[8];
    VkPhysicalDeviceProperties properties;
    uint32_t count = 8;
    if (((PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices"))(instance, &count,
                                                                                      devices) < 0)
        return VK_NULL_HANDLE;
    for (uint32_t i = 0; i < count; i++) {
        ((PFN_vkGetPhysicalDeviceProperties)get(instance, "vkGetPhysicalDeviceProperties"))(devices[i],
                                                                                            &properties);
        if (strstr(properties.deviceName, "Null hardware")) return devices[i];
    }
    return VK_NULL_HANDLE;
}

/* RADV ends the process when it does not know the family: a child asks it. */
static bool knows_family(PFN_vkGetInstanceProcAddr get, const char *family)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        VkInstance instance = create_instance(get, family);
        _exit(instance && find_device(get, instance) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static VkDevice create_device(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice physical)
{
    const float priority = 1;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR readable = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE};
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const d4r_log log = {.level = D4R_LOG_ERROR};
    const char *extensions[16];
    d4r_vulkan_requirements needs;
    VkDevice device;
    if (d4r_vulkan_get_requirements(get, instance, physical, &log, &needs) != D4R_OK) return VK_NULL_HANDLE;
    uint32_t count = 0;
    for (; count < needs.extension_count && count < 15; count++) extensions[count] = needs.extensions[count];
    extensions[count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    needs.features.pNext = &needs.features11;
    needs.features11.pNext = &needs.features12;
    needs.features12.pNext = &readable;
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &needs.features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = extensions};
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)get(instance, "vkCreateDevice");
    return create(physical, &info, NULL, &device) == VK_SUCCESS ? device : VK_NULL_HANDLE;
}

static bool listen(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkPhysicalDevice physical,
                   VkDevice device)
{
    const d4r_log log = {.level = D4R_LOG_ERROR};
    if (d4r_vk_init(&c.vk, get, instance, physical, device, 0, NULL, &log) != D4R_OK) return false;
    PFN_vkGetDeviceProcAddr load = (PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr");
    c.create = c.vk.fn.vkCreateComputePipelines;
    c.properties =
        (PFN_vkGetPipelineExecutablePropertiesKHR)load(device, "vkGetPipelineExecutablePropertiesKHR");
    c.statistics =
        (PFN_vkGetPipelineExecutableStatisticsKHR)load(device, "vkGetPipelineExecutableStatisticsKHR");
    c.representations = (PFN_vkGetPipelineExecutableInternalRepresentationsKHR)load(
        device, "vkGetPipelineExecutableInternalRepresentationsKHR");
    c.vk.fn.vkCreateComputePipelines = create_and_read;
    c.vk.set_object_name = note_name;
    return c.properties && c.statistics && c.representations;
}

/* ---- pipelines */

static const struct output {
    const char *name;
    VkFormat format;
    bool ldr;
} outputs[] = {{"RGBA16F", VK_FORMAT_R16G16B16A16_SFLOAT, false},
               {"R11G11B10F", VK_FORMAT_B10G11R11_UFLOAT_PACK32, false},
               {"RGB10A2", VK_FORMAT_A2B10G10R10_UNORM_PACK32, false},
               {"RGBA8", VK_FORMAT_R8G8B8A8_UNORM, false},
               {"RGBA8 sRGB", VK_FORMAT_R8G8B8A8_SRGB, false},
               {"RGBA8", VK_FORMAT_R8G8B8A8_UNORM, true}};
#define OUTPUT_COUNT (sizeof outputs / sizeof outputs[0])

/* Stages that have their pipelines and nothing else. One after another takes what it can from the one before. */
static bool create_pipelines_m(void)
{
    d4r_m_stages *stages = calloc(OUTPUT_COUNT, sizeof *stages);
    bool ok = stages != NULL;
    snprintf(c.preset, sizeof c.preset, "M");
    for (size_t i = 0; i < OUTPUT_COUNT && ok; i++) {
        snprintf(c.output, sizeof c.output, "%s", outputs[i].name);
        snprintf(c.range, sizeof c.range, "%s", outputs[i].ldr ? "LDR" : "HDR");
        stages[i].base.desc = (d4r_stages_desc){
            .vk = &c.vk, .output_format = outputs[i].format, .conventions = {.ldr = outputs[i].ldr}};
        ok = d4r_m_programs_get(&stages[i], i ? &stages[i - 1] : NULL) == D4R_OK;
    }
    for (size_t i = 0; i < OUTPUT_COUNT && stages; i++) d4r_m_programs_release(&stages[i].programs);
    free(stages);
    return ok;
}

static bool create_pipelines_k(void)
{
    d4r_k_stages *stages = calloc(OUTPUT_COUNT, sizeof *stages);
    bool ok = stages != NULL;
    snprintf(c.preset, sizeof c.preset, "K");
    for (size_t i = 0; i < OUTPUT_COUNT && ok; i++) {
        snprintf(c.output, sizeof c.output, "%s", outputs[i].name);
        snprintf(c.range, sizeof c.range, "%s", outputs[i].ldr ? "LDR" : "HDR");
        stages[i].base.desc = (d4r_stages_desc){
            .vk = &c.vk, .output_format = outputs[i].format, .conventions = {.ldr = outputs[i].ldr}};
        ok = d4r_k_programs_get(&stages[i], i ? &stages[i - 1] : NULL) == D4R_OK;
    }
    for (size_t i = 0; i < OUTPUT_COUNT && stages; i++) d4r_k_programs_release(&stages[i].programs);
    free(stages);
    return ok;
}

stage_counts_result stage_counts_collect(const char *family, stage_counts_list *list, char *why, size_t size)
{
    memset(&c, 0, sizeof c);
    *list = (stage_counts_list){0};
    c.list = list;
    if (access(RADV_ICD, R_OK) != 0)
        return say(why, size, STAGE_COUNTS_NO_DEVICE, "RADV is not installed (no %s)", RADV_ICD);
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    if (!library) return say(why, size, STAGE_COUNTS_NO_DEVICE, "no libvulkan.so.1");
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    if (!knows_family(get, family))
        return say(why, size, STAGE_COUNTS_NO_DEVICE, "this RADV has no null device for %s", family);
    VkInstance instance = create_instance(get, family);
    if (!instance) return say(why, size, STAGE_COUNTS_NO_DEVICE, "no Vulkan instance with RADV");
    stage_counts_result result = STAGE_COUNTS_OK;
    VkPhysicalDevice physical = find_device(get, instance);
    VkDevice device = physical ? create_device(get, instance, physical) : VK_NULL_HANDLE;
    if (!device)
        result =
            say(why, size, STAGE_COUNTS_NO_DEVICE,
                "the null device for %s lacks a feature that d4r needs, or readable executables", family);
    else if (!listen(get, instance, physical, device) || !create_pipelines_m() || !create_pipelines_k() ||
             c.failed)
        result = say(why, size, STAGE_COUNTS_FAILED, "%s: a pipeline could not be made or read", family);
    if (device) {
        snprintf(list->device, sizeof list->device, "%s", c.vk.properties.deviceName);
        list->driver_version[0] = VK_VERSION_MAJOR(c.vk.properties.driverVersion);
        list->driver_version[1] = VK_VERSION_MINOR(c.vk.properties.driverVersion);
        c.vk.fn.vkDestroyDevice(device, NULL);
    }
    ((PFN_vkDestroyInstance)get(instance, "vkDestroyInstance"))(instance, NULL);
    return result;
}

void stage_counts_free(stage_counts_list *list)
{
    free(list->items);
    *list = (stage_counts_list){0};
}
