#include "runtime/cli/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const canvas_color background = {18, 20, 24}, text_color = {236, 238, 242},
                          quiet_color = {150, 156, 168}, line_color = {52, 57, 66},
                          good_color = {126, 214, 148}, shade = {8, 9, 11};
static const canvas_color accents[SHEET_MAX_CROPS] = {{255, 159, 28},  {46, 196, 182}, {240, 98, 146},
                                                      {129, 164, 255}, {205, 220, 57}, {186, 104, 200}};

enum { MARGIN = 32, GAP = 20, TITLE_HEIGHT = 84, HEADING_HEIGHT = 48, ROW_GAP = 20 };

static int cell_height(const sheet *content)
{
    const cli_display *picture = &content->columns[0].picture;
    return (int)lround((double)content->cell_width * picture->size.height / picture->size.width);
}

void sheet_crop_size(const sheet *content, int *width, int *height)
{
    const cli_display *picture = &content->columns[0].picture;
    *width = (int)content->cell_width / (int)content->zoom;
    *height = cell_height(content) / (int)content->zoom;
    if (*width > (int)picture->size.width) *width = (int)picture->size.width;
    if (*height > (int)picture->size.height) *height = (int)picture->size.height;
}

/* ---- choosing crops */

/* sums[y][x] = squared difference over the pixels above and left of (x, y). */
static double *difference_sums(const cli_display *a, const cli_display *b)
{
    size_t width = a->size.width, height = a->size.height, line = width + 1;
    double *sums = calloc(line * (height + 1), sizeof *sums);
    for (size_t y = 0; sums && y < height; y++) {
        double row = 0;
        for (size_t x = 0; x < width; x++) {
            for (size_t c = 0; c < 3; c++) {
                double error =
                    (double)a->rgb[3 * (y * width + x) + c] - (double)b->rgb[3 * (y * width + x) + c];
                row += error * error;
            }
            sums[(y + 1) * line + x + 1] = sums[y * line + x + 1] + row;
        }
    }
    return sums;
}

static bool too_close(const sheet *content, canvas_rect area)
{
    for (unsigned i = 0; i < content->crop_count; i++) {
        const canvas_rect *other = &content->crops[i];
        if (abs(other->x - area.x) < area.width + area.width / 4 &&
            abs(other->y - area.y) < area.height + area.height / 4)
            return true;
    }
    return false;
}

static int from_left(const void *a, const void *b)
{
    return ((const canvas_rect *)a)->x - ((const canvas_rect *)b)->x;
}

d4r_status sheet_pick_crops(sheet *content, unsigned a, unsigned b, unsigned count, const d4r_log *log)
{
    const cli_display *picture = &content->columns[a].picture;
    int crop_width, crop_height;
    double *sums = difference_sums(picture, &content->columns[b].picture);
    if (!sums) return d4r_fail(log, D4R_ERROR_MEMORY, "no memory to choose crops");
    size_t line = picture->size.width + 1;
    sheet_crop_size(content, &crop_width, &crop_height);
    content->crop_count = 0;
    while (content->crop_count < count && content->crop_count < SHEET_MAX_CROPS) {
        canvas_rect best = {0, 0, crop_width, crop_height};
        double most = -1;
        for (int y = 0; y + crop_height <= (int)picture->size.height; y += 4)
            for (int x = 0; x + crop_width <= (int)picture->size.width; x += 4) {
                const double *top = sums + (size_t)y * line + x, *bottom = top + (size_t)crop_height * line;
                double amount = bottom[crop_width] - bottom[0] - top[crop_width] + top[0];
                canvas_rect area = {x, y, crop_width, crop_height};
                if (amount <= most || too_close(content, area)) continue;
                most = amount;
                best = area;
            }
        if (most < 0) break;
        content->crops[content->crop_count++] = best;
    }
    qsort(content->crops, content->crop_count, sizeof *content->crops, from_left);
    free(sums);
    return D4R_OK;
}

/* ---- drawing */

static canvas_rect cell(const sheet *content, unsigned column, unsigned row)
{
    int height = cell_height(content), width = (int)content->cell_width;
    int y = MARGIN + TITLE_HEIGHT + HEADING_HEIGHT + (int)row * (height + ROW_GAP);
    return (canvas_rect){MARGIN + (int)column * (width + GAP), y, width, height};
}

static void draw_badge(canvas *target, canvas_rect area, const char *text, canvas_color color)
{
    int width = canvas_text_width(2, text) + 16, height = 26;
    canvas_rect box = {area.x + 1, area.y + area.height - height - 1, width, height};
    canvas_fill(target, box, shade, 0.72);
    canvas_text(target, box.x + 8, box.y + 6, 2, color, text);
}

/* Index of the best measured column within a crop (or the whole picture). */
static int best_column(const sheet *content, const uint32_t rect[4])
{
    int best = -1;
    double most = -1;
    for (unsigned i = 0; content->reference >= 0 && i < content->column_count; i++) {
        if ((int)i == content->reference) continue;
        double value =
            cli_psnr(&content->columns[i].picture, &content->columns[content->reference].picture, rect);
        if (value > most) most = value, best = (int)i;
    }
    return best;
}

static void draw_heading(const sheet *content, canvas *target, unsigned column)
{
    canvas_rect area = cell(content, column, 0);
    const cli_display *picture = &content->columns[column].picture;
    char text[64];
    int y = area.y - HEADING_HEIGHT + 10;
    canvas_text(target, area.x, y, 3, text_color, content->columns[column].title);
    if (content->reference < 0 || (int)column == content->reference) return;
    const cli_display *reference = &content->columns[content->reference].picture;
    snprintf(text, sizeof text, "%.2f dB  SSIM %.4f", cli_psnr(picture, reference, NULL),
             cli_ssim(picture, reference));
    canvas_text(target, area.x + area.width - canvas_text_width(2, text), y + 6, 2,
                best_column(content, NULL) == (int)column ? good_color : quiet_color, text);
}

static void draw_whole(const sheet *content, canvas *target, unsigned column)
{
    canvas_rect area = cell(content, column, 0);
    const cli_display *picture = &content->columns[column].picture;
    canvas_rect all = {0, 0, (int)picture->size.width, (int)picture->size.height};
    double sx = (double)area.width / all.width, sy = (double)area.height / all.height;
    canvas_image(target, area, picture, all);
    for (unsigned i = 0; i < content->crop_count; i++) {
        const canvas_rect *crop = &content->crops[i];
        canvas_rect box = {area.x + (int)lround(crop->x * sx) - 1, area.y + (int)lround(crop->y * sy) - 1,
                           (int)lround(crop->width * sx) + 2, (int)lround(crop->height * sy) + 2};
        canvas_rect halo = {box.x - 1, box.y - 1, box.width + 2, box.height + 2};
        canvas_outline(target, halo, 4, shade);
        canvas_outline(target, box, 2, accents[i]);
    }
}

static void draw_crop(const sheet *content, canvas *target, unsigned column, unsigned crop)
{
    canvas_rect area = cell(content, column, crop + 1);
    const canvas_rect *from = &content->crops[crop];
    const cli_display *picture = &content->columns[column].picture;
    uint32_t rect[4] = {(uint32_t)from->x, (uint32_t)from->y, (uint32_t)from->width, (uint32_t)from->height};
    char text[32];
    canvas_image(target, area, picture, *from);
    canvas_outline(target, area, 2, accents[crop]);
    if (content->reference < 0 || (int)column == content->reference) return;
    snprintf(text, sizeof text, "%.1f dB",
             cli_psnr(picture, &content->columns[content->reference].picture, rect));
    area.x += 2, area.y -= 2;
    draw_badge(target, area, text, best_column(content, rect) == (int)column ? good_color : text_color);
}

d4r_status sheet_draw(const sheet *content, const d4r_log *log, canvas *target)
{
    canvas_rect last = cell(content, content->column_count - 1, content->crop_count);
    d4r_size size = {(uint32_t)(last.x + last.width + MARGIN), (uint32_t)(last.y + last.height + MARGIN)};
    d4r_status status = canvas_create(target, size, background, log);
    if (status != D4R_OK) return status;
    canvas_text(target, MARGIN, MARGIN, 4, text_color, content->title);
    canvas_text(target, MARGIN, MARGIN + 46, 2, quiet_color, content->subtitle);
    canvas_fill(target, (canvas_rect){MARGIN, MARGIN + TITLE_HEIGHT - 4, (int)size.width - 2 * MARGIN, 1},
                line_color, 1);
    for (unsigned column = 0; column < content->column_count; column++) {
        draw_heading(content, target, column);
        draw_whole(content, target, column);
        for (unsigned crop = 0; crop < content->crop_count; crop++) draw_crop(content, target, column, crop);
    }
    return D4R_OK;
}
