/* debug_view_picture MODEL FOLDER FRAMES OUT.png: the debug view of a sequence's last frame, for docs/debugging.md. */
#include <stdio.h>
#include <stdlib.h>
#include "tests/validate/player.h"

int main(int argc, char **argv)
{
    const d4r_log log = {0};
    play_view view = {.size = {1280, 540}};
    play_list list;
    play_result result;
    d4r_model *model;
    vk_test t;
    if (argc != 5) return 2;
    if (d4r_model_load(argv[1], &log, &model) != D4R_OK) return 4;
    if (!play_load(argv[2], (size_t)atoi(argv[3]), &list)) return 5;
    if (!vk_test_create(&t)) return 77;
    view.network_model = model;
    play_with_view(&t, model, &list, &view, &result);
    uint8_t *rgb = malloc((size_t)view.size.width * view.size.height * 3);
    for (size_t i = 0; rgb && i < (size_t)view.size.width * view.size.height; i++)
        for (int c = 0; c < 3; c++) rgb[3 * i + c] = view.pixels[4 * i + c];
    d4r_status status = rgb ? cli_png_write(argv[4], view.size, rgb, &log) : D4R_ERROR_MEMORY;
    printf("%u findings, %u validation messages\n", result.count, t.messages);
    free(rgb);
    free(view.pixels);
    play_free(&list);
    vk_test_destroy(&t);
    d4r_model_destroy(&model);
    return status != D4R_OK;
}
