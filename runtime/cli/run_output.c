#include "runtime/cli/run_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "runtime/cli/json_read.h"
#include "runtime/cli/picture.h"

/* ---- pictures */

static bool all_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return length > 0;
}

/* They may be replaced where CLI_PICTURES_INDEX says that they are of an earlier run. */
bool run_is_output_name(const char *name)
{
    static const char *const others[] = {CLI_PICTURES_INDEX, "stages.csv", "profile.json", "trace.json"};
    static const char *const suffixes[] = {".bin", ".png", ".exr", ".npy"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, others[i])) return true;
    const char *dot = strrchr(name, '.');
    if (strncmp(name, "frame-", 6) || !dot || dot < name + 6 ||
        !all_digits(name + 6, (size_t)(dot - name - 6)))
        return false;
    for (int i = 0; i < 4; i++)
        if (!strcmp(dot, suffixes[i])) return true;
    return false;
}

/* The index of an earlier run in the folder, or NULL. */
static cJSON *earlier_run(const char *folder)
{
    d4r_log silent = {NULL, NULL, D4R_LOG_ERROR};
    char *index = cli_join(folder, CLI_PICTURES_INDEX);
    json_source source = {index ? index : "", &silent};
    cJSON *root = NULL;
    if (index && cli_exists(index)) {
        json_load(&source, &root);
        cli_forget_input(index);
    }
    free(index);
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (cJSON_IsString(format) && !strcmp(format->valuestring, "d4r-outputs")) return root;
    cJSON_Delete(root);
    return NULL;
}

/* Pictures of the earlier run that this run does not replace go. */
static d4r_status mark_stale(run_pictures *pictures, const cJSON *root)
{
    static const char *const kinds[] = {"raw", "exr", "npy", "png"};
    const cJSON *item;
    d4r_status status = D4R_OK;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "frames"))
    {
        for (int i = 0; status == D4R_OK && i < 4; i++) {
            const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, kinds[i]);
            if (cJSON_IsString(name) && run_is_output_name(name->valuestring))
                status = cli_folder_stale(&pictures->folder, name->valuestring, cli_log());
        }
    }
    return status;
}

typedef struct picture_kind {
    const char *kind, *suffix;
    bool wanted;
} picture_kind;

static void wanted_kinds(const run_options *options, picture_kind kinds[4])
{
    kinds[0] = (picture_kind){"raw", "bin", !options->no_raw};
    kinds[1] = (picture_kind){"exr", "exr", options->exr};
    kinds[2] = (picture_kind){"npy", "npy", options->npy};
    kinds[3] = (picture_kind){"png", "png", options->png};
}

/* What is in the way is found before the run. */
static d4r_status check_names(const run_pictures *pictures)
{
    picture_kind kinds[4];
    char name[48];
    d4r_status status = cli_folder_check(&pictures->folder, CLI_PICTURES_INDEX, cli_log());
    wanted_kinds(pictures->options, kinds);
    for (size_t frame = 0; status == D4R_OK && frame < pictures->sequence->frame_count; frame++)
        for (int i = 0; status == D4R_OK && i < 4; i++) {
            if (!kinds[i].wanted) continue;
            snprintf(name, sizeof name, "frame-%04zu.%s", frame, kinds[i].suffix);
            status = cli_folder_check(&pictures->folder, name, cli_log());
        }
    return status;
}

d4r_status run_pictures_begin(run_pictures *pictures, const run_options *options,
                              const cli_sequence *sequence)
{
    *pictures = (run_pictures){.options = options, .sequence = sequence};
    d4r_status status = cli_folder_begin(&pictures->folder, options->out,
                                         options->force ? CLI_FOLDER_FORCE : CLI_FOLDER_MERGE, cli_log());
    if (status != D4R_OK) return status;
    pictures->frames = cJSON_CreateArray();
    cJSON *earlier = earlier_run(pictures->folder.path);
    if (earlier) {
        pictures->folder.ours = run_is_output_name;
        status = mark_stale(pictures, earlier);
        cJSON_Delete(earlier);
    }
    return status == D4R_OK ? check_names(pictures) : status;
}

typedef struct picture_item {
    const void *raw;
    size_t bytes;
    const cli_image *image;
} picture_item;

static d4r_status write_one(run_pictures *pictures, const char *kind, const char *name,
                            const picture_item *item)
{
    char *path = cli_join(pictures->folder.temporary, name);
    d4r_status status = D4R_ERROR_MEMORY;
    if (!path) return status;
    if (!strcmp(kind, "raw")) {
        status = cli_write_file(path, item->raw, item->bytes, cli_log());
    } else if (!strcmp(kind, "exr")) {
        status = cli_exr_write(path, item->image, CLI_COLOR, cli_log());
    } else if (!strcmp(kind, "npy")) {
        status = cli_npy_write_image(path, item->image, cli_log());
    } else {
        uint8_t *rgb = cli_display_bytes(item->image, pictures->sequence->conventions.ldr);
        if (rgb) status = cli_png_write(path, item->image->size, rgb, cli_log());
        free(rgb);
    }
    free(path);
    return status;
}

d4r_status run_pictures_write(run_pictures *pictures, size_t frame, const void *raw, size_t bytes,
                              const cli_image *image)
{
    picture_kind kinds[4];
    wanted_kinds(pictures->options, kinds);
    picture_item item = {raw, bytes, image};
    cJSON *entry = cJSON_CreateObject();
    d4r_status status = D4R_OK;
    cJSON_AddNumberToObject(entry, "frame", (double)frame);
    for (int i = 0; status == D4R_OK && i < 4; i++) {
        char name[48];
        if (!kinds[i].wanted) continue;
        snprintf(name, sizeof name, "frame-%04zu.%s", frame, kinds[i].suffix);
        cJSON_AddStringToObject(entry, kinds[i].kind, name);
        status = write_one(pictures, kinds[i].kind, name, &item);
    }
    cJSON_AddItemToArray(pictures->frames, entry);
    return status;
}

d4r_status run_pictures_finish(run_pictures *pictures)
{
    const cli_sequence *sequence = pictures->sequence;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "format", "d4r-outputs");
    cJSON_AddNumberToObject(root, "version", 1);
    cJSON_AddStringToObject(root, "tool", pictures->options->tool->name);
    cJSON_AddStringToObject(root, "source", sequence->file);
    int size[2] = {(int)sequence->output.width, (int)sequence->output.height};
    cJSON_AddItemToObject(root, "output", cJSON_CreateIntArray(size, 2));
    cJSON_AddStringToObject(root, "pixel_format",
                            pictures->options->format == D4R_FORMAT_RGB10A2 ? "RGB10A2" : "RGBA16F");
    cJSON_AddBoolToObject(root, "hdr", !sequence->conventions.ldr);
    cJSON_AddItemToObject(root, "frames", pictures->frames);
    pictures->frames = NULL;
    char *path = cli_join(pictures->folder.temporary, CLI_PICTURES_INDEX);
    d4r_status status = path ? json_save(root, path, cli_log()) : D4R_ERROR_MEMORY;
    free(path);
    return status;
}

void run_pictures_abandon(run_pictures *pictures)
{
    cJSON_Delete(pictures->frames);
    pictures->frames = NULL;
    cli_folder_abandon(&pictures->folder);
}

/* ---- dump */

d4r_status run_dump_begin(run_dump *dump, const char *path, bool force)
{
    *dump = (run_dump){.status = D4R_OK};
    return cli_folder_begin(&dump->folder, path, force ? CLI_FOLDER_FORCE : CLI_FOLDER_NEW, cli_log());
}

void run_dump_item(void *user, uint64_t frame, const d4r_dump_item *item)
{
    run_dump *dump = user;
    if (dump->status != D4R_OK) return;
    char *folder = cli_format("%s/%04" PRIu64, dump->folder.temporary, frame);
    char *path = folder ? cli_format("%s/%s.%s.npy", folder, item->stage, item->name) : NULL;
    if (!path) {
        dump->status = D4R_ERROR_MEMORY;
    } else {
        if ((!dump->any || frame != dump->last_frame) && mkdir(folder, 0777) && errno != EEXIST)
            dump->status = d4r_fail(cli_log(), D4R_ERROR_IO, "%s: %s", folder, strerror(errno));
        dump->any = true;
        dump->last_frame = frame;
        if (dump->status == D4R_OK)
            dump->status = cli_npy_write(path, item->dtype, item->dimensions, item->shape, item->data,
                                         item->size, cli_log());
    }
    free(path);
    free(folder);
}
