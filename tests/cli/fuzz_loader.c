/* Fuzz target of the text and header parsers: the first byte chooses .npy or frames.json. Messages must be one
 * line; what is accepted must hold what it says. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/sequence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(void *user, d4r_log_level level, const char *line)
{
    (void)user, (void)level;
    if (strlen(line) > 1023 || !*line) abort();
}

static const d4r_log lines = {check_line, NULL, D4R_LOG_DEBUG};

static void fuzz_npy(const uint8_t *data, size_t size)
{
    for (int kind = CLI_COLOR; kind <= CLI_EXPOSURE; kind++) {
        cli_expect expect = {.field = "f", .kind = (cli_kind)kind};
        cli_image image;
        if (cli_npy_parse("f.npy", data, size, &expect, &lines, &image) != D4R_OK) continue;
        size_t bytes = (size_t)image.size.width * image.size.height * image.channels * (image.half ? 2 : 4);
        if (image.bytes != bytes || image.channels != cli_kind_channels(expect.kind)) abort();
        volatile float last =
            cli_image_get(&image, image.size.width - 1, image.size.height - 1, image.channels - 1);
        (void)last;
        cli_image_free(&image);
    }
}

static void fuzz_frames(const uint8_t *data, size_t size)
{
    cli_sequence sequence;
    if (cli_frames_json_parse("frames.json", (const char *)data, size, &lines, &sequence) != D4R_OK) return;
    if (!sequence.frame_count || !sequence.frames || !sequence.output.width || !sequence.name) abort();
    for (size_t i = 0; i < sequence.frame_count; i++)
        if (!sequence.frames[i].color || !(sequence.frames[i].settings.motion_scale.x > 0)) abort();
    (void)cli_sequence_check(&sequence, &lines);
    cli_sequence_free(&sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    /* An exact copy, so that a sanitizer sees any read beyond the end. */
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        fuzz_frames(copy, size - 1);
    else
        fuzz_npy(copy, size - 1);
    free(copy);
    return 0;
}
