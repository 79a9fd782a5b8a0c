#include "hip_kernels/m_layers.h"
#include "models/format/m_layout.h"

#define NONE D4R_M_NO_LAYER

/* name, in (level, channels), block (level, channels), out (level, channels), shift, input, skip, weights */
const d4r_m_layer_info d4r_m_layers[D4R_M_LAYER_COUNT] = {
    {"enc1", 0, 64, 0, 64, 0, 64, 2, NONE, NONE, D4R_M_NET_ENC1},
    {"enc2", 0, 64, 1, 96, 1, 96, 2, D4R_M_LAYER_ENC1, NONE, D4R_M_NET_MERGE1},
    {"mid0", 1, 96, 2, 128, 2, 128, 2, D4R_M_LAYER_ENC2, NONE, D4R_M_NET_MERGE2},
    {"mid1", 2, 128, 2, 128, 2, 128, 0, D4R_M_LAYER_MID0, NONE, D4R_M_NET_MID(1)},
    {"mid2", 2, 128, 2, 128, 2, 128, 2, D4R_M_LAYER_MID1, NONE, D4R_M_NET_MID(2)},
    {"mid3", 2, 128, 2, 128, 2, 128, 0, D4R_M_LAYER_MID2, NONE, D4R_M_NET_MID(3)},
    {"mid4", 2, 128, 2, 128, 2, 128, 2, D4R_M_LAYER_MID3, NONE, D4R_M_NET_MID(4)},
    {"mid5", 2, 128, 2, 128, 1, 96, 0, D4R_M_LAYER_MID4, D4R_M_LAYER_ENC2, D4R_M_NET_MID(5)},
    {"dec2", 1, 96, 1, 96, 0, 64, 0, D4R_M_LAYER_MID5, D4R_M_LAYER_ENC1, D4R_M_NET_DEC2},
    {"dec1", 0, 64, 0, 64, 0, 64, 0, D4R_M_LAYER_DEC2, NONE, D4R_M_NET_DEC1},
};

#define BLOCK(offset, c)      \
    {                         \
        offset, 8 * (c) * (c) \
    }

const d4r_m_range d4r_m_matrix_ranges[D4R_M_MATRIX_RANGES] = {
    BLOCK(D4R_M_NET_ENC1, 64),     {D4R_M_NET_MERGE1, 96 * 256},   BLOCK(D4R_M_NET_ENC2, 96),
    {D4R_M_NET_MERGE2, 128 * 384}, BLOCK(D4R_M_NET_MID(0), 128),   BLOCK(D4R_M_NET_MID(1), 128),
    BLOCK(D4R_M_NET_MID(2), 128),  BLOCK(D4R_M_NET_MID(3), 128),   BLOCK(D4R_M_NET_MID(4), 128),
    BLOCK(D4R_M_NET_MID(5), 128),  {D4R_M_NET_EXPAND2, 384 * 128}, BLOCK(D4R_M_NET_DEC2, 96),
    {D4R_M_NET_EXPAND1, 256 * 96}, BLOCK(D4R_M_NET_DEC1, 64),
};

uint64_t d4r_m_layer_macs(d4r_m_layer layer, uint32_t columns, uint32_t rows)
{
    const d4r_m_layer_info *l = &d4r_m_layers[layer];
    uint64_t c = l->channels;
    uint64_t tokens = d4r_m_level_tokens(columns, rows, l->level);
    /* qkv 3, proj 1, mlp 2 + 2 times C^2; scores and p.v: 16 keys each over all channels. */
    uint64_t a_token = 8 * c * c + 2 * D4R_M_WINDOW_TOKENS * c;
    if (l->in_level < l->level) a_token += 4 * l->in_channels * c;
    if (l->out_level < l->level) a_token += 4 * l->out_channels * c;
    return tokens * a_token;
}
