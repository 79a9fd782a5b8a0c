/* The environment variables, read at the first call. */
#include "hip_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool bad(const char *name, const char *value, const char *expected)
{
    hipemu_message("%s=\"%s\" is malformed: expected %s; every call fails until it is fixed", name, value,
                   expected);
    return false;
}

static bool read_number(const char *name, uint64_t minimum, uint64_t maximum, uint64_t *value)
{
    const char *text = getenv(name);
    if (!text || !*text) return true;
    char *end;
    unsigned long long number = strtoull(text, &end, 0);
    if (*end || text[0] == '-' || number < minimum || number > maximum) {
        char expected[80];
        snprintf(expected, sizeof expected, "a number from %" PRIu64 " to %" PRIu64, minimum, maximum);
        return bad(name, text, expected);
    }
    *value = number;
    return true;
}

static bool read_unsigned(const char *name, unsigned maximum, unsigned *value)
{
    uint64_t number = *value;
    if (!read_number(name, 0, maximum, &number)) return false;
    *value = (unsigned)number;
    return true;
}

static bool read_flag(const char *name, bool *value)
{
    unsigned number = *value;
    if (!read_unsigned(name, 1, &number)) return false;
    *value = number != 0;
    return true;
}

/* Calls fn for every comma separated item; stops at the first false. */
static bool each_item(const char *text, bool (*fn)(hipemu_config *, const char *), hipemu_config *config)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        char item[128];
        if (length >= sizeof item) return false;
        memcpy(item, text, length);
        item[length] = 0;
        if (!fn(config, item)) return false;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool add_arch(hipemu_config *config, const char *item)
{
    if (config->device_count == HIPEMU_MAX_DEVICES || !emu_arch_find(item)) return false;
    snprintf(config->arch[config->device_count++], sizeof config->arch[0], "%.31s", item);
    return true;
}

static bool read_archs(hipemu_config *config)
{
    const char *text = getenv("D4R_HIPEMU_ARCH");
    if (!text || !*text) text = "gfx1201";
    if (strcmp(text, "none") == 0) return true;
    if (each_item(text, add_arch, config)) return true;
    return bad("D4R_HIPEMU_ARCH", text, "up to 8 of gfx1100 ... gfx1201 separated by commas, or none");
}

static int pci_count;

static bool add_pci(hipemu_config *config, const char *item)
{
    unsigned domain, bus, device, function;
    int used = 0;
    if (sscanf(item, "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &used) != 4 || item[used] ||
        pci_count == HIPEMU_MAX_DEVICES || domain > 0xffff || bus > 0xff || device > 0x1f || function > 7)
        return false;
    config->pci[pci_count][0] = (int)domain;
    config->pci[pci_count][1] = (int)bus;
    config->pci[pci_count++][2] = (int)device;
    return true;
}

static bool read_pci(hipemu_config *config)
{
    for (int i = 0; i < HIPEMU_MAX_DEVICES; i++) {
        config->pci[i][0] = 0;
        config->pci[i][1] = 3 + i;
        config->pci[i][2] = 0;
    }
    const char *text = getenv("D4R_HIPEMU_PCI");
    pci_count = 0;
    if (!text || each_item(text, add_pci, config)) return true;
    return bad("D4R_HIPEMU_PCI", text, "addresses like 0000:03:00.0, one a device, separated by commas");
}

/* [name:]n[:error] */
static bool add_fail(hipemu_config *config, const char *item)
{
    if (config->fail_count == HIPEMU_MAX_FAILS) return false;
    hipemu_fail_rule *rule = &config->fail[config->fail_count];
    memset(rule, 0, sizeof *rule);
    const char *rest = item;
    if (strncmp(item, "hip", 3) == 0) {
        size_t length = strcspn(item, ":");
        if (length >= sizeof rule->name || item[length] != ':') return false;
        memcpy(rule->name, item, length);
        rest = item + length + 1;
    }
    char *end;
    rule->nth = strtoull(rest, &end, 10);
    if (end == rest || rule->nth == 0) return false;
    if (*end == ':') {
        rest = end + 1;
        rule->error = (int)strtol(rest, &end, 10);
        if (end == rest || rule->error <= 0) return false;
    }
    if (*end) return false;
    config->fail_count++;
    return true;
}

static bool add_check(hipemu_config *config, const char *item)
{
    if (strcmp(item, "uninit") == 0)
        config->check_uninit = true;
    else if (strcmp(item, "race") == 0)
        config->check_race = true;
    else if (strcmp(item, "leak") == 0)
        config->check_leak = true;
    else
        return false;
    return true;
}

static bool read_lists(hipemu_config *config)
{
    const char *text = getenv("D4R_HIPEMU_FAIL");
    if (text && !each_item(text, add_fail, config))
        return bad("D4R_HIPEMU_FAIL", text,
                   "items like hipMalloc:2, hipMalloc:2:719 or 7, separated by commas");
    text = getenv("D4R_HIPEMU_CHECK");
    if (text && !each_item(text, add_check, config))
        return bad("D4R_HIPEMU_CHECK", text, "a list of uninit, race, leak");
    text = getenv("D4R_HIPEMU_CALLBACK");
    if (text && strcmp(text, "error") == 0)
        config->callback_policy = HIPEMU_CALLBACK_ERROR;
    else if (text && *text && strcmp(text, "abort") != 0)
        return bad("D4R_HIPEMU_CALLBACK", text, "abort or error");
    text = getenv("D4R_HIPEMU_MISALIGNED");
    if (text && strcmp(text, "allow") == 0)
        config->allow_misaligned = true;
    else if (text && *text && strcmp(text, "report") != 0)
        return bad("D4R_HIPEMU_MISALIGNED", text, "report or allow");
    text = getenv("D4R_HIPEMU_IMPORT");
    if (text && strcmp(text, "refuse") == 0)
        config->refuse_import = true;
    else if (text && *text && strcmp(text, "allow") != 0)
        return bad("D4R_HIPEMU_IMPORT", text, "allow or refuse");
    return true;
}

static bool read_numbers(hipemu_config *config)
{
    uint64_t version = 70100000, module_error = hipErrorNoBinaryForGpu, threads = 0;
    config->lost_after = UINT64_MAX;
    config->delay_seed = 1;
    if (!read_number("D4R_HIPEMU_VERSION", 1, INT32_MAX, &version) ||
        !read_number("D4R_HIPEMU_MODULE_ERROR", 1, 2000, &module_error) ||
        !read_number("D4R_HIPEMU_THREADS", 1, 1024, &threads) ||
        !read_number("D4R_HIPEMU_MEMORY", 1, UINT64_MAX, &config->memory) ||
        !read_number("D4R_HIPEMU_LOST", 0, UINT64_MAX, &config->lost_after) ||
        !read_number("D4R_HIPEMU_HANG", 1, UINT64_MAX, &config->hang_at) ||
        !read_number("D4R_HIPEMU_MAX_INSTRUCTIONS", 1, UINT64_MAX, &config->max_instructions) ||
        !read_number("D4R_HIPEMU_SEED", 0, UINT64_MAX, &config->delay_seed) ||
        !read_unsigned("D4R_HIPEMU_HANG_MS", 3600000, &config->hang_ms) ||
        !read_unsigned("D4R_HIPEMU_SLOW_MS", 3600000, &config->slow_ms) ||
        !read_unsigned("D4R_HIPEMU_DELAY_US", 60000000, &config->delay_us) ||
        !read_flag("D4R_HIPEMU_LOST_CALLBACKS", &config->lost_callbacks) ||
        !read_flag("D4R_HIPEMU_SYNC_BLOCKS", &config->sync_blocks))
        return false;
    config->version = (int)version;
    config->module_error = (int)module_error;
    config->threads = (int)threads;
    return true;
}

static bool read_paths(hipemu_config *config)
{
    const char *text = getenv("D4R_HIPEMU_COUNTS");
    if (text) {
        if (strlen(text) >= sizeof config->counts_path)
            return bad("D4R_HIPEMU_COUNTS", text, "a shorter path");
        strcpy(config->counts_path, text);
    }
    text = getenv("D4R_HIPEMU_TRACE");
    if (!text || !*text) return true;
    config->trace = strcmp(text, "stderr") == 0 ? stderr : fopen(text, "we");
    return config->trace ? true : bad("D4R_HIPEMU_TRACE", text, "stderr or a file that can be written");
}

bool hipemu_config_read(hipemu_config *config)
{
    memset(config, 0, sizeof *config);
    return read_archs(config) && read_pci(config) && read_lists(config) && read_numbers(config) &&
           read_paths(config);
}

void hipemu_config_close(hipemu_config *config)
{
    if (config->trace && config->trace != stderr) fclose(config->trace);
    config->trace = NULL;
}
