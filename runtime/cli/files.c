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

typedef struct input {
    dev_t device;
    ino_t number;
    enum { INPUT_NONE = 0, INPUT_KNOWN, INPUT_FORGOTTEN } state;
} input;

/* A hash table of files; `room` is a power of two. */
static struct {
    pthread_mutex_t lock;
    input *files;
    size_t count, room;
} inputs = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file's entry, or where it would be. */
static input *find_input(input *files, size_t room, dev_t device, ino_t number)
{
    size_t at = ((size_t)number * 0x9e3779b97f4a7c15u ^ (size_t)device) >> 7;
    for (;; at++) {
        input *entry = &files[at & (room - 1)];
        if (entry->state == INPUT_NONE || (entry->device == device && entry->number == number)) return entry;
    }
}

/* Keeps the table at most half full. */
static bool make_room(void)
{
    if (2 * inputs.count < inputs.room) return true;
    size_t room = inputs.room ? 2 * inputs.room : 128;
    input *files = calloc(room, sizeof *files);
    if (!files) return false;
    for (size_t i = 0; i < inputs.room; i++)
        if (inputs.files[i].state != INPUT_NONE)
            *find_input(files, room, inputs.files[i].device, inputs.files[i].number) = inputs.files[i];
    free(inputs.files);
    inputs.files = files;
    inputs.room = room;
    return true;
}

static void note_input(const struct stat *info)
{
    pthread_mutex_lock(&inputs.lock);
    if (make_room()) {
        input *entry = find_input(inputs.files, inputs.room, info->st_dev, info->st_ino);
        inputs.count += entry->state == INPUT_NONE;
        *entry = (input){info->st_dev, info->st_ino, INPUT_KNOWN};
    }
    pthread_mutex_unlock(&inputs.lock);
}

static bool known_input(const struct stat *info)
{
    pthread_mutex_lock(&inputs.lock);
    bool known = inputs.room &&
                 find_input(inputs.files, inputs.room, info->st_dev, info->st_ino)->state == INPUT_KNOWN;
    pthread_mutex_unlock(&inputs.lock);
    return known;
}

void cli_note_input(const char *path)
{
    struct stat info;
    if (!stat(path, &info) && S_ISREG(info.st_mode)) note_input(&info);
}

void cli_forget_input(const char *path)
{
    struct stat info;
    if (stat(path, &info)) return;
    pthread_mutex_lock(&inputs.lock);
    if (inputs.room) {
        input *entry = find_input(inputs.files, inputs.room, info.st_dev, info.st_ino);
        if (entry->state == INPUT_KNOWN) entry->state = INPUT_FORGOTTEN;
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

d4r_status cli_refuse_input(const char *path, const d4r_log *log)
{
    struct stat info;
    if (stat(path, &info) || !known_input(&info)) return D4R_OK;
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
    d4r_status status = cli_refuse_input(path, log);
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

d4r_status cli_check_parent(const char *path, const char *problem, const d4r_log *log)
{
    char *folder = cli_dirname(path);
    d4r_status status = D4R_OK;
    if (!folder)
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    else if (!cli_exists(folder) && errno == ENOENT)
        status = d4r_fail(log, D4R_ERROR_IO, "%s: %s: the folder %s does not exist: make it first", path,
                          problem, folder);
    else if (access(folder, W_OK | X_OK))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: %s: %s", path, problem, strerror(errno));
    free(folder);
    return status;
}

d4r_status cli_check_writable(const char *path, const d4r_log *log)
{
    if (cli_is_directory(path)) return d4r_fail(log, D4R_ERROR_IO, "%s: is a folder, not a file", path);
    d4r_status status = cli_check_parent(path, "cannot be written", log);
    return status == D4R_OK ? cli_refuse_input(path, log) : status;
}

/* The absolute name that a path has or would have: its folder's without links, and its own. NULL: no memory. */
static char *place_of(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole) return whole;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *plain = strndup(path, length), *folder = plain ? cli_dirname(plain) : NULL;
    char *real = folder ? realpath(folder, NULL) : NULL;
    const char *slash = plain ? strrchr(plain, '/') : NULL;
    whole = !plain ? NULL
            : real ? cli_format("%s/%s", strcmp(real, "/") ? real : "", slash ? slash + 1 : plain)
                   : strdup(plain);
    free(plain);
    free(folder);
    free(real);
    return whole;
}

bool cli_same_place(const char *a, const char *b)
{
    char *first = place_of(a), *second = place_of(b);
    bool same = first && second && !strcmp(first, second);
    free(first);
    free(second);
    return same;
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
