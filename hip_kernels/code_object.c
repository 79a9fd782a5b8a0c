#include "hip_kernels/code_object.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/base/log.h"

enum {
    MAX_CODE_OBJECT = 16 << 20,
    ELF_HEADER = 64,
    SECTION_HEADER = 64,
    PROGRAM_HEADER = 56,
    EM_AMDGPU_ = 224,
    EM_CUDA_ = 190
};

typedef struct architecture {
    const char *name;
    uint32_t mach;
} architecture;

static const architecture architectures[] = {
#define D4R_ARCHITECTURE(name, mach, tile) {#name, mach},
#include "hip_kernels/architectures.def"
#undef D4R_ARCHITECTURE
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

static const architecture *find_architecture(const char *name)
{
    for (size_t i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].name, name) == 0) return &architectures[i];
    return NULL;
}

bool d4r_architecture_known(const char *arch)
{
    return find_architecture(arch) != NULL;
}

static d4r_status unknown_architecture(const char *arch, const d4r_log *log)
{
    char list[256] = "";
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", architectures[i].name);
    }
    return d4r_fail(log, D4R_ERROR_FEATURE, "no kernels exist for architecture \"%s\"; there are: %s", arch,
                    list);
}

static uint64_t little(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

/* Every entry of a header table, and what each entry points at, must lie inside the file. */
static bool table_fits(const uint8_t *image, size_t size, uint64_t offset, uint64_t count, uint64_t entry,
                       bool sections)
{
    if (offset > size || count * entry > size - offset) return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *p = image + offset + i * entry;
        uint64_t start = little(p + (sections ? 24 : 8), 8), length = little(p + 32, 8);
        bool no_bits = sections && little(p + 4, 4) == 8;
        if (!no_bits && (start > size || length > size - start)) return false;
    }
    return true;
}

d4r_status d4r_code_object_check(const uint8_t *image, size_t size, const char *arch, const char *origin,
                                 const d4r_log *log)
{
    const architecture *wanted = find_architecture(arch);
    if (!wanted) return unknown_architecture(arch, log);
    if (size < ELF_HEADER || memcmp(image, "\177ELF\2\1\1", 7) != 0)
        return d4r_fail(log, D4R_ERROR_NO_DEVICE, "%s: not an ELF64 file (%zu bytes): rebuild the kernels",
                        origin, size);
    unsigned machine = (unsigned)little(image + 18, 2);
    if (machine != EM_AMDGPU_)
        return d4r_fail(log, D4R_ERROR_NO_DEVICE,
                        "%s: ELF machine %u, expected %u (AMDGPU): not a code object", origin, machine,
                        EM_AMDGPU_);
    uint32_t mach = (uint32_t)little(image + 48, 4) & 0xff;
    if (mach != wanted->mach) {
        const char *is = "an unknown architecture";
        for (size_t i = 0; i < ARCHITECTURES; i++)
            if (architectures[i].mach == mach) is = architectures[i].name;
        return d4r_fail(log, D4R_ERROR_NO_DEVICE,
                        "%s: built for %s (e_flags 0x%02x), the device is %s: use its own folder", origin, is,
                        mach, arch);
    }
    unsigned program_entry = (unsigned)little(image + 54, 2), section_entry = (unsigned)little(image + 58, 2);
    uint64_t programs = little(image + 56, 2), sections = little(image + 60, 2);
    if ((programs && program_entry != PROGRAM_HEADER) || (sections && section_entry != SECTION_HEADER) ||
        !table_fits(image, size, little(image + 32, 8), programs, PROGRAM_HEADER, false) ||
        !table_fits(image, size, little(image + 40, 8), sections, SECTION_HEADER, true))
        return d4r_fail(log, D4R_ERROR_NO_DEVICE,
                        "%s: ELF tables point outside the file (%zu bytes): damaged", origin, size);
    return D4R_OK;
}

/* Reads a whole file; NULL with errno set on failure, EFBIG above the limit. */
static uint8_t *read_file(const char *path, size_t limit, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *data = NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length >= 0 && (size_t)length <= limit) {
        data = malloc((size_t)length + 1);
        rewind(file);
        if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
            free(data);
            data = NULL;
            errno = EIO;
        }
        if (data) data[length] = 0;
    } else if (length >= 0) {
        errno = EFBIG;
    }
    int saved = errno;
    fclose(file);
    errno = saved;
    *size = data ? (size_t)length : 0;
    return data;
}

static void hash(const uint8_t *data, size_t size, char text[65])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, size, data);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* The manifest written by the build: a code object without one, or one that does not fit, is not ours. */
static d4r_status check_manifest(const d4r_code_object *object, const d4r_log *log)
{
    char path[sizeof object->path + 8];
    size_t size;
    snprintf(path, sizeof path, "%.*s.json", (int)(strrchr(object->path, '.') - object->path), object->path);
    char *text = (char *)read_file(path, 1 << 20, &size);
    if (!text)
        return d4r_fail(log, D4R_ERROR_NO_DEVICE, "%s: cannot read the manifest (%s): rebuild the kernels",
                        path, strerror(errno));
    cJSON *json = cJSON_ParseWithLength(text, size);
    const cJSON *sha = cJSON_GetObjectItemCaseSensitive(json, "sha256");
    d4r_status status = D4R_OK;
    if (!cJSON_IsString(sha))
        status = d4r_fail(log, D4R_ERROR_NO_DEVICE, "%s: field sha256 is missing: rebuild the kernels", path);
    else if (strcmp(sha->valuestring, object->sha256) != 0)
        status = d4r_fail(log, D4R_ERROR_NO_DEVICE,
                          "%s: SHA-256 is %.12s..., the manifest says %.12s...: rebuild the kernels",
                          object->path, object->sha256, sha->valuestring);
    cJSON_Delete(json);
    free(text);
    return status;
}

/* Candidate folders in order; returns false when `index` is past the last. */
static bool candidate(size_t index, const char *directory, char *path, size_t size)
{
    const char *environment = getenv("D4R_KERNELS");
    static const char *const beside[] = {"d4r/kernels", "../lib/d4r/kernels", "kernels", "../kernels"};
    const char *only = directory ? directory : (environment && *environment ? environment : NULL);
    if (only) return index == 0 && (snprintf(path, size, "%s", only), true);
    Dl_info info;
    if (index >= sizeof beside / sizeof *beside) return false;
    if (!dladdr((const void *)&architectures, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash - info.dli_fname) : 1;
    snprintf(path, size, "%.*s/%s", length, slash ? info.dli_fname : ".", beside[index]);
    return true;
}

/* Reads FOLDER/ARCH/FILE from the first folder that has it; `tried` collects the others. */
static bool read_first(const char *directory, const char *arch, const char *file, char *tried,
                       size_t tried_size, d4r_code_object *object)
{
    char folder[400];
    for (size_t i = 0; candidate(i, directory, folder, sizeof folder); i++) {
        snprintf(object->path, sizeof object->path, "%s/%s/%s", folder, arch, file);
        object->image = read_file(object->path, MAX_CODE_OBJECT, &object->size);
        if (object->image) return true;
        size_t used = strlen(tried);
        snprintf(tried + used, tried_size - used, "%s%s (%s)", used ? "; " : "", object->path,
                 strerror(errno));
    }
    return false;
}

/* NVIDIA: a cubin of exactly this architecture, else PTX of an earlier one, which the driver compiles. */
static bool read_nvidia(const char *directory, const char *arch, const char *name, char *tried,
                        size_t tried_size, d4r_code_object *object)
{
    char file[64];
    snprintf(file, sizeof file, "%.50s.cubin", name);
    if (read_first(directory, arch, file, tried, tried_size, object)) return true;
    snprintf(file, sizeof file, "%.50s.ptx", name);
    return atoi(arch + 3) >= 89 && read_first(directory, "sm_89", file, tried, tried_size, object);
}

static d4r_status check_nvidia(d4r_code_object *object, const d4r_log *log)
{
    const uint8_t *image = object->image;
    bool cubin =
        object->size >= ELF_HEADER && memcmp(image, "\177ELF\2", 5) == 0 && little(image + 18, 2) == EM_CUDA_;
    /* read_file ends the text with a zero byte. */
    object->ptx = !cubin;
    if (cubin || strstr((const char *)image, ".target sm_")) return D4R_OK;
    return d4r_fail(log, D4R_ERROR_NO_DEVICE, "%s: neither a cubin nor PTX (%zu bytes): rebuild the kernels",
                    object->path, object->size);
}

d4r_status d4r_code_object_load(const char *directory, const char *arch, const char *name, const d4r_log *log,
                                d4r_code_object *object)
{
    char file[64], tried[900] = "";
    bool nvidia = strncmp(arch, "sm_", 3) == 0, found;
    memset(object, 0, sizeof *object);
    if (!nvidia && !d4r_architecture_known(arch)) return unknown_architecture(arch, log);
    snprintf(file, sizeof file, "%.50s.hsaco", name);
    found = nvidia ? read_nvidia(directory, arch, name, tried, sizeof tried, object)
                   : read_first(directory, arch, file, tried, sizeof tried, object);
    if (!found)
        return d4r_fail(log, D4R_ERROR_NO_DEVICE,
                        "kernels for %s not found; tried %s. Build the target \"%s\" or set D4R_KERNELS",
                        arch, tried, nvidia ? "kernels_nv" : "kernels");
    hash(object->image, object->size, object->sha256);
    d4r_status status = nvidia ? check_nvidia(object, log)
                               : d4r_code_object_check(object->image, object->size, arch, object->path, log);
    if (status == D4R_OK) status = check_manifest(object, log);
    if (status != D4R_OK) d4r_code_object_destroy(object);
    return status;
}

void d4r_code_object_destroy(d4r_code_object *object)
{
    free(object->image);
    memset(object, 0, sizeof *object);
}
