#include "hip_kernels/net_desc.h"

const d4r_net_desc *const d4r_nets[D4R_NET_COUNT] = {&d4r_m_net, &d4r_k_net};

const d4r_net_desc *d4r_net_find(d4r_preset id)
{
    for (size_t i = 0; i < D4R_NET_COUNT; i++)
        if (d4r_nets[i]->id == id) return d4r_nets[i];
    return NULL;
}
