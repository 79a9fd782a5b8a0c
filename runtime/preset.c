#include "runtime/preset.h"
#include "models/format/k_layout.h"

static d4r_size half_of(d4r_size size)
{
    return (d4r_size){(size.width + 1) / 2, (size.height + 1) / 2};
}

static void fill_tokens(const d4r_net_desc *network, d4r_sizes *s)
{
    const uint64_t tokens = (uint64_t)s->token_grid.width * s->token_grid.height;
    s->token_bytes = tokens * network->token_bytes;
    s->head_bytes = tokens * network->head_bytes;
    s->render_scale_x = (float)(s->render.width / ((double)s->history_scale * s->output.width));
    s->render_scale_y = (float)(s->render.height / ((double)s->history_scale * s->output.height));
}

/* Whole windows at the deepest level: 2x2 render pixels a token, two merges, 4x4 tokens a window. */
static void sizes_m(d4r_size render, d4r_size output, d4r_sizes *s)
{
    s->history_scale = 1.5f;
    s->reconstruction = (d4r_size){(3 * output.width + 1) / 2, (3 * output.height + 1) / 2};
    s->half = half_of(s->reconstruction);
    s->token_grid = (d4r_size){(render.width + 31) / 32 * 16, (render.height + 31) / 32 * 16};
    fill_tokens(&d4r_m_net, s);
}

/* 4x4 output pixels a token, five merges; a bottleneck of at least one window. */
static uint32_t grid_side_k(uint32_t output)
{
    const uint32_t step = D4R_K_GRID_STEP, tokens = ((output + 3) / 4 + step - 1) / step * step;
    return tokens > D4R_K_GRID_LEAST ? tokens : D4R_K_GRID_LEAST;
}

static void sizes_k(d4r_size render, d4r_size output, d4r_sizes *s)
{
    (void)render;
    s->history_scale = 1.0f;
    s->reconstruction = output;
    s->half = half_of(output);
    s->token_grid = (d4r_size){grid_side_k(output.width), grid_side_k(output.height)};
    fill_tokens(&d4r_k_net, s);
}

static const d4r_preset_desc presets[] = {
    {D4R_PRESET_M, "M", sizes_m, &d4r_m_stages_ops, &d4r_m_net},
    {D4R_PRESET_K, "K", sizes_k, &d4r_k_stages_ops, &d4r_k_net},
};

const d4r_preset_desc *d4r_preset_find(d4r_preset id)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (presets[i].id == id) return &presets[i];
    return NULL;
}

/* ---- the public functions ---- */

static bool dimension_in_range(uint32_t value)
{
    return value >= D4R_MIN_DIMENSION && value <= D4R_MAX_DIMENSION;
}

d4r_status d4r_preset_sizes(d4r_preset preset, d4r_size render, d4r_size output, d4r_sizes *sizes)
{
    const d4r_preset_desc *desc = d4r_preset_find(preset);
    if (!desc || !sizes || !dimension_in_range(output.width) || !dimension_in_range(output.height) ||
        !dimension_in_range(render.width) || !dimension_in_range(render.height) ||
        render.width > output.width || render.height > output.height)
        return D4R_ERROR_ARGUMENT;
    *sizes = (d4r_sizes){.render = render, .output = output};
    desc->sizes(render, output, sizes);
    return D4R_OK;
}

d4r_status d4r_sizes_compute(d4r_size render, d4r_size output, d4r_sizes *sizes)
{
    return d4r_preset_sizes(D4R_PRESET_M, render, output, sizes);
}

const char *d4r_preset_name(d4r_preset preset)
{
    const d4r_preset_desc *desc = d4r_preset_find(preset);
    return desc ? desc->name : NULL;
}
