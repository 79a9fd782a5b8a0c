#include "runtime/cli/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

d4r_status canvas_create(canvas *target, d4r_size size, canvas_color background, const d4r_log *log)
{
    *target = (canvas){size, malloc((size_t)size.width * size.height * 3)};
    if (!target->rgb)
        return d4r_fail(log, D4R_ERROR_MEMORY, "no memory for a picture of %ux%u", size.width, size.height);
    canvas_fill(target, (canvas_rect){0, 0, (int)size.width, (int)size.height}, background, 1);
    return D4R_OK;
}

void canvas_free(canvas *target)
{
    free(target->rgb);
    memset(target, 0, sizeof *target);
}

static void blend(canvas *target, int x, int y, canvas_color color, double opacity)
{
    if (x < 0 || y < 0 || x >= (int)target->size.width || y >= (int)target->size.height) return;
    uint8_t *pixel = target->rgb + 3 * ((size_t)y * target->size.width + (size_t)x);
    const uint8_t wanted[3] = {color.r, color.g, color.b};
    for (int c = 0; c < 3; c++) pixel[c] = (uint8_t)(pixel[c] + (wanted[c] - pixel[c]) * opacity + 0.5);
}

void canvas_fill(canvas *target, canvas_rect area, canvas_color color, double opacity)
{
    for (int y = area.y; y < area.y + area.height; y++)
        for (int x = area.x; x < area.x + area.width; x++) blend(target, x, y, color, opacity);
}

void canvas_outline(canvas *target, canvas_rect area, int thickness, canvas_color color)
{
    int inner = area.height - 2 * thickness;
    canvas_fill(target, (canvas_rect){area.x, area.y, area.width, thickness}, color, 1);
    canvas_fill(target, (canvas_rect){area.x, area.y + area.height - thickness, area.width, thickness}, color,
                1);
    canvas_fill(target, (canvas_rect){area.x, area.y + thickness, thickness, inner}, color, 1);
    canvas_fill(target, (canvas_rect){area.x + area.width - thickness, area.y + thickness, thickness, inner},
                color, 1);
}

/* ---- images */

/* Mean of the source pixels that [x0, x1) x [y0, y1) covers, weighted by the covered part. */
static void average(const cli_display *image, const double box[4], double rgb[3])
{
    double total = 0;
    rgb[0] = rgb[1] = rgb[2] = 0;
    for (int y = (int)floor(box[1]); y < box[3]; y++)
        for (int x = (int)floor(box[0]); x < box[2]; x++) {
            if (x < 0 || y < 0 || x >= (int)image->size.width || y >= (int)image->size.height) continue;
            double wx = fmin(x + 1, box[2]) - fmax(x, box[0]), wy = fmin(y + 1, box[3]) - fmax(y, box[1]);
            const float *pixel = image->rgb + 3 * ((size_t)y * image->size.width + (size_t)x);
            for (int c = 0; c < 3; c++) rgb[c] += wx * wy * (double)pixel[c];
            total += wx * wy;
        }
    for (int c = 0; c < 3; c++) rgb[c] /= total > 0 ? total : 1;
}

void canvas_image(canvas *target, canvas_rect to, const cli_display *image, canvas_rect from)
{
    double sx = (double)from.width / to.width, sy = (double)from.height / to.height;
    for (int y = 0; y < to.height; y++)
        for (int x = 0; x < to.width; x++) {
            double rgb[3],
                box[4] = {from.x + x * sx, from.y + y * sy, from.x + (x + 1) * sx, from.y + (y + 1) * sy};
            if (sx < 1) { /* one source pixel, the one under the centre */
                box[0] = floor(from.x + (x + 0.5) * sx);
                box[2] = box[0] + 1;
            }
            if (sy < 1) {
                box[1] = floor(from.y + (y + 0.5) * sy);
                box[3] = box[1] + 1;
            }
            average(image, box, rgb);
            blend(target, to.x + x, to.y + y,
                  (canvas_color){(uint8_t)(rgb[0] * 255 + 0.5), (uint8_t)(rgb[1] * 255 + 0.5),
                                 (uint8_t)(rgb[2] * 255 + 0.5)},
                  1);
        }
}

/* ---- text */

static double font_pixel(char character, int x, int y)
{
    return x >= 0 && x < FONT_WIDTH && (font_row(character, y) >> (FONT_WIDTH - 1 - x) & 1) ? 1 : 0;
}

/* Coverage at a point of the glyph (font pixels): the bitmap, smoothed and sharpened again, which rounds its
 * corners and leaves a soft edge. */
static double coverage(char character, double x, double y, double edge)
{
    double fx = floor(x - 0.5), fy = floor(y - 0.5), tx = x - 0.5 - fx, ty = y - 0.5 - fy;
    int ix = (int)fx, iy = (int)fy;
    double value =
        (1 - ty) * ((1 - tx) * font_pixel(character, ix, iy) + tx * font_pixel(character, ix + 1, iy)) +
        ty * ((1 - tx) * font_pixel(character, ix, iy + 1) + tx * font_pixel(character, ix + 1, iy + 1));
    double t = (value - 0.42) / edge + 0.5;
    return t < 0 ? 0 : t > 1 ? 1 : t;
}

void canvas_text(canvas *target, int x, int y, double scale, canvas_color color, const char *text)
{
    int width = (int)ceil((FONT_WIDTH + 1) * scale), height = (int)ceil((FONT_HEIGHT + 1) * scale);
    double edge = 0.9 / scale;
    for (size_t i = 0; text[i]; i++) {
        double start = x + (double)i * FONT_ADVANCE * scale;
        int first = (int)floor(start - scale / 2);
        for (int dy = -1; dy < height; dy++)
            for (int dx = 0; dx <= width; dx++) {
                double gx = (first + dx + 0.5 - start) / scale, gy = (dy + 0.5) / scale;
                double amount = coverage(text[i], gx, gy, edge);
                if (amount > 0) blend(target, first + dx, y + dy, color, amount);
            }
    }
}

int canvas_text_width(double scale, const char *text)
{
    size_t length = strlen(text);
    return length ? (int)ceil(((double)length * FONT_ADVANCE - 1) * scale) : 0;
}
