/* Output folders that appear complete or not at all, also where the folder exists already: what is replaced is kept until
 * everything is in its place, and comes back when something cannot be moved. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/cli/cli.h"

typedef struct move {
    char *source; /* NULL: only remove the target */
    char *target;
    char *backup;     /* where the target's old content is; NULL: there was none */
    bool saved, done; /* target -> backup, source -> target */
} move;

typedef struct plan {
    const cli_folder *folder;
    const d4r_log *log;
    move *moves;
    size_t count;
} plan;

static d4r_status no_memory(const cli_folder *folder, const d4r_log *log)
{
    return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", folder->path);
}

static char *without_trailing_slashes(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return strndup(path, length);
}

static bool is_dot(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    bool empty = true;
    for (struct dirent *entry; empty && folder && (entry = readdir(folder));) empty = is_dot(entry->d_name);
    if (folder) closedir(folder);
    return empty;
}

/* mkdir of a name that nobody has; what a killed process left under such a name stays. */
static char *make_temporary(const cli_folder *folder, bool exists, const char *suffix, const d4r_log *log)
{
    for (unsigned i = 0; i < 100; i++) {
        char number[16] = "";
        if (i) snprintf(number, sizeof number, "-%u", i);
        char *name = cli_format(exists ? "%s/.tmp-%ld%s%s" : "%s.tmp-%ld%s%s", folder->path, (long)getpid(),
                                suffix, number);
        if (!name) break;
        if (!mkdir(name, 0777)) return name;
        int error = errno;
        if (error != EEXIST)
            d4r_fail(log, D4R_ERROR_IO, "%s: cannot be created: %s", folder->path, strerror(error));
        free(name);
        if (error != EEXIST) return NULL;
    }
    d4r_fail(log, D4R_ERROR_IO, "%s: no temporary folder can be made for it", folder->path);
    return NULL;
}

d4r_status cli_folder_begin(cli_folder *folder, const char *path, cli_folder_mode mode, const d4r_log *log)
{
    *folder = (cli_folder){.mode = mode, .path = without_trailing_slashes(path)};
    if (!folder->path) return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
    d4r_status status = D4R_OK;
    bool exists = cli_exists(folder->path);
    if (!folder->path[0])
        status = d4r_fail(log, D4R_ERROR_IO, "the output folder's name is empty");
    else if (exists && !cli_is_directory(folder->path))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: exists and is not a folder: choose another name", path);
    else if (exists && access(folder->path, W_OK | X_OK))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: not writable: %s", path, strerror(errno));
    else if (exists && mode == CLI_FOLDER_NEW && !is_empty(folder->path))
        status = d4r_fail(
            log, D4R_ERROR_IO,
            "%s: exists and is not empty: choose another name, or --force to replace files in it", path);
    if (status == D4R_OK && !exists) status = cli_check_parent(folder->path, "cannot be created", log);
    if (status == D4R_OK) {
        folder->temporary = make_temporary(folder, exists, "", log);
        if (!folder->temporary) status = D4R_ERROR_IO;
    }
    if (status == D4R_OK)
        cli_temporary_add(folder->temporary);
    else
        cli_folder_abandon(folder);
    return status;
}

/* Whether a new entry may take the place of what is at `target`. */
static d4r_status check_target(const cli_folder *folder, const char *target, bool is_folder,
                               const d4r_log *log)
{
    struct stat info;
    if (lstat(target, &info)) return D4R_OK;
    if (S_ISDIR(info.st_mode))
        return d4r_fail(log, D4R_ERROR_IO,
                        "%s: is a folder where a file of the output belongs: move it away, or choose another "
                        "output",
                        target);
    if (is_folder || (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)))
        return d4r_fail(log, D4R_ERROR_IO,
                        "%s: exists and is not a %s: move it away, or choose another output", target,
                        is_folder ? "folder" : "regular file");
    const char *name = target + strlen(folder->path) + 1;
    if (folder->mode != CLI_FOLDER_FORCE && !(folder->ours && folder->ours(name)))
        return d4r_fail(log, D4R_ERROR_IO,
                        "%s: exists and is not of an earlier run: choose another output, or --force to "
                        "replace it",
                        target);
    return cli_refuse_input(target, log);
}

d4r_status cli_folder_check(const cli_folder *folder, const char *name, const d4r_log *log)
{
    char *target = cli_format("%s/%s", folder->path, name);
    d4r_status status = target ? check_target(folder, target, false, log) : no_memory(folder, log);
    free(target);
    return status;
}

static d4r_status add_move(plan *p, char *source, char *target)
{
    move *moves = realloc(p->moves, (p->count + 1) * sizeof *moves);
    if (moves) p->moves = moves;
    if (!moves || !target) {
        free(source);
        free(target);
        return no_memory(p->folder, p->log);
    }
    p->moves[p->count++] = (move){.source = source, .target = target};
    return D4R_OK;
}

/* Adds a move for every entry of `from`; folders that exist on both sides are merged. */
static d4r_status plan_folder(plan *p, const char *from, const char *to)
{
    DIR *folder = opendir(from);
    d4r_status status = D4R_OK;
    if (!folder) return d4r_fail(p->log, D4R_ERROR_IO, "%s: %s", from, strerror(errno));
    for (struct dirent *entry; status == D4R_OK && (entry = readdir(folder));) {
        if (is_dot(entry->d_name)) continue;
        char *source = cli_format("%s/%s", from, entry->d_name);
        char *target = cli_format("%s/%s", to, entry->d_name);
        bool is_folder = source && cli_is_directory(source);
        if (source && target && is_folder && cli_is_directory(target)) {
            status = plan_folder(p, source, target);
            free(source);
            free(target);
            continue;
        }
        if (source && target) status = check_target(p->folder, target, is_folder, p->log);
        if (status == D4R_OK && source) {
            status = add_move(p, source, target);
        } else {
            free(source);
            free(target);
            if (status == D4R_OK) status = no_memory(p->folder, p->log);
        }
    }
    closedir(folder);
    return status;
}

static bool planned(const plan *p, const char *target)
{
    for (size_t i = 0; i < p->count; i++)
        if (!strcmp(p->moves[i].target, target)) return true;
    return false;
}

static d4r_status plan_stale(plan *p)
{
    d4r_status status = D4R_OK;
    for (size_t i = 0; status == D4R_OK && i < p->folder->stale_count; i++) {
        struct stat info;
        char *target = cli_format("%s/%s", p->folder->path, p->folder->stale[i]);
        if (target && (planned(p, target) || lstat(target, &info) || S_ISDIR(info.st_mode)))
            free(target); /* replaced, gone, or not a file of ours */
        else
            status = add_move(p, NULL, target);
    }
    return status;
}

static bool carry_out(plan *p, const char *backups)
{
    struct stat info;
    for (size_t i = 0; i < p->count; i++) {
        move *m = &p->moves[i];
        if (!lstat(m->target, &info)) {
            m->backup = cli_format("%s/%zu", backups, i);
            m->saved = m->backup && rename(m->target, m->backup) == 0;
            if (!m->saved) return false;
        }
        if (!m->source) continue;
        m->done = rename(m->source, m->target) == 0;
        if (!m->done) return false;
    }
    return true;
}

/* Everything back to where it was; false when an old file could not be brought back. */
static bool take_back(plan *p)
{
    bool good = true;
    for (size_t i = p->count; i-- > 0;) {
        move *m = &p->moves[i];
        if (m->done) rename(m->target, m->source);
        if (m->saved && rename(m->backup, m->target)) good = false;
    }
    return good;
}

static d4r_status merge(plan *p)
{
    const cli_folder *folder = p->folder;
    char *backups = make_temporary(folder, true, "-old", p->log);
    if (!backups) return D4R_ERROR_IO;
    d4r_status status = D4R_OK;
    bool restored = true;
    if (!carry_out(p, backups)) {
        int error = errno;
        restored = take_back(p);
        status = d4r_fail(p->log, D4R_ERROR_IO, "%s: the finished output cannot be moved here: %s%s%s",
                          folder->path, strerror(error), restored ? "" : "; what it held is in ",
                          restored ? "" : backups);
    }
    if (restored) cli_remove_tree(backups);
    free(backups);
    return status;
}

static d4r_status make_plan(const cli_folder *folder, const d4r_log *log, plan *p)
{
    *p = (plan){.folder = folder, .log = log};
    if (!cli_is_directory(folder->path)) return D4R_OK;
    d4r_status status = plan_folder(p, folder->temporary, folder->path);
    return status == D4R_OK ? plan_stale(p) : status;
}

static void free_plan(plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->moves[i].source);
        free(p->moves[i].target);
        free(p->moves[i].backup);
    }
    free(p->moves);
}

d4r_status cli_folder_ready(const cli_folder *folder, const d4r_log *log)
{
    plan p;
    d4r_status status = make_plan(folder, log, &p);
    free_plan(&p);
    return status;
}

d4r_status cli_folder_commit(cli_folder *folder, const d4r_log *log)
{
    plan p;
    cli_commit_lock();
    d4r_status status = make_plan(folder, log, &p);
    if (status == D4R_OK && cli_is_directory(folder->path))
        status = merge(&p);
    else if (status == D4R_OK && rename(folder->temporary, folder->path))
        status = d4r_fail(log, D4R_ERROR_IO, "%s: the finished output cannot be moved here: %s", folder->path,
                          strerror(errno));
    free_plan(&p);
    cli_commit_unlock();
    if (status != D4R_OK) return status;
    cli_remove_tree(folder->temporary);
    cli_temporary_drop(folder->temporary);
    free(folder->temporary);
    folder->temporary = NULL;
    return D4R_OK;
}

d4r_status cli_folder_stale(cli_folder *folder, const char *name, const d4r_log *log)
{
    char **stale = realloc(folder->stale, (folder->stale_count + 1) * sizeof *stale);
    if (stale) folder->stale = stale;
    char *copy = stale ? strdup(name) : NULL;
    if (!copy) return no_memory(folder, log);
    folder->stale[folder->stale_count++] = copy;
    return D4R_OK;
}

void cli_folder_abandon(cli_folder *folder)
{
    if (folder->temporary) {
        cli_remove_tree(folder->temporary);
        cli_temporary_drop(folder->temporary);
    }
    for (size_t i = 0; i < folder->stale_count; i++) free(folder->stale[i]);
    free(folder->stale);
    free(folder->temporary);
    free(folder->path);
    memset(folder, 0, sizeof *folder);
}
