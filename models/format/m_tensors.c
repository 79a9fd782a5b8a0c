#include "models/format/m_tensors.h"

#include <string.h>

#define STAGE(name, rows, cols, part)                                                           \
    {name ".weight", D4R_M_WEIGHT, D4R_M_STAGE_IMAGE, rows, cols, D4R_M_STAGE_##part##_WEIGHT}, \
    {                                                                                           \
        name ".bias", D4R_M_BIAS, D4R_M_STAGE_IMAGE, rows, 1, D4R_M_STAGE_##part##_BIAS         \
    }

#define NET_WEIGHT(name, rows, cols, offset)                                  \
    {                                                                         \
        name ".weight", D4R_M_WEIGHT, D4R_M_NETWORK_IMAGE, rows, cols, offset \
    }
#define NET_BIAS(name, rows, offset)                                   \
    {                                                                  \
        name ".bias", D4R_M_BIAS, D4R_M_NETWORK_IMAGE, rows, 1, offset \
    }

#define LINEAR(name, rows, cols, start) \
    NET_WEIGHT(name, rows, cols, start), NET_BIAS(name, rows, (start) + D4R_M_LINEAR_BIAS(rows, cols))

#define BLOCK(name, c, start)                                                                   \
    NET_WEIGHT(name ".qkv", 3 * (c), c, (start) + D4R_M_BLOCK_QKV(c)),                          \
        NET_BIAS(name ".qkv", 3 * (c), (start) + D4R_M_BLOCK_QKV_BIAS(c)),                      \
        {name ".rel_bias",          D4R_M_REL_BIAS,         D4R_M_NETWORK_IMAGE,                \
         (c) / D4R_M_HEAD_CHANNELS, D4R_M_REL_BIAS_ENTRIES, (start) + D4R_M_BLOCK_REL_BIAS(c)}, \
        NET_WEIGHT(name ".proj", c, c, (start) + D4R_M_BLOCK_PROJ(c)),                          \
        NET_BIAS(name ".proj", c, (start) + D4R_M_BLOCK_PROJ_BIAS(c)),                          \
        NET_WEIGHT(name ".mlp1", 2 * (c), c, (start) + D4R_M_BLOCK_MLP1(c)),                    \
        NET_BIAS(name ".mlp1", 2 * (c), (start) + D4R_M_BLOCK_MLP1_BIAS(c)),                    \
        NET_WEIGHT(name ".mlp2", c, 2 * (c), (start) + D4R_M_BLOCK_MLP2(c)),                    \
        NET_BIAS(name ".mlp2", c, (start) + D4R_M_BLOCK_MLP2_BIAS(c))

/* clang-format off */
const d4r_m_tensor d4r_m_tensors[D4R_M_TENSOR_COUNT] = {
    STAGE("input.embed", D4R_M_TOKEN_CHANNELS, D4R_M_EMBED_IN, EMBED),
    STAGE("expansion", D4R_M_EXPANSION_OUT, D4R_M_TOKEN_CHANNELS, EXPANSION),
    BLOCK("enc1", 64, D4R_M_NET_ENC1),
    BLOCK("enc2", 96, D4R_M_NET_ENC2),
    BLOCK("mid0", 128, D4R_M_NET_MID(0)),
    BLOCK("mid1", 128, D4R_M_NET_MID(1)),
    BLOCK("mid2", 128, D4R_M_NET_MID(2)),
    BLOCK("mid3", 128, D4R_M_NET_MID(3)),
    BLOCK("mid4", 128, D4R_M_NET_MID(4)),
    BLOCK("mid5", 128, D4R_M_NET_MID(5)),
    BLOCK("dec2", 96, D4R_M_NET_DEC2),
    BLOCK("dec1", 64, D4R_M_NET_DEC1),
    LINEAR("merge1", 96, 256, D4R_M_NET_MERGE1),
    LINEAR("merge2", 128, 384, D4R_M_NET_MERGE2),
    LINEAR("expand2", 384, 128, D4R_M_NET_EXPAND2),
    LINEAR("expand1", 256, 96, D4R_M_NET_EXPAND1),
};
/* clang-format on */

int d4r_m_tensor_index(const char *name)
{
    for (int i = 0; i < D4R_M_TENSOR_COUNT; i++)
        if (!strcmp(d4r_m_tensors[i].name, name)) return i;
    return -1;
}
