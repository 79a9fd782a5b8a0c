/* An 8-bit RGB picture to draw on: rectangles, scaled images, text in a built-in bitmap font. */
#ifndef D4R_RUNTIME_CLI_CANVAS_H
#define D4R_RUNTIME_CLI_CANVAS_H

#include "runtime/cli/metrics.h"

#define FONT_WIDTH 5
#define FONT_HEIGHT 9  /* rows 7 and 8 hold descenders */
#define FONT_ADVANCE 6 /* glyph widths between the starts of two letters, before scaling */
#define FONT_CAPITAL 7 /* height of capitals */

/* One row of a glyph: bit 4 is the left column. Characters outside 32..126 give '?'. */
uint8_t font_row(char character, int row);

typedef struct canvas_color {
    uint8_t r, g, b;
} canvas_color;

typedef struct canvas_rect {
    int x, y, width, height;
} canvas_rect;

typedef struct canvas {
    d4r_size size;
    uint8_t *rgb;
} canvas;

d4r_status canvas_create(canvas *target, d4r_size size, canvas_color background, const d4r_log *log);
void canvas_free(canvas *target);

void canvas_fill(canvas *target, canvas_rect area, canvas_color color, double opacity);
/* The rectangle's outline, `thickness` pixels wide, drawn inside. */
void canvas_outline(canvas *target, canvas_rect area, int thickness, canvas_color color);
/* Part `from` of the image into `to`: averages when it shrinks, repeats pixels when it grows. */
void canvas_image(canvas *target, canvas_rect to, const cli_display *image, canvas_rect from);

/* `scale` = canvas pixels a font pixel. Text starts at x, its capitals stand on y + scale * FONT_CAPITAL. */
void canvas_text(canvas *target, int x, int y, double scale, canvas_color color, const char *text);
int canvas_text_width(double scale, const char *text);

#endif
