#include "models/format/model_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/format/file.h"
#include "models/format/manifest.h"
#include "runtime/base/log.h"

/* Of one file; data NULL: the preset has no such file. */
struct content {
    const char *name;
    uint8_t *data;
    size_t size;
};
#define CONTENT_COUNT (D4R_FILE_COUNT + 1) /* model.json is the last */

static d4r_status write_all(const char *path, int fd, const uint8_t *data, size_t size, const d4r_log *log)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
        data += n;
        size -= (size_t)n;
    }
    if (fsync(fd)) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
    return D4R_OK;
}

static d4r_status write_file(const char *directory, const struct content *content, const d4r_log *log)
{
    char *path = d4r_path_join(directory, content->name);
    if (!path) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    d4r_status status;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        status = d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
    } else {
        status = write_all(path, fd, content->data, content->size, log);
        if (close(fd) && status == D4R_OK)
            status = d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
    }
    free(path);
    return status;
}

static bool is_model_file(const char *name)
{
    for (int i = 0; i < D4R_FILE_COUNT; i++)
        if (!strcmp(name, d4r_model_file_names[i])) return true;
    return !strcmp(name, D4R_MANIFEST_NAME);
}

/* Removes a directory that holds nothing but model files. */
static void remove_model(const char *directory)
{
    for (int i = 0; i < CONTENT_COUNT; i++) {
        char *path =
            d4r_path_join(directory, i < D4R_FILE_COUNT ? d4r_model_file_names[i] : D4R_MANIFEST_NAME);
        if (path) unlink(path);
        free(path);
    }
    rmdir(directory);
}

/* May the target be taken? *exists tells whether something (harmless) is there. */
static d4r_status check_target(const char *directory, bool replace, const d4r_log *log, bool *exists)
{
    *exists = true;
    DIR *dir = opendir(directory);
    if (!dir && errno == ENOENT) {
        *exists = false;
        return D4R_OK;
    }
    if (!dir) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", directory, strerror(errno));
    d4r_status status = D4R_OK;
    for (struct dirent *entry; status == D4R_OK && (entry = readdir(dir));) {
        char printable[D4R_PRINTABLE_SIZE];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (!is_model_file(entry->d_name))
            status = d4r_fail(log, D4R_ERROR_IO,
                              "%s: holds \"%s\", which is no file of a model; choose another name", directory,
                              d4r_printable(printable, entry->d_name));
        else if (!replace)
            status = d4r_fail(log, D4R_ERROR_IO, "%s: exists already; --force replaces it", directory);
    }
    closedir(dir);
    return status;
}

static d4r_status move_into_place(const char *temporary, const char *directory, bool exists,
                                  const d4r_log *log)
{
    unsigned flags = exists ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, directory, flags)) {
        /* Some file systems know no flags; a plain rename still only replaces an empty directory. */
        if (errno != EINVAL || rename(temporary, directory))
            return d4r_fail(log, D4R_ERROR_IO, "%s: %s", directory, strerror(errno));
        return D4R_OK;
    }
    if (exists) remove_model(temporary); /* now the old one */
    return D4R_OK;
}

static d4r_status write_directory(const char *directory, bool replace, const struct content *content,
                                  const d4r_log *log)
{
    bool exists;
    d4r_status status = check_target(directory, replace, log, &exists);
    if (status != D4R_OK) return status;
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", directory) < 0)
        return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", directory);
    if (!mkdtemp(temporary)) {
        status = d4r_fail(log, D4R_ERROR_IO, "%s: cannot create a directory there: %s", directory,
                          strerror(errno));
        free(temporary);
        return status;
    }
    mode_t mask = umask(0);
    umask(mask);
    chmod(temporary, 0777 & ~mask);
    for (int i = 0; i < CONTENT_COUNT && status == D4R_OK; i++)
        if (content[i].data) status = write_file(temporary, &content[i], log);
    if (status == D4R_OK) status = move_into_place(temporary, directory, exists, log);
    if (status != D4R_OK) remove_model(temporary);
    free(temporary);
    return status;
}

/* Names, hashes and model.json for the files that are there. */
static d4r_status finish_content(d4r_preset preset, const char *name, const char *licence,
                                 struct content *content)
{
    d4r_manifest manifest = {.preset = preset};
    snprintf(manifest.name, sizeof manifest.name, "%s", name);
    snprintf(manifest.licence, sizeof manifest.licence, "%s", licence);
    for (int i = 0; i < D4R_FILE_COUNT; i++) {
        content[i].name = d4r_model_file_names[i];
        if (!content[i].data) continue;
        manifest.files[i].size = content[i].size;
        d4r_sha256_hex(content[i].data, content[i].size, manifest.files[i].sha256);
    }
    char *text = d4r_manifest_print(&manifest);
    if (!text) return D4R_ERROR_MEMORY;
    content[D4R_FILE_COUNT] = (struct content){D4R_MANIFEST_NAME, (uint8_t *)text, strlen(text)};
    return D4R_OK;
}

/* Takes over the content. */
static d4r_status write_content(const char *directory, bool replace, d4r_preset preset, const char *name,
                                const char *licence, struct content *content, const d4r_log *log)
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/') length--;
    char *target = strndup(directory, length);
    d4r_status status = target ? finish_content(preset, name, licence, content) : D4R_ERROR_MEMORY;
    if (status == D4R_OK)
        status = write_directory(target, replace, content, log);
    else
        d4r_fail(log, status, "%s: no memory for the model", directory);
    for (int i = 0; i < CONTENT_COUNT; i++) free(content[i].data);
    free(target);
    return status;
}

static d4r_status check_texts(const char *name, const char *licence, const d4r_log *log)
{
    const char *problem = d4r_manifest_text_problem(name);
    if (problem) return d4r_fail(log, D4R_ERROR_ARGUMENT, "the model's name %s", problem);
    problem = d4r_manifest_text_problem(licence);
    return problem ? d4r_fail(log, D4R_ERROR_ARGUMENT, "the model's licence %s", problem) : D4R_OK;
}

static bool allocate(struct content *content, size_t size)
{
    content->size = size;
    content->data = malloc(size);
    return content->data != NULL;
}

d4r_status d4r_m_model_write(const char *directory, bool replace, const d4r_m_weights *weights,
                             const char *name, const char *licence, const d4r_log *log)
{
    struct content content[CONTENT_COUNT] = {0}, *weights_file = &content[D4R_FILE_SAFETENSORS];
    d4r_status status = check_texts(name, licence, log);
    if (status != D4R_OK) return status;
    if (!allocate(&content[D4R_FILE_STAGES], D4R_M_STAGE_BYTES) ||
        !allocate(&content[D4R_FILE_NETWORK], D4R_M_NET_BYTES) ||
        d4r_m_weights_encode(weights, &weights_file->data, &weights_file->size) != D4R_OK) {
        for (int i = 0; i < CONTENT_COUNT; i++) free(content[i].data);
        return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the model", directory);
    }
    d4r_m_pack(weights, content[D4R_FILE_STAGES].data, content[D4R_FILE_NETWORK].data);
    return write_content(directory, replace, D4R_PRESET_M, name, licence, content, log);
}

d4r_status d4r_k_model_write(const char *directory, bool replace, const d4r_k_weights *weights,
                             const uint8_t *tables, const char *name, const char *licence, const d4r_log *log)
{
    struct content content[CONTENT_COUNT] = {0}, *weights_file = &content[D4R_FILE_SAFETENSORS];
    d4r_status status = check_texts(name, licence, log);
    if (status != D4R_OK) return status;
    if (!allocate(&content[D4R_FILE_TABLES], D4R_K_TABLES_BYTES) ||
        !allocate(&content[D4R_FILE_NETWORK], D4R_K_NET_BYTES) ||
        d4r_k_weights_encode(weights, &weights_file->data, &weights_file->size) != D4R_OK) {
        for (int i = 0; i < CONTENT_COUNT; i++) free(content[i].data);
        return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for the model", directory);
    }
    memcpy(content[D4R_FILE_TABLES].data, tables, D4R_K_TABLES_BYTES);
    d4r_k_pack(weights, content[D4R_FILE_NETWORK].data);
    return write_content(directory, replace, D4R_PRESET_K, name, licence, content, log);
}
