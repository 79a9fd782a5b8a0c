#include "hip_kernels/k_launch.h"

#include <string.h>
#include "hip_kernels/k_kernel_config.h"

#define MACHINES 4
#define KERNEL(name, machine, c)                                         \
    {                                                                    \
        "d4r_k_" #name, K_THREADS, K_WINDOWS(K_PLACES(machine, c)), 0, 0 \
    }
#define KERNELS(machine)                                                                                   \
    {                                                                                                      \
        KERNEL(enc0, machine, D4R_K_C0), KERNEL(enc1, machine, D4R_K_C1), KERNEL(enc2, machine, D4R_K_C2), \
            KERNEL(enc3, machine, D4R_K_C3), KERNEL(enc4, machine, D4R_K_C4),                              \
            KERNEL(dec5, machine, D4R_K_C5), KERNEL(dec4, machine, D4R_K_C4),                              \
            KERNEL(dec3, machine, D4R_K_C3), KERNEL(dec2, machine, D4R_K_C2),                              \
            KERNEL(dec1, machine, D4R_K_C1), KERNEL(dec0, machine, D4R_K_C0)                               \
    }

static const d4r_m_kernel kernels[MACHINES][D4R_K_LAYER_COUNT] = {
    [D4R_M_MACHINE_GFX12] = KERNELS(GFX12),
    [D4R_M_MACHINE_GFX11] = KERNELS(GFX11),
    [D4R_M_MACHINE_NV] = KERNELS(NV),
    [D4R_M_MACHINE_SM90] = KERNELS(NV),
};

const d4r_m_kernel *d4r_k_kernel_of(d4r_m_machine machine, d4r_k_layer layer)
{
    return &kernels[machine][layer];
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

/* NVIDIA: lane-major, four words of two f16 a lane (tile_nv.h). */
static void lane_major(void *user, d4r_k_part part, size_t offset, size_t bytes)
{
    const image_pair *images = user;
    if (part != D4R_K_PART_TILES) return;
    for (size_t at = offset; at < offset + bytes; at += D4R_K_TILE_BYTES)
        for (int lane = 0; lane < 32; lane++)
            for (int word = 0; word < 4; word++) {
                const int g = lane >> 2, t = lane & 3, j = word >> 1, b = word & 1;
                memcpy(images->panels + at + lane * 16 + word * 4,
                       images->network + at + D4R_K_TILE_BYTE(4 * (g / 2) + 2 * j + (g & 1), 4 * t + 2 * b),
                       4);
            }
}

void d4r_k_prepare_panels(d4r_m_machine machine, const uint8_t *network, uint8_t *panels)
{
    image_pair images = {network, panels};
    memcpy(panels, network, D4R_K_NET_BYTES);
    if (machine == D4R_M_MACHINE_GFX11) d4r_k_each_part(permute_rows, &images);
    if (machine == D4R_M_MACHINE_NV || machine == D4R_M_MACHINE_SM90) d4r_k_each_part(lane_major, &images);
}
