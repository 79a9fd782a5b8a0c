/* Compiled once for each instruction set level with its -march flags, -ffp-contract=off and
 * -DD4R_CPU_KERNELS=<name of the table>. Nothing else of the library is compiled with those flags. */
#include "hip_kernels/cpu_kernels.h"
#include "hip_kernels/tile_cpu.h"
#include "hip_kernels/m_block.h"

#define KERNEL(name)                                                    \
    static void run_##name(const d4r_m_args *args, int first, int last) \
    {                                                                   \
        for (int index = first; index < last; index++) {                \
            tile_group group;                                           \
            tile_open(&group, args, index);                             \
            m_##name(&group, args);                                     \
        }                                                               \
    }
KERNEL(block64)
KERNEL(merge_block96)
KERNEL(merge_block128)
KERNEL(block128)
KERNEL(block128_expand)
KERNEL(block96_expand)

static float decode_one(uint8_t code)
{
    tile_vf v = tile_decode(tile_splat_i(code));
    return v[0];
}

static void prepare(const uint8_t *network, unsigned char *panels)
{
    for (int i = 0; i < D4R_M_MATRIX_RANGES; i++) {
        const d4r_m_range *range = &d4r_m_matrix_ranges[i];
        for (size_t at = range->offset; at < range->offset + range->bytes; at += D4R_M_TILE_BYTES)
            for (int r = 0; r < 16; r++)
                for (int c = 0; c < 16; c++) {
                    float v = decode_one(network[at + D4R_M_TILE_BYTE(r, c)]);
                    unsigned char *panel = panels + at * TILE_PANEL_SCALE;
#if TILE_BF16
                    uint32_t bits;
                    memcpy(&bits, &v, 4);
                    uint16_t half = (uint16_t)(bits >> 16);
                    memcpy(panel + ((c / 2 * 16 + r) * 2 + 1 - c % 2) * 2, &half, 2);
#else
                    memcpy(panel + (c * 16 + r) * 4, &v, 4);
#endif
                }
    }
}

static void encode(const float *values, uint8_t *codes, int count)
{
    for (int i = 0; i < count; i += TILE_VECTOR) {
        tile_vf v;
        memcpy(&v, values + i, sizeof(v));
        tile_vi code = tile_encode(v);
        for (int j = 0; j < TILE_VECTOR; j++) codes[i + j] = (uint8_t)code[j];
    }
}
static void decode(const uint8_t *codes, float *values, int count)
{
    for (int i = 0; i < count; i++) values[i] = decode_one(codes[i]);
}
static void round_values(const float *values, float *rounded, int count)
{
    for (int i = 0; i < count; i += TILE_VECTOR) {
        tile_vf v;
        memcpy(&v, values + i, sizeof(v));
        v = tile_round_value(v);
        memcpy(rounded + i, &v, sizeof(v));
    }
}

const d4r_cpu_kernels D4R_CPU_KERNELS = {
    .machine.windows_an_item = TILE_WINDOWS,
    .machine.panel_scale = TILE_PANEL_SCALE,
    .machine.layers = {run_block64, run_merge_block96, run_merge_block128, run_block128, run_block128,
                       run_block128, run_block128, run_block128_expand, run_block96_expand, run_block64},
    .machine.prepare = prepare,
    .encode = encode,
    .decode = decode,
    .round = round_values,
};
