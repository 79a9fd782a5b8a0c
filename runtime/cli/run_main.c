/* d4r-m, d4r-k: upscale a frame sequence. One program: a run_tool says which preset and name. */
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/check.h"
#include "runtime/cli/json_read.h"
#include "runtime/cli/run_main.h"
#include "runtime/cli/run_sequence.h"

#define FIRST_COUNTED 4 /* frames before it are left out of the means: history is still filling */

typedef struct quality {
    size_t count;
    double psnr, ssim;
} quality;

static quality mean_quality(const run_results *results)
{
    quality mean = {0, 0, 0};
    for (size_t i = FIRST_COUNTED; i < results->count; i++) {
        if (!results->frames[i].compared) continue;
        mean.count++;
        mean.psnr += results->frames[i].psnr;
        mean.ssim += results->frames[i].ssim;
    }
    if (mean.count) {
        mean.psnr /= (double)mean.count;
        mean.ssim /= (double)mean.count;
    }
    return mean;
}

static void print_quality(const run_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->frames[i].compared)
            printf("frame %zu  PSNR %.2f dB  SSIM %.4f\n", i, results->frames[i].psnr,
                   results->frames[i].ssim);
    quality mean = mean_quality(results);
    if (mean.count)
        printf("mean of %zu frames from %d on  PSNR %.2f dB  SSIM %.4f\n", mean.count, FIRST_COUNTED,
               mean.psnr, mean.ssim);
    fflush(stdout);
}

static cJSON *frames_json(const run_results *results)
{
    cJSON *frames = cJSON_CreateArray();
    for (size_t i = 0; i < results->count; i++) {
        const run_frame_result *result = &results->frames[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "frame", (double)i);
        cJSON_AddNumberToObject(entry, "milliseconds", 1e3 * result->seconds);
        cJSON_AddNumberToObject(entry, "not_finite", (double)result->not_finite);
        if (result->compared) cJSON_AddNumberToObject(entry, "psnr", result->psnr);
        if (result->compared) cJSON_AddNumberToObject(entry, "ssim", result->ssim);
        cJSON_AddItemToArray(frames, entry);
    }
    return frames;
}

/* "auto" is told from what was chosen. */
static void add_network(cJSON *root, const run_options *options, const char *description)
{
    const bool hip = options->network == D4R_NETWORK_HIP ||
                     (options->network == D4R_NETWORK_AUTO && strstr(description, "hip network"));
    cJSON *network = cJSON_AddObjectToObject(root, "network");
    cJSON_AddStringToObject(network, "kind", hip ? "hip" : "cpu");
    if (!hip) return;
    const cli_hip_names names = cli_hip_names_of(&options->hip);
    cJSON_AddStringToObject(network, "platform", names.platform);
    cJSON_AddStringToObject(network, "handoff", names.handoff);
    cJSON_AddStringToObject(network, "completion", names.completion);
    cJSON_AddStringToObject(network, "graphs", names.graphs);
}

/* What ran: the start of every JSON of a run. */
static cJSON *run_json(const run_options *options, const cli_sequence *sequence, const run_results *results)
{
    cJSON *root = cJSON_CreateObject();
    int output[2] = {(int)sequence->output.width, (int)sequence->output.height};
    int render[2] = {(int)sequence->max_render.width, (int)sequence->max_render.height};
    cJSON_AddStringToObject(root, "tool", options->tool->name);
    cJSON_AddStringToObject(root, "version", d4r_version_string());
    cJSON_AddStringToObject(root, "preset", d4r_preset_name(options->tool->preset));
    cJSON_AddStringToObject(root, "model", options->model);
    cJSON_AddStringToObject(root, "frames_file", sequence->file);
    cJSON_AddStringToObject(root, "sequence", sequence->name);
    cJSON_AddStringToObject(root, "device", results->description);
    add_network(root, options, results->description);
    cJSON_AddBoolToObject(root, "exact_filter", options->exact_filter);
    cJSON_AddItemToObject(root, "output", cJSON_CreateIntArray(output, 2));
    cJSON_AddItemToObject(root, "max_render", cJSON_CreateIntArray(render, 2));
    cJSON_AddNumberToObject(root, "repeats", options->repeats);
    cJSON_AddNumberToObject(root, "frames_in_flight", options->frames_in_flight);
    return root;
}

static d4r_status write_json(const run_options *options, const cli_sequence *sequence,
                             const run_results *results, const cli_check *check)
{
    cJSON *root = run_json(options, sequence, results);
    quality mean = mean_quality(results);
    cJSON_AddNumberToObject(root, "wall_seconds", results->wall_seconds);
    cJSON_AddNumberToObject(root, "median_frame_milliseconds", 1e3 * results->median_frame_seconds);
    cJSON *memory = cJSON_AddObjectToObject(root, "memory");
    cJSON_AddNumberToObject(memory, "device_bytes", (double)results->memory.device_bytes);
    cJSON_AddNumberToObject(memory, "shared_bytes", (double)results->memory.shared_bytes);
    cJSON_AddNumberToObject(memory, "staging_bytes", (double)results->memory.staging_bytes);
    cJSON_AddNumberToObject(memory, "weight_bytes", (double)results->memory.weight_bytes);
    cJSON_AddNumberToObject(memory, "network_bytes", (double)results->memory.network_bytes);
    if (mean.count) {
        cJSON *summary = cJSON_AddObjectToObject(root, "mean");
        cJSON_AddNumberToObject(summary, "first_frame", FIRST_COUNTED);
        cJSON_AddNumberToObject(summary, "frames", (double)mean.count);
        cJSON_AddNumberToObject(summary, "psnr", mean.psnr);
        cJSON_AddNumberToObject(summary, "ssim", mean.ssim);
    }
    cJSON_AddItemToObject(root, "frames", frames_json(results));
    if (options->profile) cJSON_AddItemToObject(root, "stages", run_profile_json(&results->profile));
    if (check) cJSON_AddItemToObject(root, "check", cli_check_json(check));
    return json_save(root, options->json, cli_log());
}

/* Everything that a run may leave behind. */
typedef struct outputs {
    run_pictures pictures;
    run_dump dump;
    cli_folder profile;
    bool has_pictures, has_dump, has_profile; /* has_profile: a folder of its own */
} outputs;

/* What is in the way of an output is found before the run. */
static d4r_status begin(const run_options *options, const cli_sequence *sequence, outputs *o)
{
    cli_note_inputs(options->model);
    d4r_status status = options->json ? cli_check_writable(options->json, cli_log()) : D4R_OK;
    *o = (outputs){.has_pictures = options->out != NULL,
                   .has_dump = options->dump != NULL,
                   .has_profile = options->profile && (options->profile_folder || !options->out)};
    if (status == D4R_OK && o->has_pictures) status = run_pictures_begin(&o->pictures, options, sequence);
    if (status == D4R_OK && o->has_dump) status = run_dump_begin(&o->dump, options->dump, options->force);
    if (status == D4R_OK && o->has_profile)
        status =
            run_profile_begin(&o->profile, options->profile_folder ? options->profile_folder : "d4r-profile");
    return status;
}

/* Everything has run: outputs get their names, the pictures last. */
static d4r_status commit(const run_options *options, const cli_sequence *sequence, outputs *o,
                         const run_results *results, const cli_check *check)
{
    d4r_status status = D4R_OK;
    if (options->profile)
        status = run_profile_write(&results->profile, run_json(options, sequence, results),
                                   o->has_profile ? o->profile.temporary : o->pictures.folder.temporary);
    if (status == D4R_OK && o->has_pictures) status = run_pictures_finish(&o->pictures);
    if (status == D4R_OK && o->has_pictures) status = cli_folder_ready(&o->pictures.folder, cli_log());
    if (status == D4R_OK && o->has_dump) status = cli_folder_ready(&o->dump.folder, cli_log());
    if (status == D4R_OK && o->has_profile) status = cli_folder_commit(&o->profile, cli_log());
    if (status == D4R_OK && o->has_dump) status = cli_folder_commit(&o->dump.folder, cli_log());
    if (status == D4R_OK && options->json) status = write_json(options, sequence, results, check);
    if (status == D4R_OK && o->has_pictures) status = cli_folder_commit(&o->pictures.folder, cli_log());
    return status;
}

static void abandon(outputs *o)
{
    run_pictures_abandon(&o->pictures);
    cli_folder_abandon(&o->dump.folder);
    cli_folder_abandon(&o->profile);
}

static int finish_code(const run_options *options, d4r_status status)
{
    if (cli_interrupted()) {
        d4r_log_print(cli_log(), D4R_LOG_WARNING, "interrupted; nothing was written");
        return CLI_INTERRUPTED;
    }
    if (status == D4R_OK && options->validate && cli_error_count()) {
        d4r_log_print(cli_log(), D4R_LOG_WARNING, "the validation layer reported %u message%s",
                      cli_error_count(), cli_error_count() > 1 ? "s" : "");
        return CLI_DEVICE;
    }
    return cli_exit_code(status);
}

static int upscale(const run_options *options, const cli_sequence *sequence, const cli_check *check)
{
    outputs o;
    run_results results = {0};
    d4r_status status = begin(options, sequence, &o);
    if (status == D4R_OK)
        status = run_sequence(options, sequence, o.has_pictures ? &o.pictures : NULL,
                              o.has_dump ? &o.dump : NULL, &results);
    if (status == D4R_OK && !cli_interrupted()) status = commit(options, sequence, &o, &results, check);
    int code = finish_code(options, status);
    if (status == D4R_OK && code != CLI_INTERRUPTED) {
        print_quality(&results);
        d4r_log_print(cli_log(), D4R_LOG_INFO, "%zu frames, %u run%s, %.2f s; median %.2f ms a frame",
                      sequence->frame_count, options->repeats, options->repeats > 1 ? "s" : "",
                      results.wall_seconds, 1e3 * results.median_frame_seconds);
    }
    abandon(&o);
    run_results_free(&results);
    return code;
}

/* --check=only: what was found, and whether that is as declared. */
static int finish_check(const run_options *options, const cli_sequence *sequence, const cli_check *check,
                        unsigned wrong)
{
    if (cli_interrupted()) return CLI_INTERRUPTED;
    cli_note_inputs(options->model);
    if (options->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "tool", options->tool->name);
        cJSON_AddStringToObject(root, "version", d4r_version_string());
        cJSON_AddStringToObject(root, "frames_file", sequence->file);
        cJSON_AddStringToObject(root, "sequence", sequence->name);
        cJSON_AddItemToObject(root, "check", cli_check_json(check));
        d4r_status status = json_save(root, options->json, cli_log());
        if (status != D4R_OK) return cli_exit_code(status);
    }
    if (!wrong) return CLI_OK;
    d4r_log_print(cli_log(), D4R_LOG_ERROR, "%s: %u convention%s not fit the frames; the warnings say which",
                  sequence->file, wrong, wrong > 1 ? "s do" : " does");
    return CLI_BAD_INPUT;
}

static int run(const run_options *options)
{
    cli_sequence sequence;
    cli_check check;
    unsigned wrong = 0;
    d4r_status status = cli_sequence_load(options->frames, &options->sequence, cli_log(), &sequence);
    if (status != D4R_OK) return cli_exit_code(status);
    if (options->check_only) status = cli_check_planes(&sequence, cli_log());
    if (status == D4R_OK && options->check) {
        status = cli_check_run(&sequence, cli_log(), &check);
        if (status == D4R_OK) wrong = cli_check_report(&sequence, &check, cli_log());
    }
    int code = status != D4R_OK      ? cli_exit_code(status)
               : options->check_only ? finish_check(options, &sequence, &check, wrong)
                                     : upscale(options, &sequence, options->check ? &check : NULL);
    cli_sequence_free(&sequence);
    return code;
}

int run_main(const run_tool *tool, int count, char **arguments)
{
    run_options options;
    bool done;
    cli_start(tool->name);
    int code = run_options_parse(tool, count, arguments, &options, &done);
    if (done) return cli_finish(code);
    cli_catch_signals();
    return cli_finish(run(&options));
}
