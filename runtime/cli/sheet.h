/* The contact sheet: the whole frame and enlarged crops, side by side in every version. */
#ifndef D4R_RUNTIME_CLI_SHEET_H
#define D4R_RUNTIME_CLI_SHEET_H

#include "runtime/cli/canvas.h"

#define SHEET_MAX_COLUMNS 4
#define SHEET_MAX_CROPS 6

typedef struct sheet_column {
    const char *title;
    cli_display picture; /* of output size */
} sheet_column;

typedef struct sheet {
    char title[160], subtitle[200];
    unsigned column_count;
    sheet_column columns[SHEET_MAX_COLUMNS];
    int reference; /* column that the others are measured against; -1: none */
    unsigned crop_count;
    canvas_rect crops[SHEET_MAX_CROPS];
    unsigned cell_width, zoom;
} sheet;

/* Size of a crop in output pixels: one cell's shape, divided by the zoom. */
void sheet_crop_size(const sheet *content, int *width, int *height);
/* Chooses crops where column `a` differs most from column `b`, apart from each other. */
d4r_status sheet_pick_crops(sheet *content, unsigned a, unsigned b, unsigned count, const d4r_log *log);
d4r_status sheet_draw(const sheet *content, const d4r_log *log, canvas *target);

#endif
