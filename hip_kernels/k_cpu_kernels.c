/* Compiled once for each instruction set level with its -march flags, -ffp-contract=off and
 * -DD4R_K_CPU_KERNELS=<name of the table>. */
#include "hip_kernels/k_cpu_kernels.h"
#define TILE_HALF
#define TILE_WINDOWS 4 /* 64 token lanes: a window */
#include "hip_kernels/tile_cpu.h"
#include "hip_kernels/tile_half_cpu.h"
#include "hip_kernels/k_block.h"

#define KERNEL(name)                                                    \
    static void run_##name(const d4r_m_args *args, int first, int last) \
    {                                                                   \
        for (int window = first; window < last; window++) {             \
            tile_group group;                                           \
            tile_open_half(&group, args, window);                       \
            k_##name(&group, args);                                     \
        }                                                               \
    }
KERNEL(enc0)
KERNEL(enc1)
KERNEL(enc2)
KERNEL(enc3)
KERNEL(enc4)
KERNEL(dec5)
KERNEL(dec4)
KERNEL(dec3)
KERNEL(dec2)
KERNEL(dec1)
KERNEL(dec0)

static float decode_one(uint16_t bits)
{
    tile_vf v = tile_half_decode(tile_splat_i(bits));
    return v[0];
}

typedef struct image_pair {
    const uint8_t *network;
    unsigned char *panels;
} image_pair;

/* Tiles to [input][output] f32. */
static void prepare_tiles(const image_pair *images, size_t offset, size_t bytes)
{
    for (size_t at = offset; at < offset + bytes; at += D4R_K_TILE_BYTES)
        for (int r = 0; r < 16; r++)
            for (int c = 0; c < 16; c++) {
                uint16_t bits;
                memcpy(&bits, images->network + at + D4R_K_TILE_BYTE(r, c), 2);
                const float v = decode_one(bits);
                memcpy(images->panels + at * TILE_HALF_PANEL_SCALE + (c * 16 + r) * 4, &v, 4);
            }
}
/* A head's relative biases to [key's place][key][query lane]. */
static void prepare_rel_bias(const image_pair *images, size_t offset)
{
    for (int q = 0; q < 4; q++)
        for (int k = 0; k < 4; k++)
            for (int key = 0; key < 16; key++)
                for (int query = 0; query < 16; query++)
                    memcpy(images->panels + offset * TILE_HALF_PANEL_SCALE +
                               (size_t)((16 * k + key) * TILE_LANES + 16 * q + query) * 4,
                           images->network + offset + (4 * q + k) * 1024 + D4R_K_REL_INDEX(key, query) * 4,
                           4);
}
static void prepare_part(void *user, d4r_k_part part, size_t offset, size_t bytes)
{
    if (part == D4R_K_PART_TILES)
        prepare_tiles(user, offset, bytes);
    else
        prepare_rel_bias(user, offset);
}
static void prepare(const uint8_t *network, unsigned char *panels)
{
    image_pair images = {network, panels};
    d4r_k_each_part(prepare_part, &images);
}

static void encode(const float *values, uint16_t *bits, int count)
{
    for (int i = 0; i < count; i += TILE_VECTOR) {
        tile_vf v;
        memcpy(&v, values + i, sizeof(v));
        tile_vi code = tile_half_encode(v);
        for (int j = 0; j < TILE_VECTOR; j++) bits[i + j] = (uint16_t)code[j];
    }
}
static void decode(const uint16_t *bits, float *values, int count)
{
    for (int i = 0; i < count; i++) values[i] = decode_one(bits[i]);
}

const d4r_k_cpu_kernels D4R_K_CPU_KERNELS = {
    .machine.windows_an_item = 1,
    .machine.panel_scale = TILE_HALF_PANEL_SCALE,
    .machine.layers = {run_enc0, run_enc1, run_enc2, run_enc3, run_enc4, run_dec5, run_dec4, run_dec3,
                       run_dec2, run_dec1, run_dec0},
    .machine.prepare = prepare,
    .encode = encode,
    .decode = decode,
};
