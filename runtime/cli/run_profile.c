/* Stage times: medians and a trace for chrome://tracing or Perfetto. */
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/json_read.h"
#include "runtime/cli/run_output.h"

typedef struct stage_summary {
    const char *name;
    bool host;
    size_t count;
    double median, low, high, mean;
} stage_summary;

d4r_status run_profile_add(run_profile *profile, double submitted, const d4r_frame_profile *times)
{
    if (profile->count == profile->capacity) {
        size_t capacity = profile->capacity ? 2 * profile->capacity : 64;
        struct run_profile_frame *frames = realloc(profile->frames, capacity * sizeof *frames);
        if (!frames) return d4r_fail(cli_log(), D4R_ERROR_MEMORY, "no memory for stage times");
        profile->frames = frames;
        profile->capacity = capacity;
    }
    profile->frames[profile->count++] = (struct run_profile_frame){submitted, *times};
    return D4R_OK;
}

void run_profile_free(run_profile *profile)
{
    free(profile->frames);
    memset(profile, 0, sizeof *profile);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(double *values, size_t count, stage_summary *summary)
{
    qsort(values, count, sizeof *values, ascending);
    summary->count = count;
    summary->median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    summary->low = values[0];
    summary->high = values[count - 1];
    summary->mean = 0;
    for (size_t i = 0; i < count; i++) summary->mean += values[i] / (double)count;
}

/* Summaries of the first frame's stages and of the whole frame (last); returns their number. */
static unsigned summaries(const run_profile *profile, stage_summary out[D4R_MAX_STAGES + 1])
{
    unsigned stages = profile->count ? profile->frames[0].times.count : 0;
    double *values = malloc((profile->count + 1) * sizeof *values);
    unsigned written = 0;
    for (unsigned s = 0; values && profile->count && s <= stages; s++) {
        size_t count = 0;
        const char *name = s < stages ? profile->frames[0].times.stages[s].name : "frame";
        for (size_t i = 0; i < profile->count; i++) {
            const d4r_frame_profile *times = &profile->frames[i].times;
            if (s == stages) values[count++] = times->frame_us;
            for (unsigned k = 0; s < stages && k < times->count; k++)
                if (!strcmp(times->stages[k].name, name))
                    values[count++] = times->stages[k].end_us - times->stages[k].start_us;
        }
        /* A stage listed twice in one frame would count more values than frames: bounded by the buffer. */
        if (count > profile->count || !count) continue;
        out[written] =
            (stage_summary){.name = name, .host = s < stages && profile->frames[0].times.stages[s].host};
        summarise(values, count, &out[written++]);
    }
    free(values);
    return written;
}

cJSON *run_profile_json(const run_profile *profile)
{
    stage_summary list[D4R_MAX_STAGES + 1];
    unsigned count = summaries(profile, list);
    cJSON *root = cJSON_CreateArray();
    for (unsigned i = 0; i < count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "stage", list[i].name);
        cJSON_AddStringToObject(entry, "clock", list[i].host ? "host" : "gpu");
        cJSON_AddNumberToObject(entry, "median_us", list[i].median);
        cJSON_AddNumberToObject(entry, "min_us", list[i].low);
        cJSON_AddNumberToObject(entry, "max_us", list[i].high);
        cJSON_AddNumberToObject(entry, "mean_us", list[i].mean);
        cJSON_AddNumberToObject(entry, "count", (double)list[i].count);
        cJSON_AddItemToArray(root, entry);
    }
    return root;
}

static d4r_status write_csv(const run_profile *profile, const char *path)
{
    stage_summary list[D4R_MAX_STAGES + 1];
    unsigned count = summaries(profile, list);
    char text[4096];
    int used = snprintf(text, sizeof text, "stage,clock,median_us,min_us,max_us,mean_us,count\n");
    for (unsigned i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s,%s,%.2f,%.2f,%.2f,%.2f,%zu\n",
                         list[i].name, list[i].host ? "host" : "gpu", list[i].median, list[i].low,
                         list[i].high, list[i].mean, list[i].count);
    return cli_write_file(path, text, (size_t)used, cli_log());
}

static void add_event(cJSON *events, const char *name, int thread, double start, double length, size_t frame)
{
    cJSON *event = cJSON_CreateObject(), *arguments = cJSON_AddObjectToObject(event, "args");
    cJSON_AddStringToObject(event, "name", name);
    cJSON_AddStringToObject(event, "ph", "X");
    cJSON_AddNumberToObject(event, "pid", 1);
    cJSON_AddNumberToObject(event, "tid", thread);
    cJSON_AddNumberToObject(event, "ts", start);
    cJSON_AddNumberToObject(event, "dur", length);
    cJSON_AddNumberToObject(arguments, "frame", (double)frame);
    cJSON_AddItemToArray(events, event);
}

static void name_thread(cJSON *events, int thread, const char *name)
{
    cJSON *event = cJSON_CreateObject(), *arguments = cJSON_AddObjectToObject(event, "args");
    cJSON_AddStringToObject(event, "name", "thread_name");
    cJSON_AddStringToObject(event, "ph", "M");
    cJSON_AddNumberToObject(event, "pid", 1);
    cJSON_AddNumberToObject(event, "tid", thread);
    cJSON_AddStringToObject(arguments, "name", name);
    cJSON_AddItemToArray(events, event);
}

static d4r_status write_trace(const run_profile *profile, const char *path)
{
    cJSON *root = cJSON_CreateObject(), *events = cJSON_AddArrayToObject(root, "traceEvents");
    name_thread(events, 1, "Vulkan stages");
    name_thread(events, 2, "network");
    for (size_t i = 0; i < profile->count; i++) {
        const d4r_frame_profile *times = &profile->frames[i].times;
        double start = profile->frames[i].submitted * 1e6;
        for (unsigned k = 0; k < times->count; k++)
            add_event(events, times->stages[k].name, times->stages[k].host ? 2 : 1,
                      start + times->stages[k].start_us, times->stages[k].end_us - times->stages[k].start_us,
                      i);
    }
    return json_save(root, path, cli_log());
}

static const char *const profile_files[] = {"stages.csv", "profile.json", "trace.json"};
enum { PROFILE_FILES = sizeof profile_files / sizeof *profile_files };

static bool is_profile_name(const char *name)
{
    for (int i = 0; i < PROFILE_FILES; i++)
        if (!strcmp(name, profile_files[i])) return true;
    return false;
}

d4r_status run_profile_begin(cli_folder *folder, const char *path)
{
    d4r_status status = cli_folder_begin(folder, path, CLI_FOLDER_MERGE, cli_log());
    folder->ours = is_profile_name;
    for (int i = 0; status == D4R_OK && i < PROFILE_FILES; i++)
        status = cli_folder_check(folder, profile_files[i], cli_log());
    return status;
}

d4r_status run_profile_write(const run_profile *profile, cJSON *about, const char *folder)
{
    char *csv = cli_join(folder, "stages.csv"), *trace = cli_join(folder, "trace.json"),
         *json = cli_join(folder, "profile.json");
    d4r_status status = D4R_ERROR_MEMORY;
    cJSON_AddItemToObject(about, "stages", run_profile_json(profile));
    if (csv && trace && json) status = write_csv(profile, csv);
    if (status == D4R_OK) status = write_trace(profile, trace);
    if (status == D4R_OK)
        status = json_save(about, json, cli_log());
    else
        cJSON_Delete(about);
    free(csv);
    free(trace);
    free(json);
    return status;
}
