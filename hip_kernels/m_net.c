/* Preset M's network, described for the machines. */
#include "hip_kernels/cpu_kernels.h"
#include "hip_kernels/m_layers.h"
#include "hip_kernels/net_desc.h"
#include "models/format/m_layout.h"

/* The four middle layers alternate between two buffers, so that they stay in the L2 cache. */
static const signed char buffers[D4R_M_LAYER_COUNT] = {0, 1, 2, 3, 2, 3, 2, 4, 5, -1};

static d4r_net_layer layer(unsigned index)
{
    const d4r_m_layer_info *l = &d4r_m_layers[index];
    return (d4r_net_layer){.name = l->name,
                           .out_level = l->out_level,
                           .out_channels = l->out_channels,
                           .input = l->input,
                           .skip = l->skip,
                           .buffer = buffers[index],
                           .weights = l->weights};
}

static d4r_m_args shape(unsigned index, d4r_size grid, uint32_t phase)
{
    const d4r_m_layer_info *l = &d4r_m_layers[index];
    const uint32_t columns = grid.width >> l->level, rows = grid.height >> l->level;
    const uint32_t windows_x = d4r_m_windows(columns, l->shift), windows_y = d4r_m_windows(rows, l->shift);
    (void)phase;
    return (d4r_m_args){.columns = (int)columns,
                        .rows = (int)rows,
                        .shift = (int)l->shift,
                        .windows_x = (int)windows_x,
                        .windows = (int)(windows_x * windows_y)};
}

static uint64_t macs(unsigned index, d4r_size grid)
{
    return d4r_m_layer_macs((d4r_m_layer)index, grid.width, grid.height);
}

static const d4r_m_kernel *kernel(d4r_m_machine machine, unsigned index)
{
    return d4r_m_kernel_of(machine, (d4r_m_layer)index);
}

const d4r_net_desc d4r_m_net = {
    .id = D4R_PRESET_M,
    .preset = "M",
    .kernels = "m",
    .layer_count = D4R_M_LAYER_COUNT,
    .buffer_count = 6,
    .phases = 1,
    .grid_step = 16,
    .grid_most = D4R_MAX_DIMENSION / 2, /* the largest render size */
    .token_bytes = D4R_M_TOKEN_CHANNELS,
    .head_bytes = D4R_M_TOKEN_CHANNELS,
    .value_bytes = 1,
    .dtype = "|u1",
    .image_bytes = D4R_M_NET_BYTES,
    .layer = layer,
    .shape = shape,
    .macs = macs,
    .kernel = kernel,
    .panel_scale = d4r_m_panel_scale,
    .prepare = d4r_m_prepare_panels,
    .cpu =
        {
            [D4R_CPU_BASELINE] = &d4r_cpu_kernels_baseline.machine,
#if defined(__x86_64__)
            [D4R_CPU_V3] = &d4r_cpu_kernels_v3.machine,
#ifdef D4R_CPU_ALL_LEVELS
            [D4R_CPU_V4] = &d4r_cpu_kernels_v4.machine,
            [D4R_CPU_V4_BF16] = &d4r_cpu_kernels_v4bf16.machine,
#endif
#endif
        },
};
