#include "hip_kernels/k_launch.h"

#include <string.h>
#include "hip_kernels/k_kernel_config.h"

#define KERNEL(name)                         \
    {                                        \
        "d4r_k_" #name, K_THREADS, K_WINDOWS \
    }

static const d4r_m_kernel kernels[D4R_K_LAYER_COUNT] = {
    KERNEL(enc0), KERNEL(enc1), KERNEL(enc2), KERNEL(enc3), KERNEL(enc4), KERNEL(dec5),
    KERNEL(dec4), KERNEL(dec3), KERNEL(dec2), KERNEL(dec1), KERNEL(dec0),
};

const d4r_m_kernel *d4r_k_kernel_of(d4r_k_layer layer)
{
    return &kernels[layer];
}

typedef struct image_pair {
    const uint8_t *network;
    uint8_t *panels;
} image_pair;

/* gfx11: row r of the panel is channel 8 * (r & 1) + (r >> 1), so that an accumulator's register r of half h is channel
 * 8h + r. */
static void permute_rows(void *user, d4r_k_part part, size_t offset, size_t bytes)
{
    const image_pair *images = user;
    if (part != D4R_K_PART_TILES) return;
    for (size_t at = offset; at < offset + bytes; at += D4R_K_TILE_BYTES)
        for (int row = 0; row < 16; row++)
            for (int half = 0; half < 16; half += 8)
                memcpy(images->panels + at + D4R_K_TILE_BYTE(row, half),
                       images->network + at + D4R_K_TILE_BYTE(8 * (row & 1) + (row >> 1), half), 16);
}

void d4r_k_prepare_panels(d4r_m_machine machine, const uint8_t *network, uint8_t *panels)
{
    image_pair images = {network, panels};
    memcpy(panels, network, D4R_K_NET_BYTES);
    if (machine == D4R_M_MACHINE_GFX11) d4r_k_each_part(permute_rows, &images);
}
