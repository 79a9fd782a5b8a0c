/* Preset K's network, described for the machines. */
#include "hip_kernels/k_cpu_kernels.h"
#include "hip_kernels/k_launch.h"
#include "hip_kernels/net_desc.h"

/* A buffer a layer: the five encoders' outputs are read again at the other end. */
static d4r_net_layer layer(unsigned index)
{
    const d4r_k_layer_info *l = &d4r_k_layers[index];
    return (d4r_net_layer){.name = l->name,
                           .out_level = l->level,
                           .out_channels = l->out_channels,
                           .input = l->input,
                           .skip = l->skip,
                           .buffer = index == D4R_K_LAYER_DEC0 ? -1 : (int)index,
                           .weights = l->weights};
}

static d4r_m_args shape(unsigned index, d4r_size grid, uint32_t phase)
{
    return d4r_k_layer_shape((d4r_k_layer)index, grid.width, grid.height, phase);
}

static uint64_t macs(unsigned index, d4r_size grid)
{
    return d4r_k_layer_macs((d4r_k_layer)index, grid.width, grid.height);
}

static const d4r_m_kernel *kernel(d4r_m_machine machine, unsigned index)
{
    return d4r_k_kernel_of(machine, (d4r_k_layer)index);
}

static unsigned panel_scale(d4r_m_machine machine)
{
    (void)machine;
    return 1;
}

const d4r_net_desc d4r_k_net = {
    .id = D4R_PRESET_K,
    .preset = "K",
    .kernels = "k",
    .layer_count = D4R_K_LAYER_COUNT,
    .buffer_count = D4R_K_LAYER_COUNT - 1,
    .phases = D4R_K_PHASES,
    .grid_step = D4R_K_GRID_STEP,
    .grid_most = D4R_MAX_DIMENSION / 4,
    .token_bytes = 2 * D4R_K_FEATURES,
    .head_bytes = 2 * D4R_K_HEAD,
    .value_bytes = 2,
    .dtype = "<f2",
    .image_bytes = D4R_K_NET_BYTES,
    .layer = layer,
    .shape = shape,
    .macs = macs,
    .kernel = kernel,
    .panel_scale = panel_scale,
    .prepare = d4r_k_prepare_panels,
    .panels_hold_all = true,
    .cpu =
        {
            [D4R_CPU_BASELINE] = &d4r_k_cpu_kernels_baseline.machine,
#if defined(__x86_64__)
            [D4R_CPU_V3] = &d4r_k_cpu_kernels_v3.machine,
#ifdef D4R_CPU_ALL_LEVELS
            [D4R_CPU_V4] = &d4r_k_cpu_kernels_v4.machine,
            [D4R_CPU_V4_BF16] = &d4r_k_cpu_kernels_v4.machine, /* bf16 cannot hold f16 values */
#endif
#endif
        },
};
