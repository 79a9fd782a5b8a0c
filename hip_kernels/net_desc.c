#include "hip_kernels/net_desc.h"

const d4r_net_desc *d4r_net_find(d4r_preset id)
{
    static const d4r_net_desc *const nets[] = {&d4r_m_net, &d4r_k_net};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if (nets[i]->id == id) return nets[i];
    return NULL;
}
