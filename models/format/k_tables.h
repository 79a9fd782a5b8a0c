/* Preset K's tables of reconstruction weights, lut.bin: [16 ratios][64 sub-pixel phases][16 kernel shapes][16 taps] f16.
 * docs/stages_k.md is the definition. */
#ifndef D4R_MODELS_FORMAT_K_TABLES_H
#define D4R_MODELS_FORMAT_K_TABLES_H

#include "d4r/d4r.h"

#define D4R_K_TABLES 16
#define D4R_K_TABLE_PHASES 64
#define D4R_K_SHAPES 16
#define D4R_K_TAPS 16
#define D4R_K_TABLES_BYTES (D4R_K_TABLES * D4R_K_TABLE_PHASES * D4R_K_SHAPES * D4R_K_TAPS * 2)

/* Weights of a tap at (dx, dy) render pixels: exp(-(a dx^2 + b dy^2 + 2 c dx dy) / 2) at a ratio of 2. */
typedef struct d4r_k_gaussian {
    double a, b, c;
} d4r_k_gaussian;

/* D4R_K_TABLES_BYTES. Shapes whose weights sum to less than 1/16000 are scaled up to that. */
void d4r_k_tables_fill(const d4r_k_gaussian shapes[D4R_K_SHAPES], uint8_t *tables);

/* Every weight finite and not negative, the sum of every shape's at least 1/16384; D4R_ERROR_MODEL names the first that is
 * not. */
d4r_status d4r_k_tables_check(const char *path, const uint8_t *tables, const d4r_log *log);

#endif
