/* The block of swin.hip: its inputs in the machine's order, and its float64 truth. */
#ifndef HIPEMU_SWIN_BLOCK_H
#define HIPEMU_SWIN_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { SWIN_C = 64, SWIN_TOKENS = 16, SWIN_HIDDEN = 128, SWIN_HEADS = 2, SWIN_TILES = 128 };

typedef struct swin_weights {
    /* [out][in], FP8 codes */
    uint8_t q[64][64], k[64][64], v[64][64], o[64][64], w1[128][64], w2[64][128];
    float bias[2][16][16]; /* head, key, query */
} swin_weights;

typedef struct swin_arguments {
    const uint8_t *x;
    uint8_t *y;
    const uint8_t *weights;
    const float *bias;
} swin_arguments;

void swin_random(swin_weights *w, uint8_t *tokens, int windows, uint32_t (*random)(void));
/* Bytes of the tiles for an architecture class; out: SWIN_TILES tiles. */
uint32_t swin_tile_bytes(bool gfx12);
void swin_pack(const swin_weights *w, bool gfx12, uint8_t *out);
/* One window in float64, rounded to FP8 where the block rounds. */
void swin_reference(const swin_weights *w, const uint8_t *x, uint8_t *y);
double swin_value(uint8_t code);

#endif
