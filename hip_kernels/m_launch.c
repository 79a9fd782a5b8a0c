#include "hip_kernels/m_launch.h"

#include <string.h>
#include "hip_kernels/m_kernel_config.h"
#include "models/format/m_layout.h"

#define MACHINES 4
#define KERNEL(name, windows)                                \
    {                                                        \
        "d4r_" #name, 32 * M_WAVES, M_WAVES *(windows), 0, 0 \
    }
#define LAYERS(w64, w96, w128)                                                                              \
    {                                                                                                       \
        KERNEL(block64, w64), KERNEL(merge_block96, w96), KERNEL(merge_block128, w128),                     \
            KERNEL(block128, w128), KERNEL(block128, w128), KERNEL(block128, w128), KERNEL(block128, w128), \
            KERNEL(block128_expand, w128), KERNEL(block96_expand, w96), KERNEL(block64, w64)                \
    }

#define NV_KERNEL(name, c, waves, windows, staged)                              \
    {                                                                           \
        "d4r_" #name, 32 * (waves), (waves) * (windows), M_NV_SHARED(staged), 1 \
    }
#define NV_LAYERS(m)                                                                                      \
    {                                                                                                     \
        m(block64, 64), m(merge_block96, 96), m(merge_block128, 128), m(block128, 128), m(block128, 128), \
            m(block128, 128), m(block128, 128), m(block128_expand, 128), m(block96_expand, 96),           \
            m(block64, 64)                                                                                \
    }
#define SM90(name, c) NV_KERNEL(name, c, M_SM90_WAVES_##c, M_SM90_WINDOWS_##c, M_SM90_STAGED_##name)
#define NV(name, c) NV_KERNEL(name, c, M_NV_WAVES_##c, M_NV_WINDOWS_##c, M_NV_STAGED_##name)

static const d4r_m_kernel kernels[MACHINES][D4R_M_LAYER_COUNT] = {
    [D4R_M_MACHINE_GFX12] = LAYERS(M_GFX12_WINDOWS_64, M_GFX12_WINDOWS_96, M_GFX12_WINDOWS_128),
    [D4R_M_MACHINE_GFX11] = LAYERS(M_GFX11_WINDOWS_64, M_GFX11_WINDOWS_96, M_GFX11_WINDOWS_128),
    [D4R_M_MACHINE_NV] = NV_LAYERS(NV),
    [D4R_M_MACHINE_SM90] = NV_LAYERS(SM90),
};

const d4r_m_kernel *d4r_m_kernel_of(d4r_m_machine machine, d4r_m_layer layer)
{
    return &kernels[machine][layer];
}

unsigned d4r_m_panel_scale(d4r_m_machine machine)
{
    return machine == D4R_M_MACHINE_GFX12 ? 1 : 2;
}

/* e4m3 to f16 bits; exact. NaN codes become NaN. */
static uint16_t half_of_code(uint8_t code)
{
    uint16_t sign = (uint16_t)((code & 0x80) << 8);
    unsigned exponent = code >> 3 & 15, fraction = code & 7;
    if ((code & 0x7f) == 0x7f) return sign | 0x7e00;
    if (exponent == 0) { /* fraction * 2^-9, normal in f16 */
        if (fraction == 0) return sign;
        exponent = 1;
        while (fraction < 8) {
            fraction *= 2;
            exponent--;
        }
        fraction -= 8;
        return (uint16_t)(sign | ((int)exponent + 8) << 10 | fraction << 7);
    }
    return (uint16_t)(sign | (exponent + 8) << 10 | fraction << 7);
}

/* Row r of the panel is channel 8 * (r & 1) + (r >> 1); [half of the inputs][row][8]. */
static void tile_gfx11(const uint8_t *tile, uint8_t *panel)
{
    for (int row = 0; row < 16; row++)
        for (int c = 0; c < 16; c++) {
            uint16_t v = half_of_code(tile[D4R_M_TILE_BYTE(8 * (row & 1) + (row >> 1), c)]);
            memcpy(panel + (c >> 3) * 256 + row * 16 + (c & 7) * 2, &v, 2);
        }
}

/* Lane-major, four words of two f16 a lane: tile_nv.h. */
static void tile_nv(const uint8_t *tile, uint8_t *panel)
{
    for (int lane = 0; lane < 32; lane++)
        for (int word = 0; word < 4; word++)
            for (int i = 0; i < 2; i++) {
                int g = lane >> 2, t = lane & 3, j = word >> 1, b = word & 1;
                uint16_t v =
                    half_of_code(tile[D4R_M_TILE_BYTE(4 * (g / 2) + 2 * j + (g & 1), 4 * t + 2 * b + i)]);
                memcpy(panel + lane * 16 + word * 4 + i * 2, &v, 2);
            }
}

void d4r_m_prepare_panels(d4r_m_machine machine, const uint8_t *network, uint8_t *panels)
{
    unsigned scale = d4r_m_panel_scale(machine);
    memset(panels, 0, (size_t)D4R_M_NET_BYTES * scale);
    for (int i = 0; i < D4R_M_MATRIX_RANGES; i++) {
        const d4r_m_range *range = &d4r_m_matrix_ranges[i];
        for (size_t at = range->offset; at < range->offset + range->bytes; at += D4R_M_TILE_BYTES) {
            if (machine == D4R_M_MACHINE_GFX12) memcpy(panels + at, network + at, D4R_M_TILE_BYTES);
            if (machine == D4R_M_MACHINE_GFX11) tile_gfx11(network + at, panels + scale * at);
            if (machine == D4R_M_MACHINE_NV || machine == D4R_M_MACHINE_SM90)
                tile_nv(network + at, panels + scale * at);
        }
    }
}
