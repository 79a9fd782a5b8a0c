#include "runtime/cli/picture.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/json_read.h"
#include "runtime/cli/metrics.h"
#include "runtime/cli/sequence.h"

void cli_pictures_free(cli_pictures *pictures)
{
    for (size_t i = 0; i < pictures->count; i++) free(pictures->files[i]);
    free(pictures->files);
    free(pictures->frames);
    free(pictures->source);
    memset(pictures, 0, sizeof *pictures);
}

static bool append(cli_pictures *pictures, size_t frame, char *file)
{
    size_t count = pictures->count + 1;
    size_t *frames = realloc(pictures->frames, count * sizeof *frames);
    if (frames) pictures->frames = frames;
    char **files = realloc(pictures->files, count * sizeof *files);
    if (files) pictures->files = files;
    if (!frames || !files || !file) {
        free(file);
        return false;
    }
    frames[count - 1] = frame;
    files[count - 1] = file;
    pictures->count = count;
    return true;
}

static d4r_status no_memory(const char *path, const d4r_log *log)
{
    return d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory", path);
}

/* ---- outputs.json */

static d4r_status read_entry(const json_source *source, const cJSON *item, size_t index, const char *folder,
                             cli_pictures *pictures)
{
    static const char *const keys[] = {"raw", "exr", "npy"};
    char path[32];
    double frame = (double)index;
    snprintf(path, sizeof path, "frames[%zu]", index);
    if (!cJSON_IsObject(item)) return json_fail(source, path, "", "must be an object");
    d4r_status status = json_number(source, item, path, "frame", JSON_OPTIONAL, &frame);
    if (status == D4R_OK && !(frame >= 0 && frame < 1e9))
        status = json_fail(source, path, "frame", "must be a frame number");
    for (int i = 0; status == D4R_OK && i < 3; i++) {
        const char *name = NULL;
        status = json_string(source, item, path, keys[i], JSON_OPTIONAL, &name);
        if (status != D4R_OK || !name) continue;
        return append(pictures, (size_t)frame, cli_join(folder, name)) ? D4R_OK
                                                                       : no_memory(source->file, source->log);
    }
    return status == D4R_OK ? json_fail(source, path, "raw", "no raw, exr or npy file is named") : status;
}

static d4r_status read_index(const char *file, const char *folder, const d4r_log *log, cli_pictures *pictures)
{
    static const char *const formats[] = {"RGBA16F", "RGB10A2", NULL};
    json_source source = {file, log};
    cJSON *root = NULL;
    const cJSON *item;
    int format = 0;
    bool hdr = true;
    size_t index = 0;
    d4r_status status = json_load(&source, &root);
    if (status == D4R_OK) status = json_size(&source, root, "", "output", JSON_REQUIRED, &pictures->size);
    if (status == D4R_OK) status = json_choice(&source, root, "", "pixel_format", formats, &format);
    if (status == D4R_OK) status = json_bool(&source, root, "", "hdr", &hdr);
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(root, "frames");
    if (status == D4R_OK && !cJSON_IsArray(frames))
        status = json_fail(&source, "", "frames", "must be an array");
    pictures->packed10 = format == 1;
    pictures->ldr = !hdr;
    pictures->ldr_known = true;
    pictures->bits = 16;
    cJSON_ArrayForEach(item, frames)
    {
        if (status == D4R_OK) status = read_entry(&source, item, index, folder, pictures);
        index++;
    }
    cJSON_Delete(root);
    return status;
}

/* ---- references of a sequence */

static d4r_status read_references(const char *path, const d4r_log *log, cli_pictures *pictures)
{
    cli_sequence sequence;
    cli_sequence_options options = cli_sequence_options_default();
    d4r_status status = cli_sequence_load(path, &options, log, &sequence);
    if (status != D4R_OK) return status;
    pictures->size = sequence.output;
    pictures->bits = sequence.reference_bits;
    pictures->ldr = sequence.conventions.ldr;
    pictures->ldr_known = true;
    for (size_t i = 0; status == D4R_OK && i < sequence.frame_count; i++)
        if (sequence.frames[i].reference && !append(pictures, i, strdup(sequence.frames[i].reference)))
            status = no_memory(path, log);
    if (status == D4R_OK && !pictures->count)
        status = d4r_fail(log, D4R_ERROR_INPUT, "%s: names no references", sequence.file);
    cli_sequence_free(&sequence);
    return status;
}

/* ---- loose files */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_picture(const struct dirent *entry)
{
    return cli_ends_with(entry->d_name, ".exr") || cli_ends_with(entry->d_name, ".npy");
}

static d4r_status read_folder(const char *path, const d4r_log *log, cli_pictures *pictures)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_picture, by_name);
    d4r_status status = D4R_OK;
    for (int i = 0; i < count; i++) {
        if (status == D4R_OK && !append(pictures, (size_t)i, cli_join(path, entries[i]->d_name)))
            status = no_memory(path, log);
        free(entries[i]);
    }
    free(entries);
    if (status == D4R_OK && count < 1)
        status = d4r_fail(log, D4R_ERROR_INPUT, "%s: holds no %s, frames.json, .exr or .npy file", path,
                          CLI_PICTURES_INDEX);
    return status;
}

d4r_status cli_pictures_open(const char *path, const d4r_log *log, cli_pictures *pictures)
{
    d4r_status status;
    *pictures = (cli_pictures){.source = strdup(path), .bits = 16};
    if (!cli_exists(path)) {
        status = d4r_fail(log, D4R_ERROR_IO, "%s: No such file or directory", path);
    } else if (cli_is_directory(path)) {
        char *index = cli_join(path, CLI_PICTURES_INDEX), *frames = cli_join(path, "frames.json");
        if (!index || !frames)
            status = no_memory(path, log);
        else if (cli_exists(index))
            status = read_index(index, path, log, pictures);
        else if (cli_exists(frames))
            status = read_references(frames, log, pictures);
        else
            status = read_folder(path, log, pictures);
        free(index);
        free(frames);
    } else if (cli_ends_with(path, CLI_PICTURES_INDEX)) {
        char *folder = cli_dirname(path);
        status = folder ? read_index(path, folder, log, pictures) : no_memory(path, log);
        free(folder);
    } else if (cli_ends_with(path, ".json")) {
        status = read_references(path, log, pictures);
    } else if (cli_ends_with(path, ".exr") || cli_ends_with(path, ".npy")) {
        status = append(pictures, 0, strdup(path)) ? D4R_OK : no_memory(path, log);
    } else {
        status =
            d4r_fail(log, D4R_ERROR_INPUT, "%s: neither a folder, a .json, an .exr nor a .npy file", path);
    }
    for (size_t i = 0; status == D4R_OK && i < pictures->count; i++) cli_note_input(pictures->files[i]);
    if (status != D4R_OK) cli_pictures_free(pictures);
    return status;
}

d4r_status cli_pictures_load(const cli_pictures *pictures, size_t index, const d4r_log *log, cli_image *image)
{
    char field[64];
    snprintf(field, sizeof field, "picture %zu", pictures->frames[index]);
    cli_expect expect = {.field = field,
                         .kind = CLI_COLOR,
                         .size = pictures->size,
                         .bits = pictures->bits,
                         .packed10 = pictures->packed10};
    return cli_image_load(pictures->files[index], &expect, log, image);
}

uint8_t *cli_display_bytes(const cli_image *image, bool ldr)
{
    size_t pixels = (size_t)image->size.width * image->size.height;
    uint8_t *bytes = malloc(pixels * 3 + 1), *out = bytes;
    for (uint32_t y = 0; bytes && y < image->size.height; y++)
        for (uint32_t x = 0; x < image->size.width; x++)
            for (uint32_t c = 0; c < 3; c++)
                *out++ = (uint8_t)(cli_display_value(cli_image_get(image, x, y, c), ldr) * 255 + 0.5f);
    return bytes;
}
