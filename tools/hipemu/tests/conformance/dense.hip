/* A tiled matrix product and a row softmax: LDS, barriers, edges of any size. */
#include "device.h"

enum { TILE = 16 };

/* c[m][n] = a[m][k] * b[k][n]; 16 x 16 work-items a tile. */
KERNEL void matrix_product(const f32 *a, const f32 *b, f32 *c, u32 m, u32 n, u32 k)
{
    LDS f32 left[TILE][TILE + 1], right[TILE][TILE + 1];
    u32 t = local_id(), row = t / TILE, column = t % TILE, tiles = (n + TILE - 1) / TILE;
    u32 y = group_id() / tiles * TILE + row, x = group_id() % tiles * TILE + column;
    f32 sum = 0;
    for (u32 base = 0; base < k; base += TILE) {
        left[row][column] = y < m && base + column < k ? a[y * k + base + column] : 0.0f;
        right[row][column] = x < n && base + row < k ? b[(base + row) * n + x] : 0.0f;
        barrier();
        for (u32 j = 0; j < TILE; j++) sum = __builtin_fmaf(left[row][j], right[j][column], sum);
        barrier();
    }
    if (y < m && x < n) c[y * n + x] = sum;
}

/* One row a workgroup of 128. */
KERNEL void row_softmax(const f32 *in, const f32 *scale, f32 *out, u32 rows, u32 columns, u32 stride)
{
    LDS f32 cells[128];
    u32 t = local_id(), row = group_id();
    const f32 *x = in + row * stride;
    f32 highest = -3.0e38f;
    for (u32 j = t; j < columns; j += 128) highest = x[j] > highest ? x[j] : highest;
    cells[t] = highest;
    barrier();
    for (u32 half = 64; half; half /= 2) {
        if (t < half) cells[t] = cells[t] > cells[t + half] ? cells[t] : cells[t + half];
        barrier();
    }
    highest = cells[0];
    barrier();
    f32 sum = 0, factor = scale[0] * 1.44269504f;
    for (u32 j = t; j < columns; j += 128) sum += exp2_hw((x[j] - highest) * factor);
    cells[t] = sum;
    barrier();
    for (u32 half = 64; half; half /= 2) {
        if (t < half) cells[t] += cells[t + half];
        barrier();
    }
    f32 inverse = 1.0f / cells[0];
    for (u32 j = t; j < columns; j += 128) out[row * stride + j] = exp2_hw((x[j] - highest) * factor) * inverse;
}
