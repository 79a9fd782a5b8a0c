#include "hip_kernels/k_layers.h"

#define NONE D4R_K_NO_LAYER

/* name, block (level, channels, hidden), in (level, channels), out channels, input, skip, weights, block's offset */
const d4r_k_layer_info d4r_k_layers[D4R_K_LAYER_COUNT] = {
    {"enc0", 0, D4R_K_C0, D4R_K_H0, 0, D4R_K_C0, D4R_K_C0, NONE, NONE, D4R_K_NET_ENC0, 0},
    {"enc1", 1, D4R_K_C1, D4R_K_H1, 0, D4R_K_C0, D4R_K_C1, D4R_K_LAYER_ENC0, NONE, D4R_K_NET_ENC1,
     D4R_K_MERGE_BYTES(D4R_K_C1, D4R_K_C0)},
    {"enc2", 2, D4R_K_C2, D4R_K_H2, 1, D4R_K_C1, D4R_K_C2, D4R_K_LAYER_ENC1, NONE, D4R_K_NET_ENC2,
     D4R_K_MERGE_BYTES(D4R_K_C2, D4R_K_C1)},
    {"enc3", 3, D4R_K_C3, D4R_K_H3, 2, D4R_K_C2, D4R_K_C3, D4R_K_LAYER_ENC2, NONE, D4R_K_NET_ENC3,
     D4R_K_MERGE_BYTES(D4R_K_C3, D4R_K_C2)},
    {"enc4", 4, D4R_K_C4, D4R_K_H4, 3, D4R_K_C3, D4R_K_C4, D4R_K_LAYER_ENC3, NONE, D4R_K_NET_ENC4,
     D4R_K_MERGE_BYTES(D4R_K_C4, D4R_K_C3)},
    {"dec5", 5, D4R_K_C5, D4R_K_H5, 4, D4R_K_C4, D4R_K_C5, D4R_K_LAYER_ENC4, NONE, D4R_K_NET_DEC5,
     D4R_K_MERGE_BYTES(D4R_K_C5, D4R_K_C4)},
    {"dec4", 4, D4R_K_C4, D4R_K_H4, 5, D4R_K_C5, D4R_K_C4, D4R_K_LAYER_DEC5, D4R_K_LAYER_ENC4, D4R_K_NET_DEC4,
     D4R_K_EXPAND_BYTES(D4R_K_C4, D4R_K_C5)},
    {"dec3", 3, D4R_K_C3, D4R_K_H3, 4, D4R_K_C4, D4R_K_C3, D4R_K_LAYER_DEC4, D4R_K_LAYER_ENC3, D4R_K_NET_DEC3,
     D4R_K_EXPAND_BYTES(D4R_K_C3, D4R_K_C4)},
    {"dec2", 2, D4R_K_C2, D4R_K_H2, 3, D4R_K_C3, D4R_K_C2, D4R_K_LAYER_DEC3, D4R_K_LAYER_ENC2, D4R_K_NET_DEC2,
     D4R_K_EXPAND_BYTES(D4R_K_C2, D4R_K_C3)},
    {"dec1", 1, D4R_K_C1, D4R_K_H1, 2, D4R_K_C2, D4R_K_C1, D4R_K_LAYER_DEC2, D4R_K_LAYER_ENC1, D4R_K_NET_DEC1,
     D4R_K_EXPAND_BYTES(D4R_K_C1, D4R_K_C2)},
    {"dec0", 0, D4R_K_C0, D4R_K_H0, 1, D4R_K_C1, D4R_K_HEAD, D4R_K_LAYER_DEC1, D4R_K_LAYER_ENC0,
     D4R_K_NET_DEC0, D4R_K_EXPAND_BYTES(D4R_K_C0, D4R_K_C1)},
};

d4r_m_args d4r_k_layer_shape(d4r_k_layer layer, uint32_t columns, uint32_t rows, uint32_t phase)
{
    const d4r_k_layer_info *l = &d4r_k_layers[layer];
    const uint32_t shift = d4r_k_shift(l->level, phase), c = columns >> l->level, r = rows >> l->level;
    const uint32_t windows_x = d4r_k_windows(c, shift), windows_y = d4r_k_windows(r, shift);
    return (d4r_m_args){.columns = (int)c,
                        .rows = (int)r,
                        .shift = (int)shift,
                        .windows_x = (int)windows_x,
                        .windows = (int)(windows_x * windows_y)};
}

void d4r_k_each_part(d4r_k_part_fn fn, void *user)
{
    for (int i = 0; i < D4R_K_LAYER_COUNT; i++) {
        const d4r_k_layer_info *l = &d4r_k_layers[i];
        const size_t block = l->weights + l->block, c = l->channels, h = l->hidden;
        if (l->in_level < l->level)
            fn(user, D4R_K_PART_TILES, l->weights, 4 * D4R_K_TILES(c, l->in_channels));
        if (l->in_level > l->level)
            fn(user, D4R_K_PART_TILES, l->weights, D4R_K_TILES(4 * c, l->in_channels));
        for (size_t k = 0; k < D4R_K_HEADS(c); k++) {
            fn(user, D4R_K_PART_TILES, block + D4R_K_BLOCK_HEAD(c, k), D4R_K_HEAD_TILES(c));
            fn(user, D4R_K_PART_REL_BIAS, block + D4R_K_BLOCK_REL(c, h) + k * D4R_K_REL_BYTES,
               D4R_K_REL_BYTES);
        }
        for (size_t k = 0; k < h / D4R_K_MLP_STEP(h); k++)
            fn(user, D4R_K_PART_TILES, block + D4R_K_BLOCK_MLP(c, h, k), D4R_K_MLP_TILES(c, h));
        if (i == D4R_K_LAYER_DEC0)
            fn(user, D4R_K_PART_TILES, block + D4R_K_BLOCK_BYTES(c, h), D4R_K_TILES(D4R_K_HEAD_ROWS, c));
    }
}

uint64_t d4r_k_layer_macs(d4r_k_layer layer, uint32_t columns, uint32_t rows)
{
    const d4r_k_layer_info *l = &d4r_k_layers[layer];
    const uint64_t c = l->channels;
    /* qkv 3, proj 1 times C^2, the MLP; scores and values: 64 keys each over all channels. */
    uint64_t a_token = 4 * c * c + 2 * c * l->hidden + 2 * D4R_K_WINDOW_TOKENS * c;
    if (l->in_level < l->level) a_token += 4 * l->in_channels * c;
    if (l->in_level > l->level) a_token += l->in_channels * c;
    if (layer == D4R_K_LAYER_DEC0) a_token += D4R_K_HEAD * c;
    return d4r_k_level_tokens(columns, rows, l->level) * a_token;
}
