/* Reading whole files and writing outputs that are complete or absent. */
#include "runtime/cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_is_directory(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

bool cli_exists(const char *path)
{
    struct stat info;
    return !stat(path, &info);
}

/* ---- what a run reads, no output of it may replace ---- */

static struct {
    pthread_mutex_t lock;
    struct stat *files;
    size_t count, room;
} inputs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool known_input(const struct stat *info)
{
    for (size_t i = 0; i < inputs.count; i++)
        if (inputs.files[i].st_dev == info->st_dev && inputs.files[i].st_ino == info->st_ino) return true;
    return false;
}

static void note_input(const struct stat *info)
{
    pthread_mutex_lock(&inputs.lock);
    if (!known_input(info)) {
        if (inputs.count == inputs.room) {
            size_t room = inputs.room ? 2 * inputs.room : 64;
            struct stat *files = realloc(inputs.files, room * sizeof *files);
            if (files) inputs.files = files, inputs.room = room;
        }
        if (inputs.count < inputs.room) inputs.files[inputs.count++] = *info;
    }
    pthread_mutex_unlock(&inputs.lock);
}

void cli_note_inputs(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    struct stat info;
    while (entries && (entry = readdir(entries)))
        if (!fstatat(dirfd(entries), entry->d_name, &info, 0) && S_ISREG(info.st_mode)) note_input(&info);
    if (entries) closedir(entries);
}

static d4r_status refuse_input(const char *path, const d4r_log *log)
{
    struct stat info;
    if (stat(path, &info)) return D4R_OK;
    pthread_mutex_lock(&inputs.lock);
    bool known = known_input(&info);
    pthread_mutex_unlock(&inputs.lock);
    if (!known) return D4R_OK;
    return d4r_fail(log, D4R_ERROR_IO, "%s: is read by this run and would be replaced: choose another name",
                    path);
}

static d4r_status read_all(int fd, const char *path, size_t size, const d4r_log *log, char *data)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
        if (got == 0) return d4r_fail(log, D4R_ERROR_IO, "%s: became shorter while it was read", path);
        done += (size_t)got;
    }
    return D4R_OK;
}

static d4r_status open_regular(const char *path, const char *note, size_t limit, const d4r_log *log, int *fd,
                               size_t *size)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return d4r_fail(log, D4R_ERROR_IO, "%s: %s%s", path, strerror(errno), note);
    if (fstat(*fd, &info) || !S_ISREG(info.st_mode))
        return d4r_fail(log, D4R_ERROR_IO, "%s: not a regular file%s", path, note);
    if ((uint64_t)info.st_size > limit)
        return d4r_fail(log, D4R_ERROR_INPUT, "%s: %lld bytes, more than the %zu that fit here%s", path,
                        (long long)info.st_size, limit, note);
    *size = (size_t)info.st_size;
    note_input(&info);
    return D4R_OK;
}

d4r_status cli_read_file(const char *path, const char *what, size_t limit, const d4r_log *log, void **data,
                         size_t *size)
{
    char note[160] = "";
    int fd = -1;
    char *bytes = NULL;
    if (what) snprintf(note, sizeof note, " (%s)", what);
    *data = NULL;
    d4r_status status = open_regular(path, note, limit, log, &fd, size);
    if (status == D4R_OK) {
        bytes = malloc(*size + 1);
        if (!bytes) status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for %zu bytes", path, *size);
    }
    if (status == D4R_OK) status = read_all(fd, path, *size, log, bytes);
    if (fd >= 0) close(fd);
    if (status != D4R_OK) {
        free(bytes);
        return status;
    }
    bytes[*size] = 0;
    *data = bytes;
    return D4R_OK;
}

char *cli_temporary_file(const char *path, const d4r_log *log)
{
    int error = EEXIST;
    for (unsigned i = 0; i < 100 && error == EEXIST; i++) {
        char number[16] = "";
        if (i) snprintf(number, sizeof number, "-%u", i);
        char *name = cli_format("%s.tmp-%ld%s", path, (long)getpid(), number);
        int fd = name ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
        error = name ? errno : ENOMEM;
        if (fd >= 0) {
            close(fd);
            cli_temporary_add(name);
            return name;
        }
        free(name);
    }
    d4r_fail(log, error == ENOMEM ? D4R_ERROR_MEMORY : D4R_ERROR_IO, "%s: cannot be written: %s", path,
             strerror(error));
    return NULL;
}

void cli_discard(char *temporary)
{
    if (!temporary) return;
    unlink(temporary);
    cli_temporary_drop(temporary);
    free(temporary);
}

d4r_status cli_publish(char *temporary, const char *path, const d4r_log *log)
{
    struct stat info;
    char *target = realpath(path, NULL); /* through symbolic links; NULL: nothing there yet */
    bool other = target && stat(target, &info) == 0 && !S_ISREG(info.st_mode);
    d4r_status status = refuse_input(path, log);
    if (status != D4R_OK)
        ;
    else if (other)
        status =
            d4r_fail(log, D4R_ERROR_IO, "%s: exists and is not a regular file: choose another name", path);
    else if (rename(temporary, target ? target : path))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (status != D4R_OK) unlink(temporary);
    cli_temporary_drop(temporary);
    free(temporary);
    free(target);
    return status;
}

d4r_status cli_write_file(const char *path, const void *data, size_t size, const d4r_log *log)
{
    char *temporary = cli_temporary_file(path, log);
    if (!temporary) return D4R_ERROR_IO;
    FILE *file = fopen(temporary, "wbe");
    bool good = file && fwrite(data, 1, size, file) == size;
    int error = errno;
    if (file && fclose(file) && good) good = false, error = errno;
    if (good) return cli_publish(temporary, path, log);
    cli_discard(temporary);
    return d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path, strerror(error));
}

d4r_status cli_check_writable(const char *path, const d4r_log *log)
{
    char *folder = cli_dirname(path);
    d4r_status status = D4R_OK;
    if (!folder)
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    else if (cli_is_directory(path))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: is a folder, not a file", path);
    else if (access(folder, W_OK | X_OK))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path, strerror(errno));
    else
        status = refuse_input(path, log);
    free(folder);
    return status;
}

void cli_remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat info;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *name = cli_format("%s/%s", path, entry->d_name);
        if (!name) break;
        if (!lstat(name, &info) && S_ISDIR(info.st_mode))
            cli_remove_tree(name);
        else
            unlink(name);
        free(name);
    }
    if (folder) closedir(folder);
    rmdir(path);
}
